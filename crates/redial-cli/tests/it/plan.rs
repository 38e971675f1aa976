//! `redial plan`: policies in, text out.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::program::command;
use crate::xml::parsed;

const FULL: &str = "attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full";

/// The smallest and the largest policies, and what lies across.
fn extremes() -> impl Iterator<Item = &'static str> {
    include_str!("../../src/view/plan/extremes.txt").lines()
}

/// Those that take long in a build without optimisation.
const LONG: [&str; 4] = [
    "attempts: 4294967295",
    "attempts: 4294967295, delay: 1ns",
    "attempts: 4294967295, delay: 1ns, backoff: exponential, factor: 1.001",
    "attempts: 4294967295, delay: 1s, backoff: decorrelated, max_delay: 1d",
];

fn run(columns: usize, arguments: &[&str]) -> Output {
    let mut command = command(Path::new("."), &[&["plan"], arguments].concat());
    command.env("COLUMNS", columns.to_string()).output().unwrap()
}

#[track_caller]
fn plan(columns: usize, arguments: &[&str]) -> String {
    let output = run(columns, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn with(columns: usize, clause: &str) -> String {
    plan(columns, &["--with", clause])
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&plan(80, &[arguments, &["--json"]].concat())).unwrap()
}

/// The flags that show each of these policies.
fn with_each<'c>(clauses: impl Iterator<Item = &'c str>) -> Vec<&'c str> {
    clauses.flat_map(|clause| ["--with", clause]).collect()
}

/// A policy file with one policy, and how to name it.
fn file(name: &str, clause: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies.json");
    let mut policies = serde_json::json!({"policies": {}});
    policies["policies"][name] = clause.into();
    fs::write(&path, policies.to_string()).unwrap();
    (folder, path.into_os_string().into_string().unwrap())
}

#[test]
fn the_json_is_the_one_that_is_promised() {
    let found = json(&["--with", FULL, "--seed", "42"]);
    let expected = serde_json::json!({"plans": [{
        "policy": "attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full",
        "attempts": 5,
        "delays": [
            {"after_attempt": 1, "min_ns": 0, "mean_ns": 500_000_000_u64,
             "max_ns": 1_000_000_000_u64, "sample_ns": 741_564_879_u64, "reachable": true},
            {"after_attempt": 2, "min_ns": 0, "mean_ns": 1_000_000_000_u64,
             "max_ns": 2_000_000_000_u64, "sample_ns": 319_820_785_u64, "reachable": true},
            {"after_attempt": 3, "min_ns": 0, "mean_ns": 2_000_000_000_u64,
             "max_ns": 4_000_000_000_u64, "sample_ns": 1_114_404_521_u64, "reachable": true},
            {"after_attempt": 4, "min_ns": 0, "mean_ns": 4_000_000_000_u64,
             "max_ns": 8_000_000_000_u64, "sample_ns": 2_753_525_732_u64, "reachable": true},
        ],
        "total_wait": {"min_ns": 0, "mean_ns": 7_500_000_000_u64, "max_ns": 15_000_000_000_u64},
        "gives_up_after": {"min_ns": 0, "max_ns": 15_000_000_000_u64},
        "diagnostics": [],
    }]});
    assert_eq!(found, expected);
}

#[test]
fn the_fields_of_the_json_stand_in_order() {
    let (_folder, file) = file("fetch", "attempts: unlimited, delay: 1s");
    assert_eq!(
        plan(80, &[&file, "--show", "1", "--json"]),
        r#"{
  "plans": [
    {
      "name": "fetch",
      "policy": "attempts: unlimited, delay: 1s",
      "attempts": "unlimited",
      "delays": [
        {
          "after_attempt": 1,
          "min_ns": 1000000000,
          "mean_ns": 1000000000,
          "max_ns": 1000000000,
          "reachable": true
        }
      ],
      "total_wait": {
        "min_ns": null,
        "mean_ns": null,
        "max_ns": null
      },
      "gives_up_after": {
        "min_ns": null,
        "max_ns": null
      },
      "diagnostics": [
        {
          "name": "unbounded",
          "severity": "warning",
          "message": "unlimited attempts with no limit in time never give up; add within",
          "start": 22,
          "end": 41
        }
      ]
    }
  ]
}
"#
    );
}

