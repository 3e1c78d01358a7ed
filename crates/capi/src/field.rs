//! Fields that a context stores, on its device if it has one. They are uploaded once, used there, and downloaded at the end.

use std::sync::{Arc, Mutex, MutexGuard};

use lanefield::backend::{BackendError, Launch as _, Reduce as _, Sum};
use lanefield::dynamic::{self, AnyBackend, DynField, Piece, download, upload};
use lanefield::kernel::blas::{AXPY, COPY, SCALE};
use lanefield::kernel::reduce::INNER_PRODUCTS;
use lanefield::kernel::{ArgumentValue, Arguments, Kernel};
use lanefield::reference::ensure;
use lanefield::reference::field::FieldShape;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::Sites;
use lanefield::reference::real::Precision;
use num_complex::Complex;

use crate::context::Context;
use crate::operator::{Place, dagger, lf_operator, precision_of, sites_of};
use crate::pointer::{array, complex, free, give, handle, put, room, write};
use crate::status::{Failure, Outcome, guarded, lf_status, quietly};

/// A field that a context stores. It may be used by several threads at once; they then wait for each other.
pub struct lf_field {
    context: Arc<Context>,
    shape: FieldShape,
    /// Poisoned if a call failed with a panic.
    stored: Mutex<DynField>,
}

impl lf_field {
    fn new(operator: &lf_operator, sites: Sites, precision: Precision) -> Outcome<Self> {
        let context = Arc::clone(&operator.context);
        let shape = operator.shape(Place::Context, precision, sites)?;
        let stored = context.install(|| DynField::zeros(&**context.backend(), shape))?;
        Ok(Self { context, shape, stored: Mutex::new(stored) })
    }

    /// The number of reals on the whole lattice.
    fn reals(&self) -> usize {
        2 * self.shape.lattice.extents().volume() * self.shape.object.words()
    }

    fn check_array<R: Vectors>(&self, reals: usize) -> Outcome<()> {
        let (field, array) = (self.shape.precision, R::NAME);
        if field != R::PRECISION {
            let message = format!("the field is in {field}, not in {array}: use the function for {field}");
            return Err(Failure::argument(message));
        }
        match reals == self.reals() {
            true => Ok(()),
            false => Err(Failure::argument(format!("{reals} real numbers: the field has {}", self.reals()))),
        }
    }

    fn lock(&self) -> Outcome<MutexGuard<'_, DynField>> {
        let lost = "the numbers of the field were lost when a call failed: free it, and create another";
        self.stored.lock().map_err(|_| Failure::new(lf_status::LF_INTERNAL, lost))
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
    // All were locked above.
    Ok(guards.map(|guard| match guard {
        Some(guard) => guard,
        None => unreachable!("every field was locked"),
    }))
}

/// Runs a function on some fields, on the backend of their context.
fn on<T: Send, const N: usize>(
    fields: [&lf_field; N],
    work: impl FnOnce(&AnyBackend, [&mut DynField; N]) -> Result<T, BackendError> + Send,
) -> Outcome<T> {
    let context = &fields[0].context;
    let mut guards = lock_all(fields)?;
    let fields = guards.each_mut().map(|guard| &mut **guard);
    Ok(context.install(|| work(context.backend(), fields))?)
}

/// Launches a kernel that writes its first field and reads all others.
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
                0 => arguments.value(name, ArgumentValue::Write(field)),
                _ => arguments.read_any(name, field),
            };
        }
        backend.launch(arguments.call()?)
    })
}

/// Creates a field of zeros that an operator can act on, on the device of the operator's context.
///
/// `sites`: an lf_sites; `precision`: an lf_precision. `field` receives the field; free it with lf_field_free(). Operator and context may
/// be freed before it.
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
        give(field, lf_field::new(operator, sites_of(sites)?, precision_of(precision)?)?, "field")
    })
}

/// Frees a field; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_free(field: *mut lf_field) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(field) });
}

unsafe fn upload_to<R: Vectors>(field: *mut lf_field, values: *const R, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let field = handle(field.cast_const(), "field")?;
        field.check_array::<R>(reals)?;
        let values = complex(array(values, reals, "values")?);
        on([field], |backend, [stored]| upload(backend, field.shape, values).map(|new| *stored = new))
    })
}

unsafe fn download_from<R: Vectors>(field: *const lf_field, values: *mut R, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(values, "values")?;
        let field = handle(field, "field")?;
        field.check_array::<R>(reals)?;
        let numbers = on([field], |backend, [stored]| download::<R>(backend, stored))?;
        write(values, bytemuck::cast_slice::<Complex<R>, R>(&numbers), "values")
    })
}

