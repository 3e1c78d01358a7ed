//! What arrays hold: where a shape leaves two readings the numbers decide, or who compares says it.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::prelude::*;
use lanefield::reference::scalar::{project, step};
use lanefield_ports::Content;
use lanefield_ports::compare::{CompareOptions, compare};

use super::{configuration, extents, operator, report, source};

/// An array with these numbers of a site after the lattice's axes, and the same with one number changed at the site 1,0,0,0.
fn pair(site: &[usize], values: Vec<Complex<f64>>, word: usize) -> [ComplexArray; 2] {
    let [x, y, z, t] = extents().as_array();
    let shape = [&[t, z, y, x], site].concat();
    let mut changed = values.clone();
    changed[site.iter().product::<usize>() + word].re += 1.0;
    [values, changed].map(|values| ComplexArray { shape: shape.clone(), values: ComplexValues::F64(values) })
}

/// What the arrays hold, and the site, and the name and the index of each axis, at the first difference.
type Found = (&'static str, Option<[usize; 4]>, Vec<(&'static str, usize)>);

fn place(arrays: &[ComplexArray; 2]) -> Found {
    let found = report(arrays);
    let first = found.first.unwrap();
    (found.object, first.site, first.at.iter().map(|at| (at.axis, at.index)).collect())
}

/// What `of` makes of each leg of each site.
fn of_legs(of: impl Fn([usize; 4], Leg, &[Complex<f64>]) -> Vec<Complex<f64>>) -> Vec<Complex<f64>> {
    let psi = source();
    let sites = (0..extents().volume()).map(|site| extents().coordinate(site));
    let legs = sites.flat_map(|x| Leg::all().map(move |leg| (x, leg)));
    legs.flat_map(|(x, leg)| {
        let there = extents().site(step(extents(), x, leg).0);
        of(x, leg, &psi[12 * there..][..12])
    })
    .collect()
}

#[test]
fn spinors_of_legs_are_known_by_their_projection() {
    let configuration = configuration();
    let wilson = operator(&configuration, BoundaryPhases::ANTIPERIODIC_IN_TIME);
    for dagger in [Dagger::No, Dagger::Yes] {
        let legs = of_legs(|x, leg, psi| wilson.leg(psi, x, leg, dagger).to_vec());
        let expected = ("spinors of legs", Some([1, 0, 0, 0]), vec![("leg", 5), ("spin", 2), ("colour", 1)]);
        assert_eq!(place(&pair(&[8, 4, 3], legs, 5 * 12 + 7)), expected);
    }
    let said = report(&pair(&[8, 4, 3], of_legs(|x, leg, psi| wilson.leg(psi, x, leg, Dagger::No).to_vec()), 0));
    assert!(said.to_string().contains("site x,y,z,t = 1,0,0,0, leg +x, spin 0"), "{said}");
    // The same shape with other numbers: six spinors of a lattice with X = 8.
    let volume = 8 * extents().volume();
    let others: Vec<_> = (0..12 * volume).map(|k| Complex::new((k % 101) as f64, 1.0)).collect();
    let [a, b] = pair(&[8, 4, 3], others, 0);
    let found = compare(&a, &b, CompareOptions::default()).unwrap();
    assert_eq!((found.object, found.ls, found.lattice), ("five-dimensional fermion", Some(6), Some([8, 4, 4, 4])));
    // Unless it is said.
    let legs = CompareOptions { holds: Some(Content::Legs), ..CompareOptions::default() };
    assert_eq!(compare(&a, &b, legs).unwrap().object, "spinors of legs");
    let links = CompareOptions { holds: Some(Content::Links), ..CompareOptions::default() };
    let error = compare(&a, &b, links).unwrap_err().to_string();
    assert_eq!(error, "links has the axes (T, Z, Y, X, 4, 3, 3), and the shape is (6, 4, 4, 4, 8, 4, 3)");
}

#[test]
fn half_spinors_of_legs_and_links_of_12_reals_are_told_apart_by_the_norm_of_rows() {
    let half = of_legs(|_, leg, psi| project(psi, leg, Dagger::No).concat());
    let expected = ("half spinors of legs", Some([1, 0, 0, 0]), vec![("leg", 7), ("h", 1), ("colour", 0)]);
    assert_eq!(place(&pair(&[8, 2, 3], half, 7 * 6 + 3)), expected);
    let configuration = configuration();
    let wilson = operator(&configuration, BoundaryPhases::FIXED_IN_TIME);
    let rows = of_legs(|x, leg, _| wilson.link::<f64>(x, leg)[..2].concat());
    let expected = ("doubled links of 12 reals", Some([1, 0, 0, 0]), vec![("leg", 7), ("row", 1), ("column", 0)]);
    assert_eq!(place(&pair(&[8, 2, 3], rows, 7 * 6 + 3)), expected);
    let eight = of_legs(|_, _, psi| psi[..4].to_vec());
    let expected = ("doubled links of 8 reals", Some([1, 0, 0, 0]), vec![("leg", 2), ("word", 3)]);
    assert_eq!(place(&pair(&[8, 4], eight, 2 * 4 + 3)), expected);
}

#[test]
fn the_documentation_has_the_axes_of_every_word() {
    let page = include_str!("../../../../docs/ports.md");
    for content in Content::ALL {
        let line = match content {
            Content::List => "| `list` | ".to_owned(),
            content => format!("| `{content}` | `{}`", content.axes()),
        };
        assert!(page.contains(&line), "docs/ports.md has no {line}");
    }
}
