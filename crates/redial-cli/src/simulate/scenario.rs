//! What a scenario is to this program, and which there are.
//!
//! A scenario is a file that implements [`Scenario`] and a line in [`ALL`]; its flags are with those
//! of the others in `args/simulate.rs`.

use std::time::Duration;

use clap::ArgMatches;
use clap::parser::ValueSource;
use redial_sim::engine::Bounds;
use redial_sim::{Estimate, Experiment, Invalid, Scenario as Simulated};
use serde_json::Value as Json;

use super::outcome::{Measure, Outcome, Unit, Value, changes, table};
use super::progress::WATCH;
use super::{Candidate, contention, layers, outage, wave};
use crate::args::{ExperimentFlags, SettingFlags};
use crate::chart::{Figure, Table};
use crate::output::Failure;

/// The scenarios that there are.
pub(crate) const ALL: [Kind; 4] = [
    Kind::of::<contention::Setting>(),
    Kind::of::<outage::Setting>(),
    Kind::of::<wave::Setting>(),
    Kind::of::<layers::Setting>(),
];

pub(crate) type Results<S> = <<S as Scenario>::Simulated as Simulated>::Results;
pub(crate) type Comparison<S> = <<S as Scenario>::Simulated as Simulated>::Comparison;

/// A scenario with its settings: what is simulated, what is measured, and how it is told.
pub(crate) trait Scenario: Sized + 'static {
    /// The scenario of the simulator. What is not set by a flag is as it is there.
    type Simulated: Simulated;

    const NAME: &'static str;
    /// The names of its settings, the most important first.
    const SETTINGS: &'static [&'static str];
    /// What is measured, in the order of JSON and of tables.
    const MEASURES: &'static [Quantity<Results<Self>>];
    /// What policies are compared by, and what one changes, in the order of JSON and of tables.
    const CHANGES: &'static [Change<Comparison<Self>>];

    fn new(flags: &SettingFlags) -> Result<Self, Failure>;

    fn title(&self) -> String;

    /// The settings. The fields and their order are a promise.
    fn json(&self) -> Json;

    /// The crowds with which each policy is tried, where there are several.
    fn crowds(&self) -> Vec<Option<u32>> {
        vec![None]
    }

    /// How many clients a trial is about: it may have more events the more there are.
    fn clients(&self, crowd: Option<u32>) -> u32;

    /// What is run for a policy whose attempts may take so long.
    fn simulated(
        &self,
        crowd: Option<u32>,
        timeout: Option<Duration>,
        trials: &Trials,
    ) -> Self::Simulated;

    /// Sentences, the answer first.
    fn lead(&self, findings: &Findings<'_, Results<Self>>) -> Vec<String>;

    fn tables(&self, findings: &Findings<'_, Results<Self>>) -> Vec<Table> {
        findings.tables("By policy".into(), |_| true)
    }

    /// The charts, the most telling first; there is a result at least.
    fn figures(&self, findings: &Findings<'_, Results<Self>>) -> Vec<Figure>;

    /// What becomes of the timeouts that policies have.
    fn about_timeouts(&self, policies: &[Candidate]) -> Option<String> {
        let has_one = policies.iter().any(|candidate| candidate.timeout.is_some());
        has_one.then(|| "No attempt takes too long here: a timeout changes nothing.".into())
    }
}

/// A measure, and where it is in the results of a scenario.
pub(crate) struct Quantity<R> {
    measure: Measure,
    of: fn(&R) -> Value,
}

impl<R> Quantity<R> {
    /// One that is for programs and assertions alone.
    pub(crate) const fn new(key: &'static str, unit: Unit, of: fn(&R) -> Value) -> Self {
        Self { measure: Measure::new(key, unit), of }
    }

    /// One that tables show under this title.
    pub(crate) const fn titled(
        key: &'static str,
        title: &'static str,
        unit: Unit,
        of: fn(&R) -> Value,
    ) -> Self {
        Self { measure: Measure { key, unit, title: Some(title) }, of }
    }
}

/// A measure by its key, and where its change is in the comparison of two policies.
pub(crate) type Change<C> = (&'static str, fn(&C) -> Option<Estimate>);

/// A policy that came to an end.
pub(crate) struct Found<R> {
    /// Its place among the policies.
    pub(crate) policy: usize,
    pub(crate) name: String,
    /// Where the scenario is tried with several crowds.
    pub(crate) clients: Option<u32>,
    pub(crate) results: R,
}

/// What the policies came to.
pub(crate) struct Findings<'f, R> {
    pub(crate) policies: &'f [Candidate],
    pub(crate) measures: &'f [Measure],
    pub(crate) outcomes: &'f [Outcome],
    /// The results of those that came to an end.
    pub(crate) found: &'f [Found<R>],
}

impl<R> Findings<'_, R> {
    /// The numbers, and what policies change against the first.
    pub(crate) fn tables(&self, caption: String, is_shown: fn(&Measure) -> bool) -> Vec<Table> {
        let shown: Vec<_> = self.measures.iter().copied().filter(is_shown).collect();
        let numbers = table(caption, self.outcomes, &shown);
        std::iter::once(numbers).chain(changes(self.outcomes, &shown)).collect()
    }

    /// What a policy is called in a sentence.
    pub(crate) fn called(&self, found: &Found<R>) -> String {
        match self.policies.len() {
            1 => "this policy".into(),
            _ => format!("policy {}", self.policies[found.policy].named.short(found.policy)),
        }
    }

    /// A sentence for each policy that came to an end, the one with the lowest `rank` first.
    pub(crate) fn sentences(
        &self,
        rank: impl Fn(&R) -> f64,
        sentence: impl Fn(&Found<R>) -> String,
    ) -> Vec<String> {
        let mut found: Vec<_> = self.found.iter().collect();
        found.sort_by(|one, other| rank(&one.results).total_cmp(&rank(&other.results)));
        match found.is_empty() {
            true => vec!["No policy came to an end.".into()],
            false => found.into_iter().map(sentence).collect(),
        }
    }
}

