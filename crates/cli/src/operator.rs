//! The operators of the command line: which one, and its parameters.

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::operator::{
    CloverParameters, DomainWallParameters, LaplaceModel, LaplaceParameters, Model, WilsonParameters,
};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::domain_wall::InverseForm;
use serde_json::json;

use super::args::{HopArgs, finite, mass};
use super::fields::FieldShape;

/// An operator that can be inverted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OperatorName {
    /// Wilson, hop + (4 + mass)
    Wilson,
    /// Wilson with the clover term
    Clover,
    /// Shamir's domain wall fermions
    Dwf,
    /// Möbius domain wall fermions
    Mobius,
    /// The Laplacian on colour vectors, −Δ + mass²
    Laplace,
}

/// How the inverse along s is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SInverse {
    /// A sweep forth and back
    Sweep,
    /// A dense matrix
    Dense,
}

/// What defines an operator beside its name, the configuration and the hop's parameters.
#[derive(Args, Clone, Debug)]
pub struct OperatorArgs {
    /// Bare quark mass in lattice units; of the Laplacian, the mass whose square is added
    #[arg(long, value_name = "M", value_parser = mass, allow_negative_numbers = true)]
    pub mass: Option<f64>,
    /// For clover: the clover coefficient [default: 1]
    #[arg(long, value_name = "CSW", value_parser = finite, allow_negative_numbers = true)]
    csw: Option<f64>,
    /// For clover: the coefficient of the planes with time [default: that of --csw]
    #[arg(long, value_name = "CSW", value_parser = finite, allow_negative_numbers = true)]
    csw_t: Option<f64>,
    /// For dwf and mobius: sites of the fifth dimension [default: 16]
    #[arg(long, value_name = "LS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    ls: Option<u16>,
    /// For dwf and mobius: the domain wall height M5 [default: 1.8]
    #[arg(long, value_name = "M5", value_parser = finite, allow_negative_numbers = true)]
    m5: Option<f64>,
    /// For mobius: b [default: 1.5]
    #[arg(long, value_name = "B", value_parser = finite, allow_negative_numbers = true)]
    b: Option<f64>,
    /// For mobius: c [default: 0.5]
    #[arg(long, value_name = "C", value_parser = finite, allow_negative_numbers = true)]
    c: Option<f64>,
    /// For dwf and mobius: how the inverse along s is applied; it is part of the operator and changes the last bits [default: sweep]
    #[arg(long, value_name = "FORM")]
    s_inverse: Option<SInverse>,
    /// For laplace: colour vectors a site [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    components: Option<u16>,
}

/// An operator with all its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AnyModel {
    Wilson(WilsonParameters),
    Clover(CloverParameters),
    DomainWall(DomainWallParameters),
    Laplace(LaplaceModel),
}

/// A task that works with any operator.
pub trait ModelTask {
    /// What it gives.
    type Output;
    /// Runs it.
    fn run<M: Model>(self, model: M) -> Self::Output;
}

impl OperatorArgs {
    /// The operator `name` with these parameters and those of the hop.
    ///
    /// # Errors
    /// A parameter that the operator does not have, or a mass that is missing.
    pub fn model(&self, name: OperatorName, hop: &HopArgs) -> anyhow::Result<AnyModel> {
        self.refuse_others(Some(name))?;
        let Some(mass) = self.mass else { bail!("--operator {} needs --mass M", command_line_name(name)) };
        let hop = hop.parameters();
        Ok(match name {
            OperatorName::Wilson => AnyModel::Wilson(WilsonParameters { mass, hop }),
            OperatorName::Clover => {
                let csw_r = self.csw.unwrap_or(1.0);
                AnyModel::Clover(CloverParameters { mass, csw_r, csw_t: self.csw_t.unwrap_or(csw_r), hop })
            }
            OperatorName::Dwf | OperatorName::Mobius => {
                let (b, c) = match name {
                    OperatorName::Dwf => (1.0, 0.0),
                    _ => (self.b.unwrap_or(1.5), self.c.unwrap_or(0.5)),
                };
                let inverse = match self.s_inverse {
                    Some(SInverse::Dense) => InverseForm::Dense,
                    Some(SInverse::Sweep) => InverseForm::Sweep,
                    None => InverseForm::default(),
                };
                let (ls, m5) = (self.ls.unwrap_or(16).into(), self.m5.unwrap_or(1.8));
                AnyModel::DomainWall(DomainWallParameters { ls, mass, m5, b, c, inverse, hop })
            }
            OperatorName::Laplace => {
                let laplace = LaplaceParameters { mass, hop };
                AnyModel::Laplace(LaplaceModel { laplace, components: self.components.unwrap_or(1).into() })
            }
        })
    }

    /// Refuses all parameters, for the hop, which has none of them.
    ///
    /// # Errors
    /// A parameter that is given.
    pub fn refuse_all(&self) -> anyhow::Result<()> {
        self.refuse_others(None)
    }

