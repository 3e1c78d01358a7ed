//! The number of bytes that a work-item reads or writes at once, and the layout in device memory that this requires: in each lane, the
//! words that fill an access are contiguous. Fields on the host keep the layout of `reference/src/field.rs`. They are rearranged exactly on
//! their way to and from a device. Counterpart: `cl/accelerator.clh`, `lane_index_of`.

use std::fmt;
use std::str::FromStr;

use bytemuck::Pod;
use serde::{Deserialize, Serialize};

use crate::backend::opencl::device::{DeviceInfo, DeviceKind};
use crate::backend::opencl::memory::Towards;

/// The size of an access. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AccessWidth {
    /// One complex word of any size: the layout of the host.
    #[default]
    Word,
    /// 8 bytes: two words of half precision.
    Eight,
    /// 16 bytes: two words in f32, four of half precision.
    Sixteen,
}

impl AccessWidth {
    /// All access widths.
    pub const ALL: [Self; 3] = [Self::Word, Self::Eight, Self::Sixteen];

    /// The default of a device. On an H200, 16 bytes are fastest for nearly all kernels; AMD's GPUs were not measured. CPUs read vectors of
    /// lanes, for which contiguous words are a disadvantage.
    pub fn of_device(device: &DeviceInfo) -> Self {
        match device.kind {
            DeviceKind::Cpu => Self::Word,
            _ => Self::Sixteen,
        }
    }

    /// The size in bytes; 0 for one word.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Word => 0,
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    /// The number of contiguous words in storage with `bits` bits for each real and `nsimd` lanes. It is 1 if the lanes are not a multiple
    /// of it, since accesses would not be aligned.
    pub(crate) fn together(self, bits: usize, nsimd: usize) -> usize {
        match self.bytes() * 4 / bits {
            together if together > 1 && nsimd.is_multiple_of(together) => together,
            _ => 1,
        }
    }

    /// Whether components of `words` words have the same layout as one object that consists of several of them.
    pub(crate) fn divides(self, words: usize) -> bool {
        [32, 64].iter().all(|&bits| words.is_multiple_of(self.together(bits, 32)))
    }
}

impl fmt::Display for AccessWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word => f.write_str("word"),
            other => other.bytes().fmt(f),
        }
    }
}

impl FromStr for AccessWidth {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|width| width.to_string() == text);
        known.ok_or_else(|| format!("invalid access width '{text}': expected word, 8 or 16 (bytes)"))
    }
}

/// The layout of a field's components in device memory.
#[derive(Clone, Copy, Debug)]
pub struct PartLayout {
    /// The number of bits of a stored real.
    pub bits: usize,
    /// The number of lanes.
    pub nsimd: usize,
    /// The number of stored words of a component.
    pub words: usize,
    /// The size of an access.
    pub access: AccessWidth,
}

impl PartLayout {
    /// The number of contiguous words; 1 for the host's layout.
    pub fn together(self) -> usize {
        let together = self.access.together(self.bits, self.nsimd);
        if self.bits == 16 || self.words.is_multiple_of(together) { together } else { 1 }
    }

    /// Whether it is the host's layout.
    pub(crate) fn is_plain(self) -> bool {
        self.together() == 1
    }

    /// Converts whole components from the host's layout to the device's.
    pub fn to_device(self, from: &[u8], to: &mut [u8]) {
        self.rearrange(from, to, Towards::Device);
    }

    /// Converts whole components from the device's layout to the host's.
    pub fn to_host(self, from: &[u8], to: &mut [u8]) {
        self.rearrange(from, to, Towards::Host);
    }

    /// The size of a component in bytes.
    pub fn bytes(self) -> usize {
        self.words * self.nsimd * self.bits / 4
    }

    fn rearrange(self, from: &[u8], to: &mut [u8], towards: Towards) {
        let together = self.together();
        let move_part: fn(usize, &[u8], &mut [u8], Towards) = match (self.bits, together) {
            (_, 1) => return to.copy_from_slice(from),
            (16, 2) => move_part::<[u16; 2], 2>,
            (16, _) => move_part::<[u16; 2], 4>,
            _ => move_part::<[u32; 2], 2>,
        };
        debug_assert!(self.bits / 4 * together == self.access.bytes(), "{self:?}");
        for (to, from) in to.chunks_exact_mut(self.bytes()).zip(from.chunks_exact(self.bytes())) {
            move_part(self.nsimd, from, to, towards);
        }
    }

