//! What the languages that programs are written in have in common: lines, operations on results, and what loops carry.

use super::program::{Carry, Id, Operation};

/// Text that is being written, line by line.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// How far lines are indented.
    pub indent: usize,
    /// What was written.
    pub text: String,
}

/// What writes a program.
pub trait Writes {
    /// The kinds of its numbers.
    type Kind: Copy;

    /// What it wrote so far.
    fn text(&mut self) -> &mut Text;
    /// The type of a number.
    fn type_of(kind: Self::Kind) -> &'static str;
    /// What a result is called.
    fn named(&self, id: Id) -> String;

    /// Writes a line.
    fn line(&mut self, line: &str) {
        let Text { indent, text } = self.text();
        *text += &"    ".repeat(*indent);
        *text += line;
        text.push('\n');
    }

    /// Writes a line, and indents what follows.
    fn open(&mut self, line: &str) {
        self.line(line);
        self.text().indent += 1;
    }

    /// Ends what was opened.
    fn close(&mut self) {
        self.text().indent -= 1;
        self.line("}");
    }

    /// Declares what a loop carries.
    fn declare_carried(&mut self, carried: &[Carry<Self::Kind>]) {
        for carry in carried {
            self.line(&format!("{} v{} = {};", Self::type_of(carry.kind), carry.id.0, self.named(carry.initial)));
        }
    }

    /// Hands on what a loop carries, all at once: one may be what another was.
    fn hand_on(&mut self, carried: &[Carry<Self::Kind>]) {
        for (k, carry) in carried.iter().enumerate() {
            self.line(&format!("const {} next{k} = {};", Self::type_of(carry.kind), self.named(carry.last)));
        }
        for (k, carry) in carried.iter().enumerate() {
            self.line(&format!("v{} = next{k};", carry.id.0));
        }
    }
}

/// How operations are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// In OpenCL C, on real numbers and choices.
    Real,
    /// In OpenCL C, on complex numbers.
    Complex,
    /// In OpenCL C, on what has this type: integers, and what is made of them.
    Integer(&'static str),
    /// In C, CUDA and HIP: by functions whose names end so.
    C(&'static str),
}

/// An operation on results that are called what `name` says: of those alone that read nothing.
pub fn operation_text(spelling: Spelling, operation: &Operation, name: &dyn Fn(Id) -> String) -> String {
    use Operation as O;
    use Spelling as S;
    let operands: Vec<String> = operation.operands().into_iter().map(name).collect();
    let all = operands.join(", ");
    let call = |function: &str| format!("{function}({all})");
    let infix = |symbol: &str| operands.join(&format!(" {symbol} "));
    let is_c = matches!(spelling, S::C(_));
    let either = |opencl: &str, c: &str| call(if is_c { c } else { opencl });
    let arithmetic = |symbol: &str, function: &str| match spelling {
        S::C(of) | S::Integer(of) => call(&format!("{function}_{of}")),
        S::Complex if function == "mul" => call(function),
        _ => infix(symbol),
    };
    match operation {
        O::Integer(value) if *value == i64::from(i32::MIN) => "INT_MIN".to_owned(),
        O::Integer(value) if spelling == S::Integer("uint") => format!("{value}u"),
        O::Integer(value) => value.to_string(),
        O::Add(..) => arithmetic("+", "add"),
        O::Sub(..) => arithmetic("-", "sub"),
        O::Mul(..) => arithmetic("*", "mul"),
        O::Div(..) => arithmetic("/", "div"),
        O::Rem(..) => arithmetic("%", "rem"),
        O::Neg(_) if spelling == S::C("c") => call("neg_c"),
        O::Neg(_) => format!("-{all}"),
        O::MulAdd(..) => match spelling {
            S::C(of) => call(&format!("fma_{of}")),
            S::Complex => call("madd"),
            _ => call("fma"),
        },
        O::Scaled(..) => either("times_real", "scaled_c"),
        O::ScaledAdd(..) => either("madd_real", "scaled_add_c"),
        O::New(..) => either("complex_of", "new_c"),
        O::Re(_) if is_c => format!("{all}.re"),
        O::Re(_) => call("real_part"),
        O::Im(_) if is_c => format!("{all}.im"),
        O::Im(_) => call("imaginary_part"),
        O::TimesI(_) => either("times_i", "times_i_c"),
        O::Conj(_) => either("conj", "conj_c"),
        O::Sqrt(_) => either("sqrt", "sqrt_r"),
        O::Abs(_) => either("fabs", "abs_r"),
        O::Promoted(_) if is_c => format!("(double){all}"),
        O::Promoted(_) => call("(double)"),
        O::Rounded(_) => call("convert_float_rte"),
        O::Truncated(_) => call("convert_int_sat_rtz"),
        O::Cast(_) => match spelling {
            S::Integer(ty) => format!("({ty}){all}"),
            _ => format!("(double){all}"),
        },
        O::Less(..) => infix("<"),
        O::AtMost(..) => infix("<="),
        O::Equals(..) => infix("=="),
        O::And(..) => infix(if is_c { "&&" } else { "&" }),
        O::Or(..) => infix(if is_c { "||" } else { "|" }),
        O::Xor(..) => infix("^"),
        O::Not(_) if is_c => format!("!{all}"),
        O::Not(_) => call("not_choice"),
        O::Select(..) => match spelling {
            S::Real => call("select_real"),
            S::Complex => call("select_complex"),
            _ => format!("{} ? {} : {}", operands[0], operands[1], operands[2]),
        },
        O::Least(..) => call("min"),
        O::Greatest(..) => call("max"),
        O::ShiftedLeft(_, bits) if spelling == S::Integer("int") => format!("as_int(as_uint({all}) << {bits})"),
        O::ShiftedLeft(_, bits) => format!("{all} << {bits}"),
        O::ShiftedRight(_, bits) => format!("{all} >> {bits}"),
        other => unreachable!("{other:?} is no operation on results"),
    }
}

/// A double as C reads it back.
pub fn literal(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NAN".to_owned(),
        _ if value.is_infinite() => format!("{}INFINITY", if value < 0.0 { "-" } else { "" }),
        _ => format!("{value:?}"),
    }
}

/// A name that means something in a language (`words`, each between blanks), or in the text itself, is followed by a line.
pub fn apart_from(words: &str, stems: &[&str], is_number: fn(u8) -> bool, name: &str) -> String {
    let is_own =
        |stem: &&str| name.strip_prefix(*stem).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_number));
    match stems.iter().any(is_own) || words.contains(&format!(" {name} ")) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}
