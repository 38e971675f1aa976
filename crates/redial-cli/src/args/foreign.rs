//! What other programs call our verbs and flags. Who types a word of `retry`, `timeout`, `curl`, `xargs`, GNU parallel,
//! tenacity or backon gets our name for it as a suggestion, not the name that is spelled most alike.
//!
//! Foreign names of policy options come from the core: `redial_core::clause::counterpart`.

#[cfg(unix)]
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use redial_core::clause;

#[cfg(unix)]
use crate::args::MapFlags;
use crate::args::PolicyFlags;
use crate::policies::is_policy_file;
#[cfg(unix)]
use crate::visible::visible;

/// Our verbs, and what others call them.
const VERBS: [(&str, &[&str]); 11] = [
    ("run", &["attempt", "call", "exec", "loop", "repeat", "retry", "start", "try"]),
    ("until", &["await", "poll", "wait", "wait-for", "watch"]),
    ("plan", &["delays", "preview", "schedule", "show"]),
    ("compare", &["diff", "versus", "vs"]),
    ("find", &["audit", "grep", "list", "scan"]),
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

/// What those type at `redial map` who come from `xargs` and GNU parallel, and what to do instead.
const OF_MAP: [(&[&str], &str); 13] = [
    (&["-P", "--max-procs"], "how many run at once is -j here: -j 8"),
    (&["-I", "--replace"], "{} is always the item, {name} a field of it: no flag is needed"),
    (
        &["-N", "-L", "-X", "-m", "--max-args", "--max-lines", "--max-replace-args", "--xargs"],
        "each item has a command of its own: no flag is needed",
    ),
    (&["-r", "--no-run-if-empty"], "without items nothing is run: no flag is needed"),
    (
        &["--bar", "--eta"],
        "a bar is drawn on a terminal; --progress always or never says otherwise",
    ),
    (
        &["--joblog"],
        "--run NAME writes everything down, and redial flow report NAME tells it; --events FILE has it as lines of JSON",
    ),
    (
        &["--resume", "--resume-failed", "--retry-failed"],
        "with --run NAME the same command again goes on with what failed, was not finished, or is new",
    ),
    (&["-k", "--keeporder"], "output in the order of the items is --keep-order"),
    (&["--results", "--res"], "a file for what each item writes: --output-dir DIR"),
    (&["--halt"], "to start nothing new after so many failures: --failures-max 1"),
    (&["-C", "--colsep"], "columns are --format csv or tsv, whose first line names them: {name}"),
    (&["-a", "--arg-file"], "items are read from standard input, or with --items FILE"),
    (
        &["-u", "--ungroup", "--lb", "--line-buffer"],
        "output is printed when its item is over; --output-dir DIR has files",
    ),
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
            let of_map = written.filter(|_| verb.is_some_and(|verb| verb.get_name() == "map"));
            if let Some(tip) = of_map.and_then(tip_of_map) {
                error.remove(ContextKind::SuggestedArg);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
                return error;
            }
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

/// What `redial map` has, too, but with another meaning: an error where it cannot be meant as it is here.
#[cfg(unix)]
pub(crate) fn mistaken(map: &MapFlags) -> Result<(), String> {
    let is_time = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    if let Some(text) = map.policy.timeout.as_deref().filter(|text| !is_time(text)) {
        return Err(format!(
            "-t, --timeout: `{}` is no time such as 30s; to see the commands, as -t of xargs shows them, use --dry-run",
            visible(text)
        ));
    }
    if let Some(text) = map.policy.delay.as_deref().filter(|text| !is_time(text)) {
        return Err(format!(
            "-d, --delay: `{}` is no time such as 1s; what stands between items, as -d of xargs says, is a newline, NUL \
             with -0, or that of --format csv",
            visible(text)
        ));
    }
    let mut words = map.command.iter().filter_map(|word| word.to_str());
    let is_parallel = words.clone().next().is_some_and(|program| program.ends_with("parallel"));
    match words.find(|word| [":::", ":::+", "::::", "::::+"].contains(word)) {
        Some(word) if !is_parallel => Err(format!(
            "`{word}` of GNU parallel is not known; items are lines of standard input, or with --items those of a file: \
             printf '%s\\n' a b c | redial map -- COMMAND {{}}"
        )),
        _ => Ok(()),
    }
}

/// Who writes `-n1` is used to `xargs`, and may not want what it means here.
#[cfg(unix)]
pub(crate) fn note(map: &MapFlags, words: impl Iterator<Item = OsString>) -> Option<&'static str> {
    let words: Vec<OsString> = words.collect();
    let ours = words.len().saturating_sub(map.command.len());
    words[..ours].iter().any(|word| word == "-n1").then_some(
        "-n1 is one attempt for each item, and no retry; each item has a command of its own anyway. Leave it out, or write \
         --attempts 1",
    )
}

fn tip_of_map(written: &str) -> Option<&'static str> {
    let flag = written.split_once('=').map_or(written, |(flag, _)| flag);
    OF_MAP.iter().find(|(theirs, _)| theirs.contains(&flag)).map(|(_, tip)| *tip)
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
