//! The policies that the flags name, with what the flags say over them.

use std::rc::Rc;
use std::time::Duration;

use clap::ArgMatches;
use redial_core::clause::Kind as Clause;
use redial_core::{Backoff, Policy};
use redial_policy::{Diagnostic, Document, Entry, Kind, Notation, overlay, read};

use crate::args::PolicyFlags;
use crate::environment;
use crate::output::{Failure, REFUSED, print_note};
use crate::source::Source;
use crate::view::diagnostic::{Drawing, Lines};

/// The policies that redial brings.
const PRESETS: [(&str, Policy); 3] =
    [("default", Policy::DEFAULT), ("contention", Policy::CONTENTION), (UNTIL, POLL)];

/// The pace of `redial until` where nothing else is said. It has no jitter: whoever polls is alone, or
/// began at another time than the others.
const UNTIL: &str = "until";
const POLL: Policy = Backoff::constant(Duration::from_secs(1)).unlimited();

/// A policy that was asked for.
pub(crate) struct Chosen {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    pub(crate) entry: Entry,
    pub(crate) policy: Policy,
    /// Warnings; with an error it would not have been chosen.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The text that the warnings are about, shared by all policies of a file.
    pub(crate) source: Rc<Source>,
    /// The variable of the environment that named it, where none of the flags did.
    pub(crate) from: Option<&'static str>,
    /// Whether its file gives it to whoever names none.
    pub(crate) is_default: bool,
}

impl Chosen {
    /// Leaves out the warnings about what a poll is for.
    fn may_wait(&mut self) {
        self.diagnostics.retain(|found| {
            !matches!(found.kind, Kind::Clause(Clause::Unbounded | Clause::ManyRetries))
        });
    }
}

