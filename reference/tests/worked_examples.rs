//! The worked examples at the end of each section of `docs/arithmetic.md`: their bits are computed here, by the plain loops, and compared with the page. With
//! `LANEFIELD_UPDATE_DATA=1` they are written into it.

use std::fmt::Write as _;
use std::path::Path;

use lanefield_reference::exact::ExactSum;
use lanefield_reference::half::Half;
use lanefield_reference::kernels::domain_wall::{InverseForm, MobiusCoefficients};
use lanefield_reference::layout::{LaneWidth, Scalar, TreePlan};
use lanefield_reference::prelude::*;
use lanefield_reference::random::{Stream, bits, gaussian_pair, key_of_seed, su3_random, uniform};
use lanefield_reference::real::Real;
use lanefield_reference::scalar;
use lanefield_reference::scalar::domain_wall::{ScalarDomainWall, s_multiply};
use lanefield_reference::scalar::functions;
use lanefield_reference::scalar::hisq::{ScalarHisq, hisq_links};
use lanefield_reference::scalar::projection::unitary_factor;
use lanefield_reference::scalar::{
    CLOVER_WORDS, Link, ScalarClover, ScalarWilson, Stop, axpby, axpy, clover_apply, clover_inverse, complex_axpy,
    inner_product, madd, matrix_adjoint, matrix_times_matrix, matrix_times_vector, mul, norm2, project, reconstruct,
    scale, site_norm2, tree_sum, twist, twist_inverse,
};
use sha2::{Digest as _, Sha256};

const WORDS: usize = Spinors::WORDS;
/// Extents of the lattice of the examples.
const EXTENTS: [usize; 4] = [4, 2, 2, 2];
const ODD: Sites = Sites::Parity(Parity::Odd);
const EVEN: Sites = Sites::Parity(Parity::Even);
const MASS: f64 = 0.5;

/// The numbers of the examples.
fn x(k: usize) -> f64 {
    ((37 * k % 101) as f64 - 50.0) / 17.0
}

/// Complex number `w`: x(2w) + i·x(2w + 1).
fn z<R: Real>(w: usize) -> Complex<R> {
    Complex::new(R::from_f64(x(2 * w)), R::from_f64(x(2 * w + 1)))
}

fn extents() -> Extents {
    Extents::new(EXTENTS).unwrap()
}

/// A field of `words` words a site.
fn field<R: Real>(words: usize) -> Vec<Complex<R>> {
    (0..words * extents().volume()).map(z).collect()
}

/// The links: those numbers over 8.
fn configuration() -> Configuration {
    Configuration::new(extents(), field::<f64>(36).into_iter().map(|z| z / 8.0).collect()).unwrap()
}

fn wilson(configuration: &Configuration, format: LinkFormat) -> ScalarWilson<'_> {
    let boundary = BoundaryPhases::antiperiodic([false, false, false, true]);
    ScalarWilson { configuration, boundary, format, legs: LegOrder::DEFAULT }
}

/// The bits of a real number of the field's type.
fn hex<R: Real>(x: R) -> String {
    match R::BITS {
        64 => format!("{:016x}", x.to_f64().to_bits()),
        _ => format!("{:08x}", (x.to_f64() as f32).to_bits()),
    }
}

fn complex<R: Real>(z: Complex<R>) -> String {
    format!("{} {}", hex(z.re), hex(z.im))
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of numbers as §18 says.
fn digest<R: Real>(values: &[Complex<R>]) -> String {
    let mut hash = Sha256::new();
    for z in values {
        hash.update(z.re.to_f64().to_le_bytes());
        hash.update(z.im.to_f64().to_le_bytes());
    }
    hex_of(&hash.finalize())
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, name: &str, text: impl AsRef<str>) {
        const COLUMN: usize = 40;
        let padded =
            format!("    {name}{}{}", " ".repeat(COLUMN.saturating_sub(name.chars().count()).max(1)), text.as_ref());
        let _ = writeln!(self.0, "{}", padded.trim_end());
    }

    /// Complex numbers of f64 and f32.
    fn both(&mut self, name: &str, f64: Complex<f64>, f32: Complex<f32>) {
        self.line(name, format!("{}   {}", complex(f64), complex(f32)));
    }

    /// The first word of a field, and the digest of all of it.
    fn field<R: Real>(&mut self, name: &str, values: &[Complex<R>]) {
        let first = values.iter().find(|z| z.re.to_f64() != 0.0).copied().unwrap_or_default();
        self.line(&format!("{name}, {}", R::NAME), format!("{} … {}", complex(first), digest(values)));
    }
}

