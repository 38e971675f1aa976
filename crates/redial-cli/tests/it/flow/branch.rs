//! Branches through the program: which arm runs, what others see of it, and what becomes of it after a failure or a KILL.

use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{command, folder, parsed, redial, stderr, stdout};

const PACK: &str = r#"
flow: pack
inputs: {size: 20}
policies: {twice: "attempts: 2, delay: 1ms"}
steps:
  probe: {shell: "echo probed"}
  pack:
    branch:
      - name: big
        when: inputs.size > 10 && probe.output == 'probed'
        shell: "test -e mended || exit 3; echo big"
        policy: twice
        stop_on: exit:4
      - when: inputs.size > 5
        shell: "echo middle; exit 1"
        fallback: {value: instead}
      - when: inputs.size > 2
        run: ["false"]
        fallback: {shell: "echo substitute"}
    otherwise:
      shell: "echo small"
  after: {run: [echo, "after ${pack.output}"]}
  beside: {needs: pack, shell: "echo beside"}
outputs: {after: "${after.output}"}
"#;

fn run(size: u32) -> (TempDir, Output) {
    let folder = folder(&[("pack.yaml", PACK), ("mended", "")]);
    let size = format!("size={size}");
    let output =
        redial(folder.path(), &["flow", "run", "pack.yaml", "--run", "one", "--input", &size]);
    (folder, output)
}

