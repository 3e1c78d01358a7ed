//! Which kernels to time, and on which fields: those of the library, one after the other, as in `lanefield bench` and `cargo bench`.

use lanefield::backend::opencl::Tuning;
use lanefield::kernel::{Case, CaseOptions, Geometry, Kernel, KernelList};
use lanefield::prelude::*;
use lanefield_reference::layout::LayoutError;
use lanefield_reference::links::DoubledGauge;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::record::{FieldFacts, KernelRecord};
use super::timed::Timed;
use super::timing::TimedCase;
use crate::json::text;

/// The progress of a measurement. The callback returns whether to continue; if not, the result is what was measured until then.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub done: usize,
    pub steps: usize,
    pub now: &'a str,
}

const EVEN: Sites = Sites::Parity(Parity::Even);

/// The kernels that the words name ([`KernelList::named`]), each once, without those that cannot be timed alone. The Hermitian conjugate of a
/// kernel does the same work, and is left out unless a word names it alone.
pub fn kernels_to_time<'w>(
    list: &KernelList,
    words: impl IntoIterator<Item = &'w str>,
) -> Result<Vec<&'static Kernel>, String> {
    let mut kernels: Vec<&'static Kernel> = Vec::new();
    for word in words {
        let named = list.named(word)?;
        let alone = named.len() == 1;
        let wanted = named.into_iter().filter(|kernel| kernel.is_launched() && (alone || kernel.dagger == Dagger::No));
        let before = kernels.len();
        for kernel in wanted {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        if alone && kernels.len() == before && !kernels.iter().any(|kernel| kernel.name == word) {
            return Err(format!("{word} is part of other operations, and not timed alone: use norm2 or sum"));
        }
    }
    Ok(kernels)
}

/// The target sites on which a kernel is timed: all sites and one parity for a hop, one parity for kernels that only even-odd preconditioning uses,
/// and all sites for others.
pub fn usual_sites(kernel: &Kernel) -> &'static [Sites] {
    match kernel.geometry {
        _ if kernel.is_full_only() => &[Sites::Full],
        _ if kernel.is_onto_parity_only() => &[EVEN],
        Geometry::Stencil { accumulates: true, .. } => &[EVEN],
        Geometry::Stencil { .. } => &[Sites::Full, EVEN],
        _ => &[Sites::Full],
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchCase<K = &'static Kernel> {
    /// The kernel, or its name if the case was sent to another process.
    pub kernel: K,
    #[serde(with = "text")]
    pub extents: Extents,
    #[serde(serialize_with = "text::serialize", deserialize_with = "read_sites")]
    pub sites: Sites,
    pub precision: Precision,
    /// The link format; ignored by kernels that read no links.
    #[serde(with = "text")]
    pub links: LinkFormat,
    /// Number of right-hand sides; `None` for the usual number of components of the kernel.
    pub rhs: Option<usize>,
    #[serde(with = "text")]
    pub lanes: LaneChoice,
}

fn read_sites<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sites, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == Sites::Full.to_string() {
        return Ok(Sites::Full);
    }
    text.parse().map(Sites::Parity).map_err(de::Error::custom)
}

impl<K> BenchCase<K> {
    /// The same case with another kernel, or with the kernel's name.
    pub fn with_kernel<J>(self, kernel: J) -> BenchCase<J> {
        let Self { kernel: _, extents, sites, precision, links, rhs, lanes } = self;
        BenchCase { kernel, extents, sites, precision, links, rhs, lanes }
    }
}

impl BenchCase {
    /// One parity for a hop, otherwise all sites, in f32 with the usual number of components.
    pub fn usual(kernel: &'static Kernel, extents: Extents) -> Self {
        let sites = usual_sites(kernel).last().copied().unwrap_or(Sites::Full);
        let (precision, links) = (Precision::F32, LinkFormat::Full);
        Self { kernel, extents, sites, precision, links, rhs: None, lanes: LaneChoice::Auto }
    }

    /// Spinors or colour vectors per site. Kernels along s have the usual number of sites of the fifth dimension for each right-hand side.
    pub fn components(&self) -> usize {
        match (self.rhs, self.kernel.geometry) {
            (None, _) => self.kernel.usual_parts,
            (Some(rhs), Geometry::AlongS) => rhs * self.kernel.usual_parts,
            (Some(rhs), _) => rhs,
        }
    }

    pub fn lattice(&self, backend: &impl Memory) -> Result<Lattice, LayoutError> {
        let options = LatticeOptions { lanes: backend.lanes(self.lanes), ..LatticeOptions::default() };
        Lattice::new(self.extents, self.precision.scalar(), options)
    }

