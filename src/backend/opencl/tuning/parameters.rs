//! The tuning parameters of kernels. Each is declared once, with its name, its values and its meaning ([`Tuning`]); none changes a bit of
//! any result. Files of the tuner, the command line, the search and the build options follow from these declarations. The default of a
//! parameter depends on the device and the kernel (`defaults.toml`). Counterparts: `cl/access.clh`, `cl/traversal.clh`,
//! `cl/accelerator.clh`.

use std::fmt;

use lanefield_reference::layout::AcceleratorThreads;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::access::AccessWidth;
use super::choices::{Accumulators, Count, GridStride, GroupSize, LinkLoads, Mapping, Stores, Traversal};
use super::lane_form::LaneForm;
use super::link_sharing::LinkSharing;
use super::neighbours::Neighbours;
use super::site_order::SiteOrder;

/// A tuning parameter, as described in files and on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// Its values, in brief.
    pub values: &'static str,
    /// The values that the tuner tries, and that verification chooses from.
    pub tried: &'static [&'static str],
    /// Its meaning, one sentence.
    pub meaning: &'static str,
    get: fn(&Tuning) -> Option<String>,
    set: fn(&mut Tuning, &str) -> Result<(), String>,
}

impl Parameter {
    /// The current value as text, if it is set.
    pub(crate) fn get(&self, tuning: &Tuning) -> Option<String> {
        (self.get)(tuning)
    }

    /// Sets a value.
    ///
    /// # Errors
    /// What is wrong with it, and what is expected.
    pub fn set(&self, tuning: &mut Tuning, value: &str) -> Result<(), String> {
        (self.set)(tuning, value)
    }
}

/// Declares the parameters: field, type, name, values to try, values in brief, meaning.
macro_rules! parameters {
    ($($field:ident: $type:ty, $name:literal, [$($tried:literal),+], $values:literal, $meaning:literal;)+) => {
        /// The layout of fields, and how kernels are built and launched. `None` leaves a parameter to the next source of values: tuning
        /// results, then the defaults of the device. No bit of any result depends on any of them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct Tuning {
            $(#[doc = $meaning] pub $field: Option<$type>,)+
        }

        impl Tuning {
            /// Every parameter left open.
            pub const OPEN: Self = Self { $($field: None),+ };

            /// All parameters, in the order in which they are listed.
            pub const PARAMETERS: &'static [Parameter] = &[
                $(Parameter {
                    name: $name,
                    values: $values,
                    tried: &[$($tried),+],
                    meaning: $meaning,
                    get: |tuning| tuning.$field.map(|value| value.to_string()),
                    set: |tuning, text| {
                        tuning.$field = Some(text.parse::<$type>().map_err(|error| error.to_string())?);
                        Ok(())
                    },
                },)+
            ];

            /// These parameters; those that are left open are taken from `other`.
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field)),+ }
            }

            /// Only the parameters that differ from those in `other`.
            pub fn beside(self, other: &Self) -> Self {
                Self { $($field: self.$field.filter(|_| self.$field != other.$field)),+ }
            }
        }
    };
}

