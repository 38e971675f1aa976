//! `layers`: what a call at the top becomes at the bottom, where every layer between retries.

use std::time::Duration;

use redial_sim::{CutShort, Estimate, Invalid, Layers, LayersResults, LayersRun};
use serde_json::{Value as Json, json};

use super::outage::Tokens;
use super::outcome::{Measure, Unit, Value, amount, changes, table};
use super::{Candidate, Found, Ran, Simulated, Trials, each, tried};
use crate::args::SettingFlags;
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style};
use crate::output::Failure;

/// How many layers, over what.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    depth: u32,
    errors: f64,
    budget: Option<Tokens>,
    calls: u32,
    attempt_time: Duration,
}

pub(crate) const MEASURES: &[Measure] = &[
    Measure::new("amplification", Unit::Times),
    Measure::new("worst", Unit::Times),
    Measure::new("closed_form", Unit::Times),
    Measure::new("succeeded", Unit::Share),
    Measure::new("time_ms", Unit::Milliseconds),
    Measure::new("time_p99_ms", Unit::Milliseconds),
];

/// Which of them stand in the table, and under what.
const SHOWN: [(usize, &str); 6] = [
    (0, "attempts per call"),
    (1, "at worst"),
    (2, "in theory"),
    (3, "succeed"),
    (4, "time"),
    (5, "99% within"),
];

impl Setting {
    pub(crate) fn new(flags: &SettingFlags) -> Result<Self, Failure> {
        Ok(Self {
            depth: flags.depth.unwrap_or(3),
            errors: flags.errors.map_or(1.0, |share| share.0),
            budget: Tokens::new(flags)?,
            calls: flags.calls.unwrap_or(1000),
            attempt_time: flags.attempt_time.unwrap_or(Duration::from_millis(10)),
        })
    }

    fn scenario(&self) -> Layers {
        Layers::new(self.depth)
            .errors(self.errors)
            .service(self.attempt_time)
            .budget(self.budget.map(Tokens::builder))
            .calls(self.calls)
    }

    pub(crate) fn title(&self) -> String {
        let bottom = match self.errors {
            1.0 => "is down".into(),
            errors => format!("fails {} of its attempts", amount(errors, 0.0, Unit::Share)),
        };
        format!("{} layers that retry, over one that {bottom}", self.depth)
    }

    pub(crate) fn json(&self) -> Json {
        json!({
            "name": "layers",
            "depth": self.depth,
            "errors": self.errors,
            "budget": self.budget.map(Tokens::json),
            "calls": self.calls,
            "attempt_time_ms": self.attempt_time.as_secs_f64() * 1e3,
        })
    }

    pub(crate) fn run(&self, policies: &[Candidate], trials: &Trials) -> Result<Ran, Invalid> {
        let run = |candidate: &Candidate| {
            tried!(self.scenario(), self.calls, trials).run(&candidate.policy)
        };
        let (outcomes, found) = each(policies, run, values)?;
        Ok(Ran {
            lead: self.lead(&found, policies.len()),
            tables: std::iter::once(table("By policy".into(), &outcomes, MEASURES, &SHOWN))
                .chain(changes(&outcomes, MEASURES, &SHOWN))
                .collect(),
            figures: if found.is_empty() { Vec::new() } else { vec![by_layer(&found)] },
            outcomes,
        })
    }

    fn lead(&self, found: &[Found<LayersResults>], policies: usize) -> Vec<String> {
        let sentence = |one: &Found<LayersResults>| {
            let name = one.called(policies);
            let layers = match self.depth {
                1 => "at one layer".into(),
                depth => format!("at each of {depth} layers"),
            };
            let attempts = match one.results.amplification.mean {
                1.0 => "one attempt".into(),
                attempts => format!("{} attempts", amount(attempts, 0.0, Unit::Count)),
            };
            format!(
                "With {name} {layers}, one call becomes {attempts} at the bottom ({} at worst); {} of the calls succeed.",
                amount(one.results.worst as f64, 0.0, Unit::Count),
                amount(one.results.succeeded.mean, 0.0, Unit::Share),
            )
        };
        match found.is_empty() {
            true => vec!["No policy came to an end.".into()],
            false => found.iter().map(sentence).collect(),
        }
    }
}

fn by_layer(found: &[Found<LayersResults>]) -> Figure {
    let series = |one: &Found<LayersResults>| {
        // The calls of each layer from the top, and then the attempts that reach the bottom.
        let reached = one.results.per_layer.iter().chain([&one.results.amplification]);
        let points = reached.enumerate().map(|(layer, estimate)| Point {
            x: layer as f64,
            y: estimate.mean,
            error: estimate.ci95,
        });
        Series { name: one.name.clone(), points: points.collect(), style: Style::Line }
    };
    Figure::Chart(Chart {
        title: "What one call becomes, layer by layer".into(),
        x: Axis { label: "layers below the top".into(), scale: Scale::Whole },
        y: Axis { label: "calls".into(), scale: Scale::Logarithmic },
        series: found.iter().map(series).collect(),
        levels: Vec::new(),
        bands: Vec::new(),
    })
}

impl Simulated for LayersRun {
    type Results = LayersResults;
    type Cut = CutShort;

    fn ended(&self) -> usize {
        self.trials().len()
    }

    fn outcome(&self) -> Result<LayersResults, CutShort> {
        self.results()
    }

    fn against_first(&self, first: &Self) -> Option<Vec<(&'static str, Estimate)>> {
        let change = self.against(first)?;
        Some(vec![
            ("amplification", change.amplification),
            ("succeeded", change.succeeded),
            ("time_ms", change.time_ms),
        ])
    }
}

fn values(results: &LayersResults) -> Vec<Value> {
    vec![
        Value::Estimate(results.amplification),
        Value::Number(results.worst as f64),
        Value::Number(results.closed_form.unwrap_or(f64::NAN)),
        Value::Estimate(results.succeeded),
        Value::Estimate(results.time_ms),
        Value::Estimate(results.time_p99_ms),
    ]
}
