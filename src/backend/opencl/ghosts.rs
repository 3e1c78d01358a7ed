//! Calls on parts of lattices: what other parts read is packed by a kernel, and fetched into pinned memory by a queue of its own, while the sites are computed
//! whose neighbours are all here; what came is unpacked, and the others are computed. Counterparts: `backend/ghosts.rs`, `cl/ghosts.cl`.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Mutex};

use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Face, Leg, Place as SitePlace};
use opencl3::command_queue as queue;
use opencl3::event as cl;
use opencl3::types::CL_NON_BLOCKING;

use super::context::{Buffer, lock, new_queue};
use super::launch::Place;
use super::plan::Layout;
use super::raw::{RawEvent, RawQueue};
use super::recorder::Note;
use super::{Arg, HostBuffer, Launch, OpenCl, OpenClError, Program, Source};
use crate::backend::ghosts::{Ghosts, Halo, Incoming, Outgoing, PACK, PacketForm, Travel, UNPACK, field_of};
use crate::backend::specification::{Call, Geometry};
use crate::backend::timeline::{CommandKind, Group};
use crate::backend::{BackendError, PartialSums, Reduce as _, Sum};

/// Work-items of a group of the kernels that copy.
const GROUP: usize = 64;
/// Kinds of fields whose buffers are kept at most.
const MOST_KEPT: usize = 32;

/// What the fields of a kind need to talk with other parts.
pub(super) struct Packets {
    program: Arc<Program>,
    /// Of each leg, in the order of the faces: the leg, and its bytes in the buffers.
    faces: Vec<(Leg, Range<usize>)>,
    /// Tables of (place, point), and how many there are.
    sent: Buffer,
    held: Buffer,
    sites: usize,
    parts: usize,
    /// Work-items that pack, and that unpack.
    work_items: [usize; 2],
    /// What is sent, and what comes: on the device, and in pinned memory of the host.
    on_device: [Buffer; 2],
    on_host: [HostBuffer; 2],
    /// For transfers, beside the context's own.
    queue: RawQueue,
}

/// Packets that go between device and host together.
struct Batch {
    faces: Range<usize>,
    bytes: Range<usize>,
}

impl Packets {
    /// The two halves of the faces.
    fn batches(&self) -> Vec<Batch> {
        let half = self.faces.len().div_ceil(2);
        let of = |faces: Range<usize>| {
            let (first, last) = (&self.faces[faces.start].1, &self.faces[faces.end - 1].1);
            Batch { bytes: first.start..last.end, faces }
        };
        [0..half, half..self.faces.len()].into_iter().filter(|faces| !faces.is_empty()).map(of).collect()
    }
}

/// By what kind of field they are kept.
pub(super) type PacketsKey = (Halo, Layout);

