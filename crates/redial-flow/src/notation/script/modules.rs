//! The file of modules: which command each module of a script is, with the types of what it takes and gives.

use std::collections::BTreeMap;

use redial_policy::notation::{Field, Node, Source, Value as Tree};
use redial_policy::{Diagnostic, FlowKind, Format, RuleSet};

use super::parse::parse_type;
use super::types::{self, Named};
use crate::definition::{self as flow, Type};
use crate::template::Piece;
use crate::{Segment, Template, check_arguments};

const OF_MODULE: [&str; 8] = ["argv", "stdin", "in", "out", "rules", "idempotent", "env", "dir"];
const OF_FILE: [&str; 2] = ["module", "type"];
const ELSEWHERE: [(&str, &str); 6] = [
    ("command", "argv"),
    ("run", "argv"),
    ("input", "in"),
    ("inputs", "in"),
    ("output", "out"),
    ("directory", "dir"),
];

/// What the calls of scripts run, from a file such as this:
///
/// ```toml
/// [module.RateLimitedAPI]
/// argv = ["curl", "-fsS", "https://api.test/search?q={query}"]
/// in   = { query = "String" }
/// out  = "String"
/// ```
#[derive(Clone, Debug, Default)]
pub struct Modules {
    pub(super) types: Named,
    pub(super) modules: BTreeMap<String, Module>,
}

/// A command with a name.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) argv: Vec<Template>,
    pub(super) stdin: Option<Stdin>,
    pub(super) inputs: Vec<(String, Type)>,
    pub(super) out: Type,
    pub(super) rules: flow::Rules,
    pub(super) idempotent: bool,
    pub(super) env: Vec<(String, Template)>,
    pub(super) dir: Option<String>,
}

/// What a module reads.
#[derive(Clone, Debug)]
pub(super) enum Stdin {
    /// All that it takes, as an object.
    Json,
    Text(Template),
}

impl Modules {
    /// Reads a file in TOML, with everything that is wrong with it.
    pub fn read(text: &str) -> (Self, Vec<Diagnostic>) {
        let source = Source::new(text, Format::Toml);
        let roots = match source.parse() {
            Ok(roots) => roots,
            Err(found) => return (Self::default(), vec![found]),
        };
        let mut reader = Reader { source, found: Vec::new(), modules: Self::default() };
        if let Some(root) = roots.first() {
            reader.file(root);
        }
        reader.found.sort_by_key(|found| found.span.start);
        (reader.modules, reader.found)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }
}

struct Reader<'t> {
    source: Source<'t>,
    found: Vec<Diagnostic>,
    modules: Modules,
}

