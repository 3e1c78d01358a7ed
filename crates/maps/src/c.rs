//! A map in C99, CUDA or HIP: a source that does not need the library and computes the same bits. In C, a loop runs over the points. In CUDA and
//! HIP, a thread computes a point; if a point is a block of threads, a thread block computes it. Counterpart for lattice sites:
//! `crates/kernels/src/body/c.rs`.

use lanefield::body::BodyError;
use lanefield::body::c::{Source, one_of_terms, operations, origin};
use lanefield::body::dialect::Dialect;
use lanefield::body::program::Program;
use lanefield::body::text::Writes as _;
use lanefield_reference::real::Precision;

use super::arguments::{Names, kernel_name, rooms};
use super::kernel::MapKernel;
use super::program::PointLanguage;
use super::write::{Writer, delinearised};

/// The source of a map over `rank` dimensions. A comment at its head describes the arguments.
///
/// # Errors
/// [`BodyError::Unsupported`]: in C for thread-block maps; in CUDA and HIP for points that read what others write; in all of them for exact sums
/// within a loop, a condition or a thread-block map.
pub fn kernel_text(
    map: &MapKernel,
    program: &Program<PointLanguage>,
    rank: usize,
    dialect: Dialect,
) -> Result<String, BodyError> {
    let (names, needs, is_c) = (Names(map), &program.needs, dialect == Dialect::C);
    let unsupported = |does, expected| Err(BodyError::Unsupported { kernel: map.name, does, expected });
    if needs.is_of_blocks() && is_c {
        return unsupported("has thread-block maps, which C does not have", "emit it in opencl, cuda or hip");
    }
    if needs.racy.is_some() && !is_c {
        return unsupported(
            "reads what another point may write",
            "emit it in c, where points come one after the other",
        );
    }
    let mut writer = Writer::new(dialect, names, program, if needs.is_of_blocks() { 1 } else { 2 });
    writer.statements(&program.statements)?;
    let body = std::mem::take(&mut writer.text().text);
    let arguments = names.declared(dialect, rank, &writer.lists);
    let name = kernel_name(map.name);
    let ranges: Vec<String> = (0..rank).map(|dimension| format!("(size_t)range{dimension}")).collect();
    let points = format!("    const size_t points = {};\n", ranges.join(" * "));
    let thread = Source::THREAD;
    let (begin, indent, end) = match (is_c, needs.is_of_blocks()) {
        (true, _) => (points + "    for (size_t number = 0; number < points; ++number) {\n", "        ", "    }\n"),
        (_, true) => ("    const size_t number = blockIdx.x;\n".to_owned(), "    ", ""),
        (_, false) => (
            format!("{points}    const size_t number = {thread};\n    if (number < points) {{\n"),
            "        ",
            "    }\n",
        ),
    };
    let index: String = delinearised("size_t", "number", rank).iter().map(|line| format!("{indent}{line}\n")).collect();
    let has_terms = writer.lists.iter().any(|&lists| lists > 0);
    let source = Source {
        dialect,
        head: head(map, program, &arguments, dialect),
        indent: 4,
        types: "#ifndef INT_MIN\n#define INT_MIN (-2147483647 - 1)\n#endif\n".to_owned(),
        functions: functions(dialect),
        arguments: arguments.into_iter().map(|(declared, _)| declared).collect(),
        inside: format!("{}{begin}{index}{body}{end}", rooms(dialect, needs)),
        after: if has_terms { one_of_terms(dialect, &name, None) } else { String::new() },
        name,
    };
    Ok(source.text())
}

/// The comment at the head of the source.
fn head(
    map: &MapKernel,
    program: &Program<PointLanguage>,
    arguments: &[(String, String)],
    dialect: Dialect,
) -> Vec<String> {
    let mut about = vec![format!("{}: {}.", map.name, map.computes)];
    about.extend(origin(dialect, "map", "", " No index may lie beyond its array: nothing checks that here."));
    match (dialect, program.needs.block) {
        (Dialect::C, _) => {}
        (_, Some([z, y, x])) => {
            about.push(format!(
                "A block of {x} x {y} x {z} threads computes a point: range0 * range1 * ... blocks, in one dimension."
            ));
        }
        (_, None) => about
            .push("A thread computes a point: blocks of any size in one dimension, which may stick out.".to_owned()),
    }
    about
        .extend([String::new(), "Arrays lie row by row, the last dimension fastest, and overlap no other.".to_owned()]);
    about.extend(arguments.iter().filter(|(_, about)| !about.is_empty()).map(|(_, about)| format!("  {about}")));
    about
}

/// The functions that a map may call, in the order in which they call each other.
fn functions(dialect: Dialect) -> Vec<(String, String)> {
    let mut functions = operations("f", "float", Precision::F32, dialect);
    functions.extend(operations("d", "double", Precision::F64, dialect));
    functions.extend(INTEGERS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    let bits = match dialect {
        Dialect::C => "unsigned int bits;\n    memcpy(&bits, &x, sizeof bits);",
        _ => "const unsigned int bits = __float_as_uint(x);",
    };
    let ordered = format!(
        "unsigned int map_ordered(float x, unsigned int of_nan) {{\n    {bits}\n    \
         return (bits & 0x7fffffffu) > 0x7f800000u ? of_nan : bits >> 31 ? ~bits : bits | 0x80000000u;\n}}"
    );
    functions.push(("map_ordered".to_owned(), ordered));
    functions
}

/// Integer functions, as in `cl/map.clh`: results wrap around, and x / 0 is 0.
const INTEGERS: &[(&str, &str)] = &[
    ("add_int", "int add_int(int a, int b) { return (int)((unsigned int)a + (unsigned int)b); }"),
    ("sub_int", "int sub_int(int a, int b) { return (int)((unsigned int)a - (unsigned int)b); }"),
    ("mul_int", "int mul_int(int a, int b) { return (int)((unsigned int)a * (unsigned int)b); }"),
    ("div_int", "int div_int(int a, int b) { return b == 0 ? 0 : b == -1 ? sub_int(0, a) : a / b; }"),
    ("rem_int", "int rem_int(int a, int b) { return b == 0 ? a : b == -1 ? 0 : a % b; }"),
    ("min_int", "int min_int(int a, int b) { return a < b ? a : b; }"),
    ("max_int", "int max_int(int a, int b) { return a > b ? a : b; }"),
    ("add_uint", "unsigned int add_uint(unsigned int a, unsigned int b) { return a + b; }"),
    ("sub_uint", "unsigned int sub_uint(unsigned int a, unsigned int b) { return a - b; }"),
    ("mul_uint", "unsigned int mul_uint(unsigned int a, unsigned int b) { return a * b; }"),
    ("div_uint", "unsigned int div_uint(unsigned int a, unsigned int b) { return b == 0 ? 0 : a / b; }"),
    ("rem_uint", "unsigned int rem_uint(unsigned int a, unsigned int b) { return b == 0 ? a : a % b; }"),
    ("min_uint", "unsigned int min_uint(unsigned int a, unsigned int b) { return a < b ? a : b; }"),
    ("max_uint", "unsigned int max_uint(unsigned int a, unsigned int b) { return a > b ? a : b; }"),
    (
        "truncated",
        "int truncated(float x) {\n    return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? INT_MIN : (int)x;\n}",
    ),
    (
        "map_thread",
        "unsigned int map_thread(void) { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }",
    ),
    ("map_threads", "unsigned int map_threads(void) { return blockDim.x * blockDim.y * blockDim.z; }"),
];
