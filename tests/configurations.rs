//! Configurations in files of any format, as the program, Python and C read and write them.

use std::fs;
use std::path::Path;

use lanefield::comm::WholeLattice;
use lanefield::io::configuration::{self, Format, ReadOptions, WriteOptions, read, write};
use lanefield::io::nersc::{self, FloatingPoint};
use lanefield::io::sidecar::path_of;
use lanefield::prelude::*;
use lanefield_reference::gauge::{Projection, SU3_TOLERANCE};
use tempfile::tempdir;

fn extents() -> Extents {
    Extents::new([4, 2, 6, 2]).unwrap()
}

fn hot() -> Configuration {
    Configuration::hot(extents(), 5)
}

fn written(path: &Path, configuration: &Configuration, options: &WriteOptions<'_>) {
    write(path, configuration, &WholeLattice::alone(configuration.extents()), options).unwrap();
}

fn refusal(path: &Path) -> String {
    read(path, ReadOptions::default()).unwrap_err().to_string()
}

/// As openQCD writes it, point by point from its description.
fn of_openqcd(configuration: &Configuration) -> Vec<u8> {
    let [x, y, z, t] = configuration.extents().as_array();
    let mut bytes: Vec<u8> = [t, x, y, z].iter().flat_map(|extent| (*extent as i32).to_le_bytes()).collect();
    bytes.extend((3.0 * configuration.plaquette()).to_le_bytes());
    for point in (0..x * y * z * t).map(|n| [n / (y * z) % x, n / z % y, n % z, n / (x * y * z)]) {
        for mu in [3, 0, 1, 2].into_iter().filter(|_| point.iter().sum::<usize>() % 2 == 1) {
            let extents = configuration.extents();
            for site in [point, extents.neighbour(point, Leg::backward(mu))] {
                let link = configuration.link(extents.site(site), mu);
                bytes.extend(link.iter().flat_map(|z| [z.re.to_le_bytes(), z.im.to_le_bytes()]).flatten());
            }
        }
    }
    bytes
}

#[test]
fn each_format_is_read_whatever_the_name_and_written_as_the_name_says() {
    let folder = tempdir().unwrap();
    for (name, format) in [
        ("a.nersc", Format::Nersc),
        ("ckpoint_lat.4000", Format::Nersc),
        ("000030", Format::Nersc),
        ("a.LIME", Format::Ildg),
        ("a.scidac", Format::Ildg),
        ("a.npy", Format::Npy),
        ("a.h5", Format::Hdf5),
        ("a.hdf5", Format::Hdf5),
    ] {
        let (path, other) = (folder.path().join(name), folder.path().join("other.dat"));
        written(&path, &hot(), &WriteOptions::default());
        fs::rename(&path, &other).unwrap();
        let file = read(&other, ReadOptions::default()).unwrap();
        assert_eq!((file.configuration, file.origin.format()), (hot(), format), "{name}");
    }
    let path = folder.path().join("a.milc");
    written(&path, &hot(), &WriteOptions::default());
    assert_eq!(read(&path, ReadOptions::default()).unwrap().origin.format(), Format::Milc);
    let path = folder.path().join("a.cfg");
    let refused = write(&path, &hot(), &WholeLattice::alone(extents()), &WriteOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("a.cfg does not say its format: expected .nersc"), "{refused}");
    written(&path, &hot(), &WriteOptions { format: Some(Format::Ildg), ..WriteOptions::default() });
    let openqcd = WriteOptions { format: Some(Format::OpenQcd), ..WriteOptions::default() };
    assert!(write(&path, &hot(), &WholeLattice::alone(extents()), &openqcd).is_err());
}

#[test]
fn a_file_of_openqcd_is_read_and_judged_by_its_plaquette() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run1n100");
    let mut bytes = of_openqcd(&hot());
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path, ReadOptions::default()).unwrap().configuration, hot());
    bytes[16..24].copy_from_slice(&1.5f64.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    assert!(refusal(&path).contains("the average plaquette is 0.5"), "{}", refusal(&path));
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(refusal(&path).contains("it may be truncated"), "{}", refusal(&path));
}

