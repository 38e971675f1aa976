//! Workflow files with `setup`, `map` and `reduce`: text in, the definition or the diagnostics out.

use redial_flow::definition::{Definition, ItemFormat, Origin, Source};
use redial_flow::notation::{Notation, Options, Reading, read};
use redial_policy::Format;
use serde_json::{Value, json};

const SEED: &str = include_str!("../../../redial-policy/tests/seeds/001.md");

fn told(reading: &Reading, text: &str) -> String {
    let line = |found: &redial_policy::Diagnostic| {
        let place = found.span.of(text).lines().next().unwrap_or_default();
        format!("{} `{place}`: {}", found.kind.name(), found.message)
    };
    reading.diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let reading = read(text, Format::Yaml);
    assert_eq!(reading.notation, Notation::WorkItems);
    assert_eq!(told(&reading, text), expected.trim());
}

#[track_caller]
fn definition(options: &Options<'_>, text: &str) -> Definition {
    let reading = options.read(text, Format::Yaml);
    assert_eq!(told(&reading, text), "");
    reading.definition.expect("a definition")
}

fn steps(text: &str) -> Value {
    serde_json::to_value(&definition(&Options::default(), text).steps).unwrap()
}

fn blocks() -> Vec<&'static str> {
    let parts = SEED.split("```yaml\n").skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_example_of_the_seed_is_read_with_its_policy() {
    let policies: Vec<_> = blocks()
        .into_iter()
        .map(|text| {
            let definition = definition(&Options::default(), text);
            assert_eq!(definition.steps[0].name, "map");
            assert_eq!(definition.steps.len(), 2);
            definition.steps[1].policy.clone()
        })
        .collect();
    assert_eq!(
        policies,
        [
            "attempts: 5, delay: 2s, max_delay: 30s",
            "attempts: 5, delay: 1s, backoff: linear, increment: 2s, max_delay: 30s",
            "attempts: 5, delay: 1s, backoff: exponential, max_delay: 1min",
            "attempts: 5, delay: 1s, backoff: exponential, factor: 3, max_delay: 1min",
            "attempts: 6, delay: 1s, backoff: fibonacci, max_delay: 30s",
            "attempts: 5, backoff: [1s, 3s, 7s, 15s], max_delay: 1min",
            "attempts: 5, delay: 2s, backoff: exponential, max_delay: 1min, jitter: 25%, \
             retry_on: [timeout, pattern: \"connection refused\"]",
        ]
    );
}

#[test]
fn a_map_without_an_input_takes_items_or_runs_once() {
    let text = blocks()[0];
    let source = |options: &Options<'_>| {
        let map = serde_json::to_value(&definition(options, text).steps[0]).unwrap();
        map["action"]["each"]["source"].clone()
    };
    assert_eq!(source(&Options::default()), json!({"from": {"once": {}}, "format": "lines"}));
    let items = Source { from: Origin::Stdin, format: ItemFormat::JsonLines };
    let options = Options { items: Some(items), ..Options::default() };
    assert_eq!(source(&options), json!({"from": "stdin", "format": "json_lines"}));
}

#[test]
fn the_complete_example_is_a_map_over_the_items_of_a_file() {
    let text = blocks().pop().expect("a block");
    assert_eq!(
        steps(text)[0],
        json!({
            "name": "map",
            "action": {"each": {"source": {
                "from": {"file": "work-items.json"},
                "format": {"json": "$.items[*]"},
            }}},
            "policy": "attempts: 1",
        })
    );
    assert_eq!(steps(text)[1]["action"], json!({"shell": "process-item ${item.id}"}));
    assert_eq!(steps(text)[1]["inside"], "map");
    assert_eq!(steps(text)[1]["on_failure"], "dead_letter");
}