#[test]
fn a_hundred_delays_are_shown_and_ten_where_there_is_no_end() {
    let cases: [(&[&str], usize, &str); 3] = [
        (&["--with", "attempts: 1001, delay: 1s"], 100, "… and 900 more"),
        (&["--with", "attempts: 1001, delay: 1s", "--show", "3"], 3, "… and 997 more"),
        (&["--with", "attempts: unlimited, delay: 1s"], 10, "… and so on, without end"),
    ];
    for (arguments, rows, rest) in cases {
        assert_eq!(json(arguments)["plans"][0]["delays"].as_array().unwrap().len(), rows);
        assert!(plan(80, arguments).contains(&format!("\n{rest}\n")), "{arguments:?}");
    }
}

#[test]
fn the_default_policy_in_a_terminal() {
    assert_eq!(
        plan(60, &[]),
        "\
attempts: 3, delay: 1s, backoff: exponential,
max_delay: 30s, jitter: full

Up to 3 attempts. It waits 0s to 1s after the first failure
and 0s to 2s after the second; the waits add up to 1.5s on
average and 3s at most.

 after attempt   at least   on average   at most
             1         0s        500ms        1s
             2         0s           1s        2s
────────────────────────────────────────────────
  waits in all         0s         1.5s        3s
gives up after         0s                     3s

The time that the attempts themselves take is not counted.

When each attempt can start
1 ●
2 ├─────────●────────┤
3 ├────────────────────────────●───────────────────────────┤
  ┴─────────┴────────┴─────────┴────────┴─────────┴────────┴
  0s      500ms     1s       1.5s      2s       2.5s      3s
├─┤ earliest to latest   ● on average
"
    );
}

#[test]
fn contention_in_a_narrow_terminal() {
    assert_eq!(
        plan(40, &["--preset", "contention", "--seed", "42"]),
        "\
contention
attempts: 7, delay: 10ms,
backoff: exponential, max_delay: 640ms,
jitter: +50%, max_delay: 1s, within: 30s

Up to 7 attempts. After the first
failure it waits 10ms to 15ms, then
twice as long each time, never more than
960ms; the waits add up to 787.5ms on
average, 630ms at least and 945ms at
most. No attempt starts 30s or more
after the first one.

   after     at       on     at     this
 attempt  least  average   most     seed
       1   10ms   12.5ms   15ms  13.71ms
       2   20ms     25ms   30ms   21.6ms
       3   40ms     50ms   60ms  45.57ms
       4   80ms    100ms  120ms  93.77ms
       5  160ms    200ms  240ms    163ms
       6  320ms    400ms  480ms  458.9ms
────────────────────────────────────────
  in all  630ms  787.5ms  945ms  796.6ms
gives up  630ms           945ms

The time that the attempts themselves
take is not counted.

When each attempt can start
1 ●
2 ●◆
3  ◆┤
4    ◆┤
5       ├◆─┤
6             ├◆─●──┤
7                          ├─────◆─────┤
Beyond this axis: within 30s.
  ┴───────┴───────┴──────┴───────┴──────
  0s    200ms   400ms  600ms   800ms
├─┤ earliest to latest   ● on average
◆ with this seed
"
    );
}

#[test]
fn what_is_never_reached_is_said_and_dimmed() {
    let clause = "retry: 9, delay: 1s, within: 5s";
    let styled = plan(80, &["--with", clause, "--color", "always"]);
    let row = "             5         1s           1s        1s   never reached";
    assert!(styled.contains(&format!("\u{1b}[2m{row}\u{1b}[0m\n")), "{styled}");
    let text = with(80, clause);
    assert!(text.contains("\n… and 2 more, never reached\n"), "{text}");
    assert!(text.contains("Attempts 6 to 10 are never reached."), "{text}");
    assert!(text.contains("╎ within 5s"), "{text}");
    assert!(with(40, clause).contains("\n       5         never reached\n"));
}

#[test]
fn what_never_ends_is_not_said_to_give_up() {
    for (clause, ends) in [
        ("attempts: unlimited, delay: 1s", "never never"),
        ("attempts: unlimited", "never never"),
        ("attempts: unlimited, timeout: 1s", "never never"),
        ("attempts: unlimited, wait_budget: 5s", "never never"),
        ("attempts: unlimited, delay: 1s, within: 5s", "4s 4s"),
        ("attempts: 5, delay: 1s, timeout: 1s", "4s 9s"),
    ] {
        let text = with(80, clause);
        let line = text.lines().find(|line| line.starts_with("gives up after")).unwrap();
        let found = line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
        assert_eq!(found, ends, "{clause}");
    }
}