#[test]
fn files_of_dd_alpha_amg_and_hirep_are_read_and_judged_by_their_plaquette() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("conf");
    let (hot, [x, y, z, t]) = (hot(), extents().as_array());
    // Points in the order of the file, with the directions of each; numbers in its byte order.
    let links = |points: Vec<[usize; 4]>, directions: [usize; 4], bytes: fn(f64) -> [u8; 8]| -> Vec<u8> {
        let links = points.iter().flat_map(|x| directions.map(|mu| hot.link(extents().site(*x), mu)));
        links.flat_map(|link| link.iter().flat_map(|z| [bytes(z.re), bytes(z.im)]).flatten()).collect()
    };
    let volume = x * y * z * t;
    let x_fastest = || (0..volume).map(|n| [n % x, n / x % y, n / (x * y) % z, n / (x * y * z)]).collect();
    let z_fastest = || (0..volume).map(|n| [n / (y * z) % x, n / z % y, n % z, n / (x * y * z)]).collect();
    let big = |numbers: &[usize]| numbers.iter().flat_map(|n| (*n as u32).to_be_bytes()).collect::<Vec<u8>>();
    let little = |numbers: &[usize]| numbers.iter().flat_map(|n| (*n as u32).to_le_bytes()).collect::<Vec<u8>>();
    let plaquette = hot.plaquette();
    let [of_trace, average] = [3.0 * plaquette, plaquette].map(f64::to_be_bytes);
    let dd = [3, 2, 1, 0];
    for (format, header, links) in [
        (
            Format::DdAlphaAmg,
            [little(&[t, z, y, x]), (3.0 * plaquette).to_le_bytes().to_vec()].concat(),
            links(x_fastest(), dd, f64::to_le_bytes),
        ),
        (
            Format::DdAlphaAmg,
            [big(&[t, z, y, x]), of_trace.to_vec()].concat(),
            links(x_fastest(), dd, f64::to_be_bytes),
        ),
        (
            Format::HiRep,
            [big(&[3, t, x, y, z]), average.to_vec()].concat(),
            links(z_fastest(), [3, 0, 1, 2], f64::to_be_bytes),
        ),
    ] {
        let mut bytes = [header.clone(), links].concat();
        fs::write(&path, &bytes).unwrap();
        let file = read(&path, ReadOptions::default()).unwrap();
        assert_eq!((file.configuration, file.origin.format()), (hot.clone(), format));
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(refusal(&path).contains(&format!("{format} on 4.2.6.2")), "{}", refusal(&path));
        // Two links that changed places are in SU(3).
        let (first, second) = bytes[header.len()..].split_at_mut(144);
        first.swap_with_slice(&mut second[..144]);
        fs::write(&path, &bytes).unwrap();
        assert!(refusal(&path).contains("the header says that the average plaquette is"), "{}", refusal(&path));
    }
}

#[test]
fn other_files_are_told_by_their_first_bytes() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("other");
    let big = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
    let hirep = [big(&[2, 2, 2, 2, 2]), vec![0; 8 + 16 * 4 * 4 * 16]].concat();
    let zero = [big(&[2, 2, 2, 2]), vec![0; 8 + 16 * 576]].concat();
    let cut_short = [8u32; 4].map(u32::to_le_bytes).concat();
    let cases: [(&[u8], &str); 13] = [
        (b"\x1f\x8b\x08", "packed by gzip"),
        (b"BZh91AY", "packed by bzip2"),
        (b"\xfd7zXZ\0", "packed by xz"),
        (b"\x28\xb5\x2f\xfd", "packed by zstd"),
        (b"PK\x03\x04", "packed by zip"),
        (&59354u32.to_le_bytes(), "MILC before its version 5"),
        (&53546u32.to_be_bytes(), "MILC of 1996"),
        (&hirep, "HiRep with 2 colours"),
        (&zero, "is not in SU(3)"),
        (
            &cut_short,
            "in the format openqcd on 8.8.8.8 (2359320 bytes) or ddalphaamg on 8.8.8.8 (2359320 bytes), and has 16 bytes",
        ),
        (b"1.0\n-2.5e-3\n0.125\n", "a text of numbers"),
        (b"", "it is empty"),
        (b"my notes", "my notes"),
    ];
    for (bytes, says) in cases {
        fs::write(&path, bytes).unwrap();
        let refused = refusal(&path);
        assert!(refused.contains(says), "{refused}");
        assert_eq!(refused.contains("openQCD, DD-αAMG, HiRep, NumPy (.npy) and HDF5"), bytes != zero, "{refused}");
    }
}

