//! The list of operators, and an operator that is chosen at run time.

use lanefield_reference::field::{Object, SiteObject as _};
use lanefield_reference::layout::Reach;
use lanefield_reference::links::LinkFormat;

use super::clover::CloverParameters;
use super::domain_wall::DomainWallParameters;
use super::hisq::HisqParameters;
use super::hop::HopParameters;
use super::laplace::LaplaceParameters;
use super::model::{
    Defined, Definition, DefinitionError, Model as _, ModelChoice, ModelTask, Parameter, ParameterValues,
};
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

        const DEFINITIONS: &[&[Definition]] = &[$(<$parameters>::DEFINITIONS),+];

        impl AnyModel {
            /// The operator with this name and these parameters; `None` if there is no such operator.
            fn of(name: &str, values: &ParameterValues, hop: HopParameters) -> Option<Self> {
                $(if <$parameters>::DEFINITIONS.iter().any(|known| known.name == name) {
                    return Some(Self::$model(Defined::of(name, values, hop)));
                })+
                None
            }

            fn values(&self) -> Vec<f64> {
                match self {
                    $(Self::$model(model) => model.values(),)+
                }
            }

            /// The name on the command line.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$model(model) => model.name(),)+
                }
            }

            /// The mass.
            pub fn mass(&self) -> f64 {
                match self {
                    $(Self::$model(model) => model.mass(),)+
                }
            }

            /// The diagonal part (`Model::diagonal`).
            pub fn diagonal(&self) -> f64 {
                match self {
                    $(Self::$model(model) => model.diagonal(),)+
                }
            }

            /// The parameters of the hop.
            pub fn hop(&self) -> HopParameters {
                match self {
                    $(Self::$model(model) => model.hop(),)+
                }
            }

            /// Whether its links can be stored in this format.
            pub fn takes_links(&self, format: LinkFormat) -> bool {
                match self {
                    $(Self::$model(model) => model.takes_links(format),)+
                }
            }

            /// How far it reads. The local volume of a rank needs at least as many slices.
            pub fn reach(&self) -> Reach {
                match self {
                    $(Self::$model(model) => model.reach(),)+
                }
            }

            /// The object of a field of one right-hand side.
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

/// The definitions of all operators.
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().copied().flatten()
}

/// The definition of the operator with this name.
///
/// # Errors
/// [`DefinitionError::Operator`], which lists the known names.
pub fn definition(name: &str) -> Result<&'static Definition, DefinitionError> {
    definitions().find(|definition| definition.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> DefinitionError {
    let known: Vec<&str> = definitions().map(|definition| definition.name).collect();
    DefinitionError::Operator { name: name.to_owned(), known: known.join(", ") }
}

impl Definition {
    /// The operator with parameters from text; those that are left out have their defaults.
    pub fn model<'t>(
        &self,
        given: impl IntoIterator<Item = (&'t str, &'t str)>,
        hop: HopParameters,
    ) -> Result<AnyModel, DefinitionError> {
        hop.boundary.require_links(hop.links)?;
        AnyModel::of(self.name, &self.values(given)?, hop).ok_or_else(|| unknown(self.name))
    }
}

impl AnyModel {
    /// Its definition.
    pub fn definition(&self) -> &'static Definition {
        match definition(self.name()) {
            Ok(definition) => definition,
            Err(_) => unreachable!("every model has a definition of its name"),
        }
    }

    /// Its parameters with their values, as text.
    pub fn parameters(&self) -> Vec<(&'static Parameter, f64)> {
        let definition = self.definition();
        definition.parameters.iter().zip(self.values()).collect()
    }

    /// Its name and its own parameters, without those of the hop: "clover, mass 0.1, csw 1.3".
    pub fn describe(&self) -> String {
        let parameters = self.parameters();
        let value_of = |name: &str| parameters.iter().find(|(known, _)| known.name == name).map(|(_, value)| *value);
        let told = parameters.iter().filter(|(parameter, value)| {
            // A parameter that follows another one is included if its value differs.
            parameter.follows.is_none_or(|other| value_of(other) != Some(*value))
        });
        let told = told.map(|(parameter, value)| format!(", {} {}", parameter.name, parameter.text(*value)));
        format!("{}{}", self.name(), told.collect::<String>())
    }

    /// The operator of the other flavour of a pair, with −μ; `None` if both flavours have the same operator.
    pub fn of_other_flavour(&self) -> Option<Self> {
        match *self {
            Self::TwistedMass(twisted) => Some(Self::TwistedMass(TwistedMassParameters { mu: -twisted.mu, ..twisted })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_made_of_its_parameters_and_tells_them() {
        for definition in definitions() {
            let given =
                definition.verified.iter().copied().filter(|(name, _)| *name != "mass").chain([("mass", "0.25")]);
            let model = definition.model(given, HopParameters::default()).unwrap();
            assert_eq!((model.name(), model.mass()), (definition.name, 0.25));
            assert_eq!(model.parameters().len(), definition.parameters.len());
            assert!(model.describe().starts_with(&format!("{}, mass 0.25", definition.name)), "{}", model.describe());
            let error = definition.model([], HopParameters::default()).unwrap_err().to_string();
            assert!(error.contains("needs mass"), "{error}");
            let error = definition.model([("charm", "1")], HopParameters::default()).unwrap_err().to_string();
            assert!(error.contains("no parameter charm"), "{error}");
        }
        assert!(definition("overlap").unwrap_err().to_string().contains("'overlap'"));
    }

    #[test]
    fn what_follows_another_parameter_has_its_value() {
        let clover = definition("clover").unwrap();
        let model = |given: &[(&'static str, &'static str)]| {
            clover.model(given.iter().copied(), HopParameters::default()).unwrap().describe()
        };
        assert_eq!(model(&[("mass", "0.1"), ("csw", "1.3")]), "clover, mass 0.1, csw 1.3");
        assert_eq!(model(&[("mass", "0.1"), ("csw-t", "2")]), "clover, mass 0.1, csw 1, csw-t 2");
    }
}
