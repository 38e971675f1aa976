//! `outage`: whether a service recovers, and what its clients did to it.

use std::time::Duration;

use redial_core::{Breaker, BreakerBuilder, Budget, BudgetBuilder};
use redial_sim::{Estimate, Invalid, Outage, OutageCut, OutageResults, OutageRun};
use serde_json::{Value as Json, json};

use super::outcome::{Measure, Unit, Value, amount, changes, table};
use super::{Candidate, Found, Ran, Simulated, Trials, each, tried};
use crate::args::{Arrivals, Service, SettingFlags};
use crate::chart::{Axis, Band, Chart, Figure, Level, Point, Scale, Series, Strip, Style};
use crate::duration::human;
use crate::output::Failure;

/// Which service fails, for how long, and who calls it.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    rate: f64,
    capacity: f64,
    down: Duration,
    remaining: f64,
    refuses: bool,
    before: Duration,
    after: Duration,
    queue: Option<u32>,
    service: Service,
    arrivals: Arrivals,
    errors: f64,
    budget: Option<Tokens>,
    breaker: Option<(u32, Duration)>,
    processes: u32,
}

/// A retry budget: what each call adds, how much there is at most, and what comes with time. Unless
/// told, nothing does, so that a share of the calls is what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    share: f64,
    burst: f64,
    floor: f64,
}

impl Tokens {
    pub(super) fn new(flags: &SettingFlags) -> Result<Option<Self>, Failure> {
        let Some(share) = flags.budget else {
            needless::<()>("budget-floor", "budget", flags.budget_floor.is_some())?;
            return needless("budget-burst", "budget", flags.budget_burst.is_some());
        };
        let burst = flags.budget_burst.unwrap_or(100.0);
        let floor = flags.budget_floor.unwrap_or(0.0);
        Ok(Some(Self { share: share.0, burst, floor }))
    }

    pub(super) fn builder(self) -> BudgetBuilder {
        Budget::builder().deposit(self.share).capacity(self.burst).floor_per_second(self.floor)
    }

    pub(super) fn json(self) -> Json {
        json!({ "share": self.share, "burst": self.burst, "floor_per_second": self.floor })
    }
}

/// What is said about something that is not there. Not left to clap, which would not see that it is
/// there in a file.
fn needless<T>(flag: &str, of: &str, is_given: bool) -> Result<Option<T>, Failure> {
    match is_given {
        true => Err(Failure::Message(format!("--{flag} needs --{of}"))),
        false => Ok(None),
    }
}

pub(crate) const MEASURES: &[Measure] = &[
    Measure::new("recovers", Unit::Share),
    Measure::new("recovery_s", Unit::Seconds),
    Measure::new("amplification", Unit::Times),
    Measure::new("peak", Unit::Times),
    Measure::new("goodput", Unit::Share),
    Measure::new("gave_up", Unit::Share),
    Measure::new("gave_up_during", Unit::Share),
    Measure::new("gave_up_after", Unit::Share),
    Measure::new("late_load", Unit::PerSecond),
    Measure::new("late_goodput", Unit::PerSecond),
    Measure::new("caught_p50_s", Unit::Seconds),
    Measure::new("caught_p99_s", Unit::Seconds),
];

/// Which of them stand in the table, and under what.
const SHOWN: [(usize, &str); 8] = [
    (1, "recovers after"),
    (2, "attempts per call"),
    (3, "peak"),
    (4, "calls succeed"),
    (5, "give up"),
    (8, "load at the end"),
    (9, "of use"),
    (11, "99% of those caught"),
];

/// How many trials there are unless told.
const TRIALS: u32 = 20;

/// As many windows as these are looked at in a trial, and in all trials together.
const WINDOWS: u64 = 10_000;
const WINDOWS_OF_ALL: u64 = 1_000_000;

/// What clients wait for an answer where their policy does not say.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

impl Setting {
    pub(crate) fn new(flags: &SettingFlags) -> Result<Self, Failure> {
        let (Some(rate), Some(capacity)) = (flags.rate, flags.capacity) else {
            let missing = if flags.rate.is_none() { "--rate" } else { "--capacity" };
            return Err(Failure::Message(format!(
                "outage needs {missing}, as in redial simulate outage --rate 280 --capacity 300"
            )));
        };
        let recovery = flags.breaker_recovery.unwrap_or(Duration::from_secs(30));
        let breaker = match flags.breaker {
            Some(failures) => Some((failures, recovery)),
            None => needless("breaker-recovery", "breaker", flags.breaker_recovery.is_some())?,
        };
        Ok(Self {
            rate,
            capacity,
            down: flags.down.unwrap_or(Duration::from_secs(10)),
            remaining: flags.remaining.map_or(0.0, |share| share.0),
            refuses: flags.refuse,
            before: flags.before.unwrap_or(Duration::from_secs(10)),
            after: flags.after.unwrap_or(Duration::from_secs(300)),
            queue: flags.queue,
            service: flags.service.unwrap_or(Service::Exponential),
            arrivals: flags.arrivals.unwrap_or(Arrivals::Poisson),
            errors: flags.errors.map_or(0.0, |share| share.0),
            budget: Tokens::new(flags)?,
            breaker,
            processes: flags.processes.unwrap_or(1),
        })
    }

