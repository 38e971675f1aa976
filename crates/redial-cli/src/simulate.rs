//! `redial simulate`: what policies do to a crowd, to a service, to a service of services.

pub(crate) mod assertion;
pub(crate) mod contention;
pub(crate) mod file;
mod layers;
mod outage;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod study;
pub(crate) mod value;
mod wave;

use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches};
use redial_core::Policy;
use redial_sim::engine::Bounds;
use redial_sim::{Estimate, Invalid};
use serde_json::Value as Json;

use self::assertion::Assertion;
use self::file::Written;
use self::outcome::{Measure, Outcome};
use self::progress::{Watched, die_of_interrupt, watched};
use self::study::{Compared, Study};
use crate::args::{self, ExperimentFlags, OutputFlags, PolicyFlags, SettingFlags};
use crate::chart::{Figure, Table};
use crate::choose::{Chosen, chosen};
use crate::output::{Failure, count, print, print_error, width, write_file};

#[inline(never)]
pub(crate) fn run(arguments: args::Simulate, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let Written { arguments, matches } =
        written(arguments, |arguments| &arguments.scenario, matches)?;
    one_on_stdout(&arguments.output)?;
    let setting = Setting::new(&arguments.scenario, &arguments.setting, matches.as_ref())?;
    let read = |text: &String| Assertion::read(text, setting.measures());
    let assertions = arguments.assert.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let policies = policies(&arguments.policy, matches.as_ref())?;
    let trials = Trials::new(&arguments.experiment, arguments.trials);

    let all = setting.trials(policies.len(), &trials);
    let Watched { result, is_interrupted } =
        watched(all, arguments.output.progress, || setting.run(&policies, &trials));
    let ran = result.map_err(|invalid| Failure::Message(format!("--{invalid}")))?;
    let mut notes = notes(&ran.outcomes, is_interrupted);
    notes.extend(setting.about_timeouts(&policies));
    let mut study = Study {
        title: setting.title(),
        scenario: setting.json(&trials),
        more: vec![("complete", (!is_interrupted).into())],
        policies: policies.into_iter().map(|policy| policy.named).collect(),
        measures: setting.measures(),
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
    match Kind::named(scenario(&written.arguments)) {
        Some(_) => Ok(written),
        None => Err(no_scenario(scenario(&written.arguments))),
    }
}

fn no_scenario(name: &str) -> Failure {
    let names = Kind::ALL.map(|(name, _)| name).join(", ");
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
        Self { named: Compared { name, clause }, policy: *policy, timeout }
    }
}

pub(crate) fn policies(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
) -> Result<Vec<Candidate>, Failure> {
    let chosen = chosen(flags, matches, false)?;
    let candidate = |one: Chosen| Candidate::new(one.name, &one.policy, one.entry.timeout);
    Ok(chosen.into_iter().map(candidate).collect())
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
    let command: Vec<_> = std::env::args().skip(1).collect();
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
                outcome.policy + 1,
                clients.unwrap_or_default(),
            ));
        }
    }
    notes
}

/// The scenarios that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Contention,
    Outage,
    Wave,
    Layers,
}

impl Kind {
    const ALL: [(&str, Self); 4] = [
        ("contention", Self::Contention),
        ("outage", Self::Outage),
        ("wave", Self::Wave),
        ("layers", Self::Layers),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// The names of its settings in the order of their importance.
    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Contention => &["model", "clients", "latency", "latency_spread", "start_spread"],
            Self::Outage => &[
                "rate",
                "capacity",
                "down",
                "remaining",
                "refuse",
                "before",
                "after",
                "queue",
                "service",
                "arrivals",
                "errors",
                "budget",
                "budget_burst",
                "budget_floor",
                "breaker",
                "breaker_recovery",
                "processes",
            ],
            Self::Wave => &["clients", "window", "until", "down"],
            Self::Layers => &[
                "depth",
                "errors",
                "budget",
                "budget_burst",
                "budget_floor",
                "calls",
                "attempt_time",
            ],
        }
    }
}

/// A scenario with its settings.
enum Setting {
    Contention(contention::Setting),
    Outage(outage::Setting),
    Wave(wave::Setting),
    Layers(layers::Setting),
}

/// A policy that came to an end.
pub(crate) struct Found<R> {
    place: usize,
    name: String,
    results: R,
}

impl<R> Found<R> {
    /// What it is called in a sentence.
    fn called(&self, policies: usize) -> String {
        match policies {
            1 => "this policy".into(),
            _ => format!("policy {}", self.place + 1),
        }
    }
}

/// A run of any scenario.
trait Simulated {
    type Results;
    type Cut: ToString;

    /// How many trials came to an end.
    fn ended(&self) -> usize;
    fn outcome(&self) -> Result<Self::Results, Self::Cut>;
    /// What it changes against the first policy's, by the keys of the measures.
    fn against_first(&self, first: &Self) -> Option<Vec<(&'static str, Estimate)>>;
}

/// Runs every policy: all outcomes, and the results of those that came to an end.
fn each<S: Simulated>(
    policies: &[Candidate],
    run: impl Fn(&Candidate) -> Result<S, Invalid>,
    values: impl Fn(&S::Results) -> Vec<outcome::Value>,
) -> Result<(Vec<Outcome>, Vec<Found<S::Results>>), Invalid> {
    let (mut outcomes, mut found) = (Vec::new(), Vec::new());
    let mut first = None;
    for (place, candidate) in policies.iter().enumerate() {
        let run = run(candidate)?;
        let results = run.outcome();
        let change = first.as_ref().and_then(|first| run.against_first(first));
        outcomes.push(Outcome {
            policy: place,
            clients: None,
            trials: run.ended() as u32,
            values: results.as_ref().map(&values).map_err(ToString::to_string),
            against_first: change.unwrap_or_default(),
        });
        first.get_or_insert(run);
        let name = candidate.named.label(place);
        found.extend(results.ok().map(|results| Found { place, name, results }));
    }
    Ok((outcomes, found))
}

/// What a scenario has to say when its policies have run.
pub(crate) struct Ran {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) lead: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
}

