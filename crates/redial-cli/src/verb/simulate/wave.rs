//! `wave`: how many retries hit a service at once that all its clients have lost at once.

use std::time::Duration;

use clap::Args;
use redial_sim::wave::{Comparison, Results, Timeline, Wave};
use serde_json::{Value as Json, json};

use super::measure::Unit::{Count, Seconds};
use super::measure::{Measure, Unit, amount};
use super::scenario::{AllResults, Change, PolicyResults, Quantity, Scenario, Trials, set};
use super::value::{self, Clients};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Strip, Table};
use crate::duration::human;
use crate::output::Failure;

#[derive(Args)]
pub(crate) struct WaveFlags {
    /// how many clients, such as 100, 5,10,20, 10..190, or 10..190:30 with a step
    #[arg(long, value_name = "N", value_parser = value::clients)]
    clients: Option<Clients>,
    /// the length of the window within which the most retries are counted [default: 20ms]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    window: Option<Duration>,
    /// when a trial ends [default: 1min]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    until: Option<Duration>,
    /// when the service comes back [default: never]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    down: Option<Duration>,
}

pub(crate) struct WaveSettings {
    wave: Wave,
}

impl Scenario for WaveSettings {
    type Simulated = Wave;
    type Flags = WaveFlags;

    const NAME: &'static str = "wave";
    const ABOUT: &'static str =
        "clients that all fail at once, and what their retries do to a service that stays down";
    const EXAMPLES: &'static [&'static str] =
        &["wave --clients 100000 --with 'retry: 5, delay: 1s, backoff: exponential, jitter: full'"];
    const MEASURES: &'static [Quantity<Results>] = &[
        ("peak", Some("peak"), Count, |all| all.peak.into()),
        ("peak_share", Some("of the clients"), Unit::Share, |all| all.peak_share.into()),
        ("peak_at_s", Some("peak at"), Seconds, |all| all.peak_at_s.into()),
        ("retries", Some("retries each"), Count, |all| all.retries.into()),
        ("last_s", Some("last at"), Seconds, |all| all.last_s.into()),
        ("gave_up", Some("give up"), Unit::Share, |all| all.gave_up.into()),
        ("still_trying", None, Unit::Share, |all| all.still_trying.into()),
        ("back", Some("succeed"), Unit::Share, |all| all.back.into()),
        ("back_p50_s", Some("half of them by"), Seconds, |all| all.back_p50_s.into()),
        ("back_p99_s", Some("99% by"), Seconds, |all| all.back_p99_s.into()),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("peak", |change| Some(change.peak)),
        ("retries", |change| Some(change.retries)),
        ("gave_up", |change| Some(change.gave_up)),
        ("back", |change| Some(change.back)),
    ];

    fn new(flags: WaveFlags) -> Result<Self, Failure> {
        let mut wave = Wave::default();
        match flags.clients.as_ref().map(|clients| clients.0.as_slice()) {
            None => {}
            Some([clients]) => wave.clients = *clients,
            Some(_) => {
                return Err(Failure::from("--clients: a wave is of one crowd; name one number"));
            }
        }
        set(&mut wave.window, flags.window);
        set(&mut wave.until, flags.until);
        wave.down = flags.down;
        Ok(Self { wave })
    }

    fn title(&self) -> String {
        let clients = amount(self.wave.clients.into(), Unit::Count);
        match self.wave.down.map(human) {
            None => format!("{clients} clients fail at once, and the service stays down"),
            Some(down) => {
                format!("{clients} clients fail at once, and the service is back after {down}")
            }
        }
    }

    fn json(&self) -> Json {
        json!({
            "name": Self::NAME,
            "clients": self.wave.clients,
            "window_ms": self.wave.window.as_secs_f64() * 1e3,
            "until_s": self.wave.until.as_secs_f64(),
            "down_s": self.wave.down.map(|down| down.as_secs_f64()),
        })
    }

    fn clients(&self, _: Option<u32>) -> u32 {
        self.wave.clients
    }

    fn simulated(&self, _: Option<u32>, _: Option<Duration>, _: &Trials) -> Wave {
        self.wave
    }

    fn lead(&self, all: &AllResults<'_, Results>) -> Vec<String> {
        all.sentences(|results| results.peak.mean, |results, policy| self.answer(results, policy))
    }

    fn tables(&self, all: &AllResults<'_, Results>) -> Vec<Table> {
        let window = human(self.wave.window);
        let is_shown = match self.wave.down {
            Some(_) => |_: &Measure| true,
            None => |measure: &Measure| !measure.key.starts_with("back"),
        };
        all.tables(format!("By policy; the peak is the most retries within {window}"), is_shown)
    }

    fn figures(&self, all: &AllResults<'_, Results>) -> Vec<Figure> {
        let time = || Axis::new("seconds since all failed", Scale::Linear);
        // Rows of one strip have cells of one length: the longest of them.
        let bins = all.complete.iter().map(|one| one.results.timeline.bin);
        let bin = bins.max().unwrap_or(self.wave.window);
        let seconds = bin.as_secs_f64();
        let row =
            |one: &PolicyResults<Results>| (one.name.clone(), in_bins(&one.results.timeline, bin));
        let series = |one: &PolicyResults<Results>| {
            let trial = |timeline| {
                let peaks = in_bins(timeline, bin).into_iter().enumerate();
                peaks.map(|(at, peak)| Point::new(at as f64 * seconds, peak)).collect()
            };
            Series::of_trials(one.name.clone(), one.results.timelines.iter().map(trial))
        };
        // The same window as that of the peak in words and tables.
        let unit = format!("retries within {}", human(self.wave.window));
        vec![
            Figure::Strip(Strip {
                title: "When they arrive".into(),
                x: time(),
                start: 0.0,
                bin: seconds,
                rows: all.complete.iter().map(row).collect(),
                unit: unit.clone(),
            }),
            Figure::Chart(Chart::with_fitting_scale(
                "Retries that arrive, trial by trial",
                time(),
                unit,
                all.complete.iter().map(series).collect(),
            )),
        ]
    }
}

impl WaveSettings {
    fn answer(&self, results: &Results, name: &str) -> String {
        if results.peak.mean == 0.0 {
            return format!("With {name} nobody comes back.");
        }
        let window = human(self.wave.window);
        let clients = amount(self.wave.clients.into(), Unit::Count);
        let peak = amount(results.peak.mean, Unit::Count);
        let share = amount(results.peak_share.mean, Unit::Share);
        // Within a long window a client comes back more than once.
        let what = if results.peak_share.mean > 1.0 { "retries of" } else { "of" };
        let end = self.wave.down.map(|_| in_the_end(results)).unwrap_or_default();
        format!(
            "With {name} up to {peak} {what} {clients} clients come back within the same {window} ({share}).{end}"
        )
    }
}

/// The peaks of a timeline in bins of this length, which is that of its own doubled any number of
/// times.
fn in_bins(timeline: &Timeline, bin: Duration) -> Vec<f64> {
    let together = (bin.as_nanos() / timeline.bin.as_nanos().max(1)).max(1) as usize;
    timeline
        .arrivals
        .chunks(together)
        .map(|some| some.iter().copied().fold(0.0, f64::max))
        .collect()
}

fn in_the_end(results: &Results) -> String {
    let Some(last) = &results.back_last_s else {
        return " Nobody succeeds in the end.".into();
    };
    let share = amount(results.back.mean, Unit::Share);
    let last = amount(last.mean, Unit::Seconds);
    format!(" {share} succeed in the end, the last after {last}.")
}
