//! Programs: OpenCL C source that is built once in a process (kept in memory), and once for a device and driver (stored on disk, see
//! `cache.rs`). The sources themselves are in `cl/`, embedded by `sources.rs`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opencl3::kernel as cl_kernel;
use opencl3::program as cl;
use opencl3::types::cl_context;
use sha2::{Digest as _, Sha256};

use super::cache::{Cache, EntryKind, Key, compiler_environment};
use super::launched::{PROGRAM_ALONE, note_launched, was_launched};
use crate::backend::opencl::device::{
    ClStatus, Device, DeviceInfo, OpenClError, RawDevice, RawKernel, RawProgram, WIDE_SIZE, is_lost, lock, text,
    unsigned, unusable_cache,
};
use crate::backend::timeline::Group;

/// A program of the in-memory cache, or the place where one thread builds it while others wait.
type ProgramSlot = Arc<Mutex<Option<Arc<Program>>>>;

/// A built program. Its kernels are found by name when they are launched.
#[derive(Debug)]
pub struct Program {
    name: String,
    pub(crate) key: Key,
    options: String,
    raw: Arc<RawProgram>,
    /// The context in which it was built, only for comparison: OpenCL keeps that context alive as long as the program.
    context: usize,
    device: RawDevice,
    log: Arc<str>,
    from_disk: bool,
    /// The precision of its fields according to the options; empty if they do not name one.
    precision: &'static str,
    kernels: Mutex<HashMap<String, Arc<BuiltKernel>>>,
    /// Kernels and work-group sizes that were launched.
    launched: Mutex<HashSet<(String, [usize; 3])>>,
}

/// A kernel object. Setting its arguments and queueing it is one critical section, because clSetKernelArg is the only OpenCL call that is
/// not thread-safe.
#[derive(Debug)]
pub struct BuiltKernel {
    pub(crate) raw: Mutex<RawKernel>,
    /// "kernel hop of program hop f32"
    pub(crate) label: Arc<str>,
    /// "hop f32": its name in the statistics of a timeline
    pub(crate) short: Arc<str>,
    pub(crate) info: KernelInfo,
    name: Box<str>,
    program: Arc<RawProgram>,
    log: Arc<str>,
}

impl BuiltKernel {
    /// Another kernel object for the same kernel. The caller sets its arguments.
    pub(crate) fn another(&self) -> Result<RawKernel, OpenClError> {
        let name = CString::new(&*self.name).map_err(|_| nul_byte(&self.name))?;
        cl_kernel::create_kernel(self.program.get(), &name)
            .map(RawKernel::own)
            .map_err(|status| OpenClError::call("clCreateKernel", status, self.label.to_string()))
    }

    /// Its name in the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The driver's information about it.
    pub fn info(&self) -> KernelInfo {
        self.info
    }

    /// The build log of its program.
    pub fn build_log(&self) -> &str {
        &self.log
    }

    /// The binary of its program: PTX, a text, on NVIDIA's GPUs. `None` if the driver does not return one.
    pub fn binary(&self) -> Option<Vec<u8>> {
        binary_of(&self.program)
    }
}

/// A driver's information about a built kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelInfo {
    /// Number of arguments.
    pub arguments: usize,
    /// The maximum work-group size of this kernel, which its registers limit.
    pub max_work_group_size: usize,
    /// Work-items that run in step.
    pub preferred_work_group_multiple: usize,
    /// The local memory that the kernel declares itself, in bytes for each work-group.
    pub local_bytes: u64,
    /// Private memory (spilled registers, indexed arrays), in bytes for each work-item; some drivers always report 0.
    pub private_bytes: u64,
}

/// The progress of building on a device.
#[derive(Debug, Default)]
pub struct Builds {
    nanoseconds: AtomicU64,
    programs: AtomicUsize,
    running: AtomicUsize,
}

