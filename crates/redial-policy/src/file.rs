//! Our own file: named policies, as clauses or as maps of the clause's names, one extending
//! another, and one that is the default.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use redial_core::clause::{Kind as Clause, OPTIONS};

use crate::Format;
use crate::clause;
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::document::{Entry, NO_POLICY, Notation, Search};
use crate::draft::{Draft, Written};
use crate::fields::{
    self, excerpt, is_plain, is_plain_list, known, known_besides, nearest, trimmed, wrong_type,
};
use crate::matcher::{self, Matcher, Patterns};
use crate::names::{synonym, synonym_in};
use crate::notation::Source;
use crate::overlay::{CHAIN, overlay};
use crate::place::Place;
use crate::tree::{Field, Node, Value};

/// The keys of a file; `$schema` is for editors. A key that starts with `x-` is ignored: it may hold the
/// anchors of YAML.
pub(crate) const TOP: [&str; 3] = ["policies", "default", "$schema"];

/// The fields of a policy's map.
pub(crate) const FIELDS: [&str; 16] = [
    "retry",
    "attempts",
    "delay",
    "backoff",
    "factor",
    "increment",
    "min_delay",
    "max_delay",
    "jitter",
    "modifiers",
    "within",
    "wait_budget",
    "timeout",
    "retry_on",
    "stop_on",
    "extends",
];

/// The fields that no other notation has.
pub(crate) const OWN: [&str; 10] = [
    "retry",
    "delay",
    "factor",
    "increment",
    "min_delay",
    "modifiers",
    "within",
    "wait_budget",
    "timeout",
    "stop_on",
];

/// How many policies a file may hold.
const POLICIES_MAX: usize = 50_000;

/// How many policies may extend one another in a row.
const EXTENDS_MAX: usize = 64;

/// How many bytes of options policies may take over from those that they extend, in all.
const INHERITED_MAX: usize = 16 << 20;

/// How many names are compared in all, to suggest the nearest.
const COMPARED_MAX: usize = 100_000;

const RULES: [&str; 2] = ["retry_on", "stop_on"];

pub(crate) fn read(search: &mut Search<'_>, root: &Node) {
    let (text, format) = (search.text, search.format);
    let mut found = Vec::new();
    if !root.has("policies") && FIELDS.iter().any(|name| root.has(name)) {
        return read_bare(search, root, String::new(), Notation::File);
    }
    let synonyms = |name: &str| synonym_in(name, &[("policy", "policies")]);
    let fields =
        known_besides(is_extension, root, "a policy file", &TOP, synonyms, text, &mut found);
    let is_unknown = |found: &Diagnostic| found.kind == Clause::UnknownOption.into();
    for unknown in found.iter_mut().filter(|found| is_unknown(found) && found.fix.is_none()) {
        unknown.note =
            Some("a key of your own, for the anchors of YAML, begins with x-".to_owned());
    }
    let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
    match field("policies").map(|field| &field.value) {
        Some(node) if node.tag(text).is_some() => {
            found.push(wrong_type("policies", node, text, ""));
        }
        Some(Node { value: Value::Map(fields), span }) if fields.is_empty() => {
            found.push(Diagnostic::new(Kind::NoPolicy, *span, NO_POLICY));
        }
        Some(Node { value: Value::Map(fields), .. }) => {
            let patterns = std::mem::take(&mut search.patterns);
            let mut file = File::new(text, format, patterns, found);
            for field in fields.iter().take(POLICIES_MAX) {
                file.take(&field.key, field.place, &field.value);
            }
            let entries;
            (entries, found, search.patterns) = file.finish();
            search.document.entries.extend(entries);
            if let Some(field) = fields.get(POLICIES_MAX) {
                let message = format!("a file holds at most {POLICIES_MAX} policies");
                found.push(Diagnostic::new(Kind::TooLarge, field.place, message));
            }
        }
        Some(node) => {
            found.push(wrong_type("policies", node, text, "use a map of names to policies"));
        }
        None => {
            let message =
                "a policy file has a map of policies at its top: policies: {name: \"retry: 3\"}";
            let place = Span { start: root.span.start, end: root.span.start };
            found.push(Diagnostic::new(Clause::WrongType, place, message));
        }
    }
    if let Some(field) = field("default") {
        default(search, field, &mut found);
    }
    if let Some(Field { value, .. }) = field("$schema")
        && !matches!(value.value, Value::Text(_))
    {
        found.push(wrong_type("$schema", value, text, "use the place of the schema, or drop it"));
    }
    search.document.diagnostics.append(&mut found);
}

