//! `redial classify`: whether `redial run` would retry a failure, and by which rule.

use std::fs::File;
use std::io::{self, Read};
use std::time::SystemTime;

use clap::ArgMatches;
use redial_policy::{Ending, Fate, Judgement, Stream, Watch};
use serde_json::json;

use crate::args;
use crate::duration::{human, nanos};
use crate::events::Mode;
use crate::output::{self, Failure, print};
use crate::policies::{exactly_one, selected};
use crate::rules::{max_retry_after, rules};
use crate::visible::visible;

pub(crate) fn run(arguments: &args::Classify, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let selected = exactly_one(&arguments.policy, selected(&arguments.policy, matches, false)?)?;
    let rules = rules(&arguments.rules, &selected.entry, None, Mode::Run)?;
    let ending = ending(arguments)?;
    let printed = [(Stream::Stdout, &arguments.stdout), (Stream::Stderr, &arguments.stderr)];
    if printed.iter().all(|(_, file)| file.as_deref() == Some("-")) {
        return Err(Failure::from("standard input holds one of --stdout - and --stderr -"));
    }
    let mut watch = rules.watch();
    for (stream, file) in printed {
        if let Some(file) = file {
            watch_file(&mut watch, stream, file)
                .map_err(|error| cannot_read(stream, file, &error))?;
        }
    }
    let mut judgement = rules.judge(&ending, &mut watch, SystemTime::now());
    let most = max_retry_after(&arguments.rules)?;
    if let Some(delay) = judgement.delay.filter(|delay| *delay > most) {
        let (delay, most) = (human(delay), human(most));
        let rule = format!("it asked for {delay}, more than --max-retry-after {most}");
        let (rule, in_full) = (Some(rule.clone()), Some(rule));
        judgement = Judgement { fate: Fate::Stop, rule, in_full, delay: None, bad_delay: None };
    }
    if arguments.json {
        let Judgement { fate, in_full, delay, .. } = &judgement;
        let answer = json!({ "fate": name(*fate), "rule": in_full, "delay_ns": delay.map(nanos) });
        return print(&output::json(&answer)).map(|()| 0);
    }
    print(&words(&judgement)).map(|()| 0)
}

fn ending(arguments: &args::Classify) -> Result<Ending, Failure> {
    Ok(match (&arguments.signal, arguments.exit) {
        (Some(signal), _) => match Ending::signal_named(signal) {
            Some(ending) => ending,
            None => {
                return Err(Failure::Message(format!(
                    "--signal: `{signal}` is not a signal; use a name such as SEGV, or a number"
                )));
            }
        },
        (None, Some(code)) => Ending::Exit(code.into()),
        (None, None) if arguments.timed_out => Ending::TimedOut,
        (None, None) if arguments.not_found => Ending::NotFound,
        (None, None) => Ending::NotExecutable,
    })
}

/// Looks for the patterns of the rules in a file of any length, binary too.
fn watch_file(watch: &mut Watch, stream: Stream, file: &str) -> io::Result<()> {
    let mut reader: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin().lock()),
        file => Box::new(File::open(file)?),
    };
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => watch.saw(stream, &buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn cannot_read(stream: Stream, file: &str, error: &io::Error) -> Failure {
    let flag = match stream {
        Stream::Stdout => "--stdout",
        Stream::Stderr => "--stderr",
    };
    Failure::Message(format!(
        "cannot read {file}: {error}; {flag} takes a file with what was printed, or - for standard input"
    ))
}

fn name(fate: Fate) -> &'static str {
    match fate {
        Fate::Success => "success",
        Fate::Stop => "stop",
        Fate::Retry => "retry",
    }
}

fn words(judgement: &Judgement) -> String {
    let mut words = format!("{}\n", name(judgement.fate));
    let rule = judgement.in_full.as_deref().unwrap_or(match judgement.fate {
        Fate::Success => "default: exit:0",
        _ => "default: every failure is retried",
    });
    words += &format!(
        "  {} {}\n",
        if rule.starts_with("it asked") { "because" } else { "by" },
        visible(rule)
    );
    if let Some(delay) = judgement.delay {
        words += &format!("  after {}, as the command asked\n", human(delay));
    }
    if let Some(found) = &judgement.bad_delay {
        words += &format!(
            "  `{}`, where a delay should be, is not a duration, nor an HTTP date\n",
            visible(found)
        );
    }
    words
}
