//! Flow files: text in, the definition or the diagnostics out.

mod branches;
mod conditions;

use redial_core::{Random, SplitMix64};
use redial_flow::Shell;
use redial_flow::definition::{Action, Definition};
use redial_flow::notation::{Notation, Options, Reading, STEPS_MAX, read, recognise};
use redial_policy::{Format, Kind};
use serde_json::{Value, json};

/// The diagnostics of a text, a line each: the name, the text that it points at, and the message.
fn told(reading: &Reading, text: &str) -> String {
    let line = |found: &redial_policy::Diagnostic| {
        let place = found.span.of(text).lines().next().unwrap_or_default();
        let note = found.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{} `{place}`: {}{note}", found.kind.name(), found.message)
    };
    reading.diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Asserts what is wrong with a text.
#[track_caller]
fn check(text: &str, expected: &str) {
    let reading = read(text, Format::Yaml);
    assert_eq!(told(&reading, text), expected.trim());
    let errors = reading.diagnostics.iter().any(|found| !found.is_warning());
    assert_eq!(reading.definition.is_none(), errors);
}

/// The definition of a text without diagnostics.
#[track_caller]
fn definition(text: &str, format: Format) -> Definition {
    of(&read(text, format), text)
}

#[track_caller]
fn of(reading: &Reading, text: &str) -> Definition {
    assert_eq!(told(reading, text), "");
    let definition = reading.definition.clone().expect("a definition");
    // What is pinned is what is read again.
    let pinned = serde_json::to_string(&definition).unwrap();
    assert_eq!(serde_json::from_str::<Definition>(&pinned).unwrap(), definition);
    definition
}

fn steps(definition: &Definition) -> Value {
    serde_json::to_value(&definition.steps).unwrap()
}

const THUMBNAILS: &str = r#"
flow: thumbnails
policies:
  default: "attempts: 1"
  fetch: "retry: 5, delay: 500ms, backoff: exponential, jitter: full, timeout: 30s"
inputs:
  url: https://example.test/pictures.json
steps:
  list:
    run: [curl, -fsS, "${inputs.url}"]
    policy: fetch
    rules: curl
    output: json
  resize:
    each: ${list.output.pictures}
    where: item.width > 1024
    slots: 8
    rate: 100/1min
    failures_max: 5%
    steps:
      - run: [curl, -fsS, -o, "${item.id}.png", "${item.url}"]
        policy: fetch
      - shell: convert "${item.id}.png" -resize 200 "${item.id}-s.png"
        timeout: 10s
  index:
    needs: resize
    shell: build-index --count ${resize.succeeded}
    fallback: {value: none}
"#;

#[test]
fn the_flow_of_the_documents_is_read() {
    let reading = read(THUMBNAILS, Format::Yaml);
    let definition = of(&reading, THUMBNAILS);
    assert_eq!(definition.name, "thumbnails");
    assert_eq!(definition.inputs["url"], json!("https://example.test/pictures.json"));
    let fetch = "attempts: 6, delay: 500ms, backoff: exponential, max_delay: 30s, jitter: full, timeout: 30s";
    assert_eq!(
        steps(&definition),
        json!([
            {
                "name": "list",
                "action": {"run": {"argv": ["curl", "-fsS", "${inputs.url}"]}},
                "policy": fetch,
                "rules": {"sets": [{"name": "curl"}]},
                "output": "json",
            },
            {
                "name": "resize",
                "action": {"each": {
                    "source": {"from": {"value": "${list.output.pictures}"}, "format": "lines"},
                    "where": {"text": "item.width > 1024"},
                    "failures_max": {"millionths": 50_000},
                }},
                "needs": [{"step": "list", "kind": "output"}],
                "policy": "attempts: 1",
                "slots": 8,
                "rate": {"count": 100, "per": {"secs": 60, "nanos": 0}},
            },
            {
                "name": "resize.1",
                "inside": "resize",
                "action": {"run": {"argv": ["curl", "-fsS", "-o", "${item.id}.png", "${item.url}"]}},
                "policy": fetch,
                "on_failure": "dead_letter",
            },
            {
                "name": "resize.2",
                "inside": "resize",
                "action": {"shell": "convert \"${item.id}.png\" -resize 200 \"${item.id}-s.png\""},
                "policy": "attempts: 1",
                "timeout": {"secs": 10, "nanos": 0},
                "on_failure": "dead_letter",
            },
            {
                "name": "index",
                "action": {"shell": "build-index --count ${resize.succeeded}"},
                "needs": [{"step": "resize", "kind": "output"}],
                "policy": "attempts: 1",
                "fallback": {"value": "none"},
                "on_failure": "fallback",
            },
        ])
    );
    let programs: Vec<_> = reading.programs.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(programs, ["curl", "curl"]);
    assert_eq!(reading.programs[0].span.of(THUMBNAILS), "curl");
}

/// The pages of the diagnostics are read, as those of policies are.
#[test]
fn the_page_of_each_diagnostic_of_flows_is_true() {
    let mut pages = 0;
    for kind in Kind::all() {
        let block = |heading: &str| {
            let (_, after) = kind.page().split_once(heading)?;
            let (_, after) = after.split_once("```flow\n")?;
            Some(after.split("```").next().unwrap_or_default().to_owned())
        };
        let (example, fix) = kind.page().split_once("## Fix").expect("a fix");
        if !fix.contains("```flow") {
            continue;
        }
        pages += 1;
        if example.contains("```flow") {
            let text = block("## Example").unwrap();
            let reading = read(&text, Format::Yaml);
            let names: Vec<_> = reading.diagnostics.iter().map(|one| one.kind.name()).collect();
            assert_eq!(names, [kind.name()], "{}\n{}", kind.page(), told(&reading, &text));
        }
        let text = block("## Fix").unwrap();
        let reading = read(&text, Format::Yaml);
        assert_eq!(told(&reading, &text), "", "{}", kind.page());
    }
    assert_eq!(pages, 22);
}

#[test]
fn every_finding_is_told_at_once_with_the_nearest_name() {
    check(
        r#"
flwo: x
policies: {fetch: "retry: 3, dely: 1s"}
inputs: {url: a}
steps:
  list:
    run: [curl, "${inputs.ulr}", "${itme}", "${item.x}"]
    polcy: fetch
    policy: fetsh
    rules: crul
    needs: [lists, index]
    timeout: 5
    output: jsn
    when: list.output ==
  index:
    run: [ls]
    shell: ls
    rate: 5/minute
    stop_on: exti:1
"#,
        r#"
unknown-option `flwo`: `flwo` is not a field of a flow; did you mean `flow`?
unknown-option `dely`: `dely` is not an option; did you mean `delay`?
unknown-value `${inputs.ulr}`: run: there is no input `ulr`; did you mean `url`?
unknown-value `${itme}`: run: nothing is called `itme`; there is index, list, inputs
item-outside-map `${item.x}`: run: there is no item here; `item` is for the steps of a map
unknown-option `polcy`: `polcy` is not a field of a step; did you mean `policy`?
unknown-policy `fetsh`: policy: there is no policy `fetsh`; did you mean `fetch`?
unknown-rules `crul`: rules: there are no rules `crul`; did you mean `curl`? (the name of a file has a slash or a dot: ./own.toml)
unknown-step `lists`: needs: there is no step `lists`; did you mean `list`?
missing-unit `5`: timeout: `5` has no unit; write 5ms or 5s
wrong-type `jsn`: output: `jsn`; did you mean json? use text, json, lines or none
bad-expression ``: when: the expression ends where a value is expected
one-action `shell`: a step has `run` or `shell`, not both; make it two steps
wrong-type `minute`: rate: `minute`; use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)
wrong-type `exti:1`: stop_on: `exti:1` is not a condition; did you mean `exit:1`?
"#,
    );
}

