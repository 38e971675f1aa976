//! A text, and the policies that are found in it.

use std::time::Duration;

use redial_core::Policy;
use redial_core::clause::Kind as Clause;

use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::draft::Read;
use crate::fields::{excerpt, nearest, tagged};
use crate::foreign::{self, Law, System, Walk};
use crate::matcher::{self, Matcher, Patterns};
use crate::notation::Source;
use crate::rule_set::RuleSet;
use crate::tree::{Field, Node, Value};
use crate::{Format, clause, file, lookalike, retry_config, retry_policy, script};

/// The largest text that is read: 4 MiB, which is more than ten thousand policies need.
pub const TEXT_MAX: usize = 4 << 20;

/// What a policy is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notation {
    /// `retry: 3, delay: 1s`, alone or in a script.
    Clause,
    /// `retry_config` with `attempts`, `initial_delay`, `backoff` …
    RetryConfig,
    /// `retryPolicy` with `maxAttempts`, `baseDelayMs` …
    RetryPolicy,
    /// Our own file of named policies.
    File,
    /// The notation of another system.
    Foreign(&'static System),
}

impl Notation {
    /// Our own, and the two dialects that have no other home.
    pub const ALL: [Self; 4] = [Self::Clause, Self::RetryConfig, Self::RetryPolicy, Self::File];

    /// The other system, if it is one.
    pub const fn system(self) -> Option<&'static System> {
        match self {
            Self::Foreign(system) => Some(system),
            _ => None,
        }
    }
}

/// A policy in a text.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name in a policy file, the path of its map elsewhere, the variable in a script.
    pub name: String,
    /// What it is written in.
    pub notation: Notation,
    /// Where it is.
    pub span: Span,
    /// The clause that says the same, with the options of the call.
    pub clause: String,
    /// The policy, unless it has errors, or no clause says what it does.
    pub policy: Option<Policy>,
    /// What it does where no clause says that.
    pub law: Option<Law>,
    /// Where the documentation of its system says otherwise, or a word means something else than it seems to.
    pub notes: Vec<String>,
    /// How long each attempt may take.
    pub timeout: Option<Duration>,
    /// The errors that are retried; all where there are none.
    pub retry_on: Vec<Matcher>,
    /// The errors that are not.
    pub stop_on: Vec<Matcher>,
    /// The warnings that apply if it runs as it is. [`Document::diagnostics`] leaves out those about
    /// what a named policy of a file lacks: one that extends it, or a flag, may add that.
    pub warnings: Vec<Diagnostic>,
}

impl Entry {
    /// `found` are its diagnostics.
    pub(crate) fn new(
        name: String,
        notation: Notation,
        span: Span,
        clause: &str,
        read: Read,
        found: &[Diagnostic],
    ) -> Self {
        Self {
            name,
            notation,
            span,
            clause: clause.to_owned(),
            policy: read.policy,
            law: None,
            notes: Vec::new(),
            timeout: read.timeout,
            retry_on: read.retry_on,
            stop_on: read.stop_on,
            warnings: found.iter().filter(|found| found.is_warning()).cloned().collect(),
        }
    }

