//! `lanefield solve`.

use clap::Args;

use super::Outcome;

#[derive(Args)]
pub struct Solve {}

impl Solve {
    pub fn run(self) -> anyhow::Result<Outcome> {
        Ok(Outcome::Done)
    }
}