impl Builds {
    /// The wall time spent on building kernels and loading them from the cache, of all threads together.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// The number of programs that were built instead of loaded from a cache.
    pub fn programs(&self) -> usize {
        self.programs.load(Ordering::Relaxed)
    }

    /// Whether something is being built at the moment.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// Adds the time of a build, or of loading from a cache.
    pub(crate) fn during<T>(&self, cached: bool, build: impl FnOnce() -> T) -> T {
        let running = usize::from(!cached);
        self.running.fetch_add(running, Ordering::Relaxed);
        let start = Instant::now();
        let built = build();
        self.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.running.fetch_sub(running, Ordering::Relaxed);
        built
    }

    fn count_program(&self) {
        self.programs.fetch_add(1, Ordering::Relaxed);
    }
}

/// The programs of an open device.
#[derive(Debug)]
pub struct Programs {
    device: Arc<Device>,
    cache: Cache,
    built: Mutex<HashMap<Key, ProgramSlot>>,
    builds: Arc<Builds>,
}

impl Programs {
    pub(crate) fn new(device: Arc<Device>, cache: Cache) -> Self {
        Self { device, cache, built: Mutex::default(), builds: Arc::default() }
    }

    /// The cache for programs and the probe.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The progress of building. Other threads may read it during a build.
    pub(crate) fn builds(&self) -> &Arc<Builds> {
        &self.builds
    }

    #[cfg(feature = "check")]
    pub(crate) fn forget(&self) {
        lock(&self.built).clear();
    }

    /// As `Context::is_built`.
    pub(crate) fn is_built(&self, source: &str, options: &str, launch: (&str, [usize; 3])) -> bool {
        let key = Key::new(self.device.info(), source, &full_options(self.device.info(), options));
        if self.device.info().keeps_programs() {
            return was_launched(&self.cache, &key, launch);
        }
        let slot = lock(&self.built).get(&key).cloned();
        slot.is_some_and(|slot| lock(&slot).is_some()) || self.cache.load(EntryKind::Program, &key).is_some()
    }

    /// The program of `source` with `options`, from memory, from disk, or newly built. `name` is used only in errors.
    ///
    /// # Safety
    /// As `Context::program`.
    pub(crate) unsafe fn program(&self, name: &str, source: &str, options: &str) -> Result<Arc<Program>, OpenClError> {
        let options = full_options(self.device.info(), options);
        let key = Key::new(self.device.info(), source, &options);
        let slot = Arc::clone(lock(&self.built).entry(key.clone()).or_default());
        let mut slot = lock(&slot);
        if let Some(program) = &*slot {
            return Ok(Arc::clone(program));
        }
        let program = match self.builds.during(true, || self.load_program(name, &options, &key)) {
            Some(program) => program,
            None => {
                let keeps = self.device.info().keeps_programs();
                let cached = keeps && was_launched(&self.cache, &key, PROGRAM_ALONE);
                let program = self.builds.during(cached, || self.build_program(name, source, &options, &key))?;
                if !cached {
                    self.builds.count_program();
                }
                if keeps && !cached {
                    note_launched(&self.cache, &key, PROGRAM_ALONE);
                }
                program
            }
        };
        Ok(Arc::clone(slot.insert(Arc::new(program))))
    }

    /// The program from its binary on disk; `None` if there is none that the driver accepts.
    fn load_program(&self, name: &str, options: &str, key: &Key) -> Option<Program> {
        if !self.cache.keeps_programs() {
            return None;
        }
        let _span = self.device.span(Group::Build, || format!("load {name}"));
        let entry = self.cache.load(EntryKind::Program, key)?;
        let (log, binary) = split_entry(&entry)?;
        let raw = self.load_binary(name, binary, options).ok()?;
        Some(Program { from_disk: true, ..self.wrap((name, key, options), raw, log.to_owned()) })
    }

