//! Sums over sites (`docs/arithmetic.md` §8).

use lanefield_reference::field::{FieldData, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::reduce::{self, PartialSums, Sum};
use lanefield_reference::layout::{Direction, Place, TreePlan};
use lanefield_reference::real::Precision;
use lanefield_reference::scalar;
use num_complex::Complex;

use super::KernelArgument::{self, Constant, Elements, Field, Fields, Osites, PartWords, Slices, Words};
use super::convert::ConvertKernels as _;
use super::site_lists::{list, object, parts, places};
use super::usual::{USUAL, moved};
use super::{ArgumentValue, Arguments, BuildOption, Ceiling, FieldContents, FieldSites, Geometry, Kernel, Work, read};
use crate::backend::{BackendError, FieldOn, Reduce};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&NORM2, &INNER_PRODUCTS, &SUM, &SLICE_SUMS, &PACK, &FINISH, &CG_CURVATURE];

/// The maximum number of fields x in one pass of `inner_products`.
pub(crate) const MOST_FIELDS: usize = 4;

const X: KernelArgument = Field(read("x", FieldContents::Any, FieldSites::Target));

const BASE: Kernel = Kernel {
    family: "reduce",
    options: &[BuildOption::Sums],
    geometry: Geometry::SumOfSites,
    work: |shape| moved(shape, 1),
    ceiling: Ceiling::Read,
    ..USUAL
};

/// |x|².
pub static NORM2: Kernel = Kernel {
    name: "norm2",
    computes: "|x|²",
    arguments: &[X, Elements, PartWords],
    work: |shape| moved(shape, 2),
    cpu: reduce!(R, |call, sum| Ok(reduce::norm2(call.data::<R>("x")?, sum))),
    plain: plain_sum!(R, |call, sum| Ok(vec![plain_norm2(call.data::<R>("x")?, sum)])),
    ..BASE
};

/// ⟨x, y⟩ for several fields x.
pub static INNER_PRODUCTS: Kernel = Kernel {
    name: "inner_products",
    computes: "⟨x, y⟩ of several x",
    arguments: &[
        Fields("xs", MOST_FIELDS),
        Field(read("y", FieldContents::Any, FieldSites::Target)),
        Elements,
        PartWords,
    ],
    work: |shape| moved(shape, 4 * shape.listed as u64),
    cpu: reduce!(R, |call, sum| reduce::inner_products(&call.list::<R>("xs")?, call.data::<R>("y")?, sum)),
    plain: plain_sum!(R, |call, sum| {
        let y = call.data::<R>("y")?;
        let products = call.list::<R>("xs")?.into_iter().map(|x| plain_inner_product(x, y, sum));
        Ok(flat(&products.collect::<Vec<_>>()))
    }),
    ..BASE
};

/// The sum of each word.
pub static SUM: Kernel = Kernel {
    name: "sum",
    computes: "the sum of each word of x",
    arguments: &[X, Osites, Words, Constant(0), Constant(0)],
    geometry: Geometry::SumOfWords,
    precisions: &Precision::OF_ARITHMETIC,
    cpu: reduce!(R, |call, sum| Ok(reduce::sum(call.data::<R>("x")?, sum))),
    plain: plain_sum!(R, |call, sum| {
        let x = call.data::<R>("x")?;
        Ok(flat(&sum_at(x, &places(x).collect::<Vec<_>>(), sum)))
    }),
    ..BASE
};

/// The sum of each word over each slice.
pub static SLICE_SUMS: Kernel = Kernel {
    name: "slice_sums",
    computes: "the sum of each word of x over each slice",
    arguments: &[X, Slices, Words],
    geometry: Geometry::SumOfWordsInSlices,
    precisions: &Precision::OF_ARITHMETIC,
    cpu: reduce!(R, |call, sum| reduce::slice_sums(call.data::<R>("x")?, call.shape().direction, sum)),
    plain: plain_sum!(R, |call, sum| {
        let (x, d) = (call.data::<R>("x")?, call.shape().direction.index());
        let slice = |coordinate: usize| {
            let here = |place: &Place| x.lattice().coordinate(x.sites(), *place)[d] == coordinate;
            sum_at(x, &places(x).filter(here).collect::<Vec<_>>(), sum)
        };
        Ok(flat(&(0..x.lattice().extents()[d]).flat_map(slice).collect::<Vec<_>>()))
    }),
    ..BASE
};

/// Packs words of a field, for sums of large site objects.
pub static PACK: Kernel = Kernel {
    name: "pack",
    computes: "words of x, packed to be summed",
    geometry: Geometry::PartOfOthers,
    precisions: &Precision::OF_ARITHMETIC,
    work: |_| Work::default(),
    ..BASE
};

/// Adds the sums of work-groups.
pub static FINISH: Kernel = Kernel {
    name: "finish",
    computes: "the sums of work-groups, summed",
    geometry: Geometry::PartOfOthers,
    work: |_| Work::default(),
    ..BASE
};

