//! A definition made ready to run: its texts read, its policies and rules built.

#![cfg_attr(not(unix), allow(dead_code, reason = "only the engine, which is Unix's, runs it"))]

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use redial_core::Limits;
use redial_policy::{Entry, Format as TextFormat, Notation, RuleSet, Rules, Timing};

use crate::definition::{
    Action, Condition, Definition, Each, Fallback, ItemFormat, Need, Origin, OutputKind, Spelling,
    Step, Type,
};
use crate::expression::{Dialect, Expression};
use crate::flow::{self, Flow, NeedKind, OnFailure, Place, StepId};
use crate::items::{FieldPath, Format, Items, JsonPath, KeyBy, Selected, Selection, SortBy};
use crate::reference::{Reference, Segment};
use crate::shell::Shell;
use crate::template::Template;

/// The roots of references that are not the names of steps. None of them is ever a variable of the shell.
pub const ROOTS: [&str; 3] = ["inputs", "item", "item_number"];

/// A flow that can be run.
#[derive(Debug)]
pub struct Prepared {
    /// What it was made from.
    pub definition: Definition,
    /// As the machine sees it.
    pub flow: Arc<Flow>,
    pub(crate) steps: Vec<Ready>,
    /// The outputs of the flow.
    pub(crate) outputs: Vec<(String, Template)>,
}

/// A step, made ready.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) action: ReadyAction,
    pub(crate) rules: Rules,
    pub(crate) timeout: Option<Duration>,
    pub(crate) when: Option<Expression>,
    pub(crate) fallback: Option<serde_json::Value>,
    pub(crate) env: Vec<(String, Template)>,
    pub(crate) dir: Option<Template>,
    pub(crate) stdin: Option<Template>,
    pub(crate) output: OutputKind,
    pub(crate) output_type: Option<Type>,
    /// The step whose place this one takes when that has given up.
    pub(crate) instead_of: Option<StepId>,
    /// The step that takes its place.
    pub(crate) substitute: Option<StepId>,
    /// Whether a branch has decided about it, by its `when`.
    pub(crate) is_arm: bool,
    /// The steps of the same map whose outputs it names, but for those that its `when` deals with.
    pub(crate) names: Vec<StepId>,
    /// Whether a text of the flow may name it, so that its output has to be at hand.
    pub(crate) is_referred_to: bool,
}

#[derive(Debug)]
pub(crate) enum ReadyAction {
    Run(Vec<Template>),
    Shell(Shell),
    WriteFile {
        path: Template,
        content: Template,
    },
    Each(Box<ReadyEach>),
    /// The arms, in the order in which their conditions are looked at.
    Branch(Vec<StepId>),
    Value(Expression),
}

#[derive(Debug)]
pub(crate) struct ReadyEach {
    pub(crate) origin: ReadyOrigin,
    pub(crate) format: Format,
    pub(crate) selection: Selection,
    pub(crate) key: KeyBy,
    /// Which of the inner steps have the item's result. One of them has it in the end: of the arms of a branch
    /// the one that was taken, of a step and its substitute the one that succeeded.
    pub(crate) results: Vec<StepId>,
}

#[derive(Debug)]
pub(crate) enum ReadyOrigin {
    File(Template),
    Stdin,
    Value(Template),
    Once(serde_json::Value),
}

/// A definition that no reader of a notation would have made: it was changed by hand, or by another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadDefinition {
    step: String,
    message: String,
}

impl fmt::Display for BadDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "step `{}`: {}", self.step, self.message),
        }
    }
}

impl std::error::Error for BadDefinition {}

/// How the step is called that takes the place of another.
pub(crate) fn substitute_name(step: &str) -> String {
    format!("{step}.fallback")
}

