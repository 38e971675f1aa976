//! The policies that the flags name, with what the flags say over them.

use clap::ArgMatches;
use redial_core::Policy;
use redial_policy::{Diagnostic, Document, Entry, Notation, Span, overlay, read};

use crate::args::PolicyFlags;
use crate::draw::{Lines, draw};
use crate::output::{Failure, REFUSED, print_note};
use crate::source::Source;

/// The policies that redial brings.
const PRESETS: [(&str, Policy); 2] =
    [("default", Policy::DEFAULT), ("contention", Policy::CONTENTION)];

/// A policy that was asked for.
pub(crate) struct Chosen {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    pub(crate) entry: Entry,
    pub(crate) policy: Policy,
    /// Warnings; with an error it would not have been chosen.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The text that the warnings are about.
    pub(crate) source: Source,
    /// Whether its file gives it to whoever names none.
    pub(crate) is_default: bool,
}

/// Where a policy comes from.
enum Base<'f> {
    With(&'f str),
    File(&'f str),
    Preset(&'f str),
}

/// What was asked for, in the order in which it was written; the default policy for nothing.
///
/// Of a file without a name that is its default; all of it where `whole` files are wanted.
pub(crate) fn chosen(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
    whole: bool,
) -> Result<Vec<Chosen>, Failure> {
    let mut bases = Vec::new();
    for (id, values) in
        [("with", &flags.with), ("policy", &flags.policy), ("preset", &flags.preset)]
    {
        let places = matches.and_then(|matches| matches.indices_of(id)).into_iter().flatten();
        bases.extend(places.zip(values).map(|(place, value)| {
            let base = match id {
                "with" => Base::With(value),
                "policy" => Base::File(value),
                _ => Base::Preset(value),
            };
            (place, base)
        }));
    }
    if bases.is_empty() {
        bases.push((0, Base::Preset("default")));
    }
    bases.sort_by_key(|(place, _)| *place);
    let mut chosen = Vec::new();
    for (_, base) in bases {
        match base {
            Base::With(clause) => chosen.push(with(clause, flags)?),
            Base::Preset(name) => chosen.push(preset(name, flags)?),
            Base::File(file) => chosen.extend(of_file(file, flags, whole)?),
        }
    }
    Ok(chosen)
}

/// The one policy that was asked for, where there may be only one.
pub(crate) fn only(flags: &PolicyFlags, mut chosen: Vec<Chosen>) -> Result<Chosen, Failure> {
    if flags.with.len() + flags.policy.len() + flags.preset.len() > 1 {
        return Err(Failure::from(
            "one policy is needed: give one of --with, --policy and --preset",
        ));
    }
    match (chosen.pop(), chosen.as_slice()) {
        (Some(only), []) => Ok(only),
        (Some(last), rest) => {
            let names = rest.iter().chain([&last]).map(|chosen| match &chosen.name {
                Some(name) => name.as_str(),
                None => chosen.entry.clause.as_str(),
            });
            let names: Vec<_> = names.take(8).collect();
            Err(Failure::Message(format!(
                "there are {} policies, and one is needed; name it, as in FILE#NAME: {}",
                rest.len() + 1,
                names.join(", "),
            )))
        }
        (None, _) => Err(Failure::from("there is no policy")),
    }
}

fn with(clause: &str, flags: &PolicyFlags) -> Result<Chosen, Failure> {
    let source = Source::clause("--with", clause);
    let document = read(&source.text, source.format, Some(Notation::Clause));
    accept(&source, &document, document.diagnostics())?;
    let entries: Vec<_> = document.policies().cloned().collect();
    match <[Entry; 1]>::try_from(entries) {
        Ok([entry]) => overlaid(None, entry, document.diagnostics().to_vec(), source, flags),
        Err(_) => Err(Failure::from(
            "--with takes one clause, such as 'retry: 3, delay: 1s'; a script goes in a file",
        )),
    }
}

fn preset(name: &str, flags: &PolicyFlags) -> Result<Chosen, Failure> {
    let Some((_, policy)) = PRESETS.iter().find(|(known, _)| *known == name) else {
        let names = PRESETS.map(|(name, _)| name).join(" and ");
        return Err(Failure::Message(format!("--preset: there is no `{name}`; there are {names}")));
    };
    let source = Source::clause(&format!("--preset {name}"), &policy.to_string());
    let document = read(&source.text, source.format, None);
    let Some(entry) = document.policies().next() else {
        return Err(Failure::from("this preset is not a policy"));
    };
    let title = Some(name.to_owned()).filter(|name| name != "default");
    overlaid(title, entry.clone(), document.diagnostics().to_vec(), source, flags)
}

/// The policy that a file is asked for: the one that is named, the only one, its default; or else
/// all of them, for the verb to choose.
fn of_file(argument: &str, flags: &PolicyFlags, whole: bool) -> Result<Vec<Chosen>, Failure> {
    let (file, name) = split(argument);
    let dialect = flags.dialect.map(Into::into);
    let source = Source::open(file, dialect).map_err(Failure::Message)?;
    let document = read(&source.text, source.format, dialect);
    let lines = Lines::new(&source.text);
    let wanted = name.or(document.default_name().filter(|_| !whole));
    let entries: Vec<&Entry> = match wanted {
        Some(name) => match find(name, &document, &lines, file) {
            Ok(entry) => vec![entry],
            Err(failure) => {
                // A policy that is not there may be there once the file is right.
                accept(&source, &document, document.diagnostics())?;
                return Err(failure);
            }
        },
        None => document.policies().collect(),
    };
    if entries.is_empty() {
        accept(&source, &document, document.diagnostics())?;
        let nothing = document
            .diagnostics()
            .first()
            .map_or("there is no policy in it", |found| &found.message);
        return Err(Failure::Message(format!("{file}: {nothing}")));
    }
    let mut chosen = Vec::new();
    for entry in entries {
        // What is wrong with the others is not what was asked; what is wrong with the file is.
        let others = |found: &Diagnostic| {
            let holds = |other: &Entry| holds(other.span, found.span.start);
            !holds(entry) && document.policies().any(holds)
        };
        let own = |found: &&Diagnostic| entry.policy.is_none() || !others(found);
        let found: Vec<_> = document.diagnostics().iter().filter(own).cloned().collect();
        accept(&source, &document, &found)?;
        let text =
            Source { name: source.name.clone(), text: source.text.clone(), format: source.format };
        let name = Some(entry.name.clone()).filter(|name| !name.is_empty());
        let mut one = overlaid(name, entry.clone(), found, text, flags)?;
        one.is_default = document.default_name() == Some(&entry.name);
        chosen.push(one);
    }
    Ok(chosen)
}

fn holds(span: Span, at: usize) -> bool {
    span.start <= at && at < span.end.max(span.start + 1)
}

/// `FILE#NAME`. Either may have that sign in it: the file is the longest that there is.
fn split(argument: &str) -> (&str, Option<&str>) {
    let is_there = |file: &str| file == "-" || std::path::Path::new(file).exists();
    let mut splits =
        argument.rmatch_indices('#').map(|(at, _)| (&argument[..at], &argument[at + 1..]));
    match argument.rsplit_once('#') {
        Some((file, name)) if !is_there(argument) => {
            let (file, name) = splits.find(|(file, _)| is_there(file)).unwrap_or((file, name));
            (file, Some(name))
        }
        _ => (argument, None),
    }
}

/// By its name; or by its line, where names are not told apart.
fn find<'d>(
    name: &str,
    document: &'d Document,
    lines: &Lines<'_>,
    file: &str,
) -> Result<&'d Entry, Failure> {
    let on_line = |entry: &&Entry| lines.position(entry.span.start).line.to_string() == name;
    let named: Vec<_> = document.policies().filter(|entry| entry.name == name).collect();
    let found =
        if named.is_empty() { document.policies().filter(on_line).collect() } else { named };
    match found.as_slice() {
        [only] => Ok(only),
        [] => {
            let names: Vec<_> =
                document.policies().map(|entry| entry.name.as_str()).take(12).collect();
            let there = if names.is_empty() { "no policies".to_owned() } else { names.join(", ") };
            Err(Failure::Message(format!("{file}: there is no policy `{name}`; there are {there}")))
        }
        several => {
            let at = several.iter().map(|entry| lines.position(entry.span.start).line.to_string());
            let at: Vec<_> = at.collect();
            Err(Failure::Message(format!(
                "{file}: `{name}` is there several times; say which by its line: {}",
                at.iter().map(|line| format!("{file}#{line}")).collect::<Vec<_>>().join(", "),
            )))
        }
    }
}