    /// The program from a binary of this device and driver ([`Program::binary`]), with the options with which it was built.
    ///
    /// # Errors
    /// If the driver rejects the binary.
    ///
    /// # Safety
    /// As `Context::program`: nothing checks the code.
    pub(crate) unsafe fn program_from_binary(
        &self,
        name: &str,
        binary: &[u8],
        options: &str,
    ) -> Result<Program, OpenClError> {
        let raw = self.load_binary(name, binary, options)?;
        let log = text(cl::get_program_build_data(raw.get(), self.device.id().0, cl::CL_PROGRAM_BUILD_LOG));
        let key = Key::of_binary(self.device.info(), binary, options);
        Ok(self.wrap((name, &key, options), raw, log))
    }

    fn load_binary(&self, name: &str, binary: &[u8], options: &str) -> Result<RawProgram, OpenClError> {
        let c_options = c_options(options)?;
        let device = self.device.id().0;
        let what = || format!("the binary of program {name}, {} bytes", binary.len());
        // SAFETY: the device is the one of that context, and the driver checks the binary, which is whole: the cache, or who captured it,
        // verified its digest. One binary only: cl3 passes a slice of slices where OpenCL reads an array of pointers.
        let raw = unsafe { cl::create_program_with_binary(self.device.cl_context().get(), &[device], &[binary]) }
            .map(RawProgram::own)
            .map_err(|status| OpenClError::call("clCreateProgramWithBinary", status, what()))?;
        cl::build_program(raw.get(), &[device], &c_options, None, ptr::null_mut())
            .map_err(|status| OpenClError::call("clBuildProgram", status, what()))?;
        Ok(raw)
    }

    /// Builds a program from source, and stores its binary on disk.
    fn build_program(&self, name: &str, source: &str, options: &str, key: &Key) -> Result<Program, OpenClError> {
        let _span = self.device.span(Group::Build, || format!("build {name}"));
        let mut source = Cow::Borrowed(source);
        if options.contains("-cl-nv-verbose") {
            // NVIDIA's driver caches the assembled PTX of all programs, and returns no log for cached PTX. Unique PTX avoids that.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            source = format!("{source}\n__kernel void built_at_{}(void) {{}}\n", now.as_nanos()).into();
        }
        let c_options = c_options(options)?;
        let device = self.device.id().0;
        // One source only: cl3 passes a slice of slices where OpenCL reads an array of pointers.
        let raw = cl::create_program_with_source(self.device.cl_context().get(), &[&source])
            .map(RawProgram::own)
            .map_err(|status| {
                OpenClError::call(
                    "clCreateProgramWithSource",
                    status,
                    format!("program {name}, {} bytes", source.len()),
                )
            })?;
        let built = cl::build_program(raw.get(), &[device], &c_options, None, ptr::null_mut());
        let mut log = text(cl::get_program_build_data(raw.get(), device, cl::CL_PROGRAM_BUILD_LOG));
        let platform = &self.device.info().platform_name;
        if built.is_err()
            && let Some(why) = unusable_cache(platform)
        {
            log = format!("{platform}: {why}\n{log}");
        }
        built.map_err(|status| OpenClError::Build {
            call: "clBuildProgram",
            status: ClStatus(status),
            program: name.to_owned(),
            device: self.device.info().with_driver(),
            options: options.to_owned(),
            log: log.clone(),
        })?;
        if self.cache.keeps_programs()
            && let Some(binary) = binary_of(&raw)
        {
            self.cache.store(EntryKind::Program, key, &join_entry(&log, &binary));
        }
        Ok(self.wrap((name, key, options), raw, log))
    }

    fn wrap(&self, (name, key, options): (&str, &Key, &str), raw: RawProgram, log: String) -> Program {
        Program {
            name: name.to_owned(),
            key: key.clone(),
            options: options.to_owned(),
            raw: Arc::new(raw),
            context: address(self.device.cl_context().get()),
            device: self.device.id(),
            log: log.into(),
            from_disk: false,
            precision: precision(options),
            kernels: Mutex::default(),
            launched: Mutex::default(),
        }
    }

