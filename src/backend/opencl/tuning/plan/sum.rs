//! Plans kernels with sums: the form of a sum, the number and size of work-groups, and how the sums of work-groups are combined. These
//! parameters do not change a bit of an exact sum, or of a tree sum with a given plan.

use lanefield_reference::exact;
use lanefield_reference::extreme::Extreme;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{BlockOrder, Slices, TreePlan, reduction_groups};
use lanefield_reference::real::Precision;

use super::planner::{Planner, block_options, options_of_converted};
use super::sum_options::{Finish, SumForm};
use crate::backend::BackendError;
use crate::backend::opencl::device::{DeviceError, Retirement};
use crate::backend::opencl::program::Source;
use crate::backend::opencl::tuning::access::AccessWidth;
use crate::backend::specification::{BuildOption, Geometry, KernelArgument, KernelSource, Shape};

/// The file of `cl/` with the kernels that pack words, sum words, and finish sums.
const FILE: &str = "reduce.cl";

pub(crate) fn sums_file() -> Source {
    Source::of_library(FILE)
}

/// The work-group size of exact sums: enough for a GPU's compute unit to hide latencies with a few groups.
const GPU_GROUP: usize = 256;
/// The same if each work-item holds the sums of a bundle.
const GPU_BUNDLE_GROUP: usize = 128;
const CPU_GROUP: usize = 64;
/// Work-group sizes for launches in which all groups run at the same time, and each work-item has one element. Every compute unit of an
/// NVIDIA GPU can hold a group of any of these sizes, however many registers the kernel uses.
const SIZES_AT_ONCE: [usize; 4] = [64, 128, 256, 512];
/// The operations by which groups retire, as `reduction.clh` numbers them. A single group needs none.
const ALONE: u32 = 1;
const NVIDIA_PTX: u32 = 2;
const OPENCL_3: u32 = 3;
/// The number of parts of a sum in one launch, and the work-items of a warp on NVIDIA GPUs (1 elsewhere): see `cl/sum_in_launch.clh`.
const PARTS_AT_ONCE: usize = 8;
const NVIDIA_WARP: usize = 32;
/// The number of counts after that of retired groups that such sums need: the number of the launch, and the words of two sums in each of
/// two launches.
pub(crate) const COUNTS_AT_ONCE: usize = 1 + 2 * (2 * 2 * PARTS_AT_ONCE);
/// The number of groups of exact sums for each compute unit: enough to fill it, few to add up at the end.
const GROUPS_PER_UNIT: usize = 4;
/// The same if each work-item holds the sums of a bundle: rows share them.
const BUNDLE_GROUPS_PER_UNIT: usize = 16;
/// The limit on a group's local memory, so that several groups fit a compute unit.
const LOCAL_BYTES: usize = 24 << 10;
/// The maximum number of a tree's sums in local memory at a time.
const MOST_CHUNK: usize = 24;

/// The launch of a sum.
#[derive(Clone, Copy)]
pub(crate) struct Reduction<'a> {
    pub shape: &'a Shape,
    /// What the kernel is built for.
    pub of: SumOf,
    /// The number of elements of each sum.
    pub elements: usize,
    /// The number of sums of one work-item, which are those of one launch row.
    pub a_row: usize,
    /// The numbers of rows and planes of groups. Each has its own sums.
    pub rows: usize,
    pub planes: usize,
    /// The access width by which the kernel finds a word of a site.
    pub access: AccessWidth,
    /// The order of its elements in memory, if it is not the order of summation.
    pub stored: Option<StoredOrder>,
    pub sum: Sum,
}

impl Reduction<'_> {
    /// The sums of existing words. The last bundle of a plane may be incomplete, and its remaining values are not sums.
    pub(crate) fn of_words<T>(&self, sums: Vec<T>) -> Vec<T> {
        let Some(_) = self.of.bundle else { return sums };
        let (a_plane, words) = (self.a_row * self.rows, self.shape.target.object.words());
        let numbered = sums.into_iter().enumerate();
        numbered.filter(|(number, _)| number % a_plane < 2 * words).map(|(_, sum)| sum).collect()
    }
}

/// The properties that the kernels in a file of sums are built for, apart from the kind of sum.
#[derive(Clone, Copy)]
pub(crate) struct SumOf {
    precision: Precision,
    pub nsimd: usize,
    /// The number of words of the objects that are summed.
    pub words: usize,
    /// Whether this number is always a constant.
    constant_words: bool,
    /// The number of words of a bundle, if the kernel has bundles.
    pub bundle: Option<usize>,
    /// The number of fields x of `inner_products`, or of right-hand sides of x of `rhs_gram`, that a work-item reads; otherwise 1.
    fields: usize,
    extreme: Option<Extreme>,
}

