//! `redial check` on flows, and their reference.

use redial_flow::notation::{REFERENCE, read};
use redial_policy::Format;
use serde_json::Value;

use crate::program::{folder, parsed, redial, stderr, stdout};

const WRONG: &str = "\
flow: pictures
steps:
  list: {run: [no-such-program-here, -l]}
  small: {run: [sh, '${lst.output}'], timeot: 5s}
  end: {run: [sh, x], needs: smal, policy: 'retry: 3, dely: 1s'}
";

#[test]
fn everything_that_is_wrong_is_drawn_at_once() {
    let folder = folder(&[("flow.yaml", WRONG)]);
    let output = redial(folder.path(), &["check", "flow.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    for words in [
        "error[program-not-found]: run: there is no program `no-such-program-here` on the PATH",
        "--> flow.yaml:3:16",
        "error[unknown-value]: run: nothing is called `lst`; did you mean `list`?",
        "error[unknown-option]: `timeot`",
        "this would be right (redial check --fix does it)",
        "error[unknown-step]: needs: there is no step `smal`; did you mean `small`?",
        "error[unknown-option]: `dely`",
    ] {
        assert!(stdout(&output).contains(words), "{words}: {}", stdout(&output));
    }
    assert!(stderr(&output).ends_with("in 1 file: 5 errors\n"), "{}", stderr(&output));
}

#[test]
fn findings_come_as_json_and_as_annotations() {
    let folder = folder(&[("flow.yaml", WRONG)]);
    let document = parsed(&redial(folder.path(), &["check", "--format", "json", "flow.yaml"]));
    assert_eq!(document["errors"], 5);
    let first = &document["files"][0]["diagnostics"][0];
    assert_eq!((&first["name"], &first["line"]), (&"program-not-found".into(), &3.into()));
    let output = redial(folder.path(), &["check", "--format", "github", "flow.yaml"]);
    let words = "::error file=flow.yaml,line=3,col=16,";
    assert!(stdout(&output).starts_with(words), "{}", stdout(&output));
    assert_eq!(stdout(&output).lines().count(), 5);
}

#[test]
fn safe_fixes_are_applied() {
    let wrong = "steps:\n  a: {run: [sh, x], timeot: 5s, policy: 'retry: 3, dely: 1s'}\n";
    let folder = folder(&[("flow.yaml", wrong)]);
    let output = redial(folder.path(), &["check", "--fix", "flow.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let fixed = std::fs::read_to_string(folder.path().join("flow.yaml")).unwrap();
    assert_eq!(fixed, "steps:\n  a: {run: [sh, x], timeout: 5s, policy: 'retry: 3, delay: 1s'}\n");
    assert!(stderr(&output).contains("2 fixes applied"), "{}", stderr(&output));
}

#[test]
fn a_clean_flow_is_counted_and_a_dialect_asks_for_policies_alone() {
    let flow = "policies: {a: 'retry: 3'}\nsteps:\n  one: {run: [sh, x], policy: a}\n";
    let folder = folder(&[("flow.yaml", flow)]);
    let output = redial(folder.path(), &["check", "flow.yaml"]);
    let words = "1 policy and 1 flow of 1 step in 1 file: no findings\n";
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), words));
    let document = parsed(&redial(folder.path(), &["check", "--format", "json", "flow.yaml"]));
    assert_eq!(document["files"][0]["steps"], 1);
}

#[test]
fn files_of_rules_are_read_beside_the_flow() {
    let flow = "steps:\n  a: {run: [sh, x], rules: ./own.toml}\n";
    let rules = "name = 'own'\n[[rule]]\nretry = 'exit:1'\nbecause = 'it is busy'\n";
    let folder = folder(&[]);
    std::fs::create_dir(folder.path().join("below")).unwrap();
    std::fs::write(folder.path().join("below/flow.yaml"), flow).unwrap();
    let check = || redial(folder.path(), &["check", "below/flow.yaml"]);
    let missing = check();
    assert_eq!(missing.status.code(), Some(1));
    assert!(stdout(&missing).contains("rules: ./own.toml cannot be read"), "{}", stdout(&missing));
    std::fs::write(folder.path().join("below/own.toml"), "[[rule]]\nretry = 'exit:x'\n").unwrap();
    assert!(stdout(&check()).contains("rules: ./own.toml is wrong"), "{}", stdout(&check()));
    std::fs::write(folder.path().join("below/own.toml"), rules).unwrap();
    assert_eq!(check().status.code(), Some(0), "{}", stdout(&check()));
}

