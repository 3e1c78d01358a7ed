//! Launches kernels: packs the arguments of a call by role, in the order of the specification. The plan of a call is kept for similar
//! calls.

use std::ops::Range;
use std::sync::Arc;

use lanefield_reference::field::FieldShape;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{LaunchGeometry, Slices, Stencil};
use lanefield_reference::real::{Precision, Real as _};

use super::backend::{OpenCl, Prepared, TableKey};
use super::device::{DeviceError, DeviceInfo, RawEvent, lock};
use super::memory::Buffer;
use super::queue::{Arg, Launch, Place};
use super::sequence::Sequence;
use super::storage::{DeviceTable, Tables};
use super::tuning::{Layout, LocalMemory, Planner};
use crate::backend::specification::{ArgumentValue, Call, ComputedTable, KernelArgument, Shape, TableRows};
use crate::backend::timeline::announce;
use crate::backend::{self, BackendError, LaunchSequence};

/// The maximum number of tables that are kept. When it is reached, all are discarded.
const MOST_TABLES: usize = 64;
/// The maximum number of calls whose plans are kept.
const MOST_PREPARED: usize = 1024;

/// An argument, or an object that keeps one alive.
enum Packed<'a> {
    Plain(Arg<'a>),
    /// A field or a scalar, by its name in the specification.
    Named(&'static str, Arg<'a>),
    Shared(Arc<Buffer>),
    /// A small buffer. Its memory may be reused immediately: since the queue is in order, the next writer waits for the kernel that reads
    /// it.
    Small(Buffer),
}

/// The arguments of a launch, and the buffers that were created for it.
pub(crate) struct PackedArguments<'a> {
    packed: Vec<Packed<'a>>,
    /// The position of two arguments: the first component of a launch, and the number of components.
    launched_parts: Option<usize>,
    /// The position of the number of outer sites.
    osites: Option<usize>,
}

impl PackedArguments<'_> {
    /// The buffers that belong neither to the call's fields nor to its tables.
    pub(crate) fn buffers(self) -> Vec<Arc<Buffer>> {
        let buffer = |packed| match packed {
            Packed::Plain(_) | Packed::Named(..) => None,
            Packed::Shared(buffer) => Some(buffer),
            Packed::Small(buffer) => Some(Arc::new(buffer)),
        };
        self.packed.into_iter().filter_map(buffer).collect()
    }

    /// Fields and scalars by their names, with their positions.
    pub(crate) fn named(&self) -> Vec<(&'static str, usize)> {
        let numbered = self.packed.iter().enumerate();
        let named = numbered.filter_map(|(place, packed)| match packed {
            Packed::Named(name, _) => Some((*name, place)),
            _ => None,
        });
        named.collect()
    }

    /// The arguments in the order of the specification.
    pub(crate) fn arguments(&self) -> Vec<Arg<'_>> {
        let arguments = self.packed.iter().map(|packed| match packed {
            Packed::Plain(argument) | Packed::Named(_, argument) => *argument,
            Packed::Shared(buffer) => Arg::Buffer(buffer),
            Packed::Small(buffer) => Arg::Buffer(buffer),
        });
        arguments.collect()
    }
}

fn count<'a>(number: usize) -> Packed<'a> {
    Packed::Plain(Arg::U32(number as u32))
}

/// A scalar in the precision of the fields' arithmetic.
fn scalar<'a>(precision: Precision, value: f64) -> Arg<'a> {
    match precision {
        Precision::F64 => Arg::F64(value),
        _ => Arg::F32(value as f32),
    }
}

impl backend::Launch for OpenCl {
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        self.context.check_process()?;
        call.check_launched()?;
        self.takes(call.shape())?;
        self.launch_call(&call, self.context.own_place()).map(drop)
    }

    fn sequence(&self, queues: usize) -> Box<dyn LaunchSequence<Self>> {
        Box::new(Sequence::new(queues))
    }
}

impl OpenCl {
    /// The common layout of the fields of a call.
    pub(crate) fn layout_of(&self, call: &Call<'_, Self>) -> Result<Layout, BackendError> {
        let fields = call.values().iter().flat_map(|(name, value)| {
            let fields: Vec<_> = match value {
                ArgumentValue::Read(field) => vec![field.storage().layout],
                ArgumentValue::Write(field) => vec![field.storage().layout],
                ArgumentValue::Reads(fields) => fields.iter().map(|field| field.storage().layout).collect(),
                _ => Vec::new(),
            };
            fields.into_iter().map(move |layout| (*name, layout))
        });
        let stencil = call.stencil().and_then(|table| match &table.0 {
            // A stencil's table depends on the site order, not on the access width.
            Tables::Stencil { layout, .. } => Some(*layout),
            Tables::Matrix { .. } => None,
        });
        let mut common = None;
        for (name, layout) in fields {
            match common {
                None => common = Some((name, layout)),
                Some((first, other)) if other != layout => {
                    return Err(DeviceError::Layouts { kernel: call.kernel().name, first, other: name }.into());
                }
                Some(_) => {}
            }
        }
        let Some((first, layout)) = common else { return Ok(self.layout()) };
        match stencil {
            Some(stencil) if stencil.site_order != layout.site_order => {
                Err(DeviceError::Layouts { kernel: call.kernel().name, first, other: "stencil" }.into())
            }
            _ => Ok(layout),
        }
    }

