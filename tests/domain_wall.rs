//! Domain wall and Möbius fermions: agreement with Grid, with the definition as a dense matrix, and with identities; and the matrices along s,
//! the same bits on OpenCL, on the CPU and in plain loops. The operator is `src/operator/domain_wall.rs`, its kernels
//! `reference/src/kernels/domain_wall.rs` and `cl/domain_wall.cl`.

use lanefield::backend::opencl::{Count, Tuning};
use lanefield::kernel::{Numbers, TestData};
use lanefield::operator::{DomainWallEvenOdd, SchurComplement};
use lanefield::prelude::*;
use lanefield_reference::kernels::domain_wall::{
    DomainWallError, InverseForm, MobiusCoefficients, SMatrix, Tridiagonal,
};
use lanefield_reference::layout::{AcceleratorThreads, Checkerboard};
use lanefield_reference::scalar::domain_wall::{ScalarDomainWall, s_multiply};

use crate::common::backends::{cpu, host, on_every_backend, opencl};
use crate::common::fields::{EVEN, ODD, applied, download, gaussian, lattice, lattice_in, plain_loops, upload};
use crate::common::grid::{BOUNDARIES, GridData, assert_agrees, distance};
use crate::common::models::{Values, image, pieces_make_the_operator, schur_solve};
use lanefield::verify::compare_fields;

const WORDS: usize = Spinors::WORDS;

/// The operator of Grid's data.
fn grid_parameters(boundary: BoundaryPhases) -> DomainWallParameters {
    let hop = HopParameters { boundary, ..HopParameters::default() };
    DomainWallParameters { hop, ..DomainWallParameters::shamir(8, 0.05, 1.8) }
}

fn mobius(ls: usize) -> DomainWallParameters {
    DomainWallParameters { b: 1.5, c: 0.5, ..DomainWallParameters::shamir(ls, 0.1, 1.4) }
}

fn pieces<'b, B: Backend>(
    backend: &'b B,
    configuration: &Configuration,
    parameters: DomainWallParameters,
) -> DomainWallEvenOdd<'b, B, f64> {
    let lattice = lattice::<f64>(configuration.extents());
    parameters.even_odd::<B, f64>(backend, configuration, lattice).unwrap()
}

/// A random configuration, and two kinds of boundary.
fn random_case() -> (Configuration, HopParameters) {
    let configuration = Configuration::hot(Extents::new([4, 2, 2, 4]).unwrap(), 5);
    let boundary = BoundaryPhases::antiperiodic([true, false, false, true]);
    (configuration, HopParameters { boundary, links: LinkFormat::TwoRows, ..HopParameters::default() })
}

// Agreement with Grid

fn hop_agrees_with_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let source = data.fermion5("src5");
    for (suffix, boundary) in BOUNDARIES {
        let lattice = lattice::<f64>(data.configuration.extents());
        let m = grid_parameters(boundary).full::<B, f64>(backend, &data.configuration, lattice).unwrap();
        for (name, dagger) in [("dhop", Dagger::No), ("dhopdag", Dagger::Yes)] {
            // DW less its diagonal.
            let mut found = applied(backend, lattice, [Sites::Full; 2], &source, |out, psi| {
                m.dw(out, psi, dagger).unwrap();
            });
            found.iter_mut().zip(&source).for_each(|(found, psi)| *found -= psi * (4.0 - 1.8));
            assert_agrees::<f64>(&data, &format!("dwf_{name}_{suffix}"), &found);
        }
    }
}

fn m_and_m_dagger_agree_with_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let source = data.fermion5("src5");
    for (suffix, boundary) in BOUNDARIES {
        for (name, dagger) in [("M", Dagger::No), ("Mdag", Dagger::Yes)] {
            let found = image::<f64, B, _>(backend, grid_parameters(boundary), &data.configuration, &source, dagger);
            assert_agrees::<f64>(&data, &format!("dwf_{name}_{suffix}"), &found);
        }
        let found = image::<f32, B, _>(backend, grid_parameters(boundary), &data.configuration, &source, Dagger::No);
        assert_agrees::<f32>(&data, &format!("dwf_M_sp_{suffix}"), &found);
    }
}

