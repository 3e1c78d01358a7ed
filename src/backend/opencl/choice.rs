//! What names a kernel to the tuner, and what is chosen for it. None of it changes a bit of any result.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::AcceleratorThreads;
use lanefield_reference::links::LinkFormat;
use serde::{Deserialize, Serialize};

use super::{
    AccessWidth, Accumulators, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours, SiteOrder, Stores,
    Traversal, Walk,
};

/// Kernels for which choices are made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelFamily {
    /// The hop of one or several spinors a site.
    Hop,
    /// Blocks times a hop.
    CloverEo,
    /// Blocks times χ, minus a hop.
    CloverOe,
    /// The Laplacian's hop.
    Laplace,
}

impl fmt::Display for KernelFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hop => "hop",
            Self::CloverEo => "clover EO",
            Self::CloverOe => "clover OE",
            Self::Laplace => "laplace",
        })
    }
}

/// The precision in which fields are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum StoredPrecision {
    /// 32 bits a real.
    #[serde(rename = "f32")]
    F32,
    /// 64 bits a real.
    #[serde(rename = "f64")]
    F64,
    /// 16 bits a real, beside a scale.
    #[serde(rename = "16-bit")]
    Sixteen,
}

impl StoredPrecision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F32, Self::F64, Self::Sixteen];

    /// That of fields of `R`.
    pub fn of<R: Vectors>() -> Self {
        match R::BITS {
            16 => Self::Sixteen,
            32 => Self::F32,
            _ => Self::F64,
        }
    }
}

impl fmt::Display for StoredPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Sixteen => "16-bit",
        })
    }
}

impl FromStr for StoredPrecision {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|precision| precision.to_string() == text);
        known.ok_or_else(|| format!("'{text}' is no precision of fields: use f32, f64 or 16-bit"))
    }
}

/// What choices depend on, beside the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelKey {
    /// The kernel.
    pub kernel: KernelFamily,
    /// How its fields are stored.
    pub precision: StoredPrecision,
    /// How links are stored.
    pub links: LinkFormat,
    /// Spinors, or colour vectors, a site.
    pub parts: usize,
    /// Lanes.
    pub lanes: usize,
    /// The power of two of the lattice's volume, rounded down.
    pub volume_class: u32,
    /// What fields are laid out for.
    pub access: AccessWidth,
    /// The order of outer sites in memory.
    pub site_order: SiteOrder,
    /// Whether what three time slices have of the source fits the device's cache: neighbours in time are read three times.
    pub slices_in_cache: bool,
}

impl fmt::Display for KernelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, precision, links, parts, .. } = self;
        write!(f, "{kernel} {precision} {links} reals")?;
        if *parts > 1 { write!(f, " x{parts}") } else { Ok(()) }
    }
}

/// How a kernel is built and launched; what is `None` is left to the next source of choices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct KernelChoice {
    /// Outer sites a work-group, of kernels over sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator_threads: Option<usize>,
    /// How links are loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_loads: Option<LinkLoads>,
    /// How results are stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stores: Option<Stores>,
    /// Which outer sites a group takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub walk: Option<Walk>,
    /// In which order outer sites are launched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traversal: Option<Traversal>,
    /// Which work-items are neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<Mapping>,
    /// For which groups the kernel is built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_size: Option<GroupSize>,
    /// Registers of a work-item at most, 0 for as many as the compiler likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_registers: Option<u32>,
    /// Whether a work-item takes one lane or all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane_form: Option<LaneForm>,
    /// Where kernels that go on from a hop add it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulators: Option<Accumulators>,
    /// Where kernels that begin with a hop hold neighbours' spinors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// How the hop of several spinors a site loads links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_sharing: Option<LinkSharing>,
    /// Parts that a work-item takes: this number, or the first of 4, 2 and 3 below it, that divides them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_once: Option<usize>,
    /// Work-items side by side over the parts of a site, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// Work-items of a group over parts; what lanes and parts leave of them are outer sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_items: Option<usize>,
    /// Parts of a launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_launch: Option<usize>,
}

impl KernelChoice {
    /// This choice, and what it leaves open as in `other`.
    pub fn or(self, other: Self) -> Self {
        Self {
            accelerator_threads: self.accelerator_threads.or(other.accelerator_threads),
            link_loads: self.link_loads.or(other.link_loads),
            stores: self.stores.or(other.stores),
            walk: self.walk.or(other.walk),
            traversal: self.traversal.or(other.traversal),
            mapping: self.mapping.or(other.mapping),
            group_size: self.group_size.or(other.group_size),
            most_registers: self.most_registers.or(other.most_registers),
            lane_form: self.lane_form.or(other.lane_form),
            accumulators: self.accumulators.or(other.accumulators),
            neighbours: self.neighbours.or(other.neighbours),
            link_sharing: self.link_sharing.or(other.link_sharing),
            at_once: self.at_once.or(other.at_once),
            parts: self.parts.or(other.parts),
            work_items: self.work_items.or(other.work_items),
            a_launch: self.a_launch.or(other.a_launch),
        }
    }

