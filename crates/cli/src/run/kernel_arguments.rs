//! The values of arguments: arrays, numbers and matrices, and the call that they make up.

use lanefield::backend::HostField;
use lanefield::in_precision;
use lanefield::io::npy::{self, ComplexArray, RawArray};
use lanefield::kernel::{Access, Case, FieldContents, FieldRole, FieldSites, GivenArguments, KernelArgument, Scalars};
use lanefield::reference::field::{DoubledGauge, Object};
use lanefield::reference::kernels::domain_wall::{InverseForm, MatrixForm, MobiusCoefficients, SMatrix};
use lanefield::reference::links::{double, raw};
use lanefield::reference::real::Real as _;
use lanefield_ports::golden::from_array;

use super::super::files::{check_beside, npy_error};
use super::arguments::{AlongS, Named, Run};
use super::axes::{axes_in_words, axes_of_matrix, object_of};
use super::describe::names_of;
use crate::prelude::*;

pub(super) struct Loaded {
    name: &'static str,
    path: PathBuf,
    array: ComplexArray,
}

/// Reads a number, or the bits of one.
fn number(text: &str) -> anyhow::Result<f64> {
    let text = text.trim();
    let parsed = match text.strip_prefix("0x") {
        Some(digits) if digits.len() == 16 => u64::from_str_radix(digits, 16).ok().map(f64::from_bits),
        Some(_) => None,
        None => text.parse().ok(),
    };
    parsed.with_context(|| {
        format!("invalid number '{text}': expected a decimal, or 0x and the 16 hex digits of a double")
    })
}

fn numbers(text: &str) -> anyhow::Result<Vec<f64>> {
    text.split(',').map(number).collect()
}

impl Run {
    pub(super) fn load(&self) -> anyhow::Result<Vec<Loaded>> {
        let mut loaded = Vec::new();
        for role in self.kernel.fields() {
            for input in self.inputs.iter().filter(|input| input.name == role.name) {
                for file in input.value.split(',') {
                    let path = PathBuf::from(file);
                    check_beside(&path)?;
                    let array = npy::read_complex(&path).map_err(|error| npy_error(&path, error))?;
                    loaded.push(Loaded { name: role.name, path, array });
                }
            }
        }
        Ok(loaded)
    }

    /// The lattice of all arrays.
    pub(super) fn extents(&self, loaded: &[Loaded], configuration: Option<&Configuration>) -> anyhow::Result<Extents> {
        let mut found: Option<(Extents, String)> = configuration.map(|known| (known.extents(), "--config".to_owned()));
        for Loaded { name, path, array } in loaded {
            let (_, extents) = self.object(name, path, array)?;
            let here = format!("--in {name} ({})", path.display());
            match &found {
                Some((known, there)) => ensure!(
                    *known == extents,
                    "{here} has the lattice {extents}, and {there} has {known}: they must be the same"
                ),
                None => found = Some((extents, here)),
            }
        }
        found.map(|(extents, _)| extents).with_context(|| format!("{} is given no field", self.kernel))
    }

    fn role(&self, name: &str) -> anyhow::Result<FieldRole> {
        let role = self.kernel.fields().find(|role| role.name == name);
        role.with_context(|| format!("{} has no field {name}", self.kernel))
    }

    /// The object of an array and its lattice.
    fn object(&self, name: &str, path: &Path, array: &ComplexArray) -> anyhow::Result<(Object, Extents)> {
        let links = DoubledGauge { format: self.hop.links, boundary: self.hop.boundary };
        let role = self.role(name)?;
        object_of(role.holds, &array.shape, links).with_context(|| {
            let axes = axes_in_words(self.kernel, role.holds, self.hop.links);
            format!("--in {name}: {} is {}, and should be {axes}", path.display(), array.describe())
        })
    }

