//! With links and source a fault of a hop is named exactly; the second table of `docs/ports.md` is what was said.

use lanefield::prelude::*;
use lanefield::reference::scalar::{Link, ScalarWilson, step};
use lanefield_ports::compare::{
    Cause, CompareOptions, Confidence, HopFindings, HopInputs, Likeness, compare, explain_hop,
};

use super::{
    Contribution, Coordinate, Fault, Z, configuration, extents, hop, hop_with, one_link, single, source, spinors,
    transposed,
};

const MASS: f64 = 0.1;

/// What is said of B, with A right.
fn explained(b: Vec<Z<f64>>, mass: Option<f64>) -> HopFindings {
    let (configuration, psi) = (configuration(), spinors(source()));
    let inputs = HopInputs { mass, ..inputs(&configuration, &psi) };
    explain_hop(&spinors(right(mass)), &spinors(b), &inputs).unwrap()
}

fn inputs<'a>(configuration: &'a Configuration, source: &'a lanefield::io::npy::ComplexArray) -> HopInputs<'a> {
    HopInputs {
        configuration,
        source,
        boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME,
        links: LinkFormat::Full,
        legs: LegOrder::DEFAULT,
        dagger: Dagger::No,
        mass: None,
    }
}

fn right(mass: Option<f64>) -> Vec<Z<f64>> {
    let hop = hop(&source(), Fault::None);
    mass.map_or(hop.clone(), |mass| m(&hop, 4.0 + mass))
}

/// fma(dm, ψ, hop).
fn m(hop: &[Z<f64>], dm: f64) -> Vec<Z<f64>> {
    let fused = |(z, psi): (&Z<f64>, &Z<f64>)| Complex::new(dm.mul_add(psi.re, z.re), dm.mul_add(psi.im, z.im));
    hop.iter().zip(&source()).map(fused).collect()
}

fn conjugated(u: Link<f64>) -> Link<f64> {
    u.map(|row| row.map(|z| z.conj()))
}

type Change = Box<dyn FnMut(Coordinate, Leg, &mut Contribution<f64>)>;

/// A fault of a leg's link, in some legs.
fn links(in_legs: impl Fn(Leg) -> bool + 'static, change: fn(Link<f64>) -> Link<f64>) -> Change {
    Box::new(move |_, leg, of_leg| {
        if in_legs(leg) {
            of_leg.link = change(of_leg.link);
        }
    })
}

/// The link of a direction, with the boundary phase of the leg.
fn link(x: Coordinate, leg: Leg, direction: usize) -> Link<f64> {
    let (there, crosses) = step(extents(), x, leg);
    let (owner, sign) =
        (if leg.is_forward() { x } else { there }, if crosses && leg.dimension() == 3 { 0.5 } else { -0.5 });
    let configuration = configuration();
    let u = configuration.link(extents().site(owner), direction);
    let u: Link<f64> = std::array::from_fn(|row| std::array::from_fn(|column| u[3 * row + column] * sign));
    if leg.is_forward() { u } else { conjugated(transposed(u)) }
}

fn in_order(order: [usize; 4]) -> Change {
    Box::new(move |x, leg, of_leg| of_leg.link = link(x, leg, order[leg.dimension()]))
}

fn with_boundary(boundary: &str) -> Change {
    let boundary: BoundaryPhases = boundary.parse().unwrap();
    let configuration = configuration();
    Box::new(move |x, leg, of_leg| {
        let operator =
            ScalarWilson { configuration: &configuration, boundary, format: LinkFormat::Full, legs: LegOrder::DEFAULT };
        of_leg.link = operator.link(x, leg);
    })
}

fn with_format(format: LinkFormat) -> Vec<Z<f64>> {
    let (configuration, boundary) = (configuration(), BoundaryPhases::ANTIPERIODIC_IN_TIME);
    let legs = LegOrder::DEFAULT;
    ScalarWilson { configuration: &configuration, boundary, format, legs }.hop(&source(), Sites::Full, Dagger::No)
}

/// A planted fault, B, and words of what is said.
type Planted = (&'static str, Vec<Z<f64>>, &'static str);

