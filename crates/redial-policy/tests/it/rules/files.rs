//! A set of rules as a file.

use redial_policy::{Diagnostic, Ending, Fate, Format, RuleSet, Rules, Stream};

use super::NOW;

use Format::{Json, Text, Toml, Yaml};

fn judge(set: RuleSet, ending: Ending, stderr: &str) -> (Fate, String) {
    let mut rules = Rules::default();
    rules.set(set);
    let mut watch = rules.watch();
    watch.saw(Stream::Stderr, stderr.as_bytes());
    let judgement = rules.judge(&ending, &mut watch, NOW);
    (judgement.fate, judgement.in_full.unwrap_or_default())
}

fn found(text: &str, format: Format) -> Vec<Diagnostic> {
    RuleSet::read(text, format).expect_err(text)
}

/// Asserts every finding: its name, what it points at, and its message.
#[track_caller]
fn refused(format: Format, text: &str, expected: &[(&str, &str, &str)]) {
    let found = found(text, format);
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.kind.name(), found.span.of(text), found.message.as_str()))
        .collect();
    assert_eq!(found, expected, "of {text}");
}

#[test]
fn the_same_rules_in_every_format() {
    let toml = "
        name = 'fetch'
        otherwise = 'retry'
        [[rule]]
        stop = 'exit:2 & stderr:/no \\/ such/'
        because = 'it is not there'
        [[delay]]
        from = 'stderr:/after (\\d+)/'
    ";
    let yaml = "
name: fetch
otherwise: retry
rule:
  - stop: 'exit:2 & stderr:/no \\/ such/'
    because: it is not there
delay:
  - from: stderr:/after (\\d+)/
";
    let json = r#"{"name": "fetch", "otherwise": "retry",
        "rule": [{"stop": "exit:2 & stderr:/no \\/ such/", "because": "it is not there"}],
        "delay": [{"from": "stderr:/after (\\d+)/"}]}"#;
    for (text, format) in [(toml, Toml), (yaml, Yaml), (json, Json)] {
        let set =
            RuleSet::read(text, format).unwrap_or_else(|found| panic!("{format:?} {found:?}"));
        let label = r"rules fetch: exit:2 & stderr:/no \/ such/ (it is not there)";
        assert_eq!(
            judge(set.clone(), Ending::Exit(2), "no / such"),
            (Fate::Stop, label.to_owned())
        );
        assert_eq!(judge(set.clone(), Ending::Exit(2), "").0, Fate::Retry);
        let mut rules = Rules::default();
        rules.set(set);
        let mut watch = rules.watch();
        watch.saw(Stream::Stderr, b"after 9");
        let delay = rules.judge(&Ending::Exit(1), &mut watch, NOW).delay;
        assert_eq!(delay.map(|delay| delay.as_secs()), Some(9), "{format:?}");
    }
}

#[test]
fn a_set_that_extends_another_is_asked_first() {
    let text = "
        extends = 'curl'
        [[rule]]
        stop = 'exit:28'
        because = 'slow is dead here'
    ";
    let set = RuleSet::read(text, Toml).expect("a set").or_name("mine");
    let stop = "rules mine: exit:28 (slow is dead here)".to_owned();
    assert_eq!(judge(set.clone(), Ending::Exit(28), ""), (Fate::Stop, stop));
    let (fate, rule) = judge(set.clone(), Ending::Exit(7), "");
    assert_eq!(fate, Fate::Retry);
    assert!(rule.starts_with("rules curl: exit:7 ("), "{rule}");
    assert_eq!(judge(set.clone(), Ending::Exit(99), "").1, "rules mine: otherwise stop");
    // A name of its own stays.
    assert_eq!(set.or_name("other").name(), Some("mine"));
    let open = RuleSet::read("extends = 'curl'\notherwise = 'retry'", Toml).expect("a set");
    assert_eq!(judge(open, Ending::Exit(99), "").0, Fate::Retry);
}