/// Draws what is wrong, where anything is, and refuses.
fn accept(source: &Source, document: &Document, found: &[Diagnostic]) -> Result<(), Failure> {
    let errors: Vec<_> = found.iter().filter(|found| !found.is_warning()).collect();
    if errors.is_empty() && (document.policies().len() > 0 || !document.has_errors()) {
        return Ok(());
    }
    let lines = Lines::new(&source.text);
    for error in errors.into_iter().take(20) {
        print_note(&draw(source, &lines, error));
    }
    Err(Failure::Told(REFUSED))
}

/// A policy with what the flags say over it. What there is to say of the two together is said of
/// the clause that they make.
fn overlaid(
    name: Option<String>,
    entry: Entry,
    diagnostics: Vec<Diagnostic>,
    source: Source,
    flags: &PolicyFlags,
) -> Result<Chosen, Failure> {
    let over = flags.overlay();
    if over.is_empty() {
        let Some(policy) = entry.policy else { return Err(Failure::Told(REFUSED)) };
        return Ok(Chosen { name, entry, policy, diagnostics, source, is_default: false });
    }
    let clause = overlay(&entry.clause, over.iter().copied()).map_err(|option| {
        let value = over.iter().find(|(name, _)| *name == option).map_or("", |(_, value)| value);
        let flag = if option == "retry" { "retries".to_owned() } else { option.replace('_', "-") };
        Failure::Message(format!("--{flag}: `{value}` is not one value; see redial help policy"))
    })?;
    let source = Source::clause(&format!("{} and flags", source.name), &clause);
    let document = read(&source.text, source.format, None);
    accept(&source, &document, document.diagnostics())?;
    let found = document.diagnostics().to_vec();
    match document.policies().next().map(|entry| (entry.clone(), entry.policy)) {
        Some((mut overlaid, Some(policy))) => {
            overlaid.name = entry.name;
            Ok(Chosen {
                name,
                entry: overlaid,
                policy,
                diagnostics: found,
                source,
                is_default: false,
            })
        }
        _ => Err(Failure::Told(REFUSED)),
    }
}
