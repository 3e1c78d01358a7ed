//! The facts of a kernel on a real device, as its driver reports them.

use lanefield::backend::opencl::{BuiltKernel, Context, DeviceKind, OpenClError};

use super::facts::CodeFacts;
use super::nvidia::{counts_in_ptx, facts_in_log};

/// The number of characters of a log to quote.
const MOST_OF_LOG: usize = 200;

/// The options with which [`code_of`] builds: those that make the compiler report resources are added.
pub fn options_with_log(context: &Context, options: &str) -> String {
    match context.info().limits_registers() && !options.contains("-cl-nv-verbose") {
        true => format!("{options} -cl-nv-verbose"),
        false => options.to_owned(),
    }
}

/// Builds `source` with `options` on a device, and returns what the driver reports about `kernel`. NVIDIA's driver reports registers and spills,
/// and its binary is PTX. Others report bytes of private and local memory, as far as they implement these queries of OpenCL.
pub fn code_of(
    context: &Context,
    name: &str,
    source: &str,
    options: &str,
    kernel: &str,
) -> Result<CodeFacts, OpenClError> {
    // SAFETY: nothing is launched.
    let program = unsafe { context.program(name, source, &options_with_log(context, options))? };
    Ok(code_of_kernel(context, &*program.kernel(kernel)?))
}

/// The same for a kernel that is built already. NVIDIA's compiler reports only if it was asked to (`-cl-nv-verbose`).
pub(crate) fn code_of_kernel(context: &Context, kernel: &BuiltKernel) -> CodeFacts {
    let (device, info) = (context.info(), kernel.info());
    let told = CodeFacts {
        kernel: kernel.name().to_owned(),
        target: if device.architecture.is_empty() { device.name.clone() } else { device.architecture.clone() },
        compiler: format!("{}, driver {}", device.platform_name, device.driver_version),
        local_bytes: usize::try_from(info.local_bytes).ok(),
        private_bytes: usize::try_from(info.private_bytes).ok(),
        wave: Some(info.preferred_work_group_multiple).filter(|_| device.kind == DeviceKind::Gpu),
        ..CodeFacts::default()
    };
    if !device.limits_registers() {
        let unknown = format!("{} does not report registers, spills or instructions of a kernel", device.platform_name);
        return CodeFacts { unknown: Some(unknown), ..told };
    }
    let counts = kernel.binary().and_then(|binary| counts_in_ptx(&String::from_utf8_lossy(&binary), kernel.name()));
    match facts_in_log(kernel.build_log(), kernel.name()) {
        Some(logged) => CodeFacts { compiler: told.compiler, counts, ..logged },
        None => {
            let said: String = kernel.build_log().chars().take(MOST_OF_LOG).collect();
            let said = if said.is_empty() { "it is empty".to_owned() } else { format!("it begins: {}", said.trim()) };
            let unknown = format!(
                "the driver's log does not name the kernel ({said}), so that registers and spills are not known"
            );
            CodeFacts { counts, unknown: Some(unknown), ..told }
        }
    }
}
