//! Transfers to and from the device, with ordinary, pinned and mapped memory, and as fields, in wall time until the bytes have arrived.

use std::ops::Range;
use std::time::Instant;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{AccessWidth, Buffer, Context, PartLayout, Towards};

use super::measuring::{Measuring, rate, sampled};
use super::plateau::ladder;
use super::record::{HostMemory, Transfer};
use crate::bandwidth::random_word;

pub(super) fn measure(Measuring { context, scale, peak, tell }: Measuring<'_>) -> Result<(), BackendError> {
    let most = scale.transfer_most;
    let mut device = context.allocate(most, "the device's end of a transfer")?;
    let mut pageable: Vec<u8> = (0..most as u32 / 4).flat_map(|place| random_word(place).to_ne_bytes()).collect();
    let mut pinned = context.allocate_host(most, "the host's end of a transfer")?;
    pinned.as_mut_slice()[..pageable.len()].copy_from_slice(&pageable);
    for memory in HostMemory::ALL {
        let host = if memory == HostMemory::Pinned { pinned.as_mut_slice() } else { pageable.as_mut_slice() };
        for bytes in ladder(4096, most).into_iter().step_by(2) {
            tell(&format!("transfers, {memory}, {} KiB", bytes >> 10))?;
            let host = &mut host[..bytes];
            for towards in [Towards::Device, Towards::Host] {
                let seconds = sampled(scale.samples, || {
                    let start = Instant::now();
                    transfer(context, &mut device, host, memory, towards)?;
                    Ok(start.elapsed().as_secs_f64())
                })?;
                let gb_per_second = rate(bytes, &seconds);
                peak.transfers.push(Transfer { memory, towards, bytes: bytes as u64, gb_per_second, seconds });
            }
        }
    }
    Ok(())
}

/// The layout of an f32 field with 16 lanes on the device. All measured sizes are multiples of its pieces of 2 KiB.
fn of_fields(context: &Context) -> PartLayout {
    PartLayout { bits: 32, nsimd: 16, words: 16, access: AccessWidth::of_device(context.info()) }
}

fn transfer(
    context: &Context,
    device: &mut Buffer,
    host: &mut [u8],
    memory: HostMemory,
    towards: Towards,
) -> Result<(), BackendError> {
    match (memory, towards) {
        (HostMemory::Mapped, Towards::Device) => context.write_mapped(device, 0, host)?,
        (HostMemory::Mapped, Towards::Host) => {
            context.read_mapped(device, 0, host.len(), |bytes| host.copy_from_slice(bytes))?;
        }
        (HostMemory::Field, towards) => {
            let (layout, bytes) = (of_fields(context), host.len());
            match towards {
                Towards::Device => {
                    let fill = |range: Range<usize>, to: &mut [u8]| layout.to_device(&host[range], to);
                    context.write_pieces(device, bytes, layout.bytes(), fill)?;
                    context.finish()?;
                }
                Towards::Host => {
                    let take = |from: &[u8], to: &mut [u8]| layout.to_host(from, to);
                    context.read_pieces(device, (bytes, layout.bytes()), host, take)?;
                }
            }
        }
        (_, Towards::Device) => context.write(device, 0, host)?,
        (_, Towards::Host) => context.read(device, 0, host)?,
    }
    Ok(())
}
