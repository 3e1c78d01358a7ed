//! Captures one launch with everything that it depends on: the program's binary, the sizes, every argument, and the contents of each buffer
//! before and after. It can then be run again, here ([`Context::replay`]) or by another program through another interface. `crate::capture`
//! stores it in files.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::arguments::{Arg, Launch};
use super::context::Context;
use super::launch::{LaunchEvent, Place};
use crate::backend::BackendError;
use crate::backend::opencl::device::{DeviceError, OpenClError, lock};
use crate::backend::opencl::memory::Buffer;
use crate::backend::opencl::program::Program;

/// A captured launch.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturedLaunch {
    /// The name of the program.
    pub program: String,
    /// The program's binary in the driver's format: PTX on NVIDIA's GPUs.
    pub binary: Vec<u8>,
    /// All build options.
    pub options: String,
    /// The SHA-256 of its source with all includes, in hexadecimal.
    pub source_sha256: String,
    /// The name of the kernel.
    pub kernel: String,
    /// Work-items.
    pub launch: Launch,
    /// The offset of the work-items in each dimension.
    pub offset: [usize; 3],
    /// The number of this launch among those of the captured work, from 1.
    pub number: usize,
    /// The number of launches of that work.
    pub launches: usize,
    /// The arguments, in the order of the kernel's declaration.
    pub arguments: Vec<CapturedArgument>,
    /// The buffers among the arguments, each once, in the order of their first use.
    pub buffers: Vec<CapturedBuffer>,
}

/// An argument of a captured launch.
#[derive(Clone, PartialEq, Debug)]
pub enum CapturedArgument {
    /// The index of one of the buffers, which is used from its first byte on.
    Buffer(usize),
    /// A number of this kind, as bytes.
    Scalar(ScalarKind, Vec<u8>),
    /// This number of bytes of local memory.
    Local(usize),
}

/// The type of a scalar argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarKind {
    /// 4 bytes
    Uint,
    /// 4 bytes
    Int,
    /// 8 bytes
    Ulong,
    /// 4 bytes
    Float,
    /// 8 bytes
    Double,
}

impl ScalarKind {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Uint | Self::Int | Self::Float => 4,
            Self::Ulong | Self::Double => 8,
        }
    }
}

lanefield_reference::named!(ScalarKind: Uint = "uint", Int = "int", Ulong = "ulong", Float = "float", Double = "double");

/// A buffer of a captured launch.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturedBuffer {
    /// Its use.
    pub what: String,
    /// Its contents before the launch.
    pub before: Vec<u8>,
    /// Its contents after the launch, if they have changed.
    pub after: Option<Vec<u8>>,
}

impl CapturedBuffer {
    pub(crate) fn after(&self) -> &[u8] {
        self.after.as_ref().unwrap_or(&self.before)
    }
}

/// The launch to be captured, and the result so far.
struct Capture {
    kernel: String,
    launches: usize,
    captured: Option<CapturedLaunch>,
}

/// Captures one launch at a time.
#[derive(Default)]
pub(crate) struct Captures(Mutex<Option<Capture>>);

