//! The start-up probe: whether a device and its driver follow the canonical arithmetic, on which every bit-for-bit claim rests. Products
//! and sums must round separately where the source says so, and `fma` must round once. Subnormal numbers must be kept; division and square
//! root must be correctly rounded.
//!
//! The probe runs once for each device and driver, and its verdict is stored. Device side: `probe/probe.cl`.

mod cases;

use bytemuck::cast_slice;
use serde::{Deserialize, Serialize};

use self::cases::{Operands, Operation, Real, operands, operations};
use super::device::{DeviceInfo, OpenClError, SourceError};
use super::memory::Buffer;
use super::program::{EntryKind, Key, expand_with, full_options};
use super::queue::{Arg, Context, Launch};

/// One operation in one precision, compared with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCheck {
    /// For example `f32 a * b + c`.
    pub name: String,
    /// The number of operands that were tried.
    pub cases: u64,
    /// The number of operands for which the device's bits differ from IEEE's; any NaN equals any NaN.
    pub failures: u64,
    /// The first failure, with its bits.
    pub first: Option<String>,
}

/// Whether results of a device may be called bitwise, with each check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeVerdict {
    /// The checks.
    pub checks: Vec<ProbeCheck>,
}

impl ProbeVerdict {
    /// Whether every check passed.
    pub fn is_bitwise(&self) -> bool {
        self.failed().next().is_none()
    }

    /// One sentence about how the device differs from IEEE; `None` if it does not.
    pub fn why_not(&self) -> Option<String> {
        let first = self.failed().next()?;
        let example = first.first.as_deref().map(|example| format!(": {example}")).unwrap_or_default();
        let others: Vec<&str> = self.failed().skip(1).map(|check| check.name.as_str()).collect();
        let others = match others.len() {
            0 => String::new(),
            1..=3 => format!("; so do {}", others.join(", ")),
            count => format!("; so do {} and {} more", others[..2].join(", "), count - 2),
        };
        let ProbeCheck { name, cases, failures, .. } = first;
        Some(format!("{name} differs from IEEE in {failures} of {cases} cases{example}{others}"))
    }

    fn failed(&self) -> impl Iterator<Item = &ProbeCheck> {
        self.checks.iter().filter(|check| check.failures > 0)
    }
}

/// The verdict on the device of `context`: the stored one if there is one, otherwise it is measured and stored.
pub fn probe(context: &Context) -> Result<ProbeVerdict, OpenClError> {
    probe_lanes(context, 1)
}

fn probe_lanes(context: &Context, lanes: usize) -> Result<ProbeVerdict, OpenClError> {
    let description = full_options(context.info(), &format!("{} seed {SEED}", build_options::<f64>(lanes)));
    let key = Key::new(context.info(), &source()?, &description);
    let stored = context.cache().load(EntryKind::Probe, &key);
    if let Some(verdict) = stored.and_then(|json| serde_json::from_slice(&json).ok()) {
        return Ok(verdict);
    }
    let verdict = measure_lanes(context, lanes)?;
    if let Ok(json) = serde_json::to_vec_pretty(&verdict) {
        context.cache().store(EntryKind::Probe, &key, &json);
    }
    Ok(verdict)
}

/// As [`probe`], for vectors of numbers. Kernels whose work-items compute all lanes use them ([`super::LaneForm::Vectors`]).
///
/// # Errors
/// As [`probe`]. A compiler that does not support such vectors fails to build.
pub(crate) fn probe_vectors(context: &Context) -> Result<ProbeVerdict, OpenClError> {
    probe_lanes(context, VECTOR_LANES)
}

/// Runs every check on the device of `context`, without the stored verdict. An arithmetic that differs is not an error, but a verdict.
fn measure_lanes(context: &Context, lanes: usize) -> Result<ProbeVerdict, OpenClError> {
    let mut checks = measure_precision::<f32>(context, lanes)?;
    if context.info().fp64 {
        checks.extend(measure_precision::<f64>(context, lanes)?);
    }
    Ok(ProbeVerdict { checks })
}

const SOURCE: &str = "probe.cl";

