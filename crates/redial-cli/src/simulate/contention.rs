//! `contention`: calls, time and success against the number of clients.

use std::time::Duration;

use redial_sim::Estimate;
use redial_sim::contention::{Comparison, Contention, Latency, Learning, Model, Results};
use serde_json::{Value as Json, json};

use super::outcome::{Outcome, Unit, Value, amount, changes, table};
use super::scenario::{Change, Findings, Found, Quantity, Scenario, Trials, set};
use crate::args::{self, SettingFlags};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style, Table};
use crate::output::Failure;

/// Which crowds, and how far their messages go.
pub(crate) struct Setting {
    /// With any number of clients.
    scenario: Contention,
    pub(crate) clients: Vec<u32>,
}

const CROWDS: [u32; 4] = [10, 20, 50, 100];

/// At this share everybody is as good as served.
const NEARLY_ALL: f64 = 0.99;

impl Scenario for Setting {
    type Simulated = Contention;

    const NAME: &'static str = "contention";
    const SETTINGS: &'static [&'static str] =
        &["model", "clients", "latency", "latency_spread", "start_spread", "learning"];
    const MEASURES: &'static [Quantity<Results>] = &[
        Quantity::titled("calls", "calls", Unit::Count, |results| results.calls.into()),
        Quantity::titled("time_ms", "time until the last is done", Unit::Milliseconds, |results| {
            results.time_ms.into()
        }),
        Quantity::titled("committed", "clients that succeed", Unit::Share, |results| {
            results.committed.into()
        }),
        Quantity::titled("all_committed", "trials in which all do", Unit::Share, |results| {
            Value::Share(results.all_committed)
        }),
        Quantity::titled("attempts", "attempts of each", Unit::Count, |results| {
            results.attempts.into()
        }),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("calls", |change| Some(change.calls)),
        ("time_ms", |change| Some(change.time_ms)),
        ("committed", |change| Some(change.committed)),
        ("all_committed", |change| Some(change.all_committed)),
        ("attempts", |change| Some(change.attempts)),
    ];

    fn new(flags: &SettingFlags) -> Result<Self, Failure> {
        let mut scenario = match flags.model.unwrap_or(args::Model::Occ) {
            args::Model::Occ => Contention::occ(1),
            args::Model::Collision => Contention::collision(1),
            args::Model::Ballot => Contention::ballot(1),
        };
        if flags.learning.is_some() && scenario.model != Model::Ballot {
            return Err(Failure::from("--learning is about ballots; it needs --model ballot"));
        }
        set(&mut scenario.latency, flags.latency.map(Latency::around));
        set(&mut scenario.latency.spread, flags.latency_spread);
        set(&mut scenario.start_spread, flags.start_spread);
        let learning = flags.learning.map(|learning| match learning {
            args::Learning::AtStart => Learning::AtStart,
            args::Learning::FromRefusals => Learning::FromRefusals,
        });
        set(&mut scenario.learning, learning);
        let clients = flags.clients.as_ref().map_or(CROWDS.to_vec(), |clients| clients.0.clone());
        Ok(Self { scenario, clients })
    }

    fn title(&self) -> String {
        let latency = crate::duration::human(self.scenario.latency.mean);
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
        json!({
            "name": Self::NAME,
            "model": match model {
                Model::Occ => "occ",
                Model::Collision => "collision",
                Model::Ballot => "ballot",
            },
            "clients": self.clients,
            "latency_ms": millis(latency.mean),
            "latency_spread_ms": millis(latency.spread),
            "start_spread_ms": millis(start_spread),
            "learning": (model == Model::Ballot).then_some(match learning {
                Learning::AtStart => "at-start",
                Learning::FromRefusals => "from-refusals",
            }),
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

    fn lead(&self, findings: &Findings<'_, Results>) -> Vec<String> {
        Crowds { clients: &self.clients, findings }.lead()
    }

    fn tables(&self, findings: &Findings<'_, Results>) -> Vec<Table> {
        Crowds { clients: &self.clients, findings }.tables()
    }

    fn figures(&self, findings: &Findings<'_, Results>) -> Vec<Figure> {
        Crowds { clients: &self.clients, findings }.figures()
    }
}

/// What the policies came to with each crowd.
struct Crowds<'f> {
    clients: &'f [u32],
    findings: &'f Findings<'f, Results>,
}

impl Crowds<'_> {
    fn of(&self, policy: usize, clients: u32) -> Option<Results> {
        let is_it = |one: &&Found<_>| one.policy == policy && one.clients == Some(clients);
        self.findings.found.iter().find(is_it).map(|one| one.results)
    }

    fn policies(&self) -> std::ops::Range<usize> {
        0..self.findings.policies.len()
    }

    fn most(&self) -> u32 {
        self.clients.last().copied().unwrap_or_default()
    }

    /// With the largest crowd for which there is a result of each policy.
    fn lead(&self) -> Vec<String> {
        let all_known =
            |clients: &&u32| self.policies().all(|one| self.of(one, **clients).is_some());
        let Some(&clients) = self.clients.iter().rev().find(all_known) else {
            return vec!["There is no crowd in which each policy came to an end.".into()];
        };
        let results: Vec<_> =
            self.policies().filter_map(|policy| self.of(policy, clients)).collect();
        let names: Vec<_> = self.policies().map(|policy| self.short(policy)).collect();
        let mut lead = vec![headline(&results, &names, clients)];
        // Of one policy with one crowd there is no more to say.
        if self.findings.outcomes.len() > 1 {
            lead.extend(self.policies().filter_map(|policy| self.reach(policy)));
        }
        lead
    }

    /// Up to how many clients a policy that gives up serves nearly all of them.
    fn reach(&self, policy: usize) -> Option<String> {
        let served = self.clients.iter().filter_map(|clients| {
            self.of(policy, *clients).map(|results| (*clients, results.committed.mean))
        });
        let served: Vec<_> = served.collect();
        let first = served.iter().find(|(_, share)| *share < NEARLY_ALL)?;
        let before = served.iter().take_while(|(_, share)| *share >= NEARLY_ALL).last();
        let name = self.name(policy);
        let share = amount(first.1, 0.0, Unit::Share);
        let beyond = format!("{share} of them succeed before it gives up");
        Some(match before {
            Some((clients, _)) => {
                format!("{name} serves up to {clients} clients; with {}, {beyond}.", first.0)
            }
            None => format!("{name} does not serve {} clients: {beyond}.", first.0),
        })
    }

    /// Its name, or its number where it has none.
    fn short(&self, policy: usize) -> String {
        self.findings.policies[policy].named.short(policy)
    }

    fn name(&self, policy: usize) -> String {
        match self.policies().len() {
            1 => "The policy".into(),
            _ => format!("Policy {}", self.short(policy)),
        }
    }

    fn tables(&self) -> Vec<Table> {
        let (most, measures) = (self.most(), self.findings.measures);
        let is_of_most = |one: &&Outcome| one.clients == Some(most);
        let outcomes: Vec<_> = self.findings.outcomes.iter().filter(is_of_most).cloned().collect();
        let mut tables = match self.clients {
            [clients] => vec![table(format!("With {clients} clients"), &outcomes, measures)],
            _ => self.by_crowd(),
        };
        tables.extend(changes(&outcomes, measures).map(|table| Table {
            caption: format!("{}, with {most} clients", table.caption),
            ..table
        }));
        tables
    }

    /// A table for each quantity, the crowds one below the other.
    fn by_crowd(&self) -> Vec<Table> {
        // That everybody succeeds is said once, in the first sentence.
        let success: &[_] = match self.is_anybody_left() {
            true => &[
                ("committed", "Clients that succeed"),
                ("all_committed", "Trials in which all do"),
            ],
            false => &[],
        };
        let cost = &[("calls", "Calls"), ("time_ms", "Time until the last is done")];
        success.iter().chain(cost).map(|(key, caption)| self.table_of(key, caption)).collect()
    }

    fn is_anybody_left(&self) -> bool {
        self.findings.found.iter().any(|one| one.results.committed.mean < 1.0)
    }

    fn table_of(&self, key: &str, caption: &str) -> Table {
        let names = self.policies().map(|policy| self.short(policy));
        let row = |clients: &u32| {
            let cell = |policy: usize| {
                let is_it = |one: &&Outcome| one.policy == policy && one.clients == Some(*clients);
                let outcome = self.findings.outcomes.iter().find(is_it);
                outcome.map_or_else(|| "cut".into(), |outcome| outcome.words(key))
            };
            std::iter::once(clients.to_string()).chain(self.policies().map(cell)).collect()
        };
        let header = std::iter::once("clients".into()).chain(names).collect();
        let rows = self.clients.iter().map(row).collect();
        Table::new(format!("{caption}, by policy"), header, rows)
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        if self.clients.len() > 1 {
            // Work and time of clients that give up are of no interest before this.
            if self.is_anybody_left() {
                figures.push(self.against_clients(
                    "Success",
                    "clients that succeed, %",
                    Some(Scale::Percent),
                    100.0,
                    |all| all.committed,
                ));
            }
            figures.push(self.against_clients("Work", "calls", None, 1.0, |all| all.calls));
            figures.push(self.against_clients(
                "Time",
                "time until the last is done, ms",
                None,
                1.0,
                |all| all.time_ms,
            ));
        }
        figures.push(self.work_and_time());
        figures
    }

    fn against_clients(
        &self,
        title: &str,
        label: &str,
        scale: Option<Scale>,
        times: f64,
        quantity: impl Fn(&Results) -> Estimate,
    ) -> Figure {
        let point = |one: &Found<Results>| {
            let Estimate { mean, low, high, .. } = quantity(&one.results);
            let interval = (times * low, times * high);
            Some(Point { x: one.clients?.into(), y: times * mean, interval })
        };
        let series: Vec<_> = self.series(point, Style::Line).collect();
        // Where one policy needs a hundred times what another does, both are to be seen.
        let values = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let is_wide = most > 30.0 * least && least > 0.0;
        let usual = if is_wide { Scale::Logarithmic } else { Scale::Linear };
        let scale = scale.unwrap_or(usual);
        Figure::Chart(Chart {
            title: format!("{title} against the number of clients"),
            x: Axis { label: "clients".into(), scale: Scale::Whole },
            y: Axis { label: label.into(), scale },
            series,
            levels: Vec::new(),
            bands: Vec::new(),
        })
    }

    /// Work against time, the largest crowd last.
    fn work_and_time(&self) -> Figure {
        let most = self.most();
        let point = |one: &Found<Results>| {
            let Results { calls, time_ms, .. } = &one.results;
            (one.clients == Some(most)).then(|| Point::new(calls.mean, time_ms.mean))
        };
        // Work and time of those that give up are no achievement.
        let with_share = |(policy, series): (usize, Series)| {
            let results = self.of(policy, most);
            match results.map(|results| results.committed.mean) {
                Some(share) if share < NEARLY_ALL => {
                    let share = amount(share, 0.0, Unit::Share);
                    Series { name: format!("{} ({share} succeed)", series.name), ..series }
                }
                _ => series,
            }
        };
        Figure::Chart(Chart {
            title: format!(
                "Work and time with {most} clients: the nearer to the corner, the better"
            ),
            x: Axis { label: "calls".into(), scale: Scale::Logarithmic },
            y: Axis { label: "time until the last is done, ms".into(), scale: Scale::Logarithmic },
            series: self.series(point, Style::Dots).enumerate().map(with_share).collect(),
            levels: Vec::new(),
            bands: Vec::new(),
        })
    }

    fn series(
        &self,
        point: impl Fn(&Found<Results>) -> Option<Point>,
        style: Style,
    ) -> impl Iterator<Item = Series> {
        self.policies().map(move |policy| {
            let found = self.findings.found.iter().filter(|one| one.policy == policy);
            let points = found.filter_map(&point).collect();
            Series { name: self.findings.policies[policy].named.label(policy), points, style }
        })
    }
}