parameters! {
    accelerator_threads: AcceleratorThreads, "accelerator-threads", ["4", "8", "16", "32", "64"], "N",
        "Outer sites in a work-group, for kernels with one component at each site.";
    access: AccessWidth, "access", ["word", "8", "16"], "word|8|16", "Bytes of an access, which determine the layout of fields.";
    site_order: SiteOrder, "site-order", ["lexicographic", "2.2.2.2", "3.1.4.2"], "lexicographic|X.Y.Z.T",
        "The order of outer sites in memory: lexicographic, or the numbers of subdomains in x, y, z and t.";
    link_loads: LinkLoads, "link-loads", ["cached", "past-l1", "kept", "ahead"], "cached|past-l1|kept|ahead", "How links and blocks are loaded.";
    stores: Stores, "stores", ["cached", "streaming"], "cached|streaming", "How results are stored.";
    grid_stride: GridStride, "grid-stride", ["off", "on", "on:1", "on:2", "on:4", "on:8", "slice"], "off|on|on:N|slice",
        "Whether launches are grid-stride over outer sites: with N groups on each compute unit, or the groups of one time slice.";
    traversal: Traversal, "traversal", ["memory", "8.8.4.all", "4.4.4.4", "all.4.4.all", "all.2.2.1", "2.3.1.2"], "memory|X.Y.Z.T",
        "The order in which outer sites are visited: that of the memory, or blocks of these extents.";
    mapping: Mapping, "mapping", ["lane-fast", "site-fast"], "lane-fast|site-fast", "Index in which neighbouring work-items differ: the lane, or the outer site.";
    group_size: GroupSize, "group-size", ["any", "required"], "any|required",
        "Whether kernels are built for any work-group size, or for that of their launch.";
    max_registers: u32, "max-registers", ["0", "64", "80", "96", "128"], "N",
        "Maximum registers of a work-item, for compilers that accept it (NVIDIA's); 0: the compiler decides.";
    lane_form: LaneForm, "lane-form", ["work-items", "vectors"], "work-items|vectors", "Whether a work-item computes one lane or, on CPUs, all of them.";
    accumulators: Accumulators, "accumulators", ["registers", "local-memory"], "registers|local-memory", "Where clover kernels accumulate the hop.";
    neighbours: Neighbours, "neighbours", ["registers", "local-memory"], "registers|local-memory", "Where hops store neighbours' spinors.";
    link_sharing: LinkSharing, "link-sharing", ["each", "shared"], "each|shared",
        "Whether work-items of a group with the same site share its links in local memory.";
    rhs_per_work_item: Count, "rhs-per-work-item", ["1", "2", "3", "4"], "N",
        "Components that a work-item computes: this number, or the first of 4, 2 and 3 below it that divides their number.";
    rhs_per_group: Count, "rhs-per-group", ["1", "2", "4", "8"], "N",
        "Adjacent work-items over the components of a site, if there are several.";
    work_items: Count, "work-items", ["64", "128", "256", "512"], "N",
        "Work-items of a group in launches over components; divided by lanes and components, they give its outer sites.";
    rhs_per_launch: Count, "rhs-per-launch", ["4"], "N", "Components of a launch of the hop; further launches compute the others.";
}

impl Tuning {
    /// The parameter with this name.
    ///
    /// # Errors
    /// The names of all parameters.
    pub fn parameter(name: &str) -> Result<&'static Parameter, String> {
        Self::PARAMETERS.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
            let names: Vec<&str> = Self::PARAMETERS.iter().map(|parameter| parameter.name).collect();
            format!("unknown tuning parameter '{name}': expected one of {}", names.join(", "))
        })
    }

    /// The parameters that are set: names and values.
    pub fn chosen(&self) -> impl Iterator<Item = (&'static str, String)> {
        let chosen: Vec<_> = Self::PARAMETERS.iter().filter_map(|p| Some((p.name, p.get(self)?))).collect();
        chosen.into_iter()
    }

    /// The number of components that a work-item computes, of `parts` components.
    pub fn rhs_per_work_item_of(&self, parts: usize) -> usize {
        let most = self.rhs_per_work_item.map_or(1, Count::get);
        let numbers = [most, 4, 2, 3].into_iter().filter(|&number| number <= most);
        numbers.into_iter().find(|&number| number > 0 && parts.is_multiple_of(number)).unwrap_or(1)
    }
}

impl fmt::Display for Tuning {
    /// `accelerator-threads 8, stores streaming`; `default` if nothing is set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen: Vec<String> = self.chosen().map(|(name, value)| format!("{name} {value}")).collect();
        f.write_str(if chosen.is_empty() { "default".to_owned() } else { chosen.join(", ") }.as_str())
    }
}

impl Serialize for Tuning {
    /// A map of the parameters that are set. Numbers are written as numbers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.chosen() {
            match value.parse::<u64>() {
                Ok(number) => map.serialize_entry(name, &number)?,
                Err(_) => map.serialize_entry(name, &value)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Tuning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A value in a file.
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Value {
            Number(i64),
            Text(String),
        }

        struct Parameters;

        impl<'de> Visitor<'de> for Parameters {
            type Value = Tuning;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tuning parameters")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tuning, A::Error> {
                let mut tuning = Tuning::OPEN;
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    let text = match value {
                        Value::Number(number) => number.to_string(),
                        Value::Text(text) => text,
                    };
                    let set = Tuning::parameter(&name).and_then(|parameter| parameter.set(&mut tuning, &text));
                    set.map_err(|why| de::Error::custom(format!("{name}: {why}")))?;
                }
                Ok(tuning)
            }
        }

        deserializer.deserialize_map(Parameters)
    }
}

