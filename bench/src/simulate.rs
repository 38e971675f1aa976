//! The simulator: how many events it gets through in a second beside a bare loop over the same kind
//! of queue, what one costs as the crowd grows, and the whole table of AWS's study.
//!
//! An attempt in `occ` is two arrivals at its server, a read and a write. The engine queues one
//! event for both, which is one event of the bare loop.

mod aws;
pub(crate) mod cost;
mod crowd;
mod hold;
mod rates;

use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;
use rates::Rates;

/// What is counted, redial's last: the arrivals at the server are what the target is about.
const COLUMNS: [&str; 3] = ["bare heap", "attempts", "server events"];
const ARRIVALS_PER_ATTEMPT: f64 = 2.0;

/// What the study's own simulator counts: every message is an event there.
const MESSAGES_PER_ATTEMPT: f64 = 4.0;

pub(crate) fn table() -> Table {
    let rates = rates::all();
    let mut rows: Vec<Measured> =
        rates.iter().flat_map(|(measure, rates)| rates_rows(measure, *rates)).collect();
    rows.extend(cost_rows());
    rows.push(row(
        "1 000 000 clients over 100",
        Unit::TimeRatio,
        None,
        growth_in_time(&rates.map(|(_, rates)| rates)),
    ));
    rows.extend(aws_rows());
    Table { columns: COLUMNS.to_vec(), rows, notes: vec![NOTE.into()] }
}

const NOTE: &str = "An attempt is one event of the engine's queue and stands for two arrivals at the \
                    server; its messages are four.";

fn row(
    measure: &'static str,
    unit: Unit,
    target: Option<Target>,
    cells: [Cell; COLUMNS.len()],
) -> Measured {
    Measured { measure, unit, target, cells: cells.to_vec() }
}

fn rates_rows(measure: &'static str, Rates { bare, attempts }: Rates) -> [Measured; 2] {
    let counted = [bare, attempts, ARRIVALS_PER_ATTEMPT * attempts];
    let target = Some(Target::AtLeast(rates::SHARE_MIN));
    [
        row(measure, Unit::EventRate, None, counted.map(Cell::Number)),
        row(measure, Unit::HeapShare, target, counted.map(|rate| Cell::Number(rate / bare))),
    ]
}

fn growth_in_time(rates: &[Rates; rates::SIZES.len()]) -> [Cell; COLUMNS.len()] {
    let (few, many) = (rates[rates::HUNDRED], rates[rates::MILLION]);
    let attempts = few.attempts / many.attempts;
    [few.bare / many.bare, attempts, attempts].map(Cell::Number)
}

/// A third above what an attempt takes in a small crowd.
const INSTRUCTIONS_MAX: f64 = 420.0;

fn cost_rows() -> Vec<Measured> {
    let [hundred, ten_thousand, million] = cost::instructions();
    let cells = |reading: Result<f64, &'static str>, server_events: f64| match reading {
        Ok(number) => [Cell::Absent, Cell::Number(number), Cell::Number(number / server_events)],
        Err(reason) => [Cell::Absent, Cell::Unmeasured(reason), Cell::Unmeasured(reason)],
    };
    let cost = |measure, most: Option<f64>, reading| {
        let target = most.map(|most| Target::AtMost(most / ARRIVALS_PER_ATTEMPT));
        row(measure, Unit::Instructions, target, cells(reading, ARRIVALS_PER_ATTEMPT))
    };
    // Both counts grow alike. The bound is how the logarithm of the crowd grows.
    let growth = |measure, most, reading: Result<f64, &'static str>| {
        let over = reading.and_then(|reading| Ok(reading / hundred?));
        row(measure, Unit::InstructionRatio, Some(Target::AtMost(most)), cells(over, 1.0))
    };
    vec![
        cost("cost, 100 clients", Some(INSTRUCTIONS_MAX), hundred),
        cost("cost, 10 000 clients", None, ten_thousand),
        cost("cost, 1 000 000 clients", None, million),
        growth("10 000 clients over 100", 2.0, ten_thousand),
        growth("1 000 000 clients over 100", 3.0, million),
    ]
}

fn aws_rows() -> Vec<Measured> {
    let measure = "AWS's table, 500 trials, 2 threads";
    let (time, rates) = match aws::run() {
        Ok(aws::Run { attempts, seconds }) => {
            let rate = attempts as f64 / seconds;
            (
                Cell::Number(seconds * 1e9),
                [1.0, ARRIVALS_PER_ATTEMPT, MESSAGES_PER_ATTEMPT]
                    .map(|events| Cell::Number(rate * events)),
            )
        }
        Err(reason) => (Cell::Unmeasured(reason), [Cell::Unmeasured(reason); 3]),
    };
    let [attempts, arrivals, messages] = rates;
    vec![
        row(measure, Unit::Nanoseconds, None, [Cell::Absent, Cell::Absent, time]),
        row(measure, Unit::EventRate, None, [Cell::Absent, attempts, arrivals]),
        row("the same in messages", Unit::EventRate, None, [Cell::Absent, Cell::Absent, messages]),
    ]
}