impl Prepared {
    /// Reads the texts of a definition.
    ///
    /// # Errors
    /// Where one of them is wrong.
    pub fn new(definition: Definition) -> Result<Self, BadDefinition> {
        let steps = definition.expanded_steps();
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        let mut flow = Flow { name: definition.name.clone(), steps: Vec::new() };
        let mut ready = Vec::new();
        for step in &steps {
            let at = |message: String| BadDefinition { step: step.name.clone(), message };
            let entry = entry_of(&step.policy).map_err(at)?;
            let prepared = ready_step(step, &steps, &names, &entry).map_err(at)?;
            let is_substitute = prepared.instead_of.is_some();
            let step = machine_step(step, &steps, &names, &entry).map_err(at)?;
            flow.steps.push(flow::Step { is_substitute, ..step });
            ready.push(prepared);
        }
        let outputs = definition.outputs.iter().map(|(name, text)| {
            let template = Template::parse(text).map_err(|bad| BadDefinition {
                step: String::new(),
                message: format!("output `{name}`: {bad}"),
            })?;
            Ok((name.clone(), template))
        });
        let outputs = outputs.collect::<Result<_, BadDefinition>>()?;
        let texts = serde_json::to_string(&definition).unwrap_or_default();
        for (ready, step) in ready.iter_mut().zip(&steps) {
            // A substitute is referred to by the name of the step whose place it takes, an arm by that of its branch.
            let name = step.name.strip_suffix(".fallback").unwrap_or(&step.name);
            let branch = steps.iter().find(|step| step.name == name).and_then(Step::branch);
            ready.names = ready.outputs_named(step, &steps);
            ready.is_referred_to = is_named(&texts, name)
                || branch.is_some_and(|branch| is_named(&texts, branch))
                || step
                    .inside
                    .as_ref()
                    .is_some_and(|map| texts.contains(&format!("{map}.results")));
        }
        Ok(Self { definition, flow: Arc::new(flow), steps: ready, outputs })
    }

    pub(crate) fn step(&self, step: StepId) -> &Ready {
        &self.steps[step as usize]
    }

    /// The step of this name.
    pub(crate) fn named(&self, name: &str) -> Option<StepId> {
        self.flow.steps.iter().zip(0..).find(|(step, _)| step.name == name).map(|(_, id)| id)
    }
}

impl Ready {
    /// The references of its texts, but for those of `when`.
    fn references(&self) -> Vec<&Reference> {
        let of_action: Vec<&Reference> = match &self.action {
            ReadyAction::Run(arguments) => {
                arguments.iter().flat_map(Template::references).collect()
            }
            ReadyAction::Shell(line) => line.references().collect(),
            ReadyAction::WriteFile { path, content } => {
                path.references().chain(content.references()).collect()
            }
            ReadyAction::Each(_) | ReadyAction::Branch(_) | ReadyAction::Value(_) => Vec::new(),
        };
        let templates = self.env.iter().map(|(_, template)| template);
        let templates = templates.chain(&self.dir).chain(&self.stdin);
        of_action.into_iter().chain(templates.flat_map(Template::references)).collect()
    }

    /// See [`names`](Self::names).
    fn outputs_named(&self, step: &Step, steps: &[Step]) -> Vec<StepId> {
        // A fallback deals with whatever was skipped.
        if step.inside.is_none() || self.instead_of.is_some() {
            return Vec::new();
        }
        let handled: Vec<StepId> = self
            .when
            .iter()
            .flat_map(Expression::references)
            .filter_map(|one| {
                let (root, path) = one.path.split_first()?;
                step_of(root, path.first().map(String::as_str), steps).map(|(step, _)| step)
            })
            .collect();
        let named = |reference: &Reference| {
            let field = |at: usize| match reference.path().get(at) {
                Some(Segment::Field(name)) => Some(name.as_str()),
                _ => None,
            };
            let (id, used) = step_of(reference.root(), field(0), steps)?;
            (field(used) == Some("output")).then_some(id)
        };
        let is_near = |id: &StepId| steps[*id as usize].inside == step.inside;
        let mut named: Vec<StepId> = self.references().into_iter().filter_map(named).collect();
        named.retain(|id| is_near(id) && !handled.contains(id));
        named.sort_unstable();
        named.dedup();
        named
    }
}

/// The step that a path begins with, and how many names after its first one are of the name: arms have a dot in it.
fn step_of(root: &str, next: Option<&str>, steps: &[Step]) -> Option<(StepId, usize)> {
    let named = |name: &str| steps.iter().position(|step| step.name == name);
    let long = next.and_then(|next| named(&format!("{root}.{next}")));
    let found = long.map(|at| (at, 1)).or_else(|| Some((named(root)?, 0)));
    found.map(|(at, used)| (at as StepId, used))
}

impl Prepared {
    /// The items that a map would take from this source: read in its format, and selected. None where the step is no map.
    pub fn items_of<R: Read>(&self, map: StepId, source: R) -> Option<Selected<Items<R>>> {
        match &self.steps.get(map as usize)?.action {
            ReadyAction::Each(each) => {
                Some(each.selection.clone().of(Items::new(source, each.format.clone())))
            }
            _ => None,
        }
    }
}

/// Whether a text refers to a step: its name, and then what a path goes on with. Too often is no harm.
fn is_named(texts: &str, name: &str) -> bool {
    texts.match_indices(name).any(|(at, _)| {
        let rest = &texts[at + name.len()..];
        rest.starts_with(['.', '[', '`']) || rest.starts_with('\\')
    })
}

