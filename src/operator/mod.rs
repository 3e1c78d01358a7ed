//! Operators, written once for all [`Backend`](crate::backend::Backend)s; none depends on which backend runs it. `docs/arithmetic.md` §9, §13 to §17
//! and §25 define them.

mod any_model;
mod clover;
mod domain_wall;
mod hisq;
mod hop;
mod hop_plus_constant;
mod laplace;
mod model;
mod schur;
mod shifted;
mod staggered;
mod system;
mod traits;
mod twisted_mass;
mod wilson;

pub use any_model::{AnyModel, definition, definitions};
pub use clover::{Clover, CloverParameters, SmallestPivot};
pub use domain_wall::{DomainWall, DomainWallEvenOdd, DomainWallParameters};
pub use hisq::HisqParameters;
pub use hop::{HopOperator, HopParameters};
pub use hop_plus_constant::HopPlusConstant;
pub use laplace::{Laplace, LaplaceParameters};
pub(crate) use model::Makes;
pub use model::{Definition, DefinitionError, KAPPA, Model, ModelChoice, ModelTask, Parameter, ParameterKind};
pub use schur::{EvenOdd, SchurComplement};
pub use shifted::Shifted;
pub use staggered::{Staggered, StaggeredParameters};
pub use system::System;
pub use traits::{ActsOn, DynOperator, Operator};
pub use twisted_mass::{TwistedMass, TwistedMassParameters};
pub use wilson::{Wilson, WilsonParameters};
