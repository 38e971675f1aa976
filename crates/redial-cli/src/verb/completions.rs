//! `redial completions`: the script of a shell, and the words that the script asks for.
//!
//! clap writes what is known beforehand: verbs, flags, their values. Names of runs and keys of dead letters are in the
//! store, so the scripts of bash, zsh and fish call this verb again, with the words of the line after `--`.

mod meant;
mod typed;

use std::ffi::OsString;

use clap::CommandFactory;
use clap_complete::Shell;

use self::typed::Typed;
use crate::args::{Cli, Completions};
use crate::output::{Failure, print};

pub(crate) fn run(arguments: &Completions) -> Result<u8, Failure> {
    match arguments.words.as_slice() {
        [] => print(&script(arguments.shell)).map(|()| 0),
        // Whoever presses TAB reads no errors: what cannot be completed has no candidates.
        words => print(&candidates(arguments.shell, words).unwrap_or_default()).map(|()| 0),
    }
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "redial", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => {
            script.replacen(FUNCTION, RENAMED, 1) + include_str!("completions/runs.bash")
        }
        // Its last lines call the function, which has to be there by then.
        Shell::Zsh => {
            let runs = include_str!("completions/runs.zsh");
            script.replacen(FUNCTION, &format!("{runs}\n{RENAMED}"), 1)
        }
        Shell::Fish => script.into_owned() + include_str!("completions/runs.fish"),
        _ => script.into_owned(),
    }
}

/// The function of clap's scripts, which takes second place: ours has its name, and calls it.
const FUNCTION: &str = "_redial() {";
const RENAMED: &str = "_redial_static() {";

/// The candidates for the last word, a line each: keys have no control characters.
fn candidates(shell: Shell, words: &[OsString]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let found = match (shell, words?.as_slice()) {
        // bash alone hands over its line as it was typed, and inserts words as it gets them.
        (Shell::Bash, [line, replaced]) => {
            let typed = Typed::read(line)?;
            let found = meant::candidates(&typed.words);
            found.iter().filter_map(|word| typed.completed(word, replaced)).collect()
        }
        (Shell::Bash, _) => return None,
        (_, words) => {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            meant::candidates(&words)
        }
    };
    Some(found.iter().map(|word| format!("{word}\n")).collect())
}
