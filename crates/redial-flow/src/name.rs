//! The names of runs.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

/// The name of a run, and of its directory: 1 to 100 of the characters `A-Z a-z 0-9 - _ .`, the first and the last of them
/// a letter, a digit or `_`.
///
/// So it is a plain file name on every system, never an option of a command, and needs no quotes.
///
/// ```
/// use redial_flow::store::RunName;
///
/// let name: RunName = "nightly-2026.11".parse()?;
/// assert_eq!(name.as_str(), "nightly-2026.11");
/// let error = "../x".parse::<RunName>().unwrap_err();
/// assert!(error.to_string().starts_with("`../x` cannot name a run: it begins with `.`"));
/// # Ok::<(), redial_flow::store::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName(String);

impl RunName {
    /// A name that sorts by time: 48 bits of milliseconds and 80 of chance, in the 26 characters of a ULID. A time that
    /// does not fit is the first or the last one that does.
    pub fn generated(time: SystemTime, chance: u128) -> Self {
        const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        const MILLIS_MAX: u128 = (1 << 48) - 1;
        const CHANCE_MAX: u128 = (1 << 80) - 1;
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let id = since.as_millis().min(MILLIS_MAX) << 80 | chance & CHANCE_MAX;
        Self((0..26).rev().map(|at| char::from(DIGITS[(id >> (5 * at) & 31) as usize])).collect())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for RunName {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        const LENGTH_MAX: usize = 100;
        let refuse = |reason: String| Err(InvalidName { name: name.into(), reason });
        let edge = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let (Some(first), Some(last)) = (name.chars().next(), name.chars().next_back()) else {
            return refuse("it is empty".into());
        };
        if name.len() > LENGTH_MAX {
            return refuse(format!("it has {} bytes, and {LENGTH_MAX} are the most", name.len()));
        }
        if matches!(first, '-' | '.') {
            return refuse(format!("it begins with `{first}`"));
        }
        let inner = |character: char| edge(character) || matches!(character, '-' | '.');
        match name.chars().find(|character| !inner(*character)) {
            Some(odd) => refuse(format!("it has `{}` in it", odd.escape_debug())),
            None if !edge(last) => refuse(format!("it ends with `{last}`")),
            None => Ok(Self(name.into())),
        }
    }
}

/// A text that cannot name a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    name: String,
    reason: String,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A hostile name is not printed to its end.
        let shown: String = self.name.chars().take(40).collect();
        let more = if shown.len() < self.name.len() { "…" } else { "" };
        write!(f, "`{}{more}` cannot name a run: {}; ", shown.escape_debug(), self.reason)?;
        f.write_str("use letters, digits, `_`, and between them `-` and `.`, as in nightly-2026.11")
    }
}

impl std::error::Error for InvalidName {}
