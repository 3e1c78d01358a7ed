//! Other leg orders, with each form of products: all of them are close to the correct hop.

use lanefield::reference::layout::{Coordinate, LEGS, Leg, LegOrder};
use lanefield::reference::real::Real;
use num_complex::Complex;

use super::fault::{Fault, MassTerm, Product};
use super::hop::{Hop, Spinor, same};
use crate::compare::cause::{Cause, Confidence};

impl<R: Real> Hop<'_, R> {
    /// A field that has the legs in another order, and possibly its products in another form.
    pub(super) fn orders(&self, b: &[Complex<R>], name: &str) -> Option<Cause> {
        let operator = self.inputs.name();
        let terms = [MassTerm::Fused, MassTerm::Unfused, MassTerm::First];
        let masses = if self.inputs.mass.is_some() { &terms[..] } else { &terms[..1] };
        let products = std::iter::once(Product::Right).chain(Product::WRONG);
        for (product, mass) in products.flat_map(|product| masses.iter().map(move |mass| (product, *mass))) {
            let Some(legs) = self.order(b, product, mass) else { continue };
            let mut others = String::new();
            if legs == self.inputs.legs && product == Product::Right {
                // A single fault, which was tried before.
                continue;
            }
            if product != Product::Right {
                others += &format!(", and products of the links are {}", product.name());
            }
            if mass != MassTerm::Fused {
                others += &format!(", and the mass term is {}", mass.name());
            }
            let sentence = match legs == self.inputs.legs {
                true => others.trim_start_matches(", and ").to_owned(),
                false => format!("the legs are added in the order {legs}, not {}{others}", self.inputs.legs),
            };
            let evidence = format!("{name} is {operator} that is computed so, bit for bit");
            return Some(Cause::new("leg_order", Confidence::Certain, sentence, evidence));
        }
        let sentence = format!(
            "{name} is {operator} to rounding, and none of the leg orders and forms of products that were tried gives its bits"
        );
        let evidence = format!("40 320 orders with {} forms of products", 6 * masses.len());
        Some(Cause::new("rounding", Confidence::Likely, sentence, evidence))
    }

    /// The leg order with which the field has its bits.
    fn order(&self, b: &[Complex<R>], product: Product, mass: MassTerm) -> Option<LegOrder> {
        // A few distant sites determine the order, except for that of the first two legs, whose sum is the same.
        let volume = self.extents.volume();
        let sites = (0..4).map(|k| k * (volume - 1) / 3);
        let terms: Vec<_> = sites
            .map(|site| {
                let x = self.extents.coordinate(site);
                let of_leg = |k: usize| self.term(x, legs()[k], Fault::Products(product));
                let terms: [Spinor<R>; LEGS] = std::array::from_fn(of_leg);
                (x, terms)
            })
            .collect();
        let mut order = [0; LEGS];
        let fits = |order: &[usize; LEGS]| {
            terms.iter().all(|(x, terms)| {
                let sum = self.sum(*x, order.iter().map(|&leg| terms[leg]), mass);
                same(&sum, &b[12 * self.extents.site(*x)..][..12])
            })
        };
        if !permute(&mut order, 0, 0, &fits) {
            return None;
        }
        let legs = LegOrder::new(order.map(|k| legs()[k])).ok()?;
        let whole = |x: Coordinate| {
            let terms = legs.legs().into_iter().map(|leg| self.term(x, leg, Fault::Products(product)));
            self.sum(x, terms, mass)
        };
        self.has_bits(b, whole).then_some(legs)
    }
}

fn legs() -> [Leg; LEGS] {
    std::array::from_fn(|point| if point < LEGS / 2 { Leg::forward(point) } else { Leg::backward(point - LEGS / 2) })
}

/// Tries all leg orders until one fits; `used` marks the legs before `place`.
fn permute(order: &mut [usize; LEGS], place: usize, used: usize, fits: &impl Fn(&[usize; LEGS]) -> bool) -> bool {
    if place == LEGS {
        return fits(order);
    }
    (0..LEGS).filter(|leg| used >> leg & 1 == 0).any(|leg| {
        order[place] = leg;
        permute(order, place + 1, used | 1 << leg, fits)
    })
}