/// The number of right-hand sides of a field of a call.
fn rhs_of(shape: &Shape, name: &str) -> usize {
    shape.field(name).map_or(0, |field| field.object.parts() / shape.rhs_parts.max(1))
}

/// The number of right-hand sides, of `count`, that a work-item combines with one of the others: registers hold the sums of four.
fn at_once(count: usize) -> usize {
    (1..=4).rev().find(|&some| count.is_multiple_of(some)).unwrap_or(1)
}

impl SumOf {
    pub(crate) fn new(shape: &Shape, bundle: Option<usize>) -> Self {
        let object = shape.target.object;
        let whole_sites = shape.kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Words));
        Self {
            precision: shape.precision(),
            nsimd: shape.lattice().nsimd(),
            words: if whole_sites { object.words() } else { object.part_words() },
            // Half precision rounds a component as a whole. Operations on right-hand sides are also built for its words.
            constant_words: shape.precision() == Precision::Half
                || shape.kernel.options.contains(&BuildOption::PartWords),
            bundle,
            fields: match shape.kernel.geometry {
                Geometry::SumOfPairsOfRightHandSides => at_once(rhs_of(shape, "x")),
                _ => shape.listed,
            },
            extreme: shape.kernel.extreme(),
        }
    }
}

/// The order of outer sites in memory, and the components of each that are contiguous.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StoredOrder {
    order: BlockOrder,
    parts: usize,
}

