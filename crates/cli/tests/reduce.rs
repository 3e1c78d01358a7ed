//! `lanefield reduce`: sums as `docs/arithmetic.md` §8 defines them, taken here in plain loops over the file; the same bits on every
//! backend; and what is refused.

use lanefield::io::npy;
use lanefield::prelude::*;
use lanefield::reference::exact::{ExactComplexSum, ExactSum};
use lanefield::reference::random::{Stream, gaussian_pair};

use super::{Folder, assert_contains, opencl, text};

const EXTENTS: [usize; 4] = [4, 2, 4, 6];
const SITES: usize = 4 * 2 * 4 * 6;

/// A field in site order whose file the tests read.
struct Written {
    words: usize,
    values: Vec<Complex<f64>>,
}

/// The shape of a file on [`EXTENTS`].
fn shape(site: &[usize]) -> Vec<usize> {
    let [x, y, z, t] = EXTENTS;
    [&[t, z, y, x], site].concat()
}

/// Writes numbers of either sign and of forty binades as complex128, so that no two orders of adding them agree.
fn write(folder: &Folder, name: &str, site: &[usize], seed: u64) -> Written {
    let words: usize = site.iter().product();
    let number = |i: usize| {
        let (re, im) = gaussian_pair(seed, Stream::TestData, (i / words) as u64, (i % words) as u32);
        Complex::new(re, im) * 2f64.powi((i * 7 % 41) as i32 - 20)
    };
    let values: Vec<_> = (0..SITES * words).map(number).collect();
    npy::write_complex(&folder.path(name), &shape(site), &values).unwrap();
    Written { words, values }
}

/// The same, rounded to complex64.
fn write_f32(folder: &Folder, name: &str, site: &[usize], seed: u64) -> Written {
    let Written { words, values } = write(folder, name, site, seed);
    let values: Vec<_> = values.iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect();
    npy::write_complex(&folder.path(name), &shape(site), &values).unwrap();
    let values = values.iter().map(|z| Complex::new(f64::from(z.re), f64::from(z.im))).collect();
    Written { words, values }
}

impl Written {
    fn sites(&self) -> impl Iterator<Item = (usize, &[Complex<f64>])> {
        self.values.chunks_exact(self.words).enumerate()
    }

    fn norm2(&self) -> f64 {
        let mut sum = ExactSum::new();
        for (_, site) in self.sites() {
            sum.add(site.iter().fold(0.0, |s, z| z.im.mul_add(z.im, z.re.mul_add(z.re, s))));
        }
        sum.round()
    }

    fn inner(&self, y: &Self) -> Complex<f64> {
        let mut sum = ExactComplexSum::new();
        for ((_, x), (_, y)) in self.sites().zip(y.sites()) {
            let mut term = Complex::new(0.0, 0.0);
            for (x, y) in x.iter().zip(y) {
                term.re = x.im.mul_add(y.im, x.re.mul_add(y.re, term.re));
                term.im = (-x.im).mul_add(y.re, x.re.mul_add(y.im, term.im));
            }
            sum.add(term);
        }
        sum.round()
    }

    /// The sum of each word over the sites that are `wanted`.
    fn sum_of(&self, wanted: impl Fn([usize; 4]) -> bool) -> Vec<Complex<f64>> {
        let extents = Extents::new(EXTENTS).unwrap();
        let mut sums = vec![ExactComplexSum::new(); self.words];
        for (_, site) in self.sites().filter(|(site, _)| wanted(extents.coordinate(*site))) {
            sums.iter_mut().zip(site).for_each(|(sum, z)| sum.add(*z));
        }
        sums.iter().map(ExactComplexSum::round).collect()
    }
}

