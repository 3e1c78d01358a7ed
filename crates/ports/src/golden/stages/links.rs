//! Links: rounded, doubled and compressed, and rebuilt from the compressed ones.

use lanefield::in_precision;
use lanefield::prelude::*;
use lanefield::reference::field::{DoubledGauge, Object};
use lanefield::reference::links::{double, raw};
use lanefield::reference::scalar::ScalarWilson;

use super::half::stored;
use super::stage::Stage;
use crate::golden::array::in_site_order;
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::setup::Setup;

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("links")?;
    let (configuration, extents) = (&setup.configuration, setup.options.extents);
    let boundary = setup.options.boundary;
    let about = "raw: links rounded to the precision, 0 where they leave a fixed boundary; doubled: the eight links of a site as they are stored, of half \
                 precision the numbers, the fractions and the step of a site; rebuilt: the 3×3 matrices that kernels make of 12 and 8 reals";
    let mut stage = Stage::new(writer, "links", "5", about).with("configuration", "configuration.npy");
    for precision in setup.of(&Precision::ALL) {
        let lattice = setup.lattice(precision)?;
        in_precision!(precision, R => {
            if precision != Precision::Half {
                let field = raw::<R>(configuration, lattice, boundary)?;
                let array = in_site_order(Object::Gauge, extents, &field.to_site_order())?;
                stage.array(&format!("raw.{precision}"), &array)?;
            }
            for format in LinkFormat::ALL {
                let kind = DoubledGauge { format, boundary };
                let name = format!("{precision}-r{format}");
                let field = double::<R>(configuration, lattice, Sites::Full, kind)?;
                let array = in_site_order(Object::DoubledGauge(kind), extents, &field.to_site_order())?;
                stage.array(&format!("doubled.{name}"), &array)?;
                if precision == Precision::Half {
                    let before = double::<f32>(configuration, lattice, Sites::Full, kind)?.to_site_order();
                    stored(&mut stage, &format!("doubled.{name}"), Object::DoubledGauge(kind), extents, &before)?;
                }
                if format != LinkFormat::Full {
                    let wilson = ScalarWilson { configuration, boundary, format, legs: setup.options.legs };
                    let link = |site: usize, leg: Leg| wilson.link::<R>(extents.coordinate(site), leg);
                    let of_site = |site: usize| Leg::all().flat_map(move |leg| link(site, leg).concat());
                    let rebuilt: Vec<_> = (0..extents.volume()).flat_map(of_site).collect();
                    let full = Object::DoubledGauge(DoubledGauge { format: LinkFormat::Full, boundary });
                    stage.array(&format!("rebuilt.{name}"), &in_site_order(full, extents, &rebuilt)?)?;
                }
            }
        });
    }
    stage.done();
    Ok(())
}
