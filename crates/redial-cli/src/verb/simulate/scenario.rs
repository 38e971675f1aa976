//! What a scenario is to this program, and which there are.
//!
//! A scenario is one file that implements [`Scenario`] and one line in [`ALL`].

use std::time::Duration;

use clap::{Arg, Args, Command};
use redial_core::AsPolicy;
use redial_sim::engine::Bounds;
use redial_sim::{Estimate, Experiment, Invalid, Scenario as Simulated};
use serde_json::Value as Json;

use super::candidate::Candidate;
use super::contention::ContentionSettings;
use super::flags::ScenarioFlags;
use super::layers::LayersSettings;
use super::measure::{Measure, Measured, Unit, Value, changes, table};
use super::outage::OutageSettings;
use super::progress::WATCH;
use super::report::SimulationReport;
use super::wave::WaveSettings;
use crate::args::ExperimentFlags;
use crate::chart::{Figure, Table};
use crate::output::Failure;

/// All scenarios.
pub(crate) const ALL: [Kind; 4] = [
    Kind::of::<ContentionSettings>(),
    Kind::of::<OutageSettings>(),
    Kind::of::<WaveSettings>(),
    Kind::of::<LayersSettings>(),
];

pub(crate) type Results<S> = <<S as Scenario>::Simulated as Simulated>::Results;
pub(crate) type Comparison<S> = <<S as Scenario>::Simulated as Simulated>::Comparison;

/// The settings of a scenario: what is simulated, what is measured, and how it is presented.
pub(crate) trait Scenario: Sized + 'static {
    /// The scenario of the simulator. What no flag sets has its default there.
    type Simulated: Simulated;
    /// Its flags, the most important first. A flag that other scenarios have, too, has the same type.
    type Flags: Args;

    const NAME: &'static str;
    /// What it is, in one line of the help.
    const ABOUT: &'static str;
    /// Examples for the help, without `redial simulate`.
    const EXAMPLES: &'static [&'static str];
    /// What is measured, in the order of JSON and of tables.
    const MEASURES: &'static [Quantity<Results<Self>>];
    /// What two policies are compared by, in the order of JSON and of tables.
    const CHANGES: &'static [Change<Comparison<Self>>];

    fn new(flags: Self::Flags) -> Result<Self, Failure>;

    fn title(&self) -> String;

    /// The settings. The fields and their order are a promise.
    fn json(&self) -> Json;

    /// The numbers of clients with which each policy is tried, where there are several.
    fn crowds(&self) -> Vec<Option<u32>> {
        vec![None]
    }

    /// How many clients a trial has, which bounds its events.
    fn clients(&self, crowd: Option<u32>) -> u32;

    /// What is run for a policy with this timeout.
    fn simulated(
        &self,
        crowd: Option<u32>,
        timeout: Option<Duration>,
        trials: &Trials,
    ) -> Self::Simulated;

    /// Sentences, the answer first.
    fn lead(&self, all: &AllResults<'_, Results<Self>>) -> Vec<String>;

    fn tables(&self, all: &AllResults<'_, Results<Self>>) -> Vec<Table> {
        all.tables("By policy".into(), |_| true)
    }

    /// The charts, the most telling first. At least one policy has results.
    fn figures(&self, all: &AllResults<'_, Results<Self>>) -> Vec<Figure>;

    /// A note on the timeouts of the policies.
    fn timeout_note(&self, policies: &[Candidate]) -> Option<String> {
        let has_one = policies.iter().any(|candidate| candidate.timeout.is_some());
        has_one.then(|| "No attempt takes too long here: a timeout changes nothing.".into())
    }
}

/// A measure: its key, its title where tables show it, its unit, and its value in the results of a
/// scenario.
pub(crate) type Quantity<R> = (&'static str, Option<&'static str>, Unit, fn(&R) -> Value);

/// The key of a measure, and where its change is in the comparison of two policies.
pub(crate) type Change<C> = (&'static str, fn(&C) -> Option<Estimate>);

/// The results of one policy with one crowd, none of whose trials was cut.
pub(crate) struct PolicyResults<R> {
    /// The policy's index.
    pub(crate) policy: usize,
    pub(crate) name: String,
    /// Where the scenario is tried with several crowds.
    pub(crate) clients: Option<u32>,
    pub(crate) results: R,
}

/// The results of all policies.
pub(crate) struct AllResults<'r, R> {
    pub(crate) policies: &'r [Candidate],
    pub(crate) measures: &'r [Measure],
    /// Every policy with every crowd.
    pub(crate) measured: &'r [Measured],
    /// Those that were not cut.
    pub(crate) complete: &'r [PolicyResults<R>],
}

impl<R> AllResults<'_, R> {
    /// The numbers, and what policies change against the first.
    pub(crate) fn tables(&self, caption: String, is_shown: fn(&Measure) -> bool) -> Vec<Table> {
        let shown: Vec<_> = self.measures.iter().copied().filter(is_shown).collect();
        let numbers = table(caption, self.measured, &shown);
        std::iter::once(numbers).chain(changes(self.measured, &shown)).collect()
    }

    /// A sentence for each policy that has results, the one with the lowest `rank` first. It is given
    /// the results and what the policy is called.
    pub(crate) fn sentences(
        &self,
        rank: impl Fn(&R) -> f64,
        sentence: impl Fn(&R, &str) -> String,
    ) -> Vec<String> {
        let mut complete: Vec<_> = self.complete.iter().collect();
        complete.sort_by(|one, other| rank(&one.results).total_cmp(&rank(&other.results)));
        let sentence = |one: &PolicyResults<R>| match self.policies {
            [_] => sentence(&one.results, "this policy"),
            all => sentence(&one.results, &format!("policy {}", all[one.policy].short(one.policy))),
        };
        match complete.is_empty() {
            true => vec!["No policy came to an end.".into()],
            false => complete.into_iter().map(sentence).collect(),
        }
    }
}