impl Planner<'_> {
    /// The launch of a kernel that sums.
    pub(crate) fn reduction<'s>(&self, shape: &'s Shape, sum: Sum) -> Result<Reduction<'s>, BackendError> {
        let (target, lattice) = (&shape.target, shape.lattice());
        let (parts, nsimd) = (shape.parts(), lattice.nsimd());
        let words = target.object.words();
        let bundled = matches!(shape.kernel.geometry, Geometry::SumOfWords | Geometry::SumOfWordsInSlices);
        let bundle = bundled.then(|| self.bundle(self.form(sum), words));
        let of = SumOf::new(shape, bundle);
        let order = |parts| {
            // Only tree sums depend on it, and local volumes have none.
            self.layout.site_order.blocks(lattice, target.sites).map(|order| StoredOrder { order, parts })
        };
        let rows_of_words = bundle.map_or(1, |bundle| words.div_ceil(bundle));
        let one = Reduction {
            shape,
            of,
            elements: target.osites() * nsimd,
            a_row: bundle.map_or(1, |bundle| 2 * bundle),
            rows: rows_of_words,
            planes: 1,
            access: self.access(shape),
            stored: order(1),
            sum,
        };
        Ok(match shape.kernel.geometry {
            Geometry::SumOfWords => one,
            Geometry::SumOfWordsInSlices | Geometry::SumOfSitesInSlices => {
                let slices = Slices::new(lattice, target.sites, shape.direction)?;
                let sites = slices.osites_a_class() * slices.lanes_a_group();
                let (elements, a_row) = match shape.kernel.source {
                    KernelSource::Body(body) => (sites * parts, body.sums()),
                    _ => (sites, one.a_row),
                };
                Reduction { elements, a_row, planes: slices.count(), stored: None, ..one }
            }
            Geometry::SumOfRightHandSides => {
                let rows = parts / shape.rhs_parts.max(1);
                Reduction { elements: target.osites() * shape.rhs_parts * nsimd, rows, ..one }
            }
            Geometry::SumOfPairsOfRightHandSides => {
                let pairs = rhs_of(shape, "x") * (parts / shape.rhs_parts.max(1));
                let (elements, rows) = (target.osites() * shape.rhs_parts * nsimd, pairs / of.fields);
                Reduction { elements, a_row: 2 * of.fields, rows, ..one }
            }
            _ => {
                let list = shape.kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Fields(..)));
                let a_row = match shape.kernel.source {
                    KernelSource::Body(body) => body.sums(),
                    _ if list => 2 * shape.listed,
                    _ => 1,
                };
                Reduction { elements: target.osites() * parts * nsimd, a_row, stored: order(parts), ..one }
            }
        })
    }

    /// The kind of sum for a call. Extremes are combined like a tree sum, whose order changes no bit of them.
    pub(crate) fn shape_of_sum(&self, shape: &Shape, sum: Sum) -> Result<Sum, BackendError> {
        if shape.kernel.extreme().is_none() || sum != Sum::Exact {
            return Ok(sum);
        }
        let (group, groups) = self.groups(&self.reduction(shape, sum)?)?;
        // The largest power of two that divides the group, and at most a warp of NVIDIA's GPUs.
        let warp = 1 << group.trailing_zeros().min(NVIDIA_WARP.trailing_zeros());
        Ok(Sum::Tree(TreePlan::with_warp(group, groups, warp)?))
    }

    /// The work-group size, and the number of groups of a row.
    pub(crate) fn groups(&self, work: &Reduction<'_>) -> Result<(usize, usize), DeviceError> {
        let info = self.device;
        match work.sum {
            Sum::Tree(plan) => {
                let most = info.max_work_group_size.min(info.max_work_item_sizes[0]);
                match plan.threads() <= most {
                    true => Ok((plan.threads(), plan.blocks())),
                    false => Err(DeviceError::PlanTooLarge { plan, device: info.with_driver(), most }),
                }
            }
            Sum::Exact => {
                let group = self.exact_group(work.of.bundle, work.a_row);
                let usual = if work.of.bundle.is_some() { BUNDLE_GROUPS_PER_UNIT } else { GROUPS_PER_UNIT };
                let all = info.compute_units as usize * self.sums.groups_per_unit.unwrap_or(usual);
                let most = all.div_ceil(work.rows * work.planes);
                // For sums of words, a work-item reads two elements at a time.
                let stretch = if work.of.bundle.is_some() { 2 * group } else { group };
                Ok((group, reduction_groups(work.elements, stretch, most)))
            }
        }
    }

    /// Whether kernels are built for the number of words of an object. Wide accesses read several words, and need it.
    fn is_specialised(&self) -> bool {
        self.layout.access != AccessWidth::Word || self.sums.specialised.unwrap_or(!self.is_cpu())
    }

    pub(crate) fn form(&self, sum: Sum) -> SumForm {
        self.sums.form.unwrap_or(match sum {
            Sum::Exact => SumForm::FASTEST_EXACT,
            Sum::Tree(_) => SumForm::FASTEST_TREE,
        })
    }

    /// The number of words of a bundle, for objects of `words` words. It may be larger than `words` if one build serves all objects.
    pub(crate) fn bundle(&self, form: SumForm, words: usize) -> usize {
        match form {
            SumForm::Fused(bundle) | SumForm::Staged(bundle) if !self.is_specialised() => bundle,
            SumForm::Fused(bundle) | SumForm::Staged(bundle) => bundle.min(words),
            SumForm::SerialWords => words,
        }
    }

    /// How the sums of groups are combined, if each group has `bundle` words, or one number. The default is a second kernel. On a GPU it is
    /// the retirement count for one number, because the launch of a second kernel would cost more.
    pub(crate) fn finish(&self, bundle: Option<usize>) -> Finish {
        let retires = !matches!(self.device.retirement, Retirement::Unsupported { .. });
        let usual = match retires && bundle.is_none() && !self.is_cpu() {
            true => Finish::RetirementCount,
            false => Finish::SecondKernel,
        };
        self.sums.finish.unwrap_or(usual)
    }

    /// Whether a second kernel adds up the sums of groups.
    pub(crate) fn finishes_in_second_kernel(&self, bundle: Option<usize>) -> bool {
        self.finish(bundle) == Finish::SecondKernel
    }

    /// Plans an exact sum whose work-items have one element each and wait for the result. Returns the build, the work-group size, and the
    /// number of groups. `None` if the groups are not known to run at the same time, or if another method was chosen.
    pub(crate) fn sum_at_once(&self, work: &Reduction<'_>) -> Result<Option<(SumBuild, usize, usize)>, DeviceError> {
        let is_nvidia = self.adds_in_warps();
        let chosen = self.sums.at_once.unwrap_or(is_nvidia && self.sums.finish != Some(Finish::SecondKernel));
        if !chosen || work.sum != Sum::Exact {
            return Ok(None);
        }
        let most = if is_nvidia { self.device.compute_units as usize } else { 1 };
        let fits = |&group: &usize| group <= self.device.max_work_group_size && work.elements.div_ceil(group) <= most;
        let Some(group) = SIZES_AT_ONCE.into_iter().find(fits) else { return Ok(None) };
        let groups = work.elements.div_ceil(group).max(1);
        let mut build = self.sum_build(work.of, work.sum, Some(group))?;
        build.retirement = if is_nvidia { self.retirement(None)? } else { Some(ALONE) };
        build.at_once = true;
        Ok(build.retirement.is_some().then_some((build, group, groups)))
    }

    /// Whether a warp can add the integers of its work-items with one instruction, as on NVIDIA GPUs from compute capability 8.0 on.
    fn adds_in_warps(&self) -> bool {
        let capability = self.device.compute_capability();
        matches!(self.device.retirement, Retirement::NvidiaPtx) && capability.is_some_and(|capability| capability >= 80)
    }

    /// The local memory for `group` work-items whose sums are made in one launch: see `sum_at_once` in `cl/sum_in_launch.clh`.
    pub(crate) fn exchange_at_once(&self, group: usize) -> usize {
        let warps = group.div_ceil(if self.adds_in_warps() { NVIDIA_WARP } else { 1 });
        let of_launch = PARTS_AT_ONCE * size_of::<i64>() + size_of::<f64>();
        (of_launch + warps * PARTS_AT_ONCE * size_of::<i32>()).max(exchange_bytes(Sum::Exact, 1, group))
    }

    /// The operation by which groups retire, as `reduction.clh` numbers them; `None` if a second kernel finishes the sum.
    fn retirement(&self, bundle: Option<usize>) -> Result<Option<u32>, DeviceError> {
        match self.finish(bundle) {
            Finish::SecondKernel => Ok(None),
            Finish::RetirementCount => match &self.device.retirement {
                Retirement::OpenCl3 => Ok(Some(OPENCL_3)),
                Retirement::NvidiaPtx => Ok(Some(NVIDIA_PTX)),
                Retirement::Unsupported { reason } => {
                    Err(DeviceError::NoRetirement { device: self.device.with_driver(), reason: reason.clone() })
                }
            },
        }
    }

    /// What a file of sums is built for. `group`: the work-group size, if it is known.
    pub(crate) fn sum_build(&self, of: SumOf, sum: Sum, group: Option<usize>) -> Result<SumBuild, DeviceError> {
        Ok(SumBuild {
            words: (self.is_specialised() || of.constant_words).then_some(of.words),
            bundle: of.bundle.unwrap_or(self.bundle(self.form(sum), of.words)),
            fields: of.fields,
            // If the size is known to the build, a group may be larger. On a CPU one build serves all sizes.
            threads: match sum {
                Sum::Exact if self.is_cpu() => None,
                Sum::Exact => Some(group.unwrap_or(self.exact_group(None, 1))),
                Sum::Tree(plan) => Some(plan.threads()),
            },
            warp: match sum {
                Sum::Exact => None,
                Sum::Tree(plan) => Some(plan.warp()),
            },
            retirement: self.retirement(of.bundle)?,
            at_once: false,
            stored: None,
            extreme: of.extreme,
        })
    }

    /// The builds for a sum in the staged form: the kernel that packs, and the one that sums packed words, which are in the order of the
    /// host.
    pub(crate) fn staged_builds(
        &self,
        whole: &Reduction<'_>,
        (bundle, group): (usize, usize),
    ) -> Result<[SumBuild; 2], DeviceError> {
        let pack = self.sum_build(whole.of, whole.sum, Some(group))?.in_order_of_the_host(whole);
        let build = self.sum_build(SumOf { words: bundle, ..whole.of }, whole.sum, Some(group))?;
        Ok([pack, build])
    }

    pub(crate) fn options_of_sum(&self, work: &Reduction<'_>, build: &SumBuild) -> String {
        let links = match work.shape.reconstruct() {
            0 => String::new(),
            reals => format!(" -DLINK_REALS={reals}"),
        };
        let from = options_of_converted(work.shape);
        self.common_options(work.of.precision, work.of.nsimd, work.access) + &build.options() + &links + &from
    }

    /// The build options of the kernel that adds up the sums of groups. One build serves all precisions, lanes and words. It reads no
    /// field, but a compiler without f64 refuses even the types of fields in f64.
    pub(crate) fn options_of_finish(&self, build: &SumBuild) -> String {
        let precision = if self.device.fp64 { Precision::F64 } else { Precision::F32 };
        self.common_options(precision, 1, AccessWidth::Word) + &build.options_of_finish(self.is_cpu())
    }

    /// The work-group size of exact sums, if each work-item has `sums` of them.
    pub(crate) fn exact_group(&self, bundle: Option<usize>, sums: usize) -> usize {
        let most = self.device.max_work_group_size.min(self.device.max_work_item_sizes[0]).max(1);
        if let Some(group) = self.sums.group {
            return group.clamp(1, most);
        }
        let mut group = match (self.is_cpu(), bundle) {
            (true, _) => CPU_GROUP,
            (false, None) => GPU_GROUP,
            (false, Some(_)) => GPU_BUNDLE_GROUP,
        };
        let bytes = |group| exchange_bytes(Sum::Exact, sums, group);
        let fits = |group| group <= most && bytes(group) as u64 <= self.device.local_memory_bytes;
        // Below 32, several groups on a compute unit gain less than the smaller size loses.
        while group > 1 && (!fits(group) || (group > 32 && bytes(group) > LOCAL_BYTES)) {
            group /= 2;
        }
        group
    }
}

