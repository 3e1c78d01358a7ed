//! `lanefield verify`.

use clap::Args;

use super::Outcome;

#[derive(Args)]
pub struct Verify {}

impl Verify {
    pub fn run(self) -> anyhow::Result<Outcome> {
        Ok(Outcome::Done)
    }
}
