//! The tables of a plan: its delays, and several policies side by side.

use std::time::Duration;

use super::totals::Totals;
use super::{View, attempts_words};
use crate::duration::{compact, human};
use crate::text::clip;
use crate::view::table::{Kind, Layout, Row, Table};

/// How closely a table is set, and how long its durations are.
pub(super) type Tightness = (Layout, fn(Duration) -> String);

/// How much of a name stands above a column.
const TITLE: usize = 24;

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

/// A column for each policy, the first of which has this index among all: its delays, and what they add up to.
pub(super) fn columns(views: &[View<'_>], first: usize, (layout, format): Tightness) -> Table {
    let totals: Vec<_> = views.iter().map(|view| Totals::new(view, format)).collect();
    let line = |label: &str, cell: &dyn Fn(usize) -> String| {
        let cells = (0..views.len()).map(cell);
        Row::from(std::iter::once(label.to_owned()).chain(cells).collect::<Vec<_>>())
    };
    let most = views.iter().map(|view| view.listing.rows.len()).max().unwrap_or(0);
    let delay = |view: &View<'_>, at: usize| match view.listing.rows.get(at) {
        Some(row) if !row.reachable => "never reached".to_owned(),
        Some(row) if row.delay.least == row.delay.greatest => format(row.delay.least),
        Some(row) => format!("{} to {}", format(row.delay.least), format(row.delay.greatest)),
        None if view.planned.retries() == u32::try_from(at).ok() => "gives up".to_owned(),
        None => String::new(),
    };
    // One row more than there are delays, in which the last policy gives up.
    let rows =
        (0..=most).filter(|at| *at < most || views.iter().any(|view| !delay(view, *at).is_empty()));
    let rows = rows.map(|at| line(&(at + 1).to_string(), &|of| delay(&views[of], at)));
    let mut sums = vec![
        line("attempts", &|of| attempts_words(views[of].planned)),
        line("waits on average", &|of| totals[of].waits[1].clone()),
        line("waits at most", &|of| totals[of].waits[2].clone()),
        line("gives up by", &|of| totals[of].latest.clone()),
    ];
    if totals.iter().any(|totals| totals.sample.is_some()) {
        sums.push(line("with this seed", &|of| totals[of].sample.clone().unwrap_or_default()));
    }
    let names = (first..).zip(views).map(|(index, view)| clip(&view.planned.title(index), TITLE));
    let columns = std::iter::once("after attempt".to_owned()).chain(names);
    let columns = columns.map(|heading| (heading, Kind::Number)).collect();
    let layout = Layout { stacked: false, ..layout };
    let rest = views.iter().any(|view| view.listing.rest.is_some());
    let rest = rest.then(|| "… and more; --show N shows N delays of each".to_owned());
    Table { sums, rest, layout, ..Table::of("", columns, rows.collect()) }
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
