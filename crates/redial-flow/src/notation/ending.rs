//! The definition, once all is read: policies resolved, what a map says for its steps, needs without circles.

use std::collections::{HashMap, HashSet};

use redial_core::clause::Kind as Clause;
use redial_policy::notation::{Places, Policies, Resolved};
use redial_policy::{Diagnostic, FlowKind, Kind, Span};

use super::Reading;
use super::reader::{Draft, Inherited, NeedDraft, Policy, Reader};
use crate::Misfit;
use crate::definition::{self as flow, Action, Definition, NeedKind, Step};
use crate::foresight::misfits;

/// How many bytes what is written once may take in all steps that have it.
const COPIED_MAX: usize = 64 << 20;

impl Reader<'_, '_, '_> {
    /// The definition, once all is read.
    pub(super) fn finish(mut self, mut definition: Definition) -> Reading {
        self.check_needs();
        let circles = circles(&self.drafts);
        self.found.extend(circles);
        let (resolved, found) =
            std::mem::replace(&mut self.policies, Policies::new(self.source)).finish();
        self.found.extend(found);
        if definition.within.is_some() {
            // The limit in time that the warning asks for stands above all steps.
            self.found.retain(|found| found.kind != Kind::Clause(Clause::Unbounded));
        }
        let is_map = |draft: &&Draft| matches!(draft.step.action, Action::Each(_));
        let maps = self.drafts.iter().filter(is_map);
        let inherited: HashMap<String, Inherited> =
            maps.map(|draft| (draft.step.name.clone(), draft.inner.clone())).collect();
        let mut conditions = HashMap::new();
        for mut draft in std::mem::take(&mut self.drafts) {
            for (field, places) in std::mem::take(&mut draft.conditions) {
                conditions.insert((draft.step.name.clone(), field), places);
            }
            let map = draft.step.inside.as_ref().and_then(|map| inherited.get(map));
            let place = draft.place;
            let step = draft.finish(map, &resolved);
            if !self.copy(step.policy.len() + size_of_rules(&step.rules), place) {
                break;
            }
            definition.steps.push(step);
        }
        self.check_conditions(&definition.steps, &conditions);
        definition.inputs = self.inputs;
        definition.secrets = self.secrets;
        Reading {
            notation: self.notation,
            definition: Some(definition),
            diagnostics: self.found,
            programs: self.programs,
            rule_files: self.rule_files,
            inputs_missing: Vec::new(),
        }
    }

    /// Conditions that never fit what they are about.
    fn check_conditions(
        &mut self,
        steps: &[Step],
        places: &HashMap<(String, &'static str), Places>,
    ) {
        for Misfit { step, field, bad } in misfits(steps, &self.inputs) {
            let Some(places) = places.get(&(step, field)) else { continue };
            let span = places.of(bad.span.start..bad.span.end);
            self.tell(FlowKind::BadExpression, span, format!("{field}: {bad}"));
        }
    }

    /// Counts what is written once and stands in many steps of the definition, so that a short text cannot fill the memory.
    pub(super) fn copy(&mut self, bytes: usize, place: Span) -> bool {
        let before = self.copied;
        self.copied = self.copied.saturating_add(bytes);
        if before <= COPIED_MAX && self.copied > COPIED_MAX {
            let message = format!("what steps share comes to more than {COPIED_MAX} bytes in them");
            self.tell(Kind::TooLarge, place, message);
        }
        self.copied <= COPIED_MAX
    }

    /// `needs` of a `parallel` are those of all its steps; of a branch, also those of its arms.
    fn check_needs(&mut self) {
        let is_group = |target: &str| {
            self.names.get(target).filter(|known| !known.group.is_empty()).map(|known| &known.group)
        };
        let mut shared = Vec::new();
        let mut total = 0_usize;
        for draft in &mut self.drafts {
            let is_group = |need: &NeedDraft| match need.kind {
                NeedKind::Taken => None,
                _ => is_group(&need.target),
            };
            if !draft.needs.iter().any(|need| is_group(need).is_some()) {
                continue;
            }
            let mut needs = Vec::new();
            for need in std::mem::take(&mut draft.needs) {
                let Some(group) = is_group(&need) else {
                    needs.push(need);
                    continue;
                };
                let bytes = group.len() * size_of::<NeedDraft>();
                total = total.saturating_add(bytes);
                shared.push((bytes, need.span));
                if total > COPIED_MAX {
                    continue;
                }
                let all = group.iter().map(|target| NeedDraft {
                    kind: if *target == need.target { need.kind } else { NeedKind::Over },
                    target: target.clone(),
                    ..need
                });
                needs.extend(all);
            }
            draft.needs = needs;
        }
        for (bytes, place) in shared {
            self.copy(bytes, place);
        }
    }
}

