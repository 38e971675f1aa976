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
use crate::overlay::{CHAIN, overlay};
use crate::place::Place;
use crate::tree::{Field, Node, Value};

/// What a file may say; `$schema` is for editors. What starts with `x-` is for whoever writes it:
/// the anchors of YAML, for one.
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

/// What no map of another notation says.
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

/// How many names are compared in all, to find those that were meant.
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
            let mut file = File::new(text, format, &mut search.patterns, found);
            for field in fields.iter().take(POLICIES_MAX) {
                file.take(&field.key, field.place, &field.value);
            }
            let entries;
            (entries, found) = file.finish();
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

/// Whether a key of the file is for its writer alone.
pub(crate) fn is_extension(key: &str) -> bool {
    key.starts_with("x-")
}

/// A policy that is the whole text, as a map of the clause's names. It reads as the clause would,
/// and nothing in the text could complete it: what it lacks is told.
pub(crate) fn read_bare(search: &mut Search<'_>, root: &Node, name: String, notation: Notation) {
    let place = Span { start: root.span.start, end: root.span.start };
    let mut file = File::new(search.text, search.format, &mut search.patterns, Vec::new());
    file.bare = true;
    file.take(&name, place, root);
    let (entries, found) = file.finish();
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
            let safe = fields::is_slip(name, meant, names);
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
    says: Says,
    extends: Option<(&'n str, &'n Node)>,
    retry_on: Option<Vec<Matcher>>,
    stop_on: Option<Vec<Matcher>>,
    refused: bool,
}

enum Says {
    Clause { draft: Draft, entry: Box<Entry> },
    Options { options: Vec<Written>, ordered: bool },
}

struct File<'t, 'n> {
    text: &'t str,
    format: Format,
    patterns: &'t mut Patterns,
    raw: Vec<Raw<'n>>,
    by_name: HashMap<&'n str, usize>,
    found: Vec<Diagnostic>,
    /// What has been told, and of what place.
    told: HashSet<(Kind, Span)>,
    /// How many bytes of options have been taken over from other policies.
    inherited: usize,
    /// How many names have been compared.
    compared: usize,
    /// Whether it is one policy without a name, and no file of policies.
    bare: bool,
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
    /// One of which nothing is known but that it is none.
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
    fn new(
        text: &'t str,
        format: Format,
        patterns: &'t mut Patterns,
        found: Vec<Diagnostic>,
    ) -> Self {
        Self {
            text,
            format,
            patterns,
            raw: Vec::new(),
            by_name: HashMap::new(),
            found,
            told: HashSet::new(),
            inherited: 0,
            compared: 0,
            bare: false,
        }
    }