/// Whether a key of the file is ignored.
pub(crate) fn is_extension(key: &str) -> bool {
    key.starts_with("x-")
}

/// A policy that is the whole text, as a map of the clause's names. It reads as the clause would. Nothing
/// in the text can extend it, so that warnings about what it lacks are reported.
pub(crate) fn read_bare(search: &mut Search<'_>, root: &Node, name: String, notation: Notation) {
    let place = Span { start: root.span.start, end: root.span.start };
    let patterns = std::mem::take(&mut search.patterns);
    let mut file = File::new(search.text, search.format, patterns, Vec::new());
    file.take(&name, place, root);
    file.raw.iter_mut().for_each(|raw| raw.bare = true);
    let (entries, found);
    (entries, found, search.patterns) = file.finish();
    search.document.entries.extend(entries.into_iter().map(|entry| Entry { notation, ..entry }));
    search.document.diagnostics.extend(found);
}

fn default(search: &mut Search<'_>, field: &Field, found: &mut Vec<Diagnostic>) {
    match &field.value.value {
        Value::Text(name) if search.document.entries.iter().any(|entry| entry.name == *name) => {
            search.document.default = Some(name.clone());
        }
        Value::Text(name) => {
            let names: Vec<_> =
                search.document.entries.iter().map(|entry| entry.name.as_str()).collect();
            found.push(unknown_policy("default", name, &field.value, &names, search.text));
        }
        _ => {
            found.push(wrong_type("default", &field.value, search.text, "use the name of a policy"))
        }
    }
}

fn unknown_policy(field: &str, name: &str, node: &Node, names: &[&str], text: &str) -> Diagnostic {
    let shown = excerpt(name);
    match nearest(name, names) {
        Some(meant) => {
            let message = format!("{field}: there is no policy `{shown}`; did you mean `{meant}`?");
            let inside = fields::inside_quotes(node.span, text);
            let unknown = Diagnostic::new(Kind::UnknownPolicy, node.span, message);
            let safe = fields::is_typo(name, meant, names);
            if is_word(meant) { unknown.fix(inside, meant, safe) } else { unknown }
        }
        None => {
            let first: Vec<_> = names.iter().take(8).map(|name| excerpt(name)).collect();
            let first: Vec<_> = first.iter().map(String::as_str).collect();
            let listed = match names.len() {
                0 => "use the name of another".to_owned(),
                1..=8 => format!("there are {}", fields::listed(&first)),
                more => format!("there are {} and {} more", first.join(", "), more - 8),
            };
            let message = format!("{field}: there is no policy `{shown}`; {listed}");
            Diagnostic::new(Kind::UnknownPolicy, node.span, message)
        }
    }
}

/// Whether a name is a string in every format, with or without quotes.
fn is_word(name: &str) -> bool {
    let other = ["true", "false", "null", "yes", "no"];
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        && !other.contains(&name.to_ascii_lowercase().as_str())
}

/// A policy as it is written, before what it extends is known.
struct Raw<'n> {
    name: &'n str,
    span: Span,
    body: Body,
    extends: Option<(&'n str, &'n Node)>,
    retry_on: Option<Vec<Matcher>>,
    stop_on: Option<Vec<Matcher>>,
    refused: bool,
    /// Whether it has no name, so that nothing can extend it and it has to be complete.
    bare: bool,
}

enum Body {
    Clause { draft: Draft, entry: Box<Entry> },
    Options { options: Vec<Written>, ordered: bool },
}

pub(crate) struct File<'t, 'n> {
    text: &'t str,
    format: Format,
    pub(crate) patterns: Patterns,
    raw: Vec<Raw<'n>>,
    by_name: HashMap<&'n str, usize>,
    pub(crate) found: Vec<Diagnostic>,
    /// The diagnostics that have been reported.
    reported: HashSet<(Kind, Span)>,
    /// How many bytes of options have been inherited from other policies.
    inherited: usize,
    /// How many names have been compared.
    compared: usize,
}