#[test]
fn policies_side_by_side_share_one_axis_and_are_compared() {
    let (_folder, file) = file("fetch", FULL);
    let text = plan(80, &[&file, "--preset", "default"]);
    let axes = text.lines().filter(|line| line.trim_start().starts_with('┴')).count();
    assert_eq!(axes, 1, "{text}");
    let compared = "\
Compared
policy     attempts   waits (mean)   waits (most)   gives up by
1. fetch          5           7.5s            15s           15s
Policy 2          3           1.5s             3s            3s
";
    assert!(text.ends_with(compared), "{text}");
}

#[test]
fn a_picture_of_powers_has_a_logarithmic_axis() {
    let text = with(80, "attempts: 20, delay: 1ms, backoff: exponential");
    assert!(text.contains("The time axis is logarithmic."), "{text}");
    assert!(text.contains("12 of 20 attempts are drawn."), "{text}");
    assert!(!with(80, FULL).contains("logarithmic"));
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let name = "map.agent_template[0].再試行.retry_config".repeat(3);
    let (_folder, file) = file(&name, FULL);
    let named = [file.as_str(), "--seed", "1"];
    for width in [40, 80, 120] {
        for clause in extremes() {
            assert_fits(&["--with", clause], width);
        }
        assert_fits(&named, width);
        assert_fits(&[with_each(extremes()), named.to_vec()].concat(), width);
    }
    for clause in LONG {
        assert_fits(&["--with", clause], 40);
    }
    let few = ["--with", "retry: 9, delay: 1s, within: 5s", "--preset", "contention"];
    for width in 40..=160 {
        assert_fits(&few, width);
    }
    // Wider and narrower terminals are taken for these.
    assert_eq!(plan(1, &few), plan(40, &few));
    assert_eq!(plan(300, &few), plan(160, &few));
}

fn assert_fits(arguments: &[&str], width: usize) {
    for line in plan(width, arguments).lines() {
        assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        assert_eq!(line, line.trim_end());
    }
}

/// The paragraph in plain words, in one line.
fn words(clause: &str) -> String {
    with(160, clause).split("\n\n").nth(1).unwrap().trim_end().replace('\n', " ")
}

#[test]
fn words_for_every_kind_of_policy() {
    let cases = [
        (
            "attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full",
            "Up to 5 attempts. After the first failure it waits 0s to 1s, then up to twice as long \
             each time, never more than 30s; the waits add up to 7.5s on average and 15s at most.",
        ),
        (
            "retry: 3, delay: 1s",
            "Up to 4 attempts. After each failure it waits 1s; the waits add up to 3s.",
        ),
        (
            "retry: 1, delay: 1s, jitter: full",
            "Up to 2 attempts. After the first failure it waits 0s to 1s.",
        ),
        (
            "retry: 5, delay: 1s, backoff: linear, increment: 2s, max_delay: none",
            "Up to 6 attempts. After the first failure it waits 1s, then 2s more each time; the \
             waits add up to 25s.",
        ),
        (
            "retry: 8, delay: 1s, backoff: fibonacci",
            "Up to 9 attempts. After the first failure it waits 1s, then as long as the last two \
             waits together, never more than 30s; the waits add up to 54s.",
        ),
        (
            "retry: 6, backoff: [1s, 3s, 7s, 15s], max_delay: 60s",
            "Up to 7 attempts. It waits 1s, 3s, 7s, 15s, then 1min each time; the waits add up to \
             2min 26s.",
        ),
        (
            "retry: 4, backoff: [1s, 3s, 2s, 9s]",
            "Up to 5 attempts. It waits 1s, 3s, 2s and 9s; the waits add up to 15s.",
        ),
        (
            "retry: 9, delay: 100ms, backoff: decorrelated, max_delay: 10s, within: 1min",
            "Up to 10 attempts. After the first failure it waits 100ms to 300ms, then up to 3 \
             times as long each time, never less than 100ms nor more than 10s; the waits add up to \
             14.93s on average, 900ms at least and 1min at most. No attempt starts 1min or more \
             after the first one.",
        ),
        (
            "attempts: 6, delay: 100ms, backoff: exponential, factor: 1.5, jitter: 25%",
            "Up to 6 attempts. After the first failure it waits 75ms to 125ms, then 1.5 times as \
             long each time, never more than 37.5s; the waits add up to 1.319s on average, 989.1ms \
             at least and 1.648s at most.",
        ),
        (
            "retry: 9, delay: 1s, within: 5s",
            "Up to 10 attempts, of which at most 5 can start within 5s. After each failure it \
             waits 1s; the waits add up to 4s.",
        ),
        (
            "attempts: 5, delay: 1s, wait_budget: 2s, timeout: 3s",
            "Up to 5 attempts, of which at most 3 can start before 2s of waiting are used up. \
             After each failure it waits 1s; the waits add up to 2s. Each attempt may take 3s, so \
             it gives up after 11s at the latest.",
        ),
        (
            "attempts: 5, delay: 1s, wait_budget: 20s, within: 1min",
            "Up to 5 attempts. After each failure it waits 1s; the waits add up to 4s. No attempt \
             starts 1min or more after the first one. It stops rather than wait more than 20s in \
             all.",
        ),
        ("attempts: 1", "It runs once; nothing is retried."),
        ("attempts: 1, timeout: 5s", "It runs once; nothing is retried. The attempt may take 5s."),
        (
            "attempts: 5, delay: 1s, within: 0s",
            "No second attempt can start within 0s, so it runs once; nothing is retried.",
        ),
        ("retry: 4", "Up to 5 attempts. It tries again at once, without waiting."),
        (
            "attempts: unlimited",
            "As many attempts as it takes. It tries again at once, without waiting. It never gives \
             up by itself.",
        ),
        (
            "attempts: unlimited, wait_budget: 5s",
            "As many attempts as it takes. It tries again at once, without waiting. It never gives \
             up by itself.",
        ),
        (
            "attempts: unlimited, delay: 1s, jitter: full, within: 5s",
            "As many attempts as can start within 5s. After each failure it waits 0s to 1s.",
        ),
        (
            "attempts: unlimited, delay: 1s, timeout: 5s",
            "As many attempts as it takes. After each failure it waits 1s. Each attempt may take \
             5s; it never gives up by itself.",
        ),
        (
            "attempts: 4294967295, delay: 1ns, backoff: exponential, max_delay: none",
            "Up to 4294967295 attempts. After the first failure it waits 1ns, then twice as long \
             each time; the waits add up to 584.5 years or more.",
        ),
        (
            "attempts: 10, delay: 1ms, min_delay: 2ms, backoff: exponential",
            "Up to 10 attempts. It waits 2ms, 2ms, 4ms and then longer and longer, never more than \
             30s; the waits add up to 512ms.",
        ),
    ];
    for (clause, expected) in cases {
        assert_eq!(words(clause), expected, "{clause}");
    }
}

