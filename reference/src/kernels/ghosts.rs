//! The packets that neighbouring ranks exchange: copies of sites, and spinors that are projected before they are sent. Packets are in the order of
//! the face, with all components of a site together. Counterpart: `cl/ghosts.cl`.

use num_complex::Complex;

use crate::dagger::Dagger;
use crate::field::{FieldData, Spinors};
use crate::layout::{Face, Leg, Place};
use crate::real::Real;

/// Complex words of two spins.
const HALF_WORDS: usize = Spinors::WORDS / 2;

/// The words of a component at a place, of the field's own sites or of its halo.
fn component<R: Real>(field: &FieldData<R>, place: Place, part: usize) -> impl Fn(usize) -> Complex<R> + '_ {
    let (nsimd, parts, words) = (field.lattice().nsimd(), field.object().parts(), field.object().part_words());
    let first = (place.osite * parts + part) * words;
    let held: &[Complex<R>] = bytemuck::cast_slice(field.reals_with_ghosts());
    move |word| held[(first + word) * nsimd + place.lane]
}

/// Packs whole sites for the neighbouring rank against the leg of a face: real numbers, or fractions and their step in half precision.
pub fn pack_whole<R: Real>(field: &FieldData<R>, face: &Face) -> Vec<u8> {
    let (parts, words) = (field.object().parts(), field.object().part_words());
    let mut numbers = Vec::with_capacity(face.sent.len() * parts * words);
    for &place in &face.sent {
        for part in 0..parts {
            numbers.extend((0..words).map(component(field, place, part)));
        }
    }
    R::to_device(bytemuck::cast_slice(&numbers), 2 * words, 1).into_owned()
}

/// As [`pack_whole`], for spinors in f32 or f64 that are projected by the leg.
pub fn pack_projected<R: Real>(field: &FieldData<R>, face: &Face, dagger: Dagger) -> Vec<u8> {
    let parts = field.object().parts();
    let mut numbers = Vec::with_capacity(face.sent.len() * parts * HALF_WORDS);
    for &place in &face.sent {
        for part in 0..parts {
            let psi = component(field, place, part);
            numbers.extend(projected(&std::array::from_fn(psi), face.leg, dagger));
        }
    }
    bytemuck::cast_slice(&numbers).to_vec()
}

/// Unpacks sites of the neighbouring rank along the leg into the halo.
///
/// # Panics
/// If the packet does not belong to the face.
pub fn unpack_whole<R: Real>(field: &mut FieldData<R>, face: &Face, packet: &[u8]) {
    let words = field.object().part_words();
    let mut numbers = vec![Complex::new(R::default(), R::default()); face.len() * field.object().parts() * words];
    R::from_device(packet, bytemuck::cast_slice_mut(&mut numbers), 2 * words, 1);
    for_each_held(field, face, |number, ghost| ghost.copy_from_slice(&numbers[number * words..][..words]));
}

/// As [`unpack_whole`], for projected spinors. The halo gets a spinor whose projection by the leg is what was sent.
///
/// # Panics
/// If the packet does not belong to the face.
pub fn unpack_projected<R: Real>(field: &mut FieldData<R>, face: &Face, dagger: Dagger, packet: &[u8]) {
    let rest = rest_of::<R>(face.leg, dagger);
    let mut numbers = vec![Complex::new(R::default(), R::default()); face.len() * field.object().parts() * HALF_WORDS];
    bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(packet);
    for_each_held(field, face, |number, ghost| {
        let (sent, others) = ghost.split_at_mut(HALF_WORDS);
        sent.copy_from_slice(&numbers[number * HALF_WORDS..][..HALF_WORDS]);
        for (row, others) in rest.iter().zip(others.chunks_exact_mut(3)) {
            others.fill(*row);
        }
    });
}