/// Those of the hop, then those of M.
fn planted() -> [Vec<Planted>; 2] {
    let leg = |name: &str| Leg::all().find(|leg| leg.to_string() == name).unwrap();
    let of = |fault: Fault| hop(&source(), fault);
    let with = |change: Change| hop_with(&source(), change);
    let all = |_: Leg| true;
    let (forward, back) = (|leg: Leg| leg == Leg::forward(1), |leg: Leg| leg == Leg::backward(3));
    let backward = |leg: Leg| !leg.is_forward();
    let neighbours = |to: fn(Leg) -> Leg| -> Change {
        Box::new(move |x, leg, of_leg| of_leg.there = extents().site(step(extents(), x, to(leg)).0))
    };
    let opposite = |leg: Leg| match leg.is_forward() {
        true => Leg::backward(leg.dimension()),
        false => Leg::forward(leg.dimension()),
    };
    let scaled = |factor: f64| of(Fault::None).into_iter().map(|z| z * factor).collect::<Vec<_>>();
    let plain = |dm: f64, z: Z<f64>, psi: Z<f64>| Complex::new(dm * psi.re + z.re, dm * psi.im + z.im);
    let with_mass = |of: &dyn Fn(Z<f64>, Z<f64>) -> Z<f64>| {
        let pairs = hop(&source(), Fault::None).into_iter().zip(source());
        pairs.map(|(z, psi)| of(z, psi)).collect::<Vec<_>>()
    };
    let of_hop = vec![
        ("wrong sign of leg −z", of(Fault::Sign(leg("-z"))), "leg -z has the wrong sign"),
        ("wrong sign of leg +t", of(Fault::Sign(leg("+t"))), "leg +t has the wrong sign"),
        ("leg +x left out", of(Fault::Missing(leg("+x"))), "leg +x is left out"),
        ("no boundary phase in t", of(Fault::Phase), "there is no boundary phase in t"),
        ("no boundary phase in leg −t", of(Fault::PhaseOf(leg("-t"))), "leg -t has no boundary phase"),
        (
            "antiperiodic in x, too",
            with(with_boundary("-1,1,1,-1")),
            "the boundary in x is antiperiodic (-1), and should be periodic (1)",
        ),
        (
            "antiperiodic in x, not in t",
            with(with_boundary("-1,1,1,1")),
            "the boundary phases are -1,1,1,1, and should be 1,1,1,-1",
        ),
        (
            "fixed in t",
            with(with_boundary("1,1,1,0")),
            "the boundary in t is fixed (0), and should be antiperiodic (-1)",
        ),
        ("products not fused", of(Fault::Unfused), "products of the links are not fused"),
        ("columns from the last", of(Fault::Columns), "products of the links are summed from the last column on"),
        ("legs in another order", of(Fault::LegOrder), "the legs are added in the order +x+y+z+t-x-y-z-t"),
        ("links of 12 reals", with_format(LinkFormat::TwoRows), "links have 12 reals, not 18"),
        ("links of 8 reals", with_format(LinkFormat::Eight), "links have 8 reals, not 18"),
        ("all links transposed", with(links(all, transposed)), "all links are transposed"),
        ("all links conjugated", with(links(all, conjugated)), "all links are complex conjugated"),
        ("all links daggered", with(links(all, |u| conjugated(transposed(u)))), "all links are daggered"),
        ("link of leg +y transposed", with(links(forward, transposed)), "leg +y takes Uᵀ, transposed, in place of U"),
        (
            "link of leg −t transposed, and not conjugated",
            with(links(back, conjugated)),
            "leg -t takes Uᵀ, transposed and not conjugated, in place of U†",
        ),
        (
            "all backward legs with U, not U†",
            with(links(backward, |u| conjugated(transposed(u)))),
            "all backward legs take U, not daggered",
        ),
        (
            "all backward legs with the link of the site",
            with(Box::new(|x, leg, of_leg| {
                if !leg.is_forward() {
                    let sign = if x[3] == 0 && leg.dimension() == 3 { 0.5 } else { -0.5 };
                    let configuration = configuration();
                    let u = configuration.link(extents().site(x), leg.dimension());
                    of_leg.link =
                        std::array::from_fn(|row| std::array::from_fn(|column| u[3 * column + row].conj() * sign));
                }
            })),
            "all backward legs take the link of the site, U(x)†, in place of the neighbour's",
        ),
        (
            "all neighbours on the other side",
            with(neighbours(opposite)),
            "all legs read ψ at the neighbours on the other side",
        ),
        ("links in the order t, x, y, z", with(in_order([3, 0, 1, 2])), "directions x,y,z,t take the links of t,x,y,z"),
        ("links of x and z exchanged", with(in_order([2, 1, 0, 3])), "directions x,y,z,t take the links of z,y,x,t"),
        (
            "γ matrices of x and z exchanged",
            with(Box::new(|_, leg, of_leg| of_leg.gamma = [2, 1, 0, 3][leg.dimension()])),
            "directions x,y,z,t take the γ matrices of z,y,x,t",
        ),
        (
            "all projectors of the other sign",
            with(Box::new(|_, _, of_leg| of_leg.minus = !of_leg.minus)),
            "it is the dagger",
        ),
        (
            "one link transposed",
            with(Box::new(one_link(transposed))),
            "the link U_z(1,2,3,4) is transposed, and nothing else is wrong",
        ),
        (
            "one link another",
            with(Box::new(one_link(|u| u.map(|[a, b, c]| [b, c, a])))),
            "the link U_z(1,2,3,4) is a different matrix",
        ),
        ("the −1/2 of the links left out", scaled(-2.0), "B is -2 times the hop: the −1/2 of the links is left out"),
        (
            "M in place of the hop",
            m(&of(Fault::None), 4.25),
            "B is M = 4 + mass + hop with mass 0.25, not the hop alone",
        ),
    ];
    let of_m = vec![
        ("the hop in place of M", of(Fault::None), "B is the hop alone, without the mass term"),
        ("another mass", m(&of(Fault::None), 4.3), "B is M with mass 0.3, not 0.1"),
        (
            "mass term not fused",
            with_mass(&|z, psi| plain(4.1, z, psi)),
            "the mass term is multiplied and added, each rounded",
        ),
        (
            "the hop subtracted in M",
            with_mass(&|z, psi| psi * 4.1 - z),
            "B is 4.1·ψ − hop: the hop has the opposite sign",
        ),
        (
            "M divided by 4 + mass",
            with_mass(&|z, psi| psi + z * (1.0 / 4.1)),
            "another normalisation (κ 0.121951, mass 0.1",
        ),
        ("wrong sign of leg −z in M", m(&of(Fault::Sign(leg("-z"))), 4.1), "leg -z has the wrong sign"),
        ("legs in another order in M", m(&of(Fault::LegOrder), 4.1), "the legs are added in the order"),
    ];
    [of_hop, of_m]
}

