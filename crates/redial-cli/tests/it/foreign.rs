//! Who comes from another program is told what its words are here.

use std::path::Path;

use crate::program::{redial, stderr};

/// What clap's tips name, for a command line that is refused.
fn tips(arguments: &[&str]) -> Vec<String> {
    let refused = redial(Path::new("."), arguments);
    assert_eq!(refused.status.code(), Some(125), "{arguments:?}");
    let said = stderr(&refused);
    let tips = said.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let named = |tip: &str| {
        tip.rsplit_once(": '").map(|(_, named)| named.trim_end_matches('\'').to_owned())
    };
    tips.map(|tip| named(tip).unwrap_or_else(|| tip.to_owned())).collect()
}

#[test]
fn a_flag_of_another_program_leads_to_ours() {
    for (theirs, ours) in [
        ("--interval", "--delay"),
        ("--sleep", "--delay"),
        ("--wait", "--delay"),
        ("--retry-delay", "--delay"),
        ("--retry", "--retries"),
        ("--times", "--attempts"),
        ("--every", "--delay"),
        ("--max-retries", "--retries"),
        ("--tries", "--attempts"),
        ("--max-attempts", "--attempts"),
        ("--count", "--attempts"),
        ("--forever", "--attempts unlimited"),
        ("--deadline", "--within"),
        ("--max-time", "--within"),
        ("--max-wait", "--max-delay"),
        ("--multiplier", "--factor"),
        ("--exponential", "--backoff exponential"),
        ("--fibonacci", "--backoff fibonacci"),
        ("--per-try-timeout", "--timeout"),
        ("--retry-if-status", "--retry-on"),
        ("--silent", "--quiet"),
        ("--on-exit", "--on-end"),
    ] {
        assert_eq!(tips(&["run", theirs, "5", "--", "true"]), [ours], "{theirs}");
        assert_eq!(tips(&["run", &format!("{theirs}=5"), "true"]), [ours], "{theirs}=5");
    }
    assert_eq!(tips(&["until", "--every", "5s", "--", "true"]), ["--delay"]);
    assert_eq!(tips(&["plan", "--tries", "5"]), ["--attempts"]);
    assert_eq!(tips(&["--color", "never", "plan", "--tries", "5"]), ["--attempts"]);
}

#[cfg(unix)]
#[test]
fn who_comes_from_xargs_or_parallel_is_told_what_their_flags_are_at_map() {
    for (theirs, ours) in [
        (&["-P", "8"][..], "-j 8"),
        (&["-P8"], "-j 8"),
        (&["--max-procs=8"], "-j 8"),
        (&["-I", "{}"], "{} is always the item"),
        (&["-I%"], "{} is always the item"),
        (&["-N1"], "a command of its own"),
        (&["-L", "1"], "a command of its own"),
        (&["-r"], "without items nothing is run"),
        (&["--bar"], "--progress"),
        (&["--joblog", "log"], "--run NAME"),
        (&["--resume-failed"], "--run NAME"),
        (&["-k"], "--keep-order"),
        (&["--results", "d"], "--output-dir"),
        (&["--halt", "now,fail=1"], "--failures-max"),
        (&["-a", "f"], "--items FILE"),
    ] {
        let tips = tips(&[&["map"], theirs, &["--", "echo"]].concat());
        assert!(tips.len() == 1 && tips[0].contains(ours), "{theirs:?}: {tips:?}");
    }
    for (theirs, ours) in [
        (&["-t", "echo", "{}"][..], "--dry-run"),
        (&["-d", ",", "--", "echo"], "-0"),
        (&["echo", "{}", ":::", "a", "b"], "printf '%s\\n' a b c | redial map"),
    ] {
        let refused = redial(Path::new("."), &[&["map"], theirs].concat());
        assert_eq!(refused.status.code(), Some(125), "{theirs:?}");
        assert!(stderr(&refused).contains(ours), "{theirs:?}: {}", stderr(&refused));
    }
    let noted = redial(Path::new("."), &["map", "-n1", "--", "echo"]);
    assert!(
        stderr(&noted).contains("note: -n1 is one attempt for each item"),
        "{}",
        stderr(&noted)
    );
    // Where it is a word of the command it is the command's.
    let plain = redial(Path::new("."), &["map", "-n", "1", "--", "sort", "-n1"]);
    assert!(!stderr(&plain).contains("note:"), "{}", stderr(&plain));
}

#[test]
fn a_flag_that_the_verb_does_not_have_is_not_named() {
    let tips = tips(&["check", "--tries", "5"]);
    assert!(tips.iter().all(|tip| !tip.starts_with("--")), "{tips:?}");
}

#[test]
fn the_usage_below_a_tip_is_that_of_the_verb() {
    let refused = redial(Path::new("."), &["run", "--interval", "5s"]);
    let said = stderr(&refused);
    assert!(said.contains("Usage: redial run [OPTIONS] <COMMAND>..."), "{said}");
}

#[test]
fn a_verb_of_another_program_leads_to_ours() {
    for (theirs, ours) in [
        ("retry", "run"),
        ("exec", "run"),
        ("try", "run"),
        ("validate", "check"),
        ("lint", "check"),
        ("preview", "plan"),
        ("diff", "compare"),
        ("scan", "find"),
        ("wait", "until"),
        ("poll", "until"),
        ("watch", "until"),
        ("optimize", "tune"),
        ("repot", "report"),
    ] {
        assert_eq!(tips(&[theirs, "x"]), [ours], "{theirs}");
    }
}