    pub(super) fn case(
        &self,
        backend: &AnyBackend,
        loaded: &[Loaded],
        configuration: Option<&Configuration>,
        extents: Extents,
    ) -> anyhow::Result<Case> {
        let kernel = self.kernel;
        self.hop.boundary.require_links(self.hop.links)?;
        let options = LatticeOptions { lanes: backend.lanes(self.backend.lanes), ..LatticeOptions::default() };
        let of_scalar = |precision: Precision| {
            Lattice::new(extents, precision.scalar(), options).context("failed to lay out the lattice")
        };
        // For a conversion, lanes of both sides must hold the same sites.
        let from = self.converted_from(loaded);
        let mut lattice = of_scalar(self.precision)?;
        if lattice.in_scalar(from.scalar()).is_err() {
            lattice = of_scalar(from)?.in_scalar(self.precision.scalar())?;
        }
        let links = DoubledGauge { format: self.hop.links, boundary: self.hop.boundary };
        let place = |role: &FieldRole| match role.at {
            FieldSites::Target => self.sites,
            FieldSites::Neighbours => self.sites.neighbours(),
            FieldSites::All => Sites::Full,
        };
        let indices = match &self.indices {
            Some(Named { value, .. }) => {
                let parsed: Result<Vec<usize>, _> = value.split(',').map(|number| number.trim().parse()).collect();
                parsed.ok().with_context(|| format!("invalid numbers '{value}': expected whole numbers from 0 on"))?
            }
            None => Vec::new(),
        };
        let mut fields = Vec::new();
        for role in kernel.fields() {
            let sites = place(&role);
            let mut of_role = Vec::new();
            for Loaded { name, path, array } in loaded.iter().filter(|loaded| loaded.name == role.name) {
                let (object, _) = self.object(name, path, array)?;
                let precision = if role.holds == FieldContents::Converted { from } else { self.precision };
                let lattice = lattice.in_scalar(precision.scalar())?;
                let values = from_array(object, extents, array.values.clone().into_f64());
                of_role.push(in_precision!(precision, R => {
                    let values: Vec<_> =
                        values.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect();
                    HostField::new(Field::from_site_order(lattice, sites, object, &values)?.into_data())
                }));
            }
            if let (true, Some(configuration)) = (self.is_made(&role), configuration) {
                of_role.push(in_precision!(self.precision, R => match role.holds {
                    FieldContents::Links => HostField::new(raw::<R>(configuration, lattice, links.boundary)?.into_data()),
                    _ => HostField::new(double::<R>(configuration, lattice, sites, links)?.into_data()),
                }));
            }
            if role.access == Access::Write {
                let object = self.object_written(&role, &indices, loaded)?;
                of_role.push(in_precision!(self.precision, R => {
                    HostField::new(Field::<R, Object>::zeros(lattice, sites, object)?.into_data())
                }));
            }
            fields.push((role.name, of_role));
        }
        let given = GivenArguments {
            fields,
            matrix: self.matrix()?,
            scalars: self.scalars()?,
            indices,
            legs: self.hop.legs,
            rhs_parts: self.rhs_parts,
            direction: self.direction,
        };
        Ok(Case::given(kernel, given)?)
    }

    fn converted_from(&self, loaded: &[Loaded]) -> Precision {
        let converted = self.kernel.fields().find(|role| role.holds == FieldContents::Converted);
        let array = converted.and_then(|role| loaded.iter().find(|loaded| loaded.name == role.name));
        match (self.from, array.map(|loaded| loaded.array.values.precision())) {
            (Some(from), Some(_)) => from,
            (None, Some(npy::Precision::F64)) => Precision::F64,
            (None, Some(npy::Precision::F32)) => Precision::F32,
            (_, None) => self.precision,
        }
    }

