//! A backend that is chosen at run time: the CPU reference or an OpenCL device, on a whole lattice or on the local volume of a rank. Programs use
//! it, so that code that is generic over [`Backend`](crate::backend::Backend) is compiled only once for them. It costs one `match` per launch, and a
//! pass over the list of arguments.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

use lanefield_reference::field::FieldShape;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::layout::{Reach, Stencil};
use lanefield_reference::prelude::*;

use crate::backend::opencl::{DeviceStorage, DeviceTable};
use crate::backend::specification::{Call, Inside};
use crate::backend::{
    AnyField, BackendError, Cpu, HostField, HostTable, Launch, LaunchSequence, Memory, OpenCl, PartialSums,
    QueuedBounds, QueuedIterations, QueuedSums, Reduce, Step, Sum, Table, TableFacts,
};
use crate::comm::{OnRanks, PacketBuffers, RanksOptions, WholeLattice};

/// The CPU reference or an OpenCL device, on a whole lattice or on the local volume of a rank. A backend rejects fields and tables of another one.
pub struct AnyBackend {
    on: BackendOn,
    /// The CPU reference, if the device has no f64; created on first use.
    in_f64: OnceLock<Option<Box<AnyBackend>>>,
}

enum BackendOn {
    Cpu(Box<Cpu>),
    OpenCl(Box<OpenCl>),
    CpuOnRanks(Box<OnRanks<Cpu>>),
    OpenClOnRanks(Box<OnRanks<OpenCl>>),
}

/// The backend that computes on this rank.
#[derive(Clone, Copy, Debug)]
pub enum Here<'b> {
    /// The CPU reference.
    Cpu(&'b Cpu),
    /// An OpenCL device.
    OpenCl(&'b OpenCl),
}

/// Evaluates an expression with `$b` bound to the concrete backend.
macro_rules! on {
    ($backend:expr, $b:ident => $work:expr) => {
        match &$backend.on {
            BackendOn::Cpu($b) => $work,
            BackendOn::OpenCl($b) => $work,
            BackendOn::CpuOnRanks($b) => $work,
            BackendOn::OpenClOnRanks($b) => $work,
        }
    };
}

/// The numbers of a field: on the CPU reference, or on an OpenCL device.
#[derive(Debug)]
pub enum AnyStorage {
    /// On the host.
    Host(AnyField<HostField>),
    /// On a device.
    Device(AnyField<DeviceStorage>),
}

/// A table of the CPU reference, or of an OpenCL device.
#[derive(Debug)]
pub enum AnyTable {
    /// On the host.
    Host(HostTable),
    /// On a device.
    Device(DeviceTable),
}

impl Table for AnyTable {
    fn facts(&self) -> TableFacts {
        match self {
            Self::Host(table) => table.facts(),
            Self::Device(table) => table.facts(),
        }
    }
}

/// A backend that [`AnyBackend`] can be.
trait KnownBackend: Reduce + Sized + 'static {
    const INSIDE: Inside<AnyBackend, Self>;
    fn of(backend: &AnyBackend) -> Option<&Self>;
    fn storage(field: AnyField<Self::Storage>) -> AnyStorage;
    fn table(table: Self::Table) -> AnyTable;

    fn field(field: &AnyField<AnyStorage>) -> Result<&AnyField<Self::Storage>, BackendError> {
        (Self::INSIDE.read)(field).ok_or_else(elsewhere)
    }
}

fn elsewhere() -> BackendError {
    BackendError::device(Elsewhere)
}

#[derive(Debug, thiserror::Error)]
#[error("a field of another backend, or iterations queued on one: upload the field to the backend that computes")]
struct Elsewhere;

macro_rules! known {
    ($($Backend:ty: $BackendOn:ident, $place:ident;)+) => {$(
        impl KnownBackend for $Backend {
            const INSIDE: Inside<AnyBackend, Self> = Inside {
                read: |field| match field.storage() {
                    AnyStorage::$place(field) => Some(field),
                    _ => None,
                },
                write: |field| match field.storage_mut() {
                    AnyStorage::$place(field) => Some(field),
                    _ => None,
                },
                table: |table| match table {
                    AnyTable::$place(table) => Some(table),
                    _ => None,
                },
            };
            fn of(backend: &AnyBackend) -> Option<&Self> {
                match &backend.on {
                    BackendOn::$BackendOn(backend) => Some(backend),
                    _ => None,
                }
            }
            fn storage(field: AnyField<Self::Storage>) -> AnyStorage {
                AnyStorage::$place(field)
            }
            fn table(table: Self::Table) -> AnyTable {
                AnyTable::$place(table)
            }
        }

        impl From<$Backend> for AnyBackend {
            fn from(backend: $Backend) -> Self {
                Self { on: BackendOn::$BackendOn(Box::new(backend)), in_f64: OnceLock::new() }
            }
        }
    )+};
}

