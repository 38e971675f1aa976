//! `wave`: how many retries hit a service at once that all its clients have lost at once.

use std::time::Duration;

use redial_sim::{CutShort, Estimate, Invalid, Wave, WaveResults, WaveRun};
use serde_json::{Value as Json, json};

use super::outcome::{Measure, Outcome, Unit, Value, amount, changes, table};
use super::{Candidate, Found, Ran, Simulated, Trials, each, tried};
use crate::args::SettingFlags;
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Strip, Style, Table};
use crate::duration::human;
use crate::output::Failure;

/// How many clients, and how closely they are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    clients: u32,
    window: Duration,
    until: Duration,
    down: Option<Duration>,
}

pub(crate) const MEASURES: &[Measure] = &[
    Measure::new("peak", Unit::Count),
    Measure::new("peak_share", Unit::Share),
    Measure::new("peak_at_s", Unit::Seconds),
    Measure::new("retries", Unit::Count),
    Measure::new("last_s", Unit::Seconds),
    Measure::new("gave_up", Unit::Share),
    Measure::new("still_trying", Unit::Share),
    Measure::new("back", Unit::Share),
    Measure::new("back_p50_s", Unit::Seconds),
    Measure::new("back_p99_s", Unit::Seconds),
];

impl Setting {
    pub(crate) fn new(flags: &SettingFlags) -> Result<Self, Failure> {
        let clients = match flags.clients.as_ref().map(|clients| clients.0.as_slice()) {
            None => 1000,
            Some([clients]) => *clients,
            Some(_) => {
                return Err(Failure::from("--clients: a wave is of one crowd; name one number"));
            }
        };
        Ok(Self {
            clients,
            window: flags.window.unwrap_or(Duration::from_millis(20)),
            until: flags.until.unwrap_or(Duration::from_secs(60)),
            down: flags.down,
        })
    }

    fn scenario(&self) -> Wave {
        Wave::new(self.clients).window(self.window).until(self.until).down(self.down)
    }

    pub(crate) fn title(&self) -> String {
        let clients = amount(self.clients.into(), 0.0, Unit::Count);
        match self.down {
            None => format!("{clients} clients fail at once, and the service stays down"),
            Some(down) => {
                format!(
                    "{clients} clients fail at once, and the service is back after {}",
                    human(down)
                )
            }
        }
    }

    pub(crate) fn json(&self) -> Json {
        json!({
            "name": "wave",
            "clients": self.clients,
            "window_ms": self.window.as_secs_f64() * 1e3,
            "until_s": self.until.as_secs_f64(),
            "down_s": self.down.map(|down| down.as_secs_f64()),
        })
    }

    pub(crate) fn run(&self, policies: &[Candidate], trials: &Trials) -> Result<Ran, Invalid> {
        let run = |candidate: &Candidate| {
            tried!(self.scenario(), self.clients, trials).run(&candidate.policy)
        };
        let (outcomes, found) = each(policies, run, values)?;
        Ok(Ran {
            lead: self.lead(&found, policies.len()),
            tables: self.tables(&outcomes),
            figures: if found.is_empty() { Vec::new() } else { self.figures(&found) },
            outcomes,
        })
    }

    fn lead(&self, found: &[Found<WaveResults>], policies: usize) -> Vec<String> {
        let mut found: Vec<_> = found.iter().collect();
        found.sort_by(|one, other| one.results.peak.mean.total_cmp(&other.results.peak.mean));
        match found.is_empty() {
            true => vec!["No policy came to an end.".into()],
            false => found.into_iter().map(|one| self.answer(one, policies)).collect(),
        }
    }

    fn answer(&self, found: &Found<WaveResults>, policies: usize) -> String {
        let (name, results) = (found.called(policies), &found.results);
        if results.peak.mean == 0.0 {
            return format!("With {name} nobody comes back.");
        }
        let window = human(self.window);
        let clients = amount(self.clients.into(), 0.0, Unit::Count);
        let peak = amount(results.peak.mean, 0.0, Unit::Count);
        let share = amount(results.peak_share.mean, 0.0, Unit::Share);
        // Within a long window a client comes back more than once.
        let what = if results.peak_share.mean > 1.0 { "retries of" } else { "of" };
        let end = self.down.map(|_| in_the_end(results)).unwrap_or_default();
        format!(
            "With {name} up to {peak} {what} {clients} clients come back within the same {window} ({share}).{end}"
        )
    }

