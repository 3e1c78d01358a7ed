//! Reads and checks descriptions.

use std::path::{Path, PathBuf};

use lanefield::reference::ensure;

use super::described::{AccessOf, ArgumentOf, Described, Description, Moved, Often, PassOf};

#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} does not describe a run of kernels: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: {message}")]
    Content { path: PathBuf, message: String },
}

impl Description {
    /// Reads a description, and the source that it names.
    pub fn read(path: &Path) -> Result<Described, DescriptionError> {
        let text = read(path)?;
        let description: Self = lanefield::toml_text::from_str(&text)
            .map_err(|message| DescriptionError::Parse { path: path.to_owned(), message })?;
        description.check().map_err(|message| DescriptionError::Content { path: path.to_owned(), message })?;
        let source = read(&beside(path, &description.source))?;
        Ok(Described { description, source })
    }

    fn check(&self) -> Result<(), String> {
        ensure!(!self.passes.is_empty(), "there is nothing to launch: give at least one [[pass]]".to_owned());
        ensure!(self.bytes != 0, "bytes = 0: a run moves at least 1".to_owned());
        for buffer in &self.buffers {
            ensure!(buffer.bytes != 0, format!("buffer {}: bytes = 0, and at least 1 is needed", buffer.name));
            if self.buffers.iter().filter(|other| other.name == buffer.name).count() > 1 {
                return Err(format!("buffer {} is declared twice", buffer.name));
            }
            if buffer.allocated == Often::EachRun && buffer.written == Some(Often::Once) {
                return Err(format!(
                    "buffer {} is allocated in each run, and must therefore be written in each",
                    buffer.name
                ));
            }
        }
        for pass in &self.passes {
            let kernel = &pass.kernel;
            if !(1..=3).contains(&pass.global.len()) || pass.local.len() != pass.global.len() {
                return Err(format!(
                    "{kernel}: global {:?} and local {:?} must have the same one to three dimensions",
                    pass.global, pass.local
                ));
            }
            if pass.global.iter().chain(&pass.local).any(|&size| size == 0) || pass.slices == 0 {
                return Err(format!("{kernel}: sizes and slices must be at least 1"));
            }
            let most = u32::MAX as usize;
            let product = |sizes: &[usize]| sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
            let too_many = |count: Option<usize>| count.is_none_or(|count| count > most);
            if too_many(product(&pass.global)) || too_many(product(&pass.local)) || pass.slices > most {
                return Err(format!("{kernel}: at most {most} work-items and slices can be launched"));
            }
            if !pass.global[0].is_multiple_of(pass.slices * pass.local[0]) {
                return Err(format!(
                    "{kernel}: {} work-items are not {} slices of whole groups of {}",
                    pass.global[0], pass.slices, pass.local[0]
                ));
            }
            let arguments = pass.arguments.iter().filter_map(|argument| match argument {
                ArgumentOf::Buffer(name) => Some(name),
                ArgumentOf::Value(_) => None,
            });
            let moved = pass.reads.iter().chain(&pass.writes).map(|moved| &moved.buffer);
            let accessed = pass.accesses.iter().map(|access| &access.buffer);
            let mut named = arguments.chain(moved).chain(accessed);
            let names: Vec<&str> = self.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
            if let Some(name) = named.find(|name| !names.contains(&name.as_str())) {
                return Err(format!("there is no buffer {name}; those declared: {}", names.join(", ")));
            }
            if let Some(access) = pass.accesses.iter().find(|access| !matches!(access.element, 1 | 2 | 4 | 8 | 16)) {
                let element = access.element;
                return Err(format!("{kernel}: an element of {element} bytes; 1, 2, 4, 8 and 16 can be read at once"));
            }
            let bytes_of = |name: &str| self.buffers.iter().find(|buffer| buffer.name == name).map_or(0, |b| b.bytes);
            for Moved { buffer, bytes } in pass.reads.iter().chain(&pass.writes) {
                let has = bytes_of(buffer);
                if *bytes > has as u64 {
                    return Err(format!(
                        "{kernel} moves {bytes} bytes of buffer {buffer}, which has {has}: count each byte once"
                    ));
                }
            }
            for access in &pass.accesses {
                let (has, end) = (bytes_of(&access.buffer) as u64, pass.end_of(access)?);
                if end > has {
                    return Err(format!(
                        "{kernel} reaches byte {} of buffer {}, which has {has}, by '{}': give the buffer more bytes, or launch fewer work-items",
                        end - 1,
                        access.buffer,
                        access.pattern
                    ));
                }
            }
        }
        Ok(())
    }
}

