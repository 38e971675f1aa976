//! A flow in plain words.

use std::time::Duration;

use redial_flow::definition::{
    Action, Argument, BreakerSettings, BudgetSettings, Each, FailuresMax, Fallback, ItemFormat,
    Need, NeedKind, OnFailure, Origin, Rate, Rules, Step,
};
use redial_flow::outlook::{ItemCount, StepOutlook, is_command};
use redial_policy::Plan;

use super::Planned;
use crate::duration::human;
use crate::output::count;
use crate::shell;
use crate::view::shared;

/// How many names a sentence has.
const NAMED: usize = 5;

/// What the flow is, in a sentence.
pub(super) fn summary(planned: &Planned<'_>) -> String {
    let maps = planned.blocks().filter(|(_, inner)| !inner.is_empty());
    let (maps, inner) = maps.fold((0, 0), |(maps, all), (_, inner)| (maps + 1, all + inner.len()));
    let alone = planned.blocks().count() - maps;
    let maps = match maps {
        0 => None,
        1 => Some(format!("a map with {}", count(inner, "inner step"))),
        maps => Some(format!("{} with {}", count(maps, "map"), count(inner, "inner step"))),
    };
    let alone = (alone > 0).then(|| count(alone, "step"));
    let all: Vec<String> = [alone, maps].into_iter().flatten().collect();
    let slots = planned.outlook.slots.get();
    let attempts = if slots == 1 {
        "One attempt runs".to_owned()
    } else {
        format!("Up to {slots} attempts run")
    };
    let at_once = if slots == 1 { "at a time" } else { "at once" };
    format!("{}. {attempts} {at_once}.", all.join(" and "))
}

/// What a step does: the name of its field, and its value.
pub(super) fn does(step: &Step) -> (&'static str, String) {
    match &step.action {
        Action::Run { argv, .. } => {
            let words = argv.iter().map(Argument::bytes);
            let words = words.map(|word| String::from_utf8_lossy(&word).into_owned());
            ("run", shell::command(words.collect::<Vec<_>>()))
        }
        Action::Shell(line) => ("shell", line.trim().to_owned()),
        Action::WriteFile { path, .. } => ("write_file", path.clone()),
        Action::Each(each) => ("each", items(each)),
        Action::Branch(arms) => ("branch", arms.join(", ")),
        Action::Value(expression) => ("value", expression.clone()),
    }
}

/// Whether it has attempts itself: a map, a branch and a value have none.
pub(super) fn is_attempted(step: &Step) -> bool {
    !matches!(step.action, Action::Each(_) | Action::Branch(_) | Action::Value(_))
}

fn items(each: &Each) -> String {
    let what = match each.source.format {
        ItemFormat::Lines => "lines",
        ItemFormat::Csv { .. } => "rows",
        _ => "items",
    };
    let mut text = match &each.source.from {
        Origin::File(path) => format!("{what} of {path}"),
        Origin::Stdin => format!("{what} of standard input"),
        Origin::Value(value) => value.clone(),
        Origin::Once(_) => "one item".to_owned(),
    };
    if let ItemFormat::Json(Some(path)) = &each.source.format {
        text += &format!(" at {path}");
    }
    if let Some(filter) = &each.filter {
        text += &format!(" where {}", filter.text);
    }
    if let Some(field) = &each.distinct {
        text += &format!(", distinct by {field}");
    }
    if let Some(fields) = &each.sort_by {
        text += &format!(", sorted by {fields}");
    }
    if each.offset > 0 {
        text += &format!(", without the first {}", each.offset);
    }
    if let Some(most) = each.max_items {
        text += &format!(", at most {most}");
    }
    text
}

/// What must be over before it starts: `list (its output), resize (all items)`.
pub(super) fn needs(needs: &[Need]) -> Option<String> {
    let need = |need: &Need| match need.kind {
        NeedKind::Over => need.step.clone(),
        NeedKind::Output => format!("{} (its output)", need.step),
        NeedKind::All => format!("{} (all of its items)", need.step),
        NeedKind::Taken => format!("{}, if it takes this arm", need.step),
    };
    (!needs.is_empty()).then(|| needs.iter().map(need).collect::<Vec<_>>().join(", "))
}

