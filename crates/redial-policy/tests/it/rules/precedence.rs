//! Which rule decides.

use redial_policy::{Ending, Fate, Format, Judgement, Matcher, RuleSet, Rules, Stream};

use super::NOW;

use Fate::{Retry, Stop, Success};

/// Rules from lines such as `--stop-on exit:6`, `stop_on network` (of a policy) and `set …`.
fn rules(lines: &[&str]) -> Rules {
    let mut rules = Rules::default();
    for line in lines {
        let (kind, text) = line.split_once(' ').expect("a kind and a text");
        let matcher = || Matcher::named(text).expect(text);
        match kind {
            "stop_on" => rules.policy(&[], &[matcher()]),
            "retry_on" => rules.policy(&[matcher()], &[]),
            "set" => rules.set(set(text)),
            _ => {}
        }
        let read = match kind {
            "--success-on" => rules.success_on(text),
            "--stop-on" => rules.stop_on(text),
            "--retry-on" => rules.retry_on(text),
            _ => Ok(()),
        };
        read.unwrap_or_else(|bad| panic!("{line}: {bad}"));
    }
    rules
}

/// `NAME OTHERWISE: retry exit:1; stop exit:2`
fn set(text: &str) -> RuleSet {
    let (head, body) = text.split_once(": ").expect("a head");
    let (name, otherwise) = head.split_once(' ').expect("a name and what holds otherwise");
    let mut file = format!("name = '{name}'\notherwise = '{otherwise}'\n");
    for rule in body.split("; ") {
        let (action, condition) = rule.split_once(' ').expect("an action");
        file += &format!("[[rule]]\n{action} = '{condition}'\nbecause = 'of {condition}'\n");
    }
    RuleSet::read(&file, Format::Toml).expect("a set")
}

fn judge(lines: &[&str], ending: Ending, stderr: &str) -> Judgement {
    let rules = rules(lines);
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, stderr.as_bytes());
    rules.judge(&ending, &mut watch, NOW)
}

#[track_caller]
fn check(lines: &[&str], ending: Ending, stderr: &str, fate: Fate, rule: &str) {
    let judgement = judge(lines, ending, stderr);
    let decided = judgement.in_full.as_deref().unwrap_or("");
    assert_eq!((judgement.fate, decided), (fate, rule), "{lines:?} of {ending:?} {stderr:?}");
}

const SPAWN: &str = "a command that cannot be started, unless --retry-on spawn";

#[test]
fn without_rules_exit_0_succeeds_and_every_failure_is_retried() {
    check(&[], Ending::Exit(0), "", Success, "");
    check(&[], Ending::Exit(1), "error", Retry, "");
    check(&[], Ending::signal(9), "", Retry, "");
    check(&[], Ending::TimedOut, "", Retry, "");
    check(&[], Ending::NotFound, "", Stop, SPAWN);
    check(&[], Ending::NotExecutable, "", Stop, SPAWN);
    assert!(!Rules::default().watches(Stream::Stdout));
    assert!(!Rules::default().watches(Stream::Stderr));
}

#[test]
fn success_is_what_success_on_says_where_it_is_given() {
    let one = ["--success-on exit:3", "--success-on stderr:/done/"];
    check(&one, Ending::Exit(3), "", Success, "--success-on exit:3");
    check(&one, Ending::Exit(1), "done", Success, "--success-on stderr:/done/");
    check(&one, Ending::TimedOut, "done", Success, "--success-on stderr:/done/");
    check(&one, Ending::Exit(0), "", Retry, "");
    check(&["--success-on any"], Ending::NotFound, "", Success, "--success-on any");
    // Success is asked first.
    let both = ["--stop-on exit:3", "--success-on exit:3"];
    check(&both, Ending::Exit(3), "", Success, "--success-on exit:3");
    // An exit with 0 that is no success is a failure as any other.
    let zero = ["--success-on exit:3", "--stop-on exit:0"];
    check(&zero, Ending::Exit(0), "", Stop, "--stop-on exit:0");
}

#[test]
fn a_failure_that_matches_stop_on_stops() {
    let stop = ["--stop-on exit:6", "--retry-on exit:5-7"];
    check(&stop, Ending::Exit(6), "", Stop, "--stop-on exit:6");
    check(&stop, Ending::Exit(7), "", Retry, "--retry-on exit:5-7");
    check(&["--stop-on exit:6"], Ending::Exit(5), "", Retry, "");
    // Exit 0 is no failure.
    check(&["--stop-on any"], Ending::Exit(0), "", Success, "");
    check(&["--stop-on any"], Ending::NotFound, "", Stop, "--stop-on any");
}

