//! Sums on a device: how the kernels of `reduce.cl` (and those of `blas.cl` that end in a norm) are launched, in which form, and what the
//! host makes of what they leave. None of the choices here changes a bit of an exact sum, nor of a tree sum of a given plan.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::exact::{self, ExactSum};
use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{AcceleratorThreads, BlockOrder, Lattice, reduction_groups};

use super::context::lock;
use super::tuning::block_options;
use super::variant::{Choices, Variant};
use super::{AccessWidth, Arg, Buffer, Context, DeviceField, DeviceKind, Launch, OpenCl, Planner, Program, Retirement};
use crate::backend::BackendError;

/// How the words of large objects are summed. What is summed is the same in every form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SumForm {
    /// So many consecutive words at a time are loaded and reduced in place: one pass over memory.
    Fused(usize),
    /// So many words at a time are first packed into a buffer: three passes.
    Staged(usize),
    /// One work-item walks all words of a site, and keeps the bundle: registers do not hold it.
    SerialWords,
}

impl SumForm {
    /// What tree sums of words take where nobody chose: the fastest on an H200.
    pub const FASTEST_TREE: Self = Self::Fused(TREE_BUNDLE);
    /// What exact sums of words take where nobody chose.
    pub const FASTEST_EXACT: Self = Self::Fused(EXACT_BUNDLE);
}

impl fmt::Display for SumForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fused(words) => write!(f, "fused:{words}"),
            Self::Staged(words) => write!(f, "staged:{words}"),
            Self::SerialWords => f.write_str("serial-words"),
        }
    }
}

impl FromStr for SumForm {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let words = |text: &str| text.parse().ok().filter(|&words: &usize| (1..=MOST_BUNDLE).contains(&words));
        let form = match text.split_once(':') {
            Some(("fused", number)) => words(number).map(Self::Fused),
            Some(("staged", number)) => words(number).map(Self::Staged),
            _ if text == "serial-words" => Some(Self::SerialWords),
            _ => None,
        };
        form.ok_or_else(|| {
            format!("'{text}' is no form of a sum: use fused:R, staged:R (R words, 1 to {MOST_BUNDLE}) or serial-words")
        })
    }
}

/// How the sums of work-groups become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Finish {
    /// By a second kernel: on any device.
    SecondKernel,
    /// By the group that retires last, in the same launch, where the device's memory model lets it read what others wrote
    /// ([`Retirement`]).
    RetirementCount,
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SecondKernel => "second-kernel",
            Self::RetirementCount => "retirement-count",
        })
    }
}

impl FromStr for Finish {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::SecondKernel, Self::RetirementCount];
        let named = known.into_iter().find(|finish| finish.to_string() == text);
        named.ok_or_else(|| format!("'{text}' is no way to finish a sum: use second-kernel or retirement-count"))
    }
}

/// How a device takes sums. The default leaves every choice to the backend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SumOptions {
    /// How words are gone through.
    pub form: Option<SumForm>,
    /// How the sums of groups become one. Where nobody chose, by a second kernel; on GPUs by retirement count where one number is summed
    /// and the device's memory model allows it.
    pub finish: Option<Finish>,
    /// Work-items of a group of exact sums; a tree sum has those of its plan.
    pub group: Option<usize>,
    /// Groups of exact sums for each compute unit, at most.
    pub groups_per_unit: Option<usize>,
    /// Whether kernels are built for the number of words, with long loops unrolled: where nobody chose, on all devices but CPUs, whose
    /// compilers take seconds for each.
    pub specialised: Option<bool>,
    /// Words that one work-item of `pack` takes side by side, in the staged form.
    pub pack: AcceleratorThreads,
}

