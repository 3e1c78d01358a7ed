//! Sums over sites, timed in every form and launch shape: the words of a large object packed first (staged), reduced when they are loaded (fused),
//! or all in one work-item (serial words). Each is a tree sum, timed together with the exact sum. The results that were timed are compared, to
//! check that the forms have the same bits. Kernels: `cl/reduce.cl` and `reference/src/kernels/reduce.rs`.

mod report;

use std::collections::{HashMap, HashSet};

use lanefield::backend::opencl::{DeviceInfo, Finish, OpenCl, SumForm, SumOptions};
use lanefield::kernel::reduce::{INNER_PRODUCTS, NORM2, SUM};
use lanefield::kernel::{Case, CaseOptions, Kernel, Numbers, TestData};
use lanefield::prelude::*;
use lanefield_reference::field::{DoubledGauge, Object, SiteObject, Words};
use lanefield_reference::layout::{
    AcceleratorThreads, LayoutError, ReductionDevice, TreePlan, get_num_blocks_and_threads,
};

use crate::ahead::Step;
use crate::bandwidth;
use crate::spread::median;
use crate::{Progress, Timed};

pub use report::{Agreement, Operation, ReduceReport, ReduceRow, Seconds, Shape};

/// Numbers of sites per group to try; the work-items of a group are these times the lanes.
pub const SITES_A_GROUP: [usize; 4] = [2, 8, 16, 32];
/// The most threads of a tree that are summed by halving.
const WARP: usize = 32;

/// The device properties that Grid's reduction geometry would have for a backend. The CPU has no block reduction of its own: it replays that of an
/// H200.
fn reduction_device(backend: &impl Timed) -> ReductionDevice {
    backend.opencl().map_or(ReductionDevice::H200, |device| as_grid_sees(device.context().info()))
}

