//! Links as the bytes of a file: rows, precision and byte order.

use lanefield_reference::gauge::{LINK_WORDS, SITE_WORDS, third_row};
use num_complex::Complex;

/// The rows of each link that a file stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoredRows {
    /// `4D_SU3_GAUGE`: the first two. The third is the conjugate of their cross product.
    Two,
    /// `4D_SU3_GAUGE_3x3`: all three.
    Three,
}

impl StoredRows {
    /// The value of DATATYPE.
    pub fn datatype(self) -> &'static str {
        match self {
            Self::Two => "4D_SU3_GAUGE",
            Self::Three => "4D_SU3_GAUGE_3x3",
        }
    }

    /// The number of reals that a file stores for each site.
    pub fn reals_per_site(self) -> usize {
        match self {
            Self::Two => 2 * SITE_WORDS / 3 * 2,
            Self::Three => 2 * SITE_WORDS,
        }
    }
}

/// The order of the bytes in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

lanefield_reference::named!(ByteOrder: Big = "big-endian", Little = "little-endian");

/// The number format of a file, FLOATING_POINT. Programs disagree about the byte order of IEEE32. If the name does not determine it, or is
/// wrong, the first links decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatingPoint {
    /// `IEEE32BIG`.
    F32Big,
    /// `IEEE32`, `IEEE32LITTLE`.
    F32Little,
    /// `IEEE64BIG`, as Grid writes.
    F64Big,
    /// `IEEE64LITTLE`, `IEEE64`.
    F64Little,
}

impl FloatingPoint {
    /// The value of FLOATING_POINT that is written: of equivalent names, the one that Grid reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32Big => "IEEE32BIG",
            Self::F32Little => "IEEE32",
            Self::F64Big => "IEEE64BIG",
            Self::F64Little => "IEEE64LITTLE",
        }
    }

    /// The size of a real number in bytes: 4 or 8.
    pub fn size(self) -> usize {
        match self {
            Self::F32Big | Self::F32Little => 4,
            Self::F64Big | Self::F64Little => 8,
        }
    }

    /// The order of the bytes in a number.
    pub fn byte_order(self) -> ByteOrder {
        match self {
            Self::F32Big | Self::F64Big => ByteOrder::Big,
            Self::F32Little | Self::F64Little => ByteOrder::Little,
        }
    }

    /// The same precision in the other byte order.
    pub fn swapped(self) -> Self {
        match self {
            Self::F32Big => Self::F32Little,
            Self::F32Little => Self::F32Big,
            Self::F64Big => Self::F64Little,
            Self::F64Little => Self::F64Big,
        }
    }
}

/// The number of sites that are encoded at a time.
const CHUNK_SITES: usize = 256;

/// Appends the links in `bytes`, whole sites of a file, to `links`.
pub(super) fn decode(bytes: &[u8], rows: StoredRows, floating_point: FloatingPoint, links: &mut Vec<Complex<f64>>) {
    match floating_point {
        FloatingPoint::F32Big => decode_with(bytes, rows, links, |b: [u8; 4]| f64::from(f32::from_be_bytes(b))),
        FloatingPoint::F32Little => decode_with(bytes, rows, links, |b: [u8; 4]| f64::from(f32::from_le_bytes(b))),
        FloatingPoint::F64Big => decode_with(bytes, rows, links, f64::from_be_bytes),
        FloatingPoint::F64Little => decode_with(bytes, rows, links, f64::from_le_bytes),
    }
}

fn decode_with<const SIZE: usize>(
    bytes: &[u8],
    rows: StoredRows,
    links: &mut Vec<Complex<f64>>,
    real: impl Fn([u8; SIZE]) -> f64,
) {
    let (numbers, _) = bytes.as_chunks::<SIZE>();
    let (words, _) = numbers.as_chunks::<2>();
    let word = |&[re, im]: &[[u8; SIZE]; 2]| Complex::new(real(re), real(im));
    match rows {
        StoredRows::Three => links.extend(words.iter().map(word)),
        StoredRows::Two => {
            let (stored, _) = words.as_chunks::<6>();
            for link in stored {
                let [a, b, c, d, e, f] = link.each_ref().map(word);
                links.extend([a, b, c, d, e, f]);
                links.extend(third_row([a, b, c], [d, e, f]));
            }
        }
    }
}

/// Passes links in the form of the file to `take`, a few sites at a time.
pub(super) fn encode(
    links: &[Complex<f64>],
    rows: StoredRows,
    floating_point: FloatingPoint,
    mut take: impl FnMut(&[u8]),
) {
    let words = match rows {
        StoredRows::Two => LINK_WORDS / 3 * 2,
        StoredRows::Three => LINK_WORDS,
    };
    let mut bytes = Vec::with_capacity(CHUNK_SITES * rows.reals_per_site() * floating_point.size());
    for sites in links.chunks(CHUNK_SITES * SITE_WORDS) {
        bytes.clear();
        let reals =
            sites.chunks_exact(LINK_WORDS).flat_map(|link| &link[..words]).flat_map(|z: &Complex<f64>| [z.re, z.im]);
        match floating_point {
            FloatingPoint::F32Big => bytes.extend(reals.flat_map(|x| (x as f32).to_be_bytes())),
            FloatingPoint::F32Little => bytes.extend(reals.flat_map(|x| (x as f32).to_le_bytes())),
            FloatingPoint::F64Big => bytes.extend(reals.flat_map(f64::to_be_bytes)),
            FloatingPoint::F64Little => bytes.extend(reals.flat_map(f64::to_le_bytes)),
        }
        take(&bytes);
    }
}
