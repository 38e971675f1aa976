//! `redial flow plan`: what a flow will do, told before anything runs.

use serde_json::{Value, json};

use super::Place;
use crate::program::{command, stderr, stdout, with_input};
use crate::xml;

const SECOND: u64 = 1_000_000_000;

/// A flow file in a folder, and what is printed about it.
#[track_caller]
fn planned(flow: &str, more: &[&str]) -> String {
    let place = Place::new();
    std::fs::write(place.path().join("flow.yaml"), flow).unwrap();
    place.works(&[&["plan", "flow.yaml", "-j", "4"], more].concat())
}

#[track_caller]
fn worst(flow: &str, expected: &Value) {
    let document: Value = serde_json::from_str(&planned(flow, &["--json"])).unwrap();
    assert_eq!(&document["worst_case"], expected, "{flow}");
}

fn bounded(seconds: u64, longest: &[&str]) -> Value {
    json!({
        "time_ns": seconds * SECOND,
        "is_deadline": false,
        "longest": longest,
        "unbounded": [],
        "further": [],
    })
}

#[test]
fn steps_stand_below_one_another_with_what_they_need() {
    let flow = "
flow: thumbnails
steps:
  list:
    run: [sh, list.sh]
    policy: 'attempts: 3, delay: 1s, backoff: exponential, jitter: full'
    timeout: 30s
    output: json
  resize:
    each: ${list.output}
    slots: 2
    steps:
      - name: shrink
        shell: convert \"${item.id}.png\"
        timeout: 10s
  index:
    needs: resize
    shell: build-index
    timeout: 5s
";
    assert_eq!(
        planned(flow, &[]),
        "\
thumbnails
2 steps and a map with 1 inner step. Up to 4 attempts run at once.

● list
│   run sh list.sh
│   attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full, timeout: 30s
│   waits 0s–1s, 0s–2s
│
◆ resize  ← list (its output)
│   each ${list.output}
│   2 at once
│   └─● shrink
│       shell convert \"${item.id}.png\"
│       attempts: 1, timeout: 10s
│
● index  ← resize
    shell build-index
    attempts: 1, timeout: 5s

step                   attempts  timeout  waits (least)  waits (mean)  waits (most)   at most
list                          3      30s             0s          1.5s            3s  1min 33s
resize, with one item                                                                     10s
  shrink, each item           1      10s             0s            0s            0s       10s
index                         1       5s             0s            0s            0s        5s

It takes 1min 48s at most: list 1min 33s, then resize 10s, then index 5s.
That is with one item in resize, of which it is not known how many there are; each
further one adds up to 5s.
shrink and index have one attempt. If redial is killed while it runs, it is lost and
counts as a failure, and redial flow resume does not run it again; attempts: 2 allows
that.
The worst case is that every attempt takes all of its timeout and fails, and every wait
is as long as it can be. What a command takes to end after its timeout is not counted,
nor is the time in which redial does not run.
"
    );
}

/// A·T + ΣW.
#[test]
fn a_chain_takes_what_its_steps_take_one_after_the_other() {
    let flow = "
steps:
  a: {run: [sh, a], policy: 'attempts: 3, delay: 1s, backoff: exponential', timeout: 10s}
  b: {run: [sh, b], needs: a, timeout: 7s}
";
    worst(flow, &bounded(3 * 10 + 1 + 2 + 7, &["a", "b"]));
}

#[test]
fn of_steps_side_by_side_the_longest_counts_if_there_are_slots_for_all() {
    let four = "
steps:
  a: {run: [sh, a], timeout: 10s}
  b: {run: [sh, b], timeout: 20s}
  c: {run: [sh, c], timeout: 30s}
  d: {run: [sh, d], timeout: 40s}
";
    worst(four, &bounded(40, &["d"]));
    // With a fifth, one may have to wait until all four slots have been busy with the others.
    let five = format!("{four}  e: {{run: [sh, e], timeout: 20s}}\n");
    worst(&five, &bounded(40 + (10 + 20 + 30 + 20) / 4, &["d"]));
}

