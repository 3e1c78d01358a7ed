//! `lanefield apply`.

use clap::Args;

use super::Outcome;

#[derive(Args)]
pub struct Apply {}

impl Apply {
    pub fn run(self) -> anyhow::Result<Outcome> {
        Ok(Outcome::Done)
    }
}
