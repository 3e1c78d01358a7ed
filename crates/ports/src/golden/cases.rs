//! Calls of kernels: each on every set of sites, in every precision and with every link format that it supports.

use lanefield::kernel::{
    self, Access, Case, CaseOptions, FieldContents, FieldRole, Geometry, Kernel, KernelArgument, MatrixFacts, Shape,
};
use lanefield::prelude::*;
use lanefield::reference::field::{DoubledGauge, FieldShape, Object};

use super::array::{content_of, field_array, reals};
use super::directory::Writer;
use super::error::GoldenError;
use super::inputs::{doubled_path, form_name, input, raw_path};
use super::manifest::CaseEntry;
use super::setup::Setup;

/// Components per right-hand side and site, in kernels with several right-hand sides.
const RHS_PARTS: usize = 2;
const PARTS_OF_RHS: usize = 6;
/// Spinors per site, and extent of the fifth dimension, for matrices along s.
const PARTS_ALONG_S: usize = 4;
/// Spinors or colour vectors per site for kernels that support several.
const PARTS: usize = 3;
const LISTED: usize = 2;

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    for (kernel, precision) in kernels(setup) {
        setup.tell(&format!("{kernel} in {precision}"))?;
        OneCase::all(kernel, precision).try_for_each(|case| case.export(setup, writer))?;
    }
    Ok(())
}

/// The shapes of all cases, in the same order.
pub(super) fn shapes(setup: &Setup<'_>) -> Result<Vec<Shape>, GoldenError> {
    let cases = kernels(setup).flat_map(|(kernel, precision)| OneCase::all(kernel, precision));
    cases.map(|case| Ok(Case::shape_of(case.kernel, &case.options(setup)?))).collect()
}

/// The requested kernels, in each requested precision.
fn kernels(setup: &Setup<'_>) -> impl Iterator<Item = (&'static Kernel, Precision)> {
    let launched = setup.options.kernels.iter().filter(|kernel| kernel.is_launched());
    launched.flat_map(move |&kernel| {
        let taken = setup.of(&Precision::ALL).filter(|&precision| kernel.takes(precision));
        taken.map(move |precision| (kernel, precision))
    })
}

fn formats(kernel: &Kernel) -> &'static [LinkFormat] {
    if kernel.reads_links() { &LinkFormat::ALL } else { &[LinkFormat::Full] }
}

fn sites(kernel: &Kernel) -> &'static [Sites] {
    const ALL: [Sites; 3] = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];
    match (kernel.is_full_only(), kernel.is_onto_parity_only()) {
        (true, _) => &ALL[..1],
        (_, true) => &ALL[1..],
        _ => &ALL,
    }
}

/// The precisions from which to convert, the usual one first; for other kernels, `None` alone.
fn sources(kernel: &Kernel, precision: Precision) -> Vec<Option<Precision>> {
    let converts = kernel.fields().any(|role| role.holds == FieldContents::Converted);
    let mut others: Vec<Option<Precision>> = match converts {
        true => Precision::ALL.into_iter().filter(|&from| from != precision).map(Some).collect(),
        false => vec![None],
    };
    others.sort_by_key(|&from| from != Some(usual_source(precision)));
    others
}

fn usual_source(precision: Precision) -> Precision {
    if precision == Precision::F32 { Precision::F64 } else { Precision::F32 }
}

#[derive(Clone, Copy)]
struct OneCase {
    kernel: &'static Kernel,
    precision: Precision,
    format: LinkFormat,
    sites: Sites,
    from: Option<Precision>,
}

impl OneCase {
    /// Every case of a kernel in a precision.
    fn all(kernel: &'static Kernel, precision: Precision) -> impl Iterator<Item = Self> {
        formats(kernel).iter().flat_map(move |&format| {
            sites(kernel).iter().flat_map(move |&sites| {
                let of = move |from| Self { kernel, precision, format, sites, from };
                sources(kernel, precision).into_iter().map(of)
            })
        })
    }

    fn name(&self) -> String {
        let Self { kernel, precision, format, sites, from } = self;
        let reals = if kernel.reads_links() { format!("-r{format}") } else { String::new() };
        let from = from.filter(|&from| from != usual_source(*precision));
        let from = from.map_or_else(String::new, |from| format!("-from-{from}"));
        format!("{kernel}/{precision}{reals}{from}-{sites}")
    }

    fn export(&self, setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
        let Self { kernel, .. } = *self;
        let refused = |source| GoldenError::Case { case: self.name(), source: Box::new(source) };
        let options = self.options(setup)?;
        let case = Case::new(kernel, &options).map_err(refused)?;
        let outcome = case.run(setup.backend, Sum::Exact).map_err(refused)?;
        let mut entry = self.entry(setup, &case);
        self.inputs(setup, writer, &case, &mut entry)?;
        for (name, field) in &outcome.fields {
            let path = format!("cases/{}/{name}.npy", entry.case);
            writer.array_of(&path, content_of(field.shape().object), &field_array(field)?)?;
            entry.out.insert((*name).to_owned(), path);
        }
        if kernel.sums() {
            let path = format!("cases/{}/sums.npy", entry.case);
            writer.array(&path, &reals(&[outcome.sums.len()], &outcome.sums))?;
            entry.sums = Some(path);
        }
        writer.case(entry);
        Ok(())
    }

