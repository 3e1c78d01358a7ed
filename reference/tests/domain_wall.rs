//! Matrices along the fifth dimension on numbers that a reader checks by hand, in plain loops; and that columns move to the walls and back.
//! `tests/domain_wall.rs` has the agreement of lanes and devices with them, and with Grid.

use lanefield_reference::kernels::domain_wall::{
    DomainWallError, InverseForm, MobiusCoefficients, Tridiagonal, from_walls, onto_walls,
};
use lanefield_reference::layout::Checkerboard;
use lanefield_reference::prelude::*;
use lanefield_reference::scalar::domain_wall::s_multiply;

use crate::common::{Numbers, extents, lattice, random_words};

/// A column whose components of chirality + are `plus`, and of chirality − `minus`, by s.
fn column(plus: &[f64], minus: &[f64]) -> Vec<Complex<f64>> {
    let spinor = |(&plus, &minus): (&f64, &f64)| [[Complex::new(plus, -plus); 6], [Complex::new(minus, -minus); 6]];
    plus.iter().zip(minus).flat_map(|pair| spinor(pair).concat()).collect()
}

fn ring_of_three() -> Tridiagonal {
    Tridiagonal::new(vec![1.0, 2.0, 3.0], vec![10.0, 20.0, 30.0], vec![40.0, 50.0, 60.0]).unwrap()
}

#[test]
fn chirality_plus_reads_the_site_before_and_minus_the_one_after() {
    let x = column(&[1.0, 2.0, 4.0], &[1.0, 2.0, 4.0]);
    // + : (1·1 + 10·4, 2·2 + 20·1, 3·4 + 30·2);  − : (1·1 + 40·2, 2·2 + 50·4, 3·4 + 60·1).
    let expected = column(&[41.0, 24.0, 72.0], &[81.0, 204.0, 72.0]);
    assert_eq!(s_multiply(&ring_of_three().matrix(), &x, None), expected);
    let doubled: Vec<_> = expected.iter().map(|y| y * 2.0).collect();
    assert_eq!(s_multiply(&ring_of_three().matrix(), &x, Some(&expected)), doubled);
}

#[test]
fn the_dagger_is_the_transpose_and_its_own_inverse() {
    let x = column(&[1.0, 2.0, 4.0], &[1.0, 2.0, 4.0]);
    // + : (1·1 + 20·2, 2·2 + 30·4, 3·4 + 10·1);  − : (1·1 + 60·4, 2·2 + 40·1, 3·4 + 50·2).
    let expected = column(&[41.0, 124.0, 22.0], &[241.0, 44.0, 112.0]);
    assert_eq!(s_multiply(&ring_of_three().dagger().matrix(), &x, None), expected);
    assert_eq!(ring_of_three().dagger().dagger(), ring_of_three());
}

#[test]
fn a_ring_of_one_reads_itself() {
    let ring = Tridiagonal::new(vec![2.0], vec![6.0], vec![2.0]).unwrap();
    let x = column(&[3.0], &[5.0]);
    let y = column(&[24.0], &[20.0]);
    assert_eq!(s_multiply(&ring.matrix(), &x, None), y);
    for form in InverseForm::ALL {
        assert_eq!(s_multiply(&ring.inverse(form).unwrap(), &y, None), x);
    }
}

#[test]
fn an_inverse_undoes_its_matrix_exactly_where_nothing_rounds() {
    // The determinant is 1 − 1·½.
    let ring = Tridiagonal::new(vec![1.0, 1.0], vec![0.5, 1.0], vec![1.0, 0.5]).unwrap();
    let x = column(&[9.0, 18.0], &[36.0, -9.0]);
    for matrix in [ring.clone(), ring.dagger()] {
        let y = s_multiply(&matrix.matrix(), &x, None);
        for form in InverseForm::ALL {
            assert_eq!(s_multiply(&matrix.inverse(form).unwrap(), &y, None), x);
        }
    }
}

#[test]
fn a_matrix_without_inverse_is_refused() {
    // At s = 0 the elimination finds 1 − (−1)·(−1) = 0.
    let ring = Tridiagonal::new(vec![1.0, 1.0], vec![-1.0, -1.0], vec![0.0, 0.0]).unwrap();
    for form in InverseForm::ALL {
        assert_eq!(ring.inverse(form).unwrap_err(), DomainWallError::Singular { s: 0, pivot: 0.0 });
    }
}

#[test]
fn shamirs_input_matrix_is_the_identity_and_left_out() {
    let input = |b, c| MobiusCoefficients::new(4, 0.1, 1.8, b, c).unwrap().input();
    assert_eq!(input(1.0, 0.0), None);
    assert_eq!(
        input(2.0, 0.0),
        Some(Tridiagonal::new(vec![2.0; 4], vec![-0.0, 0.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, -0.0]).unwrap())
    );
    let half = [-0.05, 0.5, 0.5, 0.5];
    let reversed = [0.5, 0.5, 0.5, -0.05];
    assert_eq!(input(1.5, 0.5), Some(Tridiagonal::new(vec![1.5; 4], half.to_vec(), reversed.to_vec()).unwrap()));
}

#[test]
fn columns_move_to_the_walls_and_back() {
    let lattice = lattice::<f32>(extents("4.2.2.4"), 64, Checkerboard::FullOnly);
    let eta = random_words::<f32>(lattice.extents(), 2 * Spinors::WORDS, 3, Numbers::Gaussian);
    let eta = Field::from_site_order(lattice, Sites::Full, Spinors::new(2), &eta).unwrap();
    for ls in [1, 2, 5] {
        let columns = onto_walls(&eta, ls).unwrap();
        assert_eq!(columns.kind(), Spinors::new(2 * ls));
        // P₊ at s = 0 and P₋ at s = ls − 1 go out; the other two halves of the walls come back.
        let walls = columns.to_site_order();
        for (column, eta) in walls.chunks_exact(12 * ls).zip(eta.to_site_order().chunks_exact(12)) {
            assert_eq!((&column[..6], &column[12 * ls - 6..]), (&eta[..6], &eta[6..]));
            assert!(column[6..12 * ls - 6].iter().all(|&zero| zero == Complex::ZERO));
        }
        let turned: Vec<_> =
            walls.chunks_exact(12 * ls).flat_map(|c| c.chunks_exact(12).rev().flatten()).copied().collect();
        let turned = Field::from_site_order(lattice, Sites::Full, columns.kind(), &turned).unwrap();
        assert_eq!(from_walls(&turned, ls).unwrap().reals(), eta.reals());
    }
    assert!(from_walls(&eta, 3).unwrap_err().to_string().ends_with("does not match columns of ls = 3 spinors"));
}