#[test]
fn a_step_does_one_thing() {
    check(
        "steps: {a: {timeout: 1s}, b: {run: []}, c: [ls], d: {call: M}, e: {branch: [], run: [ls]}, f: {otherwise: {run: [ls]}}}",
        r#"
one-action `a`: this step does not say what it does; write `run`, `shell`, or `each` and `steps`
one-action `[]`: run: this list is empty; use a list of words such as [curl, -fsS, "${item.url}"]
wrong-type `[ls]`: c: this is a list; use a map such as {run: [ls, -l]}
not-supported `call`: `call`: modules come later; write its command as `run`
no-steps `[]`: there are no arms here; write for example [{when: inputs.a > 1, run: [ls]}]
unknown-option `run`: `run` is not a field of a branch; put it on its arms
bad-branch `otherwise`: `otherwise` stands beside `branch`, which has the arms
"#,
    );
}

#[test]
fn names_can_stand_in_references() {
    check(
        "steps: {'': {run: [a]}, 1a: {run: [a]}, 'a b': {run: [a]}, item: {run: [a]}, a.b: {run: [a]}, größe: {run: [a]}, \"x\\u200by\": {run: [a]}}",
        r#"
bad-name `''`: `` cannot name a step: it is empty
bad-name `1a`: `1a` cannot name a step: it begins with `1`; begin with a letter
bad-name `'a b'`: `a b` cannot name a step: it has ` ` in it; use letters, digits, `_` and `-`
bad-name `item`: `item` cannot name a step: references have another meaning for it
bad-name `a.b`: `a.b` cannot name a step: it has `.` in it; use letters, digits, `_` and `-`
bad-name `"x\u200by"`: `x\u{200b}y` cannot name a step: it has `\u{200b}` in it; use letters, digits, `_` and `-`
"#,
    );
}

#[test]
fn a_circle_is_told_where_it_closes() {
    check(
        r#"
steps:
  a: {run: [echo, "${b.output}"]}
  b: {shell: "echo ${c.failed}"}
  c: {run: [ls], when: a.output == 'x'}
  d: {run: [ls], needs: d}
"#,
        r#"
circular-needs `a.output`: steps that need one another never start: `a` needs `b` needs `c` needs `a`
circular-needs `d`: steps that need one another never start: `d` needs `d`
"#,
    );
}

#[test]
fn the_steps_of_a_map_stay_inside() {
    check(
        r#"
steps:
  m:
    each: {lines: "${item}"}
    needs: size
    steps:
      - {name: size, run: [wc, "${sum.output}"]}
      - {name: sum, run: [echo, "${size.output}", "${m.total}"], needs: size}
      - {each: "${item.x}", steps: [{run: [ls]}]}
      - {run: [ls], where: item.x}
  other: {run: [echo, "${sum.output}", "${m}", "${m.output}", "${m.results[0]}"]}
  n: {each: {lines: a}, steps: [], output: json, env: {}}
  o: {each: {lines: a}}
"#,
        r#"
item-outside-map `${item}`: lines: there is no item here; `item` is for the steps of a map
inner-step `size`: needs: `size` is done for each item of `m`; need `m`
circular-needs `${sum.output}`: run: `sum` is not done before this step; the steps of a map are done in their order
circular-needs `${m.total}`: `m` is not over before all its items are; this is one
inner-step `size`: needs: the steps of a map are done in their order, and need not say so
nested-map `each`: a map inside a map is not run; let its items be those of one map, or make it a map of its own
unknown-option `where`: `where` is a field of a map, and an inner step has no `each`
inner-step `${sum.output}`: run: `sum` is done for each item of `m`, and has a value in there alone; what came of all items is `m.results`
unknown-value `${m}`: run: `m` is a step; write `m.succeeded`
unknown-value `${m.output}`: run: `m` has no `output`; there is succeeded, failed, dead, total, results
no-steps `[]`: there are no steps here; write for example [{run: [ls]}]
unknown-option `output`: `output` is not a field of a map; put it on its inner steps
unknown-option `env`: `env` is not a field of a map; put it on its inner steps
no-steps `o`: a map has `steps`, which are done for each item
"#,
    );
}

