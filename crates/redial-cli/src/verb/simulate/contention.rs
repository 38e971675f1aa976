//! `contention`: calls, time and success against the number of clients.

use std::time::Duration;

use clap::Args;
use redial_sim::Estimate;
use redial_sim::contention::{Comparison, Contention, Latency, Learning, Model, Results};
use serde_json::{Value as Json, json};

use super::measure::Unit::{Count, Milliseconds};
use super::measure::{Measured, Unit, Value, amount, changes, table};
use super::scenario::{AllResults, Change, PolicyResults, Quantity, Scenario, Trials, set};
use super::value::{self, Choices, Clients};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style, Table, fitting_scale};
use crate::duration::human;
use crate::output::Failure;

const MODEL: Choices<Model> = &[
    ("occ", Model::Occ, "A version that is read and then written, as with optimistic locking"),
    ("collision", Model::Collision, "Proposals that overlap destroy each other"),
    ("ballot", Model::Ballot, "Ballots and epochs, as in Paxos"),
];

const LEARNING: Choices<Learning> = &[
    ("at-start", Learning::AtStart, "They know it whenever they start a proposal, at no cost"),
    ("from-refusals", Learning::FromRefusals, "They know what the last refusal of their own said"),
];

#[derive(Args)]
pub(crate) struct ContentionFlags {
    /// what decides between the clients [default: occ]
    #[arg(long, value_name = "MODEL", value_parser = value::choice(MODEL))]
    model: Option<Model>,
    /// how many clients, such as 100, 5,10,20, 10..190, or 10..190:30 with a step
    #[arg(long, value_name = "N", value_parser = value::clients)]
    clients: Option<Clients>,
    /// the mean time of a message; for collision and ballot, of a round trip [default: 10ms; 20ms
    /// for these]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    latency: Option<Duration>,
    /// the standard deviation of the latency [default: a fifth of it]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    latency_spread: Option<Duration>,
    /// clients start at random within this time [default: all at once]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    start_spread: Option<Duration>,
    /// with --model ballot, how clients learn which round is open [default: at-start]
    #[arg(long, value_name = "HOW", value_parser = value::choice(LEARNING))]
    learning: Option<Learning>,
}

pub(crate) struct ContentionSettings {
    /// Its number of clients is not used: see `clients`.
    scenario: Contention,
    pub(crate) clients: Vec<u32>,
}

const CROWDS: [u32; 4] = [10, 20, 50, 100];

/// A policy with which at least this share of the clients succeeds serves the crowd.
const NEARLY_ALL: f64 = 0.99;

impl Scenario for ContentionSettings {
    type Simulated = Contention;
    type Flags = ContentionFlags;

