//! Operators in C: all their pieces against those of the library on the SIMD reference, in plain loops and on OpenCL; and conjugate gradients.

use std::ffi::{c_int, c_void};

use lanefield::backend::{HostField, Threads};
use lanefield::dynamic::Piece;
use lanefield::kernel::{Numbers as Kind, TestData};
use lanefield::operator::{SchurComplement, System};
use lanefield::prelude::*;
use lanefield::solver::conjugate_gradient;
use lanefield_reference::half::Half;
use lanefield_reference::kernels::domain_wall::InverseForm;

use super::library::{CLinks, CReference, Numbers, extents, sites_number};
use super::{Draws, IN_FOUR_LANES, IN_TWO_LANES, lattice, precision};
use crate::common::backends::{host, opencl};

/// Cases of each operator. Every fourth has legs and links for which OpenCL has no program: 1000 are tried in all four implementations.
const CASES: u64 = 1334;
const SOLVES: u64 = 12;

/// Cases and solves of an operator, and whether OpenCL takes part.
#[derive(Clone, Copy)]
struct Tier {
    cases: u64,
    solves: u64,
    on_opencl: bool,
}

/// Tests of operators, of each two: few cases without OpenCL in `make test`, and all.
macro_rules! in_c {
    ($($name:ident),+ $(,)?) => {
        mod few {
            $(#[test]
            fn $name() {
                super::$name(super::Tier { cases: 60, solves: 2, on_opencl: false });
            })+
        }
        mod all {
            $(#[test]
            #[ignore = "test-all: many cases, and OpenCL"]
            fn $name() {
                super::$name(super::Tier { cases: super::CASES, solves: super::SOLVES, on_opencl: true });
            })+
        }
    };
}
in_c!(
    wilson_and_twisted_mass_have_the_same_bits_in_c,
    clover_has_the_same_bits_in_c,
    domain_wall_and_moebius_have_the_same_bits_in_c,
    laplacian_and_staggered_have_the_same_bits_in_c,
);

/// lfr_parameters
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CParameters {
    kind: c_int,
    mass: f64,
    mu: f64,
    csw_r: f64,
    csw_t: f64,
    m5: f64,
    b: f64,
    c: f64,
    ls: c_int,
    dense: c_int,
    components: c_int,
}

/// All pieces of an operator.
const PIECES: [Piece; 8] = [
    Piece::Full,
    Piece::Meooe(Parity::Even),
    Piece::Meooe(Parity::Odd),
    Piece::Mooee(Parity::Even),
    Piece::Mooee(Parity::Odd),
    Piece::MooeeInverse(Parity::Even),
    Piece::MooeeInverse(Parity::Odd),
    Piece::Mpc,
];

/// An operator of C, in one precision.
struct COperator<'a> {
    c: &'a CReference,
    /// Room for lfr_operator_f32 or lfr_operator_f64, of which C alone knows the size; both are below 1 KiB.
    room: Box<[u64; 512]>,
    suffix: &'static str,
}

impl<'a> COperator<'a> {
    fn new(
        c: &'a CReference,
        lattice: &Lattice,
        links: CLinks,
        parameters: CParameters,
        precision: Precision,
        configuration: &Configuration,
    ) -> Self {
        type Make = unsafe extern "C" fn(
            *mut c_void,
            *const c_int,
            *const CLinks,
            *const CParameters,
            c_int,
            *const c_void,
        ) -> c_int;
        let suffix = if precision == Precision::F64 { "f64" } else { "f32" };
        let mut room = Box::new([0; 512]);
        let (extents, half) = (extents(lattice), c_int::from(precision == Precision::Half));
        // SAFETY: `lfr_make_operator_f32` or `_f64`; all arguments outlive the call, and the links are those of the lattice, in its order.
        let status = unsafe {
            let make = c.function::<Make>(&format!("lfr_make_operator_{suffix}"));
            let links_of = configuration.links().as_ptr().cast();
            make(room.as_mut_ptr().cast(), extents.as_ptr(), &links, &parameters, half, links_of)
        };
        assert_eq!(status, 0, "lfr_make_operator_{suffix}");
        Self { c, room, suffix }
    }

