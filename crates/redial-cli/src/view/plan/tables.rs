//! The tables of a plan: its delays, and several policies side by side.

use std::time::Duration;

use super::totals::Totals;
use super::{View, attempts_words};
use crate::duration::{compact, human};
use crate::view::table::{Kind, Layout, Row, Table};

/// How closely a table is set, and how long its durations are.
pub(super) type Tightness = (Layout, fn(Duration) -> String);

pub(super) const SPACIOUS: Tightness = (Layout { gap: 3, stacked: false, remarks: true }, human);

const TIGHT: Tightness = (Layout { gap: 1, stacked: true, remarks: false }, compact);

const BETWEEN: [Tightness; 2] = [
    (Layout { gap: 2, stacked: true, remarks: true }, human),
    (Layout { gap: 2, stacked: true, remarks: false }, human),
];

/// In the most spacious layout that fits, or the tightest.
pub(super) fn fitting(width: usize, table: impl Fn(Tightness) -> Table) -> Table {
    let roomy = std::iter::once(SPACIOUS).chain(BETWEEN).map(&table);
    roomy.into_iter().find(|table| table.fits(width)).unwrap_or_else(|| table(TIGHT))
}

/// The delays of a policy, and what they add up to.
pub(super) fn delays(view: &View<'_>, (layout, format): Tightness) -> Table {
    let listing = &view.listing;
    let mut headings = vec!["after attempt", "at least", "on average", "at most"];
    if listing.is_seeded() {
        headings.push(if layout.stacked { "this seed" } else { "with this seed" });
    }
    let rows = listing.rows.iter().map(|row| {
        let delay = row.delay;
        let durations = [delay.least, delay.mean, delay.greatest].into_iter().chain(row.sample);
        let number = row.after_attempt.to_string();
        let cells = [number].into_iter().chain(durations.map(format)).collect();
        Row { cells, remark: (!row.reachable).then_some("never reached"), link: None }
    });
    let columns = headings.into_iter().map(|heading| (heading.into(), Kind::Number)).collect();
    Table {
        sums: sums(view, layout, format),
        rest: listing.rest.clone(),
        layout,
        ..Table::of("", columns, rows.collect())
    }
}

/// What the delays add up to, and when it gives up.
fn sums(view: &View<'_>, layout: Layout, format: fn(Duration) -> String) -> Vec<Row> {
    let totals = Totals::new(view, format);
    let (waits, end) =
        if layout.stacked { ("in all", "gives up") } else { ("waits in all", "gives up after") };
    let waits = [waits.into()].into_iter().chain(totals.waits).chain(totals.sample);
    let end = vec![end.into(), totals.earliest, String::new(), totals.latest];
    vec![Row::from(waits.collect::<Vec<_>>()), Row::from(end)]
}

/// One line for each policy.
pub(super) fn policies(views: &[View<'_>], (layout, format): Tightness) -> Table {
    let row = |(index, view): (usize, &View<'_>)| {
        let totals = Totals::new(view, format);
        let [_, mean, greatest] = totals.waits;
        let attempts = attempts_words(view.planned);
        Row {
            cells: vec![view.planned.title(index), attempts, mean, greatest, totals.latest],
            link: Some(format!("#policy-{}", index + 1)),
            remark: None,
        }
    };
    let numbers = ["attempts", "waits (mean)", "waits (most)", "gives up by"];
    let columns = [("policy".to_owned(), Kind::Name)].into_iter();
    let columns = columns.chain(numbers.map(|heading| (heading.to_owned(), Kind::Number)));
    let rows = views.iter().enumerate().map(row).collect();
    Table { layout, ..Table::of("", columns.collect(), rows) }
}
