//! The formats of configurations.

use lanefield_reference::named;

/// A format of configurations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The archive format of NERSC.
    Nersc,
    /// The ILDG format, with the records of SciDAC.
    Ildg,
    /// The MILC format, version 5.
    Milc,
    /// A NumPy array (T, Z, Y, X, 4, 3, 3).
    Npy,
    /// The same array in an HDF5 file.
    Hdf5,
    /// The format of openQCD, read only.
    OpenQcd,
    /// The format of DD-αAMG, read only.
    DdAlphaAmg,
    /// The format of HiRep, read only.
    HiRep,
}

named!(Format, "format":
    Nersc = "nersc", Ildg = "ildg", Milc = "milc", Npy = "npy", Hdf5 = "hdf5", OpenQcd = "openqcd", DdAlphaAmg = "ddalphaamg",
    HiRep = "hirep"
);

impl Format {
    /// Whether files can be written in this format.
    pub fn is_written(self) -> bool {
        !matches!(self, Self::OpenQcd | Self::DdAlphaAmg | Self::HiRep)
    }
}
