//! Events in, reports out.

use std::collections::BTreeMap;

use redial_core::{Random, SplitMix64};
use serde_json::Value;

use super::collector::Collector;
use super::{Format, json, junit, markdown, terminal, words, write};
use crate::events::{
    Action, AttemptEnd, AttemptStart, Attempts, Decided, DelaySource, Event, Line, Mode, Outcome,
    RunEnd, RunStart, Sender, Signalled,
};
use crate::text::columns;
use crate::xml::{Element, parsed};

const SECOND: u64 = 1_000_000_000;

/// Text that does something wherever it is not kept from it.
const HOSTILE: &str = "a\nb\r]]>|`*_<b onclick='x'>&amp;\"\u{1b}[31mred\u{9b}1m\u{0}\u{7f}\u{202e}\u{fffe}``` @all #1 $x$ \\|";

fn line(run: &str, t: f64, event: Event) -> Line {
    Line { v: 1, run: run.into(), t, event }
}

/// The events of a run whose attempts take a second each, and whose waits half of one.
fn events(run: &str, argv: &[&str], outcomes: &[Outcome]) -> Vec<Line> {
    let mut lines = vec![line(run, 0.0, started(argv))];
    let mut t = 0.0;
    for (attempt, outcome) in (1..).zip(outcomes.iter().copied()) {
        let of = Attempts::Limited(5);
        lines.push(line(run, t, Event::AttemptStart(AttemptStart { attempt, of, pid: Some(7) })));
        t += 1.0;
        lines.push(line(run, t, ended(attempt, outcome, "no route\n")));
        if outcome != Outcome::Succeeded {
            let stops = attempt as usize == outcomes.len();
            lines.push(line(run, t, decided(attempt, stops, None)));
            t += if stops { 0.0 } else { 0.5 };
        }
    }
    let outcome = outcomes.last().copied().unwrap_or(Outcome::Refused);
    lines.push(line(run, t, finished(outcome, outcomes.len() as u32)));
    lines
}

fn started(argv: &[&str]) -> Event {
    Event::RunStart(RunStart {
        ts: "2026-11-15T19:57:01.123456Z".into(),
        argv: argv.iter().copied().map(String::from).collect(),
        cwd: "/w".into(),
        pid: 4242,
        policy: "attempts: 5, delay: 500ms".into(),
        attempts: Attempts::Limited(5),
        timeout_ns: None,
        seed: 7,
        rules: vec![],
        mode: Mode::Run,
    })
}

fn ended(attempt: u32, outcome: Outcome, stderr: &str) -> Event {
    let failed = outcome != Outcome::Succeeded;
    Event::AttemptEnd(AttemptEnd {
        attempt,
        outcome,
        exit: matches!(outcome, Outcome::Succeeded | Outcome::Failed).then_some(i32::from(failed)),
        signal: (outcome == Outcome::Signalled).then(|| "SEGV".into()),
        sent: None,
        duration_ns: SECOND,
        user_ns: 0,
        system_ns: 0,
        stderr_tail: failed.then(|| stderr.into()),
        partly_watched: None,
    })
}

fn decided(attempt: u32, stops: bool, rule: Option<&str>) -> Event {
    Event::Decided(Decided {
        attempt,
        action: if stops { Action::Stop } else { Action::Retry },
        rule: rule.map(String::from),
        reason: stops.then(|| "attempts-spent".into()),
        delay_ns: (!stops).then_some(SECOND / 2),
        delay_source: (!stops).then_some(DelaySource::Backoff),
    })
}

fn finished(outcome: Outcome, attempts: u32) -> Event {
    let (running_ns, waits) = (u64::from(attempts) * SECOND, attempts.saturating_sub(1));
    let waited_ns = u64::from(waits) * SECOND / 2;
    let succeeded = outcome == Outcome::Succeeded;
    Event::RunEnd(RunEnd {
        outcome,
        reason: (!succeeded).then(|| "attempts-spent".into()),
        attempts,
        flaky: succeeded && attempts > 1,
        exit: Some(u8::from(!succeeded)),
        signal: None,
        waited_ns,
        running_ns,
        duration_ns: running_ns + waited_ns,
    })
}

