//! Rules on how a command ended: sets by their names or files, and conditions.

use redial_policy::notation::{Field, Node, Value as Tree};
use redial_policy::{FlowKind, Format, RuleSet};

use super::Named;
use super::reader::{Reader, excerpt};
use crate::definition as flow;
impl<'n> Reader<'_, 'n, '_> {
    /// `curl`, `./own.toml`, or a list of such.
    pub(super) fn rule_sets(&mut self, field: &'n Field) -> Vec<flow::RuleSet> {
        let nodes = match &field.value.value {
            Tree::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&field.value),
        };
        nodes.iter().filter_map(|node| self.rule_set(node)).collect()
    }

    fn rule_set(&mut self, node: &'n Node) -> Option<flow::RuleSet> {
        let Tree::Text(name) = &node.value else {
            self.wrong(
                "rules",
                node,
                "use the name of a set such as curl, or a file such as ./own.toml",
            );
            return None;
        };
        if RuleSet::text(name).is_some() {
            return Some(flow::RuleSet { name: name.clone(), text: None });
        }
        if !name.contains(['/', '.']) {
            let names: Vec<_> = RuleSet::names().collect();
            let mut found = self.source.unknown(
                FlowKind::UnknownRules,
                node.span,
                "rules: there are no rules",
                name,
                &names,
            );
            found.note = Some("the name of a file has a slash or a dot: ./own.toml".to_owned());
            self.found.push(found);
            return None;
        }
        if let Some(known) = self.rule_texts.get(name) {
            let bytes = known.as_ref().and_then(|set| Some(set.text.as_ref()?.0.len()));
            let is_small = self.copy(bytes.unwrap_or_default(), node.span);
            return self.rule_texts.get(name).cloned().flatten().filter(|_| is_small);
        }
        self.rule_files.push(Named { name: name.clone(), span: node.span });
        let set = self.rule_file(name, node);
        self.rule_texts.insert(name.clone(), set.clone());
        set
    }

    fn rule_file(&mut self, name: &str, node: &Node) -> Option<flow::RuleSet> {
        let Some(load) = self.options.rule_file else {
            return Some(flow::RuleSet { name: name.to_owned(), text: None });
        };
        let (text, format) = match load(name) {
            Ok(read) => read,
            Err(error) => {
                let message = format!("rules: {} cannot be read: {error}", excerpt(name));
                self.tell(FlowKind::UnknownRules, node.span, message);
                return None;
            }
        };
        if let Err(found) = RuleSet::read(&text, format) {
            let first = found.first().map(|found| found.message.clone()).unwrap_or_default();
            let message = format!("rules: {} is wrong: {first}", excerpt(name));
            self.tell(FlowKind::UnknownRules, node.span, message);
            return None;
        }
        let format = match format {
            Format::Yaml => "yaml",
            Format::Json => "json",
            Format::Toml | Format::Text => "toml",
        };
        Some(flow::RuleSet { name: name.to_owned(), text: Some((text, format.to_owned())) })
    }

    /// Conditions: one, or a list.
    pub(super) fn conditions(&mut self, field: &'n Field) -> Vec<String> {
        let nodes = match &field.value.value {
            Tree::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&field.value),
        };
        let read = |node| match field.key.as_str() {
            "delay_from" => self.policies.delay_from(&field.key, node),
            _ => self.policies.condition(&field.key, node),
        };
        nodes.iter().filter_map(read).collect()
    }
}
