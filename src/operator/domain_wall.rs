//! Domain wall and Möbius fermions: M = DW·Din + T. DW = hop + (4 − M5) acts on each of ls spinors, and Din and T act along s (`docs/arithmetic.md`
//! §14). A right-hand side has ls spinors per site, s fastest.

use lanefield_reference::field::{SiteObject as _, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{
    InverseForm, MobiusCoefficients, SMatrix, Tridiagonal, from_walls, onto_walls,
};
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_spinor};
use lanefield_reference::layout::{Lattice, Sites};

use super::hop::{PARITIES, number_of_sites};
use super::model::{Defined, Definition, Parameter, ParameterKind, ParameterValues};
use super::traits::acts_as;
use super::traits::{AXPY_FLOPS, SpinorsOn, bytes_of, fit};
use super::{ActsOn, EvenOdd, HopOperator, HopParameters, Model, Operator};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

const SHAMIR: &str = "dwf";
const MOBIUS: &str = "mobius";

const LS: Parameter = Parameter::count("ls", 16.0, "sites of the fifth dimension");
const MASS: Parameter = Parameter::number("mass", None, "quark mass");
const M5: Parameter = Parameter::number("m5", Some(1.8), "domain wall height M5");
const S_INVERSE: Parameter = Parameter {
    kind: ParameterKind::Choice(&["sweep", "dense"]),
    ..Parameter::number("s-inverse", Some(0.0), "method of applying the inverse along s; it changes the last bits")
};

/// The parameters of a domain wall or Möbius operator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DomainWallParameters {
    /// Sites of the fifth dimension.
    pub ls: usize,
    /// Quark mass.
    pub mass: f64,
    /// Domain wall height M5.
    pub m5: f64,
    /// The Möbius parameter b.
    pub b: f64,
    /// The Möbius parameter c.
    pub c: f64,
    /// How the inverse along s is applied. The choice changes bits.
    pub inverse: InverseForm,
    /// The parameters of the hop.
    pub hop: HopParameters,
}

impl DomainWallParameters {
    /// Shamir's domain wall fermions: b = 1, c = 0.
    pub fn shamir(ls: usize, mass: f64, m5: f64) -> Self {
        let (inverse, hop) = (InverseForm::default(), HopParameters::default());
        Self { ls, mass, m5, b: 1.0, c: 0.0, inverse, hop }
    }

    fn coefficients(&self) -> Result<MobiusCoefficients, BackendError> {
        Ok(MobiusCoefficients::new(self.ls, self.mass, self.m5, self.b, self.c)?)
    }
}

/// A matrix along s and its Hermitian conjugate.
struct Along<B: Backend> {
    plain: B::Table,
    dagger: B::Table,
    flops: u64,
}

impl<B: Backend> Along<B> {
    /// In the precision of fields of `R`.
    fn new<R: Vectors>(backend: &B, [plain, dagger]: [SMatrix; 2]) -> Result<Self, BackendError> {
        let flops = plain.flops();
        let [plain, dagger] = [plain, dagger].map(|matrix| backend.matrix(&matrix, R::PRECISION));
        Ok(Self { plain: plain?, dagger: dagger?, flops })
    }

    fn tridiagonal<R: Vectors>(backend: &B, matrix: &Tridiagonal) -> Result<Self, BackendError> {
        Self::new::<R>(backend, [matrix.matrix(), matrix.dagger().matrix()])
    }

    fn get(&self, dagger: Dagger) -> &B::Table {
        match dagger {
            Dagger::No => &self.plain,
            Dagger::Yes => &self.dagger,
        }
    }
}

/// A temporary field for each of two uses.
type Two<B, R> = [SpinorsOn<B, R>; 2];

/// The data that M on the full lattice and its even-odd pieces share.
struct Common<'b, B: Backend, R: Vectors> {
    hop: HopOperator<'b, B, R>,
    coefficients: MobiusCoefficients,
    /// Din; `None` if it is the identity.
    input: Option<Along<B>>,
}

