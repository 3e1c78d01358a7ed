//! `lanefield bench [FAMILY…]`: kernels of the families, in every precision, link format and lane width asked for.

use clap::Args;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Extents, LaneChoice, Lattice, LatticeOptions, LegOrder, Parity, Sites};
use lanefield::reference::links::LinkFormat;
use lanefield_lab::kernels::{
    AlongSKernels, BlasKernels, CloverKernel, CloverKernels, ColumnKernels, ConvertKernels, HopKernels, LS,
    LaplaceKernels, StencilSetup,
};
use lanefield_lab::{Family, FieldFacts, KernelRecord, Timed, Variant};

use super::arguments::{
    PlaceArgs, StoredPrecision, TimedTask, TimingArgs, VariantArgs, extents_or_usual, in_precision, run_on,
};
use super::runner::Runner;
use super::table::Report;
use crate::Outcome;
use crate::output::{print, print_json};

/// The kernels to time.
#[derive(Args)]
pub struct Kernels {
    /// Families of kernels [default: all]
    #[arg(value_name = "FAMILY", value_parser = family)]
    families: Vec<Family>,
    /// Extents X.Y.Z.T [default: 16.16.16.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Precisions of fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', default_value = "f32,f64,16bit")]
    precision: Vec<StoredPrecision>,
    /// Reals stored a link
    #[arg(long, value_name = "REALS,…", value_delimiter = ',', default_value = "18,12,8")]
    links: Vec<LinkFormat>,
    /// Right-hand sides: spinors or colour vectors a site, of a domain wall 16 times as many [default: 1; of columns 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    spinors: Option<u16>,
    /// Lane widths in bytes: 8, 16, 32, 64, 128, 256, or auto
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "auto")]
    lanes: Vec<LaneChoice>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    variant: VariantArgs,
}

/// Reads a family.
pub fn family(text: &str) -> Result<Family, String> {
    let known = Family::ALL.into_iter().find(|family| family.to_string() == text);
    known.ok_or_else(|| {
        let families = Family::ALL.map(|family| family.to_string()).join(", ");
        format!("'{text}' is no family of kernels: use {families}; or a study: reduce, threads, orders, sprint")
    })
}

const BOTH: [Sites; 2] = [Sites::Full, Sites::Parity(Parity::Even)];
/// Columns where nobody chose, as for a propagator.
const COLUMNS: usize = 12;

impl Kernels {
    pub fn run(self) -> anyhow::Result<Outcome> {
        run_on(&mut self.place.open()?, self)
    }

    fn families(&self) -> Vec<Family> {
        match self.families.as_slice() {
            [] => Family::ALL.to_vec(),
            some => Family::ALL.into_iter().filter(|family| some.contains(family)).collect(),
        }
    }

    /// Times one family in one precision and lane width.
    fn family<R: Vectors, B: Timed>(
        &self,
        runner: &mut Runner<'_, B>,
        (family, variant): (Family, &Variant),
        (extents, lanes): (Extents, LaneChoice),
    ) {
        let given = self.spinors.map(usize::from);
        let spinors = match family {
            Family::Columns => given.unwrap_or(COLUMNS),
            Family::DomainWall => LS * given.unwrap_or(1),
            _ => given.unwrap_or(1),
        };
        let lane_bytes = match lanes {
            LaneChoice::Width(width) => Some(width.bytes()),
            LaneChoice::Auto | LaneChoice::UpTo(_) => None,
        };
        let unmade = FieldFacts { lane_bytes, ..FieldFacts::unmade::<R>(extents, spinors) };
        let options = LatticeOptions { lanes: runner.backend.lanes(lanes), ..LatticeOptions::default() };
        let lattice = match Lattice::new(extents, R::COMPLEX, options) {
            Ok(lattice) => lattice,
            Err(error) => {
                return runner.push(KernelRecord::unprepared(family, unmade, *variant, error.to_string()));
            }
        };
        let links: &[LinkFormat] = if family.has_links() { &self.links } else { &[] };
        for &links in links {
            let setup = StencilSetup { lattice, links, legs: LegOrder::DEFAULT, spinors };
            let unmade = unmade.clone().with_links(links, setup.legs);
            if family == Family::Clover {
                // The product with blocks reads no links: once is enough.
                let wanted = |kernel| kernel != CloverKernel::Apply || links == self.links[0];
                let make = |backend: &B| CloverKernels::<B, R>::new(backend, setup);
                runner.some(family, unmade, variant, make, wanted);
                continue;
            }
            for sites in BOTH {
                let unmade = unmade.clone();
                match family {
                    Family::Laplace => {
                        runner
                            .all(family, unmade, variant, |backend| LaplaceKernels::<B, R>::new(backend, setup, sites));
                    }
                    _ => runner
                        .all(family, unmade, variant, |backend| HopKernels::<B, R>::new(backend, setup, sites, family)),
                }
            }
        }
        match family {
            Family::Hop | Family::Clover | Family::Laplace => {}
            Family::DomainWall => {
                runner
                    .all(family, unmade, variant, |backend| AlongSKernels::<B, R>::new(backend, lattice, spinors / LS));
            }
            Family::Blas => {
                runner.all(family, unmade, variant, |backend| BlasKernels::<B, R>::new(backend, lattice, spinors));
            }
            Family::Columns => {
                runner.all(family, unmade, variant, |backend| ColumnKernels::<B, R>::new(backend, lattice, spinors));
            }
            Family::Convert => {
                runner.all(family, unmade, variant, |backend| ConvertKernels::<B, R>::new(backend, lattice, spinors));
            }
        }
    }
}

impl Kernels {
    /// Kernels of some families where launches, links and lanes are what a user gets.
    pub fn usual(
        families: Vec<Family>,
        lattice: Option<Extents>,
        (precision, links): (Vec<StoredPrecision>, Vec<LinkFormat>),
        samples: u32,
    ) -> Self {
        Self {
            families,
            lattice,
            precision,
            links,
            spinors: None,
            lanes: vec![LaneChoice::Auto],
            place: PlaceArgs::default(),
            timing: TimingArgs { samples, json: false },
            variant: VariantArgs::default(),
        }
    }

    /// Times them, on a lattice of which the extents are told too.
    ///
    /// # Errors
    /// A choice that the backend does not have.
    pub fn records<B: Timed>(&self, backend: &mut B) -> anyhow::Result<(Extents, Vec<KernelRecord>)> {
        let variant = self.variant.variant::<B>()?;
        let extents = extents_or_usual(self.lattice, backend)?;
        let mut runner = Runner::new(backend, self.timing.sampling(extents));
        for family in self.families() {
            for &precision in &self.precision {
                for &lanes in &self.lanes {
                    let (what, place) = ((family, &variant), (extents, lanes));
                    in_precision!(precision, R => self.family::<R, B>(&mut runner, what, place));
                }
            }
        }
        Ok((extents, runner.finish()))
    }
}

impl TimedTask for Kernels {
    type Output = anyhow::Result<Outcome>;

    fn run<B: Timed>(self, backend: &mut B) -> anyhow::Result<Outcome> {
        let (extents, records) = self.records(backend)?;
        let report = Report::new(backend, self.timing.samples, records)?;
        match self.timing.json {
            true => print_json(&report)?,
            false => print(report.text(Some(extents)))?,
        }
        Ok(Outcome::Done)
    }
}