    /// The position of a word of a lane in its component, in words.
    pub fn place(self, word: usize, lane: usize) -> usize {
        let block = word / self.together() * self.together();
        block * self.nsimd + lane * self.together().min(self.words - block) + (word - block)
    }
}

/// Moves a component with `TOGETHER` contiguous words on the device; the last ones may be fewer. It uses loops over arrays, because
/// iterators may be compiled to a call for each word.
/// be compiled to a call for each word.
fn move_part<W: Pod, const TOGETHER: usize>(nsimd: usize, from: &[u8], to: &mut [u8], towards: Towards) {
    let (from, to): (&[W], &mut [W]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    let whole = from.len() / (TOGETHER * nsimd) * (TOGETHER * nsimd);
    let (mut rest_to, rest_from) = (&mut to[..whole], &from[..whole]);
    for from in rest_from.chunks_exact(TOGETHER * nsimd) {
        let (to, after) = rest_to.split_at_mut(TOGETHER * nsimd);
        rest_to = after;
        match towards {
            Towards::Device => {
                let lanes = &mut to.as_chunks_mut::<TOGETHER>().0[..nsimd];
                for lane in 0..nsimd {
                    for word in 0..TOGETHER {
                        lanes[lane][word] = from[word * nsimd + lane];
                    }
                }
            }
            Towards::Host => {
                let lanes = &from.as_chunks::<TOGETHER>().0[..nsimd];
                for word in 0..TOGETHER {
                    let to = &mut to[word * nsimd..][..nsimd];
                    for lane in 0..nsimd {
                        to[lane] = lanes[lane][word];
                    }
                }
            }
        }
    }
    let words = (from.len() - whole) / nsimd;
    for lane in 0..nsimd {
        for word in 0..words {
            let (host, device) = (whole + word * nsimd + lane, whole + lane * words + word);
            let (t, f) = if towards == Towards::Device { (device, host) } else { (host, device) };
            to[t] = from[f];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bits: usize, nsimd: usize, words: usize) -> PartLayout {
        PartLayout { bits, nsimd, words, access: AccessWidth::Sixteen }
    }

    #[test]
    fn two_words_of_a_lane_lie_side_by_side() {
        // Two lanes, four words: (word, lane) in the order of the host, and where they go.
        let places: Vec<usize> =
            (0..4).flat_map(|word| (0..2).map(move |lane| layout(32, 2, 4).place(word, lane))).collect();
        assert_eq!(places, [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn what_is_left_over_of_sixteen_bit_storage_lies_at_the_end() {
        let layout = layout(16, 4, 13);
        assert_eq!([layout.place(0, 1), layout.place(3, 0), layout.place(12, 0), layout.place(12, 3)], [4, 3, 48, 51]);
    }

    #[test]
    fn parts_come_back_as_they_were() {
        for (bits, nsimd, words) in [(32, 2, 12), (32, 8, 3), (16, 8, 13), (16, 2, 19), (16, 16, 49), (64, 4, 12)] {
            let layout = layout(bits, nsimd, words);
            let bytes: Vec<u8> = (0..3 * words * nsimd * bits / 4).map(|byte| (byte * 7 % 251) as u8).collect();
            let [mut device, mut back] = [vec![0; bytes.len()], vec![0; bytes.len()]];
            layout.to_device(&bytes, &mut device);
            layout.to_host(&device, &mut back);
            assert_eq!(back, bytes, "{bits} bits, {nsimd} lanes, {words} words");
            assert_eq!(layout.is_plain(), device == bytes, "{bits} bits, {nsimd} lanes, {words} words");
            assert_eq!(bytes.len(), 3 * layout.bytes(), "{bits} bits, {nsimd} lanes, {words} words");
            for (word, lane) in (0..words).flat_map(|word| (0..nsimd).map(move |lane| (word, lane))) {
                let of_last =
                    |place: usize| 2 * layout.bytes() + place * bits / 4..2 * layout.bytes() + (place + 1) * bits / 4;
                let (there, here) = (of_last(layout.place(word, lane)), of_last(word * nsimd + lane));
                assert_eq!(
                    device[there], bytes[here],
                    "{bits} bits, {nsimd} lanes, word {word} of {words}, lane {lane}"
                );
            }
        }
    }

    #[test]
    fn access_widths_are_written_as_they_are_read() {
        for width in AccessWidth::ALL {
            assert_eq!(width.to_string().parse(), Ok(width));
        }
        assert!("32".parse::<AccessWidth>().unwrap_err().contains("'32'"));
    }
}
