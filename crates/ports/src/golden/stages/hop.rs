//! The Wilson hop leg by leg: half spinors, their products with links, and the contribution of each leg.

use lanefield::in_precision;
use lanefield::kernel::Numbers;
use lanefield::prelude::*;
use lanefield::reference::field::Object;
use lanefield::reference::layout::{LEGS, Leg};
use lanefield::reference::scalar::{ScalarWilson, project, step};

use super::stage::Stage;
use crate::Content;
use crate::golden::array::complex;
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::inputs::input;
use crate::golden::setup::Setup;

/// The number of the field that hops read.
const SOURCE: u32 = 3;

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("legs of the hop")?;
    let (configuration, extents) = (&setup.configuration, setup.options.extents);
    let [x, y, z, t] = extents.as_array();
    let wilson = ScalarWilson {
        configuration,
        boundary: setup.options.boundary,
        format: LinkFormat::Full,
        legs: setup.options.legs,
    };
    let mut sources = Vec::new();
    for precision in setup.of(&Precision::OF_ARITHMETIC) {
        sources.push((precision, input(setup, writer, precision, Object::Spinors(1), SOURCE)?));
    }
    let about = "of the legs +x, +y, +z, +t, −x, −y, −z, −t, with and without dagger, links of 18 reals: projected, h0 and h1 of the neighbour's spinor; \
                 transported, w0 and w1; legs, the four rows that are added up";
    let mut stage = Stage::new(writer, "hop", "6", about);
    for (precision, source) in sources {
        stage = stage.with(&format!("in.{precision}"), source);
        let lattice = setup.lattice(precision)?;
        in_precision!(precision, R => {
            let field = setup.data.field::<R, Spinors>(lattice, Sites::Full, Spinors::ONE, Numbers::Ordinary, SOURCE)?;
            let psi = field.to_site_order();
            for dagger in [Dagger::No, Dagger::Yes] {
                let (mut projected, mut transported, mut legs) = (Vec::new(), Vec::new(), Vec::new());
                for here in (0..extents.volume()).map(|site| extents.coordinate(site)) {
                    for leg in Leg::all() {
                        let there = extents.site(step(extents, here, leg).0);
                        let psi = &psi[there * Spinors::WORDS..][..Spinors::WORDS];
                        projected.extend(project(psi, leg, dagger).concat());
                        transported.extend(wilson.transport(psi, here, leg, dagger).concat());
                        legs.extend(wilson.leg(psi, here, leg, dagger));
                    }
                }
                let dagger = if dagger == Dagger::Yes { "_dagger" } else { "" };
                let half = (2, Content::HalfSpinors);
                for (name, (rows, holds), values) in
                    [("projected", half, &projected), ("transported", half, &transported), ("legs", (4, Content::Legs), &legs)]
                {
                    let axes = [t, z, y, x, LEGS, rows, 3];
                    stage.array_of(&format!("{name}{dagger}.{precision}"), holds, &complex(&axes, values)?)?;
                }
            }
        });
    }
    stage.done();
    Ok(())
}
