//! Conditions, and files of rules: read, said again, and asked about output of any kind.

#![no_main]

use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use redial_policy::{Condition, Ending, Format, RuleSet, Rules, Stream};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut rules = Rules::default();
    if let Ok(condition) = text.parse::<Condition>() {
        // What it is called is a condition, and the same one.
        let said = condition.to_string();
        assert_eq!(said.parse::<Condition>().unwrap().to_string(), said);
        rules.stop_on(text).unwrap();
        rules.retry_on(&said).unwrap();
    }
    let _ = rules.delay_from(text);
    rules.delay_from("output:retry-after").unwrap();
    for format in [Format::Toml, Format::Yaml, Format::Json] {
        match RuleSet::read(text, format) {
            Ok(set) => rules.set(set.for_arguments(Some(&[text]))),
            Err(found) => assert!(found.iter().all(|found| found.span.end <= text.len())),
        }
    }
    let mut watch = rules.watch();
    watch.saw(Stream::Stdout, bytes);
    watch.saw(Stream::Stderr, bytes);
    for ending in [Ending::Exit(0), Ending::Exit(1), Ending::signal(9), Ending::TimedOut] {
        let _ = rules.judge(&ending, &mut watch, SystemTime::UNIX_EPOCH);
    }
    rules.describe();
});
