//! Files in and out: gauge configurations of NERSC, the ILDG and MILC (`configuration` reads and writes all formats), those of openQCD, DD-αAMG and HiRep in, NumPy arrays, HDF5 files, checkpoints and records of solves, sidecars that say what an array is, and the way files are written (whole, or
//! not at all). Readers judge a file by its length before they allocate, and name what is wrong with it. All fields are in site order
//! (x fastest); `lanefield_reference` puts them into lanes.

pub mod atomic;
pub mod checkpoint;
pub mod claims;
pub mod configuration;
pub mod directory;
mod format;
#[cfg(feature = "hdf5")]
pub mod hdf5;
pub mod identity;
pub mod ildg;
pub mod lime;
pub mod lock;
pub mod milc;
pub mod nersc;
pub mod npy;
pub mod open;
pub mod plain;
pub mod record;
mod rows;
pub mod seal;
pub mod sidecar;
mod stored_links;