/// The same example in f64 and f32.
macro_rules! in_both {
    ($lines:ident, $name:expr, $R:ident => $value:expr) => {{
        let f64 = {
            type $R = f64;
            $value
        };
        let f32 = {
            type $R = f32;
            $value
        };
        $lines.both($name, f64, f32);
    }};
}

macro_rules! fields_in_both {
    ($lines:ident, $name:expr, $R:ident => $value:expr) => {{
        {
            type $R = f64;
            $lines.field::<f64>($name, &$value);
        }
        {
            type $R = f32;
            $lines.field::<f32>($name, &$value);
        }
    }};
}

fn complex_numbers(lines: &mut Lines) {
    in_both!(lines, "a + b", R => z::<R>(0) + z(1));
    in_both!(lines, "i·a", R => { let a = z::<R>(0); Complex::new(-a.im, a.re) });
    in_both!(lines, "mul(a, b)", R => mul(z::<R>(0), z(1)));
    in_both!(lines, "madd(a, b, c)", R => madd(z::<R>(0), z(1), z(2)));
}

fn matrix<R: Real>() -> Link<R> {
    std::array::from_fn(|row| std::array::from_fn(|column| z(3 * row + column)))
}

fn matrices(lines: &mut Lines) {
    for row in 0..3 {
        in_both!(lines, &format!("(U h)_{row}"), R => matrix_times_vector(&matrix::<R>(), &[z(9), z(10), z(11)])[row]);
    }
}

fn projections(lines: &mut Lines) {
    let spinor: [Complex<f64>; WORDS] = std::array::from_fn(z);
    for leg in Leg::all() {
        let [h0, h1] = project(&spinor, leg, Dagger::No);
        let rows = reconstruct(&[h0, h1], leg, Dagger::No);
        let name = format!("1 {} γ{}", if leg.is_forward() { "−" } else { "+" }, ["x", "y", "z", "t"][leg.dimension()]);
        lines.line(&format!("{name}: h0, row 2"), format!("{}   {}", complex(h0[0]), complex(rows[2][0])));
        lines.line(&format!("{name}: h1, row 3"), format!("{}   {}", complex(h1[0]), complex(rows[3][0])));
    }
}

fn links(lines: &mut Lines) {
    let configuration = configuration();
    let at = [3, 0, 0, 1];
    let [forward, backward] = [Leg::forward(3), Leg::backward(0)];
    for format in [LinkFormat::Full, LinkFormat::TwoRows] {
        let wilson = wilson(&configuration, format);
        let element = if format == LinkFormat::Full { [0, 1] } else { [2, 0] };
        let reals = format.reals();
        for (name, leg) in [("+t", forward), ("−x", backward)] {
            in_both!(lines, &format!("{reals} reals: V_{name}(3,0,0,1)[{}][{}]", element[0], element[1]), R => wilson.link::<R>(at, leg)[element[0]][element[1]]);
        }
    }
    let one = Extents::new([1, 1, 1, 1]).unwrap();
    let link = su3_random(1, 0, 0);
    let unit: Vec<Complex<f64>> = (0..9).map(|k| Complex::new(f64::from(u8::from(k % 4 == 0)), 0.0)).collect();
    let hot = Configuration::new(one, [&link[..], &unit, &unit, &unit].concat()).unwrap();
    lines.line("8 reals, of the matrix W:", "");
    for (row, element) in ["a", "b"].iter().zip(link.chunks_exact(3)) {
        for (column, element) in element.iter().enumerate() {
            lines.line(&format!("{row}[{column}]"), complex(*element));
        }
    }
    let wilson = wilson(&hot, LinkFormat::Eight);
    let stored = wilson.stored_words::<f64>([0; 4], Leg::forward(0));
    for (name, word) in ["v1", "v2", "x, z1", "z2, z3"].iter().zip(&stored) {
        lines.line(&format!("stored {name}"), complex(*word));
    }
    for row in 0..3 {
        in_both!(lines, &format!("rebuilt V[{row}][0]"), R => wilson.link::<R>([0; 4], Leg::forward(0))[row][0]);
    }
}