/// A policy with all that it extends.
#[derive(Default)]
struct Whole {
    options: Vec<Written>,
    retry_on: Vec<Matcher>,
    stop_on: Vec<Matcher>,
    refused: bool,
    /// How many policies it extends in a row.
    extends: usize,
}

impl Whole {
    /// One that could not be read.
    fn refused() -> Self {
        Self { refused: true, ..Self::default() }
    }

    fn size(&self) -> usize {
        let option = |option: &Written| 64 + option.value.len();
        let rule = |rule: &Matcher| match rule {
            Matcher::Pattern(pattern) => 64 + pattern.as_str().len(),
            _ => 64,
        };
        let rules = self.retry_on.iter().chain(&self.stop_on);
        self.options.iter().map(option).sum::<usize>() + rules.map(rule).sum::<usize>()
    }
}

impl<'t, 'n> File<'t, 'n> {
    fn new(text: &'t str, format: Format, patterns: Patterns, found: Vec<Diagnostic>) -> Self {
        Self {
            text,
            format,
            patterns,
            raw: Vec::new(),
            by_name: HashMap::new(),
            found,
            reported: HashSet::new(),
            inherited: 0,
            compared: 0,
        }
    }

    fn take(&mut self, name: &'n str, place: Span, node: &'n Node) {
        if self.by_name.contains_key(name) {
            let message =
                format!("there is a policy `{}` already; give it another name", excerpt(name));
            return self.found.push(Diagnostic::new(Clause::DuplicateOption, place, message));
        }
        self.by_name.insert(name, self.raw.len());
        self.take_raw(name, place, node);
    }

    fn take_raw(&mut self, name: &'n str, place: Span, node: &'n Node) {
        let before = self.found.len();
        let mut raw = Raw {
            name,
            span: Span { start: place.start, end: node.span.end.max(place.end) },
            body: Body::Options { options: Vec::new(), ordered: false },
            extends: None,
            retry_on: None,
            stop_on: None,
            refused: false,
            bare: false,
        };
        match &node.value {
            Value::Text(_) => match clause::draft(node, self.text, self.format) {
                Ok(draft) => {
                    let (mut entry, found) =
                        clause::entry(&draft, name.to_owned(), raw.span, &mut self.patterns);
                    entry.notation = Notation::File;
                    // Its warnings are reported in `finish`, when it is known which policies extend it.
                    let errors = found.into_iter().filter(|found| !found.is_warning());
                    for error in errors {
                        self.reported.insert((error.kind, error.span));
                        self.found.push(error);
                    }
                    raw.body = Body::Clause { draft, entry: Box::new(entry) };
                }
                Err(diagnostic) => self.found.push(diagnostic),
            },
            Value::Map(_) => self.map(node, &mut raw),
            _ => {
                let advice =
                    "write a clause such as \"retry: 3, delay: 1s\", or a map of its options";
                self.found.push(wrong_type(&excerpt(name), node, self.text, advice));
            }
        }
        raw.refused = self.found[before..].iter().any(|found| !found.is_warning());
        self.raw.push(raw);
    }

    fn map(&mut self, node: &'n Node, raw: &mut Raw<'n>) {
        let synonyms = |name: &str| synonym(name, &FIELDS, &[]);
        let fields = known(node, "a policy", &FIELDS, synonyms, self.text, &mut self.found);
        let ordered = fields.iter().any(|field| field.key == "modifiers");
        let mut options: Vec<Written> = Vec::new();
        for field in &fields {
            match field.key.as_str() {
                "extends" => raw.extends = self.extends(field),
                "retry_on" => raw.retry_on = Some(self.rules(field)),
                "stop_on" => raw.stop_on = Some(self.rules(field)),
                "modifiers" => {}
                name if ordered && CHAIN.contains(&name) => {
                    let message =
                        format!("`{name}` stands beside `modifiers`; put it in that list");
                    self.found.push(Diagnostic::new(Clause::DuplicateOption, field.place, message));
                }
                _ => options.extend(self.option(field)),
            }
        }
        // A map has no order of writing.
        options.sort_by_key(|option| OPTIONS.iter().position(|name| *name == option.name));
        if let Some(field) = fields.iter().find(|field| field.key == "modifiers") {
            let chain = self.modifiers(field);
            let limits = ["within", "wait_budget", "timeout"];
            let after = options.iter().position(|option| limits.contains(&option.name.as_str()));
            let at = after.unwrap_or(options.len());
            options.splice(at..at, chain);
        }
        raw.body = Body::Options { options, ordered };
    }

