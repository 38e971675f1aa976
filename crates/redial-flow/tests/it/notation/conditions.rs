//! Conditions that can never be right are found before anything runs, as far as the kinds of values are known.

use std::borrow::Cow;
use std::collections::BTreeMap;

use redial_core::Random;
use redial_flow::Expression;
use redial_flow::definition::{Action, Condition, Definition, Step};
use redial_flow::expression::{Found, Lookup};
use redial_flow::notation::read;
use redial_policy::Format;
use redial_seeds::each_seed;
use serde_json::{Value, json};

use super::check;

/// A flow with inputs and steps of all kinds, and this condition.
fn flow_with(when: &str) -> String {
    format!(
        "inputs: {{name: ann, count: 3, ratio: 0.5, dry: false, tags: [a], of: {{id: 7}}, token: null}}
steps:
  size: {{run: [wc, -c]}}
  list: {{run: [ls], output: lines}}
  data: {{run: [cat], output: json}}
  soft: {{run: [cat], fallback: {{value: 5}}}}
  map:
    each: {{lines: items.txt}}
    steps: [{{run: [echo]}}]
  last:
    when: {when}
    run: [echo]
",
        when = serde_json::to_string(when).unwrap(),
    )
}

#[track_caller]
fn refused(when: &str, message: &str) {
    let text = flow_with(when);
    let reading = read(&text, Format::Yaml);
    let told: Vec<_> = reading.diagnostics.iter().map(|found| &*found.message).collect();
    assert_eq!(told, [format!("when: {message}")], "{when}");
}

#[track_caller]
fn taken(when: &str) {
    let text = flow_with(when);
    let reading = read(&text, Format::Yaml);
    let told: Vec<_> = reading.diagnostics.iter().map(|found| &*found.message).collect();
    assert_eq!(told, [""; 0], "{when}");
}

#[test]
fn text_is_not_compared_with_a_number() {
    refused(
        "size.output > 100",
        "`>` between text and a number; make a number of the text with `int(…)` or `double(…)`; `size` prints text, \
         unless it has `output: json`",
    );
    refused(
        "size.output == 0",
        "`==` between text and a number is never true; make a number of the text with `int(…)` or `double(…)`; `size` \
         prints text, unless it has `output: json`",
    );
    refused(
        "inputs.name != 3",
        "`!=` between text and a number is always true; make a number of the text with `int(…)` or `double(…)`",
    );
    refused(
        "inputs.count == '3'",
        "`==` between a number and text is never true; make a number of the text with `int(…)` or `double(…)`",
    );
    refused(
        "size.output in [1, 2]",
        "`in` of text and a list that has a number alone is never true; make a number of the text with `int(…)` or \
         `double(…)`; `size` prints text, unless it has `output: json`",
    );
    for when in [
        "int(size.output) > 100",
        "data.output > 100",
        "data.output.size == 3",
        "inputs.count * 2 < 10 && inputs.ratio < 1",
        "map.failed == 0 || map.results[0] == 5",
        "size.output in ['1', 2]",
        "soft.output > 3",
        "inputs.of.id == 7",
    ] {
        taken(when);
    }
}

#[test]
fn what_is_neither_true_nor_false_is_no_condition() {
    const REST: &str = "where true or false is expected; compare it with something";
    refused(
        "size.output",
        &format!("text {REST}; `size` prints text, unless it has `output: json`"),
    );
    refused("map.failed", &format!("a number {REST}"));
    refused("inputs.dry && inputs.tags", &format!("a list {REST}"));
    refused("!(3 > 4 ? 1 : 2)", &format!("a number {REST}"));
    for when in ["size.failed", "inputs.dry", "data.output", "true", "has(data.output.a)"] {
        taken(when);
    }
}

