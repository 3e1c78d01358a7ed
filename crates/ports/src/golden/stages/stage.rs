//! The files of a stage.

use lanefield::io::npy::RawArray;

use crate::Content;
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::manifest::StageEntry;

pub(super) struct Stage<'a> {
    pub writer: &'a mut Writer,
    entry: StageEntry,
}

impl<'a> Stage<'a> {
    pub fn new(writer: &'a mut Writer, stage: &str, definition: &str, about: &str) -> Self {
        let (stage, definition, about) = (stage.to_owned(), definition.to_owned(), about.to_owned());
        let entry = StageEntry { stage, definition, about, parameters: Default::default(), files: Vec::new() };
        Self { writer, entry }
    }

    /// Adds a number or a file on which the stage depends.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.entry.parameters.insert(name.to_owned(), value.to_string());
        self
    }

    pub fn path(&self, name: &str) -> String {
        format!("stages/{}/{name}", self.entry.stage)
    }

    /// Writes an array whose shape determines its content: `name` without `.npy`.
    pub fn array(&mut self, name: &str, array: &RawArray) -> Result<(), GoldenError> {
        self.array_of(name, Content::of_shape(&array.shape), array)
    }

    pub(crate) fn array_of(&mut self, name: &str, holds: Content, array: &RawArray) -> Result<(), GoldenError> {
        let path = self.path(&format!("{name}.npy"));
        self.writer.array_of(&path, holds, array)?;
        self.entry.files.push(path);
        Ok(())
    }

    pub fn other(&mut self, name: &str, bytes: &[u8]) -> Result<(), GoldenError> {
        let path = self.path(name);
        self.writer.other(&path, bytes)?;
        self.entry.files.push(path);
        Ok(())
    }

    pub fn done(self) {
        self.writer.stage(self.entry);
    }
}
