//! Addresses as written by hand. The grammar:
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/" | "%") factor }
//! factor  = integer | name | "(" sum ")" | "-" factor
//! name    = "lane" | "site" | "word" | "item" | "group"
//! ```
//!
//! Numbers are whole, `/` rounds towards zero, and both `/` and `%` ask for a divisor that is not 0.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// What the names of an expression stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Names {
    pub lane: i64,
    pub site: i64,
    pub word: i64,
    /// The number of the work-item in its group.
    pub item: i64,
    pub group: i64,
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lane, site, word, item, group } = self;
        write!(f, "lane {lane}, site {site}, word {word}, item {item}, group {group}")
    }
}

/// Why text is no expression, or has no value. Messages are fragments.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ExpressionError {
    #[error("'{text}' is no address: {reason}")]
    Syntax { text: String, reason: String },
    #[error("an address of {length} bytes is too long: at most {most}")]
    Long {
        /// Bytes of the text.
        length: usize,
        most: usize,
    },
    #[error("'{text}' {fault} at {names}")]
    Value { text: String, fault: ValueFault, names: Names },
}

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ValueFault {
    #[error("divides by zero")]
    Division,
    #[error("leaves the whole numbers of 64 bits")]
    Overflow,
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Number(i64),
    Name(fn(&Names) -> i64),
    Two(Operator, Box<Node>, Box<Node>),
}

/// `None` where the result does not exist.
type Operator = fn(i64, i64) -> Option<i64>;

type NamedValue = (&'static str, fn(&Names) -> i64);

const KNOWN: [NamedValue; 5] = [
    ("lane", |names| names.lane),
    ("site", |names| names.site),
    ("word", |names| names.word),
    ("item", |names| names.item),
    ("group", |names| names.group),
];
const SUMS: [(char, Operator); 2] = [('+', i64::checked_add), ('-', i64::checked_sub)];
const PRODUCTS: [(char, Operator); 3] = [('*', i64::checked_mul), ('/', i64::checked_div), ('%', i64::checked_rem)];

/// Parentheses and signs in each other at most.
const MOST_DEPTH: usize = 64;
/// Bytes of a text at most: a long sum is as deep as it has terms.
const MOST_BYTES: usize = 1000;

impl Expression {
    pub fn value(&self, names: &Names) -> Result<i64, ExpressionError> {
        let no_value = |fault| ExpressionError::Value { text: self.text.clone(), fault, names: *names };
        self.root.value(names).map_err(no_value)
    }
}

impl Node {
    fn two(operator: Operator, left: Self, right: Self) -> Self {
        Self::Two(operator, Box::new(left), Box::new(right))
    }

    fn value(&self, names: &Names) -> Result<i64, ValueFault> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(of) => Ok(of(names)),
            Self::Two(operator, left, right) => {
                let (left, right) = (left.value(names)?, right.value(names)?);
                // Sums and products with zero exist.
                let fault = if right == 0 { ValueFault::Division } else { ValueFault::Overflow };
                operator(left, right).ok_or(fault)
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
        if text.len() > MOST_BYTES {
            return Err(ExpressionError::Long { length: text.len(), most: MOST_BYTES });
        }
        let mut parser = Parser { text, rest: text, depth: 0 };
        let root = parser.sum()?;
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

    /// Takes the operator at hand, if it is one of these.
    fn operator(&mut self, known: &[(char, Operator)]) -> Option<Operator> {
        let next = self.peek()?;
        let (sign, operator) = known.iter().find(|(sign, _)| *sign == next)?;
        self.rest = &self.rest[sign.len_utf8()..];
        Some(*operator)
    }

    fn wrong(&self, reason: String) -> ExpressionError {
        ExpressionError::Syntax { text: self.text.to_owned(), reason }
    }

    fn unlike(&mut self, expected: &str) -> ExpressionError {
        let found = self.peek().map_or("the end".to_owned(), |found| format!("'{found}'"));
        let at = self.text[..self.text.len() - self.rest.len()].chars().count() + 1;
        self.wrong(format!("at character {at}, expected {expected}, and found {found}"))
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&SUMS) {
            left = Node::two(operator, left, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.factor()?;
        while let Some(operator) = self.operator(&PRODUCTS) {
            left = Node::two(operator, left, self.factor()?);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.wrong(format!("more than {MOST_DEPTH} parentheses and signs lie in each other")));
        }
        let node = match self.peek() {
            Some('(') => {
                self.rest = &self.rest[1..];
                let inner = self.sum()?;
                match self.peek() {
                    Some(')') => self.rest = &self.rest[1..],
                    _ => return Err(self.unlike("')'")),
                }
                inner
            }
            Some('-') => {
                self.rest = &self.rest[1..];
                Node::two(i64::checked_sub, Node::Number(0), self.factor()?)
            }
            Some(first) if first.is_ascii_digit() => {
                let number = self.take_while(|c| c.is_ascii_digit()).parse();
                Node::Number(number.map_err(|_| ExpressionError::Value {
                    text: self.text.to_owned(),
                    fault: ValueFault::Overflow,
                    names: Names::default(),
                })?)
            }
            Some(first) if first.is_alphabetic() => {
                let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
                let known = KNOWN.iter().find(|(known, _)| *known == name);
                let unknown = || self.wrong(format!("'{name}' is no name; use lane, site, word, item or group"));
                Node::Name(known.ok_or_else(unknown)?.1)
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

    const NAMES: Names = Names { lane: 3, site: 5, word: 7, item: 11, group: 2 };

    fn of(text: &str) -> i64 {
        text.parse::<Expression>().unwrap().value(&NAMES).unwrap()
    }

    #[test]
    fn products_bind_closer_than_sums_and_both_go_from_the_left() {
        assert_eq!(of("16*lane + 1536*site + 128*word"), 48 + 7680 + 896);
        assert_eq!([of("20 - 5 - 3"), of("100/7/2"), of("2+3*4%5"), of("(2+3)*4")], [12, 7, 4, 20]);
        assert_eq!([of("-lane + item"), of("- (site - word) * -2"), of(" group ")], [8, -4, 2]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let error = |text: &str| text.parse::<Expression>().unwrap_err().to_string();
        assert!(
            error("16*lane +").contains("at character 10, expected a whole number, a name or '(', and found the end")
        );
        assert!(error("16*(lane").contains("expected ')', and found the end"));
        assert!(error("2 lane").contains("at character 3, expected an operator or the end, and found 'l'"));
        assert!(error("16*lain").contains("'lain' is no name; use lane, site, word, item or group"));
        assert!(error("").contains("the end"));
        assert!(error("99999999999999999999").contains("64 bits"));
        assert!(error(&"(".repeat(100)).contains("more than 64"));
        assert!(error(&"1+".repeat(1000)).contains("2000 bytes is too long"));
    }

    #[test]
    fn values_that_do_not_exist_are_errors() {
        let error = |text: &str| text.parse::<Expression>().unwrap().value(&NAMES).unwrap_err().to_string();
        assert!(error("1/(lane-3)").contains("divides by zero at lane 3, site 5"));
        assert!(error("1%(lane-3)").contains("divides by zero"));
        assert!(error("9223372036854775807*site").contains("64 bits"));
    }
}
