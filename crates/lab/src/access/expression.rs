//! Addresses as expressions of the user. The grammar:
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/" | "%") factor }
//! factor  = integer | name | "(" sum ")" | "-" factor
//! name    = "lane" | "site" | "word" | "item" | "group"
//! ```
//!
//! Numbers are integers, `/` rounds towards zero, and `/` and `%` need a divisor that is not 0.

use std::fmt;
use std::str::FromStr;

use lanefield::reference::ensure;
use thiserror::Error;

const NAMES: [&str; 5] = ["lane", "site", "word", "item", "group"];

/// The values of the names, in the order lane, site, word, item (the number of the work-item in its group), group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Names(pub [i64; 5]);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = NAMES.iter().zip(self.0).map(|(name, value)| format!("{name} {value}")).collect();
        f.write_str(&pairs.join(", "))
    }
}

/// Why a text is not an expression, or has no value. Messages are fragments.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ExpressionError {
    #[error("invalid address '{text}': {reason}")]
    Syntax { text: String, reason: String },
    #[error("an address of {length} bytes is too long: at most {MOST_BYTES}")]
    Long { length: usize },
    #[error("'{text}' {fault} at {names}")]
    Value { text: String, fault: &'static str, names: Names },
}

const DIVISION: &str = "divides by zero";
const OVERFLOW: &str = "overflows 64-bit integers";

#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Number(i64),
    Name(usize),
    Two(Operator, Box<Node>, Box<Node>),
}

/// `None` if the result does not exist.
type Operator = fn(i64, i64) -> Option<i64>;

/// Operators in groups of ascending precedence.
const OPERATORS: [&[(char, Operator)]; 2] = [
    &[('+', i64::checked_add), ('-', i64::checked_sub)],
    &[('*', i64::checked_mul), ('/', i64::checked_div), ('%', i64::checked_rem)],
];

const MOST_DEPTH: usize = 64;
/// The largest length of a text in bytes: a sum is a tree as deep as its number of terms.
const MOST_BYTES: usize = 1000;

impl Expression {
    pub fn value(&self, names: &Names) -> Result<i64, ExpressionError> {
        let no_value = |fault| ExpressionError::Value { text: self.text.clone(), fault, names: *names };
        self.root.value(names).map_err(no_value)
    }
}

impl Node {
    fn value(&self, names: &Names) -> Result<i64, &'static str> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(place) => Ok(names.0[*place]),
            Self::Two(operator, left, right) => {
                let (left, right) = (left.value(names)?, right.value(names)?);
                // Sums and products with zero exist.
                operator(left, right).ok_or(if right == 0 { DIVISION } else { OVERFLOW })
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;
    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        ensure!(text.len() <= MOST_BYTES, ExpressionError::Long { length: text.len() });
        let mut parser = Parser { text, rest: text, depth: 0 };
        let root = parser.binary(&OPERATORS)?;
        match parser.peek() {
            None => Ok(Self { text: text.to_owned(), root }),
            Some(_) => Err(parser.unlike("an operator or the end")),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn wrong(&self, reason: String) -> ExpressionError {
        ExpressionError::Syntax { text: self.text.to_owned(), reason }
    }

    fn unlike(&mut self, expected: &str) -> ExpressionError {
        let found = self.peek().map_or("the end".to_owned(), |found| format!("'{found}'"));
        let at = self.text[..self.text.len() - self.rest.len()].chars().count() + 1;
        self.wrong(format!("at character {at}, expected {expected}, and found {found}"))
    }

    /// Parses operands that are connected by operators of these ranks, from left to right.
    fn binary(&mut self, ranks: &[&[(char, Operator)]]) -> Result<Node, ExpressionError> {
        let [operators, higher @ ..] = ranks else { return self.factor() };
        let mut left = self.binary(higher)?;
        while let Some(next) = self.peek()
            && let Some((_, operator)) = operators.iter().find(|(sign, _)| *sign == next)
        {
            self.rest = &self.rest[1..];
            left = Node::Two(*operator, Box::new(left), Box::new(self.binary(higher)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.wrong(format!("parentheses and signs are nested more than {MOST_DEPTH} deep")));
        }
        let node = match self.peek() {
            Some('(') => {
                self.rest = &self.rest[1..];
                let inner = self.binary(&OPERATORS)?;
                match self.peek() {
                    Some(')') => self.rest = &self.rest[1..],
                    _ => return Err(self.unlike("')'")),
                }
                inner
            }
            Some('-') => {
                self.rest = &self.rest[1..];
                Node::Two(i64::checked_sub, Box::new(Node::Number(0)), Box::new(self.factor()?))
            }
            Some(first) if first.is_ascii_digit() => {
                let number = self.take_while(|c| c.is_ascii_digit()).parse();
                let (text, names) = (self.text.to_owned(), Names::default());
                Node::Number(number.map_err(|_| ExpressionError::Value { text, fault: OVERFLOW, names })?)
            }
            Some(first) if first.is_alphabetic() => {
                let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
                let unknown = || self.wrong(format!("unknown name '{name}': expected lane, site, word, item or group"));
                Node::Name(NAMES.iter().position(|known| *known == name).ok_or_else(unknown)?)
            }
            _ => return Err(self.unlike("a whole number, a name or '('")),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Names = Names([3, 5, 7, 11, 2]);

    fn of(text: &str) -> i64 {
        text.parse::<Expression>().unwrap().value(&VALUES).unwrap()
    }

    #[test]
    fn products_bind_closer_than_sums_and_both_go_from_the_left() {
        assert_eq!(of("16*lane + 1536*site + 128*word"), 48 + 7680 + 896);
        assert_eq!([of("20 - 5 - 3"), of("100/7/2"), of("2+3*4%5"), of("(2+3)*4")], [12, 7, 4, 20]);
        assert_eq!([of("-lane + item"), of("- (site - word) * -2"), of(" group ")], [8, -4, 2]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, said) in [
            ("16*lane +", "at character 10, expected a whole number, a name or '(', and found the end"),
            ("16*(lane", "expected ')', and found the end"),
            ("2 lane", "at character 3, expected an operator or the end, and found 'l'"),
            ("16*lain", "unknown name 'lain': expected lane, site, word, item or group"),
            ("", "the end"),
            ("99999999999999999999", "64-bit integers"),
            (&"(".repeat(100), "nested more than 64 deep"),
            (&"1+".repeat(1000), "2000 bytes is too long"),
        ] {
            let error = text.parse::<Expression>().unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn values_that_do_not_exist_are_errors() {
        let error = |text: &str| text.parse::<Expression>().unwrap().value(&VALUES).unwrap_err().to_string();
        assert!(error("1/(lane-3)").contains("divides by zero at lane 3, site 5"));
        assert!(error("1%(lane-3)").contains("divides by zero"));
        assert!(error("9223372036854775807*site").contains("64-bit integers"));
    }
}
