//! One JSON object in a small file that many processes change, one at a time.
//!
//! The object is padded with spaces, so that every change is one write over all of the old one,
//! within one page: no signal interrupts it, and no disk that writes whole sectors tears it. A file
//! that is empty, or all zeros after a power failure, is a new one. Any other file that does not
//! parse is refused and never written to: it may be somebody else's.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;
use redial_core::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Clock;
use super::lock::{self, Byte};

/// What a file can hold.
pub(super) trait Record: Default + DeserializeOwned + Serialize {
    /// Its name for people, which is also the value of the key `redial` in the file.
    const KIND: &'static str;
}

/// The version of the files that this program writes.
pub(super) const VERSION: u32 = 1;

/// How long a record is, the newline at its end included.
const LENGTH: usize = 512;

/// A page. No file of ours is larger, also when a person has written it.
const LENGTH_MAX: usize = 4096;

/// How long to wait for the lock before anything runs. A change takes microseconds: a process that has
/// the lock for longer was stopped in the middle of a change.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for the lock during a run, which handles no signal meanwhile.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The kind and the version of a file.
#[derive(Deserialize)]
struct Header {
    redial: String,
    #[serde(default = "version")]
    v: u32,
}

fn version() -> u32 {
    VERSION
}

/// A file as one process uses it: by its path, with its clock, and waiting so long for the lock.
#[derive(Clone, Debug)]
pub(super) struct SharedFile {
    path: PathBuf,
    clock: Clock,
    lock_timeout: Duration,
}

impl SharedFile {
    /// A file that `check` finds sound, with more time for the lock than there is later.
    pub(super) fn open(
        path: &Path,
        clock: Clock,
        lock_timeout: Duration,
        check: impl FnOnce(Self) -> Result<(), String>,
    ) -> Result<Self, String> {
        let file = Self { path: path.to_owned(), clock, lock_timeout };
        check(Self { lock_timeout: lock_timeout.max(OPEN_TIMEOUT), ..file.clone() })?;
        Ok(file)
    }

    /// Changes the record under the lock. Returns the open file, because what `step` locked in it stays
    /// locked only until it is closed. Where `step` fails, nothing is changed. A missing file is
    /// created.
    pub(super) fn change<R: Record, T>(
        &self,
        step: impl FnOnce(&mut R, &File, Time) -> Result<T, String>,
    ) -> Result<(T, File), String> {
        let step = |record: &mut R, file: &File| step(record, file, (self.clock)());
        let changed = under_lock(&self.path, self.lock_timeout, Missing::Create, |file| {
            change_locked(file, step)
        });
        changed.map_err(of_file::<R>(&self.path))
    }
}

/// Changes the record of a file that exists.
pub(super) fn change_existing<R: Record, T>(
    path: &Path,
    step: impl FnOnce(&mut R, &File) -> Result<T, String>,
) -> Result<T, String> {
    let changed = under_lock(path, OPEN_TIMEOUT, Missing::Refuse, |file| change_locked(file, step));
    changed.map(|(result, _)| result).map_err(of_file::<R>(path))
}

/// Writes the record to a new file, or to one that is empty.
pub(super) fn create<R: Record>(path: &Path, record: &R) -> Result<(), String> {
    let created = under_lock(path, OPEN_TIMEOUT, Missing::Create, |file| {
        let old = contents(file)?;
        if !is_blank(&old) {
            let path = path.display();
            return Err(format!(
                "it is there already; redial shared show {path} says what it holds"
            ));
        }
        write(file, &print(record, old.len()))
    });
    created.map(drop).map_err(of_file::<R>(path))
}

/// The contents of a file, read without changing it.
pub(super) struct Look {
    pub(super) bytes: Vec<u8>,
    pub(super) file: File,
    /// Another process did not release the lock, and may be about to change the file.
    pub(super) is_locked: bool,
}

/// Reads a file that exists. After [`LOCK_TIMEOUT`] it does so without the lock: people look most of all
/// when something is wrong.
pub(super) fn look(path: &Path) -> Result<Look, String> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OPEN_FLAGS);
    let file = regular(options.open(path), Missing::Refuse)?;
    let try_lock = || lock::try_lock_to_read(&file, Byte::CHANGE);
    let is_locked = !retry_within(LOCK_TIMEOUT, try_lock)?;
    let bytes = contents(&file);
    lock::unlock(&file, Byte::CHANGE);
    Ok(Look { bytes: bytes?, file, is_locked })
}