/// The local memory for `group` work-items that hold `sums` sums each: see `running_write` in `exact.clh` and `tree.clh`.
pub(crate) fn exchange_bytes(sum: Sum, sums: usize, group: usize) -> usize {
    let doubles = match sum {
        // Two doubles for each sum, for the upper half of the work-items.
        Sum::Exact => 2 * sums * (group.next_power_of_two() / 2).max(1),
        Sum::Tree(plan) => tree_chunk(plan.threads(), plan.warp()).min(sums) * (plan.threads() + plan.warps()),
    };
    doubles * size_of::<f64>()
}

/// The number of a tree's sums whose values are in local memory at a time.
fn tree_chunk(threads: usize, warp: usize) -> usize {
    let a_sum = (threads + threads / warp) * size_of::<f64>();
    (LOCAL_BYTES / a_sum).clamp(1, MOST_CHUNK)
}

/// The parameters with which a kernel that sums is built.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct SumBuild {
    words: Option<usize>,
    bundle: usize,
    fields: usize,
    /// The work-group size, if it is fixed.
    threads: Option<usize>,
    /// The number of threads that a tree sums by halving; `None` for an exact sum.
    warp: Option<usize>,
    retirement: Option<u32>,
    /// Whether all groups run at the same time, and wait for the sum.
    at_once: bool,
    /// For sums whose bits depend on their order.
    stored: Option<StoredOrder>,
    /// The extreme that is computed instead of a sum.
    extreme: Option<Extreme>,
}

