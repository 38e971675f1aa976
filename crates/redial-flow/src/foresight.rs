//! What the conditions of a flow can be about, before there is any value: those that never fit what they are about are found.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use crate::definition::{
    Action, Condition, Definition, Each, Fallback, ItemFormat, Origin, OutputKind, Step,
};
use crate::expression::{Foresight, Kinds};
use crate::{BadExpression, Dialect, Expression, Segment, Template, number};

/// A condition that is wrong whatever the values are: text that is compared with a number, or something that is neither
/// true nor false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The step that it belongs to.
    pub step: String,
    /// `when`, or `where` of a map.
    pub field: &'static str,
    /// What is wrong, and where in its text.
    pub bad: BadExpression,
}

impl Definition {
    /// Conditions that can never be right, as far as kinds of values are known before anything runs: those of inputs, of
    /// outputs that are text or lines, and of items that are lines or rows.
    pub fn misfits(&self) -> Vec<Misfit> {
        misfits(&self.steps, &self.inputs)
    }
}

pub(crate) fn misfits(steps: &[Step], inputs: &BTreeMap<String, Json>) -> Vec<Misfit> {
    let places = steps.iter().enumerate().map(|(place, step)| (step.name.as_str(), place));
    let known = Known { steps, inputs, places: places.collect() };
    let mut found = Vec::new();
    for step in steps {
        if let Some(when) = &step.when {
            let map = step.inside.as_deref().and_then(|map| known.map(map));
            known.look_at(&Task { known: &known, map }, step, "when", when, &mut found);
        }
        if let Action::Each(each) = &step.action
            && let Some(filter) = &each.filter
        {
            known.look_at(&OfItem { known: &known, each }, step, "where", filter, &mut found);
        }
    }
    found
}

struct Known<'d> {
    steps: &'d [Step],
    inputs: &'d BTreeMap<String, Json>,
    places: HashMap<&'d str, usize>,
}

/// What the condition of a step sees.
struct Task<'k> {
    known: &'k Known<'k>,
    map: Option<&'k Each>,
}

/// What a map's choice of items sees.
struct OfItem<'k> {
    known: &'k Known<'k>,
    each: &'k Each,
}

/// What an item is.
#[derive(PartialEq)]
enum ItemKind {
    /// A row, whose fields are text.
    Row,
    Value(Kinds),
}

impl<'d> Known<'d> {
    fn look_at(
        &self,
        foresight: &dyn Foresight,
        step: &Step,
        field: &'static str,
        condition: &Condition,
        found: &mut Vec<Misfit>,
    ) {
        let dialect = if condition.loose { Dialect::Loose } else { Dialect::Cel };
        // What is no expression is told by who reads it.
        let Ok(expression) = Expression::parse_as(&condition.text, dialect) else { return };
        if let Err(bad) = expression.check_kinds(foresight) {
            found.push(Misfit { step: step.name.clone(), field, bad });
        }
    }

    fn step(&self, name: &str) -> Option<&'d Step> {
        self.places.get(name).map(|place| &self.steps[*place])
    }

    fn map(&self, name: &str) -> Option<&'d Each> {
        match &self.step(name)?.action {
            Action::Each(each) => Some(each),
            _ => None,
        }
    }

    /// The step that a path begins with, and the names after its own. An arm may have a name with a dot in it.
    fn named<'p>(&self, path: &'p [String]) -> Option<(&'d Step, &'p [String])> {
        let (root, rest) = path.split_first()?;
        let arm = rest.first().and_then(|next| self.step(&format!("{root}.{next}")));
        match arm {
            Some(step) => Some((step, &rest[1..])),
            None => self.step(root).map(|step| (step, rest)),
        }
    }

    fn of_step(&self, step: &Step, path: &[String], rest: &[String]) -> Result<Kinds, String> {
        let Some((name, rest)) = rest.split_first() else { return Ok(Kinds::ANY) };
        let kinds = match (&step.action, name.as_str()) {
            (Action::Each(_), "results") => Kinds::LIST,
            (Action::Each(_), _) => Kinds::NUMBER,
            (_, "output") => self.output(step),
            _ => Kinds::BOOL,
        };
        fields(kinds, path, rest)
    }

    /// What the output of a step can be; of a branch, what those of its arms can be.
    fn output(&self, step: &Step) -> Kinds {
        if let Action::Branch(arms) = &step.action {
            let arms = arms.iter().filter_map(|arm| self.step(arm));
            let arms = arms.filter(|arm| !matches!(arm.action, Action::Branch(_)));
            return arms.map(|arm| self.output(arm)).reduce(Kinds::or).unwrap_or(Kinds::ANY);
        }
        let own = match step.output {
            OutputKind::Json => Kinds::ANY,
            OutputKind::Lines => Kinds::LIST,
            OutputKind::Text | OutputKind::None => Kinds::TEXT,
        };
        match &step.fallback {
            Some(Fallback::Value(value)) => own.or(of_template(value)),
            _ => own,
        }
    }

    /// The only step whose text a path is: what would make it something else is said there.
    fn text_of(&self, path: &[String]) -> Option<&'d Step> {
        let (step, rest) = self.named(path)?;
        let is_output = matches!(rest, [name] if name == "output");
        let is_command = !matches!(step.action, Action::Each(_) | Action::Branch(_));
        (is_output && is_command && step.output == OutputKind::Text).then_some(step)
    }

    fn item(&self, each: &Each) -> ItemKind {
        match (&each.source.from, &each.source.format) {
            (Origin::Value(value), ItemFormat::Lines) => {
                ItemKind::Value(self.items_of(value).unwrap_or(Kinds::ANY))
            }
            (Origin::File(_) | Origin::Stdin, ItemFormat::Lines | ItemFormat::Nul) => {
                ItemKind::Value(Kinds::TEXT)
            }
            (Origin::File(_) | Origin::Stdin, ItemFormat::Csv { .. }) => ItemKind::Row,
            _ => ItemKind::Value(Kinds::ANY),
        }
    }

    /// The items of a value that a template is: of an input, or of an output that nothing can take the place of.
    fn items_of(&self, template: &str) -> Option<Kinds> {
        let template = Template::parse(template).ok()?;
        let reference = template.reference()?;
        let names = reference.path().iter().map(|segment| match segment {
            Segment::Field(name) => Some(name.clone()),
            Segment::Index(_) => None,
        });
        let names: Option<Vec<String>> = names.collect();
        let path: Vec<String> = [reference.root().to_owned()].into_iter().chain(names?).collect();
        if let [root, name] = path.as_slice()
            && root == "inputs"
        {
            return match self.inputs.get(name)? {
                Json::Array(items) => items.iter().map(of_json).reduce(Kinds::or),
                value => Some(of_json(value)).filter(|kinds| *kinds == Kinds::TEXT),
            };
        }
        let (step, rest) = self.named(&path)?;
        let is_plain = step.fallback.is_none() && !matches!(step.action, Action::Branch(_));
        let is_text = matches!(step.output, OutputKind::Text | OutputKind::Lines);
        (is_plain && is_text && matches!(rest, [name] if name == "output")).then_some(Kinds::TEXT)
    }

    /// `rest` are the fields of the item that a path names.
    fn of_item(&self, each: &Each, path: &[String], rest: &[String]) -> Result<Kinds, String> {
        match (self.item(each), rest) {
            (ItemKind::Value(kinds), rest) => fields(kinds, path, rest),
            (ItemKind::Row, []) => Ok(Kinds::OBJECT),
            (ItemKind::Row, [_, rest @ ..]) => fields(Kinds::TEXT, path, rest),
        }
    }
}

