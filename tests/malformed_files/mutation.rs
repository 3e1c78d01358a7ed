//! Malformed files: valid ones, changed at random where it hurts.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A change to a file. Positions are relative, so that they make sense after other changes.
#[derive(Debug, Clone)]
pub enum Mutation {
    FlipBit(Index, u8),
    SetByte(Index, u8),
    Truncate(Index),
    Append(Vec<u8>),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    /// Replaces eight bytes of the data, at a multiple of four.
    SetNumber(Index, [u8; 8]),
    /// Replaces the part of a header line after its `=` or `:`.
    SetValue(Index, String),
    RemoveLine(Index),
    RepeatLine(Index, usize),
    SwapLines(Index, Index),
    /// Replaces all numbers of the header's extents.
    SetExtents([String; 4]),
    /// Takes the first part of another valid file.
    Splice(Index, Index, Base),
    /// NERSC: sets CHECKSUM to the sum in the one or the other byte order, so that later checks are reached.
    MendChecksum(bool),
}

/// Which valid file to start from.
#[derive(Debug, Clone)]
pub struct Base {
    pub extents: [usize; 4],
    pub seed: u64,
    pub kind: u8,
}

/// Small lattices, and every kind of file.
pub fn base() -> impl Strategy<Value = Base> {
    ([1usize..4, 1usize..4, 1usize..3, 1usize..3], 0u64..4, 0u8..8).prop_map(|(extents, seed, kind)| Base {
        extents,
        seed,
        kind,
    })
}

fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u64..10).prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        (0u32..64).prop_map(|n| (1u64 << n).to_string()),
        select(vec!["-1", "4294967295", "18446744073709551616", "1e9", "nan", "-inf", "0x10", "+3", "", " 2 ", "٣"])
            .prop_map(str::to_owned),
    ]
}

fn value_text() -> impl Strategy<Value = String> {
    prop_oneof![
        number_text(),
        ".{0,20}",
        "[ -~]{0,300}",
        select(vec![
            "IEEE32",
            "IEEE32BIG",
            "IEEE64",
            "IEEE64BIG",
            "IEEE64LITTLE",
            "4D_SU3_GAUGE",
            "4D_SU3_GAUGE_3x3",
            "END_HEADER",
            "'<c8'",
            "'<c16'",
            "'>c16'",
            "True",
            "(1, 1)",
            "()",
            "((((((((",
            "{'descr': {",
        ])
        .prop_map(str::to_owned),
    ]
}