    const NAME: &'static str = "contention";
    const ABOUT: &'static str =
        "clients that want to change one thing at once, and retry until they have";
    const EXAMPLES: &'static [&'static str] = &[
        "contention --clients 10..190 --with 'attempts: unlimited, delay: 10ms, backoff: exponential, max_delay: 2s, jitter: full' --html crowd.html",
        "contention --model ballot --latency 50ms --clients 2..10 --preset contention",
    ];
    const MEASURES: &'static [Quantity<Results>] = &[
        ("calls", Some("calls"), Count, |all| all.calls.into()),
        ("time_ms", Some("time until the last is done"), Milliseconds, |all| all.time_ms.into()),
        ("committed", Some("clients that succeed"), Unit::Share, |all| all.committed.into()),
        ("all_committed", Some("trials in which all do"), Unit::Share, |all| {
            Value::Share(all.all_committed)
        }),
        ("attempts", Some("attempts of each"), Count, |all| all.attempts.into()),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("calls", |change| Some(change.calls)),
        ("time_ms", |change| Some(change.time_ms)),
        ("committed", |change| Some(change.committed)),
        ("all_committed", |change| Some(change.all_committed)),
        ("attempts", |change| Some(change.attempts)),
    ];

    fn new(flags: ContentionFlags) -> Result<Self, Failure> {
        let mut scenario = match flags.model.unwrap_or(Model::Occ) {
            Model::Occ => Contention::occ(1),
            Model::Collision => Contention::collision(1),
            Model::Ballot => Contention::ballot(1),
        };
        if flags.learning.is_some() && scenario.model != Model::Ballot {
            return Err(Failure::from("--learning is about ballots; it needs --model ballot"));
        }
        set(&mut scenario.latency, flags.latency.map(Latency::around));
        set(&mut scenario.latency.spread, flags.latency_spread);
        set(&mut scenario.start_spread, flags.start_spread);
        set(&mut scenario.learning, flags.learning);
        let clients = flags.clients.map_or(CROWDS.to_vec(), |clients| clients.0);
        Ok(Self { scenario, clients })
    }

    fn title(&self) -> String {
        let latency = human(self.scenario.latency.mean);
        match self.scenario.model {
            Model::Occ => format!("Clients that write to one record, {latency} away"),
            Model::Collision => {
                format!("Proposals that destroy each other, at a round trip of {latency}")
            }
            Model::Ballot => {
                let learning = match self.scenario.learning {
                    Learning::AtStart => "",
                    Learning::FromRefusals => ", whose rounds are learnt from refusals",
                };
                format!("Ballots of one acceptor, at a round trip of {latency}{learning}")
            }
        }
    }

    fn json(&self) -> Json {
        let Contention { model, latency, start_spread, learning, .. } = self.scenario;
        let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
        json!({
            "name": Self::NAME,
            "model": value::name(MODEL, model),
            "clients": self.clients,
            "latency_ms": millis(latency.mean),
            "latency_spread_ms": millis(latency.spread),
            "start_spread_ms": millis(start_spread),
            "learning": value::name(LEARNING, learning).filter(|_| model == Model::Ballot),
        })
    }

    fn crowds(&self) -> Vec<Option<u32>> {
        self.clients.iter().copied().map(Some).collect()
    }

    fn clients(&self, crowd: Option<u32>) -> u32 {
        crowd.unwrap_or(self.scenario.clients)
    }

    fn simulated(&self, crowd: Option<u32>, _: Option<Duration>, _: &Trials) -> Contention {
        let mut scenario = self.scenario;
        set(&mut scenario.clients, crowd);
        scenario
    }

    fn lead(&self, all: &AllResults<'_, Results>) -> Vec<String> {
        ByCrowd { clients: &self.clients, all }.lead()
    }

    fn tables(&self, all: &AllResults<'_, Results>) -> Vec<Table> {
        ByCrowd { clients: &self.clients, all }.tables()
    }

    fn figures(&self, all: &AllResults<'_, Results>) -> Vec<Figure> {
        ByCrowd { clients: &self.clients, all }.figures()
    }
}

/// The results with each crowd.
struct ByCrowd<'r> {
    clients: &'r [u32],
    all: &'r AllResults<'r, Results>,
}

