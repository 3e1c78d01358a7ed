//! The operators of the command line: which one, and its parameters.

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::operator::{
    CloverParameters, DomainWallParameters, LaplaceModel, LaplaceParameters, Model, WilsonParameters,
};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::domain_wall::InverseForm;

use super::args::{HopArgs, finite, mass};

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
        self.refuse_others(name)?;
        let Some(mass) = self.mass else { bail!("--operator {} needs --mass", command_line_name(name)) };
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

    /// Refuses parameters that the operator does not have: they would be silently without effect.
    fn refuse_others(&self, name: OperatorName) -> anyhow::Result<()> {
        use OperatorName::{Clover, Dwf, Laplace, Mobius};
        let given: [(&str, bool, &[OperatorName]); 8] = [
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
                !is_given || operators.contains(&name),
                "{argument} is for --operator {}; {} has none",
                names.join(" and "),
                command_line_name(name)
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
