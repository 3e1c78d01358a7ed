//! Operators that are known at run time.

use lanefield_reference::field::{Object, SiteObject as _};
use lanefield_reference::layout::Reach;
use lanefield_reference::links::LinkFormat;

use super::clover::CloverParameters;
use super::domain_wall::DomainWallParameters;
use super::hisq::HisqParameters;
use super::hop::HopParameters;
use super::laplace::LaplaceParameters;
use super::model::{Model as _, ModelChoice, ModelTask};
use super::staggered::StaggeredParameters;
use super::twisted_mass::TwistedMassParameters;
use super::wilson::WilsonParameters;

/// Lists the models, each with the type of its parameters.
macro_rules! models {
    ($($(#[$doc:meta])+ $model:ident($parameters:ty);)+) => {
        /// An operator with all its parameters, known at run time.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum AnyModel {
            $($(#[$doc])+ $model($parameters),)+
        }

        $(impl From<$parameters> for AnyModel {
            fn from(parameters: $parameters) -> Self {
                Self::$model(parameters)
            }
        })+

        impl ModelChoice for AnyModel {
            fn run<T: ModelTask>(self, task: T) -> T::Output {
                match self {
                    $(Self::$model(model) => task.run(model),)+
                }
            }
        }

        impl AnyModel {
            /// The name that the command line takes.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$model(model) => model.name(),)+
                }
            }

            /// Its mass.
            pub fn mass(&self) -> f64 {
                match self {
                    $(Self::$model(model) => model.mass(),)+
                }
            }

            /// Its diagonal part (`Model::diagonal`).
            pub fn diagonal(&self) -> f64 {
                match self {
                    $(Self::$model(model) => model.diagonal(),)+
                }
            }

            /// The hop's parameters.
            pub fn hop(&self) -> HopParameters {
                match self {
                    $(Self::$model(model) => model.hop(),)+
                }
            }

            /// Whether its links can be stored so.
            pub fn takes_links(&self, format: LinkFormat) -> bool {
                match self {
                    $(Self::$model(model) => model.takes_links(format),)+
                }
            }

            /// How far it reads: a part of a lattice, which a rank holds, has as many slices at least.
            pub fn reach(&self) -> Reach {
                match self {
                    $(Self::$model(model) => model.reach(),)+
                }
            }

            /// What a field of one right-hand side holds at each site.
            pub fn object(&self) -> Object {
                match self {
                    $(Self::$model(model) => model.object(1).object(),)+
                }
            }
        }

    };
}
models! {
    /// The Wilson operator.
    Wilson(WilsonParameters);
    /// The twisted mass operator.
    TwistedMass(TwistedMassParameters);
    /// The clover operator.
    Clover(CloverParameters);
    /// Domain wall and Möbius fermions.
    DomainWall(DomainWallParameters);
    /// The Laplacian.
    Laplace(LaplaceParameters);
    /// Staggered fermions.
    Staggered(StaggeredParameters);
    /// Highly improved staggered fermions.
    Hisq(HisqParameters);
}

impl AnyModel {
    /// The operator of the other flavour of a pair, with −μ: none where both are the same.
    pub fn of_other_flavour(&self) -> Option<Self> {
        match *self {
            Self::TwistedMass(twisted) => Some(Self::TwistedMass(TwistedMassParameters { mu: -twisted.mu, ..twisted })),
            _ => None,
        }
    }
}
