//! A plan as a page to send to a colleague: it explains itself and loads nothing.

use std::fmt::Write;

use redial_policy::Diagnostic;

use super::picture::Picture;
use super::svg::{Size, drawing};
use super::totals::{Totals, note};
use super::{Listing, Planned, View, attempts_words};
use crate::duration::human;
use crate::html::{SCROLL, cell, page};
use crate::text::escape;

/// The plans as one HTML page, ending with a newline.
pub(crate) fn html(plans: &[Planned]) -> String {
    let title = title(plans);
    let views = View::all(plans);
    let figure = figure(&views, &Picture::new(plans));
    let content = match &views[..] {
        [view] => alone(view, &figure),
        views => together(views, &figure),
    };
    page(&title, STYLE, &format!("{content}<footer>\n{FOOTER}</footer>\n"))
}

const FOOTER: &str = "\
<p>An attempt is one execution; a wait is the time between a failed attempt and the next one. \
The numbers are for a call that fails every time: one that succeeds ends with its first success.</p>
";

const STYLE: &str = "\
pre code{-webkit-user-select:all;user-select:all}
tfoot th{font-weight:600}
.unreachable{color:var(--muted)}
.remark{font-size:.85em;font-style:italic}
.diagnostics{list-style:none;margin:0;padding:0}
.diagnostics li{border-left:.25rem solid var(--warning);background:var(--soft);\
padding:.6rem 1rem;margin:0 0 .5rem;overflow-wrap:anywhere}
.diagnostics li.error{border-color:var(--error)}
.diagnostics b{color:var(--warning)}
.diagnostics .error b{color:var(--error)}
";

fn title(plans: &[Planned]) -> String {
    match plans {
        [planned] => match planned.shown_name() {
            Some(name) => format!("Retry policy {name}"),
            None => "Retry policy".into(),
        },
        plans => format!("{} retry policies", plans.len()),
    }
}

/// One policy, as the whole page.
fn alone(view: &View<'_>, figure: &str) -> String {
    [&clause(view), &plain_words(view), figure, &details(view, "h2")].concat()
}