#[test]
fn planted_faults_are_named_and_the_documentation_says_how() {
    let page = include_str!("../../../../docs/ports.md");
    let (mut table, mut wrong) = (String::new(), Vec::new());
    let [of_hop, of_m] = planted().map(Vec::into_iter);
    for (mass, (fault, b, expected)) in of_hop.map(|row| (None, row)).chain(of_m.map(|row| (Some(MASS), row))) {
        let found = explained(b, mass);
        assert!(found.a == Likeness::Bits && found.b != Likeness::Bits, "{fault}: {found}");
        match &found.causes[..] {
            [cause] if cause.sentence.contains(expected) => table += &format!("| {fault} | {} |\n", cause.sentence),
            others => wrong.push(format!("{fault}: {others:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(page.contains(&table), "docs/ports.md has another table than:\n{table}");
}

#[test]
fn the_faults_of_one_leg_are_certain_also_in_single_precision_and_in_the_dagger() {
    let configuration = configuration();
    let psi: Vec<Complex<f32>> = source().iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect();
    let wide = spinors(psi.iter().map(|z| Complex::new(z.re.into(), z.im.into())).collect());
    let inputs = inputs(&configuration, &wide);
    let right = single(hop(&psi, Fault::None));
    for (fault, expected) in [
        (Fault::Sign(Leg::forward(0)), "leg +x has the wrong sign"),
        (Fault::Unfused, "products of the links are not fused"),
        (Fault::LegOrder, "the legs are added in the order +x+y+z+t-x-y-z-t"),
    ] {
        let found = explain_hop(&right, &single(hop(&psi, fault)), &inputs).unwrap();
        let [Cause { sentence, confidence: Confidence::Certain, .. }] = &found.causes[..] else { panic!("{found:?}") };
        assert!(sentence.contains(expected), "{sentence}");
    }
    let daggered = HopInputs { dagger: Dagger::Yes, ..inputs };
    let found = explain_hop(&right, &right, &daggered).unwrap();
    assert_eq!(found.causes[0].sentence, "it is the dagger: all projectors have the opposite sign");
    assert_eq!(found.to_string(), "neither A nor B is the hop† of this source, links and boundary");
}

#[test]
fn an_angle_that_is_left_out_or_has_the_other_sign_is_named() {
    let (configuration, psi) = (configuration(), spinors(source()));
    let with = |boundary: &str| hop_with(&source(), with_boundary(boundary));
    let inputs = HopInputs { boundary: "0.25pi,1,1,-1".parse().unwrap(), ..inputs(&configuration, &psi) };
    let right = spinors(with("0.25pi,1,1,-1"));
    for (found, sentence) in [
        ("-0.25pi,1,1,-1", "the boundary in x is twisted (-0.25pi), and should be twisted (0.25pi)"),
        ("1,1,1,-1", "there is no boundary phase in x"),
        ("-0.25pi,1,1,1", "the boundary phases are -0.25pi,1,1,1, and should be 0.25pi,1,1,-1"),
    ] {
        let found = explain_hop(&right, &spinors(with(found)), &inputs).unwrap();
        assert_eq!(found.causes[0].sentence, sentence);
    }
    let refused = explain_hop(&right, &right, &HopInputs { links: LinkFormat::TwoRows, ..inputs }).unwrap_err();
    assert!(refused.to_string().contains("need reconstruct 18"), "{refused}");
}

#[test]
fn what_the_arrays_are_is_said_whatever_differs() {
    let (configuration, psi) = (configuration(), spinors(source()));
    let inputs = inputs(&configuration, &psi);
    let (right, wrong) = (spinors(hop(&source(), Fault::None)), spinors(hop(&source(), Fault::Sign(Leg::forward(0)))));
    let nothing = spinors(source().iter().map(|z| z * 0.5).rev().collect());
    let said = |a, b| explain_hop(a, b, &inputs).unwrap().to_string();
    let hop = "the hop of this source, links and boundary";
    assert_eq!(said(&right, &right), format!("A and B are {hop}, bit for bit"));
    assert_eq!(said(&right, &wrong), format!("B is not {hop}; A is, bit for bit"));
    assert_eq!(said(&wrong, &right), format!("B is {hop}, bit for bit; A is not"));
    assert_eq!(said(&wrong, &wrong), format!("neither A nor B is {hop}"));
    assert_eq!(
        said(&nothing, &nothing),
        format!(
            "neither A nor B is {hop}, nor is B with one thing wrong: check --config, --source, --boundary, --legs, and --mass of M"
        )
    );
    // Where B is right, what is wrong with A.
    let found = explain_hop(&wrong, &right, &inputs).unwrap();
    let sentences: Vec<&str> = found.causes.iter().map(|cause| cause.sentence.as_str()).collect();
    assert_eq!(sentences, [&format!("B is {hop}, bit for bit: A is not"), "A is wrong: leg +x has the wrong sign"]);
    let mut comparison = compare(&wrong, &right, CompareOptions::default()).unwrap();
    comparison.add_hop(found);
    assert!(comparison.causes[0].kind == "right" && comparison.causes[1].kind == "hop", "{comparison}");
    assert!(
        comparison.to_string().contains(&format!("\nhop      B is {hop}, bit for bit; A is not\n")),
        "{comparison}"
    );
    let error = explain_hop(&nothing, &super::ComplexArray { shape: vec![2], ..nothing.clone() }, &inputs).unwrap_err();
    assert!(error.to_string().starts_with("B is complex128 (2,), not a spinor field (6, 4, 4, 4, 4, 3)"), "{error}");
}
