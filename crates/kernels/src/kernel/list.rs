//! The list of all kernels and their families.

use crate::backend::specification::Kernel;

/// Lists the families in the order of tables. Each entry has the trait of its functions, if it has one; the trait that a backend must implement to
/// have them; the section of `docs/arithmetic.md` that defines them; and `in C` if the reference in plain C (`crates/capi/reference`) computes them.
macro_rules! families {
    ($($family:ident $(: $functions:ident of $backend:ident)?, section $section:literal $(, in $plain:ident)?);+ $(;)?) => {
        /// The functions of all families, as methods of every backend.
        pub mod prelude {
            $($(pub use crate::kernel::$family::$functions;)?)+
        }

        $($(impl<B: crate::backend::$backend + ?Sized> super::$family::$functions for B {})?)+

        static FAMILIES: &[Family] = &[
            $(Family {
                kernels: super::$family::KERNELS,
                section: $section,
                is_in_plain_c: !stringify!($($plain)?).is_empty(),
            },)+
            Family { kernels: super::ghosts::KERNELS, section: "19", is_in_plain_c: true },
        ];
    };
}
families! {
    hop: HopKernels of Launch, section "6", in C;
    clover: CloverKernels of Launch, section "13", in C;
    clover_term: CloverTermKernels of Launch, section "13", in C;
    domain_wall: DomainWallKernels of Launch, section "14", in C;
    wilson, section "9", in C;
    laplace: LaplaceKernels of Launch, section "15", in C;
    staggered: StaggeredKernels of Launch, section "16", in C;
    twisted_mass: TwistedMassKernels of Launch, section "17", in C;
    staples: StaplesKernels of Launch, section "20";
    loops: LoopsKernels of Reduce, section "21";
    links: LinksKernels of Launch, section "22";
    heat_bath: HeatBathKernels of Launch, section "23";
    molecular_dynamics: MolecularDynamicsKernels of Launch, section "24";
    hisq, section "25", in C;
    gauge_fixing: GaugeFixingKernels of Launch, section "26";
    blas: BlasKernels of Launch, section "7", in C;
    rhs: RhsKernels of Launch, section "7", in C;
    convert: ConvertKernels of Launch, section "12", in C;
    reduce: ReduceKernels of Reduce, section "8", in C;
}

struct Family {
    kernels: &'static [&'static Kernel],
    section: &'static str,
    is_in_plain_c: bool,
}

fn family_of(kernel: &Kernel) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.kernels.contains(&kernel))
}

/// All kernels of the library, family by family.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    FAMILIES.iter().flat_map(|family| family.kernels.iter().copied())
}

/// The number of the section of `docs/arithmetic.md` that defines a kernel of the library; `None` for other kernels.
pub fn definition(kernel: &Kernel) -> Option<&'static str> {
    family_of(kernel).map(|family| family.section)
}

/// Whether the reference in plain C (`crates/capi/reference`) computes a kernel.
pub fn is_in_plain_c(kernel: &Kernel) -> bool {
    family_of(kernel).is_some_and(|family| family.is_in_plain_c)
}

/// Kernels by name. If it has kernels of a caller, `all` and the families are those of the caller. The library's kernels can still be found by name,
/// for example `hop` for comparison.
#[derive(Clone, Debug, Default)]
pub struct KernelList {
    own: Vec<&'static Kernel>,
}

impl KernelList {
    /// Only the library's kernels.
    pub const LIBRARY: Self = Self { own: Vec::new() };

    /// The library's kernels, and in addition those of a caller.
    ///
    /// # Errors
    /// Two kernels have the same name.
    pub fn with(own: &[&'static Kernel]) -> Result<Self, String> {
        let mut list = Self::default();
        for &kernel in own {
            // Kernels of the library may be listed, too.
            if list.own.contains(&kernel) {
                return Err(format!("there are two kernels named '{kernel}': give each a different name"));
            }
            if all().any(|known| *known == *kernel && !std::ptr::eq(known, kernel)) {
                return Err(format!("the library has a kernel named '{kernel}': give yours another name"));
            }
            list.own.push(kernel);
        }
        Ok(list)
    }

    /// Whether there are kernels of a caller.
    pub fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// The kernels that `all` stands for: those of a caller if there are any, else the library's.
    pub fn all(&self) -> impl Iterator<Item = &'static Kernel> {
        self.own.iter().copied().chain(all().filter(|_| !self.has_own()))
    }

