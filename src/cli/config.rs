//! `lanefield config`.

use clap::Args;

use super::Outcome;

#[derive(Args)]
pub struct Config {}

impl Config {
    pub fn run(self) -> anyhow::Result<Outcome> {
        Ok(Outcome::Done)
    }
}
