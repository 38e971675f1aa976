//! `redial explain`: what a diagnostic means, or why a task gave up, with an example and the fix.

use anstyle::Style;
use redial_flow::reason;
use redial_policy::notation::nearest;
use redial_policy::{Kind, System};

use crate::args::Explain;
use crate::output::{Failure, print, width};

pub(crate) fn run(explain: &Explain) -> Result<u8, Failure> {
    match &explain.name {
        None => print(&list())?,
        Some(name) => match found(&normalised(name)) {
            Some(markdown) => print(&page(markdown))?,
            None => return Err(Failure::Message(unknown(name))),
        },
    }
    Ok(0)
}

/// The page of a diagnostic, of a reason, or of another system.
fn found(name: &str) -> Option<&'static str> {
    let of_system = || System::named(name).map(System::page);
    Kind::named(name).map(Kind::page).or_else(|| reason::page(name)).or_else(of_system)
}

/// Accepts what was copied from somewhere: `Unknown_Option`, `error[unknown-option]`.
fn normalised(name: &str) -> String {
    let name =
        name.rsplit_once('[').map_or(name, |(_, inside)| inside).trim_end_matches([']', ':']);
    name.to_ascii_lowercase().replace('_', "-")
}

fn unknown(name: &str) -> String {
    let systems = System::all().map(System::name);
    let names: Vec<_> = Kind::all().map(Kind::name).chain(reason::names()).chain(systems).collect();
    match nearest(name, &names) {
        Some(meant) => format!("there is no diagnostic `{name}`; did you mean `{meant}`?"),
        None => format!("there is no diagnostic `{name}`; redial explain lists them all"),
    }
}

fn list() -> String {
    let kinds = |warnings| {
        let kinds = Kind::all().filter(move |kind| kind.is_warning() == warnings);
        kinds.map(|kind| (kind.name(), kind.page())).collect::<Vec<_>>()
    };
    let reasons = reason::names().filter_map(|name| Some((name, reason::page(name)?))).collect();
    let mut list = String::new();
    for (title, pages) in [
        ("Errors refuse the policy:", kinds(false)),
        ("\nWarnings run:", kinds(true)),
        ("\nReasons for which a task of a flow gives up:", reasons),
    ] {
        list += &section(title, &pages);
    }
    list += "\nOther systems whose policies are read:\n";
    let width = System::all().map(|system| system.name().len()).max().unwrap_or_default();
    for system in System::all() {
        list += &format!("  {:width$}  {}\n", system.name(), system.title());
    }
    list + "\nredial explain NAME says what it means, with an example and the fix.\n"
}

fn section(title: &str, pages: &[(&str, &str)]) -> String {
    let bold = Style::new().bold();
    let mut text = format!("{bold}{title}{bold:#}\n");
    for (name, page) in pages {
        let gist: String = gist(page);
        let room = width().saturating_sub(30);
        let shown: String = gist.chars().take(room).collect();
        let cut = if shown.len() < gist.len() { "…" } else { "" };
        text += &format!("  {name:<26} {shown}{cut}\n");
    }
    text
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
