//! How one finds out about the verbs.

use std::path::Path;

use super::{redial, stderr, stdout, words};

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
        for word in ["contention", "--effort", "--commit", "--clients"] {
            assert!(text.contains(word), "{line}: {word}");
        }
    }
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
