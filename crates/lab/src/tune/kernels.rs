//! The kernels that are tuned: their inputs, made once on the host; a launch, on any backend; and the axes of their choices.

use std::time::{Duration, Instant};

use lanefield::backend::opencl::{
    Accumulators, DeviceInfo, DeviceKind, GroupSize, KernelChoice, KernelFamily, LaneForm, LinkLoads, LinkSharing,
    Mapping, Neighbours, StoredPrecision, Stores, Traversal, Tuned, Walk,
};
use lanefield::backend::{Backend, BackendError, Cpu, OpenCl};
use lanefield::verify::{Numbers, TestData, compare_fields};
use lanefield_reference::field::{CloverBlocks, ColourVectors, Field, SiteObject, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, HopTerm};
use lanefield_reference::layout::{Lattice, LegOrder, Parity, Sites, Stencil};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, double};
use serde::{Deserialize, Serialize};

use super::search::{Axis, Trial};

/// The sites that kernels are timed on: solvers with even-odd preconditioning spend their time on one parity.
pub(super) const SITES: Sites = Sites::Parity(Parity::Even);

/// A kernel to tune.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Subject {
    /// The kernel.
    pub kernel: KernelFamily,
    /// How its fields are stored.
    pub precision: StoredPrecision,
    /// How links are stored.
    pub links: LinkFormat,
    /// Spinors or colour vectors a site.
    pub parts: usize,
}

/// Names under which kernels are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Group {
    /// The Wilson hop of one spinor.
    Hop,
    /// Both kernels with a clover term.
    Clover,
    /// The hop of a domain wall of [`LS`] slices.
    DomainWall,
    /// The Laplacian's hop of [`COLOUR_VECTORS`] vectors.
    Laplace,
}

/// Slices of the domain wall that is tuned.
pub const LS: usize = 16;
/// Colour vectors a site that the Laplacian is tuned for.
pub const COLOUR_VECTORS: usize = 12;

impl Group {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Hop, Self::Clover, Self::DomainWall, Self::Laplace];

    /// Its kernels, in the precisions and link formats asked for. The Laplacian has no 16-bit storage.
    pub fn subjects(self, precisions: &[StoredPrecision], links: &[LinkFormat]) -> Vec<Subject> {
        let (kernels, parts): (&[KernelFamily], usize) = match self {
            Self::Hop => (&[KernelFamily::Hop], 1),
            Self::Clover => (&[KernelFamily::CloverEo, KernelFamily::CloverOe], 1),
            Self::DomainWall => (&[KernelFamily::Hop], LS),
            Self::Laplace => (&[KernelFamily::Laplace], COLOUR_VECTORS),
        };
        let mut subjects = Vec::new();
        for &precision in precisions {
            for &links in links {
                subjects.extend(kernels.iter().map(|&kernel| Subject { kernel, precision, links, parts }));
            }
        }
        subjects
            .retain(|subject| subject.kernel != KernelFamily::Laplace || subject.precision != StoredPrecision::Sixteen);
        subjects
    }
}

