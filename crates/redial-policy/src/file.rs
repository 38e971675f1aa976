//! Our own file: named policies, as clauses or as maps of the clause's names, one extending
//! another, and one that is the default.

use std::collections::{HashMap, HashSet};

use redial_core::clause::Kind as Clause;

use crate::Format;
use crate::clause;
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::document::{Entry, Notation, Search};
use crate::draft::{Draft, Written};
use crate::fields::{self, excerpt, is_plain, is_plain_list, known, nearest, wrong_type};
use crate::matcher::Matcher;
use crate::overlay::{ORDER, overlay};
use crate::place::{Alignment, Place};
use crate::retry_config::matchers;
use crate::tree::{Field, Node, Value};

const TOP: [&str; 2] = ["policies", "default"];

/// What a policy's map may say.
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

const ELSEWHERE: [(&str, &str); 14] = [
    ("backoff_factor", "factor"),
    ("multiplier", "factor"),
    ("base", "factor"),
    ("initial_delay", "delay"),
    ("base_delay", "delay"),
    ("interval", "delay"),
    ("cap", "max_delay"),
    ("max_interval", "max_delay"),
    ("max_attempts", "attempts"),
    ("tries", "attempts"),
    ("retries", "retry"),
    ("max_retries", "retry"),
    ("deadline", "within"),
    ("retry_budget", "wait_budget"),
];

/// How many policies a file may hold.
const POLICIES_MAX: usize = 50_000;

/// How many policies may extend one another in a row.
const EXTENDS_MAX: usize = 64;

const RULES: [&str; 2] = ["retry_on", "stop_on"];
const CHAIN: [&str; 3] = ["min_delay", "max_delay", "jitter"];

