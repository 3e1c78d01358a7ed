//! A macro that returns errors.

/// Returns an error unless a condition holds.
#[doc(hidden)]
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $error:expr $(,)?) => {
        if !$holds {
            return Err($error);
        }
    };
}
