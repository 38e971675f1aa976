//! `redial flow run --from`: a flow that was mended goes on with what has succeeded.

use std::collections::BTreeMap;
use std::fs;

use super::Place;
use crate::program::{self, stderr, stdout};

/// Each task writes down that it ran. `use` fails for c, and `list` prints more than the journal has room for.
const FLOW: &str = "
flow: letters
inputs: {who: world, unused: 1}
steps:
  greet: {shell: 'echo greet >> ran; echo hello ${inputs.who}'}
  list:
    shell: echo list >> ran; printf '%s\\n' a b c d; head -c 9000 /dev/zero | tr '\\0' x; echo
  first: {shell: 'echo first >> ran; echo 1'}
  letters:
    needs: first
    each: {lines: letters.txt}
    policy: 'attempts: 1'
    steps:
      - {name: get, shell: 'echo get ${item} >> ran; echo got ${item}'}
      - {name: use, shell: 'echo use ${item} >> ran; test ${item} != c && echo ${get.output}'}
  sum:
    shell: echo sum >> ran; echo ${greet.output}, ${letters.succeeded} of ${letters.total}, ${list.output}
outputs: {sum: '${sum.output}'}
";

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path().join("letters.txt"), "a\nb\nc\nd\n").unwrap();
    place
}

impl Place {
    /// How often each task ran since this was last asked.
    fn ran(&self) -> BTreeMap<String, usize> {
        let path = self.path().join("ran");
        let mut times = BTreeMap::new();
        for line in fs::read_to_string(&path).unwrap_or_default().lines() {
            *times.entry(line.to_owned()).or_default() += 1;
        }
        fs::write(path, "").unwrap();
        times
    }

    fn has_run(&self, name: &str) -> bool {
        self.path().join(".redial/runs").join(name).exists()
    }
}

fn once(tasks: &[&str]) -> BTreeMap<String, usize> {
    tasks.iter().map(|task| ((*task).to_owned(), 1)).collect()
}

/// Runs FLOW, which has a dead letter, and then another one that takes over; gives what it says, and what ran.
#[track_caller]
fn taken_over(from: &str, to: &str, code: i32) -> (String, String, BTreeMap<String, usize>) {
    let place = place();
    let (mut said, _) = place.runs(FLOW, &["--run", "old"], 1);
    assert!(said.starts_with("hello world, 3 of 4, a\nb\nc\nd\nxxx"), "{said}");
    place.ran();
    let flow = FLOW.replace(from, to);
    assert_ne!(flow, FLOW, "{from}");
    let (printed, told) = place.runs(&flow, &["--run", "new", "--from", "old"], code);
    let ran = place.ran();
    said = printed.lines().next().unwrap_or_default().to_owned();
    // The same again goes on, and has nothing to do.
    if code == 0 {
        let (_, told) = place.runs(&flow, &["--run", "new", "--from", "old"], 0);
        assert!(told.contains("there was nothing to do"), "{told}");
        assert_eq!(place.ran(), once(&[]));
    }
    // What was taken over is as it was.
    assert!(place.works(&["status", "old"]).contains("failed after"));
    (said, told, ran)
}

#[test]
fn a_step_that_was_mended_runs_again_and_so_does_what_needs_it() {
    let (said, told, ran) = taken_over("test ${item} != c &&", "", 0);
    assert_eq!(said, "hello world, 4 of 4, a");
    assert_eq!(ran, once(&["use a", "use b", "use c", "use d", "sum"]));
    // `greet`, `list`, `first` and four times `get`.
    assert!(told.contains("redial: 7 tasks of the run old taken over\n"), "{told}");
    for step in ["use", "sum"] {
        let again =
            format!("redial: step `{step}` runs again: it has changed, or what it needs has\n");
        assert!(told.contains(&again), "{told}");
    }
    assert!(!told.contains("step `get` runs again"), "{told}");
}

#[test]
fn what_is_tried_otherwise_does_the_same() {
    // Also the dead letter has its first step still.
    let more = "needs: first\n    slots: 2\n    budget: true\n    failures_max: 50%";
    let (said, _, ran) = taken_over("needs: first", more, 1);
    assert_eq!((said.as_str(), ran), ("hello world, 3 of 4, a", once(&["use c", "sum"])));
    let (_, _, ran) = taken_over("attempts: 1", "attempts: 3, delay: 1ms", 1);
    assert_eq!((ran["use c"], ran["sum"], ran.len()), (3, 1, 2));
}

