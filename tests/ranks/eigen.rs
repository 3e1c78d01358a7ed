//! Eigenpairs on ranks: the bits of one rank, and its file.

use std::sync::Arc;

use lanefield::comm::{Decomposition, OnRanks, RanksOptions, ThreadRanks, WholeLattice};
use lanefield::io::checkpoint;
use lanefield::io::identity::Identity;
use lanefield::prelude::*;
use lanefield::solver::{EigenParams, Eigenpairs, eigenpairs, solve_deflated};

use super::cpu;

fn whole() -> Configuration {
    Configuration::weak(Extents::new([4, 4, 4, 8]).unwrap(), 11, 0.4)
}

fn found<B: Backend>(backend: &B, configuration: &Configuration) -> Eigenpairs {
    let model = WilsonParameters { mass: -0.1, hop: HopParameters::default() };
    let how = (model, Preconditioning::EvenOdd, LaneChoice::Auto);
    eigenpairs(backend, configuration, how, EigenParams::auto(4), &mut |_| Ok(())).unwrap().0
}

/// The history of a solve that begins with them.
fn history<B: Backend>(backend: &B, configuration: &Configuration, pairs: &Eigenpairs) -> Vec<u64> {
    let how = Solve {
        operator: WilsonParameters { mass: -0.1, hop: HopParameters::default() },
        preconditioning: Preconditioning::EvenOdd,
        method: Method::BlockConjugateGradients,
        params: SolverParams::auto::<f64>(),
        lanes: LaneChoice::Auto,
    };
    let extents = configuration.extents();
    let number = |k: usize| {
        let (site, word) = (extents.global_site(k / (2 * Spinors::WORDS)), k % (2 * Spinors::WORDS));
        Complex::new(((37 * site + 11 * word as u64) % 101) as f64 - 50.0, word as f64)
    };
    let eta: Vec<_> = (0..extents.volume() * 2 * Spinors::WORDS).map(number).collect();
    let watcher = &mut |_: usize, _: f64| ();
    let report = solve_deflated::<f64, B, _>(backend, configuration, &eta, &how, Some(pairs), watcher, None).unwrap();
    report.rhs.iter().flat_map(|rhs| &rhs.info.history).map(|c| c.to_bits()).collect()
}

#[test]
fn eigenpairs_on_ranks_have_the_bits_of_one_and_write_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let of_one = folder.path().join("one");
    let identity = Identity::default().with("operator", "wilson");
    let alone = WholeLattice::alone(whole().extents());
    let expected = found(&cpu(), &whole());
    let expected_history = history(&cpu(), &whole(), &expected);
    checkpoint::write(&of_one, &identity, &expected.clone().into_state(), &alone).unwrap();
    for cut in ["1.1.1.2", "2.1.2.1"] {
        let path = folder.path().join(cut);
        let decomposition = Decomposition::new(whole().extents(), cut.parse().unwrap()).unwrap();
        ThreadRanks::run(decomposition.cut().ranks(), |comm| {
            let lattice = WholeLattice::new(Arc::new(comm), decomposition);
            let ranks = OnRanks::new(cpu(), lattice.clone(), RanksOptions::default());
            let part = whole().part(lattice.part()).unwrap();
            let pairs = found(&ranks, &part);
            assert_eq!(pairs.values(), expected.values(), "{cut}");
            assert_eq!(pairs.digest(&lattice).unwrap(), expected.digest(&alone).unwrap(), "{cut}");
            assert_eq!(history(&ranks, &part, &pairs), expected_history, "{cut}");
            checkpoint::write(&path, &identity, &pairs.into_state(), &lattice).unwrap();
        });
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&of_one).unwrap(), "{cut}");
    }
}
