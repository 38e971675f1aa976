//! The tools that run a command again, and how each is told to.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use crate::program::REDIAL;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Redial,
    Retry,
    Recur,
    Attempt,
    Timeout,
}

/// What a check asks of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) attempts: u32,
    pub(crate) delay: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) kill_after: Option<Duration>,
}

/// Attempts at once after each other.
pub(crate) fn attempts(attempts: u32) -> Ask {
    Ask { attempts, delay: Duration::ZERO, timeout: None, kill_after: None }
}

impl Tool {
    pub(crate) const ALL: [Self; 5] =
        [Self::Redial, Self::Retry, Self::Recur, Self::Attempt, Self::Timeout];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redial => "redial",
            Self::Retry => "retry",
            Self::Recur => "recur",
            Self::Attempt => "attempt",
            Self::Timeout => "timeout",
        }
    }

    /// Where it is, if it is installed.
    pub(crate) fn path(self) -> Option<PathBuf> {
        if self == Self::Redial {
            return Some(REDIAL.into());
        }
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|path| path.join(self.name())).find(|path| path.is_file())
    }

    pub(crate) fn retries(self) -> bool {
        self != Self::Timeout
    }

    pub(crate) fn has_timeout(self) -> bool {
        self != Self::Retry
    }

    /// The command line that asks for this. What a tool has no words for is left out.
    pub(crate) fn line(self, ask: Ask, command: &[&str]) -> Vec<String> {
        let seconds = |time: Duration| time.as_secs_f64().to_string();
        let mut line = vec![self.path().unwrap().into_os_string().into_string().unwrap()];
        let mut say = |words: &[&str]| line.extend(words.iter().map(|word| (*word).to_owned()));
        let count = ask.attempts.to_string();
        match self {
            Self::Redial => {
                let delay = format!("{}ms", ask.delay.as_millis());
                say(&["run", "-n", &count, "-d", &delay, "--max-delay", "1d"]);
                say(&["-b", "fixed", "--jitter", "none"]);
                if let Some(timeout) = ask.timeout {
                    say(&["-t", &format!("{}ms", timeout.as_millis())]);
                }
                if let Some(grace) = ask.kill_after {
                    say(&["--kill-after", &format!("{}ms", grace.as_millis())]);
                }
            }
            Self::Retry => {
                let delay = ask.delay.as_secs_f64().ceil().to_string();
                say(&["--times", &count, "--delay", &delay]);
            }
            Self::Recur => {
                say(&["-a", &count, "-d", &format!("{}s", seconds(ask.delay))]);
                if let Some(timeout) = ask.timeout {
                    say(&["-t", &format!("{}s", seconds(timeout))]);
                }
            }
            Self::Attempt => {
                say(&["fixed", "-a", &count, "-w", &format!("{}ms", ask.delay.as_millis())]);
                if let Some(timeout) = ask.timeout {
                    say(&["-t", &format!("{}ms", timeout.as_millis())]);
                }
            }
            Self::Timeout => {
                if let Some(grace) = ask.kill_after {
                    say(&["-k", &seconds(grace)]);
                }
                say(&[&ask.timeout.map_or_else(|| "60".to_owned(), seconds)]);
            }
        }
        if self != Self::Timeout {
            say(&["--"]);
        }
        say(command);
        line
    }

    pub(crate) fn script(self, ask: Ask, script: &str) -> Vec<String> {
        self.line(ask, &["sh", "-c", script])
    }
}

/// One line of a shell that runs these words.
pub(crate) fn quoted(words: &[impl AsRef<str>]) -> String {
    let quote = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(|word| quote(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// `redial run` with these flags, separated by blanks, on a script for `sh`.
pub(crate) fn redial(flags: &str, script: &str) -> Vec<String> {
    redial_on(flags, &["sh", "-c", script])
}

/// `redial run` with these flags on a command.
pub(crate) fn redial_on(flags: &str, command: &[&str]) -> Vec<String> {
    let mut line = vec![REDIAL, "run"];
    line.extend(["-b", "fixed", "--jitter", "none", "--max-delay", "1d"]);
    line.extend(flags.split_whitespace());
    line.push("--");
    line.extend(command);
    line.into_iter().map(str::to_owned).collect()
}
