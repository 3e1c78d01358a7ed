//! `lanefield devices`.

use clap::Args;

use super::Outcome;

#[derive(Args)]
pub struct Devices {}

impl Devices {
    pub fn run(self) -> anyhow::Result<Outcome> {
        Ok(Outcome::Done)
    }
}