    fn options<'a>(&self, setup: &'a Setup<'_>) -> Result<CaseOptions<'a>, GoldenError> {
        let Self { kernel, precision, format, sites, from } = *self;
        let along_s = kernel.geometry == Geometry::AlongS;
        let of_rhs = kernel.is_of_right_hand_sides();
        let parts = match kernel.geometry {
            Geometry::AlongS => PARTS_ALONG_S,
            _ if of_rhs => PARTS_OF_RHS,
            _ if !kernel.takes_parts(1) || kernel.reads_links() && kernel.takes_parts(PARTS) => PARTS,
            _ => 1,
        };
        let lattice = match from {
            Some(from) => setup.lattice_from(precision, from)?,
            None => setup.lattice(precision)?,
        };
        let links = DoubledGauge { format, boundary: setup.options.boundary };
        let reads_links =
            kernel.fields().any(|role| matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links));
        Ok(CaseOptions {
            from,
            rhs_parts: if of_rhs { RHS_PARTS } else { 1 },
            ls: along_s.then_some(PARTS_ALONG_S),
            listed: LISTED,
            configuration: reads_links.then_some(&setup.configuration),
            legs: setup.options.legs,
            data: setup.data,
            ..CaseOptions::new(lattice, sites, precision, links, parts)
        })
    }

    fn entry(&self, setup: &Setup<'_>, case: &Case) -> CaseEntry {
        let Self { kernel, precision, format, .. } = *self;
        let shape = case.shape();
        let of_links = kernel.fields().any(|role| role.holds == FieldContents::Links);
        let parts = match shape.target.object {
            Object::Spinors(count) | Object::ColourVectors(count) if count > 1 => Some(count),
            _ => None,
        };
        let takes = |wanted: fn(&KernelArgument) -> bool| kernel.arguments.iter().any(wanted);
        let bits = |x: f64| format!("{:016x}", x.to_bits());
        let is_complex = |name: &str| {
            kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Complex(known) if *known == name))
        };
        let scalar = |name, value: num_complex::Complex<f64>| match is_complex(name) {
            true => vec![bits(value.re), bits(value.im)],
            false => vec![bits(value.re)],
        };
        let of_rhs = |scalars: &[f64]| scalars.iter().map(|&x| bits(x)).collect();
        CaseEntry {
            case: self.name(),
            kernel: kernel.name.to_owned(),
            computes: kernel.computes.to_owned(),
            definition: kernel::definition(kernel).map(str::to_owned),
            precision: precision.to_string(),
            reconstruct: kernel.reads_links().then(|| format.reals()),
            sites: shape.sites().to_string(),
            boundary: (kernel.reads_links() || of_links).then(|| setup.options.boundary.to_string()),
            legs: kernel.reads_links().then(|| setup.options.legs.to_string()),
            parts,
            ls: shape.matrix.map(|MatrixFacts { ls, .. }| ls),
            rhs_parts: takes(|argument| matches!(argument, KernelArgument::RhsParts)).then_some(shape.rhs_parts),
            direction: kernel.sums_over_slices().then(|| shape.direction.to_string()),
            scalar: case.scalars().map(|(name, value)| (name.to_owned(), scalar(name, value))).collect(),
            scalars: case.scalars_of_rhs().map(|(name, scalars)| (name.to_owned(), of_rhs(scalars))).collect(),
            indices: case.indices().map(|(name, numbers)| (name.to_owned(), numbers.to_vec())).into_iter().collect(),
            ..CaseEntry::default()
        }
    }

    /// Writes the inputs that no earlier case had.
    fn inputs(
        &self,
        setup: &Setup<'_>,
        writer: &mut Writer,
        case: &Case,
        entry: &mut CaseEntry,
    ) -> Result<(), GoldenError> {
        let kernel = self.kernel;
        for role in kernel.fields().filter(|role| role.access != Access::Write) {
            let mut paths = Vec::new();
            for (k, field) in case.fields(role.name).iter().enumerate() {
                paths.push(self.input(setup, writer, (role, k), field.shape())?);
            }
            match role.access {
                Access::Update => entry.before.extend(paths.into_iter().map(|path| (role.name.to_owned(), path))),
                _ => {
                    entry.inputs.insert(role.name.to_owned(), paths);
                }
            }
        }
        if let Some(matrix) = case.matrix() {
            let (form, ls) = (matrix.form(), matrix.ls());
            let path = format!("inputs/matrix.{}.{ls}.npy", form_name(form));
            writer.array(&path, &reals(&form.shape(ls), matrix.table()))?;
            entry.matrix.insert("matrix".to_owned(), path);
        }
        Ok(())
    }

    /// The file of a field that is read, on all sites, whatever sites the kernel reads.
    fn input(
        &self,
        setup: &Setup<'_>,
        writer: &mut Writer,
        (role, k): (FieldRole, usize),
        shape: FieldShape,
    ) -> Result<String, GoldenError> {
        match role.holds {
            FieldContents::DoubledLinks => return Ok(doubled_path(shape.precision, self.format)),
            FieldContents::Links => return Ok(raw_path(shape.precision)),
            _ => {}
        }
        let Some(number) = Case::field_number(self.kernel, role.name, k) else {
            unreachable!("{} has the role {}", self.kernel, role.name)
        };
        input(setup, writer, shape.precision, shape.object, number)
    }
}