/// In files, these types have the text that [`fmt::Display`] writes.
macro_rules! as_text {
    ($($name:ty),+) => {$(
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}
as_text!(AccessWidth, SiteOrder);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_read_as_it_is_written() {
        let samples = [
            ("accelerator-threads", "16"),
            ("access", "8"),
            ("site-order", "8.4.4.1"),
            ("link-loads", "past-l1"),
            ("stores", "streaming"),
            ("grid-stride", "on:3"),
            ("traversal", "8.8.4.all"),
            ("mapping", "site-fast"),
            ("group-size", "required"),
            ("max-registers", "96"),
            ("lane-form", "vectors"),
            ("accumulators", "local-memory"),
            ("neighbours", "local-memory"),
            ("link-sharing", "shared"),
            ("rhs-per-work-item", "4"),
            ("rhs-per-group", "2"),
            ("work-items", "256"),
            ("rhs-per-launch", "8"),
        ];
        let mut tuning = Tuning::OPEN;
        for parameter in Tuning::PARAMETERS {
            for value in parameter.tried {
                let mut one = Tuning::OPEN;
                parameter.set(&mut one, value).unwrap();
                assert_eq!(parameter.get(&one).as_deref(), Some(*value), "{}", parameter.name);
            }
        }
        for (name, value) in samples {
            Tuning::parameter(name).unwrap().set(&mut tuning, value).unwrap();
        }
        let written: Vec<(&str, String)> = tuning.chosen().collect();
        assert_eq!(written.len(), Tuning::PARAMETERS.len(), "every parameter has a sample");
        for ((name, value), (written_name, written)) in samples.into_iter().zip(written) {
            assert_eq!((name, value), (written_name, written.as_str()));
        }
        let text = toml::to_string(&tuning).unwrap();
        assert!(text.contains("accelerator-threads = 16\n") && text.contains("traversal = \"8.8.4.all\"\n"), "{text}");
        assert_eq!(toml::from_str::<Tuning>(&text).unwrap(), tuning);
        assert_eq!(Tuning::OPEN.to_string(), "default");
    }

    #[test]
    fn what_is_no_value_is_named_with_what_would_be() {
        let refused = |name: &str, value: &str| {
            Tuning::parameter(name).and_then(|parameter| parameter.set(&mut Tuning::default(), value)).unwrap_err()
        };
        for (name, value) in [
            ("grid-stride", "on:0"),
            ("grid-stride", "twice"),
            ("traversal", "8.8.4"),
            ("traversal", "8.8.4.0"),
            ("stores", "none"),
            ("work-items", "0"),
            ("accelerator-threads", "5000"),
            ("access", "32"),
        ] {
            assert!(refused(name, value).contains(value), "{name} {value}");
        }
        assert!(refused("walk", "once").contains("'walk'"));
        assert!(toml::from_str::<Tuning>("rhs-per-group = 0").unwrap_err().to_string().contains("rhs-per-group"));
    }

    #[test]
    fn a_work_item_takes_the_chosen_number_of_components_or_the_next_that_divides_them() {
        let of =
            |most, parts| Tuning { rhs_per_work_item: Count::new(most), ..Tuning::OPEN }.rhs_per_work_item_of(parts);
        assert_eq!([of(4, 16), of(4, 6), of(4, 9), of(4, 7), of(2, 9), of(6, 12)], [4, 2, 3, 1, 1, 6]);
        assert_eq!(Tuning::OPEN.rhs_per_work_item_of(12), 1);
    }

    #[test]
    fn choices_that_are_made_come_before_others() {
        let first = Tuning { stores: Some(Stores::Streaming), ..Tuning::OPEN };
        let second = Tuning { stores: Some(Stores::Cached), mapping: Some(Mapping::SiteFast), ..Tuning::OPEN };
        let both = first.or(second);
        assert_eq!((both.stores, both.mapping), (Some(Stores::Streaming), Some(Mapping::SiteFast)));
        assert_eq!(both.beside(&second), first);
    }
}
