//! What a field keeps of other ranks is what they have: also where kernels that read it whole and kernels that project it take turns.

use std::sync::Arc;

use lanefield::backend::opencl::OpenCl;
use lanefield::backend::{Backend, FieldOn};
use lanefield::body::prelude::*;
use lanefield::comm::{Communicator as _, Decomposition, OnRanks, RanksOptions, ThreadRanks, WholeLattice};
use lanefield::kernel::Arguments;
use lanefield::prelude::*;
use lanefield_reference::layout::Stencil;
use lanefield_reference::random::{Stream, gaussian_pair};
use lanefield_reference::real::Real as _;

use super::{common, cpu};

/// The neighbour along the first leg.
#[lane_kernel]
pub(crate) fn whole_neighbour<S: Site>(site: S, out: Write<S, Spinors>, psi: Neighbours<S, Spinors>) {
    let [leg, ..] = site.legs();
    out.write(psi.at(leg));
}

/// A Wilson hop with unit links.
#[lane_kernel]
pub(crate) fn projected_neighbours<S: Site>(site: S, out: Write<S, Spinors>, psi: Neighbours<S, Spinors>) {
    let mut sum = Spinor::empty_sum();
    for leg in site.legs() {
        sum = sum.plus_projected(leg, Dagger::No, psi.projected(leg, Dagger::No));
    }
    out.write(sum);
}

/// The largest spinor of all neighbours.
#[lane_kernel]
pub(crate) fn largest_neighbour<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    psi: Neighbours<S, Spinors>,
    largest: Greatest<S>,
) {
    let mut sum = Spinor::empty_sum();
    for leg in site.legs() {
        sum += psi.at(leg);
        largest.take(psi.at(leg).norm2());
    }
    out.write(sum);
}

/// A random field, of which each part has its own.
fn random_field<B: Backend>(backend: &B, part: Extents) -> FieldOn<B, f64, Spinors> {
    let lattice = Lattice::new(part, f64::COMPLEX, LatticeOptions::default()).unwrap();
    let field = Field::from_sites(lattice, Sites::Full, Spinors::ONE, |site, words| {
        for (word, z) in words.iter_mut().enumerate() {
            let (re, im) = gaussian_pair(3, Stream::TestData, part.global_site(site), word as u32);
            *z = Complex::new(re, im);
        }
    });
    backend.upload(field.unwrap()).unwrap()
}

/// The neighbours of this part of a random field, read whole, once more, and after it was projected.
fn read_in_turn<B: Backend>(backend: &B, part: Extents) -> [Vec<Complex<f64>>; 3] {
    let psi = random_field(backend, part);
    let lattice = *psi.lattice();
    let mut out = backend.zeros(lattice, Sites::Full, Spinors::ONE).unwrap();
    let stencil = backend.stencil(Stencil::new(lattice, Sites::Full).unwrap()).unwrap();
    let mut run = |kernel| {
        let arguments = Arguments::new(kernel).write("out", &mut out).read("psi", &psi).stencil(&stencil);
        backend.launch(arguments.call().unwrap()).unwrap();
        backend.download(&out).unwrap().try_to_site_order().unwrap()
    };
    let (first, again) = (run(&WHOLE_NEIGHBOUR), run(&WHOLE_NEIGHBOUR));
    run(&PROJECTED_NEIGHBOURS);
    [first, again, run(&WHOLE_NEIGHBOUR)]
}

#[test]
fn a_spinor_that_was_projected_in_between_is_read_whole_again() {
    let whole = Extents::new([4, 4, 4, 8]).unwrap();
    let decomposition = Decomposition::new(whole, "1.1.1.2".parse().unwrap()).unwrap();
    let [expected, ..] = read_in_turn(&cpu(), whole);
    let device = common::opencl_device();
    for on_device in [0, 1, 2] {
        if on_device > 0 && device.is_none() {
            continue;
        }
        let found = ThreadRanks::run(2, |comm| {
            let of_device = device.as_ref().filter(|_| comm.rank() < on_device);
            let lattice = WholeLattice::new(Arc::new(comm), decomposition);
            let read = match of_device {
                None => read_in_turn(&OnRanks::new(cpu(), lattice.clone(), RanksOptions::default()), lattice.part()),
                Some(device) => {
                    let mut device = OpenCl::open(device).unwrap();
                    device.set_on_parts(true);
                    read_in_turn(&OnRanks::new(device, lattice.clone(), RanksOptions::default()), lattice.part())
                }
            };
            read.map(|spinors| lattice.gathered(&spinors).unwrap())
        });
        for (turn, gathered) in found[0].iter().enumerate() {
            assert!(gathered.as_ref() == Some(&expected), "turn {turn}, {on_device} ranks on a device");
        }
    }
}

/// The largest |ψ|² of the neighbours on this part.
fn largest<B: Backend>(backend: &B, part: Extents) -> f64 {
    let psi = random_field(backend, part);
    let mut out = backend.zeros(*psi.lattice(), Sites::Full, Spinors::ONE).unwrap();
    let stencil = backend.stencil(Stencil::new(*psi.lattice(), Sites::Full).unwrap()).unwrap();
    LargestNeighbour { out: &mut out, psi: &psi }.reduce(backend, &stencil).unwrap().round()[0]
}

#[test]
fn every_rank_has_the_extreme_of_all() {
    let whole = Extents::new([4, 4, 4, 8]).unwrap();
    let decomposition = Decomposition::new(whole, "1.1.2.2".parse().unwrap()).unwrap();
    let expected = largest(&cpu(), whole);
    let found = ThreadRanks::run(4, |comm| {
        let lattice = WholeLattice::new(Arc::new(comm), decomposition);
        largest(&OnRanks::new(cpu(), lattice.clone(), RanksOptions::default()), lattice.part())
    });
    assert_eq!(found, [expected; 4]);
    let Some(device) = common::opencl_device() else { return };
    assert_eq!(largest(&OpenCl::open(&device).unwrap(), whole), expected);
}