    /// A policy that was not read from a text: without a name, a place or warnings.
    pub fn of(policy: Policy, clause: String) -> Self {
        Self {
            name: String::new(),
            notation: Notation::Clause,
            span: Span { start: 0, end: 0 },
            clause,
            policy: Some(policy),
            law: None,
            notes: Vec::new(),
            timeout: None,
            retry_on: Vec::new(),
            stop_on: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds rules that were not written in the clause, also to the clause.
    pub(crate) fn rules(mut self, retry_on: Vec<Matcher>, stop_on: Vec<Matcher>) -> Self {
        for (name, matchers) in [("retry_on", &retry_on), ("stop_on", &stop_on)] {
            if !matchers.is_empty() {
                let separator = if self.clause.is_empty() { "" } else { ", " };
                self.clause += &format!("{separator}{name}: {}", matcher::list(matchers));
            }
        }
        self.retry_on = retry_on;
        self.stop_on = stop_on;
        self
    }

    /// The policy, or the one of our own that comes nearest to its law; none where there are errors.
    pub fn nearest(&self) -> Option<Policy> {
        self.policy.or_else(|| self.law.as_ref().map(Law::nearest))
    }

    /// What it does in a line for people: the clause, or whose law it is.
    pub fn said(&self) -> String {
        let law = self.law.as_ref().map(ToString::to_string);
        law.or_else(|| self.canonical()).unwrap_or_else(|| self.clause.clone())
    }

    /// A text that [`read`] takes for this very policy, also where no clause says what it does; none
    /// where there are errors.
    pub fn written(&self) -> Option<String> {
        match &self.law {
            Some(law) => Some(foreign::written(law, self.timeout)),
            None => self.canonical(),
        }
    }

    /// The policy and the options of its call as one clause, in the order and the spelling in
    /// which redial prints them, or the one that comes nearest; none where there are errors.
    pub fn canonical(&self) -> Option<String> {
        let mut clause = self.nearest()?.to_string();
        if let Some(timeout) = self.timeout {
            clause += &format!(", timeout: {}", redial_core::Pretty(timeout));
        }
        for (name, matchers) in [("retry_on", &self.retry_on), ("stop_on", &self.stop_on)] {
            if !matchers.is_empty() {
                clause += &format!(", {name}: {}", matcher::list(matchers));
            }
        }
        Some(clause)
    }
}

/// What was found in a text.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub(crate) entries: Vec<Entry>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) default: Option<String>,
    pub(crate) is_rules: bool,
}

impl Document {
    /// The policies, in the order of the text.
    pub fn policies(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Whether the text is a set of rules, which has no policies.
    pub fn is_rules(&self) -> bool {
        self.is_rules
    }

    /// All diagnostics, in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether there are errors, and not only warnings.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| !found.is_warning())
    }

    /// The diagnostics that lie outside of all policies.
    pub fn outside_of_policies(&self) -> Vec<&Diagnostic> {
        // Sorted by their starts; each end becomes the furthest end so far.
        let mut spans: Vec<_> = self.entries.iter().map(|entry| entry.span).collect();
        spans.sort_by_key(|span| span.start);
        let mut furthest = 0;
        for span in &mut spans {
            furthest = span.end.max(span.start + 1).max(furthest);
            span.end = furthest;
        }
        let outside = |found: &&Diagnostic| {
            let at = found.span.start;
            let before = spans.partition_point(|span| span.start <= at);
            before.checked_sub(1).is_none_or(|last| spans[last].end <= at)
        };
        self.diagnostics.iter().filter(outside).collect()
    }

    /// The name of the policy that is used where none is named.
    pub fn default_name(&self) -> Option<&str> {
        self.default.as_deref()
    }

    pub(crate) fn of_entry(entry: Entry) -> Self {
        Self { entries: vec![entry], ..Self::default() }
    }

    pub(crate) fn refuse(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], ..Self::default() }
    }
}

/// Reads a text: every policy in it, and all diagnostics.
///
/// Without a `notation` it is recognised by its keys. A file of rules has no policies, and the
/// diagnostics of a [`RuleSet`].
///
/// ```
/// use redial_policy::{Format, read};
///
/// let text = "retry_config: {attempts: 5, initial_delay: 2s, backoff: fixed}";
/// let document = read(text, Format::Yaml, None);
/// let entry = document.policies().next().unwrap();
/// assert_eq!(
///     entry.policy.unwrap().to_string(),
///     "attempts: 5, delay: 2s, max_delay: 30s",
/// );
/// ```
pub fn read(text: &str, format: Format, notation: Option<Notation>) -> Document {
    let source = Source::new(text, format);
    source.document(source.parse().as_deref(), notation)
}

