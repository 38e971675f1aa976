//! `redial tune`: the best policy for a scenario, and what it gains against yours.

use clap::ArgMatches;
use redial_policy::Timing;
use redial_sim::tune::{Candidate as Tried, Tuned};
use redial_sim::{Invalid, Search};
use serde_json::{Value as Json, json};

use crate::args::{self, PolicyFlags};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style, Table};
use crate::environment;
use crate::output::Failure;
use crate::verb::simulate::assertion::Assertion;
use crate::verb::simulate::candidate::Candidate;
use crate::verb::simulate::contention::ContentionSettings;
use crate::verb::simulate::file::Written;
use crate::verb::simulate::measure::{Measured, Unit, Value, amount};
use crate::verb::simulate::progress::watched;
use crate::verb::simulate::report::SimulationReport;
use crate::verb::simulate::scenario::{self, Scenario, Trials};
use crate::verb::simulate::{check_files, finish, written};

/// More crowds make the search slower and no better.
const CROWDS_MAX: usize = 5;

/// Added to the seed for the final measurement, so that it uses other random numbers than the
/// search.
const SEED_OFFSET: u64 = 0x5eed;

/// The indices of the two policies of the final measurement.
const YOURS: usize = 0;
const TUNED: usize = 1;

/// A longer front is thinned out in the table.
const FRONT_MAX: usize = 12;

#[inline(never)]
pub(crate) fn run(arguments: args::Tune, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let Written { arguments, matches } =
        written(arguments, |arguments| &arguments.scenario, matches)?;
    check_files(&arguments.output)?;
    if arguments.scenario != ContentionSettings::NAME {
        return Err(Failure::Message(format!(
            "tune searches for contention alone, not for {}; redial simulate {} compares policies that you name",
            arguments.scenario, arguments.scenario,
        )));
    }
    let settings: ContentionSettings = scenario::settings(&arguments.study.flags)?;
    let yours = yours(&arguments.study.policy, matches.as_ref())?;
    let measures = scenario::measures::<ContentionSettings>();
    let assertions = Assertion::read_all(&arguments.assert, &measures)?;
    let trials = Trials::new(&arguments.study.experiment, arguments.trials);
    let search = search(&settings, &arguments, yours.as_ref(), &trials);
    let yours = yours.unwrap_or_else(|| Candidate::new(Some("yours".into()), search.yours, None));

    let count = trials.count_of(&settings.simulated(None, None, &trials));
    let all = search.trials() + 2 * u64::from(count) * settings.clients.len() as u64;
    let (result, is_interrupted) = watched(all, arguments.output.progress, || {
        let found = search.run()?;
        let fresh = Trials { seed: trials.seed.wrapping_add(SEED_OFFSET), ..trials };
        let tuned = Candidate::new(Some("tuned".into()), found.winner.policy, yours.timeout);
        let report = scenario::run(&settings, vec![yours, tuned], &fresh)?;
        Ok((found, report))
    });
    let (found, mut report) =
        result.map_err(|invalid: Invalid| Failure::Message(format!("--{invalid}")))?;
    report.scenario["seed"] = trials.seed.into();
    describe(&mut report, &settings, &found, is_interrupted);
    report.assertions =
        assertions.iter().map(|one| one.check(&report.measured, Some(TUNED))).collect();
    finish(&report, &arguments.output, is_interrupted)
}

/// The policy that was named, by a flag or by the environment, if one was.
fn yours(flags: &PolicyFlags, matches: Option<&ArgMatches>) -> Result<Option<Candidate>, Failure> {
    let is_named = !(flags.with.is_empty() && flags.policy.is_empty() && flags.preset.is_empty());
    if !is_named && flags.overrides().is_empty() && environment::base()?.is_none() {
        return Ok(None);
    }
    let mut all = Candidate::all(flags, matches)?.into_iter();
    match (all.next(), all.next()) {
        (Some(Candidate { timing: Timing::Law(law), .. }), None) => Err(Failure::Message(format!(
            "{law}: tune searches among policies of ours, and no clause says this law; the nearest policy is --with '{}'",
            law.nearest(),
        ))),
        (Some(only), None) => Ok(Some(only)),
        _ => {
            Err(Failure::from("tune compares with one policy; name one, as in --policy FILE#NAME"))
        }
    }
}

