//! The twin of a body: the same kernel in plain loops over sites, without layout, lanes and tables, which judges it. What a twin sees of a call is a
//! [`PlainCall`]: lists in site order, sites by number, neighbours by coordinates.

use std::sync::Arc;

use lanefield_reference::exact::ExactSum;
use lanefield_reference::field::{FieldData, FieldError};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{Coordinate, Displacement, Extents, LEGS, Leg, Sites};
use lanefield_reference::scalar::{self, ScalarWilson};
use num_complex::Complex;

use super::site_lists::places;
use super::{Access, FieldContents, HostCall, Kernel, KernelSource, PlainLinks, Role};
use crate::body::BodyKernel;
use crate::body::program::Program;
use crate::body::sites::SiteLanguage;
use crate::in_precision;

/// A twin of a body.
#[diagnostic::on_unimplemented(
    message = "the body `{Self}` has no twin",
    label = "name it: `check_kernel!(…, twin = function)`, or `#[lane_kernel(twin = function)]` on the body"
)]
pub trait PlainImplementation: 'static {
    /// What the kernel is to do, at all sites.
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>);
}

/// A call as a twin sees it.
pub struct PlainCall<'a, R> {
    kernel: &'static Kernel,
    links: ScalarWilson<'a>,
    extents: Extents,
    target: Sites,
    sites: Vec<usize>,
    parts: usize,
    fields: Vec<PlainField<R>>,
    scalars: Vec<(&'static str, Complex<f64>)>,
    /// The terms of each sum, by site and component.
    terms: Vec<Vec<f64>>,
}

/// A field in site order over the whole lattice.
struct PlainField<R> {
    name: &'static str,
    is_written: bool,
    /// Words of a component.
    words: usize,
    parts: usize,
    values: Vec<Complex<R>>,
}

/// Whoever asks for a field, scalar, sum, argument, site or component that the kernel does not have, or for the body of one that has none, gets a panic.
impl<'a, R: Vectors> PlainCall<'a, R> {
    /// The numbers of the sites that the kernel writes.
    pub fn sites(&self) -> Vec<usize> {
        self.sites.clone()
    }

    /// Components of a site of the target.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Does something at each component of each site that the kernel writes.
    pub fn each(&mut self, mut work: impl FnMut(&mut Self, usize, usize)) {
        for site in self.sites() {
            for part in 0..self.parts {
                work(self, site, part);
            }
        }
    }

    /// Sites of the lattice.
    pub fn volume(&self) -> usize {
        self.extents.volume()
    }

    /// Whether the kernel is a Hermitian conjugate.
    pub fn dagger(&self) -> Dagger {
        self.kernel.dagger
    }

    /// The legs, in the order of the call.
    pub fn legs(&self) -> [Leg; LEGS] {
        self.links.legs.legs()
    }

    /// The coordinates of a site.
    pub fn coordinate(&self, site: usize) -> Coordinate {
        self.extents.coordinate(site)
    }

    /// The neighbour of a site along a leg, on the torus.
    pub fn neighbour(&self, site: usize, leg: Leg) -> usize {
        self.extents.site(scalar::step(self.extents, self.coordinate(site), leg).0)
    }

    /// The site at a displacement of another one, on the torus.
    pub fn displaced(&self, site: usize, displacement: Displacement) -> usize {
        let (mut x, steps) = (self.coordinate(site), displacement.steps());
        for (d, x) in x.iter_mut().enumerate() {
            *x = (*x as isize + steps[d] as isize).rem_euclid(self.extents[d] as isize) as usize;
        }
        self.extents.site(x)
    }

    /// The doubled link of a leg of a site, boundary phase included, as it is rebuilt from what is stored.
    pub fn link(&self, site: usize, leg: Leg) -> scalar::Link<R> {
        self.links.link(self.coordinate(site), leg)
    }

    /// The Wilson hop of a field of spinors at the sites that the kernel writes, or its Hermitian conjugate: 12 words for each component of each
    /// site of the lattice, in site order, zero elsewhere.
    pub fn wilson_hop(&self, name: &str, dagger: Dagger) -> Vec<Complex<R>> {
        self.links.hop(&self.field(name).values, self.target, dagger)
    }