fn source() -> Result<String, SourceError> {
    expand_with(&[(SOURCE, include_str!("probe/probe.cl"))], SOURCE)
}
const KERNEL: &str = "probe";
/// The seed is fixed, so that a verdict can be reproduced. Its digits have no meaning.
const SEED: u64 = 20_260_417;
/// The work-group size, if the device supports it. The number of operands is a multiple of it.
const LOCAL: usize = 16;

const VECTOR_LANES: usize = 8;

/// The precision, the numbers of an operation, and the number of each operation.
fn build_options<R: Real>(lanes: usize) -> String {
    let (name, numbers) = (R::CL_NAME, operations::<R>().into_iter().enumerate());
    let numbers = numbers.map(|(number, operation)| format!(" -DPROBE_{}={number}", operation.case));
    format!("-DNUMBER={name} -DNUMBER_IS_{} -DLANES={lanes}{}", name.to_uppercase(), numbers.collect::<String>())
}

/// The source of the probe, and the build options of each of its programs on a device.
pub(crate) fn probe_programs(device: &DeviceInfo) -> Result<(String, Vec<String>), SourceError> {
    let mut options = Vec::new();
    for lanes in [1, VECTOR_LANES] {
        options.push(build_options::<f32>(lanes));
        options.extend(device.fp64.then(|| build_options::<f64>(lanes)));
    }
    Ok((source()?, options.iter().map(|options| full_options(device, options)).collect()))
}

fn measure_precision<R: Real>(context: &Context, lanes: usize) -> Result<Vec<ProbeCheck>, OpenClError> {
    let name = format!("probe {}", R::NAME);
    // SAFETY: the kernel has a work-item for each number of the buffers that it is launched with below.
    let program = unsafe { context.program(&name, &source()?, &build_options::<R>(lanes))? };
    let mut operands = operands::<R>(SEED);
    let cases = operands.a.len().next_multiple_of(LOCAL * lanes);
    for column in [&mut operands.a, &mut operands.b, &mut operands.c] {
        column.resize(cases, R::from_low_bits(0));
    }
    let upload = |column: &[R]| -> Result<Buffer, OpenClError> {
        let buffer = context.allocate(size_of_val(column), "operands of the probe")?;
        context.write(&buffer, 0, cast_slice(column))?;
        Ok(buffer)
    };
    let (a, b, c) = (upload(&operands.a)?, upload(&operands.b)?, upload(&operands.c)?);
    let mut x = vec![R::from_low_bits(0); cases];
    let mut y = x.clone();
    let (x_device, y_device) = (upload(&x)?, upload(&y)?);
    let launch = Launch { global: [cases / lanes, 1, 1], local: [context.info().group_of(LOCAL), 1, 1] };

    let mut checks = Vec::new();
    for (number, operation) in (0u32..).zip(operations::<R>()) {
        let buffers = [&a, &b, &c, &x_device, &y_device].map(Arg::Buffer);
        let args: Vec<Arg<'_>> = std::iter::once(Arg::U32(number)).chain(buffers).collect();
        context.launch(&program, KERNEL, launch, &args)?;
        context.read(&x_device, 0, bytemuck::cast_slice_mut(&mut x))?;
        context.read(&y_device, 0, bytemuck::cast_slice_mut(&mut y))?;
        checks.extend(compare(&operation, &operands, &x, &y));
    }
    Ok(checks)
}

/// The checks of one operation: one, or two where subnormals count apart.
fn compare<R: Real>(operation: &Operation<R>, operands: &Operands<R>, x: &[R], y: &[R]) -> Vec<ProbeCheck> {
    let check = |suffix| ProbeCheck {
        name: format!("{} {}{suffix}", R::NAME, operation.name),
        cases: 0,
        failures: 0,
        first: None,
    };
    let (mut normal, mut subnormal) = (check(""), check(" with subnormals"));
    let columns = operands.a.iter().zip(&operands.b).zip(&operands.c).zip(x).zip(y);
    for ((((&a, &b), &c), &x), &y) in columns {
        let expected = operation.host(a, b, c);
        let apart = operation.subnormals_apart && [a, b, c, expected[0]].iter().any(|value| value.subnormal());
        let check = if apart { &mut subnormal } else { &mut normal };
        check.cases += 1;
        if !(same(x, expected[0]) && same(y, expected[1])) {
            check.failures += 1;
            check.first.get_or_insert_with(|| example(a, b, c, [x, y], expected));
        }
    }
    if operation.subnormals_apart { vec![normal, subnormal] } else { vec![normal] }
}

