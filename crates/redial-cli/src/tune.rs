//! `redial tune`: the policy that serves a scenario best, and what it gains against yours.

use clap::ArgMatches;
use redial_sim::tune::{Candidate as Tried, Effort, Found};
use redial_sim::{Invalid, Search};
use serde_json::{Value as Json, json};

use crate::args::{self, PolicyFlags};
use crate::chart::{Axis, Chart, Figure, Point, Scale, Series, Style, Table};
use crate::environment;
use crate::output::Failure;
use crate::simulate::assertion::Assertion;
use crate::simulate::contention::Setting;
use crate::simulate::file::Written;
use crate::simulate::outcome::{Outcome, Unit, Value, amount};
use crate::simulate::progress::{Watched, watched};
use crate::simulate::scenario::{self, Kind, Ran, Scenario, Trials};
use crate::simulate::study::Study;
use crate::simulate::{Candidate, one_on_stdout, policies, say, written};

/// More crowds than these make a search slower and no better.
const SEARCHED: usize = 5;

/// Added to the seed for the last measurement, so that it meets other chance than the search did.
const FRESH: u64 = 0x5eed;

/// The places of the two policies that are measured in the end.
const YOURS: usize = 0;
const TUNED: usize = 1;

/// A front of more policies than these is thinned out where it is printed.
const SHOWN: usize = 12;

#[inline(never)]
pub(crate) fn run(arguments: args::Tune, matches: Option<&ArgMatches>) -> Result<u8, Failure> {
    let Written { arguments, matches } =
        written(arguments, |arguments| &arguments.scenario, matches)?;
    one_on_stdout(&arguments.output)?;
    if arguments.scenario != Setting::NAME {
        return Err(Failure::Message(format!(
            "tune searches for contention alone, not for {}; redial simulate {} compares policies that you name",
            arguments.scenario, arguments.scenario,
        )));
    }
    Kind::of::<Setting>().refuse_others(matches.as_ref())?;
    let setting = Setting::new(&arguments.setting)?;
    let yours = yours(&arguments.policy, matches.as_ref())?;
    let read = |text: &String| Assertion::read(text, &scenario::measures::<Setting>());
    let assertions = arguments.assert.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let trials = Trials::new(&arguments.experiment, arguments.trials);
    let search = search(&setting, &arguments, yours.as_ref(), &trials);
    let yours = yours.unwrap_or_else(|| Candidate::new(Some("yours".into()), search.yours(), None));

    let count = trials.count_of(&setting.simulated(None, None, &trials));
    let all = search.trials() + 2 * u64::from(count) * setting.clients.len() as u64;
    let Watched { result, is_interrupted } = watched(all, arguments.output.progress, || {
        let found = search.run()?;
        let fresh = Trials { seed: trials.seed.wrapping_add(FRESH), ..trials };
        let tuned = Candidate::new(Some("tuned".into()), &found.winner.policy, yours.timeout);
        let both = [yours.clone(), tuned];
        let ran = scenario::run(&setting, &both, &fresh)?;
        Ok((found, ran, both))
    });
    let (found, ran, both) =
        result.map_err(|invalid: Invalid| Failure::Message(format!("--{invalid}")))?;
    let mut study = study(&setting, &trials, &found, ran, both, is_interrupted);
    study.answers = assertions.iter().map(|one| one.answer_of(&study.outcomes, TUNED)).collect();
    say(&study, &arguments.output, is_interrupted)
}

/// The policy that was named, by a flag or by the environment, if one was.
fn yours(flags: &PolicyFlags, matches: Option<&ArgMatches>) -> Result<Option<Candidate>, Failure> {
    let is_named = !(flags.with.is_empty() && flags.policy.is_empty() && flags.preset.is_empty());
    if !is_named && flags.overlay().is_empty() && environment::base()?.is_none() {
        return Ok(None);
    }
    let mut all = policies(flags, matches)?.into_iter();
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(Some(only)),
        _ => {
            Err(Failure::from("tune compares with one policy; name one, as in --policy FILE#NAME"))
        }
    }
}

fn search(
    setting: &Setting,
    arguments: &args::Tune,
    yours: Option<&Candidate>,
    trials: &Trials,
) -> Search {
    // The trials that were asked for are those of the last measurement, which is not the search's.
    let trials = Trials { count: None, ..*trials };
    let scenario = trials.tried(setting.simulated(None, None, &trials), 1);
    let mut search = Search::new(scenario, &searched(&setting.clients));
    if let Some(yours) = yours {
        search = search.against(&yours.policy);
    }
    if let Some(share) = arguments.commit {
        search = search.commits(share.0);
    }
    search.effort(match arguments.effort {
        Some(args::Effort::Quick) => Effort::Quick,
        Some(args::Effort::Normal) | None => Effort::Normal,
        Some(args::Effort::Thorough) => Effort::Thorough,
    })
}

/// Some of the crowds, the smallest and the largest among them.
fn searched(clients: &[u32]) -> Vec<u32> {
    let last = clients.len().saturating_sub(1);
    if clients.len() <= SEARCHED {
        return clients.to_vec();
    }
    // Closer together among the small ones, as equal factors would be.
    let place = |step: usize| (last * step * step).div_ceil((SEARCHED - 1) * (SEARCHED - 1));
    (0..SEARCHED).map(|step| clients[place(step)]).collect()
}