    /// The object of a field that is written. It has the size of a field that is read.
    fn object_written(&self, role: &FieldRole, indices: &[usize], loaded: &[Loaded]) -> anyhow::Result<Object> {
        let kernel = self.kernel;
        let read = |wanted: &dyn Fn(FieldContents) -> bool| -> anyhow::Result<Option<Object>> {
            for loaded in loaded {
                if wanted(self.role(loaded.name)?.holds) {
                    return Ok(Some(self.object(loaded.name, &loaded.path, &loaded.array)?.0));
                }
            }
            Ok(None)
        };
        let like = match role.holds {
            FieldContents::FieldStrength => return Ok(Object::FieldStrength),
            FieldContents::CloverBlocks => return Ok(Object::CloverBlocks),
            FieldContents::ComplexNumber => return Ok(Object::ComplexNumber),
            FieldContents::Links => return Ok(Object::Gauge),
            FieldContents::Exactly(object) => return Ok(object),
            FieldContents::Spinors | FieldContents::ColourVectors => read(&|holds| holds == role.holds)?,
            _ => read(&|holds| {
                matches!(holds, FieldContents::Any | FieldContents::AnyNumber | FieldContents::Converted)
            })?,
        };
        let like =
            like.with_context(|| format!("no field that {kernel} reads determines the type of {}", role.name))?;
        let is_taken = kernel
            .arguments
            .iter()
            .any(|known| matches!(known, KernelArgument::Indices { of, .. } if *of == role.name));
        match is_taken {
            true => like
                .with_parts(indices.len() * self.rhs_parts)
                .with_context(|| format!("{kernel} takes spinors or colour vectors, not a {}", like.name())),
            false => Ok(like),
        }
    }

    fn scalars(&self) -> anyhow::Result<Vec<(&'static str, Scalars)>> {
        let mut scalars = Vec::new();
        for argument in self.kernel.arguments {
            for name in names_of(argument) {
                let Some(Named { value, .. }) = self.scalars.iter().find(|scalar| scalar.name == name) else {
                    continue;
                };
                let failed = || format!("--scalar {name}={value}");
                let values = numbers(value).with_context(failed)?;
                let scalar = match (argument, &values[..]) {
                    (KernelArgument::Scalars(_) | KernelArgument::Coefficients { .. }, _) => Scalars::Several(values),
                    (KernelArgument::Complex(_), &[re, im]) => Scalars::Complex(Complex::new(re, im)),
                    (KernelArgument::Complex(_), _) => bail!("{}: expected RE,IM of a complex number", failed()),
                    (_, &[value]) => Scalars::One(value),
                    _ => bail!("{}: expected one number", failed()),
                };
                scalars.push((name, scalar));
            }
        }
        Ok(scalars)
    }

    fn matrix(&self) -> anyhow::Result<Option<SMatrix>> {
        let form = self.kernel.arguments.iter().find_map(|argument| match *argument {
            KernelArgument::Matrix(form) => Some(form),
            _ => None,
        });
        let Some(form) = form else { return Ok(None) };
        let AlongS { matrix, matrix_dagger, mass, m5, b, c, ls } = &self.along_s;
        if let Some(path) = matrix {
            let array = RawArray::read(path).map_err(|error| npy_error(path, error))?;
            let ls = array.shape.last().copied().unwrap_or(0);
            let (dagger, expected) = (if *matrix_dagger { Dagger::Yes } else { Dagger::No }, form.shape(ls));
            let table = array.to_f64().filter(|_| array.shape == expected);
            let table = table.with_context(|| {
                let axes = axes_of_matrix(form);
                format!("--matrix {} is {}, and should be <f8 {axes}", path.display(), array.describe())
            })?;
            let matrix = SMatrix::new(form, ls, dagger, table);
            return matrix.map(Some).with_context(|| format!("--matrix {}", path.display()));
        }
        let (Some(mass), Some(ls)) = (mass, ls) else { return Ok(None) };
        let diagonal = MobiusCoefficients::new(*ls, *mass, *m5, *b, *c)?.diagonal();
        let diagonal = if *matrix_dagger { diagonal.dagger() } else { diagonal };
        Ok(Some(match form {
            MatrixForm::Tridiagonal => diagonal.matrix(),
            MatrixForm::Sweep => diagonal.inverse(InverseForm::Sweep)?,
            MatrixForm::Dense => diagonal.inverse(InverseForm::Dense)?,
        }))
    }
}
