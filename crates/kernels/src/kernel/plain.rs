//! Reference implementations of kernel functions: the same kernel as loops over sites, without layout, lanes and tables. They are the standard with
//! which the kernel is compared. They see a call as a [`PlainCall`]: lists in site order, sites by number, neighbours by coordinates.

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

/// A reference implementation of a kernel function.
#[diagnostic::on_unimplemented(
    message = "the body `{Self}` has no twin",
    label = "name it: `check_kernel!(…, twin = function)`, or `#[lane_kernel(twin = function)]` on the body"
)]
pub trait PlainImplementation: 'static {
    /// Computes the kernel at all sites.
    fn run<R: Vectors>(call: &mut PlainCall<'_, R>);
}

/// A call as a reference implementation sees it.
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
    /// The number of words of a component.
    words: usize,
    parts: usize,
    values: Vec<Complex<R>>,
}

/// All functions panic if the kernel does not have the requested field, scalar, sum, argument, site or component, or is not defined by a kernel
/// function.
impl<'a, R: Vectors> PlainCall<'a, R> {
    /// The numbers of the sites that the kernel writes.
    pub fn sites(&self) -> Vec<usize> {
        self.sites.clone()
    }

    /// The number of components of a site of the target.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Calls `work` for each component of each site that the kernel writes.
    pub fn each(&mut self, mut work: impl FnMut(&mut Self, usize, usize)) {
        for site in self.sites() {
            for part in 0..self.parts {
                work(self, site, part);
            }
        }
    }

    /// The number of sites of the lattice.
    pub fn volume(&self) -> usize {
        self.extents.volume()
    }

    /// Whether the kernel is the Hermitian conjugate.
    pub fn dagger(&self) -> Dagger {
        self.kernel.dagger
    }

    /// The legs in the leg order of the call.
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

    /// The site at a displacement from another one, on the torus.
    pub fn displaced(&self, site: usize, displacement: Displacement) -> usize {
        let (mut x, steps) = (self.coordinate(site), displacement.steps());
        for (d, x) in x.iter_mut().enumerate() {
            *x = (*x as isize + steps[d] as isize).rem_euclid(self.extents[d] as isize) as usize;
        }
        self.extents.site(x)
    }

    /// The doubled link of a leg of a site, with its boundary phase, rebuilt from the stored reals.
    pub fn link(&self, site: usize, leg: Leg) -> scalar::Link<R> {
        self.links.link(self.coordinate(site), leg)
    }

    /// The Wilson hop of a field of spinors at the sites that the kernel writes, or its Hermitian conjugate. It has 12 words for each component of
    /// each site of the lattice, in site order. The other sites are zero.
    pub fn wilson_hop(&self, name: &str, dagger: Dagger) -> Vec<Complex<R>> {
        self.links.hop(&self.field(name).values, self.target, dagger)
    }

    /// As [`Self::wilson_hop`], for a hop of a field of colour vectors.
    pub fn hop_of_colours(
        &self,
        hop: impl Fn(&ScalarWilson<'a>, &[Complex<R>], usize, Sites) -> Vec<Complex<R>>,
        name: &str,
    ) -> Vec<Complex<R>> {
        hop(&self.links, &self.field(name).values, self.parts, self.target)
    }

    /// Whether the kernel has a field with this name.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// The words of component `part` of a field at a site. If the field has one component at a site, it is that one.
    pub fn read(&self, name: &str, site: usize, part: usize) -> Vec<Complex<R>> {
        let field = self.field(name);
        field.values[field.first(site, part)..][..field.words].to_vec()
    }

    /// The colour matrix of a field at a site.
    pub fn matrix(&self, name: &str, site: usize) -> scalar::Link<R> {
        let words = self.read(name, site, 0);
        std::array::from_fn(|row| std::array::from_fn(|column| words[3 * row + column]))
    }

    /// The colour matrix of a field at a displacement from a site.
    pub(crate) fn matrix_at(&self, name: &str, site: usize, displacement: Displacement) -> scalar::Link<R> {
        self.matrix(name, self.displaced(site, displacement))
    }

    /// Writes a field of colour matrices, with `made` for the matrix of each site.
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
        assert!(
            held == given,
            "a component of the field {name} has {held} words, but the reference implementation writes {given}"
        );
        field.values[first..][..field.words].copy_from_slice(words);
    }

    /// A scalar of the call, rounded to the working precision.
    pub fn scalar(&self, name: &str) -> R {
        R::from_f64(self.complex_f64(name).re)
    }

    /// A complex scalar of the call, rounded to the working precision.
    pub fn complex(&self, name: &str) -> Complex<R> {
        let Complex { re, im } = self.complex_f64(name);
        Complex::new(R::from_f64(re), R::from_f64(im))
    }

    /// Adds a term of component `part` of a site to sum number `sum` of the kernel.
    pub fn add(&mut self, sum: usize, site: usize, part: usize, term: f64) {
        self.terms[sum][site * self.parts + part] = term;
    }

    /// The recorded program of the kernel function.
    pub fn program(&self) -> Arc<Program<SiteLanguage>> {
        let program = self.body().program(self.kernel.name, self.links.legs);
        program.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The name of argument number `argument` of the kernel function.
    pub fn name(&self, argument: usize) -> &'static str {
        self.body().names[argument]
    }

    /// The number of the first sum of argument number `argument` of the kernel function.
    pub(crate) fn first_sum(&self, argument: usize) -> usize {
        self.body().first_sum(argument)
    }

    fn body(&self) -> BodyKernel {
        match self.kernel.source {
            KernelSource::Body(body) => body,
            _ => panic!("{} is not defined by a kernel function", self.kernel),
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

/// Runs the reference implementation of a kernel without sums.
///
/// # Errors
/// Never for a call that has been checked.
pub fn launch_plain<T: PlainImplementation>(call: &mut HostCall<'_>, links: &PlainLinks<'_>) -> Result<(), FieldError> {
    reduce_plain::<T>(call, links, Sum::Exact).map(drop)
}

/// Runs the reference implementation of a kernel with sums.
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

/// Converts a number to another precision.
fn rounded<Q: Vectors, R: Vectors>(number: Complex<Q>) -> Complex<R> {
    Complex::new(R::from_f64(number.re.to_f64()), R::from_f64(number.im.to_f64()))
}

/// A field that a call writes.
type WrittenField<'a, R> = (&'static str, &'a mut FieldData<R>);

impl<'a, R: Vectors> PlainCall<'a, R> {
    /// A call with its inputs as lists, and the fields that it writes.
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

/// Runs a reference implementation on a call. It is passed as a function and not as a type parameter, so that this code is compiled only once for
/// each precision.
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