/// Most words of a bundle.
const MOST_BUNDLE: usize = 1024;
/// Words of a bundle where nobody chose: of exact sums, which keep four doubles for each, and of tree sums. The fastest on an H200.
const EXACT_BUNDLE: usize = 3;
const TREE_BUNDLE: usize = 2;
/// Work-items of a group of exact sums: enough for a GPU's multiprocessor to hide its latencies with a few groups.
const GPU_GROUP: usize = 256;
/// The same where each work-item holds the sums of a bundle.
const GPU_BUNDLE_GROUP: usize = 128;
const CPU_GROUP: usize = 64;
/// Groups of exact sums for each compute unit: enough to fill it, few to add up at the end.
const GROUPS_PER_UNIT: usize = 4;
/// The same where each work-item holds the sums of a bundle: rows share them.
const BUNDLE_GROUPS_PER_UNIT: usize = 16;
/// Local memory that a group may take, so that several groups fit a compute unit.
const LOCAL_BYTES: usize = 24 << 10;
/// Most sums of a tree in local memory at a time.
const MOST_CHUNK: usize = 24;
/// Most fields x of one pass of `inner_products`.
pub(super) const MOST_FIELDS: usize = 4;
/// 64-bit words of a spilled sum: limbs, three counts, and whether there is any.
const SPILL_WORDS: usize = exact::LIMBS + 4;
/// Doubles of a finished sum: high, low, spilled; or one.
const EXACT_RESULT: usize = 3;
const TREE_RESULT: usize = 1;

/// Device memory in which sums are made; kept, and made larger when needed. `retired` and `spills` are zero between sums.
pub(super) struct Workspace {
    partials: Buffer,
    result: Buffer,
    retired: Buffer,
    spills: Buffer,
}

impl Workspace {
    fn new(context: &Context, sizes: [usize; 4]) -> Result<Self, BackendError> {
        let [partials, result, retired, spills] = sizes;
        let workspace = Self {
            partials: context.allocate(partials, "sums of work-groups")?,
            result: context.allocate(result, "finished sums")?,
            retired: context.allocate(retired, "counts of retired work-groups")?,
            spills: context.allocate(spills, "spilled sums")?,
        };
        context.fill_zero(&workspace.retired)?;
        context.fill_zero(&workspace.spills)?;
        Ok(workspace)
    }

    fn sizes(&self) -> [usize; 4] {
        [&self.partials, &self.result, &self.retired, &self.spills].map(Buffer::bytes)
    }
}

/// A kernel that sums, and its launch.
pub(super) struct Reduction<'a> {
    pub file: &'static str,
    pub kernel: &'static str,
    /// Its own arguments, before those that all sums have.
    pub arguments: &'a [Arg<'a>],
    /// Elements that each sum has.
    pub elements: usize,
    /// Sums of one work-item: one launch row's.
    pub a_row: usize,
    /// Rows and planes of groups, each with sums of its own.
    pub rows: usize,
    pub planes: usize,
    /// Fields x of `inner_products`; else 1.
    pub fields: usize,
    /// Words of a bundle, where the kernel has bundles.
    pub bundle: Option<usize>,
    /// How the kernel finds a word of a site.
    pub access: AccessWidth,
    /// Where its elements lie, if not in the order in which they are summed.
    pub stored: Option<StoredOrder>,
    pub sum: Sum,
}

/// The order of outer sites in memory, and the parts of each that lie together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StoredOrder {
    order: BlockOrder,
    parts: usize,
}

impl OpenCl {
    /// How sums are taken.
    pub fn sum_options(&self) -> SumOptions {
        self.sums
    }

    /// Takes sums in another way. No bit of any result changes.
    pub fn set_sum_options(&mut self, options: SumOptions) {
        self.sums = options;
    }

    /// The order in which a field is stored, `parts` a site that are elements of their own; none where it is the host's.
    pub(super) fn stored_order<R: Vectors, K: SiteObject>(
        &self,
        field: &DeviceField<R, K>,
        parts: usize,
    ) -> Option<StoredOrder> {
        self.site_order.on(&field.lattice, field.sites).map(|order| StoredOrder { order, parts })
    }

