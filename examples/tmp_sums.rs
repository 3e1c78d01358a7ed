use lanefield::backend::opencl::*;
use lanefield::backend::*;
use lanefield::reference::field::*;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::*;
use num_complex::Complex;
fn med(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}
fn field<R: Vectors>(l: Lattice, words: usize) -> Field<R, Words> {
    Field::from_sites(l, Sites::Full, Words(words), |site, o| {
        for (k, v) in o.iter_mut().enumerate() {
            let h = (site as u64 * 1009 + k as u64).wrapping_mul(0x9E3779B97F4A7C15);
            let f = |h: u64| (h >> 40) as f64 / (1u64 << 23) as f64 - 1.0;
            *v = Complex::new(R::from_f64(f(h)), R::from_f64(f(h.wrapping_mul(77777777777))));
        }
    })
    .unwrap()
}
fn time(b: &OpenCl, f: impl Fn() -> Result<(), BackendError>) -> Option<f64> {
    if let Err(e) = f() {
        println!("   {e}");
        return None;
    }
    Some(med((0..11).map(|_| b.time(&mut || f()).unwrap()).collect()))
}
fn main() {
    let d = devices()
        .unwrap()
        .into_iter()
        .find(|d| d.kind == DeviceKind::Gpu || std::env::args().nth(1).is_some())
        .unwrap();
    println!("{} retirement {:?}", d.name, d.retirement);
    let mut b = OpenCl::open(&d, AcceleratorThreads::DEFAULT).unwrap();
    let read = b.read_bandwidth().unwrap();
    let copy = b.copy_bandwidth().unwrap();
    println!("read {:.0} copy {:.0}", read * 1e-9, copy * 1e-9);
    if std::env::args().nth(1).is_none() { for (f, o) in [("reduce.cl", "-DPRECISION=32 -DNSIMD=8 -DWORDS=12 -DBUNDLE=4 -DFIELDS=1"), ("reduce.cl", "-DPRECISION=64 -DNSIMD=4 -DWORDS=144 -DBUNDLE=4 -DFIELDS=1"), ("reduce.cl", "-DPRECISION=64 -DNSIMD=4 -DWORDS=144 -DBUNDLE=2 -DFIELDS=1"),
        ("reduce.cl", "-DPRECISION=64 -DNSIMD=4 -DWORDS=144 -DBUNDLE=12 -DFIELDS=1 -DTREE -DTHREADS=128 -DWARP=32 -DCHUNK=24"), ("blas.cl", "-DPRECISION=64 -DNSIMD=4 -DWORDS=12 -DTREE -DTHREADS=256 -DWARP=32 -DCHUNK=12"), ("blas.cl", "-DPRECISION=64 -DNSIMD=4 -DWORDS=12 ")] {
        println!("{o}\n{}", b.context().program(f, &expand(f).unwrap(), &format!("{o} -cl-nv-verbose")).unwrap().log().lines().filter(|l| l.contains("registers") || l.contains("Compiling") || l.contains("spill")).collect::<Vec<_>>().join("\n"));
    } }
    let small = std::env::args().nth(1).is_some();
    let ext = |e: [usize; 4]| Extents::new(if small { [8, 8, 8, 8] } else { e }).unwrap();
    for w in ["64", "128"] {
        let lattice = Lattice::new(
            ext([32, 32, 32, 32]),
            <f64 as lanefield::reference::real::Real>::COMPLEX,
            LatticeOptions { lanes: w.parse().unwrap(), ..Default::default() },
        )
        .unwrap();
        let x = b.upload(field::<f64>(lattice, 144)).unwrap();
        let bytes = (lattice.extents().volume() * 144 * 16) as f64;
        for finish in [Finish::SecondKernel, Finish::RetirementCount] {
            for r in [1, 2, 4, 6, 12] {
                for threads in [128, 256] {
                    for blocks in [256] {
                        b.set_sum_options(SumOptions {
                            form: Some(SumForm::Fused(r)),
                            finish: Some(finish),
                            ..Default::default()
                        });
                        let plan = TreePlan::new(threads, blocks).unwrap();
                        if let Some(t) = time(&b, || b.sum(&x, Sum::Tree(plan)).map(drop)) {
                            println!(
                                "W{w} {finish} tree R{r} B{threads} G{blocks}: {:.0} us {:.0} GB/s {:.1}%",
                                t * 1e6,
                                bytes / t * 1e-9,
                                100. * bytes / t / read
                            );
                        }
                    }
                }
                for group in [64, 128, 256] {
                    for gpu in [8, 32, 128] {
                        if finish == Finish::RetirementCount && gpu != 128 {
                            continue;
                        }
                        b.set_sum_options(SumOptions {
                            form: Some(SumForm::Fused(r)),
                            finish: Some(finish),
                            group: Some(group),
                            groups_per_unit: Some(gpu),
                            ..Default::default()
                        });
                        if let Some(t) = time(&b, || b.sum(&x, Sum::Exact).map(drop)) {
                            println!(
                                "W{w} {finish} exact R{r} T{group} gpu{gpu}: {:.0} us {:.0} GB/s {:.1}%",
                                t * 1e6,
                                bytes / t * 1e-9,
                                100. * bytes / t / read
                            );
                        }
                    }
                }
            }
        }
    }
    fn norms<R: Vectors>(b: &mut OpenCl, e: Extents, read: f64) {
        let lattice =
            Lattice::new(e, R::COMPLEX, LatticeOptions { lanes: "64".parse().unwrap(), ..Default::default() }).unwrap();
        let x = b.upload(field::<R>(lattice, 12)).unwrap();
        let mut y = b.upload(field::<R>(lattice, 12)).unwrap();
        let bytes = (e.volume() * 12 * 2 * size_of::<R>()) as f64;
        for finish in [Finish::SecondKernel, Finish::RetirementCount] {
            for group in [64, 128, 256, 512] {
                for gpu in [4, 6, 8, 12, 16, 32] {
                    b.set_sum_options(SumOptions {
                        finish: Some(finish),
                        group: Some(group),
                        groups_per_unit: Some(gpu),
                        ..Default::default()
                    });
                    if let Some(t) = time(&b, || b.norm2(&x, Sum::Exact).map(drop)) {
                        let i = time(&b, || b.inner_product(&x, &y, Sum::Exact).map(drop)).unwrap_or(f64::NAN);
                        let a = {
                            b.axpy_norm(1e-6, &x, &mut y, Sum::Exact).unwrap();
                            med((0..11)
                                .map(|_| b.time(&mut || b.axpy_norm(1e-6, &x, &mut y, Sum::Exact).map(drop)).unwrap())
                                .collect())
                        };
                        println!(
                            "{} {finish} norm2 T{group} gpu{gpu}: {:.1} us {:.1}% read; inner {:.1} us {:.1}% ; axpy_norm {:.1} us {:.1}% of read",
                            R::NAME,
                            t * 1e6,
                            100. * bytes / t / read,
                            i * 1e6,
                            200. * bytes / i / read,
                            a * 1e6,
                            300. * bytes / a / read
                        );
                    }
                }
            }
            for (threads, blocks) in [(1024, 256), (512, 256), (256, 256), (256, 1024)] {
                let plan = Sum::Tree(TreePlan::new(threads, blocks).unwrap());
                if let Some(t) = time(&b, || b.norm2(&x, plan).map(drop)) {
                    let i = time(&b, || b.inner_product(&x, &y, plan).map(drop)).unwrap_or(f64::NAN);
                    let a = {
                        b.axpy_norm(1e-6, &x, &mut y, plan).unwrap();
                        med((0..11)
                            .map(|_| b.time(&mut || b.axpy_norm(1e-6, &x, &mut y, plan).map(drop)).unwrap())
                            .collect())
                    };
                    println!(
                        "{} {finish} tree norm2 B{threads} G{blocks}: {:.1} us {:.1}% read; inner {:.1} us {:.1}%; axpy_norm {:.1} us {:.1}%",
                        R::NAME,
                        t * 1e6,
                        100. * bytes / t / read,
                        i * 1e6,
                        200. * bytes / i / read,
                        a * 1e6,
                        300. * bytes / a / read
                    );
                }
            }
        }
    }
    norms::<f32>(&mut b, ext([32, 32, 32, 64]), read);
    norms::<f64>(&mut b, ext([32, 32, 32, 64]), read);
}
