//! Calls on local volumes. A kernel packs the sites that other ranks read, and a second queue fetches the packets into pinned memory.
//! Meanwhile the sites are computed whose neighbours are all on this rank. Then arriving packets are unpacked, and the remaining sites are
//! computed. Counterparts: `backend/ghosts.rs`, `cl/ghosts.cl`.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Face, Place as SitePlace, Reach};
use lanefield_reference::object::Object;
use lanefield_reference::real::Precision;

use super::backend::OpenCl;
use super::device::{RawEvent, RawQueue, lock};
use super::memory::{Buffer, Towards};
use super::packets::{PacketQueues, Packets, batches, bytes_of, incoming};
use super::program::Source;
use super::queue::{Arg, Launch, Place};
use super::tuning::{Layout, Planner};
use crate::backend::ghosts::{
    Ghosts, Halo, HaloRoom, PACK, PacketForm, PacketRoom, Placed, UNPACK, field_of, has_come,
};
use crate::backend::specification::{Call, Geometry};
use crate::backend::timeline::Group;
use crate::backend::{BackendError, PartialSums, Reduce as _, Sum};

/// The work-group size of the kernels that pack and unpack.
const GROUP: usize = 64;
/// The maximum number of packet rooms whose buffers are kept.
const MOST_KEPT: usize = 64;

/// The file of the kernels that pack and unpack.
pub(crate) const PACKETS: &str = "ghosts.cl";

fn options_of(planner: &Planner<'_>, (precision, nsimd): (Precision, usize), words: usize, form: PacketForm) -> String {
    let mut options = planner.common_options(precision, nsimd, planner.layout.access);
    options += &format!(" -DCOMPONENT_WORDS={words}");
    if let PacketForm::Projected(dagger) = form {
        options += &format!(" -DPROJECTED -DDAGGER={}", u8::from(dagger == Dagger::Yes));
    }
    options
}

/// The build options of the kernels for packets of spinors and of colour matrices.
pub(crate) fn packet_options(planner: &Planner<'_>, precision: Precision, nsimd: usize) -> Vec<String> {
    let spinor = Object::Spinors(1).words();
    let mut packets = vec![(spinor, PacketForm::Whole), (Object::ColourMatrix.words(), PacketForm::Whole)];
    if precision != Precision::Half {
        packets.extend([Dagger::No, Dagger::Yes].map(|dagger| (spinor, PacketForm::Projected(dagger))));
    }
    packets.into_iter().map(|(words, form)| options_of(planner, (precision, nsimd), words, form)).collect()
}

impl OpenCl {
    /// The queues for packets, created once.
    fn packet_queues(&self) -> Result<&PacketQueues, BackendError> {
        if let Some(queues) = self.packet_queues.get() {
            return Ok(queues);
        }
        let made = PacketQueues { out: self.context.new_queue()?, back: self.context.new_queue()? };
        Ok(self.packet_queues.get_or_init(|| made))
    }