impl<'b, B: Backend, R: Vectors> Common<'b, B, R> {
    fn new(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: DomainWallParameters,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        let coefficients = parameters.coefficients()?;
        let hop = HopOperator::new(backend, configuration, lattice, parameters.hop, targets)?;
        let input = coefficients.input().map(|input| Along::tridiagonal::<R>(backend, &input)).transpose()?;
        Ok(Self { hop, coefficients, input })
    }

    fn object(&self, rhs: usize) -> Spinors {
        Spinors::new(rhs * self.coefficients.ls())
    }

    /// Complex numbers per right-hand side on `sites`.
    fn words(&self, sites: Sites) -> u64 {
        number_of_sites(self.hop.lattice(), sites) * self.object(1).words() as u64
    }

    fn hop_flops(&self, sites: Sites) -> u64 {
        number_of_sites(self.hop.lattice(), sites) * self.coefficients.ls() as u64 * FLOPS_PER_SITE
    }

    /// Links are read once per site for all s.
    fn hop_bytes(&self, sites: Sites) -> u64 {
        let ls = self.coefficients.ls();
        let a_spinor = ideal_bytes_per_spinor(self.hop.format(), R::BITS as usize / 8, ls);
        ((number_of_sites(self.hop.lattice(), sites) * ls as u64) as f64 * a_spinor).round() as u64
    }

    /// Bytes per right-hand side on `sites`.
    fn field_bytes(&self, sites: Sites) -> u64 {
        bytes_of::<R>(self.words(sites))
    }

    /// out = DW ψ or DW† ψ.
    fn dw(&self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.hop.apply(out, psi, dagger)?;
        self.hop.backend().axpy(self.coefficients.height(), psi, out)
    }

    fn input_flops(&self, sites: Sites) -> u64 {
        self.input.as_ref().map_or(0, |input| input.flops * number_of_sites(self.hop.lattice(), sites))
    }

    fn input_bytes(&self, sites: Sites) -> u64 {
        if self.input.is_some() { 2 * self.field_bytes(sites) } else { 0 }
    }
}

/// M and M† on the full lattice.
pub struct DomainWall<'b, B: Backend, R: Vectors> {
    common: Common<'b, B, R>,
    walls: Along<B>,
    temporary: Two<B, R>,
}

impl<B: Backend, R: Vectors> DomainWall<'_, B, R> {
    /// out = DW ψ = hop(ψ) + (4 − M5) ψ, or DW† ψ, for each spinor separately.
    pub fn dw(&self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.common.dw(out, psi, dagger)
    }

    /// The five-dimensional source for a physical source η: P₊η at s = 0 and P₋η at s = ls − 1, times 1 − c·DW (Grid's
    /// `ImportPhysicalFermionSource`). Each spinor of a site becomes one right-hand side.
    pub fn import_physical_source(&mut self, eta: &SpinorsOn<B, R>) -> Result<SpinorsOn<B, R>, BackendError> {
        let (backend, coefficients) = (self.common.hop.backend(), self.common.coefficients);
        let mut source = backend.upload(onto_walls(&backend.download(eta)?, coefficients.ls())?)?;
        if coefficients.c() != 0.0 {
            let Self { common, temporary: [image, _], .. } = self;
            fit::<B, R, _>(image, &source, backend)?;
            common.dw(image, &source, Dagger::No)?;
            backend.axpy(-coefficients.c(), image, &mut source)?;
        }
        Ok(source)
    }

    /// The physical solution from a five-dimensional one: P₋ψ at s = 0 plus P₊ψ at s = ls − 1 (Grid's `ExportPhysicalFermionSolution`). Each
    /// right-hand side becomes one spinor.
    pub fn export_physical_solution(&self, psi: &SpinorsOn<B, R>) -> Result<SpinorsOn<B, R>, BackendError> {
        let backend = self.common.hop.backend();
        backend.upload(from_walls(&backend.download(psi)?, self.common.coefficients.ls())?)
    }
}

