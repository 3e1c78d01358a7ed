//! Golden data for programs that compare their results with them, as written by `lanefield golden export`.

use std::ffi::c_char;

use lanefield::backend::BackendError;
use lanefield::io::directory::DirectoryError;
use lanefield::kernel::{self, Kernel};
use lanefield::reference::layout::{Extents, LaneChoice, LegOrder};
use lanefield::reference::links::BoundaryPhases;
use lanefield::reference::real::Precision;
use lanefield_ports::golden::{GoldenError, GoldenOptions, export};

use crate::context::lf_context;
use crate::pointer::{extents as extents_of, handle, path as path_of, text_or_none};
use crate::status::{Failure, Outcome, guarded, lf_status};
use crate::struct_size::{Growing, get_sized};

/// The content of golden data. Set everything to zero, and then `size`: zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lf_golden_options {
    /// sizeof(lf_golden_options), set by the caller. Later versions add members at the end.
    pub size: usize,
    /// Comma-separated names of kernels or families, for example "hop,eo_clover"; null for all.
    pub kernels: *const c_char,
    /// Comma-separated precisions of results, for example "f32,f64,half"; null for all.
    pub precisions: *const c_char,
    /// Boundary phases in x,y,z,t; null for "1,1,1,-1".
    pub boundary: *const c_char,
    /// The leg order of the hop; null for the default.
    pub legs: *const c_char,
    /// The lattice, with even extents; zeros for 4.6.2.8.
    pub extents: [i32; 4],
    /// 1: replace a directory that contains golden data.
    pub replace: i32,
    /// Seed of links, fields and scalars; 0 for 1.
    pub seed: u64,
}

impl Growing for lf_golden_options {
    const NAME: &'static str = "lf_golden_options";
}

/// The kernels with these names, which may be names of families.
fn kernels(names: Option<&str>) -> Outcome<Vec<&'static Kernel>> {
    let launched = || kernel::all().filter(|kernel| kernel.is_launched());
    let Some(names) = names else { return Ok(launched().collect()) };
    let named: Vec<&str> = names.split(',').map(str::trim).collect();
    for name in &named {
        if !launched().any(|kernel| kernel.name == *name || kernel.family == *name) {
            let known: Vec<&str> = launched().map(|kernel| kernel.name).collect();
            let known = known.join(", ");
            return Err(Failure::argument(format!("unknown kernel '{name}': expected {known}, or a family")));
        }
    }
    Ok(launched().filter(|kernel| named.iter().any(|name| kernel.name == *name || kernel.family == *name)).collect())
}

/// Precisions by name, without repetitions.
fn precisions(names: Option<&str>) -> Outcome<Vec<Precision>> {
    let Some(names) = names else { return Ok(Precision::ALL.to_vec()) };
    let parsed: Result<Vec<Precision>, String> = names.split(',').map(|name| name.trim().parse()).collect();
    let mut precisions = parsed.map_err(Failure::argument)?;
    precisions.sort_unstable();
    precisions.dedup();
    Ok(precisions)
}

impl lf_golden_options {
    /// # Safety
    /// The texts end in zero bytes.
    unsafe fn read(&self) -> Outcome<GoldenOptions> {
        // SAFETY: the caller's promise.
        let read = |text, name| unsafe { text_or_none(text, name) };
        let (boundary, legs) = (read(self.boundary, "boundary")?, read(self.legs, "legs")?);
        let (kernels_named, precisions_named) = (read(self.kernels, "kernels")?, read(self.precisions, "precisions")?);
        let extents = match self.extents {
            [0, 0, 0, 0] => Extents::new(GoldenOptions::LATTICE)?,
            // SAFETY: four numbers.
            _ => unsafe { extents_of(self.extents.as_ptr()) }?,
        };
        let boundary = boundary.map_or(Ok(BoundaryPhases::ANTIPERIODIC_IN_TIME), str::parse);
        Ok(GoldenOptions {
            kernels: kernels(kernels_named)?,
            extents,
            seed: if self.seed == 0 { GoldenOptions::SEED } else { self.seed },
            precisions: precisions(precisions_named)?,
            boundary: boundary.map_err(|error| Failure::argument(error.to_string()))?,
            legs: legs.map_or(Ok(LegOrder::DEFAULT), str::parse)?,
            lanes: LaneChoice::Auto,
        })
    }
}

fn of_golden(error: GoldenError) -> Failure {
    let text = error.to_string();
    let of = |error: BackendError| Failure { message: text.clone(), ..error.into() };
    match error {
        GoldenError::Directory(DirectoryError::NotEmpty { path, replaceable: true }) => Failure::new(
            lf_status::LF_FILE,
            format!("{} already holds golden data: give another name, or set replace to replace them", path.display()),
        ),
        GoldenError::Case { source, .. } | GoldenError::Stage { source, .. } => of(*source),
        GoldenError::Boundary(_) => Failure::argument(text),
        GoldenError::Layout(error) => error.into(),
        GoldenError::Field(error) => error.into(),
        GoldenError::Solve(_) | GoldenError::DomainWall(_) => Failure::new(lf_status::LF_NO_RESULT, text),
        _ => Failure::new(lf_status::LF_FILE, text),
    }
}

/// Writes golden data to a directory: inputs, intermediates and results of kernels as .npy files, with a manifest (docs/golden.md). They
/// depend only on `options`: the bytes are the same on every device. The directory is written whole or not at all.
///
/// `options`: may be null for the defaults, all kernels in all precisions. These take seconds on a CPU, and minutes on a device whose
/// kernels are not built yet.
///
/// Errors: LF_FILE if the directory is not empty or cannot be written; LF_INVALID_ARGUMENT; LF_DEVICE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_golden_export(
    context: *const lf_context,
    directory: *const c_char,
    options: *const lf_golden_options,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let context = &handle(context, "context")?.0;
        let directory = path_of(directory, "directory")?;
        let options = get_sized(options)?;
        let (replace, options) = (options.replace != 0, options.read()?);
        let exported = context.install(|| export(context.backend(), &options, &directory, replace, &|_| true));
        exported.map(drop).map_err(of_golden)
    })
}
