//! `lanefield occupancy`: how many waves of a kernel a compute unit holds. The kernel's needs are given as numbers, or come from a build for the
//! device in use, or from compiling for GPUs that need not be present. `lanefield_lab::occupancy` has the rules, `lanefield_lab::code` the code.

mod arguments;
mod by_hand;
mod kernels;
mod table;

pub use arguments::Occupancy;

use crate::kernels::Known;
use crate::prelude::*;

impl Occupancy {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        let (device, report) = match self.kernel.is_empty() {
            true => (None, by_hand::report(&self)?),
            false => kernels::report(list, &self)?,
        };
        show(self.json, Head::on(Kind::Occupancy, device), &report, table::Report::text)
    }
}