    /// Work-items of a group, and groups of a row.
    fn shape(&self, work: &Reduction<'_>) -> Result<(usize, usize), BackendError> {
        let info = self.context.info();
        match work.sum {
            Sum::Tree(plan) => {
                let most = info.max_work_group_size.min(info.max_work_item_sizes[0]);
                match plan.threads() <= most {
                    true => Ok((plan.threads(), plan.blocks())),
                    false => Err(BackendError::PlanTooLarge { plan, device: info.name.clone(), most }),
                }
            }
            Sum::Exact => {
                let group = self.planner().exact_group(work.bundle, work.a_row);
                let usual = if work.bundle.is_some() { BUNDLE_GROUPS_PER_UNIT } else { GROUPS_PER_UNIT };
                let all = info.compute_units as usize * self.sums.groups_per_unit.unwrap_or(usual);
                let most = all.div_ceil(work.rows * work.planes);
                Ok((group, reduction_groups(work.elements, group, most)))
            }
        }
    }

    /// Runs a reduction whose rows all lie in one launch, and returns its sums in order: those of plane 0, row 0 first.
    pub(super) fn reduce<R: Vectors>(
        &self,
        lattice: &Lattice,
        words: usize,
        work: &Reduction<'_>,
    ) -> Result<Vec<f64>, BackendError> {
        let (group, groups) = self.shape(work)?;
        let built_for = (work.bundle, work.fields);
        let variant = Variant {
            access: work.access,
            ..self.planner().sum_variant::<R>(work.file, lattice.nsimd(), words, built_for, work.sum, Some(group))?
        };
        let variant = variant.in_order_of_the_host(work);
        let mut held = lock(&self.workspace);
        let workspace = self.workspace(&mut held, work, groups)?;
        let program = self.program(variant.clone())?;
        self.launch_sum(&program, work, workspace, (group, groups))?;
        self.finish_sums(work, workspace, (group, groups), &variant)
    }

    /// The sum of each word in the staged form: bundle by bundle, packed and summed. `work` is one bundle's.
    pub(super) fn reduce_staged<R: Vectors, K: SiteObject>(
        &self,
        field: &DeviceField<R, K>,
        bundle: usize,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        let (lattice, words, osites) = (&field.lattice, field.kind.words(), field.osites());
        let nsimd = lattice.nsimd();
        let rows = words.div_ceil(bundle);
        let packed = self.context.allocate(osites * bundle * lattice.width().bytes(), "packed words of a sum")?;
        let whole = Reduction {
            file: "reduce.cl",
            kernel: "sum",
            arguments: &[],
            elements: osites * nsimd,
            a_row: 2 * bundle,
            rows,
            planes: 1,
            fields: 1,
            bundle: Some(bundle),
            access: self.access_of_sites(field.kind),
            stored: self.stored_order(field, 1),
            sum,
        };
        let one_row = Reduction { rows: 1, ..whole };
        let (group, groups) = self.shape(&one_row)?;
        let built_for = (Some(bundle), 1);
        let access = whole.access;
        let of = |words| self.planner().sum_variant::<R>("reduce.cl", nsimd, words, built_for, sum, Some(group));
        // What is packed lies in the order of the host.
        let pack_variant = Variant { access, ..of(words)? }.in_order_of_the_host(&whole);
        let pack_program = self.program(pack_variant)?;
        let variant = Variant { access, ..of(bundle)? };
        let program = self.program(variant.clone())?;
        let mut held = lock(&self.workspace);
        let workspace = self.workspace(&mut held, &whole, groups)?;
        let threads = self.sums.pack.get();
        let local = [nsimd, threads, 1];
        let global = [nsimd, bundle.div_ceil(threads) * threads, osites];
        for row in 0..rows {
            let first_word = Arg::U32((row * bundle) as u32);
            let arguments = [Arg::Buffer(&packed), Arg::Buffer(&field.buffer), Arg::U32(words as u32), first_word];
            self.launch_of(&pack_program, "pack", Launch { global, local }, &arguments)?;
            // The last bundle may be short: what was packed before it there is summed too, and not looked at.
            let arguments = [
                Arg::Buffer(&packed),
                Arg::U32(osites as u32),
                Arg::U32(bundle as u32),
                Arg::U32(0),
                Arg::U32(row as u32),
            ];
            self.launch_sum(&program, &Reduction { arguments: &arguments, ..one_row }, workspace, (group, groups))?;
        }
        self.finish_sums(&whole, workspace, (group, groups), &variant)
    }

