//! Where runs live: a directory each.
//!
//! ```text
//! .redial/runs/RUN/   flow.json        what is run, as it was read
//!                     items.ndjson     the items of its maps, as they were read
//!                     journal.ndjson   what happened
//!                     out/SLOT.seg     what its commands wrote
//!                     lock             held by the process that writes
//!                     cancel           while somebody waits for that process to cancel the run
//! ```
//!
//! A run is there in whole or not at all: it is made under another name and then renamed. [`Run`] is for everybody who looks;
//! [`Held`] is the one that may write, and there is one in all processes. What holds it is a lock of the system (`flock`), which
//! ends with the process, however it ended, so no lock is ever stale.
//!
//! A run holds what its commands wrote, so its directory is its owner's alone (0700), and a `.gitignore` beside it
//! keeps it out of the repository that it may be in.
//!
//! ```
//! use redial_flow::journal::{End, Sync};
//! use redial_flow::store::Store;
//!
//! # let directory = tempfile::tempdir()?;
//! let store = Store::at(directory.path().join(".redial"));
//! let run = store.create(&"nightly".parse()?, br#"{"flow":"thumbnails"}"#)?;
//! let held = run.hold()?;
//! assert!(run.hold().unwrap_err().to_string().contains("held by process"));
//!
//! let mut segment = held.segment(0)?;
//! let place = segment.append(b"a long output")?;
//! segment.sync()?;
//! let mut journal = held.journal(End::default(), Sync::Always)?;
//! journal.append(&[serde_json::json!({"type": "attempt.end", "out": place})])?;
//!
//! assert_eq!(run.output(&place)?, b"a long output");
//! assert_eq!(store.list()?[0].name, "nightly");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod output;

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::output::OutputReader;
pub use crate::append::AppendFile;
use crate::journal::{End, ReadError, Reading, Sync, Writer};
pub use crate::name::{InvalidName, RunName};
use crate::record::{Place, Record, Start};
use crate::system;

const FLOW: &str = "flow.json";
const ITEMS: &str = "items.ndjson";
const JOURNAL: &str = "journal.ndjson";
const OUT: &str = "out";
const LOCK: &str = "lock";
/// There while somebody waits for the process that holds the run to end and cancel it.
const CANCEL: &str = "cancel";

/// Runs that are being made and removed; no run has such a name.
const NEW: &str = ".new-";
const GONE: &str = ".gone-";

/// A directory of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

impl Default for Store {
    /// `.redial` in the current directory.
    fn default() -> Self {
        Self::at(".redial")
    }
}

impl Store {
    /// The store in a directory, which is made with the first run.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Makes a run: when this returns it survives a power cut, and if it does not, there is none.
    pub fn create(&self, name: &RunName, flow: &[u8]) -> Result<Run, StoreError> {
        self.create_with(name, flow, |_| Ok(()))
    }

    /// The same with what `filled` writes into it, and has to sync, before it is a run.
    pub(crate) fn create_with(
        &self,
        name: &RunName,
        flow: &[u8],
        filled: impl FnOnce(&Run) -> io::Result<()>,
    ) -> Result<Run, StoreError> {
        let (runs, path) = (self.runs(), self.runs().join(name.as_str()));
        let exists = || StoreError::Exists { name: name.clone(), path: path.clone() };
        self.prepare()?;
        self.sweep();
        if path.symlink_metadata().is_ok() {
            return Err(exists());
        }
        let new = temporary(&runs, NEW).map_err(at("make a directory in", &runs))?;
        // Until it is renamed, nobody takes it for what a KILL has left.
        let making = fill(new.path(), flow).map_err(at("write to", new.path()))?;
        let unfinished = Run { name: name.clone(), path: new.path().into() };
        filled(&unfinished).map_err(at("write to", new.path()))?;
        // Elsewhere than on Unix, a directory cannot be renamed while a file in it is open.
        let _making = cfg!(unix).then_some(making);
        match fs::rename(new.path(), &path) {
            Ok(()) => {}
            Err(_) if path.symlink_metadata().is_ok() => return Err(exists()),
            Err(error) => return Err(at("make", &path)(error)),
        }
        let _ = new.keep();
        if let Err(error) = system::sync_directory(&runs) {
            let _ = fs::remove_dir_all(&path);
            return Err(at("sync", &runs)(error));
        }
        Ok(Run { name: name.clone(), path })
    }

