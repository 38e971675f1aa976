//! Retry policies of other systems: what their code does, not what a clause of ours would come near to.
//!
//! A system is one file: how its texts are recognised, its law, what it loses, its page and its vectors. A line in [`ALL`]
//! makes it known to everything else. What a clause of ours says exactly becomes an ordinary policy; for what it does not
//! there is a [`Law`], a table of what each delay can be.

mod argo;
mod arithmetic;
mod aws;
mod command;
mod envoy;
mod grpc;
mod ini;
mod istio;
mod kubernetes;
mod law;
mod polly;
mod resilience4j;
mod step_functions;
mod systemd;
mod temporal;
mod unread;
mod value;
mod written;

use std::time::Duration;

use redial_core::clause::Kind as Clause;
use redial_core::{Forecast, Policy, Pretty};

use crate::Format;
use crate::convert::{Foreign, Parts};
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::document::{Document, Entry, Notation};
use crate::draft::Draft;
use crate::matcher::Patterns;
use crate::names::Vocabulary;
use crate::tree::{Node, Value};

use law::{DELAYS_MAX, Draw};
pub use law::{Draws, Law};
pub(crate) use unread::unread;
pub(crate) use written::{is_one as is_written, read as read_written, write as written};

/// The systems that are read, in the order in which they are asked.
const ALL: &[&System] = &[
    &step_functions::SYSTEM,
    &kubernetes::SYSTEM,
    &grpc::SYSTEM,
    &temporal::SYSTEM,
    &envoy::SYSTEM,
    &istio::SYSTEM,
    &argo::SYSTEM,
    &resilience4j::SYSTEM,
    &polly::SYSTEM,
    &systemd::SYSTEM,
    &aws::SYSTEM,
    &command::CURL,
    &command::WGET,
];

/// A system whose retry policies are read.
///
/// ```
/// use redial_policy::System;
///
/// let system = System::named("step-functions").unwrap();
/// assert_eq!(system.title(), "AWS Step Functions");
/// assert!(system.page().starts_with("# AWS Step Functions\n"));
/// ```
pub struct System {
    name: &'static str,
    title: &'static str,
    /// Implementations whose laws differ; the first one is meant where none is named.
    clients: &'static [&'static str],
    /// What it calls the options of a clause.
    vocabulary: Vocabulary,
    reads: Reads,
    /// A policy of ours in its notation, where there is a place for it.
    writes: Option<fn(&Parts, &Entry) -> Foreign>,
    page: &'static str,
    vectors: &'static [Vector],
}

/// How a system's texts are told from others, and read.
enum Reads {
    /// A map of YAML, JSON or TOML: whether it is one of the system's, and what is in it.
    Maps(fn(&Node, &str) -> bool, fn(&mut Reader<'_>, &Node, &str) -> Walk),
    /// A text that is no tree.
    Text(fn(&str) -> bool, fn(&mut Reader<'_>)),
    /// The arguments of a command.
    Command(fn(&str) -> bool, fn(&mut Reader<'_>)),
}

/// Where to look for more policies in a map that a system has read.
pub(crate) enum Walk {
    /// All of it is read.
    Done,
    /// In all fields but these: a state has branches of states.
    Beside(&'static [&'static str]),
}

/// A text of a system's, and the delays that its own code sleeps: out of its source, its tests, or a run of it.
#[derive(Debug)]
pub struct Vector {
    /// What is written.
    pub text: &'static str,
    /// In which format.
    pub format: Format,
    /// By which implementation it is read.
    pub client: Option<&'static str>,
    /// The delays of the last policy of the text, as `1s 2s 0ns-4s`; `…` after the last one where there is no end to them.
    pub delays: &'static str,
}

impl System {
    /// All of them.
    pub fn all() -> impl ExactSizeIterator<Item = &'static Self> {
        ALL.iter().copied()
    }

    /// The one of this name, as `--dialect` takes it.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|system| system.name == name)
    }

    /// Its name, as `--dialect` takes it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What people call it.
    pub const fn title(&self) -> &'static str {
        self.title
    }

    /// Implementations whose laws differ; the first one is meant where none is named.
    pub const fn clients(&self) -> &'static [&'static str] {
        self.clients
    }

    /// Whether its policies are arguments of a command, and not in a file.
    pub const fn is_command(&self) -> bool {
        matches!(self.reads, Reads::Command(..))
    }

    /// Whether a policy can be written in its notation.
    pub const fn is_written(&self) -> bool {
        self.writes.is_some()
    }

    /// What it does and where its documentation says otherwise, in Markdown.
    pub const fn page(&self) -> &'static str {
        self.page
    }

