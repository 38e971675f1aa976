//! Printing, files that are replaced atomically, and why a verb fails.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use crate::visible::visible;

/// Why a verb cannot go on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It has been reported already; this is the exit code.
    Reported(u8),
    /// Still to be printed.
    Message(String),
    /// Nobody reads standard output any more (EPIPE).
    BrokenPipe,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

/// An error of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            // ERROR_PIPE_NOT_CONNECTED, which the standard library has no kind for.
            _ if cfg!(windows) && error.raw_os_error() == Some(233) => Self::BrokenPipe,
            _ => Self::Message(format!("cannot write to standard output: {error}")),
        }
    }
}

/// Writes to standard output; strips styles if it is no terminal.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// A document of `--json`, ending with a newline.
pub(crate) fn json(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("numbers and text under names that are text are always JSON") + "\n"
}

/// A JSON object without those of these fields that are null.
pub(crate) fn optional(mut object: Json, names: &[&str]) -> Json {
    if let Json::Object(fields) = &mut object {
        fields.retain(|name, value| !(value.is_null() && names.contains(&name.as_str())));
    }
    object
}

/// Writes to standard error. If that fails there is nobody left to tell.
pub(crate) fn print_note(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// One line on standard error: `error: …`.
pub(crate) fn print_error(message: &str) {
    let red = anstyle::AnsiColor::Red.on_default().bold();
    print_note(&format!("{red}error{red:#}: {}\n", visible(message)));
}

/// Writes a result to a file, atomically, or to standard output for `-`.
pub(crate) fn write_file(path: &str, text: &str) -> Result<(), Failure> {
    if path == "-" {
        return print(text);
    }
    replace_file(Path::new(path), text)
        .map_err(|error| Failure::Message(format!("cannot write {path}: {error}")))
}

/// Replaces a file by renaming a temporary one over it, so that readers see the old text or the new.
/// Permissions, owner, symbolic and hard links are kept.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    if is_written_in_place(path) {
        return std::fs::write(path, text);
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = file_beside(&target)?;
    beside.write_all(text.as_bytes())?;
    if let Ok(file) = std::fs::metadata(path) {
        copy_owner_and_permissions(beside.path(), &file)?;
    }
    beside.persist(&target).map(drop).map_err(|error| error.error)
}

/// Whether [`replace_file`] could write here, as far as trying tells: finds a read-only folder or file
/// system. Nothing is changed.
#[cfg(unix)]
pub(crate) fn try_replace_file(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.exists() && is_written_in_place(path) {
        return std::fs::OpenOptions::new().append(true).open(path).map(drop);
    }
    let target = match path.read_link() {
        Ok(link) if !path.exists() => path.parent().unwrap_or(Path::new("")).join(link),
        _ => std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
    };
    file_beside(&target).map(drop)
}

/// Whether a rename would replace the wrong thing: a pipe, a terminal, /dev/stdout, a file with several
/// hard links, a dangling symbolic link.
fn is_written_in_place(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(file) => !file.is_file() || hard_links(&file) > 1,
        Err(_) => path.is_symlink(),
    }
}

/// A temporary file in the folder of another.
fn file_beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".redial-");
    // As open(2) would create it: the umask applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The error of tempfile has the name of the temporary file, which nobody has asked for.
    let folder = folder.unwrap_or(Path::new("."));
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        // /proc has no room for files of ours, and calls that ENOENT.
        kind @ io::ErrorKind::NotFound if folder.is_dir() => {
            io::Error::new(kind, "no file can be created in its folder")
        }
        kind @ io::ErrorKind::NotFound => io::Error::new(kind, "its folder does not exist"),
        kind => kind.into(),
    })
}

#[cfg(unix)]
fn hard_links(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(not(unix))]
fn hard_links(_: &std::fs::Metadata) -> u64 {
    1
}

/// From an old file to the new one. Only root can change the owner.
fn copy_owner_and_permissions(path: &Path, file: &std::fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let _ = chown(path, Some(file.uid()), Some(file.gid()));
    }
    std::fs::set_permissions(path, file.permissions())
}

/// The width of the terminal, or of COLUMNS.
pub(crate) fn width() -> usize {
    real_width().clamp(40, 160)
}

/// The same however narrow or wide it is, for what is drawn over and must not wrap.
pub(crate) fn real_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(terminal).unwrap_or(100)
}

/// `1 error`, `2 errors`
pub(crate) fn count(number: usize, what: &str) -> String {
    let plural = match (number, what.strip_suffix('y')) {
        (1, _) => what.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ if what.ends_with(['s', 'x']) => format!("{what}es"),
        _ => format!("{what}s"),
    };
    format!("{number} {plural}")
}
