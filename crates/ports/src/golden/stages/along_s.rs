//! Matrices along the fifth dimension: their coefficients in f64, and products with them, with and without dagger.

use lanefield::backend::HostField;
use lanefield::kernel::Numbers;
use lanefield::prelude::*;
use lanefield::reference::field::Object;
use lanefield::reference::kernels::domain_wall::{InverseForm, MobiusCoefficients, SMatrix, Tridiagonal};

use super::stage::Stage;
use crate::golden::array::{field_array, reals};
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::inputs::{form_name, input};
use crate::golden::setup::Setup;

const LS: usize = 4;
const MASS: f64 = 0.1;
const M5: f64 = 1.8;
const KINDS: [(&str, f64, f64); 2] = [("shamir", 1.0, 0.0), ("mobius", 1.5, 0.5)];
/// The number of the fermion that is multiplied.
const SOURCE: u32 = 2;

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("matrices along s")?;
    let mut sources = Vec::new();
    for precision in setup.of(&Precision::OF_ARITHMETIC) {
        sources.push((precision, input(setup, writer, precision, Object::Spinors(LS), SOURCE)?));
    }
    for (kind, b, c) in KINDS {
        let about = "coefficients, with and without dagger: tridiagonal d, p, m of Din, T and Mooee; of the inverse of Mooee the sweep, for chirality + and \
                     − the rows c, t and r, and the dense matrix N; and their products with the fermion of the parameter x";
        let mut stage = Stage::new(writer, &format!("along_s/{kind}"), "14", about)
            .with("ls", LS)
            .with("mass", MASS)
            .with("m5", M5)
            .with("b", b)
            .with("c", c);
        for (precision, source) in &sources {
            stage = stage.with(&format!("x.{precision}"), source);
        }
        let coefficients = MobiusCoefficients::new(LS, MASS, M5, b, c)?;
        let tridiagonals = [
            ("din", coefficients.input()),
            ("walls", Some(coefficients.walls())),
            ("mooee", Some(coefficients.diagonal())),
        ];
        for (name, matrix) in tridiagonals {
            let Some(matrix) = matrix else { continue };
            for (dagger, matrix) in [("", matrix.clone()), ("_dagger", matrix.dagger())] {
                for matrix in matrices(name, &matrix)? {
                    let name = format!("{name}{dagger}.{}", form_name(matrix.form()));
                    stage.array(&name, &reals(&matrix.form().shape(LS), matrix.table()))?;
                    for (precision, _) in &sources {
                        let product = match precision {
                            Precision::F64 => product::<f64>(setup, &matrix)?,
                            _ => product::<f32>(setup, &matrix)?,
                        };
                        stage.array(&format!("{name}.product.{precision}"), &field_array(&product)?)?;
                    }
                }
            }
        }
        stage.done();
    }
    Ok(())
}

/// A matrix as kernels use it, and the forms of its inverse if one is used.
fn matrices(name: &str, matrix: &Tridiagonal) -> Result<Vec<SMatrix>, GoldenError> {
    let mut forms = vec![matrix.matrix()];
    if name == "mooee" {
        for form in InverseForm::ALL {
            forms.push(matrix.inverse(form)?);
        }
    }
    Ok(forms)
}

fn product<R: Vectors>(setup: &Setup<'_>, matrix: &SMatrix) -> Result<HostField, GoldenError> {
    let lattice = setup.lattice(R::PRECISION)?;
    let fermion = Spinors::new(LS);
    let x = setup.data.field::<R, Spinors>(lattice, Sites::Full, fermion, Numbers::Ordinary, SOURCE)?;
    let multiplied = || {
        let backend = setup.backend;
        let (x, table) = (backend.upload(x)?, backend.matrix(matrix, R::PRECISION)?);
        let mut out = backend.zeros(lattice, Sites::Full, fermion)?;
        backend.s_multiply(&mut out, &table, &x)?;
        Ok(HostField::new(backend.download(&out)?.into_data()))
    };
    multiplied().map_err(|source: BackendError| GoldenError::Stage { stage: "along_s", source: Box::new(source) })
}
