//! Gauge configurations from files, seeds and arrays.

use std::ffi::c_char;
use std::ptr::null;
use std::sync::Arc;

use lanefield::comm::WholeLattice;
use lanefield::io::configuration::{self, ConfigurationError, Format, Origin, ReadOptions, WriteOptions};
use lanefield::reference::field::list_of;
use lanefield::reference::gauge::{Configuration, GaugeError, Projection};
use lanefield::reference::layout::Extents;

use crate::context::{Context, lf_context};
use crate::pointer::{
    array, complex, extents as extents_of, free, give, handle, path as path_of, put, room, text_or_none, write,
};
use crate::status::{Failure, Outcome, guarded, lf_status, quietly};

/// A gauge configuration: SU(3) links on a periodic lattice. It is immutable, and may be used by several threads at once.
pub struct lf_configuration {
    context: Arc<Context>,
    pub(crate) configuration: Arc<Configuration>,
    /// What its file says; it is copied to the file to which the configuration is written.
    origin: Option<Origin>,
}

/// Real numbers of the links of one site: 4 directions, 3 rows, 3 columns, re and im.
pub const LF_LINK_REALS_A_SITE: usize = 72;

/// Creates a configuration on the threads of a context.
unsafe fn make(
    context: *const lf_context,
    out: *mut *mut lf_configuration,
    work: impl FnOnce() -> Outcome<Configuration> + Send,
) -> Outcome<()> {
    // SAFETY: the caller's promise.
    unsafe { make_with_origin(context, out, || Ok((work()?, None))) }
}

/// As [`make`], for a configuration that may come from a file.
unsafe fn make_with_origin(
    context: *const lf_context,
    out: *mut *mut lf_configuration,
    work: impl FnOnce() -> Outcome<(Configuration, Option<Origin>)> + Send,
) -> Outcome<()> {
    room(out, "configuration")?;
    // SAFETY: the caller's promise.
    let context = Arc::clone(&unsafe { handle(context, "context") }?.0);
    let (configuration, origin) = context.install(work)?;
    let configuration = Arc::new(configuration);
    // SAFETY: the caller's promise.
    unsafe { give(out, lf_configuration { context, configuration, origin }, "configuration") }
}

/// Refuses a lattice whose links do not fit the host's memory, before they are created.
fn check_room(extents: Extents) -> Outcome<()> {
    let reals = extents.volume() * LF_LINK_REALS_A_SITE;
    let mut room = Vec::<f64>::new();
    room.try_reserve_exact(reals).map_err(|_| {
        let message = format!("no room for {} bytes of links on {extents} in the host's memory", 8 * reals);
        Failure::new(lf_status::LF_OUT_OF_MEMORY, message)
    })
}

/// Creates the free field on a lattice: every link is 1. `extents`: sites in x, y, z, t. `configuration` receives the configuration; free
/// it with lf_configuration_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_unit(
    context: *const lf_context,
    extents: *const i32,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let extents = extents_of(extents)?;
        make(context, configuration, || check_room(extents).map(|()| Configuration::unit(extents)))
    })
}

/// Creates random SU(3) links, uniform in the group. A link depends only on the seed, its site number and its direction, so the links are
/// the same on every machine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_hot(
    context: *const lf_context,
    extents: *const i32,
    seed: u64,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let extents = extents_of(extents)?;
        make(context, configuration, || check_room(extents).map(|()| Configuration::hot(extents, seed)))
    })
}

/// Creates random links near 1: exponentials of Gaussian algebra elements of width `spread`, for example 0.1. A link depends only on the
/// arguments, its site number and its direction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_weak(
    context: *const lf_context,
    extents: *const i32,
    seed: u64,
    spread: f64,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let extents = extents_of(extents)?;
        if !(spread * spread).is_finite() {
            return Err(Failure::argument(format!(
                "invalid spread {spread}: expected a finite number, for example 0.1"
            )));
        }
        make(context, configuration, || check_room(extents).map(|()| Configuration::weak(extents, seed, spread)))
    })
}

/// Creates a configuration from its links, which are copied.
///
/// `links`: `reals` = 72 numbers for each site. Their order is ((((site · 4 + mu) · 3 + row) · 3 + column) · 2 + (0 re, 1 im)), where site
/// is x + X·(y + Y·(z + Z·t)), and mu is 0 to 3 for x, y, z, t.
///
/// `tolerance`: how far links may be from SU(3), max |U U† − 1| and |det U − 1|. Reading files uses 1e-5. If it is negative, links must
/// only be finite; operators with reconstruct 8 then refuse links that are not in SU(3).
///
/// Errors: LF_INVALID_ARGUMENT for a wrong number of reals, and for a link that is not in SU(3), with its site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_from_links(
    context: *const lf_context,
    extents: *const i32,
    links: *const f64,
    reals: usize,
    tolerance: f64,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let extents = extents_of(extents)?;
        let expected = extents.volume() * LF_LINK_REALS_A_SITE;
        if reals != expected {
            return Err(Failure::argument(format!(
                "{reals} numbers of links: a configuration on {extents} has {expected}, {LF_LINK_REALS_A_SITE} a site"
            )));
        }
        let links = complex(array(links, reals, "links")?);
        make(context, configuration, || {
            let links = list_of(|| format!("links on {extents}"), links.len(), links.iter().copied())?;
            let made = Configuration::new(extents, links).map_err(gauge)?;
            // NaN is not negative, so it does not disable the check: it is a tolerance that no link meets, and is refused.
            if tolerance < 0.0 { made.require_finite() } else { made.require_su3(tolerance) }.map_err(gauge)?;
            Ok(made)
        })
    })
}