impl ByCrowd<'_> {
    fn of(&self, policy: usize, clients: u32) -> Option<Results> {
        let is_it = |one: &&PolicyResults<_>| one.policy == policy && one.clients == Some(clients);
        self.all.complete.iter().find(is_it).map(|one| one.results)
    }

    fn policies(&self) -> std::ops::Range<usize> {
        0..self.all.policies.len()
    }

    /// The name of a policy, or its number where it has none.
    fn short(&self, policy: usize) -> String {
        self.all.policies[policy].short(policy)
    }

    fn largest(&self) -> u32 {
        self.clients.last().copied().unwrap_or_default()
    }

    fn does_anybody_give_up(&self) -> bool {
        self.all.complete.iter().any(|one| one.results.committed.mean < 1.0)
    }

    /// With the largest crowd for which there is a result of each policy.
    fn lead(&self) -> Vec<String> {
        let has_all = |clients: &&u32| self.policies().all(|one| self.of(one, **clients).is_some());
        let Some(&clients) = self.clients.iter().rev().find(has_all) else {
            return vec!["There is no crowd in which each policy came to an end.".into()];
        };
        let results: Vec<_> = self.policies().filter_map(|one| self.of(one, clients)).collect();
        let names: Vec<_> = self.policies().map(|policy| self.short(policy)).collect();
        let mut lead = vec![headline(&results, &names, clients)];
        // The headline says all about one policy with one crowd.
        if self.all.measured.len() > 1 {
            lead.extend(self.policies().filter_map(|policy| self.reach(policy)));
        }
        lead
    }

    /// Up to how many clients a policy that gives up serves nearly all of them.
    fn reach(&self, policy: usize) -> Option<String> {
        let share = |clients: &u32| Some((*clients, self.of(policy, *clients)?.committed.mean));
        let shares: Vec<_> = self.clients.iter().filter_map(share).collect();
        let (clients, share) = *shares.iter().find(|(_, share)| *share < NEARLY_ALL)?;
        let served = shares.iter().take_while(|(_, share)| *share >= NEARLY_ALL).last();
        let name = match self.all.policies {
            [_] => "The policy".into(),
            _ => format!("Policy {}", self.short(policy)),
        };
        let share = amount(share, Unit::Share);
        let beyond = format!("{share} of them succeed before it gives up");
        Some(match served {
            Some((most, _)) => {
                format!("{name} serves up to {most} clients; with {clients}, {beyond}.")
            }
            None => format!("{name} does not serve {clients} clients: {beyond}."),
        })
    }

    fn tables(&self) -> Vec<Table> {
        let (largest, measures) = (self.largest(), self.all.measures);
        let is_of_largest = |one: &&Measured| one.clients == Some(largest);
        let measured: Vec<_> = self.all.measured.iter().filter(is_of_largest).cloned().collect();
        let mut tables = match self.clients {
            [clients] => vec![table(format!("With {clients} clients"), &measured, measures)],
            _ => self.by_measure(),
        };
        tables.extend(changes(&measured, measures).map(|table| Table {
            caption: format!("{}, with {largest} clients", table.caption),
            ..table
        }));
        tables
    }

    /// A table for each measure, with a row for each crowd. Success is left out where everybody
    /// succeeds.
    fn by_measure(&self) -> Vec<Table> {
        let success =
            [("committed", "Clients that succeed"), ("all_committed", "Trials in which all do")];
        let cost = [("calls", "Calls"), ("time_ms", "Time until the last is done")];
        let success = success.into_iter().filter(|_| self.does_anybody_give_up());
        success.chain(cost).map(|(key, caption)| self.table_of(key, caption)).collect()
    }

    fn table_of(&self, key: &str, caption: &str) -> Table {
        let row = |clients: &u32| {
            let of_crowd = self.all.measured.iter().filter(|one| one.clients == Some(*clients));
            std::iter::once(clients.to_string()).chain(of_crowd.map(|one| one.words(key))).collect()
        };
        let names = self.policies().map(|policy| self.short(policy));
        let header = std::iter::once("clients".into()).chain(names).collect();
        let rows = self.clients.iter().map(row).collect();
        Table::new(format!("{caption}, by policy"), header, rows)
    }

    fn figures(&self) -> Vec<Figure> {
        let chart = |title: &str, label: &str, quantity: fn(&Results) -> Estimate| {
            let point = |one: &PolicyResults<Results>| {
                Some(Point::of(one.clients?.into(), &quantity(&one.results)))
            };
            let series = self.series(point, Style::Line).collect();
            let title = format!("{title} against the number of clients");
            Chart::with_fitting_scale(title, Axis::new("clients", Scale::Whole), label, series)
        };
        let mut figures = Vec::new();
        if self.clients.len() > 1 {
            // Clients that give up need few calls and little time, so this comes first.
            if self.does_anybody_give_up() {
                let success = chart("Success", "clients that succeed, %", |all| all.committed);
                figures.push(success.in_percent());
            }
            figures.push(chart("Work", "calls", |all| all.calls));
            figures.push(chart("Time", "time until the last is done, ms", |all| all.time_ms));
        }
        figures.push(self.work_and_time());
        figures.into_iter().map(Figure::Chart).collect()
    }

    /// Work against time with the largest crowd.
    fn work_and_time(&self) -> Chart {
        let largest = self.largest();
        let point = |one: &PolicyResults<Results>| {
            let Results { calls, time_ms, .. } = &one.results;
            (one.clients == Some(largest)).then(|| Point::new(calls.mean, time_ms.mean))
        };
        // Calls and time of clients that give up are no achievement.
        let with_share = |(policy, mut series): (usize, Series)| {
            let share = self.of(policy, largest).map(|results| results.committed.mean);
            if let Some(share) = share.filter(|share| *share < NEARLY_ALL) {
                series.name += &format!(" ({} succeed)", amount(share, Unit::Share));
            }
            series
        };
        let series: Vec<_> = self.series(point, Style::Dots).enumerate().map(with_share).collect();
        let calls = series.iter().flat_map(|series| &series.points).map(|point| point.x);
        Chart::with_fitting_scale(
            format!("Work and time with {largest} clients: the nearer to the corner, the better"),
            Axis::new("calls", fitting_scale(calls)),
            "time until the last is done, ms",
            series,
        )
    }

    fn series(
        &self,
        point: impl Fn(&PolicyResults<Results>) -> Option<Point>,
        style: Style,
    ) -> impl Iterator<Item = Series> {
        self.policies().map(move |policy| {
            let complete = self.all.complete.iter().filter(|one| one.policy == policy);
            let points = complete.filter_map(&point).collect();
            Series { name: self.all.policies[policy].label(policy), points, style }
        })
    }
}

