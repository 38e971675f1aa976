//! A plan as a page to send to a colleague: it explains itself and loads nothing.

use std::fmt::Write;

use redial_policy::Diagnostic;

use super::picture::Picture;
use super::svg::{TITLE, drawing};
use super::totals::note;
use super::{Planned, View, tables};
use crate::text::escape;
use crate::view::page::{self, code, lead, page};
use crate::view::table::Table;

/// The plans as one HTML page, ending with a newline.
pub(crate) fn html(plans: &[Planned]) -> String {
    let title = title(plans);
    let views = View::all(plans);
    let figure = figure(&views, &Picture::new(plans));
    let content = match &views[..] {
        [view] => alone(view, &figure),
        views => together(views, &figure),
    };
    page(&title, &format!("{content}<footer>\n{FOOTER}</footer>\n"))
}

const FOOTER: &str = "\
<p>An attempt is one execution; a wait is the time between a failed attempt and the next one. \
The numbers are for a call that fails every time: one that succeeds ends with its first success.</p>
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
    [&clause(view), &lead(std::slice::from_ref(&view.words)), figure, &details(view, "h2")].concat()
}

/// Several policies: first what they have in common, then each.
fn together(views: &[View<'_>], figure: &str) -> String {
    let caption = "The policies compared".into();
    let comparison = Table { caption, ..tables::policies(views, tables::SPACIOUS) };
    let mut page = format!("{figure}{}", comparison.html());
    for (index, view) in views.iter().enumerate() {
        let (number, name) = (index + 1, escape(&view.planned.title(index)));
        let _ = writeln!(page, r#"<section id="policy-{number}">"#);
        let _ = writeln!(page, "<h2>{name}</h2>");
        page.push_str(&clause(view));
        page.push_str(&lead(std::slice::from_ref(&view.words)));
        page.push_str(&details(view, "h3"));
        page.push_str("</section>\n");
    }
    page
}

fn clause(view: &View<'_>) -> String {
    let clause = code(&view.planned.clause());
    match view.planned.from {
        Some(variable) => format!("{clause}<p class=\"remark\">from {variable}</p>\n"),
        None => clause,
    }
}

fn figure(views: &[View<'_>], picture: &Picture) -> String {
    if picture.axis.is_none() {
        return String::new();
    }
    let note = "Each bar is the time in which an attempt can start, from the earliest to the latest \
                moment, if every attempt before it failed at once. The dot is the average.";
    page::figure(TITLE, |size| drawing(views, picture, size), note)
}

fn details(view: &View<'_>, heading: &str) -> String {
    let planned = view.planned;
    let mut details = String::new();
    if planned.retries() != Some(0) {
        let caption = "How long it waits after each failed attempt".into();
        details.push_str(&Table { caption, ..tables::delays(view, tables::SPACIOUS) }.html());
        let _ = writeln!(details, "<p class=\"note\">{}</p>", escape(&note(planned)));
        for note in &planned.notes {
            let _ = writeln!(details, "<p class=\"note\">{}</p>", escape(note));
        }
    }
    if !planned.diagnostics.is_empty() {
        let _ = writeln!(details, "<{heading}>What to look at</{heading}>");
        details.push_str(&diagnostics(&planned.diagnostics));
    }
    details
}

fn diagnostics(diagnostics: &[Diagnostic]) -> String {
    let mut list = String::from("<ul class=\"diagnostics\">\n");
    for diagnostic in diagnostics {
        let severity = diagnostic.severity();
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
