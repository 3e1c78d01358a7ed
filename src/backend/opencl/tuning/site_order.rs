//! The order of outer sites in device memory. Fields on the host are in lexicographic order. They are permuted exactly on their way to and
//! from a device, as are tables that name outer sites. Counterparts: `reference/src/layout/traversal.rs`, `cl/traversal.clh`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bytemuck::Pod;
use lanefield_reference::layout::{BlockOrder, DIMENSIONS, LEGS, Lattice, Sites, Stencil};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::access::AccessWidth;

/// The layout of fields in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Layout {
    /// The size of an access, which contiguous words fill.
    pub access: AccessWidth,
    /// The order of outer sites.
    pub site_order: SiteOrder,
}

/// An order of outer sites in memory. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SiteOrder {
    /// x fastest, then y, z, t: the order of the host.
    #[default]
    Lexicographic,
    /// The lattice of outer sites is divided into subdomains; the sites of each are contiguous. The parameters are the numbers of
    /// subdomains in x, y, z and t. The order inside and among subdomains is lexicographic. Numbers that do not divide the extents (on one
    /// parity half as many in x) are reduced until they do.
    Subdomains([usize; DIMENSIONS]),
    /// In a local volume, the outer sites whose neighbours are all in it come first, then the others, both in lexicographic order. Kernels
    /// begin with the first ones during the exchange. On a whole lattice as [`Self::Lexicographic`].
    InteriorFirst,
}

/// The order of the outer sites of a field, if it is not the host's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OsiteOrder {
    Blocks(BlockOrder),
    /// By tables: the outer site at each place, and the place of each.
    Table {
        /// The outer site at each place.
        osites: Vec<u32>,
        /// Its inverse.
        places: Vec<u32>,
    },
}

impl OsiteOrder {
    pub(crate) fn osites(&self) -> usize {
        match self {
            Self::Blocks(order) => order.osites(),
            Self::Table { osites, .. } => osites.len(),
        }
    }

    pub(crate) fn osite_at(&self, place: usize) -> usize {
        match self {
            Self::Blocks(order) => order.osite_at(place),
            Self::Table { osites, .. } => osites[place] as usize,
        }
    }

    pub(crate) fn place_of(&self, osite: usize) -> usize {
        match self {
            Self::Blocks(order) => order.place_of(osite),
            Self::Table { places, .. } => places[osite] as usize,
        }
    }
}

/// Whether all neighbours of an outer site are in the local volume.
fn is_interior(lattice: &Lattice, outer: [usize; DIMENSIONS], osite: usize) -> bool {
    let mut rest = osite;
    (0..DIMENSIONS).all(|d| {
        let x = rest % outer[d];
        rest /= outer[d];
        !lattice.extents().is_cut(d) || (x > 0 && x + 1 < outer[d])
    })
}

impl SiteOrder {
    /// The order of fields on `sites` as blocks, which takes no time to compute; `None` if it is of another kind.
    pub(crate) fn blocks(self, lattice: &Lattice, sites: Sites) -> Option<BlockOrder> {
        let Self::Subdomains(numbers) = self else { return None };
        let order = BlockOrder::of_numbers(lattice.outer_extents(sites), numbers);
        (!order.is_lexicographic()).then_some(order)
    }

    /// The order of fields on `sites`; `None` if it is the host's.
    pub(crate) fn on(self, lattice: &Lattice, sites: Sites) -> Option<OsiteOrder> {
        match self {
            Self::Subdomains(_) => self.blocks(lattice, sites).map(OsiteOrder::Blocks),
            Self::InteriorFirst if lattice.extents().is_part() => {
                let outer = lattice.outer_extents(sites);
                let all = 0..lattice.osites(sites) as u32;
                let (mut osites, border): (Vec<u32>, Vec<u32>) =
                    all.partition(|&osite| is_interior(lattice, outer, osite as usize));
                osites.extend(border);
                let mut places = vec![0; osites.len()];
                (0..).zip(&osites).for_each(|(place, &osite)| places[osite as usize] = place);
                Some(OsiteOrder::Table { osites, places })
            }
            Self::Lexicographic | Self::InteriorFirst => None,
        }
    }