#[test]
fn a_value_on_the_standard_input_of_an_interpreter_is_refused() {
    let remedy = "its standard input is a program; name the value in `env`, and use that variable in quotes there";
    for (action, program) in [
        ("run: [sh]", "sh"),
        ("run: [bash, -s]", "bash"),
        ("run: [bash, -s, x]", "bash"),
        ("run: [python3]", "python"),
        ("run: [python3, '-']", "python"),
        ("run: [env, A=b, nice, perl]", "perl"),
        ("run: [psql]", "psql"),
        ("shell: sh", "sh"),
        ("shell: 'cd /tmp && exec python3 -'", "python"),
        ("shell: \"echo ${inputs.x} | cat; bash -s\"", "bash"),
    ] {
        let flow =
            format!("inputs: {{x: a}}\nsteps:\n  a: {{{action}, stdin: \"x ${{inputs.x}}\"}}\n");
        let expected = format!(
            "nested-interpreter `${{inputs.x}}`: stdin: `{program}` would parse the value; {remedy}"
        );
        check(&flow, &format!("\n{expected}\n"));
    }
    for action in [
        "run: [cat]",
        "run: [sh, script.sh]",
        "run: [sh, -c, 'read x; echo \"$x\"']",
        "run: [python3, -c, 'import sys; print(sys.stdin.read())']",
        "run: [jq, .a]",
        "shell: cat >file",
        "shell: grep a | sort",
        "shell: sh <script.sh",
        "shell: cat >a; echo 'echo hi' | sh",
    ] {
        check(
            &format!(
                "inputs: {{x: a}}\nsteps:\n  a:\n    {action}\n    stdin: \"${{inputs.x}}\"\n"
            ),
            "\n",
        );
    }
    // What has no value in it is the flow's own text.
    check("steps:\n  a: {run: [sh], stdin: 'echo hi'}\n", "\n");
}

#[test]
fn values_never_become_code() {
    check(
        r#"
inputs: {name: "-rf", file: ../a}
steps:
  a: {run: [sh, -c, "rm ${inputs.name}"]}
  b: {shell: "ssh web 'rm ${inputs.name}'"}
  c: {shell: "echo 'x ${inputs.name}"}
  d: {run: [echo, "${inputs.name"]}
  e: {run: [rm, "${inputs.name}", "x/${inputs.file}"]}
  f: {shell: "rm ${inputs.name}"}
  g: {run: [echo], fallback: {run: [awk, "${inputs.name}"]}}
"#,
        r#"
nested-interpreter `${inputs.name}`: run: `sh` would parse the value; hand it over as an argument: sh -c '… "$1"' sh VALUE
nested-interpreter `${inputs.name}`: shell: `ssh` would parse the value; the other side's shell parses it; send it by `stdin`, and read it there
unclear-shell `'`: shell: nothing closes this quote; close it
bad-reference `${inputs.name`: run: no `}` closes this reference; close it, or write `$${` for the text `${`
looks-like-an-option `${inputs.name}`: run: the value of `inputs.name` begins with `-` and looks like an option; put `--` or `./` before it
leaves-the-directory `${inputs.file}`: run: the value of `inputs.file` has `..` and leads out of the directory; check it where it comes from
looks-like-an-option `${inputs.name}`: shell: the value of `inputs.name` begins with `-` and looks like an option; put `--` or `./` before it
nested-interpreter `${inputs.name}`: fallback: `awk` would parse the value; name it in `env`, and read it as ENVIRON["NAME"]
"#,
    );
}

#[test]
fn everything_that_is_wrong_with_a_line_is_told_at_its_bytes() {
    check(
        r#"
inputs: {n: a, m: b}
steps:
  a:
    shell: |
      eval "${inputs.n}" ${inputs.m}; echo $(( ${inputs.m} + 1))
      awk "{print ${inputs.n}}" | tee ${inputs.zz}
      echo ${inptus.m} ${inputs-x}; ${inputs.n}=1
      echo ${inputs.m} | sh; echo '${inputs.n}
"#,
        r#"
nested-interpreter `${inputs.n}`: shell: `eval` would parse the value; name it in `env`, and use that variable in quotes there
nested-interpreter `${inputs.m}`: shell: `eval` would parse the value; name it in `env`, and use that variable in quotes there
nested-interpreter `${inputs.m}`: shell: `$((…))` would parse the value; some shells run commands in arithmetic; use $(expr …), which takes arguments
nested-interpreter `${inputs.n}`: shell: `awk` would parse the value; name it in `env`, and read it as ENVIRON["NAME"]
unknown-value `${inputs.zz}`: shell: there is no input `zz`; there is m, n
unknown-value `${inptus.m}`: shell: nothing is called `inptus`; did you mean `inputs`?
bad-reference `${inputs`: shell: `inputs` is a value of the flow, and what follows is no path into it; assign it to a variable first for the shell's operators: v=${inputs}; echo "${v%.png}"
nested-interpreter `${inputs.n}`: shell: `the shell` would parse the value; the name of a variable has to be known; write it
unclear-shell `'`: shell: nothing closes this quote; close it
"#,
    );
}

