//! Fields on parts of a lattice: a kernel that reads neighbours finds those of other parts behind its own sites, in *ghosts*, which are filled before it
//! is launched. What is sent is in site order, so that parts with other lanes, on other backends, understand each other. Counterparts:
//! `reference/src/layout/faces.rs`, `cl/ghosts.cl`.

use std::ops::Range;
use std::sync::Arc;

use lanefield_reference::field::{FieldShape, Object, Spinors};
use lanefield_reference::kernels;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Face, LayoutError, Leg, Reach, Sites};
use lanefield_reference::real::Precision;

use super::any_field::AnyField;
use super::error::BackendError;
use super::host_field::HostField;
use super::launch::Reduce;
use super::memory::Memory;
use super::shared_packets::PacketMemory;
use super::specification::{Call, FieldRole, Shape};
use super::{PartialSums, Sum};

/// The kernels of `cl/ghosts.cl` by name, which backends launch by themselves.
pub const PACK: &str = "pack_ghosts";
/// The counterpart of [`PACK`].
pub const UNPACK: &str = "unpack_ghosts";

/// A field of a call that is read at neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Halo {
    /// Its name among the arguments.
    pub name: &'static str,
    /// The lattice, sites, object and precision of the field.
    pub shape: FieldShape,
    /// What is sent of a site.
    pub form: PacketForm,
    /// How far it is read.
    pub reach: Reach,
}

/// What is sent of each component of a site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PacketForm {
    /// All of it as it is stored: real numbers, or in half precision fractions and their step.
    Whole,
    /// Of a spinor the two spins that a leg projects out, for a hop or its Hermitian conjugate: the projection is the first rounding of the hop, so the
    /// sender may do it.
    Projected(Dagger),
}

impl PacketForm {
    /// Bytes of a component.
    pub fn component_bytes(self, object: Object, precision: Precision) -> usize {
        match self {
            Self::Whole => precision.device_bytes(object.part_words()),
            Self::Projected(_) => precision.device_bytes(Spinors::WORDS / 2),
        }
    }
}

impl Halo {
    /// The fields of a call that need ghosts; none on a whole lattice.
    pub fn of(shape: &Shape) -> Vec<Self> {
        if !shape.lattice().extents().is_part() {
            return Vec::new();
        }
        let kernel = shape.kernel;
        let halo = |role: FieldRole| {
            let (reach, field) = (kernel.reach(&role, shape.legs)?, *shape.field(role.name)?);
            field.object.reach()?;
            Some(Self { name: role.name, shape: field, form: form(shape, &field), reach })
        };
        kernel.fields().filter_map(halo).collect()
    }

    /// The faces at which sites are sent, and held.
    pub fn faces(&self) -> Result<Vec<Face>, LayoutError> {
        Face::all(&self.shape.lattice, self.shape.sites, self.reach)
    }

    /// The packets, one for each face, in the groups that are sent together, one group after the other.
    pub fn stages(&self, packets: usize) -> Vec<Range<usize>> {
        // Two in each direction.
        let together = if self.reach == Reach::Nearest { packets.max(1) } else { 2 };
        (0..packets).step_by(together).map(|first| first..first + together).collect()
    }

    /// The bytes of the packet of each leg.
    pub fn packets(&self) -> Result<Vec<(Leg, usize)>, LayoutError> {
        let faces = self.faces()?;
        Ok(faces.iter().map(|face| (face.leg, self.bytes(face.len()))).collect())
    }

    /// Bytes of a packet of so many sites.
    pub fn bytes(&self, sites: usize) -> usize {
        sites * self.shape.object.parts() * self.form.component_bytes(self.shape.object, self.shape.precision)
    }

    /// The sites of the field.
    pub fn sites(&self) -> Sites {
        self.shape.sites
    }
}

/// Half precision projects sums of fractions, which are no fractions: there spinors travel whole, which takes hardly more.
fn form(shape: &Shape, field: &FieldShape) -> PacketForm {
    let kernel = shape.kernel;
    let is_spinor = matches!(field.object, Object::Spinors(_));
    match is_spinor && field.precision != Precision::Half && kernel.projects_neighbours(shape.legs) {
        true => PacketForm::Projected(kernel.dagger),
        false => PacketForm::Whole,
    }
}