impl Reader<'_> {
    fn file(&mut self, root: &Node) {
        let fields = self.source.known(root, "a file of modules", &OF_FILE, &[], &mut self.found);
        for field in fields.iter().filter(|field| field.key == "type") {
            for declared in self.table(field) {
                if let Some(of) = self.type_of(&declared.key, &declared.value) {
                    self.modules.types.insert(declared.key.clone(), of);
                }
            }
        }
        for field in fields.iter().filter(|field| field.key == "module") {
            for declared in self.table(field) {
                if let Some(module) = self.module(declared) {
                    self.modules.modules.insert(declared.key.clone(), module);
                }
            }
        }
    }

    fn table<'n>(&mut self, field: &'n Field) -> &'n [Field] {
        match &field.value.value {
            Tree::Map(fields) => fields,
            _ => {
                self.wrong(field, "use a table");
                &[]
            }
        }
    }

    fn wrong(&mut self, field: &Field, advice: &str) {
        self.found.push(self.source.wrong_type(&field.key, &field.value, advice));
    }

    fn type_of(&mut self, name: &str, node: &Node) -> Option<Type> {
        let Tree::Text(text) = &node.value else {
            let advice = "use a type in quotes, such as \"String\"";
            self.found.push(self.source.wrong_type(name, node, advice));
            return None;
        };
        let places = self.source.places(node);
        let place = |span: redial_policy::Span| places.of(span.start..span.end);
        let (parsed, told) = parse_type(text);
        self.found.extend(told.into_iter().map(|mut found| {
            found.span = place(found.span);
            found.fix = None;
            found
        }));
        types::resolve(&parsed, &self.modules.types, &self.source, &place, &mut self.found)
    }

    fn module(&mut self, declared: &Field) -> Option<Module> {
        if !matches!(declared.value.value, Tree::Map(_)) {
            self.wrong(declared, "use a table with argv, in and out");
            return None;
        }
        let before = self.found.len();
        let what = "a module";
        let node = &declared.value;
        let fields = self.source.known(node, what, &OF_MODULE, &ELSEWHERE, &mut self.found);
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let mut module = Module {
            argv: Vec::new(),
            stdin: None,
            inputs: Vec::new(),
            out: Type::String,
            rules: flow::Rules::default(),
            idempotent: true,
            env: Vec::new(),
            dir: None,
        };
        if let Some(field) = field("in") {
            for input in self.table(field) {
                if let Some(of) = self.type_of(&input.key, &input.value) {
                    module.inputs.push((input.key.clone(), of));
                }
            }
        }
        match field("out") {
            Some(field) => module.out = self.type_of("out", &field.value).unwrap_or(Type::String),
            None => self.missing(declared, "out", "out = \"String\""),
        }
        match field("argv") {
            Some(field) => self.argv(field, &mut module),
            None => self.missing(declared, "argv", "argv = [\"curl\", \"-fsS\", \"{url}\"]"),
        }
        for field in fields {
            match field.key.as_str() {
                "stdin" => module.stdin = self.stdin(field, &module.inputs),
                "rules" => self.rules(field, &mut module.rules),
                "idempotent" => match field.value.value {
                    Tree::Bool(is) => module.idempotent = is,
                    _ => self.wrong(field, "use true or false"),
                },
                "env" => {
                    for variable in self.table(field) {
                        if !super::super::reader::is_variable(&variable.key) {
                            let message = format!(
                                "env: `{}` cannot name a variable; use letters, digits and `_`",
                                super::super::reader::excerpt(&variable.key)
                            );
                            self.found.push(Diagnostic::new(
                                FlowKind::BadName,
                                variable.place,
                                message,
                            ));
                        } else if let Some(value) = self.template(variable, &module.inputs) {
                            module.env.push((variable.key.clone(), value));
                        }
                    }
                }
                "dir" => match &field.value.value {
                    Tree::Text(dir) => module.dir = Some(super::cel::escaped(dir, false)),
                    _ => self.wrong(field, "use a text"),
                },
                _ => {}
            }
        }
        let is_sound = self.found[before..].iter().all(Diagnostic::is_warning);
        is_sound.then_some(module)
    }

    fn missing(&mut self, declared: &Field, field: &str, example: &str) {
        let message = format!("module `{}` has no `{field}`; write {example}", declared.key);
        self.found.push(Diagnostic::new(FlowKind::OneAction, declared.place, message));
    }

    fn argv(&mut self, field: &Field, module: &mut Module) {
        let advice = "use a list of words, the first of which is the program";
        let Tree::List(nodes) = &field.value.value else { return self.wrong(field, advice) };
        if nodes.is_empty() {
            return self.wrong(field, advice);
        }
        for node in nodes {
            let word = Field { value: node.clone(), ..field.clone() };
            match self.template(&word, &module.inputs) {
                Some(template) => module.argv.push(template),
                None => return,
            }
        }
        if let Err((at, bad)) = check_arguments(&module.argv) {
            let places = self.source.places(&nodes[at]);
            let span = places.of(bad.span.clone());
            self.found.push(Diagnostic::new(
                FlowKind::NestedInterpreter,
                span,
                format!("argv: {bad}"),
            ));
        }
    }

    /// A text in which `{query}` stands for what the module takes under that name.
    fn template(&mut self, field: &Field, inputs: &[(String, Type)]) -> Option<Template> {
        let Tree::Text(text) = &field.value.value else {
            self.wrong(field, "use a text");
            return None;
        };
        let template = Template::of_argument(text.as_bytes());
        let mut is_sound = true;
        for reference in template.references() {
            let name = match reference.path().first() {
                Some(Segment::Field(name)) => name.as_str(),
                _ => "",
            };
            if inputs.iter().any(|(input, _)| input == name) {
                continue;
            }
            is_sound = false;
            let names: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
            let span = self.source.places(&field.value).of(reference.span());
            let problem = format!("{}: `in` has no", field.key);
            let found = self.source.unknown(FlowKind::UnknownValue, span, &problem, name, &names);
            // The place is that of the name with its braces.
            self.found.push(Diagnostic { fix: None, ..found });
        }
        is_sound.then_some(template)
    }

    fn stdin(&mut self, field: &Field, inputs: &[(String, Type)]) -> Option<Stdin> {
        match &field.value.value {
            Tree::Text(text) if text == "json" => Some(Stdin::Json),
            _ => {
                let template = self.template(field, inputs)?;
                if template.references().count() == 0 {
                    self.wrong(
                        field,
                        "use \"json\" for all that the module takes, or a text with {name} in it",
                    );
                    return None;
                }
                Some(Stdin::Text(template))
            }
        }
    }

    fn rules(&mut self, field: &Field, rules: &mut flow::Rules) {
        let one = std::slice::from_ref(&field.value);
        let nodes = match &field.value.value {
            Tree::List(nodes) => nodes.as_slice(),
            _ => one,
        };
        for node in nodes {
            match &node.value {
                Tree::Text(name) if RuleSet::text(name).is_some() => {
                    rules.sets.push(flow::RuleSet { name: name.clone(), text: None });
                }
                Tree::Text(name) => {
                    let names: Vec<&str> = RuleSet::names().collect();
                    let problem = "rules: there is no set";
                    let kind = FlowKind::UnknownRules;
                    self.found.push(self.source.unknown(kind, node.span, problem, name, &names));
                }
                _ => self.wrong(field, "use the name of a set, such as \"curl\""),
            }
        }
    }
}

impl Module {
    /// What is looked up on the `PATH`.
    pub(super) fn program(&self) -> Option<String> {
        let bytes = self.argv.first()?.text()?;
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

/// The pieces of a template as text and the names that stand in it, each with the rest of its path.
pub(super) fn pieces(template: &Template) -> impl Iterator<Item = Result<String, &[Segment]>> {
    template.pieces.iter().map(|piece| match piece {
        Piece::Text(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Piece::Value(reference) => Err(reference.path()),
    })
}
