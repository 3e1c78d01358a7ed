//! Names that commands know: kernels of the library and of a caller, maps of a caller, and words for groups of them ([`KernelList::named`]).

use std::any::TypeId;
use std::ops::Deref;

use anyhow::bail;
use clap::Command;
use lanefield::kernel::{Kernel, KernelList};

use super::maps::Map;

/// Kernels and maps.
#[derive(Clone, Default)]
pub struct Known {
    pub kernels: KernelList,
    pub maps: Vec<Map>,
}

impl Deref for Known {
    type Target = KernelList;
    fn deref(&self) -> &KernelList {
        &self.kernels
    }
}

impl Known {
    pub const LIBRARY: &'static Self = &Self { kernels: KernelList::LIBRARY, maps: Vec::new() };

    pub fn map(&self, name: &str) -> Option<Map> {
        self.maps.iter().copied().find(|map| map.name() == name)
    }

    /// The maps that some words name; `maps` names all. None if the words name kernels.
    pub fn maps_of(&self, words: &[String]) -> anyhow::Result<Vec<Map>> {
        let of_word =
            |word: &String| if word == "maps" { self.maps.clone() } else { self.map(word).into_iter().collect() };
        let found: Vec<Vec<Map>> = words.iter().map(of_word).collect();
        match (found.iter().all(Vec::is_empty), words.iter().zip(&found).find(|(_, maps)| maps.is_empty())) {
            (false, Some((word, _))) => bail!("{word} is not a map: name kernels or maps, not both"),
            _ => Ok(found.concat()),
        }
    }

    /// Fails if a word names nothing.
    fn require(&self, word: &str) -> Result<(), String> {
        if self.map(word).is_some() || (word == "maps" && !self.maps.is_empty()) {
            return Ok(());
        }
        let maps: Vec<&str> = self.maps.iter().map(|map| map.name()).collect();
        let or = if maps.is_empty() { String::new() } else { format!("; or a map: {}", maps.join(", ")) };
        self.named(word).map(drop).map_err(|error| error + &or)
    }
}

/// Lets the arguments of a command name the kernels of a list, and lets its errors name these kernels.
pub fn with_kernels(command: Command, list: &Known) -> Command {
    let studies: Vec<&str> = command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
    // A wrong word may be a misspelt study.
    let or = if studies.is_empty() { String::new() } else { format!("; or a study: {}", studies.join(", ")) };
    let takes = |arg: clap::Arg| {
        let names_kernels = arg
            .get_value_names()
            .is_some_and(|names| names.iter().any(|name| ["KERNEL", "KERNEL,…"].contains(&name.as_str())));
        let (list, or) = (list.clone(), or.clone());
        match names_kernels {
            false => arg,
            true if arg.get_value_parser().type_id() == TypeId::of::<&'static Kernel>() => {
                arg.value_parser(move |name: &str| one(&list, name))
            }
            true => arg.value_parser(move |word: &str| match list.require(word) {
                Ok(()) => Ok(word.to_owned()),
                Err(error) => Err(error + &or),
            }),
        }
    };
    command.mut_args(takes).mut_subcommands(|command| with_kernels(command, list))
}

/// The kernel of the library with a name.
pub fn of_library(name: &str) -> Result<&'static Kernel, String> {
    one(&KernelList::LIBRARY, name)
}

pub fn one(list: &KernelList, name: &str) -> Result<&'static Kernel, String> {
    list.find(name).ok_or_else(|| {
        let known: Vec<&str> = list.all().map(|kernel| kernel.name).collect();
        format!("unknown kernel '{name}': expected one of {}", known.join(", "))
    })
}

/// The kernels that some words name, each once, without those that a command cannot use.
pub fn wanted(
    list: &KernelList,
    words: &[String],
    is_wanted: impl Fn(&Kernel) -> bool,
    why: &str,
) -> anyhow::Result<Vec<&'static Kernel>> {
    let mut kernels: Vec<&'static Kernel> = Vec::new();
    for word in words {
        let named = list.named(word).map_err(anyhow::Error::msg)?;
        let of_word: Vec<_> = named.into_iter().filter(|kernel| is_wanted(kernel)).collect();
        if of_word.is_empty() {
            let known: Vec<&str> = list.all().filter(|kernel| is_wanted(kernel)).map(|kernel| kernel.name).collect();
            anyhow::bail!("{word} {why}: expected one of {}", known.join(", "));
        }
        for kernel in of_word {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
    }
    Ok(kernels)
}
