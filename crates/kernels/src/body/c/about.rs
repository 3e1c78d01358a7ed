//! Descriptions for the comment at the head of a source.

use lanefield_reference::links::LinkFormat;
use lanefield_reference::object::Object;

use crate::body::dialect::Dialect;

/// A description of the order of the words of an object, if it is not obvious.
pub fn order_of_words(object: Object) -> Option<&'static str> {
    match object {
        Object::Spinors(_) => Some(", word 3 * spin + colour"),
        Object::ColourVectors(_) => Some(", word colour"),
        Object::HalfSpinor => Some(", word 3 * spin + colour"),
        Object::ColourMatrix => Some(", word 3 * row + column"),
        Object::Gauge => Some(", word 9 * direction + 3 * row + column"),
        Object::Propagator => Some(", word ((sink spin * 4 + source spin) * 3 + sink colour) * 3 + source colour"),
        _ => None,
    }
}

pub fn about_links(format: LinkFormat) -> String {
    let what = match format {
        LinkFormat::Full => {
            "word 3 * row + column of -1/2 * phase * U_mu(x), or of -1/2 * phase * U_mu(x - mu)^dagger for the last four"
        }
        LinkFormat::TwoRows => {
            "word 3 * row + column of the first two rows of -1/2 * phase * U_mu(x), or of -1/2 * phase * U_mu(x - mu)^dagger for the last four; the \
             third row is rebuilt"
        }
        LinkFormat::Eight => {
            "words v1, v2, (x, z1), (z2, z3) that stand for U_mu(x), or U_mu(x - mu)^dagger for the last four; -1/2 * phase * U is rebuilt"
        }
    };
    format!(
        "[site][+x +y +z +t -x -y -z -t][{} words][re, im], read: {what} (docs/arithmetic.md, section 5)",
        format.words()
    )
}

/// The origin of a source, and how to compile it. `of`: "kernel" or "map"; `more`: text after "the bits of"; `at_last`: text at the end.
pub fn origin(dialect: Dialect, of: &str, more: &str, at_last: &str) -> [String; 3] {
    [
        format!(
            "Written by Lanefield {} from the body of the {of}. It has the bits of Lanefield's {of}{more}: every operation is rounded once, to nearest even, \
             and what is fused is an fma.{at_last}",
            env!("CARGO_PKG_VERSION")
        ),
        String::new(),
        compiled_with(dialect).to_owned(),
    ]
}

/// Formats lines as a comment. Lines that begin with blanks describe an argument; if they are wrapped, the continuation is indented by `indent`.
pub fn commented(lines: &[String], indent: usize) -> String {
    lines.iter().map(|line| wrapped(line, if line.starts_with("  ") { indent } else { 0 })).collect()
}

/// How to compile a source.
fn compiled_with(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::C => {
            "Compile with gcc or clang -std=c99 -O3 -ffp-contract=off, and -lm. No -ffast-math, nor any part of it."
        }
        Dialect::Cuda => {
            "Compile with nvcc -O3, or with NVRTC; the operations below are not fused, whatever --fmad is. No --use_fast_math, \
                              nor -ftz=true."
        }
        _ => {
            "Compile with hipcc -O3 -ffp-contract=off. No -ffast-math, nor any part of it, no -fgpu-flush-denormals-to-zero, no \
                             -fno-hip-fp32-correctly-rounded-divide-sqrt."
        }
    }
}

/// A line of a comment, wrapped if it is too long, with the continuation indented.
fn wrapped(line: &str, indent: usize) -> String {
    const WIDTH: usize = 117;
    let mut text = String::new();
    let mut current = String::new();
    // What it is indented by is kept.
    let start = line.len() - line.trim_start().len();
    for word in line[start..].split(' ') {
        let is_first = current.trim().is_empty();
        if !is_first && current.chars().count() + 1 + word.chars().count() > WIDTH {
            text += format!("// {current}").trim_end();
            text.push('\n');
            current = " ".repeat(indent) + word;
        } else if is_first {
            current += &(" ".repeat(start) + word);
        } else {
            current += &format!(" {word}");
        }
    }
    text += format!("// {current}").trim_end();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_cut_at_words() {
        let words = wrapped(&format!("  name  {}", "word ".repeat(40).trim()), 8);
        let lines: Vec<&str> = words.lines().collect();
        assert!(lines.iter().all(|line| line.len() <= 120) && lines.len() == 2, "{words}");
        assert!(lines[0].starts_with("//   name  word") && lines[1].starts_with("//         word"), "{words}");
    }
}