/// What a scenario has to say when its policies have run.
pub(crate) struct Ran {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) lead: Vec<String>,
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    /// What becomes of the timeouts that policies have.
    pub(crate) about_timeouts: Option<String>,
}

/// What a scenario measures.
pub(crate) fn measures<S: Scenario>() -> Vec<Measure> {
    S::MEASURES.iter().map(|quantity| quantity.measure).collect()
}

/// The settings, for programs.
pub(crate) fn json<S: Scenario>(setting: &S, trials: &Trials) -> Json {
    let mut json = setting.json();
    json["seed"] = trials.seed.into();
    json
}

/// Runs every policy with every crowd.
pub(crate) fn run<S: Scenario>(
    setting: &S,
    policies: &[Candidate],
    trials: &Trials,
) -> Result<Ran, Invalid> {
    let measures = measures::<S>();
    let (mut outcomes, mut found) = (Vec::new(), Vec::new());
    for clients in setting.crowds() {
        let mut first = None;
        for (policy, candidate) in policies.iter().enumerate() {
            let scenario = setting.simulated(clients, candidate.timeout, trials);
            let scenario = trials.tried(scenario, setting.clients(clients));
            let run = scenario.run(&candidate.policy)?;
            let results = run.results();
            let change = first.as_ref().and_then(|first| run.against(first));
            outcomes.push(Outcome {
                policy,
                short: candidate.named.short(policy),
                clients,
                trials: run.trials().len() as u32,
                values: match &results {
                    Ok(results) => Ok(values::<S>(results)),
                    Err(cut) => Err(cut.to_string()),
                },
                against_first: change
                    .map_or_else(Vec::new, |change| changed::<S>(&change, &measures)),
            });
            first.get_or_insert(run);
            let name = candidate.named.label(policy);
            found.extend(results.ok().map(|results| Found { policy, name, clients, results }));
        }
    }
    let (outcomes_of, found) = (&outcomes, &found);
    let findings = Findings { policies, measures: &measures, outcomes: outcomes_of, found };
    Ok(Ran {
        lead: setting.lead(&findings),
        tables: setting.tables(&findings),
        figures: if found.is_empty() { Vec::new() } else { setting.figures(&findings) },
        about_timeouts: setting.about_timeouts(policies),
        outcomes,
    })
}

fn values<S: Scenario>(results: &Results<S>) -> Vec<(Measure, Value)> {
    let value = |quantity: &Quantity<_>| (quantity.measure, (quantity.of)(results));
    S::MEASURES.iter().map(value).collect()
}

fn changed<S: Scenario>(change: &Comparison<S>, measures: &[Measure]) -> Vec<(Measure, Estimate)> {
    let changed = |(key, of): &Change<_>| {
        let measure = measures.iter().find(|measure| measure.key == *key)?;
        Some((*measure, of(change)?))
    };
    S::CHANGES.iter().filter_map(changed).collect()
}

/// A scenario with its settings, whichever it is.
pub(crate) struct Simulation {
    pub(crate) title: String,
    /// The settings, for programs.
    pub(crate) json: Json,
    pub(crate) measures: Vec<Measure>,
    /// How many trials there are for a policy.
    pub(crate) trials: u64,
    pub(crate) run: Box<dyn Fn(&[Candidate]) -> Result<Ran, Invalid>>,
}