    fn extends(&mut self, field: &'n Field) -> Option<(&'n str, &'n Node)> {
        match &field.value.value {
            Value::Text(name) => Some((name, &field.value)),
            _ => {
                let advice = "use the name of a policy";
                self.found.push(wrong_type("extends", &field.value, self.text, advice));
                None
            }
        }
    }

    fn rules(&mut self, field: &Field) -> Vec<Matcher> {
        let (matchers, found) =
            matcher::of_list(&field.value, &field.key, self.text, &mut self.patterns);
        self.found.extend(found);
        matchers
    }

    fn modifiers(&mut self, field: &Field) -> Vec<Written> {
        const ADVICE: &str = "use a list such as [{jitter: full}, {max_delay: 5s}]";
        let Value::List(nodes) = &field.value.value else {
            self.found.push(wrong_type("modifiers", &field.value, self.text, ADVICE));
            return Vec::new();
        };
        /// Far more than the core allows in a chain, and reports; the rest is not read.
        const READ_MAX: usize = 64;
        let mut chain = Vec::new();
        for node in nodes.iter().take(READ_MAX) {
            match node.fields() {
                [_] => {
                    let fields =
                        known(node, "modifiers", &CHAIN, |_| None, self.text, &mut self.found);
                    chain.extend(fields.into_iter().filter_map(|field| self.option(field)));
                }
                _ => self.found.push(wrong_type("modifiers", node, self.text, ADVICE)),
            }
        }
        chain
    }

    /// A field as an option of the clause.
    fn option(&mut self, field: &Field) -> Option<Written> {
        let name = field.key.as_str();
        let lists = matches!(name, "backoff" | "jitter");
        let (value, place) = match &field.value.value {
            Value::List(nodes) if lists => self.list(name, nodes, &field.value)?,
            _ => match fields::scalar(&field.value, self.text, self.format) {
                Some((value, place))
                    if is_plain(&value) || (lists && is_plain_list(trimmed(&value))) =>
                {
                    (value, place)
                }
                _ => {
                    self.found.push(wrong_type(name, &field.value, self.text, advice(name)));
                    return None;
                }
            },
        };
        Some(fields::plain(field, name, value, place))
    }

