//! Traits of operators: the fields on which they act, and how they are applied.

use lanefield_reference::field::{Repeated, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use super::hop::number_of_sites;
use crate::backend::{Backend, BackendError, FieldOn};

/// Spinors in precision `R` on the backend `B`.
pub(super) type SpinorsOn<B, R> = FieldOn<B, R, Spinors>;

/// An operator, whole or in even-odd pieces. It acts on fields of one or several right-hand sides, on each separately, and reads its links once for
/// all of them.
pub trait ActsOn<B: Backend> {
    /// The object of its fields.
    type Object: Repeated;

    /// The backend that runs it.
    fn backend(&self) -> &B;
    /// The lattice on which it acts.
    fn lattice(&self) -> Lattice;
    /// The object of a field of `rhs` right-hand sides.
    fn object(&self, rhs: usize) -> Self::Object;

    /// Complex numbers per right-hand side on `sites`.
    fn words(&self, sites: Sites) -> u64 {
        number_of_sites(self.lattice(), sites) * self.object(1).words() as u64
    }
}

/// The fields on which an operator acts, in precision `R`.
pub(super) type On<B, R, D> = FieldOn<B, R, <D as ActsOn<B>>::Object>;

/// A linear operator on fields in precision `R` on the backend `B`. It may have temporary fields, hence `&mut self`.
pub trait Operator<B: Backend, R: Vectors>: ActsOn<B> {
    /// The sites on which it acts.
    fn sites(&self) -> Sites {
        Sites::Full
    }
    /// out = D ψ or D† ψ, for each right-hand side. If this consists of launches alone, a solver may have the backend repeat these launches instead
    /// of calling it again.
    ///
    /// # Errors
    /// Fails if fields are not on the operator's lattice and sites, and if the backend fails.
    fn apply(&mut self, out: &mut On<B, R, Self>, psi: &On<B, R, Self>, dagger: Dagger) -> Result<(), BackendError>;
    /// Floating-point operations of one application to one right-hand side, as counted in lattice QCD.
    fn flops(&self) -> u64;
    /// Least number of bytes that one application to one right-hand side moves, with inputs and outputs of each kernel counted once.
    fn bytes(&self) -> u64;

    /// A field of zeros with `rhs` right-hand sides on which the operator can act.
    fn zeros_of(&self, rhs: usize) -> Result<On<B, R, Self>, BackendError> {
        self.backend().zeros(self.lattice(), self.sites(), self.object(rhs))
    }

    /// The same with one right-hand side.
    fn zeros(&self) -> Result<On<B, R, Self>, BackendError> {
        self.zeros_of(1)
    }
}

/// Any operator on `K` objects. Solvers use this type, so that their own code is compiled once for all operators.
pub type DynOperator<'a, B, R, K> = dyn Operator<B, R, Object = K> + 'a;

impl<B: Backend, D: ActsOn<B> + ?Sized> ActsOn<B> for &mut D {
    type Object = D::Object;

    fn backend(&self) -> &B {
        (**self).backend()
    }
    fn lattice(&self) -> Lattice {
        (**self).lattice()
    }
    fn object(&self, rhs: usize) -> D::Object {
        (**self).object(rhs)
    }
}

impl<B: Backend, R: Vectors, D: Operator<B, R> + ?Sized> Operator<B, R> for &mut D {
    fn sites(&self) -> Sites {
        (**self).sites()
    }
    fn apply(&mut self, out: &mut On<B, R, D>, psi: &On<B, R, D>, dagger: Dagger) -> Result<(), BackendError> {
        (**self).apply(out, psi, dagger)
    }
    fn flops(&self) -> u64 {
        (**self).flops()
    }
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
}

/// Floating-point operations of `scale` per complex number.
pub(super) const SCALE_FLOPS: u64 = 2;
/// Floating-point operations of `axpy` per complex number.
pub(super) const AXPY_FLOPS: u64 = 4;

/// Bytes of `words` complex numbers in precision `R`.
pub(super) fn bytes_of<R: Vectors>(words: u64) -> u64 {
    words * 2 * u64::from(R::BITS) / 8
}

/// Makes a temporary field match `like`, if it does not yet.
pub(super) fn fit<B: Backend, R: Vectors, K: SiteObject>(
    temporary: &mut FieldOn<B, R, K>,
    like: &FieldOn<B, R, K>,
    backend: &B,
) -> Result<(), BackendError> {
    if temporary.kind() != like.kind() {
        *temporary = backend.zeros(*like.lattice(), temporary.sites(), like.kind())?;
    }
    Ok(())
}

/// Implements [`ActsOn`] for a type with the backend and the lattice of one of its fields.
macro_rules! acts_as {
    ($type:ty, [$($generics:tt)*], $($inner:ident).+, $object:ty, |$this:pat_param, $rhs:ident| $of_rhs:expr) => {
        impl<$($generics)*> ActsOn<B> for $type {
            type Object = $object;

            fn backend(&self) -> &B {
                self.$($inner).+.backend()
            }
            fn lattice(&self) -> Lattice {
                self.$($inner).+.lattice()
            }
            fn object(&self, $rhs: usize) -> $object {
                let $this = self;
                $of_rhs
            }
        }
    };
}
pub(super) use acts_as;
