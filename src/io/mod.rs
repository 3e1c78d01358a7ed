//! Files in and out: NERSC gauge configurations, NumPy arrays, checkpoints and records of solves, sidecars that say what an array is, and the way files are written (whole, or
//! not at all). Readers judge a file by its length before they allocate, and name what is wrong with it. All fields are in site order
//! (x fastest); `lanefield_reference` puts them into lanes.

pub mod atomic;
pub mod checkpoint;
pub mod identity;
pub mod ildg;
pub mod lime;
pub mod milc;
pub mod nersc;
pub mod npy;
pub mod record;
mod rows;
pub mod sidecar;