#[test]
fn with_retry_on_only_what_matches_is_retried() {
    let retry = ["--retry-on exit:75", "--retry-on timeout"];
    check(&retry, Ending::Exit(75), "", Retry, "--retry-on exit:75");
    check(&retry, Ending::TimedOut, "", Retry, "--retry-on timeout");
    check(&retry, Ending::Exit(1), "", Stop, "no --retry-on matches");
    check(&retry, Ending::signal(9), "", Stop, "no --retry-on matches");
}

#[test]
fn what_cannot_be_started_is_retried_only_where_spawn_is_asked_for() {
    let spawn = ["--retry-on spawn"];
    check(&spawn, Ending::NotFound, "", Retry, "--retry-on spawn");
    check(&spawn, Ending::NotExecutable, "", Retry, "--retry-on spawn");
    // It adds to the rest.
    check(&spawn, Ending::Exit(1), "", Retry, "");
    let both = ["--retry-on spawn", "--retry-on exit:75"];
    check(&both, Ending::NotFound, "", Retry, "--retry-on spawn");
    check(&both, Ending::Exit(1), "", Stop, "no --retry-on matches");
    check(&both, Ending::Exit(75), "", Retry, "--retry-on exit:75");
    // Neither everything nor the opposite of something asks for it.
    for other in ["--retry-on any", "--retry-on !exit:1", "--retry-on !spawn"] {
        check(&[other], Ending::NotFound, "", Stop, SPAWN);
        check(&[other], Ending::Exit(2), "", Retry, other);
    }
    check(&["--retry-on spawn", "--stop-on spawn"], Ending::NotFound, "", Stop, "--stop-on spawn");
    let set = ["set s retry: retry spawn"];
    check(&set, Ending::NotFound, "", Retry, "rules s: spawn (of spawn)");
    check(&["set s retry: retry exit:1"], Ending::NotFound, "", Stop, SPAWN);
}

#[test]
fn the_rules_of_a_policy_stand_beside_the_flags() {
    let policy = ["retry_on network", "stop_on rate_limit"];
    check(&policy, Ending::Exit(1), "connection lost", Retry, "retry_on network");
    check(&policy, Ending::Exit(1), "connection: 429", Stop, "stop_on rate_limit");
    check(&policy, Ending::Exit(1), "no idea", Stop, "no retry_on matches");
    let more = ["retry_on network", "--retry-on exit:75", "--stop-on exit:2"];
    check(&more, Ending::Exit(75), "", Retry, "--retry-on exit:75");
    check(&more, Ending::Exit(1), "network", Retry, "retry_on network");
    check(&more, Ending::Exit(2), "network", Stop, "--stop-on exit:2");
    // What stops is asked before what retries, whoever said it.
    let against = ["stop_on network", "--retry-on exit:1"];
    check(&against, Ending::Exit(1), "network", Stop, "stop_on network");
    // A policy's timeout is a real one too.
    check(&["retry_on timeout"], Ending::TimedOut, "", Retry, "retry_on timeout");
    check(&["retry_on timeout"], Ending::Exit(1), "timed out", Retry, "retry_on timeout");
    check(&["retry_on timeout"], Ending::Exit(1), "", Stop, "no retry_on matches");
    check(&["retry_on network"], Ending::NotFound, "network", Stop, SPAWN);
}

#[test]
fn the_first_rule_of_a_set_that_matches_decides() {
    let set = ["set s stop: retry exit:1 & stderr:/x/; stop exit:1; retry exit:1-3"];
    check(
        &set,
        Ending::Exit(1),
        "x",
        Retry,
        "rules s: exit:1 & stderr:/x/ (of exit:1 & stderr:/x/)",
    );
    check(&set, Ending::Exit(1), "", Stop, "rules s: exit:1 (of exit:1)");
    check(&set, Ending::Exit(2), "", Retry, "rules s: exit:1-3 (of exit:1-3)");
    check(&set, Ending::Exit(4), "", Stop, "rules s: otherwise stop");
    check(&set, Ending::Exit(0), "", Success, "");
    check(&["set s retry: stop exit:1"], Ending::Exit(4), "", Retry, "rules s: otherwise retry");
}

#[test]
fn flags_are_asked_before_sets() {
    let set = "set s stop: retry exit:1; stop exit:2";
    check(&["--stop-on exit:1", set], Ending::Exit(1), "", Stop, "--stop-on exit:1");
    check(&[set, "--retry-on exit:2"], Ending::Exit(2), "", Retry, "--retry-on exit:2");
    // What no flag knows, the set decides.
    check(&[set, "--retry-on exit:2"], Ending::Exit(1), "", Retry, "rules s: exit:1 (of exit:1)");
    check(&[set, "--retry-on exit:2"], Ending::Exit(9), "", Stop, "rules s: otherwise stop");
    let open = "set s retry: stop exit:2";
    check(&[open, "--retry-on exit:7"], Ending::Exit(9), "", Retry, "rules s: otherwise retry");
    check(&[open, "retry_on network"], Ending::Exit(2), "network", Retry, "retry_on network");
}

