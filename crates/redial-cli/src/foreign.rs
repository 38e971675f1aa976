//! The words of other programs for ours. Who comes from `retry`, `timeout`, `curl`, tenacity or
//! backon is told what it is called here, not what happens to have most of its letters.
//!
//! What an option of a policy is called elsewhere stands in one table, that of the clause.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use redial_core::clause;

use crate::choose::names_a_policy;

/// Verbs, by what others call them.
const VERBS: [(&str, &[&str]); 9] = [
    ("run", &["attempt", "call", "exec", "loop", "repeat", "retry", "start", "try"]),
    ("until", &["await", "poll", "wait", "wait-for", "watch"]),
    ("plan", &["delays", "preview", "schedule", "show"]),
    ("check", &["fix", "lint", "validate", "verify"]),
    ("explain", &["describe", "why"]),
    ("convert", &["export", "translate"]),
    ("classify", &["judge", "match"]),
    ("report", &["logs", "stats", "summary"]),
    ("tune", &["optimise", "optimize", "search"]),
];

/// Flags that are no option of a policy, by what others call them; and those of which others mean more
/// on a command line than in a file: `--times 5` is 5 in all.
const FLAGS: [(&str, &[&str]); 8] = [
    ("attempts", &["times"]),
    ("delay", &["every"]),
    ("quiet", &["silent"]),
    ("success-on", &["accept", "expect", "ok-on", "success-if"]),
    ("stop-on", &["fail-on", "ignore", "no-retry-on"]),
    ("on-end", &["fail", "finally", "on-exit", "on-failure", "on-finish"]),
    ("kill-after", &["grace", "grace-period"]),
    ("delay-from", &["retry-after"]),
];

/// Backoffs that are flags elsewhere.
const BACKOFFS: [&str; 4] = ["exponential", "exp", "fibonacci", "linear"];

/// Puts the word that is ours in the place of the one that clap finds by its letters.
pub(crate) fn suggest(
    mut error: clap::Error,
    command: &Command,
    verb: Option<&str>,
) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            if let Some(ours) = text(&error, ContextKind::InvalidSubcommand).and_then(verb_for) {
                let suggested = ContextValue::Strings(vec![ours.to_owned()]);
                error.insert(ContextKind::SuggestedSubcommand, suggested);
            }
        }
        ErrorKind::UnknownArgument => {
            let verb = verb.and_then(|verb| command.find_subcommand(verb));
            let written = text(&error, ContextKind::InvalidArg);
            let ours = written.zip(verb).and_then(|(written, verb)| {
                let flag = match names_a_policy(written) {
                    true if has_flag(verb, "policy") => format!("--policy {written}"),
                    _ => flag_for(written.trim_start_matches('-'), verb)?,
                };
                Some((flag, verb.clone().render_usage()))
            });
            if let Some((flag, usage)) = ours {
                error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
                error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
                // That it could be passed as a value is not what anybody meant.
                error.remove(ContextKind::Suggested);
            }
        }
        _ => {}
    }
    error
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn verb_for(word: &str) -> Option<&'static str> {
    VERBS.iter().find(|(_, theirs)| theirs.contains(&word)).map(|(ours, _)| *ours)
}

/// The flag of this verb that a name stands for, and its value where the name says that too.
fn flag_for(name: &str, verb: &Command) -> Option<String> {
    let flag = FLAGS.iter().find(|(_, theirs)| theirs.contains(&name)).map(|(ours, _)| *ours);
    let flag = match (flag, clause::counterpart(name)) {
        (Some(flag), _) => flag.to_owned(),
        (None, Some("retry")) => "retries".to_owned(),
        (None, Some(option)) => option.replace('_', "-"),
        (None, None) => return None,
    };
    let value = match BACKOFFS.contains(&name) {
        true if name == "exp" => " exponential",
        true => &format!(" {name}"),
        false if ["forever", "infinite", "unlimited"].contains(&name) => " unlimited",
        false => "",
    };
    has_flag(verb, &flag).then(|| format!("--{flag}{value}"))
}

fn has_flag(verb: &Command, flag: &str) -> bool {
    verb.get_arguments().any(|argument| argument.get_long() == Some(flag))
}
