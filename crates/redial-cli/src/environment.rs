//! Defaults from the environment, for a CI job, a crontab or a host. Each variable replaces a flag that was
//! not given, and means the same.
//!
//! The command inherits them, and so does a `redial run` inside it. Their names differ from the variables that
//! `redial run` sets for its command, such as `REDIAL_ATTEMPT`.

use std::ffi::OsString;

use crate::output::{Failure, print_note};

/// The base of the policy, as a clause.
pub(crate) const WITH: &str = "REDIAL_WITH";
/// The base of the policy, as `FILE[#NAME]`.
pub(crate) const POLICY: &str = "REDIAL_POLICY";
/// Sets of rules, between commas.
pub(crate) const RULES: &str = "REDIAL_RULES";

/// The policy that the environment names.
pub(crate) enum Base {
    With(String),
    File(String),
}

/// The policy that the environment names, if any.
pub(crate) fn base() -> Result<Option<Base>, Failure> {
    match (text(WITH)?, text(POLICY)?) {
        (Some(_), Some(_)) => Err(Failure::Message(format!(
            "{WITH} and {POLICY} are both set, and one policy is needed; unset one of them"
        ))),
        (Some(clause), None) => Ok(Some(Base::With(clause))),
        (None, Some(file)) => Ok(Some(Base::File(file))),
        (None, None) => Ok(None),
    }
}

/// The sets of rules that the environment names.
pub(crate) fn rules() -> Result<Vec<String>, Failure> {
    Ok(text(RULES)?.as_deref().map(between_commas).unwrap_or_default())
}

/// The names in a list such as `curl, git`.
pub(crate) fn between_commas(names: &str) -> Vec<String> {
    names.split(',').map(|name| name.trim().to_owned()).collect()
}

/// Printed after a diagnostic: which variable named the file.
pub(crate) fn note(variable: &str) {
    print_note(&format!("note: {variable} names this file\n"));
}

/// An empty value counts as unset, so that `REDIAL_WITH= redial run …` turns the default off.
fn value(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

fn text(variable: &str) -> Result<Option<String>, Failure> {
    let text = value(variable).map(OsString::into_string).transpose();
    text.map_err(|value| {
        let value = value.to_string_lossy().into_owned();
        Failure::Message(format!("{variable}: `{value}` is not UTF-8"))
    })
}

#[cfg(unix)]
pub(crate) use self::file::{BUDGET, EVENTS, NamedFile};

#[cfg(unix)]
mod file {
    use std::path::{Path, PathBuf};

    /// Where every run logs its events.
    pub(crate) const EVENTS: &str = "REDIAL_EVENTS";
    /// The budget that every run shares.
    pub(crate) const BUDGET: &str = "REDIAL_BUDGET";

    /// A file that a run uses, and the flag or variable that named it.
    #[derive(Clone, Debug)]
    pub(crate) struct NamedFile {
        pub(crate) by: &'static str,
        pub(crate) path: PathBuf,
    }

    impl NamedFile {
        /// From the flag, or else from the variable.
        pub(crate) fn of(
            flag: &'static str,
            path: Option<&Path>,
            variable: &'static str,
        ) -> Option<Self> {
            match path {
                Some(path) => Some(Self { by: flag, path: path.to_owned() }),
                None => super::value(variable).map(|path| Self { by: variable, path: path.into() }),
            }
        }

        /// The variable that named it, if one did.
        pub(crate) fn variable(&self) -> Option<&'static str> {
            Some(self.by).filter(|by| !by.starts_with('-'))
        }
    }
}
