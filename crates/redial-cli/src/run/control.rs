//! The file in which the command may say what is to become of its failure.

use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

/// What the command asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Stop,
    RetryAfter(Duration),
}

/// A new file for the run; every attempt finds it empty.
pub(super) struct Control {
    file: NamedTempFile,
}

/// More than this is no wish.
const LENGTH_MAX: u64 = 4096;

impl Control {
    /// None where there is no place for it. A command can do without.
    pub(super) fn create() -> Option<Self> {
        let file = tempfile::Builder::new().prefix("redial-").tempfile().ok()?;
        Some(Self { file })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The last wish in the file, which is then empty again; or what in it is none.
    pub(super) fn take(&self) -> Result<Option<Wish>, String> {
        let path = self.file.path();
        let text = match std::fs::metadata(path) {
            Ok(metadata) if metadata.len() == 0 => return Ok(None),
            Ok(metadata) if metadata.len() > LENGTH_MAX => {
                Err(format!("{} bytes are too many", metadata.len()))
            }
            Ok(_) => std::fs::read(path).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        // The next attempt starts with nothing in it, whatever this one wrote.
        let _ = std::fs::write(path, "");
        let text = text?;
        let text = String::from_utf8_lossy(&text);
        let mut wish = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            wish = Some(parse(line)?);
        }
        Ok(wish)
    }
}

fn parse(line: &str) -> Result<Wish, String> {
    let unknown = || format!("`{line}` is not known; write `retry-after 30s` or `stop`");
    match line.split_once(char::is_whitespace) {
        None if line == "stop" => Ok(Wish::Stop),
        Some(("retry-after", delay)) => {
            redial_policy::dictated(delay).map(Wish::RetryAfter).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wish_counts_and_the_file_is_empty_again() {
        let control = Control::create().unwrap();
        let write = |text: &str| std::fs::write(control.path(), text).unwrap();
        assert_eq!(control.take(), Ok(None));
        write("retry-after 30s\n\n stop \n");
        assert_eq!(control.take(), Ok(Some(Wish::Stop)));
        assert_eq!(control.take(), Ok(None));
        write("retry-after 1500ms");
        assert_eq!(control.take(), Ok(Some(Wish::RetryAfter(Duration::from_millis(1500)))));
        write("retry-after 7");
        assert_eq!(control.take(), Ok(Some(Wish::RetryAfter(Duration::from_secs(7)))));
    }

    #[test]
    fn what_is_no_wish_is_named() {
        let control = Control::create().unwrap();
        for text in ["halt", "retry-after", "retry-after soon", "retry-after -1s", "stop it"] {
            std::fs::write(control.path(), text).unwrap();
            assert!(control.take().unwrap_err().contains(text), "{text}");
            assert_eq!(control.take(), Ok(None));
        }
        std::fs::write(control.path(), "x".repeat(5000)).unwrap();
        assert_eq!(control.take(), Err("5000 bytes are too many".to_owned()));
    }
}
