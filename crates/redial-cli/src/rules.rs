//! The rules that the flags name, for whatever runs or judges a command.

use std::time::Duration;

use redial_policy::{Entry, RuleSet, Rules};

use crate::args::RuleFlags;
use crate::draw::{Lines, draw};
use crate::duration;
use crate::help;
use crate::output::{Failure, REFUSED, print_note};
use crate::source::Source;

pub(crate) fn rules(flags: &RuleFlags, entry: &Entry) -> Result<Rules, Failure> {
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
    for name in &flags.rules {
        rules.set(set(name)?);
    }
    Ok(rules)
}

/// A duration of a flag.
pub(crate) fn duration(flag: &str, text: &str) -> Result<Duration, Failure> {
    duration::read(text).ok_or_else(|| {
        Failure::Message(format!("{flag}: `{text}` is not a duration; {}", duration::EXPECTED))
    })
}

/// One of the sets that redial brings, or a file of the user's.
fn set(name: &str) -> Result<RuleSet, Failure> {
    if let Some(set) = RuleSet::named(name) {
        return Ok(set);
    }
    let looks_like_file = name.contains(['/', '.']) || std::path::Path::new(name).exists();
    if !looks_like_file {
        return Err(Failure::Message(format!(
            "--rules: {}, and files such as ./own.toml",
            help::no_set(name),
        )));
    }
    let source = Source::open(name, None).map_err(|error| format!("--rules: {error}"))?;
    let stem = std::path::Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let set = RuleSet::read(&source.text, source.format).map_err(|found| {
        let lines = Lines::new(&source.text);
        for found in &found {
            print_note(&draw(&source, &lines, found));
        }
        Failure::Told(REFUSED)
    })?;
    Ok(set.or_name(&stem))
}
