//! `outage`: whether a service recovers, and what its clients did to it.

use std::time::Duration;

use clap::Args;
use redial_core::Breaker;
use redial_sim::outage::{Arrivals, Comparison, Outage, Results, Service, Timeline};
use serde_json::{Value as Json, json};

use super::budget::{BudgetFlags, needs};
use super::candidate::Candidate;
use super::measure::Unit::{PerSecond, Seconds, Times};
use super::measure::{Unit, Value, amount};
use super::scenario::{AllResults, Change, PolicyResults, Quantity, Scenario, Trials, set};
use super::value::{self, Choices, Share};
use crate::chart::{Axis, Band, Chart, Figure, Level, Point, Scale, Series, Strip, Style};
use crate::duration::human;
use crate::output::Failure;

const SERVICE: Choices<Service> = &[
    ("exponential", Service::Exponential, "Exponentially distributed"),
    ("constant", Service::Constant, "All the same"),
];

const ARRIVALS: Choices<Arrivals> = &[
    ("poisson", Arrivals::Poisson, "At random, independently of each other"),
    ("regular", Arrivals::Regular, "At equal intervals"),
];

#[derive(Args)]
pub(crate) struct OutageFlags {
    /// calls per second
    #[arg(long, value_name = "N", value_parser = value::number)]
    rate: Option<f64>,
    /// requests that the service can serve per second
    #[arg(long, value_name = "N", value_parser = value::number)]
    capacity: Option<f64>,
    /// how long it lasts [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    down: Option<Duration>,
    /// the share of the capacity that is left during the outage, such as 22% [default: 0%]
    #[arg(long, value_name = "SHARE", value_parser = value::share)]
    remaining: Option<Share>,
    /// requests are refused at once during the outage, instead of hanging
    #[arg(long)]
    refuse: bool,
    /// how long the trial runs before the outage [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    before: Option<Duration>,
    /// how long the trial runs after the outage [default: 5min]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    after: Option<Duration>,
    /// requests that may wait; more are refused [default: no bound]
    #[arg(long, value_name = "N")]
    queue: Option<u32>,
    /// how long requests take to serve [default: exponential]
    #[arg(long, value_name = "HOW", value_parser = value::choice(SERVICE))]
    service: Option<Service>,
    /// how calls arrive [default: poisson]
    #[arg(long, value_name = "HOW", value_parser = value::choice(ARRIVALS))]
    arrivals: Option<Arrivals>,
    /// the share of served requests that fail all the same [default: 0%]
    #[arg(long, value_name = "SHARE", value_parser = value::share)]
    errors: Option<Share>,
    #[command(flatten)]
    budget: BudgetFlags,
    /// a circuit breaker that opens after so many failures in a row
    #[arg(long, value_name = "N")]
    breaker: Option<u32>,
    /// how long an open breaker waits before it lets a probe through [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    breaker_recovery: Option<Duration>,
    /// processes, each with a budget and a breaker of its own [default: 1]
    #[arg(long, value_name = "N")]
    processes: Option<u32>,
}

pub(crate) struct OutageSettings {
    outage: Outage,
    budget: BudgetFlags,
    breaker: Option<(u32, Duration)>,
}

/// Windows of a trial, and of all trials together: see `window`.
const WINDOWS: u64 = 10_000;
const WINDOWS_OF_ALL: u64 = 1_000_000;

impl Scenario for OutageSettings {
    type Simulated = Outage;
    type Flags = OutageFlags;

