//! Files of ranks: the bytes that one rank writes, and each rank reads its part of them.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use lanefield::comm::{Decomposition, ThreadRanks, WholeLattice};
use lanefield::io::ildg;
use lanefield::io::milc;
use lanefield::io::nersc::{self, ByteOrder, FloatingPoint, NerscError, NerscOptions, StoredRows};
use lanefield::io::npy;
use lanefield::prelude::*;

fn whole() -> Extents {
    Extents::new([4, 6, 2, 8]).unwrap()
}

const CUTS: [&str; 5] = ["1.1.1.1", "1.1.1.3", "2.1.1.2", "2.3.1.1", "1.3.1.4"];

/// On all ranks of a decomposition.
fn on_ranks<T: Send>(cut: &str, work: impl Fn(&WholeLattice) -> T + Sync) -> Vec<T> {
    let decomposition = Decomposition::new(whole(), cut.parse().unwrap()).unwrap();
    ThreadRanks::run(decomposition.cut().ranks(), |comm| work(&WholeLattice::new(Arc::new(comm), decomposition)))
}

fn written(path: &Path, configuration: &Configuration, options: &NerscOptions) -> Vec<u8> {
    nersc::write(path, configuration, options).unwrap();
    std::fs::read(path).unwrap()
}

/// Ranks write the file of one rank, and each reads its part of what is in it. `there_and_back` writes a part, and reads it.
fn are_written_and_read_in_parts<H: PartialEq + Debug + Sync>(
    folder: &Path,
    configuration: &Configuration,
    (expected, (header, read)): (&[u8], &(H, Configuration)),
    there_and_back: impl Fn(&Path, &Configuration, &WholeLattice) -> (H, Configuration) + Sync,
) {
    for cut in CUTS {
        let path = folder.join(cut);
        on_ranks(cut, |lattice| {
            let part = configuration.part(lattice.part()).unwrap();
            let (header_of_part, back) = there_and_back(&path, &part, lattice);
            assert_eq!(header_of_part, *header, "{cut}");
            assert_eq!(back, read.part(lattice.part()).unwrap(), "{cut}");
        });
        assert!(std::fs::read(&path).unwrap() == expected, "{cut}");
    }
}

#[test]
fn configurations_are_written_and_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gauge");
    let configuration = Configuration::hot(whole(), 3);
    for (rows, floating_point) in [
        (StoredRows::Three, FloatingPoint::F64Big),
        (StoredRows::Two, FloatingPoint::F32Big),
        (StoredRows::Two, FloatingPoint::F64Little),
    ] {
        let options = NerscOptions { rows, floating_point, ..NerscOptions::default() };
        let expected = written(&path, &configuration, &options);
        let whole = nersc::read(&path).map(|read| (read.header, read.configuration)).unwrap();
        are_written_and_read_in_parts(folder.path(), &configuration, (&expected, &whole), |path, part, lattice| {
            nersc::write_part(path, part, &options, lattice).unwrap();
            nersc::read_part(path, lattice).map(|read| (read.header, read.configuration)).unwrap()
        });
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1 + CUTS.len());
}

#[test]
fn files_of_the_ildg_and_of_milc_are_written_and_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = Configuration::hot(whole(), 3);
    for double in [true, false] {
        let options = ildg::IldgOptions { double, ..ildg::IldgOptions::default() };
        let expected = ildg::to_bytes(&configuration, &options).unwrap();
        let whole = ildg::parse(&expected, None).map(|read| (read.header, read.configuration)).unwrap();
        are_written_and_read_in_parts(folder.path(), &configuration, (&expected, &whole), |path, part, lattice| {
            ildg::write_part(path, part, &options, lattice).unwrap();
            ildg::read_part(path, lattice).map(|read| (read.header, read.configuration)).unwrap()
        });
    }
    for byte_order in [ByteOrder::Little, ByteOrder::Big] {
        let options = milc::MilcOptions { byte_order, ..milc::MilcOptions::default() };
        let expected = milc::to_bytes(&configuration, &options).unwrap();
        let whole = milc::parse(&expected).map(|read| (read.header, read.configuration)).unwrap();
        are_written_and_read_in_parts(folder.path(), &configuration, (&expected, &whole), |path, part, lattice| {
            milc::write_part(path, part, &options, lattice).unwrap();
            milc::read_part(path, lattice).map(|read| (read.header, read.configuration)).unwrap()
        });
    }
}

#[test]
fn a_configuration_that_is_damaged_anywhere_is_refused_by_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gauge");
    let mut bytes = written(&path, &Configuration::hot(whole(), 3), &NerscOptions::default());
    // The last bit of a link of the last rank.
    let end = bytes.len();
    bytes[end - 1] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    for error in on_ranks("1.1.1.3", |lattice| nersc::read_part(&path, lattice).unwrap_err()) {
        assert!(matches!(error, NerscError::Checksum { .. }), "{error}");
    }
}

#[test]
fn a_configuration_that_cannot_be_written_is_refused_by_all_ranks() {
    let configuration = Configuration::hot(whole(), 3);
    let path = Path::new("/nowhere/at/all");
    let errors = on_ranks("1.1.1.3", |lattice| {
        let part = configuration.part(lattice.part()).unwrap();
        nersc::write_part(path, &part, &NerscOptions::default(), lattice).unwrap_err().to_string()
    });
    assert!(errors[0].contains("the directory /nowhere/at does not exist"), "{}", errors[0]);
    assert!(errors[1].contains("rank 0 cannot create it"), "{}", errors[1]);
}

#[test]
fn arrays_are_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let (gauge, field) = (folder.path().join("gauge.npy"), folder.path().join("field.npy"));
    let configuration = Configuration::hot(whole(), 3);
    npy::write_gauge(&gauge, &configuration).unwrap();
    let numbers: Vec<_> = configuration.links()[..2 * 6 * whole().volume()].to_vec();
    let [x, y, z, t] = whole().as_array();
    npy::write_complex(&field, &[2, t, z, y, x, 2, 3], &numbers).unwrap();
    for cut in CUTS {
        on_ranks(cut, |lattice| {
            let part = lattice.part();
            assert_eq!(npy::read_gauge_part(&gauge, part).unwrap(), configuration.part(part).unwrap());
            let [x, y, z, t] = part.as_array();
            let read = npy::read_part(&field, 1, part).unwrap();
            assert_eq!(read.shape, [2, t, z, y, x, 2, 3]);
            let arrays = numbers.chunks(6 * whole().volume());
            let expected: Vec<_> = arrays.flat_map(|array| lattice.part_of(6, array)).collect();
            assert_eq!(read.values.into_f64(), expected);
        });
    }
    let other = Extents::new([4, 6, 2, 4]).unwrap().part([0; 4], [4, 6, 2, 2]).unwrap();
    let error = npy::read_part(&field, 1, other).unwrap_err().to_string();
    assert!(error.contains("the lattice is 4.6.2.4"), "{error}");
    assert!(npy::read_gauge_part(&gauge, other).is_err());
}
