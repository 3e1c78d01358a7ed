//! `lanefield occupancy`: how many waves of a kernel a compute unit holds, by numbers given by hand, of a kernel on the device in use, or of kernels
//! compiled for GPUs that need not be there. The rules: `lanefield_lab::occupancy`; the code: `lanefield_lab::code`.

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