fn hops(lines: &mut Lines) {
    let configuration = configuration();
    let full = wilson(&configuration, LinkFormat::Full);
    fields_in_both!(lines, "hop(ψ)", R => full.hop(&field::<R>(WORDS), Sites::Full, Dagger::No));
    fields_in_both!(lines, "hop†(ψ)", R => full.hop(&field::<R>(WORDS), Sites::Full, Dagger::Yes));
    fields_in_both!(lines, "hop(ψ) on even sites", R => full.hop(&field::<R>(WORDS), EVEN, Dagger::No));
    let two_rows = wilson(&configuration, LinkFormat::TwoRows);
    fields_in_both!(lines, "hop(ψ), 12 reals", R => two_rows.hop(&field::<R>(WORDS), Sites::Full, Dagger::No));
    let other = ScalarWilson { legs: "+x-x+y-y+z-z+t-t".parse().unwrap(), ..full };
    fields_in_both!(lines, "hop(ψ), legs +x−x+y−y+z−z+t−t", R => other.hop(&field::<R>(WORDS), Sites::Full, Dagger::No));
}

fn vectors(lines: &mut Lines) {
    let (a, b) = (x(100), x(99));
    in_both!(lines, "scale(a, x)", R => scale(a, &[z::<R>(0)])[0]);
    in_both!(lines, "axpy(a, x, y)", R => { let mut y = [z::<R>(1)]; axpy(a, &[z(0)], &mut y); y[0] });
    in_both!(lines, "axpby(a, x, b, y)", R => { let mut y = [z::<R>(1)]; axpby(a, &[z(0)], b, &mut y); y[0] });
    in_both!(lines, "complex_axpy(a + i·b, x, y)", R => complex_axpy(Complex::new(a, b), &[z::<R>(0)], &[z(1)])[0]);
}

fn sums(lines: &mut Lines) {
    let psi = field::<f64>(WORDS);
    let terms: Vec<f64> = psi.chunks_exact(WORDS).map(site_norm2).collect();
    lines.line("term of |ψ|² of site 0, site 1", format!("{} {}", hex(terms[0]), hex(terms[1])));
    lines.line("|ψ|², exact", hex(norm2(WORDS, &psi)));
    lines.line("|ψ|² of the ψ in f32, exact", hex(norm2(WORDS, &field::<f32>(WORDS))));
    let shifted: Vec<Complex<f64>> = (0..psi.len()).map(|w| z(w + 1)).collect();
    lines.line("⟨ψ, χ⟩, χ of x(k + 2), exact", complex(inner_product(WORDS, &psi, &shifted)));
    let mut sum = ExactSum::new();
    for term in [1e300, 1.0, -1e300, 2f64.powi(-53), 2f64.powi(-106)] {
        sum.add(term);
    }
    lines.line("10³⁰⁰ + 1 − 10³⁰⁰ + 2⁻⁵³ + 2⁻¹⁰⁶", hex(sum.round()));
    let plan = TreePlan::with_warp(4, 2, 2).unwrap();
    lines.line("tree of x(0) … x(31): B 4, G 2, W 2", hex(tree_sum(plan, &(0..32).map(x).collect::<Vec<_>>())));
}

fn wilson_operator(lines: &mut Lines) {
    let configuration = configuration();
    let wilson = wilson(&configuration, LinkFormat::Full);
    fields_in_both!(lines, "M ψ", R => wilson.m(&field::<R>(WORDS), MASS, Dagger::No));
    fields_in_both!(lines, "M† ψ", R => wilson.m(&field::<R>(WORDS), MASS, Dagger::Yes));
    fields_in_both!(lines, "Mpc ψ", R => wilson.mpc(&field::<R>(WORDS), MASS, Dagger::No));
}

fn conjugate_gradients(lines: &mut Lines) {
    let configuration = configuration();
    let wilson = wilson(&configuration, LinkFormat::Full);
    let stop = Stop { tolerance: 1e-6, max_iterations: 3 };
    for (name, history) in [
        ("even-odd, f64", wilson.solve_even_odd(&field::<f64>(WORDS), MASS, stop).history),
        ("even-odd, f32", wilson.solve_even_odd(&field::<f32>(WORDS), MASS, stop).history),
        ("without, f64", wilson.solve(&field::<f64>(WORDS), MASS, stop).history),
    ] {
        lines.line(
            &format!("c of iterations 0 to 3, {name}"),
            history.iter().map(|c| hex(*c)).collect::<Vec<_>>().join(" "),
        );
    }
}

fn random_numbers(lines: &mut Lines) {
    let (seed, site, word) = (7, 3, 5);
    let words = bits(seed, Stream::SpinorSource, site, word).map(|word| format!("{word:08x}"));
    lines.line("128 bits", words.join(" "));
    lines.line("uniform", hex(uniform(seed, Stream::SpinorSource, site, word)));
    let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, word);
    lines.line("Gaussian pair", format!("{} {}", hex(re), hex(im)));
}