    /// Builds and plans a call, or reuses the plan of a similar one.
    fn prepare(&self, shape: &Shape, layout: Layout) -> Result<Prepared, BackendError> {
        let key = (shape.clone(), layout);
        if let Some(prepared) = lock(&self.prepared).get(&key) {
            return Ok(prepared.clone());
        }
        let info = self.context.info();
        let planner = self.planner(layout);
        let mut plan = planner.plan(shape)?;
        let mut program = self.program(&plan.source, &plan.options)?;
        // A kernel may support only smaller groups than the device, because of its registers for example.
        let most = program.kernel_info(shape.kernel.name)?.max_work_group_size;
        if most < plan.geometry.group_size() {
            let device = DeviceInfo { max_work_group_size: most, ..info.clone() };
            plan = Planner { device: &device, ..planner }.plan(shape)?;
            program = self.program(&plan.source, &plan.options)?;
        }
        let plan = Arc::new(plan);
        let launched = plan.launched(info, program.log(), shape.kernel.name);
        let prepared = Prepared { program, plan, launched };
        let mut all = lock(&self.prepared);
        if all.len() >= MOST_PREPARED {
            all.clear();
        }
        all.insert(key, prepared.clone());
        Ok(prepared)
    }

    /// Launches a kernel without sums. Returns its last event and its arguments, whose buffers must not be reused before it is done.
    pub(crate) fn launch_call<'a>(
        &'a self,
        call: &'a Call<'_, Self>,
        place: Place<'_>,
    ) -> Result<(Option<RawEvent>, PackedArguments<'a>), BackendError> {
        self.launch_range(call, place, None)
    }

    /// As [`Self::launch_call`], for a stencil on some of the outer sites, given by their places in memory.
    pub(crate) fn launch_range<'a>(
        &'a self,
        call: &'a Call<'_, Self>,
        mut place: Place<'_>,
        range: Option<Range<usize>>,
    ) -> Result<(Option<RawEvent>, PackedArguments<'a>), BackendError> {
        let (shape, layout) = (call.shape(), self.layout_of(call)?);
        let Prepared { program, plan, launched } = self.prepare(shape, layout)?;
        let LaunchGeometry { mut global, local } = launched;
        let mut packed = self.pack(call, layout, Some(plan.local))?;
        if let Some(Range { start, end }) = range {
            let dimension = plan.site_dimension;
            place.offset[dimension] = start;
            global[dimension] = global[dimension].min((end - start).next_multiple_of(local[dimension]));
            if let Some(number) = packed.osites {
                packed.packed[number] = count(end);
            }
        }
        let (parts, mut event) = (shape.parts(), None);
        for first in (0..parts.max(1)).step_by(plan.parts_per_launch.max(1)) {
            if let Some(place) = packed.launched_parts {
                packed.packed[place] = count(first);
                packed.packed[place + 1] = count(plan.parts_per_launch);
            }
            self.announce_parts(shape, plan.parts_per_launch);
            let what = (&*program, shape.kernel.name);
            event = self.launch_at(place, what, Launch { global, local }, &packed.arguments())?;
        }
        Ok((event, packed))
    }

    /// Describes the next launch for a timeline.
    pub(crate) fn announce(&self, shape: &Shape) {
        if self.context.is_recorded() {
            announce(shape.work());
        }
    }

    /// As [`Self::announce`], for a launch of some of the components.
    fn announce_parts(&self, shape: &Shape, parts: usize) {
        if !self.context.is_recorded() || parts == shape.parts() {
            return self.announce(shape);
        }
        let mut part = shape.clone();
        let objects = part.fields.iter_mut().map(|field| &mut field.shape.object).chain([&mut part.target.object]);
        for object in objects {
            *object = object.with_parts(parts).unwrap_or(*object);
        }
        self.announce(&part);
    }

    /// The arguments of a call, by role. `local`: the local memory of the kernel; `None` for a kernel that sums.
    pub(crate) fn pack<'a>(
        &'a self,
        call: &'a Call<'_, Self>,
        layout: Layout,
        local: Option<LocalMemory>,
    ) -> Result<PackedArguments<'a>, BackendError> {
        let (kernel, shape) = (call.kernel(), call.shape());
        let (target, precision) = (&shape.target, shape.precision());
        let local = local.unwrap_or_default();
        let local_memory = |bytes: Option<usize>| bytes.map(|bytes| Packed::Plain(Arg::Local(bytes)));
        let wrong = |argument: &KernelArgument| {
            BackendError::from(DeviceError::Role { kernel: kernel.name, role: format!("{argument:?}") })
        };
        let mut packed = Vec::with_capacity(kernel.arguments.len() + 4);
        let (mut launched_parts, mut osites) = (None, None);
        for argument in kernel.arguments {
            match *argument {
                KernelArgument::Field(role) => {
                    packed.push(Packed::Named(role.name, buffer(call, role.name).ok_or(wrong(argument))?))
                }
                KernelArgument::Fields(name, most) => {
                    let Some(ArgumentValue::Reads(fields)) = call.value(name) else { return Err(wrong(argument)) };
                    // Arguments beyond the existing fields must be valid, but are not read.
                    for k in 0..most {
                        let field = fields.get(k).or(fields.first()).ok_or(wrong(argument))?;
                        packed.push(Packed::Plain(Arg::Buffer(&field.storage().buffer)));
                    }
                }
                KernelArgument::Stencil => match call.stencil() {
                    Some(DeviceTable(Tables::Stencil { neighbours, lane_steps, .. })) => {
                        packed.extend([neighbours, lane_steps].map(|table| Packed::Plain(Arg::Buffer(table))));
                    }
                    _ => return Err(wrong(argument)),
                },
                KernelArgument::OfNeighbours => packed.push(Packed::Shared(self.of_neighbours(target, layout)?)),
                KernelArgument::Matrix(_) => match call.matrix() {
                    Some(DeviceTable(Tables::Matrix { coefficients, .. })) => {
                        packed.push(Packed::Plain(Arg::Buffer(coefficients)));
                    }
                    _ => return Err(wrong(argument)),
                },
                KernelArgument::Computed(table) => packed.push(Packed::Shared(self.computed(table, target, layout)?)),
                KernelArgument::Scalar(name) => packed.push(Packed::Named(name, scalar(precision, call.scalar(name)))),
                KernelArgument::Double(name) => packed.push(Packed::Named(name, Arg::F64(call.scalar(name)))),
                KernelArgument::Complex(name) => {
                    let value = call.complex(name);
                    packed.extend([value.re, value.im].map(|value| Packed::Plain(scalar(precision, value))));
                }
                KernelArgument::Scalars(names) => {
                    let scalars: Vec<f64> = names.iter().flat_map(|name| call.scalars(name)).copied().collect();
                    packed.push(self.scalars("scalars of right-hand sides", precision, &scalars)?);
                }
                KernelArgument::Coefficients { name, .. } => {
                    packed.push(self.scalars("coefficients of right-hand sides", precision, call.scalars(name))?);
                }
                KernelArgument::Indices { name, .. } => {
                    let numbers: Vec<u32> = call.indices(name).iter().map(|&number| number as u32).collect();
                    let bytes = bytemuck::cast_slice(&numbers);
                    packed.push(Packed::Small(self.small("numbers of right-hand sides", bytes)?));
                }
                KernelArgument::Slices => {
                    let slices = Slices::new(&target.lattice, target.sites, shape.direction)?;
                    for tables in self.slice_tables(&slices, shape, layout)? {
                        packed.push(Packed::Shared(tables));
                    }
                    packed.extend([slices.osites_a_class(), slices.lanes_a_group(), slices.classes()].map(count));
                }
                KernelArgument::Osites => {
                    osites = Some(packed.len());
                    packed.push(count(target.osites()));
                }
                KernelArgument::Elements => packed.push(count(target.osites() * shape.parts())),
                KernelArgument::PartWords => packed.push(count(target.object.part_words())),
                KernelArgument::Words => packed.push(count(target.object.words())),
                KernelArgument::Parts => packed.push(count(shape.parts())),
                KernelArgument::PartsOf(name) => {
                    packed.push(count(shape.field(name).map_or(0, |field| field.object.parts())));
                }
                KernelArgument::RhsParts => packed.push(count(shape.rhs_parts)),
                KernelArgument::LaunchedParts => {
                    launched_parts = Some(packed.len());
                    packed.extend([count(0), count(shape.parts())]);
                }
                KernelArgument::Fermions(times) => {
                    let ls = shape.matrix.map_or(1, |matrix| matrix.ls);
                    packed.push(count(times as usize * shape.parts() / ls));
                }
                KernelArgument::Ls => packed.push(count(shape.matrix.map_or(0, |matrix| matrix.ls))),
                KernelArgument::Dagger => {
                    let dagger = shape.matrix.is_some_and(|matrix| matrix.dagger == Dagger::Yes);
                    packed.push(count(usize::from(dagger)));
                }
                KernelArgument::Boundary => {
                    let masks = shape.links().map_or(0, |links| links.boundary.kernel_masks());
                    packed.push(Packed::Plain(Arg::U32(masks)));
                }
                KernelArgument::Constant(number) => packed.push(Packed::Plain(Arg::U32(number))),
                KernelArgument::Stage => packed.extend(local_memory(local.stage)),
                KernelArgument::SharedLinks => packed.extend(local_memory(local.shared_links)),
                KernelArgument::Accumulators => packed.extend(local_memory(local.accumulators)),
            }
        }
        Ok(PackedArguments { packed, launched_parts, osites })
    }

    /// A table that the lattice determines, created once.
    fn computed(&self, table: ComputedTable, target: &FieldShape, layout: Layout) -> Result<Arc<Buffer>, BackendError> {
        let FieldShape { lattice, sites, .. } = *target;
        self.kept((table.name, target, layout, 0), || {
            let entries = (table.make)(&lattice, sites)?;
            let order = layout.site_order;
            let entries = match table.rows {
                TableRows::Lanes => entries,
                TableRows::Osites => order.rearranged(&lattice, sites, entries),
                TableRows::OsitesOfAllSites => {
                    let all = lanefield_reference::layout::Sites::Full;
                    order.rearranged(&lattice, sites, order.renumbered(&lattice, all, entries))
                }
            };
            self.upload_table(&entries, table.name)
        })
    }

    /// The neighbours of the neighbouring sites.
    fn of_neighbours(&self, target: &FieldShape, layout: Layout) -> Result<Arc<Buffer>, BackendError> {
        self.kept(("neighbours of neighbours", target, layout, 0), || {
            let stencil = Stencil::new(target.lattice, target.sites.neighbours())?;
            self.upload_table(&layout.site_order.neighbours(&stencil), "table of neighbours of neighbours")
        })
    }

    /// The outer sites and lanes of slices. The sums have the same order as on the host.
    fn slice_tables(&self, slices: &Slices, shape: &Shape, layout: Layout) -> Result<[Arc<Buffer>; 2], BackendError> {
        let (target, direction) = (&shape.target, shape.direction.index());
        let osites = self.kept(("outer sites of slices", target, layout, direction), || {
            let osites = slices.osites().to_vec();
            let osites = layout.site_order.renumbered(&target.lattice, target.sites, osites);
            self.upload_table(&osites, "table of outer sites of slices")
        })?;
        let lanes = self.kept(("lanes of slices", target, layout, direction), || {
            self.upload_table(slices.lanes(), "table of lanes of slices")
        })?;
        Ok([osites, lanes])
    }

    /// A table, created once for a kind of field.
    fn kept(
        &self,
        (name, target, layout, direction): (&'static str, &FieldShape, Layout, usize),
        make: impl FnOnce() -> Result<Buffer, BackendError>,
    ) -> Result<Arc<Buffer>, BackendError> {
        let key = TableKey { name, target: *target, layout, direction };
        if let Some(table) = lock(&self.tables).get(&key) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(make()?);
        let mut tables = lock(&self.tables);
        if tables.len() >= MOST_TABLES {
            tables.clear();
        }
        tables.insert(key, Arc::clone(&table));
        Ok(table)
    }

    /// A small buffer of scalars, each in the precision of the fields' arithmetic.
    fn scalars<'a>(
        &self,
        what: &'static str,
        precision: Precision,
        scalars: &[f64],
    ) -> Result<Packed<'a>, BackendError> {
        let bytes: Vec<u8> = match precision {
            Precision::F64 => bytemuck::cast_slice(scalars).to_vec(),
            _ => scalars.iter().flat_map(|&a| f32::from_f64(a).to_ne_bytes()).collect(),
        };
        Ok(Packed::Small(self.small(what, &bytes)?))
    }

    fn small(&self, what: &'static str, bytes: &[u8]) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate_anywhere(bytes.len(), what)?;
        self.context.write(&buffer, 0, bytes)?;
        Ok(buffer)
    }
}

fn buffer<'a>(call: &'a Call<'_, OpenCl>, name: &str) -> Option<Arg<'a>> {
    call.field(name).map(|field| Arg::Buffer(&field.storage().buffer))
}
