//! One generic suite, instantiated for each backend: a test is a function of `&impl Backend`.

use lanefield::backend::opencl::Tuning;
use lanefield::backend::{Cpu, OpenCl};
use lanefield::dynamic::AnyBackend;
use lanefield::kernel::Outcome;
use lanefield::verify::{Difference, compare_host_fields};
use lanefield_reference::layout::AcceleratorThreads;

/// The CPU reference, as a backend that is known at run time: solvers and operators are compiled for that alone.
pub fn cpu() -> AnyBackend {
    host().into()
}

/// The CPU reference itself.
pub fn host() -> Cpu {
    Cpu::new(None).unwrap()
}

/// The OpenCL device for tests; `None` where tests may do without. Its new memory is NaN, so that no result can depend on what was there.
pub fn opencl() -> Option<OpenCl> {
    let device = super::opencl_device().map(|device| OpenCl::open(&device).unwrap())?;
    device.context().overwrite_new_memory(true);
    Some(device)
}

/// The same with groups of so many outer sites.
pub fn opencl_with(accelerator_threads: usize) -> Option<OpenCl> {
    let mut device = opencl()?;
    let threads = AcceleratorThreads::new(accelerator_threads).unwrap();
    device.set_tuning(Tuning { accelerator_threads: Some(threads), ..Tuning::OPEN });
    Some(device)
}

/// The CPU reference, and the OpenCL device with groups of so many outer sites.
pub struct Both {
    pub cpu: Cpu,
    pub device: OpenCl,
}

impl Both {
    pub fn open(accelerator_threads: usize) -> Option<Self> {
        Some(Self { cpu: host(), device: opencl_with(accelerator_threads)? })
    }
}

/// Panics unless two sides gave the same bits.
pub fn assert_same_outcome(found: &Outcome, expected: &Outcome, what: &str) {
    assert_eq!(found.fields.len(), expected.fields.len(), "{what}");
    for ((name, found), (_, expected)) in found.fields.iter().zip(&expected.fields) {
        if let (Some(mismatch), _) = compare_host_fields(found, expected).unwrap() {
            panic!("{what}: {name}: {mismatch}");
        }
    }
    assert_eq!(found.sums.len(), expected.sums.len(), "{what}");
    for (number, (found, expected)) in found.sums.iter().zip(&expected.sums).enumerate() {
        assert_eq!(Difference::between(*found, *expected), None, "{what}: sum {number}");
    }
}

/// Makes a test of each function named, on the CPU reference and on the OpenCL device. Those of `in test-all` run on OpenCL in `make test-all` only:
/// that OpenCL has the CPU's bits is proved kernel by kernel (`tests/kernels.rs`), so that one function an operator or a solver serves to show that it
/// launches them there.
macro_rules! on_every_backend {
    (in test-all: $($in_all:ident),+ $(,)?) => {
        crate::common::backends::on_every_backend!(; in test-all: $($in_all),+);
    };
    ($($name:ident),* $(; in test-all: $($in_all:ident),+)? $(,)?) => {
        mod on_the_cpu_reference {
            $(#[test]
            fn $name() {
                super::$name(&crate::common::backends::cpu());
            })*
            $($(#[test]
            fn $in_all() {
                super::$in_all(&crate::common::backends::cpu());
            })+)?
        }
        mod on_opencl {
            $(#[test]
            fn $name() {
                if let Some(device) = crate::common::backends::opencl() {
                    super::$name(&lanefield::dynamic::AnyBackend::from(device));
                }
            })*
            $($(#[test]
            #[ignore = "test-all: runs on the CPU"]
            fn $in_all() {
                if let Some(device) = crate::common::backends::opencl() {
                    super::$in_all(&lanefield::dynamic::AnyBackend::from(device));
                }
            })+)?
        }
    };
}
pub(crate) use on_every_backend;

/// `check_kernel!` of kernels of the library, which `tests/kernels.rs` runs on the device in `make test`.
macro_rules! check_library_kernels {
    ($($family:ident :: $name:ident: $($against:ident $(($($fields:tt)*))?),+;)+) => {
        $(lanefield::body::check_kernel!(
            #[ignore = "test-all: tests/kernels.rs runs it on the device"]
            lanefield::kernel::$family::$name,
            $($against $(($($fields)*))?),+
        );)+
    };
}
pub(crate) use check_library_kernels;
