//! A backend on the local volume of a rank. Before a kernel that reads neighbours it exchanges halos with other ranks; sums are merged as
//! integers. Memory and kernels are those of the backend that it wraps.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lanefield_reference::exact::ExactSum;
use lanefield_reference::field::{FieldShape, Object};
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::reduce::MergeError;
use lanefield_reference::layout::{Reach, Stencil};
use lanefield_reference::prelude::*;

use super::packet_buffers::{ExchangeContext, PacketBuffers, RanksOptions};
use super::{Communicator, WholeLattice};
use crate::backend::ghosts::{self, Ghosts, Halo, HaloRoom, PacketForm};
use crate::backend::specification::{Call, Shape};
use crate::backend::timeline::{Group, span};
use crate::backend::{
    Anew, AnyField, BackendError, HostField, Launch, LaunchSequence, Memory, PartialSums, QueuedBounds,
    QueuedIterations, QueuedSums, Reduce, Step, Sum,
};

/// A backend on the local volume of this rank.
pub struct OnRanks<B> {
    backend: B,
    links: Arc<ExchangeContext>,
    /// The halos of the calls so far.
    halos: Mutex<HashMap<Shape, Arc<[Halo]>>>,
    rooms: Mutex<HashMap<RoomKey, Arc<Mutex<PacketBuffers>>>>,
}