    fn workspace<'w>(
        &self,
        held: &'w mut Option<Workspace>,
        work: &Reduction<'_>,
        groups: usize,
    ) -> Result<&'w Workspace, BackendError> {
        let sums = work.a_row * work.rows * work.planes;
        let wanted = [
            2 * size_of::<f64>() * sums * groups,
            EXACT_RESULT * size_of::<f64>() * sums,
            size_of::<u32>() * work.rows * work.planes,
            match work.sum {
                Sum::Exact => SPILL_WORDS * size_of::<u64>() * sums,
                Sum::Tree(_) => 0,
            },
        ];
        let sizes = held.as_ref().map_or([0; 4], Workspace::sizes);
        if sizes.iter().zip(wanted).any(|(&has, wants)| has < wants) {
            // What there was goes first, so that both need not fit.
            *held = None;
        }
        match held {
            Some(workspace) => Ok(workspace),
            none => Ok(none.insert(Workspace::new(&self.context, std::array::from_fn(|k| sizes[k].max(wanted[k])))?)),
        }
    }

    fn launch_sum(
        &self,
        program: &Program,
        work: &Reduction<'_>,
        workspace: &Workspace,
        (group, groups): (usize, usize),
    ) -> Result<(), BackendError> {
        let launch = Launch { global: [group * work.rows, groups, work.planes], local: [group, 1, 1] };
        let arguments =
            [work.arguments, &sum_arguments(workspace, exchange_bytes(work.sum, work.a_row, group))].concat();
        self.launch_of(program, work.kernel, launch, &arguments)
    }

    /// Adds up the groups' sums where that is still to be done, reads the results, and rounds.
    fn finish_sums(
        &self,
        work: &Reduction<'_>,
        workspace: &Workspace,
        (group, groups): (usize, usize),
        variant: &Variant,
    ) -> Result<Vec<f64>, BackendError> {
        let sums = work.a_row * work.rows * work.planes;
        if self.planner().finish(work.bundle) == Finish::SecondKernel {
            // Every variant of reduce.cl has the kernel.
            let mut variant = Variant { file: "reduce.cl", ..variant.clone() };
            // What finishes knows no words; the rest of the file would take a CPU's compiler long if it did.
            if let Choices::Sum(choices) = &mut variant.choices {
                choices.stored = None;
                if self.planner().is_cpu() && variant.precision != 16 {
                    (choices.words, variant.access) = (None, AccessWidth::Word);
                }
            }
            let program = self.program(variant)?;
            let launch = Launch { global: [group * sums, 1, 1], local: [group, 1, 1] };
            let arguments =
                [&[Arg::U32(groups as u32)][..], &sum_arguments(workspace, exchange_bytes(work.sum, 1, group))]
                    .concat();
            self.launch_of(&program, "finish", launch, &arguments)?;
        }
        match work.sum {
            Sum::Tree(_) => {
                let mut results = vec![0.0; TREE_RESULT * sums];
                self.context.read(&workspace.result, 0, bytemuck::cast_slice_mut(&mut results))?;
                Ok(results)
            }
            Sum::Exact => self.rounded(workspace, sums, work.elements as u64),
        }
    }

    /// Exact sums of `terms` terms each, rounded.
    fn rounded(&self, workspace: &Workspace, sums: usize, terms: u64) -> Result<Vec<f64>, BackendError> {
        let mut results = vec![[0.0; EXACT_RESULT]; sums];
        self.context.read(&workspace.result, 0, bytemuck::cast_slice_mut(results.as_flattened_mut()))?;
        let mut rounded = Vec::with_capacity(sums);
        for (number, [high, low, spilled]) in results.into_iter().enumerate() {
            let mut sum = match spilled != 0.0 {
                true => self.take_spilled(workspace, number, terms)?,
                false => ExactSum::new(),
            };
            sum.add_pair(high, low, if spilled != 0.0 { 0 } else { terms });
            rounded.push(sum.round());
        }
        Ok(rounded)
    }

    /// The spilled part of a sum; on the device it is cleared.
    fn take_spilled(&self, workspace: &Workspace, number: usize, terms: u64) -> Result<ExactSum, BackendError> {
        let mut words = [0i64; SPILL_WORDS];
        let offset = number * size_of_val(&words);
        self.context.read(&workspace.spills, offset, bytemuck::bytes_of_mut(&mut words))?;
        self.context.write(&workspace.spills, offset, &[0; SPILL_WORDS * size_of::<i64>()])?;
        let (limbs, counts) = words.split_at(exact::LIMBS);
        ExactSum::from_limbs(limbs, [counts[0], counts[1], counts[2], 1, terms as i64]).map_err(|error| {
            BackendError::DamagedSum { device: self.context.info().name.clone(), reason: error.to_string() }
        })
    }
}

