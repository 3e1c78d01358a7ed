//! Checks every kernel on one random case, with all arguments of its specification: the backend under test is compared with the CPU kernel, or the
//! CPU kernel with the scalar reference.

use lanefield_reference::field::DoubledGauge;
use lanefield_reference::prelude::*;

use super::compare::{Difference, Mismatch, compare_host_fields};
use super::report::Subject;
use super::rows::{Compared, ReportRows};
use super::{Against, RandomCase, VerifyError};
use crate::backend::{Backend, Cpu, Sum};
use crate::in_precision;
use crate::kernel::{self, Case, CaseOptions, Geometry, HostFunction, Kernel, KernelSource, Outcome, PlainLinks};

/// Components per right-hand side and site, in kernels with several right-hand sides.
const RHS_PARTS: usize = 2;
const PARTS_OF_RHS: usize = 6;
/// Spinors per site for matrices along s: always the same number, so that devices build kernels for few group sizes.
const PARTS_ALONG_S: usize = 4;

/// One case on one backend.
pub(super) struct KernelChecks<'a, B> {
    pub tested: &'a B,
    pub against: Against,
    /// Creates the data and compares results; devices are compared with it.
    pub host: &'a Cpu,
    pub case: &'a RandomCase,
    /// Whether to check kernels that take long to build.
    pub thorough: bool,
    /// Whether only one link format is used, in rotation.
    pub one_format: bool,
    /// [`CasePlan::takes_turns`](super::case::Plan::takes_turns).
    pub takes_turns: bool,
}