fn collected<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Collector {
    let mut collector = Collector::default();
    for line in lines {
        collector.add(line);
    }
    collector
}

fn document(collector: &Collector) -> Value {
    serde_json::from_str(&json::json(&collector.summary())).unwrap()
}

use Outcome::{Failed, Succeeded};

/// Three commands: one flaky, one that fails, and one that was killed.
fn mixed() -> Vec<Line> {
    let mut lines = events("r1", &["make", "test"], &[Failed, Failed, Succeeded]);
    lines.extend(events("r2", &["make", "test"], &[Succeeded]));
    lines.extend(events("r3", &["curl", "https://a.b/?c=d&e"], &[Failed, Outcome::Timeout]));
    let mut killed = events("r4", &["sleep", "9"], &[Failed, Failed, Succeeded]);
    killed.truncate(5);
    lines.extend(killed);
    lines
}

#[test]
fn every_end_of_a_run_has_its_place() {
    let ends = [
        (vec![Succeeded], "succeeded_at_once"),
        (vec![Failed, Succeeded], "flaky"),
        (vec![Failed], "failed"),
        (vec![Outcome::Timeout], "failed"),
        (vec![Outcome::SpawnError], "failed"),
        (vec![Failed, Outcome::Signalled], "failed"),
        (vec![Outcome::Cancelled], "cancelled"),
        (vec![], "refused"),
    ];
    for (outcomes, verdict) in ends {
        let collector = collected(&events("r", &["x"], &outcomes));
        let document = document(&collector);
        assert_eq!(document["totals"][verdict], 1, "{outcomes:?}");
        assert_eq!(document["commands"][0]["runs"][0]["verdict"], verdict, "{outcomes:?}");
        assert_eq!(document["totals"]["attempts"], outcomes.len(), "{outcomes:?}");
    }
}

#[test]
fn the_flake_rate_is_of_the_runs_that_came_to_a_result() {
    let rate = |flaky: usize, others: &[Vec<Outcome>]| {
        let mut collector = Collector::default();
        let all = std::iter::repeat_n(vec![Failed, Succeeded], flaky).chain(others.to_vec());
        for (number, outcomes) in all.enumerate() {
            let lines = events(&format!("r{number}"), &["x"], &outcomes);
            lines.iter().for_each(|line| collector.add(line));
        }
        let totals = collector.summary().totals;
        (words::rate(&totals), totals.flake_rate())
    };
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(rate(0, &[]), (None, None));
    assert_eq!(rate(0, &[vec![Outcome::Cancelled], vec![]]), (None, None));
    assert_eq!(rate(0, &[vec![Failed]]), (words("0 %"), Some(0.0)));
    assert_eq!(rate(1, &[]), (words("100 %"), Some(1.0)));
    assert_eq!(rate(1, &[vec![Succeeded], vec![Failed, Failed]]).0, words("33.3 %"));
    assert_eq!(rate(2, &[vec![Succeeded]]).0, words("66.7 %"));
    assert_eq!(
        rate(1, &[vec![Failed], vec![Outcome::Cancelled], vec![]]),
        (words("50 %"), Some(0.5))
    );
    assert_eq!(rate(1, &vec![vec![Succeeded]; 2999]).0, words("<0.1 %"));
    assert_eq!(rate(2999, &[vec![Succeeded]]).0, words(">99.9 %"));
}

#[test]
fn a_run_without_an_end_is_unfinished_and_only_waits_that_were_over_count() {
    let all = events("r", &["x"], &[Failed, Failed, Succeeded]);
    // start, (start end decision)…: the second wait had begun when it was killed.
    let document = document(&collected(&all[..7]));
    let run = &document["commands"][0]["runs"][0];
    assert_eq!(run["verdict"], "unfinished");
    assert_eq!(run["outcome"], Value::Null);
    assert_eq!(run["attempts"], 2);
    assert_eq!(run["waited_ns"], SECOND / 2);
    assert_eq!(run["running_ns"], 2 * SECOND);
    assert_eq!(run["duration_ns"], 5 * SECOND / 2);
    assert_eq!(document["totals"]["flake_rate"], Value::Null);
}

