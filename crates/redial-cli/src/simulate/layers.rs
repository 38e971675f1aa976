//! `layers`: what a call at the top becomes at the bottom, where every layer between retries.

use std::time::Duration;

use redial_sim::layers::{Comparison, Layers, Results};
use serde_json::{Value as Json, json};

use super::budget::Tokens;
use super::outcome::{Unit, Value, amount};
use super::scenario::{Change, Findings, Found, Quantity, Scenario, Trials, set};
use crate::args::SettingFlags;
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style};
use crate::output::Failure;

/// How many layers, over what.
pub(crate) struct Setting {
    layers: Layers,
    budget: Option<Tokens>,
}

impl Scenario for Setting {
    type Simulated = Layers;

    const NAME: &'static str = "layers";
    const SETTINGS: &'static [&'static str] =
        &["depth", "errors", "budget", "budget_burst", "budget_floor", "calls", "attempt_time"];
    const MEASURES: &'static [Quantity<Results>] = &[
        Quantity::titled("amplification", "attempts per call", Unit::Times, |results| {
            results.amplification.into()
        }),
        Quantity::titled("worst", "at worst", Unit::Times, |results| {
            Value::Number(results.worst as f64)
        }),
        Quantity::titled("closed_form", "in theory", Unit::Times, |results| {
            Value::Number(results.closed_form.unwrap_or(f64::NAN))
        }),
        Quantity::titled("succeeded", "succeed", Unit::Share, |results| results.succeeded.into()),
        Quantity::titled("time_ms", "time", Unit::Milliseconds, |results| results.time_ms.into()),
        Quantity::titled("time_p99_ms", "99% within", Unit::Milliseconds, |results| {
            results.time_p99_ms.into()
        }),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("amplification", |change| Some(change.amplification)),
        ("succeeded", |change| Some(change.succeeded)),
        ("time_ms", |change| Some(change.time_ms)),
    ];

    fn new(flags: &SettingFlags) -> Result<Self, Failure> {
        let mut layers = Layers::default();
        set(&mut layers.depth, flags.depth);
        set(&mut layers.errors, flags.errors.map(|share| share.0));
        set(&mut layers.calls, flags.calls);
        set(&mut layers.attempt_time, flags.attempt_time);
        let budget = Tokens::new(flags)?;
        layers.budget = budget.map(Tokens::builder);
        Ok(Self { layers, budget })
    }

    fn title(&self) -> String {
        let bottom = match self.layers.errors {
            1.0 => "is down".into(),
            errors => format!("fails {} of its attempts", amount(errors, 0.0, Unit::Share)),
        };
        format!("{} layers that retry, over one that {bottom}", self.layers.depth)
    }

    fn json(&self) -> Json {
        json!({
            "name": Self::NAME,
            "depth": self.layers.depth,
            "errors": self.layers.errors,
            "budget": self.budget.map(Tokens::json),
            "calls": self.layers.calls,
            "attempt_time_ms": self.layers.attempt_time.as_secs_f64() * 1e3,
        })
    }

    fn clients(&self, _: Option<u32>) -> u32 {
        self.layers.calls
    }

    fn simulated(&self, _: Option<u32>, _: Option<Duration>, _: &Trials) -> Layers {
        self.layers
    }

    fn lead(&self, findings: &Findings<'_, Results>) -> Vec<String> {
        let layers = match self.layers.depth {
            1 => "at one layer".into(),
            depth => format!("at each of {depth} layers"),
        };
        let in_order = |_: &Results| 0.0;
        findings.sentences(in_order, |one| {
            let name = findings.called(one);
            let attempts = match one.results.amplification.mean {
                1.0 => "one attempt".into(),
                attempts => format!("{} attempts", amount(attempts, 0.0, Unit::Count)),
            };
            format!(
                "With {name} {layers}, one call becomes {attempts} at the bottom ({} at worst); {} of the calls succeed.",
                amount(one.results.worst as f64, 0.0, Unit::Count),
                amount(one.results.succeeded.mean, 0.0, Unit::Share),
            )
        })
    }

    fn figures(&self, findings: &Findings<'_, Results>) -> Vec<Figure> {
        vec![by_layer(findings.found)]
    }
}

fn by_layer(found: &[Found<Results>]) -> Figure {
    let series = |one: &Found<Results>| {
        // The calls of each layer from the top, and then the attempts that reach the bottom.
        let reached = one.results.per_layer.iter().chain([&one.results.amplification]);
        let points = reached.enumerate().map(|(layer, estimate)| Point {
            x: layer as f64,
            y: estimate.mean,
            interval: (estimate.low, estimate.high),
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
