//! A file that only grows: what is written to it is either there in whole or not at all.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::system;

/// A file that is only appended to: a journal, a segment of outputs, the items of a run.
///
/// What [`append`](Self::append) has returned survives a KILL of the process; what was there when [`sync`](Self::sync)
/// returned survives a power cut, too, as far as the disk keeps what it says.
///
/// | what fails | what becomes of the file |
/// |---|---|
/// | a write, or half of one (full disk, quota, `EIO`) | it is cut back to what it was; the next append is welcome |
/// | that, and cutting it back, too | it is left with a torn end, and this writer writes no more |
/// | the limit on the size of files (`ulimit -f`) | nothing is written, so there is no SIGXFSZ |
/// | a sync | the system may have dropped what it could not write, and a second sync would not tell: this writer writes no more |
/// | the file was removed, or somebody else wrote to it | likewise |
///
/// The errors have the [kind](io::Error::kind) of what the system said and name the file.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    path: PathBuf,
    end: u64,
    is_synced: bool,
    size_max: Option<u64>,
    /// Why nothing more is written.
    broken: Option<String>,
}

impl AppendFile {
    /// Opens a file to go on at its end; makes one where there is none, for its owner's eyes alone.
    ///
    /// A symbolic link is not followed, and what is no regular file is refused. Who needs the file's name to survive a
    /// power cut syncs the directory.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let opened = system::open(&path, OpenOptions::new().append(true).create(true))
            .and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((end, file)) => Ok(Self {
                file,
                path,
                end,
                // What is there may still be on its way to the disk, from a process that was killed.
                is_synced: end == 0,
                size_max: system::file_size_max(),
                broken: None,
            }),
            Err(error) => Err(failure(&path, "cannot be opened", error)),
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length: where the next bytes go.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether all of it has been synced.
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Cuts off what is beyond `end`, such as the torn end that a KILL left.
    pub fn cut(&mut self, end: u64) -> io::Result<()> {
        self.usable()?;
        if end > self.end {
            let reason = format!("ends at byte {}, and was to be cut at {end}", self.end);
            return Err(self.fail(&reason, io::ErrorKind::UnexpectedEof.into()));
        }
        if end < self.end {
            let cut = self.file.set_len(end);
            cut.map_err(|error| self.fail("cannot be cut", error))?;
            self.end = end;
            self.is_synced = false;
        }
        Ok(())
    }

    /// Appends with one `write`, and says where it begins.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.usable()?;
        let (begin, end) = (self.end, self.end.saturating_add(bytes.len() as u64));
        if let Some(max) = self.size_max.filter(|max| end > *max) {
            let reason = format!("would have {end} bytes, over the limit of {max} (`ulimit -f`)");
            return Err(self.fail(&reason, io::ErrorKind::FileTooLarge.into()));
        }
        if bytes.is_empty() {
            return Ok(begin);
        }
        self.is_synced = false;
        if let Err(error) = self.file.write_all(bytes) {
            return Err(match self.file.set_len(begin) {
                Ok(()) => self.fail("cannot be written", error),
                Err(also) => {
                    let reason = format!("cannot be written, nor cut back ({also})");
                    self.break_with(&reason, error)
                }
            });
        }
        self.end = end;
        let there = self.file.metadata();
        let there = there.map_err(|error| self.break_with("cannot be looked at", error))?;
        if system::is_removed(&there) {
            let reason = "was removed while it was written";
            return Err(self.break_with(reason, io::ErrorKind::NotFound.into()));
        }
        if there.len() != end {
            let reason = format!("has {} bytes instead of {end}: somebody else wrote", there.len());
            return Err(self.break_with(&reason, io::ErrorKind::InvalidData.into()));
        }
        Ok(begin)
    }

    /// Returns once everything appended is on the disk (`fdatasync`).
    pub fn sync(&mut self) -> io::Result<()> {
        self.usable()?;
        if !self.is_synced {
            let synced = self.file.sync_data();
            synced.map_err(|error| self.break_with("cannot be synced", error))?;
            self.is_synced = true;
        }
        Ok(())
    }

    fn usable(&self) -> io::Result<()> {
        match &self.broken {
            Some(reason) => {
                let reason =
                    format!("{reason}; nothing more is written to it until it is reopened");
                Err(self.fail(&reason, io::ErrorKind::Other.into()))
            }
            None => Ok(()),
        }
    }

    fn fail(&self, reason: &str, error: io::Error) -> io::Error {
        failure(&self.path, reason, error)
    }

    fn break_with(&mut self, reason: &str, error: io::Error) -> io::Error {
        self.broken = Some(match error.raw_os_error() {
            Some(_) => format!("{reason}: {error}"),
            None => reason.into(),
        });
        self.fail(reason, error)
    }
}

/// An error of the system with the file and what was done to it.
fn failure(path: &Path, reason: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), Failure { path: path.into(), reason: reason.into(), error })
}

#[derive(Debug)]
struct Failure {
    path: PathBuf,
    reason: String,
    error: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.reason)?;
        // A bare kind is ours, and the reason has said it better.
        match self.error.raw_os_error().is_some() || self.error.get_ref().is_some() {
            true => write!(f, ": {}", self.error),
            false => Ok(()),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