fn study(
    setting: &Setting,
    trials: &Trials,
    found: &Found,
    ran: Ran,
    both: [Candidate; 2],
    is_interrupted: bool,
) -> Study {
    let mut notes = vec![format!("{} policies were tried.", found.tried)];
    if !found.is_complete || is_interrupted {
        notes.insert(0, "Stopped by Ctrl-C: this is the best that is known.".into());
    } else {
        let count = ran.outcomes.first().map_or(0, |outcome| outcome.trials);
        notes.push(format!(
            "Numbers above are of {count} trials for each crowd, with other random numbers than those of the search.",
        ));
    }
    let tables = std::iter::once(front_table(found)).chain(ran.tables).collect();
    let figures = std::iter::once(front_chart(found)).chain(ran.figures).collect();
    Study {
        title: format!("{}, tuned", setting.title()),
        scenario: scenario::json(setting, trials),
        more: vec![
            ("winner", if found.tried == 0 { Json::Null } else { json(&found.winner) }),
            ("yours", json(&found.yours)),
            ("front", found.front.iter().map(json).collect()),
            ("tried", found.tried.into()),
            ("complete", (found.is_complete && !is_interrupted).into()),
        ],
        lead: lead(setting, found, &both[TUNED].named.clause, &ran.outcomes),
        policies: both.into_iter().map(|candidate| candidate.named).collect(),
        outcomes: ran.outcomes,
        tables,
        figures,
        notes,
        answers: Vec::new(),
    }
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

fn lead(setting: &Setting, found: &Found, clause: &str, outcomes: &[Outcome]) -> Vec<String> {
    if found.tried == 0 {
        return vec!["No policy was tried before it was stopped.".into()];
    }
    let clause = clause.to_owned();
    if found.winner.policy == found.yours.policy {
        return vec!["Nothing was found that is better than your policy.".into(), clause];
    }
    let crowds = match (setting.clients.first(), setting.clients.last()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most} clients"),
        (Some(only), _) => format!("{only} clients"),
        _ => String::new(),
    };
    let ratio = |key: &str| {
        let number = |one: &Outcome| one.value(key).map_or(f64::NAN, Value::number);
        let of =
            |policy: usize| outcomes.iter().filter(move |one| one.policy == policy).map(number);
        let ratios: Vec<_> = of(TUNED).zip(of(YOURS)).map(|(tuned, yours)| tuned / yours).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        (least, ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let mut lead = vec![format!("Best of {} policies for {crowds}:", found.tried), clause];
    let is_measured = outcomes.iter().any(|one| one.values.is_ok());
    // Work and time of clients that give up are worth nothing, so this comes before them.
    if is_measured && ratio("committed") != (1.0, 1.0) {
        let share = |policy: usize| {
            let all = outcomes.iter().filter(|one| one.policy == policy);
            // Where there is no end, nobody has succeeded by it.
            let worst = all.map(|one| one.value("committed").map_or(0.0, Value::number));
            amount(worst.fold(1.0, f64::min), 0.0, Unit::Share)
        };
        lead.push(format!(
            "At worst {} of the clients succeed, where with yours {} do.",
            share(TUNED),
            share(YOURS),
        ));
    }
    if is_measured {
        let (calls, time) = (change(ratio("calls"), "calls"), change(ratio("time_ms"), "time"));
        lead.push(format!("Against yours: {calls}, {time}."));
    }
    if !found.winner.meets_goal() {
        lead.push("No policy was found with which as many clients succeed as were asked for; this one comes closest.".into());
    }
    lead
}

/// `18% to 23% fewer calls`
fn change((least, most): (f64, f64), what: &str) -> String {
    let fewer = if what == "calls" { "fewer" } else { "less" };
    let percent = |ratio: f64| format!("{:.0}%", 100.0 * (1.0 - ratio).abs());
    match (least, most) {
        (least, most) if !(least.is_finite() && most.is_finite()) => {
            format!("{what} that cannot be compared")
        }
        (least, most) if most <= 1.0 && percent(least) == percent(most) => {
            format!("{} {fewer} {what}", percent(least))
        }
        (least, most) if most <= 1.0 => {
            format!("{} to {} {fewer} {what}", percent(most), percent(least))
        }
        (least, most) if least >= 1.0 && percent(least) == percent(most) => {
            format!("{} more {what}", percent(least))
        }
        (least, most) if least >= 1.0 => {
            format!("{} to {} more {what}", percent(least), percent(most))
        }
        (least, most) => {
            format!("from {} {fewer} to {} more {what}", percent(least), percent(most))
        }
    }
}

/// The policies that no other betters, from the fewest calls to the least time.
fn front_table(found: &Found) -> Table {
    let row = |tried: &Tried| {
        let is = match () {
            () if tried.policy == found.winner.policy => "best",
            () if tried.policy == found.yours.policy => "yours",
            () => "",
        };
        vec![
            is.into(),
            amount(tried.calls, 0.0, Unit::Times),
            amount(tried.time, 0.0, Unit::Times),
            amount(tried.committed, 0.0, Unit::Share),
            tried.policy.to_string(),
        ]
    };
    let each = found.front.len().div_ceil(SHOWN).max(1);
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

fn front_chart(found: &Found) -> Figure {
    let point = |tried: &Tried| Point::new(tried.calls, tried.time);
    let one = |name: &str, tried: &Tried| Series {
        name: name.into(),
        points: vec![point(tried)],
        style: Style::Dots,
    };
    // Between two policies there is none: a line would be a promise.
    let front = Series {
        name: "the best that were found".into(),
        points: found.front.iter().map(point).collect(),
        style: Style::Dots,
    };
    Figure::Chart(Chart {
        title: "Work against time: the front".into(),
        x: Axis { label: "calls, as a multiple of yours".into(), scale: Scale::Linear },
        y: Axis { label: "time, as a multiple of yours".into(), scale: Scale::Linear },
        series: vec![front, one("tuned", &found.winner), one("yours", &found.yours)],
        levels: Vec::new(),
        bands: Vec::new(),
    })
}
