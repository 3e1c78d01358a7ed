//! The languages in which programs are written: their types, literals and operations, and the words that cannot be names.

use std::str::FromStr;

use super::program::{Id, Kind, Operands as _, Operation};

/// A language in which programs are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// OpenCL C 1.2.
    OpenCl,
    /// C99.
    C,
    /// CUDA C++, also for NVRTC.
    Cuda,
    /// HIP C++.
    Hip,
}

lanefield_reference::named!(Dialect: OpenCl = "opencl", C = "c", Cuda = "cuda", Hip = "hip");

/// An unknown language.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown language '{0}': expected opencl, c, cuda or hip")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;
    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        Self::ALL.into_iter().find(|known| known.to_string() == text).ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}

impl Dialect {
    /// The extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::OpenCl => "cl",
            Self::C => "c",
            Self::Cuda => "cu",
            Self::Hip => "hip",
        }
    }

    /// The type of a number.
    pub const fn type_of(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (_, Kind::Complex) => "cplx",
            (Self::OpenCl, Kind::Real) => "vreal",
            (_, Kind::Real) => "real",
            (_, Kind::F32) => "float",
            (Self::OpenCl, Kind::F64) => "f64",
            (_, Kind::F64) => "double",
            (Self::OpenCl, Kind::U32) => "uint",
            (_, Kind::U32) => "unsigned int",
            (Self::OpenCl, Kind::Choice) => "vchoice",
            (_, Kind::I32 | Kind::Choice) => "int",
        }
    }

    /// The qualifier of a pointer that does not alias any other argument.
    pub const fn restrict(self) -> &'static str {
        if matches!(self, Self::OpenCl | Self::C) { "restrict" } else { "__restrict__" }
    }

    /// The literal of a real constant.
    pub fn constant(self, kind: Kind, value: f64) -> String {
        let literal = literal(value);
        match (self, kind) {
            // By its bits where the device has none, in which nothing is rounded.
            (Self::OpenCl, Kind::F64) => format!("f64_from_bits({:#x}UL /* {literal} */)", value.to_bits()),
            (_, Kind::F64) => literal,
            // Without doubles a literal is a float by one rounding: both are written.
            (Self::OpenCl, Kind::F32) => single(value),
            (Self::OpenCl, _) if value.is_nan() || f64::from(value as f32) == value => {
                format!("(vreal)((real){})", single(value))
            }
            (Self::OpenCl, _) => format!("(vreal)(real_constant({literal}, {}))", single(value)),
            _ if literal.starts_with('-') => format!("({})({literal})", self.type_of(kind)),
            _ => format!("({}){literal}", self.type_of(kind)),
        }
    }

    /// An operation on results. `name` returns the name of a result. Only for operations that do not read data of a site or a call.
    pub fn operation(self, kind: Kind, operation: &Operation, name: &dyn Fn(Id) -> String) -> String {
        use Operation as O;
        let operands: Vec<String> = operation.operands().into_iter().map(name).collect();
        let all = operands.join(", ");
        let call = |function: &str| format!("{function}({all})");
        let infix = |symbol: &str| operands.join(&format!(" {symbol} "));
        let is_c = self != Self::OpenCl;
        let is_integer = matches!(kind, Kind::I32 | Kind::U32);
        let either = |opencl: &str, c: &str| call(if is_c { c } else { opencl });
        let typed = |function: &str| call(&format!("{function}_{}", suffix(kind)));
        let arithmetic = |symbol: &str, function: &str| match kind {
            _ if is_c || is_integer => typed(function),
            Kind::F64 => call(&format!("f64_{function}")),
            Kind::Complex if function == "mul" => call(function),
            _ => infix(symbol),
        };
        let rounded_once = |function: &str, opencl: &str| if is_c { typed(function) } else { call(opencl) };
        match operation {
            O::Constant(value) => self.constant(kind, *value),
            O::Integer(value) if *value == i64::from(i32::MIN) => "INT_MIN".to_owned(),
            O::Integer(value) if kind == Kind::U32 => format!("{value}u"),
            O::Integer(value) => value.to_string(),
            O::Add(..) => arithmetic("+", "add"),
            O::Sub(..) => arithmetic("-", "sub"),
            O::Mul(..) => arithmetic("*", "mul"),
            O::Div(..) if !is_c && matches!(kind, Kind::Real | Kind::F32) => {
                call(if kind == Kind::Real { "divided" } else { "f32_divided" })
            }
            O::Div(..) => arithmetic("/", "div"),
            O::Rem(..) => arithmetic("%", "rem"),
            O::Neg(_) if is_c && kind == Kind::Complex => call("neg_c"),
            O::Neg(_) if !is_c && kind == Kind::F64 => call("f64_neg"),
            O::Neg(_) => format!("-{all}"),
            O::MulAdd(..) => rounded_once(
                "fma",
                match kind {
                    Kind::Complex => "madd",
                    Kind::F64 => "f64_fma",
                    _ => "fma",
                },
            ),
            O::Scaled(..) => either("times_real", "scaled_c"),
            O::ScaledAdd(..) => either("madd_real", "scaled_add_c"),
            O::New(..) => either("complex_of", "new_c"),
            O::Re(_) if is_c => format!("{all}.re"),
            O::Re(_) => call("real_part"),
            O::Im(_) if is_c => format!("{all}.im"),
            O::Im(_) => call("imaginary_part"),
            O::TimesI(_) => either("times_i", "times_i_c"),
            O::Conj(_) => either("conj", "conj_c"),
            O::Sqrt(_) => rounded_once(
                "sqrt",
                match kind {
                    Kind::Real => "square_root",
                    Kind::F32 => "f32_root",
                    _ => "sqrt",
                },
            ),
            O::Abs(_) => rounded_once("abs", "fabs"),
            O::Promoted(_) if is_c => format!("(double){all}"),
            O::Promoted(_) => call("f64_of"),
            O::Rounded(_) if is_c => format!("(float){all}"),
            O::Rounded(_) => call("convert_float_rte"),
            O::Truncated(_) => either("convert_int_sat_rtz", "truncated"),
            O::Cast(_) => format!("({}){all}", self.type_of(kind)),
            O::Less(..) => infix("<"),
            O::AtMost(..) => infix("<="),
            O::Equals(..) => infix("=="),
            O::And(..) => infix(if is_c && !is_integer { "&&" } else { "&" }),
            O::Or(..) => infix(if is_c && !is_integer { "||" } else { "|" }),
            O::Xor(..) => infix("^"),
            O::Not(_) if is_c => format!("!{all}"),
            O::Not(_) => call("not_choice"),
            O::Select(..) => match kind {
                _ if is_c || is_integer => format!("{} ? {} : {}", operands[0], operands[1], operands[2]),
                Kind::Complex => call("select_complex"),
                _ => call("select_real"),
            },
            O::Least(..) => rounded_once("min", "min"),
            O::Greatest(..) => rounded_once("max", "max"),
            O::ShiftedLeft(_, bits) => match kind {
                Kind::I32 if is_c => format!("(int)((unsigned int){all} << {bits})"),
                Kind::I32 => format!("as_int(as_uint({all}) << {bits})"),
                _ => format!("{all} << {bits}"),
            },
            O::ShiftedRight(_, bits) => format!("{all} >> {bits}"),
            other => unreachable!("{other:?} is no operation on results"),
        }
    }

    /// The name of an argument. If it is a word of the language or of the generated code, an underscore is appended.
    pub fn named(self, name: &str) -> String {
        let (words, stems, is_number): (_, &[&str], fn(u8) -> bool) = match self {
            Self::OpenCl => (OPENCL_WORDS, &["v", "end", "next"], |byte| byte.is_ascii_digit() || byte == b'_'),
            _ => (C_WORDS, &["v", "end", "phase", "next"], |byte| byte.is_ascii_digit()),
        };
        let is_own =
            |stem: &&str| name.strip_prefix(*stem).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_number));
        let is_taken = self == Self::OpenCl && (name.starts_with("to_") || name.starts_with("far_"));
        match is_taken || stems.iter().any(is_own) || words.contains(&format!(" {name} ")) {
            true => format!("{name}_"),
            false => name.to_owned(),
        }
    }
}

