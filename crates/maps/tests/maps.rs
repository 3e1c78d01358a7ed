//! Maps: bodies over index spaces, on the CPU against plain loops, and on an OpenCL device against the CPU, bit for bit, for many extents, blocks and
//! schedules. One test for each thing that `docs/maps.md` offers.

use std::sync::OnceLock;

use lanefield::backend::opencl::Launch;
use lanefield::backend::{Cpu, OpenCl};
use lanefield::check;
use lanefield_maps::prelude::*;
use lanefield_maps::{MapKernel, opencl};

fn host() -> Cpu {
    Cpu::new(None).unwrap()
}

/// A device whose new memory is NaN, so that no result can depend on what was there.
fn opened() -> Option<OpenCl> {
    check::device().inspect(|device| device.context().overwrite_new_memory(true))
}

/// The device of all these tests, so that each program is built once.
fn device() -> Option<&'static OpenCl> {
    static DEVICE: OnceLock<Option<OpenCl>> = OnceLock::new();
    DEVICE.get_or_init(opened).as_ref()
}

/// Does the same on the CPU and on the OpenCL device, and returns what comes of it, which is the same.
macro_rules! everywhere {
    (|$backend:ident| $work:expr) => {{
        let on_cpu = {
            let $backend = &host();
            $work
        };
        if let Some($backend) = device() {
            assert_eq!($work, on_cpu, "on the device, and on the CPU");
        }
        on_cpu
    }};
}

/// The message of an error that is the same on both.
macro_rules! refused {
    (|$backend:ident| $work:expr) => {
        everywhere!(|$backend| $work.unwrap_err().to_string())
    };
}

mod emitted;
mod faults;
mod folds;
mod index_space;
mod numbers;
mod portability;
mod refused;
mod schedules;
mod thread_blocks;
mod trial;

fn bits<T: Element>(numbers: Vec<T>) -> Vec<u64> {
    numbers.into_iter().map(Element::bits).collect()
}

/// Numbers of both signs and of many sizes.
fn numbers(count: usize) -> Vec<f32> {
    let number = |k: usize| {
        let k = (k as u32).wrapping_mul(2_654_435_761) ^ 0x9e37;
        (k as f32 / 65_536.0 - 30_000.0) * 2f32.powi((k % 13) as i32 - 6)
    };
    (0..count).map(number).collect()
}

fn integers(count: usize) -> Vec<i32> {
    (0..count).map(|k| (k as i32).wrapping_mul(1_103_515_245).wrapping_add(12_345) >> 8).collect()
}

const DEFAULT: MapOptions = MapOptions::DEFAULT;

/// Every schedule.
fn schedules(chunk: usize, groups: usize) -> [Schedule; 5] {
    [
        Schedule::Device,
        Schedule::ThreadBlock,
        Schedule::Persistent { groups: Some(groups) },
        Schedule::Dynamic { chunk },
        Schedule::Sequential,
    ]
}

fn size_of_first_launch(work: impl FnOnce(&OpenCl)) -> Option<Launch> {
    let device = opened()?;
    let mut work = Some(work);
    let launches = device.launches_of(&mut || {
        if let Some(work) = work.take() {
            work(&device);
        }
        Ok(())
    });
    Some(launches.unwrap()[0].work_items())
}

/// The text of a map over an index space of `rank` dimensions, a point or block for each work-item or group.
fn text_of(map: &'static MapKernel, rank: usize) -> String {
    let form = opencl::Form { walk: opencl::Walk::Each([1; 3]), rank, guarded: false, tracked: Vec::new() };
    opencl::kernel_text(map, &map.program().unwrap(), &form).unwrap()
}