#[test]
fn a_run_whose_start_is_not_in_the_log_is_of_an_unknown_command() {
    let all = events("r", &["x"], &[Failed, Failed, Succeeded]);
    let collector = collected(&all[4..]);
    let document = document(&collector);
    assert_eq!(document["commands"][0]["command"], Value::Null);
    let run = &document["commands"][0]["runs"][0];
    assert_eq!((&run["verdict"], &run["attempts"]), (&"flaky".into(), &3.into()));
    assert_eq!(run["attempts_not_listed"], 1);
    let summary = collector.summary();
    for text in
        [terminal::terminal(&summary, 100), markdown::markdown(&summary), checked(&collector)]
    {
        assert!(text.contains("(unknown command)"), "{text}");
    }
}

#[test]
fn the_attempts_of_an_endless_run_are_counted_and_the_first_and_last_kept() {
    const MANY: u32 = 10_000;
    let mut collector = Collector::default();
    collector.add(&line("r", 0.0, started(&["x"])));
    let long = "é".repeat(2_000) + "the end";
    for attempt in 1..=MANY {
        collector.add(&line("r", 0.0, ended(attempt, Failed, &long)));
        collector.add(&line("r", 0.0, decided(attempt, false, None)));
    }
    let before = document(&collector);
    for attempt in [1, 60, MANY / 2, MANY] {
        collector.add(&line("r", 0.0, ended(attempt, Failed, &long)));
        collector.add(&line("r", 0.0, decided(attempt, false, None)));
    }
    assert_eq!(document(&collector), before);
    let run = &before["commands"][0]["runs"][0];
    let details = run["attempt_details"].as_array().unwrap();
    let numbers: Vec<_> = details.iter().map(|one| one["attempt"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=50).chain(9951..=10_000).collect::<Vec<_>>());
    assert_eq!(run["attempts_not_listed"], MANY - 100);
    assert_eq!(run["attempts"], MANY);
    assert_eq!(run["running_ns"], u64::from(MANY) * SECOND);
    assert_eq!(run["waited_ns"], u64::from(MANY - 1) * SECOND / 2);
    let tail = details[0]["stderr_tail"].as_str().unwrap();
    assert!(tail.len() <= 2048 && tail.ends_with("éthe end"), "{}", tail.len());
    let shown = markdown::markdown(&collector.summary());
    assert!(shown.contains("| … | 9900 attempts not listed |"), "{shown}");
    assert!(checked(&collector).contains("9900 attempts not listed"));
}

#[test]
fn an_attempt_that_is_not_listed_is_not_taken_for_its_neighbour() {
    let start = |attempt| {
        let of = Attempts::Limited(200);
        line("r", 0.0, Event::AttemptStart(AttemptStart { attempt, of, pid: None }))
    };
    let mut lines: Vec<_> = (1..=50).chain(60..=109).map(start).collect();
    lines.push(line("r", 0.0, ended(55, Failed, "")));
    let run = &document(&collected(&lines))["commands"][0]["runs"][0];
    for attempt in run["attempt_details"].as_array().unwrap() {
        assert_eq!(attempt["outcome"], Value::Null, "{attempt}");
    }
}

/// Every run of a document, by its id.
fn runs(document: &Value) -> BTreeMap<String, Value> {
    let commands = document["commands"].as_array().unwrap().iter();
    let runs = commands.flat_map(|command| command["runs"].as_array().unwrap());
    runs.map(|run| (run["run"].as_str().unwrap().to_owned(), run.clone())).collect()
}

/// `REDIAL_SEED=<seed>` runs one case alone.
#[test]
fn the_order_of_lines_and_their_repetition_do_not_matter() {
    let asked = std::env::var("REDIAL_SEED").ok().map(|text| text.parse().expect("a seed"));
    for seed in asked.map_or(0..100, |seed: u64| seed..seed + 1) {
        let mut random = SplitMix64::new(SplitMix64::new(seed).word());
        let mut below = |bound: usize| (random.word() % bound as u64) as usize;
        let mut lines = Vec::new();
        for run in 0..1 + below(8) {
            let outcomes: Vec<_> = (0..below(70)).map(|_| Failed).chain([Succeeded]).collect();
            let mut events = events(&format!("r{run}"), &["x", &below(3).to_string()], &outcomes);
            // Some were killed, and some began before the log.
            events.truncate(if below(3) == 0 { 1 + below(events.len()) } else { events.len() });
            lines.extend(events.split_off(below(2)));
        }
        let expected = document(&collected(&lines));
        let mut mixed = lines.clone();
        for _ in 0..below(10) {
            mixed.push(lines[below(lines.len().max(1))].clone());
        }
        for index in (1..mixed.len()).rev() {
            mixed.swap(index, below(index + 1));
        }
        let found = document(&collected(&mixed));
        assert_eq!(found["totals"], expected["totals"], "REDIAL_SEED={seed}");
        assert_eq!(runs(&found), runs(&expected), "REDIAL_SEED={seed}");
    }
}

