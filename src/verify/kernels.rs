//! Every kernel on one random case, on all the sites that its lattice has: the backend under test against the reference.

use lanefield_reference::field::{ColourVectors, Field, SiteObject, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Sites, Stencil};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::sixteen::Sixteen;

use super::compare::{Difference, Mismatch, compare_fields};
use super::data::Numbers;
use super::{Case, Compared, HopInputs, Reference, Rows, Subject, VerifyError};
use crate::backend::{Backend, Cpu, Sum};
use crate::operator::HopParameters;

/// One case on one backend.
pub(super) struct KernelChecks<'a, B, P> {
    pub tested: &'a B,
    pub reference: &'a P,
    /// Makes data, and compares.
    pub host: &'a Cpu,
    pub case: &'a Case,
    /// Whether kernels that take long to build are checked too.
    pub thorough: bool,
}

type Host<R> = Field<R, Spinors>;

impl<B: Backend, P: Reference + Sync> KernelChecks<'_, B, P> {
    /// Every kernel on every set of sites.
    pub fn run<R: Vectors>(&self, rows: &mut Rows) -> Result<(), VerifyError> {
        let Self { case, host, .. } = self;
        let configuration = host.install(|| case.data.configuration::<R>(case.lattice.extents(), case.links))?;
        for &sites in case.sites() {
            self.hop::<R>(rows, &configuration, sites)?;
            self.laplace_hop::<R>(rows, &configuration, sites)?;
            self.vectors::<R>(rows, sites)?;
            self.sums::<R>(rows, sites)?;
        }
        match R::BITS {
            64 => self.convert::<R, f32>(rows)?,
            _ => self.convert::<R, f64>(rows)?,
        }
        if self.thorough {
            self.clover::<R>(rows, &configuration)?;
            self.columns::<R>(rows)?;
            self.convert::<R, Sixteen>(rows)?;
        }
        self.along_s::<R>(rows)
    }

    /// The kernels that solves in 16-bit storage run through, on one of the sets of sites. `R` is f32's lattice's 16-bit storage.
    pub fn run_stored<R: Vectors>(&self, rows: &mut Rows) -> Result<(), VerifyError> {
        let Self { case, host, .. } = self;
        let configuration = host.install(|| case.data.configuration::<R>(case.lattice.extents(), case.links))?;
        let sites = case.sites()[case.number as usize / 2 % case.sites().len()];
        self.hop::<R>(rows, &configuration, sites)?;
        self.vectors::<R>(rows, sites)?;
        self.sums::<R>(rows, sites)?;
        self.clover::<R>(rows, &configuration)?;
        self.columns::<R>(rows)?;
        self.convert::<R, f32>(rows)?;
        self.convert::<R, f64>(rows)?;
        self.along_s::<R>(rows)
    }

    fn spinor<R: Vectors>(&self, sites: Sites, field: u32) -> Result<Host<R>, VerifyError> {
        let Self { case, host, .. } = self;
        Ok(host.install(|| case.data.spinor(case.lattice, sites, case.spinors, field))?)
    }

    /// Compares a field of the backend under test with the reference's.
    pub(super) fn compare<R: Vectors, K: SiteObject>(
        &self,
        found: &B::Field<R, K>,
        expected: &Field<R, K>,
    ) -> Result<Compared, VerifyError> {
        self.same(&self.tested.download(found)?, expected)
    }

    /// Compares two fields of the host.
    pub(super) fn same<R: Vectors, K: SiteObject>(
        &self,
        found: &Field<R, K>,
        expected: &Field<R, K>,
    ) -> Result<Compared, VerifyError> {
        let mismatch = self.host.install(|| compare_fields(found, expected))?;
        Ok(Compared {
            components: found.reals().len() as u64,
            mismatch: mismatch.map(|mismatch| Mismatch::Field(Box::new(mismatch))),
        })
    }

    fn hop<R: Vectors>(&self, rows: &mut Rows, configuration: &Configuration, sites: Sites) -> Result<(), VerifyError> {
        let Self { tested, reference, host, case, .. } = *self;
        let (lattice, legs) = (case.lattice, case.legs);
        let source = self.spinor::<R>(sites.neighbours(), 0)?;
        let held_source = tested.upload(source.clone())?;
        let stencil = Stencil::new(lattice, sites)?;
        let held_stencil = tested.stencil(stencil.clone())?;
        // A result must not depend on what was there before.
        let mut out = tested.upload(self.spinor::<R>(sites, 1)?)?;
        for &format in case.links.formats().iter().filter(|&&format| tested.takes_links::<R>(format).is_ok()) {
            let kind = DoubledGauge { format, boundary: case.boundary };
            let links = host.install(|| double(configuration, lattice, sites, kind))?;
            let held_links = tested.upload(links.clone())?;
            let parameters = HopParameters { boundary: case.boundary, links: format, legs };
            let inputs = HopInputs { configuration, parameters, links: &links, stencil: &stencil };
            for dagger in Dagger::BOTH {
                let words = || format!("{case}, {sites} sites");
                rows.check::<R>(Subject::Hop(format, dagger), (case.number, &words), || {
                    tested.hop(&mut out, &held_stencil, &held_links, &held_source, legs, dagger)?;
                    let expected = host.install(|| reference.hop(&inputs, &source, dagger))?;
                    self.compare(&out, &expected)
                })?;
            }
        }
        Ok(())
    }

    fn laplace_hop<R: Vectors>(
        &self,
        rows: &mut Rows,
        configuration: &Configuration,
        sites: Sites,
    ) -> Result<(), VerifyError> {
        let Self { tested, reference, host, case, .. } = *self;
        let (lattice, legs, object) = (case.lattice, case.legs, ColourVectors::new(case.colour_vectors));
        let vectors =
            |sites, field| host.install(|| case.data.field::<R, _>(lattice, sites, object, case.spinors, field));
        let source = vectors(sites.neighbours(), 0)?;
        let held_source = tested.upload(source.clone())?;
        let stencil = Stencil::new(lattice, sites)?;
        let held_stencil = tested.stencil(stencil.clone())?;
        // A result must not depend on what was there before.
        let mut out = tested.upload(vectors(sites, 1)?)?;
        let words = || format!("{case}, {sites} sites, {} colour vectors a site", object.count());
        for &format in case.links.formats().iter().filter(|&&format| tested.takes_links::<R>(format).is_ok()) {
            let kind = DoubledGauge { format, boundary: case.boundary };
            let links = host.install(|| double(configuration, lattice, sites, kind))?;
            let held_links = tested.upload(links.clone())?;
            let parameters = HopParameters { boundary: case.boundary, links: format, legs };
            let inputs = HopInputs { configuration, parameters, links: &links, stencil: &stencil };
            rows.check::<R>(Subject::LaplaceHop(format), (case.number, &words), || {
                tested.laplace_hop(&mut out, &held_stencil, &held_links, &held_source, legs)?;
                let expected = host.install(|| reference.laplace_hop(&inputs, &source))?;
                self.compare(&out, &expected)
            })?;
        }
        Ok(())
    }

    fn vectors<R: Vectors>(&self, rows: &mut Rows, sites: Sites) -> Result<(), VerifyError> {
        let Self { tested, reference, case, .. } = *self;
        let [x, y, z] = [self.spinor::<R>(sites, 1)?, self.spinor(sites, 2)?, self.spinor(sites, 3)?];
        let hold = |field: &Host<R>| tested.upload(field.clone());
        let held_x = hold(&x)?;
        let [a, b] = [0, 1].map(|number| case.data.scalar::<R>(scalars(case.spinors), number));
        let words = || format!("{case}, {sites} sites, a = {a:e}, b = {b:e}");
        let case = (case.number, &words as &dyn Fn() -> String);

        let mut out = hold(&z)?;
        rows.check::<R>(Subject::Copy, case, || {
            tested.copy(&mut out, &held_x)?;
            self.compare(&out, &x)
        })?;
        rows.check::<R>(Subject::Scale, case, || {
            tested.scale(&mut out, a, &held_x)?;
            self.compare(&out, &reference.scale(a, &x)?)
        })?;
        rows.check::<R>(Subject::Axpy, case, || {
            let (mut found, mut expected) = (hold(&y)?, y.clone());
            tested.axpy(a, &held_x, &mut found)?;
            reference.axpy(a, &x, &mut expected)?;
            self.compare(&found, &expected)
        })?;
        rows.check::<R>(Subject::AxpyNorm, case, || {
            let (mut found, mut expected) = (hold(&y)?, y.clone());
            let norm2 = tested.axpy_norm(a, &held_x, &mut found, Sum::Exact)?;
            let expected_norm2 = reference.axpy_norm(a, &x, &mut expected, Sum::Exact)?;
            let field = self.compare(&found, &expected)?;
            Ok(both(field, scalar("|y|²", norm2, expected_norm2)))
        })?;
        rows.check::<R>(Subject::CgUpdate, case, || {
            let [mut psi, mut p] = [hold(&y)?, hold(&x)?];
            let [mut expected_psi, mut expected_p] = [y.clone(), x.clone()];
            tested.cg_update(&mut psi, &mut p, &hold(&z)?, a, b)?;
            reference.cg_update(&mut expected_psi, &mut expected_p, &z, a, b)?;
            Ok(both(self.compare(&psi, &expected_psi)?, self.compare(&p, &expected_p)?))
        })?;
        Ok(())
    }

    fn sums<R: Vectors>(&self, rows: &mut Rows, sites: Sites) -> Result<(), VerifyError> {
        let Self { tested, reference, case, .. } = *self;
        let [x, y] = [self.spinor::<R>(sites, 4)?, self.spinor(sites, 5)?];
        let [held_x, held_y] = [tested.upload(x.clone())?, tested.upload(y.clone())?];
        let words = || format!("{case}, {sites} sites");
        let case = (case.number, &words as &dyn Fn() -> String);
        rows.check::<R>(Subject::Norm2, case, || {
            Ok(scalar("|x|²", tested.norm2(&held_x, Sum::Exact)?, reference.norm2(&x, Sum::Exact)?))
        })?;
        rows.check::<R>(Subject::InnerProduct, case, || {
            let found = tested.inner_product(&held_x, &held_y, Sum::Exact)?;
            let expected = reference.inner_products(&[&x], &y, Sum::Exact)?[0];
            Ok(both(scalar("Re ⟨x, y⟩", found.re, expected.re), scalar("Im ⟨x, y⟩", found.im, expected.im)))
        })?;
        Ok(())
    }
}

/// Scalars that go with spinors of a kind: with tiny ones, such as leave something of them.
pub(super) fn scalars(spinors: Numbers) -> Numbers {
    match spinors {
        Numbers::Tiny => Numbers::Ordinary,
        other => other,
    }
}

pub(super) fn scalar(what: &str, found: f64, expected: f64) -> Compared {
    let difference = Difference::between(found, expected);
    let mismatch = difference.map(|difference| Mismatch::Scalar { what: what.to_owned(), difference });
    Compared { components: 1, mismatch }
}

pub(super) fn both(first: Compared, second: Compared) -> Compared {
    Compared { components: first.components + second.components, mismatch: first.mismatch.or(second.mismatch) }
}
