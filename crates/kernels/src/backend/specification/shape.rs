//! The shape of a call: everything except its numbers. It has the fields by role, and what the work depends on. Plans, models and counts use it
//! without a backend.

use lanefield_reference::field::{DoubledGauge, FieldShape, Object};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Direction, Lattice, LegOrder, Sites};
use lanefield_reference::real::Precision;

use super::kernel::{FieldOfCall, Kernel, Shape};
use super::roles::{Access, FieldContents, FieldRole, FieldSites, KernelArgument};
use crate::backend::table::MatrixFacts;
use crate::backend::work::Work;

impl Shape {
    /// A call with the fields that the roles of the kernel require, onto `sites`. `parts`: spinors or colour vectors of a site.
    pub fn usual(
        kernel: &'static Kernel,
        (lattice, sites): (Lattice, Sites),
        precision: Precision,
        links: DoubledGauge,
        parts: usize,
    ) -> Self {
        let role = kernel.fields().find(|role| role.name == kernel.target());
        let object =
            role.map_or(Object::Spinors(parts), |role| usual_object(role.holds, Object::Spinors(parts), links));
        let sites = if role.is_some_and(|role| role.at == FieldSites::All) { Sites::Full } else { sites };
        let target = FieldShape { lattice, sites, object, precision };
        let field = |role: FieldRole| FieldOfCall { name: role.name, shape: usual_field(role, &target, links) };
        Self {
            kernel,
            target,
            fields: kernel.fields().map(field).collect(),
            legs: LegOrder::DEFAULT,
            matrix: kernel.arguments.iter().find_map(|argument| match argument {
                KernelArgument::Matrix(form) => Some(MatrixFacts { form: *form, ls: parts, dagger: Dagger::No }),
                _ => None,
            }),
            rhs_parts: 1,
            direction: Direction::T,
            listed: 1,
        }
    }

    /// The lattice.
    pub fn lattice(&self) -> &Lattice {
        &self.target.lattice
    }

    /// The sites of the target.
    pub fn sites(&self) -> Sites {
        self.target.sites
    }

    /// The precision of the target.
    pub fn precision(&self) -> Precision {
        self.target.precision
    }

    /// The precisions of all fields.
    pub fn precisions(&self) -> impl Iterator<Item = Precision> {
        self.fields.iter().map(|field| field.shape.precision)
    }

    /// Components of a site of the target.
    pub fn parts(&self) -> usize {
        self.target.object.parts()
    }

    /// Sites of the target.
    pub fn volume(&self) -> u64 {
        self.target.volume() as u64
    }

    /// Bytes of a stored real. In half precision, the step is not included.
    pub(crate) fn real_bytes(&self) -> u64 {
        self.precision().bits() as u64 / 8
    }

    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&FieldShape> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.shape)
    }

    /// How the links are stored, and their boundary phases.
    pub fn links(&self) -> Option<DoubledGauge> {
        self.fields.iter().find_map(|field| match field.shape.object {
            Object::DoubledGauge(links) => Some(links),
            _ => None,
        })
    }

    /// The number of reals that are stored for a link; 0 if the kernel does not read links.
    pub fn reconstruct(&self) -> usize {
        self.links().map_or(0, |links| links.format.reals())
    }

    /// The work of a launch.
    pub fn work(&self) -> Work {
        (self.kernel.work)(self)
    }

    /// Bytes of all fields as they are stored. A field that is both read and written counts twice; a list counts as often as it has fields.
    pub fn field_bytes(&self) -> u64 {
        let times = |access| if access == Access::Update { 2 } else { 1 };
        let of_role = |role: FieldRole| {
            let bytes = self.field(role.name).map_or(0, FieldShape::device_bytes) as u64;
            let count = if role.holds == FieldContents::Any && role.access == Access::Read && self.is_list(role.name) {
                self.listed as u64
            } else {
                1
            };
            times(role.access) * count * bytes
        };
        self.kernel.fields().map(of_role).sum()
    }

    fn is_list(&self, name: &str) -> bool {
        self.kernel
            .arguments
            .iter()
            .any(|argument| matches!(argument, KernelArgument::Fields(list, _) if *list == name))
    }

    /// Real components of the target, which is what vector operations compute.
    pub fn components(&self) -> u64 {
        self.volume() * 2 * self.target.object.words() as u64
    }
}