known! {
    Cpu: Cpu, Host;
    OpenCl: OpenCl, Device;
    OnRanks<Cpu>: CpuOnRanks, Host;
    OnRanks<OpenCl>: OpenClOnRanks, Device;
}

impl AnyBackend {
    /// The same backend on the local volume of this rank; unchanged if there is one rank. Fields that are created later have the layout of the local
    /// volume.
    #[must_use]
    pub fn on_ranks(self, lattice: &WholeLattice, options: RanksOptions) -> Self {
        if lattice.communicator().ranks() == 1 {
            return self.alone();
        }
        match self.alone().on {
            BackendOn::Cpu(cpu) => OnRanks::new(*cpu, lattice.clone(), options).into(),
            BackendOn::OpenCl(mut device) => {
                device.set_on_parts(true);
                OnRanks::new(*device, lattice.clone(), options).into()
            }
            on => Self { on, in_f64: OnceLock::new() },
        }
    }

    /// The backend of this rank, for whole lattices.
    #[must_use]
    pub fn alone(self) -> Self {
        match self.on {
            BackendOn::CpuOnRanks(ranks) => ranks.into_backend().into(),
            BackendOn::OpenClOnRanks(ranks) => {
                let mut device = ranks.into_backend();
                device.set_on_parts(false);
                device.into()
            }
            on => Self { on, in_f64: OnceLock::new() },
        }
    }

    /// The backend that computes on this rank.
    pub fn here(&self) -> Here<'_> {
        match &self.on {
            BackendOn::Cpu(cpu) => Here::Cpu(cpu),
            BackendOn::CpuOnRanks(ranks) => Here::Cpu(ranks.backend()),
            BackendOn::OpenCl(device) => Here::OpenCl(device),
            BackendOn::OpenClOnRanks(ranks) => Here::OpenCl(ranks.backend()),
        }
    }

    /// The OpenCL device, if it is one.
    pub fn opencl(&self) -> Option<&OpenCl> {
        match self.here() {
            Here::OpenCl(device) => Some(device),
            Here::Cpu(_) => None,
        }
    }

    /// The OpenCL device, mutably.
    pub fn opencl_mut(&mut self) -> Option<&mut OpenCl> {
        match &mut self.on {
            BackendOn::OpenCl(device) => Some(device),
            BackendOn::OpenClOnRanks(ranks) => Some(ranks.backend_mut()),
            _ => None,
        }
    }

    /// Runs `work` on the threads of the CPU reference, if that is the backend that computes.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.here() {
            Here::Cpu(cpu) => cpu.install(work),
            Here::OpenCl(_) => work(),
        }
    }

    /// A field on the host: borrowed if it is there already, otherwise copied.
    pub fn show<'f>(&self, field: &'f AnyField<AnyStorage>) -> Result<Cow<'f, HostField>, BackendError> {
        match field.storage() {
            AnyStorage::Host(field) => Ok(Cow::Borrowed(field.storage())),
            AnyStorage::Device(_) => self.load(field).map(Cow::Owned),
        }
    }

    /// Packet buffers for a packet of `bytes` along each leg ([`OnRanks::room`]); `None` on one rank.
    pub fn room(&self, bytes: &[(Leg, usize)]) -> Result<Option<PacketBuffers>, BackendError> {
        match &self.on {
            BackendOn::CpuOnRanks(ranks) => ranks.room(bytes).map(Some),
            BackendOn::OpenClOnRanks(ranks) => ranks.room(bytes).map(Some),
            _ => Ok(None),
        }
    }
}

impl fmt::Debug for AnyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Memory for AnyBackend {
    type Storage = AnyStorage;
    type Table = AnyTable;

