//! A flow as a page to send to a colleague: it explains itself and loads nothing.

use std::fmt::Write;

use redial_flow::outlook::{StepOutlook, is_command};

use super::svg::{TITLE, drawing};
use super::terminal::one_line;
use super::{Planned, tables, words};
use crate::text::escape;
use crate::view::page::{code, figure, lead, page};
use crate::view::table::Table;

/// How many steps are told one by one.
const TOLD: usize = 200;

/// The flow as one HTML page, ending with a newline.
pub(crate) fn html(planned: &Planned<'_>) -> String {
    let mut content = lead(&words::worst(planned));
    content += &lead(&words::killed(planned));
    let note =
        format!("An arrow leads from a step to those that need it. {}", words::summary(planned));
    content += &figure(TITLE, |size| drawing(planned, size), &note);
    let caption = "How often each step is tried, and how long that takes".into();
    content += &Table { caption, ..tables::schedules(planned) }.html();
    let _ = writeln!(content, "<p class=\"note\">{}</p>", escape(&words::note(planned)));
    for one in planned.outlook.steps.iter().take(TOLD) {
        content += &step(one);
    }
    if let Some(more @ 1..) = planned.outlook.steps.len().checked_sub(TOLD) {
        let _ = writeln!(
            content,
            "<p class=\"note\">And {more} more; <code>--json</code> has them.</p>"
        );
    }
    content += "<footer>\n<p>An attempt is one execution of a step; a wait is the time between a failed attempt and \
                the next one. Waiting holds no slot.</p>\n</footer>\n";
    page(planned.name(), &content)
}

fn step(one: &StepOutlook) -> String {
    let (field, text) = words::does(&one.step);
    let heading = match &one.step.inside {
        Some(map) => format!("{}, for each item of {map}", one.step.name),
        None => one.step.name.clone(),
    };
    let mut html = format!("<h3>{}</h3>\n", escape(&heading));
    html += &code(&format!("{field} {}", one_line(&text)));
    let mut said = Vec::new();
    said.extend(words::needs(&one.step.needs).map(|needs| format!("Needs {needs}.")));
    said.extend(words::bounds(one).map(|bounds| format!("{bounds}.")));
    if is_command(&one.step) {
        said.push(format!("{}.", words::clause(&one.plan)));
        said.extend(words::waits(&one.plan).map(|waits| format!("Waits {waits}.")));
        said.extend(words::sampled(&one.plan).map(|waits| format!("With this seed {waits}.")));
    }
    said.extend(words::remarks(one).into_iter().map(|remark| format!("{}.", one_line(&remark))));
    let _ = writeln!(
        html,
        "<p class=\"note\" style=\"overflow-wrap:anywhere\">{}</p>",
        escape(&said.join(" "))
    );
    html
}
