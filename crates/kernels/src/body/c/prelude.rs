//! The code before a kernel in C, CUDA or HIP: includes, types, and the functions that it calls, each of which rounds once.

use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;

use super::target::{Target, other_name, real_name};
use crate::body::dialect::Dialect;

/// Functions that a kernel may call. Each comes after those that it calls.
pub fn functions(target: Target) -> Vec<(String, String)> {
    let Target { dialect, precision, links, .. } = target;
    let mut functions = operations("r", "real", precision, dialect);
    functions.extend(operations("d", "double", Precision::F64, dialect));
    functions.extend(COMPLEX.iter().map(|(name, text)| (format!("{name}_c"), (*text).to_owned())));
    functions.extend(MEMORY.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    functions.push((
        "load_converted".to_owned(),
        format!(
            "cplx load_converted(const {}* from, size_t word) {{\n    return new_c((real)from[2 * word], (real)from[2 * word + 1]);\n}}",
            other_name(precision)
        ),
    ));
    functions.extend(link_functions(links, precision, dialect));
    functions.extend(DRAWS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    functions.push((
        "uniform_of".to_owned(),
        match precision {
            Precision::F64 => "double uniform_of(unsigned int k) { return ((double)k + 0.5) * (1.0 / 4294967296.0); }",
            _ => "float uniform_of(unsigned int k) { return ((float)(k >> 9) + 0.5f) * (1.0f / 8388608.0f); }",
        }
        .to_owned(),
    ));
    functions.push(("draw_uniform".to_owned(), DRAW_UNIFORM.to_owned()));
    functions
}

/// The types of a kernel.
pub fn types(target: Target, kernel: &str) -> String {
    let real = real_name(target.precision);
    let matrix = match kernel.contains("link_matrix") {
        true => "// A matrix: element 3 * row + column.\ntypedef struct {\n    cplx at[9];\n} link_matrix;\n",
        false => "",
    };
    format!("\ntypedef {real} real;\ntypedef struct {{\n    real re, im;\n}} cplx;\n{matrix}")
}

/// The functions that the text of a kernel calls, directly or through functions that follow in the list.
pub fn called(dialect: Dialect, functions: Vec<(String, String)>, kernel: &str) -> String {
    let mut called = String::new();
    for (name, text) in functions.into_iter().rev() {
        let is_called = |text: &str| {
            let call = format!("{name}(");
            text.match_indices(&call).any(|(at, _)| {
                !text[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '_')
            })
        };
        if is_called(kernel) || is_called(&called) {
            called = format!("INLINE {text}\n{called}");
        }
    }
    let inline = if dialect == Dialect::C { "static inline" } else { "static __device__ __forceinline__" };
    called.replace("INLINE", inline)
}

/// The includes, and the pragma or option that forbids the compiler to fuse operations.
pub fn includes(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::C => {
            "#include <float.h>\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n\n\
             #if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0\n#error \"the bits need IEEE arithmetic: no -ffast-math, no x87\"\n#endif\n\
             #if defined(__GNUC__) && !defined(__clang__)\n\
             // In vectors GCC fuses what is not to be fused, even with -ffp-contract=off (seen with 12.2).\n\
             #pragma GCC optimize(\"no-tree-vectorize\")\n#else\n#pragma STDC FP_CONTRACT OFF\n#endif\n"
        }
        Dialect::Cuda => {
            "#ifndef __CUDACC_RTC__\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n#else\n\
             #ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n\
             #ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n#endif\n"
        }
        _ => {
            "#include <hip/hip_runtime.h>\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n\n#pragma clang fp contract(off)\n"
        }
    }
}

/// The operations on numbers of a type. Each rounds once.
pub fn operations(suffix: &str, ty: &str, precision: Precision, dialect: Dialect) -> Vec<(String, String)> {
    let is_f64 = precision == Precision::F64;
    let (of_cuda, of_c) = if is_f64 { ("d", "") } else { ("f", "f") };
    let binary = |name: &str, symbol: &str| {
        let value = match dialect {
            // These are never fused, whatever the options are.
            Dialect::Cuda => format!("__{of_cuda}{name}_rn(a, b)"),
            _ => format!("a {symbol} b"),
        };
        (format!("{name}_{suffix}"), format!("{ty} {name}_{suffix}({ty} a, {ty} b) {{ return {value}; }}"))
    };
    let mut all: Vec<_> =
        [("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/")].map(|(name, symbol)| binary(name, symbol)).into();
    let fma = match dialect {
        Dialect::Cuda => format!("__fma{of_c}_rn"),
        _ => format!("fma{of_c}"),
    };
    all.push((
        format!("fma_{suffix}"),
        format!("{ty} fma_{suffix}({ty} a, {ty} b, {ty} c) {{ return {fma}(a, b, c); }}"),
    ));
    let sqrt = match dialect {
        Dialect::Cuda => format!("__{of_cuda}sqrt_rn"),
        _ => format!("sqrt{of_c}"),
    };
    all.push((format!("sqrt_{suffix}"), format!("{ty} sqrt_{suffix}({ty} a) {{ return {sqrt}(a); }}")));
    all.push((format!("abs_{suffix}"), format!("{ty} abs_{suffix}({ty} a) {{ return fabs{of_c}(a); }}")));
    all
}

/// Complex numbers (`docs/arithmetic.md` §2). Each function comes after those that it calls.
const COMPLEX: &[(&str, &str)] = &[
    ("new", "cplx new_c(real re, real im) {\n    cplx c;\n    c.re = re;\n    c.im = im;\n    return c;\n}"),
    ("add", "cplx add_c(cplx a, cplx b) { return new_c(add_r(a.re, b.re), add_r(a.im, b.im)); }"),
    ("sub", "cplx sub_c(cplx a, cplx b) { return new_c(sub_r(a.re, b.re), sub_r(a.im, b.im)); }"),
    ("neg", "cplx neg_c(cplx a) { return new_c(-a.re, -a.im); }"),
    ("conj", "cplx conj_c(cplx a) { return new_c(a.re, -a.im); }"),
    ("times_i", "cplx times_i_c(cplx a) { return new_c(-a.im, a.re); }"),
    ("scaled", "cplx scaled_c(real s, cplx a) { return new_c(mul_r(s, a.re), mul_r(s, a.im)); }"),
    (
        "scaled_add",
        "cplx scaled_add_c(real s, cplx a, cplx c) {\n    return new_c(fma_r(s, a.re, c.re), fma_r(s, a.im, c.im));\n}",
    ),
    (
        "mul",
        "cplx mul_c(cplx a, cplx b) {\n    return new_c(fma_r(-a.im, b.im, mul_r(a.re, b.re)), fma_r(a.im, b.re, mul_r(a.re, b.im)));\n}",
    ),
    (
        "fma",
        "cplx fma_c(cplx a, cplx b, cplx c) {\n    return new_c(fma_r(-a.im, b.im, fma_r(a.re, b.re, c.re)), fma_r(a.im, b.re, fma_r(a.re, b.im, \
         c.im)));\n}",
    ),
];

const MEMORY: &[(&str, &str)] = &[
    (
        "load_word",
        "cplx load_word(const real* from, size_t word) { return new_c(from[2 * word], from[2 * word + 1]); }",
    ),
    (
        "load_words",
        "void load_words(cplx* to, const real* from, size_t words) {\n    for (size_t word = 0; word < words; ++word)\n        to[word] = \
         load_word(from, word);\n}",
    ),
    (
        "store_word",
        "void store_word(real* to, size_t word, cplx value) {\n    to[2 * word] = value.re;\n    to[2 * word + 1] = value.im;\n}",
    ),
];

/// Random numbers (`docs/arithmetic.md` §23). Each function comes after those that it calls.
const DRAWS: &[(&str, &str)] = &[
    ("whole", "unsigned int whole(real x) { return x >= 0 && x < 16777216 ? (unsigned int)x : 0; }"),
    (
        "philox_round",
        "void philox_round(unsigned int* c, unsigned int k0, unsigned int k1) {\n    const unsigned long long even = 0xd2511f53ull * c[0], odd = \
         0xcd9e8d57ull * c[2];\n    const unsigned int c1 = c[1], c3 = c[3];\n    c[0] = (unsigned int)(odd >> 32) ^ c1 ^ k0;\n    c[1] = (unsigned \
         int)odd;\n    c[2] = (unsigned int)(even >> 32) ^ c3 ^ k1;\n    c[3] = (unsigned int)even;\n}",
    ),
];

const DRAW_UNIFORM: &str =
    "void draw_uniform(const unsigned int* x, real low, real middle, real high, real event, real draw, real* to) {
    unsigned int c[4], k0 = whole(low) | whole(middle) << 24, k1 = whole(middle) >> 8 | whole(high) << 16;
    c[0] = x[0] | x[1] << 16;
    c[1] = x[2] | x[3] << 16;
    c[2] = whole(event);
    c[3] = whole(draw) | 1u << 31;
    for (int round = 0; round < 10; ++round) {
        philox_round(c, k0, k1);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    for (int word = 0; word < 4; ++word)
        to[word] = uniform_of(c[word]);
}";

/// Functions that rebuild links from the stored reals (`docs/arithmetic.md` §5). Each comes after those that it calls.
fn link_functions(format: LinkFormat, precision: Precision, dialect: Dialect) -> Vec<(String, String)> {
    let own = |functions: &[(&str, &str)]| -> Vec<(String, String)> {
        functions.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let negative = match (dialect, precision) {
        (Dialect::Cuda, Precision::F64) => "__double_as_longlong(a) < 0",
        (Dialect::Cuda, _) => "__float_as_int(a) < 0",
        _ => "signbit(a) != 0",
    };
    let negative = format!("int is_negative_r(real a) {{ return {negative}; }}");
    match format {
        LinkFormat::Full => own(&[(
            "read_link",
            "link_matrix read_link(const real* from) {\n    link_matrix u;\n    load_words(u.at, from, 9);\n    return u;\n}",
        )]),
        LinkFormat::TwoRows => own(&[
            ("phase_of", PHASE_OF_TWO_ROWS),
            ("third_row_element", THIRD_ROW_ELEMENT),
            ("rebuild_third_row", THIRD_ROW),
            (
                "read_link",
                "link_matrix read_link(const real* from, real phase) {\n    link_matrix u;\n    load_words(u.at, from, 6);\n    rebuild_third_row(&u, \
                 phase);\n    return u;\n}",
            ),
        ]),
        LinkFormat::Eight => own(&[
            ("phase_of", PHASE_OF_EIGHT),
            ("third_row_element", THIRD_ROW_ELEMENT),
            ("rebuild_third_row", THIRD_ROW),
            ("is_negative_r", &negative),
            (
                "times_one_plus_is",
                "cplx times_one_plus_is(real s, cplx a) { return new_c(fma_r(s, -a.im, a.re), fma_r(s, a.re, a.im)); }",
            ),
            ("rebuild_two_rows", TWO_ROWS),
            (
                "read_link",
                "link_matrix read_link(const real* from, real phase) {\n    link_matrix u;\n    rebuild_two_rows(&u, from, mul_r((real)-0.5, \
                 phase));\n    rebuild_third_row(&u, phase);\n    return u;\n}",
            ),
        ]),
    }
}

const PHASE_OF_TWO_ROWS: &str = "real phase_of(unsigned int neighbour, unsigned int point, unsigned int boundary) {
    return neighbour >> 31 && boundary >> (point & 3) & 1 ? (real)-1 : (real)1;
}";

const PHASE_OF_EIGHT: &str = "real phase_of(unsigned int neighbour, unsigned int point, unsigned int boundary) {
    if (neighbour >> 31 && boundary >> (4 + (point & 3)) & 1)
        return (real)0;
    return neighbour >> 31 && boundary >> (point & 3) & 1 ? (real)-1 : (real)1;
}";

