//! The published schema and the reader say the same of a flow file: what an editor underlines is what `redial check` refuses,
//! up to what no schema can say.

use std::cell::Cell;

use jsonschema::Validator;
use redial_core::{Random, SplitMix64};
use redial_flow::notation::{SCHEMA, read};
use redial_policy::{Diagnostic, Format};
use redial_seeds::each_seed;
use serde_json::{Map, Value, json};

/// What the reader refuses and a schema cannot: names from elsewhere in the file, and the languages inside of strings.
const BEYOND: [&str; 18] = [
    "unknown-step",
    "unknown-value",
    "unknown-policy",
    "unknown-rules",
    "circular-needs",
    "circular-extends",
    "inner-step",
    "item-outside-map",
    "bad-reference",
    "nested-interpreter",
    "unclear-shell",
    "bad-expression",
    "bad-path",
    "bad-pattern",
    "min-above-max",
    "too-many-modifiers",
    "duplicate-option",
    "too-large",
];

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

fn errors(text: &str) -> Vec<Diagnostic> {
    let reading = read(text, Format::Json);
    reading.diagnostics.into_iter().filter(|found| !found.is_warning()).collect()
}

/// Whether a schema could not have known.
fn is_beyond(error: &Diagnostic) -> bool {
    let conditions = ["success_on:", "stop_on:", "retry_on:", "delay_from:"];
    BEYOND.contains(&error.kind.name())
        // The contents of a condition or a clause.
        || conditions.iter().any(|field| error.message.starts_with(field))
        || error.message.contains("is not an option")
        || error.message.contains("is no map, and has no items")
        // Two settings of a budget against each other.
        || error.message.contains("more than the capacity of")
        || error.message.contains("never refills")
        // What arms have to do with one another.
        || error.message.starts_with("the output of this arm")
        || error.message.contains("its arms cannot name it")
}

/// Asserts that both say the same, and gives what they say.
#[track_caller]
fn agree(validator: &Validator, text: &str) -> bool {
    let instance: Value = serde_json::from_str(text).expect("JSON");
    let complaint = validator
        .iter_errors(&instance)
        .next()
        .map(|error| format!("{}: {error}", error.instance_path()));
    let errors = errors(text);
    match (&complaint, errors.iter().find(|error| !is_beyond(error))) {
        (None, Some(error)) => panic!("the schema accepts, and the reader says {error}: {text}"),
        (Some(complaint), _) if errors.is_empty() => {
            panic!("the reader accepts, and the schema says {complaint}: {text}")
        }
        _ => complaint.is_none(),
    }
}

#[test]
fn both_accept_what_is_right() {
    let validator = validator();
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let files = [
        schema["examples"][0].clone(),
        json!({"steps": {"a": {"run": ["head", "-n", 5, true], "policy": "retry: 2", "x-why": 1}}, "x-": null}),
        json!({"steps": {"größe": {"shell": "ls"}, "_a-1": {"shell": "ls", "needs": {"größe": "over"}}}}),
        json!({"steps": {"m": {"each": {"stdin": "json", "json_path": "$[*]"}, "steps": {"a": {"run": ["ls"]}},
            "failures_max": "0.5%", "key": "id", "budget": {"capacity": 5}, "breaker": true, "rate": "10/1m30s", "where": "item.a > 1"}}}),
        json!({"steps": {"p": {"parallel": {"a": {"run": ["ls"]}, "m": {"each": {"command": ["ls"]}, "steps": [{"name": "i", "run": ["ls"]}]}}}}}),
        json!({"steps": {"b": {"branch": [{"when": "true", "run": ["ls"]}, {"name": "i", "when": true, "shell": "ls"}], "needs": "p",
            "otherwise": {"name": "o", "run": ["ls"]}, "when": "!b2.failed", "output": "json", "x-why": 1},
            "b2": {"branch": {"c": {"when": "true", "run": ["ls"], "output": "json"}}},
            "m": {"each": {"lines": "f"}, "steps": [{"name": "k", "branch": [{"when": "item == 'a'", "run": ["ls"]}]}]},
            "n": {"each": {"lines": "f"}, "steps": {"l": {"branch": {"q": {"when": "true", "run": ["ls"]}}}}},
            "p": {"parallel": {"r": {"branch": [{"when": "true", "run": ["ls"]}]}}}}}),
        json!({"policies": {"a": {"attempts": 2, "delay": "1s"}}, "default": "a", "within": "1h", "slots": 3,
            "secrets": {"A": {"env": "B"}, "C": {"file": "/d"}}, "inputs": {"n": [1]}, "outputs": {"o": "${s.output}"},
            "steps": {"s": {"run": ["ls", "${inputs.n}"], "policy": {"extends": "a"}, "secrets": ["A"], "env": {"X": 1},
                "dir": "/", "stdin": "${inputs.n}", "output": "json", "idempotent": false, "priority": -1,
                "fallback": {"value": {"a": [null]}}, "timeout": "5s", "max_retry_after": "1min"}}}),
    ];
    for file in files {
        let text = file.to_string();
        assert_eq!(errors(&text), [], "{text}");
        assert!(agree(&validator, &text));
    }
}

