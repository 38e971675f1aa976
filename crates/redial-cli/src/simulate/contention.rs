//! `contention`: calls, time and success against the number of clients.

use std::time::Duration;

use redial_sim::{Contention, Cut, Estimate, Invalid, Latency, Results, Run};
use serde_json::{Value as Json, json};

use super::outcome::{Measure, Outcome, Unit, Value, amount, changes, table};
use super::study::Compared;
use super::{Candidate, Ran, Simulated, Trials, each, tried};
use crate::args::{Model, SettingFlags};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style, Table};

/// Of which crowd, and how far its messages go.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) model: Model,
    pub(crate) clients: Vec<u32>,
    pub(crate) latency: Latency,
    pub(crate) start_spread: Duration,
}

pub(crate) const MEASURES: &[Measure] = &[
    Measure::new("calls", Unit::Count),
    Measure::new("time_ms", Unit::Milliseconds),
    Measure::new("committed", Unit::Share),
    Measure::new("all_committed", Unit::Share),
    Measure::new("attempts", Unit::Count),
];

/// What they are called in a table.
const SHOWN: [(usize, &str); 5] = [
    (0, "calls"),
    (1, "time until the last is done"),
    (2, "clients that succeed"),
    (3, "trials in which all do"),
    (4, "attempts of each"),
];

const CROWDS: [u32; 4] = [10, 20, 50, 100];

/// At this share everybody is as good as served.
const NEARLY_ALL: f64 = 0.99;

impl Setting {
    pub(crate) fn new(flags: &SettingFlags) -> Self {
        let model = flags.model.unwrap_or(Model::Occ);
        let usual = if model == Model::Occ { 10 } else { 20 };
        let mean = flags.latency.unwrap_or(Duration::from_millis(usual));
        let spread = flags.latency_spread.unwrap_or(mean / 5);
        Self {
            model,
            clients: flags.clients.as_ref().map_or(CROWDS.to_vec(), |clients| clients.0.clone()),
            latency: Latency { mean, spread },
            start_spread: flags.start_spread.unwrap_or_default(),
        }
    }

    /// The scenario with so many clients.
    pub(crate) fn scenario(&self, clients: u32) -> Contention {
        let scenario = match self.model {
            Model::Occ => Contention::occ(clients),
            Model::Collision => Contention::collision(clients),
            Model::Ballot => Contention::ballot(clients),
        };
        scenario.latency(self.latency).start_spread(self.start_spread)
    }

    pub(crate) fn json(&self) -> Json {
        json!({
            "name": "contention",
            "model": self.model_name(),
            "clients": self.clients,
            "latency_ms": millis(self.latency.mean),
            "latency_spread_ms": millis(self.latency.spread),
            "start_spread_ms": millis(self.start_spread),
        })
    }

    fn model_name(&self) -> &'static str {
        match self.model {
            Model::Occ => "occ",
            Model::Collision => "collision",
            Model::Ballot => "ballot",
        }
    }

    pub(crate) fn title(&self) -> String {
        let latency = crate::duration::human(self.latency.mean);
        match self.model {
            Model::Occ => format!("Clients that write to one record, {latency} away"),
            Model::Collision => {
                format!("Proposals that destroy each other, at a round trip of {latency}")
            }
            Model::Ballot => format!("Ballots of one acceptor, at a round trip of {latency}"),
        }
    }

    /// Runs every policy with every crowd.
    pub(crate) fn run(&self, policies: &[Candidate], trials: &Trials) -> Result<Ran, Invalid> {
        let mut crowds = Vec::new();
        for clients in &self.clients {
            let run = |candidate: &Candidate| {
                tried!(self.scenario(*clients), *clients, trials).run(&candidate.policy)
            };
            let (outcomes, found) = each(policies, run, values)?;
            crowds.extend(outcomes.into_iter().map(|outcome| Crowd {
                clients: *clients,
                results:
                    found.iter().find(|one| one.place == outcome.policy).map(|one| one.results),
                outcome: Outcome { clients: Some(*clients), ..outcome },
            }));
        }
        let named: Vec<_> = policies.iter().map(|candidate| &candidate.named).collect();
        let found = Found { setting: self, policies: &named, crowds: &crowds };
        Ok(Ran {
            outcomes: crowds.iter().map(|crowd| crowd.outcome.clone()).collect(),
            lead: found.lead(),
            tables: found.tables(),
            figures: found.figures(),
        })
    }
}

