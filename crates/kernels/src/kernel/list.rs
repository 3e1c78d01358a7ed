//! The list of all kernels, and of their families.

use std::sync::OnceLock;

use super::{
    blas, clover, clover_term, convert, domain_wall, gauge_fixing, ghosts, heat_bath, hisq, hop, laplace, links, loops,
    molecular_dynamics, reduce, rhs, staggered, staples, twisted_mass, wilson,
};
use crate::backend::specification::Kernel;

/// Lists the families, in the order of tables, each with the trait of its functions, if it has some, what a backend must do to have them, and the section of
/// `docs/arithmetic.md` that defines them.
macro_rules! families {
    ($($family:ident $(: $functions:ident of $backend:ident)?, section $section:literal);+ $(;)?) => {
        /// The functions of all families, as methods of every backend.
        pub mod prelude {
            $($(pub use crate::kernel::$family::$functions;)?)+
        }

        $($(impl<B: crate::backend::$backend + ?Sized> $family::$functions for B {})?)+

        static FAMILIES: &[(&[&Kernel], &str)] =
            &[$(($family::KERNELS, $section),)+ (ghosts::KERNELS, "19")];
    };
}
families! {
    hop: HopKernels of Launch, section "6";
    clover: CloverKernels of Launch, section "13";
    clover_term: CloverTermKernels of Launch, section "13";
    domain_wall: DomainWallKernels of Launch, section "14";
    wilson, section "9";
    laplace: LaplaceKernels of Launch, section "15";
    staggered: StaggeredKernels of Launch, section "16";
    twisted_mass: TwistedMassKernels of Launch, section "17";
    staples: StaplesKernels of Launch, section "20";
    loops: LoopsKernels of Reduce, section "21";
    links: LinksKernels of Launch, section "22";
    heat_bath: HeatBathKernels of Launch, section "23";
    molecular_dynamics: MolecularDynamicsKernels of Launch, section "24";
    hisq: HisqKernels of Launch, section "25";
    gauge_fixing: GaugeFixingKernels of Launch, section "26";
    blas: BlasKernels of Launch, section "7";
    rhs: RhsKernels of Launch, section "7";
    convert: ConvertKernels of Launch, section "12";
    reduce: ReduceKernels of Reduce, section "8";
}

/// The kernels of this process, where they are not the library's.
static OWN: OnceLock<Vec<&'static Kernel>> = OnceLock::new();

/// Makes other kernels those that [`all`] goes through, and with it every tool of this process, in place of the library's.
///
/// # Errors
/// Two kernels of one name; kernels that were named before.
pub fn use_kernels(kernels: &[&'static Kernel]) -> Result<(), String> {
    for (place, kernel) in kernels.iter().enumerate() {
        if kernels[..place].contains(kernel) {
            return Err(format!("there are two kernels of the name '{kernel}': give each a name of its own"));
        }
    }
    OWN.set(kernels.to_vec())
        .map_err(|_| "the kernels of this process were named before: name all of them at once".to_owned())
}

/// Whether the kernels of this process are others than the library's ([`use_kernels`]).
pub fn are_own() -> bool {
    OWN.get().is_some()
}

/// All kernels, family by family: the library's, or those of [`use_kernels`].
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    let of_library = || FAMILIES.iter().flat_map(|(family, _)| family.iter().copied());
    let own = OWN.get();
    own.into_iter().flatten().copied().chain(own.is_none().then(of_library).into_iter().flatten())
}

/// The number of the section of `docs/arithmetic.md` that defines a kernel of the library; none of one of [`use_kernels`].
pub fn definition(kernel: &Kernel) -> Option<&'static str> {
    let defines = |(family, _): &&(&[&Kernel], &str)| family.contains(&kernel);
    FAMILIES.iter().find(defines).filter(|_| !are_own()).map(|(_, section)| *section)
}

/// The names of all families.
pub fn families() -> impl Iterator<Item = &'static str> {
    let mut named = Vec::new();
    all().map(|kernel| kernel.family).filter(move |family| {
        let is_new = !named.contains(family);
        named.push(*family);
        is_new
    })
}

/// Whether the reference in plain C (`crates/capi/reference`) computes a kernel: it has those of `docs/arithmetic.md` §6 to §19 and §25, and not yet those of
/// gauge fields, §20 to §24 and §26.
pub fn is_in_plain_c(kernel: &Kernel) -> bool {
    const NOT_YET: [&str; 6] = ["staples", "loops", "links", "heat_bath", "molecular_dynamics", "gauge_fixing"];
    !NOT_YET.contains(&kernel.family)
}

/// The kernels that a word names: one kernel, all of a family, or `all`. A kernel comes before a family of the same name.
///
/// # Errors
/// The words there are.
pub fn named(word: &str) -> Result<Vec<&'static Kernel>, String> {
    if word == "all" {
        return Ok(all().collect());
    }
    if let Some(kernel) = all().find(|kernel| kernel.name == word) {
        return Ok(vec![kernel]);
    }
    let family: Vec<_> = all().filter(|kernel| kernel.family == word).collect();
    match family.is_empty() {
        false => Ok(family),
        true => {
            let (families, kernels): (Vec<_>, Vec<_>) = (families().collect(), all().map(|k| k.name).collect());
            let (families, kernels) = (families.join(", "), kernels.join(", "));
            Err(format!("unknown kernel '{word}': expected all, a family ({families}), or one of {kernels}"))
        }
    }
}
