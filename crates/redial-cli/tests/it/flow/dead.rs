//! `redial flow dead list` and `show`.

use std::io::Write;

use redial_flow::record::{Event, Outcome, Record};
use serde_json::json;

use super::{Place, end, failed, gives_up, record, run_end, run_start, start};
use crate::program::{stderr, stdout};

/// Dead by exit 7, by a signal, by its value and by a timeout; and a step that is no item.
fn dead() -> Vec<Record> {
    let mut records = vec![run_start(0.0, Event::RunStart)];
    for item in [0, 1, 3] {
        records.push(start(1.0, "fetch", Some(item), 1));
    }
    records.push(Record { output: Some("half".into()), ..failed(2.0, "fetch", Some(0), 1, 7) });
    records.extend(gives_up(2.0, "fetch", Some(0), 1));
    let killed = end(3.0, "fetch", Some(1), 1, Outcome::Signalled);
    records.push(Record { signal: Some("SEGV".into()), ..killed });
    records.extend(gives_up(3.0, "fetch", Some(1), 1));
    let message = Some("its url has 200000 bytes".into());
    let large = record(3.0, Event::Dead, "fetch", Some(2));
    records.push(Record { reason: Some("value-too-large".into()), message, ..large });
    records.push(end(4.0, "fetch", Some(3), 1, Outcome::Timeout));
    records.extend(gives_up(4.0, "fetch", Some(3), 1));
    records.push(start(4.0, "index", None, 1));
    records.push(failed(5.0, "index", None, 1, 9));
    records.extend(gives_up(5.0, "index", None, 1));
    records.push(run_end(5.0, Outcome::Failed));
    records
}

fn keys(place: &Place, condition: &str) -> Vec<String> {
    let document = place.json(&["dead", "list", "--json", "--where", condition]);
    let dead = document["dead"].as_array().unwrap();
    let key = |dead: &serde_json::Value| dead["key"].as_str().unwrap_or("-").to_owned();
    dead.iter().map(key).collect()
}