    /// What of it is not the same in `other`.
    pub fn beside(self, other: &Self) -> Self {
        fn unlike<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<T> {
            if a == b { None } else { a }
        }
        Self {
            accelerator_threads: unlike(self.accelerator_threads, other.accelerator_threads),
            link_loads: unlike(self.link_loads, other.link_loads),
            stores: unlike(self.stores, other.stores),
            walk: unlike(self.walk, other.walk),
            traversal: unlike(self.traversal, other.traversal),
            mapping: unlike(self.mapping, other.mapping),
            group_size: unlike(self.group_size, other.group_size),
            most_registers: unlike(self.most_registers, other.most_registers),
            lane_form: unlike(self.lane_form, other.lane_form),
            accumulators: unlike(self.accumulators, other.accumulators),
            neighbours: unlike(self.neighbours, other.neighbours),
            link_sharing: unlike(self.link_sharing, other.link_sharing),
            at_once: unlike(self.at_once, other.at_once),
            parts: unlike(self.parts, other.parts),
            work_items: unlike(self.work_items, other.work_items),
            a_launch: unlike(self.a_launch, other.a_launch),
        }
    }

    /// The number of parts that a work-item takes of `parts`.
    pub fn at_once_of(&self, parts: usize) -> usize {
        let most = self.at_once.unwrap_or(1);
        let numbers = [most, 4, 2, 3].into_iter().filter(|&number| number <= most);
        numbers.into_iter().find(|&number| number > 0 && parts.is_multiple_of(number)).unwrap_or(1)
    }

    /// What is out of range, by name and value.
    pub(super) fn fault(&self) -> Option<String> {
        let zero = [("at-once", self.at_once), ("parts", self.parts), ("work-items", self.work_items)]
            .into_iter()
            .chain([("a-launch", self.a_launch)])
            .find(|(_, number)| *number == Some(0));
        if let Some((name, _)) = zero {
            return Some(format!("{name} is 0, and at least 1 is needed"));
        }
        self.accelerator_threads
            .and_then(|threads| AcceleratorThreads::new(threads).err())
            .map(|error| error.to_string())
    }
}

impl fmt::Display for KernelChoice {
    /// What is chosen, in the order of the fields: `8 threads, links past-l1, …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The serialised names are those of the files.
        let name = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let words = [
            self.accelerator_threads.map(|n| format!("{n} threads")),
            self.link_loads.map(|loads| format!("links {}", name(serde_json::json!(loads)))),
            self.stores.map(|stores| format!("stores {}", name(serde_json::json!(stores)))),
            self.walk.map(|walk| format!("walk {walk}")),
            self.traversal.map(|traversal| format!("traversal {traversal}")),
            self.mapping.map(|mapping| name(serde_json::json!(mapping))),
            self.group_size.map(|size| format!("{} group size", name(serde_json::json!(size)))),
            self.most_registers.filter(|n| *n > 0).map(|n| format!("at most {n} registers")),
            self.lane_form.map(|form| format!("lanes as {}", name(serde_json::json!(form)))),
            self.accumulators.map(|place| format!("sums in {}", name(serde_json::json!(place)))),
            self.neighbours.map(|place| format!("neighbours in {}", name(serde_json::json!(place)))),
            self.link_sharing.map(|sharing| format!("links {}", name(serde_json::json!(sharing)))),
            self.at_once.map(|n| format!("{n} at once")),
            self.parts.map(|n| format!("{n} parts")),
            self.work_items.map(|n| format!("{n} work-items")),
            self.a_launch.map(|n| format!("{n} a launch")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_item_takes_the_chosen_number_of_parts_or_the_next_that_divides_them() {
        let of = |most, parts| KernelChoice { at_once: Some(most), ..KernelChoice::default() }.at_once_of(parts);
        assert_eq!([of(4, 16), of(4, 6), of(4, 9), of(4, 7), of(2, 9), of(6, 12)], [4, 2, 3, 1, 1, 6]);
        assert_eq!(KernelChoice::default().at_once_of(12), 1);
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let fault = |choice: KernelChoice| choice.fault().unwrap_or_default();
        assert!(fault(KernelChoice { at_once: Some(0), ..KernelChoice::default() }).contains("at-once is 0"));
        let threads = KernelChoice { accelerator_threads: Some(5000), ..KernelChoice::default() };
        assert!(fault(threads).contains("5000"), "{}", fault(threads));
        assert_eq!(KernelChoice::default().fault(), None);
    }
}