    /// The buffers that a room needs on this device, created once.
    fn packets(&self, halo: &HaloRoom<'_>, layout: Layout) -> Result<Arc<Mutex<Packets>>, BackendError> {
        let key = (halo.room.number(), layout);
        if let Some(known) = lock(&self.packets).get(&key) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Mutex::new(self.new_packets(&halo.halo, &*halo.room, layout)?));
        let mut packets = lock(&self.packets);
        if packets.len() >= MOST_KEPT {
            packets.clear();
        }
        packets.insert(key, Arc::clone(&made));
        Ok(made)
    }

    fn new_packets(&self, halo: &Halo, room: &dyn PacketRoom, layout: Layout) -> Result<Packets, BackendError> {
        let (shape, context) = (&halo.shape, &self.context);
        let (nsimd, order) = (shape.lattice.nsimd(), layout.site_order.on(&shape.lattice, shape.sites));
        let all = halo.faces()?;
        let on_device = |place: &SitePlace| {
            let own = place.osite < shape.osites();
            let osite = order.as_ref().filter(|_| own).map_or(place.osite, |order| order.place_of(place.osite));
            (osite * nsimd + place.lane) as u32
        };
        let table = |places: fn(&Face) -> &[SitePlace]| -> Vec<u32> {
            let of_face = |face: &Face| {
                let point = face.leg.point() as u32;
                places(face).iter().flat_map(|place| [on_device(place), point]).collect::<Vec<_>>()
            };
            all.iter().flat_map(of_face).collect()
        };
        let (sent, held) = (table(|face| &face.sent), table(|face| &face.held));
        let (parts, words) = (shape.object.parts(), shape.object.part_words());
        let ends = all.iter().scan(0, |end, face| {
            *end += face.len();
            Some(*end)
        });
        let firsts = std::iter::once(0).chain(ends).collect();
        let stored = |bytes: usize| bytes / (shape.precision.bits() / 4);
        let options = options_of(&self.planner(layout), (shape.precision, nsimd), words, halo.form);
        let component = |form: PacketForm| stored(form.component_bytes(shape.object, shape.precision));
        let bytes = bytes_of(room.packets()).len().max(1);
        let buffer = |what: &str| context.allocate_anywhere(bytes, what);
        Ok(Packets {
            program: self.program(&Source::of_library(PACKETS), &options)?,
            sent: self.upload_table(&sent, "places of sites that are sent")?,
            held: self.upload_table(&held, "places of neighbours in other parts")?,
            firsts,
            parts,
            work_items: [halo.form, PacketForm::Whole].map(|form| parts * component(form)),
            on_device: [buffer("packets to other parts")?, buffer("packets from other parts")?],
            _pinned: room.memory().into_iter().map(|memory| context.pin(memory)).collect(),
        })
    }

    /// Launches one of the kernels that pack or unpack, for the packets of a stage.
    fn copy_ghosts(
        &self,
        packets: &Packets,
        stage: &Range<usize>,
        (kernel, number): (&str, usize),
        place: Place<'_>,
        buffers: [&Buffer; 3],
    ) -> Result<Option<RawEvent>, BackendError> {
        let [to, from, places] = buffers;
        let ([first, end], items) =
            ([stage.start, stage.end].map(|packet| packets.firsts[packet]), packets.work_items[number]);
        let group = self.context.info().group_of(GROUP);
        let global = ((end - first) * items).next_multiple_of(group);
        let (launch, place) =
            (Launch { global: [global, 1, 1], local: [group, 1, 1] }, Place { offset: [first * items, 0, 0], ..place });
        let counts = [end, packets.parts].map(|count| Arg::U32(count as u32));
        let arguments = [Arg::Buffer(to), Arg::Buffer(from), Arg::Buffer(places), counts[0], counts[1]];
        self.launch_at(place, (&packets.program, kernel), launch, &arguments)
    }

    fn pack_ghosts(
        &self,
        packets: &Packets,
        stage: &Range<usize>,
        field: &Buffer,
    ) -> Result<Option<RawEvent>, BackendError> {
        let buffers = [&packets.on_device[0], field, &packets.sent];
        self.copy_ghosts(packets, stage, (PACK, 0), self.context.own_place().with_event(), buffers)
    }

    /// Fetches packed packets. Returns the events, one for each batch.
    fn fetch(
        &self,
        packets: &Packets,
        stage: &Range<usize>,
        room: &mut dyn PacketRoom,
        packed: Option<&RawEvent>,
    ) -> Result<Vec<RawEvent>, BackendError> {
        let ([out, _], transfers) = (&packets.on_device, &self.packet_queues()?.out);
        let events: Vec<_> = packed.into_iter().collect();
        let to = room.outgoing(stage);
        let fetch = |batch: Range<usize>| {
            let bytes = bytes_of(&room.packets()[batch]);
            let to = Placed { start: to.start + bytes.start, ..to.clone() };
            self.transfer(transfers, &events, Towards::Host, (out, &to), bytes)
        };
        let fetched = batches(room.packets(), stage).map(fetch).collect::<Result<_, _>>()?;
        self.context.flush_queue(transfers)?;
        Ok(fetched)
    }

    /// Sends fetched packets batch by batch: while one travels between ranks, another is copied between device and host. Unpacks the
    /// arriving packets, and returns the event of that. The kernel of the sites that need no packets may run at the same time.
    fn receive(
        &self,
        packets: &Packets,
        stage: &Range<usize>,
        room: &mut dyn PacketRoom,
        field: &Buffer,
        fetched: &[RawEvent],
    ) -> Result<Option<RawEvent>, BackendError> {
        let ([_, device], transfers) = (&packets.on_device, &self.packet_queues()?.back);
        let place = Place { queue: transfers, after: &[], offset: [0; 3], event: true, kept: None };
        for (batch, fetched) in batches(room.packets(), stage).zip(fetched) {
            self.await_packets(fetched)?;
            room.exchange(batch.clone())?;
            for (from, bytes) in incoming(&*room, batch) {
                self.transfer(transfers, &[], Towards::Device, (device, &from), bytes)?;
            }
            self.context.flush_queue(transfers)?;
        }
        let unpacked = self.copy_ghosts(packets, stage, (UNPACK, 1), place, [field, device, &packets.held])?;
        self.context.flush_queue(transfers)?;
        Ok(unpacked)
    }

    /// Copies a range of a buffer to host memory, or back; `host` is the position of its first byte there. The caller ensures that the
    /// memory is neither read nor written before the command is done, as [`PacketRoom`] requires.
    fn transfer(
        &self,
        queue: &RawQueue,
        after: &[&RawEvent],
        towards: Towards,
        (buffer, host): (&Buffer, &Placed),
        range: Range<usize>,
    ) -> Result<RawEvent, BackendError> {
        let [start, _] = [0, range.len()].map(|at| host.memory.at(host.start + at));
        let start = start.as_ptr().cast::<c_void>();
        // SAFETY: buffer and memory are as large as stated. They live as long as the packets, which the backend or this call keeps until
        // the command is done.
        Ok(unsafe { self.context.transfer(queue, after, towards, buffer, range, start)? })
    }

    fn await_packets(&self, event: &RawEvent) -> Result<(), BackendError> {
        let what = "packets for other parts";
        let _wait = self.context.span(Group::Wait, || what);
        Ok(self.context.await_event(event, || what.to_owned())?)
    }

    /// Makes commands that are queued from now on in the device's own queue wait for the packet queue. `last` is its last event.
    fn join_packets(&self, last: Option<RawEvent>) -> Result<(), BackendError> {
        let back = &self.packet_queues()?.back;
        self.context.flush_queue(back)?;
        match last {
            Some(last) => self.context.barrier(&[last]).map(drop)?,
            None => self.context.finish_queue(back, || "packets".to_owned())?,
        }
        Ok(())
    }

    /// Fills the ghosts of the fields of a call, and runs `meanwhile` during the exchange. A kernel that reads the ghosts is queued behind
    /// it in the packet queue, or is joined with the event.
    fn with_ghosts(
        &self,
        call: &Call<'_, Self>,
        halos: &mut [HaloRoom<'_>],
        meanwhile: impl FnOnce() -> Result<(), BackendError>,
    ) -> Result<Option<RawEvent>, BackendError> {
        let layout = self.layout_of(call)?;
        let all: Vec<_> = halos.iter().map(|halo| self.packets(halo, layout)).collect::<Result<_, _>>()?;
        let guards: Vec<_> = all.iter().map(|packets| lock(packets)).collect();
        let stages: Vec<_> = halos.iter().map(|HaloRoom { halo, room }| halo.stages(room.packets().len())).collect();
        let rounds = stages.iter().map(Vec::len).max().unwrap_or(0);
        let (mut meanwhile, mut unpacked) = (Some(meanwhile), None);
        for round in 0..rounds {
            if round > 0 {
                // This stage forwards data that arrived in the previous one.
                self.join_packets(unpacked.take())?;
            }
            let of_round = || stages.iter().map(|stages| stages.get(round));
            let mut packed = Vec::with_capacity(halos.len());
            for ((HaloRoom { halo, .. }, packets), stage) in halos.iter().zip(&guards).zip(of_round()) {
                let field = &field_of(call, halo)?.storage().buffer;
                packed.push(stage.map_or(Ok(None), |stage| self.pack_ghosts(packets, stage, field))?);
            }
            // Queued before the packets, to keep the device busy: packets take longer to arrive than this takes to queue.
            meanwhile.take().map_or(Ok(()), |meanwhile| meanwhile())?;
            self.context.flush()?;
            let mut fetched = Vec::with_capacity(halos.len());
            for (((HaloRoom { room, .. }, packets), stage), packed) in
                halos.iter_mut().zip(&guards).zip(of_round()).zip(&packed)
            {
                let fetch = |stage| self.fetch(packets, stage, &mut **room, packed.as_ref());
                fetched.push(stage.map_or(Ok(Vec::new()), fetch)?);
            }
            for (((HaloRoom { halo, room }, packets), stage), fetched) in
                halos.iter_mut().zip(&guards).zip(of_round()).zip(&fetched)
            {
                let field = &field_of(call, halo)?.storage().buffer;
                if let Some(stage) = stage {
                    unpacked = self.receive(packets, stage, &mut **room, field, fetched)?;
                }
            }
        }
        for HaloRoom { halo, .. } in halos.iter() {
            has_come(halo, field_of(call, halo)?, None);
        }
        Ok(unpacked)
    }
}