    pub(crate) fn check_owns(&self, program: &Program) -> Result<(), OpenClError> {
        if program.context == address(self.device.cl_context().get()) {
            Ok(())
        } else {
            let what = format!("program {}", program.name);
            Err(OpenClError::WrongContext { what, device: self.device.info().name.clone() })
        }
    }
}

impl Program {
    /// The `cl_program`, for direct calls of OpenCL. It is valid as long as the program.
    pub fn handle(&self) -> *mut c_void {
        self.raw.get()
    }

    /// The name with which it was first requested.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The build log. It is empty unless the compiler had a message, or an option such as `-cl-nv-verbose` requested it.
    pub(crate) fn log(&self) -> &str {
        &self.log
    }

    pub(crate) fn options(&self) -> &str {
        &self.options
    }

    /// The SHA-256 of its source with all includes, in hexadecimal.
    pub(crate) fn source_sha256(&self) -> &str {
        self.key.source_sha256()
    }

    /// Whether the binary came from the cache on disk.
    pub fn from_disk(&self) -> bool {
        self.from_disk
    }

    /// The device code in the driver's format: PTX on NVIDIA's GPUs, an ELF file on AMD's; `None` if the driver does not return it.
    pub(crate) fn binary(&self) -> Option<Vec<u8>> {
        binary_of(&self.raw)
    }

    /// Whether a kernel was not launched before with this work-group size. A driver may then have to compile it.
    pub(crate) fn is_new_in(&self, kernel: &str, local: [usize; 3]) -> bool {
        lock(&self.launched).insert((kernel.to_owned(), local))
    }

    /// The driver's information about the kernel `name`.
    pub fn kernel_info(&self, name: &str) -> Result<KernelInfo, OpenClError> {
        Ok(self.kernel(name)?.info)
    }

    /// The kernel `name`, created at its first use.
    pub fn kernel(&self, name: &str) -> Result<Arc<BuiltKernel>, OpenClError> {
        let mut kernels = lock(&self.kernels);
        if let Some(kernel) = kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(self.create_kernel(name)?);
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    fn create_kernel(&self, name: &str) -> Result<BuiltKernel, OpenClError> {
        let label = format!("kernel {name} of program {}", self.name);
        let c_name = CString::new(name).map_err(|_| nul_byte(name))?;
        let raw = cl_kernel::create_kernel(self.raw.get(), &c_name).map(RawKernel::own).map_err(|status| {
            if status == opencl3::error_codes::CL_INVALID_KERNEL_NAME {
                OpenClError::NoSuchKernel {
                    program: self.name.clone(),
                    kernel: name.to_owned(),
                    available: text(cl::get_program_data(self.raw.get(), cl::CL_PROGRAM_KERNEL_NAMES))
                        .replace(';', ", "),
                }
            } else {
                OpenClError::call("clCreateKernel", status, label.as_str())
            }
        })?;
        let arguments = cl_kernel::get_kernel_data(raw.get(), cl_kernel::CL_KERNEL_NUM_ARGS)
            .map_err(|status| OpenClError::call("clGetKernelInfo", status, label.as_str()))?;
        let group = |what| {
            cl_kernel::get_kernel_work_group_data(raw.get(), self.device.0, what)
                .map(|bytes| unsigned(Ok(bytes)))
                .map_err(|status| OpenClError::call("clGetKernelWorkGroupInfo", status, label.as_str()))
        };
        // A kernel that was built for one size supports it, although NVIDIA's driver also reports 256 for it.
        let built_for = cl_kernel::get_kernel_work_group_data(
            raw.get(),
            self.device.0,
            cl_kernel::CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
        )
        .map_or(0, |bytes| bytes.chunks_exact(size_of::<usize>()).map(|size| unsigned(Ok(size.to_vec()))).product());
        let info = KernelInfo {
            arguments: unsigned(Ok(arguments)) as usize,
            max_work_group_size: group(cl_kernel::CL_KERNEL_WORK_GROUP_SIZE)?.max(built_for) as usize,
            preferred_work_group_multiple: group(cl_kernel::CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)? as usize,
            local_bytes: group(cl_kernel::CL_KERNEL_LOCAL_MEM_SIZE)?,
            private_bytes: group(cl_kernel::CL_KERNEL_PRIVATE_MEM_SIZE)?,
        };
        let short = [name, self.precision].join(if self.precision.is_empty() { "" } else { " " });
        Ok(BuiltKernel {
            raw: Mutex::new(raw),
            label: label.into(),
            short: short.into(),
            info,
            name: name.into(),
            program: Arc::clone(&self.raw),
            log: Arc::clone(&self.log),
        })
    }
}

fn nul_byte(kernel: &str) -> OpenClError {
    OpenClError::NulByte { what: "the kernel's name", value: kernel.to_owned() }
}

fn c_options(options: &str) -> Result<CString, OpenClError> {
    CString::new(options).map_err(|_| OpenClError::NulByte { what: "the build options", value: options.to_owned() })
}

fn precision(options: &str) -> &'static str {
    let bits = options.split_whitespace().find_map(|option| option.strip_prefix("-DPRECISION="));
    match bits {
        Some("64") => "f64",
        Some("32") => "f32",
        Some("16") => "half",
        _ => "",
    }
}

