//! Domain wall and Möbius fermions: M = DW·Din + T, where DW = hop + (4 − M5) acts on each of ls spinors, and Din and T act along s
//! (`docs/arithmetic.md` §14). A column is ls spinors of a site, s fastest; a field of n right-hand sides has n columns.

use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{
    InverseForm, MobiusCoefficients, SMatrix, Tridiagonal, from_walls, onto_walls,
};
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_spinor};
use lanefield_reference::layout::{Lattice, Sites};
use lanefield_reference::links::LinkFormat;

use super::hop::number_of_sites;
use super::wilson::{AXPY_FLOPS, PARITIES, spinor_bytes};
use super::{
    ActsOn, AnyModel, Definition, EvenOdd, HopOperator, HopParameters, Model, Operator, Parameter, ParameterKind,
    ParameterValues, fit,
};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// What defines a domain wall or Möbius operator, beside the configuration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DomainWallParameters {
    /// Sites of the fifth dimension.
    pub ls: usize,
    /// Quark mass.
    pub mass: f64,
    /// Domain wall height M5.
    pub m5: f64,
    /// Möbius' b.
    pub b: f64,
    /// Möbius' c.
    pub c: f64,
    /// How the inverse along s is applied. It changes bits.
    pub inverse: InverseForm,
    /// The hop's own parameters.
    pub hop: HopParameters,
}

impl DomainWallParameters {
    /// Shamir's domain wall fermions: b = 1, c = 0.
    pub fn shamir(ls: usize, mass: f64, m5: f64) -> Self {
        let (inverse, hop) = (InverseForm::default(), HopParameters::default());
        Self { ls, mass, m5, b: 1.0, c: 0.0, inverse, hop }
    }

    fn of(values: &ParameterValues, (b, c): (f64, f64), hop: HopParameters) -> Self {
        let [mass, m5] = ["mass", "m5"].map(|name| values.get(name));
        let inverse = InverseForm::ALL[values.count("s-inverse") % InverseForm::ALL.len()];
        Self { ls: values.count("ls"), mass, m5, b, c, inverse, hop }
    }

    fn coefficients(&self) -> Result<MobiusCoefficients, BackendError> {
        Ok(MobiusCoefficients::new(self.ls, self.mass, self.m5, self.b, self.c)?)
    }
}

/// The parameters of domain wall fermions.
const LS: Parameter = Parameter {
    name: "ls",
    kind: ParameterKind::Count(1024),
    default: Some(16.0),
    follows: None,
    meaning: "sites of the fifth dimension",
    key: None,
};
const MASS: Parameter = Parameter::number("mass", None, "quark mass");
const M5: Parameter = Parameter::number("m5", Some(1.8), "domain wall height M5");
const S_INVERSE: Parameter = Parameter {
    name: "s-inverse",
    kind: ParameterKind::Choice(&["sweep", "dense"]),
    default: Some(0.0),
    follows: None,
    meaning: "how the inverse along s is applied; it changes the last bits",
    key: None,
};

/// Shamir's and Möbius' operators by name.
pub static DEFINITIONS: &[Definition] = &[
    Definition {
        name: "dwf",
        meaning: "Shamir domain wall fermions",
        parameters: &[MASS, LS, M5, S_INVERSE],
        verified_mass: "0.1",
        make: |values, hop| AnyModel::DomainWall(DomainWallParameters::of(values, (1.0, 0.0), hop)),
        values: |model| match model {
            AnyModel::DomainWall(wall) => vec![wall.mass, wall.ls as f64, wall.m5, wall.inverse as usize as f64],
            _ => Vec::new(),
        },
    },
    Definition {
        name: "mobius",
        meaning: "Möbius domain wall fermions",
        parameters: &[
            MASS,
            LS,
            M5,
            Parameter::number("b", Some(1.5), "b of Möbius fermions"),
            Parameter::number("c", Some(0.5), "c of Möbius fermions"),
            S_INVERSE,
        ],
        verified_mass: "0.1",
        make: |values, hop| {
            AnyModel::DomainWall(DomainWallParameters::of(values, (values.get("b"), values.get("c")), hop))
        },
        values: |model| match model {
            AnyModel::DomainWall(wall) => {
                vec![wall.mass, wall.ls as f64, wall.m5, wall.b, wall.c, wall.inverse as usize as f64]
            }
            _ => Vec::new(),
        },
    },
];

/// A matrix along s and its Hermitian conjugate.
struct Along<B: Backend> {
    plain: B::Table,
    dagger: B::Table,
    flops: u64,
}