    /// Every kernel that can be found by name.
    pub fn every(&self) -> impl Iterator<Item = &'static Kernel> {
        self.all().chain(all().filter(|kernel| self.has_own() && !self.own.contains(kernel)))
    }

    /// The kernel with this name.
    pub fn find(&self, name: &str) -> Option<&'static Kernel> {
        self.every().find(|kernel| kernel.name == name)
    }

    /// The names of all families.
    pub fn families(&self) -> Vec<&'static str> {
        let mut families = Vec::new();
        for kernel in self.all() {
            if !families.contains(&kernel.family) {
                families.push(kernel.family);
            }
        }
        families
    }

    /// The kernels that a word stands for: one kernel, all kernels of a family, or `all`. A kernel comes before a family of the same name;
    /// `family:NAME` is the family.
    ///
    /// # Errors
    /// The word is unknown; the message lists the valid ones.
    pub fn named(&self, word: &str) -> Result<Vec<&'static Kernel>, String> {
        if word == "all" {
            return Ok(self.all().collect());
        }
        let family = word.strip_prefix("family:");
        if let (None, Some(kernel)) = (family, self.find(word)) {
            return Ok(vec![kernel]);
        }
        let of_family: Vec<_> = self.every().filter(|kernel| kernel.family == family.unwrap_or(word)).collect();
        if !of_family.is_empty() {
            return Ok(of_family);
        }
        let families = self.families().join(", ");
        Err(match family {
            Some(family) => format!("unknown family '{family}': expected one of {families}"),
            None => {
                let kernels: Vec<&str> = self.all().map(|kernel| kernel.name).collect();
                format!(
                    "unknown kernel '{word}': expected all, a family ({families}), or one of {}",
                    kernels.join(", ")
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::blas::{AXPY, COPY};
    use crate::kernel::hop::HOP;

    static MINE: Kernel = Kernel { name: "mine", family: "mine", ..COPY };
    static COPY_OF_MINE: Kernel = Kernel { computes: "another", ..MINE };
    static LIKE_HOP: Kernel = Kernel { name: "hop", ..COPY };

    fn names(kernels: Result<Vec<&'static Kernel>, String>) -> Vec<&'static str> {
        kernels.unwrap().into_iter().map(|kernel| kernel.name).collect()
    }

    #[test]
    fn kernels_of_a_caller_are_all_that_all_means_and_the_librarys_are_there_by_name() {
        let list = KernelList::with(&[&MINE, &AXPY]).unwrap();
        assert_eq!(names(list.named("all")), ["mine", "axpy"]);
        assert_eq!(names(list.named("mine")), ["mine"]);
        assert_eq!(names(list.named("hop")), ["hop"]);
        assert_eq!(names(list.named("family:hop")), names(KernelList::LIBRARY.named("family:hop")));
        assert_eq!(list.families(), ["mine", "blas"]);
        let error = list.named("dslash").unwrap_err();
        assert_eq!(error, "unknown kernel 'dslash': expected all, a family (mine, blas), or one of mine, axpy");
        assert!(list.named("family:dslash").unwrap_err().starts_with("unknown family 'dslash': expected one of mine"));
    }

    #[test]
    fn two_kernels_of_one_name_are_refused() {
        assert!(KernelList::with(&[&MINE, &COPY_OF_MINE]).unwrap_err().contains("two kernels named 'mine'"));
        assert!(KernelList::with(&[&LIKE_HOP]).unwrap_err().contains("the library has a kernel named 'hop'"));
        assert!(KernelList::with(&[&HOP, &MINE]).is_ok());
    }
}