impl Definition {
    /// Its steps as they run. A fallback that is a command is a step of its own, which runs where the first has
    /// failed; what needs the first needs both.
    pub fn expanded_steps(&self) -> Vec<Step> {
        with_substitutes(&self.steps)
    }
}

pub(crate) fn with_substitutes(steps: &[Step]) -> Vec<Step> {
    let mut all = Vec::new();
    for step in steps {
        all.push(step.clone());
        if let Some(Fallback::Step(action)) = &step.fallback {
            all.push(Step {
                inside: step.inside.clone(),
                needs: match &step.inside {
                    // In a map steps follow one another, but for arms that are not taken.
                    Some(_) if step.branch().is_none() => Vec::new(),
                    _ => vec![Need { step: step.name.clone(), kind: NeedKind::Over }],
                },
                output: step.output,
                env: step.env.clone(),
                dir: step.dir.clone(),
                timeout: step.timeout,
                secrets: step.secrets.clone(),
                on_failure: match step.inside {
                    Some(_) => OnFailure::DeadLetter,
                    None => OnFailure::Stop,
                },
                ..Step::new(substitute_name(&step.name), (**action).clone())
            });
        }
    }
    let substituted: Vec<String> = steps
        .iter()
        .filter(|step| matches!(step.fallback, Some(Fallback::Step(_))))
        .map(|step| step.name.clone())
        .collect();
    for step in &mut all {
        let more: Vec<Need> = step
            .needs
            .iter()
            .filter(|need| substituted.contains(&need.step))
            .filter(|need| substitute_name(&need.step) != step.name)
            .map(|need| Need { step: substitute_name(&need.step), kind: NeedKind::Over })
            .collect();
        step.needs.extend(more);
    }
    all
}

impl Step {
    /// The branch that it is an arm of.
    pub fn branch(&self) -> Option<&str> {
        let taken = self.needs.iter().find(|need| need.kind == NeedKind::Taken);
        taken.map(|need| need.step.as_str())
    }
}

/// The inner steps of a map of which one has the result of an item, where `last` is the step with it.
fn with_results(steps: &[Step], last: usize) -> Vec<StepId> {
    let original = |name: &str| {
        let name = name.strip_suffix(".fallback").unwrap_or(name);
        let step = steps.iter().find(|step| step.name == name)?;
        Some((step.name.as_str(), step.branch()))
    };
    let Some((name, branch)) = original(&steps[last].name) else { return vec![last as StepId] };
    let has_result = |step: &Step| {
        let original = original(&step.name);
        original.is_some_and(|(one, of)| one == name || (branch.is_some() && of == branch))
    };
    let places = steps.iter().zip(0..).filter(|(step, _)| has_result(step));
    places.map(|(_, place)| place).collect()
}

fn entry_of(clause: &str) -> Result<Entry, String> {
    let document = redial_policy::read(clause, TextFormat::Text, Some(Notation::Clause));
    let error = document.diagnostics().iter().find(|found| !found.is_warning());
    match (document.policies().next(), error) {
        (Some(entry), None) if entry.nearest().is_some() => Ok(entry.clone()),
        (_, Some(found)) => Err(format!("policy: {}", found.message)),
        _ => Err(format!("policy: `{clause}` is none")),
    }
}

fn machine_step(
    step: &Step,
    steps: &[Step],
    names: &[&str],
    entry: &Entry,
) -> Result<flow::Step, String> {
    let id_of = |name: &str| {
        let at = names.iter().position(|other| *other == name);
        at.map(|at| at as StepId).ok_or_else(|| format!("there is no step `{name}`"))
    };
    let place = match (&step.inside, &step.action) {
        (Some(map), _) => Place::Inside(id_of(map)?),
        (None, Action::Each(each)) => {
            let inner = |other: &Step| other.inside.as_deref() == Some(step.name.as_str());
            let first = steps.iter().position(inner).ok_or("the map has no steps")?;
            let last = steps.iter().rposition(inner).ok_or("the map has no steps")?;
            if !steps[first..=last].iter().all(inner) {
                return Err("the steps of a map stand one after the other".into());
            }
            let failures_max = each.failures_max;
            Place::Map { first: first as StepId, last: last as StepId, failures_max }
        }
        (None, _) => Place::Alone,
    };
    let need = |need: &Need| Ok(flow::Need { step: id_of(&need.step)?, kind: need.kind });
    let mut limits = Limits::new();
    if let Some(most) = step.rules.max_retry_after {
        limits = limits.max_retry_after(most);
    }
    let on_failure = match (&step.fallback, step.on_failure) {
        (Some(Fallback::Value(_)), _) => OnFailure::Fallback,
        (Some(Fallback::Step(_)), _) => OnFailure::Continue,
        (None, on_failure) => on_failure,
    };
    // The machine has no way to refuse them.
    let _ = step.budget.map(|settings| settings.builder()).transpose()?;
    let _ = step.breaker.map(|settings| settings.builder()).transpose()?;
    Ok(flow::Step {
        name: step.name.clone(),
        place,
        needs: step.needs.iter().map(need).collect::<Result<_, String>>()?,
        policy: Timing::of(entry).ok_or("policy: it has errors")?,
        limits,
        slots: step.slots,
        rate: step.rate,
        shares: step.shares.as_deref().map(id_of).transpose()?,
        budget: step.budget,
        breaker: step.breaker,
        is_substitute: false,
        priority: step.priority,
        is_idempotent: step.idempotent,
        on_failure,
    })
}

