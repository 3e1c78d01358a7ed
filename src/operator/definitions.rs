//! The list of operators by name.

use lanefield_reference::kernels::domain_wall::InverseForm;

use super::any_model::AnyModel;
use super::clover::CloverParameters;
use super::definition::{Definition, DefinitionError, Parameter, ParameterKind, ParameterValues};
use super::domain_wall::DomainWallParameters;
use super::hisq::HisqParameters;
use super::hop::HopParameters;
use super::laplace::LaplaceParameters;
use super::staggered::StaggeredParameters;
use super::twisted_mass::TwistedMassParameters;
use super::wilson::WilsonParameters;

/// The parameters of domain wall fermions.
const LS: Parameter = Parameter::count("ls", 16.0, "sites of the fifth dimension");
const MASS: Parameter = Parameter::number("mass", None, "quark mass");
const M5: Parameter = Parameter::number("m5", Some(1.8), "domain wall height M5");
const S_INVERSE: Parameter = Parameter {
    kind: ParameterKind::Choice(&["sweep", "dense"]),
    ..Parameter::number("s-inverse", Some(0.0), "how the inverse along s is applied; it changes the last bits")
};

fn domain_wall(values: &ParameterValues, (b, c): (f64, f64), hop: HopParameters) -> DomainWallParameters {
    let [mass, m5] = ["mass", "m5"].map(|name| values.get(name));
    let inverse = InverseForm::ALL[values.count("s-inverse") % InverseForm::ALL.len()];
    DomainWallParameters { ls: values.count("ls"), mass, m5, b, c, inverse, hop }
}