fn half_precision(lines: &mut Lines) {
    for (name, factor) in [("x(0) … x(23)", 1.0), ("times 2⁻¹²⁰", 2f64.powi(-120))] {
        let mut reals: Vec<Half> = (0..24).map(|k| Half::from_f64(x(k) * factor)).collect();
        Half::quantize(&mut reals, 24, 1);
        let largest = (0..24).map(|k| (x(k) * factor) as f32).fold(0.0_f32, |m, x| m.max(x.abs()));
        let exponent = ((largest.to_bits() >> 23) as i32 - 126).max(-111) - 15;
        let step = 2f32.powi(exponent);
        let fractions: Vec<String> = reals[..4].iter().map(|&x| format!("{}", (f32::from(x) / step) as i32)).collect();
        lines.line(&format!("{name}: t, first q"), format!("2^{exponent}   {}", fractions.join(" ")));
        let stored: Vec<String> = reals[..4].iter().map(|&x| format!("{:08x}", f32::from(x).to_bits())).collect();
        lines.line(&format!("{name}: first x"), stored.join(" "));
    }
}

fn clover(lines: &mut Lines) {
    let configuration = configuration();
    let wilson = wilson(&configuration, LinkFormat::Full);
    let clover = ScalarClover { wilson, mass: MASS, csw_r: 1.25, csw_t: 0.75 };
    fields_in_both!(lines, "F", R => clover.field_strength::<R>());
    fields_in_both!(lines, "C", R => clover.term(&clover.field_strength::<R>()));
    fields_in_both!(lines, "A⁻¹", R => clover_inverse(&clover.term(&clover.field_strength::<R>())).0);
    fields_in_both!(lines, "pivots", R => clover_inverse(&clover.term(&clover.field_strength::<R>())).1);
    let term = clover.term(&clover.field_strength::<f64>());
    let product = clover_apply(&term[..CLOVER_WORDS], &field::<f64>(WORDS)[..WORDS]);
    lines.field("C ψ at site 0", &product);
    fields_in_both!(lines, "M ψ", R => clover.m(&field::<R>(WORDS), Dagger::No));
    fields_in_both!(lines, "Mpc ψ", R => clover.mpc(&field::<R>(WORDS), Dagger::No));
}

fn domain_wall(lines: &mut Lines) {
    const LS: usize = 4;
    let configuration = configuration();
    let coefficients = MobiusCoefficients::new(LS, 0.1, 1.4, 1.5, 0.5).unwrap();
    let show = |table: &[f64]| table.iter().map(|&c| hex(c)).collect::<Vec<_>>().join(" ");
    let diagonal = coefficients.diagonal();
    let tridiagonal = diagonal.matrix();
    for (name, table) in ["d", "p", "m"].iter().zip(tridiagonal.table().chunks_exact(LS)) {
        lines.line(&format!("Mooee: {name}"), show(table));
    }
    let sweep = diagonal.inverse(InverseForm::Sweep).unwrap();
    for (name, table) in ["c", "t", "r"].iter().zip(sweep.table().chunks_exact(LS)) {
        lines.line(&format!("sweep, chirality +: {name}"), show(table));
    }
    let dense = diagonal.inverse(InverseForm::Dense).unwrap();
    lines.line("dense, chirality +: N_0s", show(&dense.table()[..LS]));
    fields_in_both!(lines, "Mooee ψ at site 0", R => s_multiply::<R>(&tridiagonal, &field::<R>(LS * WORDS)[..LS * WORDS], None));
    fields_in_both!(lines, "Mooee⁻¹ ψ, sweep, at site 0", R => s_multiply::<R>(&sweep, &field::<R>(LS * WORDS)[..LS * WORDS], None));
    fields_in_both!(lines, "Mooee⁻¹ ψ, dense, at site 0", R => s_multiply::<R>(&dense, &field::<R>(LS * WORDS)[..LS * WORDS], None));
    let operator = ScalarDomainWall { wilson: wilson(&configuration, LinkFormat::Full), coefficients };
    fields_in_both!(lines, "M ψ", R => operator.m(&field::<R>(LS * WORDS), Dagger::No));
    fields_in_both!(lines, "M† ψ", R => operator.m(&field::<R>(LS * WORDS), Dagger::Yes));
}

fn laplacian(lines: &mut Lines) {
    let configuration = configuration();
    let wilson = wilson(&configuration, LinkFormat::Full);
    fields_in_both!(lines, "laplace_hop(ψ)", R => wilson.laplace_hop(&field::<R>(3), 1, Sites::Full));
    fields_in_both!(lines, "A ψ", R => wilson.laplace(&field::<R>(3), 1, MASS));
}