/// (n−1)·A·T/s + A·T + ΣW.
#[test]
fn a_map_takes_its_last_item_after_all_others() {
    let map = |more: &str| {
        format!(
            "
inputs: {{ids: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}
steps:
  map:
    each: ${{inputs.ids}}
{more}
    steps:
      one: {{run: [sh, one, '${{item}}'], policy: 'attempts: 2, delay: 3s', timeout: 10s}}
"
        )
    };
    worst(&map("    slots: 2"), &bounded(8 * 20 / 2 + 20 + 3, &["map"]));
    // Without slots of its own, it has those of the run.
    worst(&map(""), &bounded(8 * 20 / 4 + 20 + 3, &["map"]));
    // One start every second: 9 items of 2 attempts, of which the first starts at once.
    worst(&map("    slots: 2\n    rate: 60/1min"), &bounded(8 * 20 / 2 + 20 + 3 + 17, &["map"]));
    // Each of 18 attempts but the last may open the breaker, for 5 seconds.
    let breaker = "    slots: 2\n    breaker: {recovery: 5s}\n    budget: true";
    worst(&map(breaker), &bounded(8 * 20 / 2 + 20 + 3 + 17 * 5, &["map"]));
}

#[test]
fn a_budget_and_a_breaker_are_told_in_the_words_of_shared_files() {
    let flow = "
steps:
  map:
    each: {lines: none}
    breaker: {failures: 1, recovery: 1min, probes: 2}
    steps:
      one:
        run: [sh, one]
        timeout: 1s
        budget: {capacity: 20, floor_per_second: 0}
        breaker: true
";
    let text = planned(flow, &[]);
    for line in [
        "breaker: 1 failed attempt opens it for 1min; then 2 probes decide\n",
        "budget of 20 tokens: a task brings 0.2, a retry costs 1, none come every second\n",
        "breaker: 5 failed attempts in a row open it for 30s; then 1 probe decides\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let document: Value = serde_json::from_str(&planned(flow, &["--json"])).unwrap();
    let steps = &document["steps"];
    assert_eq!(
        steps[0]["breaker"],
        json!({"failures": 1, "recovery_ns": 60 * SECOND, "probes": 2})
    );
    let budget = json!({"capacity": 20.0, "deposit": 0.2, "cost": 1.0, "floor_per_second": 0.0});
    assert_eq!((&steps[0]["budget"], &steps[1]["budget"]), (&Value::Null, &budget));
    // Of items that are not known, each further one may open both breakers once, beside a quarter of its own second.
    let further = json!([{"map": "map", "item_ns": 90 * SECOND + SECOND / 4}]);
    assert_eq!(document["worst_case"]["further"], further);
}

#[test]
fn items_are_counted_where_their_file_is_there() {
    let place = Place::new();
    let flow = "
inputs: {file: items.jsonl}
steps:
  map:
    each: {jsonl: '${inputs.file}'}
    where: item.n > 2
    steps:
      one: {run: [sh, one, '${item.n}'], timeout: 4s}
";
    std::fs::write(place.path().join("flow.yaml"), flow).unwrap();
    let lines: String = (0..10).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    std::fs::write(place.path().join("items.jsonl"), lines).unwrap();
    let document = place.json(&["plan", "flow.yaml", "--json", "-j", "1"]);
    assert_eq!(
        (&document["steps"][0]["items"], document["steps"][0]["items_are_known"] == true),
        (&7.into(), true)
    );
    assert_eq!(document["worst_case"]["time_ns"], 28 * SECOND);
    let text = place.works(&["plan", "flow.yaml", "-j", "1"]);
    assert!(text.contains("│   7 items\n") || text.contains("    7 items\n"), "{text}");
    // Another file is not there: what one more item adds is told instead.
    let arguments = ["plan", "flow.yaml", "--json", "-j", "1", "--input", "file=none.jsonl"];
    let document = place.json(&arguments);
    assert_eq!(document["worst_case"]["further"], json!([{"map": "map", "item_ns": 4 * SECOND}]));
    assert_eq!(document["worst_case"]["time_ns"], 4 * SECOND);
}

#[test]
fn a_step_without_a_timeout_has_no_bound_and_is_named() {
    let flow = "
steps:
  a: {run: [sh, a]}
  b: {run: [sh, b], policy: 'attempts: 3, delay: 1s, within: 30s'}
";
    let text = planned(flow, &[]);
    let words =
        "It may take for ever: a has no timeout. A timeout, or a within in the policy, bounds it.";
    assert!(text.replace('\n', " ").contains(words), "{text}");
    let document: Value = serde_json::from_str(&planned(flow, &["--json"])).unwrap();
    assert_eq!(document["worst_case"]["unbounded"], json!(["a"]));
    // An attempt is cut where the deadline of its policy passes.
    assert_eq!(document["steps"][1]["time_ns"], 30 * SECOND);
    let with_deadline = format!("within: 1h\n{flow}");
    let text = planned(&with_deadline, &[]);
    assert!(text.contains("It takes 1h at most, which is the deadline of the flow."), "{text}");
}

#[test]
fn a_delay_that_the_command_may_ask_for_is_counted() {
    let flow = "
steps:
  a: {run: [sh, a], policy: 'attempts: 3, delay: 1s', timeout: 10s, delay_from: 'stderr:retry-after', max_retry_after: 50s}
";
    worst(flow, &bounded(3 * 10 + 2 * 50, &["a"]));
}

#[test]
fn what_a_kill_costs_is_said() {
    let flow = "
steps:
  charge: {run: [sh, charge], idempotent: false, policy: 'attempts: 3, delay: 1s', timeout: 1s}
  mail: {run: [sh, mail], timeout: 1s, needs: charge}
  retry: {run: [sh, again], policy: 'attempts: 2, delay: 1s', timeout: 1s}
";
    let text = planned(flow, &[]).replace('\n', " ");
    assert!(
        text.contains("mail has one attempt. If redial is killed while it runs, it is lost"),
        "{text}"
    );
    assert!(text.contains("charge is idempotent: false: an attempt that was running"), "{text}");
    let document: Value = serde_json::from_str(&planned(flow, &["--json"])).unwrap();
    let killed: Vec<_> = (0..3).map(|at| document["steps"][at]["killed"].clone()).collect();
    assert_eq!(killed, ["dead-letter", "failed", "retried"]);
}

#[test]
fn the_delays_of_a_seed_are_those_of_a_run_with_it() {
    let flow = "
steps:
  a: {run: [sh, a], policy: 'attempts: 3, delay: 1s, jitter: full', timeout: 1s}
";
    let document: Value =
        serde_json::from_str(&planned(flow, &["--json", "--seed", "42"])).unwrap();
    let sample = |at: usize| document["steps"][0]["delays"][at]["sample_ns"].as_u64().unwrap();
    let text = planned(flow, &["--seed", "42"]);
    assert!(text.contains("with this seed "), "{text}");
    assert!(sample(0) != sample(1) && sample(0) < SECOND, "{document}");
    let again: Value = serde_json::from_str(&planned(flow, &["--json", "--seed", "42"])).unwrap();
    assert_eq!(document, again);
    assert!(document["steps"][0]["delays"][0].get("sample_ns").is_some());
    let unseeded: Value = serde_json::from_str(&planned(flow, &["--json"])).unwrap();
    assert!(unseeded["steps"][0]["delays"][0].get("sample_ns").is_none());
}

#[test]
fn json_has_every_field_in_a_fixed_order() {
    let flow =
        "steps: {a: {run: [sh, a], timeout: 1s, when: 'true', policy: 'attempts: 2, delay: 1s'}}\n";
    assert_eq!(
        planned(flow, &["--json"]),
        "\
{
  \"flow\": \"flow\",
  \"slots\": 4,
  \"within_ns\": null,
  \"steps\": [
    {
      \"step\": \"a\",
      \"inside\": null,
      \"instead_of\": null,
      \"level\": 0,
      \"does\": \"run\",
      \"text\": \"sh a\",
      \"needs\": [],
      \"when\": \"true\",
      \"policy\": \"attempts: 2, delay: 1s\",
      \"attempts\": 2,
      \"timeout_ns\": 1000000000,
      \"delays\": [
        {
          \"after_attempt\": 1,
          \"min_ns\": 1000000000,
          \"mean_ns\": 1000000000,
          \"max_ns\": 1000000000
        }
      ],
      \"asked_delay_max_ns\": null,
      \"items\": null,
      \"items_are_known\": null,
      \"slots\": null,
      \"rate\": null,
      \"budget\": null,
      \"breaker\": null,
      \"on_failure\": \"stop\",
      \"idempotent\": true,
      \"killed\": \"retried\",
      \"task_time_ns\": 3000000000,
      \"time_ns\": 3000000000
    }
  ],
  \"worst_case\": {
    \"time_ns\": 3000000000,
    \"is_deadline\": false,
    \"longest\": [
      \"a\"
    ],
    \"unbounded\": [],
    \"further\": []
  },
  \"warnings\": []
}
"
    );
}

