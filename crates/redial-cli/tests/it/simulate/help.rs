//! How one finds out about the verbs.

use std::path::Path;

use super::{json, redial, stderr, stdout, words};

const SCENARIOS: [&str; 4] = ["contention", "outage", "wave", "layers"];

#[test]
fn the_help_has_the_scenarios_and_their_flags() {
    for line in ["simulate --help", "help simulate", "man simulate"] {
        let output = redial(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        // Manual pages escape hyphens.
        let text = stdout(&output).replace("\\-", "-");
        for word in SCENARIOS.into_iter().chain(["--clients", "--capacity", "--assert", "--html"]) {
            assert!(text.contains(word), "{line}: {word}");
        }
    }
    for line in ["tune --help", "help tune", "man tune"] {
        let output = redial(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let text = stdout(&output).replace("\\-", "-");
        for word in ["contention", "--effort", "--commit", "--clients", "--learning"] {
            assert!(text.contains(word), "{line}: {word}");
        }
        for foreign in ["outage", "wave", "--rate", "--capacity", "--depth", "--budget", "--down"] {
            assert!(!text.contains(foreign), "{line}: {foreign}: {text}");
        }
    }
}

/// A scenario with all that its flags need, and the flag, and what the help says its default is.
fn stated_defaults() -> Vec<(&'static str, String, String)> {
    let output = redial("simulate --help");
    let (_, flags) = stdout(&output).split_once("\nScenario:\n").unwrap();
    let (flags, _) = flags.split_once("\nTrials:\n").unwrap();
    let mut stated = Vec::new();
    for flag in flags.split("\n      --").map(|flag| flag.trim_start_matches([' ', '-'])) {
        let name = flag.split_whitespace().next().unwrap();
        let text = flag.split_whitespace().collect::<Vec<_>>().join(" ");
        for default in text.split("[default: ").skip(1) {
            let (before, _) = text.split_once(&format!("[default: {default}")).unwrap();
            let default = default.split(']').next().unwrap();
            // `outage: how long it lasts [default: 10s]. wave: when the service comes back [default: never]`
            let of = before.rsplit("]. ").next().unwrap();
            for line in [
                "contention --clients 2",
                "outage --rate 20 --capacity 30 --budget 10% --breaker 3",
                "wave --clients 5",
                "layers --budget 10%",
            ] {
                let scenario = line.split(' ').next().unwrap();
                if of.split_once(": ").unwrap().0.contains(scenario) {
                    stated.push((line, name.to_owned(), default.to_owned()));
                }
            }
        }
    }
    stated
}

#[test]
fn the_defaults_of_the_help_are_those_of_the_simulator() {
    let mut compared = 0;
    for (line, flag, default) in stated_defaults() {
        let (model, value) = match &*default {
            // No value of the flag means these.
            "no bound" | "never" => continue,
            "all at once" => ("", "0s"),
            "a fifth of it" => ("--latency 35ms", "7ms"),
            "10ms; 20ms for these" => ("--model collision", "20ms"),
            value if flag == "learning" => ("--model ballot", value),
            value => ("", value),
        };
        let line = format!("{line} {model} --trials 1");
        let with = format!("{line} --{flag} {value}");
        assert_eq!(json(&with), json(&line), "{with}");
        compared += 1;
    }
    assert_eq!(json("contention --clients 2 --trials 1")["scenario"]["latency_ms"], 10.0);
    assert_eq!(compared, 24);
}

#[test]
fn completions_know_the_scenarios() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = redial(&format!("completions {shell}"));
        let text = stdout(&output);
        for word in ["simulate", "tune", "latency-spread", "budget-burst", "effort"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    for shell in ["bash", "zsh"] {
        let output = redial(&format!("completions {shell}"));
        let words = SCENARIOS.iter().all(|scenario| stdout(&output).contains(scenario));
        assert!(words, "{shell}");
    }
}

/// All is checked before the trials are: where only those are wrong, the rest is right.
#[test]
fn the_examples_of_the_help_are_right() {
    for (verb, wrong) in [("simulate", "--trials 0"), ("tune", "--threads 0")] {
        let help = redial(&format!("{verb} --help"));
        let examples = stdout(&help).split_once("Examples:\n").unwrap().1;
        let examples = examples.split("\n\n").next().unwrap().replace('\n', " ");
        let mut count = 0;
        for example in examples.split("redial ").skip(1).filter(|line| !line.contains(".toml")) {
            let words = [words(example), words(wrong)].concat();
            let output = crate::program::redial(Path::new("."), &words);
            let reason = wrong.replace(" 0", ": 0 is out of range");
            assert!(stderr(&output).contains(&reason), "{words:?}: {}", stderr(&output));
            count += 1;
        }
        assert!(count >= 2, "{examples}");
    }
}