/// Fields, and values that are right or wrong for them.
const VALUES: [(&str, &[&str]); 36] = [
    ("run", &["[\"ls\"]", "[]", "\"ls\"", "[\"a\", [1]]", "[1, true, \"x\"]", "null"]),
    ("shell", &["\"ls\"", "\"\"", "\" \"", "[\"ls\"]", "1"]),
    (
        "each",
        &[
            "\"${a.output}\"",
            "\"x\"",
            "{\"lines\": \"f\"}",
            "{\"lines\": \"f\", \"csv\": \"g\"}",
            "{}",
            "{\"stdin\": \"xml\"}",
            "{\"stdin\": \"csv\", \"delimiter\": \";\"}",
            "{\"csv\": \"f\", \"delimiter\": \";;\"}",
            "{\"lines\": \"f\", \"json_path\": \"$\"}",
            "{\"command\": \"ls\"}",
            "[1]",
        ],
    ),
    (
        "steps",
        &[
            "[{\"run\": [\"ls\"]}]",
            "[]",
            "{}",
            "{\"i\": {\"shell\": \"ls\"}}",
            "[{\"name\": \"i\", \"run\": [\"ls\"]}]",
            "[{\"name\": 1, \"run\": [\"ls\"]}]",
            "[{\"each\": {\"lines\": \"f\"}, \"steps\": []}]",
            "[1]",
            "\"ls\"",
            "{\"i\": {\"name\": \"j\", \"shell\": \"ls\"}}",
            "[{\"name\": \"i\", \"branch\": [{\"when\": true, \"run\": [\"ls\"]}], \"otherwise\": {\"run\": [\"ls\"]}}]",
            "{\"i\": {\"branch\": [{\"when\": true, \"run\": [\"ls\"]}], \"timeout\": \"1s\"}}",
            "[{\"otherwise\": {\"run\": [\"ls\"]}}]",
        ],
    ),
    (
        "branch",
        &[
            "[{\"when\": \"true\", \"run\": [\"ls\"], \"timeout\": \"1s\"}]",
            "[{\"run\": [\"ls\"]}]",
            "[{\"name\": \"y\", \"when\": \"true\", \"shell\": \"ls\"}]",
            "{\"y\": {\"when\": true, \"run\": [\"ls\"]}, \"x\": {\"when\": true, \"run\": [\"ls\"], \"output\": \"json\"}}",
            "{\"y\": {\"name\": \"x\", \"when\": true, \"run\": [\"ls\"]}}",
            "[{\"when\": true, \"branch\": [{\"when\": true, \"run\": [\"ls\"]}]}]",
            "[{\"when\": true, \"each\": {\"lines\": \"f\"}, \"steps\": [{\"run\": [\"ls\"]}]}]",
            "[{\"when\": true}]",
            "[]",
            "{}",
            "[1]",
            "\"ls\"",
        ],
    ),
    (
        "otherwise",
        &[
            "{\"run\": [\"ls\"]}",
            "{\"name\": \"o\", \"run\": [\"ls\"]}",
            "{\"when\": true, \"run\": [\"ls\"]}",
            "{\"parallel\": {\"o\": {\"run\": [\"ls\"]}}}",
            "{\"name\": 1, \"run\": [\"ls\"]}",
            "[]",
            "null",
        ],
    ),
    ("parallel", &["{\"b\": {\"run\": [\"ls\"]}}", "{}", "[]", "{\"b\": {\"parallel\": {}}}"]),
    (
        "needs",
        &["\"a\"", "[\"a\"]", "{\"a\": \"over\"}", "{\"a\": \"all\"}", "{\"a\": 1}", "1", "[1]"],
    ),
    (
        "policy",
        &["\"fetch\"", "\"retry: 3\"", "{\"retry\": 3}", "{\"rety\": 3}", "{}", "1", "\"x: y\""],
    ),
    ("timeout", &["\"5s\"", "5", "\"5\"", "[]", "null"]),
    ("rules", &["\"curl\"", "[\"curl\", \"./a.toml\"]", "1", "[1]"]),
    ("stop_on", &["\"exit:1\"", "[\"exit:1\"]", "\"exti:1\"", "1"]),
    ("delay_from", &["\"stderr:retry-after\"", "1"]),
    ("when", &["\"true\"", "true", "\"a.output == 1\"", "\"(\"", "[]"]),
    ("priority", &["1", "-1", "1.5", "\"1\""]),
    ("slots", &["1", "0", "-1", "\"1\""]),
    ("rate", &["\"100/1min\"", "\"0/1min\"", "\"100\"", "\"100/5\"", "100"]),
    (
        "budget",
        &[
            "{\"capacity\": 20, \"deposit\": 0.1}",
            "true",
            "{}",
            "{\"cost\": 0, \"floor_per_second\": 1e-9}",
            "{\"capacity\": -1}",
            "{\"capacity\": 1e9}",
            "{\"deposit\": 1e-12}",
            "{\"capacity\": \"20\"}",
            "{\"capacity\": 1, \"cost\": 2}",
            "{\"deposit\": 0, \"floor_per_second\": 0}",
            "{\"capcity\": 1}",
            "false",
            "5",
        ],
    ),
    (
        "breaker",
        &[
            "{\"failures\": 3, \"recovery\": \"1min\", \"probes\": 2}",
            "true",
            "{\"x-why\": 1}",
            "{\"failures\": 0}",
            "{\"failures\": 4294967296}",
            "{\"recovery\": 30}",
            "{\"probes\": 16777216}",
            "{\"timeout\": \"30s\"}",
            "false",
            "null",
        ],
    ),
    ("output", &["\"json\"", "\"jsn\"", "null"]),
    (
        "fallback",
        &[
            "{\"value\": 1}",
            "{\"shell\": \"ls\"}",
            "{\"run\": []}",
            "{}",
            "\"none\"",
            "{\"value\": 1, \"run\": [\"ls\"]}",
            "{\"valu\": 1}",
        ],
    ),
    ("on_failure", &["\"stop\"", "\"continue\"", "\"retry\""]),
    ("idempotent", &["true", "\"true\""]),
    ("env", &["{\"A\": \"x\"}", "{\"A-B\": \"x\"}", "{\"A\": [1]}", "[]"]),
    ("dir", &["\"/\"", "[]"]),
    ("stdin", &["\"x\"", "{}"]),
    ("secrets", &["[]", "[1]", "1"]),
    ("where", &["\"item.a > 1\"", "[]"]),
    ("failures_max", &["10", "\"5%\"", "\"100%\"", "\"101%\"", "\"5\"", "-1", "1.5"]),
    ("offset", &["0", "-1", "\"1\""]),
    ("max_items", &["3", "1.5"]),
    ("sort_by", &["\"a DESC\"", "\"a b\"", "[]"]),
    ("max_retry_after", &["\"1min\"", "1"]),
    ("retry_on", &["[\"exit:1-5\", \"timeout\"]", "{}"]),
    ("call", &["\"M\""]),
    ("unknown", &["1"]),
];