/// The numbers of a line: those before the first sum, and the sums, whose decimals and bits must agree.
#[track_caller]
fn line(text: &str) -> (Vec<usize>, Vec<u64>) {
    let cells: Vec<&str> = text.split_whitespace().collect();
    let first = cells.iter().position(|cell| cell.len() == 16 && u64::from_str_radix(cell, 16).is_ok()).unwrap() - 1;
    let sums = cells[first..].chunks_exact(2).map(|cells| {
        let bits = u64::from_str_radix(cells[1], 16).unwrap();
        assert_eq!((cells[1].len(), cells[0].parse::<f64>().unwrap().to_bits()), (16, bits), "{text}");
        bits
    });
    (cells[..first].iter().map(|cell| cell.parse().unwrap()).collect(), sums.collect())
}

/// Indices and bits of the sums that a command prints on the CPU reference.
#[track_caller]
fn sums(folder: &Folder, what: &str) -> Vec<(Vec<usize>, Vec<u64>)> {
    folder.succeeds(&format!("reduce --bits --device cpu {what}")).lines().map(line).collect()
}

fn complex_bits(z: &Complex<f64>) -> Vec<u64> {
    vec![z.re.to_bits(), z.im.to_bits()]
}

#[test]
fn a_norm_is_the_exact_sum_over_sites() {
    let folder = Folder::new();
    for (name, site) in [("complex.npy", &[][..]), ("spinor.npy", &[4, 3]), ("five.npy", &[5])] {
        let x = write(&folder, name, site, 1);
        let norm = (vec![], vec![x.norm2().to_bits()]);
        assert_eq!(sums(&folder, &format!("--op norm2 --input {name}")), [norm], "{name}");
    }
}

#[test]
fn an_inner_product_is_antilinear_in_the_input() {
    let folder = Folder::new();
    let [x, y] = [("x.npy", 1), ("y.npy", 2)].map(|(name, seed)| write_f32(&folder, name, &[4, 3], seed));
    let product = (vec![], complex_bits(&x.inner(&y)));
    assert_eq!(sums(&folder, "--op inner --input x.npy --with y.npy"), [product]);
}

#[test]
fn words_are_summed_in_the_order_of_the_file() {
    let folder = Folder::new();
    let objects: [(&str, &[usize]); 6] = [
        ("complex", &[]),
        ("colour vector", &[3]),
        ("half spinor", &[2, 3]),
        ("colour matrix", &[3, 3]),
        ("gauge", &[4, 3, 3]),
        ("word list", &[2, 5]),
    ];
    for (object, site) in objects {
        let x = write(&folder, "x.npy", site, 3);
        let expected = x.sum_of(|_| true);
        let expected: Vec<_> = expected.iter().enumerate().map(|(word, z)| (vec![word], complex_bits(z))).collect();
        assert_eq!(sums(&folder, "--op sum --input x.npy"), expected, "{object}");
        assert_eq!(folder.json("reduce --op sum --device cpu --input x.npy")["object"], object);
    }
}

#[test]
fn slices_are_summed_by_coordinate_and_those_of_time_by_default() {
    let folder = Folder::new();
    let x = write(&folder, "x.npy", &[4, 3], 4);
    for (direction, argument) in [(0, "--direction x"), (2, "--direction z"), (3, "--direction t"), (3, "")] {
        let mut expected = Vec::new();
        for slice in 0..EXTENTS[direction] {
            let sums = x.sum_of(|coordinate| coordinate[direction] == slice);
            expected.extend(sums.iter().enumerate().map(|(word, z)| (vec![slice, word], complex_bits(z))));
        }
        assert_eq!(sums(&folder, &format!("--op slices --input x.npy {argument}")), expected, "{argument}");
    }
}

#[test]
fn a_parity_has_its_own_sites_alone() {
    let folder = Folder::new();
    let x = write(&folder, "x.npy", &[4, 3], 5);
    for parity in [Parity::Even, Parity::Odd] {
        let expected = x.sum_of(|c| Parity::of(c) == parity);
        let expected: Vec<_> = expected.iter().enumerate().map(|(word, z)| (vec![word], complex_bits(z))).collect();
        assert_eq!(sums(&folder, &format!("--op sum --input x.npy --parity {parity}")), expected, "{parity}");
    }
}