#[test]
fn functions_and_lists_are_given_what_they_take() {
    refused("inputs.count.startsWith('3')", "`startsWith` of a number, not of text");
    refused("size(inputs.dry) > 0", "`size` of a boolean, not of text or a list or an object");
    refused("int(list.output) > 0", "`int` of a list, not of a number or text");
    refused("list.output.contains('a')", "`contains` is of text; of a list, write `part in list`");
    refused("'a' in inputs.name", "`in` text; write `text.contains('part')`");
    refused("inputs.name.exists(x, x == 'a')", "text where a list is expected");
    refused("inputs.tags + 1 == 2", "`+` between a list and a number");
    refused("-inputs.name < 0", "minus of text, not of a number");
    refused("inputs.name.first == 'a'", "`inputs.name` is text, and has no field `first`");
    refused("list.output['a'] == 1", "`list.output` is a list, and has no field `a`");
    refused("inputs.tags[inputs.name] == 1", "a list has no item that text names");
    for when in [
        "'a' in list.output && size(list.output) > 3",
        "list.output.exists(x, x > 3)",
        "inputs.tags.map(x, x + 1).size() > 0",
        "inputs.of.map(x, x.startsWith('i')).size() > 0",
        "inputs.of.missing == 3",
        "inputs.name + 's' == 'anns'",
    ] {
        taken(when);
    }
}

/// Whether there is a value at all is seen when there should be one.
#[test]
fn null_fits_everything() {
    for when in [
        "size.output == null",
        "inputs.token != null && inputs.token == 'a'",
        "inputs.token > 3",
        "inputs.count == null",
    ] {
        taken(when);
    }
}

#[test]
fn items_are_what_their_source_has() {
    let map = |each: &str, condition: &str| {
        format!(
            "steps:\n  map:\n    each: {each}\n    where: {condition}\n    steps: [{{run: [echo]}}]\n"
        )
    };
    const NUMBER: &str = "make a number of the text with `int(…)` or `double(…)`";
    check(
        &map("{lines: a.txt}", "item > 3"),
        &format!(
            "bad-expression `item > 3`: where: `>` between text and a number; {NUMBER}; an item is text here"
        ),
    );
    check(
        &map("{lines: a.txt}", "item.size > 3"),
        "bad-expression `item.size`: where: `item` is text, and has no field `size`",
    );
    check(
        &map("{csv: a.csv}", "width > 1024"),
        &format!(
            "bad-expression `width > 1024`: where: `>` between text and a number; {NUMBER}; the fields of CSV and TSV are \
             text"
        ),
    );
    check(
        &map("{command: [ls]}", "item == 3"),
        &format!(
            "bad-expression `item == 3`: where: `==` between text and a number is never true; {NUMBER}; an item is text \
             here"
        ),
    );
    check(
        "inputs: {sizes: [1, 2]}\nsteps:\n  map:\n    each: ${inputs.sizes}\n    where: item > 'a'\n    steps: [{run: [ls]}]\n",
        &format!("bad-expression `item > 'a'`: where: `>` between a number and text; {NUMBER}"),
    );
    for (each, condition) in [
        ("{csv: a.csv}", "int(width) > 1024 && item.name == 'a'"),
        ("{jsonl: a.jsonl}", "width > 1024 && item == 3"),
        ("{file: a.json}", "width > 1024"),
        ("{lines: a.txt}", "item != 'a'"),
        ("{command: [ls], json_path: '$[*]'}", "item > 3"),
    ] {
        check(&map(each, condition), "");
    }
}

/// Each condition of a branch, and of the steps of a map, is told where it stands.
#[test]
fn every_condition_is_told_where_it_stands() {
    check(
        r#"
steps:
  size: {run: [wc, -c]}
  pack:
    when: size.output
    branch:
      - when: "size.output > 3"
        run: [gzip]
    otherwise: {run: [cat]}
  map:
    each: {csv: a.csv}
    steps:
      - name: one
        when: item.width
        run: [echo]
      - when: one.output == item_number
        run: [echo]
"#,
        "
bad-expression `size.output`: when: text where true or false is expected; compare it with something; `size` prints text, unless it has `output: json`
bad-expression `size.output > 3`: when: `>` between text and a number; make a number of the text with `int(…)` or `double(…)`; `size` prints text, unless it has `output: json`
bad-expression `item.width`: when: text where true or false is expected; compare it with something; the fields of CSV and TSV are text
bad-expression `one.output == item_number`: when: `==` between text and a number is never true; make a number of the text with `int(…)` or `double(…)`; `one` prints text, unless it has `output: json`
",
    );
}

