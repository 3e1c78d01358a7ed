//! The arguments of `lanefield run`.

use std::str::FromStr;

use lanefield::kernel::{FieldContents, FieldRole, Kernel};

use crate::args::{BackendArgs, HopArgs, SumArgs, of_storage};
use crate::configuration::ReadArgs;
use crate::kernels::of_library;
use crate::prelude::*;

/// Run one kernel on arrays.
///
/// It runs any kernel, in any precision, and writes its results as arrays.
///
/// --describe lists the arguments of a kernel. Arrays are rounded to the precision of the kernel when they are read, also to half precision. Results
/// in half precision are written as the f32 that the fractions stand for. Links are computed from --config, or read as they are stored. Sums are
/// printed, with their bits.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield run --kernel axpy --describe
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield source gauss:1 --lattice 4.4.4.8 --output x.npy
  lanefield source gauss:2 --lattice 4.4.4.8 --output y.npy
  lanefield run --kernel axpy --precision half --in x=x.npy --in y=y.npy \\
      --scalar a=-0.25 --out y=z.npy
  lanefield run --kernel hop --sites even --config hot.nersc --in in=x.npy \\
      --out out=hop.npy
  lanefield run --kernel inner_products --in xs=x.npy,y.npy --in y=y.npy")]
pub struct Run {
    /// Kernel to run
    #[arg(long, alias = "kernels", value_name = "KERNEL", value_parser = of_library)]
    pub kernel: &'static Kernel,
    /// Print the arguments of the kernel, and do nothing else
    #[arg(long)]
    pub describe: bool,
    /// Precision of the result and of the inputs: f32, f64 or half
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_storage())]
    pub precision: Precision,
    /// Precision of the input, for convert [default: that of the array]
    #[arg(long, value_name = "PRECISION", value_parser = of_storage())]
    pub from: Option<Precision>,
    /// Sites of the result: full, even or odd
    #[arg(long, value_name = "SITES", default_value = "full", value_parser = sites)]
    pub sites: Sites,
    /// Configuration from which links are computed: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y,
    /// X, 4, 3, 3)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Field to read or update. The files of a list of fields are separated by commas
    #[arg(long = "in", value_name = "NAME=FILE.npy")]
    pub inputs: Vec<Named>,
    /// Scalar argument: a number, or RE,IM if it is complex, or one number for each right-hand side, separated by commas. 0x and 16 hex digits are
    /// the bits of a double
    #[arg(long = "scalar", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub scalars: Vec<Named>,
    /// Right-hand sides by their numbers, from 0
    #[arg(long, value_name = "NAME=K,K,…")]
    pub indices: Option<Named>,
    /// File to write a result to
    #[arg(long = "out", value_name = "NAME=FILE.npy")]
    pub outputs: Vec<Named>,
    /// Spinors or colour vectors per right-hand side: for kernels with several
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub rhs_parts: usize,
    /// Direction across the slices, for sums over slices: x, y, z or t
    #[arg(long, value_name = "DIRECTION", default_value = "t")]
    pub direction: Direction,
    #[command(flatten)]
    pub along_s: AlongS,
    /// Refused, with the kernel that is the dagger
    #[arg(long, hide = true)]
    pub dagger: bool,
    #[command(flatten)]
    pub hop: HopArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub sums: SumArgs,
    #[command(flatten)]
    pub backend: BackendArgs,
}

/// A matrix along s.
#[derive(Args, Clone, Debug)]
pub struct AlongS {
    /// Coefficients of a matrix along s, as float64: (3, ls); for a sweep (2, 3, ls); for a dense matrix (2, ls, ls). They replace Mooee, or its
    /// inverse, of the parameters below
    #[arg(long, value_name = "FILE.npy", conflicts_with_all = ["mass", "m5", "ls"])]
    pub matrix: Option<PathBuf>,
    /// Apply the dagger of a matrix along s: its transpose, since it is real. With --matrix, it says that the coefficients are those of a transpose
    #[arg(long)]
    pub matrix_dagger: bool,
    /// Bare quark mass
    #[arg(long, value_name = "M", allow_hyphen_values = true, value_parser = crate::args::finite)]
    pub mass: Option<f64>,
    /// Domain wall height
    #[arg(long, value_name = "M5", default_value = "1.8", allow_hyphen_values = true, value_parser = crate::args::finite)]
    pub m5: f64,
    /// Möbius' b
    #[arg(long, value_name = "B", default_value = "1", allow_hyphen_values = true, value_parser = crate::args::finite)]
    pub b: f64,
    /// Möbius' c
    #[arg(long, value_name = "C", default_value = "0", allow_hyphen_values = true, value_parser = crate::args::finite)]
    pub c: f64,
    /// Number of sites of the fifth dimension
    #[arg(long, value_name = "LS")]
    pub ls: Option<usize>,
}

/// NAME=VALUE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    pub name: String,
    pub value: String,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                Ok(Self { name: name.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("'{text}' names no argument: expected NAME=VALUE")),
        }
    }
}

fn sites(text: &str) -> Result<Sites, String> {
    match text {
        "full" => Ok(Sites::Full),
        "even" => Ok(Sites::Parity(Parity::Even)),
        "odd" => Ok(Sites::Parity(Parity::Odd)),
        _ => Err(format!("unknown sites '{text}': expected full, even or odd")),
    }
}

impl Run {
    /// The files that are read, with the names of their arguments.
    pub fn files(&self) -> impl Iterator<Item = (String, &Path)> {
        let of_inputs = self
            .inputs
            .iter()
            .flat_map(|input| input.value.split(',').map(|file| (format!("--in {}", input.name), Path::new(file))));
        let config = self.config.iter().map(|path| ("--config".to_owned(), path.as_path()));
        let matrix = self.along_s.matrix.iter().map(|path| ("--matrix".to_owned(), path.as_path()));
        of_inputs.chain(config).chain(matrix)
    }

    /// Whether links that include their boundary phases are read. With reconstruct 12 and 8, links are rebuilt with the phases that are given.
    pub fn has_phases(&self) -> bool {
        self.kernel.fields().any(|role| match role.holds {
            FieldContents::DoubledLinks => self.hop.links == LinkFormat::Full && !self.is_made(&role),
            FieldContents::Links => !self.is_made(&role),
            _ => false,
        })
    }

    /// Whether links of a role are computed from the configuration.
    pub fn is_made(&self, role: &FieldRole) -> bool {
        let given = self.inputs.iter().any(|input| input.name == role.name);
        matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links) && !given
    }
}