    const NAME: &'static str = "outage";
    const ABOUT: &'static str = "a service that fails for a while, under calls that keep coming";
    const EXAMPLES: &'static [&'static str] = &[
        "outage --rate 280 --capacity 300 --with 'retry: 1, delay: 0s' --with 'attempts: 1'",
        "outage --rate 280 --capacity 300 --after 15min --budget 5% -n 4 --assert 'recovers < 10min'",
    ];
    const MEASURES: &'static [Quantity<Results>] = &[
        ("recovers", Some("recovers"), Unit::Share, |all| Value::Share(all.recovers)),
        ("recovery_s", Some("recovers after"), Seconds, recovery),
        ("amplification", Some("attempts per call"), Times, |all| all.amplification.into()),
        ("peak", Some("peak"), Times, |all| all.peak.into()),
        ("goodput", Some("calls succeed"), Unit::Share, |all| all.goodput.into()),
        ("gave_up", Some("give up"), Unit::Share, |all| all.gave_up.into()),
        ("gave_up_during", None, Unit::Share, |all| all.gave_up_during.into()),
        ("gave_up_after", None, Unit::Share, |all| all.gave_up_after.into()),
        ("late_load", Some("load at the end"), PerSecond, |all| all.late_load.into()),
        ("late_goodput", Some("of use"), PerSecond, |all| all.late_goodput.into()),
        ("caught_p50_s", None, Seconds, |all| all.caught_p50_s.into()),
        ("caught_p99_s", Some("99% of those caught"), Seconds, |all| all.caught_p99_s.into()),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("recovers", |change| Some(change.recovers)),
        ("amplification", |change| Some(change.amplification)),
        ("peak", |change| Some(change.peak)),
        ("late_load", |change| Some(change.late_load)),
        ("late_goodput", |change| Some(change.late_goodput)),
        ("goodput", |change| change.goodput),
        ("gave_up", |change| change.gave_up),
    ];

    fn new(flags: OutageFlags) -> Result<Self, Failure> {
        let (Some(rate), Some(capacity)) = (flags.rate, flags.capacity) else {
            let missing = if flags.rate.is_none() { "--rate" } else { "--capacity" };
            return Err(Failure::Message(format!(
                "outage needs {missing}, as in redial simulate outage --rate 280 --capacity 300"
            )));
        };
        let recovery = flags.breaker_recovery.unwrap_or(Duration::from_secs(30));
        let breaker = flags.breaker.map(|failures| (failures, recovery));
        let has_recovery = flags.breaker_recovery.is_some();
        needs("breaker-recovery", "breaker", breaker.is_none() && has_recovery)?;
        let budget = flags.budget;
        budget.check()?;
        let mut outage = Outage::new(rate, capacity)
            .refuses(flags.refuse)
            .queue(flags.queue)
            .budget(budget.builder())
            .breaker(breaker.map(|(failures, recovery)| {
                Breaker::builder().failures(failures).recovery(recovery)
            }));
        set(&mut outage.down, flags.down);
        set(&mut outage.remaining, flags.remaining.map(|share| share.0));
        set(&mut outage.before, flags.before);
        set(&mut outage.after, flags.after);
        set(&mut outage.errors, flags.errors.map(|share| share.0));
        set(&mut outage.processes, flags.processes);
        set(&mut outage.service, flags.service);
        set(&mut outage.arrivals, flags.arrivals);
        Ok(Self { outage, budget, breaker })
    }

    fn title(&self) -> String {
        let what = match self.outage.remaining {
            0.0 => "An outage".into(),
            left => format!("A dip to {} of the capacity", amount(left, Unit::Share)),
        };
        format!(
            "{what} of {}, at {} calls per second and a capacity of {}",
            human(self.outage.down),
            self.outage.rate,
            self.outage.capacity,
        )
    }

    fn json(&self) -> Json {
        let Self { outage, budget, breaker } = self;
        json!({
            "name": Self::NAME,
            "rate": outage.rate,
            "capacity": outage.capacity,
            "down_s": outage.down.as_secs_f64(),
            "remaining": outage.remaining,
            "refuses": outage.refuses,
            "before_s": outage.before.as_secs_f64(),
            "after_s": outage.after.as_secs_f64(),
            "queue": outage.queue,
            "service": value::name(SERVICE, outage.service),
            "arrivals": value::name(ARRIVALS, outage.arrivals),
            "errors": outage.errors,
            "budget": budget.json(),
            "breaker": breaker.map(|(failures, recovery)| json!({
                "failures": failures,
                "recovery_s": recovery.as_secs_f64(),
            })),
            "processes": outage.processes,
            "timeout_s": outage.timeout.as_secs_f64(),
        })
    }

    /// Any number of calls come.
    fn clients(&self, _: Option<u32>) -> u32 {
        u32::MAX
    }

    fn simulated(&self, _: Option<u32>, timeout: Option<Duration>, trials: &Trials) -> Outage {
        let mut outage = self.outage.window(self.window(trials));
        set(&mut outage.timeout, timeout);
        outage
    }

    fn lead(&self, all: &AllResults<'_, Results>) -> Vec<String> {
        // Those that do not recover come first.
        let recovers = |results: &Results| f64::from(u8::from(results.recovers.mean == 1.0));
        let mut lead = all.sentences(recovers, |results, policy| self.answer(results, policy));
        let Outage { rate, capacity, .. } = self.outage;
        if rate >= capacity {
            lead.insert(
                0,
                format!(
                    "{rate} calls/s are too many for a capacity of {capacity}, without any outage."
                ),
            );
        }
        lead
    }

    fn figures(&self, all: &AllResults<'_, Results>) -> Vec<Figure> {
        let Outage { capacity, down, .. } = self.outage;
        let first = &all.complete[0].results;
        let time = || Axis::new("seconds since the outage began", Scale::Linear);
        let trials = trials_words(first);
        let chart = |title: &str, label: &str, quantity: fn(&Timeline) -> &[f64]| {
            let series = all.complete.iter().map(|one| by_trial(one, quantity)).collect();
            Figure::Chart(Chart {
                levels: vec![Level { value: capacity, label: format!("capacity {capacity}") }],
                bands: vec![Band { from: 0.0, to: down.as_secs_f64(), label: "outage".into() }],
                ..Chart::with_fitting_scale(format!("{title}{trials}"), time(), label, series)
            })
        };
        let load =
            |one: &PolicyResults<Results>| (one.name.clone(), one.results.timeline.load.clone());
        vec![
            chart("Load through the outage", "requests per second", |trial| &trial.load),
            chart("Calls that succeed", "calls per second", |trial| &trial.goodput),
            Figure::Strip(Strip {
                title: "Requests that arrive".into(),
                x: time(),
                start: first.timeline.starts_s.first().copied().unwrap_or_default(),
                bin: first.timeline.window.as_secs_f64(),
                rows: all.complete.iter().map(load).collect(),
                unit: "requests per second".into(),
            }),
            work_and_success(all.complete),
        ]
    }

    fn timeout_note(&self, policies: &[Candidate]) -> Option<String> {
        let all_have_one = policies.iter().all(|candidate| candidate.timeout.is_some());
        let timeout = human(self.outage.timeout);
        (!all_have_one).then(|| {
            format!("Attempts time out after {timeout}, unless their policy has a timeout.")
        })
    }
}