/// How many of its attempts run at once and how many start in a time, and what bounds its failures.
pub(super) fn bounds(one: &StepOutlook) -> Option<String> {
    let step = &one.step;
    let items = match one.items {
        Some(ItemCount::Known(items)) => {
            Some(count(usize::try_from(items).unwrap_or(usize::MAX), "item"))
        }
        Some(ItemCount::AtMost(items)) => {
            Some(format!("at most {}", count(usize::try_from(items).unwrap_or(usize::MAX), "item")))
        }
        _ => None,
    };
    let slots = step.slots.map(|slots| format!("{slots} at once"));
    let rate = step.rate.map(rate);
    let failures = match &step.action {
        Action::Each(each) => each.failures_max.map(failures),
        _ => None,
    };
    let all: Vec<String> = [items, slots, rate, failures].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// What pays for its retries.
fn budget(budget: &BudgetSettings) -> String {
    let BudgetSettings { capacity, deposit, cost, floor_per_second } = *budget;
    let brings = shared::budget("a task", deposit, cost, floor_per_second);
    format!("budget of {capacity} tokens: {brings}")
}

/// What holds its attempts back.
fn breaker(breaker: &BreakerSettings) -> String {
    let BreakerSettings { failures, recovery, probes } = *breaker;
    format!("breaker: {}", shared::breaker(failures, recovery, probes))
}

fn rate(rate: Rate) -> String {
    format!("{} starts in {}", rate.count, human(rate.per))
}

fn failures(max: FailuresMax) -> String {
    match max {
        FailuresMax::Count(count) => format!("stops after {count} dead items"),
        FailuresMax::Millionths(share) => {
            format!("stops once more than {}% are dead", f64::from(share) / 10_000.0)
        }
    }
}

/// What else is said of a step: when it runs, and what follows a failure.
pub(super) fn remarks(one: &StepOutlook) -> Vec<String> {
    let step = &one.step;
    let mut remarks: Vec<String> = condition(step).into_iter().collect();
    if !step.idempotent {
        remarks.push("idempotent: false".to_owned());
    }
    remarks.extend(step.budget.as_ref().map(budget));
    remarks.extend(step.breaker.as_ref().map(breaker));
    remarks.extend(rules(&step.rules));
    match (&step.fallback, step.on_failure) {
        (Some(Fallback::Value(value)), _) => remarks.push(format!("else {value}")),
        (Some(Fallback::Step(_)), _) => remarks.push(format!("else {}.fallback", step.name)),
        (None, OnFailure::Continue) => remarks.push("its failure is passed over".to_owned()),
        _ => {}
    }
    remarks
}

/// On what it depends whether it runs.
pub(super) fn condition(step: &Step) -> Option<String> {
    match &step.when {
        Some(when) => Some(format!("when {}", when.text)),
        None => step.branch().map(|_| "otherwise".to_owned()),
    }
}

fn rules(rules: &Rules) -> Option<String> {
    let sets: Vec<&str> = rules.sets.iter().map(|set| set.name.as_str()).collect();
    let conditions = [
        ("success_on", &rules.success_on),
        ("stop_on", &rules.stop_on),
        ("retry_on", &rules.retry_on),
        ("delay_from", &rules.delay_from),
    ];
    let conditions = conditions
        .iter()
        .flat_map(|(name, texts)| texts.iter().map(move |text| format!("{name} {text}")));
    let sets = (!sets.is_empty()).then(|| format!("rules {}", sets.join(", ")));
    let all: Vec<String> = sets.into_iter().chain(conditions).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The policy as a clause, with the timeout of an attempt.
pub(super) fn clause(plan: &Plan) -> String {
    let clause = plan.policy().to_string();
    match plan.get_timeout() {
        Some(timeout) if !clause.contains("timeout:") => {
            format!("{clause}, timeout: {}", human(timeout).replace(' ', ""))
        }
        _ => clause,
    }
}

/// The waits one by one, as far as there is room for them in a line.
pub(super) fn waits(plan: &Plan) -> Option<String> {
    const SHOWN: usize = 6;
    let rows: Vec<_> = plan.rows().take_while(|row| row.reachable).take(SHOWN + 1).collect();
    let span = |least: Duration, most: Duration| match (human(least), human(most)) {
        (least, most) if least == most => most,
        (least, most) => format!("{least}–{most}"),
    };
    let spans = rows.iter().take(SHOWN).map(|row| span(row.delay.least, row.delay.greatest));
    let mut spans: Vec<String> = spans.collect();
    if rows.len() > SHOWN {
        spans.push("…".to_owned());
    }
    (!spans.is_empty()).then(|| spans.join(", "))
}

/// The waits with the seed of the plan.
pub(super) fn sampled(plan: &Plan) -> Option<String> {
    const SHOWN: usize = 6;
    let rows = plan.rows().take_while(|row| row.reachable).take(SHOWN);
    let samples: Vec<String> = rows.filter_map(|row| row.sample.map(human)).collect();
    (!samples.is_empty()).then(|| samples.join(", "))
}

/// How long it takes at most, the answer first.
pub(super) fn worst(planned: &Planned<'_>) -> Vec<String> {
    let outlook = planned.outlook;
    let name = |id: &u32| outlook.steps[*id as usize].step.name.as_str();
    let mut sentences = Vec::new();
    match outlook.time {
        None => {
            let why =
                outlook.unbounded.iter().map(|id| why_unbounded(&outlook.steps[*id as usize]));
            let more = outlook.unbounded.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            sentences.push(format!(
                "It may take for ever: {}{more}. A timeout, or a within in the policy, bounds it.",
                why.take(NAMED).collect::<Vec<_>>().join(", ")
            ));
        }
        Some(time) if outlook.is_deadline => {
            sentences.push(format!(
                "It takes {} at most, which is the deadline of the flow.",
                human(time)
            ));
        }
        Some(time) => {
            let part = |id: &u32| {
                let time = outlook.steps[*id as usize].time.map_or(String::new(), human);
                format!("{} {time}", name(id))
            };
            let chain = match outlook.longest.as_slice() {
                chain @ [_, _, ..] if chain.len() <= 8 => {
                    format!(": {}", chain.iter().map(part).collect::<Vec<_>>().join(", then "))
                }
                _ => String::new(),
            };
            sentences.push(format!("It takes {} at most{chain}.", human(time)));
        }
    }
    for (map, more) in outlook.further.iter().take(NAMED) {
        sentences.push(format!(
            "That is with one item in {}, of which it is not known how many there are; each further one adds up to {}.",
            name(map),
            human(*more)
        ));
    }
    if let Some(more @ 1..) = outlook.further.len().checked_sub(NAMED) {
        sentences.push(format!("The items of {} are not known either.", count(more, "more map")));
    }
    sentences
}

fn why_unbounded(one: &StepOutlook) -> String {
    match one.plan.get_timeout() {
        None if is_command(&one.step) => format!("{} has no timeout", one.step.name),
        _ => format!("{} has attempts without end", one.step.name),
    }
}

/// What is counted, and what is not.
pub(super) fn note(planned: &Planned<'_>) -> String {
    let asked = planned.outlook.steps.iter().filter_map(|one| one.asked_max).max();
    let asked = match asked {
        Some(most) => format!(
            " Where the rules of a step read a delay that its command asks for, each wait is counted with {} if that is more.",
            human(most)
        ),
        None => String::new(),
    };
    format!(
        "The worst case is that every attempt takes all of its timeout and fails, and every wait is as long as it can \
         be.{asked} What a command takes to end after its timeout is not counted, nor is the time in which redial does not run."
    )
}

/// What a KILL of redial costs.
pub(super) fn killed(planned: &Planned<'_>) -> Vec<String> {
    let commands = || planned.outlook.steps.iter().filter(|one| is_command(&one.step));
    let names = |steps: Vec<&StepOutlook>| {
        let more = steps.len().saturating_sub(NAMED);
        let mut names: Vec<String> =
            steps.iter().take(NAMED).map(|one| one.step.name.clone()).collect();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            Some((last, _)) => last.clone(),
            None => String::new(),
        }
    };
    // A fallback makes one attempt whatever is written, so no advice helps it.
    let is_once = |one: &&StepOutlook| {
        one.step.idempotent && one.instead_of.is_none() && one.plan.policy().attempts() == Some(1)
    };
    let once: Vec<&StepOutlook> = commands().filter(is_once).collect();
    let not_twice: Vec<&StepOutlook> = commands().filter(|one| !one.step.idempotent).collect();
    let mut sentences = Vec::new();
    if !once.is_empty() {
        let has = if once.len() == 1 { "has" } else { "have" };
        sentences.push(format!(
            "{} {has} one attempt. If redial is killed while it runs, it is lost and counts as a failure, and redial \
             flow resume does not run it again; attempts: 2 allows that.",
            names(once),
        ));
    }
    if !not_twice.is_empty() {
        let is = if not_twice.len() == 1 { "is" } else { "are" };
        sentences.push(format!(
            "{} {is} idempotent: false: an attempt that was running when redial was killed may have succeeded, and so \
             may one that was cut by its timeout or died of a signal. It is a dead letter, and does not run again by itself.",
            names(not_twice)
        ));
    }
    sentences
}
