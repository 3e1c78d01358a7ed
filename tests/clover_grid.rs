//! The clover operator and its even-odd pieces: agreement with Grid, and identities; more of these are in `tests/operators.rs`. The operator is
//! `src/operator/clover.rs`; the bits of its kernels are the subject of `tests/clover.rs`.

use lanefield::operator::{Clover, SchurComplement};
use lanefield::prelude::*;
use lanefield_reference::field::{CloverBlocks, FieldStrength};
use lanefield_reference::layout::{Checkerboard, Stencil};
use lanefield_reference::links::raw;
use lanefield_reference::random::su3_random;

use crate::common::backends::on_every_backend;
use crate::common::fields::{EVEN, ODD, applied, download, gaussian, lattice};
use crate::common::grid::{BOUNDARIES, GridData, MASS, assert_agrees, distance};
use crate::common::models::{self, gamma5, image, normal_solve, schur_solve, the_dagger_is_gamma5_m_gamma5};

const CSW: f64 = 1.3;

fn clover(boundary: BoundaryPhases) -> CloverParameters {
    CloverParameters { mass: MASS, csw_r: CSW, csw_t: CSW, hop: HopParameters { boundary, ..HopParameters::default() } }
}

/// A random configuration, and coefficients that differ.
fn random_case() -> (Configuration, CloverParameters) {
    let (configuration, hop) = models::random_case();
    (configuration, CloverParameters { mass: MASS, csw_r: 1.1, csw_t: 0.9, hop })
}

fn field_strength<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    boundary: BoundaryPhases,
) -> (Lattice, FieldOn<B, f64, FieldStrength>) {
    let lattice = lattice::<f64>(configuration.extents());
    let links = backend.upload(raw::<f64>(configuration, lattice, boundary).unwrap()).unwrap();
    let stencil = backend.stencil(Stencil::new(lattice, Sites::Full).unwrap()).unwrap();
    let mut strength = backend.zeros(lattice, Sites::Full, FieldStrength).unwrap();
    backend.field_strength(&mut strength, &stencil, &links).unwrap();
    (lattice, strength)
}

/// The clover term in site order, 36 words a site.
fn clover_term<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    parameters: CloverParameters,
) -> Vec<Complex<f64>> {
    let (lattice, strength) = field_strength(backend, configuration, parameters.hop.boundary);
    let mut term = backend.zeros(lattice, Sites::Full, CloverBlocks).unwrap();
    backend.clover_term(&mut term, &strength, parameters.coefficients()).unwrap();
    download(backend, &term)
}

// Agreement with Grid

/// Grid's F has its indices the other way round, and is −F_μν.
fn field_strength_is_that_of_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let (_, strength) = field_strength(backend, &data.configuration, BoundaryPhases::PERIODIC);
    let strength = download(backend, &strength);
    for (plane, name) in ["F_yx", "F_zx", "F_tx", "F_zy", "F_ty", "F_tz"].into_iter().enumerate() {
        let ours: Vec<_> = strength
            .chunks_exact(54)
            .flat_map(|f| f[9 * plane..][..9].iter().map(|f| -f).collect::<Vec<_>>())
            .collect();
        let distance = distance(&ours, &data.field(name).values.into_f64());
        assert!(distance < 1e-15, "{name}: relative distance {distance:e}");
    }
}

fn clover_term_is_that_of_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let ours = clover_term(backend, &data.configuration, clover(BoundaryPhases::PERIODIC));
    let mut matrices = vec![Complex::ZERO; 144 * data.configuration.extents().volume()];
    for (blocks, matrix) in ours.chunks_exact(36).zip(matrices.chunks_exact_mut(144)) {
        for (b, block) in blocks.chunks_exact(18).enumerate() {
            for i in 0..6 {
                for j in 0..6 {
                    let pair = block[i / 2];
                    let element = match i.cmp(&j) {
                        std::cmp::Ordering::Equal => Complex::from(if i % 2 == 0 { pair.re } else { pair.im }),
                        std::cmp::Ordering::Less => block[3 + CloverBlocks::upper(i, j)],
                        std::cmp::Ordering::Greater => block[3 + CloverBlocks::upper(j, i)].conj(),
                    };
                    matrix[((2 * b + i / 3) * 4 + 2 * b + j / 3) * 9 + 3 * (i % 3) + j % 3] = element;
                }
            }
        }
    }
    let distance = distance(&matrices, &data.field("clover_term").values.into_f64());
    assert!(distance < 1e-15, "relative distance {distance:e}");
}