impl OutageSettings {
    /// A second, unless that made too many windows to be kept or to be drawn.
    fn window(&self, trials: &Trials) -> Duration {
        let Outage { before, down, after, .. } = self.outage;
        let whole = before.saturating_add(down).saturating_add(after).as_secs();
        let of_all = whole.saturating_mul(trials.count_of(&self.outage).into());
        Duration::from_secs((whole / WINDOWS).max(of_all / WINDOWS_OF_ALL) + 1)
    }

    fn answer(&self, results: &Results, policy: &str) -> String {
        let per_second = |estimate: f64| format!("{estimate:.0}");
        let share = results.recovers.mean;
        let load = per_second(results.late_load.mean);
        let capacity = self.outage.capacity;
        let keeps = format!(
            "{load} requests/s keep coming, capacity is {capacity}, and {} of them are of use",
            per_second(results.late_goodput.mean),
        );
        let after = human(self.outage.after);
        if share == 0.0 && results.late_load.mean < capacity {
            let (will, gets) = match results.late_load.high < capacity {
                true => ("will", "gets"),
                false => ("may", "may get"),
            };
            format!(
                "With {policy} the service has not recovered within {after}, but {will}: {load} requests/s come, capacity is {capacity}, and the queue {gets} shorter."
            )
        } else if share == 0.0 {
            format!("With {policy} the service does not recover within {after}: {keeps}.")
        } else if share < 1.0 {
            let trials = results.trials;
            let recovered = (share * f64::from(trials)).round();
            let share = Value::Share(results.recovers).words(Unit::Share);
            format!(
                "With {policy} the service recovers in {recovered} of {trials} trials only, {share}; the other numbers are means of those that do and those that do not."
            )
        } else {
            let seconds = results.recovery_s.map_or(0.0, |estimate| estimate.mean);
            let when = match seconds {
                0.0 => "at once".into(),
                seconds => format!("{} after the outage", amount(seconds, Unit::Seconds)),
            };
            let gave_up = results.gave_up.map_or(0.0, |estimate| estimate.mean);
            format!(
                "With {policy} the service recovers {when}; {} of the calls give up, and the load peaks at {} times the usual.",
                amount(gave_up, Unit::Share),
                amount(results.peak.mean, Unit::Count),
            )
        }
    }
}

fn recovery(results: &Results) -> Value {
    match (results.recovers.mean, results.recovery_s) {
        (1.0, recovery) => recovery.into(),
        (_, Some(recovery)) => Value::Sometimes(recovery),
        (_, None) => Value::Never,
    }
}

/// A quantity over time, a line for each trial.
fn by_trial(one: &PolicyResults<Results>, quantity: fn(&Timeline) -> &[f64]) -> Series {
    let trial = |timeline: &Timeline| {
        let values = timeline.starts_s.iter().zip(quantity(timeline));
        values.map(|(&x, &y)| Point::new(x, y)).collect()
    };
    Series::of_trials(one.name.clone(), one.results.timelines.iter().map(trial))
}

/// Which trials are drawn, where there are several.
fn trials_words(results: &Results) -> String {
    match (results.timelines.len(), results.trials as usize) {
        (0 | 1, _) => String::new(),
        (drawn, all) if drawn == all => format!(": each of {all} trials"),
        (drawn, all) => format!(": the first {drawn} of {all} trials"),
    }
}

/// Attempts per call against the share of calls that give up.
fn work_and_success(complete: &[PolicyResults<Results>]) -> Figure {
    let series = |one: &PolicyResults<Results>| {
        let gave_up = one.results.gave_up.map_or(0.0, |estimate| 100.0 * estimate.mean);
        let point = Point::new(one.results.amplification.mean, gave_up);
        Series { name: one.name.clone(), points: vec![point], style: Style::Dots }
    };
    Figure::Chart(Chart::new(
        "Work and loss: the nearer to the corner, the better",
        Axis::new("attempts per call", Scale::Linear),
        Axis::new("calls that give up, %", Scale::Percent),
        complete.iter().map(series).collect(),
    ))
}
