//! Reads small files whole: JSON, TOML, CSV. A file that is larger than any of these is an error, and so is a device, which may have no end.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The largest size of a file that may be large, such as a trace: 512 MiB.
pub const MOST_BYTES: u64 = 512 << 20;

/// Reads a file, or a pipe, of at most [`MOST_BYTES`].
///
/// # Errors
/// Fails for a directory, a device or a file that is too large, and if it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_most(path, MOST_BYTES)
}

/// Like [`read`], as UTF-8 text.
///
/// # Errors
/// As [`read`], and if the content is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_text_most(path, MOST_BYTES)
}

/// Like [`read_text`], with a limit of `most` bytes.
pub fn read_text_most(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_most(path, most)?).map_err(|_| invalid("it is not text in UTF-8".to_owned()))
}

fn read_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(invalid("it is a directory".to_owned()));
    }
    let [is_pipe, is_device] = is_pipe_or_device(&metadata);
    if is_device {
        return Err(invalid("it is a device, not a file".to_owned()));
    }
    let too_large =
        |bytes: String| invalid(format!("it is too large: it has {bytes} bytes, and at most {most} are read"));
    if metadata.len() > most {
        return Err(too_large(metadata.len().to_string()));
    }
    let mut content = Vec::new();
    let file = if is_pipe { open_pipe(path, &mut content)? } else { File::open(path)? };
    file.take(most + 1).read_to_end(&mut content)?;
    // A pipe, or a file that is growing.
    if content.len() as u64 > most { Err(too_large("more".to_owned())) } else { Ok(content) }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Opens a pipe and reads its first byte. Opening it like a file would block for ever if nobody writes to it.
#[cfg(target_os = "linux")]
fn open_pipe(path: &Path, content: &mut Vec<u8>) -> io::Result<File> {
    use std::time::{Duration, Instant};

    use rustix::fs::{Mode, OFlags, fcntl_setfl, open};

    const PATIENCE: Duration = Duration::from_secs(3);
    let mut file: File = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?.into();
    let (start, mut first) = (Instant::now(), [0]);
    loop {
        match file.read(&mut first) {
            Ok(0) if start.elapsed() > PATIENCE => return Err(invalid("no process writes to the pipe".to_owned())),
            Ok(0) => {}
            Ok(_) => break,
            // A process has opened the pipe, but has not written yet.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    fcntl_setfl(&file, OFlags::empty())?;
    content.extend(first);
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn open_pipe(path: &Path, _: &mut Vec<u8>) -> io::Result<File> {
    File::open(path)
}

/// Whether it is a pipe, and whether it is a device.
fn is_pipe_or_device(metadata: &fs::Metadata) -> [bool; 2] {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = metadata.file_type();
        [kind.is_fifo(), kind.is_char_device() || kind.is_block_device()]
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        [false; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_refused_before_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        fs::write(&path, "twelve bytes").unwrap();
        assert_eq!(read_text_most(&path, 12).unwrap(), "twelve bytes");
        let refusal = |path: &Path, most| read_text_most(path, most).unwrap_err().to_string();
        assert_eq!(refusal(&path, 11), "it is too large: it has 12 bytes, and at most 11 are read");
        assert_eq!(refusal(directory.path(), 11), "it is a directory");
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(refusal(&path, 11), "it is not text in UTF-8");
        // As long as it says it is, without a block on the disk.
        File::create(&path).unwrap().set_len(5 << 30).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("it has 5368709120 bytes"));
        #[cfg(unix)]
        assert_eq!(refusal(Path::new("/dev/zero"), 11), "it is a device, not a file");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_is_read_to_its_end_or_limit_and_one_that_nobody_writes_to_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(read(&path).unwrap_err().to_string(), "no process writes to the pipe");
        for (most, expected) in [(12, Ok("twelve bytes".to_owned())), (11, Err(()))] {
            let writer = path.clone();
            let writes = std::thread::spawn(move || fs::write(writer, "twelve bytes"));
            assert_eq!(read_text_most(&path, most).map_err(|_| ()), expected);
            let _ = writes.join().unwrap();
        }
    }
}