/// Where a policy comes from.
enum Base<'f> {
    With(&'f str),
    File(&'f str),
    Preset(&'f str),
}

/// What was asked for, in the order in which it was written; for nothing, what the environment
/// names, or else the default policy.
///
/// Of a file without a name that is its default; all of it where `whole` files are wanted.
pub(crate) fn chosen(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
    whole: bool,
) -> Result<Vec<Chosen>, Failure> {
    chosen_with_files(flags, &[], matches, whole)
}

/// The same where files may be named without a flag.
pub(crate) fn chosen_with_files(
    flags: &PolicyFlags,
    files: &[String],
    matches: Option<&ArgMatches>,
    whole: bool,
) -> Result<Vec<Chosen>, Failure> {
    named(flags, files, matches, whole)?.map_or_else(|| unnamed(flags, whole), Ok)
}

/// What was asked for as the pace of a poll; for nothing, that of `redial until`. What the environment
/// names is for retries: as many attempts as those may take would end a wait.
#[cfg(unix)]
pub(crate) fn polled(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
) -> Result<Vec<Chosen>, Failure> {
    let mut chosen = match named(flags, &[], matches, false)? {
        Some(chosen) => chosen,
        None => vec![preset(UNTIL, flags)?],
    };
    chosen.iter_mut().for_each(Chosen::may_wait);
    Ok(chosen)
}

/// What flags and files name, in the order in which it was written; nothing where none does.
fn named(
    flags: &PolicyFlags,
    files: &[String],
    matches: Option<&ArgMatches>,
    whole: bool,
) -> Result<Option<Vec<Chosen>>, Failure> {
    let mut bases = Vec::new();
    let named = [
        ("with", flags.with.as_slice()),
        ("policy", flags.policy.as_slice()),
        ("preset", flags.preset.as_slice()),
        ("files", files),
    ];
    // Not every verb knows all of these.
    for (id, values) in named.into_iter().filter(|(_, values)| !values.is_empty()) {
        let places = matches.and_then(|matches| matches.indices_of(id)).into_iter().flatten();
        bases.extend(places.zip(values).map(|(place, value)| {
            let base = match id {
                "with" => Base::With(value),
                "policy" | "files" => Base::File(value),
                _ => Base::Preset(value),
            };
            (place, base)
        }));
    }
    if bases.is_empty() {
        return Ok(None);
    }
    bases.sort_by_key(|(place, _)| *place);
    let mut chosen = Vec::new();
    for (_, base) in bases {
        match base {
            Base::With(clause) => chosen.push(with("--with", clause, flags)?),
            Base::Preset(name) => chosen.push(preset(name, flags)?),
            Base::File(file) => {
                let found = of_file(file, flags, whole);
                chosen.extend(found.map_err(|failure| or_a_clause(failure, file))?);
            }
        }
    }
    Ok(Some(chosen))
}

/// Why a file cannot be read; and what a clause is given with, where the name looks like one.
fn or_a_clause(failure: Failure, file: &str) -> Failure {
    match failure {
        Failure::Message(message) if message.starts_with("cannot read") && file.contains(": ") => {
            Failure::Message(format!("{message}; a clause is given with --with '{file}'"))
        }
        failure => failure,
    }
}

/// The policy where no flag names one.
fn unnamed(flags: &PolicyFlags, whole: bool) -> Result<Vec<Chosen>, Failure> {
    let (variable, mut chosen) = match environment::base()? {
        None => return Ok(vec![preset("default", flags)?]),
        Some(environment::Base::With(clause)) => {
            (environment::WITH, vec![with(environment::WITH, &clause, flags)?])
        }
        Some(environment::Base::File(file)) => {
            let chosen = of_file(&file, flags, whole).map_err(|failure| match failure {
                // What a flag says over the policy is not the variable's mistake.
                Failure::Message(message) if !message.starts_with("--") => {
                    Failure::Message(format!("{}: {message}", environment::POLICY))
                }
                Failure::Told(code) => {
                    environment::note(environment::POLICY);
                    Failure::Told(code)
                }
                other => other,
            });
            (environment::POLICY, chosen?)
        }
    };
    for one in &mut chosen {
        one.from = Some(variable);
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
            let by = last.from.map(|variable| format!("{variable}: ")).unwrap_or_default();
            Err(Failure::Message(format!(
                "{by}there are {} policies, and one is needed; name it, as in FILE#NAME: {}",
                rest.len() + 1,
                names.join(", "),
            )))
        }
        (None, _) => Err(Failure::from("there is no policy")),
    }
}

/// Draws the warnings of what was chosen.
pub(crate) fn print_warnings(chosen: &[Chosen]) {
    for of_one_text in chosen.chunk_by(|a, b| Rc::ptr_eq(&a.source, &b.source)) {
        let mut found = of_one_text.iter().flat_map(|chosen| &chosen.diagnostics).peekable();
        if found.peek().is_some() {
            let drawing = Drawing::of(&of_one_text[0].source);
            found.for_each(|found| print_note(&drawing.draw(found)));
        }
    }
}

/// The clause that a flag or a variable gives.
fn with(by: &str, clause: &str, flags: &PolicyFlags) -> Result<Chosen, Failure> {
    let source = Source::clause(by, clause);
    let notation = Some(Notation::Clause);
    let document = read(&source.text, source.format, notation);
    if document.has_errors() {
        return Err(refuse(Drawing::of(&source).fixable(&document, notation), &document));
    }
    let entries: Vec<_> = document.policies().cloned().collect();
    match <[Entry; 1]>::try_from(entries) {
        Ok([entry]) => overlaid(None, entry, &[], &Rc::new(source), flags),
        Err(_) => Err(Failure::Message(format!(
            "{by} takes one clause, such as 'retry: 3, delay: 1s'; a script goes in a file"
        ))),
    }
}

fn preset(name: &str, flags: &PolicyFlags) -> Result<Chosen, Failure> {
    let Some((_, policy)) = PRESETS.iter().find(|(known, _)| *known == name) else {
        let names = PRESETS.map(|(name, _)| name).join(", ");
        return Err(Failure::Message(format!("--preset: there is no `{name}`; there are {names}")));
    };
    // It is not read again from its text, and not even printed where no flag stands over it: that would
    // be a quarter of what `redial run` takes to start.
    let clause = if flags.overlay().is_empty() { String::new() } else { policy.to_string() };
    let entry = Entry::of(*policy, clause);
    let source = Source::clause(&format!("--preset {name}"), &entry.clause);
    let title = Some(name.to_owned()).filter(|name| name != "default");
    let mut chosen = overlaid(title, entry, &[], &Rc::new(source), flags)?;
    if name == UNTIL {
        chosen.may_wait();
    }
    Ok(chosen)
}

/// The policy that a file is asked for: the one that is named, the only one, its default; or else
/// all of them, for the verb to choose.
fn of_file(argument: &str, flags: &PolicyFlags, whole: bool) -> Result<Vec<Chosen>, Failure> {
    let (file, name) = split(argument);
    let dialect = flags.dialect.map(Into::into);
    let source = Source::open(file, dialect).map_err(Failure::Message)?;
    let document = read(&source.text, source.format, dialect);
    let refused = || {
        let drawing = Drawing::of(&source);
        // Whoever takes up the hint of a fix need not think of the dialect.
        let fixable = dialect.is_none();
        refuse(if fixable { drawing.fixable(&document, None) } else { drawing }, &document)
    };
    let lines = Lines::new(&source.text);
    let wanted = name.or(document.default_name().filter(|_| !whole));
    let entries: Vec<&Entry> = match wanted {
        Some(name) => match find(name, &document, &lines, file) {
            Ok(entry) => vec![entry],
            // A policy that is not there may be there once the file is right.
            Err(_) if document.has_errors() => return Err(refused()),
            Err(failure) => return Err(failure),
        },
        None => document.policies().collect(),
    };
    // What is wrong with the file itself refuses all of it; what is wrong with the policies that
    // nobody asked for does not.
    let of_the_file = document.outside_of_policies();
    if of_the_file.iter().any(|found| !found.is_warning())
        || entries.iter().any(|entry| entry.policy.is_none())
    {
        return Err(refused());
    }
    if entries.is_empty() {
        let nothing = document
            .diagnostics()
            .first()
            .map_or("there is no policy in it", |found| &found.message);
        return Err(Failure::Message(format!("{file}: {nothing}")));
    }
    let source = Rc::new(source);
    let mut chosen = Vec::new();
    for entry in entries {
        let name = Some(entry.name.clone()).filter(|name| !name.is_empty());
        let mut one = overlaid(name, entry.clone(), &of_the_file, &source, flags)?;
        one.is_default = document.default_name() == Some(&entry.name);
        chosen.push(one);
    }
    Ok(chosen)
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

/// Whether a word, where something else is expected, is `FILE#NAME` or a policy file that is there.
pub(crate) fn names_a_policy(word: &str) -> bool {
    let (file, name) = split(word);
    let is_of_format = [".yaml", ".yml", ".toml", ".json"].iter().any(|end| file.ends_with(end));
    (name.is_some() || is_of_format) && std::path::Path::new(file).is_file()
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

/// Whether the flags took the retries away from a policy that has delays: `-n 1` means it so.
fn is_asked_for(found: &Diagnostic, over: &[(&str, &str)]) -> bool {
    let says = |name: &str| over.iter().any(|(option, _)| *option == name);
    let unused = match found.kind {
        Kind::Clause(Clause::DelayWithoutRetry) => "delay",
        Kind::Clause(Clause::BackoffWithoutRetry) => "backoff",
        _ => return false,
    };
    (says("attempts") || says("retry")) && !says(unused)
}

/// Draws what is wrong with a text.
fn refuse(drawing: Drawing<'_>, document: &Document) -> Failure {
    /// More than these are more than anybody looks at.
    const DRAWN_MAX: usize = 20;
    let errors = document.diagnostics().iter().filter(|found| !found.is_warning());
    errors.take(DRAWN_MAX).for_each(|error| print_note(&drawing.draw(error)));
    Failure::Told(REFUSED)
}

/// A policy with what the flags say over it. What there is to say of the two together is said of
/// the clause that they make; of the policy alone, besides what there is to say of its file.
fn overlaid(
    name: Option<String>,
    entry: Entry,
    of_the_file: &[&Diagnostic],
    source: &Rc<Source>,
    flags: &PolicyFlags,
) -> Result<Chosen, Failure> {
    let over = flags.overlay();
    if over.is_empty() {
        let Some(policy) = entry.policy else { return Err(Failure::Told(REFUSED)) };
        let found = of_the_file.iter().copied().chain(&entry.warnings);
        let (diagnostics, source) = (found.cloned().collect(), source.clone());
        let (from, is_default) = (None, false);
        return Ok(Chosen { name, entry, policy, diagnostics, source, from, is_default });
    }
    let clause = overlay(&entry.clause, over.iter().copied()).map_err(|option| {
        let value = over.iter().find(|(name, _)| *name == option).map_or("", |(_, value)| value);
        let flag = if option == "retry" { "retries".to_owned() } else { option.replace('_', "-") };
        Failure::Message(format!("--{flag}: `{value}` is not one value; see redial help policy"))
    })?;
    let source = Source::clause(&format!("{} and flags", source.name), &clause);
    let document = read(&source.text, source.format, None);
    if document.has_errors() {
        return Err(refuse(Drawing::of(&source), &document));
    }
    let mut found = document.diagnostics().to_vec();
    found.retain(|found| !is_asked_for(found, &over));
    match document.policies().next().map(|entry| (entry.clone(), entry.policy)) {
        Some((mut overlaid, Some(policy))) => {
            overlaid.name = entry.name;
            Ok(Chosen {
                name,
                entry: overlaid,
                policy,
                diagnostics: found,
                source: Rc::new(source),
                from: None,
                is_default: false,
            })
        }
        _ => Err(Failure::Told(REFUSED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_what_its_text_reads_as_and_has_no_warnings_but_those_of_a_poll() {
        for (name, policy) in PRESETS {
            let document = read(&policy.to_string(), redial_policy::Format::Text, None);
            let read = document.policies().next().unwrap();
            assert_eq!((&policy.to_string(), Some(policy)), (&read.clause, read.policy), "{name}");
            let is_of_a_poll =
                |found: &Diagnostic| name == UNTIL && found.kind == Kind::Clause(Clause::Unbounded);
            assert!(read.warnings.iter().all(is_of_a_poll), "{name}: {:?}", read.warnings);
        }
    }
}