fn even_odd_pieces_agree_with_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let (lattice, source) = (lattice::<f64>(data.configuration.extents()), data.fermion5("src5"));
    for (suffix, boundary) in BOUNDARIES {
        let mut pieces = pieces(backend, &data.configuration, grid_parameters(boundary));
        let found = applied(backend, lattice, [EVEN, ODD], &source, |out, psi| {
            pieces.meooe(out, psi, Dagger::No).unwrap();
        });
        assert_agrees::<f64>(&data, &format!("dwf_Meo_{suffix}"), &found);
    }
    for inverse in InverseForm::ALL {
        let parameters = DomainWallParameters { inverse, ..grid_parameters(BoundaryPhases::PERIODIC) };
        let mut pieces = pieces(backend, &data.configuration, parameters);
        let found =
            applied(backend, lattice, [EVEN; 2], &source, |out, psi| pieces.mooee(out, psi, Dagger::No).unwrap());
        assert_agrees::<f64>(&data, "dwf_Mooee_even", &found);
        for (name, dagger) in [("MooeeInv", Dagger::No), ("MooeeInvDag", Dagger::Yes)] {
            let found =
                applied(backend, lattice, [EVEN; 2], &source, |out, psi| pieces.mooee_inv(out, psi, dagger).unwrap());
            assert_agrees::<f64>(&data, &format!("dwf_{name}_even"), &found);
        }
    }
}

fn physical_sources_and_solutions_agree_with_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    let lattice = lattice::<f64>(data.configuration.extents());
    let parameters = grid_parameters(BoundaryPhases::PERIODIC);
    let mut m = parameters.full::<B, f64>(backend, &data.configuration, lattice).unwrap();
    let source = m.import_physical_source(&upload(backend, lattice, Sites::Full, &data.spinor("src"))).unwrap();
    assert!(download(backend, &source) == data.fermion5("dwf_import_phys_src"));
    let quark = m.export_physical_solution(&upload(backend, lattice, Sites::Full, &data.fermion5("src5"))).unwrap();
    assert!(download(backend, &quark) == data.spinor("dwf_export_phys_sol"));
}

fn schur_solution_is_that_of_grid<B: Backend>(backend: &B) {
    let data = GridData::hot();
    for ((suffix, boundary), inverse) in BOUNDARIES.into_iter().zip(InverseForm::ALL) {
        let name = format!("dwf_schur_solve_{suffix}");
        let parameters = DomainWallParameters { inverse, ..grid_parameters(boundary) };
        let (found, iterations) = schur_solve(backend, parameters, &data.configuration, &data.fermion5("src5"));
        assert_eq!(iterations, data.iterations(&name), "{name}");
        // Both stop with residuals that agree to many digits, so that solutions agree far beyond the tolerance of the solve.
        let distance = distance(&found, &data.fermion5(&name));
        assert!(distance < 1e-12, "{name}: relative distance {distance:e}");
    }
}

// The definition

/// A matrix along s of one chirality.
type Dense = Vec<Vec<f64>>;

/// From a function of row and column.
fn dense(ls: usize, element: impl Fn(usize, usize) -> f64) -> Dense {
    (0..ls).map(|row| (0..ls).map(|column| element(row, column)).collect()).collect()
}

/// The shift of §5 of Grid's conventions for chirality + (s − 1) or − (s + 1), its wrap times −mass.
fn shift(ls: usize, mass: f64, plus: bool) -> Dense {
    dense(ls, |row, column| {
        let (to, from) = if plus { (row, column) } else { (column, row) };
        let wraps = to == 0 && from == ls - 1;
        if wraps { -mass } else { f64::from(u8::from(to == from + 1)) }
    })
}

fn combination(a: f64, x: &Dense, b: f64) -> Dense {
    dense(x.len(), |r, c| a * x[r][c] + if r == c { b } else { 0.0 })
}