impl SumBuild {
    /// As `self`, for elements in the order of the host, if the bits of `work` depend on their order.
    pub(crate) fn in_order_of_the_host(mut self, work: &Reduction<'_>) -> Self {
        if let Sum::Tree(_) = work.sum {
            self.stored = work.stored;
        }
        self
    }

    /// The build options of the kernel `finish` alone, for a CPU or a GPU.
    fn options_of_finish(&self, cpu: bool) -> String {
        let calls = if cpu { " -DCALL_SELDOM_USED" } else { "" };
        format!(" -DFINISH_ALONE{calls}{}", self.options_of_order())
    }

    /// The build options for the order of additions and the storage of a sum.
    fn options_of_order(&self) -> String {
        let mut options = format!(" -DEXACT_LIMBS={}", exact::LIMBS);
        if let Some(threads) = self.threads {
            options += &format!(" -DTHREADS={threads}");
        }
        if let (Some(threads), Some(warp)) = (self.threads, self.warp) {
            options += &format!(" -DTREE -DWARP={warp} -DCHUNK={}", tree_chunk(threads, warp));
        }
        options += match self.extreme {
            Some(Extreme::Greatest) => " -DGREATEST",
            Some(Extreme::Least) => " -DLEAST",
            None => "",
        };
        options
    }

    pub(crate) fn options(&self) -> String {
        let Self { words, bundle, fields, retirement, at_once, stored, .. } = self;
        let mut options = format!(" -DBUNDLE={bundle} -DFIELDS={fields}{}", self.options_of_order());
        if let Some(words) = words {
            options += &format!(" -DWORDS={words}");
        } else {
            // Short kernels: a CPU's compiler takes seconds for unrolled ones, and gains nothing.
            options += " -DCALL_SELDOM_USED -DWORDS_AHEAD=1 -DAHEAD=0";
        }
        if let Some(operation) = retirement {
            options += &format!(" -DRETIREMENT={operation}");
            if *operation == OPENCL_3 {
                options += " -cl-std=CL3.0";
            }
        }
        if *at_once {
            options += " -DGROUPS_AT_ONCE";
            if *retirement == Some(NVIDIA_PTX) {
                // The data for the next iteration of the operator are then still in the last cache.
                options += " -DSTREAMING_STORES";
            }
        }
        if let Some(StoredOrder { order, parts }) = stored {
            options += &format!("{} -DSUBDOMAIN_PARTS={parts}", block_options(order, "SUBDOMAIN"));
        }
        options
    }
}