fn gauge(error: GaugeError) -> Failure {
    Failure::argument(error.to_string())
}

/// Reads a configuration from a file. The first bytes determine the format: NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep, or a
/// NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3) in complex64 or complex128. Everything that the file says about its content is verified. Links
/// must be in SU(3) within 1e-5.
///
/// Errors: LF_FILE, with the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_read(
    context: *const lf_context,
    path: *const c_char,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { read(context, path, null(), null(), configuration) }
}

/// As lf_configuration_read(). `extents`: the lattice of a file that does not say it (a LIME file that has only links); null for other
/// files. `projection`: "polar" or "max-re-tr" projects the links to SU(3), however far from it they are; null leaves them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_read_as(
    context: *const lf_context,
    path: *const c_char,
    extents: *const i32,
    projection: *const c_char,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { read(context, path, extents, projection, configuration) }
}

unsafe fn read(
    context: *const lf_context,
    path: *const c_char,
    extents: *const i32,
    projection: *const c_char,
    configuration: *mut *mut lf_configuration,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let path = path_of(path, "path")?;
        let lattice = if extents.is_null() { None } else { Some(extents_of(extents)?) };
        let projection = text_or_none(projection, "projection")?.map(str::parse::<Projection>).transpose();
        let options = ReadOptions { lattice, projection: projection.map_err(Failure::argument)? };
        make_with_origin(context, configuration, move || {
            let read = configuration::read(&path, options).map_err(|error| file(&error))?;
            Ok((read.configuration, Some(read.origin)))
        })
    })
}

/// Writes a configuration to a file, whole or not at all. Its name determines the format: .nersc (or no extension), .lime (ILDG), .milc (32
/// bits), .npy, .h5. An existing file is replaced.
///
/// A configuration that was read from a file is written with the precision and the labels of that file. Labels that the format cannot hold
/// are written to a sidecar, PATH.json.
///
/// Errors: LF_FILE, with the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_write(
    configuration: *const lf_configuration,
    path: *const c_char,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { write_file(configuration, path, null()) }
}

/// As lf_configuration_write(), in the format "nersc", "ildg", "milc", "npy" or "hdf5", whatever the name; if null, as the name says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_write_as(
    configuration: *const lf_configuration,
    path: *const c_char,
    format: *const c_char,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { write_file(configuration, path, format) }
}

unsafe fn write_file(configuration: *const lf_configuration, path: *const c_char, format: *const c_char) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let path = path_of(path, "path")?;
        let format = text_or_none(format, "format")?.map(str::parse::<Format>).transpose();
        let format = format.map_err(Failure::argument)?;
        let lf_configuration { context, configuration, origin } = handle(configuration, "configuration")?;
        let lattice = WholeLattice::alone(configuration.extents());
        let options = WriteOptions { format, origin: origin.as_ref(), ..WriteOptions::default() };
        let write = || configuration::write(&path, configuration, &lattice, &options);
        context.install(write).map_err(|error| file(&error))
    })
}

fn file(error: &ConfigurationError) -> Failure {
    Failure::new(lf_status::LF_FILE, error.to_string())
}

/// Frees a configuration; null is ignored. Operators that were created with it remain usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_free(configuration: *mut lf_configuration) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(configuration) });
}

/// Returns the extents of a configuration: `extents` receives four numbers, for x, y, z, t.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_extents(
    configuration: *const lf_configuration,
    extents: *mut i32,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let numbers = handle(configuration, "configuration")?.configuration.extents().as_array();
        write(extents, &numbers.map(|extent| i32::try_from(extent).unwrap_or(i32::MAX)), "extents")
    })
}

/// Copies the links of a configuration to `links`, which has room for `reals` = 72 numbers for each site, in the order of
/// lf_configuration_from_links().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_links(
    configuration: *const lf_configuration,
    links: *mut f64,
    reals: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let numbers: &[f64] = bytemuck::cast_slice(handle(configuration, "configuration")?.configuration.links());
        if reals != numbers.len() {
            return Err(Failure::argument(format!("room for {reals} numbers of links: there are {}", numbers.len())));
        }
        write(links, numbers, "links")
    })
}

/// Computes an observable of a configuration.
unsafe fn observe(
    configuration: *const lf_configuration,
    value: *mut f64,
    observable: impl FnOnce(&Configuration) -> f64 + Send,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(value, "value")?;
        let lf_configuration { context, configuration, .. } = handle(configuration, "configuration")?;
        put(value, context.install(|| observable(configuration)), "value")
    })
}

/// Computes the average plaquette, Re tr P / 3 over all sites and planes: 1 for the free field. It is the exact sum, rounded once, and has
/// the same bits on every machine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_plaquette(
    configuration: *const lf_configuration,
    value: *mut f64,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { observe(configuration, value, Configuration::plaquette) }
}

/// Computes the link trace, Re tr U / 3 over all links: 1 for the free field. It is the exact sum, rounded once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_configuration_link_trace(
    configuration: *const lf_configuration,
    value: *mut f64,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { observe(configuration, value, Configuration::link_trace) }
}
