//! `redial simulate`: what policies do to a crowd, to a service, to a service of services.

pub(crate) mod assertion;
mod budget;
pub(crate) mod contention;
pub(crate) mod file;
mod layers;
mod outage;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod scenario;
pub(crate) mod study;
pub(crate) mod value;
mod wave;

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches};
use redial_core::Policy;

use self::assertion::Assertion;
use self::file::Written;
use self::outcome::{Outcome, Value};
use self::progress::{Watched, die_of_interrupt, watched};
use self::scenario::{ALL, Kind, Trials};
use self::study::{Compared, Study};
use crate::args::{self, OutputFlags, PolicyFlags};
use crate::choose::{Chosen, chosen};
use crate::output::{Failure, count, print, print_error, width, write_file};

#[inline(never)]
pub(crate) fn run(arguments: args::Simulate, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let Written { arguments, matches } =
        written(arguments, |arguments| &arguments.scenario, matches)?;
    one_on_stdout(&arguments.output)?;
    let trials = Trials::new(&arguments.experiment, arguments.trials);
    let kind = named(&arguments.scenario)?;
    let simulation = kind.prepare(&arguments.setting, matches.as_ref(), trials)?;
    let read = |text: &String| Assertion::read(text, &simulation.measures);
    let assertions = arguments.assert.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let policies = policies(&arguments.policy, matches.as_ref())?;

    let all = simulation.trials * policies.len() as u64;
    let Watched { result, is_interrupted } =
        watched(all, arguments.output.progress, || (simulation.run)(&policies));
    let ran = result.map_err(|invalid| Failure::Message(format!("--{invalid}")))?;
    let mut notes = notes(&ran.outcomes, is_interrupted);
    notes.extend(ran.about_timeouts);
    let mut study = Study {
        title: simulation.title,
        scenario: simulation.json,
        more: vec![("complete", (!is_interrupted).into())],
        policies: policies.into_iter().map(|policy| policy.named).collect(),
        outcomes: ran.outcomes,
        lead: ran.lead,
        tables: ran.tables,
        figures: ran.figures,
        notes,
        answers: Vec::new(),
    };
    study.answers = assertions.iter().map(|one| one.answer(&study.outcomes)).collect();
    say(&study, &arguments.output, is_interrupted)
}

/// The flags, with those of a file under them where the scenario is one.
pub(crate) fn written<A: Args + FromArgMatches>(
    arguments: A,
    scenario: impl Fn(&A) -> &String,
    matches: Option<&ArgMatches>,
) -> Result<Written<A>, Failure> {
    let name = scenario(&arguments);
    if Kind::named(name).is_some() {
        return Ok(Written { arguments, matches: matches.cloned() });
    }
    if !name.contains(['/', '.']) && !std::path::Path::new(name).exists() {
        return Err(no_scenario(name));
    }
    let written: Written<A> = file::read(name, matches.unwrap_or(&ArgMatches::default()))?;
    named(scenario(&written.arguments))?;
    Ok(written)
}

fn named(name: &str) -> Result<Kind, Failure> {
    Kind::named(name).ok_or_else(|| no_scenario(name))
}

fn no_scenario(name: &str) -> Failure {
    let names = ALL.map(|kind| kind.name).join(", ");
    Failure::Message(format!(
        "there is no scenario `{name}`; there are {names}, and files such as ./storm.toml"
    ))
}

/// A policy to be simulated.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) named: Compared,
    pub(crate) policy: Policy,
    /// How long its attempts may take, where it says so.
    pub(crate) timeout: Option<Duration>,
}

impl Candidate {
    pub(crate) fn new(name: Option<String>, policy: &Policy, timeout: Option<Duration>) -> Self {
        let timeout_words = timeout.map(|timeout| format!(", timeout: {}", written_out(timeout)));
        let clause = format!("{policy}{}", timeout_words.unwrap_or_default());
        let named = Compared { name, has_namesake: false, clause, from: None };
        Self { named, policy: *policy, timeout }
    }
}