const THIRD_ROW_ELEMENT: &str = "cplx third_row_element(cplx ai, cplx aj, cplx bi, cplx bj, real factor) {
    const cplx c = fma_c(neg_c(aj), bi, mul_c(ai, bj));
    return new_c(mul_r(factor, c.re), mul_r(-factor, c.im));
}";

const THIRD_ROW: &str = "void rebuild_third_row(link_matrix* u, real phase) {
    const real factor = mul_r((real)-2, phase);
    const cplx *a = u->at, *b = u->at + 3;
    u->at[6] = third_row_element(a[1], a[2], b[1], b[2], factor);
    u->at[7] = third_row_element(a[2], a[0], b[2], b[0], factor);
    u->at[8] = third_row_element(a[0], a[1], b[0], b[1], factor);
}";

const TWO_ROWS: &str = "void rebuild_two_rows(link_matrix* u, const real* from, real g) {
    const real one = 1, two = 2;
    const cplx v1 = load_word(from, 0), v2 = load_word(from, 1);
    const real x = from[4], z1 = from[5], z2 = from[6], z3 = from[7];
    const real e = is_negative_r(x) ? -g : g;
    const real s = fma_r(two, abs_r(x), (real)-1.25);
    const real p2 = fma_r(s, s, one);
    const real d = fma_r(v1.re, v1.re, fma_r(v1.im, v1.im, fma_r(v2.re, v2.re, fma_r(v2.im, v2.im, p2))));
    const real t = fma_r(z1, z1, fma_r(z2, z2, fma_r(z3, z3, one)));
    const real dp = mul_r(d, p2);
    const real q = div_r(two, mul_r(dp, t));
    const real h = mul_r(q, dp);
    const real m = sub_r(two, t);
    const real w = mul_r(g, mul_r(h, h));
    const real wm = mul_r(w, m);
    const cplx alpha = new_c(mul_r(w, fma_r(mul_r((real)0.25, m), m, -sub_r(t, one))), mul_r(wm, z1));
    const cplx beta = new_c(mul_r(wm, z2), mul_r(wm, z3));
    const cplx c = fma_c(conj_c(v2), beta, mul_c(conj_c(v1), alpha));
    const cplx k = scaled_c(-mul_r(q, t), times_one_plus_is(s, c));
    const real er = mul_r(e, mul_r(q, mul_r(p2, t)));
    u->at[0] = new_c(mul_r(er, fma_r((real)-0.5, d, one)), mul_r(er, s));
    u->at[1] = scaled_c(er, v1);
    u->at[2] = scaled_c(er, v2);
    u->at[3] = times_one_plus_is(s, k);
    u->at[4] = fma_c(k, v1, alpha);
    u->at[5] = fma_c(k, v2, beta);
}";