fn as_grid_sees(info: &DeviceInfo) -> ReductionDevice {
    let max_threads = info.max_work_group_size.min(info.max_work_item_sizes[0]).min(TreePlan::MOST_THREADS);
    ReductionDevice {
        warp: info.group_of(info.preferred_work_group_multiple.unwrap_or(WARP).next_power_of_two()),
        max_threads,
        local_bytes: info.local_memory_bytes as usize,
        compute_units: info.compute_units as usize,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ReduceBench {
    pub extents: Extents,
    pub lanes: LaneChoice,
    pub object: Words,
    /// Words per bundle of the staged and fused forms, and of the plan; at most the number of words of the object.
    pub bundle: usize,
    pub finish: Option<Finish>,
    /// Timed runs per row, after a warm-up run.
    pub samples: usize,
}

struct Planned {
    operation: Operation,
    shape: Shape,
    group: Option<usize>,
    form: String,
    /// What to sum and how, or why that is not possible.
    setup: Result<(Sum, SumOptions), String>,
}

/// Rows of the spinor fields, in each precision.
const SPINOR_ROWS: usize = 4;

/// Measures sums of the words of fields of `R` on a backend, then norms and inner products of spinors in both precisions. If a sum cannot be run,
/// its row has the reason.
///
/// Fails if no row could be run at all: if the lattice has no such layout, if there is no room for the field, or if the read bandwidth is unknown.
pub fn measure<R: Vectors, B: Timed>(
    backend: &mut B,
    bench: &ReduceBench,
    observe: impl FnMut(Progress<'_>) -> bool,
) -> Result<ReduceReport, BackendError> {
    let device = reduction_device(backend);
    let lattice = lay_out::<R>(bench)?;
    let plan = get_num_blocks_and_threads(bundle_of(bench) * size_of::<Complex<f64>>(), &device);
    let blocks = get_num_blocks_and_threads(size_of::<Complex<f64>>(), &device)?.blocks();
    let planned = planned(bench, backend.opencl().is_some(), lattice.nsimd(), blocks, &plan);
    let rows = planned.len() + 2 * SPINOR_ROWS;
    let mut measuring = Measuring::new(backend, bench, observe, rows);
    measuring.tell("making the field");
    let x = TestData::new(1).field::<R, Words>(lattice, Sites::Full, bench.object, Numbers::Ordinary, 0)?;
    let x = measuring.backend.upload(x)?;
    let bytes = field_bytes::<R>(&lattice, bench.object.words());
    for row in planned {
        measuring.row::<R>(row, bench.object.name(), bytes, |backend, sum| backend.sum(&x, sum));
    }
    drop(x);
    measuring.spinors::<f32>(&device);
    measuring.spinors::<f64>(&device);

    measuring.backend.set_sum_options(SumOptions::default());
    measuring.tell("read bandwidth");
    let (mut rows, agreement) = measuring.end();
    let memory = backend.memory();
    let beyond_caches = rows.iter().filter(|row| row.bytes > memory.cache_bytes());
    let seen = beyond_caches.filter_map(|row| Some(row.bytes as f64 / row.seconds?.most)).reduce(f64::max);
    let read_bandwidth = memory.ceiling(bandwidth::Operation::Read, seen)?;
    let least = rows.iter().filter_map(|row| Some(row.seconds?.median)).reduce(f64::min);
    let empty_launch = memory.empty_launch(least)?;
    rows.iter_mut().for_each(|row| row.hold_against(memory, read_bandwidth, empty_launch));
    let plan = plan.ok().map(|plan| plan.to_string());
    Ok(ReduceReport { lattice, plan, read_bandwidth, rows, agreement })
}

/// The steps that [`measure`] builds on a device.
pub fn steps<R: Vectors>(device: &mut OpenCl, bench: &ReduceBench) -> Result<Vec<Step>, BackendError> {
    let reduction = reduction_device(device);
    let lattice = lay_out::<R>(bench)?;
    let plan = get_num_blocks_and_threads(bundle_of(bench) * size_of::<Complex<f64>>(), &reduction);
    let of_numbers = get_num_blocks_and_threads(size_of::<Complex<f64>>(), &reduction)?;
    let shape = |kernel: &'static Kernel, lattice, object: Object, precision| {
        let links = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::PERIODIC };
        let usual = CaseOptions::new(lattice, Sites::Full, precision, links, 1);
        Case::shape_of(kernel, &CaseOptions { object: Some(object), ..usual })
    };
    let words = shape(&SUM, lattice, bench.object.object(), R::PRECISION);
    let rows = planned(bench, true, lattice.nsimd(), of_numbers.blocks(), &plan).into_iter();
    let mut calls: Vec<_> = rows.filter_map(|row| Some((words.clone(), row.setup.ok()?))).collect();
    for (lattice, precision) in [(lay_out::<f32>(bench)?, Precision::F32), (lay_out::<f64>(bench)?, Precision::F64)] {
        for kernel in [&NORM2, &INNER_PRODUCTS] {
            let options = SumOptions { finish: bench.finish, ..SumOptions::default() };
            let shape = shape(kernel, lattice, Spinors::ONE.object(), precision);
            calls.extend([Sum::Exact, Sum::Tree(of_numbers)].map(|sum| (shape.clone(), (sum, options))));
        }
    }
    let before = device.sum_options();
    let mut needed: Vec<_> = Vec::new();
    for (shape, (sum, options)) in calls {
        device.set_sum_options(options);
        // A row that cannot be planned has the reason.
        let of_call = device.needs(&shape, sum).into_iter().flatten();
        needed.extend(of_call.filter(|one| !needed.contains(one)).collect::<Vec<_>>());
    }
    device.set_sum_options(before);
    Ok(needed.into_iter().map(Step::Program).collect())
}

fn field_bytes<R: Vectors>(lattice: &Lattice, words: usize) -> u64 {
    (lattice.extents().volume() * words * size_of::<Complex<R>>()) as u64
}

fn lay_out<R: Vectors>(bench: &ReduceBench) -> Result<Lattice, LayoutError> {
    Lattice::new(bench.extents, R::COMPLEX, LatticeOptions { lanes: bench.lanes, ..LatticeOptions::default() })
}

/// A bundle has at most as many words as the object.
fn bundle_of(bench: &ReduceBench) -> usize {
    bench.bundle.min(bench.object.words()).max(1)
}

/// The rows of the object's field. `has_forms`: whether the backend has several forms of a sum.
fn planned(
    bench: &ReduceBench,
    has_forms: bool,
    nsimd: usize,
    blocks: usize,
    plan: &Result<TreePlan, LayoutError>,
) -> Vec<Planned> {
    let bundle = bundle_of(bench);
    let options = SumOptions { finish: bench.finish, ..SumOptions::default() };
    let mut forms = vec![None];
    if has_forms {
        let fused = SumForm::Fused(bundle);
        forms = [SumForm::Staged(bundle), fused, SumForm::SerialWords].map(Some).to_vec();
        if SumForm::FASTEST_TREE != fused {
            forms.insert(2, Some(SumForm::FASTEST_TREE));
        }
    }
    let row = |shape, group, form, setup| Planned { operation: Operation::Sum, shape, group, form, setup };
    let shapes = SITES_A_GROUP.map(Shape::SitesAGroup).into_iter().chain([Shape::Plan]);
    let mut rows = Vec::new();
    for shape in shapes {
        let (sites, plan) = match shape {
            Shape::SitesAGroup(sites) => (sites, TreePlan::with_warp(sites * nsimd, blocks, WARP.min(sites * nsimd))),
            Shape::Plan | Shape::Default => {
                (plan.as_ref().map_or(1, |plan| (plan.threads() / nsimd).max(1)), plan.clone())
            }
        };
        let group = plan.as_ref().map(TreePlan::threads).ok();
        for form in &forms {
            let pack = AcceleratorThreads::new(sites);
            let setup =
                plan.clone().and_then(|plan| Ok((Sum::Tree(plan), SumOptions { form: *form, pack: pack?, ..options })));
            let setup = setup.map_err(|error| error.to_string());
            rows.push(row(shape, group, form.map_or("tree".to_owned(), |form| form.to_string()), setup));
        }
        if has_forms {
            rows.push(row(shape, group, "exact".to_owned(), Ok((Sum::Exact, SumOptions { group, ..options }))));
        }
    }
    rows.push(row(Shape::Default, None, "exact".to_owned(), Ok((Sum::Exact, options))));
    rows
}

/// Sums of the same kind must be equal: the field, the operation, and how it is summed.
type Kind = (&'static str, &'static str, Operation, Sum);

struct Measuring<'m, B, O> {
    backend: &'m mut B,
    bench: &'m ReduceBench,
    observe: O,
    /// The bits of the first sum of each kind, and the row that it is from.
    expected: HashMap<Kind, (Vec<[u64; 2]>, String)>,
    /// Seconds to read this number of bytes and do nothing else; `None` if there is no room for a second field.
    reads: HashMap<u64, Option<f64>>,
    done: Vec<ReduceRow>,
    agreement: Agreement,
    rows: usize,
    goes_on: bool,
}

