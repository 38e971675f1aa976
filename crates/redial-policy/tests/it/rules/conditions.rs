//! The grammar of a condition.

use redial_policy::{Condition, Ending, Fate, Rules, Stream};
use redial_seeds::{Dice, Draw, each_case};

use super::NOW;

/// Whether a condition holds of an ending after this on standard error.
fn holds(condition: &str, ending: Ending, stderr: &str) -> bool {
    let mut rules = Rules::default();
    rules.success_on(condition).unwrap_or_else(|bad| panic!("{condition}: {bad}"));
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, stderr.as_bytes());
    rules.judge(&ending, &mut watch, NOW).fate == Fate::Success
}

#[track_caller]
fn reads_as(text: &str, canonical: &str) {
    let condition: Condition = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
    assert_eq!(condition.to_string(), canonical);
    let again: Condition = canonical.parse().unwrap_or_else(|bad| panic!("{canonical}: {bad}"));
    assert_eq!(again.to_string(), canonical);
}

#[track_caller]
fn refused(text: &str, at: &str, message: &str) {
    let bad = text.parse::<Condition>().expect_err(text);
    assert_eq!(bad.to_string(), message, "of {text}");
    assert_eq!(bad.span.of(text), at, "of {text}");
}

#[test]
fn a_condition_prints_its_canonical_text() {
    for text in [
        "any",
        "timeout",
        "spawn",
        "network",
        "server_error",
        "rate_limit",
        "exit:0",
        "exit:1,2,10-20",
        "signal:SEGV,TERM,9",
        "stdout:/a/",
        "stderr:/a b/i",
        "output:/x|y/",
        "pattern:/reset/",
        "exit:1 & !stderr:/quota/ & !timeout",
    ] {
        reads_as(text, text);
    }
    reads_as(" exit : 1 , 2 ", "exit:1,2");
    reads_as("exit:7-7", "exit:7");
    reads_as("exit:007", "exit:7");
    reads_as("signal:sigsegv,Term,SIGIOT,64", "signal:SEGV,TERM,ABRT,64");
    reads_as("exit:1&!timeout", "exit:1 & !timeout");
    reads_as("! ! !timeout", "!timeout");
    reads_as("!!timeout", "timeout");
    reads_as("\tany\n&\nany ", "any & any");
}

#[test]
fn what_is_between_the_slashes_belongs_to_the_pattern() {
    reads_as(r"stderr:/a & !b, c/ & exit:1", r"stderr:/a & !b, c/ & exit:1");
    reads_as(r"stderr:/a\/b/", r"stderr:/a\/b/");
    reads_as(r"stderr:/a\\/ & any", r"stderr:/a\\/ & any");
    assert!(holds(r"stderr:/a\/b/", Ending::Exit(1), "a/b"));
    assert!(holds(r"stderr:/^a & !b, c$/", Ending::Exit(1), "x\na & !b, c\ny"));
    assert!(holds(r"stderr:/\\/", Ending::Exit(1), "\\"));
    assert!(holds("stderr://", Ending::Exit(1), ""));
}

#[test]
fn codes_and_signals_match() {
    for (condition, ending, expected) in [
        ("exit:1,2,10-20", Ending::Exit(1), true),
        ("exit:1,2,10-20", Ending::Exit(3), false),
        ("exit:1,2,10-20", Ending::Exit(10), true),
        ("exit:1,2,10-20", Ending::Exit(20), true),
        ("exit:1,2,10-20", Ending::Exit(21), false),
        ("exit:0-255", Ending::Exit(256), false),
        ("exit:0-255", Ending::Exit(-1), false),
        ("exit:139", Ending::signal(11), false),
        ("signal:SEGV", Ending::signal(11), true),
        ("signal:11", Ending::signal(11), true),
        ("signal:SEGV", Ending::signal(15), false),
        // Where numbers are others, a name is still the name.
        ("signal:USR1", Ending::Signal { number: 30, name: "USR1" }, true),
        ("signal:10", Ending::Signal { number: 30, name: "USR1" }, false),
        ("signal:40", Ending::signal(40), true),
        ("signal:TERM", Ending::signal(40), false),
        ("timeout", Ending::TimedOut, true),
        ("timeout", Ending::Exit(124), false),
        ("spawn", Ending::NotFound, true),
        ("spawn", Ending::NotExecutable, true),
        ("spawn", Ending::Exit(127), false),
        ("any", Ending::NotFound, true),
        ("any", Ending::signal(9), true),
        ("!exit:1", Ending::TimedOut, true),
        ("!exit:1 & !timeout", Ending::TimedOut, false),
    ] {
        assert_eq!(holds(condition, ending, ""), expected, "{condition} of {ending:?}");
    }
}

