//! `redial explain`: what a diagnostic means, with an example and the fix.

use anstyle::Style;
use redial_policy::Kind;

use crate::args::Explain;
use crate::output::{Failure, print, width};

pub(crate) fn run(explain: &Explain) -> Result<u8, Failure> {
    match &explain.name {
        None => print(&list())?,
        Some(name) => match Kind::named(&normalised(name)) {
            Some(kind) => print(&page(kind.page()))?,
            None => return Err(Failure::Message(unknown(name))),
        },
    }
    Ok(0)
}

/// Accepts what was copied from somewhere: `Unknown_Option`, `error[unknown-option]`.
fn normalised(name: &str) -> String {
    let name =
        name.rsplit_once('[').map_or(name, |(_, inside)| inside).trim_end_matches([']', ':']);
    name.to_ascii_lowercase().replace('_', "-")
}

fn unknown(name: &str) -> String {
    match Kind::nearest(name) {
        Some(meant) => {
            format!("there is no diagnostic `{name}`; did you mean `{}`?", meant.name())
        }
        None => format!("there is no diagnostic `{name}`; redial explain lists them all"),
    }
}

fn list() -> String {
    let bold = Style::new().bold();
    let mut list = String::new();
    for (title, warnings) in [("Errors refuse the policy:", false), ("\nWarnings run:", true)] {
        list += &format!("{bold}{title}{bold:#}\n");
        for kind in Kind::all().filter(|kind| kind.is_warning() == warnings) {
            let gist: String = gist(kind.page());
            let room = width().saturating_sub(30);
            let shown: String = gist.chars().take(room).collect();
            let cut = if shown.len() < gist.len() { "…" } else { "" };
            list += &format!("  {:<26} {shown}{cut}\n", kind.name());
        }
    }
    list + "\nredial explain NAME says what it means, with an example and the fix.\n"
}

/// The first sentence of a page, without its severity.
fn gist(page: &str) -> String {
    let paragraph = page.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
    let said = paragraph.split_once(": ").map_or(paragraph.as_str(), |(_, said)| said);
    said.split(". ").next().unwrap_or(said).trim_end_matches('.').to_owned()
}

/// A page of Markdown for a terminal: headings bold, blocks of code indented.
pub(crate) fn page(markdown: &str) -> String {
    let bold = Style::new().bold();
    let code = anstyle::AnsiColor::Cyan.on_default();
    let mut text = String::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code && line.is_empty() {
            text.push('\n');
        } else if in_code {
            text += &format!("    {code}{line}{code:#}\n");
        } else if line.starts_with("Delays: ") || line.starts_with("Diagnostics: ") {
            // What the block above it comes to.
            text += &format!("    {line}\n");
        } else if let Some(heading) = line.strip_prefix('#') {
            text += &format!("{bold}{}{bold:#}\n", heading.trim_start_matches('#').trim_start());
        } else {
            text += line;
            text.push('\n');
        }
    }
    text
}