    /// The order with which kernels were tuned that corresponds to this one.
    pub(crate) fn as_tuned(self) -> Self {
        if self == Self::InteriorFirst { Self::Lexicographic } else { self }
    }

    /// Whether outer sites are in the host's order.
    pub(crate) fn is_of_host(self, lattice: &Lattice, sites: Sites) -> bool {
        match self {
            Self::InteriorFirst => !lattice.extents().is_part(),
            _ => self.on(lattice, sites).is_none(),
        }
    }

    /// The number of outer sites at the start whose neighbours are all in the local volume; `None` if these do not come first.
    pub(crate) fn interior(self, lattice: &Lattice, sites: Sites) -> Option<usize> {
        let inside =
            |(d, extent): (usize, usize)| if lattice.extents().is_cut(d) { extent.saturating_sub(2) } else { extent };
        (self == Self::InteriorFirst)
            .then(|| lattice.outer_extents(sites).into_iter().enumerate().map(inside).product())
    }

    /// A table of outer sites of fields on `sites`, with the device's numbers. The order of its entries does not change.
    pub(crate) fn renumbered(self, lattice: &Lattice, sites: Sites, mut osites: Vec<u32>) -> Vec<u32> {
        if let Some(order) = self.on(lattice, sites) {
            osites.iter_mut().for_each(|osite| *osite = order.place_of(*osite as usize) as u32);
        }
        osites
    }

    /// A table with an entry for each outer site of fields on `sites`, in the order of the device.
    pub(crate) fn rearranged(self, lattice: &Lattice, sites: Sites, table: Vec<u32>) -> Vec<u32> {
        match self.on(lattice, sites) {
            None => table,
            Some(order) => (0..table.len()).map(|place| table[order.osite_at(place)]).collect(),
        }
    }

    /// The table of a stencil's neighbours. Rows and neighbours both have the device's order.
    pub(crate) fn neighbours(self, stencil: &Stencil) -> Cow<'_, [u32]> {
        let (lattice, sites) = (stencil.lattice(), stencil.sites());
        let (Some(rows), Some(targets)) = (self.on(lattice, sites), self.on(lattice, sites.neighbours())) else {
            // Neighbours have the same outer lattice.
            return Cow::Borrowed(stencil.neighbours());
        };
        // Entries after the field's own sites keep their places.
        let all = stencil.neighbours().len() / LEGS;
        let own = (0..stencil.osites()).map(|osite| targets.place_of(osite) as u32);
        let places: Vec<u32> = own.chain(stencil.osites() as u32..all as u32).collect();
        let osite_at = |place: usize| if place < stencil.osites() { rows.osite_at(place) } else { place };
        let row = |place: usize| &stencil.neighbours()[LEGS * osite_at(place)..][..LEGS];
        let renumber = |&entry: &u32| places[(entry & !Stencil::MARK) as usize] | (entry & Stencil::MARK);
        (0..all).flat_map(row).map(renumber).collect()
    }
}

/// Converts the numbers of a field from the host's order to the device's.
pub(crate) fn to_device<T: Pod + Send + Sync>(order: Option<OsiteOrder>, numbers: &[T]) -> Cow<'_, [T]> {
    match order {
        None => Cow::Borrowed(numbers),
        Some(order) => permuted(numbers, order.osites(), |place| order.osite_at(place)).into(),
    }
}

/// Converts numbers from the device's order to the host's, in place.
pub(crate) fn to_host<T: Pod + Send + Sync>(order: Option<OsiteOrder>, numbers: &mut [T]) {
    if let Some(order) = order {
        numbers.copy_from_slice(&permuted(numbers, order.osites(), |osite| order.place_of(osite)));
    }
}