/// The options that every program is built with, before those of the caller.
pub(crate) fn full_options(device: &DeviceInfo, options: &str) -> String {
    let mut full = Vec::new();
    if !options.contains("-cl-std=") {
        full.push("-cl-std=CL1.2");
    }
    if device.fp32_correctly_rounded_divide_sqrt {
        full.push("-cl-fp32-correctly-rounded-divide-sqrt");
    } else {
        full.push(if device.fp64 { "-DDIVIDE=64" } else { "-DDIVIDE=32" });
    }
    if !device.fp64 {
        full.push("-DSOFT_F64");
    }
    if is_lost(WIDE_SIZE) {
        full.push("-DSHORT_SIZES");
    }
    full.extend(device.driver_options());
    full.extend(options.split_whitespace());
    let mut full = full.join(" ");
    let environment = compiler_environment();
    if !environment.is_empty() {
        // Drivers cache programs, too, only by source and options.
        full += &format!(" -DLANEFIELD_ENVIRONMENT=0x{}", &hex::encode(Sha256::digest(environment))[..16]);
    }
    full
}

fn address(context: cl_context) -> usize {
    context.addr()
}

fn binary_of(program: &RawProgram) -> Option<Vec<u8>> {
    let binaries: Vec<Vec<u8>> = cl::get_program_info(program.get(), cl::CL_PROGRAM_BINARIES).ok()?.into();
    binaries.into_iter().next().filter(|binary| !binary.is_empty())
}

/// Assembles a disk entry: the length of the log (8 bytes, little-endian), the log, and the binary.
fn join_entry(log: &str, binary: &[u8]) -> Vec<u8> {
    [&(log.len() as u64).to_le_bytes()[..], log.as_bytes(), binary].concat()
}

fn split_entry(entry: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = entry.split_first_chunk()?;
    let (log, binary) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    Some((std::str::from_utf8(log).ok()?, binary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_entry_keeps_log_and_binary_apart() {
        let entry = join_entry("uses 68 registers ü", b"\0PTX");
        assert_eq!(split_entry(&entry), Some(("uses 68 registers ü", &b"\0PTX"[..])));
        assert_eq!(split_entry(&entry[..7]), None);
        assert_eq!(split_entry(&u64::MAX.to_le_bytes()), None);
    }

    #[test]
    fn building_is_seen_while_it_goes_on_and_its_time_is_counted() {
        let builds = Builds::default();
        let seen = |cached| {
            builds.during(cached, || {
                std::thread::sleep(Duration::from_millis(2));
                builds.is_running()
            })
        };
        assert!(seen(false) && !seen(true) && !builds.is_running());
        assert!(builds.time() >= Duration::from_millis(4));
    }
}
