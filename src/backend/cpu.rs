//! The CPU backend: the reference's kernels on a thread pool of its own.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use lanefield_reference::domains;
use lanefield_reference::field::{
    CloverBlocks, ColourVectors, ComplexNumber, Field, FieldError, FieldStrength, Gauge, Repeated, SiteObject, Spinors,
};
use lanefield_reference::kernels::clover_term::CloverCoefficients;
use lanefield_reference::kernels::domain_wall::{self, SMatrix};
use lanefield_reference::kernels::hop::{self, Dagger};
use lanefield_reference::kernels::{Vectors, blas, clover, clover_term, columns, convert, laplace, reduce};
use lanefield_reference::layout::{Direction, Lattice, LegOrder, Sites, Stencil};
use lanefield_reference::links::DoubledGauge;
use num_complex::Complex;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::timeline::{Group, SpanGuard, Timeline};
use super::{Backend, BackendError, HeldHop, Sum, column_parts};

/// A number of CPU threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads(usize);

impl Threads {
    /// The largest number accepted; beyond it a pool takes longer to start than most kernels to run.
    pub const MOST: usize = 512;

    /// A number of threads, 1 to [`Self::MOST`]; `None` for any other.
    pub fn new(threads: usize) -> Option<Self> {
        (1..=Self::MOST).contains(&threads).then_some(Self(threads))
    }

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl FromStr for Threads {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or_else(|| format!("'{text}' is no number of threads: use 1 to {}", Self::MOST))
    }
}

/// The reference's kernels on a thread pool of its own.
pub struct Cpu {
    pool: ThreadPool,
    timeline: OnceLock<Arc<Timeline>>,
}

