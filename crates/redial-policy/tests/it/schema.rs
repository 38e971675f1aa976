//! The published schema and the reader say the same of a policy file: what an editor underlines is
//! what `redial check` refuses, up to what no schema can say.
//!
//! Random files name their seed when they fail; `REDIAL_SEED=<seed>` runs that one alone.

use std::collections::BTreeSet;

use jsonschema::Validator;
use redial_core::Random;
use redial_policy::{Diagnostic, Document, Format, Matcher, Notation, read};
use redial_seeds::{Dice, Draw};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../src/policies.schema.json");

/// What the reader refuses and a schema cannot: the kind, why, and a file that shows it.
const BEYOND: [(&str, &str, &str); 10] = [
    (
        "min-above-max",
        "compares two durations",
        r#"{"policies": {"a": {"retry": 2, "min_delay": "2s", "max_delay": "1s"}}}"#,
    ),
    (
        "jitter-out-of-range",
        "compares two numbers, where the lower is not the first; each by itself is checked",
        r#"{"policies": {"a": {"retry": 2, "delay": "1s", "jitter": [1.5, 0.5]}}}"#,
    ),
    (
        "too-many-modifiers",
        "the default cap, and what is extended, count as well; the list by itself is checked",
        r#"{"policies": {"a": {"retry": 2, "delay": "1s", "backoff": "linear", "modifiers": [
            {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"},
            {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}]}}}"#,
    ),
    (
        "unknown-policy",
        "a name from elsewhere in the file",
        r#"{"policies": {"a": {"extends": "b", "retry": 2}}}"#,
    ),
    (
        "circular-extends",
        "names from elsewhere in the file",
        r#"{"policies": {"a": {"extends": "a", "retry": 2}}}"#,
    ),
    (
        "bad-pattern",
        "the regular expressions of a schema are those of another language",
        r#"{"policies": {"a": {"retry": 2, "retry_on": [{"pattern": "("}]}}}"#,
    ),
    (
        "duplicate-option",
        "a map has each key once by the time that a schema sees it; what stands beside \
         `modifiers` is checked",
        r#"{"policies": {"a": {"retry": 2, "retry": 2}}}"#,
    ),
    (
        "unknown-option",
        "the contents of a clause, whatever is wrong there: it is one string",
        r#"{"policies": {"a": "retry: 2, dely: 1s"}}"#,
    ),
    (
        "syntax",
        "nothing is left of what is extended; a map that says nothing by itself is checked",
        r#"{"policies": {"a": "retry_on: [network]", "b": {"extends": "a", "retry_on": []}}}"#,
    ),
    (
        "too-large",
        "how many policies extend one another; how many there are is checked",
        LONG_CHAIN,
    ),
];

/// Stands for a file that is too long to be written here.
const LONG_CHAIN: &str = "a policy that extends one that extends one, and so on";

fn long_chain() -> String {
    let policies = (0..70).map(|at| format!("\"{at}\": {{\"extends\": \"{}\"}}, ", at + 1));
    format!("{{\"policies\": {{{}\"70\": \"retry: 1\"}}}}", policies.collect::<String>())
}

/// Values that the two do not agree about: the option, the value, which of the two accepts it, and
/// why that is left so.
const KNOWN: [(&str, &str, Accepted, &str); 13] = [
    ("retry", "5.0", Accepted::BySchema, POINT),
    ("retry", "-0", Accepted::BySchema, POINT),
    ("retry", "1e2", Accepted::BySchema, POINT),
    ("attempts", "5.0", Accepted::BySchema, POINT),
    ("factor", "2e0", Accepted::BySchema, POINT),
    ("factor", "1.0000000000", Accepted::BySchema, POINT),
    ("factor", "1.0123456789", Accepted::BySchema, DIGITS),
    ("jitter", "[0, 1e0]", Accepted::BySchema, POINT),
    ("jitter", "[-0, 1]", Accepted::BySchema, POINT),
    ("jitter", "[0.0123456789, 1]", Accepted::BySchema, DIGITS),
    ("factor", "999999999.999999999", Accepted::ByReader, BINARY),
    // A line's end around a list is dropped; around anything else it is refused by both.
    ("backoff", r#""[1s]\n""#, Accepted::ByReader, SPACE),
    ("jitter", r#""\n[0.5, 1.5]""#, Accepted::ByReader, SPACE),
];

const POINT: &str = "one number to a schema, however it is spelled; the reader goes by its digits";
const DIGITS: &str = "nine digits would be a multipleOf, and editors that divide binary fractions \
                      refuse 1.1 then";
const BINARY: &str = "to a validator this is the nearest binary fraction, which is a billion";
const SPACE: &str = "the reader drops the end of a line around a list; the schema knows blanks and \
                     tabs, and whatever else is there is better seen";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Accepted {
    BySchema,
    ByReader,
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("the schema compiles")
}

fn check(text: &str) -> Document {
    read(text, Format::Json, Some(Notation::File))
}

fn errors(document: &Document) -> Vec<&Diagnostic> {
    document.diagnostics().iter().filter(|found| !found.is_warning()).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What the schema has against a file.
fn complaint(validator: &Validator, text: &str) -> Option<String> {
    let instance = parsed(text);
    let first = validator.iter_errors(&instance).next();
    first.map(|error| format!("{}: {error}", error.instance_path()))
}

fn both_accept(validator: &Validator, text: &str) {
    let document = check(text);
    assert_eq!(errors(&document), Vec::<&Diagnostic>::new(), "the reader refuses {text}");
    assert_eq!(complaint(validator, text), None, "the schema refuses {text}");
}

/// A file with one policy that says no more than this of `option`, beside a policy to extend.
fn with_option(option: &str, value: &str) -> String {
    // Something else has to be there, and nothing that the option could contradict.
    let other = if option == "within" { "wait_budget" } else { "within" };
    format!(
        r#"{{"policies": {{"fetch": "retry: 3, delay: 1s",
            "it": {{"{other}": "1h", "{option}": {value}}}}}}}"#
    )
}

