//! The OpenCL runtime on a real driver: memory, programs, launches, errors, the cache of binaries, the arithmetic probe.
//! Its parts that need no driver are tested in `src/backend/opencl/`.

use std::sync::Arc;

use lanefield::backend::opencl::{Arg, Buffer, Cache, Context, Launch, OpenClError, Program, probe};

use crate::common;

/// One program for all tests: PoCL takes the better part of a second for each.
const SOURCE: &str = "
kernel void scale(global float *x, float factor, uint n) {
    uint i = get_global_id(0);
    if (i < n) x[i] *= factor;
}
kernel void group_sum(global const float *x, global float *sums, local float *scratch) {
    uint i = get_local_id(0);
    scratch[i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) {
        float sum = 0;
        for (uint k = 0; k < get_local_size(0); k++) sum += scratch[k];
        sums[get_group_id(0)] = sum;
    }
}
kernel void count(global uint *x, uint rounds) {
    for (uint round = 0; round < rounds; round++) x[0] = x[0] * 1664525 + round;
}
";

fn line(global: usize, local: usize) -> Launch {
    Launch { global: [global, 1, 1], local: [local, 1, 1] }
}

/// A context that shares no files with other runs.
fn context() -> Option<(Context, tempfile::TempDir)> {
    let device = common::opencl_device()?;
    let directory = tempfile::tempdir().unwrap();
    Some((Context::open_with_cache(&device, Cache::at(directory.path())).unwrap(), directory))
}

fn program(context: &Context) -> Arc<Program> {
    // SAFETY: the tests launch its kernels with buffers of the sizes that they ask for.
    unsafe { context.program("runtime test", SOURCE, "").unwrap() }
}

fn floats(context: &Context, values: &[f32]) -> Buffer {
    let buffer = context.allocate(size_of_val(values), "test floats").unwrap();
    context.write(&buffer, 0, bytemuck::cast_slice(values)).unwrap();
    buffer
}

fn read_floats(context: &Context, buffer: &Buffer) -> Vec<f32> {
    let mut values = vec![0.0; buffer.bytes() / size_of::<f32>()];
    context.read(buffer, 0, bytemuck::cast_slice_mut(&mut values)).unwrap();
    values
}

#[test]
fn bytes_written_are_read_back_also_from_the_middle() {
    let Some((context, _directory)) = context() else { return };
    let buffer = context.allocate(10, "ten bytes").unwrap();
    context.write(&buffer, 0, b"0123456789").unwrap();
    context.write(&buffer, 3, b"abc").unwrap();
    let mut middle = [0; 5];
    context.read(&buffer, 2, &mut middle).unwrap();
    assert_eq!(&middle, b"2abc6");
}

#[test]
fn fill_zero_and_copy_reach_every_byte_of_odd_sizes() {
    let Some((context, _directory)) = context() else { return };
    for bytes in [1, 7, 16, 1002, 4096] {
        let src = context.allocate(bytes, "source").unwrap();
        let dst = context.allocate(bytes, "destination").unwrap();
        context.write(&src, 0, &vec![0xff; bytes]).unwrap();
        context.copy(&src, &dst, bytes).unwrap();
        context.fill_zero(&src).unwrap();
        let (mut zeros, mut ones) = (vec![1; bytes], vec![1; bytes]);
        context.read(&src, 0, &mut zeros).unwrap();
        context.read(&dst, 0, &mut ones).unwrap();
        assert!(zeros.iter().all(|&byte| byte == 0) && ones.iter().all(|&byte| byte == 0xff), "{bytes} bytes");
    }
}

#[test]
fn an_empty_buffer_works_and_the_account_follows_allocations() {
    let Some((context, _directory)) = context() else { return };
    let empty = context.allocate(0, "nothing").unwrap();
    assert_eq!(empty.bytes(), 0);
    context.fill_zero(&empty).unwrap();
    context.read(&empty, 0, &mut []).unwrap();
    let before = context.memory();
    let buffer = context.allocate(1000, "a thousand bytes").unwrap();
    assert_eq!((context.memory().bytes, context.memory().buffers), (before.bytes + 1000, before.buffers + 1));
    drop(buffer);
    assert_eq!(context.memory(), before);
}

