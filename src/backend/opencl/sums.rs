//! Sums over sites on a device: what the kernels of `cl/reduce.cl` are told about fields. How they are launched is in `reduce.rs`. Each
//! function is that of `Backend`.

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{Direction, Slices};
use num_complex::Complex;

use super::field::{extent, extent_of_parts};
use super::reduce::{MOST_FIELDS, Reduction};
use super::{Arg, DeviceField, OpenCl, SumForm};
use crate::backend::BackendError;

/// Real and imaginary parts in turn as complex numbers, the first `words` of them.
fn complex(parts: &[f64], words: usize) -> Vec<Complex<f64>> {
    parts.chunks_exact(2).take(words).map(|parts| Complex::new(parts[0], parts[1])).collect()
}

impl OpenCl {
    /// One number for each site of a field, summed: `FIELDS` numbers for `inner_products`.
    pub(super) fn sum_of_sites<R: Vectors, K: SiteObject>(
        &self,
        (file, kernel): (&'static str, &'static str),
        field: &DeviceField<R, K>,
        arguments: &[Arg<'_>],
        (a_row, fields): (usize, usize),
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        let arguments = &[arguments, &extent_of_parts(field)].concat();
        let (parts, words) = field.parts();
        let elements = parts * field.lattice.nsimd();
        let work = Reduction {
            file,
            kernel,
            arguments,
            elements,
            a_row,
            rows: 1,
            planes: 1,
            fields,
            bundle: None,
            access: self.access,
            stored: self.stored_order(field, field.kind.parts()),
            sum,
        };
        self.announce_vector(kernel, fields, field);
        self.reduce::<R>(&field.lattice, words, &work)
    }

    pub(super) fn norm2_of<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        Ok(self.sum_of_sites(("reduce.cl", "norm2"), x, &[Arg::Buffer(&x.buffer)], (1, 1), sum)?[0])
    }

    pub(super) fn inner_products_of<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&DeviceField<R, K>],
        y: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        for x in xs {
            x.check_like("inner product", y)?;
        }
        let mut products = Vec::with_capacity(xs.len());
        for xs in xs.chunks(MOST_FIELDS) {
            // Kernel arguments beyond the fields there are must be something, and are not read.
            let x = |k: usize| Arg::Buffer(&xs.get(k).unwrap_or(&xs[0]).buffer);
            let arguments = [x(0), x(1), x(2), x(3), Arg::Buffer(&y.buffer)];
            let fields = xs.len();
            let parts = self.sum_of_sites(("reduce.cl", "inner_products"), y, &arguments, (2 * fields, fields), sum)?;
            products.extend(complex(&parts, fields));
        }
        Ok(products)
    }

    pub(super) fn sum_of_words<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        if R::BITS == 16 {
            return self.sum_of_words(&self.in_f32(x)?, sum);
        }
        let words = x.kind.words();
        let form = self.planner().form(sum);
        let bundle = self.planner().bundle(form, words);
        let parts = match form {
            SumForm::Staged(_) => self.reduce_staged(x, bundle, sum)?,
            SumForm::Fused(_) | SumForm::SerialWords => {
                let [osites, words_of_site] = extent(x);
                let arguments = [Arg::Buffer(&x.buffer), osites, words_of_site, Arg::U32(0), Arg::U32(0)];
                let work = Reduction {
                    file: "reduce.cl",
                    kernel: "sum",
                    arguments: &arguments,
                    elements: x.osites() * x.lattice.nsimd(),
                    a_row: 2 * bundle,
                    rows: words.div_ceil(bundle),
                    planes: 1,
                    fields: 1,
                    bundle: Some(bundle),
                    access: self.access_of_sites(x.kind),
                    stored: self.stored_order(x, 1),
                    sum,
                };
                self.announce_vector("sum", 1, x);
                self.reduce::<R>(&x.lattice, words, &work)?
            }
        };
        Ok(complex(&parts, words))
    }

    pub(super) fn sums_of_slices<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, BackendError> {
        if R::BITS == 16 {
            return self.sums_of_slices(&self.in_f32(x)?, direction, sum);
        }
        let slices = Slices::new(&x.lattice, x.sites, direction)?;
        // The order of the sums stays that of the host.
        let osites = self.site_order.renumbered(&x.lattice, x.sites, slices.osites().to_vec());
        let osites = self.upload_table(&osites, "table of outer sites of slices")?;
        let lanes = self.upload_table(slices.lanes(), "table of lanes of slices")?;
        let words = x.kind.words();
        // A bundle that was packed would serve one slice: slices are always fused.
        let bundle = self.planner().bundle(self.planner().form(sum), words);
        let (rows, a_row) = (words.div_ceil(bundle), 2 * bundle);
        let arguments = [
            Arg::Buffer(&x.buffer),
            Arg::Buffer(&osites),
            Arg::Buffer(&lanes),
            Arg::U32(slices.osites_a_class() as u32),
            Arg::U32(slices.lanes_a_group() as u32),
            Arg::U32(slices.classes() as u32),
            Arg::U32(words as u32),
        ];
        let work = Reduction {
            file: "reduce.cl",
            kernel: "slice_sums",
            arguments: &arguments,
            elements: slices.osites_a_class() * slices.lanes_a_group(),
            a_row,
            rows,
            planes: slices.count(),
            fields: 1,
            bundle: Some(bundle),
            access: self.access_of_sites(x.kind),
            stored: None,
            sum,
        };
        self.announce_vector("slice_sums", 1, x);
        let parts = self.reduce::<R>(&x.lattice, words, &work)?;
        Ok(parts.chunks_exact(a_row * rows).map(|slice| complex(slice, words)).collect())
    }
}