acts_as!(DomainWall<'_, B, R>, [B: Backend, R: Vectors], common.hop, Spinors, |this, rhs| this.common.object(rhs));

impl<B: Backend, R: Vectors> Operator<B, R> for DomainWall<'_, B, R> {
    fn apply(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        let Self { common, walls, temporary: [first, second] } = self;
        let backend = common.hop.backend();
        fit::<B, R, _>(first, psi, backend)?;
        let walls = walls.get(dagger);
        let Some(input) = &common.input else {
            common.dw(first, psi, dagger)?;
            return backend.s_multiply_add(out, walls, psi, first);
        };
        fit::<B, R, _>(second, psi, backend)?;
        match dagger {
            Dagger::No => {
                backend.s_multiply(first, input.get(dagger), psi)?;
                common.dw(second, first, dagger)?;
            }
            Dagger::Yes => {
                common.dw(first, psi, dagger)?;
                backend.s_multiply(second, input.get(dagger), first)?;
            }
        }
        backend.s_multiply_add(out, walls, psi, second)
    }

    /// The hop, the axpy, T with its sum, and Din.
    fn flops(&self) -> u64 {
        let (common, sites) = (&self.common, Sites::Full);
        let with_sum = AXPY_FLOPS + AXPY_FLOPS;
        common.hop_flops(sites) + (AXPY_FLOPS + with_sum) * common.words(sites) + common.input_flops(sites)
    }

    fn bytes(&self) -> u64 {
        let (common, sites) = (&self.common, Sites::Full);
        common.hop_bytes(sites) + (3 + 3) * common.field_bytes(sites) + common.input_bytes(sites)
    }
}

/// The even-odd pieces of M.
pub struct DomainWallEvenOdd<'b, B: Backend, R: Vectors> {
    common: Common<'b, B, R>,
    diagonal: Along<B>,
    inverse: Along<B>,
    /// Temporary fields on the even and on the odd sites, if Din is not the identity.
    between: Option<Two<B, R>>,
}

acts_as!(DomainWallEvenOdd<'_, B, R>, [B: Backend, R: Vectors], common.hop, Spinors, |this, rhs| this.common.object(rhs));

impl<B: Backend, R: Vectors> EvenOdd<B, R> for DomainWallEvenOdd<'_, B, R> {
    fn meooe(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        let Common { hop, input, .. } = &self.common;
        let (Some(input), Some([even, odd])) = (input, &mut self.between) else {
            return hop.apply(out, psi, dagger);
        };
        let backend = hop.backend();
        let input = input.get(dagger);
        let from = if dagger == Dagger::No { psi.sites() } else { out.sites() };
        let between = if from == PARITIES[0] { even } else { odd };
        match dagger {
            Dagger::No => {
                fit::<B, R, _>(between, psi, backend)?;
                backend.s_multiply(between, input, psi)?;
                hop.apply(out, between, dagger)
            }
            Dagger::Yes => {
                fit::<B, R, _>(between, out, backend)?;
                hop.apply(between, psi, dagger)?;
                backend.s_multiply(out, input, between)
            }
        }
    }

    fn mooee(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.common.hop.backend().s_multiply(out, self.diagonal.get(dagger), psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut SpinorsOn<B, R>,
        psi: &SpinorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.common.hop.backend().s_multiply(out, self.inverse.get(dagger), psi)
    }

    /// Two hops, each with Din; the inverse; the diagonal and a difference.
    fn schur_flops(&self) -> u64 {
        let (common, sites) = (&self.common, PARITIES[0]);
        let along_s = (self.inverse.flops + self.diagonal.flops) * number_of_sites(common.hop.lattice(), sites);
        2 * (common.hop_flops(sites) + common.input_flops(sites)) + along_s + AXPY_FLOPS * common.words(sites)
    }
    fn schur_bytes(&self) -> u64 {
        let (common, sites) = (&self.common, PARITIES[0]);
        2 * (common.hop_bytes(sites) + common.input_bytes(sites)) + (2 + 2 + 3) * common.field_bytes(sites)
    }
}

impl Model for DomainWallParameters {
    type Object = Spinors;
    type Full<'b, B: Backend + 'b, R: Vectors> = DomainWall<'b, B, R>;
    type Pieces<'b, B: Backend + 'b, R: Vectors> = DomainWallEvenOdd<'b, B, R>;

    fn name(&self) -> &'static str {
        if (self.b, self.c) == (1.0, 0.0) { SHAMIR } else { MOBIUS }
    }
    fn mass(&self) -> f64 {
        self.mass
    }
    fn diagonal(&self) -> f64 {
        1.0
    }
    fn hop(&self) -> HopParameters {
        self.hop
    }
    fn object(&self, rhs: usize) -> Spinors {
        Spinors::new(rhs * self.ls)
    }
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<DomainWall<'b, B, R>, BackendError> {
        let common = Common::new(backend, configuration, lattice, *self, &[Sites::Full])?;
        let walls = Along::tridiagonal::<R>(backend, &common.coefficients.walls())?;
        let zeros = || backend.zeros(lattice, Sites::Full, common.object(1));
        let temporary = [zeros()?, zeros()?];
        Ok(DomainWall { common, walls, temporary })
    }
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<DomainWallEvenOdd<'b, B, R>, BackendError> {
        let matrix = self.coefficients()?.diagonal();
        let diagonal = Along::tridiagonal::<R>(backend, &matrix)?;
        let inverse = [matrix.inverse(self.inverse)?, matrix.dagger().inverse(self.inverse)?];
        let inverse = Along::new::<R>(backend, inverse)?;
        let common = Common::new(backend, configuration, lattice, *self, &PARITIES)?;
        let zeros = |sites| backend.zeros(lattice, sites, common.object(1));
        let between = common.input.is_some().then(|| Ok::<_, BackendError>([zeros(PARITIES[0])?, zeros(PARITIES[1])?]));
        let between = between.transpose()?;
        Ok(DomainWallEvenOdd { common, diagonal, inverse, between })
    }
}