fn staggered(lines: &mut Lines) {
    let configuration = configuration();
    let wilson = wilson(&configuration, LinkFormat::Full);
    fields_in_both!(lines, "staggered_hop(ψ)", R => wilson.staggered_hop(&field::<R>(3), 1, Sites::Full));
    fields_in_both!(lines, "staggered_hop(ψ) on odd sites", R => wilson.staggered_hop(&field::<R>(3), 1, ODD));
    fields_in_both!(lines, "D ψ", R => wilson.staggered(&field::<R>(3), 1, MASS));
}

fn twisted_mass(lines: &mut Lines) {
    const MU: f64 = 0.25;
    let configuration = configuration();
    let wilson = wilson(&configuration, LinkFormat::Full);
    let d = Complex::new(4.0 + MASS, MU);
    lines.line("e = 1 / d", complex(twist_inverse(d)));
    lines.line("twist(d, ψ) of spins 0 and 3", {
        let twisted = twist(d, &(0..WORDS).map(z::<f64>).collect::<Vec<_>>());
        format!("{} {}", complex(twisted[0]), complex(twisted[9]))
    });
    fields_in_both!(lines, "M ψ", R => wilson.twisted_mass(&field::<R>(WORDS), (MASS, MU), Dagger::No));
    fields_in_both!(lines, "Mpc ψ", R => wilson.twisted_mass_mpc(&field::<R>(WORDS), (MASS, MU), Dagger::No));
}

fn files(lines: &mut Lines) {
    lines.line("digest of z(0), z(1), z(2)", digest(&[z::<f64>(0), z(1), z(2)]));
    lines.line("digest of the links", digest(configuration().links()));
    let header = r#"{"format":"lanefield record","version":2,"every":10,"identity":[["operator","wilson, mass 0.5"]]"#;
    let scalar = r#"{"iteration":0,"rhs":0,"quantity":"|r|²","bits":"3ff0000000000000""#;
    let mut hash = Sha256::new();
    for line in [header, scalar] {
        hash.update(line);
        let check = hex_of(&hash.clone().finalize()[..8]);
        let _ = writeln!(lines.0, "    {line},\"check\":\"{check}\"}}");
    }
}

fn storage(lines: &mut Lines) {
    let options = |lanes| LatticeOptions { lanes, ..LatticeOptions::default() };
    for (extents, width) in [([4, 4, 4, 8], 16), ([4, 4, 4, 8], 64), ([8, 4, 4, 4], 256), ([4, 6, 2, 8], 32)] {
        let lanes = LaneChoice::Width(LaneWidth::new(width).unwrap());
        let lattice = Lattice::new(Extents::new(extents).unwrap(), Scalar::ComplexF, options(lanes)).unwrap();
        let [x, y, z, t] = extents.map(|extent| extent - 1);
        let number = |sites: Sites, coordinate, word| {
            let place = lattice.place(sites, coordinate);
            (place.osite * WORDS + word) * lattice.nsimd() + place.lane
        };
        let name = format!("{}, W = {width}: cut", lattice.extents());
        let all = [number(Sites::Full, [1, 0, 0, 0], 5), number(Sites::Full, [x, y, z, t], 11)];
        let odd = [number(ODD, [1, 0, 0, 0], 5), number(ODD, [x, y, z, t - 1], 11)];
        lines.line(&name, format!("{}", lattice.nodes()));
        lines.line(&format!("  (1,0,0,0), 5; ({x},{y},{z},{t}), 11"), format!("{} {}", all[0], all[1]));
        lines.line(&format!("  odd: (1,0,0,0), 5; ({x},{y},{z},{}), 11", t - 1), format!("{} {}", odd[0], odd[1]));
    }
}

// Links of a gauge field.

fn link_at<R: Real>(configuration: &Configuration, site: usize, mu: usize) -> Link<R> {
    let words = configuration.link(site, mu);
    let word = |z: Complex<f64>| Complex::new(R::from_f64(z.re), R::from_f64(z.im));
    std::array::from_fn(|row| std::array::from_fn(|column| word(words[3 * row + column])))
}

/// The neighbour of a site in a direction, +1 or −1.
fn next_to(site: usize, d: usize, step: isize) -> usize {
    let mut x = extents().coordinate(site);
    x[d] = (x[d] as isize + step).rem_euclid(EXTENTS[d] as isize) as usize;
    extents().site(x)
}

