//! The control file, in which a command may ask for another attempt or for none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempPath;

/// What the command asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// No other attempt.
    Stop,
    /// Another attempt after exactly so long.
    RetryAfter(Duration),
}

/// A new file for the run; every attempt finds it empty.
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
    /// None where no file can be made. A command can do without.
    pub fn create() -> Option<Self> {
        Self::in_memory().or_else(|| {
            let (file, path) =
                tempfile::Builder::new().prefix("redial-").tempfile().ok()?.into_parts();
            Some(Self { file, path: path.to_path_buf(), _on_disk: Some(path) })
        })
    }

    /// A memfd, which the command opens through our descriptor: there is no file to delete.
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

    /// The last request in the file, which is then empty again; or the line that is not a request.
    pub fn take(&self) -> Result<Option<Request>, String> {
        let text = self.read();
        // The next attempt starts with nothing in it, whatever this one wrote.
        let _ = self.file.set_len(0);
        let text = text.map_err(|error| error.to_string())??;
        let mut request = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            request = Some(parse(line)?);
        }
        Ok(request)
    }

    fn read(&self) -> io::Result<Result<String, String>> {
        let length = self.file.metadata()?.len();
        if length > LENGTH_MAX {
            return Ok(Err(format!("{length} bytes are too many")));
        }
        let mut text = vec![0; length as usize];
        self.file.read_exact_at(&mut text, 0)?;
        Ok(Ok(String::from_utf8_lossy(&text).into_owned()))
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
        let write = |text: &str| std::fs::write(control.path(), text).unwrap();
        assert_eq!(control.take(), Ok(None));
        write("retry-after 30s\n\n stop \n");
        assert_eq!(control.take(), Ok(Some(Request::Stop)));
        assert_eq!(control.take(), Ok(None));
        write("retry-after 1500ms");
        assert_eq!(control.take(), Ok(Some(Request::RetryAfter(Duration::from_millis(1500)))));
        write("retry-after 7");
        assert_eq!(control.take(), Ok(Some(Request::RetryAfter(Duration::from_secs(7)))));
        write("retry-after Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(control.take(), Ok(Some(Request::RetryAfter(Duration::ZERO))));
    }

    #[test]
    fn a_line_that_is_not_a_request_is_named() {
        let control = Control::create().unwrap();
        for text in ["halt", "retry-after", "retry-after soon", "retry-after -1s", "stop it"] {
            std::fs::write(control.path(), text).unwrap();
            assert!(control.take().unwrap_err().contains(text), "{text}");
            assert_eq!(control.take(), Ok(None));
        }
        std::fs::write(control.path(), "x".repeat(5000)).unwrap();
        assert_eq!(control.take(), Err("5000 bytes are too many".to_owned()));
    }
}
