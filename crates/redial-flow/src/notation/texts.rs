//! Texts with references: templates, lines of `sh`, argument lists, expressions. Each reference is checked where it stands,
//! and gives its step a need.

use std::collections::BTreeMap;
use std::ops::Range;

use redial_policy::notation::{Node, Places, Value as Tree};
use redial_policy::{FlowKind, Span};

use super::reader::{At, Known, NeedDraft, Reader, is_variable};
use super::{Named, Notation};
use crate::definition::{Action, Argument, Condition};
use crate::interpreter;
use crate::items::BadPath;
use crate::reference::name_at;
use crate::suspicion::{Suspicion, SuspicionKind, suspicions};
use crate::{
    BadTemplate, BadTemplateKind, Dialect, Expression, Segment, Shell, Template, check_arguments,
};
const OF_STEP: [&str; 2] = ["output", "failed"];
const OF_MAP: [&str; 5] = ["succeeded", "failed", "dead", "total", "results"];

/// A reference as both templates and expressions have it.
struct Reference {
    root: String,
    /// The names after the root, as far as they are names.
    path: Vec<String>,
    /// The whole of it, and where its root begins.
    span: Range<usize>,
    root_at: usize,
}

/// A part of a text that is written otherwise in the definition.
struct Rewrite {
    at: Range<usize>,
    text: String,
}

impl<'n> Reader<'_, 'n, '_> {
    /// A text with references.
    pub(super) fn template(&mut self, field: &str, node: &'n Node, at: &At) -> Option<String> {
        let text = self.scalar(field, node, "use a text")?;
        let template = self.parsed(field, node, &text)?;
        let rewrites = self.references(field, node, &text, &template, at);
        Some(rewritten(text, rewrites))
    }

