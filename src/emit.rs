//! Writes kernels as self-contained sources for other programs.
//!
//! Kernels that are defined once (`crate::body`) are written in C99, CUDA or HIP, on arrays in site order. Every kernel can be written in
//! OpenCL C as it is built here. All have the same bits. [`ptx`] returns the PTX that NVIDIA's driver compiles from the OpenCL C.
//!
//! ```
//! use lanefield::emit::{EmitOptions, Dialect, emit};
//!
//! let options = EmitOptions { links: "12".parse()?, ..EmitOptions::new(Dialect::Cuda) };
//! let source = emit(&lanefield::kernel::wilson::WILSON_FULL, &options)?;
//! assert!(source.contains("extern \"C\" __global__ void wilson_full("));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use lanefield_reference::layout::{Extents, LaneChoice, LaneWidth, LegOrder};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;

use crate::backend::opencl::OfflineDevice;
use crate::backend::{BackendError, Memory as _, OpenCl, Sum};
use crate::body::BodyError;
use crate::body::c::{Target, kernel_text};
pub use crate::body::dialect::Dialect;
use crate::body::opencl::Named;
use crate::capture::{self, BinaryFormat};
use crate::kernel::{self, FieldRole, Kernel, KernelArgument, KernelSource, Shape};

/// The options of [`emit()`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmitOptions {
    /// The language.
    pub language: Dialect,
    /// The precision of fields.
    pub precision: Precision,
    /// How links are stored, for kernels that read links.
    pub links: LinkFormat,
    /// The leg order.
    pub legs: LegOrder,
}

impl EmitOptions {
    /// f32, `reconstruct` 18, the default leg order.
    pub fn new(language: Dialect) -> Self {
        Self { language, precision: Precision::F32, links: LinkFormat::Full, legs: LegOrder::DEFAULT }
    }
}

