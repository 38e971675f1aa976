//! Rules as a file: what is known about the failures of one program.

use std::borrow::Borrow;

use redial_core::clause::Kind as Clause;
use regex::Regex;

use crate::Format;
use crate::condition::{BadCondition, Condition, DelayFrom, arguments, delay_from};
use crate::diagnostic::{Diagnostic, Kind, Span, printable};
use crate::fields::{excerpt, inside_quotes, is_typo, known, listed, nearest, wrong_type};
use crate::matcher::Patterns;
use crate::names::synonym_in;
use crate::place::Place;
use crate::rules::Fate;
use crate::tree::{self, Field, Node, Value};

/// The built-in sets.
const SETS: [(&str, &str); 16] = [
    ("apt", include_str!("../rules/apt.toml")),
    ("aws", include_str!("../rules/aws.toml")),
    ("cargo", include_str!("../rules/cargo.toml")),
    ("curl", include_str!("../rules/curl.toml")),
    ("docker", include_str!("../rules/docker.toml")),
    ("gcloud", include_str!("../rules/gcloud.toml")),
    ("git", include_str!("../rules/git.toml")),
    ("go", include_str!("../rules/go.toml")),
    ("kubectl", include_str!("../rules/kubectl.toml")),
    ("npm", include_str!("../rules/npm.toml")),
    ("pip", include_str!("../rules/pip.toml")),
    ("psql", include_str!("../rules/psql.toml")),
    ("rsync", include_str!("../rules/rsync.toml")),
    ("ssh", include_str!("../rules/ssh.toml")),
    ("terraform", include_str!("../rules/terraform.toml")),
    ("wget", include_str!("../rules/wget.toml")),
];

/// How large a file of rules may be, and how many it may hold.
const FILE_MAX: usize = 256 << 10;
const RULES_MAX: usize = 512;

const TOP: [&str; 6] = ["name", "about", "extends", "otherwise", "rule", "delay"];
const RULE: [&str; 3] = ["retry", "stop", "because"];
const DELAY: [&str; 2] = ["from", "arguments"];

const TOP_ELSEWHERE: [(&str, &str); 5] = [
    ("rules", "rule"),
    ("delays", "delay"),
    ("default", "otherwise"),
    ("description", "about"),
    ("base", "extends"),
];
const RULE_ELSEWHERE: [(&str, &str); 4] =
    [("retry_on", "retry"), ("stop_on", "stop"), ("reason", "because"), ("why", "because")];
const DELAY_ELSEWHERE: [(&str, &str); 1] = [("delay_from", "from")];

/// What is known about the failures of one program: rules in order, of which the first that matches
/// decides.
///
/// ```
/// use redial_policy::{Format, RuleSet};
///
/// let text = "
/// name = 'fetch'
/// extends = 'curl'
/// [[rule]]
/// stop = 'exit:22 & stderr:/ 429/'
/// because = 'the quota is for the day'
/// ";
/// let set = RuleSet::read(text, Format::Toml).unwrap();
/// assert_eq!(set.name(), Some("fetch"));
///
/// let found = RuleSet::read("[[rule]]\nretry = 'exti:6'", Format::Toml).unwrap_err();
/// assert_eq!(found[0].message, "retry: `exti:6` is not a condition; did you mean `exit:6`?");
/// ```
#[derive(Clone, Debug)]
pub struct RuleSet {
    name: Option<String>,
    about: Option<String>,
    pub(crate) rules: Vec<SetRule>,
    pub(crate) delays: Vec<SetDelay>,
    pub(crate) otherwise: Action,
}

/// One rule of a set.
#[derive(Clone, Debug)]
pub(crate) struct SetRule {
    /// The title of the set that it comes from.
    pub(crate) title: String,
    pub(crate) action: Action,
    pub(crate) condition: Condition,
    pub(crate) because: Option<String>,
}

/// Where the program prints how long to wait.
#[derive(Clone, Debug)]
pub(crate) struct SetDelay {
    /// The title of the set that it comes from.
    pub(crate) title: String,
    pub(crate) from: DelayFrom,
    /// What the arguments of the command must match, each on a line of its own.
    pub(crate) arguments: Option<Regex>,
}

/// What a rule does with a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Retry,
    Stop,
}

