//! Fields that a context holds, on its device if it has one: uploaded once, worked on there, downloaded at the end.

use std::sync::{Arc, Mutex, MutexGuard};

use bytemuck::Pod;
use lanefield::backend::{BackendError, Launch as _, Reduce as _, Sum};
use lanefield::dynamic::{AnyBackend, DynField, Piece, download, upload};
use lanefield::kernel::{self, Arguments, Kernel, Value};
use lanefield::reference::field::FieldShape;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Parity, Sites};
use lanefield::reference::real::Precision;
use num_complex::Complex;

use crate::context::Context;
use crate::operator::{Place, dagger, lf_operator};
use crate::pointer::{array, complex, free, give, handle, put, room, write};
use crate::status::{Failure, Outcome, guarded, lf_status, quietly};

/// A field that a context holds. It may be used by several threads at once, which then wait for each other.
pub struct lf_field {
    context: Arc<Context>,
    shape: FieldShape,
    /// Poisoned where a call did not come to its end.
    stored: Mutex<DynField>,
}

fn lost() -> Failure {
    Failure::new(
        lf_status::LF_INTERNAL,
        "the numbers of the field were lost when a call failed: free it, and make another",
    )
}

impl lf_field {
    fn new(operator: &lf_operator, sites: Sites, precision: Precision) -> Outcome<Self> {
        let context = Arc::clone(&operator.context);
        let shape = shape_of(operator, sites, precision)?;
        let stored = context.install(|| DynField::zeros(context.backend(), shape))?;
        Ok(Self { context, shape, stored: Mutex::new(stored) })
    }

    /// Real numbers of the whole lattice.
    fn reals(&self) -> usize {
        2 * self.shape.lattice.extents().volume() * self.shape.object.words()
    }

    fn check_array<R: Vectors>(&self, reals: usize) -> Outcome<()> {
        if self.shape.precision != R::PRECISION {
            let (field, array) = (self.shape.precision, R::NAME);
            return Err(Failure::argument(format!(
                "a field in {field} has no numbers in {array}: take the function of {field}"
            )));
        }
        match reals == self.reals() {
            true => Ok(()),
            false => Err(Failure::argument(format!("{reals} real numbers: the field has {}", self.reals()))),
        }
    }

    fn lock(&self) -> Outcome<MutexGuard<'_, DynField>> {
        self.stored.lock().map_err(|_| lost())
    }
}

fn shape_of(operator: &lf_operator, sites: Sites, precision: Precision) -> Outcome<FieldShape> {
    let backend = operator.context.backend();
    match precision {
        Precision::F64 => operator.shape::<f64>(backend, sites),
        _ => operator.shape::<f32>(backend, sites),
    }
}

/// Locks fields of one context, always in the same order.
fn lock_all<'a, const N: usize>(fields: [&'a lf_field; N]) -> Outcome<[MutexGuard<'a, DynField>; N]> {
    let mut order: [usize; N] = std::array::from_fn(|k| k);
    order.sort_by_key(|&k| std::ptr::from_ref(fields[k]));
    for pair in order.windows(2) {
        if std::ptr::eq(fields[pair[0]], fields[pair[1]]) {
            return Err(Failure::argument("two of the fields are the same one"));
        }
    }
    if fields.iter().any(|field| !Arc::ptr_eq(&field.context, &fields[0].context)) {
        return Err(Failure::argument("the fields are of different contexts"));
    }
    let mut guards = [const { None }; N];
    for k in order {
        guards[k] = Some(fields[k].lock()?);
    }
    // Each was locked.
    Ok(guards.map(|guard| match guard {
        Some(guard) => guard,
        None => unreachable!("every field was locked"),
    }))
}

/// Does something with some fields on the backend of their context.
fn on<T: Send, const N: usize>(
    fields: [&lf_field; N],
    work: impl FnOnce(&AnyBackend, [&mut DynField; N]) -> Result<T, BackendError> + Send,
) -> Outcome<T> {
    let context = &fields[0].context;
    let mut guards = lock_all(fields)?;
    let fields = guards.each_mut().map(|guard| &mut **guard);
    Ok(context.install(|| work(context.backend(), fields))?)
}