/// Permutes `osites` objects. `from` gives the source of each place.
fn permuted<T: Pod + Send + Sync>(numbers: &[T], osites: usize, from: impl Fn(usize) -> usize + Sync) -> Vec<T> {
    let an_osite = numbers.len() / osites;
    let mut out = vec![T::zeroed(); numbers.len()];
    out.par_chunks_exact_mut(an_osite.max(1)).enumerate().with_min_len(64).for_each(|(place, to)| {
        to.copy_from_slice(&numbers[from(place) * an_osite..][..an_osite]);
    });
    out
}

impl fmt::Display for SiteOrder {
    /// `lexicographic`, or the numbers of subdomains, as in `8.4.4.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lexicographic => f.write_str("lexicographic"),
            Self::InteriorFirst => f.write_str("interior-first"),
            Self::Subdomains(numbers) => f.write_str(&numbers.map(|number| number.to_string()).join(".")),
        }
    }
}

impl FromStr for SiteOrder {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|&number: &usize| number > 0);
        let numbers: Option<Vec<usize>> = text.split('.').map(number).collect();
        match (text, numbers.and_then(|numbers| numbers.try_into().ok())) {
            ("lexicographic", _) => Ok(Self::Lexicographic),
            ("interior-first", _) => Ok(Self::InteriorFirst),
            (_, Some(numbers)) => Ok(Self::Subdomains(numbers)),
            _ => Err(format!(
                "invalid order of sites '{text}': expected lexicographic, or numbers of subdomains X.Y.Z.T as in 8.4.4.1"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use lanefield_reference::layout::{Extents, LatticeOptions, Leg, Parity, Scalar};

    use super::*;

    fn lattice() -> Lattice {
        Lattice::new(Extents::new([8, 12, 4, 8]).unwrap(), Scalar::ComplexF, LatticeOptions::default()).unwrap()
    }

    #[test]
    fn fields_come_back_as_they_were_and_the_sites_of_a_subdomain_lie_together() {
        let (lattice, sites) = (lattice(), Sites::Full);
        let order = SiteOrder::Subdomains([2, 3, 1, 2]).on(&lattice, sites);
        let bytes: Vec<u8> = (0..3 * lattice.osites(sites)).map(|byte| (byte * 7 % 251) as u8).collect();
        let mut device = to_device(order.clone(), &bytes).into_owned();
        assert_ne!(device, bytes);
        assert_eq!(device[3..6], bytes[3 * order.clone().unwrap().osite_at(1)..][..3]);
        to_host(order, &mut device);
        assert_eq!(device, bytes);
    }

    #[test]
    fn one_subdomain_is_the_order_of_the_host() {
        let lattice = lattice();
        assert_eq!(SiteOrder::Subdomains([1; 4]).on(&lattice, Sites::Full), None);
        // Cut in the slowest direction alone.
        assert_eq!(SiteOrder::Subdomains([1, 1, 1, 2]).on(&lattice, Sites::Full), None);
    }

    #[test]
    fn neighbours_on_the_device_are_those_on_the_host() {
        let order = SiteOrder::Subdomains([2, 2, 2, 2]);
        for sites in [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)] {
            let stencil = Stencil::new(lattice(), sites).unwrap();
            let [from, to] = [sites, sites.neighbours()].map(|sites| order.on(&lattice(), sites).unwrap());
            let table = order.neighbours(&stencil);
            for place in 0..stencil.osites() {
                for leg in Leg::all() {
                    let neighbour = stencil.neighbour(from.osite_at(place), leg);
                    let entry = table[place * LEGS + leg.point()];
                    assert_eq!(to.osite_at((entry & !Stencil::MARK) as usize), neighbour.osite, "{sites} {leg}");
                    assert_eq!(entry & Stencil::MARK != 0, neighbour.edge, "{sites} {leg}");
                }
            }
        }
    }

    #[test]
    fn orders_are_written_as_they_are_read() {
        for order in [SiteOrder::Lexicographic, SiteOrder::Subdomains([8, 4, 4, 1])] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for text in ["8.4.4", "8.4.4.0", "memory", ""] {
            assert!(text.parse::<SiteOrder>().is_err_and(|error| error.contains(&format!("'{text}'"))), "{text}");
        }
    }
}