#[test]
fn a_transfer_beyond_the_end_is_an_error() {
    let Some((context, _directory)) = context() else { return };
    let buffer = context.allocate(8, "eight bytes").unwrap();
    let message = context.write(&buffer, 4, &[0; 5]).unwrap_err().to_string();
    assert_eq!(message, "bytes 4..9 lie outside the 8 bytes of eight bytes");
    assert!(matches!(context.read(&buffer, usize::MAX, &mut [0; 2]), Err(OpenClError::OutOfRange { .. })));
    assert!(matches!(context.copy(&buffer, &buffer, 9), Err(OpenClError::OutOfRange { .. })));
}

#[test]
fn a_launch_computes_in_order_with_the_transfers_around_it() {
    let Some((context, _directory)) = context() else { return };
    let program = program(&context);
    let x = floats(&context, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let sums = context.allocate(8, "sums").unwrap();
    context.launch(&program, "scale", line(8, 4), &[Arg::Buffer(&x), Arg::F32(0.5), Arg::U32(7)]).unwrap();
    context.launch(&program, "group_sum", line(8, 4), &[Arg::Buffer(&x), Arg::Buffer(&sums), Arg::Local(16)]).unwrap();
    assert_eq!(read_floats(&context, &sums), [5.0, 17.0]);
}

#[test]
fn a_timed_launch_takes_some_time() {
    let Some((context, _directory)) = context() else { return };
    let program = program(&context);
    let x = floats(&context, &vec![1.0; 1 << 20]);
    let args = [Arg::Buffer(&x), Arg::F32(2.0), Arg::U32(1 << 20)];
    let seconds = context.launch_timed(&program, "scale", line(1 << 20, 64), &args).unwrap();
    assert!(seconds > 0.0 && seconds < 60.0, "{seconds}");
}

#[test]
fn threads_that_share_a_kernel_do_not_mix_their_arguments() {
    let Some((context, _directory)) = context() else { return };
    let program = program(&context);
    let buffers: Vec<Buffer> = (0..4).map(|_| floats(&context, &[1.0; 8])).collect();
    std::thread::scope(|scope| {
        for (buffer, factor) in buffers.iter().zip([2.0, 3.0, 5.0, 7.0]) {
            let (context, program) = (&context, &program);
            scope.spawn(move || {
                for _ in 0..8 {
                    let args = [Arg::Buffer(buffer), Arg::F32(factor), Arg::U32(8)];
                    context.launch(program, "scale", line(8, 4), &args).unwrap();
                }
            });
        }
    });
    for (buffer, factor) in buffers.iter().zip([2.0f32, 3.0, 5.0, 7.0]) {
        assert_eq!(read_floats(&context, buffer), [factor.powi(8); 8]);
    }
}

#[test]
fn on_pocl_a_kernel_starts_when_those_of_other_queues_are_done() {
    let Some((first, _directory)) = context() else { return };
    if !first.info().platform_name.contains("Portable Computing Language") {
        return;
    }
    let (second, _directory) = context().unwrap();
    let launched = |context: &Context, rounds| {
        let numbers = context.allocate(4, "a number").unwrap();
        let args = [Arg::Buffer(&numbers), Arg::U32(rounds)];
        context.launch_event(&program(context), "count", line(1, 1), &args).unwrap()
    };
    // The first launches, for which the machine code is made, are waited for anyway.
    for context in [&first, &second] {
        context.times(&launched(context, 1)).unwrap();
    }
    // One work-item leaves the other cores free.
    let (long, short) = (launched(&first, 50_000_000), launched(&second, 1));
    let (long, short) = (first.times(&long).unwrap(), second.times(&short).unwrap());
    assert!(long.end <= short.start, "one ended at {} ns, the other started at {} ns", long.end, short.start);
}

#[test]
fn launches_that_do_not_fit_are_errors_with_their_sizes() {
    let Some((context, _directory)) = context() else { return };
    let program = program(&context);
    let x = floats(&context, &[0.0; 8]);
    let args = [Arg::Buffer(&x), Arg::F32(1.0), Arg::U32(8)];
    let error = |launch, args: &[Arg<'_>]| context.launch(&program, "scale", launch, args).unwrap_err().to_string();

    let too_many = 1 << 20;
    let message = error(line(too_many, too_many), &args);
    assert!(message.contains("local size [1048576, 1, 1]") && message.contains("at most"), "{message}");
    assert!(error(line(8, 3), &args).contains("must be a positive multiple"));
    assert!(error(line(0, 4), &args).contains("must be a positive multiple"));
    assert!(error(line(8, 4), &args[..2]).contains("takes 3 arguments, and 2 were given"));
    let message = error(line(8, 4), &[Arg::Buffer(&x), Arg::F64(1.0), Arg::U32(8)]);
    assert!(message.contains("clSetKernelArg") && message.contains("argument 1 (double 1, 8 bytes)"), "{message}");
    let message = context.launch(&program, "scales", line(8, 4), &args).unwrap_err().to_string();
    assert!(message.contains("has no kernel scales; it has: ") && message.contains("group_sum"), "{message}");
    let too_much = usize::try_from(context.info().local_memory_bytes).unwrap() + 1;
    let args = [Arg::Buffer(&x), Arg::Buffer(&x), Arg::Local(too_much)];
    let message = context.launch(&program, "group_sum", line(8, 4), &args).unwrap_err().to_string();
    assert!(message.contains("bytes of local memory in a work-group"), "{message}");
}

#[test]
fn a_buffer_of_another_context_is_refused() {
    let Some((context, _directory)) = context() else { return };
    let other = Context::open_with_cache(context.info(), Cache::disabled()).unwrap();
    let buffer = other.allocate(8, "a foreign buffer").unwrap();
    let message = context.fill_zero(&buffer).unwrap_err().to_string();
    assert!(message.starts_with("a foreign buffer belongs to another OpenCL context"), "{message}");
}

#[test]
fn out_of_memory_says_for_what_and_what_is_held() {
    let Some((context, _directory)) = context() else { return };
    let _held = context.allocate(1000, "a small field").unwrap();
    let bytes = usize::try_from(context.info().global_memory_bytes).unwrap().saturating_mul(2);
    let message = context.allocate(bytes, "a spinor of a huge lattice").unwrap_err().to_string();
    let expected = format!("no room for {bytes} bytes of a spinor of a huge lattice on");
    assert!(message.contains(&expected) && message.contains("1000 bytes in 1 buffers"), "{message}");
}

#[test]
fn a_build_error_carries_the_log_and_the_options() {
    let Some((context, _directory)) = context() else { return };
    let source = "#line 7 \"broken.cl\"\nkernel void f(global float *x) { x[0] = undeclared_name; }\n";
    // SAFETY: it does not build.
    let message = unsafe { context.program("broken", source, "-DN=8") }.unwrap_err().to_string();
    // NVIDIA's compiler pays no heed to #line.
    let line = if context.info().platform_name.contains("NVIDIA") { "error" } else { "broken.cl:7" };
    for part in ["program broken", "-DN=8", "CL_BUILD_PROGRAM_FAILURE", line, "undeclared_name"] {
        assert!(message.contains(part), "{part} is missing from: {message}");
    }
}

#[test]
fn a_program_is_built_once_and_its_binary_loads_in_the_next_context() {
    let Some((context, directory)) = context() else { return };
    let first = program(&context);
    assert!(!first.from_disk());
    let building = context.builds().time();
    assert!(!building.is_zero());
    assert!(Arc::ptr_eq(&first, &program(&context)));
    assert_eq!(context.builds().time(), building);

    let next = Context::open_with_cache(context.info(), Cache::at(directory.path())).unwrap();
    let loaded = program(&next);
    assert!(loaded.from_disk());
    let x = floats(&next, &[1.0; 8]);
    next.launch(&loaded, "scale", line(8, 4), &[Arg::Buffer(&x), Arg::F32(3.0), Arg::U32(8)]).unwrap();
    assert_eq!(read_floats(&next, &x), [3.0; 8]);
}

#[test]
fn binaries_are_kept_where_the_driver_keeps_no_programs_itself() {
    let Some(device) = common::opencl_device() else { return };
    let context = Context::open(&device).unwrap();
    let pocl = device.platform_name.contains("Portable Computing Language");
    assert_eq!(context.cache().keeps_programs(), !pocl);
    let x = floats(&context, &[1.0; 8]);
    let program = program(&context);
    context.launch(&program, "scale", line(8, 4), &[Arg::Buffer(&x), Arg::F32(3.0), Arg::U32(8)]).unwrap();
    assert_eq!(read_floats(&context, &x), [3.0; 8]);
}

#[test]
fn a_truncated_binary_is_built_again_and_replaced() {
    let Some((context, directory)) = context() else { return };
    program(&context);
    let files = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let programs: Vec<_> = files.filter(|file| file.extension().is_some_and(|kind| kind == "program")).collect();
    let [file] = &programs[..] else { panic!("{programs:?}") };
    let whole = std::fs::metadata(file).unwrap().len();
    let truncated = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    truncated.set_len(whole - 1).unwrap();

    let reopen = || Context::open_with_cache(context.info(), Cache::at(directory.path())).unwrap();
    assert!(!program(&reopen()).from_disk());
    assert!(program(&reopen()).from_disk());
}

#[test]
fn the_device_keeps_the_arithmetic_contract() {
    let Some((context, _directory)) = context() else { return };
    let verdict = probe(&context).unwrap();
    assert!(verdict.is_bitwise(), "{}", verdict.why_not().unwrap());
    assert!(verdict.checks.iter().all(|check| check.cases > 1000), "{:?}", verdict.checks);
}

#[test]
fn the_verdict_is_stored_and_a_damaged_one_measured_again() {
    let Some((context, directory)) = context() else { return };
    let verdict = probe(&context).unwrap();
    let stored = || {
        let files = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|suffix| suffix == "probe")).unwrap()
    };
    let whole = std::fs::read(stored()).unwrap();
    assert_eq!(probe(&context).unwrap(), verdict);
    std::fs::write(stored(), &whole[..whole.len() / 2]).unwrap();
    assert_eq!(probe(&context).unwrap(), verdict);
    assert_eq!(std::fs::read(stored()).unwrap(), whole);
}

