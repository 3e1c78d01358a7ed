//! The C sources, compiled into shared objects, loaded, and called.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lanefield::backend::HostField;
use lanefield::kernel::{Access, Case, Outcome};
use lanefield::prelude::*;
use lanefield_reference::field::Object;
use lanefield_reference::half::Half;
use lanefield_reference::links::Phase;
use libloading::Library;

/// What `lanefield_reference.h` calls lfr_links.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CLinks {
    phases: [c_int; 4],
    legs: [c_int; 8],
    reconstruct: c_int,
}

impl CLinks {
    pub fn new(boundary: BoundaryPhases, legs: LegOrder, format: LinkFormat) -> Self {
        let phases = std::array::from_fn(|d| match boundary.phase(d) {
            Phase::Periodic => 1,
            Phase::Antiperiodic => -1,
            Phase::Fixed => 0,
            Phase::Twisted(_) => unreachable!("plain C has no angles"),
        });
        Self { phases, legs: legs.legs().map(|leg| leg.point() as c_int), reconstruct: format.reals() as c_int }
    }
}

/// lfr_tree
#[repr(C)]
struct CTree {
    threads: c_int,
    blocks: c_int,
    warp: c_int,
    cut: [c_int; 4],
}

/// lfr_named_field
#[repr(C)]
struct CField {
    name: *const c_char,
    precision: c_int,
    parts: c_int,
    words: c_int,
    data: *mut c_void,
}

/// lfr_named_numbers
#[repr(C)]
struct CNumbers {
    name: *const c_char,
    values: *const f64,
    count: c_int,
}

/// lfr_call
#[repr(C)]
struct CCall {
    kernel: *const c_char,
    extents: [c_int; 4],
    sites: c_int,
    links: CLinks,
    ls: c_int,
    rhs_parts: c_int,
    matrix_dagger: c_int,
    direction: c_int,
    tree: *const CTree,
    fields: *const CField,
    field_count: c_int,
    numbers: *const CNumbers,
    number_count: c_int,
    sums: *mut f64,
    sum_room: c_int,
    sum_count: c_int,
}

/// Numbers in the order of the C arrays, in the precision in which one computes.
#[derive(Clone, Debug)]
pub enum Numbers {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Numbers {
    /// Those of a field: spinors and colour vectors of a site outermost, +0 at sites that it does not have.
    pub fn of(field: &HostField) -> Self {
        let object = field.shape().object;
        match field {
            HostField::F32(field) => Self::Single(outermost(object, flat(&field.to_site_order(), |x| x))),
            HostField::F64(field) => Self::Double(outermost(object, flat(&field.to_site_order(), |x| x))),
            HostField::Half(field) => {
                Self::Single(outermost(object, flat(&field.to_site_order(), |x: Half| f32::from(x))))
            }
        }
    }

    pub fn data(&mut self) -> *mut c_void {
        match self {
            Self::Single(numbers) => numbers.as_mut_ptr().cast(),
            Self::Double(numbers) => numbers.as_mut_ptr().cast(),
        }
    }

    pub fn zeros_like(&self) -> Self {
        match self {
            Self::Single(numbers) => Self::Single(vec![0.0; numbers.len()]),
            Self::Double(numbers) => Self::Double(vec![0.0; numbers.len()]),
        }
    }

