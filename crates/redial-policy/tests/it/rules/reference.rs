//! The reference says what is so: its conditions are read, its rule files too, and its table of what
//! becomes of an attempt is run.

use redial_policy::{Condition, Ending, Fate, Format, RULES_REFERENCE, RuleSet, Rules, Stream};

use super::NOW;

/// The fenced blocks of one language, with the lines directly below each.
fn blocks(language: &str) -> Vec<(String, Vec<&'static str>)> {
    let mut blocks = Vec::new();
    let mut lines = RULES_REFERENCE.lines();
    while let Some(fence) = lines.next() {
        let Some(named) = fence.strip_prefix("```") else { continue };
        let inside = lines.by_ref().take_while(|line| *line != "```");
        let text = inside.fold(String::new(), |text, line| text + line + "\n");
        let below = lines.clone().take_while(|line| !line.is_empty()).collect();
        if named == language {
            blocks.push((text, below));
        }
    }
    blocks
}

#[test]
fn every_condition_is_read_and_printed_as_it_stands() {
    let conditions = blocks("conditions");
    assert!(!conditions.is_empty());
    for line in conditions.iter().flat_map(|(text, _)| text.lines()) {
        let text = line.split("  ").next().unwrap_or_default();
        let condition: Condition = text.parse().unwrap_or_else(|bad| panic!("{text}: {bad}"));
        assert_eq!(condition.to_string(), text);
    }
}

#[test]
fn every_refused_condition_is_refused_in_these_words() {
    let refused = blocks("refused");
    assert!(!refused.is_empty());
    for (text, _) in refused {
        let mut lines = text.lines();
        while let (Some(text), Some(message)) = (lines.next(), lines.next()) {
            let bad = text.parse::<Condition>().expect_err(text);
            assert_eq!(bad.to_string(), message.trim_start());
        }
    }
}

fn ending(text: &str) -> Ending {
    match text {
        "timeout" => Ending::TimedOut,
        "not found" => Ending::NotFound,
        _ => {
            Ending::Exit(text.strip_prefix("exit ").and_then(|code| code.parse().ok()).expect(text))
        }
    }
}

/// `--stop-on 'a' --retry-on b`
fn flags(text: &str) -> Rules {
    let mut rules = Rules::default();
    for flag in text.split("--").map(str::trim).filter(|flag| !flag.is_empty()) {
        let (name, value) = flag.split_once(' ').expect("a value");
        let value = value.trim_matches('\'');
        let read = match name {
            "success-on" => rules.success_on(value),
            "stop-on" => rules.stop_on(value),
            "retry-on" => rules.retry_on(value),
            "rules" => {
                rules.set(RuleSet::named(value).expect(value));
                Ok(())
            }
            "delay-from" => rules.delay_from(value),
            _ => panic!("{name}"),
        };
        read.unwrap_or_else(|bad| panic!("{flag}: {bad}"));
    }
    rules
}

#[test]
fn every_row_of_the_table_is_so() {
    let rows = RULES_REFERENCE
        .lines()
        .filter(|line| line.starts_with("| `--") || line.starts_with("| none "));
    let mut count = 0;
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [given, ended, fate] = cells.as_slice() else { panic!("{row}") };
        let rules =
            flags(given.trim_matches('`').strip_prefix("none").unwrap_or(given.trim_matches('`')));
        let (ended, stderr) = ended.split_once(", `").unwrap_or((*ended, ""));
        let mut watch = rules.watch();
        watch.saw(Stream::Stderr, stderr.trim_end_matches('`').as_bytes());
        let judged = rules.judge(&ending(ended), &mut watch, NOW).fate;
        let expected = match *fate {
            "success" => Fate::Success,
            "stop" => Fate::Stop,
            "retry" => Fate::Retry,
            other => panic!("{other}"),
        };
        assert_eq!(judged, expected, "{row}");
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn every_file_is_read_and_decides_what_is_stated_below_it() {
    let mut stated = 0;
    for (language, format) in [("toml", Format::Toml), ("yaml", Format::Yaml)] {
        for (text, below) in blocks(language) {
            let set =
                RuleSet::read(&text, format).unwrap_or_else(|found| panic!("{text}\n{found:?}"));
            let mut rules = Rules::default();
            rules.set(set);
            // `- exit 28: rules mine: …`
            for line in below {
                let line = line.strip_prefix("- ").unwrap_or(line);
                let (ended, label) = line.split_once(": ").expect("an ending and a rule");
                let judgement = rules.judge(&ending(ended), &mut rules.watch(), NOW);
                assert_eq!(judgement.in_full.as_deref(), Some(label), "{text}");
                stated += 1;
            }
        }
    }
    assert!(stated >= 3, "{stated}");
}

#[test]
fn every_set_is_listed() {
    for name in RuleSet::names() {
        let about = RuleSet::named(name).and_then(|set| set.about().map(str::to_owned));
        let row = format!("| `{name}` | {} |", about.expect(name));
        let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let listed = RULES_REFERENCE.lines().any(|line| squeezed(line) == squeezed(&row));
        assert!(listed, "{row}");
    }
}

#[test]
fn lines_fit_a_terminal() {
    for line in RULES_REFERENCE.lines() {
        assert!(line.chars().count() <= 82, "{line}");
    }
}