    /// Options for the arguments on a lattice. Links are random numbers, since no time depends on them.
    pub fn options(&self, lattice: Lattice) -> CaseOptions<'static> {
        let links = DoubledGauge { format: self.links, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
        let along_s = self.kernel.geometry == Geometry::AlongS;
        CaseOptions {
            ls: along_s.then_some(self.kernel.usual_parts),
            ..CaseOptions::new(lattice, self.sites, self.precision, links, self.components())
        }
    }

    pub fn prepare<B: Timed>(&self, backend: &B) -> Result<TimedCase<B>, BackendError> {
        let lattice = self.lattice(backend)?;
        Ok(TimedCase::new(Case::new(self.kernel, &self.options(lattice))?))
    }

    pub(crate) fn unprepared<B: Timed>(&self, backend: &B, tuning: Tuning, failure: String) -> KernelRecord {
        let fields = match self.lattice(backend) {
            Ok(lattice) => FieldFacts::of(&Case::shape_of(self.kernel, &self.options(lattice))),
            Err(_) => FieldFacts::unmade(self.extents, self.precision, self.components()),
        };
        KernelRecord::unprepared(self.kernel, fields, tuning, failure)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct BenchOptions {
    pub kernels: Vec<&'static Kernel>,
    pub extents: Extents,
    /// Precisions; those that a kernel does not support are skipped.
    pub precisions: Vec<Precision>,
    pub links: Vec<LinkFormat>,
    /// Number of right-hand sides; kernels that do not support it are skipped.
    pub rhs: Option<usize>,
    pub lanes: Vec<LaneChoice>,
}

impl BenchOptions {
    pub fn new(kernels: Vec<&'static Kernel>, extents: Extents) -> Self {
        let (precisions, links, lanes) = (Precision::ALL.into(), LinkFormat::ALL.into(), vec![LaneChoice::Auto]);
        Self { kernels, extents, precisions, links, rhs: None, lanes }
    }

    pub fn cases(&self) -> Vec<BenchCase> {
        let mut cases = Vec::new();
        for &kernel in &self.kernels {
            let links = if kernel.reads_links() { &self.links[..] } else { &[LinkFormat::Full] };
            for &precision in self.precisions.iter().filter(|&&precision| kernel.takes(precision)) {
                for &lanes in &self.lanes {
                    for &links in links {
                        cases.extend(usual_sites(kernel).iter().map(|&sites| BenchCase {
                            kernel,
                            extents: self.extents,
                            sites,
                            precision,
                            links,
                            rhs: self.rhs,
                            lanes,
                        }));
                    }
                }
            }
        }
        cases.retain(|case| case.kernel.takes_parts(case.components()));
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> BenchOptions {
        BenchOptions::new(
            kernels_to_time(&KernelList::LIBRARY, words.iter().copied()).unwrap(),
            Extents::new([4; 4]).unwrap(),
        )
    }

    #[test]
    fn every_kernel_that_is_launched_is_timed_in_every_precision_but_for_conjugates() {
        let cases = options(&["all"]).cases();
        for kernel in KernelList::LIBRARY.all() {
            let timed = kernel.is_launched() && kernel.dagger == Dagger::No;
            for &precision in kernel.precisions {
                let found = cases.iter().any(|case| case.kernel == kernel && case.precision == precision);
                assert_eq!(found, timed, "{kernel} in {precision}");
            }
        }
    }

    #[test]
    fn a_word_that_names_one_kernel_takes_it_whatever_it_is() {
        let names = |words: &[&str]| -> Vec<_> { options(words).kernels.iter().map(|kernel| kernel.name).collect() };
        assert_eq!(names(&["hop_dagger", "hop", "hop"]), ["hop_dagger", "hop"]);
        assert!(names(&["clover"]).iter().all(|name| !name.ends_with("dagger")));
        assert!(kernels_to_time(&KernelList::LIBRARY, ["finish"]).unwrap_err().contains("part of other operations"));
        assert!(kernels_to_time(&KernelList::LIBRARY, ["dslash"]).unwrap_err().contains("unknown kernel 'dslash'"));
    }

    #[test]
    fn kernels_are_timed_with_the_right_hand_sides_that_were_asked_for_where_they_take_them() {
        let of = |rhs| BenchOptions { rhs, ..options(&["hop", "hop_many", "s_dense"]) };
        let found = |rhs| {
            let mut found: Vec<_> = of(rhs).cases().iter().map(|case| (case.kernel.name, case.components())).collect();
            found.dedup();
            found
        };
        assert_eq!(found(None), [("hop", 1), ("hop_many", 16), ("s_dense", 16)]);
        assert_eq!(found(Some(2)), [("hop_many", 2), ("s_dense", 32)]);
    }
}
