//! What goes to standard output and standard error, and how the program ends.

use std::io::{self, Write};
use std::path::Path;

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
            _ => Self::Message(format!("cannot write to standard output: {error}")),
        }
    }
}

/// Writes to standard output, without styles where it is no terminal.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes to standard error. Where that fails there is nobody left to tell.
pub(crate) fn print_note(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// One line on standard error that says what was wrong.
pub(crate) fn print_error(message: &str) {
    let red = anstyle::AnsiColor::Red.on_default().bold();
    print_note(&format!("{red}error{red:#}: {}\n", visible(message)));
}

/// Writes a result to a file, or to standard output for `-`. A file is there whole or not at all.
pub(crate) fn write_file(path: &str, text: &str) -> Result<(), Failure> {
    if path == "-" {
        return print(text);
    }
    replace_file(Path::new(path), text)
        .map_err(|error| Failure::Message(format!("cannot write {path}: {error}")))
}

/// By way of a file beside it, so that whoever reads it meanwhile sees the old text or the new. What
/// the file is stays: its permissions, its owner, a link to it or of it.
pub(crate) fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    if is_written_in_place(path) {
        return std::fs::write(path, text);
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = file_beside(&target)?;
    beside.write_all(text.as_bytes())?;
    if let Ok(file) = std::fs::metadata(path) {
        like(beside.path(), &file)?;
    }
    beside.persist(&target).map(drop).map_err(|error| error.error)
}

/// Whether [`replace_file`] would find a place to write to, as far as that can be told by trying: a
/// read-only folder or file system is found out. Nothing is changed.
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

/// A pipe, a terminal, /dev/stdout; a file with several names; a link to where nothing is yet.
fn is_written_in_place(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(file) => !file.is_file() || names(&file) > 1,
        Err(_) => path.is_symlink(),
    }
}

/// A temporary file in the folder of another.
fn file_beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".redial-");
    // As anybody makes a file: the umask has its say.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

#[cfg(unix)]
fn names(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(not(unix))]
fn names(_: &std::fs::Metadata) -> u64 {
    1
}

/// Gives a new file the owner and the permissions of an old one. Only root can give a file away.
fn like(path: &Path, file: &std::fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let _ = chown(path, Some(file.uid()), Some(file.gid()));
    }
    std::fs::set_permissions(path, file.permissions())
}

/// How wide the terminal is, or would be.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(terminal).unwrap_or(100).clamp(40, 160)
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