fn transposed(x: &Dense) -> Dense {
    dense(x.len(), |r, c| x[c][r])
}

/// Acts with a matrix for each chirality on columns of x.
fn act([plus, minus]: [&Dense; 2], x: &[Complex<f64>]) -> Values {
    let ls = plus.len();
    let mut y = vec![Complex::ZERO; x.len()];
    for (k, y) in y.iter_mut().enumerate() {
        let (column, s, word) = (k / (ls * WORDS), k / WORDS % ls, k % WORDS);
        let row = if word < WORDS / 2 { &plus[s] } else { &minus[s] };
        *y = (0..ls).map(|from| x[(column * ls + from) * WORDS + word] * row[from]).sum();
    }
    y
}

fn m_is_its_definition<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    for ls in [1, 2, 5] {
        let parameters = DomainWallParameters { hop, ..mobius(ls) };
        let m = parameters.full::<B, f64>(backend, &configuration, lattice).unwrap();
        let psi = gaussian(configuration.extents(), ls * WORDS, 3);
        let dw = |psi: &[Complex<f64>], dagger| {
            applied(backend, lattice, [Sites::Full; 2], psi, |out, psi| m.dw(out, psi, dagger).unwrap())
        };
        let shifts = [true, false].map(|plus| shift(ls, parameters.mass, plus));
        let input = shifts.each_ref().map(|shift| combination(0.5, shift, 1.5));
        let walls = shifts.each_ref().map(|shift| combination(-1.0, shift, 1.0));
        let sum = |a: Values, b: Values| -> Values { a.iter().zip(&b).map(|(a, b)| a + b).collect() };

        let expected = sum(dw(&act(input.each_ref(), &psi), Dagger::No), act(walls.each_ref(), &psi));
        let found = image::<f64, B, _>(backend, parameters, &configuration, &psi, Dagger::No);
        assert!(distance(&found, &expected) < 1e-15, "ls {ls}: {:e}", distance(&found, &expected));

        let [input, walls] = [input, walls].map(|matrices| matrices.each_ref().map(transposed));
        let expected = sum(act(input.each_ref(), &dw(&psi, Dagger::Yes)), act(walls.each_ref(), &psi));
        let found = image::<f64, B, _>(backend, parameters, &configuration, &psi, Dagger::Yes);
        assert!(distance(&found, &expected) < 1e-15, "dagger, ls {ls}: {:e}", distance(&found, &expected));
    }
}

fn imported_mobius_source_is_its_definition<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let parameters = DomainWallParameters { hop, ..mobius(3) };
    let mut m = parameters.full::<B, f64>(backend, &configuration, lattice).unwrap();
    let eta = gaussian(configuration.extents(), WORDS, 3);
    let mut walls = vec![Complex::ZERO; 3 * eta.len()];
    for (column, eta) in walls.chunks_exact_mut(3 * WORDS).zip(eta.chunks_exact(WORDS)) {
        column[..6].copy_from_slice(&eta[..6]);
        column[2 * WORDS + 6..].copy_from_slice(&eta[6..]);
    }
    let dw = applied(backend, lattice, [Sites::Full; 2], &walls, |out, psi| m.dw(out, psi, Dagger::No).unwrap());
    let expected: Values = walls.iter().zip(&dw).map(|(walls, dw)| walls - 0.5 * dw).collect();
    let found = m.import_physical_source(&upload(backend, lattice, Sites::Full, &eta)).unwrap();
    assert!(distance(&download(backend, &found), &expected) < 1e-15);
}

// Identities

/// γ5 R5: the chiral sign, and s turned round.
fn gamma5_r5(field: &[Complex<f64>], ls: usize) -> Values {
    let turned = |k: usize| (k / (ls * WORDS), ls - 1 - k / WORDS % ls, k % WORDS);
    let value = |(column, s, word): (usize, usize, usize)| {
        let value = field[(column * ls + s) * WORDS + word];
        if word < WORDS / 2 { value } else { -value }
    };
    (0..field.len()).map(turned).map(value).collect()
}

