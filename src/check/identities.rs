//! Tests whether kernels are linear, Hermitian or gauge covariant, up to rounding.

use lanefield_reference::field::{FieldShape, Object};
use lanefield_reference::gauge::GaugeTransformation;
use lanefield_reference::layout::LaneWidth;
use lanefield_reference::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::cases::{CASES, Drawn, any_case, check, cpu, failed};
use crate::backend::{HostField, Sum};
use crate::kernel::{Access, Case, CaseOptions, FieldContents, Kernel, Links, Numbers, Outcome};

/// The allowed error of an identity, relative to the largest number: the rounding of a few thousand operations in f64.
const TOLERANCE: f64 = 1e-12;

/// Random cases for identities: f64, SU(3) links, ordinary numbers.
fn identities(kernel: &'static Kernel, sites: Option<Sites>) -> (u32, BoxedStrategy<Drawn>) {
    let ordinary = move |drawn: Drawn| {
        let width = if drawn.width.bytes() < 16 { LaneWidth::DEFAULT } else { drawn.width };
        let sites = sites.unwrap_or(drawn.sites);
        Drawn {
            precision: Precision::F64,
            links: Links::Hot,
            numbers: Numbers::Ordinary,
            tree: false,
            width,
            sites,
            ..drawn
        }
    };
    (CASES / 2, any_case(kernel, false).prop_map(ordinary).boxed())
}

/// The numbers of a field in site order.
fn numbers(field: &HostField) -> Vec<Complex<f64>> {
    field.get::<f64>().map_or_else(Vec::new, |field| field.to_site_order())
}

/// A field that has the layout of `like` and these numbers.
fn with_numbers(like: &HostField, values: &[Complex<f64>]) -> Result<HostField, TestCaseError> {
    let FieldShape { lattice, sites, object, .. } = like.shape();
    let mut field = lanefield_reference::field::FieldData::<f64>::zeros(lattice, sites, object).map_err(failed)?;
    field.assign(values).map_err(failed)?;
    Ok(HostField::new(field))
}

/// The fields that a kernel reads, except links.
fn inputs(kernel: &'static Kernel) -> Vec<&'static str> {
    let reads = |access| matches!(access, Access::Read | Access::Update);
    let is_links = |holds| matches!(holds, FieldContents::DoubledLinks | FieldContents::Links);
    kernel.fields().filter(|role| reads(role.access) && !is_links(role.holds)).map(|role| role.name).collect()
}

/// Refuses numbers that differ by more than rounding.
fn close(what: &str, left: &[Complex<f64>], right: &[Complex<f64>]) -> Result<(), TestCaseError> {
    let largest = left.iter().chain(right).map(|x| x.norm()).fold(f64::MIN_POSITIVE, f64::max);
    let difference = left.iter().zip(right).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    match difference <= TOLERANCE * largest {
        true => Ok(()),
        false => Err(TestCaseError::fail(format!(
            "{what}: the two sides differ by {difference:e}, of numbers up to {largest:e}"
        ))),
    }
}

/// The fields in an identity. All other fields, links and scalars are held fixed.
#[derive(Clone, Copy, Debug)]
pub struct IdentityFields {
    /// Fields that the kernel reads; if empty, all of them.
    pub inputs: &'static [&'static str],
    /// Fields that the kernel writes; if empty, all of them.
    pub outputs: &'static [&'static str],
}

impl IdentityFields {
    /// All fields that a kernel reads and writes.
    pub const ALL: Self = Self { inputs: &[], outputs: &[] };

    /// # Panics
    /// If the kernel does not read or write one of the named fields.
    fn of(self, kernel: &'static Kernel) -> [Vec<&'static str>; 2] {
        let writes = |access| matches!(access, Access::Write | Access::Update);
        let outputs = kernel.fields().filter(|role| writes(role.access)).map(|role| role.name).collect();
        let chosen = |named: &'static [&'static str], known: Vec<&'static str>, does: &str| {
            if let Some(unknown) = named.iter().find(|name| !known.contains(name)) {
                panic!("{kernel} {does} no field {unknown}: expected one of {}", known.join(", "));
            }
            if named.is_empty() { known } else { named.to_vec() }
        };
        [chosen(self.inputs, inputs(kernel), "reads"), chosen(self.outputs, outputs, "writes")]
    }
}

fn numbers_of(outcome: &Outcome, names: &[&str]) -> Vec<Complex<f64>> {
    outcome.fields.iter().filter(|(name, _)| names.contains(name)).flat_map(|(_, field)| numbers(field)).collect()
}

/// Checks that the results of a kernel are linear in these fields, taken together.
///
/// # Panics
/// With the smallest case that is not linear; if the kernel has no field of a given name.
pub fn linear(kernel: &'static Kernel, fields: IdentityFields) {
    let cpu = cpu();
    let [inputs, outputs] = fields.of(kernel);
    check(kernel, identities(kernel, None), |drawn| {
        let (a, b) = (Complex::new(0.75, -0.5), Complex::new(-1.25, 0.375));
        let (mut first, _) = drawn.case(kernel)?;
        let (second, _) = Drawn { seed: drawn.seed ^ 1, ..drawn.clone() }.case(kernel)?;
        let mut combined = first.clone();
        let mut of_second = first.clone();
        for &name in &inputs {
            let ([x, ..], [y, ..]) = (first.fields(name), second.fields(name)) else { continue };
            let sum: Vec<_> = numbers(x).into_iter().zip(numbers(y)).map(|(x, y)| a * x + b * y).collect();
            combined.replace(name, with_numbers(x, &sum)?);
            of_second.replace(name, y.clone());
        }
        first.set_legs(drawn.legs);
        let run =
            |case: &Case| case.run(&cpu, Sum::Exact).map(|outcome| numbers_of(&outcome, &outputs)).map_err(failed);
        let (x, y) = (run(&first)?, run(&of_second)?);
        let expected: Vec<_> = x.into_iter().zip(y).map(|(x, y)| a * x + b * y).collect();
        close("K(a x + b y) = a K(x) + b K(y)", &run(&combined)?, &expected)
    });
}