/// The axes of a kernel's choices on a device, the most promising first.
pub(super) fn axes(device: &DeviceInfo, subject: &Subject, lanes: usize) -> Vec<Axis> {
    const OPEN: KernelChoice = KernelChoice {
        accelerator_threads: None,
        link_loads: None,
        stores: None,
        walk: None,
        traversal: None,
        mapping: None,
        group_size: None,
        most_registers: None,
        lane_form: None,
        accumulators: None,
        neighbours: None,
        link_sharing: None,
        at_once: None,
        parts: None,
        work_items: None,
        a_launch: None,
    };
    let fits = |work_items: &usize| *work_items <= device.max_work_group_size;
    let axis = |name, values| Axis { name, values };
    let mut axes = Vec::new();
    if device.kind == DeviceKind::Cpu {
        let forms = LaneForm::ALL.map(|form| KernelChoice { lane_form: Some(form), ..OPEN });
        axes.push(axis("lane form", forms.into()));
    }
    if subject.parts == 1 {
        let threads = [4, 8, 16, 32, 64].into_iter().filter(|threads| fits(&(threads * lanes)));
        let threads = threads.map(|n| KernelChoice { accelerator_threads: Some(n), ..OPEN });
        axes.push(axis("accelerator threads", threads.collect()));
    } else {
        let at_once = [1, 2, 3, 4].into_iter().filter(|n| subject.parts.is_multiple_of(*n));
        axes.push(axis("at once", at_once.map(|n| KernelChoice { at_once: Some(n), ..OPEN }).collect()));
        let mut groups = Vec::new();
        for parts in [1, 2, 4, 8].into_iter().filter(|&parts| parts <= subject.parts) {
            for work_items in [64, 128, 256, 512].into_iter().filter(fits).filter(|n| *n >= parts * lanes) {
                groups.push(KernelChoice { parts: Some(parts), work_items: Some(work_items), ..OPEN });
            }
        }
        axes.push(axis("group", groups));
    }
    // Where the driver tells how many registers a kernel takes, the number of groups that stay is known.
    let groups: &[Option<usize>] = match (device.kind, device.platform_name.contains("NVIDIA")) {
        (_, true) => &[None],
        (DeviceKind::Cpu, _) => &[Some(1), Some(4)],
        _ => &[Some(2), Some(4), Some(8)],
    };
    let mut walks = vec![Walk::EachGroupOnce];
    walks.extend(groups.iter().map(|&groups| Walk::Persistent(groups)));
    axes.push(axis("walk", walks.into_iter().map(|walk| KernelChoice { walk: Some(walk), ..OPEN }).collect()));
    if matches!(subject.kernel, KernelFamily::CloverEo | KernelFamily::CloverOe) {
        let places = Accumulators::ALL.map(|place| KernelChoice { accumulators: Some(place), ..OPEN });
        axes.push(axis("accumulators", places.into()));
    }
    if device.limits_registers() {
        let limits = [0, 64, 80, 96, 128].map(|n| KernelChoice { most_registers: Some(n), ..OPEN });
        axes.push(axis("registers", limits.into()));
    }
    let sizes = GroupSize::ALL.map(|size| KernelChoice { group_size: Some(size), ..OPEN });
    axes.push(axis("group size", sizes.into()));
    let loads = [LinkLoads::Cached, LinkLoads::PastL1].map(|l| KernelChoice { link_loads: Some(l), ..OPEN });
    let stores = [Stores::Cached, Stores::Streaming].map(|s| KernelChoice { stores: Some(s), ..OPEN });
    axes.push(axis("link loads", loads.into()));
    axes.push(axis("stores", stores.into()));
    let blocks = [[8, 8, 4, usize::MAX], [4, 4, 4, 4], [usize::MAX, 4, 4, usize::MAX]].map(Traversal::Blocks);
    let traversals = [Traversal::Memory].into_iter().chain(blocks);
    axes.push(axis("traversal", traversals.map(|t| KernelChoice { traversal: Some(t), ..OPEN }).collect()));
    let mappings = Mapping::ALL.map(|mapping| KernelChoice { mapping: Some(mapping), ..OPEN });
    axes.push(axis("mapping", mappings.into()));
    if subject.kernel != KernelFamily::Laplace {
        let places = Neighbours::ALL.map(|place| KernelChoice { neighbours: Some(place), ..OPEN });
        axes.push(axis("neighbours", places.into()));
        if subject.parts > 1 {
            let ways = LinkSharing::ALL.map(|sharing| KernelChoice { link_sharing: Some(sharing), ..OPEN });
            axes.push(axis("link sharing", ways.into()));
        }
    }
    if subject.parts > 1 {
        let launches = [subject.parts, 4].into_iter().filter(|n| subject.parts.is_multiple_of(*n));
        axes.push(axis("a launch", launches.map(|n| KernelChoice { a_launch: Some(n), ..OPEN }).collect()));
        // The Laplacian takes all in one launch.
        axes.retain(|axis| axis.name != "a launch" || subject.kernel != KernelFamily::Laplace);
    }
    axes
}

/// What a kernel reads, in spinors `S` or colour vectors `C`, and blocks `B`.
enum Reads<S, C, B> {
    Hop(S),
    Laplace(C),
    Clover { blocks: B, source: S, chi: Option<S> },
}