impl Defined for DomainWallParameters {
    const DEFINITIONS: &'static [Definition] = &[
        Definition {
            name: SHAMIR,
            meaning: "Shamir domain wall fermions",
            formula: "(M ψ)_s = (D + 1) ψ_s - P₊ ψ_{s-1} - P₋ ψ_{s+1}, with D = 4 - m5 + W and P± = ½ (1 ± γ5); ψ_{-1} is -mass ψ_{Ls-1}, and ψ_{Ls} is \
                      -mass ψ_0",
            parameters: &[MASS, LS, M5, S_INVERSE],
            verified: &[("mass", "0.1"), ("ls", "4")],
        },
        Definition {
            name: MOBIUS,
            meaning: "Möbius domain wall fermions",
            formula: "(M ψ)_s = D (b ψ_s + c χ_s) + ψ_s - χ_s, with χ_s = P₊ ψ_{s-1} + P₋ ψ_{s+1}, and D and the ends as of dwf",
            parameters: &[
                MASS,
                LS,
                M5,
                Parameter::number("b", Some(1.5), "b of Möbius fermions"),
                Parameter::number("c", Some(0.5), "c of Möbius fermions"),
                S_INVERSE,
            ],
            verified: &[("mass", "0.1"), ("ls", "4")],
        },
    ];

    fn of(name: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        let [mass, m5] = ["mass", "m5"].map(|name| values.get(name));
        let (b, c) = if name == SHAMIR { (1.0, 0.0) } else { (values.get("b"), values.get("c")) };
        let inverse = InverseForm::ALL[values.count("s-inverse") % InverseForm::ALL.len()];
        Self { ls: values.count("ls"), mass, m5, b, c, inverse, hop }
    }
    /// Möbius fermions with b = 1 and c = 0 are Shamir fermions.
    fn values(&self) -> Vec<f64> {
        let (first, inverse) = ([self.mass, self.ls as f64, self.m5], [self.inverse as usize as f64]);
        let coefficients: &[f64] = if self.name() == SHAMIR { &[] } else { &[self.b, self.c] };
        [&first[..], coefficients, &inverse].concat()
    }
}