    /// A hop of plain loops of a field of colour vectors, in the same way.
    pub fn hop_of_colours(
        &self,
        hop: impl Fn(&ScalarWilson<'a>, &[Complex<R>], usize, Sites) -> Vec<Complex<R>>,
        name: &str,
    ) -> Vec<Complex<R>> {
        hop(&self.links, &self.field(name).values, self.parts, self.target)
    }

    /// Whether the kernel has a field of that name.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The words of component `part` of a field at a site; of a field with one component a site, that one.
    pub fn read(&self, name: &str, site: usize, part: usize) -> Vec<Complex<R>> {
        let field = self.field(name);
        field.values[field.first(site, part)..][..field.words].to_vec()
    }

    /// The colour matrix of a field at a site.
    pub fn matrix(&self, name: &str, site: usize) -> scalar::Link<R> {
        let words = self.read(name, site, 0);
        std::array::from_fn(|row| std::array::from_fn(|column| words[3 * row + column]))
    }

    /// The colour matrix of a field at a displacement of a site.
    pub(crate) fn matrix_at(&self, name: &str, site: usize, displacement: Displacement) -> scalar::Link<R> {
        self.matrix(name, self.displaced(site, displacement))
    }

    /// Writes a field of colour matrices: at each site what `made` makes of it.
    pub(crate) fn write_matrices(&mut self, name: &str, made: impl Fn(&Self, usize) -> scalar::Link<R>) {
        self.each(|call, site, _| {
            let matrix = made(call, site);
            call.write(name, site, 0, &matrix.concat());
        });
    }

    /// Writes the words of component `part` of a field at a site.
    pub fn write(&mut self, name: &str, site: usize, part: usize, words: &[Complex<R>]) {
        let written = self.fields.iter().filter(|field| field.is_written).map(|field| field.name);
        let none = || panic!("the kernel writes no field {name}: it writes {}", written.collect::<Vec<_>>().join(", "));
        let place = self.fields.iter().position(|field| field.name == name && field.is_written).unwrap_or_else(none);
        let field = &mut self.fields[place];
        let (first, held, given) = (field.first(site, part), field.words, words.len());
        assert!(held == given, "a component of the field {name} has {held} words, and the twin writes {given}");
        field.values[first..][..field.words].copy_from_slice(words);
    }

    /// A scalar of the call, rounded to the precision in which one computes.
    pub fn scalar(&self, name: &str) -> R {
        R::from_f64(self.complex_f64(name).re)
    }

    /// A complex scalar of the call, the same.
    pub fn complex(&self, name: &str) -> Complex<R> {
        let Complex { re, im } = self.complex_f64(name);
        Complex::new(R::from_f64(re), R::from_f64(im))
    }

    /// What component `part` of a site adds to sum number `sum` of the kernel.
    pub fn add(&mut self, sum: usize, site: usize, part: usize, term: f64) {
        self.terms[sum][site * self.parts + part] = term;
    }

    /// What the kernel's body does.
    pub fn program(&self) -> Arc<Program<SiteLanguage>> {
        let program = self.body().program(self.kernel.name, self.links.legs);
        program.unwrap_or_else(|error| panic!("{error}"))
    }

    /// What argument number `argument` of the body is called.
    pub fn name(&self, argument: usize) -> &'static str {
        self.body().names[argument]
    }

    /// The number of the first sum of argument number `argument` of the body.
    pub(crate) fn first_sum(&self, argument: usize) -> usize {
        self.body().first_sum(argument)
    }

    fn body(&self) -> BodyKernel {
        match self.kernel.source {
            KernelSource::Body(body) => body,
            _ => panic!("{} has no body", self.kernel),
        }
    }

    fn complex_f64(&self, name: &str) -> Complex<f64> {
        let known = self.scalars.iter().find(|(known, _)| *known == name);
        let names = || self.scalars.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        known.unwrap_or_else(|| panic!("the kernel has no scalar {name}: its scalars are {}", names())).1
    }

    fn field(&self, name: &str) -> &PlainField<R> {
        let names = || self.fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ");
        let known = self.fields.iter().find(|field| field.name == name);
        known.unwrap_or_else(|| panic!("the kernel has no field {name}: its fields are {}", names()))
    }
}

impl<R> PlainField<R> {
    fn first(&self, site: usize, part: usize) -> usize {
        (site * self.parts + if self.parts == 1 { 0 } else { part }) * self.words
    }
}

/// Runs a twin of a kernel that sums nothing.
///
/// # Errors
/// None that occurs for a call that was checked.
pub fn launch_plain<T: PlainImplementation>(call: &mut HostCall<'_>, links: &PlainLinks<'_>) -> Result<(), FieldError> {
    reduce_plain::<T>(call, links, Sum::Exact).map(drop)
}

/// Runs a twin of a kernel that sums.
///
/// # Errors
/// None that occurs for a call that was checked.
pub fn reduce_plain<T: PlainImplementation>(
    call: &mut HostCall<'_>,
    links: &PlainLinks<'_>,
    sum: Sum,
) -> Result<Vec<f64>, FieldError> {
    in_precision!(call.shape().precision(), R => run::<R>(call, links, sum, T::run))
}

/// A number in another precision.
fn rounded<Q: Vectors, R: Vectors>(number: Complex<Q>) -> Complex<R> {
    Complex::new(R::from_f64(number.re.to_f64()), R::from_f64(number.im.to_f64()))
}

/// A field that a call writes.
type WrittenField<'a, R> = (&'static str, &'a mut FieldData<R>);