impl Ghosts for OpenCl {
    fn launch_on_part(&self, call: Call<'_, Self>, halos: &mut [HaloRoom<'_>]) -> Result<(), BackendError> {
        if halos.is_empty() {
            return crate::backend::Launch::launch(self, call);
        }
        call.check_launched()?;
        self.takes(call.shape())?;
        let (shape, layout, own) = (call.shape(), self.layout_of(&call)?, self.context.own_place());
        let osites = shape.target.osites();
        // Sites beyond the nearest neighbours may belong to other ranks even if the nearest ones do not.
        let is_stencil = matches!(shape.kernel.geometry, Geometry::Stencil { .. })
            && halos.iter().all(|halo| halo.halo.reach == Reach::Nearest);
        let interior = layout.site_order.interior(shape.lattice(), shape.sites()).filter(|_| is_stencil).unwrap_or(0);
        self.with_ghosts(&call, halos, || match interior {
            0 => Ok(()),
            _ => self.launch_range(&call, own, Some(0..interior)).map(drop),
        })?;
        // At the same time as the interior sites, whose last work-groups do not fill the device.
        let queue = &self.packet_queues()?.back;
        let (done, arguments) =
            self.launch_range(&call, Place { queue, ..own.with_event() }, Some(interior..osites))?;
        self.join_packets(done)?;
        drop(arguments);
        Ok(())
    }

    fn reduce_on_part(
        &self,
        call: Call<'_, Self>,
        sum: Sum,
        halos: &mut [HaloRoom<'_>],
    ) -> Result<PartialSums, BackendError> {
        if !halos.is_empty() {
            let unpacked = self.with_ghosts(&call, halos, || Ok(()))?;
            self.join_packets(unpacked)?;
        }
        self.reduce(call, sum)
    }
}