/// Calls `step`, with growing pauses, until it returns true. Returns false when the time is over.
fn retry_within(
    timeout: Duration,
    mut step: impl FnMut() -> Result<bool, String>,
) -> Result<bool, String> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    while !step()? {
        if start.elapsed() >= timeout {
            return Ok(false);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    Ok(true)
}

/// The kind that is written in a file.
pub(super) fn kind(bytes: &[u8]) -> Result<String, String> {
    if is_blank(bytes) {
        return Err(
            "it is empty; the first run that names it makes it a budget or a breaker, and so \
                    does redial shared create"
                .to_owned(),
        );
    }
    let header: Result<Header, _> = serde_json::from_slice(bytes);
    header
        .map(|header| header.redial)
        .map_err(|error| format!("it is no budget or breaker of redial: {error}"))
}

/// Adds the kind and the path of the file to an error.
fn of_file<R: Record>(path: &Path) -> impl Fn(String) -> String {
    move |error| format!("{} file {}: {error}", R::KIND, path.display())
}

/// Runs `step` under the lock of the file. Returns the file, still open.
fn under_lock<T>(
    path: &Path,
    timeout: Duration,
    missing: Missing,
    step: impl FnOnce(&File) -> Result<T, String>,
) -> Result<(T, File), String> {
    let file = locked(path, timeout, missing)?;
    let result = step(&file);
    // Closing it is not enough: a process that is just being forked has a copy of the descriptor.
    lock::unlock(&file, Byte::CHANGE);
    result.map(|result| (result, file))
}

fn change_locked<R: Record, T>(
    file: &File,
    step: impl FnOnce(&mut R, &File) -> Result<T, String>,
) -> Result<T, String> {
    let old = contents(file)?;
    let mut record: R = parse(&old)?;
    let result = step(&mut record, file)?;
    let new = print(&record, old.len());
    if new != old {
        write(file, &new)?;
    }
    Ok(result)
}

fn write(file: &File, bytes: &[u8]) -> Result<(), String> {
    file.write_all_at(bytes, 0).map_err(|error| format!("cannot be written: {error}"))
}

/// What to do about a missing file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Refuse,
}

/// The file at this path, locked for a change.
fn locked(path: &Path, timeout: Duration, missing: Missing) -> Result<File, String> {
    let mut file = opened(path, missing)?;
    let is_locked = retry_within(timeout, || {
        if !lock::try_lock(&file, Byte::CHANGE)? {
            return Ok(false);
        }
        let is_current = is_at(&file, path);
        if !is_current {
            // Deleted or replaced while we waited: the next process would not see our change.
            file = opened(path, missing)?;
        }
        Ok(is_current)
    })?;
    let seconds = timeout.as_secs();
    is_locked.then_some(file).ok_or_else(|| {
        format!(
            "another process has held its lock for {seconds} s; is it stopped? Continue it or end it"
        )
    })
}

fn opened(path: &Path, missing: Missing) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o666).custom_flags(OPEN_FLAGS);
    // Not with O_CREAT at once: in a sticky directory such as /tmp that fails for a file of another user
    // (fs.protected_regular).
    let mut result = options.open(path);
    let is_missing = matches!(&result, Err(error) if error.kind() == io::ErrorKind::NotFound);
    if is_missing && missing == Missing::Create {
        result = options.create(true).open(path);
    }
    regular(result, missing)
}

/// Opening a FIFO must not block, and a terminal must not become our controlling terminal.
const OPEN_FLAGS: libc::c_int = libc::O_NONBLOCK | libc::O_NOCTTY;

/// What was opened, if it is a regular file.
fn regular(opened: io::Result<File>, missing: Missing) -> Result<File, String> {
    const DIRECTORY: &str = "it is a directory; name a file in it";
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if missing == Missing::Refuse => "there is no such file".to_owned(),
        io::ErrorKind::NotFound => format!("cannot be created: {error}; make its directory first"),
        io::ErrorKind::IsADirectory => DIRECTORY.to_owned(),
        io::ErrorKind::PermissionDenied => {
            format!(
                "cannot be opened: {error}; whoever shares it must be allowed to read and write it"
            )
        }
        _ => format!("cannot be opened: {error}"),
    })?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(metadata) if metadata.is_dir() => Err(DIRECTORY.to_owned()),
        Ok(_) => Err("it is a pipe or a device; name a regular file".to_owned()),
        Err(error) => Err(format!("cannot be opened: {error}")),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn contents(file: &File) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(LENGTH);
    let read = file.take(LENGTH_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() > LENGTH_MAX {
        return Err(
            "it is larger than 4 KiB, so it is not one of redial's; name another".to_owned()
        );
    }
    Ok(bytes)
}

/// Whether a file was never written to.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0)
}

pub(super) fn parse<R: Record>(bytes: &[u8]) -> Result<R, String> {
    if is_blank(bytes) {
        return Ok(R::default());
    }
    let kind = R::KIND;
    let header: Header = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "it is no {kind} of redial: {error}; name another file, or delete it to start afresh"
        )
    })?;
    if header.redial != kind {
        return Err(format!(
            "it holds \"redial\": {:?}, not {kind:?}; each --{kind} needs a file of its own",
            header.redial
        ));
    }
    if header.v != VERSION {
        return Err(format!(
            "it is of version {}, and this redial reads version {VERSION}; use the redial that wrote it, or delete it to start afresh",
            header.v
        ));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| format!("{error}; correct it, or delete it to start afresh"))
}

/// The record, padded to at least the length of what it replaces.
fn print<R: Record>(record: &R, replaced: usize) -> Vec<u8> {
    let width = replaced.max(LENGTH) - 1;
    // Cannot fail: a record is numbers and names.
    let json = serde_json::to_string(record).unwrap_or_default();
    format!("{json:<width$}\n").into_bytes()
}
