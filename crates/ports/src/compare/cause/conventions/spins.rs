//! The effect of other conventions on the numbers of a site: conjugation, exchange of source and sink, γ matrices from the left and the right.

use num_complex::Complex;

use crate::Content;
use crate::compare::cause::case::Case;
use crate::order::GammaBasis;

type Z = Complex<f64>;
type Matrix = [[Z; 4]; 4];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Spinor,
    Propagator,
    Other,
}

impl Form {
    pub fn of(content: Content) -> Self {
        match content {
            Content::Spinor | Content::Spinors => Self::Spinor,
            Content::Propagator => Self::Propagator,
            _ => Self::Other,
        }
    }
}

/// One of the 16 products of γ matrices: bit d stands for the γ matrix of direction d.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gammas {
    None,
    /// Γ ψ, Γ S.
    Left(usize),
    /// S Γ.
    Right(usize),
    /// Γ S Γ⁻¹.
    Around(usize),
}

const FIVE: usize = 15;

/// The product of the γ matrices of these bits, in our basis.
fn product(bits: usize) -> Matrix {
    let gammas = GammaBasis::DegrandRossi.gammas();
    let one: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| Z::from(f64::from(u8::from(i == j)))));
    (0..4).filter(|d| bits >> d & 1 == 1).fold(one, |product, d| times(&product, &gammas[d]))
}

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

fn dagger(a: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i].conj()))
}

/// "γ5", "γxγt", "γ5γy"
fn name(bits: usize) -> String {
    let letters = |bits: usize| -> String {
        ["x", "y", "z", "t"]
            .iter()
            .enumerate()
            .filter(|(d, _)| bits >> d & 1 == 1)
            .map(|(_, name)| format!("γ{name}"))
            .collect()
    };
    match bits {
        FIVE => "γ5".to_owned(),
        bits if bits.count_ones() == 3 => format!("γ5{}", letters(FIVE ^ bits)),
        bits => letters(bits),
    }
}

/// A possible transformation of a site of A.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    conjugated: bool,
    spins: bool,
    colours: bool,
    basis: GammaBasis,
    /// Whether A is in the basis, and B is not.
    basis_of_a: bool,
    gammas: Gammas,
    /// For spinors: whether colour comes before spin.
    inner: bool,
    left: Matrix,
    right: Matrix,
    is_one: bool,
}

impl Op {
    pub fn all(form: Form) -> Vec<Self> {
        let gammas: Vec<Gammas> = match form {
            Form::Other => vec![Gammas::None],
            Form::Spinor => std::iter::once(Gammas::None).chain((1..16).map(Gammas::Left)).collect(),
            Form::Propagator => {
                let around = (1..16).map(Gammas::Around);
                let sides = [FIVE, 8].into_iter().flat_map(|bits| [Gammas::Left(bits), Gammas::Right(bits)]);
                std::iter::once(Gammas::None).chain(around).chain(sides).collect()
            }
        };
        let bases: Vec<(GammaBasis, bool)> = match form {
            Form::Other => vec![(GammaBasis::DegrandRossi, false)],
            _ => {
                let others = || GammaBasis::ALL.iter().filter(|basis| **basis != GammaBasis::DegrandRossi);
                let of_b =
                    std::iter::once((GammaBasis::DegrandRossi, false)).chain(others().map(|basis| (*basis, false)));
                of_b.chain(others().map(|basis| (*basis, true))).collect()
            }
        };
        // Spins, colours, and spin together with colour.
        let exchanges: &[(bool, bool, bool)] = match form {
            Form::Other => &[(false, false, false)],
            Form::Spinor => &[(false, false, false), (false, false, true)],
            Form::Propagator => {
                &[(false, false, false), (true, false, false), (false, true, false), (true, true, false)]
            }
        };
        let mut ops = Vec::new();
        for &(basis, basis_of_a) in &bases {
            for &gammas in &gammas {
                let (left, right) = matrices(basis, basis_of_a, gammas);
                let is_one = basis == GammaBasis::DegrandRossi && gammas == Gammas::None;
                for &(spins, colours, inner) in exchanges {
                    for conjugated in [false, true] {
                        let exchanged =
                            Self { conjugated, spins, colours, basis, basis_of_a, gammas, inner, left, right, is_one };
                        ops.push(exchanged);
                    }
                }
            }
        }
        ops
    }

