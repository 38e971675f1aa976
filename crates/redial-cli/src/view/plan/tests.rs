//! Policies in, text out.

use std::time::Duration;

use redial_core::{Backoff, Policy, clause, policy};
use redial_policy::{Diagnostic, Kind, Plan, Span};

use super::picture::Picture;
use super::{Planned, View, html, json, svg, terminal};
use crate::text::columns;
use crate::xml::parsed;

fn words(planned: &Planned) -> String {
    View::new(planned).words
}

const FULL: Policy =
    policy!("attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full");

fn planned(policy: Policy) -> Planned {
    Planned { name: None, from: None, plan: Plan::new(policy), show: None, diagnostics: vec![] }
}

fn seeded(policy: Policy, seed: u64) -> Planned {
    Planned { plan: Plan::new(policy).seed(seed), ..planned(policy) }
}

/// Also one that warns.
fn read(clause: &str) -> Planned {
    let reading = clause::read_call(clause);
    let policy = reading.policy().unwrap_or_else(|| panic!("`{clause}` is not a policy"));
    Planned { plan: Plan::new(policy).timeout(reading.timeout()), ..planned(policy) }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn shown(plans: &[Planned], width: usize) -> String {
    plain(&terminal(plans, width))
}

/// The smallest and the largest there is, and what lies across.
const EXTREMES: [&str; 20] = [
    "attempts: 1",
    "attempts: 1, timeout: 5s",
    "attempts: 2, delay: 1ns",
    "attempts: 2, delay: 18446744073709551615ns",
    "attempts: 100, delay: 18446744073709551615ns, jitter: full",
    "attempts: 100, delay: 18446744073709551615ns, jitter: equal, timeout: 213503d",
    "attempts: 4294967295, delay: 1ns, backoff: exponential, max_delay: none",
    "attempts: 4294967295, delay: 1s, jitter: full, within: 10s",
    "attempts: unlimited",
    "attempts: unlimited, delay: 1ns",
    "attempts: unlimited, within: 5s",
    "attempts: unlimited, wait_budget: 5s, timeout: 1s",
    "attempts: unlimited, delay: 1s, backoff: fibonacci, max_delay: none, within: 1min",
    "attempts: unlimited, delay: 1s, jitter: full, wait_budget: 1min, timeout: 1s",
    "attempts: 5, delay: 1s, within: 0s",
    "attempts: 5, delay: 1s, within: 1ns",
    "attempts: 5, wait_budget: 0s",
    "attempts: 20, delay: 1ns, backoff: exponential, factor: 10, max_delay: none",
    "attempts: 9, backoff: [1ns, 100d, 0s, 3h], jitter: +1000%",
    "attempts: 12, delay: 1s, jitter: [0.0, 10.0], min_delay: 1ns, jitter: full, within: 1h",
];

/// Those that take their time in a build without optimisation.
const LONG: [&str; 4] = [
    "attempts: 4294967295",
    "attempts: 4294967295, delay: 1ns",
    "attempts: 4294967295, delay: 1ns, backoff: exponential, factor: 1.001",
    "attempts: 4294967295, delay: 1s, backoff: decorrelated, max_delay: 1d",
];

#[test]
fn the_json_is_the_one_that_is_promised() {
    let text = json(&[seeded(FULL, 42)]);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
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
    let finding = Diagnostic {
        kind: Kind::named("unbounded").unwrap(),
        span: Span { start: 0, end: 30 },
        message: "it never ends".into(),
        note: None,
        fix: None,
    };
    let plans = [Planned {
        name: Some("fetch".into()),
        show: Some(1),
        diagnostics: vec![finding],
        ..read("attempts: unlimited, delay: 1s")
    }];
    assert_eq!(
        json(&plans),
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
          "message": "it never ends",
          "start": 0,
          "end": 30
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
    let rows = |planned: &Planned| {
        let found: serde_json::Value =
            serde_json::from_str(&json(std::slice::from_ref(planned))).unwrap();
        found["plans"][0]["delays"].as_array().unwrap().len()
    };
    let many = read("attempts: 1001, delay: 1s");
    assert_eq!(rows(&many), 100);
    assert!(shown(std::slice::from_ref(&many), 80).contains("\n… and 900 more\n"));
    let few = Planned { show: Some(3), ..many };
    assert_eq!(rows(&few), 3);
    assert!(shown(&[few], 80).contains("\n… and 997 more\n"));
    let endless = read("attempts: unlimited, delay: 1s");
    assert_eq!(rows(&endless), 10);
    assert!(shown(&[endless], 80).contains("\n… and so on, without end\n"));
}

#[test]
fn the_default_policy_in_a_terminal() {
    assert_eq!(
        shown(&[planned(Policy::DEFAULT)], 60),
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
        shown(&[seeded(Policy::CONTENTION, 42)], 40),
        "\
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
    let cut = read("retry: 9, delay: 1s, within: 5s");
    let styled = terminal(std::slice::from_ref(&cut), 80);
    let dim = anstyle::Style::new().dimmed();
    let row = "             5         1s           1s        1s   never reached";
    assert!(styled.contains(&format!("{dim}{row}{dim:#}\n")), "{styled}");
    let text = plain(&styled);
    assert!(text.contains("\n… and 2 more, never reached\n"), "{text}");
    assert!(text.contains("Attempts 6 to 10 are never reached."), "{text}");
    assert!(text.contains("╎ within 5s"), "{text}");
    assert!(shown(&[cut], 40).contains("\n       5         never reached\n"));
}

#[test]
fn what_never_ends_is_not_said_to_give_up() {
    let ends = |clause: &str| {
        let text = shown(&[read(clause)], 80);
        let line = text.lines().find(|line| line.starts_with("gives up after")).unwrap();
        line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ends("attempts: unlimited, delay: 1s"), "never never");
    assert_eq!(ends("attempts: unlimited"), "never never");
    assert_eq!(ends("attempts: unlimited, timeout: 1s"), "never never");
    assert_eq!(ends("attempts: unlimited, wait_budget: 5s"), "never never");
    assert_eq!(ends("attempts: unlimited, delay: 1s, within: 5s"), "4s 4s");
    assert_eq!(ends("attempts: 5, delay: 1s, timeout: 1s"), "4s 9s");
}

#[test]
fn policies_side_by_side_share_one_axis_and_are_compared() {
    let named = Planned { name: Some("fetch".into()), ..planned(FULL) };
    let text = shown(&[named, planned(Policy::DEFAULT)], 80);
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
    let text = shown(&[read("attempts: 20, delay: 1ms, backoff: exponential")], 80);
    assert!(text.contains("The time axis is logarithmic."), "{text}");
    assert!(text.contains("12 of 20 attempts are drawn."), "{text}");
    let even = shown(&[planned(FULL)], 80);
    assert!(!even.contains("logarithmic"), "{even}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let mut plans: Vec<Planned> = EXTREMES.iter().map(|clause| read(clause)).collect();
    plans.push(Planned {
        name: Some("map.agent_template[0].再試行.retry_config".repeat(3)),
        ..seeded(Policy::CONTENTION, 1)
    });
    for width in [40, 80, 120] {
        plans.iter().for_each(|planned| assert_fits(std::slice::from_ref(planned), width));
        assert_fits(&plans, width);
    }
    for clause in LONG {
        assert_fits(&[read(clause)], 40);
    }
    // Beyond what is asked for: as good as it gets.
    let few = [read("retry: 9, delay: 1s, within: 5s"), seeded(Policy::CONTENTION, 1)];
    for width in 0..=300 {
        let text = shown(&few, width);
        assert!(width < 40 || text.lines().all(|line| columns(line) <= width), "{text}");
    }
}

fn assert_fits(plans: &[Planned], width: usize) {
    let text = shown(plans, width);
    for line in text.lines() {
        assert!(columns(line) <= width, "{} > {width}: {line}", columns(line));
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn every_window_lies_on_the_axis_in_order() {
    for clause in EXTREMES {
        for seed in [0, 1, 42] {
            let planned = read(clause);
            let planned = Planned { plan: planned.plan.clone().seed(seed), ..planned };
            let picture = Picture::new(&[planned]);
            let Some(axis) = picture.axis else { continue };
            for window in &picture.charts[0].windows {
                let moments =
                    [window.earliest, window.mean.unwrap_or(window.latest), window.latest];
                assert!(moments.is_sorted(), "{clause}: {window:?}");
                if let Some(sample) = window.sample {
                    let range = window.earliest..=window.latest;
                    assert!(range.contains(&sample), "{clause}: {window:?}");
                }
                let positions = moments.map(|moment| axis.moment(moment));
                assert!(positions.is_sorted(), "{clause}: {positions:?}");
                assert!(positions.iter().all(|at| (0.0..=1.0).contains(at)), "{clause}");
            }
        }
    }
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
        assert_eq!(words(&read(clause)), expected, "{clause}");
    }
    for clause in EXTREMES {
        words(&read(clause));
    }
}

#[test]
fn hostile_names_stay_text() {
    let name = "a\u{1b}[2J\u{202e}<script>alert(\"1\")</script>]]>&'\0\u{ffff}";
    let plans = [Planned { name: Some(name.into()), ..planned(FULL) }, planned(Policy::DEFAULT)];
    for text in [svg(&plans), svg(&plans[..1]), html(&plans), html(&plans[..1])] {
        assert!(!text.contains("<script") && !text.contains("]]>"), "{text}");
        assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{ffff}'));
        assert!(
            text.contains("a�[2J�&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;]]&gt;&amp;")
        );
    }
    let text = terminal(&plans, 80);
    assert!(!text.contains("\u{1b}[2J") && !text.contains('\u{202e}'));
}

#[test]
fn drawings_are_well_formed_and_name_no_other_place() {
    let mut plans: Vec<Planned> = EXTREMES.iter().map(|clause| read(clause)).collect();
    plans.push(seeded(Policy::CONTENTION, 1));
    let alone = plans.iter().map(std::slice::from_ref);
    for plans in alone.chain([&plans[..], &[]]) {
        let (drawing, page) = (svg(plans), html(plans));
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
    let finding = Diagnostic {
        kind: Kind::named("many-retries").unwrap(),
        span: Span { start: 0, end: 9 },
        message: "20 retries < 10 is <many>".into(),
        note: None,
        fix: None,
    };
    let plan = Planned { diagnostics: vec![finding], ..planned(FULL) };
    let page = html(std::slice::from_ref(&plan));
    assert!(page.contains(&format!("<code>{FULL}</code>")), "{page}");
    assert!(page.contains(&words(&plan)), "{page}");
    assert!(page.contains("<code>many-retries</code>: 20 retries &lt; 10 is &lt;many&gt;"));
    assert!(page.contains("<figure>") && page.contains("<figcaption>"));
}

#[test]
fn a_policy_built_in_code_is_shown_as_well() {
    let policy = Backoff::constant(Duration::from_secs(1)).attempts(2);
    assert!(shown(&[planned(policy)], 80).starts_with("attempts: 2, delay: 1s\n"));
}