    /// The first number whose bits differ; all NaNs are the same.
    pub fn difference(&self, expected: &Self) -> Option<String> {
        fn first<T: Copy + std::fmt::LowerExp>(
            (found, expected): (&[T], &[T]),
            same: impl Fn(T, T) -> bool,
        ) -> Option<String> {
            if found.len() != expected.len() {
                return Some(format!("{} numbers, and {} expected", found.len(), expected.len()));
            }
            let mut differ = (0..found.len()).filter(|&k| !same(found[k], expected[k]));
            let k = differ.next()?;
            let more = differ.count();
            Some(format!("number {k} is {:e} and should be {:e}; {more} more differ", found[k], expected[k]))
        }
        match (self, expected) {
            (Self::Single(found), Self::Single(expected)) => {
                first((found, expected), |a, b| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
            }
            (Self::Double(found), Self::Double(expected)) => {
                first((found, expected), |a, b| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
            }
            _ => Some("numbers of another precision".to_owned()),
        }
    }
}

fn flat<R: Copy, T>(values: &[num_complex::Complex<R>], number: impl Fn(R) -> T) -> Vec<T> {
    values.iter().flat_map(|z| [number(z.re), number(z.im)]).collect()
}

/// From the words of a site together to spinors (colour vectors) outermost.
fn outermost<T: Copy>(object: Object, values: Vec<T>) -> Vec<T> {
    let (parts, words) = parts_of(object);
    let of_site = 2 * parts * words;
    let volume = values.len() / of_site;
    let of_part = |part: usize| (0..volume).map(move |site| of_site * site + 2 * words * part);
    match parts {
        1 => values,
        _ => (0..parts).flat_map(of_part).flat_map(|first| values[first..][..2 * words].iter().copied()).collect(),
    }
}

/// Fields of their own that a field is for the C functions, and complex numbers of each at a site.
fn parts_of(object: Object) -> (usize, usize) {
    match object {
        Object::Spinors(parts) | Object::ColourVectors(parts) => (parts, object.words() / parts),
        _ => (1, object.words()),
    }
}

/// The C functions.
pub struct CReference {
    library: Library,
    /// The command that compiled it.
    pub command: String,
    _folder: tempfile::TempDir,
}

/// The folder of the sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/capi/reference")
}

fn answers(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The C compilers of this machine.
pub fn compilers() -> Vec<&'static str> {
    let clang = ["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"];
    let found: Vec<&str> =
        ["gcc"].into_iter().chain(clang.into_iter().find(|name| answers(name))).filter(|name| answers(name)).collect();
    assert!(!found.is_empty(), "no C compiler: neither gcc nor clang is on the path");
    found
}

/// The flags with which a compiler keeps the rules.
pub fn flags(compiler: &str) -> Vec<&'static str> {
    let of_both = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off"];
    of_both.into_iter().chain((compiler == "gcc").then_some("-fno-tree-slp-vectorize")).collect()
}

impl CReference {
    /// Compiles and loads the sources.
    pub fn compile(compiler: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("lanefield_reference.so");
        let mut command = Command::new(compiler);
        command.args(flags).args(["-DLFR_NO_MAIN", "-fPIC", "-shared", "-o"]).arg(&object);
        command.args(["lanefield_reference.c", "lanefield_reference_golden.c"].map(|name| sources().join(name)));
        let output = command.arg("-lm").output().unwrap();
        let command = format!("{compiler} {}", flags.join(" "));
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: the library is ours, and does nothing when it is loaded.
        let library = unsafe { Library::new(&object) }.unwrap();
        Self { library, command, _folder: folder }
    }

