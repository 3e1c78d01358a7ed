//! The axes of an array, depending on its content: a number is found by site, s and word of the site.

use lanefield::reference::layout::Extents;

use crate::Content;

/// An axis within a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteAxis {
    /// "spin", "colour", "direction", …
    pub name: &'static str,
    pub extent: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    pub content: Content,
    /// The lattice; `None` for lists of numbers, which count as one site.
    pub extents: Option<Extents>,
    /// Sites of the fifth dimension, the slowest axis; 1 if there is none.
    pub ls: usize,
    pub site: Vec<SiteAxis>,
}

impl Axes {
    /// The axes of an array from its shape alone. Arrays with fewer than four axes are lists of numbers.
    pub fn of(shape: &[usize]) -> Self {
        // A content that is derived from the shape fits it.
        Self::holding(Content::of_shape(shape), shape).unwrap_or_else(|| Self::list(shape))
    }

    /// The axes of an array with this content; `None` if its shape does not fit. Real and imaginary part may be an axis at the end.
    pub fn holding(content: Content, shape: &[usize]) -> Option<Self> {
        if content == Content::List {
            return Some(Self::list(shape));
        }
        let (shape, part) = match shape {
            shape if content.fits(shape) => (shape, None),
            [shape @ .., 2] if content.fits(shape) => (shape, Some(SiteAxis { name: "part", extent: 2 })),
            _ => return None,
        };
        let (ls, shape) = if content.has_s() { (shape[0], &shape[1..]) } else { (1, shape) };
        let (&[t, z, y, x], site) = shape.split_first_chunk()?;
        let names: Vec<&'static str> = match content.site() {
            Some(site) => site.iter().map(|(name, _)| *name).collect(),
            None => NUMBERED[..site.len().min(NUMBERED.len())].to_vec(),
        };
        let site = axes(&names, site).into_iter().chain(part).collect();
        Some(Self { content, extents: Extents::new([x, y, z, t]).ok(), ls, site })
    }

    fn list(shape: &[usize]) -> Self {
        let site = axes(&NUMBERED[..shape.len().min(NUMBERED.len())], shape);
        Self { content: Content::List, extents: None, ls: 1, site }
    }

    pub fn is_five_dimensional(&self) -> bool {
        self.content.has_s()
    }

    pub fn sites(&self) -> usize {
        self.extents.map_or(1, |extents| extents.volume())
    }

    pub fn words(&self) -> usize {
        self.site.iter().map(|axis| axis.extent).product()
    }

    #[inline]
    pub fn number(&self, site: usize, s: usize, word: usize) -> usize {
        (s * self.sites() + site) * self.words() + word
    }

    pub fn indices(&self, mut word: usize) -> Vec<usize> {
        let mut indices = vec![0; self.site.len()];
        for (index, axis) in indices.iter_mut().zip(&self.site).rev() {
            *index = word % axis.extent;
            word /= axis.extent;
        }
        indices
    }

    /// The number of words from one index of axis `axis` to the next.
    pub fn stride(&self, axis: usize) -> usize {
        self.site[axis + 1..].iter().map(|axis| axis.extent).product()
    }

    pub fn are_spinors(&self) -> bool {
        matches!(self.content, Content::Spinor | Content::Spinors) && self.site.len() == 2
    }

    /// The label of an index of an axis: directions, legs and parts have letters.
    pub fn label(name: &str, index: usize) -> String {
        let letters: &[&str] = match name {
            "direction" => &["x", "y", "z", "t"],
            "leg" => &["+x", "+y", "+z", "+t", "-x", "-y", "-z", "-t"],
            "part" => &["re", "im"],
            "plane" => &["xy", "xz", "xt", "yz", "yt", "zt"],
            _ => &[],
        };
        letters.get(index).map_or_else(|| index.to_string(), |letter| (*letter).to_owned())
    }

    /// "spinor on 4.4.4.8", "five-dimensional fermion on 4.4.4.8, Ls 8"
    pub fn describe(&self) -> String {
        let lattice = self.extents.map_or_else(String::new, |extents| format!(" on {extents}"));
        let ls = if self.is_five_dimensional() { format!(", Ls {}", self.ls) } else { String::new() };
        format!("{}{lattice}{ls}", self.content.object())
    }
}

/// Names of axes without a name.
const NUMBERED: [&str; 8] = ["axis 0", "axis 1", "axis 2", "axis 3", "axis 4", "axis 5", "axis 6", "axis 7"];

/// Axes with these names; further axes are combined into one with the last name.
fn axes(names: &[&'static str], extents: &[usize]) -> Vec<SiteAxis> {
    let named = names.iter().zip(extents).map(|(&name, &extent)| SiteAxis { name, extent });
    let rest: usize = extents[names.len().min(extents.len())..].iter().product();
    let rest = (extents.len() > names.len()).then_some(SiteAxis { name: "further axes", extent: rest });
    named.chain(rest).collect()
}