static DEFINITIONS: &[Definition] = &[
    Definition {
        name: "wilson",
        meaning: "Wilson fermions",
        parameters: &[Parameter::number("mass", None, "bare quark mass")],
        verified: &[("mass", "-0.5")],
        make: |values, hop| AnyModel::Wilson(WilsonParameters { mass: values.get("mass"), hop }),
        values: |model| vec![model.mass()],
    },
    Definition {
        name: "twisted-mass",
        meaning: "twisted mass fermions, of one flavour",
        parameters: &[
            Parameter::number("mass", None, "bare quark mass"),
            Parameter::number("mu", None, "twisted mass μ, times iγ5"),
        ],
        verified: &[("mass", "-0.5"), ("mu", "0.25")],
        make: |values, hop| {
            let [mass, mu] = ["mass", "mu"].map(|name| values.get(name));
            AnyModel::TwistedMass(TwistedMassParameters { mass, mu, hop })
        },
        values: |model| match model {
            AnyModel::TwistedMass(twisted) => vec![twisted.mass, twisted.mu],
            _ => Vec::new(),
        },
    },
    Definition {
        name: "clover",
        meaning: "clover fermions",
        parameters: &[
            Parameter::number("mass", None, "bare quark mass"),
            Parameter {
                key: Some("csw_r"),
                ..Parameter::number("csw", Some(1.0), "clover coefficient of the spatial planes")
            },
            Parameter {
                follows: Some("csw"),
                ..Parameter::number("csw-t", None, "clover coefficient of the planes with time")
            },
        ],
        verified: &[("mass", "-0.5")],
        make: |values, hop| {
            let [mass, csw_r, csw_t] = ["mass", "csw", "csw-t"].map(|name| values.get(name));
            AnyModel::Clover(CloverParameters { mass, csw_r, csw_t, hop })
        },
        values: |model| match model {
            AnyModel::Clover(clover) => vec![clover.mass, clover.csw_r, clover.csw_t],
            _ => Vec::new(),
        },
    },
    Definition {
        name: "dwf",
        meaning: "Shamir domain wall fermions",
        parameters: &[MASS, LS, M5, S_INVERSE],
        verified: &[("mass", "0.1"), ("ls", "4")],
        make: |values, hop| AnyModel::DomainWall(domain_wall(values, (1.0, 0.0), hop)),
        values: |model| match model {
            AnyModel::DomainWall(wall) => vec![wall.mass, wall.ls as f64, wall.m5, wall.inverse as usize as f64],
            _ => Vec::new(),
        },
    },
    Definition {
        name: "mobius",
        meaning: "Möbius domain wall fermions",
        parameters: &[
            MASS,
            LS,
            M5,
            Parameter::number("b", Some(1.5), "b of Möbius fermions"),
            Parameter::number("c", Some(0.5), "c of Möbius fermions"),
            S_INVERSE,
        ],
        verified: &[("mass", "0.1"), ("ls", "4")],
        make: |values, hop| AnyModel::DomainWall(domain_wall(values, (values.get("b"), values.get("c")), hop)),
        values: |model| match model {
            AnyModel::DomainWall(wall) => {
                vec![wall.mass, wall.ls as f64, wall.m5, wall.b, wall.c, wall.inverse as usize as f64]
            }
            _ => Vec::new(),
        },
    },
    Definition {
        name: "laplace",
        meaning: "the four-dimensional Laplacian −Δ + mass²",
        parameters: &[Parameter::number("mass", None, "mass, whose square is added"), Parameter::COMPONENTS],
        verified: &[("mass", "0.5")],
        make: |values, hop| {
            let (mass, components) = (values.get("mass"), values.count("components"));
            AnyModel::Laplace(LaplaceParameters { mass, components, hop })
        },
        values: |model| match model {
            AnyModel::Laplace(model) => vec![model.mass, model.components as f64],
            _ => Vec::new(),
        },
    },
    Definition {
        name: "staggered",
        meaning: "naive staggered fermions",
        parameters: &[Parameter::number("mass", None, "quark mass"), Parameter::COMPONENTS],
        verified: &[("mass", "0.5")],
        make: |values, hop| {
            let (mass, components) = (values.get("mass"), values.count("components"));
            AnyModel::Staggered(StaggeredParameters { mass, components, hop })
        },
        values: |model| match model {
            AnyModel::Staggered(model) => vec![model.mass, model.components as f64],
            _ => Vec::new(),
        },
    },
    Definition {
        name: "hisq",
        meaning: "highly improved staggered fermions",
        parameters: &[
            Parameter::number("mass", None, "quark mass"),
            Parameter::number("naik-epsilon", Some(0.0), "correction ε of the Naik term"),
            Parameter::COMPONENTS,
        ],
        verified: &[("mass", "0.5")],
        make: |values, hop| {
            let (mass, naik_epsilon) = (values.get("mass"), values.get("naik-epsilon"));
            AnyModel::Hisq(HisqParameters { mass, naik_epsilon, components: values.count("components"), hop })
        },
        values: |model| match model {
            AnyModel::Hisq(model) => vec![model.mass, model.naik_epsilon, model.components as f64],
            _ => Vec::new(),
        },
    },
];

/// All operators by name.
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter()
}

/// The operator of that name.
///
/// # Errors
/// [`DefinitionError::Operator`], with the names there are.
pub fn definition(name: &str) -> Result<&'static Definition, DefinitionError> {
    definitions().find(|definition| definition.name == name).ok_or_else(|| {
        let known: Vec<&str> = definitions().map(|definition| definition.name).collect();
        DefinitionError::Operator { name: name.to_owned(), known: known.join(", ") }
    })
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
        definition.parameters.iter().zip((definition.values)(self)).collect()
    }

    /// Its name and its parameters beside those of the hop: "clover, mass 0.1, csw 1.3".
    pub fn describe(&self) -> String {
        let parameters = self.parameters();
        let value_of = |name: &str| parameters.iter().find(|(known, _)| known.name == name).map(|(_, value)| *value);
        let told = parameters.iter().filter(|(parameter, value)| {
            // What follows another parameter is told where it has a value of its own.
            parameter.follows.is_none_or(|other| value_of(other) != Some(*value))
        });
        let told = told.map(|(parameter, value)| format!(", {} {}", parameter.name, parameter.text(*value)));
        format!("{}{}", self.name(), told.collect::<String>())
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
