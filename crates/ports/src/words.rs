//! Enums of words that are read and printed. Case, underscores, and the spelling of colour do not matter when reading.

use thiserror::Error;

#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invalid {what} '{word}': expected one of {expected}")]
pub struct WordError {
    pub what: &'static str,
    pub word: String,
    pub expected: String,
}

/// A word in our spelling: `Color_Spin` is `colour-spin`.
pub(crate) fn spelt(word: &str) -> String {
    let word = word.to_lowercase().replace('_', "-");
    if word.contains("colour") { word } else { word.replace("color", "colour") }
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::WordError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let spelt = $crate::words::spelt(text);
                let known = Self::ALL.iter().copied().find(|word| word.name() == spelt);
                known.ok_or_else(|| $crate::words::WordError {
                    what: $what,
                    word: text.to_owned(),
                    expected: Self::ALL.iter().map(|word| word.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
pub(crate) use words;
