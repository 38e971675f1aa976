//! One JSON object in a small file that many processes change, one at a time.
//!
//! The object is padded with spaces, so that every change is one write over all of what was there,
//! within one page: the kernel does not stop in the middle of it for a signal, and no disk that
//! writes whole sectors tears it. A file that is empty, or was never written to before the power
//! failed (it is all zeros then), is a new one. Any other file that cannot be read as what it
//! should be is refused and never written to: it may be somebody else's.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

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

/// How long to wait for the others. A change takes microseconds: whoever takes longer was stopped
/// in the middle of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How long a lock is waited for while a command waits for it, and perhaps a signal.
pub const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// What every file says about itself.
#[derive(Deserialize)]
struct Header {
    redial: String,
    #[serde(default = "version")]
    v: u32,
}

fn version() -> u32 {
    VERSION
}

/// Changes the record in a file while nobody else does, and gives the file back open: what `step`
/// locked in it stays locked until it is closed. Where `step` fails, nothing is changed. A file that
/// is not there is made.
pub(super) fn change<R: Record, T>(
    path: &Path,
    patience: Duration,
    step: impl FnOnce(&mut R, &File) -> Result<T, String>,
) -> Result<(T, File), String> {
    let changed = under_lock(path, patience, Missing::Make, |file| change_locked(file, step));
    changed.map_err(of_file::<R>(path))
}

/// The same for a file that is there.
pub(super) fn change_existing<R: Record, T>(
    path: &Path,
    step: impl FnOnce(&mut R, &File) -> Result<T, String>,
) -> Result<T, String> {
    let changed = under_lock(path, PATIENCE, Missing::Refuse, |file| change_locked(file, step));
    changed.map(|(result, _)| result).map_err(of_file::<R>(path))
}

/// Writes the record to a new file, or to one that is empty.
pub(super) fn create<R: Record>(path: &Path, record: &R) -> Result<(), String> {
    let created = under_lock(path, PATIENCE, Missing::Make, |file| {
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

/// What a file holds, for who only looks.
pub(super) struct Look {
    pub(super) bytes: Vec<u8>,
    pub(super) file: File,
    /// Somebody has held the lock for as long as we waited, and may be about to change it.
    pub(super) is_locked: bool,
}

/// Reads a file that is there. Whoever looks wants to know most of all when something is wrong, so
/// a lock that another process does not give back is waited for no longer than [`LOCK_PATIENCE`].
pub(super) fn look(path: &Path) -> Result<Look, String> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(WITHOUT_WAITING);
    let file = regular(options.open(path), Missing::Refuse)?;
    let is_locked = loop {
        if lock::try_lock_to_read(&file, Byte::CHANGE)? {
            break false;
        }
        if start.elapsed() >= LOCK_PATIENCE {
            break true;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    };
    let bytes = contents(&file);
    lock::unlock(&file, Byte::CHANGE);
    Ok(Look { bytes: bytes?, file, is_locked })
}

/// What a file says that it is.
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

/// An error with the file that it is about.
fn of_file<R: Record>(path: &Path) -> impl Fn(String) -> String {
    move |error| format!("{} file {}: {error}", R::KIND, path.display())
}

/// Does something to a file that nobody else changes meanwhile, and gives it back open.
fn under_lock<T>(
    path: &Path,
    patience: Duration,
    missing: Missing,
    step: impl FnOnce(&File) -> Result<T, String>,
) -> Result<(T, File), String> {
    let file = locked(path, patience, missing)?;
    let result = step(&file);
    // Closing it would do, were there no copy of it in a process that is just being started.
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

/// What becomes of a file that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

/// The file that the path names, with the lock that all changes take.
fn locked(path: &Path, patience: Duration, missing: Missing) -> Result<File, String> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    let mut file = opened(path, missing)?;
    while start.elapsed() < patience {
        if !lock::try_lock(&file, Byte::CHANGE)? {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        } else if is_at(&file, path) {
            return Ok(file);
        } else {
            // Deleted or replaced while we waited: who comes after us would not find our change.
            file = opened(path, missing)?;
        }
    }
    let seconds = patience.as_secs();
    Err(format!(
        "another process has held its lock for {seconds} s; is it stopped? Continue it or end it"
    ))
}

fn opened(path: &Path, missing: Missing) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o666).custom_flags(WITHOUT_WAITING);
    // Asking to create a file that exists is refused in a directory like /tmp where it is another
    // user's, so that is asked only where there is none.
    let mut result = options.open(path);
    let is_missing = matches!(&result, Err(error) if error.kind() == io::ErrorKind::NotFound);
    if is_missing && missing == Missing::Make {
        result = options.create(true).open(path);
    }
    regular(result, missing)
}

/// Nothing that is no file shall keep us waiting, nor become our terminal.
const WITHOUT_WAITING: libc::c_int = libc::O_NONBLOCK | libc::O_NOCTTY;

/// What was opened, if it is a file.
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

/// A file that was never written to.
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

/// As long as what it replaces, so that nothing of that is left.
fn print<R: Record>(record: &R, replaced: usize) -> Vec<u8> {
    let width = replaced.max(LENGTH) - 1;
    // Numbers and names, whose every value has a text.
    let json = serde_json::to_string(record).unwrap_or_default();
    format!("{json:<width$}\n").into_bytes()
}