/// The suffix of function names.
const fn suffix(kind: Kind) -> &'static str {
    match kind {
        Kind::Complex => "c",
        Kind::Real | Kind::Choice => "r",
        Kind::F32 => "f",
        Kind::F64 => "d",
        Kind::I32 => "int",
        Kind::U32 => "uint",
    }
}

/// The f32 nearest to a double.
fn single(value: f64) -> String {
    let value = value as f32;
    if value.is_finite() { format!("{value:?}f") } else { literal(value.into()) }
}

/// A literal that C reads as exactly this double.
fn literal(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NAN".to_owned(),
        _ if value.is_infinite() => format!("{}INFINITY", if value < 0.0 { "-" } else { "" }),
        _ => format!("{value:?}"),
    }
}

/// Words of OpenCL C, of the headers, and of the code around a body, each between blanks.
const OPENCL_WORDS: &str = " auto bool boundary case char classes complex_of coordinate_of coordinates_of complex draw_uniform component conj const constant continue \
    cplx default divided do double element event_t exchange f32_divided f32_root f64 f64_of extract_converted extract_neighbour far_end begin_at step_from take_lanes_of_step \
    of_neighbours extract_words fabs find_neighbour find_neighbour_of finish_group first first_sum float fma for_elements global goto half \
    imaginary imaginary_part inline insert_all int is_odd k kernel lane lane_bits lane_steps lanes_a_group lanes_of_slices leg_end local long \
    madd madd_real mul neighbours not_choice of_class osite osites osites_a_class osites_of_slices part partials parts philox plane_id popcount \
    private quad read_link read_link_of read_only real real_constant real_part register restrict result retired running running_add running_empty \
    select_complex select_real short signed site_xy site_zt sizeof source_word spill_target_of spills sqrt square_root stored stored_at store_site_words \
    struct sum switch times_i times_real typedef uchar uint ulong uniform_of union unsigned ushort vchoice void volatile vreal whole words \
    write_only xy_of_lanes xy_of_osites zt_of_lanes zt_of_osites ";

/// Words of C and C++, and of the code around a body, each between blanks.
const C_WORDS: &str = " and and_eq asm auto bitand bitor bool boundary case catch char class compl complex component coordinates cplx default delete displaced do \
    draw_uniform double explicit export float friend goto inline int link_matrix long mutable namespace neighbours new not not_eq operator or \
    or_eq part parts philox_round private protected public real register restrict short signed site sites sizeof switch template terms this \
    throw typedef typeid typename uniform_of union unsigned using virtual void volatile whole words xor xor_eq ";

/// Compilers in other tests check names of functions and numbers of arguments. These tests check the rest.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_languages_are_changed_and_others_kept() {
        let in_c = |name| Dialect::C.named(name);
        assert_eq!(["int", "v12", "sites", "end3"].map(in_c), ["int_", "v12_", "sites_", "end3_"]);
        assert_eq!(["phi", "velocity", "v", "in", "endpoint"].map(in_c), ["phi", "velocity", "v", "in", "endpoint"]);
    }
}