/// Checks that ⟨y, K x⟩ = ⟨K y, x⟩. The vector is all inputs of K together; K writes one field of the same kind.
///
/// # Panics
/// With the smallest case that is not Hermitian; if the kernel has no field of a given name.
pub fn hermitian(kernel: &'static Kernel, fields: IdentityFields) {
    adjoint(kernel, fields, 1.0, "⟨y, K x⟩ = ⟨K y, x⟩");
}

/// Checks that ⟨y, K x⟩ = −⟨K y, x⟩; see [`hermitian`].
///
/// # Panics
/// As [`hermitian`].
pub fn anti_hermitian(kernel: &'static Kernel, fields: IdentityFields) {
    adjoint(kernel, fields, -1.0, "⟨y, K x⟩ = −⟨K y, x⟩");
}

fn adjoint(kernel: &'static Kernel, fields: IdentityFields, sign: f64, what: &str) {
    let cpu = cpu();
    let [inputs, outputs] = fields.of(kernel);
    if fields.inputs.is_empty() && inputs.len() != 1 || outputs.len() != 1 {
        panic!(
            "{kernel} reads {} and writes {}: name the vector of this identity, hermitian(in = {}, out = {})",
            inputs.join(", "),
            outputs.join(", "),
            inputs.first().unwrap_or(&"…"),
            outputs.first().unwrap_or(&"…"),
        );
    }
    check(kernel, identities(kernel, Some(Sites::Full)), |drawn| {
        let (mut of_x, _) = drawn.case(kernel)?;
        let (other, _) = Drawn { seed: drawn.seed ^ 1, ..drawn.clone() }.case(kernel)?;
        let ([x, ..], [y, ..]) = (of_x.fields(inputs[0]), other.fields(inputs[0])) else { return Ok(()) };
        let (x, y) = (x.clone(), y.clone());
        let like = |name: &&&str| of_x.fields(name).first().is_some_and(|field| field.shape() != x.shape());
        if let Some(name) = inputs.iter().chain(&outputs).find(like) {
            panic!("{kernel}: {name} is no field like {}, so that they are not one vector", inputs[0]);
        }
        let mut of_y = of_x.clone();
        for name in &inputs {
            of_x.replace(name, x.clone());
            of_y.replace(name, y.clone());
        }
        let run =
            |case: &Case| case.run(&cpu, Sum::Exact).map(|outcome| numbers_of(&outcome, &outputs)).map_err(failed);
        let (kx, ky, x, y) = (run(&of_x)?, run(&of_y)?, numbers(&x), numbers(&y));
        let product =
            |a: &[Complex<f64>], b: &[Complex<f64>]| a.iter().zip(b).map(|(a, b)| a.conj() * b).sum::<Complex<f64>>();
        let size = (x.len() as f64).max(1.0) * kx.iter().map(|x| x.norm()).fold(0.0, f64::max);
        close(what, &[product(&y, &kx) / size], &[sign * product(&ky, &x) / size]).or_else(|error| {
            // Both sides may be close to zero.
            let difference = (product(&y, &kx) - sign * product(&ky, &x)).norm();
            if difference <= TOLERANCE * size { Ok(()) } else { Err(error) }
        })
    });
}

/// Checks that `K[U^g](g x) = g K[U](x)` for random gauge transformations g. The kernel must act on colour vectors or spinors.
///
/// # Panics
/// With the smallest case that is not covariant.
pub fn covariant(kernel: &'static Kernel) {
    let cpu = cpu();
    check(kernel, identities(kernel, None), |drawn| {
        let lattice = drawn.lattice().ok_or_else(|| TestCaseError::reject("no such lattice"))?;
        let (case, configuration) = drawn.case(kernel)?;
        let gauge = GaugeTransformation { seed: drawn.seed };
        let turned_links = gauge.of_links(&configuration);
        let options = CaseOptions {
            configuration: Some(&turned_links),
            legs: drawn.legs,
            data: drawn.data(),
            ..CaseOptions::new(lattice, drawn.sites, drawn.precision, drawn.links(), drawn.parts)
        };
        let mut turned = Case::new(kernel, &options).map_err(failed)?;
        for name in inputs(kernel) {
            let [x, ..] = case.fields(name) else { continue };
            turned.replace(name, with_numbers(x, &gauge_transformed(gauge, x.shape().object, numbers(x)))?);
        }
        let found = turned.run(&cpu, Sum::Exact).map_err(failed)?;
        let expected = case.run(&cpu, Sum::Exact).map_err(failed)?;
        for ((_, found), (_, expected)) in found.fields.iter().zip(&expected.fields) {
            let expected = gauge_transformed(gauge, expected.shape().object, numbers(expected));
            close("K[U^g](g x) = g K[U](x)", &numbers(found), &expected)?;
        }
        Ok(())
    });
}

/// A field after a gauge transformation. Objects made of colour vectors are rotated; others stay as they are.
fn gauge_transformed(gauge: GaugeTransformation, object: Object, psi: Vec<Complex<f64>>) -> Vec<Complex<f64>> {
    match object {
        Object::Spinors(_) | Object::ColourVectors(_) | Object::HalfSpinor => gauge.of_field(object.words(), &psi),
        _ => psi,
    }
}