/// Packets of a halo on their way: the memory in which they lie, and how they go to other parts. Packets are numbered as in [`Self::packets`]: those that go
/// out, and those that come, are as long, and lie at the same places of their memory.
///
/// Who calls [`Self::outgoing`] writes the packets, then calls [`Self::exchange`] for each of them, in the same order on all ranks, and then reads what
/// came. It has read what came before it writes the packets of the next exchange: a device has done the commands of one when it has done the first command
/// of the next.
pub trait PacketRoom: Send {
    /// A number that no other room of the process has.
    fn number(&self) -> u64;
    /// Of each packet the leg along which it is read, and its bytes.
    fn packets(&self) -> &[(Leg, Range<usize>)];
    /// Memory for the packets that go out next, all of them or those of a stage; an exchange begins with the first packet.
    fn outgoing(&mut self, packets: &Range<usize>) -> Placed;
    /// Sends these packets, which are written, and waits for those that come.
    ///
    /// # Errors
    /// What the ranks say, and packets that were damaged.
    fn exchange(&mut self, packets: Range<usize>) -> Result<(), BackendError>;
    /// The memory in which a packet lies that came.
    fn incoming(&self, packet: usize) -> Placed;
    /// All memory that the two give.
    fn memory(&self) -> Vec<Arc<PacketMemory>>;
}

/// A place in memory.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The memory.
    pub memory: Arc<PacketMemory>,
    /// Where its first byte is: of a packet, or of all of them.
    pub start: usize,
}

/// A halo of a call, and the room of its packets.
pub struct HaloRoom<'r> {
    /// The halo.
    pub halo: Halo,
    /// The room.
    pub room: &'r mut dyn PacketRoom,
}

/// Launches on parts of a lattice, whose neighbours lie in other parts.
pub trait Ghosts: Reduce + Sync + 'static {
    /// Runs a kernel that writes fields, after `halos` have come: of its fields that are read at neighbours those that do not hold their ghosts yet. What
    /// needs nothing may be computed meanwhile; each site is computed whole.
    ///
    /// # Errors
    /// What the backend reports, and those of [`PacketRoom::exchange`].
    fn launch_on_part(&self, call: Call<'_, Self>, halos: &mut [HaloRoom<'_>]) -> Result<(), BackendError>;

    /// The same of a kernel that sums: the sums of this part.
    fn reduce_on_part(
        &self,
        call: Call<'_, Self>,
        sum: Sum,
        halos: &mut [HaloRoom<'_>],
    ) -> Result<PartialSums, BackendError>;
}

/// Sends what other parts read of a field on the host at the faces of a stage, and writes what they send into its ghosts.
pub fn fill(
    field: &mut HostField,
    faces: &[Face],
    HaloRoom { halo, room }: &mut HaloRoom<'_>,
    stage: &Range<usize>,
) -> Result<(), BackendError> {
    let pack = |face: &Face| match (&*field, halo.form) {
        (HostField::F32(field), PacketForm::Projected(dagger)) => kernels::ghosts::pack_projected(field, face, dagger),
        (HostField::F64(field), PacketForm::Projected(dagger)) => kernels::ghosts::pack_projected(field, face, dagger),
        (HostField::F32(field), PacketForm::Whole) => kernels::ghosts::pack_whole(field, face),
        (HostField::F64(field), PacketForm::Whole) => kernels::ghosts::pack_whole(field, face),
        (HostField::Half(field), _) => kernels::ghosts::pack_whole(field, face),
    };
    let Placed { memory, start } = room.outgoing(stage);
    for number in stage.clone() {
        memory.write(start + room.packets()[number].1.start, &pack(&faces[number]));
    }
    room.exchange(stage.clone())?;
    for number in stage.clone() {
        let face = &faces[number];
        let Placed { memory, start } = room.incoming(number);
        let packet = &memory.read(start, halo.bytes(face.len()));
        match (&mut *field, halo.form) {
            (HostField::F32(field), PacketForm::Projected(dagger)) => {
                kernels::ghosts::unpack_projected(field, face, dagger, packet);
            }
            (HostField::F64(field), PacketForm::Projected(dagger)) => {
                kernels::ghosts::unpack_projected(field, face, dagger, packet);
            }
            (HostField::F32(field), PacketForm::Whole) => kernels::ghosts::unpack_whole(field, face, packet),
            (HostField::F64(field), PacketForm::Whole) => kernels::ghosts::unpack_whole(field, face, packet),
            (HostField::Half(field), _) => kernels::ghosts::unpack_whole(field, face, packet),
        }
    }
    Ok(())
}

/// Notes what a field holds once a halo has come, in its storage or in a copy. Projected spinors lie where whole ones did.
pub fn has_come<S>(halo: &Halo, field: &AnyField<S>, copy: Option<Arc<AnyField<S>>>) {
    match halo.form {
        PacketForm::Whole => field.hold_ghosts(halo.reach, copy),
        PacketForm::Projected(_) => field.drop_ghosts(),
    }
}

/// The field of a halo.
pub fn field_of<'c, B: Memory + ?Sized>(
    call: &'c Call<'_, B>,
    halo: &Halo,
) -> Result<&'c AnyField<B::Storage>, BackendError> {
    call.field(halo.name).ok_or_else(|| BackendError::Argument {
        kernel: call.kernel().name,
        argument: halo.name.to_owned(),
        given: "missing".to_owned(),
        expected: "a field".to_owned(),
    })
}