    fn tables(&self, outcomes: &[Outcome]) -> Vec<Table> {
        let back: &[(usize, &str)] = if self.down.is_some() {
            &[(7, "succeed"), (8, "half of them by"), (9, "99% by")]
        } else {
            &[]
        };
        let mut shown = vec![
            (0, "peak"),
            (1, "of the clients"),
            (2, "peak at"),
            (3, "retries each"),
            (4, "last at"),
            (5, "give up"),
        ];
        shown.extend(back);
        let window = human(self.window);
        let caption = format!("By policy; the peak is the most retries within {window}");
        let numbers = table(caption, outcomes, MEASURES, &shown);
        std::iter::once(numbers).chain(changes(outcomes, MEASURES, &shown)).collect()
    }

    fn figures(&self, found: &[Found<WaveResults>]) -> Vec<Figure> {
        let time = || Axis { label: "seconds since all failed".into(), scale: Scale::Linear };
        // Rows of one strip have cells of one length: the longest of them.
        let bin = found.iter().map(|one| one.results.timeline.bin).max().unwrap_or(self.window);
        let series = |one: &Found<WaveResults>| {
            let cells = one.cells(bin);
            let points = cells.iter().enumerate().map(|(at, arrivals)| Point {
                x: at as f64 * bin.as_secs_f64(),
                y: *arrivals,
                error: 0.0,
            });
            Series { name: one.name.clone(), points: points.collect(), style: Style::Steps }
        };
        let label = format!("retries within {}", human(bin));
        // Where one policy comes at one moment, a chart shows nothing of the others.
        vec![
            Figure::Strip(Strip {
                title: "When they arrive".into(),
                x: time(),
                start: 0.0,
                bin: bin.as_secs_f64(),
                rows: found.iter().map(|one| (one.name.clone(), one.cells(bin))).collect(),
                unit: label.clone(),
            }),
            Figure::Chart(Chart {
                title: "Retries that arrive".into(),
                x: time(),
                y: Axis { label, scale: Scale::Linear },
                series: found.iter().map(series).collect(),
                levels: Vec::new(),
                bands: Vec::new(),
            }),
        ]
    }
}

impl Found<WaveResults> {
    /// Its arrivals in cells of this length, which is its own or twice that, and so on.
    fn cells(&self, bin: Duration) -> Vec<f64> {
        let own = self.results.timeline.bin.as_nanos().max(1);
        let together = (bin.as_nanos() / own).max(1) as usize;
        self.results.timeline.arrivals.chunks(together).map(|cells| cells.iter().sum()).collect()
    }
}

impl Simulated for WaveRun {
    type Results = WaveResults;
    type Cut = CutShort;

    fn ended(&self) -> usize {
        self.trials().len()
    }

    fn outcome(&self) -> Result<WaveResults, CutShort> {
        self.results()
    }

    fn against_first(&self, first: &Self) -> Option<Vec<(&'static str, Estimate)>> {
        let change = self.against(first)?;
        Some(vec![
            ("peak", change.peak),
            ("retries", change.retries_per_client),
            ("gave_up", change.gave_up),
            ("back", change.back),
        ])
    }
}

fn in_the_end(results: &WaveResults) -> String {
    let Some(back) = &results.back_s else {
        return " Nobody succeeds in the end.".into();
    };
    let share = amount(results.back.mean, 0.0, Unit::Share);
    let last = amount(back.last.mean, 0.0, Unit::Seconds);
    format!(" {share} succeed in the end, the last after {last}.")
}

fn values(results: &WaveResults) -> Vec<Value> {
    vec![
        Value::Estimate(results.peak),
        Value::Estimate(results.peak_share),
        results.peak_at_s.into(),
        Value::Estimate(results.retries_per_client),
        results.last_s.into(),
        Value::Estimate(results.gave_up),
        Value::Estimate(results.still_trying),
        Value::Estimate(results.back),
        results.back_s.map(|back| back.p50).into(),
        results.back_s.map(|back| back.p99).into(),
    ]
}
