use lanefield::backend::{Cpu, OpenCl, opencl::devices};
use lanefield::verify::{Against, VerifyOptions, verify};
fn main() {
    let host = Cpu::new(None).unwrap();
    let which = std::env::args().nth(1).unwrap_or_default();
    let cases = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(2);
    let mut options = VerifyOptions::quick(1);
    options.cases = cases;
    options.sums = std::env::args().nth(3).and_then(|n| n.parse().ok()).unwrap_or(8);
    options.large_lattices = false;
    let observe = |p: lanefield::verify::Progress| eprintln!("{}/{} {}", p.done, p.cases, p.components);
    let start = std::time::Instant::now();
    let report = if which == "plain" {
        let mut tested = Cpu::new(None).unwrap();
        verify(&mut tested, Against::PlainLoops, &host, &options, observe)
    } else {
        let all = devices().unwrap();
        let mut tested = OpenCl::open(&all[0]).unwrap();
        verify(&mut tested, Against::Cpu, &host, &options, observe)
    };
    let report = report.unwrap();
    for row in &report.rows {
        println!(
            "{:40} {:5} {:?} {:4} {:10} {:8.2}s {} {}",
            row.kernel,
            row.precision,
            row.reconstruct,
            row.comparisons,
            row.components,
            row.seconds,
            if row.same_bits() { "same" } else { "DIFFERENT" },
            row.failure.as_ref().map_or(String::new(), |f| format!("{} | {}", f.mismatch, f.description))
        );
    }
    println!("{} in {:?}", report.same_bits(), start.elapsed());
}
