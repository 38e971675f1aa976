//! What a clause is told about itself: text goes in, and every finding comes out as text, with its
//! name, its place and its words.

use redial_core::clause::{self, Kind};
use redial_core::{Policy, policy};

/// One finding to a line: its name, the piece of the text that it points at, its message.
fn findings(text: &str) -> String {
    let reading = clause::read(text);
    let lines = reading.diagnostics().iter().map(|found| {
        assert_eq!(Kind::ALL.iter().find(|kind| **kind == found.kind()), Some(&found.kind()));
        format!("{} `{}`: {found}", found.kind().name(), found.span().of(text))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(findings(text), expected, "{text}");
    let reading = clause::read(text);
    let errors = reading.diagnostics().iter().any(|found| !found.kind().is_warning());
    assert_eq!(reading.policy().is_none(), errors, "{text}");
}

const DURATION: &str = "use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)";
const DIGITS: &str = "use at most nine digits on either side of the point";
const JITTER: &str = "use none, full, equal, 25%, +50% or [0.5, 1.5]";
const SPREAD: &str = "use two numbers from 0 to 10, the lower first, such as [0.5, 1.5]";

/// For each kind a text that has this finding and no other; a hot loop is unbounded as well.
const EXAMPLES: [(Kind, &str, &str); 26] = [
    (Kind::Syntax, "retry: 3,", "syntax `,`: nothing follows this comma; drop it"),
    (
        Kind::UnknownOption,
        "retry: 3, dely: 1s",
        "unknown-option `dely`: `dely` is not an option; did you mean `delay`?",
    ),
    (
        Kind::DuplicateOption,
        "retry: 1, delay: 1s, delay: 2s",
        "duplicate-option `delay`: `delay` is there already; write it once",
    ),
    (
        Kind::TwoCounts,
        "retry: 3, attempts: 4",
        "two-counts `attempts`: `retry` and `attempts` both say how often; keep one \
         (retry: 4 is attempts: 5)",
    ),
    (
        Kind::WrongType,
        "retry: three",
        "wrong-type `three`: retry: `three`; use a whole number, or unlimited",
    ),
    (
        Kind::MissingUnit,
        "retry: 1, delay: 5",
        "missing-unit `5`: delay: `5` has no unit; write 5ms or 5s",
    ),
    (
        Kind::ZeroAttempts,
        "attempts: 0",
        "zero-attempts `0`: attempts: 0 attempts would never run the operation; use 1 or more",
    ),
    (Kind::Negative, "retry: -1", "negative `-1`: retry: `-1` is below zero; use 0 or more"),
    (
        Kind::FactorBelowOne,
        "retry: 1, delay: 1s, backoff: exponential, factor: 0.5",
        "factor-below-one `0.5`: factor: `0.5` is below 1, so delays would shrink; use 1 or more",
    ),
    (
        Kind::JitterOutOfRange,
        "retry: 1, delay: 1s, jitter: 101%",
        "jitter-out-of-range `101%`: jitter: `101%` is out of range; \
         use 0% to 100%, or +0% to +1000%",
    ),
    (
        Kind::MinAboveMax,
        "retry: 1, delay: 1s, min_delay: 5s, max_delay: 1s",
        "min-above-max `1s`: min_delay: 5s is above max_delay: 1s; \
         lower the one or raise the other",
    ),
    (
        Kind::TooManyDigits,
        "retry: 1, delay: 0.5ns",
        "too-many-digits `0.5ns`: delay: `0.5ns`; a duration is a whole number of nanoseconds",
    ),
    (
        Kind::TooManyModifiers,
        "retry: 1, delay: 1s, jitter: full, jitter: full, jitter: full, jitter: full, \
         jitter: full, jitter: full, jitter: full, jitter: full, jitter: equal",
        "too-many-modifiers `equal`: a policy takes at most 8 of min_delay, max_delay and jitter",
    ),
    (
        Kind::ListTooLong,
        "retry: 9, backoff: [1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,\
         1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s]",
        "list-too-long `[1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,\
         1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s]`: \
         a list holds at most 32 delays; past its end the first max_delay goes on",
    ),
    (
        Kind::DelayWithoutRetry,
        "retry: 0, delay: 1s",
        "delay-without-retry `delay: 1s`: delay has no effect without a retry; \
         have at least one, or drop the delay",
    ),
    (
        Kind::BackoffWithoutDelay,
        "retry: 1, backoff: exponential",
        "backoff-without-delay `backoff: exponential`: backoff has no effect without a delay to \
         grow from; add delay: 1s, or drop it",
    ),
    (
        Kind::BackoffWithoutRetry,
        "backoff: [1s]",
        "backoff-without-retry `backoff: [1s]`: backoff has no effect without a retry; \
         have at least one, or drop it",
    ),
    (
        Kind::UnusedOption,
        "retry: 3, delay: 1s, factor: 3",
        "unused-option `factor: 3`: `factor` has no effect here: \
         only backoff: exponential has a factor",
    ),
    (
        Kind::ManyRetries,
        "retry: 11, delay: 1s",
        "many-retries `retry: 11`: retry: 11 retries are more than 10; \
         if it is time that matters, write attempts: unlimited, within: 1min instead",
    ),
    (
        Kind::CapBelowBase,
        "retry: 1, delay: 10s, max_delay: 5s",
        "cap-below-base `5s`: max_delay: 5s is below the delay of 10s, so it takes its place",
    ),
    (
        Kind::CapErasesJitter,
        "retry: 5, delay: 1s, backoff: exponential, jitter: full, max_delay: 5s",
        "cap-erases-jitter `5s`: delays reach 16s and this cap comes after the jitter, \
         so they pile up at 5s; write it before the jitter, or a higher one after it",
    ),
    (
        Kind::JitterAboveCap,
        "retry: 5, delay: 1s, backoff: exponential, max_delay: 5s, jitter: 25%",
        "jitter-above-cap `25%`: this jitter comes after max_delay: 5s and takes delays up to \
         6250ms; write that as max_delay after it too, or a jitter that only shortens",
    ),
    (
        Kind::ListLongerThanAttempts,
        "retry: 2, backoff: [1s, 2s, 3s]",
        "list-longer-than-attempts `backoff: [1s, 2s, 3s]`: \
         the list has 3 delays and there are 2 retries; the others are never used",
    ),
    (
        Kind::AttemptsPastDeadline,
        "retry: 5, delay: 1s, within: 3s",
        "attempts-past-deadline `within: 3s`: attempts 4 to 6 can never start: \
         the deadline of 3s is spent in the wait after attempt 3 at the latest",
    ),
    (
        Kind::Unbounded,
        "attempts: unlimited, delay: 1s",
        "unbounded `attempts: unlimited`: unlimited attempts with no limit in time never give up; add within",
    ),
    (
        Kind::HotLoop,
        "attempts: unlimited",
        "unbounded `attempts: unlimited`: unlimited attempts with no limit in time never give up; add within\n\
         hot-loop `attempts: unlimited`: unlimited attempts with no delay and no deadline spin; have a delay, or add within",
    ),
];

#[test]
fn every_kind_has_its_text_and_its_words() {
    for (kind, text, expected) in EXAMPLES {
        check(text, expected);
        let kinds: Vec<_> =
            clause::read(text).diagnostics().iter().map(|found| found.kind()).collect();
        assert_eq!(kinds.last(), Some(&kind), "{text}");
    }
    for kind in Kind::ALL {
        if *kind == Kind::TimeoutAboveDeadline {
            continue; // of a call: see below
        }
        assert!(EXAMPLES.iter().any(|(shown, ..)| shown == kind), "{} has no text", kind.name());
    }
}

#[test]
fn the_names_are_the_published_ones() {
    let names = |warnings: bool| -> Vec<_> {
        let kinds = Kind::ALL.iter().filter(|kind| kind.is_warning() == warnings);
        kinds.map(|kind| kind.name()).collect()
    };
    assert_eq!(
        names(false).join(" "),
        "syntax unknown-option duplicate-option two-counts wrong-type missing-unit zero-attempts \
         negative factor-below-one jitter-out-of-range min-above-max too-many-digits \
         too-many-modifiers list-too-long",
    );
    assert_eq!(
        names(true).join(" "),
        "delay-without-retry backoff-without-delay backoff-without-retry unused-option \
         many-retries cap-below-base cap-erases-jitter jitter-above-cap list-longer-than-attempts \
         timeout-above-deadline attempts-past-deadline unbounded hot-loop",
    );
}

#[test]
fn all_findings_come_at_once_in_the_order_of_the_text() {
    check(
        "retry: -1, dely: 1s, jitter: 150%, within: 5, attempts: 3, retry: 2",
        "negative `-1`: retry: `-1` is below zero; use 0 or more\n\
         unknown-option `dely`: `dely` is not an option; did you mean `delay`?\n\
         jitter-out-of-range `150%`: jitter: `150%` is out of range; \
         use 0% to 100%, or +0% to +1000%\n\
         missing-unit `5`: within: `5` has no unit; write 5ms or 5s\n\
         two-counts `attempts`: `retry` and `attempts` both say how often; keep one \
         (retry: 4 is attempts: 5)\n\
         duplicate-option `retry`: `retry` is there already; write it once",
    );
    // Found when all has been read, and yet in its place.
    check(
        "max_delay: 1s, min_delay: 5s, retry: x",
        "min-above-max `5s`: min_delay: 5s is above max_delay: 1s; \
         lower the one or raise the other\n\
         wrong-type `x`: retry: `x`; use a whole number, or unlimited",
    );
}

#[test]
fn warnings_come_in_the_order_of_the_text_too() {
    check(
        "backoff: linear, factor: 3, delay: 1s, attempts: 1",
        "backoff-without-retry `backoff: linear`: backoff has no effect without a retry; \
         have at least one, or drop it\n\
         unused-option `factor: 3`: `factor` has no effect here: \
         only backoff: exponential has a factor\n\
         delay-without-retry `delay: 1s`: delay has no effect without a retry; \
         have at least one, or drop the delay",
    );
}

#[test]
fn a_clause_and_the_one_that_its_policy_prints_have_the_same_jitter_above_cap() {
    let warns = |text: &str| {
        let reading = clause::read(text);
        let found = reading.diagnostics().iter().any(|one| one.kind() == Kind::JitterAboveCap);
        (found, reading.policy().unwrap().to_string())
    };
    check(
        "retry: 6, delay: 1s, backoff: exponential, jitter: 25%",
        "jitter-above-cap `25%`: this jitter comes after the default cap of 30s and takes delays \
         up to 37500ms; write max_delay before and after it, or a jitter that only shortens",
    );
    let mut warned = 0;
    for backoff in ["fixed", "linear", "exponential", "fibonacci", "decorrelated", "[1s, 60s]"] {
        for delay in ["1s", "20s", "40s"] {
            for retries in [1, 3, 9] {
                for modifiers in [
                    "jitter: 25%",
                    "jitter: full",
                    "min_delay: 50s, jitter: +50%",
                    "max_delay: none, jitter: 25%",
                ] {
                    let delay = if backoff.starts_with('[') { "1s" } else { delay };
                    let text = format!(
                        "retry: {retries}, delay: {delay}, backoff: {backoff}, {modifiers}"
                    );
                    let (found, printed) = warns(&text);
                    assert_eq!(found, warns(&printed).0, "{text} is printed as {printed}");
                    warned += u32::from(found);
                }
            }
        }
    }
    assert!(warned > 20, "{warned}");
}

#[test]
fn errors_leave_no_room_for_warnings() {
    check("retry: 20, delay: 1", "missing-unit `1`: delay: `1` has no unit; write 1ms or 1s");
}

#[test]
fn the_first_sixteen_findings_are_kept_and_all_are_counted() {
    let text = "x: 1, ".repeat(40) + "retry: 3";
    let reading = clause::read(&text);
    assert_eq!(reading.diagnostics().len(), 16);
    let places: Vec<_> = reading.diagnostics().iter().map(|found| found.span().start).collect();
    assert_eq!(places, (0..16).map(|i| i * 6).collect::<Vec<_>>());
    let error = text.parse::<Policy>().unwrap_err().to_string();
    assert!(error.ends_with("(and 39 more errors)"), "{error}");
    // A finding that comes last and stands first takes the place of another.
    let late = "max_delay: 1s, min_delay: 2s, ".to_owned() + &text;
    let reading = clause::read(&late);
    assert_eq!(reading.diagnostics()[0].kind(), Kind::MinAboveMax);
    assert_eq!(reading.diagnostics().len(), 16);
}

#[test]
fn a_parse_tells_the_first_error_and_how_many_there_are() {
    let told = |text: &str| text.parse::<Policy>().unwrap_err().to_string();
    assert_eq!(
        told("retry: 3, dely: 1s"),
        "unknown-option at 10..14: `dely` is not an option; did you mean `delay`?",
    );
    assert_eq!(
        told("attempts: 0, delay: 5"),
        "zero-attempts at 10..11: attempts: 0 attempts would never run the operation; \
         use 1 or more (and 1 more error)",
    );
    assert_eq!(
        told("retry: x, delay: y, within: z"),
        "wrong-type at 7..8: retry: `x`; use a whole number, or unlimited (and 2 more errors)",
    );
}

#[test]
fn a_clause_may_have_lines_and_comments() {
    let text = "
        # the upstream rate limit is 10/s, \"bursts\" [ of 50
        retry: 3,          # four in all
        delay: 1s          # , not 2s
        ,
        backoff:
            [1s, # at first
             3s  # then ] and last
            ]
        , jitter: # none at all
          full";
    check(text, "unused-option `delay: 1s`: `delay` has no effect here: a list has its own delays");
    let policy: Policy = text.parse().unwrap();
    assert_eq!(policy.to_string(), "attempts: 4, backoff: [1s, 3s], jitter: full");
    check("retry: 3\r\n,\r\n\tdelay: 1s\r\n", "");
    check("retry: 3 # no line end", "");
    check(
        "retry: 3, # how often\n  dely: 1s, # how long\n  jitter:\n    loud",
        &format!(
            "unknown-option `dely`: `dely` is not an option; did you mean `delay`?\n\
             wrong-type `loud`: jitter: `loud`; {JITTER}"
        ),
    );
}

#[test]
fn text_that_is_no_list_of_options() {
    let empty = "the clause is empty; write for example retry: 3, delay: 1s";
    let option = "expected an option here, such as delay: 1s";
    check("", &format!("syntax ``: {empty}"));
    check(" \n ", &format!("syntax ` \n `: {empty}"));
    check("# retry: 3", &format!("syntax `# retry: 3`: {empty}"));
    check(
        ",,",
        &format!(
            "syntax `,`: {option}\nsyntax `,`: {option}\n\
             syntax `,`: nothing follows this comma; drop it"
        ),
    );
    check("retry: 3,, delay: 1s", &format!("syntax `,`: {option}"));
    check(": 3", &format!("syntax `: 3`: {option}"));
    check("=3, retry: 1", &format!("syntax `=3`: {option}"));
    check("\0", &format!("syntax `\0`: {option}"));
    check("retry", "syntax `retry`: expected a colon and a value after this name, as in delay: 1s");
    check(
        "retry 3, delay: 1s",
        "syntax `retry`: expected a colon and a value after this name, as in delay: 1s",
    );
    check("retry:, delay: 1s", "syntax `retry`: expected a value after the colon, as in delay: 1s");
    check("retry:", "syntax `retry`: expected a value after the colon, as in delay: 1s");
}

#[test]
fn brackets_and_quotes_that_stay_open() {
    let open = "this bracket or quote is never closed";
    check("retry: 1, backoff: [1s", &format!("syntax `[1s`: {open}"));
    check("retry: 1, jitter: [0.5, 1.5", &format!("syntax `[0.5, 1.5`: {open}"));
    check("retry: 1, backoff: [1s # ]", &format!("syntax `[1s # ]`: {open}"));
    check("backoff: (n, retry: 1", &format!("syntax `(n, retry: 1`: {open}"));
    check("retry: 1, delay: \"1s", &format!("syntax `\"1s`: {open}"));
    check("retry: 1, delay: \"1s\\\"", &format!("syntax `\"1s\\\"`: {open}"));
    check("retry: 1, delay: '", &format!("syntax `'`: {open}"));
    check("retry: 1, backoff: ]1s[", &format!("syntax `]1s[`: {open}"));
}

#[test]
fn a_missing_comma_is_told_before_the_option_that_it_should_precede() {
    check("retry: 3 delay: 1s", "syntax `delay`: expected a comma before this option");
    check("retry: 3; delay: 1s", "syntax `delay`: expected a comma before this option");
    check("retry: 3\ndelay: 1s", "syntax `delay`: expected a comma before this option");
    let abbreviated =
        "wrong-type `expo`: backoff: `expo` is not known; did you mean `exponential`?";
    check("retry: 3, delay: 1s, backoff: expo", abbreviated);
}

#[test]
fn letters_beyond_ascii_are_kept_whole() {
    check(
        "retry: 3, délai: 1s",
        "unknown-option `délai`: `délai` is not an option; did you mean `delay`?",
    );
    check("retry: 3, delay: 1µs", &format!("wrong-type `1µs`: delay: `1µs`; {DURATION}"));
    check(
        "retry: 1, delay: ééééééééééééééééééééé",
        &format!("wrong-type `ééééééééééééééééééééé`: delay: `éééééééééééééé…`; {DURATION}"),
    );
    check("🦀", "syntax `🦀`: expected a colon and a value after this name, as in delay: 1s");
}

#[test]
fn characters_that_are_not_what_they_look_like_are_named() {
    check("retry: ３", "syntax `３`: there is a full-width character (U+FF13) here; write `3`");
    check(
        "retry: 3\u{200b}",
        "syntax `\u{200b}`: there is a zero width space (U+200B) here; leave it out",
    );
    check(
        "retry:\u{a0}3, dely:\u{a0}1s",
        "syntax `\u{a0}`: there is a no-break space (U+00A0) here; write a plain space\n\
         syntax `\u{a0}`: there is a no-break space (U+00A0) here; write a plain space",
    );
    check(
        "retry: 3, within: ～",
        "syntax `～`: there is a full-width character (U+FF5E) here; write `~`",
    );
    check("retry: 3 # “so”\u{a0}", "");
}

#[test]
fn long_pieces_of_text_are_cut_in_the_message_and_whole_in_the_place() {
    check(
        "retry: 1, delay: a whole sentence instead of a duration",
        &format!(
            "wrong-type `a whole sentence instead of a duration`: \
             delay: `a whole sentence instead of a…`; {DURATION}"
        ),
    );
}

#[test]
fn what_the_first_language_considered_is_told_what_is_here() {
    check(
        "retry: 3, delay: 1s, jitter: true",
        "wrong-type `true`: jitter: `true` is not known; did you mean `full`?",
    );
    check(
        "retry: 3, delay: 1s, jitter: false",
        "wrong-type `false`: jitter: `false` is not known; did you mean `none`?",
    );
    check(
        "retry: 3, delay: 1s, backoff_factor: 2",
        "unknown-option `backoff_factor`: `backoff_factor` is not an option; \
         did you mean `factor`?",
    );
    check(
        "retry: 3, backoff: (n) => n * 2",
        "wrong-type `(n) => n * 2`: backoff: `(n) => n * 2`; \
         a function is a Schedule in Rust; here, use a list such as [1s, 3s, 7s]",
    );
    check(
        "retry: 3, delay: 1s, backoff: constant",
        "wrong-type `constant`: backoff: `constant` is not known; did you mean `fixed`?",
    );
}

#[test]
fn names_of_other_systems_are_understood() {
    let suggestion = |name: &str| {
        let reading = clause::read(&format!("{name}: 1"));
        reading.diagnostics()[0].suggestion()
    };
    for (name, ours) in [
        ("maxRetries", "retry"),
        ("max-retries", "retry"),
        ("MAX_ATTEMPTS", "attempts"),
        ("initialDelay", "delay"),
        ("multiplier", "factor"),
        ("cap", "max_delay"),
        ("deadline", "within"),
        ("strategy", "backoff"),
        ("Retry", "retry"),
        ("retri", "retry"),
        ("witin", "within"),
        ("mindelay", "min_delay"),
        ("wait_budjet", "wait_budget"),
    ] {
        assert_eq!(suggestion(name), Some(ours), "{name}");
    }
    assert_eq!(suggestion("zzz"), None);
    assert_eq!(suggestion("a_name_that_is_longer_than_any_of_ours"), None);
}

#[test]
fn a_name_like_no_other_gets_the_whole_list() {
    check(
        "retry: 3, foo: 1s",
        "unknown-option `foo`: `foo` is not an option; there are retry, attempts, delay, backoff, \
         factor, increment, min_delay, max_delay, jitter, within and wait_budget",
    );
}

#[test]
fn options_of_the_call_are_sent_to_the_call() {
    let call = |name: &str, place: &str| {
        format!(
            "unknown-option `{name}`: `{name}` belongs to the call, not to the policy: it is {place}"
        )
    };
    let rules = "`.when(…)` or `.classify(…)` on the call";
    let program = "what the program does with the error";
    check("retry: 3, timeout: 5s", &call("timeout", "`.timeout(…)` on the call"));
    check("retry: 3, retry_on: [timeout]", &call("retry_on", rules));
    check("retry: 3, stop_on: [timeout]", &call("stop_on", rules));
    check("retry: 3, fallback: 1", &call("fallback", program));
    check("retry: 3, on_error: x", &call("on_error", program));
}

#[test]
fn options_of_the_call_are_found_where_they_may_stand() {
    let text =
        "retry: 3, timeout: 5s, retry_on: [timeout, pattern: \"a, ]b\"], # why\n stop_on: x ";
    let reading = clause::read_call(text);
    assert_eq!(reading.diagnostics(), []);
    let found: Vec<_> = reading
        .call_options()
        .map(|option| (option.name(), option.place().of(text), option.value().of(text)))
        .collect();
    assert_eq!(
        found,
        [
            ("timeout", "timeout", "5s"),
            ("retry_on", "retry_on", "[timeout, pattern: \"a, ]b\"]"),
            ("stop_on", "stop_on", "x"),
        ],
    );
    let twice = clause::read_call("retry: 3, timeout: 5s, timeout: 6s");
    assert_eq!(twice.diagnostics()[0].kind(), Kind::DuplicateOption);
    let misspelt = clause::read_call("retry: 3, timeot: 5s");
    assert_eq!(misspelt.diagnostics()[0].kind(), Kind::UnknownOption);
}

#[test]
fn a_timeout_is_a_duration_and_belongs_below_the_deadline() {
    let told = |text: &str| {
        let reading = clause::read_call(text);
        let lines = reading
            .diagnostics()
            .iter()
            .map(|found| format!("{} `{}`: {found}", found.kind().name(), found.span().of(text)));
        (lines.collect::<Vec<_>>().join("\n"), reading.timeout())
    };
    let seconds = |seconds| Some(core::time::Duration::from_secs(seconds));
    assert_eq!(told("retry: 3, timeout: 5s"), (String::new(), seconds(5)));
    assert_eq!(told("retry: 3, timeout: 30s, within: 30s"), (String::new(), seconds(30)));
    assert_eq!(told("retry: 3"), (String::new(), None));
    assert_eq!(
        told("retry: 3, timeout: 1min, within: 30s").0,
        "timeout-above-deadline `1min`: each attempt may take 1min and everything 30s, so the \
         timeout never comes first; lower it, or raise within",
    );
    assert_eq!(
        told("retry: 3, timeout: 5"),
        ("missing-unit `5`: timeout: `5` has no unit; write 5ms or 5s".into(), None),
    );
    assert_eq!(
        told("retry: 3, timeout: -1s").0,
        "negative `-1s`: timeout: `-1s` is below zero; use 0 or more",
    );
    assert_eq!(
        told("retry: 3, timeot: 5s").0,
        "unknown-option `timeot`: `timeot` is not an option; did you mean `timeout`?",
    );
}

#[test]
fn options_are_found_as_they_are_written() {
    let text = "retry: 3, what?, : 5, x:, # no: comment\n a: [1, 2], b: \"c, d\", a: 7";
    let found: Vec<_> = clause::options(text).map(|(n, v)| (n.of(text), v.of(text))).collect();
    assert_eq!(found, [("retry", "3"), ("a", "[1, 2]"), ("b", "\"c, d\""), ("a", "7")]);
    assert_eq!(clause::options("").count(), 0);
    assert_eq!(clause::options("a: [1").count(), 0);
}

#[test]
fn every_count_at_its_ends() {
    let count = "use a whole number, or unlimited";
    let most = "use at most 4294967294, or unlimited";
    check("retry: 0", "");
    check("attempts: 1", "");
    check("retry: 0000000000000000000000000000001", "");
    check(
        "retry: 4294967295",
        &format!("too-many-digits `4294967295`: retry: `4294967295`; {most}"),
    );
    check(
        "attempts: 4294967296",
        "too-many-digits `4294967296`: attempts: `4294967296`; use at most 4294967295, or unlimited",
    );
    check(
        "retry: 99999999999999999999",
        &format!("too-many-digits `99999999999999999999`: retry: `99999999999999999999`; {most}"),
    );
    for text in ["NaN", "inf", "1e9", "1.5", "+1", "3x", "0x10", "1_000", "Unlimited", "-"] {
        check(&format!("retry: {text}"), &format!("wrong-type `{text}`: retry: `{text}`; {count}"));
    }
    // What could steer a terminal is not repeated.
    check("retry: \0", &format!("wrong-type `\0`: retry: `?`; {count}"));
    check("retry: \x1bc", &format!("wrong-type `\x1bc`: retry: `?c`; {count}"));
    let retries = |text: &str| text.parse::<Policy>().unwrap().attempts();
    assert_eq!(retries("retry: 4294967294"), Some(u32::MAX));
    assert_eq!(retries("attempts: 4294967295"), Some(u32::MAX));
    assert_eq!(retries("retry: unlimited"), None);
}

#[test]
fn every_duration_at_its_ends() {
    let durations = ["delay", "increment", "min_delay", "max_delay", "within", "wait_budget"];
    for option in durations {
        let told = |value: &str| {
            let found = findings(&format!("retry: 1, {option}: {value}"));
            found.split('`').next().unwrap().trim().to_owned()
        };
        for text in ["NaN", "inf", "1e9s", ".5s", "1.s", "1 s", "5x", "5S", "s", "\"1s\"", "+1s"] {
            assert_eq!(told(text), "wrong-type", "{option}: {text}");
        }
        for text in ["-1s", "-0s", "-.5s"] {
            assert_eq!(told(text), "negative", "{option}: {text}");
        }
        for text in ["0.5ns", "1.0000000001s", "0.0000000000001d"] {
            assert_eq!(told(text), "too-many-digits", "{option}: {text}");
        }
        for text in ["0", "5", "1.5", "1m30", "1s2", "99999999999999999999999"] {
            assert_eq!(told(text), "missing-unit", "{option}: {text}");
        }
        for text in ["0s", "0.000000001s", "1d1h1min1m1s1ms1us1ns", "99999999999999999999999999d"] {
            let reading = clause::read(&format!("retry: 1, {option}: {text}"));
            assert!(reading.policy().is_some(), "{option}: {text}: {reading:?}");
        }
    }
}

#[test]
fn durations_mean_what_they_say() {
    let nanos = |text: &str| {
        let policy: Policy = format!("retry: 1, delay: {text}").parse().unwrap();
        policy.delays(|| 0).next().unwrap().as_nanos()
    };
    for (text, expected) in [
        ("0s", 0),
        ("1ns", 1),
        ("1us", 1_000),
        ("1ms", 1_000_000),
        ("1s", 1_000_000_000),
        ("1min", 60_000_000_000),
        ("1m", 60_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1d", 86_400_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1.5s", 1_500_000_000),
        ("0.000000001s", 1),
        ("0.000000001d", 86_400),
        ("1s1s", 2_000_000_000),
        ("0.5h30.5m", 3_630_000_000_000),
        ("18446744073709551614ns", u64::MAX as u128 - 1),
        ("18446744073709551615ns", u64::MAX as u128),
        ("18446744073709551616ns", u64::MAX as u128),
        ("99999999999999999999999d", u64::MAX as u128),
        ("18446744073709551615ns1ns", u64::MAX as u128),
    ] {
        assert_eq!(nanos(text), expected, "{text}");
    }
}

#[test]
fn every_factor_at_its_ends() {
    let with =
        |factor: &str| format!("retry: 1, delay: 1s, backoff: exponential, factor: {factor}");
    check(&with("1"), "");
    check(&with("1.000000001"), "");
    check(&with("999999999.999999999"), "");
    for text in ["1.0000000001", "1000000000", "99999999999999999999999"] {
        check(&with(text), &format!("too-many-digits `{text}`: factor: `{text}`; {DIGITS}"));
    }
    for text in ["0", "0.5", "0.999999999"] {
        check(
            &with(text),
            &format!(
                "factor-below-one `{text}`: factor: `{text}` is below 1, \
                 so delays would shrink; use 1 or more"
            ),
        );
    }
    for text in ["NaN", "inf", "1e9", "1.", ".5", "2x", "two", "2s"] {
        check(
            &with(text),
            &format!("wrong-type `{text}`: factor: `{text}`; use a number such as 2 or 1.5"),
        );
    }
    check(
        &with("1,5"),
        "syntax `5`: expected a colon and a value after this name, as in delay: 1s",
    );
}

#[test]
fn every_jitter_at_its_ends() {
    let with = |jitter: &str| format!("retry: 1, delay: 1s, jitter: {jitter}");
    for text in [
        "none",
        "full",
        "equal",
        "0%",
        "100%",
        "0.0000001%",
        "+0%",
        "+1000%",
        "[0, 10]",
        "[0.000000001, 0.000000002]",
        "[ 0.5 , # low\n 1.5 ]",
    ] {
        check(&with(text), "");
    }
    for text in ["100.0000001%", "101%", "999999999%", "+1000.0000001%"] {
        check(
            &with(text),
            &format!(
                "jitter-out-of-range `{text}`: jitter: `{text}` is out of range; \
                 use 0% to 100%, or +0% to +1000%"
            ),
        );
    }
    for text in
        ["[1.5, 0.5]", "[1, 1]", "[0, 0]", "[0, 10.000000001]", "[-0.5, 1]", "[0, 999999999]"]
    {
        check(
            &with(text),
            &format!("jitter-out-of-range `{text}`: jitter: `{text}` is out of range; {SPREAD}"),
        );
    }
    check(
        &with("0.00000001%"),
        "too-many-digits `0.00000001%`: jitter: `0.00000001%`; \
         use at most seven digits after the point",
    );
    for text in ["0.0000000001%", "1000000000%", "[0, 0.0000000001]", "[0, 1000000000]"] {
        check(&with(text), &format!("too-many-digits `{text}`: jitter: `{text}`; {DIGITS}"));
    }
    for text in ["25", "0.25", "+50", "1"] {
        check(
            &with(text),
            &format!(
                "wrong-type `{text}`: jitter: `{text}`; \
                 write it as a percentage, such as 25% or +50%"
            ),
        );
    }
    for text in [
        "NaN",
        "NaN%",
        "inf",
        "1e9%",
        "+",
        "+-5%",
        "25 %",
        "25%%",
        "%",
        "fooool",
        "[]",
        "[0.5]",
        "[0.5, ]",
        "[, 1.5]",
        "[0.5, 1.5, 2]",
        "[0.5; 1.5]",
        "[0.5, 1.5]x",
        "[50%, 150%]",
        "(0.5, 1)",
    ] {
        check(&with(text), &format!("wrong-type `{text}`: jitter: `{text}`; {JITTER}"));
    }
    check(&with("Full"), "wrong-type `Full`: jitter: `Full` is not known; did you mean `full`?");
    check(&with("-25%"), "negative `-25%`: jitter: `-25%` is below zero; use 0 or more");
}

#[test]
fn a_spread_below_zero_is_out_of_range_at_either_end() {
    for text in ["[-1, 1]", "[0.5, -1]", "[-2, -1]"] {
        check(
            &format!("retry: 1, delay: 1s, jitter: {text}"),
            &format!("jitter-out-of-range `{text}`: jitter: `{text}` is out of range; {SPREAD}"),
        );
    }
}

#[test]
fn the_advice_for_a_negative_number_is_advice_that_works() {
    check("attempts: -1", "negative `-1`: attempts: `-1` is below zero; use 1 or more");
    check(
        "retry: 1, delay: 1s, backoff: exponential, factor: -2",
        "negative `-2`: factor: `-2` is below zero; use 1 or more",
    );
}

#[test]
fn every_list_at_its_ends() {
    let backoff = "use fixed, linear, exponential, fibonacci, decorrelated, \
                   or a list such as [1s, 3s, 7s]";
    check("retry: 1, backoff: [0s]", "");
    check("retry: 1, backoff: [ 1s ]", "");
    check("retry: 1, backoff: [], max_delay: 9s", "");
    let longest = vec!["1s"; 32].join(",");
    check(
        &format!("retry: 32, backoff: [{longest}], within: 1h"),
        "many-retries `retry: 32`: retry: 32 retries are more than 10; \
         if it is time that matters, write attempts: unlimited, within: 1min instead",
    );
    check(
        "retry: 1, backoff: []",
        "backoff-without-delay `backoff: []`: backoff: an empty list waits for nothing; write delays in it",
    );
    check("retry: 3, backoff: linear, increment: 2s", "");
    check(
        "retry: 3, backoff: linear, increment: 0s",
        "backoff-without-delay `backoff: linear`: backoff has no effect without a delay to \
         grow from; add delay: 1s, or drop it",
    );
    check(
        "retry: 2, backoff: [1s, 2]",
        "missing-unit `2`: backoff: `2` has no unit; write 2ms or 2s",
    );
    check(
        "retry: 2, backoff: [1s, -2s]",
        "negative `-2s`: backoff: `-2s` is below zero; use 0 or more",
    );
    check("retry: 2, backoff: [1s,, 2s]", &format!("wrong-type ``: backoff: ``; {DURATION}"));
    check(
        "retry: 2, backoff: [1s 2s]",
        &format!("wrong-type `1s 2s`: backoff: `1s 2s`; {DURATION}"),
    );
    check("retry: 2, backoff: [1s]]", &format!("wrong-type `1s]`: backoff: `1s]`; {DURATION}"));
    check("retry: 2, backoff: [[1s]]", &format!("wrong-type `[1s]`: backoff: `[1s]`; {DURATION}"));
    check(
        "retry: 2, backoff: [1s, 2s,]",
        "wrong-type `[1s, 2s,]`: backoff: `[1s, 2s,]`; drop the comma at its end",
    );
    check("retry: 1, backoff: [1s]x", &format!("wrong-type `[1s]x`: backoff: `[1s]x`; {backoff}"));
    check("retry: 1, backoff: (1s]", &{
        let advice = "a function is a Schedule in Rust; here, use a list such as [1s, 3s, 7s]";
        format!("wrong-type `(1s]`: backoff: `(1s]`; {advice}")
    });
    check(
        "retry: 1, delay: 1s, backoff: quadratic",
        &format!("wrong-type `quadratic`: backoff: `quadratic`; {backoff}"),
    );
}

#[test]
fn the_default_cap_is_one_of_the_eight() {
    let seven = "jitter: full, ".repeat(7);
    check(&format!("{seven}retry: 1, delay: 1s, backoff: exponential"), "");
    check(
        &format!("{seven}jitter: equal, retry: 1, delay: 1s, backoff: exponential"),
        "too-many-modifiers `equal`: a policy takes at most 8 of min_delay, max_delay and jitter",
    );
    check(
        &format!(
            "{seven}jitter: equal, max_delay: none, retry: 1, delay: 1s, backoff: exponential"
        ),
        "",
    );
}

#[test]
fn a_floor_above_the_default_cap_lifts_it() {
    let text = "retry: 2, delay: 1s, backoff: exponential, min_delay: 1min";
    check(text, "");
    let policy: Policy = text.parse().unwrap();
    assert!(policy.delays(|| 0).all(|delay| delay.as_secs() == 60), "{policy}");
}

#[test]
fn a_floor_and_a_ceiling_apart_by_a_jitter_are_no_contradiction() {
    check("retry: 1, delay: 1s, min_delay: 5s, jitter: full, max_delay: 5s", {
        "cap-erases-jitter `5s`: delays reach 5s and this cap comes after the jitter, \
         so they pile up at 5s; write it before the jitter, or a higher one after it"
    });
    check("retry: 1, delay: 1s, max_delay: 1s, jitter: full, min_delay: 5s", "");
}

#[test]
fn waits_that_only_just_fit_get_no_warning() {
    check("retry: 5, delay: 1s, within: 5000000001ns", "");
    check(
        "retry: 5, delay: 1s, within: 5s",
        "attempts-past-deadline `within: 5s`: attempt 6 can never start: \
         the deadline of 5s is spent in the wait after attempt 5 at the latest",
    );
    check("retry: 5, delay: 1s, wait_budget: 5s", "");
    check(
        "retry: 5, delay: 1s, wait_budget: 4999ms",
        "attempts-past-deadline `wait_budget: 4999ms`: attempt 6 can never start: \
         the wait budget of 4999ms is spent in the wait after attempt 5 at the latest",
    );
    check("retry: 5, delay: 1s, jitter: full, within: 1ns", "");
    check("retry: 10, delay: 1s", "");
    check("retry: 2, backoff: [1s, 2s]", "");
    check("retry: 1, delay: 5s, max_delay: 5s", "");
    check("retry: 5, delay: 1s, backoff: exponential, jitter: full, max_delay: 17s", "");
    check("retry: 5, delay: 1s, backoff: exponential, max_delay: 5s, jitter: full", "");
    check(
        "retry: 5, delay: 1s, backoff: exponential, max_delay: 5s, jitter: 25%, max_delay: 5s",
        "\
        cap-erases-jitter `5s`: delays reach 5s and this cap comes after the jitter, \
        so they pile up at 5s; write it before the jitter, or a higher one after it",
    );
}

#[test]
fn a_far_deadline_over_millions_of_retries_is_told_to_the_attempt() {
    let many = |retries: u32| {
        format!(
            "many-retries `retry: {retries}`: retry: {retries} retries are more than 10; \
             if it is time that matters, write attempts: unlimited, within: 1min instead"
        )
    };
    check(
        "retry: 1000000, delay: 1ms, within: 500s",
        &format!(
            "{}\nattempts-past-deadline `within: 500s`: attempts 500001 to 1000001 can never \
             start: the deadline of 500s is spent in the wait after attempt 500000 at the latest",
            many(1_000_000),
        ),
    );
    check("retry: 1000000, delay: 1ms, within: 1000001ms", &many(1_000_000));
}

#[test]
fn a_loop_without_a_delay_is_hot_however_the_zero_is_written() {
    for zero in [
        "",
        ", delay: 0s",
        ", max_delay: 1s",
        ", wait_budget: 1s",
        ", jitter: full",
        ", delay: 0s, backoff: exponential",
        ", delay: 0s, backoff: linear",
        ", delay: 0s, backoff: decorrelated",
        ", backoff: [0s, 0s]",
        ", delay: 1s, max_delay: 0s",
    ] {
        let text = format!("attempts: unlimited{zero}");
        let reading = clause::read(&text);
        let hot = reading.diagnostics().iter().any(|found| found.kind() == Kind::HotLoop);
        assert!(hot, "{text}: {:?}", reading.diagnostics());
    }
}

#[test]
fn a_loop_with_a_delay_or_a_deadline_is_not_hot() {
    for text in [
        "attempts: unlimited, within: 1s",
        "attempts: unlimited, delay: 1ns",
        "attempts: unlimited, min_delay: 1s",
        "attempts: unlimited, delay: 1s, wait_budget: 1s",
        "attempts: unlimited, backoff: [0s, 1s]",
        "attempts: unlimited, delay: 0s, increment: 1s, backoff: linear",
        "attempts: 4294967295",
    ] {
        let reading = clause::read(text);
        let hot = reading.diagnostics().iter().any(|found| found.kind() == Kind::HotLoop);
        assert!(!hot, "{text}: {:?}", reading.diagnostics());
    }
}

/// What `policy!` would stop the build with.
fn drawn(text: &'static str, allowed: &'static [&'static str]) -> String {
    let panic = std::panic::catch_unwind(|| clause::checked(text, allowed));
    let panic = panic.expect_err("there is something to say");
    panic.downcast_ref::<String>().cloned().expect("a message")
}

#[test]
fn a_mistake_is_drawn_under_its_line() {
    assert_eq!(
        drawn("retry: 4,\n  délai: 100ms, # ici\n  jitter: loud", &[]),
        "this clause is refused\n\
         error[unknown-option]: `délai` is not an option; did you mean `delay`?\n\
         \x20 |   délai: 100ms, # ici\n\
         \x20 |   ^^^^^\n\
         error[wrong-type]: jitter: `loud`; use none, full, equal, 25%, +50% or [0.5, 1.5]\n\
         \x20 |   jitter: loud\n\
         \x20 |           ^^^^\n",
    );
    assert_eq!(
        drawn("", &[]),
        "this clause is refused\n\
         error[syntax]: the clause is empty; write for example retry: 3, delay: 1s\n\
         \x20 | \n\
         \x20 | ^\n",
    );
}

#[test]
fn a_warning_is_drawn_with_the_way_to_allow_it() {
    assert_eq!(
        drawn("retry: 20, delay: 1s", &["unbounded", "no_such_warning", "negative"]),
        "this clause is refused\n\
         error: allow(no_such_warning): no warning has this name\n\
         error: allow(negative): no warning has this name\n\
         warning[many-retries]: retry: 20 retries are more than 10; \
         if it is time that matters, write attempts: unlimited, within: 1min instead\n\
         \x20 | retry: 20, delay: 1s\n\
         \x20 | ^^^^^^^^^\n\
         \x20 = it would run; to have it so: policy!(allow(many_retries), …)\n",
    );
}

#[test]
fn an_allowed_warning_builds() {
    const MANY: Policy = policy!(allow(many_retries), "retry: 20, delay: 1s");
    const ENDLESS: Policy = policy!(allow(unbounded, hot_loop,), "retry: unlimited",);
    assert_eq!((MANY.attempts(), ENDLESS.attempts()), (Some(21), None));
}

#[test]
fn a_backoff_that_starts_at_the_default_cap_never_grows() {
    let held = "the default cap holds it at its first delay; write max_delay, or max_delay: none";
    for growth in ["linear", "exponential", "fibonacci", "decorrelated"] {
        let written = format!("backoff: {growth}");
        check(
            &format!("retry: 3, delay: 1min, {written}"),
            &format!("unused-option `{written}`: `backoff` has no effect here: {held}"),
        );
        for text in ["delay: 29s", "delay: 1min, max_delay: 5min", "delay: 1min, max_delay: none"] {
            check(&format!("retry: 3, {text}, {written}"), "");
        }
    }
}

/// Every piece of advice is tried: what it says to write is accepted.
#[test]
fn advice_that_is_followed_is_accepted() {
    for followed in [
        "retry: 1, delay: 1s",
        "attempts: unlimited, within: 1min, delay: 1s",
        "retry: 3, backoff: [1s]",
        "attempts: unlimited, wait_budget: 5s, within: 1min",
        "attempts: 4294967295, within: 1min",
        "retry: 9, delay: 10s, max_delay: 10s, jitter: +50%, max_delay: 15s",
        "retry: 3, delay: 1min, backoff: exponential, max_delay: none",
    ] {
        let reading = clause::read(followed);
        let errors: Vec<_> = reading.diagnostics().iter().collect();
        let only_many = errors.iter().all(|found| found.kind() == Kind::ManyRetries);
        assert!(only_many, "{followed}: {errors:?}");
    }
}

#[test]
fn more_findings_than_are_kept_are_still_counted() {
    let text = (0..20).map(|i| format!("option{i}: 1")).collect::<Vec<_>>().join(", ");
    let reading = clause::read(&text);
    assert_eq!((reading.found(), reading.diagnostics().len()), (20, 16));
    let error = text.parse::<Policy>().unwrap_err().to_string();
    assert!(error.ends_with("(and 19 more errors)"), "{error}");
    let drawn = std::panic::catch_unwind(|| clause::checked(&text, &[])).unwrap_err();
    let drawn = drawn.downcast_ref::<String>().expect("a message");
    assert!(drawn.ends_with("\nand 12 more\n"), "{drawn}");
}
