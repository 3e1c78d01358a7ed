//! Operators that stay prepared on a backend from one call to the next.

use std::sync::{Arc, Mutex, PoisonError};

use lanefield_reference::gauge::Configuration;
use lanefield_reference::real::Precision;
use self_cell::self_cell;

use super::backend::AnyBackend;
use super::operator::{Applicable, Applied, PreparedOperator};

self_cell! {
    /// An operator, with the backend on which it is prepared.
    struct Kept {
        owner: Arc<AnyBackend>,
        #[covariant]
        dependent: PreparedOperator,
    }
}

/// An operator in f32 and in f64, each prepared on first use, and kept. Several threads may use it: they wait for each other.
pub struct KeptOperator {
    backend: Arc<AnyBackend>,
    what: Applicable,
    configuration: Arc<Configuration>,
    kept: [Mutex<Option<Kept>>; 2],
}

impl KeptOperator {
    /// An operator on a backend. Nothing is prepared yet.
    pub fn new(backend: &Arc<AnyBackend>, what: Applicable, configuration: &Arc<Configuration>) -> Self {
        let (backend, configuration) = (Arc::clone(backend), Arc::clone(configuration));
        Self { backend, what, configuration, kept: Default::default() }
    }

    /// The backend on which it is applied.
    pub fn backend(&self) -> &AnyBackend {
        &self.backend
    }

    /// Calls `work` with the operator in f32 or f64.
    pub fn with<T>(&self, precision: Precision, work: impl FnOnce(&mut (dyn Applied + Send + '_)) -> T) -> T {
        let slot = &self.kept[usize::from(precision == Precision::F64)];
        let mut kept = slot.lock().unwrap_or_else(|poisoned| {
            // A call panicked: what it left behind is prepared again.
            let mut kept = PoisonError::into_inner(poisoned);
            *kept = None;
            slot.clear_poison();
            kept
        });
        let make = || {
            Kept::new(Arc::clone(&self.backend), |backend| {
                self.what.prepare(backend, precision, Arc::clone(&self.configuration))
            })
        };
        kept.get_or_insert_with(make).with_dependent_mut(|_, operator| work(&mut **operator))
    }
}