/// Copies an array to a field in f64. The array has `reals` numbers for the whole lattice in site order, as in lf_operator_apply_f64(). A
/// field on one parity receives the numbers of its sites.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_upload_f64(field: *mut lf_field, values: *const f64, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { upload_to(field, values, reals) }
}

/// As lf_field_upload_f64(), for a field in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_upload_f32(field: *mut lf_field, values: *const f32, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { upload_to(field, values, reals) }
}

/// Copies a field in f64 to an array of `reals` numbers, with +0 on sites that the field does not have. Waits for all earlier operations on
/// the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_download_f64(field: *const lf_field, values: *mut f64, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { download_from(field, values, reals) }
}

/// As lf_field_download_f64(), for a field in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_download_f32(field: *const lf_field, values: *mut f32, reals: usize) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { download_from(field, values, reals) }
}

/// result = operator · source. lf_field_create() must have created the fields with this operator, or with one on the same lattice that acts
/// on the same objects. Both must have the same precision. `piece` and `dagger` are those of lf_operator_apply_f64(); the sites are those of
/// `result`.
///
/// Errors: LF_INVALID_ARGUMENT also if the fields are not on the sites that the piece reads and writes.
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
        let piece = operator.piece(piece, result.shape.sites)?;
        apply(operator, (piece, self::dagger(dagger)?), source, result)
    })
}

fn apply(
    operator: &lf_operator,
    (piece, dagger): (Piece, Dagger),
    source: &lf_field,
    result: &lf_field,
) -> Outcome<()> {
    let (context, precision) = (&operator.context, result.shape.precision);
    ensure!(Arc::ptr_eq(context, &result.context), Failure::argument("operator and fields are of different contexts"));
    match precision {
        Precision::F64 => operator.check_precision::<f64>()?,
        _ => operator.check_precision::<f32>()?,
    }
    let fits = |field: &lf_field, name: &str, sites: Sites| {
        let expected = operator.shape(Place::Context, precision, sites)?;
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
    operator.kept(Place::Context).with(precision, |operator| {
        let [psi, mut out] = lock_all([source, result])?;
        let (out, psi) = (&mut *out, &*psi);
        Ok(context.install(|| operator.apply(piece, dagger, out, psi))?)
    })
}

/// to = from. Both fields have the same type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_copy(from: *const lf_field, to: *mut lf_field) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (from, to) = (handle(from, "from")?, handle(to.cast_const(), "to")?);
        launch(&COPY, [("out", to), ("x", from)], None)
    })
}

/// out = a·x. Both fields have the same type. Each real number is rounded once; a is first rounded to their precision (docs/arithmetic.md
/// §7).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_scale(a: f64, x: *const lf_field, out: *mut lf_field) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (x, out) = (handle(x, "x")?, handle(out.cast_const(), "out")?);
        launch(&SCALE, [("out", out), ("x", x)], Some(a))
    })
}

/// y = a·x + y. Both fields have the same type. Each real number is one fused multiply-add; a is first rounded to their precision.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_axpy(a: f64, x: *const lf_field, y: *mut lf_field) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (x, y) = (handle(x, "x")?, handle(y.cast_const(), "y")?);
        launch(&AXPY, [("y", y), ("x", x)], Some(a))
    })
}

/// norm2 = |x|²: the exact sum over the sites of the field, rounded once. It has the bits of lf_norm2_f64() of the downloaded array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_norm2(x: *const lf_field, norm2: *mut f64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(norm2, "norm2")?;
        put(norm2, on([handle(x, "x")?], |backend, [x]| dynamic::norm2(backend, x))?, "norm2")
    })
}

/// `inner[0]` + i·`inner[1]` = ⟨x, y⟩, computed like lf_field_norm2(). x and y are two different fields of the same type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_field_inner(x: *const lf_field, y: *const lf_field, inner: *mut f64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(inner, "inner")?;
        let sums = on([handle(x, "x")?, handle(y, "y")?], |backend, [x, y]| {
            let arguments =
                Arguments::new(&INNER_PRODUCTS).value("xs", ArgumentValue::Reads(vec![&*x])).read_any("y", y);
            Ok(backend.reduce(arguments.call()?, Sum::Exact)?.round())
        })?;
        write(inner, &sums[..sums.len().min(2)], "inner")
    })
}
