//! Defaults from the environment, for a CI job, a crontab or a host. Each variable stands in for a
//! flag that was not given, and means what that flag means.
//!
//! The command inherits them, and with it a `redial run` inside it. They share no name with what
//! `redial run` tells its command (`REDIAL_ATTEMPT` and its like).

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

/// What the policy is where no flag names one, if the environment says so.
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

/// The sets of rules that hold where no flag names one.
pub(crate) fn rules() -> Result<Vec<String>, Failure> {
    Ok(text(RULES)?.as_deref().map(between_commas).unwrap_or_default())
}

/// The names in a list such as `curl, git`.
pub(crate) fn between_commas(names: &str) -> Vec<String> {
    names.split(',').map(|name| name.trim().to_owned()).collect()
}

/// After a finding that was drawn at its place in a file: which variable named that file.
pub(crate) fn note(variable: &str) {
    print_note(&format!("note: {variable} names this file\n"));
}

/// An empty value counts as unset, so that `REDIAL_WITH= redial run …` lifts the default.
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

    /// A file that a run uses, and who named it: a flag or a variable.
    #[derive(Clone, Debug)]
    pub(crate) struct NamedFile {
        pub(crate) by: &'static str,
        pub(crate) path: PathBuf,
    }

    impl NamedFile {
        /// What the flag names; without it, what the variable does.
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