impl Cpu {
    /// A pool of `threads` threads; if `None`, of as many as `RAYON_NUM_THREADS` says, else as the machine has cores.
    ///
    /// # Errors
    /// [`BackendError::Threads`] if the system will not start them.
    pub fn new(threads: Option<Threads>) -> Result<Self, BackendError> {
        // Rayon reads the same variable, and would start any number.
        let from_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse::<usize>().ok();
        let threads = threads.map(Threads::get).or_else(from_environment).unwrap_or(0);
        if threads > Threads::MOST {
            let reason = format!("at most {} are accepted", Threads::MOST);
            return Err(BackendError::Threads { threads, reason });
        }
        let number = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let keep = move |thread| domains::keep_in_domain(thread, number);
        let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(keep).build();
        let cpu = |pool| {
            let timeline = Timeline::of_process().map_or_else(OnceLock::new, |timeline| Arc::clone(timeline).into());
            Self { pool, timeline }
        };
        pool.map(cpu).map_err(|e| BackendError::Threads { threads, reason: e.to_string() })
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Records on a timeline, from now on, when each call ran. Whether it does: a backend records into one timeline, and into that of the
    /// process if there was one when it was made.
    pub fn record_into(&self, timeline: Arc<Timeline>) -> bool {
        self.timeline.set(timeline).is_ok()
    }

    /// Runs one call of the backend.
    fn run<T: Send>(&self, name: &str, work: impl FnOnce() -> T + Send) -> T {
        let _span = self.timeline.get().map_or_else(SpanGuard::none, |timeline| timeline.span(Group::Cpu, name));
        self.pool.install(work)
    }

    /// Runs `work` on this backend's threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// The vector instructions that this program was built to use.
    pub fn vector_instructions() -> &'static str {
        if cfg!(target_feature = "avx512f") {
            "AVX-512"
        } else if cfg!(all(target_feature = "avx2", target_feature = "fma")) {
            "AVX2 and FMA"
        } else if cfg!(target_feature = "neon") {
            "NEON"
        } else if cfg!(target_feature = "fma") {
            "AVX and FMA"
        } else {
            "no fused multiply-add: slow, same bits"
        }
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Backend for Cpu {
    type Field<R: Vectors, K: SiteObject> = Field<R, K>;
    type Stencil = Stencil;
    type SMatrix<R: Vectors> = SMatrix;

    fn describe(&self) -> String {
        let threads = self.threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("CPU reference, {threads} thread{plural}, {}", Self::vector_instructions())
    }

    fn zeros<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<Field<R, K>, BackendError> {
        Ok(Field::zeros(lattice, sites, kind)?)
    }

    fn clear<R: Vectors, K: SiteObject>(&self, field: &mut Field<R, K>) -> Result<(), BackendError> {
        self.run("clear", || blas::clear(field));
        Ok(())
    }

    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<Field<R, K>, BackendError> {
        Ok(field)
    }

    fn download<R: Vectors, K: SiteObject>(&self, field: &Field<R, K>) -> Result<Field<R, K>, BackendError> {
        Ok(field.clone())
    }

    fn stencil(&self, stencil: Stencil) -> Result<Stencil, BackendError> {
        Ok(stencil)
    }

    fn hop<R: Vectors>(
        &self,
        out: &mut Field<R, Spinors>,
        stencil: &Stencil,
        links: &Field<R, DoubledGauge>,
        source: &Field<R, Spinors>,
        legs: LegOrder,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        Ok(self.run("hop", || hop::hop(out, stencil, links, source, legs, dagger))?)
    }

    fn field_strength<R: Vectors>(
        &self,
        out: &mut Field<R, FieldStrength>,
        stencil: &Stencil,
        links: &Field<R, Gauge>,
    ) -> Result<(), BackendError> {
        Ok(self.run("field_strength", || clover_term::field_strength(out, stencil, links))?)
    }

    fn clover_term<R: Vectors>(
        &self,
        out: &mut Field<R, CloverBlocks>,
        strength: &Field<R, FieldStrength>,
        coefficients: CloverCoefficients,
    ) -> Result<(), BackendError> {
        Ok(self.run("clover_term", || clover_term::clover_term(out, strength, coefficients))?)
    }

    fn clover_inverse<R: Vectors>(
        &self,
        out: &mut Field<R, CloverBlocks>,
        pivots: &mut Field<R, ComplexNumber>,
        term: &Field<R, CloverBlocks>,
    ) -> Result<(), BackendError> {
        Ok(self.run("clover_inverse", || clover_term::clover_inverse(out, pivots, term))?)
    }

    fn clover_apply<R: Vectors>(
        &self,
        out: &mut Field<R, Spinors>,
        blocks: &Field<R, CloverBlocks>,
        x: &Field<R, Spinors>,
    ) -> Result<(), BackendError> {
        Ok(self.run("clover_apply", || clover::clover_apply(out, blocks, x))?)
    }

    fn clover_inverse_hop<R: Vectors>(
        &self,
        out: &mut Field<R, Spinors>,
        inverse: &Field<R, CloverBlocks>,
        hop: HeldHop<'_, Self, R>,
    ) -> Result<(), BackendError> {
        Ok(self.run("clover_inverse_hop", || clover::clover_inverse_hop(out, inverse, hop))?)
    }

    fn clover_minus_hop<R: Vectors>(
        &self,
        out: &mut Field<R, Spinors>,
        term: &Field<R, CloverBlocks>,
        chi: &Field<R, Spinors>,
        hop: HeldHop<'_, Self, R>,
    ) -> Result<(), BackendError> {
        Ok(self.run("clover_minus_hop", || clover::clover_minus_hop(out, term, chi, hop))?)
    }

    fn pick_checkerboard<R: Vectors, K: SiteObject>(
        &self,
        out: &mut Field<R, K>,
        x: &Field<R, K>,
    ) -> Result<(), BackendError> {
        Ok(self.run("pick_checkerboard", || clover_term::pick_checkerboard(out, x))?)
    }

    fn copy<R: Vectors, K: SiteObject>(&self, out: &mut Field<R, K>, x: &Field<R, K>) -> Result<(), BackendError> {
        Ok(self.run("copy", || blas::copy(out, x))?)
    }

    fn scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut Field<R, K>,
        a: f64,
        x: &Field<R, K>,
    ) -> Result<(), BackendError> {
        Ok(self.run("scale", || blas::scale(out, a, x))?)
    }

    fn axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
    ) -> Result<(), BackendError> {
        Ok(self.run("axpy", || blas::axpy(a, x, y))?)
    }

    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        Ok(self.run("axpy_norm", || blas::axpy_norm(a, x, y, sum))?)
    }

    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        b: f64,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError> {
        Ok(self.run("axpby_norm", || blas::axpby_norm(a, x, b, y, sum))?)
    }

    fn cg_update<R: Vectors, K: SiteObject>(
        &self,
        psi: &mut Field<R, K>,
        p: &mut Field<R, K>,
        r: &Field<R, K>,
        a: f64,
        b: f64,
    ) -> Result<(), BackendError> {
        Ok(self.run("cg_update", || blas::cg_update(psi, p, r, a, b))?)
    }

    fn complex_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: Complex<f64>,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
    ) -> Result<(), BackendError> {
        Ok(self.run("complex_axpy", || blas::complex_axpy(a, x, y))?)
    }

    fn complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &Field<R, K>,
        b: Complex<f64>,
        y: &mut Field<R, K>,
    ) -> Result<(), BackendError> {
        Ok(self.run("complex_xpay", || blas::complex_xpay(x, b, y))?)
    }

    fn laplace_hop<R: Vectors>(
        &self,
        out: &mut Field<R, ColourVectors>,
        stencil: &Stencil,
        links: &Field<R, DoubledGauge>,
        source: &Field<R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError> {
        Ok(self.run("laplace_hop", || laplace::laplace_hop(out, stencil, links, source, legs))?)
    }

    fn norm2<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<f64, BackendError> {
        Ok(self.run("norm2", || reduce::norm2(x, sum)))
    }

    fn convert<S: Vectors, R: Vectors, K: SiteObject>(
        &self,
        out: &mut Field<S, K>,
        x: &Field<R, K>,
    ) -> Result<(), BackendError> {
        Ok(self.run("convert", || convert::convert(out, x))?)
    }

    fn take_columns<R: Vectors, K: Repeated>(
        &self,
        x: &Field<R, K>,
        wanted: &[usize],
        column_parts: usize,
    ) -> Result<Field<R, K>, BackendError> {
        Ok(self.run("take_columns", || columns::take_columns(x, wanted, column_parts))?)
    }

    fn put_columns<R: Vectors, K: Repeated>(
        &self,
        out: &mut Field<R, K>,
        x: &Field<R, K>,
        places: &[usize],
        column_parts: usize,
    ) -> Result<(), BackendError> {
        Ok(self.run("put_columns", || columns::put_columns(out, x, places, column_parts))?)
    }

    fn column_products<R: Vectors, K: Repeated>(
        &self,
        x: &Field<R, K>,
        y: &Field<R, K>,
        column_parts: usize,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        let product = |column| -> Result<f64, FieldError> {
            let [x, y] = [x, y].map(|field| columns::take_columns(field, &[column], column_parts));
            Ok(reduce::inner_product(&x?, &y?, sum)?.re)
        };
        let count = x.kind().parts() / column_parts.max(1);
        Ok(self.run("column_products", || (0..count).map(product).collect::<Result<_, _>>())?)
    }

    fn column_axpy_norm<R: Vectors, K: Repeated>(
        &self,
        a: &[f64],
        x: &Field<R, K>,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        let column_parts = column_parts(y.kind(), a.len())?;
        let mut update = |(column, &a): (usize, &f64)| -> Result<f64, FieldError> {
            let x = columns::take_columns(x, &[column], column_parts)?;
            let mut updated = columns::take_columns(y, &[column], column_parts)?;
            let norm2 = blas::axpy_norm(a, &x, &mut updated, sum)?;
            columns::put_columns(y, &updated, &[column], column_parts)?;
            Ok(norm2)
        };
        Ok(self.run("column_axpy_norm", || a.iter().enumerate().map(&mut update).collect::<Result<_, _>>())?)
    }

    fn column_cg_update<R: Vectors, K: Repeated>(
        &self,
        psi: &mut Field<R, K>,
        p: &mut Field<R, K>,
        r: &Field<R, K>,
        a: &[f64],
        b: &[f64],
    ) -> Result<(), BackendError> {
        let column_parts = column_parts(psi.kind(), a.len())?;
        let mut update = |(column, (&a, &b)): (usize, (&f64, &f64))| -> Result<(), FieldError> {
            let take = |field: &Field<R, K>| columns::take_columns(field, &[column], column_parts);
            let (mut new_psi, mut new_p) = (take(psi)?, take(p)?);
            blas::cg_update(&mut new_psi, &mut new_p, &take(r)?, a, b)?;
            columns::put_columns(psi, &new_psi, &[column], column_parts)?;
            columns::put_columns(p, &new_p, &[column], column_parts)
        };
        Ok(self.run("column_cg_update", || a.iter().zip(b).enumerate().try_for_each(&mut update))?)
    }

    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&Field<R, K>],
        y: &Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        Ok(self.run("inner_products", || reduce::inner_products(xs, y, sum))?)
    }

    fn sum<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<Vec<Complex<f64>>, BackendError> {
        Ok(self.run("sum", || reduce::sum(x, sum)))
    }

    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &Field<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, BackendError> {
        Ok(self.run("slice_sums", || reduce::slice_sums(x, direction, sum)))
    }

    fn s_matrix<R: Vectors>(&self, matrix: &SMatrix) -> Result<SMatrix, BackendError> {
        Ok(matrix.clone())
    }

    fn s_multiply<R: Vectors>(
        &self,
        out: &mut Field<R, Spinors>,
        matrix: &SMatrix,
        x: &Field<R, Spinors>,
    ) -> Result<(), BackendError> {
        Ok(self.run("s_multiply", || domain_wall::multiply(out, matrix, x))?)
    }

    fn s_multiply_add<R: Vectors>(
        &self,
        out: &mut Field<R, Spinors>,
        matrix: &SMatrix,
        x: &Field<R, Spinors>,
        z: &Field<R, Spinors>,
    ) -> Result<(), BackendError> {
        Ok(self.run("s_multiply_add", || domain_wall::multiply_add(out, matrix, x, z))?)
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(())
    }
}
