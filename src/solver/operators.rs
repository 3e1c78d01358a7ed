//! The operators of a solve, of any model. Only their creation is compiled for each model; the rest of a solve uses them as
//! [`DynOperator`](crate::operator::DynOperator)s.

use lanefield_reference::field::Repeated;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::half::Half;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::Lattice;

use super::{Preconditioning, Solve};
use crate::backend::{Backend, BackendError};
use crate::operator::{Makes, Model, ModelChoice, ModelTask, Operator, SchurComplement};

/// Creates the operators of a solve in precision `R`, and those in other precisions that it needs. They act on `K` objects.
pub(super) struct Operators<'a, B: Backend, R: Vectors, K: Repeated> {
    pub configuration: &'a Configuration,
    pub backend: &'a B,
    /// The backend for f64 operators of a solve in another precision: the same backend, unless its device has no f64.
    pub backend_in_f64: &'a B,
    pub how: &'a Solve<()>,
    /// The object of fields of one right-hand side.
    pub one: K,
    /// Whether conjugate gradients solve the normal equations.
    pub normal: bool,
    pub own: &'a dyn Makes<B, R, K>,
    pub in_f64: &'a dyn Makes<B, f64, K>,
    pub in_f32: &'a dyn Makes<B, f32, K>,
    pub in_half: &'a dyn Makes<B, Half, K>,
}

impl<'a, B: Backend, R: Vectors, K: Repeated> Operators<'a, B, R, K> {
    /// The object of fields of `rhs` right-hand sides.
    pub(super) fn object(&self, rhs: usize) -> K {
        K::repeated(rhs * self.one.parts())
    }

    /// Creates M on the full lattice.
    pub(super) fn full<S: Vectors>(
        &self,
        backend: &'a B,
        makes: &dyn Makes<B, S, K>,
        lattice: Lattice,
    ) -> Result<Box<dyn Operator<B, S, Object = K> + Send + 'a>, BackendError> {
        makes.full(backend, self.configuration, lattice)
    }

    /// Creates Mpc.
    pub(super) fn schur<S: Vectors>(
        &self,
        backend: &'a B,
        makes: &dyn Makes<B, S, K>,
        lattice: Lattice,
    ) -> Result<SchurComplement<'a, B, S, K>, BackendError> {
        makes.schur(backend, self.configuration, lattice)
    }
}

/// A task that works with the operators of any model.
pub(super) trait OperatorsTask<B: Backend, R: Vectors> {
    type Output;
    fn run<K: Repeated>(self, operators: &Operators<'_, B, R, K>) -> Self::Output;
}

/// Runs a task with the operators of a solve.
pub(super) fn with_operators<R: Vectors, B: Backend, M: ModelChoice, T: OperatorsTask<B, R>>(
    backend: &B,
    configuration: &Configuration,
    solve: &Solve<M>,
    task: T,
) -> T::Output {
    struct Making<'a, B, R, T>(&'a B, &'a Configuration, Solve<()>, T, std::marker::PhantomData<R>);

    impl<B: Backend, R: Vectors, T: OperatorsTask<B, R>> ModelTask for Making<'_, B, R, T> {
        type Output = T::Output;

        fn run<M: Model>(self, model: M) -> T::Output {
            let Self(backend, configuration, how, task, _) = self;
            let normal = !model.is_positive(how.preconditioning == Preconditioning::EvenOdd);
            task.run(&Operators {
                configuration,
                backend,
                backend_in_f64: backend.in_f64(),
                how: &how,
                one: model.object(1),
                normal,
                own: &model,
                in_f64: &model,
                in_f32: &model,
                in_half: &model,
            })
        }
    }

    let Solve { preconditioning, method, params, lanes, .. } = *solve;
    let how = Solve { operator: (), preconditioning, method, params, lanes };
    solve.operator.run(Making(backend, configuration, how, task, std::marker::PhantomData::<R>))
}