#[test]
fn what_comes_before_or_goes_into_a_step_counts() {
    // A step that it needs, by name alone.
    let (_, _, ran) = taken_over("echo 1'", "echo 2'", 1);
    let (letters, inner) = (["a", "b", "c", "d"], ["get", "use"]);
    let tasks = letters.iter().flat_map(|letter| inner.map(|step| format!("{step} {letter}")));
    let mut all: BTreeMap<_, _> = tasks.map(|task| (task, 1)).collect();
    all.extend(once(&["first", "sum"]));
    assert_eq!(ran, all);
    // An input that it names.
    let (said, _, ran) = taken_over("who: world", "who: moon", 1);
    assert_eq!((said.as_str(), ran), ("hello moon, 3 of 4, a", once(&["greet", "use c", "sum"])));
    // One that none names.
    let (_, _, ran) = taken_over("unused: 1", "unused: 2", 1);
    assert_eq!(ran, once(&["use c", "sum"]));
    // A choice of items, which are others then.
    let (said, _, ran) = taken_over("letters.txt}", "letters.txt}\n    where: item != \"c\"", 0);
    assert_eq!(said, "hello world, 3 of 3, a");
    assert_eq!(ran.len(), 7, "{ran:?}");
}

#[test]
fn what_must_not_run_twice_is_asked_for() {
    let flow = "
steps:
  pay: {idempotent: false, shell: 'echo pay >> ran'}
  fail: {needs: pay, run: ['false']}
";
    let place = place();
    place.runs(flow, &["--run", "old"], 1);
    place.ran();
    let changed = flow.replace("echo pay", "echo pay twice");
    let wrong = ["run", "flow.yaml", "--run", "new", "--from", "old"];
    fs::write(place.path().join("flow.yaml"), &changed).unwrap();
    let why = "step `pay` may have succeeded in `old`, would run again, and must not run twice (idempotent: false); add --again if it may";
    place.refused(&wrong, why);
    assert!(!place.has_run("new"));
    // It is taken over, as long as it is what it was.
    place.runs(&flow.replace("'false'", "'true'"), &["--run", "new", "--from", "old"], 0);
    assert_eq!(place.ran(), once(&[]));
    place.runs(&changed, &["--run", "newer", "--from", "old", "--again"], 1);
    assert_eq!(place.ran(), once(&["pay twice"]));
}

