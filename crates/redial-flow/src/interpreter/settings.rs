//! Programs that execute what a setting of theirs holds: `make X=…`, `git -c alias.x=…`, `screen -X stuff …`.

use super::{Word, assignment};

/// The first word with a value that such a program would execute, and what to do instead.
pub(super) fn code_in(program: &str, words: &[Word]) -> Option<(usize, &'static str)> {
    match program {
        "make" | "gmake" => {
            let is_set = |word: &Word| word.value.is_some() && assignment(&word.text).is_some();
            let remedy = "make expands $(shell …) in it; name the value in `env`, and use \"$$NAME\" in the recipe";
            Some((words.iter().position(is_set)?, remedy))
        }
        "git" => git(words),
        "screen" => screen(words),
        _ => None,
    }
}

/// `git -c alias.x='!…'`, `git config core.pager …`, and the commands that hand a text to a shell.
fn git(words: &[Word]) -> Option<(usize, &'static str)> {
    const SETTING: &str = "git runs what such a setting holds by a shell; write it as it is, and hand the value over in `env`";
    const COMMAND: &str =
        "git hands it to a shell; name the value in `env`, and use that variable in quotes there";
    let is_value = |at: usize| words.get(at).is_some_and(|word| word.value.is_some());
    let mut at = 1;
    // What stands before the verb.
    let verb = loop {
        let word = words.get(at)?;
        match word.text.as_slice() {
            b"-c" => {
                at += 1;
                if is_value(at) && is_executed(&words[at].text) {
                    return Some((at, SETTING));
                }
            }
            b"-C" | b"--git-dir" | b"--work-tree" | b"--namespace" => at += 1,
            [b'-', ..] => {}
            verb => break verb,
        }
        at += 1;
    };
    let rest = at + 1;
    match verb {
        b"config" => {
            let is_key = |word: &Word| word.text.contains(&b'.') || word.value.is_some();
            let key = rest + words[rest..].iter().position(is_key)?;
            let value = (key..words.len()).find(|at| is_value(*at))?;
            is_executed(&words[key].text).then_some((value, SETTING))
        }
        b"submodule" => {
            let each = rest + words[rest..].iter().position(|word| word.is("foreach"))?;
            Some(((each..words.len()).find(|at| is_value(*at))?, COMMAND))
        }
        b"rebase" => {
            let takes_line = |word: &Word| word.is("-x") || word.is("--exec");
            let of_option = |at: &usize| {
                let text = &words[*at].text;
                takes_line(&words[at - 1])
                    || text.starts_with(b"--exec=")
                    || text.starts_with(b"-x")
            };
            Some(((rest..words.len()).filter(|at| is_value(*at)).find(of_option)?, COMMAND))
        }
        b"filter-branch" => Some(((rest..words.len()).find(|at| is_value(*at))?, COMMAND)),
        _ => None,
    }
}

/// Whether git runs what the setting `KEY=…` holds, or the key itself is not known.
fn is_executed(setting: &[u8]) -> bool {
    const SECTIONS: [&str; 2] = ["alias", "pager"];
    const NAMES: [&str; 22] = [
        "askpass",
        "clean",
        "cmd",
        "command",
        "driver",
        "editor",
        "external",
        "fsmonitor",
        "gitproxy",
        "helper",
        "hookspath",
        "interactive",
        "pager",
        "path",
        "process",
        "program",
        "smudge",
        "sshcommand",
        "textconv",
        "uploadpack",
        "receivepack",
        "difffilter",
    ];
    let key = setting.split(|&byte| byte == b'=').next().unwrap_or_default();
    let key = String::from_utf8_lossy(key).to_ascii_lowercase();
    let (section, name) = match (key.split_once('.'), key.rsplit_once('.')) {
        (Some((section, _)), Some((_, name))) => (section, name),
        _ => return key.contains('\0'),
    };
    SECTIONS.contains(&section) || NAMES.contains(&name) || key.contains('\0')
}

/// `screen -X stuff …` types into a shell, and `-X eval` runs commands of screen's own.
fn screen(words: &[Word]) -> Option<(usize, &'static str)> {
    let sends = |word: &Word| matches!(word.text.as_slice(), [b'-', letters @ ..] if letters.ends_with(b"X"));
    let from = words.iter().position(sends)?;
    let value = from + words[from..].iter().position(|word| word.value.is_some())?;
    Some((
        value,
        "screen runs it, or types it into a shell; start a program with the value as its argument",
    ))
}
