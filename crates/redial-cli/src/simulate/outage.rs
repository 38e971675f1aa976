//! `outage`: whether a service recovers, and what its clients did to it.

use std::time::Duration;

use redial_core::Breaker;
use redial_sim::outage::{Arrivals, Comparison, Outage, Results, Service, Timeline};
use serde_json::{Value as Json, json};

use super::Candidate;
use super::budget::{Tokens, needless};
use super::outcome::{Unit, Value, amount};
use super::scenario::{Change, Findings, Found, Quantity, Scenario, Trials, set};
use crate::args::{self, SettingFlags};
use crate::chart::{Axis, Band, Chart, Figure, Level, Point, Scale, Series, Strip, Style};
use crate::duration::human;
use crate::output::Failure;

/// Which service fails, for how long, and who calls it.
pub(crate) struct Setting {
    outage: Outage,
    budget: Option<Tokens>,
    breaker: Option<(u32, Duration)>,
}

/// As many windows as these are looked at in a trial, and in all trials together.
const WINDOWS: u64 = 10_000;
const WINDOWS_OF_ALL: u64 = 1_000_000;

impl Scenario for Setting {
    type Simulated = Outage;

    const NAME: &'static str = "outage";
    const SETTINGS: &'static [&'static str] = &[
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
    ];
    const MEASURES: &'static [Quantity<Results>] = &[
        Quantity::titled("recovers", "recovers", Unit::Share, |results| {
            Value::Share(results.recovers)
        }),
        Quantity::titled("recovery_s", "recovers after", Unit::Seconds, recovery),
        Quantity::titled("amplification", "attempts per call", Unit::Times, |results| {
            results.amplification.into()
        }),
        Quantity::titled("peak", "peak", Unit::Times, |results| results.peak.into()),
        Quantity::titled("goodput", "calls succeed", Unit::Share, |results| results.goodput.into()),
        Quantity::titled("gave_up", "give up", Unit::Share, |results| results.gave_up.into()),
        Quantity::new("gave_up_during", Unit::Share, |results| results.gave_up_during.into()),
        Quantity::new("gave_up_after", Unit::Share, |results| results.gave_up_after.into()),
        Quantity::titled("late_load", "load at the end", Unit::PerSecond, |results| {
            results.late_load.into()
        }),
        Quantity::titled("late_goodput", "of use", Unit::PerSecond, |results| {
            results.late_goodput.into()
        }),
        Quantity::new("caught_p50_s", Unit::Seconds, |results| results.caught_p50_s.into()),
        Quantity::titled("caught_p99_s", "99% of those caught", Unit::Seconds, |results| {
            results.caught_p99_s.into()
        }),
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

    fn new(flags: &SettingFlags) -> Result<Self, Failure> {
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
        let budget = Tokens::new(flags)?;
        let mut outage = Outage::new(rate, capacity)
            .refuses(flags.refuse)
            .queue(flags.queue)
            .budget(budget.map(Tokens::builder))
            .breaker(breaker.map(|(failures, recovery)| {
                Breaker::builder().failures(failures).recovery(recovery)
            }));
        set(&mut outage.down, flags.down);
        set(&mut outage.remaining, flags.remaining.map(|share| share.0));
        set(&mut outage.before, flags.before);
        set(&mut outage.after, flags.after);
        set(&mut outage.errors, flags.errors.map(|share| share.0));
        set(&mut outage.processes, flags.processes);
        let service = flags.service.map(|service| match service {
            args::Service::Exponential => Service::Exponential,
            args::Service::Constant => Service::Constant,
        });
        set(&mut outage.service, service);
        let arrivals = flags.arrivals.map(|arrivals| match arrivals {
            args::Arrivals::Poisson => Arrivals::Poisson,
            args::Arrivals::Regular => Arrivals::Regular,
        });
        set(&mut outage.arrivals, arrivals);
        Ok(Self { outage, budget, breaker })
    }

    fn title(&self) -> String {
        let what = match self.outage.remaining {
            0.0 => "An outage".into(),
            left => format!("A dip to {} of the capacity", amount(left, 0.0, Unit::Share)),
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
            "service": match outage.service { Service::Exponential => "exponential", Service::Constant => "constant" },
            "arrivals": match outage.arrivals { Arrivals::Poisson => "poisson", Arrivals::Regular => "regular" },
            "errors": outage.errors,
            "budget": budget.map(Tokens::json),
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

    fn lead(&self, findings: &Findings<'_, Results>) -> Vec<String> {
        // What does not recover is what people have to know first.
        let is_well = |results: &Results| f64::from(u8::from(results.recovers.mean == 1.0));
        let answer = |one: &Found<Results>| self.answer(&one.results, &findings.called(one));
        let mut lead = findings.sentences(is_well, answer);
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

    fn figures(&self, findings: &Findings<'_, Results>) -> Vec<Figure> {
        let Self { outage, .. } = self;
        let found = findings.found;
        let time = || Axis { label: "seconds since the outage began".into(), scale: Scale::Linear };
        let bands =
            || vec![Band { from: 0.0, to: outage.down.as_secs_f64(), label: "outage".into() }];
        let levels = || {
            vec![Level { value: outage.capacity, label: format!("capacity {}", outage.capacity) }]
        };
        let trials = trials_words(&found[0].results);
        let chart = |title: &str, label: &str, quantity: fn(&Timeline) -> &[f64]| {
            Figure::Chart(Chart {
                title: format!("{title}{trials}"),
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
            chart("Load through the outage", "requests per second", |course| &course.load),
            chart("Calls that succeed", "calls per second", |course| &course.goodput),
            strip,
            work_and_success(found),
        ]
    }

    fn about_timeouts(&self, policies: &[Candidate]) -> Option<String> {
        let all_have_one = policies.iter().all(|candidate| candidate.timeout.is_some());
        let usual = human(self.outage.timeout);
        (!all_have_one)
            .then(|| format!("Attempts time out after {usual}, unless their policy has a timeout."))
    }
}

impl Setting {
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
                seconds => format!("{} after the outage", amount(seconds, 0.0, Unit::Seconds)),
            };
            let gave_up = results.gave_up.map_or(0.0, |estimate| estimate.mean);
            format!(
                "With {policy} the service recovers {when}; {} of the calls give up, and the load peaks at {} times the usual.",
                amount(gave_up, 0.0, Unit::Share),
                amount(results.peak.mean, 0.0, Unit::Count),
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

impl Found<Results> {
    fn series(&self, quantity: fn(&Timeline) -> &[f64]) -> Series {
        let course = |timeline: &Timeline| {
            let values = timeline.starts_s.iter().zip(quantity(timeline));
            values.map(|(&x, &y)| Point::new(x, y)).collect()
        };
        Series::of_trials(self.name.clone(), self.results.timelines.iter().map(course))
    }
}

/// Which trials are drawn, where there are several.
fn trials_words(results: &Results) -> String {
    match (results.timelines.len(), results.trials as usize) {
        (0 | 1, _) => String::new(),
        (drawn, all) if drawn == all => format!(": each of {all} trials"),
        (drawn, all) => format!(": the first {drawn} of {all} trials"),
    }
}

/// What the calls cost, and how many give up.
fn work_and_success(found: &[Found<Results>]) -> Figure {
    let series = |one: &Found<Results>| {
        let gave_up = one.results.gave_up.map_or(0.0, |estimate| 100.0 * estimate.mean);
        let point = Point::new(one.results.amplification.mean, gave_up);
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