    /// Opens a run to look at it.
    pub fn open(&self, name: &RunName) -> Result<Run, StoreError> {
        let path = self.runs().join(name.as_str());
        match flaw(&path) {
            Ok(None) => Ok(Run { name: name.clone(), path }),
            Ok(Some(flaw)) => Err(StoreError::Damaged { path, flaw }),
            Err(error) if is_absent(&error) => {
                Err(StoreError::NotFound { name: name.clone(), runs: self.runs() })
            }
            Err(error) => Err(at("read", &path)(error)),
        }
    }

    /// All runs, the oldest first; without a store, none.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let runs = self.runs();
        let entries = match fs::read_dir(&runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(at("read", &runs)(error)),
        };
        let mut list = Vec::new();
        for entry in entries {
            let name = entry.map_err(at("read", &runs))?.file_name();
            let name = match name.to_str().map(|text| (text, text.parse::<RunName>())) {
                Some((text, _)) if text.starts_with('.') => continue,
                Some((_, Ok(name))) => Ok(name),
                _ => Err(name),
            };
            let path = match &name {
                Ok(name) => runs.join(name.as_str()),
                Err(name) => runs.join(name),
            };
            let flaw = match flaw(&path) {
                Ok(None) if name.is_err() => Some("it has a name that no run has".into()),
                Ok(flaw) => flaw,
                // Removed since the directory was read.
                Err(error) if is_absent(&error) => continue,
                Err(error) => Some(error.to_string()),
            };
            // Written once, when the run was made.
            let pinned = path.join(FLOW).symlink_metadata();
            let made = pinned.and_then(|pinned| pinned.modified()).ok();
            let name = name.map_or_else(|name| name, |name| name.as_str().into());
            list.push(Listed { name, made, flaw });
        }
        list.sort_by(|a, b| (a.made, &a.name).cmp(&(b.made, &b.name)));
        Ok(list)
    }

    /// Removes a run, damaged or not, unless a process holds it.
    pub fn remove(&self, name: &RunName) -> Result<(), StoreError> {
        let (runs, path) = (self.runs(), self.runs().join(name.as_str()));
        let there = match path.symlink_metadata() {
            Ok(there) => there,
            Err(error) if is_absent(&error) => {
                return Err(StoreError::NotFound { name: name.clone(), runs });
            }
            Err(error) => return Err(at("read", &path)(error)),
        };
        self.sweep();
        let run = Run { name: name.clone(), path };
        let held = there.is_dir().then(|| run.hold()).transpose()?;
        // In one step it is no run any more; the rest can be interrupted.
        let gone = temporary(&runs, GONE).map_err(at("make a directory in", &runs))?;
        let inside = gone.path().join("run");
        // As in `create`.
        let held = if cfg!(unix) { held } else { None };
        fs::rename(run.path(), &inside).map_err(at("remove", run.path()))?;
        drop(held);
        match gone.close() {
            Err(error) if !is_absent(&error) => Err(at("remove", &inside)(error)),
            _ => Ok(()),
        }
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let runs = self.runs();
        fs::create_dir_all(&runs).map_err(at("make", &runs))?;
        let ignore = runs.join(".gitignore");
        match OpenOptions::new().write(true).create_new(true).open(&ignore) {
            Ok(mut file) => file.write_all(b"*\n").map_err(at("write to", &ignore))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(at("make", &ignore)(error)),
        }
        let parent = match self.root.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        for directory in [parent, &self.root] {
            system::sync_directory(directory).map_err(at("sync", directory))?;
        }
        Ok(())
    }

    /// Removes what interrupted processes left. Nobody depends on it, so what fails is left for the next time.
    fn sweep(&self) {
        // Who makes a run holds its lock from the first file on; before that, the directory is empty for an instant.
        const INSTANT: Duration = Duration::from_secs(60);
        let Ok(entries) = fs::read_dir(self.runs()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_left = || {
                let modified = entry.metadata().and_then(|there| there.modified());
                let is_old =
                    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > INSTANT));
                is_old && !system::is_open_alone(&entry.path().join(LOCK)).unwrap_or(false)
            };
            if name.starts_with(GONE) || name.starts_with(NEW) && is_left() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// A directory for its owner alone, which is removed with what is in it unless it is kept.
