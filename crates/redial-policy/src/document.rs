//! A text, and the policies that are found in it.

use std::time::Duration;

use redial_core::Policy;
use redial_core::clause::Kind as Clause;

use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::draft::Read;
use crate::fields::{excerpt, nearest};
use crate::matcher::{self, Matcher, Patterns};
use crate::rule_set::RuleSet;
use crate::tree::{Field, Node, Value};
use crate::{clause, file, retry_config, retry_policy, script, tree};

/// The largest text that is read: 4 MiB, which is more than ten thousand policies need.
pub const TEXT_MAX: usize = 4 << 20;

/// How a text is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A clause, or a script with clauses in it.
    Text,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl Format {
    /// The format of a file, by the end of its name and, where that says nothing, by how the text
    /// begins.
    ///
    /// ```
    /// use redial_policy::Format;
    /// assert_eq!(Format::of("retries.yml", ""), Format::Yaml);
    /// assert_eq!(Format::of("-", "{\"maxAttempts\": 3}"), Format::Json);
    /// assert_eq!(Format::of("pipeline.cst", "retry: 3"), Format::Text);
    /// ```
    pub fn of(name: &str, text: &str) -> Self {
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        match end.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            "json" => Self::Json,
            _ => Self::guess(text),
        }
    }

    fn guess(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let lines = text.lines().map(str::trim_end);
        let mut lines =
            lines.filter(|line| !line.is_empty() && !line.trim_start().starts_with('#'));
        let Some(first) = lines.next() else { return Self::Text };
        let more = lines.next().is_some();
        match first.find(|character: char| !is_key(character)) {
            _ if first.starts_with('{') => Self::Json,
            _ if first.starts_with('[') && first.ends_with(']') => Self::Toml,
            _ if first.starts_with("---") || first.starts_with("- ") => Self::Yaml,
            // In a clause a comma follows, or nothing; a key alone begins a block.
            Some(end) if end > 0 && first[end..].starts_with(':') => {
                let block = first.ends_with(':') || (more && !first.ends_with(','));
                if block { Self::Yaml } else { Self::Text }
            }
            // In a script a call follows the sign.
            Some(end) => match first[end..].trim_start().strip_prefix('=').map(str::trim_start) {
                Some(value) if value.starts_with(['"', '\'', '[', '{']) => Self::Toml,
                _ => Self::Text,
            },
            None => Self::Text,
        }
    }
}

fn is_key(character: char) -> bool {
    character.is_alphanumeric() || "_-$.".contains(character)
}

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
}

impl Notation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Clause, Self::RetryConfig, Self::RetryPolicy, Self::File];
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
    /// The policy, unless it has errors.
    pub policy: Option<Policy>,
    /// How long each attempt may take.
    pub timeout: Option<Duration>,
    /// The errors that are retried; all where there are none.
    pub retry_on: Vec<Matcher>,
    /// The errors that are not.
    pub stop_on: Vec<Matcher>,
}

impl Entry {
    pub(crate) fn new(
        name: String,
        notation: Notation,
        span: Span,
        clause: &str,
        read: Read,
    ) -> Self {
        Self {
            name,
            notation,
            span,
            clause: clause.to_owned(),
            policy: read.policy,
            timeout: read.timeout,
            retry_on: read.retry_on,
            stop_on: read.stop_on,
        }
    }

    /// With rules that were read beside the clause, which now has them too.
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

    /// The policy and the options of its call as one clause, in the order and the spelling in
    /// which redial prints them; none where there are errors.
    pub fn canonical(&self) -> Option<String> {
        let mut clause = self.policy?.to_string();
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

    /// Everything there is to say, in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether something is wrong that refuses a policy.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| !found.is_warning())
    }

    /// The name of the policy that the file gives to whoever names none.
    pub fn default_name(&self) -> Option<&str> {
        self.default.as_deref()
    }

    pub(crate) fn refuse(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], ..Self::default() }
    }
}