    /// Texts with the delays that its code sleeps.
    pub const fn vectors(&self) -> &'static [Vector] {
        self.vectors
    }

    /// Whether texts of it have no tree.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.reads, Reads::Text(..) | Reads::Command(..))
    }

    pub(crate) fn write(&self, parts: &Parts, entry: &Entry) -> Option<Foreign> {
        self.writes.map(|write| write(parts, entry))
    }
}

impl std::fmt::Debug for System {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "System({})", self.name)
    }
}

impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for System {}

impl std::hash::Hash for System {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The system that a text without a tree belongs to.
pub(crate) fn of_text(text: &str) -> Option<&'static System> {
    System::all().find(|system| match system.reads {
        Reads::Text(is_its, _) | Reads::Command(is_its, _) => is_its(text),
        Reads::Maps(..) => false,
    })
}

/// Reads a text without a tree.
pub(crate) fn read_text(system: &'static System, text: &str, client: Option<&str>) -> Document {
    let mut reader = Reader::new(system, text, Format::Text, client);
    if let Reads::Text(_, read) | Reads::Command(_, read) = system.reads {
        read(&mut reader);
    }
    reader.document
}

/// The one policy of a text or a map that can only be another system's.
pub(crate) fn only(node: &Node, text: &str, format: Format) -> Option<Document> {
    let document = match &node.value {
        Value::Text(words) => read_text(of_text(words)?, words, None),
        _ => {
            let mut document = Document::default();
            read_map(node, "", None, (text, format, None), &mut document)?;
            document
        }
    };
    (document.entries.len() == 1).then_some(document)
}

/// Reads a map that a walk through a tree has come upon, if it is one of a system's.
pub(crate) fn read_map(
    node: &Node,
    path: &str,
    wanted: Option<&'static System>,
    source: (&str, Format, Option<&str>),
    document: &mut Document,
) -> Option<Walk> {
    let (text, format, client) = source;
    let is_wanted = |system: &&'static System| wanted.is_none_or(|wanted| wanted == *system);
    for system in System::all().filter(is_wanted) {
        let Reads::Maps(is_its, read) = system.reads else { continue };
        if !is_its(node, path) {
            continue;
        }
        let mut reader = Reader::new(system, text, format, client);
        let walk = read(&mut reader, node, path);
        document.entries.append(&mut reader.document.entries);
        document.diagnostics.append(&mut reader.document.diagnostics);
        return Some(walk);
    }
    None
}

/// What a policy of another system can be warned of, too.
const WARNINGS: [Kind; 6] = [
    Kind::Clause(Clause::ManyRetries),
    Kind::Clause(Clause::CapBelowBase),
    Kind::Clause(Clause::TimeoutAboveDeadline),
    Kind::Clause(Clause::AttemptsPastDeadline),
    Kind::Clause(Clause::Unbounded),
    Kind::Clause(Clause::HotLoop),
];

/// What a system's policy came to.
struct Found {
    /// Where it stands in the text.
    name: String,
    span: Span,
    /// The clause that comes nearest.
    clause: String,
    /// Where the documentation says otherwise, or a word means something else than it seems to.
    notes: Vec<String>,
    /// How long each attempt may take.
    timeout: Option<Duration>,
}

impl Found {
    fn new(name: impl Into<String>, span: Span, clause: impl Into<String>) -> Self {
        let (name, clause) = (name.into(), clause.into());
        Self { name, span, clause, notes: Vec::new(), timeout: None }
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// Reads the policies of one system in a text.
struct Reader<'t> {
    system: &'static System,
    text: &'t str,
    format: Format,
    client: &'static str,
    document: Document,
}

impl<'t> Reader<'t> {
    fn new(system: &'static System, text: &'t str, format: Format, client: Option<&str>) -> Self {
        let mut document = Document::default();
        let known = client.and_then(|name| system.clients.iter().find(|client| **client == name));
        if let (Some(name), None) = (client, known) {
            let message = match system.clients {
                [] => format!(
                    "{} has one law, whoever the client is; leave --client out",
                    system.title
                ),
                clients => format!(
                    "the law of {} is not known for `{}`; it is for {}",
                    system.title,
                    crate::fields::excerpt(name),
                    crate::fields::listed(clients),
                ),
            };
            let span = Span { start: 0, end: 0 };
            document.diagnostics.push(Diagnostic::new(Kind::NotReadYet, span, message));
        }
        let client = known.or(system.clients.first()).copied().unwrap_or_default();
        Self { system, text, format, client, document }
    }

    fn tell(&mut self, kind: Kind, span: Span, message: impl Into<String>) {
        self.document.diagnostics.push(Diagnostic::new(kind, span, message));
    }

    /// Whether nothing but warnings was found since there were so many findings.
    fn is_fine_since(&self, before: usize) -> bool {
        self.document.diagnostics[before..].iter().all(Diagnostic::is_warning)
    }