impl Planner<'_> {
    fn is_cpu(&self) -> bool {
        self.device.kind == DeviceKind::Cpu
    }

    /// Whether kernels are built for the words of an object: wide accesses take several of them, and must know which.
    fn is_specialised(&self) -> bool {
        self.access != AccessWidth::Word || self.sums.specialised.unwrap_or(!self.is_cpu())
    }

    pub fn form(&self, sum: Sum) -> SumForm {
        self.sums.form.unwrap_or(match sum {
            Sum::Exact => SumForm::FASTEST_EXACT,
            Sum::Tree(_) => SumForm::FASTEST_TREE,
        })
    }

    /// Words of a bundle of objects of `words`. They may be more where one build serves all objects.
    pub fn bundle(&self, form: SumForm, words: usize) -> usize {
        match form {
            SumForm::Fused(bundle) | SumForm::Staged(bundle) if !self.is_specialised() => bundle,
            SumForm::Fused(bundle) | SumForm::Staged(bundle) => bundle.min(words),
            SumForm::SerialWords => words,
        }
    }

    /// How the sums of groups become one, where each has `bundle` words or one number. Where nobody chose, a second kernel; but on a GPU the
    /// retirement count where there is one number, and its launch would cost more than that.
    fn finish(&self, bundle: Option<usize>) -> Finish {
        let retires = !matches!(self.device.retirement, Retirement::Unsupported { .. });
        let usual = match retires && bundle.is_none() && !self.is_cpu() {
            true => Finish::RetirementCount,
            false => Finish::SecondKernel,
        };
        self.sums.finish.unwrap_or(usual)
    }

    /// The operation by which groups retire, as `reduction.clh` numbers them; `None` where a second kernel finishes.
    fn retirement(&self, bundle: Option<usize>) -> Result<Option<u32>, BackendError> {
        match self.finish(bundle) {
            Finish::SecondKernel => Ok(None),
            Finish::RetirementCount => match &self.device.retirement {
                Retirement::OpenCl3 => Ok(Some(3)),
                Retirement::NvidiaPtx => Ok(Some(2)),
                Retirement::Unsupported { reason } => {
                    Err(BackendError::NoRetirement { device: self.device.name.clone(), reason: reason.clone() })
                }
            },
        }
    }

    /// `of`: words of a bundle, where the kernel has bundles, and fields of `inner_products`, else 1.
    pub fn sum_variant<R: Vectors>(
        &self,
        file: &'static str,
        nsimd: usize,
        words: usize,
        of: (Option<usize>, usize),
        sum: Sum,
        group: Option<usize>,
    ) -> Result<Variant, BackendError> {
        let (bundle, fields) = of;
        let retirement = self.retirement(bundle)?;
        let bundle = bundle.unwrap_or(self.bundle(self.form(sum), words));
        let choices = SumChoices {
            // 16-bit storage rounds a part as a whole; operations on columns, too, know its words.
            words: (self.is_specialised() || R::BITS == 16 || file == "columns.cl").then_some(words),
            bundle,
            fields,
            // Known when it is built, a group may be larger. One build serves all groups on a CPU.
            threads: match sum {
                Sum::Exact if self.is_cpu() => None,
                Sum::Exact => Some(group.unwrap_or(self.exact_group(None, 1))),
                Sum::Tree(plan) => Some(plan.threads()),
            },
            warp: match sum {
                Sum::Exact => None,
                Sum::Tree(plan) => Some(plan.warp()),
            },
            retirement,
            stored: None,
        };
        Ok(self.variant::<R>(file, nsimd, Choices::Sum(choices)))
    }

    /// Work-items of a group of exact sums, `sums` for each of them.
    pub fn exact_group(&self, bundle: Option<usize>, sums: usize) -> usize {
        let most = self.device.max_work_group_size;
        if let Some(group) = self.sums.group {
            return group.clamp(1, most);
        }
        let mut group = match (self.is_cpu(), bundle) {
            (true, _) => CPU_GROUP,
            (false, None) => GPU_GROUP,
            (false, Some(_)) => GPU_BUNDLE_GROUP,
        };
        while group > 32 && (group > most || exchange_bytes(Sum::Exact, sums, group) > LOCAL_BYTES) {
            group /= 2;
        }
        group
    }
}