#[test]
fn a_workflow_with_everything_is_lowered_to_steps() {
    let text = r#"
name: debt
mode: mapreduce
env: {LANG: C, LEVEL: "1"}
setup:
  - shell: make list
    timeout: 60
    capture: total
    capture_format: number
  - shell: "echo ${total} ${shell.output}"
    env: {LEVEL: "2"}
    working_dir: out
map:
  input: items.json
  json_path: "$.items[*]"
  filter: "severity == 'high' AND score >= 5"
  sort_by: "score DESC"
  distinct: id
  max_items: 10
  offset: 1
  max_parallel: 4
  agent_timeout_secs: 30
  agent_template:
    commands:
      - shell: "count '${item.path}' ${item_id}"
        capture_output: found
        retry: {attempts: 2, initial_delay: 1s, backoff: fixed}
      - write_file: {path: "out/${item.id}.txt", content: "${found} of ${total}"}
        when: "${found} != ''"
      - shell: "clean ${item.id}"
        on_failure: {shell: "log ${item.id}"}
error_policy:
  on_item_failure: dlq
  failure_threshold: 0.25
reduce:
  - shell: "report ${map.successful} ${map.total} ${map.failed}"
    on_failure: {fail_workflow: false}
  - shell: "echo ${shell.output}"
    when: "${map.failed} > 0"
    timeout: 2s
"#;
    let definition = definition(&Options::default(), text);
    assert_eq!(definition.name, "debt");
    let env = json!([["LANG", "C"], ["LEVEL", "1"]]);
    let secs = |secs: u64| json!({"secs": secs, "nanos": 0});
    assert_eq!(
        serde_json::to_value(&definition.steps).unwrap(),
        json!([
            {
                "name": "setup_1", "action": {"shell": "make list"}, "policy": "attempts: 1",
                "timeout": secs(60), "output": "json", "env": env,
            },
            {
                "name": "setup_2",
                "action": {"shell": "echo ${setup_1.output} ${setup_1.output}"},
                "needs": [{"step": "setup_1", "kind": "output"}],
                "policy": "attempts: 1", "env": [["LANG", "C"], ["LEVEL", "2"]], "dir": "out",
            },
            {
                "name": "map",
                "action": {"each": {
                    "source": {"from": {"file": "items.json"}, "format": {"json": "$.items[*]"}},
                    "where": {"text": "severity == 'high' AND score >= 5", "loose": true},
                    "sort_by": "score DESC", "distinct": "id", "offset": 1, "max_items": 10,
                    "failures_max": {"millionths": 250_000},
                }},
                "needs": [
                    {"step": "setup_2", "kind": "over"},
                    {"step": "setup_1", "kind": "output"},
                ],
                "policy": "attempts: 1", "slots": 4,
            },
            {
                "name": "agent_1", "inside": "map",
                "action": {"shell": "count '${item.path}' ${item_number}"},
                "policy": "attempts: 2, delay: 1s, max_delay: 30s", "timeout": secs(30),
                "on_failure": "dead_letter", "env": env,
            },
            {
                "name": "agent_2", "inside": "map",
                "action": {"write_file": {
                    "path": "out/${item.id}.txt", "content": "${agent_1.output} of ${setup_1.output}",
                }},
                "policy": "attempts: 1", "timeout": secs(30),
                "when": {"text": "${agent_1.output} != ''", "loose": true},
                "on_failure": "dead_letter", "env": env,
            },
            {
                "name": "agent_3", "inside": "map",
                "action": {"shell": "clean ${item.id}"},
                "policy": "attempts: 1", "timeout": secs(30),
                "fallback": {"step": {"shell": "log ${item.id}"}},
                "on_failure": "fallback", "env": env,
            },
            {
                "name": "reduce_1",
                "action": {"shell": "report ${map.succeeded} ${map.total} ${map.failed}"},
                "needs": [{"step": "map", "kind": "output"}],
                "policy": "attempts: 1", "on_failure": "continue", "env": env,
            },
            {
                "name": "reduce_2",
                "action": {"shell": "echo ${reduce_1.output}"},
                "needs": [
                    {"step": "reduce_1", "kind": "output"},
                    {"step": "map", "kind": "over"},
                ],
                "policy": "attempts: 1", "timeout": secs(2),
                "when": {"text": "${map.failed} > 0", "loose": true}, "env": env,
            },
        ])
    );
}