#[test]
fn pinned_memory_is_zero_at_first_and_its_bytes_travel_both_ways() {
    let Some((context, _directory)) = context() else { return };
    let mut pinned = context.allocate_host(1000, "staging").unwrap();
    assert_eq!((pinned.bytes(), pinned.what()), (1000, "staging"));
    assert_eq!(pinned.as_slice(), [0; 1000]);
    pinned.as_mut_slice().iter_mut().zip(0u32..).for_each(|(byte, k)| *byte = (7 * k) as u8);
    let buffer = context.allocate(1000, "device's bytes").unwrap();
    context.write(&buffer, 0, pinned.as_slice()).unwrap();
    let mut back = context.allocate_host(500, "the way back").unwrap();
    context.read(&buffer, 250, back.as_mut_slice()).unwrap();
    assert_eq!(back.as_slice(), &pinned.as_slice()[250..750]);
}

#[test]
fn pinned_memory_outlives_the_context() {
    let Some((context, _directory)) = context() else { return };
    let mut pinned = context.allocate_host(64, "staging").unwrap();
    drop(context);
    pinned.as_mut_slice()[63] = 5;
    assert_eq!(pinned.as_slice()[63], 5);
}

#[test]
fn a_mapped_buffer_is_read_and_written_in_its_middle() {
    let Some((context, _directory)) = context() else { return };
    let mut buffer = context.allocate(10, "ten bytes").unwrap();
    context.write(&buffer, 0, b"0123456789").unwrap();
    context.write_mapped(&mut buffer, 3, b"abc").unwrap();
    assert_eq!(context.read_mapped(&mut buffer, 2, 5, <[u8]>::to_vec).unwrap(), b"2abc6");
    let mut all = [0; 10];
    context.read(&buffer, 0, &mut all).unwrap();
    assert_eq!(&all, b"012abc6789");
}

#[test]
fn mapping_beyond_the_end_is_refused_and_mapping_nothing_does_nothing() {
    let Some((context, _directory)) = context() else { return };
    let mut buffer = context.allocate(10, "ten bytes").unwrap();
    let error = context.read_mapped(&mut buffer, 8, 3, |_| ()).unwrap_err().to_string();
    assert_eq!(error, "bytes 8..11 lie outside the 10 bytes of ten bytes");
    assert!(matches!(context.write_mapped(&mut buffer, 0, &[0; 11]), Err(OpenClError::OutOfRange { .. })));
    context.write_mapped(&mut buffer, 10, &[]).unwrap();
    assert_eq!(context.read_mapped(&mut buffer, 10, 0, <[u8]>::len).unwrap(), 0);
}