    /// The one with which most cases are run.
    pub fn usual() -> &'static Self {
        static USUAL: OnceLock<CReference> = OnceLock::new();
        USUAL.get_or_init(|| {
            let compiler = compilers()[0];
            let library = Self::compile(compiler, &[&flags(compiler)[..], &["-O2"]].concat());
            assert_eq!(library.check(), None, "{}", library.command);
            library
        })
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` must be its type.
    pub unsafe fn function<F>(&self, name: &str) -> libloading::Symbol<'_, F> {
        // SAFETY: as the caller says.
        unsafe { self.library.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What the check of the compiler says: nothing where all is well.
    pub fn check(&self) -> Option<String> {
        // SAFETY: `const char *lfr_check_compiler(void)`; it gives NULL or a literal.
        unsafe {
            let text = self.function::<unsafe extern "C" fn() -> *const c_char>("lfr_check_compiler")();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    /// Whether there is a kernel of this name.
    pub fn has(&self, kernel: &str) -> bool {
        let name = CString::new(kernel).unwrap();
        // SAFETY: `int lfr_has_kernel(const char *)`, and the name lives as long as the call.
        unsafe { self.function::<unsafe extern "C" fn(*const c_char) -> c_int>("lfr_has_kernel")(name.as_ptr()) != 0 }
    }

    /// Runs the kernel of a case: what it wrote, by name, and its sums. `like`: an outcome, whose fields have the sizes.
    pub fn run(&self, case: &Case, sum: Sum, like: &Outcome) -> (Vec<(&'static str, Numbers)>, Vec<f64>) {
        let (shape, kernel) = (case.shape(), case.kernel());
        let lattice = shape.target.lattice;
        let mut fields: Vec<(&'static str, CString, Object, Precision, Numbers, bool)> = Vec::new();
        for role in kernel.fields() {
            let written = like.fields.iter().find(|(name, _)| role.access != Access::Read && *name == role.name);
            let held = case.fields(role.name).iter();
            for field in held {
                let of_shape = field.shape();
                let before = Numbers::of(field);
                let numbers = if role.access == Access::Write { before.zeros_like() } else { before };
                let name = CString::new(role.name).unwrap();
                fields.push((role.name, name, of_shape.object, of_shape.precision, numbers, written.is_some()));
            }
        }
        let descriptions: Vec<CField> = fields
            .iter_mut()
            .map(|(_, name, object, precision, numbers, _)| {
                let (parts, words) = parts_of(*object);
                let precision = match precision {
                    Precision::F32 => 0,
                    Precision::F64 => 1,
                    Precision::Half => 2,
                };
                CField {
                    name: name.as_ptr(),
                    precision,
                    parts: parts as c_int,
                    words: words as c_int,
                    data: numbers.data(),
                }
            })
            .collect();
        let mut numbers: Vec<(CString, Vec<f64>)> = Vec::new();
        let mut number = |name: &str, values: Vec<f64>| numbers.push((CString::new(name).unwrap(), values));
        case.scalars().for_each(|(name, value)| number(name, vec![value.re, value.im]));
        case.scalars_of_rhs().for_each(|(name, values)| number(name, values.to_vec()));
        if let Some((name, indices)) = case.indices() {
            number(name, indices.iter().map(|&k| k as f64).collect());
        }
        if let Some(matrix) = case.matrix() {
            number("matrix", matrix.table().to_vec());
        }
        let number_descriptions: Vec<CNumbers> = numbers
            .iter()
            .map(|(name, values)| CNumbers {
                name: name.as_ptr(),
                values: values.as_ptr(),
                count: values.len() as c_int,
            })
            .collect();
        let tree = match sum {
            Sum::Exact => None,
            Sum::Tree(plan) => Some(CTree {
                threads: plan.threads() as c_int,
                blocks: plan.blocks() as c_int,
                warp: plan.warp() as c_int,
                cut: cut(&lattice),
            }),
        };
        let links =
            shape.links().map_or_else(CLinks::default, |links| CLinks::new(links.boundary, shape.legs, links.format));
        let name = CString::new(kernel.name).unwrap();
        let mut sums = vec![0.0; like.sums.len()];
        let mut call = CCall {
            kernel: name.as_ptr(),
            extents: extents(&lattice),
            sites: sites_number(shape.sites()),
            links,
            ls: shape.matrix.map_or(1, |matrix| matrix.ls as c_int),
            rhs_parts: shape.rhs_parts as c_int,
            matrix_dagger: shape.matrix.is_some_and(|matrix| matrix.dagger == Dagger::Yes).into(),
            direction: direction_number(shape.direction),
            tree: tree.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            fields: descriptions.as_ptr(),
            field_count: descriptions.len() as c_int,
            numbers: number_descriptions.as_ptr(),
            number_count: number_descriptions.len() as c_int,
            sums: sums.as_mut_ptr(),
            sum_room: sums.len() as c_int,
            sum_count: 0,
        };
        // SAFETY: `const char *lfr_run_kernel(lfr_call *)`; all that the call points to lives longer, and has the sizes that it says.
        let refused = unsafe {
            let text = self.function::<unsafe extern "C" fn(*mut CCall) -> *const c_char>("lfr_run_kernel")(&mut call);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        };
        assert_eq!(refused, None, "{kernel} in C");
        assert_eq!(call.sum_count as usize, like.sums.len(), "{kernel} in C: number of sums");
        let written = fields.into_iter().filter(|(.., written)| *written);
        (written.map(|(name, _, _, _, numbers, _)| (name, numbers)).collect(), sums)
    }

    /// Panics unless the kernel of a case gives an outcome, bit for bit.
    pub fn assert_gives(&self, case: &Case, sum: Sum, expected: &Outcome, what: &str) {
        let (fields, sums) = self.run(case, sum, expected);
        assert_eq!(fields.len(), expected.fields.len(), "{what}: fields written in C");
        for (name, found) in &fields {
            let (_, expected) = expected.fields.iter().find(|(known, _)| known == name).unwrap();
            if let Some(difference) = found.difference(&Numbers::of(expected)) {
                panic!("{what}: {name} in C: {difference}");
            }
        }
        if let Some(difference) = Numbers::Double(sums).difference(&Numbers::Double(expected.sums.clone())) {
            panic!("{what}: sums in C: {difference}");
        }
    }
}

pub fn extents(lattice: &Lattice) -> [c_int; 4] {
    std::array::from_fn(|d| lattice.extents()[d] as c_int)
}

fn cut(lattice: &Lattice) -> [c_int; 4] {
    std::array::from_fn(|d| lattice.nodes()[d] as c_int)
}

pub fn sites_number(sites: Sites) -> c_int {
    match sites {
        Sites::Full => 0,
        Sites::Parity(Parity::Even) => 1,
        Sites::Parity(Parity::Odd) => 2,
    }
}

fn direction_number(direction: Direction) -> c_int {
    direction.index() as c_int
}