    fn apply(&self, piece: Piece, dagger: Dagger, psi: &Numbers) -> Numbers {
        type OfAll = unsafe extern "C" fn(*const c_void, c_int, *const c_void, *mut c_void);
        type OfParity = unsafe extern "C" fn(*const c_void, c_int, c_int, *const c_void, *mut c_void);
        let (mut psi, mut out) = (psi.clone(), psi.zeros_like());
        let (room, dagger) = (self.room.as_ptr().cast(), c_int::from(dagger == Dagger::Yes));
        let name = |stem: &str| format!("lfr_{stem}_{}", self.suffix);
        let stem = match piece {
            Piece::Full => "apply",
            Piece::Meooe(_) => "meooe",
            Piece::Mooee(_) => "mooee",
            Piece::MooeeInverse(_) => "mooee_inverse",
            Piece::Mpc => "mpc",
        };
        // SAFETY: the functions have these types; the fields have room for all sites of the operator's lattice.
        unsafe {
            match piece {
                Piece::Full | Piece::Mpc => {
                    self.c.function::<OfAll>(&name(stem))(room, dagger, psi.data(), out.data());
                }
                Piece::Meooe(parity) | Piece::Mooee(parity) | Piece::MooeeInverse(parity) => {
                    let target = sites_number(Sites::Parity(parity));
                    self.c.function::<OfParity>(&name(stem))(room, target, dagger, psi.data(), out.data());
                }
            }
        }
        out
    }
}

impl Drop for COperator<'_> {
    fn drop(&mut self) {
        let name = format!("lfr_free_operator_{}", self.suffix);
        // SAFETY: it was made by the function that belongs to this one.
        unsafe { self.c.function::<unsafe extern "C" fn(*mut c_void)>(&name)(self.room.as_mut_ptr().cast()) };
    }
}

/// What a piece gives on a backend.
fn on_backend<B: Backend, R: Vectors, M: Model>(
    backend: &B,
    model: &M,
    configuration: &Configuration,
    (piece, dagger): (Piece, Dagger),
    psi: &Field<R, M::Object>,
) -> Numbers {
    let lattice = *psi.lattice();
    let psi = backend.upload(psi.clone()).unwrap();
    let mut out = backend.zeros(lattice, piece.onto(), model.object(1)).unwrap();
    if piece == Piece::Full {
        model.full::<B, R>(backend, configuration, lattice).unwrap().apply(&mut out, &psi, dagger).unwrap();
    } else {
        let mut pieces = model.even_odd::<B, R>(backend, configuration, lattice).unwrap();
        match piece {
            Piece::Meooe(_) => pieces.meooe(&mut out, &psi, dagger).unwrap(),
            Piece::Mooee(_) => pieces.mooee(&mut out, &psi, dagger).unwrap(),
            Piece::MooeeInverse(_) => pieces.mooee_inv(&mut out, &psi, dagger).unwrap(),
            _ => SchurComplement::new(pieces).unwrap().apply(&mut out, &psi, dagger).unwrap(),
        }
    }
    Numbers::of(&HostField::new(backend.download(&out).unwrap().into_data()))
}

/// An operator, and the same for C.
type Drawn<M> = (M, CParameters);