#[test]
fn several_sets_are_asked_in_their_order() {
    let a = "set a stop: retry exit:1; stop exit:2";
    let b = "set b stop: stop exit:1; retry exit:2-3";
    check(&[a, b], Ending::Exit(1), "", Retry, "rules a: exit:1 (of exit:1)");
    check(&[b, a], Ending::Exit(1), "", Stop, "rules b: exit:1 (of exit:1)");
    check(&[a, b], Ending::Exit(3), "", Retry, "rules b: exit:2-3 (of exit:2-3)");
    check(&[a, b], Ending::Exit(4), "", Stop, "rules a, rules b: otherwise stop");
    let c = "set c retry: stop exit:1";
    check(&[a, c], Ending::Exit(4), "", Retry, "rules c: otherwise retry");
    check(&[c, a], Ending::Exit(2), "", Stop, "rules a: exit:2 (of exit:2)");
}

#[test]
fn and_or_not_are_what_they_are() {
    let rules = ["--retry-on exit:1 & stderr:/a/ & !stderr:/b/"];
    let label = rules[0];
    check(&rules, Ending::Exit(1), "a", Retry, label);
    for (ending, stderr) in [
        (Ending::Exit(2), "a"),
        (Ending::Exit(1), ""),
        (Ending::Exit(1), "a b"),
        (Ending::TimedOut, "a"),
    ] {
        check(&rules, ending, stderr, Stop, "no --retry-on matches");
    }
}

#[test]
fn only_streams_that_a_rule_looks_at_are_watched() {
    let watched = |line: &str| {
        let rules = rules(&[line]);
        [Stream::Stdout, Stream::Stderr].map(|stream| rules.watches(stream))
    };
    assert_eq!(watched("--stop-on exit:1"), [false, false]);
    assert_eq!(watched("--stop-on stdout:/a/"), [true, false]);
    assert_eq!(watched("--retry-on !stderr:/a/"), [false, true]);
    assert_eq!(watched("--success-on output:/a/"), [true, true]);
    assert_eq!(watched("--retry-on network"), [false, true]);
    assert_eq!(watched("stop_on rate_limit"), [false, true]);
    let mut rules = Rules::default();
    rules.delay_from("stdout:/(1)/").expect("a pattern");
    assert!(rules.watches(Stream::Stdout) && !rules.watches(Stream::Stderr));
}

#[test]
fn streams_are_told_apart_by_what_asks_about_one_of_them() {
    let apart = |line: &str| rules(&[line]).distinguish_streams();
    for either in ["--stop-on exit:1", "--stop-on output:/a/", "--retry-on !output:/a/ & exit:2"] {
        assert!(!apart(either), "{either}");
    }
    for one in ["--stop-on stdout:/a/", "--retry-on output:/a/ & !stderr:/b/", "stop_on network"] {
        assert!(apart(one), "{one}");
    }
    let delayed = |text: &str| {
        let mut rules = Rules::default();
        rules.delay_from(text).expect(text);
        rules.distinguish_streams()
    };
    assert!(!delayed("output:/(1)/") && delayed("stderr:/(1)/"));
    assert!(delayed("output:retry-after"), "headers are whole on one stream");
}

#[test]
fn the_rules_are_described_in_the_order_in_which_they_are_asked() {
    let mut all = rules(&[
        "set s stop: retry exit:1; stop exit:2",
        "retry_on network",
        "--retry-on exit:75",
        "stop_on rate_limit",
        "--stop-on exit:6",
        "--success-on exit:0,3",
    ]);
    all.delay_from("stderr:/after (1)/").expect("a pattern");
    assert_eq!(
        all.describe(),
        [
            "success: --success-on exit:0,3",
            "stop: --stop-on exit:6",
            "stop: stop_on rate_limit",
            "retry: --retry-on exit:75",
            "retry: retry_on network",
            "retry: rules s: exit:1 (of exit:1)",
            "stop: rules s: exit:2 (of exit:2)",
            "stop: a command that cannot be started, unless --retry-on spawn",
            "stop: rules s: otherwise stop",
            "delay: --delay-from stderr:/after (1)/",
        ],
    );
    assert_eq!(
        Rules::default().describe(),
        ["success: exit:0", &format!("stop: {SPAWN}"), "retry: every other failure"],
    );
}

#[test]
fn a_watch_of_other_rules_is_no_panic() {
    let few = Rules::default();
    let many = rules(&["--stop-on stderr:/a/", "--retry-on stdout:/b/"]);
    let mut watch = few.watch();
    watch.saw(Stream::Stderr, b"a");
    assert_eq!(many.judge(&Ending::Exit(1), &mut watch, NOW).fate, Stop);
    let mut watch = many.watch();
    watch.saw(Stream::Stderr, b"a");
    assert_eq!(few.judge(&Ending::Exit(1), &mut watch, NOW).fate, Retry);
}
