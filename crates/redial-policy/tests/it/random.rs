//! Random documents, written with care and then with bytes changed: whatever is read of them holds
//! together.

use redial_policy::Format::{Json, Text, Toml, Yaml};
use redial_policy::{Document, Entry, Format, Notation, read};
use redial_seeds::{Dice, Draw, each_case};

use crate::shown::shown;

const COUNTS: [&str; 10] =
    ["0", "1", "3", "10", "4294967294", "4294967295", "4294967296", "-1", "1.5", "unlimited"];
const DURATIONS: [&str; 14] = [
    "0s",
    "1ns",
    "100ms",
    "1s",
    "1.5s",
    "1m30s",
    "30s",
    "2h",
    "99999999999999999999d",
    "5",
    "-1s",
    "1x",
    "1.0000000001s",
    "none",
];
const BACKOFFS: [&str; 10] = [
    "fixed",
    "linear",
    "exponential",
    "fibonacci",
    "decorrelated",
    "[1s, 3s]",
    "[]",
    "[1s, 2x]",
    "expo",
    "(n) => n",
];
const FACTORS: [&str; 6] = ["1", "1.5", "3", "999999999", "0.5", "x"];
const JITTERS: [&str; 10] =
    ["none", "full", "equal", "25%", "100%", "+50%", "+1000%", "[0.5, 1.5]", "true", "150%"];
const RULES: [&str; 7] = [
    "[]",
    "[network]",
    "[network, timeout]",
    "[pattern: \"a, \\\"b\\\" #\"]",
    "[pattern: 'it\\'s \"x\"']",
    "[netwrk]",
    "[pattern: \"(\"]",
];

/// An option of the clause, and a value that may be right.
fn option(dice: &mut Dice) -> (&'static str, &'static str) {
    match dice.below(14) {
        0 | 1 => ("retry", dice.pick(&COUNTS)),
        2 => ("attempts", dice.pick(&COUNTS)),
        3 | 4 => ("delay", dice.pick(&DURATIONS)),
        5 | 6 => ("backoff", dice.pick(&BACKOFFS)),
        7 => ("factor", dice.pick(&FACTORS)),
        8 => ("increment", dice.pick(&DURATIONS)),
        9 => (dice.pick(&["min_delay", "max_delay"]), dice.pick(&DURATIONS)),
        10 => ("jitter", dice.pick(&JITTERS)),
        11 => (dice.pick(&["within", "wait_budget", "timeout"]), dice.pick(&DURATIONS)),
        12 => (dice.pick(&["retry_on", "stop_on"]), dice.pick(&RULES)),
        _ => (dice.pick(&["dely", "cap", "fallback", "é"]), "1s"),
    }
}

/// Values that are right are likelier than chance would have them.
fn good_option(dice: &mut Dice) -> (&'static str, &'static str) {
    match dice.below(12) {
        0 | 1 => ("retry", dice.pick(&COUNTS[1..4])),
        2 => ("attempts", dice.pick(&COUNTS[1..4])),
        3 | 4 => ("delay", dice.pick(&DURATIONS[..9])),
        5 | 6 => ("backoff", dice.pick(&BACKOFFS[..6])),
        7 => ("factor", dice.pick(&FACTORS[..4])),
        8 => (dice.pick(&["min_delay", "max_delay"]), dice.pick(&DURATIONS[..9])),
        9 => ("jitter", dice.pick(&JITTERS[..8])),
        10 => (dice.pick(&["within", "wait_budget", "timeout"]), dice.pick(&DURATIONS[..9])),
        _ => (dice.pick(&["retry_on", "stop_on"]), dice.pick(&RULES[..5])),
    }
}

fn options(dice: &mut Dice) -> Vec<(&'static str, &'static str)> {
    let good = !dice.one_in(3);
    let mut options = Vec::new();
    for _ in 0..1 + dice.below(6) {
        let option = if good { good_option(dice) } else { option(dice) };
        let (name, _) = option;
        let repeats = matches!(name, "min_delay" | "max_delay" | "jitter");
        if !good || repeats || options.iter().all(|(other, _)| *other != name) {
            options.push(option);
        }
    }
    options
}

fn clause(dice: &mut Dice) -> String {
    let separator = dice.pick(&[", ", ",", ",\n  ", " , # so\n", ",\r\n\t"]);
    let options: Vec<_> =
        options(dice).iter().map(|(name, value)| format!("{name}: {value}")).collect();
    options.join(separator)
}