    fn describe(&self) -> String {
        on!(self, b => b.describe())
    }
    fn building(&self) -> Duration {
        on!(self, b => b.building())
    }
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        on!(self, b => b.lanes(asked_for))
    }
    fn largest(&self, here: f64) -> Result<f64, BackendError> {
        on!(self, b => b.largest(here))
    }
    /// The CPU reference that computes in f64 for a device without it.
    fn in_f64(&self) -> &Self {
        if self.opencl().is_none_or(|device| device.context().info().fp64) {
            return self;
        }
        let cpu = || {
            let cpu = Cpu::new(None).ok()?;
            Some(Box::new(match &self.on {
                BackendOn::OpenClOnRanks(ranks) => ranks.beside(cpu).into(),
                _ => cpu.into(),
            }))
        };
        self.in_f64.get_or_init(cpu).as_deref().unwrap_or(self)
    }
    fn allocate(&self, shape: &FieldShape) -> Result<AnyStorage, BackendError> {
        fn allocate<B: KnownBackend>(backend: &B, shape: &FieldShape) -> Result<AnyStorage, BackendError> {
            AnyField::zeros(backend, *shape).map(B::storage)
        }
        on!(self, b => allocate(&**b, shape))
    }
    fn fill_zero(&self, field: &mut AnyField<AnyStorage>) -> Result<(), BackendError> {
        fn fill_zero<B: KnownBackend>(backend: &B, field: &mut AnyField<AnyStorage>) -> Result<(), BackendError> {
            backend.fill_zero((B::INSIDE.write)(field).ok_or_else(elsewhere)?)
        }
        on!(self, b => fill_zero(&**b, field))
    }
    fn store(&self, field: Cow<'_, HostField>) -> Result<AnyStorage, BackendError> {
        fn store<B: KnownBackend>(backend: &B, field: Cow<'_, HostField>) -> Result<AnyStorage, BackendError> {
            AnyField::store(backend, field).map(B::storage)
        }
        on!(self, b => store(&**b, field))
    }
    fn load(&self, field: &AnyField<AnyStorage>) -> Result<HostField, BackendError> {
        fn load<B: KnownBackend>(backend: &B, field: &AnyField<AnyStorage>) -> Result<HostField, BackendError> {
            backend.load(B::field(field)?)
        }
        on!(self, b => load(&**b, field))
    }
    fn load_with_ghosts(&self, field: &AnyField<AnyStorage>, reach: Reach) -> Result<HostField, BackendError> {
        fn load<B: KnownBackend>(b: &B, field: &AnyField<AnyStorage>, reach: Reach) -> Result<HostField, BackendError> {
            b.load_with_ghosts(B::field(field)?, reach)
        }
        on!(self, b => load(&**b, field, reach))
    }
    fn stencil(&self, stencil: Stencil) -> Result<AnyTable, BackendError> {
        fn table<B: KnownBackend>(backend: &B, stencil: Stencil) -> Result<AnyTable, BackendError> {
            backend.stencil(stencil).map(B::table)
        }
        on!(self, b => table(&**b, stencil))
    }
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<AnyTable, BackendError> {
        fn table<B: KnownBackend>(
            backend: &B,
            matrix: &SMatrix,
            precision: Precision,
        ) -> Result<AnyTable, BackendError> {
            backend.matrix(matrix, precision).map(B::table)
        }
        on!(self, b => table(&**b, matrix, precision))
    }
    fn finish(&self) -> Result<(), BackendError> {
        on!(self, b => b.finish())
    }
}

impl Launch for AnyBackend {
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        on!(self, b => b.launch(call.inside(&KnownBackend::INSIDE)?))
    }

    fn sequence(&self, queues: usize) -> Box<dyn LaunchSequence<Self>> {
        on!(self, b => on_known(&**b, b.sequence(queues)))
    }
}

impl Reduce for AnyBackend {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        on!(self, b => b.reduce(call.inside(&KnownBackend::INSIDE)?, sum))
    }

    fn queued_iterations(&self, sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>> {
        on!(self, b => b.queued_iterations(sum).map(|queued| on_known(&**b, queued) as _))
    }
}

/// A sequence of the concrete backend.
struct OnKnown<B, S: ?Sized> {
    sequence: Box<S>,
    backend: PhantomData<fn(&B)>,
}

fn on_known<B, S: ?Sized>(_: &B, sequence: Box<S>) -> Box<OnKnown<B, S>> {
    Box::new(OnKnown { sequence, backend: PhantomData })
}

