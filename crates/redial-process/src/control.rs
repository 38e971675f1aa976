//! The control file, in which a command may ask for another attempt or for none.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempPath;

/// What the command asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// No other attempt.
    Stop,
    /// Another attempt after exactly so long.
    RetryAfter(Duration),
}

/// The control file of a run; every attempt finds it empty.
#[derive(Debug)]
pub struct Control {
    file: File,
    /// The name by which the command opens it.
    path: PathBuf,
    /// Deletes the file, where it is one on disk.
    _on_disk: Option<TempPath>,
}

/// A longer file is refused.
const LENGTH_MAX: u64 = 4096;

impl Control {
    /// None where no file can be created. The command does without it then.
    pub fn create() -> Option<Self> {
        Self::in_memory().or_else(|| {
            let (file, path) =
                tempfile::Builder::new().prefix("redial-").tempfile().ok()?.into_parts();
            Some(Self { file, path: path.to_path_buf(), _on_disk: Some(path) })
        })
    }

    /// A memfd, which the command opens through `/proc/PID/fd`: there is no file to delete.
    #[cfg(target_os = "linux")]
    fn in_memory() -> Option<Self> {
        use std::os::fd::AsRawFd;
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("redial-control", flags).ok()?);
        let number = file.as_raw_fd();
        let path = PathBuf::from(format!("/proc/{}/fd/{number}", std::process::id()));
        // Not where /proc is missing, or belongs to another PID namespace.
        rustix::fs::stat(&path).is_ok().then_some(Self { file, path, _on_disk: None })
    }

    #[cfg(not(target_os = "linux"))]
    fn in_memory() -> Option<Self> {
        None
    }

    /// Where the command finds the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last valid request in the file, and the first line that is not one. Empties the file for
    /// the next attempt.
    pub fn take(&self) -> (Option<Request>, Option<String>) {
        let text = self.read();
        let _ = self.file.set_len(0);
        let text = match text {
            Ok(text) => text,
            Err(error) => return (None, Some(error.to_string())),
        };
        let (mut request, mut error) = (None, None);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match parse(line) {
                Ok(valid) => request = Some(valid),
                Err(invalid) => drop(error.get_or_insert(invalid)),
            }
        }
        (request, error)
    }

    fn read(&self) -> std::io::Result<String> {
        let length = self.file.metadata()?.len();
        if length > LENGTH_MAX {
            let error = format!("{length} bytes are too many; at most {LENGTH_MAX} are read");
            return Err(std::io::Error::other(error));
        }
        let mut text = vec![0; length as usize];
        self.file.read_exact_at(&mut text, 0)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn parse(line: &str) -> Result<Request, String> {
    let unknown = || format!("`{line}` is not known; write `retry-after 30s` or `stop`");
    match line.split_once(char::is_whitespace) {
        None if line == "stop" => Ok(Request::Stop),
        Some(("retry-after", delay)) => {
            let delay = redial_policy::dictated_at(delay, SystemTime::now());
            delay.map(Request::RetryAfter).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_counts_and_the_file_is_empty_again() {
        let control = Control::create().unwrap();
        assert_eq!(control.take(), (None, None));
        for (text, request) in [
            ("retry-after 30s\n\n stop \n", Request::Stop),
            ("retry-after 1500ms", Request::RetryAfter(Duration::from_millis(1500))),
            ("retry-after 7", Request::RetryAfter(Duration::from_secs(7))),
            ("retry-after Sun, 06 Nov 1994 08:49:37 GMT", Request::RetryAfter(Duration::ZERO)),
        ] {
            std::fs::write(control.path(), text).unwrap();
            assert_eq!(control.take(), (Some(request), None), "{text}");
            assert_eq!(control.take(), (None, None), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_not_a_request_is_named() {
        let control = Control::create().unwrap();
        for text in ["halt", "retry-after", "retry-after soon", "retry-after -1s", "stop it"] {
            std::fs::write(control.path(), text).unwrap();
            let (request, error) = control.take();
            assert!(request.is_none() && error.unwrap().contains(text), "{text}");
            assert_eq!(control.take(), (None, None));
        }
        std::fs::write(control.path(), "x".repeat(5000)).unwrap();
        let error = "5000 bytes are too many; at most 4096 are read".to_owned();
        assert_eq!(control.take(), (None, Some(error)));
    }

    #[test]
    fn a_line_that_is_not_a_request_does_not_undo_one_that_is() {
        let control = Control::create().unwrap();
        for text in ["stop\nhalt", "halt\nstop", "retry-after 1s\nhalt\nstop\nhold on\n"] {
            std::fs::write(control.path(), text).unwrap();
            let (request, error) = control.take();
            assert_eq!(request, Some(Request::Stop), "{text}");
            assert!(error.unwrap().contains("`halt`"), "{text}");
        }
    }
}
