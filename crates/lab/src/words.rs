//! The names of choices that change no bit, as the command line reads them and tables print them.

use lanefield::backend::opencl::{
    Accumulators, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours, Stores, Traversal, Walk,
};

/// A choice with a name.
pub trait InWords: Sized {
    /// Its name.
    fn in_words(&self) -> String;
    /// The choice of a name.
    ///
    /// # Errors
    /// A fragment that names the text, and what would be right.
    fn from_words(text: &str) -> Result<Self, String>;
}

/// A choice among a few that have fixed names.
macro_rules! fixed_names {
    ($($choice:ident, $what:literal: $($variant:ident $name:literal),+;)+) => {$(
        impl InWords for $choice {
            fn in_words(&self) -> String {
                match self {
                    $(Self::$variant => $name,)+
                }
                .to_owned()
            }
            fn from_words(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!(concat!("'{}' is no ", $what, ": use {}"), text, [$($name),+].join(" or "))),
                }
            }
        }
    )+};
}

fixed_names! {
    LinkLoads, "way to load links": Cached "cached", PastL1 "past-l1";
    Stores, "way to store results": Cached "cached", Streaming "streaming";
    Mapping, "mapping of work-items": LaneFast "lane-fast", SiteFast "site-fast";
    GroupSize, "size of work-groups that a kernel is built for": Any "any", Required "required";
    LaneForm, "form of lanes": WorkItems "work-items", Vectors "vectors";
    Accumulators, "place of accumulators": Registers "registers", LocalMemory "local";
    LinkSharing, "way to share links": Each "each", Shared "shared";
    Neighbours, "place of neighbours": Registers "registers", LocalMemory "local";
}

impl InWords for Walk {
    fn in_words(&self) -> String {
        match self {
            Self::EachGroupOnce => "once".to_owned(),
            Self::Persistent(None) => "persistent".to_owned(),
            Self::Persistent(Some(groups)) => format!("persistent:{groups}"),
        }
    }
    fn from_words(text: &str) -> Result<Self, String> {
        match text {
            "once" => Some(Self::EachGroupOnce),
            "persistent" => Some(Self::Persistent(None)),
            _ => text
                .strip_prefix("persistent:")
                .and_then(|groups| groups.parse().ok())
                .filter(|&groups: &usize| groups > 0)
                .map(|groups| Self::Persistent(Some(groups))),
        }
        .ok_or_else(|| {
            format!("'{text}' is no walk: use once, persistent, or persistent:N with N groups a compute unit")
        })
    }
}

impl InWords for Traversal {
    fn in_words(&self) -> String {
        match self {
            Self::Memory => "memory".to_owned(),
            Self::Blocks(block) => block.map(|extent| extent.to_string()).join("."),
        }
    }
    fn from_words(text: &str) -> Result<Self, String> {
        if text == "memory" {
            return Ok(Self::Memory);
        }
        let extents: Option<Vec<usize>> =
            text.split('.').map(|extent| extent.parse().ok().filter(|&extent| extent > 0)).collect();
        let block = extents.and_then(|extents| extents.try_into().ok());
        block.map(Self::Blocks).ok_or_else(|| {
            format!("'{text}' is no traversal: use memory, or the outer sites of a block as X.Y.Z.T, each at least 1")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_names<T: InWords + PartialEq + std::fmt::Debug>(choices: &[T], wrong: &[&str]) {
        for choice in choices {
            assert_eq!(T::from_words(&choice.in_words()).as_ref(), Ok(choice));
        }
        for text in wrong {
            let error = T::from_words(text).unwrap_err();
            assert!(error.contains(&format!("'{text}'")) && error.contains(": use "), "{error}");
        }
    }

    #[test]
    fn choices_are_read_as_they_are_written() {
        assert_names(&[LinkLoads::Cached, LinkLoads::PastL1], &["l1", ""]);
        assert_names(&[Stores::Cached, Stores::Streaming], &["stream"]);
        assert_names(&Mapping::ALL, &["fast"]);
        assert_names(&GroupSize::ALL, &["256"]);
        assert_names(&Accumulators::ALL, &["memory"]);
        assert_names(&Neighbours::ALL, &["local-memory"]);
        assert_names(&LinkSharing::ALL, &["all"]);
        let walks = [Walk::EachGroupOnce, Walk::Persistent(None), Walk::Persistent(Some(3))];
        assert_names(&walks, &["persistent:0", "persistent:x", "twice"]);
        assert_names(&[Traversal::Memory, Traversal::Blocks([1, 2, 3, 4])], &["1.2.3", "1.2.3.0", "1.2.3.4.5", "x"]);
    }
}