fn drawn<'v, T>(random: &mut SplitMix64, values: &'v [T]) -> &'v T {
    &values[(random.word() % values.len() as u64) as usize]
}

fn random_step(random: &mut SplitMix64) -> Value {
    let mut step = Map::new();
    // Most have an action, so that what else is there decides.
    match random.word() % 8 {
        0..4 => drop(step.insert("run".into(), json!(["ls"]))),
        4 => drop(step.insert("branch".into(), json!([{"when": true, "run": ["ls"]}]))),
        5..7 => {
            step.insert("each".into(), json!({"lines": "f"}));
            step.insert("steps".into(), json!([{"run": ["ls"]}]));
        }
        _ => {}
    }
    for _ in 0..random.word() % 4 {
        let (field, values) = drawn(random, &VALUES);
        // Most values are right.
        let value =
            if random.word().is_multiple_of(3) { *drawn(random, values) } else { values[0] };
        step.insert((*field).into(), serde_json::from_str(value).expect(value));
    }
    Value::Object(step)
}

#[test]
fn both_say_the_same_of_random_files() {
    let validator = validator();
    let counts = [Cell::new(0), Cell::new(0)];
    each_seed(3000, |mut random| {
        let mut file =
            json!({"policies": {"fetch": "retry: 3"}, "steps": {"a": random_step(&mut random)}});
        if random.word().is_multiple_of(2) {
            file["steps"]["z"] = random_step(&mut random);
        }
        let accepted = agree(&validator, &file.to_string());
        counts[usize::from(accepted)].update(|count| count + 1);
    });
    if redial_seeds::asked().is_none() {
        let [refused, accepted] = counts.map(Cell::into_inner);
        assert!(refused > 1000 && accepted > 500, "{refused} refused, {accepted} accepted");
    }
}

/// The schema has the policies of the other schema, word for word.
#[test]
fn the_policies_of_both_schemas_are_one() {
    let ours: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let theirs: Value = serde_json::from_str(redial_policy::SCHEMA).expect("JSON");
    for (name, definition) in theirs["$defs"].as_object().expect("definitions") {
        assert_eq!(&ours["$defs"][name], definition, "{name}");
    }
    assert_eq!(ours["properties"]["policies"], theirs["properties"]["policies"]);
}
