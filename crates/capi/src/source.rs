//! Sources by name. They have the same numbers as in `lanefield solve` and `apply` for the same `--source`.

use std::ffi::c_char;
use std::path::Path;

use lanefield::dynamic::Applicable;
use lanefield::io::{npy, sidecar};
use lanefield::observable::Source;
use lanefield::operator::AnyModel;
use lanefield::reference::field::Object;
use num_complex::Complex;

use crate::operator::lf_operator;
use crate::pointer::{handle, room, text, write};
use crate::status::{Failure, Outcome, guarded, lf_status};

/// The shape of the fields that an operator acts on, as in files.
struct Shape {
    /// The extent of the axis of s.
    ls: Option<usize>,
    /// The name and the extent of the index before colour.
    component: (&'static str, usize),
}

impl Shape {
    fn of(operator: &lf_operator) -> Outcome<Self> {
        let is_five_dimensional = matches!(operator.what, Applicable::Model(AnyModel::DomainWall(_)));
        match operator.object() {
            Object::Spinors(ls) => Ok(Self { ls: is_five_dimensional.then_some(ls), component: ("spin", 4) }),
            Object::ColourVectors(count) => Ok(Self { ls: None, component: ("component", count) }),
            other => Err(Failure::argument(format!("fields of type {} have no sources", other.name()))),
        }
    }

    /// Reads a field from a file, in site order.
    fn read(&self, path: &Path, operator: &lf_operator) -> Outcome<Vec<Complex<f64>>> {
        let failed =
            |error: String| Failure::new(lf_status::LF_FILE, format!("failed to read {}: {error}", path.display()));
        sidecar::check(path).map_err(|error| Failure::new(lf_status::LF_FILE, error.to_string()))?;
        let array = npy::read_complex(path).map_err(|error| failed(error.to_string()))?;
        array.require_finite().map_err(|error| failed(error.to_string()))?;
        let [x, y, z, t] = operator.configuration.extents().as_array();
        let expected = [self.ls.as_slice(), &[t, z, y, x, self.component.1, 3]].concat();
        // In other programs a single colour vector has no axis for its number.
        let is_short = self.component.1 == 1 && array.shape[..] == [t, z, y, x, 3];
        if array.shape != expected && !is_short {
            return Err(failed(format!("it has the shape {:?}, and the operator acts on {expected:?}", array.shape)));
        }
        let values = match self.ls {
            Some(_) => array.into_fermion5().map(|fermion| fermion.values),
            None => Ok(array.values),
        };
        Ok(values.map_err(|error| failed(error.to_string()))?.into_f64())
    }
}

fn numbers(operator: &lf_operator, name: &str) -> Outcome<Vec<Complex<f64>>> {
    let source = Source::field(name).map_err(Failure::argument)?;
    let (shape, extents) = (Shape::of(operator)?, operator.configuration.extents());
    if let Source::File(path) = &source {
        return shape.read(path, operator);
    }
    source.require_inside(extents).map_err(|error| Failure::argument(error.to_string()))?;
    let (index, count) = shape.component;
    source.require_component(index, count).map_err(Failure::argument)?;
    Ok(source.field_on(extents, operator.object().words())?)
}

/// Creates a source by its name for an operator. It has the same numbers as in the commands `lanefield apply` and `lanefield source`.
///
/// `name`: one of
/// - "gauss:SEED": Gaussian numbers of variance 1 in each real
/// - "z4:SEED": each number is 1, i, -1 or -i
/// - "z2:SEED": each number is 1 or -1
/// - "gauss:SEED,t", "z4:SEED,t", "z2:SEED,t": the same on time slice t alone
/// - "point:x,y,z,t,spin,colour": 1 there and 0 elsewhere (colour vectors have a component instead of the spin)
/// - "wall:t,spin,colour": 1 on a time slice
/// - "momentum:nx,ny,nz,t,spin,colour": exp(ip·x) on a time slice, with p = 2 pi n/L
/// - the file of a NumPy array (T, Z, Y, X, 4, 3), in five dimensions (Ls, T, Z, Y, X, 4, 3), or (T, Z, Y, X, N, 3) for N colour vectors
///
/// In five dimensions a point, a wall or a wave is at s = 0. `values` receives `reals` numbers in site order, the number that
/// lf_operator_reals() returns.
///
/// Errors: LF_INVALID_ARGUMENT for an unknown name, and for a position or a spin that does not exist; LF_FILE, also for an array that its
/// sidecar does not describe; LF_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_source(
    op: *const lf_operator,
    name: *const c_char,
    values: *mut f64,
    reals: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(values, "values")?;
        let operator = handle(op, "operator")?;
        operator.check_reals(reals)?;
        let name = text(name, "name")?;
        let numbers = operator.context.install(|| numbers(operator, name))?;
        write(values, bytemuck::cast_slice::<Complex<f64>, f64>(&numbers), "values")
    })
}