fn check<R: Vectors, M: Model>(
    (cpu, device): (&Cpu, Option<&OpenCl>),
    name: &str,
    number: u64,
    mut draws: Draws,
    make: &impl Fn(&mut Draws, HopParameters) -> Drawn<M>,
) {
    let on_opencl = device.is_some() && number % 4 != 3;
    let (extents, nsimd) = if on_opencl { (draws.one_of(&IN_TWO_LANES), 2) } else { (draws.one_of(&IN_FOUR_LANES), 4) };
    let lattice = lattice(extents, nsimd, R::COMPLEX);
    let of_precision = match R::PRECISION {
        Precision::F32 => LinkFormat::Full,
        Precision::F64 => LinkFormat::TwoRows,
        Precision::Half => LinkFormat::Eight,
    };
    let hop = HopParameters {
        boundary: draws.boundary(),
        links: if on_opencl { of_precision } else { draws.one_of(&LinkFormat::ALL) },
        legs: if on_opencl { LegOrder::DEFAULT } else { draws.legs() },
    };
    let configuration = Configuration::hot(Extents::new(extents).unwrap(), draws.below(3) as u64);
    let (model, parameters) = make(&mut draws, hop);
    let piece = draws.one_of(&PIECES);
    // Other pieces of the staggered operator have no Hermitian conjugate of their own.
    let may_be_conjugate = name != "staggered" || piece == Piece::Full;
    let dagger = if may_be_conjugate && draws.below(2) == 1 { Dagger::Yes } else { Dagger::No };
    let kind = draws.one_of(&Kind::ALL);
    let psi = TestData::new(number).field::<R, M::Object>(lattice, piece.from(), model.object(1), kind, 1).unwrap();
    let what = format!(
        "{name} in {}, case {number}: {piece:?}, {dagger:?}, {} in {nsimd} lanes, {hop:?}, {kind} numbers",
        R::NAME,
        lattice.extents()
    );

    let expected = on_backend::<_, R, M>(cpu, &model, &configuration, (piece, dagger), &psi);
    let links = CLinks::new(hop.boundary, hop.legs, hop.links);
    let c = COperator::new(CReference::usual(), &lattice, links, parameters, R::PRECISION, &configuration);
    let found = c.apply(piece, dagger, &Numbers::of(&HostField::new(psi.clone().into_data())));
    if let Some(difference) = found.difference(&expected) {
        panic!("{what}: in C: {difference}");
    }
    let found = on_backend::<_, R, M>(&oracle(&configuration, hop), &model, &configuration, (piece, dagger), &psi);
    if let Some(difference) = found.difference(&expected) {
        panic!("{what}: in plain loops: {difference}");
    }
    if let (Some(device), true) = (device, on_opencl) {
        let found = on_backend::<_, R, M>(device, &model, &configuration, (piece, dagger), &psi);
        if let Some(difference) = found.difference(&expected) {
            panic!("{what}: on OpenCL: {difference}");
        }
    }
}

/// The plain loops as a backend, for operators with these links.
fn oracle(configuration: &Configuration, hop: HopParameters) -> Cpu {
    Cpu::new(Threads::new(1)).unwrap().in_plain_loops(configuration.clone(), hop.boundary)
}

/// lfr_solve_parameters
#[repr(C)]
struct CSolveParameters {
    tolerance: f64,
    most_iterations: c_int,
    delta: f64,
    tree: *const c_void,
    watcher: *const c_void,
    watched_by: *mut c_void,
}

/// lfr_solve_report
#[repr(C)]
struct CSolveReport {
    history: *mut f64,
    room: c_int,
    recorded: c_int,
    iterations: c_int,
    converged: c_int,
}

impl COperator<'_> {
    /// The history of a solve, and its solution.
    fn solve(&self, even_odd: bool, eta: &Numbers, params: SolverParams) -> (Vec<f64>, Numbers) {
        type Solve = unsafe extern "C" fn(
            *const c_void,
            c_int,
            *const c_void,
            *mut c_void,
            *const CSolveParameters,
            *mut CSolveReport,
        );
        let (mut eta, mut psi, mut history) = (eta.clone(), eta.zeros_like(), vec![0.0; params.max_iterations + 1]);
        let parameters = CSolveParameters {
            tolerance: params.tolerance,
            most_iterations: params.max_iterations as c_int,
            delta: 0.0,
            tree: std::ptr::null(),
            watcher: std::ptr::null(),
            watched_by: std::ptr::null_mut(),
        };
        let room = history.len() as c_int;
        let mut report = CSolveReport { history: history.as_mut_ptr(), room, recorded: 0, iterations: 0, converged: 0 };
        // SAFETY: `lfr_solve_f32` or `_f64`; the fields have room for all sites, and the history as much as it says.
        unsafe {
            let solve = self.c.function::<Solve>(&format!("lfr_solve_{}", self.suffix));
            let operator = self.room.as_ptr().cast();
            solve(operator, even_odd.into(), eta.data(), psi.data(), &parameters, &mut report);
        }
        assert_eq!(report.converged, 1, "{} iterations in C", report.iterations);
        history.truncate(report.recorded as usize);
        (history, psi)
    }
}

