//! The files below folders that can have policies in them.

use std::fs::File;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::source::{Source, limited};

/// How the names of files end that are read.
const ENDS: [&str; 8] = ["yaml", "yml", "json", "toml", "asl", "cst", "service", "conf"];

/// The files, in the order of their names, and what could not be looked at.
pub(super) struct Files {
    pub(super) paths: Vec<PathBuf>,
    pub(super) unreadable: Vec<String>,
}

impl Files {
    /// Looks below these folders. Symbolic links are not followed, so that a loop of them is no loop here, and what is
    /// neither a file nor a folder is not opened.
    pub(super) fn below(folders: &[PathBuf], ignored_too: bool) -> Self {
        let mut files = Self { paths: Vec::new(), unreadable: Vec::new() };
        let [first, others @ ..] = folders else { return files };
        let mut walk = WalkBuilder::new(first);
        for folder in others {
            walk.add(folder);
        }
        let honours = !ignored_too;
        walk.hidden(false)
            .parents(honours)
            .ignore(honours)
            .git_ignore(honours)
            .git_global(honours)
            .git_exclude(honours)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
        for entry in walk.build() {
            match entry {
                Ok(entry) => {
                    if let Some(error) = entry.error() {
                        files.unreadable.push(error.to_string());
                    }
                    // A file that is named is read whatever it is called.
                    let is_read = entry.depth() == 0 || has_end(entry.path());
                    if is_read && entry.path().is_file() && !entry.path_is_symlink() {
                        files.paths.push(entry.into_path());
                    }
                }
                Err(error) => files.unreadable.push(error.to_string()),
            }
        }
        files
    }
}

fn has_end(path: &Path) -> bool {
    let end = path.extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    ENDS.iter().any(|known| end.eq_ignore_ascii_case(known))
}

/// Why there is no text to look at.
pub(super) enum Unread {
    /// The system says so.
    Failed(String),
    /// It is no text, or too much of it.
    NoText(String),
}

/// A file as text.
pub(super) fn open(path: &Path) -> Result<Source, Unread> {
    let name = shown(path);
    let bytes = File::open(path).and_then(limited);
    let bytes = bytes.map_err(|error| Unread::Failed(format!("{name}: {error}")))?;
    if bytes.contains(&0) {
        return Err(Unread::NoText("it is binary".to_owned()));
    }
    Source::of_bytes(&name, bytes, None).map_err(Unread::NoText)
}

/// The path as it is shown: `.` goes without saying.
pub(super) fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).to_string_lossy().into_owned()
}
