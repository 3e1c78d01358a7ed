//! The tuner finds the fastest variant of each stencil kernel on a device. No choice changes a bit of any result, and the result of every candidate
//! is compared to make sure. `backend/opencl/tuning/{parameters,lookup}.rs` and `docs/tuning.md` describe the choices, and how files of tuning
//! results are found.

mod kernels;
mod save;
mod search;

use std::fmt::Display;
use std::time::{Duration, Instant};

use lanefield::backend::opencl::{AccessWidth, Count, KernelKey, Layout, OpenCl, SiteOrder, Tuned, Tuning};
use lanefield::kernel::{Case, CaseOptions, Geometry, Outcome};
use lanefield::prelude::*;
use serde::Serialize;

pub use kernels::subjects;
pub use save::{require_place, save};
pub use search::{Axis, Candidate, Searched, Trial, Verdict, search};

use crate::ahead::{BuildAhead, KernelStep};
use crate::study::Run;
use crate::{BenchCase, Progress};
use kernels::{KernelTrial, axes, name_of};

#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// The kernels to tune, with the lattices to use.
    pub subjects: Vec<BenchCase>,
    /// The access widths to try, including the default of the device.
    pub access: Vec<AccessWidth>,
    /// The orders of outer sites to try, the default first. The default is tried with every access width, the others only with the first.
    pub site_orders: Vec<SiteOrder>,
    /// The time limit. A kernel that has been started completes its default variant first.
    pub budget: Duration,
}