/// The product of the links of a path from a site on: direction and step, +1 or −1.
fn path<R: Real>(configuration: &Configuration, site: usize, steps: &[(usize, isize)]) -> Link<R> {
    let (mut here, mut product) = (site, None);
    for &(d, step) in steps {
        let there = next_to(here, d, step);
        let link = match step {
            1 => link_at(configuration, here, d),
            _ => matrix_adjoint(&link_at(configuration, there, d)),
        };
        product = Some(product.map_or(link, |product| matrix_times_matrix(&product, &link)));
        here = there;
    }
    product.unwrap()
}

fn sum_of<R: Real>(matrices: impl Iterator<Item = Link<R>>) -> Link<R> {
    let sum = |a: Link<R>, b: Link<R>| std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + b[i][j]));
    matrices.reduce(sum).unwrap()
}

fn staples(lines: &mut Lines) {
    let configuration = configuration();
    fields_in_both!(lines, "staples of the links along x", R => (0..extents().volume()).flat_map(|site| {
        let pair = |nu: usize| [1, -1].map(|step| path::<R>(&configuration, site, &[(nu, step), (0, 1), (nu, -step)]));
        sum_of([1, 2, 3].into_iter().flat_map(pair)).concat()
    }).collect::<Vec<_>>());
}

/// The traceless anti-Hermitian part of §21.
fn traceless<R: Real>(m: &Link<R>) -> Link<R> {
    let (half, third) = (R::from_f64(0.5), (m[0][0].im + m[1][1].im + m[2][2].im) * R::from_f64(1.0 / 3.0));
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let difference = |i: usize, j: usize| (m[i][j] - m[j][i].conj()).scale(half);
            match i.cmp(&j) {
                std::cmp::Ordering::Less => difference(i, j),
                std::cmp::Ordering::Greater => -difference(j, i).conj(),
                std::cmp::Ordering::Equal => Complex::new(R::from_f64(0.0), m[i][i].im - third),
            }
        })
    })
}

fn loops(lines: &mut Lines) {
    let configuration = configuration();
    let leaves = [
        [(0, 1), (1, 1), (0, -1), (1, -1)],
        [(1, 1), (0, -1), (1, -1), (0, 1)],
        [(0, -1), (1, -1), (0, 1), (1, 1)],
        [(1, -1), (0, 1), (1, 1), (0, -1)],
    ];
    lines.line("Σ Re tr P of xy, f64", {
        let mut sum = ExactSum::new();
        for site in 0..extents().volume() {
            let [a, b] = [[(0, 1), (1, 1)], [(1, 1), (0, 1)]].map(|steps| path::<f64>(&configuration, site, &steps));
            sum.add(inner_product(9, &a.concat(), &b.concat()).re);
        }
        hex(sum.round())
    });
    fields_in_both!(lines, "F of xy", R => (0..extents().volume()).flat_map(|site| {
        let sum = sum_of(leaves.iter().map(|leaf| path::<R>(&configuration, site, leaf)));
        traceless(&sum).concat().into_iter().map(|word| word.scale(R::from_f64(0.25)))
    }).collect::<Vec<_>>());
}

/// The exponential of §22.
fn exponential<R: Real>(z: &Link<R>) -> Link<R> {
    let real = R::from_f64;
    let z = z.map(|row| row.map(|word| word.scale(real(0.25))));
    let n = [z[0][1], z[0][2], z[1][2]].map(|word| word.im.fused(word.im, word.re * word.re));
    let d = [z[0][0].im, z[1][1].im, z[2][2].im];
    let squares = d[2].fused(d[2], d[1].fused(d[1], d[0] * d[0]));
    let c1 = -squares.fused(real(0.5), n[0] + n[1] + n[2]);
    let triple = mul(mul(z[0][1], z[1][2]), z[0][2].conj()).im;
    let c0 = n[0].fused(d[2], n[1].fused(d[1], n[2] * d[0])) - triple.fused(real(2.0), d[0] * d[1] * d[2]);
    let inverse_factorial = |k: u32| Complex::new(real(1.0 / (1..=k).map(f64::from).product::<f64>()), real(0.0));
    let (mut f0, mut f1, mut f2) = (inverse_factorial(24), Complex::<R>::default(), Complex::<R>::default());
    let scaled_add = |s: R, a: Complex<R>, c: Complex<R>| Complex::new(s.fused(a.re, c.re), s.fused(a.im, c.im));
    for k in (0..24).rev() {
        let next = scaled_add(c0, Complex::new(-f2.im, f2.re), inverse_factorial(k));
        (f0, f1, f2) = (next, scaled_add(c1, f2, f0), f1);
    }
    let squared = matrix_times_matrix(&z, &z);
    let fourth: Link<R> = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let linear = mul(f1, z[i][j]);
            madd(f2, squared[i][j], if i == j { linear + f0 } else { linear })
        })
    });
    let half = matrix_times_matrix(&fourth, &fourth);
    matrix_times_matrix(&half, &half)
}