#[test]
fn a_workflow_with_steps_is_a_flow_and_a_list_of_policies_is_none() {
    let work =
        "map:\n  input: work.json\n  agent_template:\n    - shell: echo ${item.id}\n      whn: x\n";
    let policies = "steps:\n  - retry_config: {attempts: 3, initial_delay: 1s}\n";
    let folder = folder(&[("work.yaml", work), ("policies.yaml", policies)]);
    let output = redial(folder.path(), &["check", "work.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("`whn`"), "{}", stdout(&output));
    let output = redial(folder.path(), &["check", "policies.yaml"]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), "1 policy in 1 file: no findings\n")
    );
}

#[test]
fn a_runner_is_named_in_one_file() {
    let folder = folder(&[("work.yaml", "- shell: echo 1\n- claude: fix it\n")]);
    let check = || redial(folder.path(), &["check", "work.yaml"]);
    let missing = check();
    assert_eq!(missing.status.code(), Some(1));
    let note = "a line in .redial/runners.toml says it: claude = [\"claude\", \"-p\", \"{}\"]";
    assert!(stdout(&missing).contains(note), "{}", stdout(&missing));
    std::fs::create_dir(folder.path().join(".redial")).unwrap();
    let write = |text: &str| {
        std::fs::write(folder.path().join(".redial/runners.toml"), text).unwrap();
    };
    write("claude = ['sh', 'agent.sh', '{}']\n");
    assert_eq!(check().status.code(), Some(0), "{}", stdout(&check()));
    write("claude = ['no-such-program-here', '{}']\n");
    assert!(stdout(&check()).contains("there is no program `no-such-program-here`"));
    for text in ["claude = 'sh'\n", "claude = ['sh']\n", "claude = []\n", "claude = ['{}']\n"] {
        write(text);
        let output = check();
        assert_eq!(output.status.code(), Some(125), "{text}");
        assert!(stderr(&output).contains("`claude` is not a program and its arguments"), "{text}");
    }
    write("claude = [\n");
    assert_eq!(check().status.code(), Some(125));
    assert!(stderr(&check()).contains("runners.toml"), "{}", stderr(&check()));
}

#[test]
fn every_kind_of_finding_in_a_flow_is_explained() {
    let folder = folder(&[]);
    for name in
        ["unknown-step", "circular-needs", "program-not-found", "no-runner", "nested-interpreter"]
    {
        let page = redial(folder.path(), &["explain", name]);
        assert_eq!(page.status.code(), Some(0), "{name}");
        assert!(stdout(&page).starts_with(name), "{name}");
    }
}

fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks = Vec::new();
    let mut lines = REFERENCE.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```").filter(|language| !language.is_empty())
        else {
            continue;
        };
        let inside = lines.by_ref().take_while(|line| !line.starts_with("```"));
        blocks.push((language, inside.fold(String::new(), |text, line| text + line + "\n")));
    }
    blocks
}

#[test]
fn every_example_of_the_reference_is_a_flow_without_findings() {
    let mut definitions = Vec::new();
    for (language, text) in blocks() {
        let format = match language {
            "yaml" => Format::Yaml,
            "toml" => Format::Toml,
            "json" => Format::Json,
            other => panic!("{other}: no flow is written in it"),
        };
        let reading = read(&text, format);
        assert_eq!(reading.diagnostics, [], "{text}");
        definitions.push((language, reading.definition.unwrap()));
    }
    let languages: Vec<_> = definitions.iter().map(|(language, _)| *language).collect();
    for language in ["yaml", "toml", "json"] {
        assert!(languages.contains(&language), "{languages:?}");
    }
    // The first is written twice.
    assert_eq!(definitions[0].1, definitions[1].1);
    assert!(REFERENCE.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn the_reference_and_the_schema_of_flows_are_printed() {
    let folder = folder(&[]);
    let page = redial(folder.path(), &["help", "flows"]);
    assert!(stdout(&page).starts_with("Flow files\n"), "{}", stdout(&page));
    let schema: Value = parsed(&redial(folder.path(), &["help", "flow-schema"]));
    assert_eq!(schema["title"], "redial flow");
    assert!(stdout(&redial(folder.path(), &["help", "flow"])).contains("redial help flows"));
}