/// Fills in the components at the places of a face, which are numbered in order.
fn for_each_held<R: Real>(field: &mut FieldData<R>, face: &Face, mut fill: impl FnMut(usize, &mut [Complex<R>])) {
    let (osites, nsimd) = (field.osites(), field.lattice().nsimd());
    let (parts, words) = (field.object().parts(), field.object().part_words());
    let mut component = vec![Complex::new(R::default(), R::default()); words];
    let ghosts = field.ghosts_mut();
    for (number, place) in face.held.iter().enumerate() {
        for part in 0..parts {
            fill(number * parts + part, &mut component);
            let first = ((place.osite - osites) * parts + part) * words;
            for (k, word) in component.iter().enumerate() {
                ghosts[(first + k) * nsimd + place.lane] = *word;
            }
        }
    }
}

/// The rows that 1 + γ adds to rows 0 and 1 in x, y, z, t, and the power of i by which each is multiplied (`docs/arithmetic.md` §4). 1 − γ subtracts
/// them.
const ADDED: [[(u8, usize); 2]; 4] = [[(1, 3), (1, 2)], [(2, 3), (0, 2)], [(1, 2), (3, 3)], [(0, 2), (0, 3)]];

/// What the projector of a leg adds to rows 0 and 1: a power of i, and the row that it multiplies. Forward legs use 1 − γ, backward ones 1 + γ; with
/// dagger it is the reverse.
pub fn projector(leg: Leg, dagger: Dagger) -> [(u8, usize); 2] {
    let plus = leg.is_forward() == (dagger == Dagger::Yes);
    ADDED[leg.dimension()].map(|(power, row)| (if plus { power } else { (power + 2) % 4 }, row))
}

fn times_power_of_i<R: Real>(power: u8, a: Complex<R>) -> Complex<R> {
    match power {
        0 => a,
        1 => Complex::new(-a.im, a.re),
        2 => -a,
        _ => Complex::new(a.im, -a.re),
    }
}

/// The number that becomes −0 − 0i when it is multiplied by a power of i. Adding that changes no number, not even −0.
fn nothing<R: Real>(power: u8) -> Complex<R> {
    let (minus, plus) = (R::from_f64(-0.0), R::from_f64(0.0));
    match power {
        0 => Complex::new(minus, minus),
        1 => Complex::new(minus, plus),
        2 => Complex::new(plus, plus),
        _ => Complex::new(plus, minus),
    }
}

/// h0 and h1 of a spinor.
fn projected<R: Real>(psi: &[Complex<R>; Spinors::WORDS], leg: Leg, dagger: Dagger) -> [Complex<R>; HALF_WORDS] {
    let projector = projector(leg, dagger);
    std::array::from_fn(|word| {
        let (spin, colour) = (word / 3, word % 3);
        let (power, row) = projector[spin];
        psi[word] + times_power_of_i(power, psi[3 * row + colour])
    })
}

/// Rows 2 and 3 of a spinor whose projection by the leg is its rows 0 and 1.
fn rest_of<R: Real>(leg: Leg, dagger: Dagger) -> [Complex<R>; 2] {
    let mut rest = [Complex::new(R::default(), R::default()); 2];
    for (power, row) in projector(leg, dagger) {
        rest[row - 2] = nothing(power);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_of_a_projected_spinor_is_projected_to_what_was_sent() {
        let special = [0.0, -0.0, 1.5, f64::NEG_INFINITY, f64::MIN_POSITIVE / 3.0, f64::NAN, -2.0];
        for leg in Leg::all() {
            for dagger in [Dagger::No, Dagger::Yes] {
                let h: [Complex<f64>; HALF_WORDS] =
                    std::array::from_fn(|k| Complex::new(special[k % 7], special[(k + 3) % 7]));
                let rest = rest_of::<f64>(leg, dagger);
                let psi = std::array::from_fn(|k| if k < HALF_WORDS { h[k] } else { rest[k / 3 - 2] });
                for (found, sent) in projected(&psi, leg, dagger).iter().zip(&h) {
                    assert!(found.re.same_bits(sent.re) && found.im.same_bits(sent.im), "{leg}: {found} {sent}");
                }
            }
        }
    }
}
