//! What the axes of an array are: lattice, fifth dimension, spin, colour, direction. A number is found by site, s and word of the site.

use lanefield::reference::layout::Extents;

/// An axis of what a site holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteAxis {
    /// "spin", "colour", "direction", …
    pub name: &'static str,
    /// Its extent.
    pub extent: usize,
}

/// The axes of an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    /// What a site holds, in words.
    pub object: &'static str,
    /// The lattice; `None` for lists of numbers, which are one site.
    pub extents: Option<Extents>,
    /// Sites of the fifth dimension, the slowest axis; 1 where there is none.
    pub ls: usize,
    /// Whether there is an axis of the fifth dimension.
    pub is_five_dimensional: bool,
    /// The axes of a site, the slowest first.
    pub site: Vec<SiteAxis>,
}

impl Axes {
    /// The axes of an array of this shape. Arrays of fewer than four axes, or of none, are lists of numbers.
    pub fn of(shape: &[usize]) -> Self {
        if let [ls, t, z, y, x, 4, 3] = *shape
            && let Ok(extents) = Extents::new([x, y, z, t])
        {
            let site = axes(&["spin", "colour"], &[4, 3]);
            return Self {
                object: "five-dimensional fermion",
                extents: Some(extents),
                ls,
                is_five_dimensional: true,
                site,
            };
        }
        let lattice = shape.split_first_chunk().and_then(|(&[t, z, y, x], site)| {
            let extents = Extents::new([x, y, z, t]).ok()?;
            Some((extents, site))
        });
        let Some((extents, site)) = lattice else {
            let names: Vec<&'static str> = NUMBERED[..shape.len().min(NUMBERED.len())].to_vec();
            return Self {
                object: "list of numbers",
                extents: None,
                ls: 1,
                is_five_dimensional: false,
                site: axes(&names, shape),
            };
        };
        let (object, names): (_, &[&'static str]) = match site {
            [] => ("complex number", &[]),
            [3] => ("colour vector", &["colour"]),
            [2, 3] => ("half spinor", &["spin", "colour"]),
            [4, 3] => ("spinor", &["spin", "colour"]),
            [3, 3] => ("colour matrix", &["row", "column"]),
            [_, 3] => ("colour vectors", &["component", "colour"]),
            [4, 3, 3] => ("links", &["direction", "row", "column"]),
            [8, 3, 3] => ("doubled links", &["leg", "row", "column"]),
            [8, 2, 3] => ("compressed links", &["leg", "row", "column"]),
            [8, 4, 3] => ("spinors of legs", &["leg", "spin", "colour"]),
            [2, 18] => ("clover blocks", &["chirality", "word"]),
            [6, 3, 3] => ("field strength", &["plane", "row", "column"]),
            [4, 4, 3, 3] => ("propagator", &["sink spin", "source spin", "sink colour", "source colour"]),
            _ => ("word list", &NUMBERED[..site.len().min(NUMBERED.len())]),
        };
        Self { object, extents: Some(extents), ls: 1, is_five_dimensional: false, site: axes(names, site) }
    }

    /// Sites of the lattice.
    pub fn sites(&self) -> usize {
        self.extents.map_or(1, |extents| extents.volume())
    }

    /// Numbers of a site at one s.
    pub fn words(&self) -> usize {
        self.site.iter().map(|axis| axis.extent).product()
    }

    /// The number in the array.
    #[inline]
    pub fn number(&self, site: usize, s: usize, word: usize) -> usize {
        (s * self.sites() + site) * self.words() + word
    }

    /// The index of a word on each of the site's axes.
    pub fn indices(&self, mut word: usize) -> Vec<usize> {
        let mut indices = vec![0; self.site.len()];
        for (index, axis) in indices.iter_mut().zip(&self.site).rev() {
            *index = word % axis.extent;
            word /= axis.extent;
        }
        indices
    }

    /// The words from one index of axis `axis` to the next.
    pub fn stride(&self, axis: usize) -> usize {
        self.site[axis + 1..].iter().map(|axis| axis.extent).product()
    }

    /// Whether a site holds spinors.
    pub fn are_spinors(&self) -> bool {
        matches!(&self.site[..], [SiteAxis { name: "spin", extent: 4 }, SiteAxis { name: "colour", .. }])
    }

    /// What an index of an axis is called: directions and legs have letters.
    pub fn label(name: &str, index: usize) -> String {
        const DIRECTIONS: [&str; 4] = ["x", "y", "z", "t"];
        const LEGS: [&str; 8] = ["+x", "+y", "+z", "+t", "-x", "-y", "-z", "-t"];
        let letters: &[&str] = match name {
            "direction" => &DIRECTIONS,
            "leg" => &LEGS,
            _ => &[],
        };
        letters.get(index).map_or_else(|| index.to_string(), |letter| (*letter).to_owned())
    }
}

/// Names of axes that have none.
const NUMBERED: [&str; 8] = ["axis 0", "axis 1", "axis 2", "axis 3", "axis 4", "axis 5", "axis 6", "axis 7"];

/// Axes with these names; those beyond them are one axis with the last name.
fn axes(names: &[&'static str], extents: &[usize]) -> Vec<SiteAxis> {
    let named = names.iter().zip(extents).map(|(&name, &extent)| SiteAxis { name, extent });
    let rest: usize = extents[names.len().min(extents.len())..].iter().product();
    let rest = (extents.len() > names.len()).then_some(SiteAxis { name: "further axes", extent: rest });
    named.chain(rest).collect()
}