/// The object of a field with this role, if the target has the object `target`.
fn usual_object(holds: FieldContents, target: Object, links: DoubledGauge) -> Object {
    match holds {
        FieldContents::Spinors => Object::Spinors(target.parts()),
        FieldContents::ColourVectors => Object::ColourVectors(target.parts()),
        FieldContents::DoubledLinks => Object::DoubledGauge(links),
        FieldContents::Links => Object::Gauge,
        FieldContents::FieldStrength => Object::FieldStrength,
        FieldContents::CloverBlocks => Object::CloverBlocks,
        FieldContents::ComplexNumber => Object::ComplexNumber,
        FieldContents::Exactly(object) => object,
        FieldContents::Any | FieldContents::AnyNumber | FieldContents::Converted => target,
    }
}

fn usual_field(role: FieldRole, target: &FieldShape, links: DoubledGauge) -> FieldShape {
    let object = usual_object(role.holds, target.object, links);
    if role.holds == FieldContents::Converted {
        // Between 32 and 64 bits, and from 32 to half precision.
        let precision = if target.precision == Precision::F32 { Precision::F64 } else { Precision::F32 };
        let lattice = target.lattice.in_scalar(precision.scalar()).unwrap_or(target.lattice);
        return FieldShape { object, precision, lattice, ..*target };
    }
    FieldShape { sites: sites_of(role, target.sites), object, ..*target }
}

/// The sites of a field with this role, if the target has the sites `target`.
pub(super) fn sites_of(role: FieldRole, target: Sites) -> Sites {
    match role.at {
        FieldSites::Target => target,
        FieldSites::Neighbours => target.neighbours(),
        FieldSites::All => Sites::Full,
    }
}

/// Whether a field may have this object in a role. Its sites are checked separately.
pub(super) fn holds(role: FieldRole, given: Object, target: Object) -> bool {
    match (role.holds, given) {
        (FieldContents::Spinors, Object::Spinors(count))
        | (FieldContents::ColourVectors, Object::ColourVectors(count)) => count == target.parts(),
        (FieldContents::Exactly(object), given) => given == object,
        (FieldContents::DoubledLinks, Object::DoubledGauge(_))
        | (FieldContents::Links, Object::Gauge)
        | (FieldContents::FieldStrength, Object::FieldStrength)
        | (FieldContents::CloverBlocks, Object::CloverBlocks)
        | (FieldContents::ComplexNumber, Object::ComplexNumber) => true,
        (FieldContents::Any | FieldContents::Converted, given) => given == target,
        (FieldContents::AnyNumber, given) => target.with_parts(given.parts()) == Some(given),
        _ => false,
    }
}

/// What a role requires, in words.
pub(super) fn asked(role: FieldRole, target: &FieldShape) -> String {
    let what = match role.holds {
        FieldContents::Spinors => "as many spinors a site".to_owned(),
        FieldContents::ColourVectors => "as many colour vectors a site".to_owned(),
        FieldContents::DoubledLinks => "doubled links".to_owned(),
        FieldContents::Links => "links".to_owned(),
        FieldContents::FieldStrength => "field strengths".to_owned(),
        FieldContents::CloverBlocks => "clover blocks".to_owned(),
        FieldContents::ComplexNumber => "complex numbers".to_owned(),
        FieldContents::Exactly(object) => format!("{}s", object.name()),
        FieldContents::Any | FieldContents::Converted => "the same at each site".to_owned(),
        FieldContents::AnyNumber => "any number of the same components at each site".to_owned(),
    };
    let sites = sites_of(role, target.sites);
    let precision =
        if role.holds == FieldContents::Converted { "any precision".to_owned() } else { target.precision.to_string() };
    format!("{what}, in {precision}, on {sites} sites of the lattice of {}", an(target))
}

/// "an f32 spinor field on …"
pub(super) fn an(shape: &FieldShape) -> String {
    let article = if shape.precision == Precision::Half { "a" } else { "an" };
    format!("{article} {}", shape.describe())
}