#[test]
fn a_run_that_was_killed_is_over_once_another_one_has_taken_over() {
    let place = place();
    let flow = "
steps:
  done: {shell: 'echo done >> ran; echo 17'}
  hangs: {shell: 'echo hangs ${done.output} >> ran; test -e go || sleep 1000', policy: 'attempts: 1'}
outputs: {all: '${done.output}'}
";
    fs::write(place.path().join("flow.yaml"), flow).unwrap();
    let begin = ["flow", "run", "flow.yaml", "--run", "old"];
    let mut redial = program::command(place.path(), &begin).spawn().unwrap();
    let ran = || fs::read_to_string(place.path().join("ran")).unwrap_or_default();
    while !ran().contains("hangs 17") {
        assert!(redial.try_wait().unwrap().is_none(), "it is over before it was killed");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    redial.kill().unwrap();
    redial.wait().unwrap();
    fs::write(place.path().join("go"), "").unwrap();
    place.ran();
    let flow = flow.replace("attempts: 1", "attempts: 2");
    let (printed, told) = place.runs(&flow, &["--run", "new", "--from", "old"], 0);
    assert_eq!(printed, "17\n");
    assert!(told.contains("redial: the run old is cancelled: new goes on with it\n"), "{told}");
    assert_eq!(place.ran(), once(&["hangs 17"]));
    place.refused(&["resume", "old"], "the run `old` is cancelled");
    // It can be taken over all the same.
    place.runs(&flow, &["--run", "newer", "--from", "old"], 0);
    assert_eq!(place.ran(), once(&["hangs 17"]));
}

#[test]
fn what_cannot_be_taken_over_is_told() {
    let place = place();
    fs::write(place.path().join("flow.yaml"), FLOW).unwrap();
    let with = |words: &[&'static str]| [&["run", "flow.yaml", "--run", "new"], words].concat();
    place.refused(&with(&["--from", "none"]), "there is no run `none`");
    place.refused(&with(&["--from", "a/b"]), "a/b");
    place.refused(&with(&["--from", "x", "--seed", "3"]), "--seed");
    place.refused(&with(&["--again"]), "--from");
    assert!(!place.has_run("new"));
}

/// A map with a branch, a condition and a fallback, and steps that are skipped, recovered and passed over.
const EVERYTHING: &str = "
steps:
  none: {when: 'false', run: ['true']}
  plain: {shell: 'echo plain >> ran; echo 2'}
  recovered: {run: ['false'], fallback: {shell: 'echo other >> ran; echo 3'}}
  passed: {run: ['false'], on_failure: continue}
  map:
    needs: plain
    each: ${lines.output}
    policy: 'attempts: 3, delay: 1ms'
    steps:
      - name: one
        shell: 'echo one ${item} >> ran; echo ${plain.output}'
      - name: two
        when: item != 'a'
        shell: 'echo two ${item} >> ran; test ${item} != b || test $REDIAL_ATTEMPT -gt 1'
      - name: three
        branch:
          - {name: big, when: item == 'c', shell: 'echo big ${item} >> ran; echo 5'}
          - {name: small, when: 'true', shell: 'echo small ${item} >> ran; echo 6'}
        output: json
      - {name: four, shell: 'test ${item} != d', on_failure: continue}
      - {name: five, shell: 'echo five ${item} >> ran; echo ${three.output}', output: json}
  lines: {shell: 'echo lines >> ran; printf \"a\\nb\\nc\\nd\\n\"', output: lines}
  choice:
    branch:
      - {name: left, when: plain.output == '1', shell: 'echo left >> ran; echo l'}
      - {name: right, when: plain.output == '2', shell: 'echo right >> ran; echo r'}
  end: {shell: 'echo end >> ran; echo ${map.results} ${choice.output} ${recovered.output}'}
outputs: {end: '${end.output}'}
";

/// What has succeeded by then does not run again, wherever the run before was killed, unless it stands behind something that
/// is not a success.
#[test]
fn a_run_that_was_cut_after_any_record_is_taken_over() {
    let place = place();
    let (whole, _) = place.runs(EVERYTHING, &["--run", "old", "-j", "1"], 0);
    assert_eq!(whole, "[6,6,5,6] r 3\n");
    let journal = place.path().join(".redial/runs/old/journal.ndjson");
    let all = fs::read_to_string(&journal).unwrap();
    // Each of the others is for another seed.
    const EVERY: usize = 5;
    let seed = std::env::var("REDIAL_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| std::process::id().into());
    let cuts = all.match_indices('\n').map(|(at, _)| at + 1).enumerate();
    for (at, cut) in cuts.skip(seed as usize % EVERY).step_by(EVERY) {
        let before = &all[..cut];
        fs::write(&journal, before).unwrap();
        let name = format!("new{at}");
        place.ran();
        let arguments = ["run", "flow.yaml", "--run", &name, "--from", "old", "-j", "1"];
        let output = place.redial(&arguments);
        let said = format!("REDIAL_SEED={seed}, cut after {at}: {}", stderr(&output));
        assert_eq!((output.status.code(), stdout(&output)), (Some(0), &*whole), "{said}");
        let records = before.lines().map(|line| serde_json::from_str(line).unwrap());
        let succeeded = records.filter(|record: &serde_json::Value| {
            record["type"] == "attempt.end" && record["outcome"] == "succeeded"
        });
        let ran = place.ran();
        for record in succeeded {
            let (step, key) = (record["step"].as_str().unwrap(), record["key"].as_str());
            let task = key.map_or(step.to_owned(), |key| format!("{step} {key}"));
            // `four` of d went on without success, and `recovered` is none.
            let is_behind = ["five d", "end", "recovered.fallback"].contains(&&*task);
            assert!(is_behind || !ran.contains_key(&task), "{said}: {task} ran again: {ran:?}");
        }
        // It is a run like any other: what was written down is read.
        assert!(place.works(&["status", &name]).contains("succeeded in"), "{said}");
        fs::write(&journal, before).unwrap();
    }
}