fn m_and_m_dagger_agree_with_grid<B: Backend>(backend: &B) {
    for (data, boundaries) in [(GridData::hot(), &BOUNDARIES[..]), (GridData::tepid(), &BOUNDARIES[1..])] {
        for &(suffix, boundary) in boundaries {
            for (name, dagger) in [("M", Dagger::No), ("Mdag", Dagger::Yes)] {
                let found =
                    image::<f64, B, _>(backend, clover(boundary), &data.configuration, &data.spinor("src"), dagger);
                assert_agrees::<f64>(&data, &format!("clover_{name}_{suffix}"), &found);
            }
        }
    }
}

fn m_in_f32_agrees_with_grid<B: Backend>(backend: &B) {
    for (data, boundaries) in [(GridData::hot(), &BOUNDARIES[..]), (GridData::tepid(), &BOUNDARIES[1..])] {
        for &(suffix, boundary) in boundaries {
            let found =
                image::<f32, B, _>(backend, clover(boundary), &data.configuration, &data.spinor("src"), Dagger::No);
            assert_agrees::<f32>(&data, &format!("clover_M_sp_{suffix}"), &found);
        }
    }
}

fn even_odd<'b, B: Backend>(backend: &'b B, data: &GridData, parameters: CloverParameters) -> Clover<'b, B, f64> {
    parameters.even_odd(backend, &data.configuration, lattice::<f64>(data.configuration.extents())).unwrap()
}

fn diagonal_pieces_agree_with_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let lattice = lattice::<f64>(data.configuration.extents());
    let mut pieces = even_odd(backend, &data, clover(BoundaryPhases::ANTIPERIODIC_IN_TIME));
    for (parity, sites) in [("even", EVEN), ("odd", ODD)] {
        let source = data.spinor("src");
        let found = applied(backend, lattice, [sites; 2], &source, |out, psi| {
            pieces.mooee(out, psi, Dagger::No).unwrap();
        });
        assert_agrees::<f64>(&data, &format!("clover_Mooee_{parity}_ap"), &found);
        let found = applied(backend, lattice, [sites; 2], &source, |out, psi| {
            pieces.mooee_inv(out, psi, Dagger::No).unwrap();
        });
        assert_agrees::<f64>(&data, &format!("clover_MooeeInv_{parity}_ap"), &found);
    }
}

fn schur_complement_agrees_with_grid<B: Backend>(backend: &B) {
    let cases = [(GridData::hot(), &BOUNDARIES[..], true), (GridData::tepid(), &BOUNDARIES[1..], false)];
    for (data, boundaries, with_dagger) in cases {
        let lattice = lattice::<f64>(data.configuration.extents());
        for &(suffix, boundary) in boundaries {
            let mut mpc = SchurComplement::new(even_odd(backend, &data, clover(boundary))).unwrap();
            for (name, dagger) in
                [("Mpc", Dagger::No), ("MpcDag", Dagger::Yes)].into_iter().take(1 + with_dagger as usize)
            {
                let found = applied(backend, lattice, [ODD; 2], &data.spinor("src"), |out, psi| {
                    mpc.apply(out, psi, dagger).unwrap();
                });
                assert_agrees::<f64>(&data, &format!("clover_{name}_odd_{suffix}"), &found);
            }
        }
    }
}

/// Both stop at the same iteration, and the iterates agree far below the tolerance of the solve.
fn solution_of_the_normal_equations_is_that_of_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    for (suffix, boundary) in BOUNDARIES {
        let name = format!("clover_cg_mdagm_{suffix}");
        let (x, iterations) = normal_solve(backend, clover(boundary), &data.configuration, &data.spinor("src"));
        assert_eq!(iterations, data.iterations(&name), "{name}");
        assert_agrees::<f64>(&data, &name, &x);
    }
}

fn assert_solves_as_grid<B: Backend>(backend: &B, data: &GridData, (suffix, boundary): (&str, BoundaryPhases)) {
    let name = format!("clover_schur_solve_{suffix}");
    let (x, iterations) = schur_solve(backend, clover(boundary), &data.configuration, &data.spinor("src"));
    assert_eq!(iterations, data.iterations(&name), "{} {name}", data.name());
    // Grid's inverse of the blocks is another algorithm's.
    let distance = distance(&x, &data.spinor(&name));
    assert!(distance < 1e-12, "{} {name}: relative distance {distance:e}", data.name());
}

fn even_odd_solution_is_that_of_grid<B: Backend>(backend: &B) {
    for boundary in BOUNDARIES {
        assert_solves_as_grid(backend, &GridData::hot(), boundary);
    }
    assert_solves_as_grid(backend, &GridData::tepid(), BOUNDARIES[1]);
}