/// To the last bit: γ5 only flips signs, R5 moves spinors, and T† is T turned round.
fn shamirs_m_is_gamma5_r5_hermitian<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    for ls in [1, 2, 6] {
        let parameters = DomainWallParameters { hop, ..DomainWallParameters::shamir(ls, 0.1, 1.8) };
        let source = gaussian(configuration.extents(), ls * WORDS, 11);
        let m_dagger = image::<f64, B, _>(backend, parameters, &configuration, &source, Dagger::Yes);
        let turned = gamma5_r5(&source, ls);
        let m = image::<f64, B, _>(backend, parameters, &configuration, &turned, Dagger::No);
        assert!(m_dagger == gamma5_r5(&m, ls), "ls {ls}");
    }
}

fn mooee_times_its_inverse_is_one<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    for (ls, inverse) in [1, 2, 3, 8].into_iter().flat_map(|ls| InverseForm::ALL.map(|form| (ls, form))) {
        for parameters in [mobius(ls), DomainWallParameters::shamir(ls, 0.5, 1.8)] {
            let mut pieces = pieces(backend, &configuration, DomainWallParameters { hop, inverse, ..parameters });
            let source = gaussian(configuration.extents(), ls * WORDS, 19);
            for dagger in Dagger::BOTH {
                let image = applied(backend, lattice, [ODD; 2], &source, |out, psi| {
                    let mut between = backend.zeros(lattice, ODD, Spinors::new(ls)).unwrap();
                    pieces.mooee_inv(&mut between, psi, dagger).unwrap();
                    pieces.mooee(out, &between, dagger).unwrap();
                });
                let expected = download::<f64, Spinors, B>(backend, &upload(backend, lattice, ODD, &source));
                let distance = distance(&image, &expected);
                assert!(distance < 1e-15, "ls {ls}, {inverse:?}, {dagger:?}: {distance:e}");
            }
        }
    }
}

fn m_is_the_sum_of_its_even_odd_pieces<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    for parameters in [mobius(3), DomainWallParameters::shamir(3, 0.2, 1.8)] {
        pieces_make_the_operator(backend, DomainWallParameters { hop, ..parameters }, &configuration);
    }
}

fn mobius_solution_solves<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let parameters = DomainWallParameters { hop, ..mobius(4) };
    let eta = gaussian(configuration.extents(), 4 * WORDS, 29);
    let (psi, _) = schur_solve(backend, parameters, &configuration, &eta);
    let image = image::<f64, B, _>(backend, parameters, &configuration, &psi, Dagger::No);
    assert!(distance(&image, &eta) < 1e-8, "{:e}", distance(&image, &eta));
}

/// Column `which` of two, of a field in site order.
fn one_column(both: &[Complex<f64>], ls: usize, which: usize) -> Values {
    both.chunks_exact(ls * WORDS).skip(which).step_by(2).flatten().copied().collect()
}

fn two_columns_are_two_single_ones<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let ls = 3;
    let both = gaussian(configuration.extents(), 2 * ls * WORDS, 31);
    for inverse in InverseForm::ALL {
        let parameters = DomainWallParameters { hop, inverse, ..mobius(ls) };
        let mut schur = SchurComplement::new(pieces(backend, &configuration, parameters)).unwrap();
        for dagger in Dagger::BOTH {
            let mut m = |source: &[Complex<f64>]| {
                let full = image::<f64, B, _>(backend, parameters, &configuration, source, dagger);
                let mpc = applied(backend, lattice, [ODD; 2], source, |out, psi| {
                    schur.apply(out, psi, dagger).unwrap();
                });
                [full, mpc]
            };
            let together = m(&both);
            for which in 0..2 {
                let alone = m(&one_column(&both, ls, which));
                for (together, alone) in together.iter().zip(&alone) {
                    assert!(one_column(together, ls, which) == *alone, "column {which}, {dagger:?}");
                }
            }
        }
    }
}

