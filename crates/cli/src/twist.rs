//! `--twist-angle`: the basis in which correlators of twisted mass have their names.

use std::str::FromStr;

use lanefield::observable::TwistAngle;
use lanefield::reference::real::for_people;
use serde_json::{Map, Value};

use super::ranks;
use crate::prelude::*;

#[derive(Args)]
pub struct TwistArgs {
    /// Twist angle ω of twisted mass in degrees, or maximal: tan ω = μ / (m − m_cr), and maximal is ±90, with the sign of μ. Propagators are rotated
    /// by it to the physical basis, in which hadrons have their names; 0 leaves the twisted basis [default: maximal]
    #[arg(long, value_name = "maximal|DEGREES", allow_negative_numbers = true)]
    twist_angle: Option<Given>,
}

#[derive(Clone, Copy)]
enum Given {
    Maximal,
    Degrees(TwistAngle),
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "maximal" { Ok(Self::Maximal) } else { text.parse().map(Self::Degrees) }
    }
}

impl TwistArgs {
    /// The angle of a quark; `None` if it has no twisted mass. `quark` is the operator with its parameters by name, which are unknown for a
    /// propagator without a sidecar.
    pub fn of(&self, quark: Option<(&str, &Map<String, Value>)>) -> anyhow::Result<Option<TwistAngle>> {
        let number = |name: &str| quark.and_then(|(_, parameters)| parameters.get(name)).and_then(Value::as_f64);
        let (Some((operator, _)), mu) = (quark, number("mu")) else {
            // The sign of a maximal angle does not change mesons.
            return Ok(self.twist_angle.map(|given| match given {
                Given::Maximal => TwistAngle::maximal(1.0),
                Given::Degrees(angle) => angle,
            }));
        };
        let Some(mu) = mu else {
            ensure!(self.twist_angle.is_none(), "--twist-angle: {operator} has no twisted mass: leave it out");
            return Ok(None);
        };
        match self.twist_angle {
            Some(Given::Degrees(angle)) => {
                let degrees = angle.degrees();
                if degrees * mu < 0.0 || mu == 0.0 && degrees.abs() % 180.0 != 0.0 {
                    bail!(
                        "--twist-angle {} contradicts mu {}: tan ω = μ / (m − m_cr), so ω has the sign of μ",
                        for_people(degrees),
                        for_people(mu)
                    );
                }
                Ok(Some(angle))
            }
            Some(Given::Maximal) if mu == 0.0 => bail!("--twist-angle maximal: mu is 0, so the angle is 0"),
            Some(Given::Maximal) => Ok(Some(TwistAngle::maximal(mu))),
            None => {
                // Critical masses of Wilson fermions are not positive.
                if let Some(mass) = number("mass").filter(|&mass| mass > 0.0 && mu != 0.0 && ranks::is_first()) {
                    say!(
                        "warning: names of hadrons are those of maximal twist, but with mass {} and mu {} the twist angle is below {:.1}° (m_cr is \
                         not positive): give --twist-angle",
                        for_people(mass),
                        for_people(mu),
                        (mu / mass).abs().atan().to_degrees()
                    );
                }
                Ok(Some(TwistAngle::maximal(mu)))
            }
        }
    }
}

/// "physical basis at twist angle 90°; mesons are charged".
pub fn describe(angle: TwistAngle) -> String {
    match angle.basis() {
        "physical" => format!("physical basis at twist angle {angle}; mesons are charged"),
        basis => format!("{basis} basis: Γ of the names, not the hadrons; mesons are charged"),
    }
}