/// Several policies: first what they have in common, then each.
fn together(views: &[View<'_>], figure: &str) -> String {
    let mut page = format!("{figure}{}", comparison(views));
    for (index, view) in views.iter().enumerate() {
        let (number, name) = (index + 1, escape(&view.planned.title(index)));
        let _ = writeln!(page, r#"<section id="policy-{number}">"#);
        let _ = writeln!(page, "<h2>{name}</h2>");
        page.push_str(&clause(view));
        page.push_str(&plain_words(view));
        page.push_str(&details(view, "h3"));
        page.push_str("</section>\n");
    }
    page
}

fn clause(view: &View<'_>) -> String {
    format!("<pre><code>{}</code></pre>\n", escape(&view.planned.clause()))
}

fn plain_words(view: &View<'_>) -> String {
    format!("<p class=\"words\">{}</p>\n", escape(&view.words))
}

/// The picture, once for screens and once for phones; only one of them is ever shown.
fn figure(views: &[View<'_>], picture: &Picture) -> String {
    if picture.axis.is_none() {
        return String::new();
    }
    let sizes = [Size::WIDE, Size::NARROW];
    let sizes = if views.len() == 1 { sizes.map(Size::untitled) } else { sizes };
    let [wide, narrow] = sizes.map(|size| drawing(views, picture, size));
    format!(
        "<figure>\n{wide}{narrow}<figcaption>Each bar is the time in which an attempt can start, \
         from the earliest to the latest moment, if every attempt before it failed at once. The \
         dot is the average.</figcaption>\n</figure>\n"
    )
}

fn details(view: &View<'_>, heading: &str) -> String {
    let planned = view.planned;
    let mut details = String::new();
    if planned.retries() != Some(0) {
        details.push_str(&table(view));
    }
    if !planned.diagnostics.is_empty() {
        let _ = writeln!(details, "<{heading}>What to look at</{heading}>");
        details.push_str(&diagnostics(&planned.diagnostics));
    }
    details
}

fn table(view: &View<'_>) -> String {
    let listing = &view.listing;
    let seeded = listing.is_seeded();
    let seed = if seeded { "<th scope=\"col\">with this seed</th>" } else { "" };
    let mut table = String::from(SCROLL);
    table.push_str("<table>\n<caption>How long it waits after each failed attempt</caption>\n");
    let _ = writeln!(
        table,
        "<thead><tr><th scope=\"col\">after attempt</th><th scope=\"col\">at least</th>\
         <th scope=\"col\">on average</th><th scope=\"col\">at most</th>{seed}</tr></thead>"
    );
    table.push_str(&table_body(listing, seeded));
    let totals = Totals::new(view, human);
    table.push_str(&table_foot(&totals, seeded));
    let _ =
        writeln!(table, "</table>\n</div>\n<p class=\"note\">{}</p>", escape(&note(view.planned)));
    table
}

fn table_body(listing: &Listing, seeded: bool) -> String {
    let mut body = String::from("<tbody>\n");
    for row in &listing.rows {
        let (class, remark) = if row.reachable {
            ("", "")
        } else {
            (" class=\"unreachable\"", "<span class=\"remark\">never reached</span> ")
        };
        let delay = row.delay;
        let durations = [delay.least, delay.mean, delay.greatest].into_iter().chain(row.sample);
        let cells: String = durations.map(|duration| cell(&human(duration))).collect();
        let number = row.after_attempt;
        let _ = writeln!(body, "<tr{class}><th scope=\"row\">{remark}{number}</th>{cells}</tr>");
    }
    if let Some(rest) = &listing.rest {
        let columns = 4 + usize::from(seeded);
        let rest = escape(rest);
        let _ =
            writeln!(body, "<tr class=\"unreachable\"><td colspan=\"{columns}\">{rest}</td></tr>");
    }
    body.push_str("</tbody>\n");
    body
}

fn table_foot(totals: &Totals, seeded: bool) -> String {
    let sample = totals.sample.as_deref().unwrap_or("");
    let sample = if seeded { cell(sample) } else { String::new() };
    let nothing = if seeded { cell("") } else { String::new() };
    let waits: String = totals.waits.iter().map(|wait| cell(wait)).collect();
    let (earliest, latest) = (cell(&totals.earliest), cell(&totals.latest));
    format!(
        "<tfoot>\n<tr><th scope=\"row\">waits in all</th>{waits}{sample}</tr>\n\
         <tr><th scope=\"row\">gives up after</th>{earliest}<td></td>{latest}{nothing}</tr>\n\
         </tfoot>\n"
    )
}

fn comparison(views: &[View<'_>]) -> String {
    let mut table = String::from(SCROLL);
    table.push_str(
        "<table class=\"compared\">\n<caption>The policies compared</caption>\n<thead><tr>\
         <th scope=\"col\">policy</th><th scope=\"col\">attempts</th>\
         <th scope=\"col\">waits on average</th><th scope=\"col\">waits at most</th>\
         <th scope=\"col\">gives up at the latest after</th></tr></thead>\n<tbody>\n",
    );
    for (index, view) in views.iter().enumerate() {
        let planned = view.planned;
        let totals = Totals::new(view, human);
        let [_, mean, greatest] = totals.waits;
        let cells = [attempts_words(planned), mean, greatest, totals.latest];
        let cells: String = cells.iter().map(|text| cell(text)).collect();
        let (number, name) = (index + 1, escape(&planned.title(index)));
        let _ = writeln!(
            table,
            "<tr><th scope=\"row\"><a href=\"#policy-{number}\">{name}</a></th>{cells}</tr>"
        );
    }
    table.push_str("</tbody>\n</table>\n</div>\n");
    table
}

fn diagnostics(diagnostics: &[Diagnostic]) -> String {
    let mut list = String::from("<ul class=\"diagnostics\">\n");
    for diagnostic in diagnostics {
        let severity = if diagnostic.is_warning() { "warning" } else { "error" };
        let (name, message) = (diagnostic.kind.name(), escape(&diagnostic.message));
        let note = diagnostic.note.as_deref().map(escape);
        let note =
            note.map_or(String::new(), |note| format!(" <span class=\"note\">{note}</span>"));
        let _ = writeln!(
            list,
            "<li class=\"{severity}\"><b>{severity}</b> <code>{name}</code>: {message}{note}</li>"
        );
    }
    list.push_str("</ul>\n");
    list
}
