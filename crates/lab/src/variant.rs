//! One way to run kernels: the layout in device memory, the work-groups, and how kernels are built. No bit of any result depends on it.

use std::fmt;

use lanefield::backend::opencl::{AccessWidth, DeviceKind, Tuning};
use lanefield::backend::{Backend, BackendError, Cpu, OpenCl};
use lanefield::verify::KernelBuild;
use lanefield_reference::layout::AcceleratorThreads;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::bandwidth::Bandwidth;
use super::words::InWords;

/// One way to run kernels. What is not chosen is left to the backend.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Variant {
    /// Outer sites a work-group.
    pub threads: Option<AcceleratorThreads>,
    /// The layout of fields, and how kernels are built and launched.
    pub build: KernelBuild,
}

impl Variant {
    /// Each choice with its name, in the order in which they are told; `None` where it is left to the backend.
    fn choices(&self) -> [(&'static str, Option<String>); 13] {
        let KernelBuild { access, site_order, tuning, accumulators } = self.build;
        let Tuning { link_loads, stores, walk, traversal, mapping, group_size, .. } = tuning;
        let Tuning { most_registers, lane_form, neighbours, link_sharing, .. } = tuning;
        [
            ("access", access.map(|access| access.to_string())),
            ("site_order", site_order.map(|order| order.to_string())),
            ("link_loads", link_loads.map(|loads| loads.in_words())),
            ("stores", stores.map(|stores| stores.in_words())),
            ("walk", walk.map(|walk| walk.in_words())),
            ("traversal", traversal.map(|traversal| traversal.in_words())),
            ("mapping", mapping.map(|mapping| mapping.in_words())),
            ("group_size", group_size.map(|size| size.in_words())),
            ("lane_form", lane_form.map(|form| form.in_words())),
            ("accumulators", accumulators.map(|place| place.in_words())),
            ("neighbours", neighbours.map(|place| place.in_words())),
            ("link_sharing", link_sharing.map(|sharing| sharing.in_words())),
            ("registers", most_registers.map(|registers| registers.to_string())),
        ]
    }

    /// What was chosen, in words; nothing where all is left to the backend.
    pub fn words(&self) -> Vec<String> {
        let threads = self.threads.map(|threads| format!("accelerator threads {threads}"));
        let chosen = self.choices().into_iter().filter_map(|(name, choice)| match name {
            "registers" => choice.filter(|number| number != "0").map(|number| format!("at most {number} registers")),
            _ => choice.map(|choice| format!("{} {choice}", name.replace('_', " "))),
        });
        threads.into_iter().chain(chosen).collect()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words().as_slice() {
            [] => f.write_str("default"),
            words => f.write_str(&words.join(", ")),
        }
    }
}

impl Serialize for Variant {
    /// The accelerator threads, and the name of each choice; null where it was left to the backend.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let choices = self.choices();
        let mut all = serializer.serialize_struct("Variant", choices.len() + 1)?;
        all.serialize_field("accelerator_threads", &self.threads.map(AcceleratorThreads::get))?;
        for (name, choice) in &choices {
            all.serialize_field(name, choice)?;
        }
        all.end()
    }
}

/// A backend whose kernels can be timed.
pub trait Timed: Bandwidth {
    /// Whether there is more than one way to run a kernel.
    const HAS_VARIANTS: bool;
    /// Takes a variant from now on; a backend that knows one way only goes on as before.
    ///
    /// # Errors
    /// [`BackendError::FieldsHeld`] for another access width, [`BackendError::SitesHeld`] for another order of sites, while there are fields.
    fn choose(&mut self, variant: &Variant) -> Result<(), BackendError>;
    /// The device and its driver, or the CPU's threads and vectors, whatever variant was chosen.
    fn device(&self) -> String;
    /// Whether kernels run on a CPU.
    fn is_cpu(&self) -> bool;
    /// Whether a compiler can be told how many registers a kernel may take.
    fn limits_registers(&self) -> bool;
    /// Work-items of the largest group of which each can have so many bytes of local memory.
    fn most_work_items_with(&self, bytes: usize) -> usize;
    /// Does `work` with stencil kernels in relaxed arithmetic, whose bits are not those of the reference, to measure what the bits cost; a backend
    /// that knows one way goes on as before. Kernels that were built so are taken in here alone.
    fn in_relaxed_math<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T;
    /// Seconds from the first start to the last end of the kernels of `work`; `None` where kernels are not queued.
    ///
    /// # Errors
    /// Those of `work`, and what the backend reports.
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError>;
}