/// Runs every policy with every crowd.
pub(crate) fn run<S: Scenario>(
    settings: &S,
    policies: Vec<Candidate>,
    trials: &Trials,
) -> Result<SimulationReport, Invalid> {
    let measures = measures::<S>();
    let (mut measured, mut complete) = (Vec::new(), Vec::new());
    for clients in settings.crowds() {
        let mut first = None;
        for (policy, candidate) in policies.iter().enumerate() {
            let scenario = settings.simulated(clients, candidate.timeout, trials);
            let scenario = trials.applied_to(scenario, settings.clients(clients));
            let run = scenario.run(candidate.timing.as_policy())?;
            let results = run.results();
            let change = first.as_ref().and_then(|first| run.against(first));
            measured.push(Measured {
                policy,
                short: candidate.short(policy),
                clients,
                trials: run.trials().len() as u32,
                values: match &results {
                    Ok(results) => Ok(values::<S>(results)),
                    Err(cut) => Err(cut.to_string()),
                },
                against_first: change.iter().flat_map(|change| changed::<S>(change)).collect(),
            });
            first.get_or_insert(run);
            let name = candidate.label(policy);
            let results =
                results.ok().map(|results| PolicyResults { policy, name, clients, results });
            complete.extend(results);
        }
    }
    let (policies_of, measured_of) = (&policies, &measured);
    let all = AllResults {
        policies: policies_of,
        measures: &measures,
        measured: measured_of,
        complete: &complete,
    };
    let mut scenario = settings.json();
    scenario["seed"] = trials.seed.into();
    Ok(SimulationReport {
        title: settings.title(),
        scenario,
        more: Vec::new(),
        lead: settings.lead(&all),
        tables: settings.tables(&all),
        figures: if complete.is_empty() { Vec::new() } else { settings.figures(&all) },
        notes: settings.timeout_note(&policies).into_iter().collect(),
        assertions: Vec::new(),
        policies,
        measured,
    })
}

pub(crate) fn measures<S: Scenario>() -> Vec<Measure> {
    S::MEASURES.iter().map(|&(key, title, unit, _)| Measure { key, title, unit }).collect()
}