fn temporary(runs: &Path, prefix: &str) -> io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix(prefix).tempdir_in(runs)
}

/// Makes the files of a run, and gives its lock, which is held until that is dropped.
fn fill(directory: &Path, flow: &[u8]) -> io::Result<Lock> {
    let lock = system::open_alone(&directory.join(LOCK))?;
    let lock = lock.ok_or(io::ErrorKind::ResourceBusy)?;
    // What is around it is closed to others.
    fs::create_dir(directory.join(OUT))?;
    for (name, content) in [(FLOW, flow), (ITEMS, b""), (JOURNAL, b"")] {
        let mut options = OpenOptions::new();
        let file = system::open(&directory.join(name), options.write(true).create_new(true));
        file.and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })?;
    }
    system::sync_directory(directory)?;
    Ok(Lock(lock))
}

/// Why what is there is no run that can be opened.
fn flaw(path: &Path) -> io::Result<Option<String>> {
    let there = path.symlink_metadata()?;
    if there.is_symlink() {
        return Ok(Some("it is a symbolic link, which is not followed".into()));
    }
    if !there.is_dir() {
        return Ok(Some("it is not a directory".into()));
    }
    for name in [FLOW, ITEMS, JOURNAL] {
        match path.join(name).symlink_metadata() {
            Ok(file) if file.is_file() => {}
            Ok(_) => return Ok(Some(format!("its {name} is not a regular file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Perhaps all of it is gone by now.
                path.symlink_metadata()?;
                return Ok(Some(format!("it has no {name}")));
            }
            // It may well be a run, of somebody else.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(error) => return Ok(Some(format!("its {name} cannot be read: {error}"))),
        }
    }
    Ok(None)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What [`Store::list`] finds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The name of its directory; one that is not a [`RunName`] has a flaw.
    pub name: OsString,
    /// When it was made.
    pub made: Option<SystemTime>,
    /// Why it cannot be opened. Its journal is not read for that.
    pub flaw: Option<String>,
}

/// A run, for whoever looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    name: RunName,
    path: PathBuf,
}

impl Run {
    /// Its name.
    pub fn name(&self) -> &RunName {
        &self.name
    }

    /// Says to the process that holds the run that the signal which follows is meant to cancel it, not only to interrupt it.
    ///
    /// # Errors
    /// Where no file can be made in its directory.
    pub fn ask_to_cancel(&self) -> io::Result<()> {
        fs::File::create(self.path.join(CANCEL)).map(drop)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is run, as it was pinned when the run was made. It is compared with the checksum that the journal begins with; a run of
    /// which nothing was written down yet, or that was begun without one, is taken as it is.
    pub fn flow(&self) -> Result<Vec<u8>, StoreError> {
        let flow = self.whole(FLOW)?;
        match self.start().and_then(|start| start.flow_crc) {
            Some(crc) if crc != crc32fast::hash(&flow) => {
                Err(StoreError::OtherFlow { path: self.path.join(FLOW) })
            }
            _ => Ok(flow),
        }
    }

    /// How it began, as the first record says; none where nothing was written down yet, or that record is damaged.
    pub fn start(&self) -> Option<Box<Start>> {
        let first = self.read_journal::<Record>().ok()?.next()?;
        first.ok()?.record.start
    }

    /// The file of its items.
    pub fn items_path(&self) -> PathBuf {
        self.path.join(ITEMS)
    }

    /// Where the outputs of its commands are.
    #[cfg(unix)]
    pub(crate) fn out_path(&self) -> PathBuf {
        self.path.join(OUT)
    }

    /// Its journal.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// Reads its journal, also while somebody writes to it.
    pub fn read_journal<T: DeserializeOwned>(&self) -> Result<Reading<T>, ReadError> {
        Reading::open(self.journal_path())
    }

    /// Whether a process holds the run now, and which, as far as that is known.
    pub fn holder(&self) -> Result<Option<Holder>, StoreError> {
        let lock = self.path.join(LOCK);
        match system::is_open_alone(&lock) {
            Ok(true) => Ok(Some(holder(&lock))),
            Ok(false) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at("look at", &lock)(error)),
        }
    }

    /// Takes the run, to write to it; until the process ends or drops it, nobody else can.
    pub fn hold(&self) -> Result<Held, StoreError> {
        let lock = self.path.join(LOCK);
        let not_found = || StoreError::NotFound {
            name: self.name.clone(),
            runs: self.path.parent().unwrap_or(&self.path).into(),
        };
        let take = || {
            // A process that only looks whether somebody holds it has it for an instant.
            for _ in 0..10 {
                if let Some(file) = system::open_alone(&lock)? {
                    return Ok(Some(file));
                }
                thread::sleep(Duration::from_millis(2));
            }
            system::open_alone(&lock)
        };
        let mut file = match take() {
            Ok(Some(file)) => file,
            Ok(None) => {
                return Err(StoreError::Held { name: self.name.clone(), holder: holder(&lock) });
            }
            Err(error) if is_absent(&error) => return Err(not_found()),
            Err(error) => return Err(at("lock", &lock)(error)),
        };
        // It may have been removed, and made again, between opening it and having it.
        if !system::is_at(&file, &lock).unwrap_or(false) {
            return Err(not_found());
        }
        // For the message of who comes second. A full disk has no room for it, and that is no reason not to hold it.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Held { run: self.clone(), _lock: Lock(file) })
    }

    fn whole(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.path.join(name);
        let read = || {
            let mut bytes = Vec::new();
            let mut file = system::open(&path, OpenOptions::new().read(true))?;
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(at("read", &path))
    }
}

fn segment_path(run: &Path, segment: u32) -> PathBuf {
    run.join(OUT).join(format!("{segment}.seg"))
}

/// The process that holds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Its number, on the machine and in the container that it runs in; `None` if it had no room to write it down.
    pub pid: Option<u32>,
}

impl Holder {
    /// A process of this number.
    #[cfg(feature = "steps")]
    pub(crate) fn new(pid: u32) -> Self {
        Self { pid: Some(pid) }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

fn holder(lock: &Path) -> Holder {
    let mut text = String::new();
    let file = system::open(lock, OpenOptions::new().read(true));
    let read = file.and_then(|file| file.take(20).read_to_string(&mut text));
    Holder { pid: read.ok().and_then(|_| text.trim_end().parse().ok()) }
}

/// A run, for the one who may write to it.
#[derive(Debug)]
pub struct Held {
    run: Run,
    _lock: Lock,
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
struct Lock(fs::File);

impl Drop for Lock {
    fn drop(&mut self) {
        // To close the file would not do: a command that another thread is starting this moment has it, too, until it is
        // that command.
        system::unlock(&self.0);
    }
}

impl Deref for Held {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.run
    }
}

impl Held {
    /// Whether somebody asked for the run to be cancelled.
    pub fn is_asked_to_cancel(&self) -> bool {
        self.path.join(CANCEL).exists()
    }

    /// What was asked of the process before this one does not hold for this one.
    pub fn forget_cancel(&self) {
        let _ = fs::remove_file(self.path.join(CANCEL));
    }

    /// Goes on with the journal at `end`, which is what [`Reading::end`] found; of a new run, the default.
    pub fn journal<T: Serialize>(&self, end: End, sync: Sync) -> io::Result<Writer<T>> {
        Writer::open(self.journal_path(), end, sync)
    }

    /// The file of its items, to go on at its end.
    pub fn items(&self) -> io::Result<AppendFile> {
        AppendFile::open(self.items_path())
    }

    /// The segment of a slot, to go on at its end. What a KILL left there in part is nobody's, and stays.
    pub fn segment(&self, segment: u32) -> io::Result<Segment> {
        let path = segment_path(&self.path, segment);
        let is_new = path.symlink_metadata().is_err();
        let file = AppendFile::open(path)?;
        if is_new {
            system::sync_directory(&self.path.join(OUT))?;
        }
        Ok(Segment { file, segment })
    }
}

/// A file of outputs, one after the other.
#[derive(Debug)]
pub struct Segment {
    file: AppendFile,
    segment: u32,
}

impl Segment {
    /// Appends an output and says where it is.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<Place> {
        let (length, crc) = (bytes.len() as u64, crc32fast::hash(bytes));
        Ok(Place { segment: self.segment, offset: self.file.append(bytes)?, length, crc })
    }

    /// Appends all that a reader has, in parts, and says where it is.
    pub fn append_from(&mut self, mut reader: impl Read) -> io::Result<Place> {
        let (begin, mut length, mut hasher) = (self.file.end(), 0, crc32fast::Hasher::new());
        let mut buffer = vec![0; 64 << 10];
        loop {
            match reader.read(&mut buffer)? {
                0 => break,
                count => {
                    self.file.append(&buffer[..count])?;
                    hasher.update(&buffer[..count]);
                    length += count as u64;
                }
            }
        }
        Ok(Place { segment: self.segment, offset: begin, length, crc: hasher.finalize() })
    }

    /// Returns once everything that was appended survives a power cut: before the journal says where it is.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} bytes from byte {}", self.length, self.offset)
    }
}

/// What a store cannot do.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is a run of this name.
    Exists {
        /// Its name.
        name: RunName,
        /// Where it is.
        path: PathBuf,
    },
    /// There is none.
    NotFound {
        /// Its name.
        name: RunName,
        /// Where it would be.
        runs: PathBuf,
    },
    /// A process holds it.
    Held {
        /// The run.
        name: RunName,
        /// Who holds it.
        holder: Holder,
    },
    /// There is something of this name that is no run.
    Damaged {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        flaw: String,
    },
    /// What it pinned is not what it was begun with.
    OtherFlow {
        /// Where.
        path: PathBuf,
    },
    /// What a command wrote is not what is there.
    DamagedOutput {
        /// The segment.
        path: PathBuf,
        /// What is wrong with it.
        flaw: String,
    },
    /// The system says no.
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// For `map_err`: an error of the system, and where it was.
fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.into();
    move |error| StoreError::Io { action, path, error }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { name, path } => {
                write!(f, "there is a run `{name}` already ({}); ", path.display())?;
                f.write_str("resume it, remove it, or take another name")
            }
            Self::NotFound { name, runs } => {
                write!(f, "there is no run `{name}` in {}", runs.display())
            }
            Self::Held { name, holder } => {
                write!(f, "the run `{name}` is held by {holder}; wait for it, or cancel it")
            }
            Self::Damaged { path, flaw } => {
                write!(f, "{} is no run: {flaw}; it can be removed", path.display())
            }
            Self::OtherFlow { path } => {
                write!(f, "{} is not what the run was begun with: ", path.display())?;
                f.write_str(
                    "its checksum in the journal is another, so it was changed or damaged; bring it back, or remove \
                     the run",
                )
            }
            Self::DamagedOutput { path, flaw } => {
                write!(
                    f,
                    "{} is damaged: {flaw}; bring the file back, or remove the run",
                    path.display()
                )
            }
            Self::Io { action, path, error } => {
                write!(f, "cannot {action} {}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