    fn take(&mut self, name: &'n str, place: Span, node: &'n Node) {
        if self.by_name.contains_key(name) {
            let message =
                format!("there is a policy `{}` already; give it another name", excerpt(name));
            return self.found.push(Diagnostic::new(Clause::DuplicateOption, place, message));
        }
        let before = self.found.len();
        let mut raw = Raw {
            name,
            span: Span { start: place.start, end: node.span.end.max(place.end) },
            says: Says::Options { options: Vec::new(), ordered: false },
            extends: None,
            retry_on: None,
            stop_on: None,
            refused: false,
        };
        match &node.value {
            Value::Text(_) => match clause::draft(node, self.text, self.format) {
                Ok(draft) => {
                    let (mut entry, found) =
                        clause::entry(&draft, name.to_owned(), raw.span, self.patterns);
                    entry.notation = Notation::File;
                    // Its warnings wait until it is known who extends it.
                    let errors = found.into_iter().filter(|found| !found.is_warning());
                    for error in errors {
                        self.told.insert((error.kind, error.span));
                        self.found.push(error);
                    }
                    raw.says = Says::Clause { draft, entry: Box::new(entry) };
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
        self.by_name.insert(name, self.raw.len());
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
        raw.says = Says::Options { options, ordered };
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
            matcher::of_list(&field.value, &field.key, self.text, self.patterns);
        self.found.extend(found);
        matchers
    }

    fn modifiers(&mut self, field: &Field) -> Vec<Written> {
        const ADVICE: &str = "use a list such as [{jitter: full}, {max_delay: 5s}]";
        let Value::List(nodes) = &field.value.value else {
            self.found.push(wrong_type("modifiers", &field.value, self.text, ADVICE));
            return Vec::new();
        };
        /// Far more than a chain holds, which is for the core to say; the rest is not looked at.
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

    /// Every policy with what it extends, in the order of the text.
    fn finish(mut self) -> (Vec<Entry>, Vec<Diagnostic>) {
        let names: Vec<&str> = self.raw.iter().map(|raw| raw.name).collect();
        let bases: Vec<_> = (0..self.raw.len()).map(|at| self.base(at, &names)).collect();
        let mut is_base = vec![false; self.raw.len()];
        for base in bases.iter().flatten() {
            is_base[*base] = true;
        }
        // What is said of a clause is said of it alone, before it is found in those that extend it.
        for (raw, is_base) in self.raw.iter().zip(&is_base) {
            if let Says::Clause { entry, draft } = &raw.says {
                let warnings = entry.warnings.iter();
                let said = warnings.filter(|found| !is_missing(found, draft, *is_base));
                self.told.extend(said.clone().map(|found| (found.kind, found.span)));
                self.found.extend(said.cloned());
            }
        }
        let mut kept = vec![None; self.raw.len()];
        let mut entries = Vec::with_capacity(self.raw.len());
        for at in 0..self.raw.len() {
            let whole = self.complete(at, &bases, &is_base, &mut kept);
            entries.push(self.entry(at, &whole, is_base[at]));
        }
        (entries, self.found)
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

    /// Goes down what is extended to something that is complete, and comes back up. What others
    /// extend too is kept, so that it is gone through once.
    fn complete(
        &mut self,
        at: usize,
        bases: &[Option<usize>],
        is_base: &[bool],
        kept: &mut [Option<Rc<Whole>>],
    ) -> Rc<Whole> {
        if let Some(done) = &kept[at] {
            return done.clone();
        }
        let mut chain = vec![at];
        let mut passed = HashSet::from([at]);
        let mut whole = Rc::default();
        while let Some(next) = chain.last().and_then(|last| bases[*last]) {
            if let Some(done) = &kept[next] {
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
            whole = Rc::new(self.on_top(&whole, at));
            if is_base[at] {
                kept[at] = Some(whole.clone());
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

    fn on_top(&mut self, base: &Whole, at: usize) -> Whole {
        if let Says::Clause { draft, entry } = &self.raw[at].says {
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
            self.refuse_heir(base, at);
            return Whole::refused();
        }
        let raw = &self.raw[at];
        let Says::Options { options, ordered } = &raw.says else { return Whole::refused() };
        Whole {
            options: overlay(base.options.clone(), options.clone(), *ordered),
            retry_on: raw.retry_on.clone().unwrap_or_else(|| base.retry_on.clone()),
            stop_on: raw.stop_on.clone().unwrap_or_else(|| base.stop_on.clone()),
            refused: raw.refused || base.refused,
            extends: if raw.extends.is_some() { base.extends + 1 } else { 0 },
        }
    }

    /// Says why a policy may not extend another, if that one is not refused for its own reasons.
    fn refuse_heir(&mut self, base: &Whole, at: usize) {
        if base.refused {
            return;
        }
        let message = if base.extends == EXTENDS_MAX {
            format!("this extends more than {EXTENDS_MAX} policies in a row")
        } else {
            format!("policies take over more than {INHERITED_MAX} bytes from one another")
        };
        let place = self.place_of_extends(at);
        self.found.push(Diagnostic::new(Kind::TooLarge, place, message));
    }

    fn entry(&mut self, at: usize, whole: &Whole, is_base: bool) -> Entry {
        let raw = &self.raw[at];
        if let Says::Clause { entry, .. } = &raw.says {
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
            let message = "this policy says nothing; write for example retry: 3, delay: 1s";
            self.found.push(Diagnostic::new(Clause::Syntax, raw.span, message));
        }
        let mut read = draft.read(self.patterns);
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
            // What stands in a policy that this one extends has been told of that one.
            let is_missing = !self.bare && is_missing(found, &draft, is_base);
            if !is_missing && self.told.insert((found.kind, found.span)) {
                self.found.push(found.clone());
            }
        }
        let name = raw.name.to_owned();
        let entry = Entry::new(name, Notation::File, raw.span, draft.clause(), read, &all);
        entry.rules(whole.retry_on.clone(), whole.stop_on.clone())
    }
}

/// Whether a warning is about something that the policy does not say: another that extends it, or a
/// flag, may say it, and whoever runs it as it is will be told then.
fn is_missing(found: &Diagnostic, draft: &Draft, is_base: bool) -> bool {
    let Kind::Clause(kind) = found.kind else { return false };
    match kind {
        Clause::DelayWithoutRetry | Clause::BackoffWithoutDelay | Clause::BackoffWithoutRetry => {
            true
        }
        // What is extended need not be whole; elsewhere these are mistakes more often than not.
        Clause::UnusedOption => is_base && draft.options().iter().all(|it| it.name != "backoff"),
        Clause::Unbounded | Clause::HotLoop => is_base,
        _ => false,
    }
}

/// What an option takes, in the words of a message.
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