impl<'a, R: Vectors> PlainCall<'a, R> {
    /// A call in plain lists, and the fields that it writes.
    pub fn of<'c>(
        call: &mut HostCall<'c>,
        links: &PlainLinks<'a>,
    ) -> Result<(Self, Vec<WrittenField<'c, R>>), FieldError> {
        let (kernel, shape) = (call.kernel(), call.shape().clone());
        let (extents, parts) = (shape.lattice().extents(), shape.parts());
        let sums = if let KernelSource::Body(body) = kernel.source { body.sums() } else { 0 };
        let (mut fields, mut written) = (Vec::new(), Vec::new());
        for role in kernel.fields() {
            let is_written = role.access != Access::Read;
            let mut field = |data: &FieldData<R>| {
                let (words, parts) = (data.object().part_words(), data.object().parts());
                fields.push(PlainField { name: role.name, is_written, words, parts, values: data.to_site_order() });
            };
            if role.holds == FieldContents::Converted {
                let precision = shape.field(role.name).map_or(R::PRECISION, |field| field.precision);
                let (object, values) = in_precision!(precision, Q => {
                    let data = call.data::<Q>(role.name)?;
                    (data.object(), data.to_site_order().into_iter().map(rounded::<Q, R>).collect())
                });
                let (words, parts) = (object.part_words(), object.parts());
                fields.push(PlainField { name: role.name, is_written, words, parts, values });
                continue;
            }
            match is_written {
                true => {
                    let data = call.data_mut::<R>(role.name)?;
                    field(data);
                    written.push((role.name, data));
                }
                false => field(call.data::<R>(role.name)?),
            }
        }
        let mut scalars = Vec::new();
        if let KernelSource::Body(body) = kernel.source {
            for (&name, role) in body.names.iter().zip(body.roles) {
                match role {
                    Role::Scalar => scalars.push((name, Complex::new(call.scalar(name), 0.0))),
                    Role::Complex => scalars.push((name, call.complex(name))),
                    _ => {}
                }
            }
        }
        let sites = (0..extents.volume()).filter(|&site| shape.sites().contain(extents.coordinate(site))).collect();
        let plain = Self {
            kernel,
            links: links.wilson(&shape),
            extents,
            target: shape.sites(),
            sites,
            parts,
            fields,
            scalars,
            terms: vec![vec![0.0; extents.volume() * parts]; sums],
        };
        Ok((plain, written))
    }
}

/// Runs a twin on a call. All but the twin itself is compiled once for each precision: hence a function, and no parameter of type.
fn run<R: Vectors>(
    call: &mut HostCall<'_>,
    links: &PlainLinks<'_>,
    sum: Sum,
    twin: fn(&mut PlainCall<'_, R>),
) -> Result<Vec<f64>, FieldError> {
    let (target, direction) = (call.shape().target, call.shape().direction);
    let (extents, parts) = (target.lattice.extents(), target.object.parts());
    let (mut plain, written) = PlainCall::<R>::of(call, links)?;
    twin(&mut plain);
    // Elements lie in memory component by component of an outer site, lane by lane.
    let order: Vec<usize> = {
        let zeros =
            FieldData::<R>::zeros(target.lattice, target.sites, lanefield_reference::object::Object::ComplexNumber)?;
        let nsimd = target.lattice.nsimd();
        let places: Vec<_> = places(&zeros).collect();
        let site = |osite: usize, lane: usize| {
            extents.site(target.lattice.coordinate(target.sites, places[osite * nsimd + lane]))
        };
        let element = |k: usize| {
            let (osite, part, lane) = (k / (parts * nsimd), k / nsimd % parts, k % nsimd);
            site(osite, lane) * parts + part
        };
        (0..places.len() * parts).map(element).collect()
    };
    for (name, data) in written {
        data.assign(&plain.field(name).values)?;
    }
    let extreme = plain.kernel.extreme();
    let sum_of = |terms: Vec<f64>| match (sum, extreme) {
        (_, Some(extreme)) => extreme.of_all(terms),
        (Sum::Exact, _) => {
            let mut exact = ExactSum::new();
            exact.add_slice(&terms);
            exact.round()
        }
        (Sum::Tree(plan), _) => scalar::tree_sum(plan, &terms),
    };
    let all = |terms: &Vec<f64>| order.iter().map(|&element| terms[element]).collect();
    if !plain.kernel.sums_over_slices() {
        return Ok(plain.terms.iter().map(|terms| sum_of(all(terms))).collect());
    }
    let slice = |element: usize| extents.coordinate(element / parts)[direction.index()];
    let of_slice = |terms: &Vec<f64>, number: usize| {
        order.iter().filter(|&&element| slice(element) == number).map(|&element| terms[element]).collect()
    };
    let slices =
        (0..extents[direction.index()]).flat_map(|number| plain.terms.iter().map(move |terms| (number, terms)));
    Ok(slices.map(|(number, terms)| sum_of(of_slice(terms, number))).collect())
}