/// Launches a kernel: its first field is written, all others are read.
fn launch<const N: usize>(
    kernel: &'static Kernel,
    fields: [(&'static str, &lf_field); N],
    a: Option<f64>,
) -> Outcome<()> {
    let names = fields.map(|(name, _)| name);
    on(fields.map(|(_, field)| field), |backend, fields| {
        let mut arguments = Arguments::new(kernel);
        if let Some(a) = a {
            arguments = arguments.scalar("a", a);
        }
        for (place, (field, name)) in fields.into_iter().zip(names).enumerate() {
            arguments = match place {
                0 => arguments.value(name, Value::Write(field)),
                _ => arguments.read_any(name, field),
            };
        }
        backend.launch(arguments.call()?)
    })
}

fn named(name: &str) -> Outcome<&'static Kernel> {
    let found = kernel::all().find(|kernel| kernel.name == name);
    found.ok_or_else(|| Failure::new(lf_status::LF_INTERNAL, format!("there is no kernel {name}")))
}

/// Makes a field of zeros that an operator acts on, where the operator's context computes.
///
/// `sites`: an lf_sites; `precision`: an lf_precision. `field` receives it, to be freed by lf_field_free(). Operator and context may be freed before.
///
/// Errors: LF_INVALID_ARGUMENT for a parity of a lattice with odd extents; LF_OUT_OF_MEMORY; LF_DEVICE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_create(
    op: *const lf_operator,
    sites: i32,
    precision: i32,
    field: *mut *mut lf_field,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(field, "field")?;
        let operator = handle(op, "operator")?;
        let sites = match sites {
            0 => Sites::Full,
            1 => Sites::Parity(Parity::Even),
            2 => Sites::Parity(Parity::Odd),
            _ => {
                return Err(Failure::argument(format!(
                    "invalid sites {sites}: expected LF_ALL_SITES, LF_EVEN or LF_ODD"
                )));
            }
        };
        let precision = match precision {
            0 => Precision::F64,
            1 => Precision::F32,
            _ => return Err(Failure::argument(format!("invalid precision {precision}: expected LF_F64 or LF_F32"))),
        };
        give(field, lf_field::new(operator, sites, precision)?, "field")?;
        Ok(lf_status::LF_OK)
    })
}

/// Frees a field; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_free(field: *mut lf_field) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(field) });
}

/// # Safety
/// Pointers of C.
unsafe fn upload_to<R: Vectors + Pod>(field: *mut lf_field, values: *const R, reals: usize) -> lf_status
where
    Complex<R>: Pod,
{
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let field = handle(field.cast_const(), "field")?;
        field.check_array::<R>(reals)?;
        let values = complex(array(values, reals, "values")?);
        on([field], |backend, [stored]| {
            *stored = upload(backend, field.shape, values)?;
            Ok(())
        })?;
        Ok(lf_status::LF_OK)
    })
}

/// # Safety
/// Pointers of C.
unsafe fn download_from<R: Vectors + Pod>(field: *const lf_field, values: *mut R, reals: usize) -> lf_status
where
    Complex<R>: Pod,
{
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(values, "values")?;
        let field = handle(field, "field")?;
        field.check_array::<R>(reals)?;
        let numbers = on([field], |backend, [stored]| download::<R>(backend, stored))?;
        write(values, bytemuck::cast_slice::<Complex<R>, R>(&numbers), "values")?;
        Ok(lf_status::LF_OK)
    })
}

/// Copies an array to a field in f64: `reals` numbers of the whole lattice in site order, as of lf_operator_apply_f64(), of which a field on one
/// parity takes those of its sites.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_upload_f64(field: *mut lf_field, values: *const f64, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { upload_to(field, values, reals) }
}

/// The same of a field in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_upload_f32(field: *mut lf_field, values: *const f32, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { upload_to(field, values, reals) }
}

/// Copies a field in f64 to an array of `reals` numbers, +0 on sites that the field does not live on. Waits until all that was asked of the field is
/// done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_download_f64(field: *const lf_field, values: *mut f64, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { download_from(field, values, reals) }
}

/// The same of a field in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_download_f32(field: *const lf_field, values: *mut f32, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { download_from(field, values, reals) }
}

