//! A single wrong link: it shows in the forward leg at its site, and in the backward leg at the next one.

use lanefield::reference::layout::{DIMENSION_NAMES, Leg};
use lanefield::reference::real::Real;
use lanefield::reference::scalar::step;
use num_complex::Complex;

use super::fault::{Fault, LinkChange};
use super::hop::{Hop, same};
use crate::compare::cause::{Cause, Confidence};
use crate::projection::{distance, size};

impl<R: Real> Hop<'_, R> {
    /// The wrong link, if at most two sites differ from the correct hop.
    pub(super) fn one_link(&self, b: &[Complex<R>], name: &str) -> Option<Cause> {
        let at = |site: usize| &b[12 * site..][..12];
        let differs = |site: &usize| !same(&self.spinor(self.extents.coordinate(*site), Fault::None), at(*site));
        let sites: Vec<usize> = (0..self.extents.volume()).filter(differs).take(3).collect();
        if sites.is_empty() || sites.len() > 2 {
            return None;
        }
        let here = self.extents.coordinate(sites[0]);
        // Links from the first of these sites, and links to it.
        let links = Leg::all().map(|leg| {
            let owner = if leg.is_forward() { here } else { step(self.extents, here, leg).0 };
            (owner, leg.dimension())
        });
        let operator = self.inputs.name();
        for (x, d) in links {
            let next = step(self.extents, x, Leg::forward(d)).0;
            let ends = [x, next].map(|x| self.extents.site(x));
            if !sites.iter().all(|site| ends.contains(site)) {
                continue;
            }
            let [cx, cy, cz, ct] = x;
            let link = format!("the link U_{}({cx},{cy},{cz},{ct})", DIMENSION_NAMES[d]);
            let has = |change: &LinkChange| {
                let with = |end: usize| self.with_link(self.extents.coordinate(end), (x, d, *change));
                ends.iter().all(|&end| same(&with(end), at(end)))
            };
            let evidence = |how: &str| {
                format!(
                    "{name} is {operator} {how}; {} of {} sites differ from the right one",
                    sites.len(),
                    self.extents.volume()
                )
            };
            if let Some(change) = LinkChange::ALL.iter().find(|change| has(change)) {
                let sentence = format!("{link} is {}, and nothing else is wrong", change.name());
                return Some(Cause::new(
                    "link",
                    Confidence::Certain,
                    sentence,
                    evidence("with this link, bit for bit"),
                ));
            }
            if sites.len() == 2
                && self.is_of_leg(at(ends[0]), ends[0], Leg::forward(d))
                && self.is_of_leg(at(ends[1]), ends[1], Leg::backward(d))
            {
                let sentence = format!("{link} is a different matrix, and nothing else is wrong");
                return Some(Cause::new(
                    "link",
                    Confidence::Certain,
                    sentence,
                    evidence("but for the two legs of this link"),
                ));
            }
        }
        None
    }

    /// Whether the error of a spinor has the spin structure of a leg.
    fn is_of_leg(&self, b: &[Complex<R>], site: usize, leg: Leg) -> bool {
        let right = self.spinor(self.extents.coordinate(site), Fault::None);
        let wide = |z: Complex<R>| Complex::new(z.re.to_f64(), z.im.to_f64());
        let difference: [Complex<f64>; 12] = std::array::from_fn(|word| wide(b[word]) - wide(right[word]));
        let rounding = 64.0 * super::hop::unit::<R>() * super::hop::largest(&right).max(super::hop::largest(b));
        let is_dagger = self.inputs.dagger == lanefield::reference::kernels::hop::Dagger::Yes;
        let most = difference.iter().map(|z| size(*z)).fold(0.0, f64::max);
        most > 100.0 * rounding && distance(&difference, leg.dimension(), leg.is_forward() != is_dagger) <= rounding
    }
}