#[test]
fn fields_have_their_kinds() {
    check(
        r#"
flow: [a]
within: 5
slots: 0
inputs: [a]
secrets: {A: {env: "x y"}, B: token, "c d": {env: X}}
outputs: {a: "${b.output}", b: [1]}
steps:
  a:
    run: [ls, [x]]
    needs: {a: some, b: all}
    secrets: [A, TOKN]
    priority: high
    idempotent: maybe
    on_failure: retry
    fallback: none
    env: {"A-B": x, C: [1]}
    stdin: [a]
    slots: -1
    delay_from: exit:1
    budget: 5
    breaker: [5]
  b:
    each: {lines: a, csv: b}
    steps: ls
    failures_max: 101%
    key: ".a"
    sort_by: a DOWN
    offset: -1
  c: {each: some text, steps: [{run: [ls]}]}
  d: {each: {stdin: xml}, steps: [{run: [ls]}]}
  e: {each: {file: a, json_path: a}, steps: [{run: [ls]}]}
  f: {each: {csv: a, delimiter: ab}, steps: [{run: [ls]}]}
"#,
        r#"
wrong-type `[a]`: flow: this is a list; use a name of one line, of at most 100 bytes
missing-unit `5`: within: `5` has no unit; write 5ms or 5s
wrong-type `0`: slots: `0`; use a whole number from 1 on
wrong-type `[a]`: inputs: this is a list; use a map of names to values
wrong-type `{env: "x y"}`: A: this is a map; use {env: VARIABLE} or {file: PATH}
wrong-type `token`: B: `token`; use {env: VARIABLE} or {file: PATH}
bad-name `"c d"`: secrets: `c d` cannot name a variable; use letters, digits and `_`
unknown-value `${b.output}`: a: `b` has no `output`; there is succeeded, failed, dead, total, results
wrong-type `[1]`: b: this is a list; use a text
wrong-type `[x]`: run: this is a list; use a list of words such as [curl, -fsS, "${item.url}"]
wrong-type `some`: needs: `some`; use all, where no item may be dead, or over
unknown-value `TOKN`: secrets: the flow has no secret `TOKN`; there is A, B
wrong-type `high`: priority: `high`; use a whole number from -2147483648 to 2147483647; the highest starts first
wrong-type `maybe`: idempotent: `maybe`; use true or false
duplicate-option `on_failure`: `on_failure` stands beside `fallback`, which says what follows a failure
wrong-type `retry`: on_failure: `retry`; use stop, dead-letter or continue
wrong-type `none`: fallback: `none`; use {value: …}, {run: [ls]} or {shell: ls}
bad-name `"A-B"`: env: `A-B` cannot name a variable; use letters, digits and `_`
wrong-type `[1]`: C: this is a list; use a text
wrong-type `[a]`: stdin: this is a list; use a text
wrong-type `-1`: slots: `-1`; use a whole number from 1 on
wrong-type `exit:1`: delay_from: `exit:1` does not say where the delay is; use one pattern of stdout, stderr or output: stderr:/retry after (\d+ ?[a-z]*)/
wrong-type `5`: budget: `5`; use true, or settings such as {capacity: 20, deposit: 0.1}
wrong-type `[5]`: breaker: this is a list; use true, or settings such as {failures: 5, recovery: 30s}
wrong-type `{lines: a, csv: b}`: each: this is a map; use a value such as ${list.output}, or {lines: FILE}, {file: FILE, json_path: $.items[*]}, {jsonl: FILE}, {csv: FILE}, {nul: FILE}, {stdin: lines} or {command: [ls]}
wrong-type `ls`: steps: `ls`; use a list of steps, or a map of names to steps
wrong-type `101%`: failures_max: `101%`; use a count such as 10, or a share such as 5%
bad-path `.a`: key: the name of a field is missing, or has blanks around it
bad-path `DOWN`: sort_by: `DOWN` is none of ASC, DESC, NULLS FIRST, NULLS LAST
wrong-type `-1`: offset: `-1`; use a whole number from 0 on
wrong-type `some text`: each: `some text`; use a value such as ${list.output}, or {lines: FILE}, {file: FILE, json_path: $.items[*]}, {jsonl: FILE}, {csv: FILE}, {nul: FILE}, {stdin: lines} or {command: [ls]}
wrong-type `xml`: stdin: `xml`; use lines, nul, json, jsonl or csv
bad-path `a`: json_path: a path begins with `$`: `$.a`
wrong-type `ab`: delimiter: `ab`; use one character such as ";"
"#,
    );
}

#[test]
fn everything_that_is_wrong_with_a_breaker_is_told_at_once() {
    check(
        "
steps:
  a: {run: [ls], breaker: {failures: 0, recovery: -1s, probes: 16777216, window: 1}}
  b: {run: [ls], budget: {capacity: -1, cost: x, refill: 1}}
",
        "
wrong-type `0`: failures: `0`; use a whole number from 1 on
negative `-1s`: recovery: `-1s` is below zero; use 0 or more
wrong-type `16777216`: probes: `16777216`; use 16777215 at most
unknown-option `window`: `window` is not a field of a breaker; there are failures, recovery and probes
wrong-type `-1`: capacity: `-1`; use a number of tokens, 0 or more and below a billion
wrong-type `x`: cost: `x`; use a number of tokens, 0 or more and below a billion
unknown-option `refill`: `refill` is not a field of a budget; there are capacity, deposit, cost and floor_per_second
",
    );
}

#[test]
fn a_budget_and_a_breaker_have_the_settings_of_shared_files() {
    let text = r#"
steps:
  a: {run: [ls], budget: true, breaker: true}
  m:
    each: {lines: x}
    budget: {capacity: 20, deposit: 0.1, cost: 2, floor_per_second: 0}
    breaker: {failures: 3, recovery: 1min, probes: 2, x-why: it is slow}
    steps:
      - {run: [ls], breaker: {}}
"#;
    let definition = definition(text, Format::Yaml);
    let steps = serde_json::to_value(&definition.steps).unwrap();
    let default = json!({"failures": 5, "recovery": {"secs": 30, "nanos": 0}, "probes": 1});
    assert_eq!(
        steps[0]["budget"],
        json!({"capacity": 100.0, "deposit": 0.2, "cost": 1.0, "floor_per_second": 10.0})
    );
    assert_eq!(steps[0]["breaker"], default);
    assert_eq!(
        steps[1]["budget"],
        json!({"capacity": 20.0, "deposit": 0.1, "cost": 2.0, "floor_per_second": 0.0})
    );
    assert_eq!(
        steps[1]["breaker"],
        json!({"failures": 3, "recovery": {"secs": 60, "nanos": 0}, "probes": 2})
    );
    // Of a map they are the map's own, and an inner step has its own besides.
    assert_eq!((&steps[2]["budget"], &steps[2]["breaker"]), (&Value::Null, &default));
}