fn values<S: Scenario>(results: &Results<S>) -> Vec<(Measure, Value)> {
    let values = S::MEASURES.iter().map(|(.., value)| value(results));
    measures::<S>().into_iter().zip(values).collect()
}

/// What a policy changes. A key that is no measure's would be missing: a test looks for it.
fn changed<S: Scenario>(change: &Comparison<S>) -> Vec<(Measure, Estimate)> {
    let measures = measures::<S>();
    let changed = |(key, of): &Change<_>| {
        let measure = measures.iter().find(|measure| measure.key == *key)?;
        Some((*measure, of(change)?))
    };
    S::CHANGES.iter().filter_map(changed).collect()
}

/// A scenario whose settings are known.
pub(crate) struct Simulation {
    pub(crate) measures: Vec<Measure>,
    /// How many trials there are for a policy.
    pub(crate) trials: u64,
    pub(crate) run: Box<dyn FnOnce(Vec<Candidate>) -> Result<SimulationReport, Invalid>>,
}

/// A scenario before its settings are known.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) examples: &'static [&'static str],
    pub(crate) flags: fn() -> Vec<Arg>,
    pub(crate) measures: fn() -> Vec<Measure>,
    #[cfg(test)]
    changes: fn() -> Vec<&'static str>,
    pub(crate) prepare: fn(&ScenarioFlags, Trials) -> Result<Simulation, Failure>,
}

impl Kind {
    pub(crate) const fn of<S: Scenario>() -> Self {
        Self {
            name: S::NAME,
            about: S::ABOUT,
            examples: S::EXAMPLES,
            flags: || {
                // The order of display is that of all scenarios' flags together.
                let command = S::Flags::augment_args(Command::new("").next_display_order(None));
                command.get_arguments().cloned().collect()
            },
            measures: measures::<S>,
            #[cfg(test)]
            changes: || S::CHANGES.iter().map(|(key, _)| *key).collect(),
            prepare: prepare::<S>,
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.name == name)
    }
}

/// The settings that the flags give.
pub(crate) fn settings<S: Scenario>(flags: &ScenarioFlags) -> Result<S, Failure> {
    S::new(flags.of(&Kind::of::<S>())?)
}

fn prepare<S: Scenario>(flags: &ScenarioFlags, trials: Trials) -> Result<Simulation, Failure> {
    let settings: S = settings(flags)?;
    let each = |crowd| u64::from(trials.count_of(&settings.simulated(crowd, None, &trials)));
    Ok(Simulation {
        measures: measures::<S>(),
        trials: settings.crowds().into_iter().map(each).sum(),
        run: Box::new(move |policies| run(&settings, policies, &trials)),
    })
}

/// How many trials, on how many threads, and from which seed.
#[derive(Clone, Copy)]
pub(crate) struct Trials {
    /// The scenario's default where it is not set.
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

    /// The scenario with these trials, each of so many clients.
    pub(crate) fn applied_to<C: Simulated>(&self, scenario: C, clients: u32) -> C {
        /// Enough events for whatever comes to an end, and few enough to know of the rest within
        /// seconds.
        const EVENTS_MIN: u64 = 20_000_000;
        let events = EVENTS_MIN.max(u64::from(clients) * 50).min(Bounds::DEFAULT.events);
        let bounds = Bounds { events, ..Bounds::DEFAULT };
        let (trials, Self { threads, seed, .. }) = (self.count_of(&scenario), *self);
        scenario.with_experiment(Experiment { trials, threads, seed, bounds, watch: &WATCH })
    }
}

/// Sets a setting to the value of a flag, if it was given.
pub(crate) fn set<T>(setting: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *setting = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is compared is looked up by its key, and would be missing in silence.
    #[test]
    fn names_are_those_of_measures() {
        for kind in ALL {
            let measures = (kind.measures)();
            for key in (kind.changes)() {
                let is_measured = measures.iter().any(|measure| measure.key == key);
                assert!(is_measured, "{key} of {} is compared and not measured", kind.name);
            }
        }
    }
}