/// Grid's block sum of `x` in blocks of `threads` threads that are all one warp.
fn tree(x: &[f64], threads: usize, blocks: usize) -> f64 {
    let halves = |mut s: Vec<f64>| {
        while s.len() > 1 {
            let upper = s.split_off(s.len() / 2);
            s.iter_mut().zip(upper).for_each(|(s, x)| *s += x);
        }
        0.0 + s[0]
    };
    let block = |block: usize| {
        let mut s = vec![0.0; threads];
        for first in (2 * block * threads..x.len()).step_by(2 * threads * blocks) {
            for (i, x) in x[first..].iter().take(2 * threads).enumerate() {
                s[i % threads] += x;
            }
        }
        halves(s)
    };
    let mut last = vec![0.0; threads];
    (0..blocks).for_each(|b| last[b % threads] += block(b));
    halves(last)
}

#[test]
fn a_tree_sum_is_grids_block_sum_in_the_order_of_memory() {
    let folder = Folder::new();
    let x = write(&folder, "x.npy", &[3], 6);
    // One lane: memory is in site order.
    let arguments = "--lanes 16 --sum tree --plan-threads 8 --plan-blocks 4";
    for (word, (_, found)) in sums(&folder, &format!("--op sum --input x.npy {arguments}")).into_iter().enumerate() {
        let part = |of: fn(&Complex<f64>) -> f64| x.values.iter().skip(word).step_by(3).map(of).collect::<Vec<_>>();
        let expected = [part(|z| z.re), part(|z| z.im)].map(|terms| tree(&terms, 8, 4).to_bits());
        assert_eq!(found, expected, "word {word}");
    }
}

#[test]
fn a_tree_loses_what_is_small_beside_what_cancels_and_an_exact_sum_keeps_it() {
    let folder = Folder::new();
    let mut values = vec![Complex::new(1.0, 0.0); SITES];
    (values[0].re, values[SITES - 1].re) = (2f64.powi(60), -2f64.powi(60));
    npy::write_complex(&folder.path("x.npy"), &shape(&[]), &values).unwrap();
    let sum = |how: &str| sums(&folder, &format!("--op sum --input x.npy {how}"))[0].1[0];
    assert_eq!(f64::from_bits(sum("")), (SITES - 2) as f64);
    assert_ne!(f64::from_bits(sum("--sum tree --plan-threads 8 --plan-blocks 4")), (SITES - 2) as f64);
}

#[test]
#[ignore = "test-all: builds sums in all forms"]
fn a_device_prints_what_the_cpu_prints() {
    let Some(device) = opencl() else { return };
    let folder = Folder::new();
    write(&folder, "x.npy", &[4, 3], 7);
    write(&folder, "y.npy", &[4, 3], 8);
    write_f32(&folder, "single.npy", &[5], 9);
    let plan = "--sum tree --plan-threads 8 --plan-blocks 4";
    let cases = [
        ("--op norm2 --input x.npy --lanes 64".to_owned(), ""),
        (format!("--op norm2 --input x.npy --lanes 64 {plan}"), ""),
        // The plan of an H200, on every device.
        ("--op norm2 --input x.npy --sum tree".to_owned(), ""),
        ("--op inner --input x.npy --with y.npy --parity odd".to_owned(), ""),
        (format!("--op inner --input x.npy --with y.npy {plan}"), "--finish second-kernel"),
        ("--op sum --input single.npy".to_owned(), "--strategy staged:2"),
        (format!("--op sum --input single.npy --lanes 16 {plan}"), "--strategy serial-words"),
        (format!("--op sum --input single.npy --lanes 16 {plan}"), "--strategy fused:3"),
        ("--op slices --input single.npy --direction y".to_owned(), ""),
        (format!("--op slices --input single.npy {plan} --parity even"), "--strategy fused:2"),
    ];
    for (what, how) in cases {
        let cpu = folder.succeeds(&format!("reduce {what} --bits --device cpu"));
        assert_eq!(folder.succeeds(&format!("reduce {what} --bits {how} {device}")), cpu, "{what} {how}");
    }
}