fn same<R: Real>(x: R, y: R) -> bool {
    x.low_bits() == y.low_bits() || (x.nan() && y.nan())
}

fn example<R: Real>(a: R, b: R, c: R, device: [R; 2], ieee: [R; 2]) -> String {
    // The second value matters only if the first does not distinguish the two.
    let place = usize::from(same(device[0], ieee[0]));
    let [a, b, c, device, ieee] = [a, b, c, device[place], ieee[place]].map(Real::describe);
    format!("a = {a}, b = {b}, c = {c} give {device} on the device and {ieee} by IEEE")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checks of one operation on a device that computes `device`.
    fn checks_of(case: &str, device: fn(f32, f32, f32) -> f32) -> Vec<ProbeCheck> {
        let operands = operands::<f32>(SEED);
        let operation = operations::<f32>().into_iter().find(|operation| operation.case == case).unwrap();
        let columns = operands.a.iter().zip(&operands.b).zip(&operands.c);
        let x: Vec<f32> = columns.map(|((&a, &b), &c)| device(a, b, c)).collect();
        compare(&operation, &operands, &x, &vec![0.0; x.len()])
    }

    #[test]
    fn a_device_that_contracts_is_found_out() {
        let verdict = ProbeVerdict { checks: checks_of("MUL_ADD", |a, b, c| a.mul_add(b, c)) };
        assert!(!verdict.is_bitwise());
        let why = verdict.why_not().unwrap();
        assert!(why.starts_with("f32 a * b + c differs from IEEE in ") && why.contains("on the device"), "{why}");
        assert!(ProbeVerdict { checks: checks_of("MUL_ADD", |a, b, c| a * b + c) }.is_bitwise());
    }

    #[test]
    fn a_device_that_flushes_subnormals_fails_that_check_alone() {
        fn flush(x: f32) -> f32 {
            if x.is_subnormal() { 0.0 } else { x }
        }
        let checks = checks_of("MUL", |a, b, _| flush(a * b));
        let [normal, subnormal] = &checks[..] else { panic!("{checks:?}") };
        assert_eq!(normal.failures, 0);
        assert!(subnormal.failures > 1000 && subnormal.name == "f32 a * b with subnormals", "{subnormal:?}");
    }

    #[test]
    fn a_missing_error_term_is_shown_by_its_second_value() {
        let checks = checks_of("TWO_SUM", |a, b, _| a + b);
        let first = checks[0].first.as_deref().unwrap();
        assert!(first.contains("give 0e0 (0x00000000) on the device"), "{first}");
    }

    #[test]
    fn a_verdict_survives_json() {
        let verdict = ProbeVerdict { checks: checks_of("MUL_ADD", |a, b, c| a.mul_add(b, c)) };
        let json = serde_json::to_vec(&verdict).unwrap();
        assert_eq!(serde_json::from_slice::<ProbeVerdict>(&json).unwrap(), verdict);
    }

    #[test]
    fn the_sentence_names_a_few_of_many_failures() {
        let check = |name: &str, failures| ProbeCheck { name: name.into(), cases: 9, failures, first: None };
        let names = ["f32 a", "f32 b", "f32 c", "f32 d", "f32 e"];
        let mut checks: Vec<ProbeCheck> = names.iter().map(|name| check(name, 1)).collect();
        checks.insert(0, check("f32 good", 0));
        assert_eq!(
            ProbeVerdict { checks }.why_not().unwrap(),
            "f32 a differs from IEEE in 1 of 9 cases; so do f32 b, f32 c and 2 more"
        );
    }
}