/// Re⟨x, y⟩ in queued iterations of conjugate gradients ([`crate::backend::QueuedIterations`]).
pub static CG_CURVATURE: Kernel = Kernel {
    name: "cg_curvature",
    computes: "Re⟨p, A p⟩ of queued iterations",
    arguments: &[X, Field(read("y", FieldContents::Any, FieldSites::Target)), Elements, PartWords],
    geometry: Geometry::PartOfOthers,
    work: |shape| moved(shape, 2),
    ..BASE
};

/// |x|² by the scalar reference.
pub(super) fn plain_norm2<R: Vectors>(x: &FieldData<R>, sum: Sum) -> f64 {
    match sum {
        Sum::Exact => scalar::norm2(x.object().part_words(), &list(x)),
        Sum::Tree(plan) => {
            let terms: Vec<f64> = parts(x).map(|part| scalar::site_norm2(&part)).collect();
            scalar::tree_sum(plan, &terms)
        }
    }
}

/// ⟨x, y⟩ by the scalar reference.
pub(super) fn plain_inner_product<R: Vectors>(x: &FieldData<R>, y: &FieldData<R>, sum: Sum) -> Complex<f64> {
    match sum {
        Sum::Exact => scalar::inner_product(y.object().part_words(), &list(x), &list(y)),
        Sum::Tree(plan) => complex_tree(plan, parts(x).zip(parts(y)).map(|(x, y)| scalar::site_inner_product(&x, &y))),
    }
}

/// The only sum.
pub(super) fn one(sums: &PartialSums) -> f64 {
    sums.round().first().copied().unwrap_or(f64::NAN)
}

fn flat(sums: &[Complex<f64>]) -> Vec<f64> {
    sums.iter().flat_map(|sum| [sum.re, sum.im]).collect()
}

/// A tree sum of complex terms.
fn complex_tree(plan: TreePlan, terms: impl Iterator<Item = Complex<f64>>) -> Complex<f64> {
    let (re, im): (Vec<f64>, Vec<f64>) = terms.map(|term| (term.re, term.im)).unzip();
    Complex::new(scalar::tree_sum(plan, &re), scalar::tree_sum(plan, &im))
}

/// The sum of each word over the sites at these places, which are in the order of memory.
fn sum_at<R: Vectors>(x: &FieldData<R>, places: &[Place], sum: Sum) -> Vec<Complex<f64>> {
    let objects: Vec<_> = places.iter().map(|&place| object(x, place)).collect();
    match sum {
        Sum::Exact => scalar::sum(x.object().words(), &objects.concat()),
        Sum::Tree(plan) => {
            let terms = |word: usize| {
                objects.iter().map(move |object| Complex::new(object[word].re.to_f64(), object[word].im.to_f64()))
            };
            (0..x.object().words()).map(|word| complex_tree(plan, terms(word))).collect()
        }
    }
}

/// Sums over sites, on any backend.
pub trait ReduceKernels: Reduce {
    /// |x|².
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn norm2<R: Vectors, K: SiteObject>(&self, x: &FieldOn<Self, R, K>, sum: Sum) -> Result<f64, BackendError> {
        Ok(one(&self.reduce(Arguments::new(&NORM2).read("x", x).call()?, sum)?))
    }

    /// ⟨x, y⟩, antilinear in x.
    fn inner_product<R: Vectors, K: SiteObject>(
        &self,
        x: &FieldOn<Self, R, K>,
        y: &FieldOn<Self, R, K>,
        sum: Sum,
    ) -> Result<Complex<f64>, BackendError> {
        Ok(self.inner_products(&[x], y, sum)?.first().copied().unwrap_or_default())
    }

    /// ⟨x, y⟩ for each x of `xs`, antilinear in x. One pass reads y once for several of them.
    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&FieldOn<Self, R, K>],
        y: &FieldOn<Self, R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let mut products = Vec::with_capacity(xs.len());
        for xs in xs.chunks(MOST_FIELDS) {
            let xs = ArgumentValue::Reads(xs.iter().map(|x| x.any()).collect());
            let call = Arguments::new(&INNER_PRODUCTS).value("xs", xs).read("y", y).call()?;
            products.extend(self.reduce(call, sum)?.round_complex());
        }
        Ok(products)
    }

    /// The sum over all sites: one number for each complex word of the site object.
    fn sum<R: Vectors, K: SiteObject>(
        &self,
        x: &FieldOn<Self, R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        match SUM.takes(R::PRECISION) {
            true => Ok(self.reduce(Arguments::new(&SUM).read("x", x).call()?, sum)?.round_complex()),
            false => self.sum(&self.in_f32(x)?, sum),
        }
    }

    /// The sum over each slice across `direction`: for each slice in order, one number for each complex word.
    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &FieldOn<Self, R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, BackendError> {
        if !SLICE_SUMS.takes(R::PRECISION) {
            return self.slice_sums(&self.in_f32(x)?, direction, sum);
        }
        let sums = self.reduce(Arguments::new(&SLICE_SUMS).read("x", x).direction(direction).call()?, sum)?;
        Ok(sums.round_complex().chunks_exact(x.kind().words()).map(<[_]>::to_vec).collect())
    }
}
