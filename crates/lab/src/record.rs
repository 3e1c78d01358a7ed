//! What is recorded of one kernel, timed in one variant.

use std::fmt;

use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Extents, Lattice, LegOrder, Sites};
use lanefield_reference::links::LinkFormat;
use serde::Serialize;

use super::spread::Spread;
use super::variant::Variant;

/// Kernels that belong together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// The Wilson hop.
    Hop,
    /// The clover kernels.
    Clover,
    /// The hop of a domain wall, and what acts along s.
    DomainWall,
    /// The Laplacian's hop.
    Laplace,
    /// Vector operations and norms.
    Blas,
    /// What a batch needs.
    Columns,
    /// From one precision to another.
    Convert,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Hop, Self::Clover, Self::DomainWall, Self::Laplace, Self::Blas, Self::Columns, Self::Convert];

    /// Whether its kernels read links.
    pub fn has_links(self) -> bool {
        matches!(self, Self::Hop | Self::Clover | Self::DomainWall | Self::Laplace)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hop => "hop",
            Self::Clover => "clover",
            Self::DomainWall => "domain-wall",
            Self::Laplace => "laplace",
            Self::Blas => "blas",
            Self::Columns => "columns",
            Self::Convert => "convert",
        })
    }
}

/// What one launch of a kernel does.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Work {
    /// Floating-point operations, as the field counts them.
    pub flops: u64,
    /// Bytes that it has to move at least: each input once, each output once.
    pub bytes: u64,
}

/// What a kernel is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ceiling {
    /// Copy bandwidth: bytes read and written.
    Copy,
    /// Read bandwidth.
    Read,
}

/// The fields that a kernel acts on.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FieldFacts {
    /// Extents x, y, z, t.
    pub lattice: [usize; 4],
    /// Bytes of a vector; none where the lattice could not be laid out.
    pub lane_bytes: Option<usize>,
    /// The cut into lanes, x, y, z, t.
    pub virtual_nodes: Option<[usize; 4]>,
    /// f32, f64 or 16-bit.
    pub precision: &'static str,
    /// `full`, `even` or `odd`: the sites of the result; none where nothing could be made.
    pub sites: Option<String>,
    /// Spinors or colour vectors a site.
    pub spinors: usize,
    /// Reals stored a link; none where there are no links.
    pub link_reals: Option<usize>,
    /// The order of the legs; none where there are none.
    pub legs: Option<String>,
}

impl FieldFacts {
    /// Fields of precision `R` of `spinors` objects a site, without links.
    pub fn new<R: Vectors>(lattice: &Lattice, sites: Sites, spinors: usize) -> Self {
        Self {
            lane_bytes: Some(lattice.width().bytes()),
            virtual_nodes: Some(lattice.nodes().as_array()),
            sites: Some(sites.to_string()),
            ..Self::unmade::<R>(lattice.extents(), spinors)
        }
    }

    /// Fields that could not be made.
    pub fn unmade<R: Vectors>(extents: Extents, spinors: usize) -> Self {
        Self {
            lattice: extents.as_array(),
            lane_bytes: None,
            virtual_nodes: None,
            precision: R::NAME,
            sites: None,
            spinors,
            link_reals: None,
            legs: None,
        }
    }

    /// The same with links and legs.
    pub fn with_links(self, links: LinkFormat, legs: LegOrder) -> Self {
        Self { link_reals: Some(links.reals()), legs: Some(legs.to_string()), ..self }
    }
}

impl fmt::Display for FieldFacts {
    /// What distinguishes rows of a table: not the lattice, nor the order of the legs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.precision)?;
        if let Some(reals) = self.link_reals {
            write!(f, ", links {reals}")?;
        }
        if self.spinors != 1 {
            write!(f, ", ×{}", self.spinors)?;
        }
        if let Some(sites) = &self.sites {
            write!(f, ", {sites}")?;
        }
        match self.lane_bytes {
            Some(bytes) => write!(f, ", lanes {bytes}"),
            None => Ok(()),
        }
    }
}

/// What is known of a kernel before it is timed.
#[derive(Clone, Debug)]
pub struct KernelFacts {
    /// Where it belongs.
    pub family: Family,
    /// Its name.
    pub kernel: String,
    /// What it acts on.
    pub fields: FieldFacts,
    /// What a launch does.
    pub work: Work,
    /// What it is held against.
    pub ceiling: Ceiling,
}

/// One kernel, timed in one variant.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRecord {
    /// Where it belongs.
    pub family: Family,
    /// Its name; that of the family where it could not be prepared.
    pub kernel: String,
    /// What it acts on.
    #[serde(flatten)]
    pub fields: FieldFacts,
    /// What was chosen, in words.
    pub variant: String,
    /// The same, choice by choice.
    pub choices: Variant,
    /// Whether the bits are those of the reference; only a study of what they cost says no.
    pub bit_true: bool,
    /// What a launch does; none where it could not be prepared.
    pub work: Option<Work>,
    /// What it is held against.
    pub ceiling: Ceiling,
    /// Seconds of a launch; none where it could not be run.
    pub seconds: Option<Spread>,
    /// Seconds for each of several launches that are queued one after the other, from the first start to the last end: where launches overlap, less
    /// than one takes by itself. None where that was not asked for, or kernels are not queued.
    pub back_to_back_seconds: Option<f64>,
    /// Why it could not be run.
    pub failure: Option<String>,
}

impl KernelRecord {
    /// A kernel that was not run yet.
    pub fn new(facts: KernelFacts, choices: Variant) -> Self {
        let KernelFacts { family, kernel, fields, work, ceiling } = facts;
        let variant = choices.to_string();
        let work = Some(work);
        Self {
            family,
            kernel,
            fields,
            variant,
            choices,
            bit_true: true,
            work,
            ceiling,
            seconds: None,
            back_to_back_seconds: None,
            failure: None,
        }
    }

    /// Kernels of a family whose fields could not be made.
    pub fn unprepared(family: Family, fields: FieldFacts, choices: Variant, failure: String) -> Self {
        Self {
            family,
            kernel: family.to_string(),
            fields,
            variant: choices.to_string(),
            choices,
            bit_true: true,
            work: None,
            ceiling: Ceiling::Copy,
            seconds: None,
            back_to_back_seconds: None,
            failure: Some(failure),
        }
    }

    /// Floating-point operations a second, at the median time.
    pub fn flops_per_second(&self) -> Option<f64> {
        Some(self.work?.flops as f64 / self.seconds?.median)
    }

    /// Bytes a second, each input and each output once, at the median time.
    pub fn bytes_per_second(&self) -> Option<f64> {
        Some(self.work?.bytes as f64 / self.seconds?.median)
    }
}