    /// `[1s, 3s]` of the tree as `[1s, 3s]` of the clause.
    fn list(&mut self, name: &str, nodes: &[Node], node: &Node) -> Option<(String, Place)> {
        let mut value = String::from("[");
        let Span { start, end } = node.span;
        let mut places = vec![(0, Place::Whole(Span { start, end: start + 1 }))];
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                value += ", ";
            }
            match fields::scalar(node, self.text, self.format) {
                Some((text, place)) if is_plain(&text) => {
                    places.push((value.len(), place));
                    value += &text;
                    let Span { end, .. } = node.span;
                    places.push((value.len(), Place::Whole(Span { start: end, end })));
                }
                _ => {
                    self.found.push(wrong_type(name, node, self.text, advice(name)));
                    return None;
                }
            }
        }
        places.push((value.len(), Place::Whole(Span { start: end, end })));
        value += "]";
        Some((value, Place::joined(places, end)))
    }

    /// Resolves every policy with what it extends, in the order of the text.
    fn finish(mut self) -> (Vec<Entry>, Vec<Diagnostic>, Patterns) {
        let named = self.raw.iter().filter(|raw| !raw.bare);
        let names: Vec<&str> = named.map(|raw| raw.name).collect();
        let bases: Vec<_> = (0..self.raw.len()).map(|at| self.base(at, &names)).collect();
        let mut is_base = vec![false; self.raw.len()];
        for base in bases.iter().flatten() {
            is_base[*base] = true;
        }
        // Warnings of a clause are reported for the clause itself, not for the policies that extend it.
        for (raw, is_base) in self.raw.iter().zip(&is_base) {
            if let Body::Clause { entry, draft } = &raw.body {
                let warnings = entry.warnings.iter();
                let reported =
                    warnings.filter(|found| raw.bare || !is_missing(found, draft, *is_base));
                self.reported.extend(reported.clone().map(|found| (found.kind, found.span)));
                self.found.extend(reported.cloned());
            }
        }
        let mut bases_resolved = vec![None; self.raw.len()];
        let mut entries = Vec::with_capacity(self.raw.len());
        for at in 0..self.raw.len() {
            let whole = self.resolve(at, &bases, &is_base, &mut bases_resolved);
            entries.push(self.entry(at, &whole, is_base[at]));
        }
        (entries, self.found, self.patterns)
    }

    /// Which policy this one extends, now that all are known.
    fn base(&mut self, at: usize, names: &[&str]) -> Option<usize> {
        let (name, node) = self.raw[at].extends?;
        let base = self.by_name.get(name).copied();
        if base.is_none() {
            self.compared += names.len();
            let own = self.raw[at].name;
            let others: Vec<_> = match self.compared {
                0..=COMPARED_MAX => names.iter().copied().filter(|name| *name != own).collect(),
                _ => Vec::new(),
            };
            self.found.push(unknown_policy("extends", name, node, &others, self.text));
            self.raw[at].refused = true;
        }
        base
    }

    /// Follows `extends` to a policy that is resolved or extends nothing, then overlays back up. Bases are
    /// kept in `resolved`, so that each is resolved once.
    fn resolve(
        &mut self,
        at: usize,
        bases: &[Option<usize>],
        is_base: &[bool],
        resolved: &mut [Option<Rc<Whole>>],
    ) -> Rc<Whole> {
        if let Some(done) = &resolved[at] {
            return done.clone();
        }
        let mut chain = vec![at];
        let mut passed = HashSet::from([at]);
        let mut whole = Rc::default();
        while let Some(next) = chain.last().and_then(|last| bases[*last]) {
            if let Some(done) = &resolved[next] {
                whole = done.clone();
                break;
            }
            if !passed.insert(next) {
                self.refuse_circle(&chain, next);
                whole = Rc::new(Whole::refused());
                break;
            }
            chain.push(next);
        }
        while let Some(at) = chain.pop() {
            whole = Rc::new(self.extend(&whole, at));
            if is_base[at] {
                resolved[at] = Some(whole.clone());
            }
        }
        whole
    }

    fn refuse_circle(&mut self, chain: &[usize], next: usize) {
        let circle = chain.iter().skip_while(|at| **at != next).chain([&next]);
        let mut names: Vec<_> = circle.map(|at| excerpt(self.raw[*at].name)).collect();
        if names.len() > 8 {
            names.splice(7..names.len() - 1, ["…".to_owned()]);
        }
        let last = chain.last().copied().unwrap_or(next);
        let span = self.place_of_extends(last);
        let message = format!("this extends itself: {}", names.join(" extends "));
        self.found.push(Diagnostic::new(Kind::CircularExtends, span, message));
    }

    fn place_of_extends(&self, at: usize) -> Span {
        self.raw[at].extends.map_or(self.raw[at].span, |(_, node)| node.span)
    }

    /// The policy on top of the one that it extends.
    fn extend(&mut self, base: &Whole, at: usize) -> Whole {
        if let Body::Clause { draft, entry } = &self.raw[at].body {
            let mut options = draft.options();
            options.retain(|option| !RULES.contains(&option.name.as_str()));
            return Whole {
                options,
                retry_on: entry.retry_on.clone(),
                stop_on: entry.stop_on.clone(),
                refused: entry.policy.is_none(),
                extends: 0,
            };
        }
        self.inherited = self.inherited.saturating_add(base.size());
        if base.extends == EXTENDS_MAX || self.inherited > INHERITED_MAX {
            self.refuse_extends(base, at);
            return Whole::refused();
        }
        let raw = &self.raw[at];
        let Body::Options { options, ordered } = &raw.body else { return Whole::refused() };
        Whole {
            options: overlay(base.options.clone(), options.clone(), *ordered),
            retry_on: raw.retry_on.clone().unwrap_or_else(|| base.retry_on.clone()),
            stop_on: raw.stop_on.clone().unwrap_or_else(|| base.stop_on.clone()),
            refused: raw.refused || base.refused,
            extends: if raw.extends.is_some() { base.extends + 1 } else { 0 },
        }
    }

    /// Reports why a policy may not extend another, unless that one is refused itself.
    fn refuse_extends(&mut self, base: &Whole, at: usize) {
        if base.refused {
            return;
        }
        let message = if base.extends == EXTENDS_MAX {
            format!("this extends more than {EXTENDS_MAX} policies in a row")
        } else {
            format!("policies inherit more than {INHERITED_MAX} bytes from one another")
        };
        let place = self.place_of_extends(at);
        self.found.push(Diagnostic::new(Kind::TooLarge, place, message));
    }

    fn entry(&mut self, at: usize, whole: &Whole, is_base: bool) -> Entry {
        let raw = &self.raw[at];
        if let Body::Clause { entry, .. } = &raw.body {
            return Entry::clone(entry);
        }
        let mut draft = Draft::new(self.format, &[]);
        for option in &whole.options {
            draft.option(option);
        }
        let ruled = !whole.retry_on.is_empty() || !whole.stop_on.is_empty();
        if whole.options.is_empty() && ruled {
            draft.plain("attempts", "1", raw.span);
        }
        let empty = draft.clause().is_empty();
        if empty && !whole.refused {
            let message = "this policy is empty; write for example retry: 3, delay: 1s";
            self.found.push(Diagnostic::new(Clause::Syntax, raw.span, message));
        }
        let mut read = draft.read(&mut self.patterns);
        if empty || whole.refused {
            read.refuse();
        }
        let all = std::mem::take(&mut read.diagnostics).into_iter().map(|found| {
            match found.span.start < raw.span.start || found.span.end > raw.span.end {
                true => found.note(format!("in `{}`, which extends this", excerpt(raw.name))),
                false => found,
            }
        });
        let all: Vec<_> = all.collect();
        for found in &all {
            // Findings in a policy that this one extends have been reported there.
            let is_missing = !raw.bare && is_missing(found, &draft, is_base);
            if !is_missing && self.reported.insert((found.kind, found.span)) {
                self.found.push(found.clone());
            }
        }
        let name = raw.name.to_owned();
        let entry = Entry::new(name, Notation::File, raw.span, draft.clause(), read, &all);
        entry.rules(whole.retry_on.clone(), whole.stop_on.clone())
    }
}

