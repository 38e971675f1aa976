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

/// The same while a command waits for it, and perhaps a signal.
pub(super) const IMPATIENCE: Duration = Duration::from_secs(1);

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
/// locked in it stays locked until it is closed. Where `step` fails, nothing is changed.
pub(super) fn change<R: Record, T>(
    path: &Path,
    patience: Duration,
    step: impl FnOnce(&mut R, &File) -> Result<T, String>,
) -> Result<(T, File), String> {
    let changed = locked(path, patience).and_then(|file| {
        let result = change_locked(&file, step);
        // Closing it would do, were there no copy of it in a process that is just being started.
        lock::unlock(&file, Byte::CHANGE);
        result.map(|result| (result, file))
    });
    changed.map_err(|error| format!("{} file {}: {error}", R::KIND, path.display()))
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
        file.write_all_at(&new, 0).map_err(|error| format!("cannot be written: {error}"))?;
    }
    Ok(result)
}

/// The file that the path names, with the lock that all changes take.
fn locked(path: &Path, patience: Duration) -> Result<File, String> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    let mut file = opened(path)?;
    while start.elapsed() < patience {
        if !lock::try_lock(&file, Byte::CHANGE)? {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        } else if is_at(&file, path) {
            return Ok(file);
        } else {
            // Deleted or replaced while we waited: who comes after us would not find our change.
            file = opened(path)?;
        }
    }
    let seconds = patience.as_secs();
    Err(format!(
        "another process has held its lock for {seconds} s; is it stopped? Continue it or end it"
    ))
}

fn opened(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    // Nothing that is no file shall keep us waiting, nor become our terminal.
    options.read(true).write(true).mode(0o666).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    // Asking to create a file that exists is refused in a directory like /tmp where it is another
    // user's, so that is asked only where there is none.
    let mut result = options.open(path);
    if matches!(&result, Err(error) if error.kind() == io::ErrorKind::NotFound) {
        result = options.clone().create(true).open(path);
    }
    let file = result.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("cannot be created: {error}; make its directory first"),
        io::ErrorKind::IsADirectory => "it is a directory; name a file in it".to_owned(),
        io::ErrorKind::PermissionDenied => {
            format!(
                "cannot be opened: {error}; whoever shares it must be allowed to read and write it"
            )
        }
        _ => format!("cannot be opened: {error}"),
    })?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
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

fn parse<R: Record>(bytes: &[u8]) -> Result<R, String> {
    if bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
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