#[test]
fn the_terminal_has_totals_then_commands_then_the_runs_to_look_at() {
    let collector = collected(&mixed());
    let text =
        anstream::adapter::strip_str(&terminal::terminal(&collector.summary(), 120)).to_string();
    assert_eq!(
        text,
        "\
4 runs of 3 commands: 1 succeeded at once, 1 was flaky, 1 failed, 1 was unfinished.
Flake rate 33.3 %: of 3 runs with a result, 1 succeeded only after a retry.
8 attempts in all: 7s of running and 2s of waiting.

command                    runs  at once  flaky  failed  unfinished  flake rate  attempts  waited  slowest
make test                     2        1      1       0           0        50 %         4      1s       4s
curl 'https://a.b/?c=d&e'     1        0      0       1           0         0 %         2   500ms     2.5s
sleep 9                       1        0      0       0           1           –         2   500ms     1.5s

Slowest runs
took  attempts  waited  result      run  command
  4s         3      1s  flaky       r1   make test
2.5s         2   500ms  failed      r3   curl 'https://a.b/?c=d&e'
1.5s         2   500ms  unfinished  r4   sleep 9
  1s         1      0s  succeeded   r2   make test

Most retried
took  attempts  waited  result      run  command
  4s         3      1s  flaky       r1   make test
2.5s         2   500ms  failed      r3   curl 'https://a.b/?c=d&e'
1.5s         2   500ms  unfinished  r4   sleep 9
"
    );
}

