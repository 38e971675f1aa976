//! Branches: arms of which one is done, the first whose condition holds.

use redial_core::clause::Kind as Clause;
use redial_policy::notation::{Field, Node, Value as Tree};
use redial_policy::{FlowKind, Span};

use super::maps::inner_steps;
use super::{ELSEWHERE, LATER, OF_BRANCH, OF_COMMAND, names_of_fields};
use crate::definition::{Action, NeedKind, OnFailure, OutputKind};
use crate::notation::reader::{At, Draft, NeedDraft, Policy, Reader};

/// Where a branch stands.
pub(super) struct Branch<'b, 'n> {
    pub(super) name: &'b str,
    pub(super) place: Span,
    pub(super) node: &'n Node,
    /// What it needs besides what it says.
    pub(super) before: &'b [&'n Node],
    /// The map that it is done in, and the draft of that.
    pub(super) map: Option<(&'b str, usize)>,
    /// As [`Known::order`](crate::notation::reader::Known::order), also that of its arms: no arm is done before another.
    pub(super) order: usize,
    /// Whether its name is one of its fields.
    pub(super) has_name_inside: bool,
}

/// An arm, or what is done where no arm's condition holds.
pub(super) struct Arm<'n> {
    pub(super) name: String,
    /// Whether the text gives it that name, so that others may use it.
    pub(super) is_named: bool,
    pub(super) place: Span,
    node: &'n Node,
    is_otherwise: bool,
    /// Whether its name is one of its fields.
    has_name_inside: bool,
}

/// The arms of a branch, in the order in which their conditions are looked at.
pub(super) fn arms<'n>(branch: &str, node: &'n Node) -> Vec<Arm<'n>> {
    let child = |name: &str| node.fields().iter().find(|field| field.key == name);
    let list = child("branch").map(|field| &field.value);
    let is_list = list.is_some_and(|node| matches!(node.value, Tree::List(_)));
    let arms = list.into_iter().flat_map(inner_steps).zip(1..);
    let mut arms: Vec<Arm<'n>> = arms
        .map(|((name, place, node), number)| Arm {
            name: name.map_or_else(|| format!("{branch}.{number}"), str::to_owned),
            is_named: name.is_some(),
            place,
            node,
            is_otherwise: false,
            has_name_inside: is_list,
        })
        .collect();
    arms.extend(child("otherwise").map(|field| {
        let fields = field.value.fields();
        let name = fields.iter().find(|field| field.key == "name").map(|field| &field.value);
        let name = match name.map(|node| &node.value) {
            Some(Tree::Text(name)) => Some(name.clone()),
            _ => None,
        };
        Arm {
            is_named: name.is_some(),
            name: name.unwrap_or_else(|| format!("{branch}.otherwise")),
            place: field.place,
            node: &field.value,
            is_otherwise: true,
            has_name_inside: true,
        }
    }));
    arms
}

impl<'n> Reader<'_, 'n, '_> {
    /// A step that takes an arm, and the steps that are its arms.
    pub(super) fn branch(&mut self, branch: &Branch<'_, 'n>) {
        let Branch { name, place, node, .. } = *branch;
        let fields = self.fields_of_branch(node, branch.has_name_inside);
        let action = Action::Branch(Vec::new());
        let Some(index) = self.add(branch.draft(name, place, action)) else { return };
        // It has no attempts itself.
        self.drafts[index].policy = Policy::Clause("attempts: 1".to_owned());
        let at = branch.at(index);
        let mut shared = None;
        for field in fields {
            let value = &field.value;
            match field.key.as_str() {
                "needs" => self.needs(value, &at),
                "when" => self.when(index, value, &at),
                "output" => shared = Some(self.output(field)),
                "branch" => self.check_arms(value),
                _ => {}
            }
        }
        for needs in branch.before {
            self.needs(needs, &at);
        }
        let arms = arms(name, node);
        let names: Vec<String> = arms.iter().map(|arm| arm.name.clone()).collect();
        let mut all = shared;
        for arm in &arms {
            let Some((own, output)) = self.arm(branch, index, arm) else { continue };
            let kind = output.map(|field| self.output(field)).or(shared).unwrap_or_default();
            self.drafts[own].step.output = kind;
            self.check_kind(kind, *all.get_or_insert(kind), output, arm);
        }
        self.check_siblings(name, index, &names);
        self.drafts[index].step.action = Action::Branch(names);
    }