#[test]
fn dead_letters_are_listed_with_why_they_gave_up() {
    let place = Place::new();
    place.run("nightly", &dead());
    let text = place.works(&["dead", "list"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "picture-0 fetch 1 exit 7 all attempts are spent",
        "picture-1 fetch 1 signal SEGV",
        "picture-2 fetch 0 value-too-large: its url has 200000 bytes",
        "picture-3 fetch 1 timeout",
        "index index 1 exit 9",
    ] {
        assert!(words.contains(part), "{part}: {text}");
    }
    assert_eq!(place.works(&["dead", "list", "nightly"]), text);
    let document = place.json(&["dead", "list", "--json"]);
    assert_eq!(document["dead"].as_array().unwrap().len(), 5);
    assert_eq!(document["dead"][4]["key"], json!(null));
    assert!(document["dead"][0].get("attempt_details").is_none());
}

#[test]
fn a_condition_chooses_by_the_last_attempt() {
    let place = Place::new();
    place.run("nightly", &dead());
    assert_eq!(keys(&place, "exit:7"), ["picture-0"]);
    assert_eq!(keys(&place, "exit:7 & stderr:/gave.*up/"), ["picture-0"]);
    assert_eq!(keys(&place, "exit:7 & !stderr:/gave.*up/"), [""; 0]);
    assert_eq!(keys(&place, "stdout:/^half$/"), ["picture-0"]);
    assert_eq!(keys(&place, "signal:SEGV"), ["picture-1"]);
    assert_eq!(keys(&place, "timeout"), ["picture-3"]);
    assert_eq!(keys(&place, "!exit:7-9 & !timeout & !signal:SEGV"), ["picture-2"]);
    let output = place.redial(&["dead", "list", "--where", "exit:99"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""));
    assert_eq!(stderr(&output), "none of the 5 dead letters of nightly ended like that\n");
    place.refused(&["dead", "list", "--where", "exti:7"], "--where 'exti:7': ");
}

#[test]
fn a_dead_letter_is_shown_with_its_item_attempts_standard_error_and_output() {
    let place = Place::new();
    let run = place.run("nightly", &dead());
    let mut items = std::fs::OpenOptions::new().append(true).open(run.items_path()).unwrap();
    let line = json!({"step": "pictures", "item": 0, "value": {"url": "http://a.test/\u{9b}0"}});
    writeln!(items, "{line}").unwrap();
    let text = place.works(&["dead", "show", "picture-0"]);
    for part in [
        "fetch, picture-0\nGave up after 1 attempt: all attempts are spent.\n",
        "item\n  {\"url\":\"http://a.test/\u{fffd}0\"}\n",
        "stop: all attempts are spent",
        "standard error\n  curl: (7) gave up <&>\n",
        "output\n  half\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(place.works(&["dead", "show", "nightly", "fetch/picture-0"]), text);
    let document = place.json(&["dead", "show", "--json", "picture-0", "picture-0", "index"]);
    assert_eq!(document["dead"].as_array().unwrap().len(), 2);
    assert_eq!(document["dead"][0]["value"]["url"], "http://a.test/\u{9b}0");
    assert_eq!(document["dead"][0]["attempt_details"][0]["exit"], 7);
    assert_eq!(document["dead"][0]["output"], "half");
    assert_eq!(place.works(&["dead", "show", "nightly"]).matches("Gave up after").count(), 5);
    place.refused(&["dead", "show", "picture-9"], "redial flow dead list nightly lists them");
}

/// A table has room for the beginning of a long key, and what it shows can be typed.
#[test]
fn a_key_that_a_table_has_clipped_is_understood_if_it_is_the_only_one() {
    let mut records = dead();
    let keys =
        ["http://a.test/one", "http://a.test/two"].map(|url| url.to_owned() + &"/x".repeat(60));
    for record in &mut records {
        if let Some(place @ 0..=1) = record.item {
            record.key = Some(keys[place as usize].as_str().into());
        }
    }
    let place = Place::new();
    place.run("nightly", &records);
    let text = place.works(&["dead", "list"]);
    let clipped = text.lines().find_map(|line| line.split_once('…')).expect("a key is clipped").0;
    assert!(keys[0].starts_with(clipped) && clipped.len() < keys[0].len(), "{text}");
    let clipped = format!("{clipped}…");
    let shown = place.works(&["dead", "show", &clipped]);
    assert!(shown.starts_with(&format!("fetch, {}\n", keys[0])), "{shown}");
    assert_eq!(place.works(&["dead", "show", &keys[0]]), shown);
    place.refused(
        &["dead", "show", "http://a.test/…"],
        "2 dead letters begin with `http://a.test/`",
    );
    // Without the sign that something is missing nothing is guessed.
    place.refused(&["dead", "show", "http://a.test/one"], "there is no dead letter");
    place.refused(&["dead", "show", "…"], "there is no dead letter `…`");
}

/// Nobody looks into the journal for the error of the system.
#[cfg(unix)]
#[test]
fn why_a_command_could_not_be_started_is_told() {
    let place = Place::new();
    let flow = "inputs: {to: /no/such}\nsteps:\n  a: {run: ['${inputs.to}/program', x]}\n  b: {run: ['true'], dir: '${inputs.to}'}\n";
    let (_, said) = place.runs(flow, &["--run", "q"], 1);
    let why = "/no/such/program: No such file or directory";
    assert!(said.contains(&format!("a: dead after 1 attempt: cannot be started: {why}")), "{said}");
    let shown = place.works(&["dead", "show", "q", "a"]);
    let last = format!("The last attempt: could not be started: {why}.\n");
    assert!(shown.contains(&last), "{shown}");
    let shown = place.works(&["dead", "show", "q", "b"]);
    assert!(shown.contains("could not be started: there is no directory /no/such.\n"), "{shown}");
    let document = place.json(&["dead", "show", "q", "a", "--json"]);
    assert_eq!(document["dead"][0]["attempt_details"][0]["message"], json!(why));
    let page = place.works(&["report", "q", "--html", "-"]);
    assert!(page.contains(&format!("<p>{}</p>", last.trim_end())), "{page}");
}

#[test]
fn what_is_not_dead_is_no_dead_letter() {
    let place = Place::new();
    let ends = [start(0.0, "list", None, 1), end(1.0, "list", None, 1, Outcome::Succeeded)];
    place.run("good", &ends);
    place.refused(
        &["dead", "show", "good", "list"],
        "`list` of the run good is no dead letter: it is succeeded",
    );
    let output = place.redial(&["dead", "list"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "there are no dead letters in good\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_step_of_its_own_is_dropped_and_stays_failed() {
    let place = Place::new();
    let flow = "flow: two\nsteps:\n  a: {run: ['false']}\n  b: {needs: a, run: [touch, ran]}\n  c: {run: ['false']}\n";
    place.runs(flow, &["--run", "two"], 1);
    let output = place.redial(&["dead", "drop", "two", "a"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "redial: 1 dead letter dropped\nredial: the step `a` stays failed, and what needs it does not run\n"
    );
    let left = place.json(&["dead", "list", "two", "--json"]);
    assert_eq!(left["dead"].as_array().unwrap().len(), 1, "{left}");
    let status = place.json(&["status", "two", "--json"]);
    assert_eq!(status["runs"][0]["state"], "failed", "{status}");
    assert_eq!(status["runs"][0]["tasks"]["dropped"], 1, "{status}");
    place.refused(&["dead", "drop", "two", "a"], "is no dead letter: it is dropped");
    let output = place.redial(&["resume", "two"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let output = place.redial(&["dead", "retry", "two"]);
    assert!(stderr(&output).contains("trying 1 dead letter again"), "{}", stderr(&output));
    assert!(!place.path().join("ran").exists());
    assert_eq!(place.redial(&["dead", "drop", "two", "--all"]).status.code(), Some(0));
    assert_eq!(place.redial(&["resume", "two"]).status.code(), Some(1));
}

/// The attempt says so itself, if it fails by an exit code.
#[cfg(unix)]
#[test]
fn what_may_have_succeeded_is_not_run_again_where_it_must_not_run_twice() {
    let flow = "
flow: pay
policies: {default: 'attempts: 3, delay: 1ms'}
steps:
  cut: {idempotent: false, run: [sleep, '1000'], timeout: 10ms, fallback: {value: none}}
  killed: {idempotent: false, shell: 'kill -KILL $$', on_failure: continue}
  failed: {idempotent: false, run: ['false']}
";
    let place = Place::new();
    place.runs(flow, &["--run", "pay"], 1);
    let letters = place.json(&["dead", "list", "pay", "--json"]);
    let letters = letters["dead"].as_array().unwrap().iter();
    let mut letters: Vec<_> = letters
        .map(|one| (one["step"].clone(), one["attempts"].clone(), one["reason"].clone()))
        .collect();
    letters.sort_by_key(|(step, ..)| step.to_string());
    let expected = [
        ("cut", 1, "may-have-succeeded"),
        ("failed", 3, "attempts-spent"),
        ("killed", 1, "may-have-succeeded"),
    ];
    assert_eq!(letters, expected.map(|(step, count, why)| (step.into(), count.into(), why.into())));
}