#[test]
fn the_markdown_of_one_run_shows_its_attempts() {
    let mut lines = events("r", &["make", "a|b"], &[Failed, Failed, Succeeded]);
    lines[3] = line("r", 1.0, decided(1, false, Some("retry-on stderr:/a|b/")));
    lines[5] = line("r", 2.5, ended(2, Outcome::Signalled, "```\n<b>\n"));
    assert_eq!(
        markdown::markdown(&collected(&lines).summary()),
        "\
### <code>make 'a&#124;b'</code>

Flaky: succeeded only at attempt 3, after 4s, 1s of it waiting.

| attempt | what happened | duration | decision | wait |
| ---: | --- | ---: | --- | ---: |
| 1 | exit 1 | 1s | retry (retry-on stderr:/a&#124;b/) | 500ms |
| 2 | signal SEGV | 1s | retry | 500ms |
| 3 | succeeded | 1s |  |  |

The end of the standard error of attempt 2:

````text
```
<b>
````
"
    );
}

/// A change of this text is a change of what programs rely on: fields may be added, and no more.
#[test]
fn the_json_has_the_fields_that_were_promised() {
    let lines = events("r", &["make", "a b"], &[Failed, Succeeded]);
    let found = json::json(&collected(&lines).summary());
    let totals = r#"{"runs":1,"succeeded_at_once":0,"became_ready":0,"flaky":1,"failed":0,"cancelled":0,"refused":0,"unfinished":0,"flake_rate":1.0,"attempts":2,"waited_ns":500000000,"running_ns":2000000000,"slowest_ns":2500000000}"#;
    let named = r#"{"run":"r","command":"make 'a b'","verdict":"flaky","attempts":2,"waited_ns":500000000,"duration_ns":2500000000}"#;
    let first = r#"{"attempt":1,"outcome":"failed","exit":1,"signal":null,"duration_ns":1000000000,"stderr_tail":"no route\n","action":"retry","rule":null,"reason":null,"delay_ns":500000000,"delay_source":"backoff"}"#;
    let second = r#"{"attempt":2,"outcome":"succeeded","exit":0,"signal":null,"duration_ns":1000000000,"stderr_tail":null,"action":null,"rule":null,"reason":null,"delay_ns":null,"delay_source":null}"#;
    let run = format!(
        r#"{{"run":"r","ts":"2026-11-15T19:57:01.123456Z","cwd":"/w","policy":"attempts: 5, delay: 500ms","seed":7,"verdict":"flaky","outcome":"succeeded","reason":null,"exit":0,"signal":null,"attempts":2,"waited_ns":500000000,"running_ns":2000000000,"duration_ns":2500000000,"attempt_details":[{first},{second}],"attempts_not_listed":0}}"#
    );
    let expected = format!(
        r#"{{"v":1,"totals":{totals},"commands":[{{"command":"make 'a b'","argv":["make","a b"],"totals":{totals},"runs":[{run}]}}],"slowest":[{named}],"most_retried":[{named}]}}"#
    );
    assert_eq!(without_space_between(&found), expected);
}

/// Pretty JSON in one line; no text of the test above has two spaces or a space after a colon
/// that is behind a quote.
fn without_space_between(json: &str) -> String {
    json.lines().map(str::trim_start).collect::<String>().replace("\": ", "\":")
}

#[test]
fn every_field_of_the_json_is_in_the_documentation() {
    let page = include_str!("../../../../../docs/REPORTS.md");
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                found.push(name.clone());
                names(value, found);
            }),
            Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    names(&document(&collected(&mixed())), &mut found);
    assert!(found.len() > 50);
    for name in found {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn junit_has_the_reruns_of_surefire() {
    let mut lines = mixed();
    lines.extend(events("r5", &["make", "test"], &[]));
    let collector = collected(&lines);
    let suites = parsed(&checked(&collector));
    let suite = |name: &str| suites.children.iter().find(|suite| suite.is("name", name)).unwrap();
    let elements = |case: &Element| -> Vec<String> {
        case.children.iter().map(|child| child.name.clone()).collect()
    };
    assert_eq!(suites.attributes["tests"], "5");
    let make = suite("make test");
    assert_eq!((&*make.attributes["tests"], &*make.attributes["errors"]), ("3", "1"));
    let names: Vec<_> = make.children.iter().map(|case| &*case.attributes["name"]).collect();
    assert_eq!(names, ["make test", "make test (run 2)", "make test (run 3)"]);
    assert_eq!(elements(&make.children[0]), ["flakyFailure", "flakyFailure", "system-out"]);
    assert_eq!(elements(&make.children[1]), ["system-out"]);
    assert_eq!(elements(&make.children[2]), ["error", "system-out"]);
    assert_eq!(make.children[0].attributes["time"], "4.000");
    let curl = suite("curl 'https://a.b/?c=d&e'");
    assert_eq!(curl.attributes["failures"], "1");
    assert_eq!(elements(&curl.children[0]), ["failure", "rerunFailure", "system-out"]);
    assert!(curl.children[0].children[0].text.contains("all attempts are spent"));
    assert!(curl.children[0].children[0].text.contains("no route"));
    assert!(curl.children[0].children[1].is("type", "timeout"));
    assert_eq!(elements(&suite("sleep 9").children[0]), ["error", "rerunError", "system-out"]);
}

/// A collector whose every text is hostile.
fn hostile() -> Collector {
    let mut collector = Collector::default();
    for (run, outcomes) in [("1", vec![Failed, Succeeded]), ("2", vec![Failed, Failed])] {
        let mut lines = events(&format!("{HOSTILE}{run}"), &[HOSTILE, "", HOSTILE], &outcomes);
        for line in &mut lines {
            match &mut line.event {
                Event::RunStart(start) => {
                    (start.ts, start.cwd, start.policy) =
                        (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
                }
                Event::AttemptEnd(end) if end.outcome == Failed => {
                    end.stderr_tail = Some(HOSTILE.into());
                    end.signal = Some(HOSTILE.into());
                }
                Event::Decided(decided) => {
                    (decided.rule, decided.reason) = (Some(HOSTILE.into()), Some(HOSTILE.into()));
                }
                Event::RunEnd(end) => end.reason = Some(HOSTILE.into()),
                _ => {}
            }
        }
        lines.iter().for_each(|line| collector.add(line));
    }
    collector
}

#[test]
fn hostile_text_stays_text_in_a_terminal() {
    for collector in [hostile(), collected(&mixed())] {
        for width in [40, 80, 100, 160] {
            let styled = terminal::terminal(&collector.summary(), width);
            let text = anstream::adapter::strip_str(&styled).to_string();
            for line in text.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
            let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!text.contains(steers), "{text:?}");
        }
    }
}

#[test]
fn hostile_text_stays_text_in_markdown() {
    let collector = hostile();
    let text = markdown::markdown(&collector.summary());
    let without_code = text.replace("<code>", "").replace("</code>", "");
    assert!(!without_code.contains(['<', '>', '`', '*', '_', '@', '\\', '$']), "{without_code}");
    let mut bars = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        bars.push(line.matches('|').count());
    }
    assert_eq!(bars.iter().filter(|bars| **bars == 10).count(), 3, "{text}");
    assert_eq!(bars.iter().filter(|bars| **bars == 7).count(), 8, "{text}");
    assert_eq!(bars.len(), 11, "{text}");
    // A tail is fenced by more backticks than it has.
    let run = events("r", &["x"], &[Failed]);
    let tail = |stderr| {
        markdown::markdown(
            &collected([&run[0], &line("r", 1.0, ended(1, Failed, stderr))]).summary(),
        )
    };
    assert!(tail(HOSTILE).contains("\n````text\na\nb\n]]>|`"), "{}", tail(HOSTILE));
    assert!(!tail(" \n").contains("```"));
}

#[test]
fn hostile_text_stays_text_in_xml() {
    let suites = parsed(&checked(&hostile()));
    let case = &suites.children[0].children[0];
    let tail = &case.children[0].children[1].text;
    assert!(tail.starts_with("a\nb\n]]>|`*_<b onclick='x'>&amp;\"red"), "{tail}");
    assert!(case.attributes["name"].starts_with(r"$'a\nb\r]]>|`*_<b onclick=\'x\'>&amp;"));
}

#[test]
fn hostile_text_is_whole_in_json() {
    let document = document(&hostile());
    assert_eq!(document["commands"][0]["argv"], serde_json::json!([HOSTILE, "", HOSTILE]));
    let attempt = &document["commands"][0]["runs"][0]["attempt_details"][0];
    assert_eq!(attempt["stderr_tail"], HOSTILE);
}

#[test]
fn a_command_of_a_megabyte_is_whole_in_json_and_cut_elsewhere() {
    let long = "x y".repeat(350_000);
    let mut lines = events("r1", &["echo", &long], &[Failed, Succeeded]);
    lines.extend(events("r2", &["echo", &long], &[Failed]));
    for lines in [&lines[..], &lines[..7]] {
        let collector = collected(lines);
        assert_eq!(document(&collector)["commands"][0]["argv"][1], long);
        checked(&collector);
        for format in [Format::Table, Format::Md, Format::Junit] {
            let text = write(&collector.summary(), format);
            assert!(text.len() < 10_000 && text.contains('…'), "{format:?}: {}", text.len());
        }
    }
}

#[test]
fn more_commands_than_anybody_reads_are_counted() {
    let mut collector = Collector::default();
    for number in 0..60 {
        let lines = events(&format!("r{number}"), &["x", &number.to_string()], &[Succeeded]);
        lines.iter().for_each(|line| collector.add(line));
    }
    for format in [Format::Table, Format::Md] {
        let text = write(&collector.summary(), format);
        assert!(text.contains("… and 10 more commands; JSON has them all"), "{text}");
    }
    assert_eq!(document(&collector)["commands"].as_array().unwrap().len(), 60);
}

#[test]
fn numbers_that_nobody_meant_do_no_harm() {
    let mut lines = Vec::new();
    for (run, t) in [("a", f64::MAX), ("b", -1.0), ("c", f64::MIN_POSITIVE)] {
        for attempt in [0, 1, u32::MAX] {
            let Event::AttemptEnd(mut end) = ended(attempt, Failed, "") else { unreachable!() };
            end.duration_ns = u64::MAX;
            lines.push(line(run, t, Event::AttemptEnd(end)));
            let Event::Decided(mut decided) = decided(attempt, false, None) else { unreachable!() };
            decided.delay_ns = Some(u64::MAX);
            lines.push(line(run, t, Event::Decided(decided)));
        }
        let Event::RunEnd(mut end) = finished(Succeeded, 1) else { unreachable!() };
        (end.attempts, end.duration_ns, end.waited_ns) = (u32::MAX, u64::MAX, u64::MAX);
        lines.push(line(&format!("{run} ended"), t, Event::RunEnd(end)));
    }
    lines.push(line(
        "a",
        0.0,
        Event::Signalled(Signalled {
            signal: "INT".into(),
            from: Sender::Terminal,
            forwarded: true,
        }),
    ));
    let all = collected(&lines);
    let one = collected(&lines[..6]);
    for collector in [all, one] {
        checked(&collector);
        for format in [Format::Table, Format::Md, Format::Json] {
            write(&collector.summary(), format);
        }
    }
}

#[test]
fn no_run_is_no_reason_to_fall_over() {
    let collector = Collector::default();
    checked(&collector);
    for format in [Format::Table, Format::Md, Format::Json] {
        assert!(write(&collector.summary(), format).ends_with('\n'));
    }
}

#[test]
fn the_ending_of_a_file_says_its_format() {
    let of = |path: &str| Format::of(path.as_ref());
    assert_eq!(of("a/b.json"), Ok(Format::Json));
    assert_eq!(of("b.MD"), Ok(Format::Md));
    assert_eq!(of("b.xml"), Ok(Format::Junit));
    for other in ["report", "report.html", ".json", ""] {
        let error = of(other).unwrap_err();
        assert!(error.contains(other) && error.contains(".json, .md (Markdown) or .xml (JUnit)"));
    }
}

/// The JUnit report, once it has been read by a parser and found to be as its schemas want it.
fn checked(collector: &Collector) -> String {
    let text = junit::junit(&collector.summary());
    check(&parsed(&text));
    text
}

/// What the schemas of Surefire and of Jenkins both allow: elements in this order, with these
/// attributes, the ones before the bar being required.
fn check(element: &Element) {
    let (attributes, children): (&str, &[&str]) = match element.name.as_str() {
        "testsuites" => ("| name time tests failures errors", &["testsuite"]),
        "testsuite" => ("name tests failures errors skipped | time", &["testcase"]),
        "testcase" => (
            "name time | classname",
            &[
                "failure",
                "rerunFailure",
                "flakyFailure",
                "skipped",
                "error",
                "rerunError",
                "flakyError",
                "system-out",
                "system-err",
            ],
        ),
        "failure" | "error" => ("type | message", &[]),
        "rerunFailure" | "flakyFailure" | "rerunError" | "flakyError" => {
            assert_eq!(element.children[0].name, "stackTrace");
            ("type | message", &["stackTrace", "system-out", "system-err"])
        }
        "stackTrace" | "system-out" | "system-err" => ("|", &[]),
        other => panic!("there is no element {other}"),
    };
    let (required, optional) = attributes.split_once('|').unwrap();
    let has = |words: &str, name: &str| words.split_whitespace().any(|word| word == name);
    for name in required.split_whitespace() {
        assert!(element.attributes.contains_key(name), "{} has no {name}", element.name);
    }
    for (name, value) in &element.attributes {
        assert!(has(required, name) || has(optional, name), "{} has {name}", element.name);
        if name == "time" {
            let (whole, fraction) = value.split_once('.').unwrap();
            assert!(fraction.len() == 3 && (whole.to_owned() + fraction).parse::<u64>().is_ok());
        }
    }
    let place = |child: &Element| {
        let known = children.iter().position(|name| *name == child.name);
        known.unwrap_or_else(|| panic!("{} in {}", child.name, element.name))
    };
    assert!(element.children.iter().map(place).is_sorted(), "{element:?}");
    if !children.is_empty() {
        assert_eq!(element.text.trim(), "", "{}", element.name);
    }
    element.children.iter().for_each(check);
}