/// With which policy the most clients succeed; where all do, with which they need the fewest calls
/// and the least time.
fn headline(results: &[Results], names: &[String], clients: u32) -> String {
    let calls = |at: usize| match amount(results[at].calls.mean, Unit::Count) {
        one if one == "1" => "1 call".into(),
        calls => format!("{calls} calls"),
    };
    let time = |at: usize| amount(results[at].time_ms.mean, Unit::Milliseconds);
    let least = |quantity: fn(&Results) -> f64| {
        let all = results.iter().map(quantity).enumerate();
        all.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(at, _)| at)
    };
    let best = least(|one| -one.committed.mean);
    let Estimate { mean: most, low, .. } = results[best].committed;
    if most < NEARLY_ALL || results.iter().any(|one| one.committed.mean < most - 0.005) {
        let share = amount(most, Unit::Share);
        let cost = format!("({} in {})", calls(best), time(best));
        let mut others = results.iter().enumerate().filter(|(at, _)| *at != best);
        let fewer = match others.all(|(_, other)| other.committed.high < low) {
            true => "and fewer",
            false => "and not clearly fewer",
        };
        let with = match results.len() {
            1 => format!("before the policy gives up {cost}"),
            2 => format!("with policy {} {cost}, {fewer} with the other", names[best]),
            _ => format!("with policy {} {cost}, {fewer} with the others", names[best]),
        };
        return format!("Of {clients} clients {share} succeed {with}.");
    }
    let need = match clients {
        1 => "One client needs".into(),
        _ => format!("{clients} clients need"),
    };
    let (cheapest, quickest) = (least(|one| one.calls.mean), least(|one| one.time_ms.mean));
    let (few, little) = (calls(cheapest), time(quickest));
    let (cheap, quick) = (&names[cheapest], &names[quickest]);
    match results {
        [_] => format!("{need} {few}, and {little} until the last is done."),
        _ if cheapest == quickest => {
            format!(
                "{need} the fewest calls ({few}) and the least time ({little}) with policy {cheap}."
            )
        }
        _ => format!(
            "{need} the fewest calls with policy {cheap} ({few}, in {}) and the least time with policy {quick} ({little}, with {}).",
            time(cheapest),
            calls(quickest),
        ),
    }
}
