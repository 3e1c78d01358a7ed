//! Enumerations whose values have names.

/// Lists the values of an enumeration, and writes each by its name.
macro_rules! named {
    ($type:ident: $($variant:ident = $name:literal),+) => {
        impl $type {
            /// All of them, in this order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $name,)+
                })
            }
        }
    };
}