    /// The number of changes: among hypotheses that fit equally well, the one with the fewest is the best.
    pub fn cost(&self) -> usize {
        let gammas = match self.gammas {
            Gammas::None => 0,
            Gammas::Around(FIVE) | Gammas::Left(FIVE) | Gammas::Right(FIVE) => 2,
            _ => 4,
        };
        let basis = if self.basis == GammaBasis::DegrandRossi { 0 } else { 3 + usize::from(self.basis_of_a) };
        let exchanged = usize::from(self.spins) + usize::from(self.colours) + usize::from(self.inner);
        2 * usize::from(self.conjugated) + 2 * exchanged + basis + gammas
    }

    /// Whether it is only conjugation, or the identity.
    pub fn is_plain(&self) -> bool {
        self.is_one && !self.spins && !self.colours && !self.inner
    }

    /// Whether it is γ5 S† γ5, in any basis.
    pub(crate) fn is_gamma_five_hermitian(&self) -> bool {
        self.conjugated && self.spins && self.colours && self.gammas == Gammas::Around(FIVE)
    }

    pub(crate) fn is_conjugated(&self) -> bool {
        self.conjugated
    }

    /// For γ5 S† γ5 with the other sign of μ, in any basis: what else is exchanged.
    pub fn opposite_mu(&self) -> Option<&'static str> {
        (self.conjugated && self.gammas == Gammas::Around(FIVE)).then_some(match (self.spins, self.colours) {
            (true, true) => "",
            (false, true) => " with the spins of source and sink exchanged",
            (true, false) => " with the colours of source and sink exchanged",
            (false, false) => " with the spins and the colours of source and sink exchanged",
        })
    }

    /// Transforms the numbers of a site.
    pub fn of(&self, form: Form, block: &[Z]) -> Vec<Z> {
        let mut numbers = block.to_vec();
        if form == Form::Propagator && (self.spins || self.colours) {
            for (k, z) in numbers.iter_mut().enumerate() {
                let (mut sink, mut source, mut row, mut column) = (k / 36, k / 9 % 4, k / 3 % 3, k % 3);
                if self.spins {
                    std::mem::swap(&mut sink, &mut source);
                }
                if self.colours {
                    std::mem::swap(&mut row, &mut column);
                }
                *z = block[36 * sink + 9 * source + 3 * row + column];
            }
        }
        if self.conjugated {
            numbers.iter_mut().for_each(|z| *z = z.conj());
        }
        if !self.is_one {
            numbers = self.multiplied(form, &numbers);
        }
        match self.inner {
            true => numbers.chunks_exact(12).flat_map(|x| (0..12).map(|k| x[3 * (k % 4) + k / 4])).collect(),
            false => numbers,
        }
    }

    fn multiplied(&self, form: Form, numbers: &[Z]) -> Vec<Z> {
        // From the left on the first axis; for propagators, also from the right on the second.
        let inner = numbers.len() / 4;
        let mut result = multiplied(&self.left, numbers, inner);
        if form == Form::Propagator {
            let transposed: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| self.right[j][i]));
            for row in result.chunks_exact_mut(inner) {
                let turned = multiplied(&transposed, row, inner / 4);
                row.copy_from_slice(&turned);
            }
        }
        result
    }

    /// Descriptions of the changes, each with a keyword for programs.
    pub fn claims(&self, form: Form, case: &Case<'_>) -> Vec<(&'static str, String)> {
        let mut claims: Vec<(&'static str, String)> = Vec::new();
        let conjugated = if self.conjugated { "complex conjugated" } else { "" };
        if self.is_gamma_five_hermitian() {
            claims.push(("gamma5_hermiticity", "as γ5 A† γ5, source and sink exchanged".to_owned()));
        } else {
            match (self.spins, self.colours, self.conjugated) {
                (true, true, true) => claims.push(("dagger", "daggered in spin and colour, A†".to_owned())),
                (false, false, false) => {}
                (false, false, true) => claims.push(("conjugated", conjugated.to_owned())),
                (spins, colours, is_so) => {
                    let what = match (spins, colours) {
                        (true, true) => "the spins and the colours",
                        (true, false) => "the spins",
                        _ => "the colours",
                    };
                    let and = if is_so { format!(" and {conjugated}") } else { String::new() };
                    claims.push(("transposed", format!("with {what} of source and sink exchanged{and}")));
                }
            }
            match self.gammas {
                Gammas::None => {}
                Gammas::Left(bits) if form == Form::Spinor => {
                    claims.push(("gamma", format!("times {} from the left", name(bits))));
                }
                Gammas::Left(bits) => claims.push(("gamma", format!("times {} at the sink", name(bits)))),
                Gammas::Right(bits) => claims.push(("gamma", format!("times {} at the source", name(bits)))),
                Gammas::Around(FIVE) => {
                    claims.push(("gamma", "as γ5 A γ5 (all γ matrices of the opposite sign)".to_owned()));
                }
                Gammas::Around(bits) => {
                    let name = name(bits);
                    claims.push(("gamma", format!("as Γ A Γ⁻¹ with Γ = {name} (γ matrices of other signs)")));
                }
            }
        }
        match (self.basis, self.basis_of_a) {
            (GammaBasis::DegrandRossi, _) => {}
            (basis, false) => {
                let advice = match case.options.a.gamma == basis {
                    true => format!("leave out --a-gamma {basis}"),
                    false => format!("read B with --gamma {basis}"),
                };
                claims.push(("basis", format!("in the basis {basis} of the γ matrices ({advice})")));
            }
            (basis, true) => {
                let advice = match case.options.b.gamma == basis {
                    true => format!("leave out --gamma {basis}"),
                    false => format!("read A with --a-gamma {basis}"),
                };
                claims.push(("basis", format!("from the basis {basis} of the γ matrices in ours ({advice})")));
            }
        }
        if self.inner {
            claims.push(("inner", "with colour before spin (read B with --inner colour-spin)".to_owned()));
        }
        claims
    }
}