/// Whether a warning is about something that the policy lacks. Another that extends it, or a flag, may
/// add that; if not, the warning comes when it is run.
fn is_missing(found: &Diagnostic, draft: &Draft, is_base: bool) -> bool {
    let Kind::Clause(kind) = found.kind else { return false };
    match kind {
        Clause::DelayWithoutRetry | Clause::BackoffWithoutDelay | Clause::BackoffWithoutRetry => {
            true
        }
        // A base need not be complete; elsewhere these are mistakes more often than not.
        Clause::UnusedOption => is_base && draft.options().iter().all(|it| it.name != "backoff"),
        Clause::Unbounded | Clause::HotLoop => is_base,
        _ => false,
    }
}

/// Which values an option takes, for a message.
fn advice(name: &str) -> &'static str {
    match name {
        "retry" | "attempts" => "use a whole number, or unlimited",
        "backoff" => {
            "use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]"
        }
        "factor" => "use a number such as 2 or 1.5",
        "jitter" => "use none, full, equal, 25%, +50% or [0.5, 1.5]",
        _ => "use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)",
    }
}

/// The policies of a larger file: those that have a name, and those that stand where they are used.
///
/// First all of them are taken; what extends what is known at the [end](Self::finish).
pub struct Policies<'t, 'n> {
    pub(crate) source: Source<'t>,
    pub(crate) file: File<'t, 'n>,
    default: Option<&'n Node>,
    uses: Vec<Use<'n>>,
}

/// A policy that is used somewhere; [`Resolved::of`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used(usize);

