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
    /// The lane.
    pub lane: i64,
    /// The outer site.
    pub site: i64,
    /// The word of a site.
    pub word: i64,
    /// The number of the work-item in its group.
    pub item: i64,
    /// The number of the group.
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
    /// Something else was expected.
    #[error("'{text}' is no address: at character {at}, expected {expected}, and found {found}")]
    Syntax {
        /// The text.
        text: String,
        /// Where, from 1.
        at: usize,
        /// What would be right.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// No such name.
    #[error("'{text}' is no address: '{name}' is no name; use lane, site, word, item or group")]
    Name {
        /// The text.
        text: String,
        /// The name.
        name: String,
    },
    /// Too many parentheses or signs in each other.
    #[error("'{text}' is no address: more than {most} parentheses and signs lie in each other")]
    Deep {
        /// The text.
        text: String,
        /// The limit.
        most: usize,
    },
    /// Too long.
    #[error("an address of {length} bytes is too long: at most {most}")]
    Long {
        /// Bytes of the text.
        length: usize,
        /// The limit.
        most: usize,
    },
    /// Division by zero.
    #[error("'{text}' divides by zero at {names}")]
    Division {
        /// The text.
        text: String,
        /// Where.
        names: Names,
    },
    /// A number that no 64 bits hold.
    #[error("'{text}' leaves the whole numbers of 64 bits at {names}")]
    Overflow {
        /// The text.
        text: String,
        /// Where.
        names: Names,
    },
}

/// A parsed expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Node {
    Number(i64),
    Name(Name),
    Negative(Box<Node>),
    Two(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Lane,
    Site,
    Word,
    Item,
    Group,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Parentheses and signs in each other at most.
const MOST_DEPTH: usize = 64;
/// Bytes of a text at most: a long sum is as deep as it has terms.
const MOST_BYTES: usize = 1000;

impl Expression {
    /// Its value.
    ///
    /// # Errors
    /// [`ExpressionError::Division`], [`ExpressionError::Overflow`].
    pub fn value(&self, names: &Names) -> Result<i64, ExpressionError> {
        let division = || ExpressionError::Division { text: self.text.clone(), names: *names };
        let overflow = || ExpressionError::Overflow { text: self.text.clone(), names: *names };
        value(&self.root, names).map_err(|fault| if fault == Fault::Division { division() } else { overflow() })
    }
}

#[derive(PartialEq)]
enum Fault {
    Division,
    Overflow,
}

fn value(node: &Node, names: &Names) -> Result<i64, Fault> {
    Ok(match node {
        Node::Number(number) => *number,
        Node::Name(Name::Lane) => names.lane,
        Node::Name(Name::Site) => names.site,
        Node::Name(Name::Word) => names.word,
        Node::Name(Name::Item) => names.item,
        Node::Name(Name::Group) => names.group,
        Node::Negative(inner) => value(inner, names)?.checked_neg().ok_or(Fault::Overflow)?,
        Node::Two(operator, left, right) => {
            let (left, right) = (value(left, names)?, value(right, names)?);
            let result = match operator {
                Operator::Divide | Operator::Remainder if right == 0 => return Err(Fault::Division),
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide => left.checked_div(right),
                Operator::Remainder => left.checked_rem(right),
            };
            result.ok_or(Fault::Overflow)?
        }
    })
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

    fn unlike(&mut self, expected: &'static str) -> ExpressionError {
        let found = self.peek().map_or("the end".to_owned(), |found| format!("'{found}'"));
        let before = &self.text[..self.text.len() - self.rest.len()];
        ExpressionError::Syntax { text: self.text.to_owned(), at: before.chars().count() + 1, expected, found }
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&[('+', Operator::Add), ('-', Operator::Subtract)]) {
            left = Node::Two(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        const SIGNS: [(char, Operator); 3] =
            [('*', Operator::Multiply), ('/', Operator::Divide), ('%', Operator::Remainder)];
        let mut left = self.factor()?;
        while let Some(operator) = self.operator(&SIGNS) {
            left = Node::Two(operator, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(ExpressionError::Deep { text: self.text.to_owned(), most: MOST_DEPTH });
        }
        let node =
            match self.peek() {
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
                    Node::Negative(Box::new(self.factor()?))
                }
                Some(first) if first.is_ascii_digit() => {
                    let digits = self.take_while(|c| c.is_ascii_digit());
                    let number = digits.parse();
                    Node::Number(number.map_err(|_| ExpressionError::Overflow {
                        text: self.text.to_owned(),
                        names: Names::default(),
                    })?)
                }
                Some(first) if first.is_alphabetic() => {
                    let name = self.take_while(|c| c.is_alphanumeric() || c == '_');
                    Node::Name(match name.as_str() {
                        "lane" => Name::Lane,
                        "site" => Name::Site,
                        "word" => Name::Word,
                        "item" => Name::Item,
                        "group" => Name::Group,
                        _ => return Err(ExpressionError::Name { text: self.text.to_owned(), name }),
                    })
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
