//! The formats of configurations.

use lanefield_reference::named;

/// A format of configurations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The archive format of NERSC.
    Nersc,
    /// That of the ILDG, with the records of SciDAC.
    Ildg,
    /// That of MILC, version 5.
    Milc,
    /// A NumPy array (T, Z, Y, X, 4, 3, 3).
    Npy,
    /// The same in an HDF5 file.
    Hdf5,
    /// That of openQCD, which is read only.
    OpenQcd,
    /// That of DD-αAMG, which is read only.
    DdAlphaAmg,
    /// That of HiRep, which is read only.
    HiRep,
}

named!(Format, "format":
    Nersc = "nersc", Ildg = "ildg", Milc = "milc", Npy = "npy", Hdf5 = "hdf5", OpenQcd = "openqcd", DdAlphaAmg = "ddalphaamg",
    HiRep = "hirep"
);

impl Format {
    /// Whether files are written in it.
    pub fn is_written(self) -> bool {
        !matches!(self, Self::OpenQcd | Self::DdAlphaAmg | Self::HiRep)
    }
}