impl<B: Backend> Along<B> {
    /// For fields of precision `R`.
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
type Two<B, R> = [FieldOn<B, R, Spinors>; 2];

/// What M on the full lattice and its even-odd pieces share.
struct Common<'b, B: Backend, R: Vectors> {
    hop: HopOperator<'b, B, R>,
    format: LinkFormat,
    coefficients: MobiusCoefficients,
    /// Din; `None` where it is the identity.
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
        Ok(Self { hop, format: parameters.hop.links, coefficients, input })
    }

    fn object(&self, columns: usize) -> Spinors {
        Spinors::new(columns * self.coefficients.ls())
    }

    /// Spinors of a column on `sites`.
    fn spinors(&self, sites: Sites) -> u64 {
        number_of_sites(self.hop.lattice(), sites) * self.coefficients.ls() as u64
    }

    fn hop_flops(&self, sites: Sites) -> u64 {
        self.spinors(sites) * FLOPS_PER_SITE
    }

    /// Links are read once a site for all s.
    fn hop_bytes(&self, sites: Sites) -> u64 {
        let a_spinor = ideal_bytes_per_spinor(self.format, R::BITS as usize / 8, self.coefficients.ls());
        (self.spinors(sites) as f64 * a_spinor).round() as u64
    }

    /// Bytes of a column on `sites`.
    fn column_bytes(&self, sites: Sites) -> u64 {
        spinor_bytes::<R>(self.hop.lattice(), sites) * self.coefficients.ls() as u64
    }

    fn input_flops(&self, sites: Sites) -> u64 {
        self.input.as_ref().map_or(0, |input| input.flops * number_of_sites(self.hop.lattice(), sites))
    }

    fn input_bytes(&self, sites: Sites) -> u64 {
        if self.input.is_some() { 2 * self.column_bytes(sites) } else { 0 }
    }
}

/// M and M† on the full lattice.
pub struct DomainWall<'b, B: Backend, R: Vectors> {
    common: Common<'b, B, R>,
    walls: Along<B>,
    temporary: Two<B, R>,
}

impl<'b, B: Backend, R: Vectors> DomainWall<'b, B, R> {
    /// M on the full lattice.
    ///
    /// # Errors
    /// [`BackendError::DomainWall`] for parameters that no operator has; as [`HopOperator::new`].
    pub fn full(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: DomainWallParameters,
    ) -> Result<Self, BackendError> {
        let common = Common::new(backend, configuration, lattice, parameters, &[Sites::Full])?;
        let walls = Along::tridiagonal::<R>(backend, &common.coefficients.walls())?;
        let zeros = || backend.zeros(lattice, Sites::Full, common.object(1));
        let temporary = [zeros()?, zeros()?];
        Ok(Self { common, walls, temporary })
    }

    /// out = DW ψ = hop(ψ) + (4 − M5) ψ, or DW† ψ, of each spinor by itself.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    pub fn dw(
        &self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        dw(&self.common, out, psi, dagger)
    }

    /// The five-dimensional source of a physical one, η: P₊η at s = 0 and P₋η at s = ls − 1, times 1 − c·DW (Grid's
    /// `ImportPhysicalFermionSource`). Each spinor of a site makes a column.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    pub fn import_physical_source(
        &mut self,
        eta: &FieldOn<B, R, Spinors>,
    ) -> Result<FieldOn<B, R, Spinors>, BackendError> {
        let (backend, coefficients) = (self.common.hop.backend(), self.common.coefficients);
        let mut source = backend.upload(onto_walls(&backend.download(eta)?, coefficients.ls())?)?;
        if coefficients.c() != 0.0 {
            let Self { common, temporary: [image, _], .. } = self;
            fit::<B, R, _>(image, &source, backend)?;
            dw(common, image, &source, Dagger::No)?;
            backend.axpy(-coefficients.c(), image, &mut source)?;
        }
        Ok(source)
    }

    /// The physical solution of a five-dimensional one: P₋ψ at s = 0 plus P₊ψ at s = ls − 1 (Grid's `ExportPhysicalFermionSolution`). Each
    /// column makes a spinor.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    pub fn export_physical_solution(
        &self,
        psi: &FieldOn<B, R, Spinors>,
    ) -> Result<FieldOn<B, R, Spinors>, BackendError> {
        let backend = self.common.hop.backend();
        backend.upload(from_walls(&backend.download(psi)?, self.common.coefficients.ls())?)
    }
}

/// out = DW ψ or DW† ψ.
fn dw<B: Backend, R: Vectors>(
    common: &Common<'_, B, R>,
    out: &mut FieldOn<B, R, Spinors>,
    psi: &FieldOn<B, R, Spinors>,
    dagger: Dagger,
) -> Result<(), BackendError> {
    common.hop.apply(out, psi, dagger)?;
    common.hop.backend().axpy(common.coefficients.height(), psi, out)
}

impl<B: Backend, R: Vectors> ActsOn<B> for DomainWall<'_, B, R> {
    type Object = Spinors;

    fn backend(&self) -> &B {
        self.common.hop.backend()
    }
    fn lattice(&self) -> Lattice {
        self.common.hop.lattice()
    }
    fn object(&self, columns: usize) -> Spinors {
        self.common.object(columns)
    }
}

