//! `redial shared`: what is in the files that runs share, and how to begin anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redial_process::shared::{
    BreakerSettings, BreakerStatus, BudgetSettings, BudgetStatus, LOCK_TIMEOUT, Refusal,
    SharedBreaker, SharedBudget, State, Status,
};
use serde::Serialize;
use serde_json::json;

use crate::args::{self, NewShared, Shared, SharedVerb};
use crate::duration::human;
use crate::exit_code;
use crate::output::{self, Failure, count, print, print_error, print_note};
use crate::rules::duration;
use crate::view;
use crate::visible::visible;

pub(crate) fn run(shared: &Shared) -> Result<u8, Failure> {
    match &shared.verb {
        SharedVerb::Show(arguments) => {
            let (shown, code) = each(&arguments.files, Shown::new);
            if arguments.json {
                print(&output::json(&json!({ "shared": shown })))?;
            } else {
                print(&shown.iter().map(Shown::text).collect::<String>())?;
            }
            Ok(code)
        }
        SharedVerb::Reset(arguments) => {
            let (lines, code) = each(&arguments.files, reset);
            print(&lines.concat())?;
            Ok(code)
        }
        SharedVerb::Create(create) => {
            let file = match &create.kind {
                NewShared::Budget(budget) => {
                    let args::BudgetSettings { file, .. } = budget;
                    let settings = BudgetSettings {
                        capacity: budget.capacity,
                        deposit: budget.deposit,
                        cost: budget.cost,
                        floor_per_second: budget.floor_per_second,
                    };
                    SharedBudget::create(file, &settings)?;
                    file
                }
                NewShared::Breaker(breaker) => {
                    let args::BreakerSettings { file, failures, probes, recovery } = breaker;
                    let recovery = recovery.as_deref();
                    let recovery = recovery.map(|text| duration("--recovery", text)).transpose()?;
                    let settings =
                        BreakerSettings { failures: *failures, recovery, probes: *probes };
                    SharedBreaker::create(file, &settings)?;
                    file
                }
            };
            print(&Shown::new(file)?.text())?;
            Ok(0)
        }
    }
}

/// Does it to every file. Where that fails it is told, the others have their turn, and the exit
/// code says it.
fn each<T>(files: &[PathBuf], step: impl Fn(&Path) -> Result<T, String>) -> (Vec<T>, u8) {
    let mut done = Vec::new();
    let mut code = 0;
    for file in files {
        match step(file) {
            Ok(result) => done.push(result),
            Err(error) => {
                print_error(&error);
                code = exit_code::ERROR;
            }
        }
    }
    (done, code)
}

/// One file, as it is now.
#[derive(Serialize)]
struct Shown {
    file: String,
    #[serde(flatten)]
    status: Status,
    /// Whether another process has kept its lock, so that this may be about to change.
    locked: bool,
}

impl Shown {
    fn new(path: &Path) -> Result<Self, String> {
        let (status, locked) = Status::of(path)?;
        let file = path.display().to_string();
        if locked {
            let (file, seconds) = (visible(&file), LOCK_TIMEOUT.as_secs());
            print_note(&format!(
                "note: {file}: another process has held its lock for {seconds} s; is it stopped? \
                 Continue it or end it\n"
            ));
        }
        Ok(Self { file, status, locked })
    }

    fn text(&self) -> String {
        let file = visible(&self.file);
        match &self.status {
            Status::Budget(budget) => {
                let BudgetStatus { deposit, cost, floor_per_second: floor, .. } = budget;
                let settings = view::shared::budget("a run", *deposit, *cost, *floor);
                format!("{file}: budget, {}\n  {settings}\n", tokens(budget))
            }
            Status::Breaker(breaker) => {
                let recovery = Duration::from_secs_f64(breaker.recovery_seconds);
                let settings = view::shared::breaker(breaker.failures, recovery, breaker.probes);
                format!("{file}: breaker, {}\n  {settings}\n", state(breaker))
            }
        }
    }
}

/// Fills a budget or closes a breaker, and says what changed.
fn reset(path: &Path) -> Result<String, String> {
    let file = visible(&path.display().to_string());
    Ok(match Status::reset(path)? {
        [Status::Budget(before), Status::Budget(after)] => {
            let [before, after] = [before.tokens, after.tokens].map(amount);
            format!("{file}: budget, filled: {before} tokens before, {after} now\n")
        }
        [Status::Breaker(before), Status::Breaker(after)] => {
            format!("{file}: breaker, {}; before: {}\n", state(&after), state(&before))
        }
        _ => return Err(format!("{file}: it was replaced just now")),
    })
}

/// `73.4 of 100 tokens, enough for 73 retries; full again in 2.66s`
fn tokens(budget: &BudgetStatus) -> String {
    let BudgetStatus { capacity, deposit, cost, tokens, full_in_ns, .. } = *budget;
    // In billionths, as the core counts them: a quotient of floats would be one too few at times.
    let billionths = |tokens: f64| (tokens * 1e9).round() as u64;
    let retries = match billionths(tokens).checked_div(billionths(cost)) {
        Some(retries) => format!("enough for {}", count(retries as usize, "retry")),
        None => "and retries are free".to_owned(),
    };
    let full = match full_in_ns {
        Some(0) => String::new(),
        Some(nanos) => format!("; full again in {}", human(Duration::from_nanos(nanos))),
        None => {
            let missing = billionths(capacity - tokens).div_ceil(billionths(deposit).max(1));
            format!("; full again after {} without a retry", count(missing as usize, "run"))
        }
    };
    format!("{} of {capacity} tokens, {retries}{full}", amount(tokens))
}

/// `open for 42s more`
fn state(breaker: &BreakerStatus) -> String {
    let BreakerStatus { failures, probes, failed, succeeded, running, .. } = *breaker;
    match breaker.state {
        State::Closed if failed == 0 => "closed".to_owned(),
        State::Closed => format!("closed, after {failed} of {failures} failed attempts in a row"),
        State::Open => {
            let left = Duration::from_nanos(breaker.open_for_ns.unwrap_or_default());
            Refusal::Open(left).to_string()
        }
        State::HalfOpen => {
            let succeeded = match probes {
                1 => String::new(),
                _ => format!(", {succeeded} of {probes} probes have succeeded"),
            };
            match running {
                0 => format!("half open{succeeded}; the next attempt is a probe"),
                1 => format!("half open{succeeded}; a probe is running"),
                _ => format!("half open{succeeded}; {running} probes are running"),
            }
        }
    }
}

/// To a thousandth of a token.
fn amount(tokens: f64) -> String {
    let text = format!("{tokens:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