#[test]
fn threads_and_lanes_change_no_exact_sum_and_lanes_change_a_tree() {
    let folder = Folder::new();
    write(&folder, "x.npy", &[4, 3], 10);
    let reduce = |how: &str| folder.succeeds(&format!("reduce --op slices --bits --device cpu --input x.npy {how}"));
    assert_eq!(reduce("--lanes 16 --threads 1"), reduce("--lanes 64 --threads 2"));
    let plan = "--sum tree --plan-threads 4 --plan-blocks 2";
    assert_eq!(reduce(&format!("{plan} --lanes 64 --threads 1")), reduce(&format!("{plan} --lanes 64 --threads 2")));
    assert_ne!(reduce(&format!("{plan} --lanes 16")), reduce(&format!("{plan} --lanes 64")));
}

#[test]
fn infinities_and_nans_are_summed_and_survive_json() {
    let folder = Folder::new();
    let mut values = vec![Complex::new(0.5, -0.0); 3 * SITES];
    values[3].re = f64::INFINITY;
    values[4].re = f64::NAN;
    npy::write_complex(&folder.path("x.npy"), &shape(&[3]), &values).unwrap();
    let printed = folder.succeeds("reduce --op sum --bits --device cpu --input x.npy");
    let expected = [
        "0  inf 7ff0000000000000  -0 8000000000000000",
        "1  NaN 7ff8000000000000  -0 8000000000000000",
        "2   96 4058000000000000  -0 8000000000000000",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    let json = folder.json("reduce --op sum --device cpu --input x.npy");
    let value = |word: usize, name: &str| json["values"][word][name].clone();
    assert!(value(0, "re").is_null() && value(1, "re").is_null());
    assert_eq!([0, 1, 2].map(|word| value(word, "re_bits")), expected.map(|line| &line[7..23]));
    assert_eq!((value(2, "re"), value(2, "im"), value(2, "word")), (96.0.into(), (-0.0).into(), 2.into()));
}

#[test]
fn json_says_what_was_summed_and_how() {
    let folder = Folder::new();
    let x = write(&folder, "x.npy", &[4, 3], 11);
    let how = "--device cpu --threads 1 --lanes 32";
    let json = folder.json(&format!("reduce --op norm2 --input x.npy {how}"));
    assert_eq!(
        json["values"],
        serde_json::json!([{ "re": x.norm2(), "re_bits": format!("{:016x}", x.norm2().to_bits()) }])
    );
    assert_eq!((&json["op"], &json["sum"], &json["object"]), (&"norm2".into(), &"exact".into(), &"spinor".into()));
    assert_eq!((&json["precision"], &json["lane_bytes"], &json["words"]), (&"f64".into(), &32.into(), &12.into()));
    assert_eq!((&json["lattice"], &json["sites"]), (&serde_json::json!(EXTENTS), &"full".into()));
    assert_eq!((&json["device"]["name"], &json["device"]["compute_units"]), (&"CPU reference".into(), &1.into()));
    let json = folder.json(&format!("reduce --op slices --input x.npy --sum tree --parity even {how}"));
    assert_eq!(json["sum"], "tree of 256 blocks of 128 threads in warps of 32");
    assert_eq!(json["values"].as_array().unwrap().len(), EXTENTS[3] * 12);
    assert_eq!((&json["values"][13]["slice"], &json["values"][13]["word"]), (&1.into(), &1.into()));
    let json = folder.json(&format!("reduce --op inner --input x.npy --with x.npy --sum tree {how}"));
    assert_eq!(json["sum"], "tree of 256 blocks of 1024 threads in warps of 32");
    assert!(json["values"][0]["im_bits"].is_string() && json["values"][0]["word"].is_null());
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::new();
    write(&folder, "x.npy", &[4, 3], 1);
    write(&folder, "long.npy", &[12], 1);
    write_f32(&folder, "single.npy", &[4, 3], 1);
    let fails = |what: &str| folder.fails(2, &format!("reduce --device cpu --input x.npy {what}"));
    let misused = |what: &str| folder.misused(&format!("reduce --device cpu --input x.npy {what}"));
    assert_contains(&fails("--op inner"), &["--op inner needs --with"]);
    assert_contains(&fails("--op norm2 --with x.npy"), &["--with is for --op inner; norm2"]);
    assert_contains(&fails("--op sum --direction x"), &["--direction is for --op slices; sum"]);
    let error = fails("--op inner --with long.npy");
    assert_contains(&error, &["complex128 (6, 4, 2, 4, 4, 3)", "--with long.npy", "complex128 (6, 4, 2, 4, 12)"]);
    assert_contains(
        &fails("--op inner --with single.npy"),
        &["complex128 (6", "complex64 (6", "same shape and precision"],
    );
    assert_contains(&fails("--op sum --strategy fused:4"), &["--strategy is for OpenCL devices"]);
    assert_contains(&fails("--op sum --finish second-kernel"), &["--finish is for OpenCL devices", "the CPU has one"]);
    assert_contains(&fails("--op norm2 --plan-threads 8"), &["--plan-… is for --sum tree"]);
    assert_contains(
        &fails("--op norm2 --sum tree --plan-threads 40"),
        &["failed to plan", "40 threads", "warps of 32"],
    );
    assert_contains(&fails("--op norm2 --lanes 8"), &["8 bytes", "at least 16"]);
    assert_contains(&misused("--op norm3"), &["'norm3'", "norm2, sum, inner, slices"]);
    assert_contains(&misused("--op slices --direction w"), &["invalid direction 'w'", "x, y, z or t"]);
    assert_contains(&misused("--op sum --strategy fused:0"), &["'fused:0'", "staged:R", "serial-words"]);
    assert_contains(&misused("--op sum --finish later"), &["'later'", "second-kernel or retirement-count"]);
    assert_contains(&misused("--op sum --plan-device rtx"), &["'rtx'", "mi250x"]);
    assert_contains(&misused("--op sum --legs +x"), &["unexpected argument '--legs'"]);
}

#[test]
fn an_array_that_is_no_field_is_refused_with_its_shape() {
    let folder = Folder::new();
    let refusal = |shape: &[usize]| {
        let values = vec![Complex::new(1.0, 0.0); shape.iter().product()];
        npy::write_complex(&folder.path("x.npy"), shape, &values).unwrap();
        folder.fails(2, "reduce --op norm2 --device cpu --input x.npy")
    };
    assert_contains(&refusal(&[4, 4, 4]), &["failed to read x.npy", "(4, 4, 4)", "3 axes, not 4 or more"]);
    assert_contains(&refusal(&[2, 0, 2, 2]), &["(2, 0, 2, 2)", "2.2.0.2"]);
    assert_contains(&refusal(&[2, 2, 2, 2, 4, 0]), &["(2, 2, 2, 2, 4, 0)", "a site has 0 numbers, not 1 to 4096"]);
    assert_contains(&refusal(&[1, 1, 1, 1, 4097]), &["a site has 4097 numbers, not 1 to 4096"]);
    assert_contains(&folder.fails(2, "reduce --op sum --input absent.npy"), &["cannot read absent.npy"]);
}

#[test]
fn a_norm_whose_squares_are_out_of_range_is_told() {
    let folder = Folder::new();
    for (number, is_told) in
        [(1e-170, true), (1e-158, true), (1e170, true), (0.0, false), (1e-150, false), (1e150, false)]
    {
        npy::write_complex(&folder.path("x.npy"), &shape(&[4, 3]), &vec![Complex::new(number, 0.0); SITES * 12])
            .unwrap();
        let output = folder.command("reduce --op norm2 --input x.npy --device cpu").output().unwrap();
        let warning = "warning: squares of these numbers are out of range";
        assert!(output.status.success() && text(&output.stderr).contains(warning) == is_told, "{number}: {output:?}");
    }
}
