//! The schedules of all steps in one table.

use std::time::Duration;

use redial_flow::outlook::{ItemCount, StepOutlook};

use super::{Planned, words};
use crate::duration::human;
use crate::view::table::{Kind, Row, Table};

/// A line for each step that is attempted.
pub(super) fn schedules(planned: &Planned<'_>) -> Table {
    let numbers =
        ["attempts", "timeout", "waits (least)", "waits (mean)", "waits (most)", "at most"];
    let columns = [("step".to_owned(), Kind::Name)].into_iter();
    let columns = columns.chain(numbers.map(|heading| (heading.to_owned(), Kind::Number)));
    let mut rows = Vec::new();
    for (one, inner) in planned.blocks() {
        match inner {
            [] => rows.push(row(one, one.step.name.clone(), one.time)),
            inner => {
                let name = match one.items {
                    Some(ItemCount::Unknown) => format!("{}, with one item", one.step.name),
                    _ => one.step.name.clone(),
                };
                rows.push(row(one, name, one.time));
                let name = |one: &StepOutlook| format!("  {}, each item", one.step.name);
                rows.extend(inner.iter().map(|one| row(one, name(one), one.task_time)));
            }
        }
    }
    Table::of("", columns.collect(), rows)
}

/// The same where there is little room, with the longest waits alone.
pub(super) fn tight(planned: &Planned<'_>) -> Table {
    const KEPT: [usize; 5] = [0, 1, 2, 5, 6];
    let mut table = schedules(planned);
    table.columns = KEPT.iter().map(|at| table.columns[*at].clone()).collect();
    table.columns[3].0 = "waits".to_owned();
    for row in &mut table.rows {
        row.cells = KEPT.iter().filter_map(|at| row.cells.get(*at).cloned()).collect();
    }
    table
}

fn row(one: &StepOutlook, name: String, at_most: Option<Duration>) -> Row {
    if !words::is_attempted(&one.step) {
        let blank = || String::new();
        let cells = vec![name, blank(), blank(), blank(), blank(), blank(), time(at_most)];
        return Row::from(cells);
    }
    let plan = &one.plan;
    let waits = plan.total_wait();
    let wait = |wait: Option<Duration>| wait.map_or("no end".to_owned(), human);
    let attempts = plan.policy().attempts().map_or("no end".to_owned(), |count| count.to_string());
    let timeout = plan.get_timeout().map_or("none".to_owned(), human);
    let cells = vec![
        name,
        attempts,
        timeout,
        wait(waits.least),
        wait(waits.mean),
        wait(waits.greatest),
        time(at_most),
    ];
    Row::from(cells)
}

fn time(time: Option<Duration>) -> String {
    time.map_or("no bound".to_owned(), human)
}