    fn parsed(&mut self, field: &str, node: &Node, text: &str) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => Some(template),
            Err(bad) => {
                self.bad_template(field, node, &bad);
                None
            }
        }
    }

    fn references(
        &mut self,
        field: &str,
        node: &Node,
        text: &str,
        template: &Template,
        at: &At,
    ) -> Vec<Rewrite> {
        if template.references().next().is_none() {
            return Vec::new();
        }
        let places = self.source.places(node);
        let references = template.references().map(of_template);
        references.filter_map(|one| self.reference(field, &places, text, &one, at)).collect()
    }

    fn bad_template(&mut self, field: &str, node: &Node, bad: &BadTemplate) {
        let kind = match bad.kind {
            BadTemplateKind::NestedInterpreter => FlowKind::NestedInterpreter,
            BadTemplateKind::UnclearShell => FlowKind::UnclearShell,
            BadTemplateKind::BadReference => FlowKind::BadReference,
        };
        let span = self.source.places(node).of(bad.span.clone());
        self.tell(kind, span, format!("{field}: {bad}"));
    }

    /// A line of `sh`.
    pub(super) fn shell(&mut self, field: &str, node: &'n Node, at: &At) -> Option<String> {
        let text = match &node.value {
            Tree::Text(text) if !text.trim().is_empty() => text.clone(),
            _ => {
                self.wrong(field, node, "use a line of sh");
                return None;
            }
        };
        let roots = self.roots_in(&text);
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        let (line, found) = Shell::read(&text, &roots);
        found.iter().for_each(|bad| self.bad_template(field, node, bad));
        let mut rewrites = Vec::new();
        if line.references().next().is_some() {
            let places = self.source.places(node);
            let references = line.references().map(of_template);
            rewrites.extend(
                references.filter_map(|one| self.reference(field, &places, &text, &one, at)),
            );
        }
        if !found.is_empty() {
            return None;
        }
        for one in line.suspicions(&self.values) {
            self.suspect(field, node, &one);
        }
        Some(rewritten(text, rewrites))
    }

    /// The roots of a line, as far as they stand in it: each line is compared with what it has. What has a dot after it
    /// is a reference to something, so that all that are unknown are told.
    fn roots_in(&self, text: &str) -> Vec<String> {
        let mut roots: Vec<String> = Vec::new();
        let is_alias = |name: &str| {
            let dotted = format!("{name}.");
            let next = self.aliases.range(dotted.clone()..).next();
            self.aliases.contains_key(name) || next.is_some_and(|(one, _)| one.starts_with(&dotted))
        };
        let is_root = |name: &str| {
            crate::prepared::ROOTS.contains(&name)
                || self.names.contains_key(name)
                || is_alias(name)
        };
        for (at, _) in text.match_indices("${") {
            let Some((name, end)) = name_at(text.as_bytes(), at + 2) else { continue };
            // `${item-none}` begins with a root.
            let dashes = name.match_indices('-').map(|(dash, _)| dash).take(64);
            let ends: Vec<_> = dashes.chain([name.len()]).collect();
            let known = ends.iter().map(|end| &name[..*end]);
            roots.extend(known.filter(|name| is_root(name)).map(str::to_owned));
            if text[end..].starts_with('.') && is_variable(&name) {
                roots.push(name);
            }
        }
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// A program and its arguments.
    pub(super) fn arguments(
        &mut self,
        field: &str,
        node: &'n Node,
        at: &At,
    ) -> Option<Vec<Argument>> {
        const ADVICE: &str = "use a list of words such as [curl, -fsS, \"${item.url}\"]";
        let Tree::List(nodes) = &node.value else {
            let line = format!("{ADVICE}; a line of sh is `shell`");
            let is_line = field == "run" && matches!(node.value, Tree::Text(_));
            self.wrong(field, node, if is_line { &line } else { ADVICE });
            return None;
        };
        if nodes.is_empty() {
            self.tell(
                FlowKind::OneAction,
                node.span,
                format!("{field}: this list is empty; {ADVICE}"),
            );
            return None;
        }
        let mut templates = Vec::with_capacity(nodes.len());
        let mut words = Vec::with_capacity(nodes.len());
        let before = self.found.len();
        for word in nodes {
            let Some(text) = self.scalar(field, word, ADVICE) else { continue };
            let Some(template) = self.parsed(field, word, &text) else { continue };
            let rewrites = self.references(field, word, &text, &template, at);
            words.push(Argument::Text(rewritten(text, rewrites)));
            templates.push(template);
        }
        if self.found.len() > before && templates.len() < nodes.len() {
            return None;
        }
        if let Err((word, bad)) = check_arguments(&templates) {
            self.bad_template(field, &nodes[word], &bad);
            return None;
        }
        for one in suspicions(&templates, &self.values) {
            let word = one.argument.and_then(|word| nodes.get(word)).unwrap_or(node);
            self.suspect(field, word, &one);
        }
        Some(words)
    }

    /// A value on the standard input of a program that executes what it reads there.
    pub(super) fn check_stdin(&mut self, action: &Action, node: &Node) {
        let Tree::Text(text) = &node.value else { return };
        let Ok(stdin) = Template::parse(text) else { return };
        let checked = match action {
            Action::Run { argv, .. } => {
                let texts =
                    argv.iter().map(|word| String::from_utf8_lossy(&word.bytes()).into_owned());
                let words = texts.filter_map(|text| Template::parse(&text).ok());
                interpreter::check_stdin(&words.collect::<Vec<_>>(), &stdin)
            }
            Action::Shell(line) => {
                let roots = self.roots_in(line);
                let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
                Shell::check_stdin(line, &roots, &stdin)
            }
            _ => Ok(()),
        };
        if let Err(bad) = checked {
            self.bad_template("stdin", node, &bad);
        }
    }

    /// The program of an argument list, if it is to be looked up.
    pub(super) fn program(&mut self, node: &Node) {
        let Tree::List(nodes) = &node.value else { return };
        let Some(Node { value: Tree::Text(name), span }) = nodes.first() else { return };
        if !name.contains(['/', '$', '\\']) && !name.is_empty() {
            self.programs.push(Named { name: name.clone(), span: *span });
        }
    }

    fn suspect(&mut self, field: &str, node: &Node, one: &Suspicion) {
        let kind = match one.kind {
            SuspicionKind::LooksLikeAnOption => FlowKind::LooksLikeAnOption,
            SuspicionKind::LeavesTheDirectory => FlowKind::LeavesTheDirectory,
        };
        let span = self.source.places(node).of(one.span.clone());
        self.tell(kind, span, format!("{field}: {one}"));
    }

    /// The `when` of a step, whose needs are those of the step that looks at it.
    pub(super) fn when(&mut self, step: usize, node: &'n Node, at: &At) {
        self.drafts[step].conditions.push(("when", self.source.places(node)));
        self.drafts[step].step.when = self.condition("when", node, at);
    }

    /// An expression over inputs, outputs and the item.
    pub(super) fn condition(&mut self, field: &str, node: &'n Node, at: &At) -> Option<Condition> {
        let (text, expression) = self.expression(field, node)?;
        let mut rewrites = Vec::new();
        let places = self.source.places(node);
        for one in expression.references() {
            let Some((root, path)) = one.path.split_first() else { continue };
            let span = one.span.start..one.span.end;
            let rest = text.get(one.span.start..).unwrap_or_default();
            let shift = rest.find(root.as_str()).filter(|shift| *shift <= 2).unwrap_or(0);
            let root_at = one.span.start + shift;
            let reference = Reference { root: root.clone(), path: path.to_vec(), span, root_at };
            rewrites.extend(self.reference(field, &places, &text, &reference, &at.handling(true)));
        }
        Some(self.as_condition(rewritten(text, rewrites)))
    }

    /// An expression over the fields of an item, which are not known yet.
    pub(super) fn filter(&mut self, field: &str, node: &'n Node) -> Option<Condition> {
        let (text, _) = self.expression(field, node)?;
        Some(self.as_condition(text))
    }

    fn as_condition(&self, text: String) -> Condition {
        Condition { text, loose: self.notation == Notation::WorkItems }
    }

    fn expression(&mut self, field: &str, node: &'n Node) -> Option<(String, Expression)> {
        let text = self.scalar(field, node, "use an expression such as item.width > 1024")?;
        let dialect = match self.notation {
            Notation::WorkItems => Dialect::Loose,
            _ => Dialect::Cel,
        };
        match Expression::parse_as(&text, dialect) {
            Ok(expression) => Some((text, expression)),
            Err(bad) => {
                let span = self.source.places(node).of(bad.span.start..bad.span.end);
                self.tell(FlowKind::BadExpression, span, format!("{field}: {bad}"));
                None
            }
        }
    }

    /// A text that is checked by one of the readers of paths.
    pub(super) fn path<T>(
        &mut self,
        field: &str,
        node: &'n Node,
        parse: impl Fn(&str) -> Result<T, BadPath>,
    ) -> Option<String> {
        let text = self.scalar(field, node, "use the path of a field such as item.id")?;
        match parse(&text) {
            Ok(_) => Some(text),
            Err(bad) => {
                let span = self.source.places(node).of(bad.span.start..bad.span.end);
                self.tell(FlowKind::BadPath, span, format!("{field}: {bad}"));
                None
            }
        }
    }

    /// Checks a reference, and adds what it needs.
    fn reference(
        &mut self,
        field: &str,
        places: &Places,
        text: &str,
        one: &Reference,
        at: &At,
    ) -> Option<Rewrite> {
        let first = one.path.first().map(String::as_str);
        let aliased = |aliases: &BTreeMap<String, String>| {
            let long = first.map(|first| format!("{}.{first}", one.root));
            let long = long.and_then(|long| aliases.get_key_value(&long));
            let (from, to) = long.or_else(|| aliases.get_key_value(&one.root))?;
            Some((from.clone(), to.clone()))
        };
        if let Some((from, to)) = aliased(&self.aliases) {
            let mut parts = to.split('.').map(str::to_owned);
            let root = parts.next().unwrap_or_default();
            let known = from.split('.').count() - 1;
            let path = parts.chain(one.path.iter().skip(known).cloned()).collect();
            let meant = Reference { root, path, span: one.span.clone(), root_at: one.root_at };
            self.resolve(field, places, &meant, at);
            let end = one.root_at + from.len();
            if text.get(one.root_at..end) == Some(from.as_str()) {
                return Some(Rewrite { at: one.root_at..end, text: to });
            }
            let span = places.of(one.span.clone());
            let message = format!("{field}: write it as `{from}`");
            self.tell(FlowKind::BadReference, span, message);
            return None;
        }
        self.resolve(field, places, one, at);
        None
    }

    fn resolve(&mut self, field: &str, places: &Places, one: &Reference, at: &At) {
        let span = places.of(one.span.clone());
        let first = one.path.first().map(String::as_str);
        match (one.root.as_str(), first) {
            ("inputs", None) => {}
            ("inputs", Some(name)) => {
                if !self.inputs.contains_key(name) {
                    let names: Vec<_> = self.inputs.keys().cloned().collect();
                    let names: Vec<_> = names.iter().map(String::as_str).collect();
                    let problem = format!("{field}: there is no input");
                    self.unknown(FlowKind::UnknownValue, span, &problem, name, &names);
                }
            }
            ("item" | "item_number", _) if at.map.is_some() => {}
            ("item" | "item_number", _) => {
                let message = format!(
                    "{field}: there is no item here; `{}` is for the steps of a map",
                    one.root
                );
                self.tell(FlowKind::ItemOutsideMap, span, message);
            }
            ("secrets", _) if !self.names.contains_key("secrets") => {
                let message = format!(
                    "{field}: a secret is a variable of the steps that list it in `secrets`, and is never a value"
                );
                self.tell(FlowKind::UnknownValue, span, message);
            }
            (root, first) => self.resolve_step(field, span, root, first, at),
        }
    }

    fn resolve_step(&mut self, field: &str, span: Span, root: &str, first: Option<&str>, at: &At) {
        let Some(known) = self.names.get(root).cloned() else {
            if self.notation == Notation::WorkItems && root == "shell" {
                let message = format!(
                    "{field}: `shell.output` is that of a `shell` step before this one, and there is none"
                );
                return self.tell(FlowKind::UnknownValue, span, message);
            }
            let notation = self.notation;
            let is_near = |known: &Known| match notation {
                // The other steps have names that the text does not know.
                Notation::WorkItems => known.is_map,
                _ => known.inside.is_none() || known.inside == at.map,
            };
            let mut names = self.names_where(is_near);
            names.extend(self.aliases.keys().cloned());
            names.extend((self.notation == Notation::Flow).then(|| "inputs".to_owned()));
            let of_item = ["item", "item_number"].map(str::to_owned);
            names.extend(at.map.iter().flat_map(|_| of_item.clone()));
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let problem = format!("{field}: nothing is called");
            return self.unknown(FlowKind::UnknownValue, span, &problem, root, &names);
        };
        if known.is_parallel(root) {
            let message = format!(
                "{field}: `{root}` is `parallel` and has no value; its steps have: {}",
                known.named().take(8).collect::<Vec<_>>().join(", ")
            );
            return self.tell(FlowKind::UnknownValue, span, message);
        }
        let fields: &[&str] = if known.is_map { &OF_MAP } else { &OF_STEP };
        match first {
            Some(first) if fields.contains(&first) => {}
            Some(first) => {
                let problem = format!("{field}: `{root}` has no");
                return self.unknown(FlowKind::UnknownValue, span, &problem, first, fields);
            }
            None => {
                let message = format!("{field}: `{root}` is a step; write `{root}.{}`", fields[0]);
                return self.tell(FlowKind::UnknownValue, span, message);
            }
        }
        match (&known.inside, &at.map) {
            (None, _) => self.need(root, span, at),
            (Some(map), Some(here)) if map == here => {
                if known.order >= at.order {
                    let message = format!(
                        "{field}: `{root}` is not done before this step; the steps of a map are done in their order"
                    );
                    self.tell(FlowKind::CircularNeeds, span, message);
                }
            }
            (Some(map), _) => {
                let message = format!(
                    "{field}: `{root}` is done for each item of `{map}`, and has a value in there alone; what came of all items is `{map}.results`"
                );
                self.tell(FlowKind::InnerStep, span, message);
            }
        }
    }

    /// Adds a need of the step that a text belongs to; of a step in a map, its map has it.
    pub(super) fn need(&mut self, target: &str, span: Span, at: &At) {
        // Without an owner it stands on the flow, whose outputs come when all is over.
        let Some(owner) = at.owner else { return };
        if at.map.as_deref() == Some(target) {
            let message = format!("`{target}` is not over before all its items are; this is one");
            return self.tell(FlowKind::CircularNeeds, span, message);
        }
        let Some(draft) = self.drafts.get_mut(owner) else { return };
        let (kind, is_condition) = (at.kind, at.is_condition);
        draft.needs.push(NeedDraft { target: target.to_owned(), kind, span, is_condition });
    }
}

fn of_template(reference: &crate::Reference) -> Reference {
    let path = reference.path().iter().map_while(|segment| match segment {
        Segment::Field(name) => Some(name.clone()),
        Segment::Index(_) => None,
    });
    let span = reference.span();
    let (root, path, root_at) = (reference.root().to_owned(), path.collect(), span.start + 2);
    Reference { root, path, span, root_at }
}

fn rewritten(text: String, mut rewrites: Vec<Rewrite>) -> String {
    if rewrites.is_empty() {
        return text;
    }
    rewrites.sort_by_key(|one| one.at.start);
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for one in rewrites {
        new.push_str(text.get(done..one.at.start).unwrap_or_default());
        new.push_str(&one.text);
        done = one.at.end;
    }
    new.push_str(text.get(done..).unwrap_or_default());
    new
}
