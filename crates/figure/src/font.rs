//! The font: a subset of Arimo (data/), with Latin, Greek and the signs of mathematics. It was made with
//! `pyftsubset Arimo-Regular.ttf --no-hinting --layout-features='' --unicodes='U+20-7E,U+A0-17F,U+391-3C9,U+2013,U+2014,U+2018-201D,U+2020,U+2022,U+2026,
//! U+2032,U+2033,U+2190-2193,U+2202,U+2206,U+220F,U+2211,U+2212,U+221A,U+221E,U+222B,U+2248,U+2260,U+2264,U+2265'`.

use std::sync::LazyLock;

use ttf_parser::Face;
pub(crate) use ttf_parser::{GlyphId, OutlineBuilder};

/// The file.
pub(crate) const DATA: &[u8] = include_bytes!("../data/Arimo-subset.ttf");

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(DATA, 0).expect("the font of the program is read by its tests"));

pub(crate) fn face() -> &'static Face<'static> {
    &FACE
}

/// The glyph of a character: of one that the font lacks, an empty box.
pub(crate) fn glyph(character: char) -> GlyphId {
    FACE.glyph_index(character).unwrap_or(GlyphId(0))
}

/// Units of the font in one em.
pub(crate) fn units_per_em() -> f64 {
    f64::from(FACE.units_per_em())
}

/// Width of a glyph in units of the size of the font.
pub(crate) fn advance(glyph: GlyphId) -> f64 {
    f64::from(FACE.glyph_hor_advance(glyph).unwrap_or(0)) / units_per_em()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_of_physics_and_the_widths_of_helvetica() {
        for character in "azAZ09äéß αβγδεκλμνπρστφχψωΓΔΛΣΩ −–…·×±√∞≤≥≈∂∑∫†".chars()
        {
            assert!(FACE.glyph_index(character).is_some(), "{character}");
        }
        // In thousandths: a, 1, W of Helvetica.
        for (character, width) in [('a', 556.0), ('1', 556.0), ('W', 944.0)] {
            assert!((1000.0 * advance(glyph(character)) - width).abs() < 1.0, "{character}");
        }
    }
}
