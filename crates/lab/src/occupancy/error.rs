//! Why there is no occupancy to tell.

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    #[error("'{name}' is no architecture with known rules of occupancy: use one of {known}")]
    UnknownArchitecture { name: String, known: String },
    #[error("{architecture} has no waves of {wave} work-items: use {waves}")]
    NoSuchWave { architecture: &'static str, wave: usize, waves: String },
    #[error("{value} {what} are not possible on {architecture}: use {least} to {most}")]
    OutOfRange { architecture: &'static str, what: &'static str, value: usize, least: usize, most: usize },
}