fn script(dice: &mut Dice) -> String {
    let mut script = String::new();
    for at in 0..1 + dice.below(4) {
        let clause = clause(dice);
        let more = dice.pick(&["", ", cache: 5min", ", fallback: N(y) with retry: 2", ", lazy"]);
        script += &format!("v{at} = M(\"x\", y) with {clause}{more}\nout v{at}\n");
    }
    script
}

/// As a string of the format, in one of the ways that there are.
fn string(dice: &mut Dice, format: Format, value: &str) -> String {
    let escaped = || {
        let escape = |character: char| match character {
            '"' | '\\' => format!("\\{character}"),
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            _ if character.is_control() => format!("\\u{:04x}", character as u32),
            other => other.to_string(),
        };
        format!("\"{}\"", value.chars().map(escape).collect::<String>())
    };
    match format {
        Yaml if dice.one_in(2) && !value.contains(['\n', '\r', '\t']) => {
            format!("'{}'", value.replace('\'', "''"))
        }
        Toml if dice.one_in(2) && !value.contains(['\'', '\n', '\r', '\t']) => format!("'{value}'"),
        _ => escaped(),
    }
}

/// A map of the clause's options.
fn map(dice: &mut Dice, format: Format, names: &[&str]) -> String {
    let mut fields = Vec::new();
    let mut known = Vec::new();
    for (name, value) in options(dice) {
        if known.contains(&name) && format == Toml {
            continue;
        }
        known.push(name);
        let value = match (name, value) {
            ("retry_on" | "stop_on", "[network, timeout]") => match format {
                Toml => "['network', {pattern = 'x'}]".to_owned(),
                _ => "[\"network\", {\"pattern\": \"x\"}]".to_owned(),
            },
            ("retry_on" | "stop_on", _) => "[]".to_owned(),
            ("retry" | "attempts" | "factor", number) if number.parse::<f64>().is_ok() => {
                number.to_owned()
            }
            (_, value) => string(dice, format, value),
        };
        fields.push((name, value));
    }
    if dice.one_in(4) {
        let name = dice.pick(names).to_owned();
        fields.push(("extends", string(dice, format, &name)));
    }
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| match format {
            Toml => format!("\"{name}\" = {value}"),
            _ => format!("\"{name}\": {value}"),
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}

fn file(dice: &mut Dice, format: Format) -> String {
    let names = ["a", "b", "c", "né", "d e"];
    let mut policies = Vec::new();
    for name in &names[..1 + dice.below(names.len())] {
        let policy = match dice.one_in(2) {
            true => map(dice, format, &names),
            false => {
                let clause = clause(dice);
                string(dice, format, &clause)
            }
        };
        policies.push((*name, policy));
    }
    match format {
        Toml => {
            let lines = policies.iter().map(|(name, policy)| format!("\"{name}\" = {policy}\n"));
            format!("[policies]\n{}", lines.collect::<String>())
        }
        Yaml if dice.one_in(2) => {
            let lines = policies.iter().map(|(name, policy)| format!("  \"{name}\": {policy}\n"));
            format!("# é\npolicies:\n{}", lines.collect::<String>())
        }
        _ => {
            let fields: Vec<_> =
                policies.iter().map(|(name, policy)| format!("\"{name}\": {policy}")).collect();
            format!("{{\"policies\": {{{}}}}}", fields.join(",\n "))
        }
    }
}

/// One map that is the whole text, in any format.
fn bare(dice: &mut Dice, format: Format) -> String {
    let map = map(dice, format, &["a"]);
    match format {
        Toml => map[1..map.len() - 1].replace(", \"", "\n\""),
        _ => map,
    }
}

/// Policies that take over what stands under a key of the writer's own.
fn anchored(dice: &mut Dice) -> String {
    let (base, more) = (map(dice, Yaml, &["a"]), map(dice, Yaml, &["a", "b"]));
    let more = more.replacen('{', "{<<: *base, ", 1);
    format!("x-base: &base {base}\npolicies:\n  a: *base\n  b: {more}\n")
}

fn other(dice: &mut Dice) -> String {
    let number = dice.pick(&["0", "1", "5", "4294967296", "-1", "1.5", "1e3"]);
    let duration =
        dice.pick(&["\"1s\"", "\"1m 30s\"", "{\"secs\": 1, \"nanos\": 5}", "5", "\"x\""]);
    let backoff = dice.pick(&[
        "\"fixed\"",
        "{\"linear\": {\"increment\": \"2s\"}}",
        "{\"exponential\": {\"base\": 1.5}}",
        "\"fibonacci\"",
        "{\"custom\": {\"delays\": [\"1s\", {\"secs\": 3}]}}",
        "\"FIXED\"",
        "\"EXPONENTIAL\"",
        "null",
    ]);
    let jitter = dice.pick(&["true", "false", "1"]);
    match dice.one_in(2) {
        true => format!(
            "{{\"steps\": [{{\"retry_config\": {{\"attempts\": {number}, \"initial_delay\": {duration}, \
             \"backoff\": {backoff}, \"jitter\": {jitter}, \"retry_on\": [\"network\"]}}}}]}}"
        ),
        false => format!(
            "{{\"retryPolicy\": {{\"maxAttempts\": {number}, \"baseDelayMs\": {number}, \
             \"backoff\": {backoff}, \"jitter\": {jitter}}}}}"
        ),
    }
}

/// What `redial run` may be told beside a policy.
pub(crate) fn flags(dice: &mut Dice) -> Vec<(&'static str, &'static str)> {
    let mut flags: Vec<(&str, &str)> = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let (name, value) = good_option(dice);
        let rules = matches!(name, "retry_on" | "stop_on");
        if !rules && flags.iter().all(|(other, _)| *other != name) {
            flags.push((name, value));
        }
    }
    flags
}

