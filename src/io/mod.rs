//! Reads and writes files:
//!
//! - gauge configurations of NERSC, the ILDG and MILC; those of openQCD, DD-αAMG and HiRep can only be read (`configuration` handles all
//!   formats);
//! - NumPy arrays and HDF5 files;
//! - checkpoints and records of solves;
//! - sidecars, which describe an array.
//!
//! Files are written whole or not at all. Readers check the length of a file before they allocate memory, and name its defects. All fields
//! are in site order (x fastest); `lanefield_reference` converts them to lanes.

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
