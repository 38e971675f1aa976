//! A delay that the command asks for.

use std::time::Duration;

use redial_policy::{Ending, Judgement, Rules, Stream};

use super::NOW;

fn judge(patterns: &[&str], stderr: &str) -> Judgement {
    let mut rules = Rules::default();
    for pattern in patterns {
        rules.delay_from(pattern).unwrap_or_else(|bad| panic!("{pattern}: {bad}"));
    }
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, stderr.as_bytes());
    rules.judge(&Ending::Exit(1), &mut watch, NOW)
}

#[track_caller]
fn reads(taken: &str, millis: u64) {
    let judgement = judge(&["stderr:/<(.*)>/"], &format!("<{taken}>"));
    assert_eq!(judgement.delay, Some(Duration::from_millis(millis)), "{taken}");
    assert_eq!(judgement.bad_delay, None, "{taken}");
}

#[test]
fn a_number_is_seconds_unless_it_has_a_unit() {
    reads("30", 30_000);
    reads("1.5", 1_500);
    reads("0", 0);
    reads("0.0 s", 0);
    reads("007", 7_000);
    reads(" 30 ", 30_000);
    reads("30.", 30_000);
    reads("30s", 30_000);
    reads("30 seconds", 30_000);
    reads("1 Second", 1_000);
    reads("500ms", 500);
    reads("2 min", 120_000);
    reads("2m", 120_000);
    reads("1m30s", 90_000);
    reads("1 hour, 2 minutes and 3 seconds", 3_723_000);
    reads("1d", 86_400_000);
}

/// The delay from what `--delay-from` takes, this many seconds after 1970.
fn at(seconds: u64, taken: &str) -> Option<u64> {
    let mut rules = Rules::default();
    rules.delay_from("stderr:/<(.*)>/").expect("a pattern");
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, format!("<{taken}>\r\n").as_bytes());
    let now = NOW + Duration::from_secs(seconds);
    let judgement = rules.judge(&Ending::Exit(1), &mut watch, now);
    assert_eq!(judgement.delay.is_none(), judgement.bad_delay.is_some(), "{taken}");
    judgement.delay.map(|delay| delay.as_secs())
}

#[test]
fn a_date_is_waited_for_in_each_form_that_http_has() {
    const THEN: u64 = 784_111_777;
    for date in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "  Sun, 06 Nov 1994 08:49:37 GMT ",
    ] {
        assert_eq!(at(THEN - 90, date), Some(90), "{date}");
        // What is past is no wait.
        assert_eq!(at(THEN, date), Some(0), "{date}");
        assert_eq!(at(THEN + 1, date), Some(0), "{date}");
        assert_eq!(at(0, date), Some(THEN), "{date}");
    }
    assert_eq!(at(0, "Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
    assert_eq!(at(1 << 40, "Fri, 31 Dec 9999 23:59:59 GMT"), Some(0));
    assert_eq!(at(0, "Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
}

#[test]
fn what_is_no_date_is_told() {
    for date in [
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Tue, 31 Feb 1995 08:49:37 GMT",
        "Sun, 06 Nov 99999 08:49:37 GMT",
        "Sun, 0é Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
    ] {
        assert_eq!(at(0, date), None, "{date}");
    }
}

#[test]
fn digits_finer_than_a_nanosecond_are_dropped() {
    let judgement = judge(&["stderr:/<(.*)>/"], "<1.23456789012345>");
    assert_eq!(judgement.delay, Some(Duration::from_nanos(1_234_567_890)));
    let judgement = judge(&["stderr:/<(.*)>/"], "<1.23456789 ms>");
    assert_eq!(judgement.delay, Some(Duration::from_nanos(1_234_567)));
}

#[test]
fn a_huge_delay_is_as_long_as_can_be() {
    for taken in ["9".repeat(30), "9".repeat(900), format!("{}d", "9".repeat(12))] {
        let delay = judge(&["stderr:/<(.*)>/"], &format!("<{taken}>")).delay;
        assert!(delay.is_some_and(|delay| delay.as_secs() > 1_000_000_000), "{taken} {delay:?}");
    }
}

#[test]
fn what_is_no_delay_is_told() {
    for taken in ["", "soon", "30 apples", "-5", "1m30", "5 5", "1,000", "1..5", ".5", "1e9", "٣"]
    {
        let judgement = judge(&["stderr:/<(.*)>/"], &format!("<{taken}>"));
        assert_eq!(judgement.delay, None, "{taken}");
        assert_eq!(judgement.bad_delay.as_deref(), Some(taken));
    }
    let long = judge(&["stderr:/<(.*)>/"], &format!("<{}>", "x".repeat(50_000)));
    assert_eq!(long.bad_delay.map(|bad| bad.len()), Some(1024));
}

#[test]
fn the_last_match_counts_and_the_first_group_that_took_part() {
    let after = r"stderr:/after (\d+)|in (\d+)ms/";
    let last = |stderr| judge(&[after], stderr).delay.map(|delay| delay.as_secs());
    assert_eq!(last("after 1\nafter 2\nafter 3\n"), Some(3));
    assert_eq!(last("after 1\nin 9ms\n"), Some(9));
    assert_eq!(last("nothing"), None);
    assert_eq!(judge(&["stderr:/(x?)/"], "abc").bad_delay.as_deref(), Some(""));
}

#[test]
fn of_several_the_first_that_can_be_read_counts() {
    let patterns = ["stderr:/a=(\\w+)/", "stderr:/b=(\\w+)/"];
    let seconds = |stderr| judge(&patterns, stderr).delay.map(|delay| delay.as_secs());
    assert_eq!(seconds("b=2 a=1"), Some(1));
    assert_eq!(seconds("b=2"), Some(2));
    assert_eq!(seconds("a=x b=2"), Some(2));
    assert_eq!(judge(&patterns, "a=x b=2").bad_delay, None);
    assert_eq!(judge(&patterns, "a=x b=y").bad_delay.as_deref(), Some("x"));
}

#[test]
fn only_what_is_retried_has_a_delay() {
    let mut rules = Rules::default();
    rules.delay_from(r"output:/after (\d+)/").expect("a pattern");
    rules.stop_on("exit:2").expect("a condition");
    let of = |ending| {
        let mut watch = rules.watch();
        watch.saw(Stream::Stdout, b"after 5\n");
        rules.judge(&ending, &mut watch, NOW).delay
    };
    assert_eq!(of(Ending::Exit(1)), Some(Duration::from_secs(5)));
    assert_eq!(of(Ending::Exit(2)), None);
    assert_eq!(of(Ending::Exit(0)), None);
}

#[test]
fn the_place_of_a_delay_is_one_pattern_with_a_group() {
    let refused = |text: &str| Rules::default().delay_from(text).expect_err(text).to_string();
    let example = r"stderr:/retry after (\d+ ?[a-z]*)/";
    let no_group = format!("has no capture group; write ( ) around the delay: {example}");
    assert_eq!(refused(r"stderr:/after \d+/"), format!(r"`stderr:/after \d+/` {no_group}"));
    assert_eq!(refused("stderr:/after (?:x)/"), format!("`stderr:/after (?:x)/` {no_group}"));
    let no_place = format!(
        "does not say where the delay is; use one pattern of stdout, stderr or output: {example}"
    );
    for text in ["exit:1", "!stderr:/(x)/", "stderr:/(x)/ & any", "pattern:/(x)/", "network"] {
        assert_eq!(refused(text), format!("`{text}` {no_place}"));
    }
    assert!(refused("sterr:/(x)/").ends_with("did you mean `stderr:/(x)/`?"));
}
