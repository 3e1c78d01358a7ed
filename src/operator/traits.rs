//! What operators are: what they act on, and how they are applied.

use lanefield_reference::field::{Repeated, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};

use super::hop::number_of_sites;
use crate::backend::{Backend, BackendError, FieldOn};

/// Spinors in precision `R`, held by `B`.
pub(super) type SpinorsOn<B, R> = FieldOn<B, R, Spinors>;

/// What an operator acts on, whole or in even-odd pieces: fields of one or several right-hand sides, each of which it takes by
/// itself. Its links are then read once for all of them.
pub trait ActsOn<B: Backend> {
    /// What its fields hold at each site.
    type Object: Repeated;

    /// The backend that runs it.
    fn backend(&self) -> &B;
    /// The lattice that it acts on.
    fn lattice(&self) -> Lattice;
    /// What a field of `rhs` right-hand sides holds at each site.
    fn object(&self, rhs: usize) -> Self::Object;

    /// Complex numbers of one right-hand side on `sites`.
    fn words(&self, sites: Sites) -> u64 {
        number_of_sites(self.lattice(), sites) * self.object(1).words() as u64
    }
}

/// What an operator acts on, in precision `R`.
pub(super) type On<B, R, D> = FieldOn<B, R, <D as ActsOn<B>>::Object>;

/// A linear operator on fields of precision `R` held by `B`. It may hold temporary fields, hence `&mut self`.
pub trait Operator<B: Backend, R: Vectors>: ActsOn<B> {
    /// The sites that it acts on.
    fn sites(&self) -> Sites {
        Sites::Full
    }
    /// out = D ψ, or D† ψ, of each right-hand side. Where that is launches alone, a solver may have the backend make the same ones again instead.
    ///
    /// # Errors
    /// Fields that do not lie on the operator's lattice and sites; what the backend reports.
    fn apply(&mut self, out: &mut On<B, R, Self>, psi: &On<B, R, Self>, dagger: Dagger) -> Result<(), BackendError>;
    /// Floating-point operations of one application to one right-hand side, as the field counts them.
    fn flops(&self) -> u64;
    /// Bytes that one application to one right-hand side has to move at least, each of its kernels' inputs and outputs once.
    fn bytes(&self) -> u64;

    /// A field of zeros that the operator can act on, of `rhs` right-hand sides.
    fn zeros_of(&self, rhs: usize) -> Result<On<B, R, Self>, BackendError> {
        self.backend().zeros(self.lattice(), self.sites(), self.object(rhs))
    }

    /// The same of one right-hand side.
    fn zeros(&self) -> Result<On<B, R, Self>, BackendError> {
        self.zeros_of(1)
    }
}

/// Any operator on `K` objects. Solvers take it so: what they do beside it is compiled once for all operators.
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

/// Floating-point operations of `scale` on a complex number.
pub(super) const SCALE_FLOPS: u64 = 2;
/// Floating-point operations of `axpy` on a complex number.
pub(super) const AXPY_FLOPS: u64 = 4;

/// Bytes of `words` complex numbers in precision `R`.
pub(super) fn bytes_of<R: Vectors>(words: u64) -> u64 {
    words * 2 * u64::from(R::BITS) / 8
}

/// Makes a temporary field like `like`, if it is not yet.
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

/// [`ActsOn`] of what has the backend and the lattice of something in it.
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