fn other_links(lines: &mut Lines) {
    let configuration = configuration();
    fields_in_both!(lines, "exp of the traceless part of U_x", R => (0..extents().volume()).flat_map(|site| {
        exponential(&traceless(&link_at::<R>(&configuration, site, 0))).concat()
    }).collect::<Vec<_>>());
    fields_in_both!(lines, "unitary factors of U_x", R => (0..extents().volume()).flat_map(|site| {
        unitary_factor(&link_at::<R>(&configuration, site, 0)).concat()
    }).collect::<Vec<_>>());
}

fn heat_bath(lines: &mut Lines) {
    let (x, key) = ([1, 2, 3, 4], key_of_seed(7));
    fn key_in<R: Real>(key: [f64; 3]) -> [R; 3] {
        key.map(R::from_f64)
    }
    for number in 0..4 {
        let of_draw = |lines: &mut Lines, name: &str| {
            let f64 = functions::uniform::<f64>(x, key_in(key), 9.0, 3.0)[number];
            let f32 = functions::uniform::<f32>(x, key_in(key), 9.0, 3.0)[number];
            lines.line(name, format!("{}   {}", hex(f64), hex(f32)));
        };
        of_draw(lines, &format!("u{number} of draw 3"));
    }
    lines.line("ln 0.3", format!("{}   {}", hex(functions::ln(0.3)), hex(functions::ln(0.3f32))));
    let [f64, f32] = [functions::cos_sin_2pi(0.3), functions::cos_sin_2pi(0.3f32).map(f64::from)];
    for (number, name) in ["cos 2π0.3", "sin 2π0.3"].into_iter().enumerate() {
        lines.line(name, format!("{}   {}", hex(f64[number]), hex(f32[number] as f32)));
    }
    fn numbers<R: Real>(first: usize) -> Link<R> {
        std::array::from_fn(|row| std::array::from_fn(|column| z(first + 3 * row + column)))
    }
    fields_in_both!(lines, "heat bath", R => {
        let coupling = R::from_f64(3.8);
        scalar::heat_bath::heat_bath(&numbers::<R>(0), &numbers(9), coupling, x, key_in(key), R::from_f64(9.0)).concat()
    });
    fields_in_both!(lines, "overrelaxation", R => {
        scalar::heat_bath::overrelaxation(&numbers::<R>(0), &numbers(9)).concat()
    });
}

fn molecular_dynamics(lines: &mut Lines) {
    /// ξ of a draw.
    fn gaussian<R: Real>(draw: f64) -> [R; 4] {
        let u = functions::uniform([1, 2, 3, 4], key_of_seed(7).map(R::from_f64), R::from_f64(9.0), R::from_f64(draw));
        let pair = |k: usize| {
            let radius = functions::sqrt(R::from_f64(-2.0) * functions::ln(u[k]));
            functions::cos_sin_2pi(u[k + 1]).map(|part| radius * part)
        };
        let ([a, b], [c, d]) = (pair(0), pair(2));
        [a, b, c, d]
    }
    for k in 0..8 {
        let draw = 1000.0 + (k / 4) as f64;
        let (f64, f32) = (gaussian::<f64>(draw)[k % 4], gaussian::<f32>(draw)[k % 4]);
        lines.line(&format!("ξ{}", k + 1), format!("{}   {}", hex(f64), hex(f32)));
    }
}

fn hisq(lines: &mut Lines) {
    let [fat, long] = hisq_links(&configuration(), -0.25).unwrap();
    lines.field("X", fat.links());
    lines.field("N", long.links());
    let boundary = BoundaryPhases::antiperiodic([false, false, false, true]);
    let hisq = ScalarHisq { links: [&fat, &long], boundary, legs: LegOrder::DEFAULT };
    fields_in_both!(lines, "hisq_hop(ψ)", R => hisq.hop(&field::<R>(3), 1, Sites::Full));
    fields_in_both!(lines, "D ψ", R => hisq.apply(&field::<R>(3), 1, MASS));
}

