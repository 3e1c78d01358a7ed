//! Operators by their parameters: what a solve needs to know to make one, on all sites or in even-odd pieces, in any precision and on any
//! backend.

use lanefield_reference::field::Repeated;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Reach};
use lanefield_reference::links::LinkFormat;

use super::hop::HopParameters;
use super::schur::{EvenOdd, SchurComplement};
use super::traits::Operator;
use crate::backend::{Backend, BackendError};

/// The parameters of an operator, which can make it.
pub trait Model: Copy + Send + 'static {
    /// What its fields hold at each site.
    type Object: Repeated;
    /// The operator on all sites.
    type Full<'b, B: Backend + 'b, R: Vectors>: Operator<B, R, Object = Self::Object> + Send;
    /// The operator in even-odd pieces.
    type Pieces<'b, B: Backend + 'b, R: Vectors>: EvenOdd<B, R, Object = Self::Object> + Send;

    /// What it is called: "wilson".
    fn name(&self) -> &'static str;
    /// Its mass.
    fn mass(&self) -> f64;
    /// Its diagonal part, which even-odd preconditioning divides by; 1 where that is a matrix, which the operator itself checks.
    fn diagonal(&self) -> f64;
    /// The hop's parameters.
    fn hop(&self) -> HopParameters;
    /// What a field of `rhs` right-hand sides holds at each site.
    fn object(&self, rhs: usize) -> Self::Object;
    /// Whether its links can be stored so.
    fn takes_links(&self, _format: LinkFormat) -> bool {
        true
    }
    /// How far it reads: a part of a lattice, which a rank holds, has as many slices at least.
    fn reach(&self) -> Reach {
        Reach::Nearest
    }
    /// Whether it, or its Schur complement with `even_odd`, is Hermitian and positive definite, so that conjugate gradients need no normal
    /// equations.
    fn is_positive(&self, _even_odd: bool) -> bool {
        false
    }
    /// Makes it on all sites.
    ///
    /// # Errors
    /// Extents of configuration and lattice that differ; what the backend reports.
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Full<'b, B, R>, BackendError>;
    /// Makes its even-odd pieces.
    ///
    /// # Errors
    /// As [`Self::full`].
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Self::Pieces<'b, B, R>, BackendError>;
}

/// What makes operators on `K` objects in precision `R`: all that is compiled for each model. Solvers take it so.
pub(crate) trait Makes<B: Backend, R: Vectors, K: Repeated> {
    /// [`Model::full`].
    ///
    /// # Errors
    /// As there.
    fn full<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Box<dyn Operator<B, R, Object = K> + Send + 'b>, BackendError>;
    /// The Schur complement of [`Model::even_odd`].
    ///
    /// # Errors
    /// As there.
    fn schur<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<SchurComplement<'b, B, R, K>, BackendError>;
}

impl<B: Backend, R: Vectors, M: Model> Makes<B, R, M::Object> for M {
    fn full<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Box<dyn Operator<B, R, Object = M::Object> + Send + 'b>, BackendError> {
        Ok(Box::new(Model::full::<B, R>(self, backend, configuration, lattice)?))
    }
    fn schur<'b>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<SchurComplement<'b, B, R, M::Object>, BackendError> {
        SchurComplement::new(self.even_odd::<B, R>(backend, configuration, lattice)?)
    }
}

/// A task that works with any model.
pub trait ModelTask {
    /// What it gives.
    type Output;
    /// Runs it.
    fn run<M: Model>(self, model: M) -> Self::Output;
}

/// A model, or one that is known at run time.
pub trait ModelChoice: Copy {
    /// Runs a task with the model that it is.
    fn run<T: ModelTask>(self, task: T) -> T::Output;
}

impl<M: Model> ModelChoice for M {
    fn run<T: ModelTask>(self, task: T) -> T::Output {
        task.run(self)
    }
}

/// What models have in common whose operator is of one type, on all sites and in even-odd pieces: `new` makes it for the sites that it is told.
macro_rules! made_alike {
    ($operator:ident, $object:ty, $new:expr) => {
        type Object = $object;
        type Full<'b, B: Backend + 'b, R: Vectors> = $operator<'b, B, R>;
        type Pieces<'b, B: Backend + 'b, R: Vectors> = $operator<'b, B, R>;

        fn mass(&self) -> f64 {
            self.mass
        }
        fn hop(&self) -> HopParameters {
            self.hop
        }
        fn full<'b, B: Backend, R: Vectors>(
            &self,
            backend: &'b B,
            configuration: &Configuration,
            lattice: Lattice,
        ) -> Result<$operator<'b, B, R>, BackendError> {
            $new(backend, configuration, lattice, *self, &[Sites::Full])
        }
        fn even_odd<'b, B: Backend, R: Vectors>(
            &self,
            backend: &'b B,
            configuration: &Configuration,
            lattice: Lattice,
        ) -> Result<$operator<'b, B, R>, BackendError> {
            $new(backend, configuration, lattice, *self, &$crate::operator::hop::PARITIES)
        }
    };
}
pub(super) use made_alike;
