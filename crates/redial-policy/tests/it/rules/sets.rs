//! Each set against what its tool prints. The files in `outputs/` hold, for each tool, what it printed
//! on standard error after a line that says what must become of it and how it ended.
//!
//! Where a section says `seen`, the tool was run against a server that failed in that way, on this
//! machine or on loopback, and `seen with` names its version. Such a section is what it printed, less
//! whole lines where that was long, and with another name for the machine. `from the source` has a
//! message that stands in the tool, with values filled in; `from reports` one that its users quote;
//! `not seen` is put together to try a rule. What says none of these is as the tool's documentation
//! and its users quote it.

use redial_policy::{Ending, Fate, RuleSet, Rules, Stream};

use super::NOW;

const OUTPUTS: [(&str, &str); 16] = [
    ("apt", include_str!("../../outputs/apt.txt")),
    ("aws", include_str!("../../outputs/aws.txt")),
    ("cargo", include_str!("../../outputs/cargo.txt")),
    ("curl", include_str!("../../outputs/curl.txt")),
    ("docker", include_str!("../../outputs/docker.txt")),
    ("gcloud", include_str!("../../outputs/gcloud.txt")),
    ("git", include_str!("../../outputs/git.txt")),
    ("go", include_str!("../../outputs/go.txt")),
    ("kubectl", include_str!("../../outputs/kubectl.txt")),
    ("npm", include_str!("../../outputs/npm.txt")),
    ("pip", include_str!("../../outputs/pip.txt")),
    ("psql", include_str!("../../outputs/psql.txt")),
    ("rsync", include_str!("../../outputs/rsync.txt")),
    ("ssh", include_str!("../../outputs/ssh.txt")),
    ("terraform", include_str!("../../outputs/terraform.txt")),
    ("wget", include_str!("../../outputs/wget.txt")),
];

/// One run of a tool.
struct Run {
    head: &'static str,
    fate: Fate,
    code: i32,
    stderr: String,
}

/// The sections of a file, each under `== retry 22, seen: why`.
fn runs(text: &'static str) -> Vec<Run> {
    let sections = text.split("== ").filter(|section| !section.trim().is_empty());
    let run = |section: &'static str| {
        let (head, stderr) = section.split_once('\n').expect("a head");
        let mut words = head.split([' ', ',', ':']);
        let fate = match words.next() {
            Some("retry") => Fate::Retry,
            Some("stop") => Fate::Stop,
            _ => panic!("{head}"),
        };
        let code = words.next().and_then(|code| code.parse().ok()).expect("a code");
        Run { head, fate, code, stderr: stderr.to_owned() }
    };
    sections.map(run).collect()
}

fn rules(name: &str) -> Rules {
    let mut rules = Rules::default();
    rules.set(RuleSet::named(name).expect(name));
    rules
}

fn judged(rules: &Rules, ending: Ending, stderr: &str) -> (Fate, String) {
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, stderr.as_bytes());
    let judgement = rules.judge(&ending, &mut watch, NOW);
    (judgement.fate, judgement.in_full.unwrap_or_default())
}

