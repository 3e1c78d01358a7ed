//! Vector operations on a device: the launches of `cl/blas.cl`. Each function is that of `Backend`.

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::LaunchGeometry;
use num_complex::Complex;

use super::field::extent_of_parts;
use super::{Arg, DeviceField, OpenCl};
use crate::backend::BackendError;

/// A scalar of the recurrence, rounded to the field's precision.
fn scalar<R: Vectors>(value: f64) -> Arg<'static> {
    match R::BITS {
        64 => Arg::F64(value),
        _ => Arg::F32(value as f32),
    }
}

impl OpenCl {
    /// Launches a kernel of `blas.cl` that sums nothing, one work-item for each lane and outer site of a field.
    fn launch_over<R: Vectors, K: SiteObject>(
        &self,
        kernel: &str,
        field: &DeviceField<R, K>,
        arguments: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let nsimd = field.lattice.nsimd();
        let (parts, words) = field.parts();
        let program =
            self.program(self.planner().sum_variant::<R>("blas.cl", nsimd, words, (None, 1), Sum::Exact, None)?)?;
        let geometry = LaunchGeometry::over_sites(nsimd, parts, self.threads);
        self.announce_vector(kernel, 1, field);
        self.launch(&program, kernel, geometry, &[arguments, &extent_of_parts(field)].concat())
    }

    pub(super) fn launch_copy<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("copy", out)?;
        self.launch_over("copy", out, &[Arg::Buffer(&out.buffer), Arg::Buffer(&x.buffer)])
    }

    pub(super) fn launch_scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut DeviceField<R, K>,
        a: f64,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("scale", out)?;
        self.launch_over("scale", out, &[Arg::Buffer(&out.buffer), scalar::<R>(a), Arg::Buffer(&x.buffer)])
    }

    pub(super) fn launch_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("axpy", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("axpy", y, &[out, scalar::<R>(a), x, out])
    }

    pub(super) fn launch_axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        x.check_like("axpy_norm", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        Ok(self.sum_of_sites(("blas.cl", "axpy_norm"), y, &[out, scalar::<R>(a), x, out], (1, 1), sum)?[0])
    }

    pub(super) fn launch_axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &DeviceField<R, K>,
        b: f64,
        y: &mut DeviceField<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        x.check_like("axpby_norm", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        let arguments = [out, scalar::<R>(a), x, scalar::<R>(b), out];
        Ok(self.sum_of_sites(("blas.cl", "axpby_norm"), y, &arguments, (1, 1), sum)?[0])
    }

    pub(super) fn launch_cg_update<R: Vectors, K: SiteObject>(
        &self,
        psi: &mut DeviceField<R, K>,
        p: &mut DeviceField<R, K>,
        r: &DeviceField<R, K>,
        a: f64,
        b: f64,
    ) -> Result<(), BackendError> {
        p.check_like("cg_update", psi)?;
        r.check_like("cg_update", psi)?;
        let [out, p, r] = [&psi.buffer, &p.buffer, &r.buffer].map(Arg::Buffer);
        self.launch_over("cg_update", psi, &[out, p, r, scalar::<R>(a), scalar::<R>(b)])
    }

    pub(super) fn launch_complex_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: Complex<f64>,
        x: &DeviceField<R, K>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("complex_axpy", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("complex_axpy", y, &[out, scalar::<R>(a.re), scalar::<R>(a.im), x, out])
    }

    pub(super) fn launch_complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
        b: Complex<f64>,
        y: &mut DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        x.check_like("complex_xpay", y)?;
        let [x, out] = [&x.buffer, &y.buffer].map(Arg::Buffer);
        self.launch_over("complex_axpy", y, &[out, scalar::<R>(b.re), scalar::<R>(b.im), out, x])
    }
}