impl<B: KnownBackend, S: LaunchSequence<B> + ?Sized> LaunchSequence<AnyBackend> for OnKnown<B, S> {
    fn set(&mut self, scalar: usize, value: f64) {
        self.sequence.set(scalar, value);
    }
    fn set_field(
        &mut self,
        launch: usize,
        name: &'static str,
        field: &AnyField<AnyStorage>,
    ) -> Result<(), BackendError> {
        self.sequence.set_field(launch, name, B::field(field)?)
    }
    fn repeat(&mut self, backend: &AnyBackend) -> Result<bool, BackendError> {
        self.sequence.repeat(B::of(backend).ok_or_else(elsewhere)?)
    }
    fn launch(&mut self, backend: &AnyBackend, call: Call<'_, AnyBackend>, step: &Step) -> Result<(), BackendError> {
        self.sequence.launch(B::of(backend).ok_or_else(elsewhere)?, call.inside(&B::INSIDE)?, step)
    }
    fn end(&mut self, backend: &AnyBackend) -> Result<(), BackendError> {
        self.sequence.end(B::of(backend).ok_or_else(elsewhere)?)
    }
}

impl<B: KnownBackend> QueuedIterations<AnyBackend> for OnKnown<B, dyn QueuedIterations<B>> {
    fn begin(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<(), BackendError> {
        self.sequence.begin(bounds, iterations)
    }
    fn launch_at_once(&mut self, backend: &AnyBackend, call: Call<'_, AnyBackend>) -> Result<bool, BackendError> {
        self.sequence.launch_at_once(B::of(backend).ok_or_else(elsewhere)?, call.inside(&B::INSIDE)?)
    }
    fn sums(&mut self, backend: &AnyBackend) -> Result<QueuedSums, BackendError> {
        self.sequence.sums(B::of(backend).ok_or_else(elsewhere)?)
    }
}

#[cfg(test)]
mod tests {
    use lanefield_reference::real::Real as _;

    use super::*;
    use crate::backend::FieldOn;
    use crate::backend::opencl::devices;
    use crate::kernel::prelude::*;

    fn field(extents: [usize; 4]) -> Field<f64, Spinors> {
        let lattice = Lattice::new(Extents::new(extents).unwrap(), f64::COMPLEX, LatticeOptions::default()).unwrap();
        Field::from_sites(lattice, Sites::Full, Spinors::ONE, |site, spinor| {
            spinor.fill(Complex::new(1.0 / (site + 3) as f64, -0.25));
        })
        .unwrap()
    }

    #[test]
    fn what_it_computes_has_the_bits_of_the_backend_that_it_is() {
        let (cpu, x) = (Cpu::new(None).unwrap(), field([4, 4, 4, 8]));
        let any = AnyBackend::from(cpu.clone());
        let (on_cpu, on_any) = (cpu.upload(x.clone()).unwrap(), any.upload(x.clone()).unwrap());
        let (mut of_cpu, mut of_any) = (cpu.upload(x.clone()).unwrap(), any.upload(x).unwrap());
        let norms = [
            cpu.axpy_norm(0.1, &on_cpu, &mut of_cpu, Sum::Exact).unwrap(),
            any.axpy_norm(0.1, &on_any, &mut of_any, Sum::Exact).unwrap(),
        ];
        assert_eq!(norms[0].to_bits(), norms[1].to_bits());
        assert_eq!(cpu.download(&of_cpu).unwrap().reals(), any.download(&of_any).unwrap().reals());
        assert!(matches!(any.show(of_any.any()).unwrap(), Cow::Borrowed(_)));
        any.clear(&mut of_any).unwrap();
        assert_eq!(any.norm2(&of_any, Sum::Exact).unwrap(), 0.0);
    }

    #[test]
    fn one_rank_is_no_rank() {
        let any = AnyBackend::from(Cpu::new(None).unwrap());
        let alone = WholeLattice::alone(Extents::new([4; 4]).unwrap());
        let any = any.on_ranks(&alone, RanksOptions::default());
        assert!(matches!(any.on, BackendOn::Cpu(_)));
        assert!(any.room(&[]).unwrap().is_none());
    }

    #[test]
    fn a_field_of_another_backend_is_refused() {
        let Some(info) = devices().ok().and_then(|devices| devices.into_iter().find(|device| device.fp64)) else {
            return;
        };
        let (cpu, device) = (AnyBackend::from(Cpu::new(None).unwrap()), AnyBackend::from(OpenCl::open(&info).unwrap()));
        let x: FieldOn<AnyBackend, f64, Spinors> = cpu.upload(field([4, 4, 4, 4])).unwrap();
        let mut y = device.upload(field([4, 4, 4, 4])).unwrap();
        let error = device.axpy(1.0, &x, &mut y).unwrap_err().to_string();
        assert!(error.contains("a field of another backend"), "{error}");
        let error = device.download(&x).unwrap_err().to_string();
        assert!(error.contains("of another backend"), "{error}");
    }
}