fn search(
    settings: &ContentionSettings,
    arguments: &args::Tune,
    yours: Option<&Candidate>,
    trials: &Trials,
) -> Search {
    // `--trials` is about the final measurement, not about the search.
    let trials = Trials { count: None, ..*trials };
    let scenario = trials.applied_to(settings.simulated(None, None, &trials), 1);
    let mut search = Search::new(scenario, &searched(&settings.clients));
    if let Some(Timing::Policy(yours)) = yours.map(|yours| &yours.timing) {
        search = search.yours(yours);
    }
    if let Some(share) = arguments.commit {
        search = search.commits(share.0);
    }
    search.effort(arguments.effort.unwrap_or_default())
}

/// Some of the crowds, the smallest and the largest among them.
fn searched(clients: &[u32]) -> Vec<u32> {
    let last = clients.len().saturating_sub(1);
    if clients.len() <= CROWDS_MAX {
        return clients.to_vec();
    }
    // Closer together among the small ones, as equal factors would be.
    let place = |step: usize| (last * step * step).div_ceil((CROWDS_MAX - 1) * (CROWDS_MAX - 1));
    (0..CROWDS_MAX).map(|step| clients[place(step)]).collect()
}

/// Adds the search to the report of the final measurement.
fn describe(
    report: &mut SimulationReport,
    settings: &ContentionSettings,
    found: &Tuned,
    is_interrupted: bool,
) {
    report.notes = vec![format!("{} policies were tried.", found.tried)];
    let is_complete = found.is_complete && !is_interrupted;
    if is_complete {
        let count = report.measured.first().map_or(0, |one| one.trials);
        report.notes.push(format!(
            "Numbers above are of {count} trials for each crowd, with other random numbers than those of the search.",
        ));
    } else {
        report.notes.insert(0, "Stopped by Ctrl-C: this is the best that is known.".into());
    }
    report.title += ", tuned";
    report.lead = lead(settings, found, report);
    report.tables.insert(0, front_table(found));
    report.figures.insert(0, front_chart(found));
    report.more = vec![
        ("winner", if found.tried == 0 { Json::Null } else { json(&found.winner) }),
        ("yours", json(&found.yours)),
        ("front", found.front.iter().map(json).collect()),
        ("tried", found.tried.into()),
        ("complete", is_complete.into()),
    ];
}

/// The fields and their order are a promise.
fn json(tried: &Tried) -> Json {
    json!({
        "policy": tried.policy.to_string(),
        "calls": tried.calls,
        "time": tried.time,
        "committed": tried.committed,
    })
}

fn lead(settings: &ContentionSettings, found: &Tuned, report: &SimulationReport) -> Vec<String> {
    if found.tried == 0 {
        return vec!["No policy was tried before it was stopped.".into()];
    }
    let clause = report.policies[TUNED].clause.clone();
    if found.winner.policy == found.yours.policy {
        return vec!["Nothing was found that is better than your policy.".into(), clause];
    }
    let crowds = match settings.clients[..] {
        [only] => format!("{only} clients"),
        [least, .., most] => format!("{least} to {most} clients"),
        [] => String::new(),
    };
    let mut lead = vec![format!("Best of {} policies for {crowds}:", found.tried), clause];
    if report.measured.iter().any(|one| one.values.is_ok()) {
        let ratios = |key| Ratios::of(&report.measured, key);
        // Calls and time of clients that give up are worth nothing, so success comes before them.
        if ratios("committed") != (Ratios { least: 1.0, most: 1.0 }) {
            let worst = |policy| {
                // Where trials were cut, nobody has succeeded.
                let shares = values(&report.measured, policy, "committed", 0.0);
                amount(shares.fold(1.0, f64::min), Unit::Share)
            };
            lead.push(format!(
                "At worst {} of the clients succeed, where with yours {} do.",
                worst(TUNED),
                worst(YOURS),
            ));
        }
        let calls = ratios("calls").words("fewer", "calls");
        let time = ratios("time_ms").words("less", "time");
        lead.push(format!("Against yours: {calls}, {time}."));
    }
    if !found.winner.meets_goal() {
        lead.push("No policy was found with which as many clients succeed as were asked for; this one comes closest.".into());
    }
    lead
}