    /// A second, unless that made too many windows to be kept or to be drawn.
    fn window(&self, trials: u32) -> Duration {
        let whole = self.before.saturating_add(self.down).saturating_add(self.after).as_secs();
        let seconds = (whole / WINDOWS).max(whole.saturating_mul(trials.into()) / WINDOWS_OF_ALL);
        Duration::from_secs(seconds + 1)
    }

    fn scenario(&self, timeout: Option<Duration>, trials: u32) -> Outage {
        let breaker = |(failures, recovery)| -> BreakerBuilder {
            Breaker::builder().failures(failures).recovery(recovery)
        };
        Outage::new(self.rate, self.capacity)
            .down(self.down)
            .remaining(self.remaining)
            .refuses(self.refuses)
            .before(self.before)
            .after(self.after)
            .queue(self.queue)
            .service(match self.service {
                Service::Exponential => redial_sim::Service::Exponential,
                Service::Constant => redial_sim::Service::Constant,
            })
            .arrivals(match self.arrivals {
                Arrivals::Poisson => redial_sim::Arrivals::Poisson,
                Arrivals::Regular => redial_sim::Arrivals::Regular,
            })
            .errors(self.errors)
            .budget(self.budget.map(Tokens::builder))
            .breaker(self.breaker.map(breaker))
            .processes(self.processes)
            .timeout(timeout.unwrap_or(TIMEOUT))
            .window(self.window(trials))
    }

    pub(crate) fn title(&self) -> String {
        let what = match self.remaining {
            0.0 => "An outage".into(),
            left => format!("A dip to {} of the capacity", amount(left, 0.0, Unit::Share)),
        };
        format!(
            "{what} of {}, at {} calls per second and a capacity of {}",
            human(self.down),
            self.rate,
            self.capacity,
        )
    }

    pub(crate) fn json(&self) -> Json {
        json!({
            "name": "outage",
            "rate": self.rate,
            "capacity": self.capacity,
            "down_s": self.down.as_secs_f64(),
            "remaining": self.remaining,
            "refuses": self.refuses,
            "before_s": self.before.as_secs_f64(),
            "after_s": self.after.as_secs_f64(),
            "queue": self.queue,
            "service": match self.service { Service::Exponential => "exponential", Service::Constant => "constant" },
            "arrivals": match self.arrivals { Arrivals::Poisson => "poisson", Arrivals::Regular => "regular" },
            "errors": self.errors,
            "budget": self.budget.map(Tokens::json),
            "breaker": self.breaker.map(|(failures, recovery)| json!({
                "failures": failures,
                "recovery_s": recovery.as_secs_f64(),
            })),
            "processes": self.processes,
            "timeout_s": TIMEOUT.as_secs_f64(),
        })
    }

    pub(crate) fn run(&self, policies: &[Candidate], trials: &Trials) -> Result<Ran, Invalid> {
        let count = trials.count.unwrap_or(TRIALS);
        let run = |candidate: &Candidate| {
            tried!(self.scenario(candidate.timeout, count), u32::MAX, trials).run(&candidate.policy)
        };
        let (outcomes, found) = each(policies, run, values)?;
        Ok(Ran {
            lead: self.lead(&found, policies.len()),
            tables: std::iter::once(table("By policy".into(), &outcomes, MEASURES, &SHOWN))
                .chain(changes(&outcomes, MEASURES, &SHOWN))
                .collect(),
            figures: if found.is_empty() { Vec::new() } else { self.figures(&found) },
            outcomes,
        })
    }

    fn lead(&self, found: &[Found<OutageResults>], policies: usize) -> Vec<String> {
        let mut lead: Vec<_> = found.iter().map(|one| self.answer(one, policies)).collect();
        // What never recovers is what people have to know first.
        lead.sort_by_key(|(is_well, _)| *is_well);
        let mut lead: Vec<_> = lead.into_iter().map(|(_, sentence)| sentence).collect();
        if lead.is_empty() {
            lead.push("No policy came to an end.".into());
        }
        if self.rate >= self.capacity {
            let (rate, capacity) = (self.rate, self.capacity);
            lead.insert(
                0,
                format!(
                    "{rate} calls/s are too many for a capacity of {capacity}, without any outage."
                ),
            );
        }
        lead
    }

