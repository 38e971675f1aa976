//! The policies that a command line selects: `--with`, `--policy`, `--preset`, a file, the
//! environment or the default, each with the single options that flags override.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use clap::ArgMatches;
use redial_core::clause::Kind as Clause;
use redial_core::{Backoff, Policy};
#[cfg(unix)]
use redial_policy::Draws;
use redial_policy::notation::Source as Text;
use redial_policy::{Diagnostic, Document, Entry, Kind, Notation, System, Timing, overlay, read};

use crate::args::PolicyFlags;
use crate::environment;
use crate::exit_code;
use crate::output::{Failure, print_note};
use crate::source::Source;
use crate::view::diagnostic::{Drawing, Lines};

/// The policies that redial brings.
const PRESETS: [(&str, Policy); 3] =
    [("default", Policy::DEFAULT), ("contention", Policy::CONTENTION), (UNTIL, POLL)];

/// How often `redial until` looks unless told otherwise. No jitter: pollers rarely start at once.
const UNTIL: &str = "until";
const POLL: Policy = Backoff::constant(Duration::from_secs(1)).unlimited();

/// A policy that was selected.
pub(crate) struct SelectedPolicy {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    pub(crate) entry: Entry,
    /// The policy, or the one of our own that comes nearest to a law.
    pub(crate) policy: Policy,
    /// Warnings only: a policy with an error is refused.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The text that the warnings point into, shared by all policies of a file.
    pub(crate) source: Rc<Source>,
    /// The environment variable that named it, if no flag did.
    pub(crate) from: Option<&'static str>,
    /// Whether it is the default policy of its file.
    pub(crate) is_default: bool,
}

impl SelectedPolicy {
    /// What it does.
    pub(crate) fn timing(&self) -> Timing {
        Timing::of(&self.entry).unwrap_or_else(|| self.policy.into())
    }

    /// A limit that leaves no time for an attempt is a mistake.
    #[cfg(unix)]
    pub(crate) fn refuse_no_time(&self) -> Result<(), Failure> {
        let limits = [("timeout", self.entry.timeout), ("within", self.policy.get_within())];
        match limits.into_iter().find(|(_, limit)| *limit == Some(Duration::ZERO)) {
            Some((name, _)) => Err(Failure::Message(format!(
                "{name}: 0s would cut every attempt at its start; leave it out for no limit"
            ))),
            None => Ok(()),
        }
    }

    /// What decides when it runs.
    #[cfg(unix)]
    pub(crate) fn engine(&self) -> Policy<Draws> {
        match &self.entry.law {
            Some(law) => law.policy().clone(),
            None => Draws::of(self.policy),
        }
    }

    /// Drops the warnings about long waits: waiting is what a poll is for.
    fn allow_long_waits(&mut self) {
        self.diagnostics.retain(|found| {
            !matches!(found.kind, Kind::Clause(Clause::Unbounded | Clause::ManyRetries))
        });
    }
}