impl<B: Backend, R: Vectors> Operator<B, R> for DomainWall<'_, B, R> {
    fn sites(&self) -> Sites {
        Sites::Full
    }

    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let Self { common, walls, temporary: [first, second] } = self;
        let backend = common.hop.backend();
        fit::<B, R, _>(first, psi, backend)?;
        let walls = walls.get(dagger);
        let Some(input) = &common.input else {
            dw(common, first, psi, dagger)?;
            return backend.s_multiply_add(out, walls, psi, first);
        };
        fit::<B, R, _>(second, psi, backend)?;
        match dagger {
            Dagger::No => {
                backend.s_multiply(first, input.get(dagger), psi)?;
                dw(common, second, first, dagger)?;
            }
            Dagger::Yes => {
                dw(common, first, psi, dagger)?;
                backend.s_multiply(second, input.get(dagger), first)?;
            }
        }
        backend.s_multiply_add(out, walls, psi, second)
    }

    /// The hop, the axpy, T with its sum, and Din.
    fn flops(&self) -> u64 {
        let (common, sites) = (&self.common, Sites::Full);
        let with_sum = AXPY_FLOPS + AXPY_FLOPS;
        common.hop_flops(sites) + (AXPY_FLOPS + with_sum) * common.spinors(sites) + common.input_flops(sites)
    }

    fn bytes(&self) -> u64 {
        let (common, sites) = (&self.common, Sites::Full);
        common.hop_bytes(sites) + (3 + 3) * common.column_bytes(sites) + common.input_bytes(sites)
    }
}

/// The even-odd pieces of M.
pub struct DomainWallEvenOdd<'b, B: Backend, R: Vectors> {
    common: Common<'b, B, R>,
    diagonal: Along<B>,
    inverse: Along<B>,
    /// A temporary field on the even sites, and one on the odd ones; where Din is not the identity.
    between: Option<Two<B, R>>,
}

impl<'b, B: Backend, R: Vectors> DomainWall<'b, B, R> {
    /// The even-odd pieces of M.
    ///
    /// # Errors
    /// [`BackendError::DomainWall`] for parameters that no operator has, or whose diagonal part has no inverse; as [`HopOperator::new`].
    pub fn even_odd(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: DomainWallParameters,
    ) -> Result<DomainWallEvenOdd<'b, B, R>, BackendError> {
        let (matrix, form) = (parameters.coefficients()?.diagonal(), parameters.inverse);
        let diagonal = Along::tridiagonal::<R>(backend, &matrix)?;
        let inverse = Along::new::<R>(backend, [matrix.inverse(form)?, matrix.dagger().inverse(form)?])?;
        let common = Common::new(backend, configuration, lattice, parameters, &PARITIES)?;
        let zeros = |sites| backend.zeros(lattice, sites, common.object(1));
        let between = common.input.is_some().then(|| Ok::<_, BackendError>([zeros(PARITIES[0])?, zeros(PARITIES[1])?]));
        let between = between.transpose()?;
        Ok(DomainWallEvenOdd { common, diagonal, inverse, between })
    }
}

impl<B: Backend, R: Vectors> ActsOn<B> for DomainWallEvenOdd<'_, B, R> {
    type Object = Spinors;

    fn backend(&self) -> &B {
        self.common.hop.backend()
    }
    fn lattice(&self) -> Lattice {
        self.common.hop.lattice()
    }
    fn object(&self, columns: usize) -> Spinors {
        self.common.object(columns)
    }
}

impl<B: Backend, R: Vectors> EvenOdd<B, R> for DomainWallEvenOdd<'_, B, R> {
    fn meooe(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
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

    fn mooee(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.common.hop.backend().s_multiply(out, self.diagonal.get(dagger), psi)
    }

    fn mooee_inv(
        &mut self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.common.hop.backend().s_multiply(out, self.inverse.get(dagger), psi)
    }

    /// Two hops, each with Din; the inverse; the diagonal and a difference.
    fn schur_flops(&self) -> u64 {
        let (common, sites) = (&self.common, PARITIES[0]);
        let along_s = (self.inverse.flops + self.diagonal.flops) * number_of_sites(common.hop.lattice(), sites);
        2 * (common.hop_flops(sites) + common.input_flops(sites)) + along_s + AXPY_FLOPS * common.spinors(sites)
    }
    fn schur_bytes(&self) -> u64 {
        let (common, sites) = (&self.common, PARITIES[0]);
        2 * (common.hop_bytes(sites) + common.input_bytes(sites)) + (2 + 2 + 3) * common.column_bytes(sites)
    }
}

impl Model for DomainWallParameters {
    type Object = Spinors;
    type Full<'b, B: Backend + 'b, R: Vectors> = DomainWall<'b, B, R>;
    type Pieces<'b, B: Backend + 'b, R: Vectors> = DomainWallEvenOdd<'b, B, R>;

    fn name(&self) -> &'static str {
        if (self.b, self.c) == (1.0, 0.0) { "dwf" } else { "mobius" }
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
    fn object(&self, columns: usize) -> Spinors {
        Spinors::new(columns * self.ls)
    }
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<DomainWall<'b, B, R>, BackendError> {
        DomainWall::full(backend, configuration, lattice, *self)
    }
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<DomainWallEvenOdd<'b, B, R>, BackendError> {
        DomainWall::even_odd(backend, configuration, lattice, *self)
    }
}