// Errors

fn parameters_that_cannot_be_are_refused<B: Backend>(backend: &B) {
    let (configuration, _) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let error = |parameters: DomainWallParameters| {
        let made = parameters.even_odd::<B, f64>(backend, &configuration, lattice);
        made.err().expect("the parameters are refused").to_string()
    };
    let good = DomainWallParameters::shamir(4, 0.1, 1.8);
    let no_s = error(DomainWallParameters { ls: 0, ..good });
    assert_eq!(no_s, "ls is 0: the fifth dimension has 1 to 1024 sites");
    let no_mass = error(DomainWallParameters { mass: f64::NAN, ..good });
    assert_eq!(no_mass, "the mass is NaN: it must be finite");
    let singular = error(DomainWallParameters { m5: 5.0, ..good });
    assert!(singular.contains("its pivot at s = 3 is 0; change M5"), "{singular}");
}

fn spinors_that_are_no_whole_columns_are_refused<B: Backend>(backend: &B) {
    let (configuration, _) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let mut m = mobius(4).full::<B, f64>(backend, &configuration, lattice).unwrap();
    let psi =
        upload::<f64, Spinors, B>(backend, lattice, Sites::Full, &gaussian(configuration.extents(), 6 * WORDS, 1));
    let mut out = backend.zeros(lattice, Sites::Full, Spinors::new(6)).unwrap();
    let error = m.apply(&mut out, &psi, Dagger::No).unwrap_err();
    assert!(matches!(error, BackendError::Argument { .. }), "{error}");
    assert!(error.to_string().contains("is an f64 6 spinors field on 4.2.2.4"), "{error}");
    assert!(error.to_string().ends_with("expected a multiple of ls = 4 spinors a site"), "{error}");
}

fn only_a_tridiagonal_product_is_added_to_a_field<B: Backend>(backend: &B) {
    let lattice = lattice::<f64>(Extents::new([2; 4]).unwrap());
    let matrix = MobiusCoefficients::new(2, 0.1, 1.8, 1.0, 0.0).unwrap().diagonal();
    let zeros = || backend.zeros::<f64, _>(lattice, Sites::Full, Spinors::new(2)).unwrap();
    for form in InverseForm::ALL {
        let inverse = backend.matrix(&matrix.inverse(form).unwrap(), Precision::F64).unwrap();
        let error = backend.s_multiply_add(&mut zeros(), &inverse, &zeros(), &zeros()).unwrap_err().to_string();
        assert!(error.ends_with("does not match a tridiagonal matrix along s"), "{error}");
    }
}

on_every_backend! {
    m_is_the_sum_of_its_even_odd_pieces;
    in test-all:
    hop_agrees_with_grid,
    m_and_m_dagger_agree_with_grid,
    even_odd_pieces_agree_with_grid,
    physical_sources_and_solutions_agree_with_grid,
    schur_solution_is_that_of_grid,
    m_is_its_definition,
    imported_mobius_source_is_its_definition,
    shamirs_m_is_gamma5_r5_hermitian,
    mooee_times_its_inverse_is_one,
    mobius_solution_solves,
    two_columns_are_two_single_ones,
    parameters_that_cannot_be_are_refused,
    spinors_that_are_no_whole_columns_are_refused,
    only_a_tridiagonal_product_is_added_to_a_field,
    m_is_that_of_plain_loops_to_the_bit,
}

// The same bits

/// Two diagonals that no operator has, and the inverses of what one has.
fn matrices(ls: usize) -> Vec<SMatrix> {
    let list = |k: f64| (0..ls).map(|s| (k + s as f64).sin()).collect::<Vec<_>>();
    let any = Tridiagonal::new(list(1.0), list(2.0), list(3.0)).unwrap();
    let diagonal = MobiusCoefficients::new(ls, 0.1, 1.4, 1.5, 0.5).unwrap().diagonal();
    let inverses = [diagonal.clone(), diagonal.dagger()]
        .into_iter()
        .flat_map(|matrix| InverseForm::ALL.map(|form| matrix.inverse(form).unwrap()));
    [any.matrix(), any.dagger().matrix()].into_iter().chain(inverses).collect()
}

