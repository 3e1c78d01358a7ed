//! A backend on the part of a rank: before a kernel that reads neighbours it sends what other ranks read, and takes what they send; sums are merged as
//! integers. It has the memory of the backend that it wraps, and its kernels.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lanefield_reference::exact::ExactSum;
use lanefield_reference::field::FieldShape;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::reduce::MergeError;
use lanefield_reference::layout::{LaneChoice, Leg, Stencil};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;

use super::crc::crc32;
use super::{CommError, Communicator, Receive, Send, WholeLattice};
use crate::backend::ghosts::{Ghosts, Halo, Incoming, Outgoing};
use crate::backend::specification::{Call, Shape};
use crate::backend::timeline::{Group, span};
use crate::backend::{AnyField, BackendError, HostField, InTurn, Launch, Memory, PartialSums, Reduce, SideBySide, Sum};

/// How ranks work together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RanksOptions {
    /// Sends a checksum with each packet, and looks at it.
    pub check_packets: bool,
}

/// A backend on the part of a lattice that this rank holds.
pub struct OnRanks<B> {
    backend: B,
    lattice: WholeLattice,
    options: RanksOptions,
    /// The halos of the calls so far.
    halos: Mutex<HashMap<Shape, Arc<[Halo]>>>,
    exchanges: AtomicU64,
}

/// Calls whose halos are kept at most.
const MOST_HALOS: usize = 256;

impl<B: Ghosts> OnRanks<B> {
    /// A backend on the part of this rank.
    pub fn new(backend: B, lattice: WholeLattice, options: RanksOptions) -> Self {
        Self { backend, lattice, options, halos: Mutex::default(), exchanges: AtomicU64::new(0) }
    }

    /// The backend that computes here.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The same, to be changed.
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// The backend, after its work.
    pub fn into_backend(self) -> B {
        self.backend
    }

    /// The ranks, and what each holds.
    pub fn lattice(&self) -> &WholeLattice {
        &self.lattice
    }

    fn communicator(&self) -> &dyn Communicator {
        &**self.lattice.communicator()
    }

    /// What a call needs of other parts; nothing on a whole lattice.
    fn halos(&self, shape: &Shape) -> Arc<[Halo]> {
        if !shape.lattice().extents().is_part() {
            return Arc::default();
        }
        let mut halos = self.halos.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Sends packets to the ranks next to this one, and takes theirs.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn travel(&self, outgoing: &[Outgoing<'_>], incoming: &mut [Incoming<'_>]) -> Result<(), BackendError> {
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed);
        let (rank, decomposition) = (self.communicator().rank(), self.lattice.decomposition());
        let _span = span(Group::Ranks, || "exchange");
        if !self.options.check_packets {
            let sends: Vec<Send<'_>> = outgoing.iter().map(|packet| self.send(packet.leg, packet.bytes)).collect();
            let mut receives: Vec<Receive<'_>> =
                incoming.iter_mut().map(|packet| self.receive(packet.leg, packet.bytes)).collect();
            return self.communicator().exchange(&sends, &mut receives).map_err(BackendError::device);
        }
        let with_checksum = |packet: &Outgoing<'_>| [packet.bytes, &crc32(packet.bytes).to_le_bytes()].concat();
        let packets: Vec<Vec<u8>> = outgoing.iter().map(with_checksum).collect();
        let sends: Vec<Send<'_>> =
            outgoing.iter().zip(&packets).map(|(packet, bytes)| self.send(packet.leg, bytes)).collect();
        let mut rooms: Vec<Vec<u8>> = incoming.iter().map(|packet| vec![0; packet.bytes.len() + 4]).collect();
        let mut receives: Vec<Receive<'_>> =
            incoming.iter().zip(&mut rooms).map(|(packet, room)| self.receive(packet.leg, room)).collect();
        self.communicator().exchange(&sends, &mut receives).map_err(BackendError::device)?;
        for (packet, room) in incoming.iter_mut().zip(&rooms) {
            let Some((bytes, checksum)) = room.split_last_chunk::<4>() else { continue };
            let (found, sent, leg) = (crc32(bytes), u32::from_le_bytes(*checksum), packet.leg);
            if found != sent {
                let from = decomposition.neighbour(rank, leg);
                let error = CommError::Packet { from, to: rank, leg, exchange, bytes: bytes.len(), found, sent };
                return Err(BackendError::device(error));
            }
            packet.bytes.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// A packet that is read along a leg goes to the rank against it.
    fn send<'p>(&self, leg: Leg, bytes: &'p [u8]) -> Send<'p> {
        let against =
            Leg::all().find(|other| (other.dimension(), other.is_forward()) == (leg.dimension(), !leg.is_forward()));
        let to =
            against.map_or(0, |against| self.lattice.decomposition().neighbour(self.communicator().rank(), against));
        Send { to, tag: leg.point() as u32, bytes }
    }

