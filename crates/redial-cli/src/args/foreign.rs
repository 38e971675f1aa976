//! What other programs call our verbs and flags. Who types a word of `retry`, `timeout`, `curl`, tenacity
//! or backon gets our name for it as a suggestion, not the name that is spelled most alike.
//!
//! Foreign names of policy options come from the core: `redial_core::clause::counterpart`.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use redial_core::clause;

use crate::args::PolicyFlags;
use crate::policies::is_policy_file;

/// Our verbs, and what others call them.
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

/// The verbs that start processes or lock files, as Unix does it.
const UNIX_VERBS: [&str; 3] = ["run", "until", "shared"];

/// Our flags that are no policy options, and what others call them; and words that mean one thing on a
/// command line and another in a file: `--times 5` is five attempts.
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

/// Backoffs that other programs have as flags.
const BACKOFFS: [&str; 4] = ["exponential", "exp", "fibonacci", "linear"];

/// Replaces clap's suggestion, which goes by spelling, by our name for a foreign word.
pub(crate) fn suggest(
    mut error: clap::Error,
    command: &Command,
    verb: Option<&str>,
) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let written = text(&error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let ours = verb_for(written);
            let verb = ours.unwrap_or(written);
            if UNIX_VERBS.contains(&verb) && command.find_subcommand(verb).is_none() {
                let tip = format!("'{verb}' is there on Linux, macOS and the BSDs alone");
                error.remove(ContextKind::SuggestedSubcommand);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            } else if let Some(ours) = ours {
                let suggested = ContextValue::Strings(vec![ours.to_owned()]);
                error.insert(ContextKind::SuggestedSubcommand, suggested);
            }
        }
        ErrorKind::UnknownArgument => {
            let verb = verb.and_then(|verb| command.find_subcommand(verb));
            let written = text(&error, ContextKind::InvalidArg);
            let ours = written.zip(verb).and_then(|(written, verb)| {
                let flag = match is_policy_file(written) {
                    true if has_flag(verb, "policy") => format!("--policy {written}"),
                    _ => flag_for(written.trim_start_matches('-'), verb)?,
                };
                Some((flag, verb.clone().render_usage()))
            });
            if let Some((flag, usage)) = ours {
                error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
                error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
                // clap's tip to pass it as a value after `--`.
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

/// The flag of this verb that a foreign name stands for, with its value if the name implies one.
fn flag_for(name: &str, verb: &Command) -> Option<String> {
    let flag = FLAGS.iter().find(|(_, theirs)| theirs.contains(&name)).map(|(ours, _)| *ours);
    let flag = match (flag, clause::counterpart(name)) {
        (Some(flag), _) => flag.to_owned(),
        (None, Some(option)) => PolicyFlags::flag_of(option),
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
