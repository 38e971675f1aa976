//! `layers`: how many attempts one call becomes where every layer of a system retries.

use std::time::Duration;

use clap::Args;
use redial_sim::layers::{Comparison, Layers, Results};
use serde_json::{Value as Json, json};

use super::budget::BudgetFlags;
use super::measure::Unit::{Milliseconds, Times};
use super::measure::{Unit, Value, amount};
use super::scenario::{AllResults, Change, PolicyResults, Quantity, Scenario, Trials, set};
use super::value::{self, Share};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style};
use crate::output::Failure;

#[derive(Args)]
pub(crate) struct LayersFlags {
    /// how many layers retry [default: 3]
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// the share of attempts that fail at the bottom [default: 100%]
    #[arg(long, value_name = "SHARE", value_parser = value::share)]
    errors: Option<Share>,
    #[command(flatten)]
    budget: BudgetFlags,
    /// how many calls at the top [default: 1000]
    #[arg(long, value_name = "N")]
    calls: Option<u32>,
    /// how long an attempt takes at the bottom [default: 10ms]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    attempt_time: Option<Duration>,
}

pub(crate) struct LayersSettings {
    layers: Layers,
    budget: BudgetFlags,
}

impl Scenario for LayersSettings {
    type Simulated = Layers;
    type Flags = LayersFlags;

    const NAME: &'static str = "layers";
    const ABOUT: &'static str = "services that call each other and all retry";
    const EXAMPLES: &'static [&'static str] = &["layers --depth 3 -n 4"];
    const MEASURES: &'static [Quantity<Results>] = &[
        ("amplification", Some("attempts per call"), Times, |all| all.amplification.into()),
        ("worst", Some("at worst"), Times, |all| Value::Number(all.worst as f64)),
        ("closed_form", Some("in theory"), Times, |all| {
            Value::Number(all.closed_form.unwrap_or(f64::NAN))
        }),
        ("succeeded", Some("succeed"), Unit::Share, |all| all.succeeded.into()),
        ("time_ms", Some("time"), Milliseconds, |all| all.time_ms.into()),
        ("time_p99_ms", Some("99% within"), Milliseconds, |all| all.time_p99_ms.into()),
    ];
    const CHANGES: &'static [Change<Comparison>] = &[
        ("amplification", |change| Some(change.amplification)),
        ("succeeded", |change| Some(change.succeeded)),
        ("time_ms", |change| Some(change.time_ms)),
    ];

    fn new(flags: LayersFlags) -> Result<Self, Failure> {
        let budget = flags.budget;
        budget.check()?;
        let mut layers = Layers::default().budget(budget.builder());
        set(&mut layers.depth, flags.depth);
        set(&mut layers.errors, flags.errors.map(|share| share.0));
        set(&mut layers.calls, flags.calls);
        set(&mut layers.attempt_time, flags.attempt_time);
        Ok(Self { layers, budget })
    }

    fn title(&self) -> String {
        let bottom = match self.layers.errors {
            1.0 => "is down".into(),
            errors => format!("fails {} of its attempts", amount(errors, Unit::Share)),
        };
        format!("{} layers that retry, over one that {bottom}", self.layers.depth)
    }

    fn json(&self) -> Json {
        json!({
            "name": Self::NAME,
            "depth": self.layers.depth,
            "errors": self.layers.errors,
            "budget": self.budget.json(),
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

    fn lead(&self, all: &AllResults<'_, Results>) -> Vec<String> {
        let layers = match self.layers.depth {
            1 => "at one layer".into(),
            depth => format!("at each of {depth} layers"),
        };
        let in_order = |_: &Results| 0.0;
        all.sentences(in_order, |results, policy| {
            let attempts = match results.amplification.mean {
                1.0 => "one attempt".into(),
                attempts => format!("{} attempts", amount(attempts, Unit::Count)),
            };
            format!(
                "With {policy} {layers}, one call becomes {attempts} at the bottom ({} at worst); {} of the calls succeed.",
                amount(results.worst as f64, Unit::Count),
                amount(results.succeeded.mean, Unit::Share),
            )
        })
    }

    fn figures(&self, all: &AllResults<'_, Results>) -> Vec<Figure> {
        let series = |one: &PolicyResults<Results>| {
            // The calls of each layer from the top, and then the attempts that reach the bottom.
            let reached = one.results.per_layer.iter().chain([&one.results.amplification]);
            let points =
                reached.enumerate().map(|(layer, estimate)| Point::of(layer as f64, estimate));
            Series { name: one.name.clone(), points: points.collect(), style: Style::Line }
        };
        vec![Figure::Chart(Chart::new(
            "What one call becomes, layer by layer",
            Axis::new("layers below the top", Scale::Whole),
            Axis::new("calls", Scale::Logarithmic),
            all.complete.iter().map(series).collect(),
        ))]
    }
}
