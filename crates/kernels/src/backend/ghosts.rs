//! Halos of fields on local volumes. A kernel that reads neighbours finds the sites of other ranks behind its own sites, in *ghosts*, which are
//! filled before the launch. Packets are in site order, so ranks with different lane layouts and backends can exchange them. Counterparts:
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

/// The name of the kernel of `cl/ghosts.cl` that packs sites. Backends launch it themselves.
pub const PACK: &str = "pack_ghosts";
/// The name of the counterpart of [`PACK`].
pub const UNPACK: &str = "unpack_ghosts";

/// A field of a call that is read at neighbours, and whose halo is needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Halo {
    /// The name of its argument.
    pub name: &'static str,
    /// The lattice, sites, object and precision of the field.
    pub shape: FieldShape,
    /// The form in which a site is sent.
    pub form: PacketForm,
    /// How many sites deep it is read.
    pub reach: Reach,
}

/// The form in which a component of a site is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PacketForm {
    /// The whole component as it is stored: real numbers, or fractions and their step in half precision.
    Whole,
    /// For a spinor, the two spins that the projector of the leg leaves, for a hop or its Hermitian conjugate. Projection is the first rounding of
    /// the hop, so the sender may do it.
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
    /// The fields of a call that need halos; empty on a whole lattice.
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

    /// The faces at which sites are sent and received.
    pub fn faces(&self) -> Result<Vec<Face>, LayoutError> {
        Face::all(&self.shape.lattice, self.shape.sites, self.reach)
    }

    /// The packets, one for each face, in stages. The packets of a stage are sent together, and stages follow one another.
    pub fn stages(&self, packets: usize) -> Vec<Range<usize>> {
        // Two in each direction.
        let together = if self.reach == Reach::Nearest { packets.max(1) } else { 2 };
        (0..packets).step_by(together).map(|first| first..first + together).collect()
    }

    /// The leg and the size in bytes of each packet.
    pub fn packets(&self) -> Result<Vec<(Leg, usize)>, LayoutError> {
        let faces = self.faces()?;
        Ok(faces.iter().map(|face| (face.leg, self.bytes(face.len()))).collect())
    }

    /// The size of a packet of `sites` sites, in bytes.
    pub fn bytes(&self, sites: usize) -> usize {
        sites * self.shape.object.parts() * self.form.component_bytes(self.shape.object, self.shape.precision)
    }

    /// The sites of the field.
    pub fn sites(&self) -> Sites {
        self.shape.sites
    }
}

/// In half precision, projection adds fractions, and the results are not fractions. So spinors are sent whole, which costs little more.
fn form(shape: &Shape, field: &FieldShape) -> PacketForm {
    let kernel = shape.kernel;
    let is_spinor = matches!(field.object, Object::Spinors(_));
    match is_spinor && field.precision != Precision::Half && kernel.projects_neighbours(shape.legs) {
        true => PacketForm::Projected(kernel.dagger),
        false => PacketForm::Whole,
    }
}

/// The packets of a halo: their memory, and their exchange with other ranks. Packets are numbered as in [`Self::packets`]. Outgoing and incoming
/// packets have the same sizes and the same offsets in memory.
///
/// To use it, call [`Self::outgoing`] and write the packets; call [`Self::exchange`] for each of them, in the same order on all ranks; then read the
/// incoming packets. Incoming packets must be read before the packets of the next exchange are written: a device has done the commands of one
/// exchange when it has done the first command of the next.
pub trait PacketRoom: Send {
    /// A number that is unique in the process.
    fn number(&self) -> u64;
    /// For each packet, the leg along which it is read, and its range of bytes.
    fn packets(&self) -> &[(Leg, Range<usize>)];
    /// Memory for the packets that are sent next: all of them, or those of a stage. An exchange begins with the first packet.
    fn outgoing(&mut self, packets: &Range<usize>) -> Placed;
    /// Sends these packets, which have been written, and waits for the incoming ones.
    ///
    /// # Errors
    /// Communication errors, and damaged packets.
    fn exchange(&mut self, packets: Range<usize>) -> Result<(), BackendError>;
    /// The memory of an incoming packet.
    fn incoming(&self, packet: usize) -> Placed;
    /// All memory of outgoing and incoming packets.
    fn memory(&self) -> Vec<Arc<PacketMemory>>;
}

/// A place in memory.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The memory.
    pub memory: Arc<PacketMemory>,
    /// The offset of the first byte, of a packet or of all of them.
    pub start: usize,
}

/// A halo of a call, and the memory of its packets.
pub struct HaloRoom<'r> {
    /// The halo.
    pub halo: Halo,
    /// The room.
    pub room: &'r mut dyn PacketRoom,
}

/// Launches on local volumes, which have neighbours on other ranks.
pub trait Ghosts: Reduce + Sync + 'static {
    /// Runs a kernel that writes fields, after exchanging `halos`: those of fields that are read at neighbours and whose halo is not up to date.
    /// Sites that need no halo may be computed during the exchange; each site is computed entirely by one launch.
    ///
    /// # Errors
    /// Errors of the backend, and of [`PacketRoom::exchange`].
    fn launch_on_part(&self, call: Call<'_, Self>, halos: &mut [HaloRoom<'_>]) -> Result<(), BackendError>;

    /// As [`Self::launch_on_part`], for a kernel that sums. Returns the sums of this local volume.
    fn reduce_on_part(
        &self,
        call: Call<'_, Self>,
        sum: Sum,
        halos: &mut [HaloRoom<'_>],
    ) -> Result<PartialSums, BackendError>;
}

/// Sends the sites of a host field that other ranks read, at the faces of a stage, and writes the incoming sites into its halo.
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

/// Notes that a halo has arrived, in the field's storage or in a copy. Projected spinors occupy the places of whole ones.
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
