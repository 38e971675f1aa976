//! What the system takes as an argument or a variable.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// The longest argument, or `NAME=value`, in bytes. Linux takes 32 pages of 4 KiB, and the last byte
/// is a NUL.
///
/// Systems without such a limit get it, too: a flow that runs on one machine runs on the other.
pub const STRING_MAX: usize = 131_071;

/// Why a value cannot be had, or cannot be handed over. It concerns one task; the flow itself is right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// There is nothing where the reference points to.
    Missing {
        /// As it is written.
        reference: String,
        /// Where it stands in its template.
        span: Range<usize>,
        /// What is there instead.
        reason: String,
    },
    /// There is a value, and it cannot be read.
    Unreadable {
        /// As it is written.
        reference: String,
        /// Why not.
        reason: String,
    },
    /// A NUL ends an argument or a variable, so what follows it would be lost.
    HasNul {
        /// The references or the name of what holds it.
        place: String,
    },
    /// More than the system takes.
    TooLarge {
        /// The references or the name of what is too large.
        place: String,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        most: usize,
    },
}

impl ValueError {
    /// A word for events and rules: `value-missing`, `value-unreadable`, `value-has-nul` or `value-too-large`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "value-missing",
            Self::Unreadable { .. } => "value-unreadable",
            Self::HasNul { .. } => "value-has-nul",
            Self::TooLarge { .. } => "value-too-large",
        }
    }
}

impl Display for ValueError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { reference, reason, .. } => {
                write!(f, "`{reference}` has no value: {reason}")
            }
            Self::Unreadable { reference, reason } => {
                write!(f, "`{reference}` cannot be read: {reason}")
            }
            Self::HasNul { place } => {
                write!(
                    f,
                    "{place} has a NUL, which no argument and no variable can hold; `stdin` can"
                )
            }
            Self::TooLarge { place, bytes, most } => write!(
                f,
                "{place} has {bytes} bytes, and the system takes {most}; `stdin` takes any number"
            ),
        }
    }
}

impl std::error::Error for ValueError {}

/// How many bytes the system takes in all arguments and variables of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentSpace {
    bytes: usize,
}

impl ArgumentSpace {
    /// What this process may hand to one that it starts.
    ///
    /// Linux takes a quarter of the stack's limit, at least 128 KiB and at most 6 MiB; others say a
    /// number. A page is left for the interpreter of a script, which the system puts in front.
    pub fn of_this_system() -> Self {
        Self::new(system_bytes().saturating_sub(4096))
    }

    /// As many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes }
    }

    /// What is left beside so many bytes.
    pub fn less(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(bytes) }
    }

    /// Whether a command with these arguments (its name is the first) and variables can be started.
    /// It counts as the system does: each string with its NUL and a pointer.
    ///
    /// # Errors
    ///
    /// If one has a NUL or is too large, or all are.
    pub fn check<'a>(
        self,
        arguments: impl IntoIterator<Item = &'a [u8]>,
        variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<(), ValueError> {
        let each = size_of::<usize>() + 1;
        let mut total = 0_usize;
        for (index, argument) in arguments.into_iter().enumerate() {
            one_string(argument, 0, || format!("argument {index}"))?;
            // The system has the name of the program a second time.
            let times = if index == 0 { 2 } else { 1 };
            total = total.saturating_add((argument.len() + each) * times);
        }
        for (name, value) in variables {
            let place = || format!("the variable `{}`", String::from_utf8_lossy(name));
            one_string(value, name.len() + 1, place)?;
            total = total.saturating_add(name.len() + 1 + value.len() + each);
        }
        if total > self.bytes {
            let place = "all arguments and variables together".to_owned();
            return Err(ValueError::TooLarge { place, bytes: total, most: self.bytes });
        }
        Ok(())
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn system_bytes() -> usize {
    const LEAST: u64 = 128 << 10;
    const MOST: u64 = 6 << 20;
    let stack = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    stack.map_or(MOST, |bytes| (bytes / 4).clamp(LEAST, MOST)) as usize
}

/// What macOS takes is 1 MiB, and the BSDs 512 KiB.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn system_bytes() -> usize {
    if cfg!(target_os = "macos") { 1 << 20 } else { 512 << 10 }
}

#[cfg(not(unix))]
fn system_bytes() -> usize {
    32_767
}

/// One argument or variable, with `more` bytes in the same string.
pub(crate) fn one_string(
    bytes: &[u8],
    more: usize,
    place: impl Fn() -> String,
) -> Result<(), ValueError> {
    if bytes.contains(&0) {
        return Err(ValueError::HasNul { place: place() });
    }
    let most = STRING_MAX.saturating_sub(more);
    if bytes.len() > most {
        return Err(ValueError::TooLarge { place: place(), bytes: bytes.len(), most });
    }
    Ok(())
}