fn journal(folder: &TempDir) -> Vec<Value> {
    let path = folder.path().join(".redial/runs/one/journal.ndjson");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

/// The steps of which attempts started, in their order.
fn started(folder: &TempDir) -> Vec<String> {
    let records = journal(folder);
    let starts = records.iter().filter(|record| record["type"] == "attempt.start");
    starts.map(|record| record["step"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_first_arm_whose_condition_holds_runs_and_its_output_is_the_branchs() {
    for (size, arm, output) in [
        (20, "big", "after big\n"),
        (7, "pack.2", "after instead\n"),
        (4, "pack.3", "after substitute\n"),
        (1, "pack.otherwise", "after small\n"),
    ] {
        let (folder, ran) = run(size);
        assert_eq!((ran.status.code(), stdout(&ran)), (Some(0), output), "{}", stderr(&ran));
        let started = started(&folder);
        for other in ["big", "pack.2", "pack.3", "pack.otherwise"] {
            assert_eq!(started.iter().any(|step| step == other), other == arm, "{size}: {other}");
        }
        let records = journal(&folder);
        let took: Vec<_> = records.iter().filter(|record| record["arm"].is_string()).collect();
        assert_eq!(took.len(), 1);
        let [step, event, taken] = ["step", "type", "arm"].map(|field| took[0][field].as_str());
        assert_eq!((step, event, taken), (Some("pack"), Some("step.end"), Some(arm)));
    }
}

#[test]
fn without_an_arm_that_holds_a_branch_is_skipped() {
    let text = r#"
steps:
  a: {branch: [{when: "false", run: ["false"]}]}
  reader: {run: [echo, "${a.output}"]}
  handled: {run: [echo, "got '${a.output}'"], when: "!a.failed"}
  needed: {needs: a, run: [echo, needed]}
outputs: {handled: "${handled.output}", needed: "${needed.output}"}
"#;
    let folder = folder(&[("skip.yaml", text)]);
    let output = redial(folder.path(), &["flow", "run", "skip.yaml", "--run", "one", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(parsed(&output), json!({"handled": "got ''", "needed": "needed"}));
    assert_eq!(started(&folder), ["handled", "needed"]);
}

#[test]
fn a_dead_arm_fails_the_branch_and_its_retry_goes_on_with_what_needs_it() {
    let (folder, _) = run(1);
    std::fs::remove_file(folder.path().join("mended")).unwrap();
    std::fs::remove_dir_all(folder.path().join(".redial")).unwrap();
    let flow = |arguments: &[&str]| redial(folder.path(), &[&["flow"], arguments].concat());
    let output = flow(&["run", "pack.yaml", "--run", "one"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    assert_eq!(started(&folder), ["probe", "big", "big"]);
    let status = flow(&["status", "one"]);
    assert!(stdout(&status).contains("pack, took big"), "{}", stdout(&status));
    let document = parsed(&flow(&["status", "one", "--json"]));
    let steps = document["runs"][0]["steps"].as_array().unwrap();
    let of = |name: &str| steps.iter().find(|step| step["step"] == name).unwrap();
    assert_eq!(of("pack")["arm"], "big");
    assert_eq!(of("pack")["tasks"]["succeeded"], 1);
    assert_eq!((&of("big")["attempts"], &of("big")["tasks"]["dead"]), (&json!(2), &json!(1)));
    assert_eq!(of("pack.otherwise")["attempts"], 0);
    assert!(of("big").get("arm").is_none());
    let dead = parsed(&flow(&["dead", "list", "one", "--json"]));
    assert_eq!(dead["dead"][0]["step"], "big");
    std::fs::write(folder.path().join("mended"), "").unwrap();
    let retried = flow(&["dead", "retry", "one"]);
    assert_eq!(
        (retried.status.code(), stdout(&retried)),
        (Some(0), "after big\n"),
        "{}",
        stderr(&retried)
    );
    // It was decided once.
    let records = journal(&folder);
    assert_eq!(records.iter().filter(|record| record["arm"].is_string()).count(), 1);
    assert_eq!(started(&folder).len(), 6);
    let report = flow(&["report", "one"]);
    assert_eq!(report.status.code(), Some(0));
    assert!(stdout(&report).contains("big"), "{}", stdout(&report));
    // What is said of attempts is not told of the branch, which has none.
    let journal = folder.path().join(".redial/runs/one/journal.ndjson");
    let report = redial(folder.path(), &["report", journal.to_str().unwrap()]);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
    let first = "5 runs of 4 commands: 4 succeeded at once, 1 failed.";
    assert_eq!(stdout(&report).lines().next(), Some(first));
}

#[test]
fn a_condition_that_cannot_be_decided_is_a_dead_letter_of_the_branch() {
    let text = r#"
steps:
  word: {run: [echo, "\"twelve\""], output: json}
  a: {branch: [{when: word.output > 10, run: [echo, big]}], otherwise: {run: [echo, small]}}
"#;
    let folder = folder(&[("wrong.yaml", text)]);
    let output = redial(folder.path(), &["flow", "run", "wrong.yaml", "--run", "one"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("a: not started: `word.output > 10`"), "{}", stderr(&output));
    let dead = parsed(&redial(folder.path(), &["flow", "dead", "list", "one", "--json"]));
    assert_eq!(
        (&dead["dead"][0]["step"], &dead["dead"][0]["reason"]),
        (&json!("a"), &json!("bad-condition"))
    );
}

#[test]
fn each_item_takes_its_own_arm() {
    let text = r#"
steps:
  pack:
    each: {jsonl: items.jsonl}
    key: name
    steps:
      - name: size
        branch:
          - {when: item.size > 10, run: [echo, "big ${item.name}"]}
          - {when: item.size > 5, run: ["false"], fallback: {run: [echo, "instead of ${item.name}"]}}
        otherwise: {run: [echo, "small ${item.name}"]}
      - run: [echo, "<${size.output}>"]
  last:
    each: {jsonl: items.jsonl}
    steps:
      - branch: [{when: item.size > 10, run: [echo, "big ${item.name}"]}]
        otherwise: {run: ["false"], fallback: {run: [echo, "other ${item.name}"]}}
outputs: {pack: "${pack.results}", last: "${last.results}"}
"#;
    let items = "{\"name\": \"a\", \"size\": 20}\n{\"name\": \"b\", \"size\": 7}\n{\"name\": \"c\", \"size\": 1}\n";
    let folder = folder(&[("map.yaml", text), ("items.jsonl", items)]);
    let output = redial(folder.path(), &["flow", "run", "map.yaml", "--run", "one", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = json!({
        "pack": ["<big a>", "<instead of b>", "<small c>"],
        "last": ["big a", "other b", "other c"],
    });
    assert_eq!(parsed(&output), expected);
    let status = redial(folder.path(), &["flow", "status", "one", "--json"]);
    let document = parsed(&status);
    assert_eq!(document["runs"][0]["journal"]["impossible_records"], 0);
    let steps = document["runs"][0]["steps"].as_array().unwrap();
    let of = |name: &str| steps.iter().find(|step| step["step"] == name).unwrap();
    assert_eq!(of("size")["tasks"]["succeeded"], 3);
    assert_eq!(of("size.1")["tasks"]["succeeded"], 1);
    assert_eq!(of("size.otherwise")["tasks"]["waiting"], 0);
}

/// The arm of a run that was killed in it is the one that goes on.
#[test]
fn a_run_that_is_killed_in_an_arm_goes_on_with_that_arm() {
    let text = r#"
policies: {default: "attempts: 3"}
steps:
  a:
    branch: [{when: "true", name: slow, shell: "test -e second || { touch second; sleep 1000; }; echo slow"}]
    otherwise: {run: ["false"]}
  b: {run: [echo, "b ${a.output}"]}
outputs: {b: "${b.output}"}
"#;
    let folder = folder(&[("kill.yaml", text)]);
    let mut child =
        command(folder.path(), &["flow", "run", "kill.yaml", "--run", "one"]).spawn().unwrap();
    while !folder.path().join("second").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it does not come to the arm");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = redial(folder.path(), &["flow", "resume", "one"]);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(0), "b slow\n"),
        "{}",
        stderr(&output)
    );
    assert_eq!(started(&folder), ["slow", "slow", "b"]);
    assert_eq!(journal(&folder).iter().filter(|record| record["arm"] == "slow").count(), 1);
}

#[test]
fn a_plan_shows_the_arms_with_their_conditions_and_counts_the_longest() {
    let text = r#"
inputs: {size: 20}
steps:
  pack:
    branch:
      - {name: big, when: inputs.size > 10, run: [sleep, 1], timeout: 30s, policy: "attempts: 2"}
      - {when: inputs.size > 5, run: [sleep, 1], timeout: 10s}
    otherwise: {run: [sleep, 1], timeout: 5s}
  after: {needs: pack, run: [ls], timeout: 1s}
"#;
    let folder = folder(&[("plan.yaml", text)]);
    let plan = |arguments: &[&str]| {
        let output = redial(folder.path(), &[&["flow", "plan", "plan.yaml"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    let words = plan(&["-j", "1"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "branch big, pack.2, pack.otherwise",
        "← pack, if it takes this arm",
        "when inputs.size > 10",
        "otherwise",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let document: Value = serde_json::from_str(&plan(&["--json", "-j", "1"])).unwrap();
    // Two attempts of the longest arm and one second: arms do not add up, although there is one slot.
    assert_eq!(document["worst_case"]["time_ns"], 61_000_000_000_u64);
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(
        (&steps[0]["does"], &steps[0]["policy"], &steps[0]["time_ns"]),
        (&json!("branch"), &json!(null), &json!(0))
    );
    assert_eq!((&steps[1]["step"], &steps[1]["when"]), (&json!("big"), &json!("inputs.size > 10")));
    assert_eq!(steps[1]["needs"], json!([{"step": "pack", "kind": "taken"}]));
    let picture = plan(&["--svg", "-"]);
    assert!(picture.contains(">when inputs.size &gt; 10<"), "{picture}");
    let page = plan(&["--html", "-"]);
    assert!(page.contains("when inputs.size &gt; 10"), "{page}");
}

#[test]
fn a_map_with_a_branch_takes_as_long_as_its_longest_arm_for_each_item() {
    let text = r#"
steps:
  m:
    each: {lines: items}
    steps: [{branch: [{when: "item == 'a'", run: [ls], timeout: 3s}], otherwise: {run: [ls], timeout: 2s}}]
"#;
    let folder = folder(&[("plan.yaml", text), ("items", "a\nb\n")]);
    let output = redial(folder.path(), &["flow", "plan", "plan.yaml", "--json", "-j", "1"]);
    assert_eq!(parsed(&output)["worst_case"]["time_ns"], 6_000_000_000_u64, "{}", stderr(&output));
}
