//! Sums over sites: their terms, the partial sums of a tree's blocks, and the exact sum as an accumulator.

use lanefield::in_precision;
use lanefield::io::npy::RawArray;
use lanefield::kernel::Numbers;
use lanefield::reference::exact::ExactSum;
use lanefield::reference::field::{Object, Spinors};
use lanefield::reference::layout::{Sites, TreePlan};
use lanefield::reference::real::Precision;
use lanefield::reference::scalar::{site_inner_product, site_norm2, tree_blocks, tree_sum};

use super::stage::Stage;
use crate::Content;
use crate::golden::array::reals;
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::inputs::input;
use crate::golden::setup::Setup;

const X: u32 = 1;
const Y: u32 = 2;

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("sums")?;
    let (spinor, extents) = (Object::Spinors(1), setup.options.extents);
    let [x, y, z, t] = extents.as_array();
    // Blocks with several terms per thread on the usual lattice, and warps smaller than a block.
    let plan = TreePlan::with_warp(8, 4, 4)?;
    let mut sources = Vec::new();
    for precision in setup.of(&Precision::OF_ARITHMETIC) {
        for (name, number) in [("x", X), ("y", Y)] {
            sources.push((format!("{name}.{precision}"), input(setup, writer, precision, spinor, number)?));
        }
    }
    let about = "norm2 of x and inner, ⟨x, y⟩: the term of each site; blocks, the partial sums of the blocks of a tree sum over the sites in site order, and \
                 tree, the sum of these; words, the words of the exact accumulator, and exact, its rounded value; of inner products re, then im";
    let mut stage = Stage::new(writer, "sums", "8", about)
        .with("plan_threads", plan.threads())
        .with("plan_blocks", plan.blocks())
        .with("plan_warp", plan.warp());
    for (name, path) in sources {
        stage = stage.with(&name, path);
    }
    for precision in setup.of(&Precision::OF_ARITHMETIC) {
        let lattice = setup.lattice(precision)?;
        let (norms, products): (Vec<f64>, Vec<_>) = in_precision!(precision, R => {
            let field = |number| {
                let field = setup.data.field::<R, Spinors>(lattice, Sites::Full, Spinors::ONE, Numbers::Ordinary, number);
                field.map(|field| field.to_site_order())
            };
            let (x, y) = (field(X)?, field(Y)?);
            let norms = x.chunks_exact(Spinors::WORDS).map(site_norm2).collect();
            let pairs = x.chunks_exact(Spinors::WORDS).zip(y.chunks_exact(Spinors::WORDS));
            (norms, pairs.map(|(x, y)| site_inner_product(x, y)).collect())
        });
        let (re, im): (Vec<f64>, Vec<f64>) = products.iter().map(|z| (z.re, z.im)).unzip();
        let interleaved: Vec<f64> = products.iter().flat_map(|z| [z.re, z.im]).collect();
        let norm2 = format!("norm2.{precision}");
        stage.array(&format!("{norm2}.terms"), &reals(&[t, z, y, x], &norms))?;
        sums_of(&mut stage, &norm2, plan, &[&norms])?;
        let inner = format!("inner.{precision}");
        stage.array_of(&format!("{inner}.terms"), Content::ComplexNumber, &reals(&[t, z, y, x, 2], &interleaved))?;
        sums_of(&mut stage, &inner, plan, &[&re, &im])?;
    }
    stage.done();
    Ok(())
}

/// The sums of several lists of terms.
fn sums_of(stage: &mut Stage<'_>, name: &str, plan: TreePlan, lists: &[&[f64]]) -> Result<(), GoldenError> {
    let blocks: Vec<f64> = lists.iter().flat_map(|terms| tree_blocks(plan, terms)).collect();
    let tree: Vec<f64> = lists.iter().map(|terms| tree_sum(plan, terms)).collect();
    let exact: Vec<ExactSum> = lists.iter().map(|terms| terms.iter().fold(ExactSum::new(), with)).collect();
    let words: Vec<i64> = exact.iter().flat_map(ExactSum::to_words).collect();
    let rounded: Vec<f64> = exact.iter().map(ExactSum::round).collect();
    stage.array(&format!("{name}.blocks"), &reals(&[lists.len(), plan.blocks()], &blocks))?;
    stage.array(&format!("{name}.tree"), &reals(&[lists.len()], &tree))?;
    stage.array(&format!("{name}.words"), &RawArray::i64(&[lists.len(), words.len() / lists.len()], &words))?;
    stage.array(&format!("{name}.exact"), &reals(&[lists.len()], &rounded))
}

fn with(mut sum: ExactSum, &term: &f64) -> ExactSum {
    sum.add(term);
    sum
}