impl OpenCl {
    /// The packets of a halo, made once.
    fn packets(&self, halo: &Halo, layout: Layout) -> Result<Arc<Mutex<Packets>>, BackendError> {
        let key = (*halo, layout);
        if let Some(known) = lock(&self.packets).get(&key) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Mutex::new(self.new_packets(halo, layout)?));
        let mut packets = lock(&self.packets);
        if packets.len() >= MOST_KEPT {
            packets.clear();
        }
        packets.insert(key, Arc::clone(&made));
        Ok(made)
    }

    fn new_packets(&self, halo: &Halo, layout: Layout) -> Result<Packets, BackendError> {
        let (shape, context) = (&halo.shape, &self.context);
        let (nsimd, order) = (shape.lattice.nsimd(), layout.site_order.on(&shape.lattice, shape.sites));
        let all = Face::all(&shape.lattice, shape.sites)?;
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
        let mut faces = Vec::new();
        let mut bytes = 0;
        for face in &all {
            let end = bytes + halo.bytes(face.len());
            faces.push((face.leg, bytes..end));
            bytes = end;
        }
        let (sites, parts, words) = (held.len() / 2, shape.object.parts(), shape.object.part_words());
        let stored = |bytes: usize| bytes / (shape.precision.bits() / 4);
        let mut options = self.planner(layout).common_options(shape.precision, nsimd, layout.access);
        options += &format!(" -DCOMPONENT_WORDS={words}");
        if let PacketForm::Projected(dagger) = halo.form {
            options += &format!(" -DPROJECTED -DDAGGER={}", u8::from(dagger == Dagger::Yes));
        }
        let component = |form: PacketForm| stored(form.component_bytes(shape.object, shape.precision));
        let buffer = |what: &str| context.allocate_anywhere(bytes.max(1), what);
        let pinned = |what: &str| context.allocate_host(bytes.max(1), what);
        Ok(Packets {
            program: self.program(&Source::of_library("ghosts.cl"), &options)?,
            faces,
            sent: self.upload_table(&sent, "places of sites that are sent")?,
            held: self.upload_table(&held, "places of neighbours in other parts")?,
            sites,
            parts,
            work_items: [halo.form, PacketForm::Whole].map(|form| sites * parts * component(form)),
            on_device: [buffer("packets to other parts")?, buffer("packets from other parts")?],
            on_host: [pinned("packets to other parts")?, pinned("packets from other parts")?],
            queue: new_queue(context.raw(), context.device(), format!("device {}", context.info()))?,
        })
    }

    /// Launches one of the kernels that copy.
    fn copy_ghosts(
        &self,
        packets: &Packets,
        (kernel, number): (&str, usize),
        place: Place<'_>,
        buffers: [&Buffer; 3],
    ) -> Result<Option<RawEvent>, BackendError> {
        let [to, from, places] = buffers;
        let global = packets.work_items[number].next_multiple_of(GROUP);
        let launch = Launch { global: [global, 1, 1], local: [GROUP, 1, 1] };
        let counts = [packets.sites, packets.parts].map(|count| Arg::U32(count as u32));
        let arguments = [Arg::Buffer(to), Arg::Buffer(from), Arg::Buffer(places), counts[0], counts[1]];
        self.launch_at(place, (&packets.program, kernel), launch, &arguments)
    }

    /// Packs what other parts read of a field, and has it fetched; the events of that, one a batch.
    fn send(&self, packets: &mut Packets, field: &Buffer) -> Result<Vec<RawEvent>, BackendError> {
        let [out, _] = &packets.on_device;
        let own = self.context.own_place();
        let packed = self.copy_ghosts(packets, (PACK, 0), own, [out, field, &packets.sent])?;
        self.context.flush()?;
        let events: Vec<_> = packed.iter().map(RawEvent::get).collect();
        let batches = packets.batches();
        let Packets { queue: transfers, on_device: [out, _], on_host: [host, _], .. } = packets;
        let place = Place { queue: transfers, after: &events, offset: [0; 3] };
        let fetch = |batch: Batch| self.transfer(place, CommandKind::Read, (out, host), batch.bytes);
        let fetched = batches.into_iter().map(fetch).collect::<Result<_, _>>()?;
        self.flush_queue(transfers)?;
        Ok(fetched)
    }

    /// Sends what was fetched, batch by batch: while one travels, the other is between device and host. Unpacks what came.
    fn receive(
        &self,
        packets: &mut Packets,
        field: &Buffer,
        fetched: &[RawEvent],
        travel: Travel<'_>,
    ) -> Result<(), BackendError> {
        let mut written = Vec::with_capacity(fetched.len());
        for (batch, fetched) in packets.batches().into_iter().zip(fetched) {
            self.await_event(fetched, "packets for other parts")?;
            let Packets { faces, on_host: [out, room], .. } = &mut *packets;
            let faces = &faces[batch.faces];
            let outgoing: Vec<Outgoing<'_>> = faces
                .iter()
                .map(|(leg, range)| Outgoing { leg: *leg, bytes: &out.as_slice()[range.clone()] })
                .collect();
            let mut rest = &mut room.as_mut_slice()[batch.bytes.clone()];
            let mut incoming = Vec::with_capacity(faces.len());
            for (leg, range) in faces {
                let (bytes, others) = rest.split_at_mut(range.len());
                incoming.push(Incoming { leg: *leg, bytes });
                rest = others;
            }
            travel(&outgoing, &mut incoming)?;
            let Packets { queue: transfers, on_device: [_, device], on_host: [_, room], .. } = &mut *packets;
            let place = Place { queue: transfers, after: &[], offset: [0; 3] };
            written.push(self.transfer(place, CommandKind::Write, (device, room), batch.bytes)?);
            self.flush_queue(transfers)?;
        }
        let after: Vec<_> = written.iter().map(RawEvent::get).collect();
        let place = Place { after: &after, ..self.context.own_place() };
        let buffers = [field, &packets.on_device[1], &packets.held];
        self.copy_ghosts(packets, (UNPACK, 1), place, buffers)?;
        Ok(())
    }

    /// Copies a range of a buffer to the same range of pinned memory, or back. Who calls sees to it that the memory is neither looked at nor written before the command is done:
    /// packets are locked for an exchange, and the next one begins behind it.
    fn transfer(
        &self,
        place: Place<'_>,
        kind: CommandKind,
        (buffer, host): (&Buffer, &mut HostBuffer),
        range: Range<usize>,
    ) -> Result<RawEvent, BackendError> {
        let (offset, len) = (range.start, range.len());
        let start = host.as_mut_slice()[range].as_mut_ptr().cast::<c_void>();
        let what = || format!("{len} bytes of {}", buffer.what());
        let (count, list) =
            (place.after.len() as u32, if place.after.is_empty() { ptr::null() } else { place.after.as_ptr() });
        let note = || Note::of_bytes(kind, len);
        Ok(self.context.submit_to(place.queue, "clEnqueueReadBuffer or clEnqueueWriteBuffer", what, note, |queue| {
            // SAFETY: buffer and memory reach as far as is said, and live with the packets, which are kept by the backend or by this call until the command is
            // done; the events of the list live through the call.
            unsafe {
                match kind {
                    CommandKind::Read => queue::enqueue_read_buffer(
                        queue,
                        buffer.mem(),
                        CL_NON_BLOCKING,
                        offset,
                        len,
                        start,
                        count,
                        list,
                    ),
                    _ => queue::enqueue_write_buffer(
                        queue,
                        buffer.mem(),
                        CL_NON_BLOCKING,
                        offset,
                        len,
                        start,
                        count,
                        list,
                    ),
                }
            }
        })?)
    }

    fn await_event(&self, event: &RawEvent, what: &'static str) -> Result<(), BackendError> {
        let _wait = self.context.span(Group::Wait, || what);
        cl::wait_for_events(&[event.get()])
            .map_err(|status| self.context.failed("clWaitForEvents", status, what.to_owned()))?;
        Ok(())
    }

    fn flush_queue(&self, transfers: &RawQueue) -> Result<(), OpenClError> {
        queue::flush(transfers.get()).map_err(|status| self.context.failed("clFlush", status, String::new()))
    }

    /// Fills the ghosts of the fields of a call; `meanwhile` is done while packets travel.
    fn with_ghosts(
        &self,
        call: &Call<'_, Self>,
        halos: &[Halo],
        travel: Travel<'_>,
        meanwhile: impl FnOnce() -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        let layout = self.layout_of(call)?;
        let all: Vec<_> = halos.iter().map(|halo| self.packets(halo, layout)).collect::<Result<_, _>>()?;
        let mut guards: Vec<_> = all.iter().map(|packets| lock(packets)).collect();
        let mut fetched = Vec::with_capacity(halos.len());
        for (halo, packets) in halos.iter().zip(&mut guards) {
            let field = &field_of(call, halo)?.storage().buffer;
            fetched.push(self.send(packets, field)?);
        }
        meanwhile()?;
        self.context.flush()?;
        for ((halo, packets), fetched) in halos.iter().zip(&mut guards).zip(&fetched) {
            let field = &field_of(call, halo)?.storage().buffer;
            self.receive(packets, field, fetched, &mut *travel)?;
        }
        Ok(())
    }
}

impl Ghosts for OpenCl {
    fn launch_on_part(&self, call: Call<'_, Self>, halos: &[Halo], travel: Travel<'_>) -> Result<(), BackendError> {
        call.check_launched()?;
        self.takes(call.shape())?;
        let (shape, layout, own) = (call.shape(), self.layout_of(&call)?, self.context.own_place());
        let osites = shape.target.osites();
        let is_stencil = matches!(shape.kernel.geometry, Geometry::Stencil { .. });
        let interior = layout.site_order.interior(shape.lattice(), shape.sites()).filter(|_| is_stencil).unwrap_or(0);
        self.with_ghosts(&call, halos, travel, || match interior {
            0 => Ok(()),
            _ => self.launch_range(&call, own, Some(0..interior)).map(drop),
        })?;
        match interior == osites {
            true => Ok(()),
            false => self.launch_range(&call, own, Some(interior..osites)).map(drop),
        }
    }

    fn reduce_on_part(
        &self,
        call: Call<'_, Self>,
        sum: Sum,
        halos: &[Halo],
        travel: Travel<'_>,
    ) -> Result<PartialSums, BackendError> {
        self.with_ghosts(&call, halos, travel, || Ok(()))?;
        self.reduce(call, sum)
    }
}