impl Setting {
    fn new(
        name: &str,
        flags: &SettingFlags,
        matches: Option<&ArgMatches>,
    ) -> Result<Self, Failure> {
        let kind = Kind::named(name).ok_or_else(|| no_scenario(name))?;
        refuse_others(name, kind, matches)?;
        Ok(match kind {
            Kind::Contention => Self::Contention(contention::Setting::new(flags)),
            Kind::Outage => Self::Outage(outage::Setting::new(flags)?),
            Kind::Wave => Self::Wave(wave::Setting::new(flags)?),
            Kind::Layers => Self::Layers(layers::Setting::new(flags)?),
        })
    }

    fn measures(&self) -> &'static [Measure] {
        match self {
            Self::Contention(_) => contention::MEASURES,
            Self::Outage(_) => outage::MEASURES,
            Self::Wave(_) => wave::MEASURES,
            Self::Layers(_) => layers::MEASURES,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Contention(setting) => setting.title(),
            Self::Outage(setting) => setting.title(),
            Self::Wave(setting) => setting.title(),
            Self::Layers(setting) => setting.title(),
        }
    }

    fn json(&self, trials: &Trials) -> Json {
        let mut json = match self {
            Self::Contention(setting) => setting.json(),
            Self::Outage(setting) => setting.json(),
            Self::Wave(setting) => setting.json(),
            Self::Layers(setting) => setting.json(),
        };
        json["seed"] = trials.seed.into();
        json
    }

    /// What becomes of how long attempts may take, which not every scenario knows.
    fn about_timeouts(&self, policies: &[Candidate]) -> Option<String> {
        let has_one = |candidate: &Candidate| candidate.timeout.is_some();
        match self {
            Self::Outage(_) if policies.iter().all(has_one) => None,
            Self::Outage(_) => Some(format!(
                "Attempts time out after {}, unless their policy has a timeout.",
                crate::duration::human(outage::TIMEOUT),
            )),
            _ => policies
                .iter()
                .any(has_one)
                .then(|| "No attempt takes too long here: a timeout changes nothing.".into()),
        }
    }

    /// How many trials there are in all.
    fn trials(&self, policies: usize, trials: &Trials) -> u64 {
        let (crowds, usual) = match self {
            Self::Contention(setting) => (setting.clients.len(), 500),
            _ => (1, 20),
        };
        (crowds * policies) as u64 * u64::from(trials.count.unwrap_or(usual))
    }

    fn run(&self, policies: &[Candidate], trials: &Trials) -> Result<Ran, Invalid> {
        match self {
            Self::Contention(setting) => setting.run(policies, trials),
            Self::Outage(setting) => setting.run(policies, trials),
            Self::Wave(setting) => setting.run(policies, trials),
            Self::Layers(setting) => setting.run(policies, trials),
        }
    }
}

/// A setting of another scenario would change nothing, and so is a mistake.
pub(crate) fn refuse_others(
    name: &str,
    kind: Kind,
    matches: Option<&ArgMatches>,
) -> Result<(), Failure> {
    let of_others = Kind::ALL.iter().flat_map(|(_, other)| other.settings());
    for setting in of_others.filter(|setting| !kind.settings().contains(setting)) {
        let is_given =
            |matches: &ArgMatches| matches.value_source(setting) == Some(ValueSource::CommandLine);
        if matches.is_some_and(is_given) {
            let flag = |setting: &str| format!("--{}", setting.replace('_', "-"));
            let own: Vec<_> = kind.settings().iter().map(|setting| flag(setting)).collect();
            return Err(Failure::Message(format!(
                "{} is no setting of {name}, which has {}",
                flag(setting),
                own.join(", "),
            )));
        }
    }
    Ok(())
}

/// How often, on what, and from which chance.
pub(crate) struct Trials {
    /// As often as the scenario does unless told.
    pub(crate) count: Option<u32>,
    pub(crate) threads: u32,
    pub(crate) seed: u64,
}

impl Trials {
    pub(crate) fn new(flags: &ExperimentFlags, count: Option<u32>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        Self { count, threads: flags.threads.unwrap_or(processors), seed: flags.seed.unwrap_or(1) }
    }

    /// As many as these, from another chance.
    pub(crate) fn fresh(&self, seed: u64, count: u32) -> Self {
        Self { count: Some(count), threads: self.threads, seed }
    }
}

/// How far a trial may go that is about so many clients: far enough for whatever comes to an end,
/// and near enough to be told of the rest within seconds.
pub(crate) fn bounds(clients: u32) -> Bounds {
    const LEAST: u64 = 20_000_000;
    let events = LEAST.max(u64::from(clients) * 50).min(Bounds::DEFAULT.events);
    Bounds { events, ..Bounds::DEFAULT }
}

/// The scenario, tried as `$trials` says.
macro_rules! tried {
    ($scenario:expr, $clients:expr, $trials:expr) => {{
        let trials: &$crate::simulate::Trials = $trials;
        let scenario = $scenario
            .bounds($crate::simulate::bounds($clients))
            .seed(trials.seed)
            .threads(trials.threads)
            .watch(&$crate::simulate::progress::WATCH);
        match trials.count {
            Some(count) => scenario.trials(count),
            None => scenario,
        }
    }};
}
pub(crate) use tried;
