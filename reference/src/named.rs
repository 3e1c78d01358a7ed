//! Enumerations with named values.

use std::fmt::Display;

/// Lists the values of an enumeration as `ALL`, and displays each by its name. Also parses a value, if the macro receives the word for a value in
/// errors.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($type:ident: $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
    ($type:ident, $what:literal: $($values:tt)+) => {
        $crate::named!($type: $($values)+);

        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                $crate::named::find(text, $what, &Self::ALL)
            }
        }
    };
}

/// The value with this name.
pub fn find<T: Copy + Display>(text: &str, what: &str, all: &[T]) -> Result<T, String> {
    let names: Vec<String> = all.iter().map(T::to_string).collect();
    match (names.iter().position(|name| name == text), &names[..]) {
        (Some(place), _) => Ok(all[place]),
        (None, [first @ .., last]) if !first.is_empty() => {
            Err(format!("invalid {what} '{text}': expected {} or {last}", first.join(", ")))
        }
        (None, _) => Err(format!("invalid {what} '{text}': expected {}", names.concat())),
    }
}
