//! Describes files that hold no configuration in a known format, by their first bytes, and says how to get at their content.

use std::fmt::Write as _;

use crate::io::plain::PlainHeader;

/// Compressions and containers: their first bytes, and the commands that print their content.
const PACKED: [(&[u8], &str, &str); 7] = [
    (b"\x1f\x8b", "gzip", "gzip -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x -so"),
];

/// First words of other MILC files, and descriptions of them.
const OF_MILC: [(u32, &str); 3] = [
    (59354, "a configuration of MILC before its version 5"),
    (53546, "a configuration of MILC of 1996"),
    (0x7162_6434, "a field in the format of Fermilab"),
];

/// What a file with this length and these first bytes probably is, and what to do with it.
pub(super) fn what_begins_so(start: &[u8], length: u64) -> String {
    if start.is_empty() {
        return "it is empty".to_owned();
    }
    if let Some((_, name, command)) = PACKED.into_iter().find(|(magic, ..)| start.starts_with(magic)) {
        return format!("it is packed by {name}: unpack it, or read {command} FILE from a pipe (/dev/stdin)");
    }
    let word = |k: usize, big: bool| -> Option<u32> {
        let bytes = *start.get(4 * k..)?.first_chunk()?;
        Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    for big in [true, false] {
        if let Some((_, what)) = OF_MILC.into_iter().find(|(magic, _)| word(0, big) == Some(*magic)) {
            return format!(
                "it is {what}: MILC reads it, and saves it in version 5 (save_serial) or as SciDAC (save_serial_scidac)"
            );
        }
    }
    if let Some(colours) = of_hirep(&word, length) {
        return format!("it is a configuration of HiRep with {colours} colours, and links of SU(3) are read");
    }
    let plain: Vec<String> = PlainHeader::all_of(start)
        .map(|header| format!("{} on {} ({} bytes)", header.format, header.extents, header.length()))
        .collect();
    if !plain.is_empty() {
        let plain = plain.join(" or ");
        return format!(
            "it begins as a configuration in the format {plain}, and has {length} bytes: it may be truncated"
        );
    }
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b" \t\r\n+-.,eE".contains(byte);
    if start.iter().all(is_of_number) {
        return "it is a text of numbers, as Bridge++ writes them: NumPy reads it (loadtxt), and saves an array of shape (T, Z, Y, X, 4, 3, 3)"
            .to_owned();
    }
    let mut shown = String::new();
    for &byte in start.trim_ascii_end().iter().take(16) {
        let _ = write!(shown, "{}", byte.escape_ascii());
    }
    format!("it begins with \"{shown}\", which is no known format")
}

/// The number of colours of a HiRep configuration. Its header has the number of colours and four extents, t first, as big-endian integers,
/// and the plaquette; links follow.
fn of_hirep(word: &impl Fn(usize, bool) -> Option<u32>, length: u64) -> Option<u64> {
    let number = |k: usize| word(k, true).map(u64::from);
    let colours = number(0).filter(|colours| (2..=16).contains(colours))?;
    let volume = (1..5).try_fold(1u64, |volume, k| volume.checked_mul(number(k)?))?;
    // Links of SU(2) are quaternions.
    let reals = if colours == 2 { vec![4, 8] } else { vec![2 * colours * colours] };
    let is_expected =
        |reals: u64| volume.checked_mul(32 * reals).and_then(|bytes| bytes.checked_add(28)) == Some(length);
    reals.into_iter().any(is_expected).then_some(colours)
}