/// All matrices on fields of `columns` columns: on the CPU in lanes as in plain loops; on the device as there.
fn compare<R: Vectors>(
    device: Option<&OpenCl>,
    cpu: &Cpu,
    (extents, lanes): ([usize; 4], &str),
    (ls, columns): (usize, usize),
    numbers: Numbers,
) {
    let extents = Extents::new(extents).unwrap();
    let lattice = lattice_in(extents, R::COMPLEX, lanes.parse().unwrap(), None);
    let sites = if lattice.checkerboard() == Checkerboard::RedBlack { ODD } else { Sites::Full };
    let kind = Spinors::new(ls * columns);
    let data = TestData::new((ls + columns) as u64);
    let [x, z] = [0, 1].map(|k| data.field::<R, _>(lattice, sites, kind, numbers, k).unwrap());
    let in_order = |field: &Field<R, Spinors>| field.to_site_order();
    for matrix in matrices(ls) {
        let adds = matrix.form() == lanefield_reference::kernels::domain_wall::MatrixForm::Tridiagonal;
        for z in [None, Some(&z)].into_iter().take(1 + usize::from(adds)) {
            let expected = multiply_on(cpu, &matrix, &x, z);
            let plain = s_multiply(&matrix, &in_order(&x), z.map(in_order).as_deref());
            let plain = Field::from_site_order(lattice, sites, kind, &plain).unwrap();
            let what = format!("{}, {:?}, {:?}, sum {}", x.describe(), matrix.form(), matrix.dagger(), z.is_some());
            assert_eq!(compare_fields(&expected, &plain).unwrap(), None, "{what}: lanes and plain loops");

            if let Some(device) = device {
                let found = multiply_on(device, &matrix, &x, z);
                assert_eq!(compare_fields(&found, &expected).unwrap(), None, "{what}: device");
            }
        }
    }
}

/// matrix · x, or that and z.
fn multiply_on<R: Vectors, B: Backend>(
    backend: &B,
    matrix: &SMatrix,
    x: &Field<R, Spinors>,
    z: Option<&Field<R, Spinors>>,
) -> Field<R, Spinors> {
    let mut out = backend.zeros(*x.lattice(), x.sites(), x.kind()).unwrap();
    let matrix = backend.matrix(matrix, R::PRECISION).unwrap();
    let x = backend.upload(x.clone()).unwrap();
    match z {
        None => backend.s_multiply(&mut out, &matrix, &x).unwrap(),
        Some(z) => backend.s_multiply_add(&mut out, &matrix, &x, &backend.upload(z.clone()).unwrap()).unwrap(),
    }
    backend.download(&out).unwrap()
}

#[test]
fn matrices_along_s_are_bitwise_equal_to_plain_loops_in_lanes_of_any_width() {
    let cpu = host();
    for lanes in ["8", "16", "32", "64", "128", "256"] {
        for (ls, columns) in [(1, 1), (2, 3), (6, 2), (5, 1)] {
            compare::<f32>(None, &cpu, ([4, 4, 8, 8], lanes), (ls, columns), Numbers::Ordinary);
            if lanes != "8" {
                compare::<f64>(None, &cpu, ([4, 4, 4, 8], lanes), (ls, columns), Numbers::Ordinary);
            }
        }
    }
}

#[test]
#[ignore = "test-all: every length of s and form"]
fn matrices_along_s_are_bitwise_equal_to_reference_on_awkward_lattices() {
    let (Some(device), cpu) = (opencl(), host()) else { return };
    for (ls, columns) in [(1, 1), (2, 1), (4, 1), (3, 4)] {
        let both = |extents, lanes32, lanes64| {
            compare::<f32>(Some(&device), &cpu, (extents, lanes32), (ls, columns), Numbers::Ordinary);
            compare::<f64>(Some(&device), &cpu, (extents, lanes64), (ls, columns), Numbers::Ordinary);
        };
        both([3, 5, 1, 7], "8", "16");
        both([4, 4, 4, 6], "64", "64");
    }
}

