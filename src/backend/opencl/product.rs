//! The kernels of the library by name, of which offline compilers and tools go through all. How each is planned is in `offline.rs`.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::field::{CloverBlocks, FieldStrength};
use lanefield_reference::kernels::domain_wall::Form;

use super::{Accumulators, StoredPrecision};

/// A kernel of the library, by what it computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ProductKernel {
    pub(super) name: &'static str,
    pub(super) family: &'static str,
    pub(super) which: Which,
}

/// How it is planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) enum Which {
    Hop {
        spinors: usize,
    },
    CloverHop {
        spinors: usize,
        with_chi: bool,
        accumulators: Accumulators,
    },
    CloverApply,
    Laplace,
    AlongS {
        form: Form,
        adds: bool,
    },
    /// Of clover_term.cl, over so many parts a site; 0: over sites.
    CloverTerm {
        parts: usize,
    },
    /// Of blas.cl, over outer sites; `true`: with a sum.
    Blas(bool),
    Columns(bool),
    Convert,
    /// Of reduce.cl: with bundles, or of one number.
    Reduce {
        bundled: bool,
    },
}

/// Spinors of a site in kernels of several: the columns of a propagator, or Ls of domain walls.
pub(super) const MANY: usize = 12;
/// Slices of domain walls.
pub(super) const LS: usize = 16;

macro_rules! kernels {
    ($($name:literal, $family:literal, $which:expr;)*) => {
        &[$(ProductKernel { name: $name, family: $family, which: $which }),*]
    };
}

use Accumulators::{LocalMemory, Registers};

static KERNELS: &[ProductKernel] = kernels![
    "hop", "hop", Which::Hop { spinors: 1 };
    "hop_many", "hop", Which::Hop { spinors: MANY };
    "eo_clover", "clover", Which::CloverHop { spinors: 1, with_chi: false, accumulators: Registers };
    "oe_clover", "clover", Which::CloverHop { spinors: 1, with_chi: true, accumulators: Registers };
    "eo_clover_local", "clover", Which::CloverHop { spinors: 1, with_chi: false, accumulators: LocalMemory };
    "oe_clover_local", "clover", Which::CloverHop { spinors: 1, with_chi: true, accumulators: LocalMemory };
    "eo_clover_many", "clover", Which::CloverHop { spinors: MANY, with_chi: false, accumulators: Registers };
    "oe_clover_many", "clover", Which::CloverHop { spinors: MANY, with_chi: true, accumulators: Registers };
    "clover_apply", "clover", Which::CloverApply;
    "laplace_hop", "laplace", Which::Laplace;
    "s_tridiagonal", "domain_wall", Which::AlongS { form: Form::Tridiagonal, adds: false };
    "s_tridiagonal_add", "domain_wall", Which::AlongS { form: Form::Tridiagonal, adds: true };
    "s_sweep", "domain_wall", Which::AlongS { form: Form::Sweep, adds: false };
    "s_dense", "domain_wall", Which::AlongS { form: Form::Dense, adds: false };
    "field_strength", "clover_term", Which::CloverTerm { parts: FieldStrength::PARTS };
    "clover_term", "clover_term", Which::CloverTerm { parts: CloverBlocks::PARTS };
    "clover_inverse", "clover_term", Which::CloverTerm { parts: 0 };
    "copy", "blas", Which::Blas(false);
    "axpy", "blas", Which::Blas(false);
    "axpy_norm", "blas", Which::Blas(true);
    "cg_update", "blas", Which::Blas(false);
    "column_products", "columns", Which::Columns(true);
    "column_axpy_norm", "columns", Which::Columns(true);
    "column_cg_update", "columns", Which::Columns(false);
    "take_columns", "columns", Which::Columns(false);
    "convert", "convert", Which::Convert;
    "norm2", "reduce", Which::Reduce { bundled: false };
    "inner_products", "reduce", Which::Reduce { bundled: false };
    "sum", "reduce", Which::Reduce { bundled: true };
];

impl ProductKernel {
    /// All of them, family by family.
    pub fn all() -> &'static [Self] {
        KERNELS
    }

    /// Its name here: that of the OpenCL C kernel, and `_local` where it adds up its hop in local memory.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The kernels that it belongs to.
    pub fn family(self) -> &'static str {
        self.family
    }

    /// Those that `word` names: one kernel, a family, or `all`.
    ///
    /// # Errors
    /// A sentence with the names there are.
    pub fn named(word: &str) -> Result<Vec<Self>, String> {
        let asked = word.to_ascii_lowercase();
        // The names that `estimate`, `access` and `doctor` have are taken, too; a domain wall's hop is that of many spinors a site.
        let asked = match asked.as_str() {
            "eoclover" | "clover-eo" => "eo_clover",
            "oeclover" | "clover-oe" => "oe_clover",
            "domain-wall-hop" => "hop_many",
            asked => asked,
        };
        // `hop` and `clover_term` are kernels and families: the kernel, where only one is meant.
        let chosen = |kernel: &&Self| asked == "all" || kernel.name == asked;
        let mut found: Vec<Self> = KERNELS.iter().filter(chosen).copied().collect();
        if found.is_empty() {
            found = KERNELS.iter().filter(|kernel| kernel.family == asked).copied().collect();
        }
        if found.is_empty() {
            let mut families: Vec<&str> = KERNELS.iter().map(|kernel| kernel.family).collect();
            families.dedup();
            let names: Vec<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
            let (families, names) = (families.join(", "), names.join(", "));
            return Err(format!("'{word}' is no kernel: use all, a family ({families}) or one of {names}"));
        }
        Ok(found)
    }

    /// Whether it reads links, so that their format matters.
    pub fn reads_links(self) -> bool {
        matches!(self.which, Which::Hop { .. } | Which::CloverHop { .. } | Which::Laplace)
    }

    /// Whether it can be built for fields of that precision.
    pub fn takes(self, precision: StoredPrecision) -> bool {
        // 16-bit storage rounds whole spinors, of which the sweep makes halves; sums of words go by f32, and terms are made in f32 or f64.
        let never_sixteen = matches!(
            self.which,
            Which::AlongS { form: Form::Sweep, .. } | Which::Reduce { bundled: true } | Which::CloverTerm { .. }
        );
        precision != StoredPrecision::Sixteen || !never_sixteen
    }
}

impl fmt::Display for ProductKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for ProductKernel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        KERNELS.iter().find(|kernel| kernel.name == text).copied().ok_or_else(|| format!("'{text}' is no kernel"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_kernel_a_family_or_all() {
        let count = |word| ProductKernel::named(word).unwrap().len();
        assert_eq!([count("hop"), count("axpy"), count("domain_wall")], [1, 1, 4]);
        assert_eq!(count("all"), ProductKernel::all().len());
        let name = |word| ProductKernel::named(word).unwrap()[0].name();
        assert_eq!(
            ["EOClover", "OEClover", "clover-eo", "clover-oe"].map(name),
            ["eo_clover", "oe_clover"].repeat(2)[..]
        );
        assert_eq!(["domain-wall-hop", "Laplace", "AXPY"].map(name), ["hop_many", "laplace_hop", "axpy"]);
        assert!(ProductKernel::named("staggered").unwrap_err().contains("'staggered' is no kernel"));
    }
}
