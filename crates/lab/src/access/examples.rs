//! Good and bad orders of iteration over an array of structures, by name, from Grid's notes on GPU memory (`skills/gpu-memory-performance.md`). A
//! site has twelve words of 16 bytes, complex numbers in f64, each with one lane or with four; wavefronts have 64 work-items.

use super::pattern::{Index, Pattern};

#[derive(Clone, Copy, Debug)]
pub struct Example {
    pub name: &'static str,
    pub about: &'static str,
    pub good: bool,
    address: &'static str,
    lanes: u64,
    fast: Index,
    serial: &'static [Index],
}

pub const EXAMPLES: [Example; 4] = [
    Example {
        name: "words-across-work-items",
        about: "neighbouring work-items read neighbouring words of a site",
        good: true,
        address: "192*site + 16*word",
        lanes: 1,
        fast: Index::Word,
        serial: &[],
    },
    Example {
        name: "words-serial-per-work-item",
        about: "each work-item reads all words of its site, one after the other",
        good: false,
        address: "192*site + 16*word",
        lanes: 1,
        fast: Index::Site,
        serial: &[Index::Word],
    },
    Example {
        name: "lane-fast",
        about: "neighbouring work-items have neighbouring lanes of a site",
        good: true,
        address: "768*site + 64*word + 16*lane",
        lanes: 4,
        fast: Index::Lane,
        serial: &[Index::Word],
    },
    Example {
        name: "site-fast",
        about: "neighbouring work-items have neighbouring sites, a whole site apart",
        good: false,
        address: "768*site + 64*word + 16*lane",
        lanes: 4,
        fast: Index::Site,
        serial: &[Index::Word],
    },
];

impl Example {
    pub const WORDS: u64 = 12;
    const SITES: u64 = 64;

    /// The example with this name; spaces count as hyphens.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().replace(' ', "-");
        EXAMPLES.into_iter().find(|example| example.name == name)
    }

    pub fn pattern(&self, wavefront: u64) -> Result<Pattern, super::ExpressionError> {
        Ok(Pattern {
            address: self.address.parse()?,
            element: 16,
            lanes: self.lanes,
            sites: Self::SITES,
            words: Self::WORDS,
            groups: 1,
            fast: self.fast,
            serial: self.serial.to_vec(),
            wavefront,
        })
    }
}