impl Action {
    pub(crate) const fn fate(self) -> Fate {
        match self {
            Self::Retry => Fate::Retry,
            Self::Stop => Fate::Stop,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Stop => "stop",
        }
    }
}

impl RuleSet {
    /// Whether a tree is meant to be a set: it has a list of rules or of delays, or keys that only a set
    /// has.
    pub(crate) fn is_one(root: &Node) -> bool {
        const LISTS: [&str; 4] = ["rule", "rules", "delay", "delays"];
        let fields = root.fields();
        let is_list = |field: &Field| matches!(field.value.value, Value::List(_));
        let lists = |field: &Field| LISTS.contains(&field.key.as_str()) && is_list(field);
        let only_known = || fields.iter().all(|field| TOP.contains(&field.key.as_str()));
        !root.has("policies")
            && (fields.iter().any(lists)
                || (only_known() && (root.has("extends") || root.has("otherwise"))))
    }

    /// Reads a file of rules.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, in the order of the text.
    pub fn read(text: &str, format: Format) -> Result<Self, Vec<Diagnostic>> {
        if text.len() > FILE_MAX {
            let message =
                format!("this text has {} bytes; rules have {FILE_MAX} at most", text.len());
            return Err(vec![Diagnostic::new(Kind::TooLarge, Span { start: 0, end: 0 }, message)]);
        }
        if let Some(at) = text.find('\0') {
            let span = Span { start: at, end: at + 1 };
            let message = "there is a NUL byte here; rules are text";
            return Err(vec![Diagnostic::new(Clause::Syntax, span, message)]);
        }
        let roots = tree::parse(text, format).map_err(|found| vec![found])?;
        let [root] = roots.as_slice() else {
            let message = "rules are one document of TOML, YAML or JSON";
            let place = roots.get(1).map_or(Span { start: 0, end: 0 }, |root| root.span);
            return Err(vec![Diagnostic::new(Clause::Syntax, place, message)]);
        };
        let mut reader = Reader { text, format, patterns: Patterns::default(), found: Vec::new() };
        let set = reader.set(root);
        match reader.found.is_empty() {
            true => Ok(set),
            false => {
                reader.found.sort_by_key(|found| found.span.start);
                Err(reader.found)
            }
        }
    }

    /// A built-in set.
    pub fn named(name: &str) -> Option<Self> {
        Self::read(Self::text(name)?, Format::Toml).ok()
    }

    /// The names of the built-in sets.
    ///
    /// ```
    /// use redial_policy::RuleSet;
    ///
    /// assert!(RuleSet::names().any(|name| name == "git"));
    /// assert!(RuleSet::names().all(|name| RuleSet::named(name).is_some()));
    /// ```
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        SETS.iter().map(|(name, _)| *name)
    }

    /// The name that was probably meant.
    ///
    /// ```
    /// use redial_policy::RuleSet;
    ///
    /// assert_eq!(RuleSet::nearest("crul"), Some("curl"));
    /// assert_eq!(RuleSet::nearest("ansible"), None);
    /// ```
    pub fn nearest(name: &str) -> Option<&'static str> {
        let names: Vec<_> = Self::names().collect();
        nearest(name, &names)
    }

    /// The file of a built-in set, to read or to start your own with.
    ///
    /// ```
    /// use redial_policy::{Format, RuleSet};
    ///
    /// let text = RuleSet::text("curl").unwrap();
    /// assert!(text.contains("name = \"curl\""));
    /// assert!(RuleSet::read(text, Format::Toml).is_ok());
    /// ```
    pub fn text(name: &str) -> Option<&'static str> {
        SETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Its name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What it is about, in a line.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// The same under this name, if it has none of its own: that of its file, for instance.
    #[must_use]
    pub fn or_name(mut self, name: &str) -> Self {
        if self.name.is_none() {
            let (before, name) = (self.title(), printable(name.to_owned()));
            self.name = Some(name);
            let title = self.title();
            let rules = self.rules.iter_mut().map(|rule| &mut rule.title);
            let titles = rules.chain(self.delays.iter_mut().map(|delay| &mut delay.title));
            titles.filter(|own| **own == before).for_each(|own| own.clone_from(&title));
        }
        self
    }

    /// The same for a command with these arguments: a program may print how long to wait only with some
    /// of them. Without arguments, for any.
    ///
    /// ```
    /// use redial_policy::{RuleSet, Rules, Stream};
    ///
    /// let watches_output = |arguments: &[&str]| {
    ///     let mut rules = Rules::default();
    ///     rules.set(RuleSet::named("curl").unwrap().for_arguments(Some(arguments)));
    ///     rules.watches(Stream::Stdout)
    /// };
    /// assert!(watches_output(&["-fsSi", "https://example.com/"]));
    /// assert!(!watches_output(&["-fsS", "https://example.com/"]));
    /// ```
    #[must_use]
    pub fn for_arguments<S: Borrow<str>>(mut self, arguments: Option<&[S]>) -> Self {
        let lines = arguments.map(|arguments| arguments.join("\n"));
        self.delays.retain_mut(|delay| match (delay.arguments.take(), &lines) {
            (Some(pattern), Some(lines)) => pattern.is_match(lines),
            _ => true,
        });
        self
    }

    /// How people know it: `rules curl`.
    pub(crate) fn title(&self) -> String {
        self.name.as_ref().map_or_else(|| "rules".to_owned(), |name| format!("rules {name}"))
    }
}

