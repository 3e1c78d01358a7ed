//! Writes a program as text. Statements, loops, carried numbers and operations are written here, for every language and dialect. A writer adds
//! reads, writes, and the code around a body.

use super::BodyError;
use super::dialect::Dialect;
use super::program::{Carry, Id, Kind, Language, Operation, Statement};

/// Text, written line by line.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The indentation of lines.
    pub indent: usize,
    /// The text so far.
    pub text: String,
}

/// A writer of programs.
///
/// # Errors
/// [`BodyError::Unsupported`] if the dialect cannot express something.
pub trait Writes<L: Language> {
    /// The text so far.
    fn text(&mut self) -> &mut Text;
    /// The dialect of the text.
    fn dialect(&self) -> Dialect;
    /// The expression for an operation that reads no result: words of loads, scalars, data of a site or a point.
    fn input(&self, operation: &Operation) -> Option<String>;
    /// The number of turns of a loop.
    fn turns(&self, turns: &L::Turns) -> String;
    /// Writes a read or a write.
    fn access(&mut self, access: &L::Access) -> Result<(), BodyError>;
    /// Writes statements in a block.
    fn within(&mut self, scope: &L::Scope, statements: &[Statement<L>]) -> Result<(), BodyError>;

    /// The type of a number.
    fn type_of(&self, kind: Kind) -> &'static str {
        self.dialect().type_of(kind)
    }
    /// The name of a result.
    fn named(&self, id: Id) -> String {
        format!("v{}", id.0)
    }
    /// Whether a result is written as an expression where it is used.
    fn is_in_place(&self, _: Id) -> bool {
        false
    }
    /// Called before a loop, and at the end of a turn.
    fn before_turn(&mut self) {}

    /// Writes a line.
    fn line(&mut self, line: &str) {
        let Text { indent, text } = self.text();
        *text += &"    ".repeat(*indent);
        *text += line;
        text.push('\n');
    }

    /// Writes a line, and indents the lines that follow.
    fn open(&mut self, line: &str) {
        self.line(line);
        self.text().indent += 1;
    }

    /// Closes the last block that was opened.
    fn close(&mut self) {
        self.text().indent -= 1;
        self.line("}");
    }

    /// The expression of an operation.
    fn value(&self, kind: Kind, operation: &Operation) -> String {
        let of_results = || self.dialect().operation(kind, operation, &|id| self.named(id));
        self.input(operation).unwrap_or_else(of_results)
    }

    /// Writes statements in order.
    fn statements(&mut self, statements: &[Statement<L>]) -> Result<(), BodyError> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Writes a statement.
    fn statement(&mut self, statement: &Statement<L>) -> Result<(), BodyError> {
        match statement {
            Statement::Compute { id, .. } if self.is_in_place(*id) => Ok(()),
            Statement::Compute { id, kind, operation } => {
                let line =
                    format!("const {} {} = {};", self.type_of(*kind), self.named(*id), self.value(*kind, operation));
                self.line(&line);
                Ok(())
            }
            Statement::Access(access) => self.access(access),
            Statement::Within { scope, statements } => self.within(scope, statements),
            Statement::Loop { turn, turns, carried, statements } => self.repeat(*turn, turns, carried, statements),
        }
    }

    /// Writes a loop.
    fn repeat(
        &mut self,
        turn: Id,
        turns: &L::Turns,
        carried: &[Carry],
        statements: &[Statement<L>],
    ) -> Result<(), BodyError> {
        self.turn_by_turn(turn, turns, carried, statements)
    }

    /// Writes a loop.
    fn turn_by_turn(
        &mut self,
        turn: Id,
        turns: &L::Turns,
        carried: &[Carry],
        statements: &[Statement<L>],
    ) -> Result<(), BodyError> {
        self.declare_carried(carried);
        self.before_turn();
        let (ty, turns) = (self.type_of(L::TURN), self.turns(turns));
        self.open(&format!("for ({ty} v{0} = 0; v{0} < {turns}; ++v{0}) {{", turn.0));
        self.statements(statements)?;
        self.before_turn();
        self.hand_on(carried);
        self.close();
        Ok(())
    }

    /// Declares the numbers that a loop carries.
    fn declare_carried(&mut self, carried: &[Carry]) {
        for carry in carried {
            self.line(&format!("{} v{} = {};", self.type_of(carry.kind), carry.id.0, self.named(carry.initial)));
        }
    }

    /// Assigns the numbers that a loop carries, all at once, because one may be the old value of another.
    fn hand_on(&mut self, carried: &[Carry]) {
        for (k, carry) in carried.iter().enumerate() {
            self.line(&format!("const {} next{k} = {};", self.type_of(carry.kind), self.named(carry.last)));
        }
        for (k, carry) in carried.iter().enumerate() {
            self.line(&format!("v{} = next{k};", carry.id.0));
        }
    }
}