    /// Refuses parameters that the operator (none: the hop) does not have: they would be silently without effect.
    fn refuse_others(&self, name: Option<OperatorName>) -> anyhow::Result<()> {
        use OperatorName::{Clover, Dwf, Laplace, Mobius, Wilson};
        let given: [(&str, bool, &[OperatorName]); 9] = [
            ("--mass", self.mass.is_some(), &[Wilson, Clover, Dwf, Mobius, Laplace]),
            ("--csw", self.csw.is_some(), &[Clover]),
            ("--csw-t", self.csw_t.is_some(), &[Clover]),
            ("--ls", self.ls.is_some(), &[Dwf, Mobius]),
            ("--m5", self.m5.is_some(), &[Dwf, Mobius]),
            ("--b", self.b.is_some(), &[Mobius]),
            ("--c", self.c.is_some(), &[Mobius]),
            ("--s-inverse", self.s_inverse.is_some(), &[Dwf, Mobius]),
            ("--components", self.components.is_some(), &[Laplace]),
        ];
        for (argument, is_given, operators) in given {
            let names: Vec<String> = operators.iter().map(|&operator| command_line_name(operator)).collect();
            ensure!(
                !is_given || name.is_some_and(|name| operators.contains(&name)),
                "{argument} is for --operator {}; {} has none",
                names.join(" and "),
                name.map_or_else(|| "hop".to_owned(), command_line_name)
            );
        }
        Ok(())
    }
}

fn command_line_name(name: OperatorName) -> String {
    name.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

impl AnyModel {
    /// Runs a task with the operator that it is.
    pub fn run<T: ModelTask>(self, task: T) -> T::Output {
        match self {
            Self::Wilson(model) => task.run(model),
            Self::Clover(model) => task.run(model),
            Self::DomainWall(model) => task.run(model),
            Self::Laplace(model) => task.run(model),
        }
    }

    /// Its name, and its parameters beside those of the hop: "clover, mass 0.1, csw 1.3".
    pub fn describe(&self) -> String {
        match self {
            Self::Wilson(wilson) => format!("wilson, mass {}", wilson.mass),
            Self::Clover(clover) if clover.csw_r == clover.csw_t => {
                format!("clover, mass {}, csw {}", clover.mass, clover.csw_r)
            }
            Self::Clover(clover) => {
                format!("clover, mass {}, csw {} in space and {} in time", clover.mass, clover.csw_r, clover.csw_t)
            }
            Self::DomainWall(wall) => {
                let DomainWallParameters { ls, mass, m5, b, c, inverse, .. } = wall;
                let mobius = if wall.name() == "dwf" { String::new() } else { format!(", b {b}, c {c}") };
                format!("{}, Ls {ls}, mass {mass}, M5 {m5}{mobius}, inverse along s by {inverse:?}", wall.name())
            }
            Self::Laplace(LaplaceModel { laplace, components }) => {
                format!("laplace, mass {}, {components} components", laplace.mass)
            }
        }
    }

    /// The same as names and values, for JSON; without the hop's parameters.
    pub fn parameters(&self) -> serde_json::Value {
        match self {
            Self::Wilson(wilson) => json!({ "mass": wilson.mass }),
            Self::Clover(clover) => json!({ "mass": clover.mass, "csw_r": clover.csw_r, "csw_t": clover.csw_t }),
            Self::DomainWall(DomainWallParameters { ls, mass, m5, b, c, inverse, .. }) => {
                let inverse = format!("{inverse:?}").to_lowercase();
                json!({ "mass": mass, "ls": ls, "m5": m5, "b": b, "c": c, "s_inverse": inverse })
            }
            Self::Laplace(LaplaceModel { laplace, components }) => {
                json!({ "mass": laplace.mass, "components": components })
            }
        }
    }

    /// The mass.
    pub fn mass(&self) -> f64 {
        match self {
            Self::Wilson(wilson) => wilson.mass,
            Self::Clover(clover) => clover.mass,
            Self::DomainWall(wall) => wall.mass,
            Self::Laplace(model) => model.laplace.mass,
        }
    }

    /// What it is called: "wilson".
    pub fn name(&self) -> &'static str {
        match self {
            Self::Wilson(model) => model.name(),
            Self::Clover(model) => model.name(),
            Self::DomainWall(model) => model.name(),
            Self::Laplace(model) => model.name(),
        }
    }

    /// What it acts on.
    pub fn shape(&self) -> FieldShape {
        match self {
            Self::Wilson(_) | Self::Clover(_) => FieldShape::Spinor,
            Self::DomainWall(wall) => FieldShape::FiveDimensional(wall.ls),
            Self::Laplace(model) => FieldShape::ColourVectors(model.components),
        }
    }

    /// The diagonal part of the operator, which even-odd preconditioning divides by and which must be finite in the precision of the
    /// computation; 1 where it is a matrix, which the operator itself checks.
    pub fn diagonal(&self) -> f64 {
        match self {
            Self::Wilson(wilson) => wilson.diagonal(),
            Self::Clover(clover) => 4.0 + clover.mass,
            Self::DomainWall(_) => 1.0,
            Self::Laplace(model) => model.laplace.diagonal(),
        }
    }

    /// Refuses a mass beyond the precision of the computation.
    ///
    /// # Errors
    /// Such a mass.
    pub fn check<R: Vectors>(&self) -> anyhow::Result<()> {
        ensure!(
            R::from_f64(self.diagonal()).to_f64().is_finite(),
            "the diagonal {:e} of {} is beyond {}: take a smaller mass",
            self.diagonal(),
            self.describe(),
            R::NAME
        );
        Ok(())
    }
}