struct Inputs(BTreeMap<String, Value>);

impl Lookup for Inputs {
    fn find(&self, path: &[String]) -> Found<'_> {
        match path {
            [_] => Found::Space,
            [_, name, ..] => {
                self.0.get(name).map_or(Found::Missing, |value| Found::Value(Cow::Borrowed(value)))
            }
            [] => Found::Missing,
        }
    }
}

/// What is refused before anything runs would have been an error, or a comparison that says the same of all values.
/// Without `&&` and its like, behind which an error can hide.
#[test]
fn nothing_is_refused_that_comes_to_something() {
    const VALUES: [&str; 14] = [
        "inputs.number",
        "inputs.text",
        "inputs.list",
        "inputs.object",
        "inputs.flag",
        "inputs.object.id",
        "inputs.text.id",
        "inputs.list[0]",
        "null",
        "3",
        "'a'",
        "true",
        "[1, 'a']",
        "{'a': 1}",
    ];
    const PATTERNS: [&str; 24] = [
        "(A == B)",
        "(A != B)",
        "(A < B)",
        "(A >= B)",
        "(A in B)",
        "(A + B)",
        "(A - B)",
        "(A * B)",
        "!A",
        "(-A)",
        "size(A)",
        "A.contains(B)",
        "A.startsWith(B)",
        "A.trim()",
        "A.matches('a')",
        "int(A)",
        "string(A)",
        "bool(A)",
        "A[B]",
        "[A, B]",
        "{'a': A}.a",
        "has(inputs.object.id)",
        "A.exists(x, x == B)",
        "A.map(x, B)",
    ];
    let inputs =
        json!({"number": 3, "text": "abc", "list": [1], "object": {"id": 7}, "flag": true});
    let inputs: BTreeMap<String, Value> = serde_json::from_value(inputs).unwrap();
    let lookup = Inputs(inputs.clone());
    let mut step = Step::new("a", Action::Shell("true".into()));
    step.when = Some(Condition { text: String::new(), loose: false });
    let definition = Definition { inputs, steps: vec![step], ..Definition::new("f") };
    let refused = std::cell::Cell::new(0);
    each_seed(5_000, |mut random| {
        let mut draw = |below: usize| (random.word() % below as u64) as usize;
        let mut text = PATTERNS[draw(PATTERNS.len())].to_owned();
        for _ in 0..draw(4) {
            text = text.replace('B', VALUES[draw(VALUES.len())]);
            text = text.replacen('A', PATTERNS[draw(PATTERNS.len())], 1);
        }
        let text = text.replace('A', VALUES[draw(VALUES.len())]);
        let text = text.replace('B', VALUES[draw(VALUES.len())]);
        let Ok(expression) = Expression::parse(&text) else { return };
        let mut definition = definition.clone();
        definition.steps[0].when = Some(Condition { text: text.clone(), loose: false });
        let Some(misfit) = definition.misfits().pop() else { return };
        refused.set(refused.get() + 1);
        let message = &misfit.bad.message;
        let says_the_same = ["never true", "always true"].iter().any(|part| message.contains(part));
        let holds = expression.holds(&lookup);
        assert!(says_the_same || holds.is_err(), "{text}: {message}: {holds:?}");
        assert!(text.get(misfit.bad.span.start..misfit.bad.span.end).is_some(), "{text}");
    });
    assert!(std::env::var_os("REDIAL_SEED").is_some() || refused.get() > 500, "{}", refused.get());
}