impl Captures {
    pub(crate) fn is_waiting(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// The first launch of a kernel in `work`, with the contents of its buffers before and after. All of them are read to the host.
    pub(crate) fn first(
        &self,
        kernel: &str,
        work: &mut dyn FnMut() -> Result<(), BackendError>,
    ) -> Result<CapturedLaunch, BackendError> {
        *lock(&self.0) = Some(Capture { kernel: kernel.to_owned(), launches: 0, captured: None });
        let outcome = work();
        let capture = lock(&self.0).take();
        outcome?;
        let launches = capture.as_ref().map_or(0, |capture| capture.launches);
        let captured = capture.and_then(|capture| capture.captured);
        let captured = captured.ok_or_else(|| DeviceError::NotLaunched { kernel: kernel.to_owned(), launches })?;
        Ok(CapturedLaunch { launches, ..captured })
    }

    /// Launches a kernel, and captures the launch if it is the requested one.
    pub(crate) fn launch(
        &self,
        context: &Context,
        place: Place<'_>,
        (program, kernel): (&Program, &str),
        launch: Launch,
        arguments: &[Arg<'_>],
    ) -> Result<Option<LaunchEvent>, BackendError> {
        let number = match lock(&self.0).as_mut() {
            Some(capture) => {
                capture.launches += 1;
                Some(capture.launches).filter(|_| capture.captured.is_none() && capture.kernel == kernel)
            }
            None => None,
        };
        let Some(number) = number else { return Ok(context.launch_in(place, program, kernel, launch, arguments)?) };
        let no_binary = || DeviceError::NoBinary { device: context.info().with_driver(), kernel: kernel.to_owned() };
        let binary = program.binary().ok_or_else(no_binary)?;
        let (captured_arguments, held) = arguments_of(arguments);
        // Commands before the launch may be in another queue than the reads.
        let what = || format!("what comes before {kernel}");
        context.finish_queue(place.queue, what)?;
        place.after.iter().try_for_each(|event| context.await_event(event, what))?;
        let before = held.iter().map(|buffer| content(context, buffer)).collect::<Result<Vec<_>, _>>()?;
        let event = context.launch_event_in(place, program, kernel, launch, arguments)?;
        context.times(&event)?;
        let mut buffers = Vec::with_capacity(held.len());
        for (buffer, before) in held.iter().zip(before) {
            let after = Some(content(context, buffer)?).filter(|after| *after != before);
            buffers.push(CapturedBuffer { what: buffer.what().to_owned(), before, after });
        }
        let captured = CapturedLaunch {
            program: program.name().to_owned(),
            binary,
            options: program.options().to_owned(),
            source_sha256: program.source_sha256().to_owned(),
            kernel: kernel.to_owned(),
            launch,
            offset: place.offset,
            number,
            launches: number,
            arguments: captured_arguments,
            buffers,
        };
        if let Some(capture) = lock(&self.0).as_mut() {
            capture.captured = Some(captured);
        }
        Ok(Some(event))
    }
}

/// The arguments, and the buffers among them, each once.
fn arguments_of<'a>(arguments: &[Arg<'a>]) -> (Vec<CapturedArgument>, Vec<&'a Buffer>) {
    let mut held: Vec<&Buffer> = Vec::new();
    let mut captured = Vec::with_capacity(arguments.len());
    for argument in arguments {
        captured.push(match *argument {
            Arg::Buffer(buffer) => {
                // Each buffer has its own memory object, which identifies it.
                let place = held.iter().position(|other| other.mem() == buffer.mem());
                CapturedArgument::Buffer(place.unwrap_or_else(|| {
                    held.push(buffer);
                    held.len() - 1
                }))
            }
            Arg::Local(bytes) => CapturedArgument::Local(bytes),
            Arg::U32(number) => CapturedArgument::Scalar(ScalarKind::Uint, number.to_ne_bytes().into()),
            Arg::I32(number) => CapturedArgument::Scalar(ScalarKind::Int, number.to_ne_bytes().into()),
            Arg::U64(number) => CapturedArgument::Scalar(ScalarKind::Ulong, number.to_ne_bytes().into()),
            Arg::F32(number) => CapturedArgument::Scalar(ScalarKind::Float, number.to_ne_bytes().into()),
            Arg::F64(number) => CapturedArgument::Scalar(ScalarKind::Double, number.to_ne_bytes().into()),
        });
    }
    (captured, held)
}

fn content(context: &Context, buffer: &Buffer) -> Result<Vec<u8>, OpenClError> {
    let mut bytes = vec![0; buffer.bytes()];
    context.read(buffer, 0, &mut bytes)?;
    Ok(bytes)
}

impl Context {
    /// Repeats a captured launch from its binary and arguments, on a device and driver like those on which it was captured. Returns the
    /// contents of its buffers after the launch.
    ///
    /// # Errors
    /// If the driver rejects the binary, if an argument or a size does not fit the kernel, or if there is not enough memory.
    pub fn replay(&self, captured: &CapturedLaunch) -> Result<Vec<Vec<u8>>, OpenClError> {
        let CapturedLaunch { program, binary, options, kernel, launch, offset, .. } = captured;
        // SAFETY: whoever captured the launch ran this code with these arguments, and a capture in files is compared with the digests that
        // were taken at that time (`crate::capture`). The kernel thus accesses no more memory than it did then.
        let program = unsafe { self.programs().program_from_binary(program, binary, options)? };
        let mut buffers = Vec::with_capacity(captured.buffers.len());
        for CapturedBuffer { what, before, .. } in &captured.buffers {
            let buffer = self.allocate(before.len(), what)?;
            self.write(&buffer, 0, before)?;
            buffers.push(buffer);
        }
        let arguments = captured.arguments.iter().enumerate().map(|(number, argument)| {
            let wrong = || OpenClError::CapturedArgument { kernel: kernel.clone(), number };
            match argument {
                CapturedArgument::Buffer(buffer) => buffers.get(*buffer).map(Arg::Buffer).ok_or_else(wrong),
                CapturedArgument::Local(bytes) => Ok(Arg::Local(*bytes)),
                CapturedArgument::Scalar(kind, bytes) => scalar(*kind, bytes).ok_or_else(wrong),
            }
        });
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let place = Place { offset: *offset, ..self.own_place() };
        let event = self.launch_event_in(place, &program, kernel, *launch, &arguments)?;
        self.times(&event)?;
        buffers.iter().map(|buffer| content(self, buffer)).collect()
    }
}

/// A number from its bytes; `None` if their number is not that of its kind.
fn scalar(kind: ScalarKind, bytes: &[u8]) -> Option<Arg<'static>> {
    let word = || bytes.try_into().ok();
    let double_word = || bytes.try_into().ok();
    Some(match kind {
        ScalarKind::Uint => Arg::U32(u32::from_ne_bytes(word()?)),
        ScalarKind::Int => Arg::I32(i32::from_ne_bytes(word()?)),
        ScalarKind::Float => Arg::F32(f32::from_ne_bytes(word()?)),
        ScalarKind::Ulong => Arg::U64(u64::from_ne_bytes(double_word()?)),
        ScalarKind::Double => Arg::F64(f64::from_ne_bytes(double_word()?)),
    })
}