#[test]
#[ignore = "test-all: builds that tests/kernels.rs has not"]
fn matrices_along_s_are_bitwise_equal_to_reference_on_numbers_that_are_hard() {
    let (Some(device), cpu) = (opencl(), host()) else { return };
    for numbers in Numbers::ALL {
        compare::<f32>(Some(&device), &cpu, ([4, 4, 4, 6], "64"), (4, 1), numbers);
        compare::<f64>(Some(&device), &cpu, ([4, 4, 4, 6], "64"), (4, 1), numbers);
    }
}

#[test]
#[ignore = "test-all: another build"]
fn no_cut_of_groups_changes_a_bit() {
    let (Some(mut device), cpu) = (opencl(), host()) else { return };
    // Two work-items over spinors, and three over outer sites.
    let accelerator_threads = AcceleratorThreads::new(6).ok();
    let two = Count::new(2);
    device.set_tuning(Tuning { accelerator_threads, rhs_per_group: two, rhs_per_work_item: two, ..Tuning::OPEN });
    compare::<f32>(Some(&device), &cpu, ([4, 4, 4, 6], "64"), (4, 3), Numbers::Ordinary);
}

fn m_is_that_of_plain_loops<R: Vectors, B: Backend>(backend: &B) {
    let extents = Extents::new([4, 2, 2, 4]).unwrap();
    let configuration = Configuration::hot(extents, 9);
    let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
    let hop = HopParameters { boundary, ..HopParameters::default() };
    let wilson = plain_loops(&configuration, hop);
    let (ls, columns) = (3, 2);
    let source = gaussian(extents, ls * columns * WORDS, 37);
    let rounded: Vec<Complex<R>> = source.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect();
    for parameters in [mobius(ls), DomainWallParameters::shamir(ls, 0.1, 1.8)] {
        let parameters = DomainWallParameters { hop, ..parameters };
        let DomainWallParameters { mass, m5, b, c, .. } = parameters;
        let plain = ScalarDomainWall { wilson, coefficients: MobiusCoefficients::new(ls, mass, m5, b, c).unwrap() };
        for dagger in Dagger::BOTH {
            let expected = plain.m(&rounded, dagger);
            let expected: Values = expected.iter().map(|c| Complex::new(c.re.to_f64(), c.im.to_f64())).collect();
            assert!(image::<R, B, _>(backend, parameters, &configuration, &source, dagger) == expected, "{dagger:?}");
        }
    }
}

fn m_is_that_of_plain_loops_to_the_bit<B: Backend>(backend: &B) {
    m_is_that_of_plain_loops::<f32, _>(backend);
    m_is_that_of_plain_loops::<f64, _>(backend);
}

#[test]
fn the_two_forms_of_an_inverse_differ_in_bits() {
    // The comparisons above would show less if they did not.
    let cpu = cpu();
    let lattice = lattice::<f32>(Extents::new([4; 4]).unwrap());
    let x = TestData::new(1).field::<f32, _>(lattice, ODD, Spinors::new(6), Numbers::Ordinary, 0).unwrap();
    let matrix = MobiusCoefficients::new(6, 0.1, 1.4, 1.5, 0.5).unwrap().diagonal();
    let [sweep, dense] = InverseForm::ALL.map(|form| multiply_on(&cpu, &matrix.inverse(form).unwrap(), &x, None));
    assert!(compare_fields(&sweep, &dense).unwrap().is_some());
}

#[test]
fn lists_of_different_lengths_make_no_matrix() {
    let error = Tridiagonal::new(vec![1.0; 3], vec![1.0; 3], vec![1.0; 2]).unwrap_err();
    assert_eq!(error, DomainWallError::Lengths { diagonal: 3, plus: 3, minus: 2 });
}