impl Source<'_> {
    /// The policies of a text whose trees are [parsed](Self::parse) already; otherwise as [`read`].
    pub fn document(
        &self,
        roots: Result<&[Node], &Diagnostic>,
        notation: Option<Notation>,
    ) -> Document {
        let &Self { text, format, client } = self;
        let mut document = match roots {
            Ok(_) if format == Format::Text && foreign::is_written(text) => {
                foreign::read_written(text)
            }
            Ok(_) if format == Format::Text && of_system(text, notation).is_some() => {
                let system = of_system(text, notation);
                system.map(|system| foreign::read_text(system, text, client)).unwrap_or_default()
            }
            Ok(_) if format == Format::Text => {
                script::read(text, notation == Some(Notation::Clause))
            }
            Ok(roots) => of_trees(roots, self, notation),
            Err(diagnostic) => Document::refuse(diagnostic.clone()),
        };
        document.diagnostics.iter_mut().for_each(|found| lookalike::name(found, text, false));
        // A workflow may have no policy. An empty text, or one whose notation was given, may not.
        let expected = notation.is_some() || text.trim().is_empty();
        if expected && document.entries.is_empty() && document.diagnostics.is_empty() {
            let nothing = Diagnostic::new(Kind::NoPolicy, Span { start: 0, end: 0 }, NO_POLICY);
            document.diagnostics.push(nothing);
        }
        document.diagnostics.sort_by_key(|found| found.span.start);
        // A YAML alias brings the same finding into several policies.
        document.diagnostics.dedup();
        document
    }
}

pub(crate) const NO_POLICY: &str = "there is no policy in this text";

/// The system that a text without a tree is read as.
fn of_system(text: &str, notation: Option<Notation>) -> Option<&'static System> {
    match notation {
        Some(notation) => notation.system().filter(|system| system.is_text()),
        None => foreign::of_text(text),
    }
}

fn of_trees(roots: &[Node], source: &Source<'_>, notation: Option<Notation>) -> Document {
    let &Source { text, format, client } = source;
    if let ([root], None) = (roots, notation)
        && RuleSet::is_one(root)
    {
        let diagnostics = RuleSet::read(text, format).err().unwrap_or_default();
        return Document { diagnostics, is_rules: true, ..Document::default() };
    }
    let (document, patterns) = (Document::default(), Patterns::default());
    let mut search = Search { text, format, client, notation, patterns, document };
    for (at, root) in roots.iter().enumerate() {
        let path = if roots.len() > 1 { format!("[{at}]") } else { String::new() };
        search.root(root, path);
    }
    if search.document.entries.is_empty() && search.document.diagnostics.is_empty() {
        let found = roots.iter().find_map(foreign::unread);
        let found = found.or_else(|| roots.iter().find_map(misspelt));
        search.document.diagnostics.extend(found);
    }
    search.document
}

/// A misspelt key that was probably meant to hold policies.
fn misspelt(node: &Node) -> Option<Diagnostic> {
    const KEYS: [&str; 3] = ["policies", "retry_config", "retryPolicy"];
    let nodes = match &node.value {
        Value::List(nodes) => return nodes.iter().find_map(misspelt),
        Value::Map(fields) => fields,
        _ => return None,
    };
    let meant = |field: &Field| {
        let holds = matches!(field.value.value, Value::Map(_));
        nearest(&field.key, &KEYS).filter(|meant| holds && *meant != field.key)
    };
    nodes.iter().find_map(|field| match meant(field) {
        Some(meant) => {
            let message =
                format!("{NO_POLICY}, but `{}`; did you mean `{meant}`?", excerpt(&field.key));
            Some(Diagnostic::new(Kind::NoPolicy, field.place, message))
        }
        None => misspelt(&field.value),
    })
}

/// Looks through a tree for policies.
pub(crate) struct Search<'t> {
    pub(crate) text: &'t str,
    pub(crate) format: Format,
    pub(crate) client: Option<&'t str>,
    pub(crate) notation: Option<Notation>,
    pub(crate) patterns: Patterns,
    pub(crate) document: Document,
}