/// |r|² of the iterations of a solve.
fn history<R: Vectors, M: Model>(
    cpu: &Cpu,
    (model, configuration, even_odd): (&M, &Configuration, bool),
    eta: &Field<R, M::Object>,
    params: SolverParams,
) -> Vec<f64> {
    let (lattice, normal) = (*eta.lattice(), !model.is_positive(even_odd));
    if !even_odd {
        let full = model.full::<_, R>(cpu, configuration, lattice).unwrap();
        let mut system = System::new(full, normal).unwrap();
        let [mut b, mut psi] = [(); 2].map(|()| system.zeros().unwrap());
        system.source(&mut b, &cpu.upload(eta.clone()).unwrap()).unwrap();
        return conjugate_gradient(&mut system, &b, &mut psi, params, |_: usize, _: f64| ()).unwrap().history;
    }
    let on = |sites| Field::from_site_order(lattice, sites, model.object(1), &eta.to_site_order()).unwrap();
    let [even, odd] = [Parity::Even, Parity::Odd].map(|parity| cpu.upload(on(Sites::Parity(parity))).unwrap());
    let pieces = model.even_odd::<_, R>(cpu, configuration, lattice).unwrap();
    let mut system = System::new(SchurComplement::new(pieces).unwrap(), normal).unwrap();
    let [mut source, mut b, mut psi] = [(); 3].map(|()| system.zeros().unwrap());
    system.operator().odd_source(&mut source, &even, &odd).unwrap();
    system.source(&mut b, &source).unwrap();
    conjugate_gradient(&mut system, &b, &mut psi, params, |_: usize, _: f64| ()).unwrap().history
}

fn check_solve<R: Vectors, M: Model>(
    cpu: &Cpu,
    name: &str,
    number: u64,
    mut draws: Draws,
    make: &impl Fn(&mut Draws, HopParameters) -> Drawn<M>,
) {
    let lattice = lattice(draws.one_of(&IN_TWO_LANES), 2, R::COMPLEX);
    let hop = HopParameters { boundary: draws.boundary(), links: draws.one_of(&LinkFormat::ALL), legs: draws.legs() };
    let configuration = Configuration::hot(lattice.extents(), number);
    let (model, parameters) = make(&mut draws, hop);
    let even_odd = draws.below(2) == 1;
    let params = SolverParams { tolerance: 1e-5, max_iterations: 4000, ..SolverParams::auto::<R>() };
    let eta =
        TestData::new(number).field::<R, M::Object>(lattice, Sites::Full, model.object(1), Kind::Ordinary, 1).unwrap();
    let of = |cpu: &Cpu| history::<R, M>(cpu, (&model, &configuration, even_odd), &eta, params);
    let (history, plain) = (of(cpu), of(&oracle(&configuration, hop)));
    let links = CLinks::new(hop.boundary, hop.legs, hop.links);
    let c = COperator::new(CReference::usual(), &lattice, links, parameters, R::PRECISION, &configuration);
    let (found, _) = c.solve(even_odd, &Numbers::of(&HostField::new(eta.clone().into_data())), params);
    let bits = |history: &[f64]| history.iter().map(|c| c.to_bits()).collect::<Vec<_>>();
    assert!(history.len() > 2, "{name}: nothing was solved");
    let what = format!("{name} in {}, solve {number}, even-odd {even_odd}, {hop:?}", R::NAME);
    assert_eq!(bits(&found), bits(&history), "{what}: in C");
    assert_eq!(bits(&plain), bits(&history), "{what}: in plain loops");
}

