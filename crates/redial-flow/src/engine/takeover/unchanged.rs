//! Which steps of a flow would do in another flow what they did in this one.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::{Action, Definition, Each, Rules, Step};

/// Two flows, compared.
pub(super) struct Unchanged<'d> {
    before: &'d Definition,
    now: BTreeMap<&'d str, &'d Step>,
    definition: &'d Definition,
    /// The inputs that have other values now.
    inputs: BTreeSet<&'d str>,
}

impl<'d> Unchanged<'d> {
    pub(super) fn new(before: &'d Definition, now: &'d Definition) -> Self {
        let names = before.inputs.keys().chain(now.inputs.keys());
        let differs = |name: &&String| before.inputs.get(*name) != now.inputs.get(*name);
        Self {
            before,
            now: now.steps.iter().map(|step| (step.name.as_str(), step)).collect(),
            definition: now,
            inputs: names.filter(differs).map(String::as_str).collect(),
        }
    }

    /// Whether a step does the same with the same values, as far as that is its own affair and not that of what it needs.
    pub(super) fn holds(&self, step: &Step) -> bool {
        let Some(now) = self.now.get(step.name.as_str()) else { return false };
        let arms = match &step.action {
            Action::Branch(arms) => arms.as_slice(),
            _ => &[],
        };
        // Which arm is taken is for their conditions to say.
        let is_chosen_alike = arms.iter().all(|arm| {
            let when = |definition: &Definition| {
                let arm = definition.steps.iter().find(|step| step.name == *arm);
                arm.map(|arm| arm.when.clone())
            };
            when(self.before) == when(self.definition)
        });
        let secrets = step.secrets.iter();
        let mut same_secrets =
            secrets.map(|name| self.before.secrets.get(name) == self.definition.secrets.get(name));
        is_chosen_alike
            && work(step) == work(now)
            && same_secrets.all(|is_same| is_same)
            && !self.names_changed_input(step, arms)
    }

    /// Whether one of its texts may name an input that has another value. Too often is no harm.
    fn names_changed_input(&self, step: &Step, arms: &[String]) -> bool {
        let arms = self.before.steps.iter().filter(|other| arms.contains(&other.name));
        let whens = arms.filter_map(|arm| arm.when.as_ref()).map(|when| when.text.clone());
        let texts = whens.chain([serde_json::to_string(&work(step)).unwrap_or_default()]);
        !self.inputs.is_empty() && texts.into_iter().any(|text| self.is_named_in(&text))
    }

    fn is_named_in(&self, text: &str) -> bool {
        text.match_indices("inputs").any(|(at, root)| {
            let Some(name) = text[at + root.len()..].strip_prefix('.') else { return true };
            let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let end = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
            // `inputs.a-b` may be the difference of two, in an expression.
            let parts = name[..end].match_indices('-').map(|(at, _)| at).chain([end]);
            end == 0 || parts.into_iter().any(|end| self.inputs.contains(&name[..end]))
        })
    }
}

/// What a step does, without what says when, how often and how soon it is tried, and what becomes of a failure.
fn work(step: &Step) -> Step {
    let plain = Step::new(step.name.clone(), step.action.clone());
    let action = match &step.action {
        Action::Each(each) => Action::Each(Each { failures_max: None, ..each.clone() }),
        action => action.clone(),
    };
    Step {
        action,
        inside: step.inside.clone(),
        needs: step.needs.clone(),
        rules: Rules {
            sets: step.rules.sets.clone(),
            success_on: step.rules.success_on.clone(),
            ..Rules::default()
        },
        output: step.output,
        when: step.when.clone(),
        env: step.env.clone(),
        dir: step.dir.clone(),
        stdin: step.stdin.clone(),
        secrets: step.secrets.clone(),
        ..plain
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    fn flow(inputs: Json) -> Definition {
        let Json::Object(inputs) = inputs else { panic!("{inputs}") };
        Definition { inputs: inputs.into_iter().collect(), ..Definition::new("f") }
    }

    #[test]
    fn an_input_is_named_however_it_is_written() {
        let (before, now) = (
            flow(serde_json::json!({"a": 1, "a-b": 1, "ab": 1})),
            flow(serde_json::json!({"a": 2, "a-b": 1, "ab": 1})),
        );
        let unchanged = Unchanged::new(&before, &now);
        for (text, expected) in [
            ("${inputs.a}", true),
            ("inputs.a.b > 3", true),
            ("inputs['a']", true),
            ("inputs.`a`", true),
            ("inputs.a-b", true),
            ("echo inputs", true),
            ("${inputs.ab} ${item.inputs_of}", true),
            ("${inputs.ab}", false),
            ("a", false),
        ] {
            assert_eq!(unchanged.is_named_in(text), expected, "{text}");
        }
    }
}