const VALID: [&str; 25] = [
    r#"{"x-": null, "x-base": {"dely": [1]}, "policies": {"a": "retry: 3"}, "x-notes": "why"}"#,
    r#"{"policies": {}}"#,
    r#"{"policies": {"a": "retry: 3"}, "default": "a"}"#,
    r#"{"policies": {"a b/ü#": "retry: 3", "": "attempts: 2"}, "default": ""}"#,
    r#"{"policies": {"a": "\n # why\n  retry # how often\n : 3,\n delay: 1s"}}"#,
    r#"{"policies": {"a": "retry_on: [network, pattern: \"a, b\"]"}}"#,
    r#"{"policies": {"a": "timeout: 5s"}}"#,
    r#"{"policies": {"a": {"timeout": "5s"}}}"#,
    r#"{"policies": {"a": {"retry_on": ["network"]}, "b": {"extends": "a", "retry": 2}}}"#,
    r#"{"policies": {"a": {"modifiers": [], "stop_on": ["network"]}}}"#,
    r#"{"policies": {"a": {"retry": 0}, "b": {"attempts": 1}}}"#,
    r#"{"policies": {"a": {"retry": 4294967294}, "b": {"attempts": 4294967295}}}"#,
    r#"{"policies": {"a": {"retry": "4294967294"}, "b": {"attempts": "04294967295"}}}"#,
    r#"{"policies": {"a": {"retry": "unlimited"}, "b": {"attempts": " unlimited\t"}}}"#,
    r#"{"policies": {"a": {"retry": 9, "delay": "1.5s", "backoff": "linear", "increment": "1m30s"}}}"#,
    r#"{"policies": {"a": {"retry": 9, "delay": "1us", "backoff": "exponential", "factor": 1.1}}}"#,
    r#"{"policies": {"a": {"retry": 9, "delay": "1ns", "backoff": "exponential", "factor": "1.000000001"}}}"#,
    r#"{"policies": {"a": {"retry": 2, "backoff": ["0.001us", "1.000001000ms", "1.000000000ns"]}}}"#,
    r#"{"policies": {"a": {"retry": 2, "backoff": "[1s, 3s]"}, "b": {"retry": 1, "backoff": []}}}"#,
    r#"{"policies": {"a": {"retry": 2, "delay": "1s", "jitter": "100%"},
        "b": {"extends": "a", "jitter": "+1000.0%"}, "c": {"extends": "b", "jitter": "[0, 10]"},
        "d": {"extends": "c", "jitter": ["0.5", 1.5]}, "e": {"extends": "d", "jitter": "none"}}}"#,
    r#"{"policies": {"a": {"retry": 2, "modifiers": []}}}"#,
    r#"{"policies": {"a": {"retry": 2, "delay": "1s", "modifiers": [
        {"jitter": "none"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"},
        {"max_delay": "none"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"},
        {"jitter": "1%"}]}}}"#,
    r#"{"policies": {"a": {"retry": 2, "retry_on": [], "stop_on": ["network", "timeout",
        "server_error", "rate_limit", {"pattern": "(?i)quota"}, {"pattern": ""}]}}}"#,
    r#"{"policies": {"a": {"extends": "b", "attempts": 3}, "b": {"extends": "c"}, "c": "retry: 1"}}"#,
    r#"{"policies": {"a": {"retry": 2, "delay": "99999999999999999999999d", "max_delay": "none",
        "min_delay": "0s", "within": "1d", "wait_budget": "1h1h", "timeout": "1min"}}}"#,
];