#[test]
fn labels_survive_conversions_and_say_what_was_done() {
    let folder = tempdir().unwrap();
    let [first, lime, last] = ["first.nersc", "then.lime", "last.nersc"].map(|name| folder.path().join(name));
    let options = nersc::NerscOptions {
        ensemble_id: "DWF".to_owned(),
        ensemble_label: "beta 2.13, \"m\" < 1".to_owned(),
        sequence_number: 40,
        floating_point: FloatingPoint::F32Big,
        ..nersc::NerscOptions::default()
    };
    nersc::write(&first, &hot(), &options).unwrap();
    let convert = |from: &Path, to: &Path, lfn: Option<&str>| {
        let file = read(from, ReadOptions::default()).unwrap();
        let (origin, lfn) = (Some(&file.origin), lfn.map(str::to_owned));
        written(to, &file.configuration, &WriteOptions { origin, lfn, ..WriteOptions::default() });
    };
    convert(&first, &lime, None);
    convert(&lime, &last, None);
    assert_eq!(fs::read(&first).unwrap(), fs::read(&last).unwrap());
    // Through files that cannot say them, and with the name of an ILDG file, which only those can.
    let [npy, h5, milc, nersc, named] =
        ["a.npy", "a.h5", "a.milc", "a.nersc", "b.lime"].map(|name| folder.path().join(name));
    convert(&first, &lime, Some("mc://a/b"));
    for [from, to] in [[&lime, &npy], [&npy, &h5], [&h5, &milc], [&milc, &nersc], [&nersc, &named]] {
        convert(from, to, None);
    }
    let labels = |path: &Path| read(path, ReadOptions::default()).unwrap().origin.provenance();
    for path in [&npy, &h5, &milc, &nersc, &named] {
        assert_eq!(labels(path), labels(&lime), "{}", path.display());
    }
    assert_eq!(labels(&named).unwrap().lfn.as_deref(), Some("mc://a/b"));
    // A file that another one replaced has no labels of the first.
    written(&milc, &hot(), &WriteOptions::default());
    assert_eq!((labels(&milc), path_of(&milc).exists()), (None, false));
    // A change is noticed: of an array it is an error, of files with checksums only labels are lost.
    let text = fs::read_to_string(path_of(&nersc)).unwrap();
    fs::write(path_of(&nersc), text.replace("mc://a", "mc://b")).unwrap();
    let file = read(&nersc, ReadOptions::default()).unwrap();
    assert!(file.problems[0].contains("is damaged") && file.origin.provenance().unwrap().lfn.is_none());
    let mut bytes = fs::read(&npy).unwrap();
    let lowest = bytes.len() - 8;
    bytes[lowest] ^= 1;
    fs::write(&npy, bytes).unwrap();
    assert!(refusal(&npy).contains("the array was changed or replaced"), "{}", refusal(&npy));
    let file = read(&lime, ReadOptions::default()).unwrap();
    let made_by = Some("stout:0.1,3".to_owned());
    written(&last, &hot(), &WriteOptions { origin: Some(&file.origin), made_by, ..WriteOptions::default() });
    let configuration::Provenance { ensemble_id, ensemble_label, sequence_number, lfn: _ } =
        read(&last, ReadOptions::default()).unwrap().origin.provenance().unwrap();
    assert_eq!([&*ensemble_id, &ensemble_label, &sequence_number], ["DWF", "beta 2.13, \"m\" < 1 stout:0.1,3", "40"]);
}