#[test]
fn settings_that_cannot_be_are_told_where_they_stand() {
    check(
        r#"
steps:
  a: {run: [ls], budget: {capcity: 5, burst: 3}, breaker: {failuers: 5, timeout: 30s}}
  b: {run: [ls], budget: {capacity: -1, deposit: 1e9, cost: much, floor_per_second: 1e-12}}
  c: {run: [ls], budget: {capacity: 1, cost: 2}}
  d: {run: [ls], budget: {deposit: 0, floor_per_second: 0}}
  e: {run: [ls], budget: false, breaker: false}
  f: {run: [ls], breaker: {failures: 0}}
  g: {run: [ls], breaker: {recovery: 30}}
  h: {run: [ls], breaker: {recovery: 2000d}}
  i: {run: [ls], breaker: {probes: 16777216}}
  j: {run: [ls], circuit_breaker: true, retry_budget: true}
"#,
        r#"
unknown-option `capcity`: `capcity` is not a field of a budget; did you mean `capacity`?
unknown-option `burst`: `burst` is not a field of a budget; did you mean `capacity`?
unknown-option `failuers`: `failuers` is not a field of a breaker; did you mean `failures`?
unknown-option `timeout`: `timeout` is not a field of a breaker; did you mean `recovery`?
wrong-type `-1`: capacity: `-1`; use a number of tokens, 0 or more and below a billion
wrong-type `1e9`: deposit: `1e9`; use a number of tokens, 0 or more and below a billion
wrong-type `much`: cost: `much`; use a number of tokens, 0 or more and below a billion
wrong-type `1e-12`: floor_per_second: `1e-12`; use a number of tokens, 0 or more and below a billion
wrong-type `{capacity: 1, cost: 2}`: budget: a retry costs 2, more than the capacity of 1; raise `capacity` or lower `cost`
wrong-type `{deposit: 0, floor_per_second: 0}`: budget: with no deposit and no floor an empty budget never refills; raise `deposit` or `floor_per_second`
wrong-type `false`: budget: `false`; use true, or settings such as {capacity: 20, deposit: 0.1}
wrong-type `false`: breaker: `false`; use true, or settings such as {failures: 5, recovery: 30s}
wrong-type `0`: failures: `0`; use a whole number from 1 on
missing-unit `30`: recovery: `30` has no unit; write 30ms or 30s
wrong-type `2000d`: recovery: `2000d`; use four years at most
wrong-type `16777216`: probes: `16777216`; use 16777215 at most
unknown-option `circuit_breaker`: `circuit_breaker` is not a field of a step; did you mean `breaker`?
unknown-option `retry_budget`: `retry_budget` is not a field of a step; did you mean `budget`?
"#,
    );
}

#[test]
fn needs_come_from_names_references_and_conditions() {
    let text = r#"
steps:
  a: {run: [ls]}
  m: {each: {lines: x}, steps: [{run: [echo, "${a.output}"], needs: [b]}]}
  b: {run: [ls], on_failure: continue}
  named: {run: [ls], needs: a}
  listed: {run: [ls], needs: [a, b]}
  strict: {run: [ls], needs: {m: all, a: over}}
  referred: {shell: "echo ${a.output} ${m.total}", needs: a}
  asked: {run: [echo, "${b.output}"], when: '!b.failed'}
  rescued: {run: [ls], fallback: {value: {from: "${b.output}"}}}
"#;
    let definition = definition(text, Format::Yaml);
    let needs = definition.steps.iter().map(|step| {
        let needs = step.needs.iter().map(|need| {
            let kind = serde_json::to_value(need.kind).unwrap();
            format!("{}:{}", need.step, kind.as_str().unwrap_or_default())
        });
        format!("{} {}", step.name, needs.collect::<Vec<_>>().join(" "))
    });
    assert_eq!(
        needs.map(|line| line.trim().to_owned()).collect::<Vec<_>>(),
        [
            "a",
            // What a step of a map needs, the map needs.
            "m b:over a:output",
            "m.1",
            "b",
            "named a:over",
            "listed a:over b:over",
            "strict m:all a:over",
            "referred a:output m:output",
            // `when` deals with a step that was skipped.
            "asked b:over",
            "rescued b:over",
        ]
    );
}