#[test]
fn both_accept_what_is_right() {
    let validator = validator();
    for text in VALID {
        both_accept(&validator, text);
    }
    let blocks = redial_policy::REFERENCE.split("```json\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().expect("a block has an end"));
    let ours: Vec<_> = blocks.filter(|text| text.contains("\"policies\"")).collect();
    assert!(!ours.is_empty(), "the reference shows our own file in JSON");
    for text in ours {
        both_accept(&validator, text);
    }
}

/// Files with one mistake each, and what the reader calls it.
const INVALID: [(&str, &str); 27] = [
    ("unknown-option", r#"{"policies": {"a": "retry: 3"}, "xbase": {}}"#),
    ("unknown-option", r#"{"policies": {"a": "retry: 3"}, "X-base": {}}"#),
    ("unknown-option", r#"{"policies": {"a": {"retry": 3, "x-why": "so"}}}"#),
    ("syntax", r#"{"policies": {"a": {"retry": 3, "delay": "\u00a01s"}}}"#),
    ("syntax", r#"{"policies": {"a": {"retry": "\u20035"}}}"#),
    ("wrong-type", r#"{}"#),
    ("wrong-type", r#"[]"#),
    ("wrong-type", r#"{"default": "a"}"#),
    ("wrong-type", r#"{"policies": []}"#),
    ("wrong-type", r#"{"policies": {"a": "retry: 3"}, "default": null}"#),
    ("unknown-option", r#"{"policies": {"a": "retry: 3"}, "version": 1}"#),
    ("wrong-type", r#"{"policies": {"a": 3}}"#),
    ("syntax", r#"{"policies": {"a": ""}}"#),
    ("syntax", r#"{"policies": {"a": {}}}"#),
    ("syntax", r#"{"policies": {"a": {"retry_on": []}}}"#),
    ("syntax", r#"{"policies": {"a": {"modifiers": [], "retry_on": [], "stop_on": []}}}"#),
    ("syntax", r#"{"policies": {"a": "three times"}}"#),
    ("unknown-option", r#"{"policies": {"a": {"retry": 3, "dely": "1s"}}}"#),
    ("two-counts", r#"{"policies": {"a": {"retry": 3, "attempts": 5}}}"#),
    ("two-counts", r#"{"policies": {"a": {"attempts": "unlimited", "retry": 3}}}"#),
    (
        "duplicate-option",
        r#"{"policies": {"a": {"retry": 3, "jitter": "full", "modifiers": [{"max_delay": "5s"}]}}}"#,
    ),
    ("wrong-type", r#"{"policies": {"a": {"retry": 3, "modifiers": [{}]}}}"#),
    (
        "wrong-type",
        r#"{"policies": {"a": {"retry": 3, "modifiers": [{"jitter": "full", "max_delay": "5s"}]}}}"#,
    ),
    ("unknown-option", r#"{"policies": {"a": {"retry": 3, "modifiers": [{"delay": "5s"}]}}}"#),
    (
        "too-many-modifiers",
        r#"{"policies": {"a": {"retry": 3, "delay": "1s", "modifiers": [
            {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"},
            {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}, {"jitter": "1%"}]}}}"#,
    ),
    ("wrong-type", r#"{"policies": {"a": {"retry": 3, "retry_on": [{"pattern": "a", "b": 1}]}}}"#),
    ("unknown-option", r#"{"policies": {"a": {"retry_config": {"attempts": 3}}}}"#),
];

/// Values that their option does not take, and what the reader calls it.
const INVALID_VALUES: [(&str, &str, &str); 58] = [
    ("retry", "negative", "-1"),
    ("retry", "too-many-digits", "4294967295"),
    ("retry", "too-many-digits", r#""4294967295""#),
    ("retry", "wrong-type", "2.5"),
    ("retry", "wrong-type", "true"),
    ("retry", "wrong-type", "null"),
    ("retry", "wrong-type", "[3]"),
    ("retry", "wrong-type", r#""Unlimited""#),
    ("retry", "wrong-type", r#""""#),
    ("retry", "wrong-type", r#""3\n""#),
    ("attempts", "zero-attempts", "0"),
    ("attempts", "zero-attempts", r#""00""#),
    ("attempts", "too-many-digits", "4294967296"),
    ("delay", "missing-unit", "1"),
    ("delay", "missing-unit", r#""0""#),
    ("delay", "negative", r#""-1s""#),
    ("delay", "wrong-type", r#""1 s""#),
    ("delay", "wrong-type", r#""1S""#),
    ("delay", "wrong-type", r#""1sec""#),
    ("delay", "wrong-type", r#""1s 5ms""#),
    ("delay", "wrong-type", r#""1.s""#),
    ("delay", "wrong-type", r#"".5s""#),
    ("delay", "wrong-type", r#"["1s"]"#),
    ("delay", "wrong-type", r#"{"secs": 1}"#),
    ("delay", "too-many-digits", r#""0.1ns""#),
    ("delay", "too-many-digits", r#""1.0001us""#),
    ("delay", "too-many-digits", r#""1.0000001ms""#),
    ("delay", "too-many-digits", r#""1.0000000000s""#),
    ("delay", "missing-unit", r#""1s5""#),
    ("min_delay", "wrong-type", r#""none""#),
    ("max_delay", "wrong-type", r#""unlimited""#),
    ("within", "wrong-type", r#""none""#),
    ("timeout", "missing-unit", "30"),
    ("backoff", "wrong-type", r#""exponetial""#),
    ("backoff", "wrong-type", r#"{"exponential": {"base": 2}}"#),
    ("backoff", "missing-unit", "[1]"),
    ("backoff", "wrong-type", r#""[1s, 3s,]""#),
    ("backoff", "wrong-type", r#"["none"]"#),
    ("factor", "factor-below-one", "0.5"),
    ("factor", "factor-below-one", r#""0.999999999""#),
    ("factor", "too-many-digits", "1000000000"),
    ("factor", "too-many-digits", r#""1.0000000000""#),
    ("factor", "wrong-type", r#""2x""#),
    ("jitter", "wrong-type", "true"),
    ("jitter", "wrong-type", "0.25"),
    ("jitter", "wrong-type", r#""25""#),
    ("jitter", "jitter-out-of-range", r#""101%""#),
    ("jitter", "jitter-out-of-range", r#""+1000.1%""#),
    ("jitter", "too-many-digits", r#""1.00000001%""#),
    ("jitter", "jitter-out-of-range", "[0.5, 10.5]"),
    ("jitter", "jitter-out-of-range", "[-0.5, 0.5]"),
    ("jitter", "wrong-type", "[0.5]"),
    ("jitter", "wrong-type", "[0.5, 1, 1.5]"),
    ("modifiers", "wrong-type", r#"{"jitter": "full"}"#),
    ("retry_on", "wrong-type", r#""network""#),
    ("retry_on", "wrong-type", r#"["Network"]"#),
    ("stop_on", "wrong-type", r#"[{"pattern": 5}]"#),
    ("extends", "wrong-type", r#"["fetch"]"#),
];

#[test]
fn both_refuse_each_mistake() {
    let validator = validator();
    let list = |count: usize| {
        let delays = vec!["\"1s\""; count].join(", ");
        with_option("backoff", &format!("[{delays}]"))
    };
    let text =
        |count: usize| with_option("backoff", &format!("\"[{}]\"", vec!["1s"; count].join(",")));
    let many = |count: usize| {
        let policies: Vec<_> = (0..count).map(|at| format!("\"{at}\": \"retry: 1\"")).collect();
        format!("{{\"policies\": {{{}}}}}", policies.join(", "))
    };
    for text in [list(32), text(32), many(50_000)] {
        both_accept(&validator, &text);
    }
    let values = INVALID_VALUES.map(|(option, kind, value)| (kind, with_option(option, value)));
    let files = INVALID.map(|(kind, text)| (kind, text.to_owned()));
    let long =
        [("list-too-long", list(33)), ("list-too-long", text(33)), ("too-large", many(50_001))];
    for (kind, text) in values.into_iter().chain(files).chain(long) {
        let shown = &text[..text.len().min(300)];
        let document = check(&text);
        let names: Vec<_> = errors(&document).iter().map(|error| error.kind.name()).collect();
        assert!(names.contains(&kind), "{kind} is not among {names:?}: {shown}");
        assert!(!validator.is_valid(&parsed(&text)), "the schema accepts {shown}");
    }
}

#[test]
fn what_no_schema_can_say_is_refused_by_the_reader_alone() {
    let validator = validator();
    for (kind, why, text) in BEYOND {
        let text = &if text == LONG_CHAIN { long_chain() } else { text.to_owned() };
        let document = check(text);
        let errors = errors(&document);
        assert!(!errors.is_empty(), "the reader accepts {text}");
        assert!(errors.iter().all(|error| error.kind.name() == kind), "{errors:?}");
        assert!(errors.iter().all(|error| is_beyond(error, text, &document)), "{errors:?}");
        assert_eq!(complaint(&validator, text), None, "it was said that a schema cannot: {why}");
    }
}

#[test]
fn the_known_disagreements_are_still_there() {
    let validator = validator();
    for (option, value, accepted, why) in KNOWN {
        let text = with_option(option, value);
        let reader = !check(&text).has_errors();
        let schema = validator.is_valid(&parsed(&text));
        let expected = (accepted == Accepted::ByReader, accepted == Accepted::BySchema);
        assert_eq!((reader, schema), expected, "{option}: {value}: no longer so: {why}");
    }
}

fn maps(instance: &Value) -> impl Iterator<Item = &serde_json::Map<String, Value>> {
    let policies = instance["policies"].as_object().into_iter().flat_map(|map| map.values());
    policies.filter_map(Value::as_object)
}

/// Whether a schema could not have known; the reasons are in [`BEYOND`].
fn is_beyond(error: &Diagnostic, text: &str, document: &Document) -> bool {
    let instance = parsed(text);
    if is_in_clause(error, &instance, document) {
        return true;
    }
    match error.kind.name() {
        "min-above-max" | "unknown-policy" | "circular-extends" | "bad-pattern" => true,
        "duplicate-option" => !error.message.contains("beside `modifiers`"),
        "too-many-modifiers" => maps(&instance).all(|map| written(&map.get("modifiers")) <= 8),
        "jitter-out-of-range" => {
            let ends = error.span.of(text).trim_matches(['"', '[', ']', ' ', '\t']).split(',');
            let ends = ends.map(|end| end.replace(['"', ' ', '\t'], "").replace("\\t", ""));
            let ends: Vec<Result<f64, _>> = ends.map(|end| end.parse()).collect();
            let inside =
                |end: &Result<f64, _>| end.as_ref().is_ok_and(|end| (0.0..=10.0).contains(end));
            ends.len() == 2 && ends.iter().all(inside)
        }
        "too-large" => instance["policies"].as_object().is_some_and(|map| map.len() <= 50_000),
        "syntax" if error.message.starts_with("this policy is empty") => {
            policy_around(error, &instance, document)
                .is_some_and(|policy| policy.get("extends").is_some())
        }
        _ => false,
    }
}

/// The policy that an error is told of.
fn policy_around<'v>(
    error: &Diagnostic,
    instance: &'v Value,
    document: &Document,
) -> Option<&'v Value> {
    let entry = document
        .policies()
        .find(|entry| entry.span.start <= error.span.start && error.span.end <= entry.span.end)?;
    instance["policies"].get(&entry.name)
}

fn is_in_clause(error: &Diagnostic, instance: &Value, document: &Document) -> bool {
    policy_around(error, instance, document).is_some_and(Value::is_string)
}

/// How many of a list of modifiers modify something.
fn written(modifiers: &Option<&Value>) -> usize {
    let none = |value: &Value| value.as_str().is_some_and(|text| text.trim() == "none");
    let counts = |entry: &&Value| !none(&entry["jitter"]) && !none(&entry["max_delay"]);
    modifiers.and_then(Value::as_array).map_or(0, |list| list.iter().filter(counts).count())
}

/// Whether the schema may refuse for a reason that the reader does not give: a clause that does not
/// even begin like one, or a modifier too many where a jitter that is none was not counted.
fn hides_others(error: &Diagnostic, instance: &Value, document: &Document) -> bool {
    error.kind.name() == "jitter-out-of-range" || is_in_clause(error, instance, document)
}

#[test]
fn the_schema_and_the_reader_agree_about_random_files() {
    let validator = validator();
    let asked = redial_seeds::asked();
    let seeds = asked.map_or(0..4000, |seed: u64| seed..seed + 1);
    let (mut accepted, mut refused, mut open) = (0, 0, 0);
    for seed in seeds {
        let text = Files(redial_seeds::random(seed)).file();
        let instance = parsed(&text);
        let document = check(&text);
        let errors = errors(&document);
        let complaint = complaint(&validator, &text);
        let expected = errors.iter().all(|error| is_beyond(error, &text, &document));
        let hidden = errors.iter().any(|error| hides_others(error, &instance, &document));
        match (expected, &complaint) {
            (true, None) => accepted += 1,
            (false, Some(_)) => refused += 1,
            (true, Some(_)) if hidden => open += 1,
            _ => panic!(
                "REDIAL_SEED={seed}: the schema: {complaint:?}; the reader: {errors:?}\n{text}"
            ),
        }
    }
    if asked.is_none() {
        assert!(accepted > 1000, "{accepted} of the files are right");
        assert!(refused > 1000, "{refused} of the files are wrong");
        assert!(open < 100, "{open} of the files say nothing");
    }
}

#[test]
fn the_schema_is_a_schema() {
    let schema = schema();
    if let Err(error) = jsonschema::draft202012::meta::validate(&schema) {
        panic!("{}: {error}", error.instance_path());
    }
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

/// What a message of the reader lists after `before`.
fn listed(text: &str, before: &str, after: &str) -> BTreeSet<String> {
    let document = check(text);
    let found = document.diagnostics().iter().find_map(|found| found.message.split_once(before));
    let (_, rest) = found.unwrap_or_else(|| panic!("{before} in {:?}", document.diagnostics()));
    let list = rest.split_once(after).map_or(rest, |(list, _)| list);
    list.split([',', ' '])
        .filter(|word| !word.is_empty() && *word != "and")
        .map(str::to_owned)
        .collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("a map").keys().cloned().collect()
}

fn words(value: &Value) -> BTreeSet<String> {
    let words = value.as_array().expect("a list").iter();
    words.map(|word| word.as_str().expect("a word").to_owned()).collect()
}

#[test]
fn the_schema_has_the_names_that_the_reader_has() {
    let schema = schema();
    let names = |text: &str| listed(text, "there are ", "\n");
    let options = names(r#"{"policies": {"a": {"zzzzzzzzzzzz": 1}}}"#);
    assert_eq!(keys(&schema["$defs"]["map"]["properties"]), options);
    assert_eq!(keys(&schema["properties"]), names(r#"{"zzzzzzzzzzzz": 1, "policies": {}}"#));
    let modifiers = names(r#"{"policies": {"a": {"modifiers": [{"zzzzzzzzzzzz": 1}]}}}"#);
    assert_eq!(keys(&schema["$defs"]["modifier"]["properties"]), modifiers);

    let sources = listed(&with_option("backoff", "\"zzzzzzzz\""), "use ", ", or a list");
    assert_eq!(
        words(&schema["$defs"]["map"]["properties"]["backoff"]["anyOf"][0]["enum"]),
        sources
    );
    let matchers = listed(&with_option("retry_on", "[\"zzzzzzzz\"]"), "use ", " or pattern");
    assert_eq!(words(&schema["$defs"]["matcher"]["oneOf"][0]["enum"]), matchers);
    assert!(matchers.iter().all(|name| Matcher::named(name).is_some()));

    // A clause begins with an option of its own.
    let validator = validator();
    for option in options {
        let starts = validator.is_valid(&json!({"policies": {"a": format!("{option}: 1")}}));
        assert_eq!(starts, !["modifiers", "extends"].contains(&option.as_str()), "{option}");
    }
}

/// Every schema in the schema, with its path.
fn each_part<'v>(value: &'v Value, path: &str, seen: &mut impl FnMut(&str, &'v Value)) {
    seen(path, value);
    let Some(map) = value.as_object() else { return };
    for (key, value) in map {
        let path = format!("{path}/{key}");
        match key.as_str() {
            "properties" | "patternProperties" | "$defs" | "dependentSchemas" => {
                for (name, value) in value.as_object().expect("a map of schemas") {
                    each_part(value, &format!("{path}/{name}"), seen);
                }
            }
            "anyOf" | "oneOf" | "prefixItems" => {
                for (at, value) in value.as_array().expect("a list of schemas").iter().enumerate() {
                    each_part(value, &format!("{path}/{at}"), seen);
                }
            }
            "items" | "contains" | "not" | "additionalProperties" => each_part(value, &path, seen),
            _ => {}
        }
    }
}

/// An example from `path` of the schema as a file of its own.
fn example(path: &str, value: &Value) -> String {
    let name = path.rsplit('/').next().expect("a path has an end");
    match (path, name) {
        ("", _) => value.to_string(),
        ("/properties/policies", _) => json!({"policies": value}).to_string(),
        ("/properties/default", _) => {
            json!({"policies": {"fetch": "retry: 3"}, "default": value}).to_string()
        }
        (_, "clause" | "map") => json!({"policies": {"it": value}}).to_string(),
        (_, "modifier") => with_option("modifiers", &json!([value]).to_string()),
        (_, "matcher") => with_option("retry_on", &json!([value]).to_string()),
        (_, "pattern") => with_option("retry_on", &json!([{"pattern": value}]).to_string()),
        (_, "duration") => with_option("delay", &value.to_string()),
        (_, "share") => {
            let lower = with_option("jitter", &json!([value, 10]).to_string());
            assert!(!check(&lower).has_errors(), "{lower}");
            with_option("jitter", &json!([0, value]).to_string())
        }
        (_, option) => with_option(option, &value.to_string()),
    }
}

#[test]
fn every_example_is_right() {
    let (schema, validator) = (schema(), validator());
    let mut count = 0;
    each_part(&schema, "", &mut |path, part| {
        for value in part["examples"].as_array().into_iter().flatten() {
            both_accept(&validator, &example(path, value));
            count += 1;
        }
    });
    assert_eq!(SCHEMA.matches("\"examples\"").count(), {
        let mut lists = 0;
        each_part(&schema, "", &mut |_, part| lists += usize::from(part.get("examples").is_some()));
        lists
    });
    assert!(count > 40, "{count} examples");
}

#[test]
fn every_default_is_what_holds_without_it() {
    let (schema, validator) = (schema(), validator());
    let mut count = 0;
    each_part(&schema, "", &mut |path, part| {
        let Some(value) = part.get("default") else { return };
        let option = path.rsplit('/').next().expect("a path has an end");
        // Everything that the option could have an effect on.
        let mut policy = json!({"retry": 3, "delay": "1s", "backoff": "exponential"});
        let map = policy.as_object_mut().expect("a map");
        map.remove(if option == "attempts" { "retry" } else { option });
        let without = json!({"policies": {"it": policy}}).to_string();
        policy[option] = value.clone();
        let with = json!({"policies": {"it": policy}}).to_string();
        both_accept(&validator, &with);
        let [with, without] = [with, without].map(|text| {
            check(&text).policies().next().and_then(|entry| entry.canonical()).expect("a policy")
        });
        assert_eq!(with, without, "{option}");
        count += 1;
    });
    assert_eq!(SCHEMA.matches("\"default\": ").count(), count + 2, "beside the key of the file");
}

#[test]
fn every_property_says_what_it_is() {
    let schema = schema();
    let told = |part: &Value| {
        let named = part["$ref"].as_str().and_then(|name| schema.pointer(&name[1..]));
        part["description"].is_string() || named.is_some_and(|part| part["description"].is_string())
    };
    each_part(&schema, "", &mut |path, part| {
        let (above, _) = path.rsplit_once('/').unwrap_or_default();
        let constrains = part.is_boolean() || path.contains("/contains/") || path.contains("/not/");
        if (above.ends_with("/properties") || above.ends_with("/$defs")) && !constrains {
            assert!(told(part), "{path} has no description");
        }
    });
}

const OPTIONS: [&str; 16] = [
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

/// Files from a seed. Values are JSON as text, so that a number keeps its spelling.
struct Files(Dice);

impl Random for Files {
    fn word(&mut self) -> u64 {
        self.0.word()
    }
}

impl Files {
    fn file(&mut self) -> String {
        if self.one_in(2) {
            return self.small_file();
        }
        let count = 1 + self.below(3) as usize;
        let policies: Vec<_> = ["a", "b", "c"][..count]
            .iter()
            .map(|name| format!("\"{name}\": {}", self.policy(name)))
            .collect();
        let mut policies = format!("{{{}}}", policies.join(", "));
        if self.one_in(60) {
            policies = self.odd();
        }
        let mut fields = vec![format!("\"policies\": {policies}")];
        if self.one_in(4) {
            let name = if self.one_in(10) { self.odd() } else { "\"a\"".to_owned() };
            fields.push(format!("\"default\": {name}"));
        }
        if self.one_in(60) {
            fields.push(format!("\"policy\": {}", self.odd()));
        }
        if self.one_in(100) {
            fields.remove(0);
        }
        format!("{{{}}}", fields.join(", "))
    }

    /// One option by itself, where nothing else can be what is wrong.
    fn small_file(&mut self) -> String {
        let option = self.pick(&OPTIONS);
        let value = self.right(option, "b").unwrap_or_default();
        let value = match self.below(12) {
            0 => self.odd(),
            1..4 => self.changed(value),
            _ => value,
        };
        let field = format!("\"{option}\": {value}");
        let other = if option == "within" { "wait_budget" } else { "within" };
        format!(r#"{{"policies": {{"a": "retry: 1", "b": {{"{other}": "1h", {field}}}}}}}"#)
    }

    fn policy(&mut self, name: &str) -> String {
        match self.below(40) {
            0 => self.odd(),
            1..4 => self.clause(),
            _ => {
                let mut options: Vec<_> = OPTIONS.to_vec();
                let share = self.pick(&[2, 3, 3, 12]);
                options.retain(|_| self.one_in(share));
                if !self.one_in(8) {
                    let count = self.pick(&["retry", "attempts"]);
                    options.retain(|option| !["retry", "attempts"].contains(option));
                    options.push(count);
                }
                if !self.one_in(10) && options.contains(&"modifiers") {
                    options.retain(|option| !["min_delay", "max_delay", "jitter"].contains(option));
                }
                let mut fields: Vec<_> = options
                    .into_iter()
                    .filter_map(|option| {
                        Some(format!("\"{option}\": {}", self.value(option, name)?))
                    })
                    .collect();
                if self.one_in(40) {
                    let key = self.pick(&["dely", "Retry", "max-delay", "pattern", "", "fallback"]);
                    fields.push(format!("\"{key}\": {}", self.odd()));
                }
                format!("{{{}}}", fields.join(", "))
            }
        }
    }

    fn clause(&mut self) -> String {
        let right =
            ["retry: 3", "attempts : 2, delay: 1s", "\\n# 1\\n retry#2\\n:\\t1", "jitter: full"];
        let wrong =
            ["", "retry", "retry: 3,", "dely: 1s", "5", "fallback: 1", "retry: 3, delay: 1"];
        let text = if self.one_in(8) { self.pick(&wrong) } else { self.pick(&right) };
        format!("\"{text}\"")
    }

    /// A value for an option, most often one that it takes; none for what this policy cannot have.
    fn value(&mut self, option: &str, policy: &str) -> Option<String> {
        if self.one_in(30) {
            return Some(self.odd());
        }
        if self.one_in(30) {
            let other = self.pick(&OPTIONS);
            // A count with a point is known to be one to the schema.
            let point = other == "factor" && ["retry", "attempts"].contains(&option);
            return self.right(if point { "jitter" } else { other }, policy);
        }
        let value = self.right(option, policy)?;
        Some(if self.one_in(20) { self.changed(value) } else { value })
    }

    fn right(&mut self, option: &str, policy: &str) -> Option<String> {
        let text = |value: String| format!("\"{value}\"");
        Some(match option {
            "retry" | "attempts" => self.count(),
            "backoff" => match self.below(4) {
                0 => self.delays(),
                1 => self.delays().replace('"', "").replace('[', "\"[").replace(']', "]\""),
                _ => {
                    let all = ["fixed", "linear", "exponential", "fibonacci", "decorrelated"];
                    text(self.pick(&all).to_owned())
                }
            },
            "factor" => {
                let whole = self.pick(&["1", "2", "3", "10", "999999998", "1000000000", "0"]);
                self.number(whole)
            }
            "jitter" => self.jitter(),
            "max_delay" if self.one_in(6) => text("none".to_owned()),
            "modifiers" => {
                let count = self.pick(&[0, 1, 2, 3, 8, 9, 10]);
                let entries: Vec<_> = (0..count).map(|_| self.modifier(policy)).collect();
                format!("[{}]", entries.join(", "))
            }
            "retry_on" | "stop_on" => {
                let count = self.below(4);
                let entries: Vec<_> = (0..count).map(|_| self.matcher()).collect();
                format!("[{}]", entries.join(", "))
            }
            // Only what comes before can be extended without a circle.
            "extends" => match policy {
                _ if self.one_in(20) => "\"b\"".to_owned(),
                "a" => return None,
                "b" => "\"a\"".to_owned(),
                _ => text(self.pick(&["a", "b"]).to_owned()),
            },
            _ => text(self.duration()),
        })
    }

    fn count(&mut self) -> String {
        let edges = ["0", "1", "3", "10", "4294967294", "4294967295", "4294967296", "-1"];
        let number = match self.below(3) {
            0 if self.one_in(2) => self.pick(&edges).to_owned(),
            0 => (self.word() >> (28 + self.below(30))).to_string(),
            _ => (1 + self.below(12)).to_string(),
        };
        match self.below(6) {
            0 => "\"unlimited\"".to_owned(),
            1 => format!("\"{}{number}\"", self.pick(&["", "0", "000"])),
            _ => number,
        }
    }

    fn duration(&mut self) -> String {
        let parts = 1 + self.below(8) / 6;
        let mut duration = String::new();
        for _ in 0..parts {
            let whole = self.pick(&["0", "1", "2", "05", "30", "500", "18446744073709551616000"]);
            let unit =
                self.pick(&["ns", "us", "ms", "s", "min", "m", "h", "d", "ms", "s", "s", "s"]);
            let digits = if self.one_in(3) { self.digits(10) } else { String::new() };
            let point = if digits.is_empty() { "" } else { "." };
            let unit =
                if self.one_in(40) { self.pick(&["", "S", "sec", "w", "M", "µs"]) } else { unit };
            duration += &format!("{whole}{point}{digits}{unit}");
        }
        duration
    }

    /// Up to `most` digits, often with zeros at their end.
    fn digits(&mut self, most: u64) -> String {
        let count = self.below(most + 1);
        let zeros = self.below(most + 1);
        (0..count)
            .map(|at| if at >= zeros { '0' } else { self.pick(&['0', '1', '5', '9']) })
            .collect()
    }

    fn delays(&mut self) -> String {
        let count = self.pick(&[0, 1, 2, 3, 3, 32, 33]);
        let same = self.duration();
        let delays: Vec<_> = (0..count)
            .map(|at| format!("\"{}\"", if at < 3 { self.duration() } else { same.clone() }))
            .collect();
        format!("[{}]", delays.join(", "))
    }

    /// A decimal, as a number or as a string; a number has at most nine digits after its point.
    fn number(&mut self, whole: &str) -> String {
        let string = self.one_in(3);
        let digits =
            if self.one_in(2) { self.digits(if string { 10 } else { 9 }) } else { String::new() };
        let point = if digits.is_empty() { "" } else { "." };
        if string {
            format!("\"{whole}{point}{digits}\"")
        } else {
            format!("{whole}{point}{digits}")
        }
    }

    fn jitter(&mut self) -> String {
        let ends = ["0", "0", "1", "2", "9", "10", "11"];
        match self.below(6) {
            0 => {
                let [low, high] = [self.pick(&ends), self.pick(&ends)].map(|end| self.number(end));
                format!("[{low}, {high}]")
            }
            1 => {
                let [low, high] = [self.pick(&ends), self.pick(&ends)].map(|end| self.number(end));
                format!("\"[{low}, {high}]\"")
                    .replace("\"[\"", "\"[")
                    .replace("\"]\"", "]\"")
                    .replace("\",", ",")
                    .replace(", \"", ", ")
            }
            2 | 3 => {
                let whole =
                    self.pick(&["0", "5", "25", "050", "99", "100", "101", "999", "1000", "1001"]);
                let digits = if self.one_in(3) { self.digits(10) } else { String::new() };
                let point = if digits.is_empty() { "" } else { "." };
                format!("\"{}{whole}{point}{digits}%\"", self.pick(&["", "+"]))
            }
            _ => format!("\"{}\"", self.pick(&["none", "full", "equal"])),
        }
    }

    fn modifier(&mut self, policy: &str) -> String {
        if self.one_in(60) {
            return self.odd();
        }
        let option = self.pick(&["min_delay", "max_delay", "jitter", "jitter"]);
        let value = match option {
            // Most of a long list has to be right, or no long list is.
            "jitter" if !self.one_in(8) => format!("\"{}\"", self.pick(&["none", "full", "5%"])),
            "max_delay" if self.one_in(3) => "\" none\"".to_owned(),
            "min_delay" | "max_delay" if !self.one_in(8) => "\"1s\"".to_owned(),
            _ => self.right(option, policy).unwrap_or_default(),
        };
        let more = if self.one_in(80) { ", \"delay\": \"1s\"" } else { "" };
        format!("{{\"{option}\": {value}{more}}}")
    }

    fn matcher(&mut self) -> String {
        let right = [
            "\"network\"",
            "\"timeout\"",
            "\"server_error\"",
            "\"rate_limit\"",
            "{\"pattern\": \"x+\"}",
        ];
        let wrong = [
            "\" network\"",
            "\"pattern\"",
            "{}",
            "{\"pattern\": 5}",
            "{\"pattern\": \"(\"}",
            "5",
            "{\"network\": null}",
            "[\"network\"]",
        ];
        (if self.one_in(20) { self.pick(&wrong) } else { self.pick(&right) }).to_owned()
    }

    /// A string with a character more, less or other; anything else as it is.
    fn changed(&mut self, value: String) -> String {
        const OTHER: [&str; 23] = [
            " ", "\\t", "0", "1", "9", ".", "%", "+", "-", "[", "]", ",", "s", "m", "n", "h", "d",
            "u", "e", "none", ":", "#", "é",
        ];
        let Some(inside) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return value;
        };
        if inside.contains(['"', '\\']) {
            return value;
        }
        let mut characters: Vec<String> = inside.chars().map(String::from).collect();
        let at = self.below(characters.len() as u64 + 1) as usize;
        let at = self.pick(&[0, at, at, characters.len()]);
        let other = self.pick(&OTHER).to_owned();
        match self.below(3) {
            0 if at < characters.len() => drop(characters.remove(at)),
            1 if at < characters.len() => characters[at] = other,
            _ => characters.insert(at, other),
        }
        format!("\"{}\"", characters.concat())
    }

    /// A value of some kind or other.
    fn odd(&mut self) -> String {
        let all = [
            "null",
            "true",
            "false",
            "0",
            "5",
            "-5",
            "0.25",
            "2.5",
            "[]",
            "{}",
            "[[]]",
            "[null]",
            "\"\"",
            "\" \"",
            "\"5\"",
            "\"true\"",
            "\"none\"",
            "\"1s\"",
            "\"full\"",
            "[\"1s\"]",
            "[1, 2]",
            "[0.5, 1.5]",
            "[\"network\"]",
            "{\"pattern\": \"x\"}",
            "{\"jitter\": \"full\"}",
            "{\"secs\": 1}",
            "{\"retry\": 1}",
            "[{\"jitter\": \"full\"}]",
            "\"fixed\"",
            "\"unlimited\"",
            "18446744073709551616",
            "\"retry: 1\"",
        ];
        self.pick(&all).to_owned()
    }
}
