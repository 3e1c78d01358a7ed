//! From links to the inverse clover term, each step from the stored result of the one before.

use lanefield::backend::HostField;
use lanefield::prelude::*;
use lanefield::reference::field::{CloverBlocks, ComplexNumber, FieldStrength, Object};
use lanefield::reference::half::Half;
use lanefield::reference::kernels::clover_term::CloverCoefficients;
use lanefield::reference::layout::Stencil;
use lanefield::reference::links::raw;

use super::half::stored;
use super::stage::Stage;
use crate::golden::array::field_array;
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::setup::Setup;

const MASS: f64 = 0.1;
const CSW_R: f64 = 1.25;
const CSW_T: f64 = 1.125;

struct Chain<R> {
    strength: Field<R, FieldStrength>,
    term: Field<R, CloverBlocks>,
    inverse: Field<R, CloverBlocks>,
    pivots: Field<R, ComplexNumber>,
}

fn chain<R: Vectors>(setup: &Setup<'_>) -> Result<Chain<R>, BackendError> {
    let (backend, sites) = (setup.backend, Sites::Full);
    let failed = |error: GoldenError| match error {
        GoldenError::Layout(error) => BackendError::from(error),
        other => unreachable!("laying out a lattice gives no other error: {other}"),
    };
    let lattice = setup.lattice(R::PRECISION).map_err(failed)?;
    let links = backend.upload(raw::<R>(&setup.configuration, lattice, setup.options.boundary)?)?;
    let stencil = backend.stencil(Stencil::new(lattice, sites)?)?;
    let mut strength = backend.zeros(lattice, sites, FieldStrength)?;
    backend.field_strength(&mut strength, &stencil, &links)?;
    let coefficients = CloverCoefficients { diagonal: 4.0 + MASS, spatial: CSW_R / 2.0, temporal: CSW_T / 2.0 };
    let mut term = backend.zeros(lattice, sites, CloverBlocks)?;
    backend.clover_term(&mut term, &strength, coefficients)?;
    let mut inverse = backend.zeros(lattice, sites, CloverBlocks)?;
    let mut pivots = backend.zeros(lattice, sites, ComplexNumber)?;
    backend.clover_inverse(&mut inverse, &mut pivots, &term)?;
    let (strength, term) = (backend.download(&strength)?, backend.download(&term)?);
    Ok(Chain { strength, term, inverse: backend.download(&inverse)?, pivots: backend.download(&pivots)? })
}

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("clover term")?;
    let about = "from the raw links of stages/links: the field strength F, the clover term C of the rounded F, the inverse of the rounded C, and the pivots \
                 of both blocks; in half precision the blocks of f32, rounded once, with fractions and the step of each block";
    let mut stage = Stage::new(writer, "clover", "13", about)
        .with("mass", MASS)
        .with("csw_r", CSW_R)
        .with("csw_t", CSW_T)
        .with("boundary", setup.options.boundary);
    let refused = |source| GoldenError::Stage { stage: "clover", source: Box::new(source) };
    if setup.takes(Precision::F64) {
        write(&mut stage, chain::<f64>(setup).map_err(refused)?)?;
    }
    if setup.takes(Precision::F32) || setup.takes(Precision::Half) {
        let of_f32 = chain::<f32>(setup).map_err(refused)?;
        if setup.takes(Precision::Half) {
            let (lattice, extents) = (setup.lattice(Precision::Half)?, setup.options.extents);
            for (name, blocks) in [("term", &of_f32.term), ("inverse", &of_f32.inverse)] {
                let name = format!("{name}.half");
                let rounded = HostField::new(blocks.convert::<Half>(lattice)?.into_data());
                stage.array(&name, &field_array(&rounded)?)?;
                stored(&mut stage, &name, Object::CloverBlocks, extents, &blocks.to_site_order())?;
            }
        }
        if setup.takes(Precision::F32) {
            write(&mut stage, of_f32)?;
        }
    }
    stage.done();
    Ok(())
}

fn write<R: Vectors>(stage: &mut Stage<'_>, chain: Chain<R>) -> Result<(), GoldenError> {
    let Chain { strength, term, inverse, pivots } = chain;
    let fields = [
        ("strength", strength.into_data()),
        ("term", term.into_data()),
        ("inverse", inverse.into_data()),
        ("pivots", pivots.into_data()),
    ];
    for (name, field) in fields {
        stage.array(&format!("{name}.{}", R::PRECISION), &field_array(&HostField::new(field))?)?;
    }
    Ok(())
}