#[test]
fn a_map_says_once_what_holds_for_its_steps() {
    let text = r#"
policies: {fetch: "attempts: 2, delay: 1s, timeout: 3s"}
steps:
  m:
    each: {lines: x}
    policy: "attempts: 3, delay: 1s"
    timeout: 9s
    rules: [curl, git]
    stop_on: exit:2
    priority: 4
    steps:
      a: {run: [ls]}
      b: {run: [ls], policy: fetch, stop_on: [exit:3], rules: ssh}
      c: {run: [ls], timeout: 1s, priority: -1}
"#;
    let definition = definition(text, Format::Yaml);
    let shown: Vec<_> = definition.steps[1..]
        .iter()
        .map(|step| {
            let sets: Vec<_> = step.rules.sets.iter().map(|set| set.name.as_str()).collect();
            format!(
                "{}: {} | {:?} | {} | {} | {}",
                step.name,
                step.policy,
                step.timeout,
                sets.join(" "),
                step.rules.stop_on.join(" "),
                step.priority
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "a: attempts: 3, delay: 1s | Some(9s) | curl git | exit:2 | 4",
            "b: attempts: 2, delay: 1s, timeout: 3s | None | ssh | exit:3 | 4",
            "c: attempts: 3, delay: 1s | Some(1s) | curl git | exit:2 | -1",
        ]
    );
    assert!(definition.steps[0].rules.is_empty() && definition.steps[0].timeout.is_none());
}

#[test]
fn items_come_from_everywhere() {
    let source = |each: &str| {
        let text = format!("steps:\n  m:\n    each: {each}\n    steps: [{{run: [ls]}}]");
        let definition = definition(&text, Format::Yaml);
        let map = definition.steps.iter().find(|step| step.name == "m").expect("a map");
        serde_json::to_value(map).unwrap()["action"]["each"]["source"].clone()
    };
    let file = |format: Value| json!({"from": {"file": "x"}, "format": format});
    assert_eq!(source("{lines: x}"), file(json!("lines")));
    assert_eq!(source("{nul: x}"), file(json!("nul")));
    assert_eq!(source("{jsonl: x}"), file(json!("json_lines")));
    assert_eq!(source("{csv: x}"), file(json!({"csv": {"delimiter": ","}})));
    assert_eq!(source("{csv: x, delimiter: ;}"), file(json!({"csv": {"delimiter": ";"}})));
    assert_eq!(source("{file: x}"), file(json!("lines")));
    assert_eq!(source("{file: x, json_path: '$.a[*]'}"), file(json!({"json": "$.a[*]"})));
    assert_eq!(source("{file: x.json}")["format"], json!({"json": null}));
    assert_eq!(source("{file: x.tsv}")["format"], json!({"csv": {"delimiter": "\t"}}));
    assert_eq!(source("{stdin: lines}"), json!({"from": "stdin", "format": "lines"}));
    assert_eq!(
        source("{stdin: json, json_path: '$.a[*]'}"),
        json!({"from": "stdin", "format": {"json": "$.a[*]"}})
    );
    assert_eq!(
        source("{command: [ls, -1]}"),
        json!({"from": {"value": "${m-items.output}"}, "format": "lines"})
    );
}

#[test]
fn a_command_that_lists_the_items_is_a_step_of_its_own() {
    let text = r#"
steps:
  first: {run: [ls]}
  m:
    each: {command: [find, "${first.output}"]}
    needs: first
    when: first.output != ''
    steps: [{run: [ls]}]
"#;
    let definition = definition(text, Format::Yaml);
    let steps = steps(&definition);
    assert_eq!(
        steps[1],
        json!({
            "name": "m-items",
            "action": {"run": {"argv": ["find", "${first.output}"]}},
            "needs": [{"step": "first", "kind": "over"}],
            "policy": "attempts: 1",
            "output": "lines",
            "when": {"text": "first.output != ''"},
        })
    );
    let needs = json!([{"step": "first", "kind": "over"}, {"step": "m-items", "kind": "output"}]);
    assert_eq!(steps[2]["needs"], needs);
}

#[test]
fn parallel_steps_are_steps_that_need_the_same() {
    let text = r#"
steps:
  first: {run: [ls]}
  both:
    needs: first
    parallel:
      score: {run: [ls]}
      geo: {run: [ls]}
  join: {run: [echo, "${score.output}"], needs: both}
"#;
    let definition = definition(text, Format::Yaml);
    let steps = steps(&definition);
    let names: Vec<_> = definition.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["first", "score", "geo", "join"]);
    assert_eq!(steps[2]["needs"], json!([{"step": "first", "kind": "over"}]));
    assert_eq!(
        steps[3]["needs"],
        json!([{"step": "score", "kind": "output"}, {"step": "geo", "kind": "over"}])
    );
    check(
        "steps: {p: {parallel: {a: {run: [ls]}, q: {parallel: {b: {run: [ls]}}}}}, c: {run: [echo, '${p.output}']}}",
        "
not-supported `parallel`: `parallel`: it stands in a `parallel` already; put its steps there
unknown-value `${p.output}`: run: `p` is `parallel` and has no value; its steps have: a, q
",
    );
}

#[test]
fn the_three_formats_say_the_same() {
    let yaml = r#"
flow: same
within: 1h
slots: 4
default: fetch
policies:
  fetch: {attempts: 3, delay: 1s}
secrets: {TOKEN: {env: GH_TOKEN}, KEY: {file: /run/key}}
outputs: {names: "${a.output}"}
x-mine: [anything]
steps:
  a:
    run: [head, -n, 5, "${inputs.file}"]
    policy: {extends: fetch, timeout: 2s}
    secrets: [TOKEN]
    env: {LANG: C}
    dir: /tmp
    stdin: "${inputs.file}"
    idempotent: false
    delay_from: stderr:retry-after
    success_on: [exit:0, exit:3]
    max_retry_after: 1min
inputs: {file: a.txt, many: [1, {b: 2.5}, null, true]}
"#;
    let toml = r#"
flow = "same"
within = "1h"
slots = 4
default = "fetch"
[policies]
fetch = {attempts = 3, delay = "1s"}
[secrets]
TOKEN = {env = "GH_TOKEN"}
KEY = {file = "/run/key"}
[outputs]
names = "${a.output}"
[inputs]
file = "a.txt"
many = [1, {b = 2.5}, null, true]
[steps.a]
run = ["head", "-n", 5, "${inputs.file}"]
policy = {extends = "fetch", timeout = "2s"}
secrets = ["TOKEN"]
env = {LANG = "C"}
dir = "/tmp"
stdin = "${inputs.file}"
idempotent = false
delay_from = "stderr:retry-after"
success_on = ["exit:0", "exit:3"]
max_retry_after = "1min"
"#;
    let first = definition(yaml, Format::Yaml);
    // TOML has no null.
    let (yaml, toml) = (yaml.replace("null, ", ""), toml.replace("null, ", ""));
    let second = definition(&toml, Format::Toml);
    assert_eq!(definition(&yaml, Format::Yaml), second);
    assert_eq!(first.inputs["many"], json!([1, {"b": 2.5}, null, true]));
    assert_eq!(
        serde_json::to_value(&second).unwrap(),
        json!({
            "v": 1,
            "name": "same",
            "inputs": {"file": "a.txt", "many": [1, {"b": 2.5}, true]},
            "outputs": [["names", "${a.output}"]],
            "within": {"secs": 3600, "nanos": 0},
            "slots": 4,
            "secrets": {"KEY": {"file": "/run/key"}, "TOKEN": {"env": "GH_TOKEN"}},
            "steps": [{
                "name": "a",
                "action": {"run": {"argv": ["head", "-n", "5", "${inputs.file}"]}},
                "policy": "attempts: 3, delay: 1s, timeout: 2s",
                "rules": {
                    "success_on": ["exit:0", "exit:3"],
                    "delay_from": ["stderr:retry-after"],
                    "max_retry_after": {"secs": 60, "nanos": 0},
                },
                "idempotent": false,
                "env": [["LANG", "C"]],
                "dir": "/tmp",
                "stdin": "${inputs.file}",
                "secrets": ["TOKEN"],
            }],
        })
    );
    let json = r#"{"steps": {"a": {"run": ["ls"]}}}"#;
    assert_eq!(definition(json, Format::Json), definition("steps: {a: {run: [ls]}}", Format::Yaml));
}

