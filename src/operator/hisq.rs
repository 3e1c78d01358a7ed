//! HISQ fermions (`docs/arithmetic.md` §25; Follana et al., hep-lat/0610092): the staggered operator on fat links, with a second hop over long
//! links. Both kinds of links are computed in f64 on the backend, whatever the precision of the operator.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{LaneChoice, Lattice, Reach, Sites};
use lanefield_reference::links::LinkFormat;

use super::model::{Defined, Definition, Parameter, ParameterValues, made_alike};
use super::{HopParameters, Model, Staggered, StaggeredParameters};
use crate::backend::{Backend, BackendError};
use crate::gauge::{GaugeField, LinkFields};

/// The parameters of a HISQ operator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HisqParameters {
    /// Mass in lattice units.
    pub mass: f64,
    /// ε, the correction of the Naik term for a heavy quark; 0 for light quarks.
    pub naik_epsilon: f64,
    /// Number of colour vectors per site in a right-hand side. The operator acts on each separately.
    pub components: usize,
    /// Boundary phases and leg order. `reconstruct` must be 18, since fat and long links are not in SU(3).
    pub hop: HopParameters,
}

impl HisqParameters {
    /// The operator on fat and long links.
    fn on<'b, B: Backend, R: Vectors>(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        model: Self,
        targets: &[Sites],
    ) -> Result<Staggered<'b, B, R>, BackendError> {
        if !model.takes_links(model.hop.links) {
            return Err(BackendError::FatLinks { format: model.hop.links });
        }
        let in_f64 = backend.in_f64();
        let field = GaugeField::new(in_f64, configuration, LaneChoice::Auto)?;
        let [fat, long] = field.hisq_fields(model.naik_epsilon)?;
        let fat = LinkFields::configuration(&[&fat], in_f64)?;
        let long = LinkFields::on_host(&[&long], in_f64, Reach::ThreeSteps)?;
        let parameters = StaggeredParameters { mass: model.mass, components: model.components, hop: model.hop };
        Staggered::new(backend, (&fat, Some(&long)), lattice, parameters, targets)
    }
}

impl Model for HisqParameters {
    made_alike!(Staggered, ColourVectors, Self::on);

    fn name(&self) -> &'static str {
        Self::DEFINITIONS[0].name
    }
    fn diagonal(&self) -> f64 {
        self.mass
    }
    fn object(&self, rhs: usize) -> ColourVectors {
        ColourVectors::new(rhs * self.components)
    }
    /// Fat and long links are sums and multiples of SU(3) matrices.
    fn takes_links(&self, format: LinkFormat) -> bool {
        format == LinkFormat::Full
    }
    /// The second hop sets the reach.
    fn reach(&self) -> Reach {
        Reach::ThreeSteps
    }
    /// mass² − Doe Deo is positive definite; D is not Hermitian.
    fn is_positive(&self, even_odd: bool) -> bool {
        even_odd
    }
}

impl Defined for HisqParameters {
    const DEFINITIONS: &'static [Definition] = &[Definition {
        name: "hisq",
        meaning: "highly improved staggered fermions",
        formula: "M = mass + ½ Σ_μ η_μ [X_μ(x) ψ(x+μ) + N_μ(x) ψ(x+3μ) - X_μ†(x-μ) ψ(x-μ) - N_μ†(x-3μ) ψ(x-3μ)], with the fat links X and long links N \
                  of HISQ, and η as of staggered",
        parameters: &[
            Parameter::number("mass", None, "quark mass"),
            Parameter::number("naik-epsilon", Some(0.0), "correction ε of the Naik term"),
            Parameter::COMPONENTS,
        ],
        verified: &[("mass", "0.5")],
    }];

    fn of(_: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        let [mass, naik_epsilon] = ["mass", "naik-epsilon"].map(|name| values.get(name));
        Self { mass, naik_epsilon, components: values.count("components"), hop }
    }
    fn values(&self) -> Vec<f64> {
        vec![self.mass, self.naik_epsilon, self.components as f64]
    }
}