/// Local memory of a group of `group` work-items that hold `sums` sums each: see `running_write` in `exact.clh` and `tree.clh`.
pub(super) fn exchange_bytes(sum: Sum, sums: usize, group: usize) -> usize {
    let doubles = match sum {
        // Two doubles a sum, for the upper half of the work-items.
        Sum::Exact => 2 * sums * (group.next_power_of_two() / 2).max(1),
        Sum::Tree(plan) => tree_chunk(plan.threads(), plan.warp()).min(sums) * (plan.threads() + plan.warps()),
    };
    doubles * size_of::<f64>()
}

/// Sums of a tree whose values lie in local memory at a time.
fn tree_chunk(threads: usize, warp: usize) -> usize {
    let a_sum = (threads + threads / warp) * size_of::<f64>();
    (LOCAL_BYTES / a_sum).clamp(1, MOST_CHUNK)
}

fn sum_arguments(workspace: &Workspace, exchange: usize) -> [Arg<'_>; 5] {
    let Workspace { partials, result, retired, spills } = workspace;
    let [partials, result, retired, spills] = [partials, result, retired, spills].map(Arg::Buffer);
    [partials, result, retired, spills, Arg::Local(exchange)]
}

/// What is chosen when a kernel that sums is built.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SumChoices {
    words: Option<usize>,
    bundle: usize,
    fields: usize,
    /// Work-items of a group, where they are fixed.
    threads: Option<usize>,
    /// Threads that a tree sums in halves; none where the sum is exact.
    warp: Option<usize>,
    retirement: Option<u32>,
    /// Of sums whose bits depend on their order.
    stored: Option<StoredOrder>,
}

impl SumChoices {
    pub(super) fn options(&self) -> String {
        let Self { words, bundle, fields, threads, warp, retirement, stored } = self;
        let mut options = format!(" -DBUNDLE={bundle} -DFIELDS={fields} -DEXACT_LIMBS={}", exact::LIMBS);
        if let Some(words) = words {
            options += &format!(" -DWORDS={words}");
        } else {
            // Short kernels: a CPU's compiler takes seconds for unrolled ones, and gains nothing.
            options += " -DCALL_SELDOM_USED -DWORDS_AHEAD=1 -DAHEAD=0";
        }
        if let Some(threads) = threads {
            options += &format!(" -DTHREADS={threads}");
        }
        if let (Some(threads), Some(warp)) = (threads, warp) {
            options += &format!(" -DTREE -DWARP={warp} -DCHUNK={}", tree_chunk(*threads, *warp));
        }
        if let Some(operation) = retirement {
            options += &format!(" -DRETIREMENT={operation}");
            if *operation == 3 {
                options += " -cl-std=CL3.0";
            }
        }
        if let Some(StoredOrder { order, parts }) = stored {
            options += &format!("{} -DSUBDOMAIN_PARTS={parts}", block_options(order, "SUBDOMAIN"));
        }
        options
    }
}

impl Variant {
    /// The same for elements that are taken in the order of the host, if the bits of `work` depend on it.
    fn in_order_of_the_host(mut self, work: &Reduction<'_>) -> Self {
        if let (Choices::Sum(choices), Sum::Tree(_)) = (&mut self.choices, work.sum) {
            choices.stored = work.stored;
        }
        self
    }
}