#[test]
fn what_stands_outside_of_the_text_is_taken_in() {
    let text = "inputs: {n: 1}\nsteps: {a: {run: [ls], rules: [./own.toml, ./own.toml]}}";
    let rules = |name: &str| match name {
        "./own.toml" => Ok(("[[rule]]\nretry = 'exit:6'\n".to_owned(), Format::Toml)),
        _ => Err("no such file".to_owned()),
    };
    let options = Options {
        name: Some("nightly".to_owned()),
        inputs: [("n".to_owned(), json!("-2"))].into(),
        rule_file: Some(&rules),
        ..Options::default()
    };
    let reading = options.read(text, Format::Yaml);
    let definition = of(&reading, text);
    assert_eq!((definition.name.as_str(), &definition.inputs["n"]), ("nightly", &json!("-2")));
    let set = &definition.steps[0].rules.sets[0];
    assert_eq!(set.name, "./own.toml");
    assert_eq!(set.text.as_ref().map(|(_, format)| format.as_str()), Some("toml"));
    assert_eq!(reading.rule_files.len(), 1);

    let without = read(text, Format::Yaml);
    assert_eq!(without.rule_files[0].name, "./own.toml");
    assert_eq!(without.definition.unwrap().steps[0].rules.sets[0].text, None);

    let options = Options { inputs: [("m".to_owned(), json!(1))].into(), ..options };
    let text = "inputs: {n: 1}\nsteps: {a: {run: [ls], rules: ./x.toml}}";
    assert_eq!(
        told(&options.read(text, Format::Yaml), text),
        "unknown-value `inputs`: the flow has no input `m`; did you mean `n`?\n\
         unknown-rules `./x.toml`: rules: ./x.toml cannot be read: no such file"
    );
}

#[test]
fn a_flow_is_told_from_other_files() {
    let yaml = |text: &str| recognise(text, Format::Yaml);
    assert_eq!(yaml("flow: x"), Some(Notation::Flow));
    assert_eq!(yaml("map: {agent_template: []}"), Some(Notation::WorkItems));
    assert_eq!(yaml("steps: [{shell: ls}]"), Some(Notation::WorkItems));
    assert_eq!(yaml("retry_config: {attempts: 3}"), None);
    assert_eq!(yaml("- retry: 3"), None);
    assert_eq!(yaml("[1"), None);
    check("", "no-steps ``: there is no flow in this text; write steps: {name: {run: [ls]}}");
    check("flow: x", "no-steps ``: a flow has steps by their names: steps: {list: {run: [ls]}}");
    check(
        "a: 1\n---\nb: 2",
        "too-large `b: 2`: a flow is one document, and here a second one begins",
    );
}

#[test]
fn hostile_files_end_in_a_diagnostic() {
    let names = |text: &str, format| {
        let reading = read(text, format);
        assert!(reading.definition.is_none());
        assert!(reading.diagnostics.len() <= 1000);
        reading.diagnostics.iter().map(|found| found.kind.name()).collect::<Vec<_>>()
    };
    assert_eq!(names(&"[".repeat(100_000), Format::Json), ["too-large"]);
    assert_eq!(names(&" ".repeat((4 << 20) + 1), Format::Yaml), ["too-large"]);
    let many = |count: usize| {
        let steps: String = (0..count).map(|at| format!("a{at}: {{run: [x]}}, ")).collect();
        format!("steps: {{{steps}}}")
    };
    let most = read(&many(STEPS_MAX), Format::Yaml);
    assert_eq!(most.definition.expect("a definition").steps.len(), STEPS_MAX);
    assert_eq!(names(&many(STEPS_MAX + 1), Format::Yaml), ["too-large"]);
    assert_eq!(names(&many(30_000), Format::Yaml), ["too-large"]);
    let inner = "{run: [x]}, ".repeat(20_000);
    let text = format!("steps: {{m: {{each: {{lines: x}}, steps: [{inner}]}}}}");
    assert_eq!(names(&text, Format::Yaml), ["too-large"]);
    // A chain in which each needs the one before, and a circle through all of them.
    let chain: String = (1..STEPS_MAX)
        .map(|at| format!("a{at}: {{shell: \"echo ${{a{}.output}}\"}}, ", at - 1))
        .collect();
    let text = format!("steps: {{a0: {{run: [x], needs: a{}}}, {chain}}}", STEPS_MAX - 1);
    assert_eq!(names(&text, Format::Yaml), ["circular-needs"]);
    let references = "${item}".repeat(50_000);
    let text = format!("steps: {{a: {{run: [x, \"{references}\"]}}}}");
    assert_eq!(names(&text, Format::Yaml), ["item-outside-map"; 1000]);
    let unknown: String = (0..50_000).map(|at| format!("k{at}: 1, ")).collect();
    let text = format!("steps: {{a: {{run: [x], {unknown}}}}}");
    assert_eq!(names(&text, Format::Yaml), ["unknown-option"; 1000]);
    let long = "x".repeat(100_000);
    assert_eq!(names(&format!("steps: {{{long}: {{run: [x]}}}}"), Format::Yaml), ["bad-name"]);
    assert_eq!(names("\u{0}", Format::Yaml), ["syntax"]);
    // What is written once for many steps.
    let steps = "- shell: a\n".repeat(STEPS_MAX);
    let text = format!("env: {{A: {}}}\nsteps:\n{steps}", "x".repeat(1 << 20));
    assert_eq!(names(&text, Format::Yaml), ["too-large"]);
    let group: String = (0..4000).map(|at| format!("a{at}: {{run: [x]}}, ")).collect();
    let others: String = (0..4000).map(|at| format!("b{at}: {{run: [x], needs: p}}, ")).collect();
    let text = format!("steps: {{p: {{parallel: {{{group}}}}}, {others}}}");
    assert_eq!(names(&text, Format::Yaml), ["too-large"]);
}

