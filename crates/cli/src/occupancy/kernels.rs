//! Occupancy of the library's kernels, compiled for AMD GPUs that need not be present, or built on the device in use.

use lanefield::kernel::KernelList;
use lanefield::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::bail;
use lanefield::backend::opencl::{NeededKernel, OfflineDevice, OfflineKernel};
use lanefield::kernel::Kernel;
use lanefield_lab::ahead::Step;
use lanefield_lab::code::{Clang, Compiled, Subject, Surveyed, code_of, options_with_log, survey};
use lanefield_lab::model::{Architecture, Vendor};

use super::arguments::Occupancy;
use super::table::Report;
use crate::args::PlaceArgs;
use crate::build_ahead::Builder;
use crate::kernels::wanted;
use crate::output::Device;
use crate::progress::{goes_on, progress_bar};

/// The occupancy of the requested kernels, and the device that built them, if one did.
pub fn report(list: &KernelList, args: &Occupancy) -> anyhow::Result<(Option<Device>, Report)> {
    if args.vgprs.is_some() || args.group.is_some() {
        bail!("--vgprs and --group are for numbers given by hand; those of --kernel are counted: leave them out");
    }
    let kernels =
        wanted(list, &args.kernel, Kernel::is_launched, "is a part of other operations, and not launched by itself")?;
    match args.arch.is_empty() {
        true => on_device(args, &kernels).map(|(device, report)| (Some(device), report)),
        false => Ok((None, offline(args, &kernels)?)),
    }
}

/// All combinations of the requested or default precisions with link formats that a kernel has. Link formats vary only if the kernel reads
/// links.
fn variants(
    args: &Occupancy,
    kernels: &[&'static Kernel],
    usual: &[Precision],
) -> Vec<(&'static Kernel, Precision, LinkFormat)> {
    let precisions = if args.precision.is_empty() { usual } else { &args.precision };
    let mut variants = Vec::new();
    for &kernel in kernels {
        let links = if kernel.reads_links() { &args.links[..] } else { &args.links[..1] };
        for &precision in precisions.iter().filter(|&&precision| kernel.takes(precision)) {
            variants.extend(links.iter().map(|&links| (kernel, precision, links)));
        }
    }
    variants
}

fn offline(args: &Occupancy, kernels: &[&'static Kernel]) -> anyhow::Result<Report> {
    let architectures = args.architectures()?;
    if let Some(other) = architectures.iter().find(|architecture| architecture.vendor != Vendor::Amd) {
        bail!(
            "kernels are compiled offline only for AMD GPUs, not for {}: leave --arch out to build on the device in use, or give registers by hand",
            other.name
        );
    }
    let variants = variants(args, kernels, &Precision::ALL);
    let mut subjects = Vec::new();
    for architecture in &architectures {
        let mut device = OfflineDevice::amd(architecture.name, args.lattice);
        device.tuning = args.tuning.tuning();
        if args.lanes != LaneChoice::Auto {
            device.lanes = args.lanes;
        }
        let subject = |&(kernel, precision, links)| Subject { kernel, precision, links, device: device.clone() };
        subjects.extend(variants.iter().map(subject));
    }
    if subjects.is_empty() {
        bail!("none of these kernels takes fields of these precisions; see `lanefield verify --list`");
    }
    let clang = Clang::find()?;
    say!("compiling with {}", clang.version);
    let (bar, programs) = (progress_bar(), AtomicU64::new(0));
    let surveyed = survey(&clang, &subjects, &|number| {
        bar.set_length(number as u64);
        let done = programs.fetch_add(1, Ordering::Relaxed) + 1;
        bar.set_position(done);
        goes_on(done as usize)
    });
    bar.finish_and_clear();
    let mut report = Report::default();
    for Surveyed { architecture, demand, compiled } in surveyed? {
        report.add(args, (architecture, demand, compiled.nsimd), Some(compiled))?;
    }
    Ok(report)
}

fn on_device(args: &Occupancy, kernels: &[&'static Kernel]) -> anyhow::Result<(Device, Report)> {
    let place = PlaceArgs { device: args.device.clone(), threads: None };
    let mut backend = place.open(Precision::F32, args.tuning.tuning())?;
    let Some(device) = backend.opencl_mut() else {
        bail!(
            "the CPU reference has no compute units with waves: name an OpenCL device, or give --arch to compile offline"
        );
    };
    let lanes = device.lanes(args.lanes);
    let planned = variants(args, kernels, &[Precision::F32]).into_iter().map(|(kernel, precision, format)| {
        Ok((kernel, precision, format, device.planned_kernel(kernel, (precision, format), (args.lattice, lanes))?))
    });
    let planned = planned.collect::<anyhow::Result<Vec<_>>>()?;
    let step = |built: &OfflineKernel| {
        let options = options_with_log(device.context(), &built.options);
        Step::Program(NeededKernel::program_alone(built.of.clone(), options))
    };
    let steps = planned.iter().map(|(.., (built, _))| step(built)).collect();
    Builder::new(args.jobs).build(device, steps);

    let info = device.context().info();
    let architecture = Architecture::find(&info.architecture, None).ok();
    let mut report = Report::default();
    let planned = planned.into_iter().enumerate().take_while(|(done, _)| goes_on(*done));
    for (_, (kernel, precision, format, (built, nsimd))) in planned {
        let code = code_of(device.context(), &built.file, &built.source, &built.options, built.kernel)?;
        let known = Compiled::new((kernel, precision, format), nsimd, built, code);
        match (architecture, known.demand()) {
            (Some(architecture), Some(demand)) => report.add(args, (architecture, demand, nsimd), Some(known))?,
            _ => report.told.push(known),
        }
    }
    Ok((info.into(), report))
}
