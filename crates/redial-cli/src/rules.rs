//! The rules that flags and the environment select.

use std::ffi::OsString;
use std::time::Duration;

use redial_core::Limits;
use redial_policy::{Entry, RuleSet, Rules, read};

use crate::args::RuleFlags;
use crate::duration;
use crate::environment;
use crate::events::Mode;
use crate::exit_code;
use crate::output::{Failure, print_note};
use crate::source::Source;
use crate::verb::help;
use crate::view::diagnostic::Drawing;

/// The rules for a command, or for any command if none is given. The sets of the environment do not apply to
/// `redial until`: they say what to retry, not what to wait for.
pub(crate) fn rules(
    flags: &RuleFlags,
    entry: &Entry,
    command: Option<&[OsString]>,
    mode: Mode,
) -> Result<Rules, Failure> {
    let mut rules = Rules::default();
    for (flag, texts, add) in [
        ("--success-on", &flags.success_on, Rules::success_on as fn(&mut Rules, &str) -> _),
        ("--stop-on", &flags.stop_on, Rules::stop_on),
        ("--retry-on", &flags.retry_on, Rules::retry_on),
        ("--delay-from", &flags.delay_from, Rules::delay_from),
    ] {
        for text in texts {
            add(&mut rules, text)
                .map_err(|error| Failure::Message(format!("{flag} '{text}': {error}")))?;
        }
    }
    rules.policy(&entry.retry_on, &entry.stop_on);
    let words = command.map(|words| words.iter().map(|word| word.to_string_lossy()));
    let words: Option<Vec<_>> = words.map(Iterator::collect);
    let (by, names) = names(flags, mode)?;
    for name in names {
        rules.set(set(by, &name)?.for_arguments(words.as_deref()));
    }
    Ok(rules)
}

/// The names of the sets, and the flag or the variable that gives them.
fn names(flags: &RuleFlags, mode: Mode) -> Result<(&'static str, Vec<String>), Failure> {
    if flags.rules.is_empty() && mode == Mode::Run {
        return Ok((environment::RULES, environment::rules()?));
    }
    // A file name may contain a comma.
    let names = flags.rules.iter().flat_map(|names| match std::path::Path::new(names).exists() {
        true => vec![names.clone()],
        false => environment::between_commas(names),
    });
    Ok(("--rules", names.collect()))
}

/// The sets that flags and the environment name, and of those from files their texts and formats.
#[cfg(unix)]
pub(crate) fn named_sets(
    flags: &RuleFlags,
) -> Result<Vec<(String, Option<(String, String)>)>, Failure> {
    let (by, names) = names(flags, Mode::Run)?;
    let pinned = |name: String| {
        if RuleSet::named(&name).is_some() {
            return Ok((name, None));
        }
        let source = Source::open(&name, None).map_err(|error| format!("{by}: {error}"))?;
        let stem = std::path::Path::new(&name).file_stem().unwrap_or_default().to_string_lossy();
        let format = match source.format {
            redial_policy::Format::Toml => "toml",
            redial_policy::Format::Json => "json",
            _ => "yaml",
        };
        Ok((stem.into_owned(), Some((source.text.clone(), format.to_owned()))))
    };
    names.into_iter().map(pinned).collect()
}

/// `rules git, from REDIAL_RULES`, where the environment names the sets.
#[cfg(unix)]
pub(crate) fn from_environment(flags: &RuleFlags, mode: Mode) -> Result<Option<String>, Failure> {
    let (by, names) = names(flags, mode)?;
    let is_from_environment = by == environment::RULES && !names.is_empty();
    Ok(is_from_environment.then(|| format!("rules {}, from {by}", names.join(", "))))
}

/// The longest delay that a command may ask for.
pub(crate) fn max_retry_after(flags: &RuleFlags) -> Result<Duration, Failure> {
    let default = Limits::new().get_max_retry_after();
    duration_or("--max-retry-after", flags.max_retry_after.as_deref(), default)
}

/// The duration of a flag, or the default, which need not be parsed.
pub(crate) fn duration_or(
    flag: &str,
    text: Option<&str>,
    default: Duration,
) -> Result<Duration, Failure> {
    text.map_or(Ok(default), |text| duration(flag, text))
}

/// The duration of a flag.
pub(crate) fn duration(flag: &str, text: &str) -> Result<Duration, Failure> {
    duration::read(text).ok_or_else(|| {
        Failure::Message(format!("{flag}: `{text}` is not a duration; {}", duration::EXPECTED))
    })
}

/// A built-in set, or one from a file.
fn set(by: &str, name: &str) -> Result<RuleSet, Failure> {
    if let Some(set) = RuleSet::named(name) {
        return Ok(set);
    }
    let looks_like_file = name.contains(['/', '.']) || std::path::Path::new(name).exists();
    if !looks_like_file {
        return Err(Failure::Message(format!(
            "{by}: {}, and files such as ./own.toml",
            help::no_set(name),
        )));
    }
    let source = Source::open(name, None).map_err(|error| format!("{by}: {error}"))?;
    let stem = std::path::Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let set = RuleSet::read(&source.text, source.format).map_err(|found| {
        let document = read(&source.text, source.format, None);
        let drawing = Drawing::of(&source).fixable(&document, None);
        for found in &found {
            print_note(&drawing.draw(found));
        }
        if by == environment::RULES {
            environment::note(by);
        }
        Failure::Reported(exit_code::ERROR)
    })?;
    Ok(set.or_name(&stem))
}
