//! Code that is the same in every precision, for a precision known at run time.

/// Evaluates `$work` with `$Real` as the type of a precision.
#[macro_export]
macro_rules! in_precision {
    ($precision:expr, $Real:ident => $work:expr) => {
        match $precision {
            $crate::reference::real::Precision::F32 => {
                type $Real = f32;
                $work
            }
            $crate::reference::real::Precision::F64 => {
                type $Real = f64;
                $work
            }
            $crate::reference::real::Precision::Half => {
                type $Real = $crate::reference::half::Half;
                $work
            }
        }
    };
}
