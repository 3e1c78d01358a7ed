//! The words by which commands name kernels: all, a family, or a kernel (`lanefield::kernel::named`).

use lanefield::kernel::{self, Kernel};

/// Refuses a word that names no kernel.
pub fn word(text: &str) -> Result<String, String> {
    kernel::named(text).map(|_| text.to_owned())
}

/// The same of commands that take `family:NAME`, too.
pub fn word_or_family(text: &str) -> Result<String, String> {
    named(text).map(|_| text.to_owned())
}

/// What a word names. A family and one of its kernels may have the same name: `family:hop` is all of the family.
fn named(word: &str) -> Result<Vec<&'static Kernel>, String> {
    let Some(family) = word.strip_prefix("family:") else { return kernel::named(word) };
    let kernels: Vec<_> = kernel::all().filter(|kernel| kernel.family == family).collect();
    match kernels.is_empty() {
        false => Ok(kernels),
        true => Err(format!(
            "unknown family '{family}': expected one of {}",
            kernel::families().collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The kernels that some words name, each once, as far as a command has something to say of them.
pub fn wanted(
    words: &[String],
    is_wanted: impl Fn(&Kernel) -> bool,
    why: &str,
) -> anyhow::Result<Vec<&'static Kernel>> {
    let mut kernels: Vec<&'static Kernel> = Vec::new();
    for word in words {
        let named = named(word).map_err(anyhow::Error::msg)?;
        let of_word: Vec<_> = named.into_iter().filter(|kernel| is_wanted(kernel)).collect();
        if of_word.is_empty() {
            let known: Vec<&str> = kernel::all().filter(|kernel| is_wanted(kernel)).map(|kernel| kernel.name).collect();
            anyhow::bail!("{word} {why}: expected one of {}", known.join(", "));
        }
        for kernel in of_word {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
    }
    Ok(kernels)
}