/// The properties of a field read at neighbours that are the same on all ranks. All ranks create the buffers for it together.
type RoomKey = (&'static str, Sites, Object, Precision, PacketForm, Reach);

/// The maximum number of calls whose halos are kept.
const MOST_HALOS: usize = 256;
/// The maximum number of packet buffers that are kept.
const MOST_ROOMS: usize = 64;

impl<B: Ghosts> OnRanks<B> {
    /// Wraps the backend that computes this rank's local volume.
    pub fn new(backend: B, lattice: WholeLattice, options: RanksOptions) -> Self {
        let links = Arc::new(ExchangeContext { lattice, options, exchanges: AtomicU64::new(0) });
        Self { backend, links, halos: Mutex::default(), rooms: Mutex::default() }
    }

    /// Another backend of this rank on the same local volume. All ranks exchange in one order, whichever backends they use.
    pub(crate) fn beside<C: Ghosts>(&self, backend: C) -> OnRanks<C> {
        OnRanks { backend, links: self.links.clone(), halos: Mutex::default(), rooms: Mutex::default() }
    }

    /// The backend that computes this rank's local volume.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The backend, mutably.
    pub(crate) fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Returns the wrapped backend.
    pub(crate) fn into_backend(self) -> B {
        self.backend
    }

    /// The whole lattice and its division among the ranks.
    pub fn lattice(&self) -> &WholeLattice {
        &self.links.lattice
    }

    fn communicator(&self) -> &dyn Communicator {
        &**self.lattice().communicator()
    }

    /// The halos that a call needs; none if one rank has the whole lattice.
    fn halos(&self, shape: &Shape) -> Arc<[Halo]> {
        if !shape.lattice().extents().is_part() {
            return Arc::default();
        }
        let mut halos = lock(&self.halos);
        if let Some(known) = halos.get(shape) {
            return Arc::clone(known);
        }
        let made: Arc<[Halo]> = Halo::of(shape).into();
        if halos.len() >= MOST_HALOS {
            halos.clear();
        }
        halos.insert(shape.clone(), Arc::clone(&made));
        made
    }

    /// Creates [`PacketBuffers`] for a packet of the given size along each leg. All ranks must call it together.
    ///
    /// # Errors
    /// If memory cannot be allocated, or a rank does not answer.
    pub fn room(&self, bytes: &[(Leg, usize)]) -> Result<PacketBuffers, BackendError> {
        PacketBuffers::new(Arc::clone(&self.links), bytes)
    }

    /// The packet buffers for a halo, created once.
    fn room_of(&self, halo: &Halo) -> Result<Arc<Mutex<PacketBuffers>>, BackendError> {
        let FieldShape { sites, object, precision, .. } = halo.shape;
        let key = (halo.name, sites, object, precision, halo.form, halo.reach);
        let mut rooms = lock(&self.rooms);
        if let Some(known) = rooms.get(&key) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Mutex::new(self.room(&halo.packets()?)?));
        if rooms.len() >= MOST_ROOMS {
            rooms.clear();
        }
        rooms.insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// The halos of a call whose fields do not have valid ghosts: each field once, with the largest reach. They are the same on all ranks,
    /// which make the same calls.
    fn stale(halos: &[Halo], call: &Call<'_, Self>) -> Vec<Halo> {
        let mut stale: Vec<(Halo, &AnyField<B::Storage>)> = Vec::new();
        for halo in halos {
            let Some(field) = call.field(halo.name) else { continue };
            if halo.form == PacketForm::Whole && field.held_ghosts().is_some_and(|held| held >= halo.reach) {
                continue;
            }
            match stale.iter_mut().find(|(known, of)| std::ptr::eq(*of, field) && known.form == halo.form) {
                Some((known, _)) => known.reach = known.reach.max(halo.reach),
                None => stale.push((*halo, field)),
            }
        }
        stale.into_iter().map(|(halo, _)| halo).collect()
    }

    /// Runs a function with the halos of a call and their packet buffers.
    fn in_rooms<T>(
        &self,
        halos: &[Halo],
        work: impl FnOnce(&mut [HaloRoom<'_>]) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let rooms: Vec<_> = halos.iter().map(|halo| self.room_of(halo)).collect::<Result<_, _>>()?;
        let mut guards: Vec<_> = rooms.iter().map(|room| lock(room)).collect();
        let mut halos: Vec<HaloRoom<'_>> =
            halos.iter().zip(&mut guards).map(|(&halo, room)| HaloRoom { halo, room: &mut **room }).collect();
        work(&mut halos)
    }

    /// Merges the sums of all ranks. Slice sums become those of the whole lattice.
    fn merge(&self, shape: &Shape, sums: PartialSums) -> Result<PartialSums, BackendError> {
        let sums = match sums {
            PartialSums::Exact(sums) => sums,
            PartialSums::Extremes(extreme, here) => {
                let all = self.communicator().extremes(extreme, &here).map_err(BackendError::device)?;
                return Ok(PartialSums::Extremes(extreme, all));
            }
            _ => return Err(MergeError::Tree.into()),
        };
        let sums = if shape.kernel.sums_over_slices() { self.in_whole(shape, sums) } else { sums };
        let _span = span(Group::Ranks, || "merge sums");
        Ok(PartialSums::Exact(self.lattice().merge(&sums).map_err(BackendError::device)?))
    }

    /// Slice sums in their places among the slices of the whole lattice.
    fn in_whole(&self, shape: &Shape, sums: Vec<ExactSum>) -> Vec<ExactSum> {
        let (extents, d) = (shape.lattice().extents(), shape.direction.index());
        if !extents.is_cut(d) {
            return sums;
        }
        let of_slice = sums.len() / extents[d].max(1);
        let mut all = vec![ExactSum::new(); of_slice * extents.global()[d]];
        let first = extents.origin()[d] * of_slice;
        for (place, sum) in all[first..].iter_mut().zip(sums) {
            *place = sum;
        }
        all
    }
}

/// Locks a mutex whose data stays consistent if a holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<B: Ghosts> Memory for OnRanks<B> {
    type Storage = B::Storage;
    type Table = B::Table;

    fn describe(&self) -> String {
        match self.communicator().ranks() {
            1 => self.backend.describe(),
            _ => format!("{}, {}", self.backend.describe(), self.lattice().decomposition()),
        }
    }
    fn building(&self) -> Duration {
        self.backend.building()
    }
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        self.backend.lanes(asked_for)
    }
    fn largest(&self, here: f64) -> Result<f64, BackendError> {
        self.lattice().largest(here).map_err(BackendError::device)
    }
    fn allocate(&self, shape: &FieldShape) -> Result<B::Storage, BackendError> {
        self.backend.allocate(shape)
    }
    fn fill_zero(&self, field: &mut AnyField<B::Storage>) -> Result<(), BackendError> {
        field.forget_ghosts();
        self.backend.fill_zero(field)
    }
    fn store(&self, field: Cow<'_, HostField>) -> Result<B::Storage, BackendError> {
        self.backend.store(field)
    }
    fn load(&self, field: &AnyField<B::Storage>) -> Result<HostField, BackendError> {
        self.backend.load(field)
    }
    fn load_with_ghosts(&self, field: &AnyField<B::Storage>, reach: Reach) -> Result<HostField, BackendError> {
        let mut loaded = self.backend.load(field)?;
        let shape = *field.shape();
        if shape.lattice.extents().is_part() {
            let halo = Halo { name: "a field on the host", shape, form: PacketForm::Whole, reach };
            let faces = halo.faces()?;
            self.in_rooms(&[halo], |rooms| {
                let mut stages = halo.stages(faces.len()).into_iter();
                stages.try_for_each(|stage| ghosts::fill(&mut loaded, &faces, &mut rooms[0], &stage))
            })?;
        }
        Ok(loaded)
    }
    fn stencil(&self, stencil: Stencil) -> Result<B::Table, BackendError> {
        self.backend.stencil(stencil)
    }
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<B::Table, BackendError> {
        self.backend.matrix(matrix, precision)
    }
    fn finish(&self) -> Result<(), BackendError> {
        self.backend.finish()
    }
}

impl<B: Ghosts> Launch for OnRanks<B> {
    fn launch(&self, mut call: Call<'_, Self>) -> Result<(), BackendError> {
        call.forget_ghosts();
        let halos = self.halos(call.shape());
        match halos.is_empty() {
            true => self.backend.launch(call.on()),
            false => {
                let stale = Self::stale(&halos, &call);
                self.in_rooms(&stale, |halos| self.backend.launch_on_part(call.on(), halos))
            }
        }
    }

    /// On one rank, a sequence of its backend. On several ranks each launch runs separately, since it may have to wait for packets of
    /// others.
    fn sequence(&self, queues: usize) -> Box<dyn LaunchSequence<Self>> {
        match self.communicator().ranks() {
            1 => Box::new(OnOneRank(self.backend.sequence(queues))),
            _ => Box::new(Anew),
        }
    }
}

/// A sequence of the backend of a single rank.
struct OnOneRank<S: ?Sized>(Box<S>);

impl<B: Ghosts, S: LaunchSequence<B> + ?Sized> LaunchSequence<OnRanks<B>> for OnOneRank<S> {
    fn set(&mut self, scalar: usize, value: f64) {
        self.0.set(scalar, value);
    }
    fn set_field(
        &mut self,
        launch: usize,
        name: &'static str,
        field: &AnyField<B::Storage>,
    ) -> Result<(), BackendError> {
        self.0.set_field(launch, name, field)
    }
    fn repeat(&mut self, backend: &OnRanks<B>) -> Result<bool, BackendError> {
        self.0.repeat(&backend.backend)
    }
    fn launch(
        &mut self,
        backend: &OnRanks<B>,
        mut call: Call<'_, OnRanks<B>>,
        step: &Step,
    ) -> Result<(), BackendError> {
        call.forget_ghosts();
        self.0.launch(&backend.backend, call.on(), step)
    }
    fn end(&mut self, backend: &OnRanks<B>) -> Result<(), BackendError> {
        self.0.end(&backend.backend)
    }
}

impl<B: Ghosts> Reduce for OnRanks<B> {
    fn reduce(&self, mut call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        call.forget_ghosts();
        // A tree has one plan over the whole lattice.
        let is_extreme = call.kernel().extreme().is_some();
        if let (Sum::Tree(_), false, true) = (sum, is_extreme, self.communicator().ranks() > 1) {
            return Err(MergeError::Tree.into());
        }
        let halos = self.halos(call.shape());
        if halos.is_empty() && self.communicator().ranks() == 1 {
            return self.backend.reduce(call.on(), sum);
        }
        let shape = call.shape().clone();
        let sums = match halos.is_empty() {
            true => self.backend.reduce(call.on(), sum)?,
            false => {
                let stale = Self::stale(&halos, &call);
                self.in_rooms(&stale, |halos| self.backend.reduce_on_part(call.on(), sum, halos))?
            }
        };
        self.merge(&shape, sums)
    }

    /// Only on one rank: on several, the sums of one rank are not the scalars of the solve.
    fn queued_iterations(&self, sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>> {
        let queued = (self.communicator().ranks() == 1).then(|| self.backend.queued_iterations(sum));
        queued.flatten().map(|queued| Box::new(OnOneRank(queued)) as _)
    }
}

impl<B: Ghosts> QueuedIterations<OnRanks<B>> for OnOneRank<dyn QueuedIterations<B>> {
    fn begin(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<(), BackendError> {
        self.0.begin(bounds, iterations)
    }
    fn launch_at_once(&mut self, backend: &OnRanks<B>, mut call: Call<'_, OnRanks<B>>) -> Result<bool, BackendError> {
        call.forget_ghosts();
        self.0.launch_at_once(&backend.backend, call.on())
    }
    fn sums(&mut self, backend: &OnRanks<B>) -> Result<QueuedSums, BackendError> {
        self.0.sums(&backend.backend)
    }
}