#[test]
fn a_pattern_is_one_of_lines_also_from_a_terminal() {
    let printed = "first\r\nerror: 404\r\nlast";
    assert!(holds("stderr:/^error: 404$/", Ending::Exit(1), printed));
    assert!(!holds("stderr:/^404$/", Ending::Exit(1), printed));
    assert!(holds("stderr:/ERROR/i", Ending::Exit(1), printed));
    assert!(!holds("stderr:/ERROR/", Ending::Exit(1), printed));
    assert!(holds("output:/error/", Ending::Exit(1), printed));
    assert!(!holds("stdout:/error/", Ending::Exit(1), printed));
}

#[test]
fn the_matchers_of_policies_look_at_standard_error() {
    assert!(holds("network", Ending::Exit(1), "Connection refused\n"));
    assert!(holds("server_error", Ending::Exit(1), "HTTP 503\n"));
    assert!(!holds("server_error", Ending::Exit(1), "took 1503 ms\n"));
    assert!(holds("rate_limit", Ending::Exit(1), "too many requests"));
    // A policy's pattern is one of the message, which ends before the line end.
    assert!(holds("pattern:/^bad: x$/", Ending::Exit(1), "bad: x\n"));
    assert!(!holds("pattern:/^x$/", Ending::Exit(1), "bad\nx\n"));
    // Here `timeout` is a real one.
    assert!(!holds("timeout", Ending::Exit(1), "timed out"));
}

const KNOWN: &str = "use exit:1,2, signal:SEGV, timeout, spawn, lost, stdout:/…/, stderr:/…/, \
                     output:/…/, network, server_error, rate_limit, pattern:/…/ or any";

#[test]
fn a_slip_is_told_with_what_was_meant() {
    for (text, at, meant) in [
        ("exti:1", "exti:1", "exit:1"),
        ("any & exti:1,2 & any", "exti:1,2", "exit:1,2"),
        ("sterr:/x/", "sterr:/x/", "stderr:/x/"),
        ("time-out", "time-out", "timeout"),
        ("Timeout", "Timeout", "timeout"),
        ("server-error", "server-error", "server_error"),
        ("exit", "exit", "exit:1"),
        ("!signal", "signal", "signal:TERM"),
        ("stderr", "stderr", "stderr:/…/"),
        ("28", "28", "exit:28"),
        ("6,7", "6,7", "exit:6,7"),
        ("SIGSEGV", "SIGSEGV", "signal:SEGV"),
        ("/refused/", "/refused/", "stderr:/refused/"),
    ] {
        refused(text, at, &format!("`{at}` is not a condition; did you mean `{meant}`?"));
    }
    refused("everything", "everything", &format!("`everything` is not a condition; {KNOWN}"));
}

#[test]
fn what_is_missing_is_told() {
    let missing = format!("a condition is missing here; {KNOWN}");
    for text in ["", "  ", "!", "!!!", "& any", "any &", "any & & any"] {
        refused(text, "", &missing);
    }
    let no_code = "exit: a value is missing; write exit:1,2,10-20";
    for text in ["exit:", "exit:1,", "exit:,1", "exit: & any"] {
        refused(text, "", no_code);
    }
    refused("signal:", "", "signal: a value is missing; write signal:SEGV,TERM");
}

#[test]
fn codes_and_signals_have_a_range() {
    let range = |shown: &str| format!("exit: `{shown}` is out of range; exit codes are 0 to 255");
    refused("exit:256", "256", &range("256"));
    refused("exit:1,300-400", "300-400", &range("300-400"));
    refused(
        "exit:99999999999999999999999",
        "99999999999999999999999",
        &range("99999999999999999999999"),
    );
    refused("exit:20-10", "20-10", "exit: `20-10` ends before it starts; write 10-20");
    for item in ["-1", "1-", "1-2-3", "x", "1.5", "!1", "+1", "١"] {
        let message = format!("exit: `{item}` is not an exit code; use 0 to 255, or 10-20");
        refused(&format!("exit:{item}"), item, &message);
    }
    refused("signal:0", "0", "signal: `0` is out of range; signals are 1 to 64");
    refused("signal:65", "65", "signal: `65` is out of range; signals are 1 to 64");
    refused("signal:SEGF", "SEGF", "signal: `SEGF` is not a signal; did you mean `SEGV`?");
    refused(
        "signal:elephant",
        "elephant",
        "signal: `elephant` is not a signal; use a name such as SEGV, or a number",
    );
}