fn gauge_fixing(lines: &mut Lines) {
    let configuration = configuration();
    const ORDER: [(usize, isize); 8] = [(3, 1), (0, 1), (1, 1), (2, 1), (3, -1), (0, -1), (1, -1), (2, -1)];
    fn step<R: Real>(configuration: &Configuration, site: usize) -> Link<R> {
        let [minus_half, minus_two] = [-0.5, -2.0].map(R::from_f64);
        let scaled = |m: Link<R>, factor: R| m.map(|row| row.map(|word| word.scale(factor)));
        let products = ORDER.into_iter().map(|(d, step)| {
            let there = next_to(site, d, step);
            let doubled = scaled(path(configuration, site, &[(d, step)]), minus_half);
            matrix_times_matrix(&doubled, &matrix_adjoint(&link_at(configuration, there, 0)))
        });
        let sum = scaled(sum_of(products), minus_two);
        scalar::gauge_fixing::relaxed(&link_at(configuration, site, 0), &sum, R::from_f64(1.5))
    }
    fields_in_both!(lines, "G after a step", R => (0..extents().volume()).flat_map(|site| {
        let is_even = extents().coordinate(site).iter().sum::<usize>() % 2 == 0;
        (if is_even { step::<R>(&configuration, site) } else { Link::default() }).concat()
    }).collect::<Vec<_>>());
    fields_in_both!(lines, "U_y", R => (0..extents().volume()).flat_map(|site| {
        let [g, there] = [site, next_to(site, 1, 1)].map(|site| link_at::<R>(&configuration, site, 0));
        let turned = matrix_times_matrix(&g, &link_at(&configuration, site, 1));
        matrix_times_matrix(&turned, &matrix_adjoint(&there)).concat()
    }).collect::<Vec<_>>());
}

/// Writes the lines of an example.
type Example = fn(&mut Lines);

/// The examples, by section.
const EXAMPLES: [(u32, Example); 26] = [
    (2, complex_numbers),
    (3, matrices),
    (4, projections),
    (5, links),
    (6, hops),
    (7, vectors),
    (8, sums),
    (9, wilson_operator),
    (10, conjugate_gradients),
    (11, random_numbers),
    (12, half_precision),
    (13, clover),
    (14, domain_wall),
    (15, laplacian),
    (16, staggered),
    (17, twisted_mass),
    (18, files),
    (19, storage),
    (20, staples),
    (21, loops),
    (22, other_links),
    (23, heat_bath),
    (24, molecular_dynamics),
    (25, hisq),
    (26, gauge_fixing),
    (27, functions_of_numbers),
];

fn functions_of_numbers(lines: &mut Lines) {
    fn all<R: Real>(number: f64) -> [(&'static str, String); 4] {
        let given = R::from_f64(number);
        let [cosine, sine] = functions::cos_sin(given);
        let found = [functions::exp(given), functions::log(given), cosine, sine].map(hex);
        let mut names = ["exp", "log", "cos", "sin"].into_iter();
        found.map(|bits| (names.next().unwrap_or_default(), bits))
    }
    for number in [0.3, 100.1] {
        for ((name, double), (_, single)) in all::<f64>(number).into_iter().zip(all::<f32>(number)) {
            lines.line(&format!("{name} {number}"), format!("{double}   {single}"));
        }
    }
}

/// The place of an example on the page: what stands between its marks.
fn place(page: &str, section: u32) -> std::ops::Range<usize> {
    let mark = format!("<!-- example {section} -->\n");
    let start = page.find(&mark).unwrap_or_else(|| panic!("section {section} has no line {mark:?}")) + mark.len();
    let end = page[start..].find("<!-- end -->").unwrap_or_else(|| panic!("example {section} does not end"));
    start..start + end
}

#[test]
fn the_examples_on_the_page_have_the_bits_of_the_plain_loops() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/arithmetic.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let update = std::env::var("LANEFIELD_UPDATE_DATA").is_ok_and(|value| value == "1");
    for (section, example) in EXAMPLES {
        let mut lines = Lines::default();
        example(&mut lines);
        let place = place(&page, section);
        let expected = format!("\n{}\n", lines.0);
        match update {
            true => page.replace_range(place, &expected),
            false => assert_eq!(page[place], expected, "§{section}: LANEFIELD_UPDATE_DATA=1 writes what is computed"),
        }
    }
    if update {
        std::fs::write(&path, page).unwrap();
    }
}

#[test]
fn every_section_of_the_page_ends_with_an_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/arithmetic.md");
    let page = std::fs::read_to_string(path).unwrap();
    for section in page.split("\n## ").skip(2) {
        let number = section.split('.').next().unwrap_or_default();
        assert!(section.contains(&format!("<!-- example {number} -->")), "§{number} has no example");
        assert!(section.trim_end().ends_with("<!-- end -->"), "§{number} does not end with its example");
    }
}