fn special_number() -> impl Strategy<Value = [u8; 8]> {
    prop_oneof![
        any::<[u8; 8]>(),
        select(vec![f64::NAN, f64::INFINITY, -0.0, 1e300, f64::MIN_POSITIVE / 8.0, 1.0]).prop_map(f64::to_be_bytes),
        select(vec![f32::NAN, f32::NEG_INFINITY, 1e38]).prop_map(|x| {
            let [a, b, c, d] = x.to_be_bytes();
            [a, b, c, d, a, b, c, d]
        }),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    use Mutation as M;
    let index = any::<Index>;
    let bytes = || vec(any::<u8>(), 0..40);
    prop_oneof![
        3 => (index(), 0u8..8).prop_map(|(i, bit)| M::FlipBit(i, bit)),
        1 => (index(), any::<u8>()).prop_map(|(i, byte)| M::SetByte(i, byte)),
        1 => index().prop_map(M::Truncate),
        1 => bytes().prop_map(M::Append),
        1 => (index(), bytes()).prop_map(|(i, b)| M::Insert(i, b)),
        1 => (index(), 0usize..40).prop_map(|(i, n)| M::Remove(i, n)),
        3 => (index(), special_number()).prop_map(|(i, b)| M::SetNumber(i, b)),
        4 => (index(), value_text()).prop_map(|(i, v)| M::SetValue(i, v)),
        1 => index().prop_map(M::RemoveLine),
        1 => (index(), prop_oneof![1usize..4, 1usize..5000]).prop_map(|(i, n)| M::RepeatLine(i, n)),
        1 => (index(), index()).prop_map(|(i, j)| M::SwapLines(i, j)),
        3 => [number_text(), number_text(), number_text(), number_text()].prop_map(M::SetExtents),
        1 => (index(), index(), base()).prop_map(|(i, j, b)| M::Splice(i, j, b)),
        4 => any::<bool>().prop_map(M::MendChecksum),
    ]
}

/// How the two formats differ, for mutations.
pub trait Format {
    fn make(base: &Base) -> Vec<u8>;
    fn header_length(file: &[u8]) -> usize;
    /// The header with other extents, as texts.
    fn set_extents(header: &str, extents: &[String; 4]) -> String;
}

fn mutate<F: Format>(mut file: Vec<u8>, mutation: &Mutation) -> Vec<u8> {
    let header_length = F::header_length(&file).min(file.len());
    let edit_lines = |file: &[u8], edit: &dyn Fn(&mut Vec<Vec<u8>>)| {
        // A NumPy header has its entries on one line: they count as lines here.
        let separator = |&b: &u8| b == b'\n' || (b == b',' && file.starts_with(b"\x93"));
        let mut lines: Vec<Vec<u8>> = file[..header_length].split_inclusive(separator).map(<[u8]>::to_vec).collect();
        if !lines.is_empty() {
            edit(&mut lines);
        }
        [lines.concat().as_slice(), &file[header_length..]].concat()
    };
    match mutation {
        _ if file.is_empty() => {}
        Mutation::FlipBit(i, bit) => {
            let i = i.index(file.len());
            file[i] ^= 1 << bit;
        }
        Mutation::SetByte(i, byte) => {
            let i = i.index(file.len());
            file[i] = *byte;
        }
        Mutation::Truncate(i) => file.truncate(i.index(file.len())),
        Mutation::Append(bytes) => file.extend(bytes),
        Mutation::Insert(i, bytes) => {
            let i = i.index(file.len());
            file.splice(i..i, bytes.iter().copied());
        }
        Mutation::Remove(i, n) => {
            let i = i.index(file.len());
            file.drain(i..(i + n).min(file.len()));
        }
        Mutation::SetNumber(i, bytes) => {
            let numbers = (file.len() - header_length) / 4;
            if numbers >= 2 {
                let start = header_length + 4 * i.index(numbers - 1);
                file[start..start + 8].copy_from_slice(bytes);
            }
        }
        Mutation::SetValue(i, value) => {
            file = edit_lines(&file, &|lines| {
                let i = i.index(lines.len());
                let line = &mut lines[i];
                if let Some(start) = line.iter().position(|&b| b == b'=' || b == b':') {
                    let end = line.len() - 1;
                    line.splice((start + 1).min(end)..end, value.bytes());
                }
            });
        }
        Mutation::RemoveLine(i) => file = edit_lines(&file, &|lines| drop(lines.remove(i.index(lines.len())))),
        Mutation::RepeatLine(i, n) => {
            file = edit_lines(&file, &|lines| {
                let i = i.index(lines.len());
                let line = lines[i].clone();
                lines.splice(i..i, std::iter::repeat_n(line, *n));
            });
        }
        Mutation::SwapLines(i, j) => {
            file = edit_lines(&file, &|lines| {
                let (i, j) = (i.index(lines.len()), j.index(lines.len()));
                lines.swap(i, j);
            });
        }
        Mutation::SetExtents(extents) => {
            if let Ok(header) = std::str::from_utf8(&file[header_length.min(10)..header_length]) {
                let header = F::set_extents(header, extents);
                file = [&file[..header_length.min(10)], header.as_bytes(), &file[header_length..]].concat();
            }
        }
        Mutation::Splice(i, j, base) => {
            let other = F::make(base);
            file = [&other[..i.index(other.len())], &file[j.index(file.len())..]].concat();
        }
        Mutation::MendChecksum(big) => {
            let word = if *big { u32::from_be_bytes } else { u32::from_le_bytes };
            let words = file[header_length..].as_chunks::<4>().0;
            let sum = words.iter().fold(0u32, |sum, &w| sum.wrapping_add(word(w)));
            file = edit_lines(&file, &|lines| {
                for line in lines.iter_mut().filter(|line| line.starts_with(b"CHECKSUM")) {
                    *line = format!("CHECKSUM = {sum:x}\n").into_bytes();
                }
            });
        }
    }
    file
}

/// Valid files with up to four changes.
pub fn malformed<F: Format>() -> impl Strategy<Value = Vec<u8>> {
    (base(), vec(mutation(), 0..5))
        .prop_map(|(base, mutations)| mutations.iter().fold(F::make(&base), |file, m| mutate::<F>(file, m)))
}