pub(crate) fn read(search: &mut Search<'_>, root: &Node) {
    let (text, format) = (search.text, search.format);
    let mut found = Vec::new();
    let fields = known(root, "a policy file", &TOP, &[("policy", "policies")], text, &mut found);
    let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
    match field("policies").map(|field| &field.value) {
        Some(Node { value: Value::Map(fields), .. }) => {
            let mut file = File { text, format, raw: Vec::new(), by_name: HashMap::new(), found };
            for field in fields.iter().take(POLICIES_MAX) {
                file.take(field);
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
    search.document.diagnostics.append(&mut found);
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
            Diagnostic::new(Kind::UnknownPolicy, node.span, message).fix(inside, meant, true)
        }
        None => {
            let listed = match names.len() {
                0 => "there are none".to_owned(),
                1..=8 => format!("there are {}", fields::listed(names)),
                more => format!("there are {} and {} more", names[..8].join(", "), more - 8),
            };
            let message = format!("{field}: there is no policy `{shown}`; {listed}");
            Diagnostic::new(Kind::UnknownPolicy, node.span, message)
        }
    }
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
    Clause(Draft),
    Options { options: Vec<Written>, ordered: bool },
}

struct File<'t, 'n> {
    text: &'t str,
    format: Format,
    raw: Vec<Raw<'n>>,
    by_name: HashMap<&'n str, usize>,
    found: Vec<Diagnostic>,
}

/// A policy with all that it extends.
#[derive(Clone, Default)]
struct Whole {
    options: Vec<Written>,
    retry_on: Vec<Matcher>,
    stop_on: Vec<Matcher>,
    refused: bool,
}

impl<'n> File<'_, 'n> {
    fn take(&mut self, field: &'n Field) {
        let name = field.key.as_str();
        if self.by_name.contains_key(name) {
            let message =
                format!("there is a policy `{}` already; give it another name", excerpt(name));
            return self.found.push(Diagnostic::new(Clause::DuplicateOption, field.place, message));
        }
        let before = self.found.len();
        let mut raw = Raw {
            name,
            span: Span { start: field.place.start, end: field.value.span.end.max(field.place.end) },
            says: Says::Options { options: Vec::new(), ordered: false },
            extends: None,
            retry_on: None,
            stop_on: None,
            refused: false,
        };
        match &field.value.value {
            Value::Text(_) => match clause::draft(&field.value, self.text, self.format) {
                Ok(draft) => raw.says = Says::Clause(draft),
                Err(diagnostic) => self.found.push(diagnostic),
            },
            Value::Map(_) => self.map(&field.value, &mut raw),
            _ => {
                let advice =
                    "write a clause such as \"retry: 3, delay: 1s\", or a map of its options";
                self.found.push(wrong_type(&excerpt(name), &field.value, self.text, advice));
            }
        }
        raw.refused = self.found[before..].iter().any(|found| !found.is_warning());
        self.by_name.insert(name, self.raw.len());
        self.raw.push(raw);
    }

    fn map(&mut self, node: &'n Node, raw: &mut Raw<'n>) {
        let fields = known(node, "a policy", &FIELDS, &ELSEWHERE, self.text, &mut self.found);
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
        options.sort_by_key(|option| ORDER.iter().position(|name| *name == option.name));
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
        let (matchers, found) = matchers(&field.value, &field.key, self.text);
        self.found.extend(found);
        matchers
    }

    fn modifiers(&mut self, field: &Field) -> Vec<Written> {
        const ADVICE: &str = "use a list such as [{jitter: full}, {max_delay: 5s}]";
        let Value::List(nodes) = &field.value.value else {
            self.found.push(wrong_type("modifiers", &field.value, self.text, ADVICE));
            return Vec::new();
        };
        let mut chain = Vec::new();
        for node in nodes {
            match node.fields() {
                [_] => {
                    let fields = known(node, "modifiers", &CHAIN, &[], self.text, &mut self.found);
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
            _ => match fields::scalar(&field.value, self.text) {
                Some((value, place))
                    if is_plain(&value) || (lists && is_plain_list(value.trim())) =>
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
        let mut places = vec![(0, Place::at(node.span.start))];
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                value += ", ";
            }
            match fields::scalar(node, self.text) {
                Some((text, place)) if is_plain(&text) => {
                    places.push((value.len(), place));
                    value += &text;
                }
                _ => {
                    self.found.push(wrong_type(name, node, self.text, advice(name)));
                    return None;
                }
            }
        }
        value += "]";
        Some((value, Place::Exact(Alignment::joined(places, node.span.end))))
    }

    /// Every policy with what it extends, in the order of the text.
    fn finish(mut self) -> (Vec<Entry>, Vec<Diagnostic>) {
        let bases: Vec<_> = (0..self.raw.len()).map(|at| self.base(at)).collect();
        let mut is_base = vec![false; self.raw.len()];
        for base in bases.iter().flatten() {
            is_base[*base] = true;
        }
        let mut kept: Vec<Option<Whole>> = vec![None; self.raw.len()];
        let mut told = HashSet::new();
        let mut entries = Vec::with_capacity(self.raw.len());
        for at in 0..self.raw.len() {
            let whole = self.complete(at, &bases, &is_base, &mut kept);
            entries.push(self.entry(at, whole, &mut told));
        }
        (entries, self.found)
    }

    /// Which policy this one extends, now that all are known.
    fn base(&mut self, at: usize) -> Option<usize> {
        let (name, node) = self.raw[at].extends?;
        let base = self.by_name.get(name).copied();
        if base.is_none() {
            let names: Vec<&str> = self.raw.iter().map(|raw| raw.name).collect();
            self.found.push(unknown_policy("extends", name, node, &names, self.text));
            self.raw[at].refused = true;
        }
        base
    }

    /// Goes down what is extended to something that is complete, and comes back up. What others
    /// extend too is kept.
    fn complete(
        &mut self,
        at: usize,
        bases: &[Option<usize>],
        is_base: &[bool],
        kept: &mut [Option<Whole>],
    ) -> Whole {
        let mut chain = vec![at];
        let mut whole = Whole::default();
        while let Some(next) = chain.last().and_then(|last| bases[*last]) {
            if let Some(done) = &kept[next] {
                whole = done.clone();
                break;
            }
            if chain.contains(&next) || chain.len() == EXTENDS_MAX {
                self.refuse_chain(&chain, next);
                whole.refused = true;
                break;
            }
            chain.push(next);
        }
        while let Some(at) = chain.pop() {
            whole = self.on_top(whole, at);
            if is_base[at] && kept[at].is_none() {
                kept[at] = Some(whole.clone());
            }
        }
        whole
    }

    fn refuse_chain(&mut self, chain: &[usize], next: usize) {
        let last = chain.last().copied().unwrap_or(next);
        let span = self.raw[last].extends.map_or(self.raw[last].span, |(_, node)| node.span);
        if !chain.contains(&next) {
            let message = format!("this extends more than {EXTENDS_MAX} policies in a row");
            return self.found.push(Diagnostic::new(Kind::TooLarge, span, message));
        }
        let circle = chain.iter().skip_while(|at| **at != next).chain([&next]);
        let names: Vec<_> = circle.map(|at| excerpt(self.raw[*at].name)).collect();
        let message = format!("this extends itself: {}", names.join(" extends "));
        self.found.push(Diagnostic::new(Kind::CircularExtends, span, message));
    }

    fn on_top(&self, base: Whole, at: usize) -> Whole {
        let raw = &self.raw[at];
        match &raw.says {
            Says::Clause(draft) => {
                let read = draft.read();
                let mut options = draft.options();
                options.retain(|option| !RULES.contains(&option.name.as_str()));
                let refused = read.policy.is_none();
                Whole { options, retry_on: read.retry_on, stop_on: read.stop_on, refused }
            }
            Says::Options { options, ordered } => Whole {
                options: overlay(base.options, options.clone(), *ordered),
                retry_on: raw.retry_on.clone().unwrap_or(base.retry_on),
                stop_on: raw.stop_on.clone().unwrap_or(base.stop_on),
                refused: raw.refused || base.refused,
            },
        }
    }

    fn entry(&mut self, at: usize, whole: Whole, told: &mut HashSet<(Kind, Span)>) -> Entry {
        let raw = &self.raw[at];
        if let Says::Clause(draft) = &raw.says {
            let (mut entry, found) = clause::entry(draft, raw.name.to_owned(), raw.span);
            told.extend(found.iter().map(|found| (found.kind, found.span)));
            self.found.extend(found);
            entry.notation = Notation::File;
            return entry;
        }
        let mut draft = Draft::new(self.format, &[]);
        for option in &whole.options {
            draft.option(option);
        }
        let mut read = draft.read();
        let found = std::mem::take(&mut read.diagnostics);
        if whole.refused {
            // What the core says of a draft with holes in it would be about the holes.
            read.policy = None;
        } else {
            for mut found in found {
                if found.span.start < raw.span.start || found.span.end > raw.span.end {
                    found = found.note(format!("in `{}`, which extends this", excerpt(raw.name)));
                }
                // What stands in a policy that this one extends has been told of that one.
                if told.insert((found.kind, found.span)) {
                    self.found.push(found);
                }
            }
        }
        let entry = Entry::new(raw.name.to_owned(), Notation::File, raw.span, draft.clause(), read);
        entry.rules(whole.retry_on, whole.stop_on)
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
