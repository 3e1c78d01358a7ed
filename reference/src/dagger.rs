//! An operator, or its Hermitian conjugate.

/// Whether an operator or its Hermitian conjugate is applied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dagger {
    /// The operator.
    No,
    /// Its Hermitian conjugate.
    Yes,
}

impl Dagger {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::No, Self::Yes];
}
