//! `redial simulate`: what policies do to a crowd, to a service that fails, to layers of services.

pub(crate) mod assertion;
mod budget;
pub(crate) mod candidate;
pub(crate) mod contention;
pub(crate) mod file;
pub(crate) mod flags;
mod layers;
pub(crate) mod measure;
mod outage;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod scenario;
pub(crate) mod value;
mod wave;

use std::path::Path;

use clap::{ArgMatches, Args, FromArgMatches};

use self::assertion::Assertion;
use self::candidate::Candidate;
use self::file::Written;
use self::measure::{Measured, Value};
use self::progress::{die_of_interrupt, watched};
use self::report::SimulationReport;
use self::scenario::{ALL, Kind, Simulation, Trials};
use crate::args::{self, OutputFlags};
use crate::output::{Failure, count, print, print_error, width, write_file};
use crate::shell;

#[inline(never)]
pub(crate) fn run(arguments: args::Simulate, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let Written { arguments, matches } =
        written(arguments, |arguments| &arguments.scenario, matches)?;
    check_files(&arguments.output)?;
    let trials = Trials::new(&arguments.study.experiment, arguments.trials);
    let kind = named(&arguments.scenario)?;
    let Simulation { measures, trials, run } = (kind.prepare)(&arguments.study.flags, trials)?;
    let assertions = Assertion::read_all(&arguments.assert, &measures)?;
    let policies = Candidate::all(&arguments.study.policy, matches.as_ref())?;
    let all = trials * policies.len() as u64;
    let (result, is_interrupted) = watched(all, arguments.output.progress, || run(policies));
    let mut report = result.map_err(|invalid| Failure::Message(format!("--{invalid}")))?;
    report.notes.splice(0..0, notes(&report.measured, is_interrupted));
    report.more = vec![("complete", (!is_interrupted).into())];
    report.assertions = assertions.iter().map(|one| one.check(&report.measured, None)).collect();
    finish(&report, &arguments.output, is_interrupted)
}

/// The flags of the command line, laid over those of a file where the scenario is one.
pub(crate) fn written<A: Args + FromArgMatches>(
    arguments: A,
    scenario: impl Fn(&A) -> &String,
    matches: Option<&ArgMatches>,
) -> Result<Written<A>, Failure> {
    let name = scenario(&arguments);
    if Kind::named(name).is_some() {
        return Ok(Written { arguments, matches: matches.cloned() });
    }
    if !name.contains(['/', '.']) && !Path::new(name).exists() {
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

/// Refuses two documents in one place, and a folder that does not exist, before anything runs.
pub(crate) fn check_files(output: &OutputFlags) -> Result<(), Failure> {
    let to_stdout = output.files().filter(|path| *path == "-").count();
    if to_stdout + usize::from(output.json) > 1 {
        let one = "standard output holds one of --json, --csv -, --svg - and --html -";
        return Err(Failure::from(one));
    }
    let files: Vec<_> = output.files().filter(|path| *path != "-").map(Path::new).collect();
    for (index, path) in files.iter().enumerate() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mistake = match path.display() {
            path if folder.is_some_and(|folder| !folder.is_dir()) => {
                format!("cannot write {path}: its folder does not exist")
            }
            path if files[..index].contains(&files[index]) => {
                format!("{path} can hold one of --csv, --svg and --html")
            }
            _ => continue,
        };
        return Err(Failure::Message(mistake));
    }
    Ok(())
}

/// Prints and writes the report. After Ctrl-C, redial then dies of SIGINT.
pub(crate) fn finish(
    report: &SimulationReport,
    output: &OutputFlags,
    is_interrupted: bool,
) -> Result<u8, Failure> {
    let written = write(report, output);
    if is_interrupted {
        if let Err(Failure::Message(message)) = &written {
            print_error(message);
        }
        die_of_interrupt();
    }
    match written {
        // A reader that has closed the pipe still gets the exit code of the assertions.
        Ok(()) | Err(Failure::BrokenPipe) => Ok(report.exit_code()),
        Err(failure) => Err(failure),
    }
}

fn write(report: &SimulationReport, output: &OutputFlags) -> Result<(), Failure> {
    if let Some(path) = &output.csv {
        write_file(path, &report.csv())?;
    }
    if let Some(path) = &output.svg {
        write_file(path, &report.svg(output.charts)?)?;
    }
    if let Some(path) = &output.html {
        let command = format!("redial {}", shell::command(std::env::args_os().skip(1)));
        write_file(path, &report.html(command))?;
    }
    match output.json {
        true => print(&report.json()),
        false if output.files().any(|path| path == "-") => Ok(()),
        false => print(&report.terminal(width(), output.charts)),
    }
}

/// Why results are missing or incomplete.
fn notes(measured: &[Measured], is_interrupted: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_interrupted {
        let trials = measured.iter().map(|one| one.trials as usize).sum();
        let trials = count(trials, "trial");
        notes.push(format!("Stopped by Ctrl-C after {trials}: this is what is known."));
    }
    for one in measured.iter().filter(|_| !is_interrupted) {
        if let Err(cut) = &one.values {
            let clients = one.clients.map(|clients| format!(" with {clients} clients"));
            notes.push(format!(
                "Policy {}{} has no result: {cut}. A policy that gives up would end: see attempts and within.",
                one.short,
                clients.unwrap_or_default(),
            ));
        }
    }
    let lacks_interval = |one: &Measured| {
        let values = one.values.iter().flatten().map(|(_, value)| *value);
        let changes = one.against_first.iter().map(|(_, change)| Value::Estimate(*change));
        values.chain(changes).any(Value::lacks_interval)
    };
    if measured.iter().any(lacks_interval) {
        let note = "±? stands where there are too few trials for an interval: see --trials.";
        notes.push(note.into());
    }
    notes
}