/// The inputs of a kernel on the host.
pub(super) struct Inputs<R: Vectors> {
    subject: Subject,
    pub lattice: Lattice,
    stencil: Stencil,
    links: Field<R, DoubledGauge>,
    reads: Reads<Field<R, Spinors>, Field<R, ColourVectors>, Field<R, CloverBlocks>>,
}

/// What a kernel reads, held by a backend.
type HeldReads<B, R> = Reads<
    <B as Backend>::Field<R, Spinors>,
    <B as Backend>::Field<R, ColourVectors>,
    <B as Backend>::Field<R, CloverBlocks>,
>;

/// The same on a backend, and the result.
struct Held<B: Backend, R: Vectors> {
    stencil: B::Stencil,
    links: B::Field<R, DoubledGauge>,
    reads: HeldReads<B, R>,
    out: Written<B::Field<R, Spinors>, B::Field<R, ColourVectors>>,
}

/// What a kernel writes.
enum Written<S, C> {
    Spinors(S),
    ColourVectors(C),
}

/// A result on the host.
pub(super) struct Output<R: Vectors>(Written<Field<R, Spinors>, Field<R, ColourVectors>>);

impl<R: Vectors> Inputs<R> {
    /// Random inputs.
    pub fn new(subject: Subject, lattice: Lattice) -> Result<Self, BackendError> {
        fn field<R: Vectors, K: SiteObject>(
            lattice: Lattice,
            sites: Sites,
            kind: K,
            number: u32,
        ) -> Result<Field<R, K>, BackendError> {
            Ok(TestData::new(1).field(lattice, sites, kind, Numbers::Ordinary, number)?)
        }
        let configuration = Configuration::hot(lattice.extents(), 1);
        let doubled = DoubledGauge { format: subject.links, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
        let spinors = |sites, number| field(lattice, sites, Spinors::new(subject.parts), number);
        let reads = match subject.kernel {
            KernelFamily::Hop => Reads::Hop(spinors(SITES.neighbours(), 0)?),
            KernelFamily::Laplace => {
                Reads::Laplace(field(lattice, SITES.neighbours(), ColourVectors::new(subject.parts), 0)?)
            }
            KernelFamily::CloverEo | KernelFamily::CloverOe => Reads::Clover {
                blocks: field(lattice, SITES, CloverBlocks, 1)?,
                source: spinors(SITES.neighbours(), 0)?,
                chi: match subject.kernel {
                    KernelFamily::CloverOe => Some(spinors(SITES, 2)?),
                    _ => None,
                },
            },
        };
        let links = double(&configuration, lattice, SITES, doubled)?;
        Ok(Self { subject, lattice, stencil: Stencil::new(lattice, SITES)?, links, reads })
    }

    fn hold<B: Backend>(&self, backend: &B) -> Result<Held<B, R>, BackendError> {
        let spinors = |field: &Field<R, Spinors>| backend.upload(field.clone());
        let reads = match &self.reads {
            Reads::Hop(source) => Reads::Hop(spinors(source)?),
            Reads::Laplace(source) => Reads::Laplace(backend.upload(source.clone())?),
            Reads::Clover { blocks, source, chi } => Reads::Clover {
                blocks: backend.upload(blocks.clone())?,
                source: spinors(source)?,
                chi: chi.as_ref().map(spinors).transpose()?,
            },
        };
        let (lattice, parts) = (self.lattice, self.subject.parts);
        let out = match self.subject.kernel {
            KernelFamily::Laplace => {
                Written::ColourVectors(backend.zeros(lattice, SITES, ColourVectors::new(parts))?)
            }
            _ => Written::Spinors(backend.zeros(lattice, SITES, Spinors::new(parts))?),
        };
        let stencil = backend.stencil(self.stencil.clone())?;
        Ok(Held { stencil, links: backend.upload(self.links.clone())?, reads, out })
    }

    /// What the CPU reference makes of them.
    pub fn expected(&self, cpu: &Cpu) -> Result<Output<R>, BackendError> {
        cpu.install(|| {
            let mut held = self.hold(cpu)?;
            held.launch(cpu)?;
            held.output(cpu)
        })
    }

    /// The kernel on a device, ready to be searched. `begin`: when the clock of the search began.
    pub fn trial<'b>(&self, device: &'b mut OpenCl, begin: Instant) -> Result<KernelTrial<'b, R>, BackendError> {
        let held = self.hold(&*device)?;
        Ok(KernelTrial { device, held, begin })
    }
}

