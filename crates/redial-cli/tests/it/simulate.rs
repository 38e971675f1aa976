//! `redial simulate` and `redial tune` as scripts and people use them.

mod assertions;
#[cfg(target_os = "linux")]
pub(crate) mod browser;
mod colours;
mod edges;
mod files;
mod help;
mod outputs;
mod results;
mod tuning;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{self, folder, parsed, stderr, stdout};

/// The policy that the others of the AWS article are compared with.
const FULL_JITTER: &str =
    "attempts: unlimited, delay: 10ms, backoff: exponential, max_delay: 2s, jitter: full";

/// Two clients of it that collide do so again each day, for ever.
const ENDLESS: &str = "contention --model collision --latency-spread 0ms --clients 2 --trials 3 \
    --with 'attempts: unlimited, delay: 1d'";

/// The service of *Metastable Failures in Distributed Systems* (HotOS 2021).
const METASTABLE: &str = "outage --rate 280 --capacity 300 --trials 2 --after 5min";

/// Words as a shell reads them, where nothing but single quotes holds them together.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let is_quoted = |place: usize| place % 2 == 1;
    parts
        .flat_map(|(place, part)| match is_quoted(place) {
            true => vec![part],
            false => part.split_whitespace().collect(),
        })
        .collect()
}

fn redial(line: &str) -> Output {
    in_folder(Path::new("."), line)
}

fn in_folder(folder: &Path, line: &str) -> Output {
    program::redial(folder, &words(line))
}

fn simulate(line: &str) -> Output {
    redial(&format!("simulate {line}"))
}

/// The results of a simulation that goes well.
#[track_caller]
fn json(line: &str) -> Value {
    let output = simulate(&format!("{line} --json"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    parsed(&output)
}

#[track_caller]
fn refused(line: &str, because: &str) {
    refused_in(Path::new("."), line, because);
}

#[track_caller]
fn refused_in(folder: &Path, line: &str, because: &str) {
    let output = in_folder(folder, line);
    assert_eq!(output.status.code(), Some(125), "{line}: {}", stderr(&output));
    assert!(stderr(&output).contains(because), "{line}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{line}");
}

/// What a mean is made of.
const MEAN: &str = "(mean, ci95, low, high)";

/// What a document is made of, in its order: `results[policy, calls(mean, ci95, low, high)]`.
fn shape(value: &Value) -> String {
    let of_all = |values: Vec<String>| values.join(", ");
    match value {
        Value::Object(object) => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::Object(_) => format!("{key}({})", shape(value)),
                Value::Array(_) => format!("{key}{}", shape(value)),
                _ => key.clone(),
            };
            of_all(object.iter().map(field).collect())
        }
        Value::Array(array) => match array.first() {
            Some(first @ Value::Object(_)) => format!("[{}]", shape(first)),
            _ => String::new(),
        },
        _ => String::new(),
    }
}