/// Reads a text: every policy in it, and everything there is to say about them.
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
    if text.len() > TEXT_MAX {
        let message = format!("this text has {} bytes; at most {TEXT_MAX} are read", text.len());
        return Document::refuse(Diagnostic::new(
            Kind::TooLarge,
            Span { start: 0, end: 0 },
            message,
        ));
    }
    if let Some(at) = text.find('\0') {
        let message = "there is a NUL byte here; a policy is text";
        return Document::refuse(Diagnostic::new(
            Clause::Syntax,
            Span { start: at, end: at + 1 },
            message,
        ));
    }
    let mut document = match format {
        Format::Text => script::read(text, notation == Some(Notation::Clause)),
        _ => match tree::parse(text, format) {
            Ok(roots) => of_trees(&roots, text, format, notation),
            Err(diagnostic) => Document::refuse(diagnostic),
        },
    };
    // A workflow need not retry; but what is said to hold policies, or holds nothing, should.
    let expected = notation.is_some() || text.trim().is_empty();
    if expected && document.entries.is_empty() && document.diagnostics.is_empty() {
        let nothing = Diagnostic::new(Kind::NoPolicy, Span { start: 0, end: 0 }, NO_POLICY);
        document.diagnostics.push(nothing);
    }
    document.diagnostics.sort_by_key(|found| found.span.start);
    document
}

pub(crate) const NO_POLICY: &str = "there is no policy in this text";

fn of_trees(roots: &[Node], text: &str, format: Format, notation: Option<Notation>) -> Document {
    if let ([root], None) = (roots, notation)
        && RuleSet::is_one(root)
    {
        let diagnostics = RuleSet::read(text, format).err().unwrap_or_default();
        return Document { diagnostics, is_rules: true, ..Document::default() };
    }
    let (document, patterns) = (Document::default(), Patterns::default());
    let mut search = Search { text, format, notation, patterns, document };
    for (at, root) in roots.iter().enumerate() {
        let path = if roots.len() > 1 { format!("[{at}]") } else { String::new() };
        search.root(root, path);
    }
    if search.document.entries.is_empty() && search.document.diagnostics.is_empty() {
        let misspelt = roots.iter().find_map(misspelt);
        search.document.diagnostics.extend(misspelt);
    }
    search.document
}

/// A key that was probably meant to hold policies.
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
        let before = self.document.entries.len() + self.document.diagnostics.len();
        self.walk(root, &path);
        if self.document.entries.len() + self.document.diagnostics.len() > before {
            return;
        }
        match (self.notation, looks(root)) {
            (Some(notation), _) if !root.fields().is_empty() => self.bare(root, path, notation),
            (None, Looks::LikeSeveral) => self.ambiguous(root),
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
                if let Looks::Like(notation) = looks(node)
                    && self.wants(notation)
                {
                    return self.bare(node, path.to_owned(), notation);
                }
                for field in fields {
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
                    } else if self.wants(notation) {
                        self.bare(&field.value, path, notation);
                    }
                }
            }
            _ => {}
        }
    }

    fn wants(&self, notation: Notation) -> bool {
        self.notation.is_none_or(|wanted| wanted == notation)
    }

    fn bare(&mut self, node: &Node, path: String, notation: Notation) {
        let (entry, diagnostics) = match notation {
            Notation::RetryConfig => {
                retry_config::read(node, path, self.text, self.format, &mut self.patterns)
            }
            _ => retry_policy::read(node, path, self.text, self.format),
        };
        self.document.diagnostics.extend(diagnostics);
        self.document.entries.push(entry);
    }

    fn clause(&mut self, node: &Node, path: String) {
        match clause::read_node(node, path, self.text, self.format, &mut self.patterns) {
            Ok((entry, diagnostics)) => {
                self.document.entries.push(entry);
                self.document.diagnostics.extend(diagnostics);
            }
            Err(diagnostic) => self.document.diagnostics.push(diagnostic),
        }
    }

    fn ambiguous(&mut self, root: &Node) {
        let message = "this could be a retry_config, a retryPolicy or a policy of our own; say which \
                       with --dialect, or put it under retry_config, retryPolicy or policies";
        let place = root.fields().first().map_or(root.span, |field| field.place);
        self.document.diagnostics.push(Diagnostic::new(Kind::AmbiguousDialect, place, message));
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn looks(node: &Node) -> Looks {
    let has = |names: &[&str]| names.iter().any(|name| node.has(name));
    match (has(&retry_config::OWN), has(&retry_policy::OWN)) {
        (true, false) => Looks::Like(Notation::RetryConfig),
        (false, true) => Looks::Like(Notation::RetryPolicy),
        (true, true) => Looks::LikeSeveral,
        (false, false) => {
            let shared = ["attempts", "retry", "delay", "backoff", "max_delay", "jitter"];
            let several = shared.iter().filter(|name| node.has(name)).count() > 0
                && node.fields().iter().all(|field| {
                    !matches!(field.value.value, Value::Map(_)) || field.key == "backoff"
                });
            if several { Looks::LikeSeveral } else { Looks::LikeNone }
        }
    }
}