#[test]
fn hostile_names_stay_text() {
    let name = "a\u{1b}[2J\u{202e}<script>alert(\"1\")</script>]]>&'\0\u{ffff}";
    let (_folder, file) = file(name, FULL);
    let several = [file.as_str(), "--preset", "default"];
    for arguments in [&several[..], &several[..1]] {
        for format in ["--svg", "--html"] {
            let text = plan(80, &[arguments, &[format, "-"]].concat());
            assert!(!text.contains("<script") && !text.contains("]]>"), "{text}");
            assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{ffff}'));
            assert!(
                text.contains("a�[2J�&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;]]&gt;&amp;")
            );
        }
        let text = plan(80, &[arguments, &["--color", "always"]].concat());
        assert!(!text.contains("\u{1b}[2J") && !text.contains('\u{202e}'));
    }
}

#[test]
fn drawings_are_well_formed_and_name_no_other_place() {
    let alone = extremes().map(|clause| vec!["--with", clause]);
    let contention = vec!["--preset", "contention", "--seed", "1"];
    let all = [with_each(extremes()), contention.clone()].concat();
    for arguments in alone.chain([contention, all]) {
        let drawing = plan(80, &[&arguments[..], &["--svg", "-"]].concat());
        let page = plan(80, &[&arguments[..], &["--html", "-"]].concat());
        parsed(&drawing);
        for text in [&drawing, &page] {
            let outside = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!outside.contains("http://") && !outside.contains("https://"), "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
        assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
    }
}

#[test]
fn the_page_has_the_clause_the_words_and_the_findings() {
    let clause = "attempts: 21, delay: 1s";
    let page = plan(80, &["--with", clause, "--html", "-"]);
    assert!(page.contains(&format!("<code>{clause}</code>")), "{page}");
    assert!(page.contains(&words(clause)), "{page}");
    assert!(page.contains("<code>many-retries</code>: "), "{page}");
    assert!(page.contains("<figure>") && page.contains("<figcaption>"));
}

#[test]
fn a_policy_built_in_code_is_shown_as_well() {
    assert!(
        plan(80, &["--preset", "until"]).starts_with("until\nattempts: unlimited, delay: 1s\n")
    );
}
