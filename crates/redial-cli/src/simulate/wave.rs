//! `wave`: how many retries hit a service at once that all its clients have lost at once.

use std::time::Duration;

use redial_sim::wave::{Comparison, Results, Timeline, Wave};
use serde_json::{Value as Json, json};

use super::outcome::{Measure, Unit, amount};
use super::scenario::{Change, Findings, Found, Quantity, Scenario, Trials, set};
use crate::args::SettingFlags;
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Strip, Table};
use crate::duration::human;
use crate::output::Failure;

/// How many clients, and how closely they are looked at.
pub(crate) struct Setting {
    wave: Wave,
}

impl Scenario for Setting {
    type Simulated = Wave;

    const NAME: &'static str = "wave";
    const SETTINGS: &'static [&'static str] = &["clients", "window", "until", "down"];
    const MEASURES: &'static [Quantity<Results>] = &[
        Quantity::titled("peak", "peak", Unit::Count, |results| results.peak.into()),
        Quantity::titled("peak_share", "of the clients", Unit::Share, |results| {
            results.peak_share.into()
        }),
        Quantity::titled("peak_at_s", "peak at", Unit::Seconds, |results| results.peak_at_s.into()),
        Quantity::titled("retries", "retries each", Unit::Count, |results| results.retries.into()),
        Quantity::titled("last_s", "last at", Unit::Seconds, |results| results.last_s.into()),
        Quantity::titled("gave_up", "give up", Unit::Share, |results| results.gave_up.into()),
        Quantity::new("still_trying", Unit::Share, |results| results.still_trying.into()),
        Quantity::titled("back", "succeed", Unit::Share, |results| results.back.into()),
        Quantity::titled("back_p50_s", "half of them by", Unit::Seconds, |results| {
            results.back_p50_s.into()
        }),
        Quantity::titled("back_p99_s", "99% by", Unit::Seconds, |results| {
            results.back_p99_s.into()
        }),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("peak", |change| Some(change.peak)),
        ("retries", |change| Some(change.retries)),
        ("gave_up", |change| Some(change.gave_up)),
        ("back", |change| Some(change.back)),
    ];

    fn new(flags: &SettingFlags) -> Result<Self, Failure> {
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
        let clients = amount(self.wave.clients.into(), 0.0, Unit::Count);
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

    fn lead(&self, findings: &Findings<'_, Results>) -> Vec<String> {
        let answer = |one: &Found<Results>| self.answer(&one.results, &findings.called(one));
        findings.sentences(|results| results.peak.mean, answer)
    }

    fn tables(&self, findings: &Findings<'_, Results>) -> Vec<Table> {
        let window = human(self.wave.window);
        let caption = format!("By policy; the peak is the most retries within {window}");
        findings.tables(
            caption,
            match self.wave.down {
                Some(_) => |_: &Measure| true,
                None => |measure: &Measure| !measure.key.starts_with("back"),
            },
        )
    }

    fn figures(&self, findings: &Findings<'_, Results>) -> Vec<Figure> {
        let found = findings.found;
        let time = || Axis { label: "seconds since all failed".into(), scale: Scale::Linear };
        // Rows of one strip have cells of one length: the longest of them.
        let bin =
            found.iter().map(|one| one.results.timeline.bin).max().unwrap_or(self.wave.window);
        let series = |one: &Found<Results>| {
            let point = |(at, arrivals)| Point::new(at as f64 * bin.as_secs_f64(), arrivals);
            let course =
                |course| cells(course, bin).into_iter().enumerate().map(point).collect::<Vec<_>>();
            Series::of_trials(one.name.clone(), one.results.timelines.iter().map(course))
        };
        let label = format!("retries within {}", human(bin));
        // Where one policy comes at one moment, a chart shows nothing of the others.
        vec![
            Figure::Strip(Strip {
                title: "When they arrive".into(),
                x: time(),
                start: 0.0,
                bin: bin.as_secs_f64(),
                rows: found
                    .iter()
                    .map(|one| (one.name.clone(), cells(&one.results.timeline, bin)))
                    .collect(),
                unit: label.clone(),
            }),
            Figure::Chart(Chart {
                title: "Retries that arrive, trial by trial".into(),
                x: time(),
                y: Axis { label, scale: Scale::Linear },
                series: found.iter().map(series).collect(),
                levels: Vec::new(),
                bands: Vec::new(),
            }),
        ]
    }
}

impl Setting {
    fn answer(&self, results: &Results, name: &str) -> String {
        if results.peak.mean == 0.0 {
            return format!("With {name} nobody comes back.");
        }
        let window = human(self.wave.window);
        let clients = amount(self.wave.clients.into(), 0.0, Unit::Count);
        let peak = amount(results.peak.mean, 0.0, Unit::Count);
        let share = amount(results.peak_share.mean, 0.0, Unit::Share);
        // Within a long window a client comes back more than once.
        let what = if results.peak_share.mean > 1.0 { "retries of" } else { "of" };
        let end = self.wave.down.map(|_| in_the_end(results)).unwrap_or_default();
        format!(
            "With {name} up to {peak} {what} {clients} clients come back within the same {window} ({share}).{end}"
        )
    }
}

/// Arrivals in cells of this length, which is that of the timeline or twice that, and so on.
fn cells(timeline: &Timeline, bin: Duration) -> Vec<f64> {
    let together = (bin.as_nanos() / timeline.bin.as_nanos().max(1)).max(1) as usize;
    timeline.arrivals.chunks(together).map(|cells| cells.iter().sum()).collect()
}

fn in_the_end(results: &Results) -> String {
    let Some(last) = &results.back_last_s else {
        return " Nobody succeeds in the end.".into();
    };
    let share = amount(results.back.mean, 0.0, Unit::Share);
    let last = amount(last.mean, 0.0, Unit::Seconds);
    format!(" {share} succeed in the end, the last after {last}.")
}