    /// How many findings there are.
    fn told(&self) -> usize {
        self.document.diagnostics.len()
    }

    /// A policy whose delays are those of its clause.
    fn policy(&mut self, found: Found, before: usize) {
        self.entry(found, before, None);
    }

    /// A policy whose delay `n` is `delay(n)`, whatever its clause says.
    fn law(&mut self, found: Found, before: usize, mut delay: impl FnMut(u32) -> Draw) {
        self.entry(found, before, Some(&mut delay));
    }

    fn entry(&mut self, found: Found, before: usize, law: Option<&mut dyn FnMut(u32) -> Draw>) {
        let notation = Notation::Foreign(self.system);
        let mut draft = Draft::new(self.format, self.system.vocabulary);
        for option in redial_core::clause::options(&found.clause) {
            let (name, value) = (option.0.of(&found.clause), option.1.of(&found.clause));
            draft.plain(name, value, found.span);
        }
        let mut read = draft.read(&mut Patterns::default());
        let fine = self.is_fine_since(before);
        if !fine {
            read.policy = None;
            read.diagnostics.clear();
        }
        // The rest is about how our clause is written.
        read.diagnostics.retain(|found| !found.is_warning() || WARNINGS.contains(&found.kind));
        read.timeout = read.timeout.or(found.timeout);
        let law = law.zip(read.policy).and_then(|(delay, nearest)| {
            let draws = table(delay, &nearest);
            (!says(&nearest, &draws))
                .then(|| Law::new(&draws, nearest, self.system, found.name.clone()))?
        });
        if law.is_some() {
            read.policy = None;
        }
        let mut told = self.document.diagnostics.split_off(before);
        // A fix of our clause is none of their text.
        read.diagnostics.iter_mut().for_each(|found| found.fix = None);
        told.append(&mut read.diagnostics);
        let mut entry = Entry::new(found.name, notation, found.span, draft.clause(), read, &told);
        entry.law = law;
        entry.notes = found.notes;
        self.document.diagnostics.append(&mut told);
        self.document.entries.push(entry);
    }
}

/// The delays of a law, up to where they stay the same.
fn table(delay: &mut dyn FnMut(u32) -> Draw, nearest: &Policy) -> Vec<Draw> {
    let retries = nearest.attempts().map_or(usize::MAX, |attempts| attempts as usize - 1);
    let count = u32::try_from(retries.min(DELAYS_MAX)).unwrap_or(u32::MAX);
    let mut draws: Vec<Draw> = (0..count).map(delay).collect();
    while let [.., before, last] = draws.as_slice()
        && before == last
    {
        draws.pop();
    }
    draws
}

/// Whether the policy gives every delay of the table: its least, its mean and its greatest value, to the nanosecond.
fn says(policy: &Policy, draws: &[Draw]) -> bool {
    let is_same = |(ours, draw): (Forecast, &Draw)| {
        let theirs = draw.forecast();
        let means = ours.mean.abs_diff(theirs.mean);
        let ends = (ours.least, ours.greatest) == (theirs.least, theirs.greatest);
        ends && means <= Duration::from_nanos(1)
    };
    let Some(last) = draws.last() else { return true };
    let settled = policy.attempts().is_some_and(|attempts| attempts as usize - 1 == draws.len())
        || draws.len() == DELAYS_MAX
        || is_same((policy.forecast(u32::MAX - 1), last));
    settled && policy.forecasts().zip(draws).all(is_same)
}

/// A duration as a clause writes it.
fn duration(nanos: u64) -> String {
    Pretty(Duration::from_nanos(nanos)).to_string()
}

/// A factor as a clause takes it: nine digits.
fn factor(factor: f64) -> String {
    let text = format!("{:.9}", factor.clamp(0.0, 1e9));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The value of a field, under any of its names.
fn field<'n>(node: &'n Node, names: &[&str]) -> Option<&'n Node> {
    let fields = node.fields().iter();
    let mut found = fields.filter(|field| names.contains(&field.key.as_str()));
    found.next().map(|field| &field.value).filter(|node| !matches!(node.value, Value::Null))
}

/// The word in a field.
fn word<'n>(node: &'n Node, names: &[&str]) -> Option<&'n str> {
    match &field(node, names)?.value {
        Value::Text(word) => Some(word),
        _ => None,
    }
}

/// The items of a list in a field.
fn items<'n>(node: &'n Node, names: &[&str]) -> &'n [Node] {
    match field(node, names).map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// Whether a node is what is written under this key.
fn is_under(path: &str, key: &str) -> bool {
    path.strip_suffix(key).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Whether a map has any of these keys.
fn has_any(node: &Node, keys: &[&str]) -> bool {
    keys.iter().any(|key| node.has(key))
}

fn joined(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}