#[test]
fn lists_of_steps_are_done_in_their_order() {
    let expected = steps("- shell: a\n- shell: b");
    assert_eq!(expected[1]["needs"], json!([{"step": "step_1", "kind": "over"}]));
    assert_eq!(steps("commands: [{shell: a}, {shell: b}]"), expected);
    assert_eq!(steps("steps: [{shell: a}, {shell: b}]"), expected);
}

#[test]
fn an_input_may_be_a_command() {
    let steps = steps("map: {input: 'ls *.rs | sort', agent_template: [{shell: 'wc ${item}'}]}");
    assert_eq!(steps[0]["name"], "map_input");
    assert_eq!(steps[0]["action"], json!({"shell": "ls *.rs | sort"}));
    assert_eq!(steps[0]["output"], "lines");
    assert_eq!(steps[1]["needs"], json!([{"step": "map_input", "kind": "output"}]));
}

#[test]
fn a_runner_gets_what_the_step_says_as_one_argument() {
    let text = "- shell: ls\n  capture: names\n- claude: \"look at ${names}\"";
    check(
        text,
        "no-runner `claude`: no runner is configured for `claude`; say which program it is: runners: {claude: [claude, -p, \"{}\"]}",
    );
    let words = ["claude", "-p", "{}", "${x}"].map(str::to_owned).to_vec();
    let options = Options { runners: [("claude".to_owned(), words)].into(), ..Options::default() };
    let step = serde_json::to_value(&definition(&options, text).steps[1]).unwrap();
    let argv = json!(["claude", "-p", "look at ${step_1.output}", "$${x}"]);
    assert_eq!(step["action"], json!({"run": {"argv": argv}}));

    let words = ["sh", "-c", "{}"].map(str::to_owned).to_vec();
    let options = Options { runners: [("claude".to_owned(), words)].into(), ..Options::default() };
    let reading = options.read(text, Format::Yaml);
    assert_eq!(
        told(&reading, text),
        "nested-interpreter `\"look at ${names}\"`: claude: `sh` would parse the value; \
         hand it over as an argument: sh -c '… \"$1\"' sh VALUE"
    );
}

#[test]
fn what_is_not_run_is_refused_by_its_name() {
    check(
        r#"
merge: []
profiles: {}
setup:
  - shell: a
    validate: {shell: b}
    on_success: {shell: c}
    commit_required: true
  - analyze: {force: true}
  - foreach: {input: x}
  - handler: {name: x}
  - {shell: a, claude: b}
  - {timeout: 5}
map:
  agent_template: []
  circuit_breaker: {}
error_policy: {on_item_failure: retry, circuit_breaker: {failure_threshold: 5, half_open_requests: 1, window: 60}, max_failures: 3, failure_threshold: 0.5}
reduce:
  - shell: "echo ${item.id} ${shell.output} ${foo.bar} ${map.succesful} ${HOME}"
    on_failure: {claude: "fix ${shell.output}", max_attempts: 3, fail_workflow: true}
    retry: {attempts: 0}
    retry_config: {}
    capture: item
    capture_format: xml
    shel: x
"#,
        r#"
not-supported `merge`: `merge`: there are no worktrees here, and nothing to merge
not-supported `profiles`: `profiles`: there are no profiles here; set the variables before redial starts
not-supported `validate`: `validate`: nothing is validated here; write a step that checks, with `retry_config`
not-supported `on_success`: `on_success`: it is not run; write it as the next step
no-worktrees `commit_required`: `commit_required` has no effect: there are no worktrees here, and all steps run in one directory
not-supported `analyze`: `analyze`: there is no such step here
not-supported `foreach`: `foreach`: it is not run; write the items as a `map`
not-supported `handler`: `handler`: there are no handlers here; write its command as `shell`
one-action `claude`: `claude` stands beside another action; make it a step of its own
one-action `timeout`: this step does not say what it does; write `shell`, `claude` or `write_file`
no-steps `[]`: agent_template: there are no steps here
unknown-option `circuit_breaker`: `circuit_breaker` is not a field of map; there are input, json_path, agent_template, max_parallel, filter, sort_by, max_items, offset, distinct, agent_timeout_secs, error_policy and timeout
not-supported `on_item_failure`: `on_item_failure`: an item is retried by the `retry_config` of its steps
unknown-option `window`: `window` is not a field of circuit_breaker; there are failure_threshold, success_threshold, timeout and half_open_requests
not-supported `max_failures`: `max_failures` stands beside `failure_threshold`; one of them bounds the failures here
item-outside-map `${item.id}`: shell: there is no item here; `item` is for the steps of a map
unknown-value `${shell.output}`: shell: `shell.output` is that of a `shell` step before this one, and there is none
unknown-value `${foo.bar}`: shell: nothing is called `foo`; there is map, map.successful
unknown-value `${map.succesful}`: shell: `map` has no `succesful`; did you mean `succeeded`?
no-runner `claude`: no runner is configured for `claude`; say which program it is: runners: {claude: [claude, -p, "{}"]}
unknown-value `${shell.output}`: claude: `shell.output` is that of a `shell` step before this one, and there is none
not-supported `max_attempts`: `max_attempts`: what is done on failure is done once; retry the step with `retry_config`
not-supported `fail_workflow`: `fail_workflow`: what is done on failure takes the place of the step
duplicate-option `retry`: `retry` and `retry_config` are the same; write one of them
bad-name `item`: capture: this cannot name a value; use letters, digits and `_`, and not item or map
wrong-type `xml`: capture_format: `xml`; use string, json, lines, number or boolean
unknown-option `shel`: `shel` is not a field of a step; did you mean `shell`?
"#,
    );
}