pub(crate) fn document(dice: &mut Dice) -> (String, Format) {
    match dice.below(8) {
        6 => (bare(dice, Yaml), Yaml),
        7 => (anchored(dice), Yaml),
        0 => (clause(dice), Text),
        1 => (script(dice), Text),
        2 => (file(dice, Yaml), Yaml),
        3 => (file(dice, Toml), Toml),
        4 => (file(dice, Json), Json),
        // JSON is YAML too.
        _ => (other(dice), if dice.one_in(2) { Yaml } else { Json }),
    }
}

/// Changes, adds and removes bytes, and keeps what is left of the text.
pub(crate) fn mutated(dice: &mut Dice, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let other = dice.below(bytes.len() + 1);
        let token = dice.pick(&[
            ",",
            ":",
            "\"",
            "'",
            "[",
            "]",
            "{",
            "}",
            "#",
            "\n",
            "\\",
            "\r\n",
            "&a ",
            "*a",
            "<<: ",
            "é",
            "😀",
            "\u{feff}",
            "\u{a0}",
            "\u{200b}",
            "：",
            "“",
            "|\n",
            ">",
            "!x ",
            "- ",
            "---\n",
            "with ",
            "=",
            "0",
            "9",
            " ",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\t",
            "\u{85}",
            "(",
            ")",
            "''",
            "\"\"\"",
            "~",
            "?",
        ]);
        match dice.below(4) {
            0 => drop(bytes.splice(at..at, token.bytes())),
            1 => drop(bytes.splice(at.min(other)..at.max(other), token.bytes())),
            2 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {
                let piece = bytes[at.min(other)..at.max(other)].to_vec();
                let to = dice.below(bytes.len() + 1);
                bytes.splice(to..to, piece.into_iter().take(64));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is true of everything that is read.
fn holds_together(text: &str, format: Format, document: &Document) {
    let within = |span: redial_policy::Span| {
        assert!(span.start <= span.end && span.end <= text.len(), "{span:?} in\n{text}");
        assert!(text.is_char_boundary(span.start), "{span:?} in\n{text}");
        assert!(text.is_char_boundary(span.end), "{span:?} in\n{text}");
    };
    let starts: Vec<_> = document.diagnostics().iter().map(|found| found.span.start).collect();
    assert!(starts.is_sorted(), "{starts:?} in\n{text}");
    for found in document.diagnostics() {
        within(found.span);
        found.fix.iter().for_each(|fix| within(fix.span));
        assert!(!found.message.is_empty() && !found.message.contains(char::is_control), "{found}");
    }
    let mut refused = 0;
    for entry in document.policies() {
        within(entry.span);
        match entry.canonical() {
            Some(canonical) => reads_back(entry, &canonical),
            None => refused += 1,
        }
    }
    assert!(refused == 0 || document.has_errors(), "refused without a reason:\n{text}");
    if format == Text {
        let errors = document.diagnostics().iter().filter(|found| !found.is_warning());
        for found in errors {
            let concerned = document.policies().filter(|entry| {
                entry.span.start <= found.span.start && found.span.end <= entry.span.end
            });
            let mut concerned = concerned.peekable();
            let whole = concerned.peek().is_none();
            assert!(whole || concerned.any(|entry| entry.policy.is_none()), "{found} in\n{text}");
        }
    }
}

fn reads_back(entry: &Entry, canonical: &str) {
    let document = read(canonical, Text, None);
    let again = document.policies().next().expect(canonical);
    assert_eq!(again.policy, entry.policy, "{canonical}");
    assert_eq!(again.timeout, entry.timeout, "{canonical}");
    assert_eq!(again.retry_on, entry.retry_on, "{canonical}");
    assert_eq!(again.stop_on, entry.stop_on, "{canonical}");
    assert_eq!(again.canonical().as_deref(), Some(canonical));
}

#[test]
fn whatever_is_written_holds_together() {
    each_case(2_000, |dice| {
        let (text, format) = document(dice);
        holds_together(&text, format, &read(&text, format, None));
    });
}

#[test]
fn whatever_becomes_of_it_holds_together() {
    each_case(3_000, |dice| {
        let (text, format) = document(dice);
        let text = mutated(dice, &text);
        let notation = match dice.below(8) {
            0 => Some(Notation::Clause),
            1 => Some(Notation::RetryConfig),
            2 => Some(Notation::RetryPolicy),
            3 => Some(Notation::File),
            _ => None,
        };
        holds_together(&text, format, &read(&text, format, notation));
        // And in the formats that it was not written in.
        for format in [Text, Yaml, Toml, Json] {
            holds_together(&text, format, &read(&text, format, None));
        }
    });
}

#[test]
fn a_policy_is_refused_where_an_error_is_about_it_and_nowhere_else() {
    each_case(2_000, |dice| {
        let clause = clause(dice);
        let document = read(&clause, Text, None);
        let entry = document.policies().next().expect("a clause");
        assert_eq!(entry.policy.is_none(), document.has_errors(), "{clause}");
        for format in [Yaml, Toml, Json] {
            let map = map(dice, format, &["a"]);
            let text = match format {
                Toml => format!("policies.a = {map}"),
                _ => format!("{{\"policies\": {{\"a\": {map}}}}}"),
            };
            let document = read(&text, format, None);
            let entry = document.policies().next().expect("a policy");
            assert_eq!(entry.policy.is_none(), document.has_errors(), "{text}");
        }
    });
}

#[test]
fn a_clause_means_the_same_wherever_it_stands() {
    each_case(2_000, |dice| {
        let clause = clause(dice);
        let alone = read(&clause, Text, None);
        let entry = alone.policies().next().expect("a clause");
        for format in [Yaml, Toml, Json] {
            let string = string(dice, format, &clause);
            let text = match format {
                Toml => format!("# é\npolicies.a = {string}"),
                _ => format!("{{\"policies\": {{\"a\": {string}}}}}"),
            };
            let document = read(&text, format, None);
            let there = document.policies().next().expect("a policy");
            assert_eq!(there.canonical(), entry.canonical(), "{text}");
            // A file leaves out what its policies lack; the policy itself has it.
            let errors = document.diagnostics().iter().filter(|found| !found.is_warning());
            let mut found: Vec<_> = errors.chain(&there.warnings).collect();
            found.sort_by_key(|found| found.span.start);
            let message = |found: &redial_policy::Diagnostic| found.to_string();
            let expected: Vec<_> = alone.diagnostics().iter().map(message).collect();
            let told: Vec<_> = found.iter().map(|found| message(found)).collect();
            assert_eq!(told, expected, "{text}\n{}", shown(&text, &document));
            // Each finding is at the same piece, however that is written there.
            for (here, there) in alone.diagnostics().iter().zip(found) {
                let (here, there) = (here.span.of(&clause), there.span.of(&text));
                if !here.contains(['"', '\\', '\'', '\n', '\r', '\t']) {
                    assert_eq!(here, there, "{text}");
                }
            }
        }
    });
}