impl Timed for Cpu {
    const HAS_VARIANTS: bool = false;
    fn choose(&mut self, _: &Variant) -> Result<(), BackendError> {
        Ok(())
    }
    fn device(&self) -> String {
        self.describe()
    }
    fn is_cpu(&self) -> bool {
        true
    }
    fn limits_registers(&self) -> bool {
        false
    }
    fn most_work_items_with(&self, _: usize) -> usize {
        1
    }
    fn in_relaxed_math<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        work(self)
    }
    fn span(&self, _: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        Ok(None)
    }
}

impl Timed for OpenCl {
    const HAS_VARIANTS: bool = true;
    fn choose(&mut self, variant: &Variant) -> Result<(), BackendError> {
        let Variant { threads, build: KernelBuild { access, site_order, tuning, accumulators } } = *variant;
        self.set_access(access.unwrap_or(AccessWidth::of_device(self.context().info())))?;
        self.set_site_order(site_order.unwrap_or_default())?;
        self.choose_accelerator_threads(threads);
        self.set_tuning(tuning);
        self.set_accumulators(accumulators);
        Ok(())
    }
    fn device(&self) -> String {
        let info = self.context().info();
        format!("{} ({}, driver {})", info.name, info.platform_name, info.driver_version)
    }
    fn is_cpu(&self) -> bool {
        self.context().info().kind == DeviceKind::Cpu
    }
    fn limits_registers(&self) -> bool {
        self.context().info().limits_registers()
    }
    fn most_work_items_with(&self, bytes: usize) -> usize {
        self.context().info().most_work_items_with(bytes)
    }
    fn in_relaxed_math<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.set_relaxed_math(true);
        let outcome = work(self);
        self.set_relaxed_math(false);
        outcome
    }
    fn span(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<Option<f64>, BackendError> {
        self.time_span(work).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield::backend::opencl::{
        Accumulators, GroupSize, LinkSharing, Mapping, Neighbours, SiteOrder, Stores, Walk,
    };

    #[test]
    fn a_variant_tells_what_was_chosen_and_nothing_else() {
        assert_eq!(Variant::default().to_string(), "default");
        let tuning = Tuning {
            stores: Some(Stores::Streaming),
            walk: Some(Walk::Persistent(Some(4))),
            mapping: Some(Mapping::SiteFast),
            group_size: Some(GroupSize::Required),
            most_registers: Some(128),
            neighbours: Some(Neighbours::LocalMemory),
            link_sharing: Some(LinkSharing::Shared),
            ..Tuning::default()
        };
        let variant = Variant {
            threads: Some(AcceleratorThreads::new(16).unwrap()),
            build: KernelBuild {
                access: Some(AccessWidth::Eight),
                site_order: Some(SiteOrder::Subdomains([8, 4, 4, 1])),
                tuning,
                accumulators: Some(Accumulators::LocalMemory),
            },
        };
        let words = "accelerator threads 16, access 8, site order 8.4.4.1, stores streaming, walk persistent:4, \
                     mapping site-fast, group size required, accumulators local, neighbours local, link sharing shared, at most 128 registers";
        assert_eq!(variant.to_string(), words);
        let json = serde_json::to_value(variant).unwrap();
        assert_eq!(json["accelerator_threads"], 16);
        assert_eq!((&json["stores"], &json["traversal"]), (&"streaming".into(), &serde_json::Value::Null));
    }
}