impl<B: Backend, R: Vectors> Held<B, R> {
    fn launch(&mut self, backend: &B) -> Result<(), BackendError> {
        let Self { stencil, links, reads, out } = self;
        let legs = LegOrder::DEFAULT;
        match (reads, out) {
            (Reads::Hop(source), Written::Spinors(out)) => backend.hop(out, stencil, links, source, legs, Dagger::No),
            (Reads::Clover { blocks, source, chi }, Written::Spinors(out)) => {
                let hop = HopTerm { stencil: &*stencil, links: &*links, source: &*source, legs, dagger: Dagger::No };
                match chi {
                    None => backend.clover_inverse_hop(out, blocks, hop),
                    Some(chi) => backend.clover_minus_hop(out, blocks, chi, hop),
                }
            }
            (Reads::Laplace(source), Written::ColourVectors(out)) => {
                backend.laplace_hop(out, stencil, links, source, legs)
            }
            // `hold` makes no other pairs.
            (Reads::Laplace(_), Written::Spinors(_)) | (_, Written::ColourVectors(_)) => Ok(()),
        }
    }

    /// Forgets the last result, so that a launch that writes nothing is found out.
    fn clear(&mut self, backend: &B) -> Result<(), BackendError> {
        match &mut self.out {
            Written::Spinors(out) => backend.clear(out),
            Written::ColourVectors(out) => backend.clear(out),
        }
    }

    fn output(&self, backend: &B) -> Result<Output<R>, BackendError> {
        Ok(Output(match &self.out {
            Written::Spinors(out) => Written::Spinors(backend.download(out)?),
            Written::ColourVectors(out) => Written::ColourVectors(backend.download(out)?),
        }))
    }
}

/// A kernel on an OpenCL device.
pub(super) struct KernelTrial<'b, R: Vectors> {
    device: &'b mut OpenCl,
    held: Held<OpenCl, R>,
    begin: Instant,
}

/// Launches of a sample: it shall take so long, that the clock of the device resolves it.
const SAMPLE: f64 = 1e-3;
/// At most.
const MOST_LAUNCHES: usize = 20;

impl<R: Vectors> KernelTrial<'_, R> {
    fn sample(&mut self, launches: usize) -> Result<f64, BackendError> {
        let Self { device, held, .. } = self;
        let seconds = device.time(&mut || (0..launches).try_for_each(|_| held.launch(device)))?;
        Ok(seconds / launches as f64)
    }
}

impl<R: Vectors> Trial for KernelTrial<'_, R> {
    type Output = Output<R>;

    fn run(&mut self, choice: &KernelChoice) -> Result<Output<R>, String> {
        let Self { device, held, .. } = self;
        device.set_tuned(Tuned::fixed(*choice));
        let launched = held.clear(device).and_then(|()| held.launch(device)).and_then(|()| held.output(device));
        launched.map_err(|error| error.to_string())
    }

    fn time(&mut self, choice: &KernelChoice) -> Result<f64, String> {
        self.device.set_tuned(Tuned::fixed(*choice));
        let mut sampled = || {
            let one = self.sample(1)?;
            let launches = (SAMPLE / one.max(1e-9)) as usize;
            if launches <= 1 { Ok(one) } else { self.sample(launches.min(MOST_LAUNCHES)) }
        };
        sampled().map_err(|error: BackendError| error.to_string())
    }

    fn difference(&self, found: &Output<R>, expected: &Output<R>) -> Option<String> {
        let mismatch = match (&found.0, &expected.0) {
            (Written::Spinors(found), Written::Spinors(expected)) => compare_fields(found, expected),
            (Written::ColourVectors(found), Written::ColourVectors(expected)) => compare_fields(found, expected),
            _ => return Some("one is a field of spinors, one of colour vectors".to_owned()),
        };
        match mismatch {
            Ok(mismatch) => mismatch.map(|mismatch| mismatch.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}