/// Who needs the least.
fn headline(results: &[Results], names: &[String], clients: u32) -> String {
    let least = |quantity: fn(&Results) -> f64| {
        let places = results.iter().enumerate();
        places.min_by(|(_, one), (_, other)| quantity(one).total_cmp(&quantity(other)))
    };
    let calls = |results: &Results| match amount(results.calls.mean, 0.0, Unit::Count) {
        one if one == "1" => "1 call".into(),
        calls => format!("{calls} calls"),
    };
    let time = |results: &Results| amount(results.time_ms.mean, 0.0, Unit::Milliseconds);
    let crowd = match clients {
        1 => "One client needs".into(),
        _ => format!("{clients} clients need"),
    };
    let most = results.iter().map(|one| one.committed.mean).fold(0.0, f64::max);
    // Work and time of those that give up are no achievement.
    let is_best = |one: &Results| one.committed.mean == most;
    if let Some(best) = results.iter().position(is_best).filter(|_| {
        most < NEARLY_ALL || results.iter().any(|one| one.committed.mean < most - 0.005)
    }) {
        let share = amount(most, 0.0, Unit::Share);
        let cost = format!("({} in {})", calls(&results[best]), time(&results[best]));
        // Fewer is said of what is beyond doubt.
        let low = results[best].committed.low;
        let others = || results.iter().enumerate().filter(|(place, _)| *place != best);
        let fewer = match others().all(|(_, other)| other.committed.high < low) {
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
    match (least(|one| one.calls.mean), least(|one| one.time_ms.mean)) {
        (Some((_, only)), _) if results.len() == 1 => {
            format!("{crowd} {}, and {} until the last is done.", calls(only), time(only))
        }
        (Some((work, least)), Some((quickest, _))) if work == quickest => format!(
            "{crowd} the fewest calls ({}) and the least time ({}) with policy {}.",
            calls(least),
            time(least),
            names[work],
        ),
        (Some((work, least)), Some((quickest, soonest))) => format!(
            "{crowd} the fewest calls with policy {} ({}, in {}) and the least time with policy {} ({}, with {}).",
            names[work],
            calls(least),
            time(least),
            names[quickest],
            time(soonest),
            calls(soonest),
        ),
        _ => "There is no policy.".into(),
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