#[test]
fn what_is_read_is_written_in_any_format_and_other_links_are_projected() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Each element off by so much: what a turn to another gauge makes of that passes, too.
    let off = |size: f64| {
        let noise = Configuration::hot(extents(), 9).into_links();
        let links = hot().into_links().iter().zip(noise).map(|(link, noise)| link + noise * size).collect();
        Configuration::new(extents(), links).unwrap()
    };
    let near = off(3e-6);
    assert!((1e-6..SU3_TOLERANCE).contains(&near.unitarity_defect().defect), "{:?}", near.unitarity_defect());
    for name in ["near.nersc", "near.lime", "near.milc", "near.npy", "near.h5"] {
        written(&path(name), &near, &WriteOptions::default());
        let file = read(&path(name), ReadOptions::default()).unwrap();
        assert!((file.configuration.unitarity_defect().defect - near.unitarity_defect().defect).abs() < 5e-7, "{name}");
    }
    let far = off(1e-3);
    lanefield::io::npy::write_gauge(&path("far.npy"), &far).unwrap();
    assert!(refusal(&path("far.npy")).contains("not in SU(3)"));
    for projection in Projection::ALL {
        let options = ReadOptions { projection: Some(projection), ..ReadOptions::default() };
        let projected = read(&path("far.npy"), options).unwrap().configuration;
        projected.require_su3(1e-14).unwrap();
        let distance =
            |a: &Configuration| a.links().iter().zip(far.links()).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(distance(&projected) < 5e-3, "{projection}: {}", distance(&projected));
    }
}

#[test]
fn the_largest_trace_is_no_smaller_than_that_of_any_other_matrix() {
    let trace =
        |u: &[Complex<f64>], v: &[Complex<f64>]| -> f64 { u.iter().zip(v).map(|(u, v)| (u * v.conj()).re).sum() };
    let sums: Vec<Complex<f64>> =
        hot().links().iter().zip(Configuration::hot(extents(), 8).links()).map(|(a, b)| a + 0.9 * b).collect();
    let sums = Configuration::new(extents(), sums).unwrap();
    let [polar, largest] = Projection::ALL.map(|projection| sums.projected(projection));
    largest.require_su3(1e-14).unwrap();
    let mut gained: f64 = 0.0;
    for ((v, polar), largest) in sums.links().chunks(9).zip(polar.links().chunks(9)).zip(largest.links().chunks(9)) {
        let most = trace(largest, v);
        gained = gained.max(most - trace(polar, v));
        assert!(most > trace(polar, v) - 1e-13);
        // Nearby matrices: turned by a little in some direction.
        for seed in 0..4 {
            let turn = Configuration::weak(Extents::new([1, 1, 1, 1]).unwrap(), seed, 1e-3);
            let turn = turn.link(0, 0);
            let turned: Vec<Complex<f64>> =
                (0..9).map(|k| (0..3).map(|i| turn[3 * (k / 3) + i] * largest[3 * i + k % 3]).sum()).collect();
            assert!(most > trace(&turned, v) - 1e-13);
        }
    }
    assert!(gained > 1e-3, "the two are the same: {gained}");
    // Where nothing is to be maximised, there is a matrix of SU(3) nevertheless.
    let mut zero = [Complex::ZERO; 9];
    Projection::MaxReTr.project(&mut zero);
    assert_eq!(zero[0], Complex::ONE);
}

#[cfg(unix)]
#[test]
fn pipes_are_read() {
    let folder = tempdir().unwrap();
    let [pipe, file] = ["pipe", "a.lime"].map(|name| folder.path().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    written(&file, &hot(), &WriteOptions::default());
    let openqcd = folder.path().join("n1");
    fs::write(&openqcd, of_openqcd(&hot())).unwrap();
    for file in [file, openqcd] {
        std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, fs::read(&file).unwrap()));
            assert_eq!(read(&pipe, ReadOptions::default()).unwrap().configuration, hot());
        });
    }
    // What is endless and no configuration is not copied.
    assert!(refusal(Path::new("/dev/zero")).contains("no known format"));
}