/// What a policy is read from.
enum Base<'f> {
    With(&'f str),
    File(&'f str),
    Preset(&'f str),
}

/// The policies that the flags name, in the order in which they were written. Without such flags, the one
/// that the environment names, or else the default policy.
///
/// `FILE` without `#NAME` is the default policy of the file, or all of its policies with `whole_files`.
pub(crate) fn selected(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
    whole_files: bool,
) -> Result<Vec<SelectedPolicy>, Failure> {
    selected_with_files(flags, &[], matches, whole_files)
}

/// The same for a verb that takes files as arguments, too.
pub(crate) fn selected_with_files(
    flags: &PolicyFlags,
    files: &[String],
    matches: Option<&ArgMatches>,
    whole_files: bool,
) -> Result<Vec<SelectedPolicy>, Failure> {
    let system = flags.dialect.and_then(|dialect| Notation::from(dialect).system());
    if let Some(system) = system.filter(|system| system.is_command())
        && !files.iter().all(|file| std::path::Path::new(file).exists())
    {
        return of_command(system, files, flags);
    }
    named(flags, files, matches, whole_files)?.map_or_else(|| unnamed(flags, whole_files), Ok)
}

/// The same for `redial until`, whose default is to look once a second for as long as it takes. The
/// policy of the environment is ignored: it is for retries, and would end a wait after a few looks.
#[cfg(unix)]
pub(crate) fn selected_for_until(
    flags: &PolicyFlags,
    matches: Option<&ArgMatches>,
) -> Result<Vec<SelectedPolicy>, Failure> {
    let mut selected = match named(flags, &[], matches, false)? {
        Some(selected) => selected,
        None => vec![preset(UNTIL, flags)?],
    };
    selected.iter_mut().for_each(SelectedPolicy::allow_long_waits);
    Ok(selected)
}

/// What flags and arguments name, in the order in which they were written; `None` if they name nothing.
fn named(
    flags: &PolicyFlags,
    files: &[String],
    matches: Option<&ArgMatches>,
    whole_files: bool,
) -> Result<Option<Vec<SelectedPolicy>>, Failure> {
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
    let mut selected = Vec::new();
    for (_, base) in bases {
        match base {
            Base::With(clause) => selected.push(with("--with", clause, flags)?),
            Base::Preset(name) => selected.push(preset(name, flags)?),
            Base::File(file) => {
                let policies = of_file(file, flags, whole_files);
                selected.extend(policies.map_err(|failure| suggest_with(failure, file))?);
            }
        }
    }
    Ok(Some(selected))
}

/// Suggests `--with` for a file that cannot be read and whose name looks like a clause.
fn suggest_with(failure: Failure, file: &str) -> Failure {
    match failure {
        Failure::Message(message) if message.starts_with("cannot read") && file.contains(": ") => {
            Failure::Message(format!("{message}; a clause is given with --with '{file}'"))
        }
        failure => failure,
    }
}

/// The policy if no flag names one.
fn unnamed(flags: &PolicyFlags, whole_files: bool) -> Result<Vec<SelectedPolicy>, Failure> {
    let (variable, mut selected) = match environment::base()? {
        None => return Ok(vec![preset("default", flags)?]),
        Some(environment::Base::With(clause)) => {
            (environment::WITH, vec![with(environment::WITH, &clause, flags)?])
        }
        Some(environment::Base::File(file)) => {
            let policies = of_file(&file, flags, whole_files).map_err(|failure| match failure {
                // A bad value of a flag is not the variable's mistake.
                Failure::Message(message) if !message.starts_with("--") => {
                    Failure::Message(format!("{}: {message}", environment::POLICY))
                }
                Failure::Reported(code) => {
                    environment::note(environment::POLICY);
                    Failure::Reported(code)
                }
                other => other,
            });
            (environment::POLICY, policies?)
        }
    };
    selected.iter_mut().for_each(|policy| policy.from = Some(variable));
    Ok(selected)
}

/// The one policy, for a verb that takes only one.
pub(crate) fn exactly_one(
    flags: &PolicyFlags,
    mut selected: Vec<SelectedPolicy>,
) -> Result<SelectedPolicy, Failure> {
    if flags.with.len() + flags.policy.len() + flags.preset.len() > 1 {
        return Err(Failure::from(
            "one policy is needed: give one of --with, --policy and --preset",
        ));
    }
    match (selected.pop(), selected.as_slice()) {
        (Some(only), []) => Ok(only),
        (Some(last), rest) => {
            let names = rest.iter().chain([&last]).map(|policy| match &policy.name {
                Some(name) => name.as_str(),
                None => policy.entry.clause.as_str(),
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

/// Draws the warnings of these policies on standard error.
pub(crate) fn print_warnings(policies: &[SelectedPolicy]) {
    for of_one_text in policies.chunk_by(|a, b| Rc::ptr_eq(&a.source, &b.source)) {
        let mut found = of_one_text.iter().flat_map(|policy| &policy.diagnostics).peekable();
        if found.peek().is_some() {
            let drawing = Drawing::of(&of_one_text[0].source);
            found.for_each(|found| print_note(&drawing.draw(found)));
        }
    }
}

/// The clause of a flag or of a variable.
fn with(by: &str, clause: &str, flags: &PolicyFlags) -> Result<SelectedPolicy, Failure> {
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

fn preset(name: &str, flags: &PolicyFlags) -> Result<SelectedPolicy, Failure> {
    let Some((_, policy)) = PRESETS.iter().find(|(known, _)| *known == name) else {
        let names = PRESETS.map(|(name, _)| name).join(", ");
        return Err(Failure::Message(format!("--preset: there is no `{name}`; there are {names}")));
    };
    // Its text is not parsed, and only printed if flags override it: that would take a quarter of the time
    // in which `redial run` starts.
    let clause = if flags.overrides().is_empty() { String::new() } else { policy.to_string() };
    let entry = Entry::of(*policy, clause);
    let source = Source::clause(&format!("--preset {name}"), &entry.clause);
    let title = Some(name.to_owned()).filter(|name| name != "default");
    let mut selected = overlaid(title, entry, &[], &Rc::new(source), flags)?;
    if name == UNTIL {
        selected.allow_long_waits();
    }
    Ok(selected)
}

/// The policies of `FILE[#NAME]`: the named one, or the default of the file, or all of them.
fn of_file(
    argument: &str,
    flags: &PolicyFlags,
    whole_files: bool,
) -> Result<Vec<SelectedPolicy>, Failure> {
    if let Some(system) = program_of(argument) {
        let words: Vec<_> = argument.split_whitespace().map(str::to_owned).collect();
        return of_command(system, &words, flags);
    }
    let (file, name) = split(argument);
    let source = Source::open(file, flags.dialect.map(Into::into)).map_err(Failure::Message)?;
    of_source(source, name, flags.dialect.map(Into::into), flags, whole_files)
}

/// The program whose whole command line stands in the place of a file: `'curl --retry 5'`.
fn program_of(argument: &str) -> Option<&'static System> {
    let (program, _) = argument.split_once(' ')?;
    let system = System::named(program).filter(|system| system.is_command())?;
    (!std::path::Path::new(argument).exists()).then_some(system)
}

/// The policy in the flags of another program: what stands after `--dialect curl --`.
fn of_command(
    system: &'static System,
    words: &[String],
    flags: &PolicyFlags,
) -> Result<Vec<SelectedPolicy>, Failure> {
    let named = words.first().is_some_and(|word| word == system.name());
    let program = if named { String::new() } else { format!("{} ", system.name()) };
    let source = Source::clause(system.name(), &(program + &words.join(" ")));
    of_source(source, None, Some(Notation::Foreign(system)), flags, false)
}

/// The policies of a text: the named one, or the default, or all of them.
fn of_source(
    source: Source,
    name: Option<&str>,
    dialect: Option<Notation>,
    flags: &PolicyFlags,
    whole_files: bool,
) -> Result<Vec<SelectedPolicy>, Failure> {
    let file = source.name.as_str();
    let text = Text::new(&source.text, source.format).client(flags.client.as_deref());
    let document = text.document(text.parse().as_deref(), dialect);
    let refused = || {
        let drawing = Drawing::of(&source);
        // The hint would have to repeat --dialect.
        let fixable = dialect.is_none();
        refuse(if fixable { drawing.fixable(&document, None) } else { drawing }, &document)
    };
    let lines = Lines::new(&source.text);
    let wanted = name.or(document.default_name().filter(|_| !whole_files));
    let entries: Vec<&Entry> = match wanted {
        Some(name) => match find(name, &document, &lines, file) {
            Ok(entry) => vec![entry],
            // It may be missing only because of these errors.
            Err(_) if document.has_errors() => return Err(refused()),
            Err(failure) => return Err(failure),
        },
        None => document.policies().collect(),
    };
    // Errors outside of policies refuse the whole file; errors in other policies do not.
    let of_the_file = document.outside_of_policies();
    if of_the_file.iter().any(|found| !found.is_warning())
        || entries.iter().any(|entry| entry.nearest().is_none())
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
    let mut selected = Vec::new();
    for entry in entries {
        let name = Some(entry.name.clone()).filter(|name| !name.is_empty());
        let law = entry.law.as_ref().map(|law| law.named(place(&source.name, law.name())));
        let placed = Entry { law, ..entry.clone() };
        let mut one = overlaid(name, placed, &of_the_file, &source, flags)?;
        one.is_default = document.default_name() == Some(&entry.name);
        selected.push(one);
    }
    if selected.len() > 1 && flags.overrides().is_empty() {
        // Of several policies none is about to run: what a base lacks, another that extends it has.
        let place = |found: &Diagnostic| (found.kind, found.span);
        let told: HashSet<_> = document.diagnostics().iter().map(place).collect();
        let is_told = |found: &Diagnostic| told.contains(&place(found));
        selected.iter_mut().for_each(|one| one.diagnostics.retain(is_told));
    }
    Ok(selected)
}

/// Where a law is written: `FILE#NAME`. That of a command has no file.
fn place(file: &str, name: &str) -> String {
    match name {
        "" => file.to_owned(),
        name if name == file => name.to_owned(),
        name => format!("{file}#{name}"),
    }
}

/// Splits `FILE#NAME`. Both may contain `#`: the longest prefix that is a file wins.
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

/// Whether a word is `FILE#NAME`, or has the extension of a policy file, and the file exists.
pub(crate) fn is_policy_file(word: &str) -> bool {
    let (file, name) = split(word);
    let is_of_format = [".yaml", ".yml", ".toml", ".json"].iter().any(|end| file.ends_with(end));
    (name.is_some() || is_of_format) && std::path::Path::new(file).is_file()
}

/// Finds a policy by its name, or by its line if several have the same name.
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

/// Whether the warning is about flags that turn retries off on purpose: `-n 1` over a policy with delays.
fn is_intended(found: &Diagnostic, over: &[(&str, &str)]) -> bool {
    let says = |name: &str| over.iter().any(|(option, _)| *option == name);
    let unused = match found.kind {
        Kind::Clause(Clause::DelayWithoutRetry) => "delay",
        Kind::Clause(Clause::BackoffWithoutRetry) => "backoff",
        _ => return false,
    };
    (says("attempts") || says("retry")) && !says(unused)
}

/// Draws the errors of a text.
fn refuse(drawing: Drawing<'_>, document: &Document) -> Failure {
    /// Nobody reads more at once.
    const DRAWN_MAX: usize = 20;
    let errors = document.diagnostics().iter().filter(|found| !found.is_warning());
    errors.take(DRAWN_MAX).for_each(|error| print_note(&drawing.draw(error)));
    Failure::Reported(exit_code::ERROR)
}

/// A policy with the options that flags override. Diagnostics are then about the resulting clause;
/// without such flags they are those of the policy and of its file.
fn overlaid(
    name: Option<String>,
    entry: Entry,
    of_the_file: &[&Diagnostic],
    source: &Rc<Source>,
    flags: &PolicyFlags,
) -> Result<SelectedPolicy, Failure> {
    let over = flags.overrides();
    if over.is_empty() {
        let Some(policy) = entry.nearest() else { return Err(Failure::Reported(exit_code::ERROR)) };
        let found = of_the_file.iter().copied().chain(&entry.warnings);
        let (diagnostics, source) = (found.cloned().collect(), source.clone());
        let (from, is_default) = (None, false);
        return Ok(SelectedPolicy { name, entry, policy, diagnostics, source, from, is_default });
    }
    if let Some(law) = &entry.law {
        let flag =
            over.first().map_or_else(String::new, |(option, _)| PolicyFlags::flag_of(option));
        return Err(Failure::Message(format!(
            "--{flag}: no clause says the law of {law}, and so no flag can change a part of it"
        )));
    }
    let clause = overlay(&entry.clause, over.iter().copied()).map_err(|option| {
        let value = over.iter().find(|(name, _)| *name == option).map_or("", |(_, value)| value);
        let flag = PolicyFlags::flag_of(option);
        Failure::Message(format!("--{flag}: `{value}` is not one value; see redial help policy"))
    })?;
    let source = Source::clause(&format!("{} and flags", source.name), &clause);
    let document = read(&source.text, source.format, None);
    if document.has_errors() {
        return Err(refuse(Drawing::of(&source), &document));
    }
    let mut found = document.diagnostics().to_vec();
    found.retain(|found| !is_intended(found, &over));
    match document.policies().next().map(|entry| (entry.clone(), entry.policy)) {
        Some((mut overlaid, Some(policy))) => {
            overlaid.name = entry.name;
            Ok(SelectedPolicy {
                name,
                entry: overlaid,
                policy,
                diagnostics: found,
                source: Rc::new(source),
                from: None,
                is_default: false,
            })
        }
        _ => Err(Failure::Reported(exit_code::ERROR)),
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
