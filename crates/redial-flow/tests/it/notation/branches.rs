//! Branches in flow files.

use redial_policy::Format;
use serde_json::json;

use super::{check, definition, steps};

#[test]
fn a_branch_is_a_step_that_takes_one_of_the_steps_after_it() {
    let text = r#"
inputs: {size: 20}
steps:
  probe: {run: [ls]}
  pack:
    branch:
      - when: inputs.size > 10 && probe.output != ''
        run: [xz, "${other.output}"]
        policy: "attempts: 3"
        fallback: {run: [gzip, -9]}
      - name: brisk
        when: inputs.size > 5
        shell: lz4
    otherwise:
      run: [gzip]
    output: lines
  other: {run: [ls]}
  send: {run: [echo, "${pack.output}"]}
  last: {run: [ls], needs: pack}
"#;
    let definition = definition(text, Format::Yaml);
    let names: Vec<_> = definition.steps.iter().map(|step| step.name.as_str()).collect();
    let arms = ["pack.1", "brisk", "pack.otherwise"];
    assert_eq!(names, [&["probe", "pack"], &arms[..], &["other", "send", "last"]].concat());
    let steps = steps(&definition);
    let need = |step: &str, kind: &str| json!({"step": step, "kind": kind});
    // The branch needs what its conditions name, and each arm what it names itself.
    assert_eq!(steps[1]["action"], json!({"branch": arms}));
    assert_eq!(steps[1]["needs"], json!([need("probe", "over")]));
    assert_eq!(steps[2]["needs"], json!([need("pack", "taken"), need("other", "output")]));
    assert_eq!(steps[2]["when"]["text"], "inputs.size > 10 && probe.output != ''");
    assert_eq!(steps[2]["policy"], "attempts: 3");
    assert_eq!(steps[4]["needs"], json!([need("pack", "taken")]));
    assert!(steps[4].get("when").is_none());
    for arm in 2..5 {
        assert_eq!(steps[arm]["output"], "lines");
    }
    // What needs it waits for its arms.
    let over = arms.map(|arm| need(arm, "over"));
    assert_eq!(steps[6]["needs"], json!([&[need("pack", "output")], &over[..]].concat()));
    assert_eq!(steps[7]["needs"], json!([&[need("pack", "over")], &over[..]].concat()));
    let running: Vec<_> = definition.expanded_steps().into_iter().map(|step| step.name).collect();
    assert_eq!(running[2..4], ["pack.1", "pack.1.fallback"]);
}