/// The values of a policy with every crowd.
fn values(measured: &[Measured], policy: usize, key: &str, cut: f64) -> impl Iterator<Item = f64> {
    let its = measured.iter().filter(move |one| one.policy == policy);
    its.map(move |one| one.value(key).map_or(cut, Value::number))
}

/// A measure of the tuned policy as a multiple of yours, over all crowds.
#[derive(PartialEq)]
struct Ratios {
    least: f64,
    most: f64,
}

impl Ratios {
    fn of(measured: &[Measured], key: &str) -> Self {
        let of = |policy| values(measured, policy, key, f64::NAN);
        let ratios = || of(TUNED).zip(of(YOURS)).map(|(tuned, yours)| tuned / yours);
        let least = ratios().fold(f64::INFINITY, f64::min);
        Self { least, most: ratios().fold(f64::NEG_INFINITY, f64::max) }
    }

    /// `18% to 23% fewer calls`
    fn words(&self, fewer: &str, what: &str) -> String {
        let Self { least, most } = *self;
        let percent = |ratio: f64| format!("{:.0}%", 100.0 * (1.0 - ratio).abs());
        let (low, high) = (percent(least), percent(most));
        let range = |from: &str, to: &str| match from == to {
            true => from.to_owned(),
            false => format!("{from} to {to}"),
        };
        match () {
            () if !(least.is_finite() && most.is_finite()) => {
                format!("{what} that cannot be compared")
            }
            () if most <= 1.0 => format!("{} {fewer} {what}", range(&high, &low)),
            () if least >= 1.0 => format!("{} more {what}", range(&low, &high)),
            () => format!("from {low} {fewer} to {high} more {what}"),
        }
    }
}

/// The Pareto front, from the fewest calls to the least time.
fn front_table(found: &Tuned) -> Table {
    let row = |tried: &Tried| {
        let is = match () {
            () if tried.policy == found.winner.policy => "best",
            () if tried.policy == found.yours.policy => "yours",
            () => "",
        };
        vec![
            is.into(),
            amount(tried.calls, Unit::Times),
            amount(tried.time, Unit::Times),
            amount(tried.committed, Unit::Share),
            tried.policy.to_string(),
        ]
    };
    let each = found.front.len().div_ceil(FRONT_MAX).max(1);
    let is_shown = |(place, tried): &(usize, &Tried)| {
        place.is_multiple_of(each) || tried.policy == found.winner.policy
    };
    let shown = found.front.iter().enumerate().filter(is_shown).map(|(_, tried)| tried);
    let is_yours = |tried: &Tried| tried.policy == found.yours.policy;
    let yours = (!found.front.iter().any(is_yours)).then_some(&found.yours);
    Table::new(
        "The best that were found, as multiples of yours on average over the crowds",
        ["", "calls", "time", "succeed", "policy"].map(String::from).to_vec(),
        shown.chain(yours).map(row).collect(),
    )
}

fn front_chart(found: &Tuned) -> Figure {
    let point = |tried: &Tried| Point::new(tried.calls, tried.time);
    let one = |name: &str, tried: &Tried| Series {
        name: name.into(),
        points: vec![point(tried)],
        style: Style::Dots,
    };
    // Dots, not a line: there is no policy between two of them.
    let front = Series {
        name: "the best that were found".into(),
        points: found.front.iter().map(point).collect(),
        style: Style::Dots,
    };
    Figure::Chart(Chart::new(
        "Work against time: the front",
        Axis::new("calls, as a multiple of yours", Scale::Linear),
        Axis::new("time, as a multiple of yours", Scale::Linear),
        vec![front, one("tuned", &found.winner), one("yours", &found.yours)],
    ))
}