fn even_odd_solution_on_the_thermalised_configuration_is_that_of_grid<B: Backend>(backend: &B) {
    assert_solves_as_grid(backend, &GridData::quenched(), BOUNDARIES[1]);
}

// Identities

/// The blocks do not mix chiralities.
fn m_is_gamma5_hermitian<B: Backend>(backend: &B) {
    let (configuration, parameters) = random_case();
    the_dagger_is_gamma5_m_gamma5(backend, [parameters; 2], &configuration);
}

fn without_clover_coefficients_m_is_the_wilson_operator<B: Backend>(backend: &B) {
    let (configuration, CloverParameters { mass, hop, .. }) = random_case();
    let source = gaussian(configuration.extents(), Spinors::WORDS, 23);
    let parameters = CloverParameters { mass, csw_r: 0.0, csw_t: 0.0, hop };
    let found = image::<f64, B, _>(backend, parameters, &configuration, &source, Dagger::No);
    let wilson = WilsonParameters { mass, hop };
    let expected = image::<f64, B, _>(backend, wilson, &configuration, &source, Dagger::No);
    assert!(distance(&found, &expected) < 1e-15);
}

fn even_odd_pieces_make_up_m<B: Backend>(backend: &B) {
    let (configuration, parameters) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let source = gaussian(configuration.extents(), Spinors::WORDS, 29);
    let mut pieces = parameters.even_odd::<B, f64>(backend, &configuration, lattice).unwrap();
    for dagger in Dagger::BOTH {
        let whole = image::<f64, B, _>(backend, parameters, &configuration, &source, dagger);
        for (to, from) in [(EVEN, ODD), (ODD, EVEN)] {
            let hop =
                applied(backend, lattice, [to, from], &source, |out, psi| pieces.meooe(out, psi, dagger).unwrap());
            let own = applied(backend, lattice, [to; 2], &source, |out, psi| pieces.mooee(out, psi, dagger).unwrap());
            for (k, value) in whole.iter().enumerate() {
                if to.contain(configuration.extents().coordinate(k / Spinors::WORDS)) {
                    assert_eq!(*value, hop[k] + own[k]);
                }
            }
        }
    }
}

fn inverse_of_the_diagonal_inverts_it<B: Backend>(backend: &B) {
    let (configuration, parameters) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let source = gaussian(configuration.extents(), Spinors::WORDS, 31);
    let mut pieces = parameters.even_odd::<B, f64>(backend, &configuration, lattice).unwrap();
    for sites in [EVEN, ODD] {
        let once = applied(backend, lattice, [sites; 2], &source, |out, psi| {
            pieces.mooee_inv(out, psi, Dagger::No).unwrap();
        });
        let back = applied(backend, lattice, [sites; 2], &once, |out, psi| {
            pieces.mooee(out, psi, Dagger::No).unwrap();
        });
        let expected = applied::<f64, Spinors, B>(backend, lattice, [sites; 2], &source, |out, psi| {
            backend.copy(out, psi).unwrap();
        });
        assert!(distance(&back, &expected) < 1e-13);
    }
    let smallest = pieces.smallest_pivot().unwrap();
    assert!(smallest.pivot > 0.1 && smallest.pivot < 4.1, "{smallest}");
}

/// M x = source, whatever made x.
fn m_times_the_even_odd_solution_is_the_source<B: Backend>(backend: &B) {
    let data = GridData::tepid();
    let parameters = CloverParameters {
        hop: HopParameters { links: LinkFormat::TwoRows, ..clover(BoundaryPhases::FIXED_IN_TIME).hop },
        ..clover(BoundaryPhases::FIXED_IN_TIME)
    };
    let (x, _) = schur_solve(backend, parameters, &data.configuration, &data.spinor("src"));
    let back = image::<f64, B, _>(backend, parameters, &data.configuration, &x, Dagger::No);
    assert!(distance(&back, &data.spinor("src")) < 1e-9);
}