#[test]
fn arms_can_be_named_in_any_format() {
    let yaml = "steps: {a: {branch: {b: {when: inputs.x, run: [ls]}, c: {when: inputs.y, run: [pwd]}}, otherwise: {name: d, run: [id]}}}\ninputs: {x: true, y: true}";
    let toml = "
[steps.a.branch.b]
when = \"inputs.x\"
run = [\"ls\"]
[steps.a.branch.c]
when = \"inputs.y\"
run = [\"pwd\"]
[steps.a.otherwise]
name = \"d\"
run = [\"id\"]
[inputs]
x = true
y = true
";
    let yaml = definition(yaml, Format::Yaml);
    assert_eq!(yaml, definition(toml, Format::Toml));
    let names: Vec<_> = yaml.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[test]
fn a_branch_in_a_map_stays_inside_and_one_in_a_parallel_is_needed_with_its_arms() {
    let text = r#"
steps:
  m:
    each: {jsonl: a}
    timeout: 5s
    steps:
      - name: pack
        branch:
          - {when: item.size > 10, run: [xz, "${item.name}"]}
        otherwise: {run: [gzip]}
      - {run: [echo, "${pack.output}"]}
  both:
    parallel:
      p: {branch: [{when: "true", run: [ls]}]}
      q: {run: [ls]}
  join: {run: [ls], needs: [both, m]}
"#;
    let definition = definition(text, Format::Yaml);
    let steps = steps(&definition);
    let names: Vec<_> = definition.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names[..5], ["m", "pack", "pack.1", "pack.otherwise", "m.2"]);
    for inner in 1..5 {
        assert_eq!(steps[inner]["inside"], "m");
        assert_eq!(steps[inner]["on_failure"], "dead_letter");
    }
    assert_eq!(steps[2]["timeout"], steps[4]["timeout"]);
    assert_eq!(steps[2]["needs"], json!([{"step": "pack", "kind": "taken"}]));
    assert!(steps[0].get("needs").is_none() && steps[4].get("needs").is_none());
    let needs: Vec<_> = definition.steps[8].needs.iter().map(|need| need.step.as_str()).collect();
    assert_eq!(needs, ["p", "p.1", "q", "m"]);
    check(
        "steps: {both: {parallel: {p: {branch: [{when: true, run: [ls]}]}, q: {run: [ls]}}}, c: {run: [echo, '${both.output}']}}",
        "unknown-value `${both.output}`: run: `both` is `parallel` and has no value; its steps have: p, q",
    );
}

#[test]
fn what_is_wrong_with_a_branch_is_told_at_once() {
    check(
        r#"
steps:
  a:
    branch:
      - run: [ls]
      - {when: inputs.x, run: [ls], output: json}
      - {when: a.failed, run: [ls]}
      - {name: b, when: "true", run: [echo, "${c.output}"]}
      - {name: c, when: "true", run: [echo, "${a.output}"], each: {lines: x}}
      - [ls]
    otherwise: {when: "true", run: [ls]}
    policy: "attempts: 2"
    else: {run: [ls]}
  d:
    branch:
      e: {when: "true", run: [echo, "${d.output}"]}
      f: {when: "true", run: [echo, "${e.output}"], needs: g}
      h: {when: "true", branch: [{when: "true", run: [ls]}]}
    otherwice: {run: [ls]}
  g: {run: [ls], needs: d}
  k: {branch: ls}
  l: {each: {lines: x}, branch: [], steps: [{run: [ls]}]}
  m: {each: {lines: x}, steps: [{name: n, branch: [{name: o, when: "true", run: [echo, "${n.output}"]}]}, {run: [echo, "${o.outpt}"]}]}
  p: {run: [echo, "${o.output}", "${n.output}", "${f.output}"], needs: {d: all}}
"#,
        r#"
bad-branch `run: [ls]`: an arm says in `when` where it is taken; what is done where none holds is `otherwise`, beside `branch`
unknown-value `inputs.x`: when: there is no input `x`
bad-branch `json`: the output of this arm is json, and that of the others text; write `output` once, on the branch
bad-branch `a.failed`: `a` is over when its arm is: its conditions and its arms cannot name it, a step after it can
bad-branch `${c.output}`: `c` is an arm of `a`, which takes one: its conditions and its arms cannot name it, a step after it can
not-supported `each`: `each`: an arm is one command; make it a step of its own with `needs: a` and a `when`
wrong-type `[ls]`: branch: this is a list; use a map such as {when: inputs.a > 1, run: [ls]}
bad-branch `when`: `otherwise` is taken where no `when` holds, and has none; make it an arm of `branch`
unknown-option `policy`: `policy` is not a field of a branch; put it on its arms
unknown-option `else`: `else` is not a field of a branch; did you mean `otherwise`?
bad-branch `${d.output}`: `d` is over when its arm is: its conditions and its arms cannot name it, a step after it can
bad-branch `${e.output}`: `e` is an arm of `d`, which takes one: its conditions and its arms cannot name it, a step after it can
not-supported `branch`: `branch`: an arm is one command; make it a step of its own with `needs: d` and a `when`
unknown-option `otherwice`: `otherwice` is not a field of a branch; did you mean `otherwise`?
circular-needs `d`: steps that need one another never start: `f` needs `g` needs `f`
wrong-type `ls`: branch: `ls`; use a list of arms such as [{when: inputs.a > 1, run: [ls]}], or a map of names to arms
unknown-option `branch`: `branch` is not a field of a map; put it on its inner steps
circular-needs `${n.output}`: run: `n` is not done before this step; the steps of a map are done in their order
unknown-value `${o.outpt}`: run: `o` has no `outpt`; did you mean `output`?
inner-step `${o.output}`: run: `o` is done for each item of `m`, and has a value in there alone; what came of all items is `m.results`
inner-step `${n.output}`: run: `n` is done for each item of `m`, and has a value in there alone; what came of all items is `m.results`
wrong-type `all`: needs: `d` is no map, and has no items
"#,
    );
}