/// Pieces of texts that mean something to one of the readers.
const PIECES: [&str; 40] = [
    "${",
    "}",
    "$${",
    "'",
    "\"",
    "`",
    "|",
    ":",
    ": ",
    ",",
    "\n",
    "\n  ",
    "- ",
    "[",
    "]",
    "{",
    "#",
    "&a ",
    "*a",
    "!t ",
    "ü",
    "\u{200b}",
    "\\",
    "each",
    "steps",
    "needs",
    "list",
    "resize",
    "item",
    "inputs",
    "output",
    "policy",
    "default",
    "fallback",
    "null",
    "5%",
    "sh, -c, ",
    "$(",
    "<<EOF",
    "when: a.b",
];

#[test]
fn no_text_makes_it_panic_and_every_place_is_in_the_text() {
    let files = [
        THUMBNAILS,
        "- shell: \"a ${b} ${shell.output}\"\n  capture: b\n- shell: \"echo '${b}'\"\n  when: \"${b} == 1\"\n",
    ];
    redial_seeds::each_seed(3000, |mut random| {
        let mut text = files[(random.word() % 2) as usize].to_owned();
        for _ in 0..1 + random.word() % 6 {
            let place = |random: &mut SplitMix64, text: &str| {
                let at = (random.word() % (text.len() as u64 + 1)) as usize;
                (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
            };
            let start = place(&mut random, &text);
            let rest = place(&mut random, &text[start..]).min((random.word() % 12) as usize);
            let end =
                (start + rest..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(start);
            let piece = PIECES[(random.word() % PIECES.len() as u64) as usize];
            text.replace_range(start..end, piece);
        }
        let reading = read(&text, Format::Yaml);
        for found in &reading.diagnostics {
            let place = found.span.start..found.span.end;
            assert!(text.get(place).is_some(), "{found:?} in {text}");
        }
        let errors = reading.diagnostics.iter().any(|found| !found.is_warning());
        assert_eq!(reading.definition.is_none(), errors, "{text}");
        // What is pinned has no reference that the engine could not read.
        if let Some(definition) = reading.definition {
            let roots = definition.roots();
            for step in &definition.steps {
                if let Action::Shell(line) = &step.action {
                    assert!(Shell::parse(line, &roots).is_ok(), "{line} in {text}");
                }
            }
        }
    });
}

#[test]
fn what_is_too_large_is_told_its_limit_and_what_is_misspelt_the_nearest_name() {
    check(
        "
slots: 4294967296
steps:
  a:
    run: [ls]
    priority: -9223372036854775808
    on_failure: contnue
    output: tex
  m:
    each: {lines: items}
    steps: [{run: [echo, '${item_nmber}']}]
",
        "
wrong-type `4294967296`: slots: `4294967296`; use a whole number from 1 to 4294967295
wrong-type `-9223372036854775808`: priority: `-9223372036854775808`; use a whole number from -2147483648 to 2147483647; the highest starts first
wrong-type `contnue`: on_failure: `contnue`; did you mean continue? use stop, dead-letter or continue
wrong-type `tex`: output: `tex`; did you mean text? use text, json, lines or none
unknown-value `${item_nmber}`: run: nothing is called `item_nmber`; did you mean `item_number`?
",
    );
}

#[test]
fn the_deadline_of_the_flow_bounds_unlimited_attempts() {
    let steps = "steps: {a: {run: [ls], policy: 'attempts: unlimited, delay: 1s'}}";
    let unbounded = "unbounded `attempts: unlimited`: unlimited attempts with no limit in time never give up; add within";
    check(steps, unbounded);
    check(&format!("within: 3s\n{steps}"), "");
}

#[test]
fn a_limit_leaves_time_for_an_attempt() {
    check(
        "within: 0s\nsteps:\n  a: {run: [ls], timeout: 0ms}\n",
        "
wrong-type `0s`: within: `0s`; no attempt would have any time; leave it out for no limit
wrong-type `0ms`: timeout: `0ms`; no attempt would have any time; leave it out for no limit
",
    );
}

/// What those write first who know other files of this kind.
#[test]
fn what_is_written_otherwise_elsewhere_is_told_how_it_is_here() {
    check(
        "steps:\n  a: {run: ls -l}\n  b:\n    each: [x, y]\n    steps: [{run: [ls]}]\n",
        "
wrong-type `ls -l`: run: `ls -l`; use a list of words such as [curl, -fsS, \"${item.url}\"]; a line of sh is `shell`
wrong-type `[x, y]`: each: this is a list; write it among the `inputs`, and its name here, such as ${inputs.names}
",
    );
    check(
        "steps:\n  - name: one\n    run: ls -l\n",
        "not-supported `run`: `run`: a list of steps has commands as `shell`; in a flow file of our own steps have names: \
         steps: {list: {run: [ls]}}",
    );
    let literal = "inputs: {names: [x, y]}\nsteps:\n  a:\n    each: ${inputs.names}\n    steps: [{run: [ls, '${item}']}]\n";
    check(literal, "");
}
