//! A section of the page.

use serde::Serialize;
use serde_json::Value;

use super::bars::Bars;
use super::curves::Curves;
use super::physics::Drawn;
use super::roofline::Roofline;
use super::table::Table;
use super::timeline::Timeline;
use crate::Kind;

#[derive(Serialize, Debug, Default)]
pub(super) struct Section {
    pub id: String,
    pub title: String,
    #[serde(skip)]
    pub kind: Option<Kind>,
    pub file: String,
    pub one_of_several: bool,
    pub lead: String,
    pub facts: Vec<(String, String)>,
    /// Facts that open on demand.
    pub more_facts: Vec<(String, String)>,
    pub roofline: Option<Roofline>,
    pub figures: Vec<Drawn>,
    pub bars: Vec<Bars>,
    pub curves: Vec<Curves>,
    pub timelines: Vec<Timeline>,
    pub findings: Vec<Value>,
    pub tables: Vec<Table>,
}