fn ready_step(step: &Step, steps: &[Step], names: &[&str], entry: &Entry) -> Result<Ready, String> {
    let template =
        |what: &str, text: &str| Template::parse(text).map_err(|bad| format!("{what}: {bad}"));
    let id_of = |name: &str| names.iter().position(|other| *other == name).map(|at| at as StepId);
    let action = match &step.action {
        Action::Run { argv, spelling } => ReadyAction::Run(arguments(argv, *spelling)?),
        Action::Shell(line) => {
            let roots: Vec<&str> = ROOTS.into_iter().chain(names.iter().copied()).collect();
            ReadyAction::Shell(Shell::parse(line, &roots).map_err(|bad| format!("shell: {bad}"))?)
        }
        Action::WriteFile { path, content } => ReadyAction::WriteFile {
            path: template("write_file", path)?,
            content: template("write_file", content)?,
        },
        Action::Each(each) => {
            let inner = |other: &Step| other.inside.as_deref() == Some(step.name.as_str());
            let last = steps.iter().rposition(inner).ok_or("the map has no steps")?;
            let result = each.result.as_deref().and_then(id_of).map_or(last, |id| id as usize);
            ReadyAction::Each(Box::new(ready_each(each, with_results(steps, result))?))
        }
        Action::Branch(arms) => {
            let is_arm = |arm: &StepId| steps[*arm as usize].branch() == Some(&*step.name);
            let arm = |name: &String| {
                let arm = id_of(name).filter(is_arm);
                arm.ok_or_else(|| format!("branch: `{name}` is none of its arms"))
            };
            ReadyAction::Branch(arms.iter().map(arm).collect::<Result<_, String>>()?)
        }
        Action::Value(text) => {
            let value = Expression::parse(text).map_err(|bad| format!("value: {bad}"))?;
            ReadyAction::Value(value)
        }
    };
    let stdin = step.stdin.as_deref().map(|text| template("stdin", text)).transpose()?;
    check_stdin(&step.action, &action, stdin.as_ref(), names)?;
    let original = step.name.strip_suffix(".fallback").and_then(id_of);
    let is_substitute = |of: StepId| matches!(steps[of as usize].fallback, Some(Fallback::Step(_)));
    let env = step.env.iter().map(|(name, text)| Ok((name.clone(), template(name, text)?)));
    Ok(Ready {
        action,
        rules: rules(step, entry)?,
        timeout: step.timeout.or(entry.timeout),
        when: step.when.as_ref().map(|when| condition("when", when)).transpose()?,
        fallback: match &step.fallback {
            Some(Fallback::Value(value)) => Some(value.clone()),
            _ => None,
        },
        env: env.collect::<Result<_, String>>()?,
        dir: step.dir.as_deref().map(|text| template("dir", text)).transpose()?,
        stdin,
        output: step.output,
        output_type: step.output_type.clone(),
        instead_of: original.filter(|of| is_substitute(*of)),
        substitute: id_of(&substitute_name(&step.name)),
        is_arm: step.branch().is_some(),
        names: Vec::new(),
        is_referred_to: false,
    })
}

/// Nothing executes a value, not even from its standard input.
fn check_stdin(
    action: &Action,
    ready: &ReadyAction,
    stdin: Option<&Template>,
    names: &[&str],
) -> Result<(), String> {
    let Some(stdin) = stdin else { return Ok(()) };
    let checked = match (action, ready) {
        (Action::Shell(line), _) => {
            let roots: Vec<&str> = ROOTS.into_iter().chain(names.iter().copied()).collect();
            Shell::check_stdin(line, &roots, stdin)
        }
        (_, ReadyAction::Run(arguments)) => crate::interpreter::check_stdin(arguments, stdin),
        _ => Ok(()),
    };
    checked.map_err(|bad| format!("stdin: {bad}"))
}