impl Draft {
    /// The step, with its policy, what its map says for it, and each need once.
    fn finish(self, map: Option<&Inherited>, resolved: &Resolved) -> Step {
        let mut step = self.step;
        let own = match &self.policy {
            Policy::Used(used) => resolved.of(*used),
            _ => None,
        };
        let shared = map.and_then(|map| map.policy).and_then(|used| resolved.of(used));
        let entry = own.or(shared).or_else(|| resolved.default());
        step.policy = match (self.policy, entry) {
            (Policy::Clause(clause), _) => clause,
            (_, Some(entry)) => entry.written().unwrap_or_else(|| ONCE.to_owned()),
            (_, None) => ONCE.to_owned(),
        };
        if let Some(map) = map {
            // The timeout of a policy of its own is nearer to a step than that of its map.
            if step.timeout.is_none() && own.is_none_or(|own| own.timeout.is_none()) {
                step.timeout = map.timeout;
            }
            inherit(&mut step.rules, &map.rules);
            if !self.has_priority {
                step.priority = map.priority;
            }
        }
        step.needs = merged(self.needs);
        step
    }
}

const ONCE: &str = "attempts: 1";

fn size_of_rules(rules: &flow::Rules) -> usize {
    let texts = [&rules.success_on, &rules.stop_on, &rules.retry_on, &rules.delay_from];
    let sets = rules
        .sets
        .iter()
        .map(|set| set.name.len() + set.text.as_ref().map_or(0, |(text, _)| text.len()));
    texts.into_iter().flatten().map(String::len).chain(sets).sum()
}

fn inherit(rules: &mut flow::Rules, map: &flow::Rules) {
    fn or<T: Clone>(own: &mut Vec<T>, map: &[T]) {
        if own.is_empty() {
            own.extend_from_slice(map);
        }
    }
    or(&mut rules.sets, &map.sets);
    or(&mut rules.success_on, &map.success_on);
    or(&mut rules.stop_on, &map.stop_on);
    or(&mut rules.retry_on, &map.retry_on);
    or(&mut rules.delay_from, &map.delay_from);
    rules.max_retry_after = rules.max_retry_after.or(map.max_retry_after);
}

/// Each step once, in the order in which they are named first. What `when` names need only be over; all items beats an
/// output, and an output beats that.
fn merged(drafts: Vec<NeedDraft>) -> Vec<flow::Need> {
    let mut needs: Vec<flow::Need> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let handled: HashSet<String> =
        drafts.iter().filter(|one| one.is_condition).map(|one| one.target.clone()).collect();
    for NeedDraft { target, kind, .. } in drafts {
        let kind = match kind {
            NeedKind::Output if handled.contains(&target) => NeedKind::Over,
            kind => kind,
        };
        match places.get(&target) {
            Some(at) => {
                let before = &mut needs[*at].kind;
                *before = match (*before, kind) {
                    (NeedKind::Taken, _) | (_, NeedKind::Taken) => NeedKind::Taken,
                    (NeedKind::All, _) | (_, NeedKind::All) => NeedKind::All,
                    (NeedKind::Output, _) | (_, NeedKind::Output) => NeedKind::Output,
                    _ => NeedKind::Over,
                };
            }
            None => {
                places.insert(target.clone(), needs.len());
                needs.push(flow::Need { step: target, kind });
            }
        }
    }
    needs
}

/// Steps that need one another in a circle: each circle that a search meets, once.
fn circles(drafts: &[Draft]) -> Vec<Diagnostic> {
    let index: HashMap<&str, usize> =
        drafts.iter().enumerate().map(|(at, draft)| (draft.step.name.as_str(), at)).collect();
    let mut state = vec![0_u8; drafts.len()];
    let mut found = Vec::new();
    for start in 0..drafts.len() {
        // The steps from the start to the one that is looked at, and which need of each comes next.
        let mut path = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            if state[at] == 2 {
                path.pop();
                continue;
            }
            state[at] = 1;
            let Some(need) = drafts[at].needs.get(*next) else {
                state[at] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let Some(&target) = index.get(need.target.as_str()) else { continue };
            match state[target] {
                0 => path.push((target, 0)),
                1 => found.push(circle(drafts, &path, target, need)),
                _ => {}
            }
        }
    }
    found
}

fn circle(
    drafts: &[Draft],
    path: &[(usize, usize)],
    target: usize,
    need: &NeedDraft,
) -> Diagnostic {
    let on = path.iter().map(|(at, _)| *at).skip_while(|at| *at != target).chain([target]);
    let mut names: Vec<_> = on.map(|at| format!("`{}`", drafts[at].step.name)).collect();
    if names.len() > 8 {
        names.splice(7..names.len() - 1, ["…".to_owned()]);
    }
    let message = format!("steps that need one another never start: {}", names.join(" needs "));
    Diagnostic::new(FlowKind::CircularNeeds, need.span, message)
}