    fn fields_of_branch(&mut self, node: &'n Node, has_name_inside: bool) -> Vec<&'n Field> {
        let elsewhere = [("else", "otherwise"), ("default", "otherwise")];
        let elsewhere: Vec<_> = ELSEWHERE.into_iter().chain(elsewhere).collect();
        let more = has_name_inside.then_some("name");
        let names: Vec<&str> = names_of_fields().chain(more).collect();
        let mut fields = self.fields(node, "a branch", &names, &elsewhere, &LATER);
        fields.retain(|field| {
            let is_own = OF_BRANCH.contains(&field.key.as_str()) || more == Some(&*field.key);
            if !is_own {
                let key = &field.key;
                let message = format!("`{key}` is not a field of a branch; put it on its arms");
                self.tell(Clause::UnknownOption, field.place, message);
            }
            is_own
        });
        if !node.has("branch") {
            let message = "`otherwise` stands beside `branch`, which has the arms";
            let place = fields.iter().find(|field| field.key == "otherwise");
            self.tell(FlowKind::BadBranch, place.map_or(node.span, |field| field.place), message);
        }
        fields
    }

    fn check_arms(&mut self, node: &'n Node) {
        match &node.value {
            Tree::List(nodes) if nodes.is_empty() => self.no_arms(node),
            Tree::Map(fields) if fields.is_empty() => self.no_arms(node),
            Tree::List(_) | Tree::Map(_) => {}
            _ => self.wrong(
                "branch",
                node,
                "use a list of arms such as [{when: inputs.a > 1, run: [ls]}], or a map of names to arms",
            ),
        }
    }

    fn no_arms(&mut self, node: &'n Node) {
        let message = "there are no arms here; write for example [{when: inputs.a > 1, run: [ls]}]";
        self.tell(FlowKind::NoSteps, node.span, message);
    }

    /// The draft of an arm, and its field `output`.
    fn arm(
        &mut self,
        branch: &Branch<'_, 'n>,
        index: usize,
        arm: &Arm<'n>,
    ) -> Option<(usize, Option<&'n Field>)> {
        let Arm { node, place, .. } = *arm;
        let field = if arm.is_otherwise { "otherwise" } else { "branch" };
        if !matches!(node.value, Tree::Map(_)) {
            self.wrong(field, node, "use a map such as {when: inputs.a > 1, run: [ls]}");
            return None;
        }
        let others = ["branch", "otherwise", "each", "parallel"];
        let mut nested = node.fields().iter().filter(|field| others.contains(&field.key.as_str()));
        if let Some(nested) = nested.next() {
            let why = format!(
                "an arm is one command; make it a step of its own with `needs: {}` and a `when`",
                branch.name
            );
            self.refuse(nested, &why);
            return None;
        }
        let more = arm.has_name_inside.then_some("name");
        let mut fields = self.fields_of(node, "an arm", &OF_COMMAND, more);
        let mut take = |name: &str| {
            let place = fields.iter().position(|field| field.key == name);
            place.map(|place| fields.remove(place))
        };
        let (when, name, output) = (take("when"), take("name"), take("output"));
        if let Some(name) = name.filter(|name| !matches!(name.value.value, Tree::Text(_))) {
            self.wrong("name", &name.value, "use a text");
        }
        let action = Action::Shell(String::new());
        let own = self.add(branch.draft(&arm.name, place, action))?;
        self.drafts[own].needs.push(NeedDraft {
            target: branch.name.to_owned(),
            kind: NeedKind::Taken,
            span: place,
            is_condition: false,
        });
        match (when, arm.is_otherwise) {
            // The branch looks at it, and so it has the needs.
            (Some(when), false) => self.when(own, &when.value, &branch.at(index)),
            (None, true) => {}
            (Some(when), true) => {
                let message = "`otherwise` is taken where no `when` holds, and has none; make it an arm of `branch`";
                self.tell(FlowKind::BadBranch, when.place, message);
            }
            (None, false) => {
                let message = "an arm says in `when` where it is taken; what is done where none holds is `otherwise`, beside `branch`";
                self.tell(FlowKind::BadBranch, arm.span(), message);
            }
        }
        self.command(own, place, node, &fields, &branch.at(own));
        Some((own, output))
    }

    /// The value of a branch has one type, whichever arm is taken.
    fn check_kind(
        &mut self,
        kind: OutputKind,
        all: OutputKind,
        output: Option<&'n Field>,
        arm: &Arm<'n>,
    ) {
        if kind == all {
            return;
        }
        let message = format!(
            "the output of this arm is {}, and that of the others {}; write `output` once, on the branch",
            kind.name(),
            all.name()
        );
        let place = output.map_or_else(|| arm.span(), |field| field.value.span);
        self.tell(FlowKind::BadBranch, place, message);
    }

    /// Neither the conditions of a branch nor its arms can wait for the branch or for an arm. Such needs are dropped,
    /// so that they are not told once more as circles.
    fn check_siblings(&mut self, branch: &str, index: usize, arms: &[String]) {
        let mut wrong = Vec::new();
        for draft in &mut self.drafts[index..] {
            draft.needs.retain(|need| {
                let target = &need.target;
                let what = match () {
                    () if need.kind == NeedKind::Taken => return true,
                    () if target == branch => format!("`{target}` is over when its arm is"),
                    () if arms.contains(target) => {
                        format!("`{target}` is an arm of `{branch}`, which takes one")
                    }
                    () => return true,
                };
                wrong.push((need.span, what));
                false
            });
        }
        for (span, what) in wrong {
            let message =
                format!("{what}: its conditions and its arms cannot name it, a step after it can");
            self.tell(FlowKind::BadBranch, span, message);
        }
    }
}

impl Arm<'_> {
    /// Its name; of one without a name, all of it.
    fn span(&self) -> Span {
        if self.place.start == self.place.end { self.node.span } else { self.place }
    }
}

impl Branch<'_, '_> {
    /// A step that is done where the branch is.
    fn draft(&self, name: &str, place: Span, action: Action) -> Draft {
        let mut draft = Draft::new(name, place, action);
        if let Some((map, _)) = self.map {
            draft.step.inside = Some(map.to_owned());
            draft.step.on_failure = OnFailure::DeadLetter;
        }
        draft
    }

    /// Where texts of this draft stand. In a map, the map has their needs.
    fn at(&self, draft: usize) -> At {
        let owner = self.map.map_or(draft, |(_, map)| map);
        At::new(owner, self.map.map(|(map, _)| map), self.order)
    }
}