enum Use<'n> {
    Named(&'n Node),
    /// By its place among the raw ones.
    Here(usize),
}

impl std::fmt::Debug for Policies<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policies").field("uses", &self.uses.len()).finish_non_exhaustive()
    }
}

impl<'t, 'n> Policies<'t, 'n> {
    /// None yet.
    pub fn new(source: Source<'t>) -> Self {
        let file = File::new(source.text, source.format, Patterns::default(), Vec::new());
        Self { source, file, default: None, uses: Vec::new() }
    }

    /// Takes the map of `policies`: names and clauses, or names and maps.
    pub fn named(&mut self, node: &'n Node) {
        let Value::Map(fields) = &node.value else {
            let advice = "use a map of names to policies";
            return self.file.found.push(self.source.wrong_type("policies", node, advice));
        };
        for field in fields.iter().take(POLICIES_MAX) {
            self.file.take(&field.key, field.place, &field.value);
        }
        if let Some(field) = fields.get(POLICIES_MAX) {
            let message = format!("a file holds at most {POLICIES_MAX} policies");
            self.file.found.push(Diagnostic::new(Kind::TooLarge, field.place, message));
        }
    }

    /// Takes the name of the policy that is used where there is none; without it, that is the one called `default`.
    pub fn default(&mut self, node: &'n Node) {
        match &node.value {
            Value::Text(_) => self.default = Some(node),
            _ => {
                let advice = "use the name of a policy";
                self.file.found.push(self.source.wrong_type("default", node, advice));
            }
        }
    }

    /// Takes a policy where it is used: a name, a clause or a map.
    pub fn used(&mut self, node: &'n Node) -> Used {
        let one = match &node.value {
            // No option of a clause is without a colon.
            Value::Text(text) if !text.contains(':') => Use::Named(node),
            _ => {
                let place = Span { start: node.span.start, end: node.span.start };
                self.file.take_raw("policy", place, node);
                let at = self.file.raw.len() - 1;
                self.file.raw[at].bare = true;
                Use::Here(at)
            }
        };
        self.uses.push(one);
        Used(self.uses.len() - 1)
    }

    /// All of them, and what is wrong with them. A policy that is used has to be complete, so its warnings are told.
    pub fn finish(mut self) -> (Resolved, Vec<Diagnostic>) {
        let default = match self.default {
            Some(node) => self.find("default", node),
            None => self.file.by_name.get("default").copied(),
        };
        let mut uses = Vec::new();
        for one in std::mem::take(&mut self.uses) {
            uses.push(match one {
                Use::Here(at) => Some(at),
                Use::Named(node) => self.find("policy", node),
            });
        }
        let (entries, mut found, _) = self.file.finish();
        for at in uses.iter().chain([&default]).flatten() {
            found.extend(entries[*at].warnings.iter().cloned());
        }
        let mut told = HashSet::new();
        found.retain(|found| told.insert((found.kind, found.span, found.message.clone())));
        (Resolved { entries, uses, default }, found)
    }

    fn find(&mut self, field: &str, node: &'n Node) -> Option<usize> {
        let Value::Text(name) = &node.value else { return None };
        let at = self.file.by_name.get(name.as_str()).copied();
        if at.is_none() {
            self.file.compared += self.file.by_name.len();
            let names: Vec<&str> = match self.file.compared {
                0..=COMPARED_MAX => {
                    self.file.raw.iter().filter(|raw| !raw.bare).map(|raw| raw.name).collect()
                }
                _ => Vec::new(),
            };
            self.file.found.push(unknown_policy(field, name, node, &names, self.source.text));
        }
        at
    }
}

/// The policies of a larger file, each with what it extends.
#[derive(Clone, Debug)]
pub struct Resolved {
    entries: Vec<Entry>,
    uses: Vec<Option<usize>>,
    default: Option<usize>,
}

impl Resolved {
    /// The policy that is used there, unless there is no such name.
    pub fn of(&self, used: Used) -> Option<&Entry> {
        self.entries.get((*self.uses.get(used.0)?)?)
    }

    /// The policy that is used where there is none.
    pub fn default(&self) -> Option<&Entry> {
        self.entries.get(self.default?)
    }
}
