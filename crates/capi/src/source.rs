//! Sources by name: the numbers that `lanefield solve` and `apply` take for the same `--source`.

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

/// What an operator acts on, as files have it.
struct Shape {
    /// The extent of the axis of s.
    ls: Option<usize>,
    /// What the index before colour is called, and how far it goes.
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

    /// Reads the field of a file, in site order.
    fn read(&self, path: &Path, operator: &lf_operator) -> Outcome<Vec<Complex<f64>>> {
        let failed =
            |error: String| Failure::new(lf_status::LF_FILE, format!("failed to read {}: {error}", path.display()));
        sidecar::check(path).map_err(|error| Failure::new(lf_status::LF_FILE, error.to_string()))?;
        let array = npy::read_complex(path).map_err(|error| failed(error.to_string()))?;
        array.require_finite().map_err(|error| failed(error.to_string()))?;
        let [x, y, z, t] = operator.configuration.extents().as_array();
        let expected = [self.ls.as_slice(), &[t, z, y, x, self.component.1, 3]].concat();
        // One colour vector has no axis for its number in other programs.
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

/// Makes a source by its name, of what an operator acts on: the numbers that the commands `lanefield apply` and `lanefield source` take for the same one.
///
/// `name`: "gauss:SEED", Gaussian numbers of variance 1 in each real; "z4:SEED", each number one of 1, i, -1, -i; "z2:SEED", 1 or -1 (with "SEED,t" on time
/// slice t alone); "point:x,y,z,t,spin,colour", 1 there and 0 elsewhere (of colour vectors the component instead of the spin);
/// "wall:t,spin,colour", 1 on a time slice; "momentum:nx,ny,nz,t,spin,colour", exp(ip·x) there with p = 2 pi n/L; or the file of a NumPy array
/// (T, Z, Y, X, 4, 3), in five dimensions (Ls, T, Z, Y, X, 4, 3), of N colour vectors (T, Z, Y, X, N, 3). In five dimensions a point, a wall or a wave is at
/// s = 0. `values` receives `reals` numbers in site order, as many as lf_operator_reals() tells.
///
/// Errors: LF_INVALID_ARGUMENT for a name that is not known, and for a place or a spin that there is not; LF_FILE also for an array that is not the one
/// that its sidecar describes; LF_OUT_OF_MEMORY.
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