impl Foresight for Task<'_> {
    fn kinds(&self, path: &[String]) -> Result<Kinds, String> {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["inputs", name, ..] => of_input(self.known.inputs.get(*name), path, &path[2..]),
            ["item", ..] => match self.map {
                Some(each) => self.known.of_item(each, path, &path[1..]),
                None => Ok(Kinds::ANY),
            },
            ["item_number"] => Ok(Kinds::NUMBER),
            _ => match self.known.named(path) {
                Some((step, rest)) => self.known.of_step(step, path, rest),
                None => Ok(Kinds::ANY),
            },
        }
    }

    fn why_text(&self, path: &[String]) -> Option<String> {
        if path.first().is_some_and(|root| root == "item") {
            return self.map.and_then(|each| why_item(self.known.item(each)));
        }
        let step = self.known.text_of(path)?;
        Some(format!("`{}` prints text, unless it has `output: json`", step.name))
    }
}

impl Foresight for OfItem<'_> {
    /// A bare name is a field of the item.
    fn kinds(&self, path: &[String]) -> Result<Kinds, String> {
        match path.split_first() {
            Some((root, rest)) if root == "item" => self.known.of_item(self.each, path, rest),
            _ if self.known.item(self.each) == ItemKind::Row => {
                self.known.of_item(self.each, path, path)
            }
            _ => Ok(Kinds::ANY),
        }
    }

    fn why_text(&self, _path: &[String]) -> Option<String> {
        why_item(self.known.item(self.each))
    }
}

fn why_item(kind: ItemKind) -> Option<String> {
    match kind {
        ItemKind::Value(Kinds::TEXT) => Some("an item is text here".to_owned()),
        ItemKind::Value(_) => None,
        ItemKind::Row => Some("the fields of CSV and TSV are text".to_owned()),
    }
}

/// A value that is known, as far as nothing is missing in it: `has` may ask for that.
fn of_input(value: Option<&Json>, path: &[String], rest: &[String]) -> Result<Kinds, String> {
    let Some(value) = value else { return Ok(Kinds::ANY) };
    match (value, rest.split_first()) {
        (Json::Object(map), Some((next, rest))) if number::of_fields(map).is_none() => {
            of_input(map.get(next), path, rest)
        }
        _ => fields(of_json(value), path, rest),
    }
}

/// What a path names, of which all but the rest is a value of these kinds.
fn fields(kinds: Kinds, path: &[String], rest: &[String]) -> Result<Kinds, String> {
    match rest.first() {
        None => Ok(kinds),
        Some(_) if kinds.meets(Kinds::OBJECT) => Ok(Kinds::ANY),
        Some(field) => {
            let name = path[..path.len() - rest.len()].join(".");
            Err(format!("`{name}` is {}, and has no field `{field}`", kinds.words()))
        }
    }
}

fn of_json(value: &Json) -> Kinds {
    match value {
        // Null stands for what is not known yet.
        Json::Null => Kinds::ANY,
        Json::Bool(_) => Kinds::BOOL,
        Json::Number(_) => Kinds::NUMBER,
        Json::String(_) => Kinds::TEXT,
        Json::Array(_) => Kinds::LIST,
        Json::Object(map) if number::of_fields(map).is_some() => Kinds::NUMBER,
        Json::Object(_) => Kinds::OBJECT,
    }
}

/// Text in the value of a fallback is a template, and one that is a reference alone is any value.
fn of_template(value: &Json) -> Kinds {
    match value.as_str().map(Template::parse) {
        Some(Ok(template)) if template.reference().is_some() => Kinds::ANY,
        _ => of_json(value),
    }
}