pub(crate) fn policies(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
) -> Result<Vec<Candidate>, Failure> {
    let chosen = chosen(flags, matches, false)?;
    let candidate = |one: Chosen| {
        let mut candidate = Candidate::new(one.name, &one.policy, one.entry.timeout);
        candidate.named.from = one.from;
        candidate
    };
    let mut all: Vec<_> = chosen.into_iter().map(candidate).collect();
    let names: Vec<_> = all.iter().map(|one| one.named.name.clone()).collect();
    for one in &mut all {
        let named = &mut one.named;
        named.has_namesake = names.iter().filter(|name| **name == named.name).count() > 1;
    }
    Ok(all)
}

/// A duration as a clause has it.
fn written_out(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    unit.map_or(format!("{nanos}ns"), |(unit, name)| format!("{}{name}", nanos / unit))
}

pub(crate) fn one_on_stdout(output: &OutputFlags) -> Result<(), Failure> {
    let files = [&output.csv, &output.svg, &output.html];
    let to_stdout = files.iter().filter(|path| path.as_deref() == Some("-")).count();
    if to_stdout + usize::from(output.json) > 1 {
        let one = "standard output holds one of --json, --csv -, --svg - and --html -";
        return Err(Failure::from(one));
    }
    let files: Vec<_> = files.into_iter().flatten().filter(|path| *path != "-").collect();
    for (place, path) in files.iter().enumerate() {
        let path = std::path::Path::new(path);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            let path = path.display();
            return Err(Failure::Message(format!("cannot write {path}: its folder is not there")));
        }
        if files[..place].iter().any(|other| std::path::Path::new(other) == path) {
            let path = path.display();
            return Err(Failure::Message(format!(
                "{path} can hold one of --csv, --svg and --html"
            )));
        }
    }
    Ok(())
}

/// Says what has been found out; and then dies of Ctrl-C if that is why no more has.
pub(crate) fn say(
    study: &Study,
    output: &OutputFlags,
    is_interrupted: bool,
) -> Result<u8, Failure> {
    let written = write(study, output);
    if is_interrupted {
        if let Err(Failure::Message(message)) = &written {
            print_error(message);
        }
        die_of_interrupt();
    }
    match written {
        // Whoever has read enough has not read what does not hold: the exit code says it.
        Ok(()) | Err(Failure::BrokenPipe) => Ok(study.exit_code()),
        Err(failure) => Err(failure),
    }
}

/// Writes what was asked for; what was not asked for as a file is for the terminal.
fn write(study: &Study, output: &OutputFlags) -> Result<(), Failure> {
    let words = std::env::args_os().skip(1);
    let command: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let command = format!("redial {}", crate::shell::command(&command));
    if let Some(path) = &output.csv {
        write_file(path, &study.csv())?;
    }
    if let Some(path) = &output.svg {
        write_file(path, &study.svg(output.charts)?)?;
    }
    if let Some(path) = &output.html {
        write_file(path, &study.html(command))?;
    }
    let is_told =
        [&output.csv, &output.svg, &output.html].iter().any(|path| path.as_deref() == Some("-"));
    match (output.json, is_told) {
        (true, _) => print(&study.json()),
        (false, true) => Ok(()),
        (false, false) => print(&study.terminal(width(), output.charts)),
    }
}

/// What one has to know about the numbers.
fn notes(outcomes: &[Outcome], is_interrupted: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_interrupted {
        let trials = outcomes.iter().map(|outcome| outcome.trials as usize).sum();
        notes.push(format!(
            "Stopped by Ctrl-C after {}: this is what is known.",
            count(trials, "trial")
        ));
    }
    for outcome in outcomes {
        if let (Err(cut), false) = (&outcome.values, is_interrupted) {
            let clients = outcome.clients.map(|clients| format!(" with {clients} clients"));
            notes.push(format!(
                "Policy {}{} has no result: {cut}. A policy that gives up would end: see attempts and within.",
                outcome.short,
                clients.unwrap_or_default(),
            ));
        }
    }
    let has_none = |outcome: &Outcome| {
        let values = outcome.values.iter().flatten().map(|(_, value)| *value);
        let changes = outcome.against_first.iter().map(|(_, change)| Value::Estimate(*change));
        values.chain(changes).any(|value| value.lacks_interval())
    };
    if outcomes.iter().any(has_none) {
        notes
            .push("±? stands where there are too few trials for an interval: see --trials.".into());
    }
    notes
}