impl PassOf {
    /// One past the last byte of a buffer that the first group accesses.
    fn end_of(&self, access: &AccessOf) -> Result<u64, String> {
        let refused = |reason: String| format!("buffer {}, pattern '{}': {reason}", access.buffer, access.pattern);
        let pattern = access.pattern(self.group(), 1).map_err(|error| refused(error.to_string()))?;
        let accesses = pattern.accesses().map_err(|error| refused(error.to_string()))?;
        let last = accesses.iter().flat_map(|access| &access.addresses).max().copied().unwrap_or(0);
        Ok(last.saturating_add(access.element as u64))
    }
}

pub fn beside(path: &Path, name: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

pub(super) fn read(path: &Path) -> Result<String, DescriptionError> {
    lanefield::bounded::read_text(path).map_err(|source| DescriptionError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::super::described::ValueOf;
    use super::*;

    const COPY: &str = r#"
        name = "copy"
        source = "copy.cl"
        bytes = 8192
        [[buffer]]
        name = "in"
        bytes = 4096
        written = "once"
        [[buffer]]
        name = "out"
        bytes = 4096
        output = true
        [[pass]]
        kernel = "copy"
        global = [1024]
        local = [64]
        arguments = ["out", "in", { u32 = 1024 }, { local = 256 }]
        reads = [{ buffer = "in", bytes = 4096 }]
        access = [{ buffer = "in", pattern = "4*item", element = 4 }]
    "#;

    fn checked(text: &str) -> Result<Description, String> {
        let description: Description = toml::from_str(text).map_err(|error| error.to_string())?;
        description.check().map(|()| description)
    }

    #[test]
    fn a_description_has_defaults_for_what_it_does_not_say() {
        let copy = checked(COPY).unwrap();
        assert_eq!((copy.passes[0].slices, copy.passes[0].any_group_size, copy.flops), (1, false, 0));
        assert_eq!(copy.buffers[0].written, Some(Often::Once));
        assert_eq!(copy.passes[0].arguments[2], ArgumentOf::Value(ValueOf::U32(1024)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let wrong = |from: &str, to: &str, named: &str| {
            let error = checked(&COPY.replace(from, to)).unwrap_err();
            assert!(error.contains(named), "{error}");
        };
        wrong("\"out\", \"in\"", "\"out\", \"inn\"", "there is no buffer inn; those declared: in, out");
        wrong("local = [64]", "local = [48]", "1024 work-items are not 1 slices of whole groups of 48");
        wrong("local = [64]", "local = [8, 8]", "the same one to three dimensions");
        wrong("element = 4", "element = 12", "an element of 12 bytes");
        wrong("bytes = 8192", "bytes = 0", "a run moves at least 1");
        wrong("bytes = 8192", "bytes = -1", "bytes");
        wrong("bytes = 4096\n        written", "bytes = 0\n        written", "buffer in: bytes = 0");
        wrong(
            "bytes = 4096\n        written",
            "bytes = 64\n        written",
            "moves 4096 bytes of buffer in, which has 64",
        );
        wrong("\"4*item\"", "\"80*item\"", "reaches byte 5043 of buffer in, which has 4096, by '80*item'");
        wrong("\"4*item\"", "\"4*itme\"", "pattern '4*itme'");
        wrong("name = \"out\"", "name = \"in\"", "declared twice");
        wrong("output = true", "outptu = true", "outptu");
        wrong("[[pass]]", "[[passes]]", "passes");
    }
}