/// One policy with one crowd.
struct Crowd {
    clients: u32,
    outcome: Outcome,
    results: Option<Results>,
}

impl Simulated for Run {
    type Results = Results;
    type Cut = Cut;

    fn ended(&self) -> usize {
        self.trials().len()
    }

    fn outcome(&self) -> Result<Results, Cut> {
        self.results()
    }

    fn against_first(&self, first: &Self) -> Option<Vec<(&'static str, Estimate)>> {
        let change = self.against(first)?;
        Some(vec![
            ("calls", change.calls),
            ("time_ms", change.time_ms),
            ("committed", change.committed),
            ("attempts", change.attempts_per_client),
        ])
    }
}

fn values(results: &Results) -> Vec<Value> {
    vec![
        Value::Estimate(results.calls),
        Value::Estimate(results.time_ms),
        Value::Estimate(results.committed),
        Value::Number(results.all_committed.mean),
        Value::Estimate(results.attempts_per_client),
    ]
}

/// All of them.
struct Found<'r> {
    setting: &'r Setting,
    policies: &'r [&'r Compared],
    crowds: &'r [Crowd],
}

impl Found<'_> {
    fn of(&self, policy: usize, clients: u32) -> Option<Results> {
        let is_it = |crowd: &&Crowd| crowd.outcome.policy == policy && crowd.clients == clients;
        self.crowds.iter().find(is_it).and_then(|crowd| crowd.results)
    }

    /// With the largest crowd for which there is a result of each policy.
    fn lead(&self) -> Vec<String> {
        let all_known =
            |clients: &&u32| (0..self.policies.len()).all(|one| self.of(one, **clients).is_some());
        let Some(&clients) = self.setting.clients.iter().rev().find(all_known) else {
            return vec!["There is no crowd in which each policy came to an end.".into()];
        };
        let results: Vec<_> =
            (0..self.policies.len()).filter_map(|policy| self.of(policy, clients)).collect();
        let mut lead = vec![headline(&results, clients)];
        // Of one policy with one crowd there is no more to say.
        if self.crowds.len() > 1 {
            lead.extend((0..self.policies.len()).filter_map(|policy| self.reach(policy)));
        }
        lead
    }

    /// Up to how many clients a policy that gives up serves nearly all of them.
    fn reach(&self, policy: usize) -> Option<String> {
        let served = self.setting.clients.iter().filter_map(|clients| {
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

    fn name(&self, policy: usize) -> String {
        match self.policies.len() {
            1 => "The policy".into(),
            _ => format!("Policy {}", policy + 1),
        }
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = match self.setting.clients.as_slice() {
            [clients] => vec![self.one_crowd(*clients)],
            _ => self.by_crowd(),
        };
        let most = self.setting.clients.last().copied().unwrap_or_default();
        tables.extend(changes(&self.outcomes_of(most), MEASURES, &SHOWN).map(|table| Table {
            caption: format!("{}, with {most} clients", table.caption),
            ..table
        }));
        tables
    }

    fn outcomes_of(&self, clients: u32) -> Vec<Outcome> {
        let crowds = self.crowds.iter().filter(|crowd| crowd.clients == clients);
        crowds.map(|crowd| crowd.outcome.clone()).collect()
    }

    fn one_crowd(&self, clients: u32) -> Table {
        let outcomes = self.outcomes_of(clients);
        table(format!("With {clients} clients"), &outcomes, MEASURES, &SHOWN)
    }

    /// A table for each quantity, the crowds one below the other.
    fn by_crowd(&self) -> Vec<Table> {
        // That everybody succeeds is said once, in the first sentence.
        let all = |crowd: &Crowd| crowd.results.is_none_or(|all| all.committed.mean >= 1.0);
        let cost = [(0, "Calls"), (1, "Time until the last is done")];
        let success = [(2, "Clients that succeed"), (3, "Trials in which all do")];
        let success = success.into_iter().filter(|_| !self.crowds.iter().all(all));
        success.chain(cost).map(|(measure, caption)| self.table_of(measure, caption)).collect()
    }

    fn table_of(&self, measure: usize, caption: &str) -> Table {
        let numbers = (1..=self.policies.len()).map(|number| number.to_string());
        let row = |clients: &u32| {
            let cell = |policy: usize| {
                let is_it =
                    |crowd: &&Crowd| crowd.outcome.policy == policy && crowd.clients == *clients;
                let values = self.crowds.iter().find(is_it).map(|crowd| &crowd.outcome.values);
                match values {
                    Some(Ok(values)) => values[measure].words(MEASURES[measure].unit),
                    _ => "cut".into(),
                }
            };
            let cells = (0..self.policies.len()).map(cell);
            std::iter::once(clients.to_string()).chain(cells).collect()
        };
        Table {
            caption: format!("{caption}, by policy"),
            header: std::iter::once("clients".into()).chain(numbers).collect(),
            rows: self.setting.clients.iter().map(row).collect(),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        if self.crowds.iter().all(|crowd| crowd.results.is_none()) {
            return figures;
        }
        if self.setting.clients.len() > 1 {
            let gives_up =
                |crowd: &Crowd| crowd.results.is_some_and(|all| all.committed.mean < 1.0);
            // Work and time of clients that give up are of no interest before this.
            if self.crowds.iter().any(gives_up) {
                figures.push(self.against_clients(
                    "Success",
                    "clients that succeed, %",
                    Some(Scale::Percent),
                    |all| (100.0 * all.committed.mean, 100.0 * all.committed.ci95),
                ));
            }
            figures.push(
                self.against_clients("Work", "calls", None, |all| (all.calls.mean, all.calls.ci95)),
            );
            figures.push(self.against_clients(
                "Time",
                "time until the last is done, ms",
                None,
                |all| (all.time_ms.mean, all.time_ms.ci95),
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
        quantity: impl Fn(&Results) -> (f64, f64),
    ) -> Figure {
        let point = |crowd: &Crowd| {
            let (y, error) = quantity(&crowd.results?);
            Some(Point { x: crowd.clients.into(), y, error })
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
        let most = self.setting.clients.last().copied().unwrap_or_default();
        let point = |crowd: &Crowd| {
            let results = crowd.results.filter(|_| crowd.clients == most)?;
            Some(Point { x: results.calls.mean, y: results.time_ms.mean, error: 0.0 })
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
        point: impl Fn(&Crowd) -> Option<Point>,
        style: Style,
    ) -> impl Iterator<Item = Series> {
        let of = move |policy: usize| {
            self.crowds
                .iter()
                .filter(|crowd| crowd.outcome.policy == policy)
                .filter_map(&point)
                .collect()
        };
        let points: Vec<Vec<Point>> = (0..self.policies.len()).map(of).collect();
        points.into_iter().enumerate().map(move |(place, points)| Series {
            name: self.policies[place].label(place),
            points,
            style,
        })
    }
}

/// Who needs the least.
fn headline(results: &[Results], clients: u32) -> String {
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
        let with = match results.len() {
            1 => format!("before the policy gives up {cost}"),
            2 => format!("with policy {} {cost}, and fewer with the other", best + 1),
            _ => format!("with policy {} {cost}, and fewer with the others", best + 1),
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
            work + 1,
        ),
        (Some((work, least)), Some((quickest, soonest))) => format!(
            "{crowd} the fewest calls with policy {} ({}, in {}) and the least time with policy {} ({}, with {}).",
            work + 1,
            calls(least),
            time(least),
            quickest + 1,
            time(soonest),
            calls(soonest),
        ),
        _ => "There is no policy.".into(),
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