impl TuneOptions {
    fn layouts(&self) -> Vec<Layout> {
        let (orders, widths) = (self.site_orders.iter().copied(), self.access.iter().copied());
        let layout = |access| move |site_order| Layout { access, site_order };
        let by_width = widths.flat_map(|width| orders.clone().take(1).map(layout(width)));
        let by_order = self.access.iter().take(1).flat_map(|&width| orders.clone().skip(1).map(layout(width)));
        by_width.chain(by_order).collect()
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    pub gain: f64,
    pub kernel: String,
    #[serde(skip)]
    pub key: KernelKey,
    pub lattice: [usize; 4],
    pub access: AccessWidth,
    pub site_order: SiteOrder,
    pub searched: Searched,
}

impl KernelReport {
    /// Candidates with different bits, of which there must be none.
    pub fn different(&self) -> impl Iterator<Item = &Candidate> {
        self.searched.candidates.iter().filter(|one| matches!(one.verdict, Verdict::BitsDiffer { .. }))
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct TuneReport {
    pub access: AccessWidth,
    pub site_order: SiteOrder,
    /// The kernels, in each layout of fields.
    pub kernels: Vec<KernelReport>,
    /// Kernels that could not be tuned, with a sentence on the reason.
    pub failures: Vec<String>,
    /// What was left out for lack of time: a sentence each.
    pub left_out: Vec<String>,
    pub seconds: f64,
}

impl TuneReport {
    pub fn same_bits(&self) -> bool {
        self.failures.is_empty() && self.kernels.iter().all(|kernel| kernel.different().next().is_none())
    }
}

/// Tunes `device`. The CPU reference `cpu` computes the expected results. Afterwards the device has its previous tuning again. The report includes
/// what could not be run. `ahead` is called before programs are needed, and may build them in parallel, which counts as time of the search.
pub fn tune(
    device: &mut OpenCl,
    cpu: &Cpu,
    options: &TuneOptions,
    ahead: BuildAhead<'_>,
    observe: impl FnMut(Progress<'_>) -> bool,
) -> TuneReport {
    let (tuned, tuning, Layout { access, site_order }) = (device.tuned().clone(), device.tuning(), device.layout());
    let (kernels, failures, left_out) = (Vec::new(), Vec::new(), Vec::new());
    let report = TuneReport { access, site_order, kernels, failures, left_out, seconds: 0.0 };
    let steps = options.subjects.len() * options.layouts().len();
    let mut tuner = Tuner { device, cpu, options, ahead, observe, begin: Instant::now(), steps, done: 0, report };
    for (done, subject) in options.subjects.iter().enumerate() {
        tuner.subject(subject, done);
    }
    let Tuner { device, begin, mut report, .. } = tuner;
    device.set_tuned(tuned);
    device.set_tuning(tuning);
    if let Some(best) = best_layout(&options.layouts(), &report.kernels) {
        (report.access, report.site_order) = (best.access, best.site_order);
    }
    report.seconds = begin.elapsed().as_secs_f64();
    report
}

struct Tuner<'t, O> {
    device: &'t mut OpenCl,
    cpu: &'t Cpu,
    options: &'t TuneOptions,
    ahead: BuildAhead<'t>,
    observe: O,
    begin: Instant,
    steps: usize,
    done: usize,
    report: TuneReport,
}

impl<O: FnMut(Progress<'_>) -> bool> Tuner<'_, O> {
    /// Tunes one kernel in every layout; the remaining budget is divided among the remaining kernels.
    fn subject(&mut self, subject: &BenchCase, subjects_done: usize) {
        let name = name_of(subject);
        let (now, budget) = (self.elapsed(&name), self.options.budget);
        let layouts = self.options.layouts();
        if now >= budget {
            self.report.left_out.push(format!("{name}: not tuned"));
            return self.step(layouts.len(), &name);
        }
        let left = (self.options.subjects.len() - subjects_done) as u32;
        let until = now + (budget - now) / left;
        self.step(0, &name);
        let made = self.case(subject).and_then(|case| Ok((case.run(self.cpu, Sum::Exact)?, case)));
        let (expected, case) = match made {
            Ok(made) => made,
            Err(error) => {
                self.failed(&name, &name, &error);
                return self.step(layouts.len(), &name);
            }
        };
        for (place, &layout) in layouts.iter().enumerate() {
            let Layout { access, site_order: sites } = layout;
            let now = self.elapsed(&name);
            if place > 0 && now >= until {
                self.report.left_out.push(format!("{name}: access width {access}, sites {sites}"));
            } else {
                let until = now + until.saturating_sub(now) / (layouts.len() - place) as u32;
                match self.search(subject, &case, &expected, layout, until) {
                    Ok(report) => {
                        let tried = report.searched.candidates.iter();
                        let count = tried.filter(|candidate| candidate.verdict == Verdict::LeftOut).count();
                        if count > 0 {
                            let line = format!("{name}, access {access}, sites {sites}: {count} candidates");
                            self.report.left_out.push(line);
                        }
                        self.report.kernels.push(report);
                    }
                    Err(reason) => self.failed(&name, &format!("{name}, access {access}, sites {sites}"), &reason),
                }
            }
            self.step(1, &name);
        }
    }

    fn step(&mut self, steps: usize, now: &str) {
        self.done += steps;
        self.elapsed(now);
    }

    /// Time since the start; the maximum if the tuner is to stop, so that the budget is used up.
    fn elapsed(&mut self, now: &str) -> Duration {
        match (self.observe)(Progress { done: self.done, steps: self.steps, now }) {
            true => self.begin.elapsed(),
            false => Duration::MAX,
        }
    }

    /// Records a failure and its reason. If the tuner is to stop, it is not a failure: compilers remove their files when a signal arrives.
    fn failed(&mut self, name: &str, what: &str, reason: &dyn Display) {
        if self.elapsed(name) == Duration::MAX {
            self.report.left_out.push(format!("{what}: ended in the middle"));
        } else {
            self.report.failures.push(format!("{what}: {reason}"));
        }
    }

    /// The kernel with links of a configuration, and random fields.
    fn case(&self, subject: &BenchCase) -> Result<Case, BackendError> {
        let lattice = subject.lattice(&*self.device)?;
        self.cpu.install(|| {
            let links = Configuration::hot(subject.extents, 1);
            Case::new(subject.kernel, &CaseOptions { configuration: Some(&links), ..subject.options(lattice) })
        })
    }

    fn search(
        &mut self,
        subject: &BenchCase,
        case: &Case,
        expected: &Outcome,
        layout: Layout,
        until: Duration,
    ) -> Result<KernelReport, String> {
        let Layout { access, site_order } = layout;
        self.device.set_tuning(Tuning { access: Some(access), site_order: Some(site_order), ..Tuning::OPEN });
        self.device.set_tuned(Tuned::shipped());
        let Some(key) = self.device.kernel_key(case.shape()) else {
            return Err(format!("there is nothing to tune in {}", subject.kernel));
        };
        let default = complete(self.device.choice(&key), subject);
        let lattice = case.shape().lattice();
        let mut axes = axes(self.device.context().info(), subject, lattice.nsimd());
        // First, values that are good in combination, which a search along one tuning parameter at a time does not find.
        let of_others = Tuned::of_other_kernels(self.device.context().info(), &key).into_iter();
        let of_others = of_others.map(|choice| complete(choice, subject)).collect();
        axes.insert(0, Axis { name: "another-kernel", values: of_others });
        // If memory has subdomains, launches follow them.
        axes.retain(|axis| axis.name != "traversal" || site_order == SiteOrder::Lexicographic);
        let step = KernelStep::from(Run::new(*subject, self.device.tuning()));
        let Self { device, observe, begin, done, steps, ahead, .. } = self;
        let name = name_of(subject);
        let mut clock = || match observe(Progress { done: *done, steps: *steps, now: &name }) {
            true => begin.elapsed(),
            false => Duration::MAX,
        };
        let held = case.on(&**device).map_err(|error| error.to_string())?;
        let mut trial = KernelTrial { device, case, held, clock: &mut clock, step, ahead: &mut **ahead };
        let searched = search(&mut trial, default, expected, &axes, until)?;
        let kernel = key.to_string();
        let gain = searched.default_seconds / searched.seconds;
        Ok(KernelReport { gain, kernel, key, lattice: lattice.extents().as_array(), access, site_order, searched })
    }
}

/// The default as values of the tuning parameters, without those that do not concern the kernel.
fn complete(default: Tuning, subject: &BenchCase) -> Tuning {
    let Geometry::Stencil { accumulates, splits, .. } = subject.kernel.geometry else { return default };
    let parts = subject.components();
    let (at_once, all) = (Count::new(default.rhs_per_work_item_of(parts)), Count::new(parts));
    Tuning {
        accumulators: default.accumulators.filter(|_| accumulates),
        accelerator_threads: default.accelerator_threads.filter(|_| default.work_items.is_none()),
        rhs_per_work_item: default.rhs_per_work_item.filter(|_| parts > 1).and(at_once),
        rhs_per_launch: default.rhs_per_launch.or(all).filter(|_| splits && parts > 1),
        ..default
    }
}

/// The layout with the least time of its kernels, each relative to its least time in any layout. Only layouts count in which every kernel was timed
/// that was timed in any.
fn best_layout(layouts: &[Layout], kernels: &[KernelReport]) -> Option<Layout> {
    let of = |layout: Layout| {
        kernels.iter().filter(move |kernel| Layout { access: kernel.access, site_order: kernel.site_order } == layout)
    };
    let same = |a: &KernelKey, b: &KernelKey| KernelKey { access: a.access, site_order: a.site_order, ..*b } == *a;
    let least = |key: &KernelKey| {
        let times = kernels.iter().filter(|other| same(key, &other.key)).map(|other| other.searched.seconds);
        times.fold(f64::INFINITY, f64::min)
    };
    let most = layouts.iter().map(|&layout| of(layout).count()).max()?;
    let complete = layouts.iter().copied().filter(|&layout| most > 0 && of(layout).count() == most);
    let total = |layout: Layout| of(layout).map(|kernel| kernel.searched.seconds / least(&kernel.key)).sum::<f64>();
    complete.min_by(|&a, &b| total(a).total_cmp(&total(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_tried_in_the_first_order_and_every_order_in_the_first_width() {
        let other = SiteOrder::Subdomains([4, 4, 4, 1]);
        let options = TuneOptions {
            subjects: Vec::new(),
            access: vec![AccessWidth::Sixteen, AccessWidth::Word],
            site_orders: vec![SiteOrder::Lexicographic, other],
            budget: Duration::ZERO,
        };
        let plain = SiteOrder::Lexicographic;
        let expected = [(AccessWidth::Sixteen, plain), (AccessWidth::Word, plain), (AccessWidth::Sixteen, other)];
        assert_eq!(options.layouts(), expected.map(|(access, site_order)| Layout { access, site_order }));
    }
}