/// Why a kernel cannot be emitted. Messages are fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum EmitError {
    #[error(
        "{kernel} is written by hand in OpenCL C, and is not emitted in {language}: expected opencl{}",
        or_one_of(others)
    )]
    ByHand { kernel: &'static str, language: Dialect, others: Vec<&'static str> },
    #[error("{kernel} is not emitted in {language} for {given}: expected {expected}")]
    Precision { kernel: &'static str, language: Dialect, given: Precision, expected: String },
    #[error("{kernel} is a part of other operations, and is not emitted: expected a kernel that is called by itself")]
    Part { kernel: &'static str },
    #[error("{device} makes no PTX: its binaries are {binaries}; choose a GPU of NVIDIA by --device")]
    NoPtx { device: String, binaries: String },
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

fn or_one_of(kernels: &[&str]) -> String {
    match kernels.is_empty() {
        true => String::new(),
        false => format!(", or one of {}", kernels.join(", ")),
    }
}

/// The source of a kernel. A comment at its head describes the arguments.
///
/// # Errors
/// [`EmitError`] if the kernel has no kernel function and the language is not OpenCL C, or if it does not have the precision.
pub fn emit(kernel: &'static Kernel, options: &EmitOptions) -> Result<String, EmitError> {
    let EmitOptions { language, precision, links, legs } = *options;
    let is_possible = |precision: &Precision| language == Dialect::OpenCl || *precision != Precision::Half;
    if !kernel.takes(precision) || !is_possible(&precision) {
        let known: Vec<String> =
            kernel.precisions.iter().filter(|known| is_possible(known)).map(ToString::to_string).collect();
        let expected = known.join(" or ");
        return Err(EmitError::Precision { kernel: kernel.name, language, given: precision, expected });
    }
    if !kernel.is_launched() {
        return Err(EmitError::Part { kernel: kernel.name });
    }
    if language == Dialect::OpenCl {
        return opencl(kernel, options);
    }
    let KernelSource::Body(body) = kernel.source else {
        let others = kernel::all().filter(|other| matches!(other.source, KernelSource::Body(_)));
        let others = others.map(|other| other.name).collect();
        return Err(EmitError::ByHand { kernel: kernel.name, language, others });
    };
    let program = body.program(kernel.name, legs)?;
    let named = Named { name: kernel.name, computes: kernel.computes, body };
    Ok(kernel_text(named, &program, Target { dialect: language, precision, links, legs })?)
}

/// The PTX that a device's driver compiles from the program of a kernel, with the device's current tuning. It also contains the other
/// kernels of the same source.
///
/// # Errors
/// [`EmitError::Part`]; [`EmitError::NoPtx`] if the device is not an NVIDIA GPU; an error of the compiler.
pub fn ptx(device: &OpenCl, shape: &Shape) -> Result<String, EmitError> {
    let kernel = shape.kernel;
    let needed = device.needs(shape, Sum::Exact)?;
    let needed = needed.iter().find(|needed| needed.kernel == kernel.name && kernel.is_launched());
    let needed = needed.ok_or(EmitError::Part { kernel: kernel.name })?;
    let binary = device.build(needed)?.binary().unwrap_or_default();
    let no_ptx = || {
        let binaries = match binary.is_empty() {
            true => "kept by the driver".to_owned(),
            false => BinaryFormat::of(&binary).to_string(),
        };
        EmitError::NoPtx { device: device.describe(), binaries }
    };
    capture::ptx(&binary).map(str::to_owned).ok_or_else(no_ptx)
}

/// OpenCL C with all includes, as it is built for an unknown device: one lane for each outer site. Settings that are usually build options
/// are macros at its head.
fn opencl(kernel: &'static Kernel, options: &EmitOptions) -> Result<String, EmitError> {
    let EmitOptions { precision, links, legs, .. } = *options;
    let extents = Extents::new([16, 16, 16, 32]).map_err(BackendError::from)?;
    let lanes = LaneChoice::Width(LaneWidth::new(precision.scalar().bytes()).map_err(BackendError::from)?);
    let built = OfflineDevice::any(extents, lanes).kernel_with_legs(kernel, precision, links, legs)?;
    let mut head = vec![
        format!("{}: {}. In {precision}.", kernel.name, kernel.computes),
        format!("Written by Lanefield {}, with all that it includes. Build with:", env!("CARGO_PKG_VERSION")),
        "  -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt".to_owned(),
        "No -cl-fast-relaxed-math, nor any part of it. -D replaces the macros below: NSIMD lanes of an outer site, say, and LINK_REALS.".to_owned(),
    ];
    head.push(format!("Groups of {} x {} x {} work-items are usual.", built.group[0], built.group[1], built.group[2]));
    head.push("Arguments, in their order (fields: word w of lane l of outer site o is complex number (o * words + w) * NSIMD + l):".to_owned());
    head.extend(kernel.arguments.iter().flat_map(about).map(|line| format!("  {line}")));
    if kernel.sums() {
        head.push("  then those of a sum, as they are declared".to_owned());
    }
    let mut text = String::new();
    for line in head {
        text += &format!("// {line}\n");
    }
    for option in built.options.split_whitespace().filter_map(|option| option.strip_prefix("-D")) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        text += &format!("#ifndef {name}\n#define {name} {value}\n#endif\n");
    }
    // These lines refer to files that a reader does not have.
    text.extend(built.source.lines().filter(|line| !line.starts_with("#line ")).map(|line| format!("{line}\n")));
    Ok(text)
}

/// The comment for an argument of an OpenCL C kernel.
fn about(argument: &KernelArgument) -> Vec<String> {
    use crate::kernel::{Access, FieldSites};
    let field = |FieldRole { name, access, holds, at }: &FieldRole| {
        let does = match access {
            Access::Read => "read",
            Access::Write => "written",
            Access::Update => "read and written",
        };
        let at = match at {
            FieldSites::Target => "",
            FieldSites::Neighbours => ", on the sites of the neighbours",
            FieldSites::All => ", on all sites",
        };
        format!("{name}: a field, {does}{at}: {holds:?}")
    };
    match argument {
        KernelArgument::Field(role) => vec![field(role)],
        KernelArgument::Fields(name, count) => vec![format!("{name}: {count} fields like the target, read; the first one again in place of one that is not there")],
        KernelArgument::Stencil => vec![
            "neighbours: [outer site][+x +y +z +t -x -y -z -t], bits 0 to 30 the neighbour's outer site, bit 31 whether the step leaves the virtual node".into(),
            "lane_steps: [+x +y +z +t -x -y -z -t][lane], bits 0 to 30 the lane that such a step leads to, bit 31 whether it leaves the lattice".into(),
        ],
        KernelArgument::OfNeighbours => vec!["of_neighbours: the neighbours of the sites of the neighbours, as neighbours".into()],
        KernelArgument::Matrix(form) => vec![format!("coefficients of a matrix along s: {form:?}")],
        KernelArgument::Computed(table) => vec![format!("{}: a table by {:?}", table.name, table.rows)],
        KernelArgument::Scalar(name) => vec![format!("{name}: a number, rounded to the precision")],
        KernelArgument::Complex(name) => vec![format!("{name}: real part of a number, rounded to the precision; then its imaginary part")],
        KernelArgument::Double(name) => vec![format!("{name}: a double")],
        KernelArgument::Scalars(names) => vec![format!("a buffer of {}: a number for each right-hand side, of one after the other", names.join(", "))],
        KernelArgument::Coefficients { name, of } => vec![format!("{name}: for each right-hand side of {of} a complex number for each of the target, rounded to the precision")],
        KernelArgument::Indices { name, of, among } => vec![format!("{name}: for each right-hand side of {of} the number of one of {among}")],
        KernelArgument::Slices => vec!["the outer sites and lanes of slices, and the numbers of outer sites, lanes and classes".into()],
        KernelArgument::Osites => vec!["outer sites of the target".into()],
        KernelArgument::Elements => vec!["outer sites of the target times its components".into()],
        KernelArgument::PartWords => vec!["complex words of a component of the target".into()],
        KernelArgument::Words => vec!["complex words of a site of the target".into()],
        KernelArgument::Parts => vec!["components of a site of the target".into()],
        KernelArgument::PartsOf(name) => vec![format!("components of a site of {name}")],
        KernelArgument::RhsParts => vec!["components of a right-hand side".into()],
        KernelArgument::LaunchedParts => vec!["the first component of the launch, and how many it takes".into()],
        KernelArgument::Fermions(each) => vec![format!("{each} for each fermion of Ls spinors")],
        KernelArgument::Ls => vec!["extent of the fifth dimension".into()],
        KernelArgument::Dagger => vec!["1 if the matrix along s is a conjugate one, else 0".into()],
        KernelArgument::Boundary => vec!["boundary: bit mu set where the boundary phase of direction mu is -1, bit 4 + mu where it is 0".into()],
        KernelArgument::Constant(number) => vec![format!("{number}")],
        KernelArgument::Stage | KernelArgument::SharedLinks | KernelArgument::Accumulators => vec![],
    }
}