/// Names and commands of any length and content, a step that needs all others, and many of them.
pub(super) fn wild() -> String {
    let name = |at: usize| format!("s{at}-{}", "x".repeat(at * 7));
    let mut flow = String::from("flow: \"<wild> & 'long'\"\nsteps:\n");
    for at in 0..12 {
        let needs: Vec<String> = match at {
            0 => vec![],
            11 => (0..11).map(name).collect(),
            at => vec![name((at - 1) / 3), name((at - 1) / 2)],
        };
        flow += &format!(
            "  {}: {{needs: [{}], shell: 'echo \"<&>\" {}', policy: 'attempts: 9, delay: 1h'}}\n",
            name(at),
            needs.join(", "),
            "word ".repeat(40)
        );
    }
    flow
}

#[test]
fn a_picture_is_well_formed_and_every_step_is_in_it() {
    let svg = planned(&wild(), &["--svg", "-"]);
    xml::parsed(&svg);
    assert_eq!(svg.matches("class=\"box\"").count(), 12, "{svg}");
    assert!(svg.contains("class=\"arrow\"") && svg.contains("class=\"tip\""), "{svg}");
    for width in ["40", "80", "160"] {
        let place = Place::new();
        std::fs::write(place.path().join("flow.yaml"), wild()).unwrap();
        let output =
            command(place.path(), &["flow", "plan", "flow.yaml"]).env("COLUMNS", width).output();
        let output = output.unwrap();
        let widest = stdout(&output).lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.parse().unwrap(), "{width}: {}", stdout(&output));
    }
}