impl<'m, B: Timed, O: FnMut(Progress<'_>) -> bool> Measuring<'m, B, O> {
    fn new(backend: &'m mut B, bench: &'m ReduceBench, observe: O, rows: usize) -> Self {
        let (expected, reads) = (HashMap::new(), HashMap::new());
        let (done, agreement, goes_on) = (Vec::new(), Agreement::default(), true);
        Self { backend, bench, observe, expected, reads, done, agreement, rows, goes_on }
    }

    fn tell(&mut self, now: &str) {
        self.goes_on &= (self.observe)(Progress { done: self.done.len(), steps: self.rows, now });
    }

    fn end(mut self) -> (Vec<ReduceRow>, Agreement) {
        let sums: HashSet<Sum> = self.expected.into_keys().map(|(_, _, _, sum)| sum).collect();
        self.agreement.plans = sums.iter().filter(|sum| **sum != Sum::Exact).count();
        self.agreement.different.sort();
        (self.done, self.agreement)
    }

    /// Measures one row, and compares its result with others of its kind.
    fn row<R: Vectors>(
        &mut self,
        planned: Planned,
        object: &'static str,
        bytes: u64,
        call: impl Fn(&B, Sum) -> Result<Vec<Complex<f64>>, BackendError>,
    ) {
        let Planned { operation, shape, group, form, setup } = planned;
        let by = format!("{operation} of f{} {object}, {form}, {shape}", R::BITS);
        self.tell(&by);
        if !self.goes_on {
            return;
        }
        let sum = setup.as_ref().ok().map(|(sum, _)| *sum);
        let measured = setup.and_then(|(sum, options)| {
            self.backend.set_sum_options(options);
            let kind = (object, R::NAME, operation, sum);
            self.timed(kind, &by, |backend| call(backend, sum)).map_err(|error| error.to_string())
        });
        let backend = &*self.backend;
        let read = || *self.reads.entry(bytes).or_insert_with(|| backend.read_time(bytes as usize).ok());
        let read_seconds = measured.is_ok().then(read).flatten();
        self.done.push(ReduceRow {
            operation,
            object,
            precision: R::NAME,
            shape,
            group,
            form,
            sum: sum.map(|sum| sum.to_string()),
            bytes,
            seconds: measured.as_ref().ok().copied(),
            read_seconds,
            failure: measured.err(),
            bytes_per_second: None,
            share_of_read_bandwidth: None,
            in_cache: false,
            share_of_same_read: None,
        });
        self.tell("");
    }

    /// The first run builds programs and is not timed; the result of every run is compared.
    fn timed(
        &mut self,
        kind: Kind,
        by: &str,
        call: impl Fn(&B) -> Result<Vec<Complex<f64>>, BackendError>,
    ) -> Result<Seconds, BackendError> {
        let mut results = vec![call(self.backend)?];
        let mut times = Vec::with_capacity(self.bench.samples);
        for _ in 0..self.bench.samples {
            let backend = &*self.backend;
            times.push(backend.time(&mut || {
                results.push(call(backend)?);
                Ok(())
            })?);
        }
        let bits = |sums: &[Complex<f64>]| sums.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect::<Vec<_>>();
        let (expected, first) = self.expected.entry(kind).or_insert_with(|| (bits(&results[0]), by.to_owned()));
        match kind.3 {
            Sum::Exact => self.agreement.exact_sums += 1,
            Sum::Tree(_) => self.agreement.tree_sums += 1,
        }
        if let Some(found) = results.iter().map(|result| bits(result)).find(|found| found != expected) {
            let word = found.iter().zip(&*expected).position(|(found, expected)| found != expected);
            let place = word.map_or("number of words".to_owned(), |word| format!("word {word}"));
            self.agreement.different.push(match by == first {
                true => format!("{by}: one run differs from the next in {place}"),
                false => format!("{by} differs from {first} in {place}"),
            });
        }
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(Seconds { median: median(times), least, most })
    }

    /// Norm and inner product of spinor fields, exact and with Grid's plan for the backend.
    fn spinors<R: Vectors>(&mut self, device: &ReductionDevice) {
        if !self.goes_on {
            return;
        }
        let fields = self.spinor_fields::<R>().map_err(|error| error.to_string());
        let options = SumOptions { finish: self.bench.finish, ..SumOptions::default() };
        let plan = get_num_blocks_and_threads(size_of::<Complex<f64>>(), device).map_err(|error| error.to_string());
        let a_field = (self.bench.extents.volume() * Spinors::WORDS * size_of::<Complex<R>>()) as u64;
        for (operation, bytes) in [(Operation::Norm2, a_field), (Operation::InnerProduct, 2 * a_field)] {
            let tree = plan.clone().map(|plan| (Sum::Tree(plan), options));
            let group = plan.as_ref().map(TreePlan::threads).ok();
            let rows = [(Shape::Plan, "tree", group, tree), (Shape::Default, "exact", None, Ok((Sum::Exact, options)))];
            for (shape, form, group, setup) in rows {
                let setup = fields.as_ref().map_err(String::clone).and(setup);
                let row = Planned { operation, shape, group, form: form.to_owned(), setup };
                self.row::<R>(row, Spinors::ONE.name(), bytes, |backend, sum| {
                    // Without fields nothing is set up.
                    let Ok([x, y]) = &fields else { return Ok(Vec::new()) };
                    Ok(vec![match operation {
                        Operation::InnerProduct => backend.inner_product(x, y, sum)?,
                        Operation::Norm2 | Operation::Sum => backend.norm2(x, sum)?.into(),
                    }])
                });
            }
        }
    }

    fn spinor_fields<R: Vectors>(&self) -> Result<[FieldOn<B, R, Spinors>; 2], BackendError> {
        let lattice = lay_out::<R>(self.bench)?;
        let data = TestData::new(2);
        let field = |number| data.field::<R, _>(lattice, Sites::Full, Spinors::ONE, Numbers::Ordinary, number);
        Ok([self.backend.upload(field(0)?)?, self.backend.upload(field(1)?)?])
    }
}

#[cfg(test)]
mod tests;
