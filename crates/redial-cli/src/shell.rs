//! A command as it would be typed into a shell.

use std::ffi::OsStr;

/// The words of a command, quoted where a shell would read them as something else. Two commands
/// that differ are written differently, so this is also what runs are grouped by.
pub(crate) fn command(argv: impl IntoIterator<Item: AsRef<OsStr>>) -> String {
    let words = argv.into_iter().enumerate().map(|(index, word)| {
        let word = word.as_ref().to_string_lossy();
        match index == 0 && means_more_when_first(&word) {
            true => quoted(&word),
            false => quoted_if_needed(&word),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// An assignment, or a word of the shell's own grammar.
fn means_more_when_first(word: &str) -> bool {
    const RESERVED: [&str; 17] = [
        "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
        "in", "select", "function", "time", "coproc",
    ];
    word.contains('=') || RESERVED.contains(&word)
}

fn quoted_if_needed(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "@%_-+=:,./".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { quoted(word) }
}

fn quoted(word: &str) -> String {
    match word.chars().any(|c| c.is_ascii_control()) {
        true => format!("$'{}'", word.chars().map(escaped).collect::<String>()),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Between `$'` and `'`, where what cannot be seen has a name.
fn escaped(c: char) -> String {
    match c {
        '\n' => r"\n".into(),
        '\t' => r"\t".into(),
        '\r' => r"\r".into(),
        '\\' => r"\\".into(),
        '\'' => r"\'".into(),
        c if c.is_ascii_control() => format!("\\{:03o}", u32::from(c)),
        c => c.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> String {
        command(words)
    }

    #[test]
    fn a_command_is_quoted_as_a_shell_wants_it() {
        assert_eq!(typed(&["curl", "-fsS", "https://a.b/x"]), "curl -fsS https://a.b/x");
        assert_eq!(typed(&["sh", "-c", "exit 1"]), "sh -c 'exit 1'");
        assert_eq!(typed(&["echo", "", "it's", "~", "*"]), r"echo '' 'it'\''s' '~' '*'");
        assert_eq!(typed(&["a=b", "a=b"]), "'a=b' a=b");
        assert_eq!(typed(&["time", "time"]), "'time' time");
        assert_eq!(
            typed(&["printf", "a\nb'\\\u{1b}[31m\u{7}1"]),
            r"printf $'a\nb\'\\\033[31m\0071'"
        );
        assert_eq!(typed(&["größe", "\u{a0}"]), "größe '\u{a0}'");
        assert_eq!(typed(&[]), "");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_back_the_words_that_were_quoted() {
        let words = [
            "printf", r"%s|", "a b", "it's", "", "$HOME", "`id`", "*", "\\", "!x", "#", "é", "a=~",
        ];
        let output =
            std::process::Command::new("sh").args(["-c", &typed(&words)]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.split_terminator('|').collect::<Vec<_>>(), words[2..]);
    }
}
