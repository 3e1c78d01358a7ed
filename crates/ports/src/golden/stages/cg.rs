//! A short solve: each scalar and each field of conjugate gradients on the Wilson operator with even-odd preconditioning, and its record.

use lanefield::comm::{CommError, WholeLattice};
use lanefield::io::record::RecordWriter;
use lanefield::operator::AnyModel;
use lanefield::prelude::*;
use lanefield::reference::field::Object;
use lanefield::reference::layout::spread;
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield::solver::{
    DescribedSolve, Digests, Recurrence, SavedState, SolveError, SolveRecorder, Stopped, WatchedScalar, Watcher,
    Watchers, identity,
};

use super::stage::Stage;
use crate::golden::array::{in_site_order, reals};
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::setup::Setup;

const MASS: f64 = 1.0;
/// Chosen for about ten iterations on a hot configuration.
const TOLERANCES: [(Precision, f64); 2] = [(Precision::F32, 1e-3), (Precision::F64, 1e-4)];

#[derive(Default)]
struct Kept {
    scalars: Vec<f64>,
    states: Vec<SavedState>,
    history: Vec<f64>,
}

impl Kept {
    fn keep(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.states.push(recurrence.save().map_err(|error| Stopped(Box::new(error)))?);
        self.history.clone_from(&recurrence.info().history);
        Ok(())
    }
}

impl Watcher for Kept {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.keep(recurrence)
    }
    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.scalars.push(scalar.value);
        Ok(())
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.keep(recurrence)
    }
}

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("conjugate gradients")?;
    for (precision, tolerance) in TOLERANCES.into_iter().filter(|(precision, _)| setup.takes(*precision)) {
        match precision {
            Precision::F64 => one::<f64>(setup, writer, tolerance)?,
            _ => one::<f32>(setup, writer, tolerance)?,
        }
    }
    Ok(())
}

fn one<R: Vectors>(setup: &Setup<'_>, writer: &mut Writer, tolerance: f64) -> Result<(), GoldenError> {
    let (extents, seed, configuration) = (setup.options.extents, setup.options.seed, &setup.configuration);
    let hop = HopParameters { boundary: setup.options.boundary, links: LinkFormat::Full, legs: setup.options.legs };
    let operator = WilsonParameters { mass: MASS, hop };
    let how = Solve {
        operator,
        preconditioning: Preconditioning::EvenOdd,
        method: Method::ConjugateGradients,
        params: SolverParams { tolerance, sum: Sum::Exact, ..SolverParams::auto::<R>() },
        lanes: setup.backend.lanes(setup.options.lanes),
    };
    let places = (0..extents.volume()).flat_map(|site| (0..Spinors::WORDS as u32).map(move |word| (site, word)));
    let eta: Vec<Complex<f64>> = places
        .map(|(site, word)| {
            let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site as u64, word);
            Complex::new(re, im)
        })
        .collect();
    let source = format!("gauss:{seed}");
    let lattice = WholeLattice::alone(configuration.extents());
    let failed = |error: CommError| Box::new(SolveError::from(BackendError::device(error)));
    let described = DescribedSolve {
        operator: &AnyModel::Wilson(operator).describe(),
        source: source.clone(),
        solver: "cg",
        sum: Sum::Exact.to_string(),
    };
    let identity = identity::<R, _>(&how, hop, (configuration, &lattice), described).map_err(failed)?;

    let about = "source, η; of each iteration the scalars ⟨p, A p⟩, a, |r|² after it, and β; history, |r|² from iteration 0 on; r, p and psi on the odd sites, \
                 before the first iteration and after each; solution, ψ on all sites; record.jsonl, as solve --record writes it, with digests of every \
                 iteration";
    let mut stage = Stage::new(writer, &format!("cg/{}", R::PRECISION), "10", about)
        .with("operator", "wilson, even-odd")
        .with("mass", MASS)
        .with("tolerance", format!("{tolerance:e}"))
        .with("source", source)
        .with("links", LinkFormat::Full);
    let record = stage.writer.place(&stage.path("record.jsonl"))?;
    let (mut kept, mut recorder) = (
        Kept::default(),
        SolveRecorder::new(Some(RecordWriter::create(&record, &identity, 1)?), lattice.clone(), 1, |_| ()),
    );
    let watchers = Watchers::default().with(Some(&mut kept)).with(Some(&mut recorder));
    let solved = solve::<R, _, _>(setup.backend, configuration, &eta, &how, watchers).map_err(Box::new)?;
    let digests = Digests::new(&lattice, configuration, &eta, Some(&solved.solution));
    recorder.finish(digests.map_err(failed)?);
    let text = std::fs::read(&record).map_err(|source| GoldenError::File { path: record.clone(), source })?;
    if recorder.breaks_off() {
        let source = std::io::Error::other("the record could not be written whole");
        return Err(GoldenError::File { path: record, source });
    }

    let spinor = Object::Spinors(1);
    stage.array("source", &in_site_order(spinor, extents, &eta)?)?;
    stage.array("history", &reals(&[kept.history.len()], &kept.history))?;
    // Two sums per iteration are recorded; a and β are computed from them.
    let mut c = kept.history[0];
    let mut scalars = Vec::new();
    for pair in kept.scalars.chunks_exact(2) {
        scalars.extend([pair[0], c / pair[0], pair[1], pair[1] / c]);
        c = pair[1];
    }
    stage.array("scalars", &reals(&[scalars.len() / 4, 4], &scalars))?;
    for (iteration, state) in kept.states.iter().enumerate() {
        for field in &state.fields {
            let odd: Vec<Complex<R>> =
                field.values.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect();
            let all = spread(extents, Sites::Parity(Parity::Odd), Spinors::WORDS, &odd);
            stage.array(&format!("{}.{iteration}", field.name), &in_site_order(spinor, extents, &all)?)?;
        }
    }
    stage.array("solution", &in_site_order(spinor, extents, &solved.solution)?)?;
    stage.other("record.jsonl", &text)?;
    stage.done();
    Ok(())
}