impl<B: Backend> KernelChecks<'_, B> {
    /// Checks each of these kernels on every set of sites that it accepts.
    pub(super) fn run(&self, kernels: &[&'static Kernel], rows: &mut ReportRows) -> Result<(), VerifyError> {
        let Self { case, thorough, .. } = *self;
        self.in_precision(kernels, rows, case.precision)?;
        match case.precision == Precision::F32 && thorough {
            true => self.in_precision(kernels, rows, Precision::Half),
            false => Ok(()),
        }
    }

    fn in_precision(
        &self,
        kernels: &[&'static Kernel],
        rows: &mut ReportRows,
        precision: Precision,
    ) -> Result<(), VerifyError> {
        let Self { case, host, thorough, .. } = *self;
        let extents = case.lattice.extents();
        let kernels = kernels.iter().copied().filter(|kernel| {
            kernel.is_launched()
                && kernel.takes(precision)
                && (self.against == Against::Cpu || !matches!(kernel.plain, HostFunction::None))
                && (thorough || !takes_long_to_build(kernel))
        });
        let kernels: Vec<_> = kernels.collect();
        let reads_links = |kernel: &&'static Kernel| kernel.fields().any(|role| is_of_links(role.holds));
        let configuration = match kernels.iter().any(reads_links) {
            true => {
                host.install(|| in_precision!(precision, R => case.data.configuration::<R>(extents, case.links)))?
            }
            false => Configuration::unit(extents),
        };
        for kernel in kernels {
            for sites in self.sites_of(kernel, precision) {
                for links in self.formats(kernel, precision) {
                    self.check(rows, kernel, (precision, sites, links), &configuration)?;
                }
            }
        }
        Ok(())
    }

    /// The target sites of a kernel: all sets of sites for a stencil; one of them, in rotation, for kernels that do not depend on sites.
    fn sites_of(&self, kernel: &Kernel, precision: Precision) -> Vec<Sites> {
        let case = self.case;
        let all = case.sites();
        let turn = case.number as usize / 2;
        if kernel.is_full_only() {
            return vec![Sites::Full];
        }
        if kernel.is_onto_parity_only() {
            let parities = Parity::BOTH.map(Sites::Parity);
            return all.iter().copied().filter(|sites| parities.contains(sites)).take(1).collect();
        }
        let is_stencil = matches!(kernel.geometry, Geometry::Stencil { .. });
        match is_stencil && !takes_long_to_build(kernel) && precision != Precision::Half && kernel.takes_parts(1) {
            true => all.to_vec(),
            false => vec![all[turn % all.len()]],
        }
    }

    /// The link formats: all that the kernel and the device support, or one of them in rotation if the kernel takes long to build or the number of
    /// programs must be small.
    fn formats(&self, kernel: &Kernel, precision: Precision) -> Vec<LinkFormat> {
        let case = self.case;
        if !kernel.reads_links() {
            return vec![LinkFormat::Full];
        }
        if self.takes_turns && takes_long_to_build(kernel) && !case.is_turn_of(kernel, precision) {
            return Vec::new();
        }
        let formats = case.links.formats();
        if self.one_format || takes_long_to_build(kernel) { vec![case.in_turn(formats)] } else { formats.to_vec() }
    }

    /// Checks one kernel with every combination of its arguments.
    fn check(
        &self,
        rows: &mut ReportRows,
        kernel: &'static Kernel,
        (precision, sites, format): (Precision, Sites, LinkFormat),
        configuration: &Configuration,
    ) -> Result<(), VerifyError> {
        let case = self.case;
        let links = DoubledGauge { format, boundary: case.boundary };
        let along_s = kernel.geometry == Geometry::AlongS;
        let of_rhs = kernel.is_of_right_hand_sides();
        let parts = match kernel.geometry {
            Geometry::AlongS => PARTS_ALONG_S,
            _ if of_rhs => PARTS_OF_RHS,
            _ if !kernel.takes_parts(1) || kernel.reads_links() && kernel.takes_parts(case.parts) => case.parts,
            _ => 1,
        };
        let base = CaseOptions {
            rhs_parts: if of_rhs { RHS_PARTS } else { 1 },
            ls: along_s.then(|| [1, 2, 4][case.number as usize / 2 % 3]),
            configuration: kernel.fields().any(|role| is_of_links(role.holds)).then_some(configuration),
            legs: case.legs,
            numbers: case.numbers,
            data: case.data,
            ..CaseOptions::new(case.lattice, sites, precision, links, parts)
        };
        let mut all = vec![base];
        if along_s {
            all.push(CaseOptions { matrix_dagger: true, ..base });
        }
        if kernel.fields().any(|role| role.holds == kernel::FieldContents::Converted) {
            let others = Precision::ALL.into_iter().filter(|&from| from != precision);
            // The widest lanes of f32 and the narrowest of f64 have no counterpart.
            let others = others.filter(|from| case.lattice.in_scalar(from.scalar()).is_ok());
            all = others.map(|from| CaseOptions { from: Some(from), ..base }).collect();
        }
        let subject = Subject::of_kernel(kernel, precision, kernel.reads_links().then(|| format.reals()));
        for options in all {
            let words = || format!("{case}, {sites} sites, {parts} components a site");
            let links = PlainLinks { configuration, boundary: case.boundary };
            rows.check(&subject, (case.number, &words), || {
                compare(self.tested, (self.against, self.host), (kernel, &options), &links, Sum::Exact)
            })?;
        }
        Ok(())
    }
}

/// Runs a kernel on both sides. `links`: those for the scalar reference.
pub(super) fn compare<B: Backend>(
    tested: &B,
    (against, host): (Against, &Cpu),
    (kernel, options): (&'static Kernel, &CaseOptions<'_>),
    links: &PlainLinks<'_>,
    sum: Sum,
) -> Result<Compared, VerifyError> {
    if let KernelSource::Body(body) = kernel.source {
        body.program(kernel.name, options.legs)?;
    }
    let mut case = host.install(|| Case::new(kernel, options))?;
    let expected = match against {
        Against::Cpu => case.run(host, sum)?,
        Against::PlainLoops => case.in_plain_loops(host, links, sum)?,
    };
    case.spoil_outputs();
    let found = case.run(tested, sum)?;
    host.install(|| outcomes(&found, &expected))
}

/// Kernels for which CPU compilers generate long programs: they are checked in some of the cases.
pub(super) fn takes_long_to_build(kernel: &Kernel) -> bool {
    match kernel.geometry {
        // A kernel that does more than the hop is longer still; the hop alone is checked on all sites.
        Geometry::Stencil { accumulates, .. } => accumulates || kernel.takes_scalars(),
        Geometry::Sites | Geometry::Parts { .. } => true,
        _ => kernel.is_of_right_hand_sides(),
    }
}

fn is_of_links(holds: kernel::FieldContents) -> bool {
    matches!(holds, kernel::FieldContents::DoubledLinks | kernel::FieldContents::Links)
}

/// Compares all results of a kernel.
fn outcomes(found: &Outcome, expected: &Outcome) -> Result<Compared, VerifyError> {
    let counts = [found, expected].map(|outcome| (outcome.fields.len() + outcome.sums.len()) as f64);
    let mut all = scalar("number of results", counts[0], counts[1]);
    all.components = 0;
    for ((name, found), (_, expected)) in found.fields.iter().zip(&expected.fields) {
        let (mismatch, components) = compare_host_fields(found, expected)?;
        let mismatch =
            mismatch.map(|mismatch| Mismatch::Field { name: (*name).to_owned(), mismatch: Box::new(mismatch) });
        all = both(all, Compared { components, mismatch });
    }
    for (number, (found, expected)) in found.sums.iter().zip(&expected.sums).enumerate() {
        all = both(all, scalar(&format!("sum {number}"), *found, *expected));
    }
    Ok(all)
}

fn scalar(what: &str, found: f64, expected: f64) -> Compared {
    let difference = Difference::between(found, expected);
    let mismatch = difference.map(|difference| Mismatch::Scalar { what: what.to_owned(), difference });
    Compared { components: 1, mismatch }
}

fn both(first: Compared, second: Compared) -> Compared {
    Compared { components: first.components + second.components, mismatch: first.mismatch.or(second.mismatch) }
}