#[test]
fn what_is_wrong_is_drawn_all_at_once_and_nothing_else_is_printed() {
    let place = Place::new();
    let flow = "
steps:
  a: {run: [no-such-program-here]}
  b: {run: [sh, '${c.output}'], needs: aa}
";
    std::fs::write(place.path().join("flow.yaml"), flow).unwrap();
    place.refused(&["plan", "flow.yaml"], "there is no program `no-such-program-here` on the PATH");
    place.refused(&["plan", "flow.yaml"], "needs: there is no step `aa`; did you mean `a`?");
    place.refused(&["plan", "flow.yaml"], "nothing is called `c`");
    place.refused(&["plan", "none.yaml"], "cannot read none.yaml");
    place.refused(&["plan", "flow.yaml", "-j", "0"], "--jobs");
    place.refused(&["plan", "flow.yaml", "--json", "--svg", "-"], "standard output holds one of");
}

#[test]
fn inputs_have_the_type_that_they_have_in_the_file() {
    let place = Place::new();
    let flow = "
inputs: {text: '5', number: 5, list: [1]}
steps:
  a: {each: '${inputs.list}', steps: {b: {run: [echo, '${inputs.text}'], timeout: 1s}}}
";
    std::fs::write(place.path().join("flow.yaml"), flow).unwrap();
    let with = |input: &str| place.redial(&["plan", "flow.yaml", "--json", "--input", input]);
    for input in ["text=7", "text=", "text=a=b", "number=7", "list=[1,2,3]"] {
        assert_eq!(with(input).status.code(), Some(0), "{input}: {}", stderr(&with(input)));
    }
    let three: Value = serde_json::from_slice(&with("list=[1,2,3]").stdout).unwrap();
    assert_eq!(three["steps"][0]["items"], 3);
    for (input, words) in [
        (
            "number=x",
            "--input number: `x` is not a number in JSON, and the flow has a number there",
        ),
        ("list=7", "--input list: `7` is not a list in JSON"),
        ("text", "--input: `text` has no `=`"),
        ("txt=1", "the flow has no input `txt`; did you mean `text`?"),
    ] {
        place.refused(&["plan", "flow.yaml", "--input", input], words);
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let place = Place::new();
    let flow = b"{\"steps\": {\"a\": {\"run\": [\"sh\", \"a\"], \"timeout\": \"2s\"}}}";
    let mut plan = command(place.path(), &["flow", "plan", "-", "--json"]);
    let output = with_input(&mut plan, flow);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["worst_case"]["time_ns"], 2 * SECOND);
}

#[test]
fn a_flow_of_a_thousand_steps_is_planned() {
    let mut flow = String::from("steps:\n");
    for at in 0..1_000 {
        let needs = if at > 0 { format!("needs: s{}, ", at - 1) } else { String::new() };
        flow += &format!("  s{at}: {{{needs}run: [sh, a], timeout: 1s}}\n");
    }
    let document: Value = serde_json::from_str(&planned(&flow, &["--json"])).unwrap();
    assert_eq!(document["worst_case"]["time_ns"], 1_000 * SECOND);
    let svg = planned(&flow, &["--svg", "-"]);
    assert!(svg.contains("… and 800 more steps"));
}