/// The matrices to the left and to the right of a site's numbers: γ matrices in our basis, then the change of basis.
fn matrices(basis: GammaBasis, basis_of_a: bool, gammas: Gammas) -> (Matrix, Matrix) {
    let complex = |matrix: [[f64; 4]; 4]| matrix.map(|row| row.map(Z::from));
    let (there, back) = (complex(basis.from_ours().elements()), complex(basis.to_ours().elements()));
    let (there, back) = if basis_of_a { (back, there) } else { (there, back) };
    let (left, right) = match gammas {
        Gammas::None => (product(0), product(0)),
        Gammas::Left(bits) => (product(bits), product(0)),
        Gammas::Right(bits) => (product(0), product(bits)),
        Gammas::Around(bits) => (product(bits), dagger(&product(bits))),
    };
    match basis_of_a {
        false => (times(&there, &left), times(&right, &back)),
        // Γ is in our basis, in which B is.
        true => (times(&left, &there), times(&back, &right)),
    }
}

/// A matrix times four groups of numbers.
fn multiplied(matrix: &Matrix, numbers: &[Z], inner: usize) -> Vec<Z> {
    let mut result = vec![Z::ZERO; numbers.len()];
    for (row, out) in matrix.iter().zip(result.chunks_exact_mut(inner)) {
        for (element, group) in row.iter().zip(numbers.chunks_exact(inner)).filter(|(element, _)| **element != Z::ZERO)
        {
            out.iter_mut().zip(group).for_each(|(out, z)| *out += element * z);
        }
    }
    result
}