fn arguments(
    argv: &[crate::definition::Argument],
    spelling: Spelling,
) -> Result<Vec<Template>, String> {
    let argument = |argument: &crate::definition::Argument| match spelling {
        Spelling::Braces => Ok(Template::of_argument(&argument.bytes())),
        Spelling::Dollar => {
            let text = String::from_utf8(argument.bytes());
            let text = text.map_err(|_| "an argument is not UTF-8".to_owned())?;
            Template::parse(&text).map_err(|bad| format!("run: {bad}"))
        }
    };
    let arguments = argv.iter().map(argument).collect::<Result<Vec<_>, String>>()?;
    if arguments.is_empty() {
        return Err("run: it has no program".into());
    }
    crate::check_arguments(&arguments).map_err(|(_, bad)| format!("run: {bad}"))?;
    Ok(arguments)
}

fn condition(what: &str, condition: &Condition) -> Result<Expression, String> {
    let dialect = if condition.loose { Dialect::Loose } else { Dialect::Cel };
    Expression::parse_as(&condition.text, dialect).map_err(|bad| format!("{what}: {bad}"))
}

fn rules(step: &Step, entry: &Entry) -> Result<Rules, String> {
    let mut rules = Rules::default();
    let texts = &step.rules;
    for (field, texts, add) in [
        ("success_on", &texts.success_on, Rules::success_on as fn(&mut Rules, &str) -> _),
        ("stop_on", &texts.stop_on, Rules::stop_on),
        ("retry_on", &texts.retry_on, Rules::retry_on),
        ("delay_from", &texts.delay_from, Rules::delay_from),
    ] {
        for text in texts {
            add(&mut rules, text).map_err(|error| format!("{field} '{text}': {error}"))?;
        }
    }
    rules.policy(&entry.retry_on, &entry.stop_on);
    let words: Option<Vec<String>> = match &step.action {
        Action::Run { argv, .. } => {
            let words = argv.iter().map(crate::definition::Argument::bytes);
            Some(words.map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
        }
        _ => None,
    };
    for set in &texts.sets {
        let set = match &set.text {
            None => RuleSet::named(&set.name),
            Some((text, format)) => {
                let format = match format.as_str() {
                    "toml" => TextFormat::Toml,
                    "json" => TextFormat::Json,
                    _ => TextFormat::Yaml,
                };
                RuleSet::read(text, format).ok().map(|read| read.or_name(&set.name))
            }
        }
        .ok_or_else(|| format!("rules: `{}` is no set of rules", set.name))?;
        rules.set(set.for_arguments(words.as_deref()));
    }
    Ok(rules)
}

fn ready_each(each: &Each, results: Vec<StepId>) -> Result<ReadyEach, String> {
    let template = |text: &str| Template::parse(text).map_err(|bad| format!("each: {bad}"));
    let field = |what: &str, text: &str| {
        FieldPath::parse(text).map_err(|bad| format!("{what}: {}", bad.message))
    };
    let format = match &each.source.format {
        ItemFormat::Lines => Format::Lines,
        ItemFormat::Nul => Format::Nul,
        ItemFormat::JsonLines => Format::JsonLines,
        ItemFormat::Json(path) => {
            let path = path.as_deref().map(JsonPath::parse).transpose();
            Format::Json(path.map_err(|bad| format!("json_path: {}", bad.message))?)
        }
        ItemFormat::Csv { delimiter } => {
            let delimiter = u8::try_from(*delimiter).map_err(|_| "csv: not one byte")?;
            Format::Csv { delimiter }
        }
    };
    let origin = match &each.source.from {
        Origin::File(path) => ReadyOrigin::File(template(path)?),
        Origin::Stdin => ReadyOrigin::Stdin,
        Origin::Value(text) => ReadyOrigin::Value(template(text)?),
        Origin::Once(value) => ReadyOrigin::Once(value.clone()),
    };
    let sort_by = each.sort_by.as_deref().map(SortBy::parse).transpose();
    let selection = Selection {
        filter: each.filter.as_ref().map(|filter| condition("where", filter)).transpose()?,
        sort_by: sort_by.map_err(|bad| format!("sort_by: {}", bad.message))?,
        distinct: each.distinct.as_deref().map(|text| field("distinct", text)).transpose()?,
        offset: each.offset,
        max_items: each.max_items,
        ..Selection::default()
    };
    let key = match &each.key {
        Some(text) => KeyBy::Field(field("key", text)?),
        None => KeyBy::Content,
    };
    Ok(ReadyEach { origin, format, selection, key, results })
}