#[test]
fn every_output_is_judged_by_a_rule_that_knows_it() {
    let mut wrong = Vec::new();
    for (name, text) in OUTPUTS {
        let rules = rules(name);
        for run in runs(text) {
            let (fate, rule) = judged(&rules, Ending::Exit(run.code), &run.stderr);
            // What is only stopped because nothing knows it proves nothing.
            let unknown = rule.ends_with("otherwise stop") && !run.head.ends_with("unknown");
            if fate != run.fate || unknown {
                wrong.push(format!("{name}: {} became {fate:?} by {rule}", run.head));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_output_is_judged_the_same_from_a_terminal() {
    for (name, text) in OUTPUTS {
        let rules = rules(name);
        for run in runs(text) {
            let (fate, _) =
                judged(&rules, Ending::Exit(run.code), &run.stderr.replace('\n', "\r\n"));
            assert_eq!(fate, run.fate, "{name}: {}", run.head);
        }
    }
}

#[test]
fn where_versions_are_named_every_output_says_where_it_comes_from() {
    let origins = [", seen with ", ", from the source: ", ", from reports: ", ", not seen: "];
    for (name, text) in OUTPUTS.iter().filter(|(_, text)| text.contains(", seen with ")) {
        for run in runs(text) {
            assert!(origins.iter().any(|origin| run.head.contains(origin)), "{name}: {}", run.head);
        }
    }
}

#[test]
fn every_set_has_outputs_of_both_kinds() {
    assert!(OUTPUTS.iter().map(|(name, _)| *name).eq(RuleSet::names()));
    for (name, text) in OUTPUTS {
        for fate in [Fate::Retry, Fate::Stop] {
            let count = runs(text).iter().filter(|run| run.fate == fate).count();
            assert!(count >= 3, "{name} has {count} of {fate:?}");
        }
    }
}

#[test]
fn every_set_retries_what_was_cut_and_stops_at_the_unknown() {
    for name in RuleSet::names() {
        let rules = rules(name);
        assert_eq!(judged(&rules, Ending::TimedOut, "").0, Fate::Retry, "{name}");
        let (fate, rule) = judged(&rules, Ending::Exit(77 + 100), "what is this?\n");
        assert_eq!((fate, rule), (Fate::Stop, format!("rules {name}: otherwise stop")));
        assert_eq!(judged(&rules, Ending::NotFound, "").0, Fate::Stop, "{name}");
        assert_eq!(judged(&rules, Ending::Exit(0), "").0, Fate::Success, "{name}");
    }
}

#[test]
fn no_set_looks_at_standard_output() {
    for name in RuleSet::names() {
        assert!(!rules(name).watches(Stream::Stdout), "{name}");
    }
}

#[test]
fn the_rule_that_decides_fits_a_line() {
    let stderr = "E: Could not get lock /var/lib/dpkg/lock-frontend.\n";
    let rules = rules("apt");
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, stderr.as_bytes());
    let judgement = rules.judge(&Ending::Exit(100), &mut watch, NOW);
    assert_eq!(judgement.rule.unwrap(), "rules apt: another apt or dpkg is at work");
    assert!(judgement.in_full.unwrap().contains("exit:100 & stderr:/Could not get lock|"));
}

#[test]
fn every_rule_says_why() {
    for name in RuleSet::names() {
        for line in rules(name).describe() {
            let rule = line.contains(&format!("rules {name}: ")) && !line.contains("otherwise");
            assert!(!rule || line.starts_with("delay: ") || line.ends_with(')'), "{line}");
        }
    }
}

#[test]
fn curl_and_wget_pass_on_what_the_server_asks_for() {
    for (name, code, stderr) in [
        (
            "curl",
            22,
            "< HTTP/1.1 429 Too Many\r\n< Retry-After: 7\r\ncurl: (22) The requested URL returned error: 429\n",
        ),
        (
            "wget",
            8,
            "  HTTP/1.1 429 Too Many Requests\n  Retry-After: 7\n2026 ERROR 429: Too Many Requests.\n",
        ),
        ("wget", 8, "  HTTP/1.1 429 Too Many Requests\n  Retry-After: 7\n"),
    ] {
        let rules = rules(name);
        let mut watch = rules.watch();
        watch.saw(Stream::Stderr, stderr.as_bytes());
        let judgement = rules.judge(&Ending::Exit(code), &mut watch, NOW);
        assert_eq!(judgement.fate, Fate::Retry, "{name}");
        assert_eq!(judgement.delay.map(|delay| delay.as_secs()), Some(7), "{name}");
    }
}

#[test]
fn what_a_quiet_program_hides_is_retried_and_the_reason_says_how_to_see_it() {
    for (name, code, flag) in [("curl", 22, "-sS"), ("wget", 8, "-nv")] {
        let (fate, rule) = judged(&rules(name), Ending::Exit(code), "");
        assert_eq!(fate, Fate::Retry, "{name}");
        assert!(rule.contains(" hides ") && rule.contains(flag), "{rule}");
    }
    let nothing = "ERROR: Could not find a version that satisfies the requirement foo (from versions: none)\n";
    let (fate, rule) = judged(&rules("pip"), Ending::Exit(1), nothing);
    assert!(fate == Fate::Retry && rule.contains("does not tell"), "{rule}");
}