#[test]
fn a_pattern_that_is_none_is_told() {
    refused("stderr:x & any", "x", "stderr: a pattern stands between slashes: stderr:/x/");
    refused("stderr:", "", "stderr: a pattern stands between slashes: stderr:/…/");
    refused("stderr:/x", "/x", "stderr: the slash that ends the pattern is missing: stderr:/…/");
    refused(
        r"stderr:/x\/",
        r"/x\/",
        "stderr: the slash that ends the pattern is missing: stderr:/…/",
    );
    refused("stderr:/x(/", "x(", "stderr: `x(` is not a regular expression: unclosed group");
    refused("stderr:/x/g", "g", "stderr: `g` after the pattern is not known; `i` is any case");
    refused("pattern:/x/i", "i", "pattern: `i` after it; write (?i) in it for any case");
}

#[test]
fn what_joins_nothing_is_told() {
    let or = |word: &str| format!("`{word}`: for or, write a second condition by itself");
    refused("timeout, exit:1", ",", &or(","));
    refused("timeout || exit:1", "||", &or("||"));
    refused("timeout or exit:1", "or", &or("or"));
    refused("timeout && exit:1", "&&", "`&&`: and is a single `&` here");
    let follows = "follows a condition; `&` between two is and, a second one by itself is or";
    refused("timeout exit:1", "exit:1", &format!("`exit:1` {follows}"));
    refused("exit:1 2", "2", &format!("`2` {follows}"));
    refused("timeout:5s", "timeout:5s", "`timeout:5s`: timeout takes no value; write `timeout`");
}

#[test]
fn what_is_too_much_is_refused() {
    let long = "any & ".repeat(200_000) + "any";
    refused(&long, "", "this has 1200003 bytes, and a condition 16384 at most");
    reads_as(&("!".repeat(16_000) + "any"), "any");
    reads_as(&("!".repeat(16_001) + "any"), "!any");
    refused(&("any&".repeat(32) + "any"), "&", "a condition joins at most 32 with `&`");
    let (no_regex, too_large) = ("is not a regular expression", "is too large: it compiles to");
    for (pattern, reason) in [
        ("(a*)*b{1000}{1000}", too_large),
        ("\\pL{900}", too_large),
        (&"(".repeat(16_000), no_regex),
        (&"a".repeat(1025), no_regex),
    ] {
        let bad = format!("stderr:/{pattern}/").parse::<Condition>().expect_err("too much");
        assert!(bad.message.contains(reason), "{bad}");
        assert!(bad.message.len() < 300, "{bad}");
    }
    refused(
        r"stderr:/\w{0,80} refused/",
        r"\w{0,80} refused",
        r"stderr: `\w{0,80} refused` is too large: it compiles to more than 1024 KiB; repeat less, as with `*` for `{0,80}`, or let a class be of ASCII, as (?-u:\w) for \w",
    );
    // What it says to write instead is read.
    for pattern in [r"\w* refused", r"(?-u:\w){0,80} refused"] {
        assert!(format!("stderr:/{pattern}/").parse::<Condition>().is_ok(), "{pattern}");
    }
    let nested = format!("stderr:/{}{}/", "(".repeat(200), ")".repeat(200));
    assert!(nested.parse::<Condition>().is_err());
}

#[test]
fn a_message_is_one_line_that_steers_no_terminal() {
    for text in ["\u{1b}[31m", "stderr:/(\u{1b}[2J\n/", "exit:\u{7}", "any \u{1b}c", "exit:1\n\n2"]
    {
        let bad = text.parse::<Condition>().expect_err(text);
        assert!(!bad.message.contains(char::is_control), "{:?}", bad.message);
    }
}

/// A text of pieces that a condition may have, and of some that it may not.
fn scribble(dice: &mut Dice) -> String {
    let pieces = [
        "exit", "signal", "stderr", "pattern", ":", ":", "/", "/", "\\", "!", "&", ",", "-", " ",
        "1", "255", "256", "SEGV", "timeout", "spawn", "any", "(", ")", "[", "*", "é", "\u{1b}",
        "\0", "i", "||", "\n", "x",
    ];
    (0..dice.below(24)).map(|_| dice.pick(&pieces)).collect()
}

#[test]
fn any_text_is_a_condition_or_is_told_why_not() {
    each_case(8_000, |dice| {
        let text = scribble(dice);
        match text.parse::<Condition>() {
            Ok(condition) => {
                let canonical = condition.to_string();
                let again: Condition = canonical.parse().expect("its own text");
                assert_eq!(again.to_string(), canonical, "of {text:?}");
            }
            Err(bad) => {
                assert!(text.get(bad.span.start..bad.span.end).is_some(), "{text:?} {bad:?}");
                assert!(!bad.message.contains(char::is_control), "{text:?} {bad:?}");
            }
        }
    });
}

#[test]
fn random_bytes_are_refused_quietly() {
    each_case(2_000, |dice| {
        let bytes: Vec<u8> = (0..dice.below(200)).map(|_| dice.below(256) as u8).collect();
        let text = String::from_utf8_lossy(&bytes);
        drop(text.parse::<Condition>());
        drop(Rules::default().delay_from(&text));
    });
}