    /// Whether all is well, and what happens.
    fn answer(&self, found: &Found<OutageResults>, policies: usize) -> (bool, String) {
        let (policy, results) = (found.called(policies), &found.results);
        let per_second = |estimate: f64| format!("{estimate:.0}");
        let share = results.recovers.mean;
        let load = per_second(results.late_load.mean);
        let capacity = self.capacity;
        let keeps = format!(
            "{load} requests/s keep coming, capacity is {capacity}, and {} of them are of use",
            per_second(results.late_goodput.mean),
        );
        let after = human(self.after);
        let sentence = if share == 0.0 && results.late_load.mean < self.capacity {
            format!(
                "With {policy} the service has not recovered within {after}, but will: {load} requests/s come, capacity is {capacity}, and the queue gets shorter."
            )
        } else if share == 0.0 {
            format!("With {policy} the service does not recover within {after}: {keeps}.")
        } else if share < 1.0 {
            let share = amount(share, 0.0, Unit::Share);
            format!("With {policy} the service recovers in {share} of the trials only.")
        } else {
            let seconds = results.recovery_s.map_or(0.0, |estimate| estimate.mean);
            let when = match seconds {
                0.0 => "at once".into(),
                seconds => format!("{} after the outage", amount(seconds, 0.0, Unit::Seconds)),
            };
            let lost = results.lost.map_or(0.0, |estimate| estimate.mean);
            format!(
                "With {policy} the service recovers {when}; {} of the calls give up, and the load peaks at {} times the usual.",
                amount(lost, 0.0, Unit::Share),
                amount(results.peak_over_base.mean, 0.0, Unit::Count),
            )
        };
        (share == 1.0, sentence)
    }

    fn figures(&self, found: &[Found<OutageResults>]) -> Vec<Figure> {
        let time = || Axis { label: "seconds since the outage began".into(), scale: Scale::Linear };
        let bands =
            || vec![Band { from: 0.0, to: self.down.as_secs_f64(), label: "outage".into() }];
        let levels =
            || vec![Level { value: self.capacity, label: format!("capacity {}", self.capacity) }];
        let chart = |title: &str, label: &str, quantity: fn(&OutageResults) -> &[f64]| {
            Figure::Chart(Chart {
                title: title.into(),
                x: time(),
                y: Axis { label: label.into(), scale: Scale::Linear },
                series: found.iter().map(|one| one.series(quantity)).collect(),
                levels: levels(),
                bands: bands(),
            })
        };
        let timeline = &found[0].results.timeline;
        let strip = Figure::Strip(Strip {
            title: "Requests that arrive".into(),
            x: time(),
            start: timeline.starts_s.first().copied().unwrap_or_default(),
            bin: timeline.window.as_secs_f64(),
            rows: found
                .iter()
                .map(|one| (one.name.clone(), one.results.timeline.load.clone()))
                .collect(),
            unit: "requests per second".into(),
        });
        vec![
            chart("Load through the outage", "requests per second", |results| {
                &results.timeline.load
            }),
            chart("Calls that succeed", "calls per second", |results| &results.timeline.goodput),
            strip,
            work_and_success(found),
        ]
    }
}

impl Found<OutageResults> {
    fn series(&self, quantity: fn(&OutageResults) -> &[f64]) -> Series {
        let values = self.results.timeline.starts_s.iter().zip(quantity(&self.results));
        let points = values.map(|(&x, &y)| Point { x, y, error: 0.0 }).collect();
        Series { name: self.name.clone(), points, style: Style::Steps }
    }
}

/// What the calls cost, and how many are lost.
fn work_and_success(found: &[Found<OutageResults>]) -> Figure {
    let series = |one: &Found<OutageResults>| {
        let lost = one.results.lost.map_or(0.0, |estimate| 100.0 * estimate.mean);
        let point = Point { x: one.results.amplification.mean, y: lost, error: 0.0 };
        Series { name: one.name.clone(), points: vec![point], style: Style::Dots }
    };
    Figure::Chart(Chart {
        title: "Work and loss: the nearer to the corner, the better".into(),
        x: Axis { label: "attempts per call".into(), scale: Scale::Linear },
        y: Axis { label: "calls that give up, %".into(), scale: Scale::Percent },
        series: found.iter().map(series).collect(),
        levels: Vec::new(),
        bands: Vec::new(),
    })
}

impl Simulated for OutageRun {
    type Results = OutageResults;
    type Cut = OutageCut;

    fn ended(&self) -> usize {
        self.trials().len()
    }

    fn outcome(&self) -> Result<OutageResults, OutageCut> {
        self.results()
    }

    fn against_first(&self, first: &Self) -> Option<Vec<(&'static str, Estimate)>> {
        let change = self.against(first)?;
        let all = [("goodput", change.goodput), ("gave_up", change.lost)];
        let all = all.into_iter().filter_map(|(key, estimate)| Some((key, estimate?)));
        let always = [
            ("amplification", change.amplification),
            ("peak", change.peak_over_base),
            ("late_load", change.late_load),
            ("late_goodput", change.late_goodput),
        ];
        Some(always.into_iter().chain(all).collect())
    }
}

fn values(results: &OutageResults) -> Vec<Value> {
    let recovery = match results.recovers.mean {
        1.0 => results.recovery_s.into(),
        _ => Value::Never,
    };
    vec![
        Value::Number(results.recovers.mean),
        recovery,
        Value::Estimate(results.amplification),
        Value::Estimate(results.peak_over_base),
        results.goodput.into(),
        results.lost.into(),
        results.gave_up.during.into(),
        results.gave_up.after.into(),
        Value::Estimate(results.late_load),
        Value::Estimate(results.late_goodput),
        results.caught.map(|caught| caught.median_s).into(),
        results.caught.map(|caught| caught.p99_s).into(),
    ]
}
