//! The signals that a command can die of, by name.

use crate::fields::nearest;
use crate::rules::Ending;

/// The names that Linux gives the numbers from 1 on.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// Names that other systems have.
const MORE: [&str; 2] = ["EMT", "INFO"];

const ALIASES: [(&str, &str); 4] =
    [("IOT", "ABRT"), ("CLD", "CHLD"), ("POLL", "IO"), ("UNUSED", "SYS")];

/// The greatest number of a signal, real-time signals included.
pub(crate) const NUMBER_MAX: i32 = 64;

/// `SEGV`, `SIGSEGV` or `segv` as `SEGV`.
pub(crate) fn named(text: &str) -> Option<&'static str> {
    let name = without_prefix(text);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
    alias.or_else(|| NAMES.iter().chain(&MORE).copied().find(|known| *known == name))
}

/// The name that was probably meant.
pub(crate) fn meant(text: &str) -> Option<&'static str> {
    nearest(&without_prefix(text), &NAMES)
}

/// The name of a number on Linux, empty where it has none.
pub(crate) fn name_of(number: i32) -> &'static str {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| NAMES.get(index)).copied().unwrap_or("")
}

impl Ending {
    /// By the signal with this name or number.
    ///
    /// ```
    /// use redial_policy::Ending;
    ///
    /// assert_eq!(Ending::signal_named("SIGKILL"), Some(Ending::signal(9)));
    /// assert_eq!(Ending::signal_named("9"), Some(Ending::signal(9)));
    /// assert_eq!(Ending::signal_named("KILLER"), None);
    /// ```
    pub fn signal_named(text: &str) -> Option<Self> {
        let number = match text.parse() {
            Ok(number) => Some(number).filter(|number| (1..=NUMBER_MAX).contains(number)),
            Err(_) => {
                let name = named(text)?;
                let index = NAMES.iter().position(|known| *known == name);
                index.and_then(|index| i32::try_from(index + 1).ok())
            }
        };
        number.map(Self::signal)
    }
}

fn without_prefix(text: &str) -> String {
    let upper = text.to_ascii_uppercase();
    upper.strip_prefix("SIG").map(str::to_owned).unwrap_or(upper)
}