    fn receive<'p>(&self, leg: Leg, bytes: &'p mut [u8]) -> Receive<'p> {
        let from = self.lattice.decomposition().neighbour(self.communicator().rank(), leg);
        Receive { from, tag: leg.point() as u32, bytes }
    }

    /// The sums of all ranks: of slices, those of the whole lattice.
    fn merge(&self, shape: &Shape, sums: PartialSums) -> Result<PartialSums, BackendError> {
        let PartialSums::Exact(sums) = sums else { return Err(MergeError::Tree.into()) };
        let sums = if shape.kernel.sums_over_slices() { self.in_whole(shape, sums) } else { sums };
        let _span = span(Group::Ranks, || "merge sums");
        Ok(PartialSums::Exact(self.lattice.merge(&sums).map_err(BackendError::device)?))
    }

    /// Sums of slices at the places that they have in the whole lattice.
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

impl<B: Ghosts> Memory for OnRanks<B> {
    type Storage = B::Storage;
    type Table = B::Table;

    fn describe(&self) -> String {
        match self.communicator().ranks() {
            1 => self.backend.describe(),
            _ => format!("{}, {}", self.backend.describe(), self.lattice.decomposition()),
        }
    }
    fn building(&self) -> Duration {
        self.backend.building()
    }
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        self.backend.lanes(asked_for)
    }
    fn takes_links(&self, format: LinkFormat, precision: Precision) -> Result<(), BackendError> {
        self.backend.takes_links(format, precision)
    }
    fn largest(&self, here: f64) -> Result<f64, BackendError> {
        self.lattice.largest(here).map_err(BackendError::device)
    }
    fn allocate(&self, shape: &FieldShape) -> Result<B::Storage, BackendError> {
        self.backend.allocate(shape)
    }
    fn fill_zero(&self, field: &mut AnyField<B::Storage>) -> Result<(), BackendError> {
        self.backend.fill_zero(field)
    }
    fn store(&self, field: Cow<'_, HostField>) -> Result<B::Storage, BackendError> {
        self.backend.store(field)
    }
    fn load(&self, field: &AnyField<B::Storage>) -> Result<HostField, BackendError> {
        self.backend.load(field)
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
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        let halos = self.halos(call.shape());
        match halos.is_empty() {
            true => self.backend.launch(call.on()),
            false => self.backend.launch_on_part(call.on(), &halos, &mut |out, room| self.travel(out, room)),
        }
    }

    /// On one rank; on several, one launch after the other, each of which overlaps what is sent.
    fn side_by_side(&self, queues: usize) -> Result<Box<dyn SideBySide<Self> + '_>, BackendError> {
        match self.communicator().ranks() {
            1 => Ok(Box::new(OnOneRank(self.backend.side_by_side(queues)?))),
            _ => Ok(Box::new(InTurn(self))),
        }
    }
}

/// Launches on several queues of the backend of one rank.
struct OnOneRank<'b, B>(Box<dyn SideBySide<B> + 'b>);

impl<B: Ghosts> SideBySide<OnRanks<B>> for OnOneRank<'_, B> {
    fn launch(&mut self, call: Call<'_, OnRanks<B>>, queue: usize, after: &[usize]) -> Result<(), BackendError> {
        self.0.launch(call.on(), queue, after)
    }
    fn join(self: Box<Self>) -> Result<(), BackendError> {
        self.0.join()
    }
}

impl<B: Ghosts> Reduce for OnRanks<B> {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        // A tree has one plan over the whole lattice.
        if let (Sum::Tree(_), true) = (sum, self.communicator().ranks() > 1) {
            return Err(MergeError::Tree.into());
        }
        let halos = self.halos(call.shape());
        if halos.is_empty() && self.communicator().ranks() == 1 {
            return self.backend.reduce(call.on(), sum);
        }
        let shape = call.shape().clone();
        let sums = match halos.is_empty() {
            true => self.backend.reduce(call.on(), sum)?,
            false => self.backend.reduce_on_part(call.on(), sum, &halos, &mut |out, room| self.travel(out, room))?,
        };
        self.merge(&shape, sums)
    }
}