/// Which notation a map could be, by the fields that only one of them has.
#[derive(PartialEq, Eq)]
enum Looks {
    Like(Notation),
    LikeSeveral,
    LikeNone,
}

impl Search<'_> {
    fn root(&mut self, root: &Node, path: String) {
        match self.notation {
            Some(Notation::File) => return file::read(self, root),
            Some(Notation::Clause) => return self.clause(root, path),
            None if root.has("policies") => return file::read(self, root),
            _ => {}
        }
        if let (Some(tag), [Field { value, .. }]) = (root.tag(self.text), root.fields())
            && (value.has("policies") || looks(value) != Looks::LikeNone)
        {
            return self.document.diagnostics.push(tagged("a policy file", &tag));
        }
        let before = self.document.entries.len() + self.document.diagnostics.len();
        self.walk(root, &path);
        if self.document.entries.len() + self.document.diagnostics.len() > before {
            return;
        }
        match (self.notation, looks(root)) {
            (Some(Notation::Foreign(_)), _) => {}
            (Some(notation), _) if !root.fields().is_empty() => self.bare(root, path, notation),
            (None, Looks::LikeSeveral) => self.recognise(root, path),
            (None, Looks::LikeNone) if path.is_empty() && matches!(root.value, Value::Text(_)) => {
                self.clause(root, path);
            }
            _ => {}
        }
    }

    /// Every `retry_config` and `retryPolicy`, and every map that can only be one of them.
    fn walk(&mut self, node: &Node, path: &str) {
        match &node.value {
            Value::List(nodes) => {
                for (at, node) in nodes.iter().enumerate() {
                    self.walk(node, &format!("{path}[{at}]"));
                }
            }
            Value::Map(fields) => {
                let skipped = match self.foreign(node, path) {
                    None => &[][..],
                    Some(Walk::Done) => return,
                    Some(Walk::Beside(keys)) => keys,
                };
                if let Looks::Like(notation) = looks(node)
                    && self.accepts(notation)
                {
                    return self.bare(node, path.to_owned(), notation);
                }
                for field in fields.iter().filter(|field| !skipped.contains(&field.key.as_str())) {
                    let path = joined(path, &field.key);
                    let notation = match field.key.as_str() {
                        "retry_config" => Notation::RetryConfig,
                        "retryPolicy" => Notation::RetryPolicy,
                        _ => {
                            self.walk(&field.value, &path);
                            continue;
                        }
                    };
                    let first = fields.iter().find(|other| other.key == field.key);
                    if first.is_some_and(|first| first.place != field.place) {
                        let message = format!("`{}` is there already; write it once", field.key);
                        let twice = Diagnostic::new(Clause::DuplicateOption, field.place, message);
                        self.document.diagnostics.push(twice);
                    } else if self.accepts(notation) {
                        self.bare(&field.value, path, notation);
                    }
                }
            }
            _ => {}
        }
    }

    /// Policies of another system, and where else to look.
    fn foreign(&mut self, node: &Node, path: &str) -> Option<Walk> {
        let wanted = match self.notation {
            None => None,
            Some(Notation::Foreign(system)) => Some(system),
            Some(_) => return None,
        };
        let source = (self.text, self.format, self.client);
        foreign::read_map(node, path, wanted, source, &mut self.document)
    }

    fn accepts(&self, notation: Notation) -> bool {
        self.notation.is_none_or(|wanted| wanted == notation)
    }

    fn bare(&mut self, node: &Node, path: String, notation: Notation) {
        let (entry, diagnostics) = match notation {
            Notation::Foreign(_) => {
                self.foreign(node, &path);
                return;
            }
            Notation::RetryConfig => {
                retry_config::read(node, path, self.text, self.format, &mut self.patterns)
            }
            Notation::RetryPolicy => retry_policy::read(node, path, self.text, self.format),
            Notation::Clause | Notation::File => {
                return file::read_bare(self, node, path, notation);
            }
        };
        self.document.diagnostics.extend(diagnostics);
        self.document.entries.push(entry);
    }

    /// Reads a bare map in the notation that gives the fewest errors, if there is only one such.
    fn recognise(&mut self, root: &Node, path: String) {
        const NOTATIONS: [Notation; 3] =
            [Notation::RetryConfig, Notation::RetryPolicy, Notation::Clause];
        if file::OWN.iter().any(|name| root.has(name)) && !has_others(root) {
            return self.bare(root, path, Notation::Clause);
        }
        let errors = NOTATIONS.map(|notation| self.errors_as(root, notation));
        let least = errors.iter().min().copied().unwrap_or_default();
        let fits = NOTATIONS.iter().zip(errors).filter(|(_, errors)| *errors == least);
        match fits.map(|(notation, _)| *notation).collect::<Vec<_>>().as_slice() {
            [only] => self.bare(root, path, *only),
            several => self.ambiguous(root, several, least == 0),
        }
    }

    /// How many errors the map has when it is read in this notation.
    fn errors_as(&mut self, root: &Node, notation: Notation) -> usize {
        let document = std::mem::take(&mut self.document);
        self.bare(root, String::new(), notation);
        let tried = std::mem::replace(&mut self.document, document);
        tried.diagnostics.iter().filter(|found| !found.is_warning()).count()
    }

    fn clause(&mut self, node: &Node, path: String) {
        if matches!(node.value, Value::Map(_)) {
            return self.bare(node, path, Notation::Clause);
        }
        match clause::read_node(node, path, self.text, self.format, &mut self.patterns) {
            Ok((entry, diagnostics)) => {
                self.document.entries.push(entry);
                self.document.diagnostics.extend(diagnostics);
            }
            Err(diagnostic) => self.document.diagnostics.push(diagnostic),
        }
    }

    fn ambiguous(&mut self, root: &Node, notations: &[Notation], accepted: bool) {
        let words = notations.iter().map(|notation| match notation {
            Notation::RetryConfig => ("a retry_config", "--dialect retry-config", "retry_config"),
            Notation::RetryPolicy => ("a retryPolicy", "--dialect retry-policy", "retryPolicy"),
            _ => ("a policy of our own", "--dialect clause", "a name in policies"),
        });
        let (are, dialects, keys): (Vec<_>, Vec<_>, Vec<_>) = words.collect();
        let errors = if accepted { "" } else { ", and has errors as either" };
        let message = format!(
            "this could be {}{errors}; say which with {}, or put it under {}",
            are.join(" or "),
            dialects.join(" or "),
            keys.join(" or "),
        );
        let place = root.fields().first().map_or(root.span, |field| field.place);
        self.document.diagnostics.push(Diagnostic::new(Kind::AmbiguousDialect, place, message));
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Whether a map has a field that only a foreign notation has.
fn has_others(node: &Node) -> bool {
    retry_config::OWN.iter().chain(&retry_policy::OWN).any(|name| node.has(name))
}

fn looks(node: &Node) -> Looks {
    let has = |names: &[&str]| names.iter().any(|name| node.has(name));
    match (has(&retry_config::OWN), has(&retry_policy::OWN)) {
        (true, false) => Looks::Like(Notation::RetryConfig),
        (false, true) => Looks::Like(Notation::RetryPolicy),
        (true, true) => Looks::LikeSeveral,
        (false, false) => {
            let telling = [
                "attempts",
                "retry",
                "delay",
                "backoff",
                "min_delay",
                "max_delay",
                "jitter",
                "wait_budget",
            ];
            let is_flat = |field: &Field| {
                !matches!(field.value.value, Value::Map(_)) || field.key == "backoff"
            };
            let several = has(&telling) && node.fields().iter().all(is_flat);
            if several { Looks::LikeSeveral } else { Looks::LikeNone }
        }
    }
}