#[test]
fn every_mistake_is_told_with_its_place() {
    refused(
        Toml,
        "nmae = 'x'\notherwise = 'never'\n[[rule]]\nretry = 'exit:1 & exti:2'\n[[rule]]\nretri = 'exit:1'\n",
        &[
            (
                "unknown-option",
                "nmae",
                "`nmae` is not a field of a set of rules; did you mean `name`?",
            ),
            ("wrong-type", "'never'", "otherwise: `'never'`; use \"stop\" or \"retry\""),
            ("wrong-type", "exti:2", "retry: `exti:2` is not a condition; did you mean `exit:2`?"),
            ("unknown-option", "retri", "`retri` is not a field of a rule; did you mean `retry`?"),
        ],
    );
    refused(
        Json,
        r#"{"rule": [{"retry": "stderr:/\u0028/"}, {"stop": 5}]}"#,
        &[
            (
                "bad-pattern",
                r"\u0028",
                "retry: stderr: `(` is not a regular expression: unclosed group",
            ),
            ("wrong-type", "5", "stop: `5`; use a condition such as \"exit:6\""),
        ],
    );
    refused(
        Yaml,
        "extends: crul\nrule: [{retry: any}]",
        &[("wrong-type", "crul", "extends: there are no rules `crul`; did you mean `curl`?")],
    );
    let both = "a rule says `retry` or `stop`, not both; make it two rules";
    refused(Yaml, "rule: [{retry: any, stop: any}]", &[("duplicate-option", "stop", both)]);
    let neither = "rule: this is a map; a rule says what to retry or stop: {retry: \"exit:6\"}";
    refused(Yaml, "rule: [{because: x}]", &[("wrong-type", "{because: x}", neither)]);
    refused(
        Yaml,
        "delay: [{from: 'stderr:/x/'}]",
        &[(
            "wrong-type",
            "stderr:/x/",
            r"from: `stderr:/x/` has no capture group; write ( ) around the delay: stderr:/retry after (\d+ ?[a-z]*)/",
        )],
    );
}

#[test]
fn what_is_no_set_is_told() {
    let no_rule = "there is no rule here; write for example rule: [{retry: \"exit:6\"}]";
    refused(Toml, "name = 'x'", &[("syntax", "", no_rule)]);
    refused(Toml, "", &[("syntax", "", no_rule)]);
    refused(Text, "rule", &[("syntax", "", "rules are one document of TOML, YAML or JSON")]);
    assert_eq!(
        found("rule: [{retry: any}]\n---\nrule: [{retry: any}]", Yaml)[0].kind.name(),
        "syntax"
    );
    assert_eq!(found("[1]", Json)[0].kind.name(), "wrong-type");
    assert_eq!(found("{", Json)[0].kind.name(), "syntax");
    assert_eq!(found("rule = 'exit:1'", Toml)[0].kind.name(), "wrong-type");
    assert_eq!(found("rule = ['exit:1']", Toml)[0].kind.name(), "wrong-type");
    assert_eq!(found("name = ''\n[[rule]]\nretry = 'any'", Toml)[0].kind.name(), "wrong-type");
    assert_eq!(found("delay = [{}]", Toml)[0].kind.name(), "wrong-type");
}

#[test]
fn what_is_too_much_is_refused() {
    let many = |count: usize, rule: &dyn Fn(usize) -> String| {
        let rules: String =
            (0..count).map(|at| format!("[[rule]]\nretry = '{}'\n", rule(at))).collect();
        RuleSet::read(&rules, Toml).err().map(|found| found[0].kind.name())
    };
    assert_eq!(many(512, &|at| format!("exit:{}", at % 256)), None);
    assert_eq!(many(513, &|_| "any".to_owned()), Some("too-large"));
    assert_eq!(many(400, &|at| format!("stderr:/a{at}/")), None);
    // Patterns are bounded together.
    assert_eq!(many(400, &|at| format!("stderr:/\\w{{9}}a{at}/")), Some("too-large"));
    assert_eq!(found(&" ".repeat(300_000), Toml)[0].kind.name(), "too-large");
    assert_eq!(found(&"[".repeat(100_000), Json)[0].kind.name(), "too-large");
    assert_eq!(
        found("rule:\n - retry: any\n   because: \"\\0\0\"\n", Yaml)[0].kind.name(),
        "syntax"
    );
}

#[test]
fn words_of_a_file_do_not_steer_a_terminal() {
    let text = r#"{"name": "a\u001b[2J", "rule": [{"stop": "any", "because": "x\ny\u0007"}]}"#;
    let (_, rule) = judge(RuleSet::read(text, Json).expect("a set"), Ending::Exit(1), "");
    assert_eq!(rule, "rules a?[2J: any (x y?)");
}

#[test]
fn names_are_found_and_guessed() {
    let names: Vec<_> = RuleSet::names().collect();
    assert_eq!(
        names,
        [
            "apt",
            "aws",
            "cargo",
            "curl",
            "docker",
            "gcloud",
            "git",
            "go",
            "kubectl",
            "npm",
            "pip",
            "psql",
            "rsync",
            "ssh",
            "terraform",
            "wget"
        ]
    );
    for name in names {
        let text = RuleSet::text(name).expect(name);
        let set = RuleSet::read(text, Toml).unwrap_or_else(|found| panic!("{name}: {found:?}"));
        assert_eq!(set.name(), Some(name));
        assert!(set.about().is_some_and(|about| about.len() < 80), "{name}");
    }
    assert!(RuleSet::named("crul").is_none());
    assert_eq!(RuleSet::nearest("crul"), Some("curl"));
    assert_eq!(RuleSet::nearest("kubctl"), Some("kubectl"));
    assert_eq!(RuleSet::nearest("ansible"), None);
}