struct Reader<'t> {
    text: &'t str,
    format: Format,
    patterns: Patterns,
    found: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn set(&mut self, root: &Node) -> RuleSet {
        let mut set = RuleSet {
            name: None,
            about: None,
            rules: Vec::new(),
            delays: Vec::new(),
            otherwise: Action::Stop,
        };
        if !matches!(root.value, Value::Map(_)) {
            let advice = "use a map with a list of rules: rule: [{retry: \"exit:6\"}]";
            self.found.push(wrong_type("rules", root, self.text, advice));
            return set;
        }
        let what = "a set of rules";
        let synonyms = |name: &str| synonym_in(name, &TOP_ELSEWHERE);
        let fields = known(root, what, &TOP, synonyms, self.text, &mut self.found);
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        set.name = field("name").and_then(|field| self.line(field));
        set.about = field("about").and_then(|field| self.line(field));
        let title = set.title();
        if let Some(field) = field("rule") {
            for node in self.list(field, "[{retry: \"exit:6\", because: \"…\"}]") {
                set.rules.extend(self.rule(node, &title));
            }
        }
        if let Some(field) = field("delay") {
            for node in self.list(field, "[{from: \"stderr:/after (\\\\d+)/\"}]") {
                set.delays.extend(self.delay(node, &title));
            }
        }
        let base = field("extends").and_then(|field| self.base(field));
        let otherwise = field("otherwise").and_then(|field| self.otherwise(field));
        set.otherwise =
            otherwise.unwrap_or(base.as_ref().map_or(Action::Stop, |base| base.otherwise));
        if let Some(base) = base {
            set.rules.extend(base.rules);
            set.delays.extend(base.delays);
        }
        if set.rules.is_empty() && set.delays.is_empty() && self.found.is_empty() {
            let message = "there is no rule here; write for example rule: [{retry: \"exit:6\"}]";
            let place = Span { start: root.span.start, end: root.span.start };
            self.found.push(Diagnostic::new(Clause::Syntax, place, message));
        }
        set
    }

    fn rule(&mut self, node: &Node, title: &str) -> Option<SetRule> {
        let synonyms = |name: &str| synonym_in(name, &RULE_ELSEWHERE);
        let fields = known(node, "a rule", &RULE, synonyms, self.text, &mut self.found);
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let because = field("because").and_then(|field| self.line(field));
        let (action, field) = match (field("retry"), field("stop")) {
            (Some(field), None) => (Action::Retry, field),
            (None, Some(field)) => (Action::Stop, field),
            (Some(first), Some(second)) => {
                let later = if first.place.start > second.place.start { first } else { second };
                let message = "a rule says `retry` or `stop`, not both; make it two rules";
                self.found.push(Diagnostic::new(Clause::DuplicateOption, later.place, message));
                return None;
            }
            (None, None) => {
                // An unknown field has been reported, and is probably meant to be one of them.
                if node.fields().iter().all(|field| field.key == "because") {
                    let advice = "a rule says what to retry or stop: {retry: \"exit:6\"}";
                    self.found.push(wrong_type("rule", node, self.text, advice));
                }
                return None;
            }
        };
        let condition = self.condition(field, Condition::read)?;
        Some(SetRule { title: title.to_owned(), action, condition, because })
    }

    fn delay(&mut self, node: &Node, title: &str) -> Option<SetDelay> {
        let synonyms = |name: &str| synonym_in(name, &DELAY_ELSEWHERE);
        let fields = known(node, "a delay", &DELAY, synonyms, self.text, &mut self.found);
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        let arguments = field("arguments").map(|field| self.condition(field, arguments));
        let Some(from) = field("from") else {
            // An unknown field has been reported, and is probably meant to be `from`.
            if node.fields().iter().all(|field| field.key == "arguments") {
                let advice = "say where it stands: {from: \"stderr:/after (\\\\d+)/\"}";
                self.found.push(wrong_type("delay", node, self.text, advice));
            }
            return None;
        };
        let from = self.condition(from, delay_from)?;
        Some(SetDelay { title: title.to_owned(), from, arguments: arguments.flatten() })
    }

    /// A field that holds a condition, whose findings point into the file.
    fn condition<T>(
        &mut self,
        field: &Field,
        read: impl Fn(&str, &mut Patterns) -> Result<T, BadCondition>,
    ) -> Option<T> {
        let Value::Text(value) = &field.value.value else {
            let advice = "use a condition such as \"exit:6\"";
            self.found.push(wrong_type(&field.key, &field.value, self.text, advice));
            return None;
        };
        let refused = match read(value, &mut self.patterns) {
            Ok(read) => return Some(read),
            Err(refused) => refused,
        };
        let place = Place::of_string(value, &field.value, self.text, self.format);
        let span = place.of(refused.span.start, refused.span.end);
        let message = format!("{}: {}", field.key, refused.message);
        self.found.push(Diagnostic::new(refused.kind, span, message));
        None
    }

    fn base(&mut self, field: &Field) -> Option<RuleSet> {
        let Value::Text(name) = &field.value.value else {
            let advice = "use the name of a built-in set";
            self.found.push(wrong_type("extends", &field.value, self.text, advice));
            return None;
        };
        if let Some(base) = RuleSet::named(name) {
            return Some(base);
        }
        let names: Vec<_> = RuleSet::names().collect();
        let shown = excerpt(name);
        let span = field.value.span;
        self.found.push(match nearest(name, &names) {
            Some(meant) => {
                let message =
                    format!("extends: there are no rules `{shown}`; did you mean `{meant}`?");
                let inside = inside_quotes(span, self.text);
                let safe = is_typo(name, meant, &names);
                Diagnostic::new(Clause::WrongType, span, message).fix(inside, meant, safe)
            }
            None => {
                let names = listed(&names);
                let message = format!("extends: there are no rules `{shown}`; there are {names}");
                Diagnostic::new(Clause::WrongType, span, message)
            }
        });
        None
    }

    fn otherwise(&mut self, field: &Field) -> Option<Action> {
        match &field.value.value {
            Value::Text(text) if text == "stop" => Some(Action::Stop),
            Value::Text(text) if text == "retry" => Some(Action::Retry),
            _ => {
                let advice = "use \"stop\" or \"retry\"";
                self.found.push(wrong_type("otherwise", &field.value, self.text, advice));
                None
            }
        }
    }

    /// The entries of a list of maps.
    fn list<'n>(&mut self, field: &'n Field, example: &str) -> &'n [Node] {
        let advice = format!("use a list such as {example}");
        let Value::List(nodes) = &field.value.value else {
            self.found.push(wrong_type(&field.key, &field.value, self.text, &advice));
            return &[];
        };
        let (nodes, more) = nodes.split_at(nodes.len().min(RULES_MAX));
        if let Some(node) = more.first() {
            let message = format!("a set has at most {RULES_MAX} of these");
            self.found.push(Diagnostic::new(Kind::TooLarge, node.span, message));
        }
        if let Some(node) = nodes.iter().find(|node| !matches!(node.value, Value::Map(_))) {
            self.found.push(wrong_type(&field.key, node, self.text, &advice));
            return &[];
        }
        nodes
    }

    /// A field that holds a text of one line.
    fn line(&mut self, field: &Field) -> Option<String> {
        match &field.value.value {
            Value::Text(text) if !text.trim().is_empty() => Some(printable(text.trim().to_owned())),
            _ => {
                self.found.push(wrong_type(&field.key, &field.value, self.text, "use a string"));
                None
            }
        }
    }
}
