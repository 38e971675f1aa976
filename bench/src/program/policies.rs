//! Ten thousand policies, the same ones every time, in each format of a policy file: half of them
//! clauses, half maps, of which half extend another; one in a hundred has a warning.

use std::fmt::Write;

pub(crate) const POLICIES: u32 = 10_000;
/// Those that are meant; a later redial may have more to say.
pub(crate) const WARNINGS_MIN: u32 = POLICIES / EACH_WARNING;

const EACH_WARNING: u32 = 100;

#[derive(Clone, Copy)]
pub(crate) enum Format {
    Yaml,
    Toml,
    Json,
}

impl Format {
    pub(crate) const ALL: [Self; 3] = [Self::Yaml, Self::Toml, Self::Json];

    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Toml => "toml",
            Self::Json => "json",
        }
    }
}

enum Policy {
    Clause(String),
    Map(Vec<(&'static str, Value)>),
}

enum Value {
    Number(u32),
    Text(String),
}

fn name(number: u32) -> String {
    format!("policy_{number:05}")
}

fn policy(number: u32) -> Policy {
    let (count, delay) = (number % 6 + 2, number % 400 + 100);
    let count_of = |name| (name, Value::Number(count));
    let text = |name, text: &str| (name, Value::Text(text.to_owned()));
    match number % 4 {
        // The core has something to say of a factor without growth.
        0 if number.is_multiple_of(EACH_WARNING) => {
            Policy::Clause(format!("retry: {count}, delay: {delay}ms, factor: 2, within: 1min"))
        }
        0 => Policy::Clause(format!(
            "retry: {count}, delay: {delay}ms, backoff: exponential, max_delay: 10s, jitter: full"
        )),
        1 => Policy::Map(vec![
            count_of("retry"),
            text("delay", &format!("{delay}ms")),
            text("backoff", "exponential"),
            ("factor", Value::Number(3)),
            text("max_delay", "10s"),
            text("jitter", "equal"),
            text("timeout", "5s"),
        ]),
        2 => Policy::Clause(format!(
            "attempts: {}, backoff: [1s, 3s, 7s], jitter: 25%, within: 2min",
            count + 2
        )),
        _ => Policy::Map(vec![
            text("extends", &name(number - 2)),
            count_of("attempts"),
            text("jitter", "full"),
        ]),
    }
}

pub(crate) fn text(format: Format) -> String {
    let policies = (0..POLICIES).map(|number| (name(number), policy(number)));
    match format {
        Format::Yaml => yaml(policies),
        Format::Toml => toml(policies),
        Format::Json => json(policies),
    }
}

fn yaml(policies: impl Iterator<Item = (String, Policy)>) -> String {
    let mut text = String::from("policies:\n");
    for (name, policy) in policies {
        let _ = match policy {
            Policy::Clause(clause) => writeln!(text, "  {name}: \"{clause}\""),
            Policy::Map(fields) => {
                let fields = fields.iter().map(|(name, value)| match value {
                    Value::Number(number) => format!("    {name}: {number}\n"),
                    Value::Text(text) => format!("    {name}: {text}\n"),
                });
                write!(text, "  {name}:\n{}", fields.collect::<String>())
            }
        };
    }
    text
}

fn toml(policies: impl Iterator<Item = (String, Policy)>) -> String {
    let mut text = String::from("[policies]\n");
    for (name, policy) in policies {
        let _ = match policy {
            Policy::Clause(clause) => writeln!(text, "{name} = \"{clause}\""),
            Policy::Map(fields) => {
                let fields = fields.iter().map(|(name, value)| match value {
                    Value::Number(number) => format!("{name} = {number}"),
                    Value::Text(text) => format!("{name} = \"{text}\""),
                });
                writeln!(text, "{name} = {{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
        };
    }
    text
}

fn json(policies: impl Iterator<Item = (String, Policy)>) -> String {
    let policies = policies.map(|(name, policy)| match policy {
        Policy::Clause(clause) => format!("    \"{name}\": \"{clause}\""),
        Policy::Map(fields) => {
            let fields = fields.iter().map(|(name, value)| match value {
                Value::Number(number) => format!("\"{name}\": {number}"),
                Value::Text(text) => format!("\"{name}\": \"{text}\""),
            });
            format!("    \"{name}\": {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    });
    let policies = policies.collect::<Vec<_>>().join(",\n");
    format!("{{\n  \"policies\": {{\n{policies}\n  }}\n}}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Format, POLICIES, text};

    #[test]
    fn half_are_clauses_and_half_of_the_maps_extend_another() {
        let document: Value = serde_json::from_str(&text(Format::Json)).unwrap();
        let policies = document["policies"].as_object().unwrap();
        let all = POLICIES as usize;
        assert_eq!(policies.len(), all);
        assert_eq!(policies.values().filter(|policy| policy.is_string()).count(), all / 2);
        let extending = policies.values().filter_map(|policy| policy["extends"].as_str());
        assert_eq!(extending.filter(|base| policies.contains_key(*base)).count(), all / 4);
    }

    #[test]
    fn every_format_has_a_line_for_every_policy() {
        for format in Format::ALL {
            let text = text(format);
            let named = text
                .lines()
                .filter(|line| line.trim_start().trim_start_matches('"').starts_with("policy_"));
            assert_eq!(named.count(), POLICIES as usize);
        }
    }
}