/// result = operator · source, of fields that lf_field_create() made with this operator, or with one on the same lattice that acts on the same
/// objects, in one precision. `piece` and `dagger` are those of lf_operator_apply_f64(); on which sites is said by `result`.
///
/// Errors: LF_INVALID_ARGUMENT also for fields on other sites than the piece reads and writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_apply(
    op: *const lf_operator,
    piece: i32,
    dagger: i32,
    source: *const lf_field,
    result: *mut lf_field,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let operator = handle(op, "operator")?;
        let (source, result) = (handle(source, "source")?, handle(result.cast_const(), "result")?);
        let sites = match result.shape.sites {
            Sites::Full => 0,
            Sites::Parity(Parity::Even) => 1,
            Sites::Parity(Parity::Odd) => 2,
        };
        apply(operator, (operator.piece(piece, sites)?, self::dagger(dagger)?), source, result)?;
        Ok(lf_status::LF_OK)
    })
}

fn apply(
    operator: &lf_operator,
    (piece, dagger): (Piece, lanefield::reference::kernels::hop::Dagger),
    source: &lf_field,
    result: &lf_field,
) -> Outcome<()> {
    let (context, precision) = (&operator.context, result.shape.precision);
    if !Arc::ptr_eq(context, &result.context) {
        return Err(Failure::argument("operator and fields are of different contexts"));
    }
    match precision {
        Precision::F64 => operator.check_precision::<f64>()?,
        _ => operator.check_precision::<f32>()?,
    }
    let fits = |field: &lf_field, name: &str, sites: Sites| {
        let expected = shape_of(operator, sites, precision)?;
        match field.shape == expected {
            true => Ok(()),
            false => Err(Failure::argument(format!(
                "the {name} is a {}, and must be a {}",
                field.shape.describe(),
                expected.describe()
            ))),
        }
    };
    operator.check_dagger(dagger)?;
    fits(source, "source", piece.from())?;
    fits(result, "result", piece.onto())?;
    let mut kept = operator.kept(Place::Context, precision)?;
    let Some(kept) = &mut *kept else { return Err(Failure::new(lf_status::LF_INTERNAL, "no operator was made")) };
    let [psi, mut out] = lock_all([source, result])?;
    let (out, psi) = (&mut *out, &*psi);
    Ok(kept.with_dependent_mut(|_, operator| context.install(|| operator.apply(piece, dagger, out, psi)))?)
}

/// to = from, of fields alike.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_copy(from: *const lf_field, to: *mut lf_field) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (from, to) = (handle(from, "from")?, handle(to.cast_const(), "to")?);
        launch(named("copy")?, [("out", to), ("x", from)], None)?;
        Ok(lf_status::LF_OK)
    })
}

/// out = a·x, of fields alike: each real number rounded once; a is rounded to their precision first (docs/arithmetic.md §7).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_scale(a: f64, x: *const lf_field, out: *mut lf_field) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (x, out) = (handle(x, "x")?, handle(out.cast_const(), "out")?);
        launch(named("scale")?, [("out", out), ("x", x)], Some(a))?;
        Ok(lf_status::LF_OK)
    })
}

/// y = a·x + y, of fields alike: each real number one fused multiply-add; a is rounded to their precision first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_axpy(a: f64, x: *const lf_field, y: *mut lf_field) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (x, y) = (handle(x, "x")?, handle(y.cast_const(), "y")?);
        launch(named("axpy")?, [("y", y), ("x", x)], Some(a))?;
        Ok(lf_status::LF_OK)
    })
}

/// norm2 = |x|²: the exact sum over the sites of the field, rounded once; the bits of lf_norm2_f64() of the downloaded array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_norm2(x: *const lf_field, norm2: *mut f64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(norm2, "norm2")?;
        let kernel = named("norm2")?;
        let sums = on([handle(x, "x")?], |backend, [x]| {
            Ok(backend.reduce(Arguments::new(kernel).read_any("x", x).call()?, Sum::Exact)?.round())
        })?;
        put(norm2, sums.first().copied().unwrap_or(0.0), "norm2")?;
        Ok(lf_status::LF_OK)
    })
}

/// `inner[0]` + i·`inner[1]` = ⟨x, y⟩ of fields alike, which are not the same one, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_inner(x: *const lf_field, y: *const lf_field, inner: *mut f64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(inner, "inner")?;
        let kernel = named("inner_products")?;
        let sums = on([handle(x, "x")?, handle(y, "y")?], |backend, [x, y]| {
            let arguments = Arguments::new(kernel).value("xs", Value::Reads(vec![&*x])).read_any("y", y);
            Ok(backend.reduce(arguments.call()?, Sum::Exact)?.round())
        })?;
        write(inner, &sums[..sums.len().min(2)], "inner")?;
        Ok(lf_status::LF_OK)
    })
}