#[test]
fn a_circuit_breaker_is_the_breaker_of_the_map() {
    let map = |policy: &str| {
        let text = format!("map: {{agent_template: [{{shell: ls}}]}}\nerror_policy: {{{policy}}}");
        steps(&text)[0].clone()
    };
    let secs = |secs: u64| json!({"secs": secs, "nanos": 0});
    for (written, expected) in [
        ("{}", json!({"failures": 5, "recovery": secs(30), "probes": 3})),
        (
            "{failure_threshold: 2, timeout: 60, success_threshold: 1, half_open_requests: 1}",
            json!({"failures": 2, "recovery": secs(60), "probes": 1}),
        ),
        ("{timeout: 1m30s}", json!({"failures": 5, "recovery": secs(90), "probes": 3})),
        (
            "{timeout: {secs: 7, nanos: 0}, success_threshold: 3}",
            json!({"failures": 5, "recovery": secs(7), "probes": 3}),
        ),
    ] {
        let map = map(&format!("max_failures: 5, circuit_breaker: {written}"));
        assert_eq!(map["breaker"], expected, "{written}");
        assert_eq!(map["action"]["each"]["failures_max"], json!({"count": 4}));
    }
}

#[test]
fn what_a_breaker_of_ours_cannot_do_is_refused_by_its_name() {
    let same = "write the same number as `half_open_requests` and `success_threshold`";
    for (written, expected) in [
        (
            "{half_open_requests: 1}",
            format!(
                "not-supported `half_open_requests`: `half_open_requests`: as many attempts are let through here as have \
                 to succeed, and these are 1 and 3; {same}"
            ),
        ),
        (
            "{success_threshold: 2}",
            format!(
                "not-supported `success_threshold`: `success_threshold`: as many attempts are let through here as have to \
                 succeed, and these are 3 and 2; {same}"
            ),
        ),
        (
            "{failure_treshold: 5}",
            "unknown-option `failure_treshold`: `failure_treshold` is not a field of circuit_breaker; did you mean \
             `failure_threshold`?"
                .to_owned(),
        ),
        (
            "true",
            "wrong-type `true`: circuit_breaker: `true`; use settings such as {failure_threshold: 5, timeout: 30s}"
                .to_owned(),
        ),
        (
            "{timeout: soon}",
            "wrong-type `soon`: timeout: `soon`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)"
                .to_owned(),
        ),
    ] {
        let text =
            format!("map: {{agent_template: [{{shell: ls}}]}}\ncircuit_breaker: {written}");
        check(&text, &expected);
    }
}