/// One of the scenarios, before its settings are known.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    settings: &'static [&'static str],
    prepare: fn(&SettingFlags, Trials) -> Result<Simulation, Failure>,
}

impl Kind {
    pub(crate) const fn of<S: Scenario>() -> Self {
        Self { name: S::NAME, settings: S::SETTINGS, prepare: prepare::<S> }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.name == name)
    }

    pub(crate) fn prepare(
        self,
        flags: &SettingFlags,
        matches: Option<&ArgMatches>,
        trials: Trials,
    ) -> Result<Simulation, Failure> {
        self.refuse_others(matches)?;
        (self.prepare)(flags, trials)
    }

    /// A setting of another scenario would change nothing, and so is a mistake.
    pub(crate) fn refuse_others(self, matches: Option<&ArgMatches>) -> Result<(), Failure> {
        let of_others = ALL.iter().flat_map(|other| other.settings);
        for setting in of_others.filter(|setting| !self.settings.contains(setting)) {
            let is_given = |matches: &ArgMatches| {
                matches.value_source(setting) == Some(ValueSource::CommandLine)
            };
            if matches.is_some_and(is_given) {
                let flag = |setting: &str| format!("--{}", setting.replace('_', "-"));
                let own: Vec<_> = self.settings.iter().map(|setting| flag(setting)).collect();
                return Err(Failure::Message(format!(
                    "{} is no setting of {}, which has {}",
                    flag(setting),
                    self.name,
                    own.join(", "),
                )));
            }
        }
        Ok(())
    }
}

fn prepare<S: Scenario>(flags: &SettingFlags, trials: Trials) -> Result<Simulation, Failure> {
    let setting = S::new(flags)?;
    let each =
        |crowd: &Option<u32>| u64::from(trials.count_of(&setting.simulated(*crowd, None, &trials)));
    Ok(Simulation {
        title: setting.title(),
        json: json(&setting, &trials),
        measures: measures::<S>(),
        trials: setting.crowds().iter().map(each).sum(),
        run: Box::new(move |policies| run(&setting, policies, &trials)),
    })
}

/// How often, on what, and from which seed.
#[derive(Clone, Copy)]
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

    pub(crate) fn count_of(&self, scenario: &impl Simulated) -> u32 {
        self.count.unwrap_or(scenario.experiment().trials)
    }

    /// The scenario, tried as these say; a trial of it is about so many clients.
    pub(crate) fn tried<C: Simulated>(&self, scenario: C, clients: u32) -> C {
        let trials = self.count_of(&scenario);
        let (threads, seed, bounds) = (self.threads, self.seed, bounds(clients));
        scenario.with_experiment(Experiment { trials, threads, seed, bounds, watch: &WATCH })
    }
}

/// How far a trial may go that is about so many clients: far enough for whatever comes to an end,
/// and near enough to be told of the rest within seconds.
fn bounds(clients: u32) -> Bounds {
    const LEAST: u64 = 20_000_000;
    let events = LEAST.max(u64::from(clients) * 50).min(Bounds::DEFAULT.events);
    Bounds { events, ..Bounds::DEFAULT }
}

/// Takes the value of a flag, if it was given.
pub(crate) fn set<T>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    #[track_caller]
    fn check<S: Scenario>() {
        let measures = measures::<S>();
        for (key, _) in S::CHANGES {
            let is_measured = measures.iter().any(|measure| measure.key == *key);
            assert!(is_measured, "{key} of {} is compared and not measured", S::NAME);
        }
        let flags = SettingFlags::augment_args(Command::new("redial"));
        for setting in S::SETTINGS {
            let is_flag = flags.get_arguments().any(|flag| flag.get_id() == setting);
            assert!(is_flag, "{setting} of {} has no flag", S::NAME);
        }
    }

    /// What is named here and there is looked up by its name, and would be missing in silence.
    #[test]
    fn names_are_those_of_measures_and_of_flags() {
        check::<contention::Setting>();
        check::<outage::Setting>();
        check::<wave::Setting>();
        check::<layers::Setting>();
    }

    #[test]
    fn every_flag_is_a_setting_of_a_scenario() {
        let flags = SettingFlags::augment_args(Command::new("redial"));
        for flag in flags.get_arguments().map(|flag| flag.get_id().as_str()) {
            assert!(ALL.iter().any(|kind| kind.settings.contains(&flag)), "{flag}");
        }
    }
}