/// The cases of an operator.
fn check_operator<M: Model>(tier: Tier, name: &str, make: impl Fn(&mut Draws, HopParameters) -> Drawn<M>) {
    let Tier { cases, solves, on_opencl } = tier;
    let (cpu, device) = (host(), on_opencl.then(opencl).flatten());
    let subject = name.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let start = std::time::Instant::now();
    for number in 0..cases {
        let (backends, draws) = ((&cpu, device.as_ref()), Draws::new(subject, number));
        match precision(number) {
            Precision::F32 => check::<f32, M>(backends, name, number, draws, &make),
            Precision::F64 => check::<f64, M>(backends, name, number, draws, &make),
            Precision::Half => check::<Half, M>(backends, name, number, draws, &make),
        }
    }
    for number in 0..solves {
        let draws = Draws::new(subject, CASES + number);
        match number % 2 {
            0 => check_solve::<f32, M>(&cpu, name, number, draws, &make),
            _ => check_solve::<f64, M>(&cpu, name, number, draws, &make),
        }
    }
    println!("{name}: {cases} cases and {solves} solves in {:.1} s", start.elapsed().as_secs_f64());
}

/// The numbers of the list of `lanefield_reference.h`.
const WILSON: c_int = 0;
const TWISTED_MASS: c_int = 1;
const CLOVER: c_int = 2;
const DOMAIN_WALL: c_int = 3;
const LAPLACIAN: c_int = 4;
const STAGGERED: c_int = 5;

fn wilson_and_twisted_mass_have_the_same_bits_in_c(tier: Tier) {
    check_operator(tier, "wilson", |_, hop| {
        let mass = 0.15;
        (WilsonParameters { mass, hop }, CParameters { kind: WILSON, mass, ..CParameters::default() })
    });
    check_operator(tier, "twisted-mass", |draws, hop| {
        let (mass, mu) = (0.1, draws.one_of(&[0.3, -0.2, 7.5]));
        let model = TwistedMassParameters { mass, mu, hop };
        (model, CParameters { kind: TWISTED_MASS, mass, mu, ..CParameters::default() })
    });
}

fn clover_has_the_same_bits_in_c(tier: Tier) {
    check_operator(tier, "clover", |draws, hop| {
        let (mass, csw_r, csw_t) = (0.2, draws.one_of(&[1.0, 1.3]), draws.one_of(&[1.0, 0.7]));
        let model = CloverParameters { mass, csw_r, csw_t, hop };
        (model, CParameters { kind: CLOVER, mass, csw_r, csw_t, ..CParameters::default() })
    });
}

fn domain_wall_and_moebius_have_the_same_bits_in_c(tier: Tier) {
    for (name, coefficients) in [("dwf", [(1.0, 0.0); 3]), ("mobius", [(1.5, 0.5), (1.3, 0.0), (1.0, 0.4)])] {
        check_operator(tier, name, |draws, hop| {
            let (ls, mass, m5) = (draws.one_of(&[1, 2, 3, 4]), 0.1, 1.7);
            let ((b, c), inverse) = (draws.one_of(&coefficients), draws.one_of(&InverseForm::ALL));
            let model = DomainWallParameters { ls, mass, m5, b, c, inverse, hop };
            let dense = (inverse == InverseForm::Dense).into();
            (model, CParameters { kind: DOMAIN_WALL, mass, m5, b, c, ls: ls as c_int, dense, ..CParameters::default() })
        });
    }
}

fn laplacian_and_staggered_have_the_same_bits_in_c(tier: Tier) {
    check_operator(tier, "laplace", |draws, hop| {
        let (mass, components) = (0.6, draws.one_of(&[1, 2, 3]));
        let model = LaplaceParameters { mass, components, hop };
        let components = components as c_int;
        (model, CParameters { kind: LAPLACIAN, mass, components, ..CParameters::default() })
    });
    check_operator(tier, "staggered", |draws, hop| {
        let (mass, components) = (0.4, draws.one_of(&[1, 2, 3]));
        let model = StaggeredParameters { mass, components, hop };
        let components = components as c_int;
        (model, CParameters { kind: STAGGERED, mass, components, ..CParameters::default() })
    });
}