/// The links that leave the last time slice, and nothing else, drop out of a clover term with a fixed boundary in time.
fn clover_term_of_a_fixed_boundary_has_no_links_across_it<B: Backend>(backend: &B) {
    let (configuration, parameters) = random_case();
    let extents = configuration.extents();
    let with = |boundary| CloverParameters { hop: HopParameters { boundary, ..parameters.hop }, ..parameters };
    let mut links = configuration.links().to_vec();
    for site in 0..extents.volume() {
        if extents.coordinate(site)[3] == extents[3] - 1 {
            links[(4 * site + 3) * 9..][..9].copy_from_slice(&su3_random(3, site as u64, 3));
        }
    }
    let other = Configuration::new(extents, links).unwrap();
    let fixed = with(BoundaryPhases::FIXED_IN_TIME);
    let term = clover_term(backend, &configuration, fixed);
    assert!(term == clover_term(backend, &other, fixed));
    // Phases ±1 do not enter, and a fixed boundary acts on the slices beside it alone.
    let periodic = clover_term(backend, &configuration, with(BoundaryPhases::PERIODIC));
    assert!(periodic == clover_term(backend, &configuration, with(BoundaryPhases::ANTIPERIODIC_IN_TIME)));
    for (site, (term, periodic)) in term.chunks_exact(36).zip(periodic.chunks_exact(36)).enumerate() {
        let t = extents.coordinate(site)[3];
        assert_eq!(term == periodic, t != 0 && t != extents[3] - 1, "t = {t}");
    }
}

fn clover_term_of_the_free_field_is_the_diagonal<B: Backend>(backend: &B) {
    let configuration = Configuration::unit(Extents::new([4, 2, 2, 4]).unwrap());
    let pieces = clover(BoundaryPhases::PERIODIC)
        .even_odd::<B, f64>(backend, &configuration, lattice::<f64>(configuration.extents()))
        .unwrap();
    let smallest = pieces.smallest_pivot().unwrap();
    assert_eq!((smallest.pivot, smallest.site, smallest.block), (4.0 + MASS, [0; 4], 0));
    let term = clover_term(backend, &configuration, clover(BoundaryPhases::PERIODIC));
    assert!(
        term.iter().enumerate().all(|(k, c)| *c == if k % 18 < 3 { Complex::new(4.1, 4.1) } else { Complex::ZERO })
    );
}

fn a_singular_block_is_named<B: Backend>(backend: &B) {
    let configuration = Configuration::unit(Extents::new([4, 2, 2, 4]).unwrap());
    let parameters = CloverParameters { mass: -4.0, ..clover(BoundaryPhases::PERIODIC) };
    let made = parameters.even_odd::<B, f64>(backend, &configuration, lattice::<f64>(configuration.extents()));
    let Err(error) = made else { panic!("a clover term of zeros was inverted") };
    assert!(matches!(error, BackendError::SingularClover { site: [0, 0, 0, 0], block: 0, .. }), "{error}");
    let message = error.to_string();
    for part in ["block 0", "site x,y,z,t = 0,0,0,0", "mass -4", "csw_r 1.3", "csw_t 1.3"] {
        assert!(message.contains(part), "{message}");
    }
}

fn m_acts_on_lattices_without_parities<B: Backend>(backend: &B) {
    let configuration = Configuration::hot(Extents::new([3, 5, 1, 7]).unwrap(), 8);
    let options = LatticeOptions { checkerboard: Checkerboard::FullOnly, ..LatticeOptions::default() };
    let lattice = Lattice::new(configuration.extents(), <f64 as lanefield_reference::real::Real>::COMPLEX, options);
    let lattice = lattice.unwrap();
    let parameters = clover(BoundaryPhases::PERIODIC);
    let mut m = parameters.full::<B, f64>(backend, &configuration, lattice).unwrap();
    let source = gaussian(configuration.extents(), Spinors::WORDS, 37);
    let [m_psi, m_dagger_psi] = [(Dagger::No, &source), (Dagger::Yes, &gamma5(&source))].map(|(dagger, source)| {
        applied(backend, lattice, [Sites::Full; 2], source, |out, psi| m.apply(out, psi, dagger).unwrap())
    });
    assert!(m_psi == gamma5(&m_dagger_psi));
}

on_every_backend! {
    even_odd_pieces_make_up_m;
    in test-all:
    field_strength_is_that_of_grid,
    clover_term_is_that_of_grid,
    m_and_m_dagger_agree_with_grid,
    m_in_f32_agrees_with_grid,
    diagonal_pieces_agree_with_grid,
    schur_complement_agrees_with_grid,
    solution_of_the_normal_equations_is_that_of_grid,
    even_odd_solution_is_that_of_grid,
    even_odd_solution_on_the_thermalised_configuration_is_that_of_grid,
    m_is_gamma5_hermitian,
    without_clover_coefficients_m_is_the_wilson_operator,
    inverse_of_the_diagonal_inverts_it,
    m_times_the_even_odd_solution_is_the_source,
    clover_term_of_a_fixed_boundary_has_no_links_across_it,
    clover_term_of_the_free_field_is_the_diagonal,
    a_singular_block_is_named,
    m_acts_on_lattices_without_parities,
}
