//! Defaults from the environment: each variable stands in for a flag that was not given, and a
//! mistake in it is told with its name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{DEFAULTS, command, folder, path_with_redial, stderr, stdout};

/// A folder with the files that the variables name.
struct Job {
    folder: TempDir,
    variables: Vec<(&'static str, OsString)>,
}

impl Job {
    fn new() -> Self {
        let folder = folder(&[
            ("retries.yaml", "policies:\n  fetch: 'retry: 3, delay: 1s'\n  push: 'retry: 8'\n"),
            ("wrong.yaml", "policies:\n  fetch: 'retry: 3, dely: 1s'\n"),
            ("busy.toml", "[[rule]]\nretry = 'exit:7'\n[[rule]]\nstop = 'any'\n"),
            ("wrong.toml", "[[rule]]\nretry = 'exti:7'\n"),
        ]);
        Self { folder, variables: Vec::new() }
    }

    fn set(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        assert!(DEFAULTS.contains(&variable));
        self.variables.push((variable, value.into()));
        self
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn redial(&self, arguments: &[&str]) -> Output {
        let mut command = command(self.path(), arguments);
        command.envs(self.variables.iter().map(|(name, value)| (OsStr::new(name), value)));
        // For the commands that call it again.
        command.env("PATH", path_with_redial()).output().unwrap()
    }

    /// The one plan that it has.
    fn plan(&self, arguments: &[&str]) -> Value {
        let output = self.redial(&[&["plan", "--json"], arguments].concat());
        let plans: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        assert_eq!(plans["plans"].as_array().unwrap().len(), 1, "{plans}");
        plans["plans"][0].clone()
    }

    /// Whatever takes a policy refuses this one, and says all of it.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], words: &[&str]) {
        let output = self.redial(arguments);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        for word in words {
            let said = stderr(&output);
            assert!(said.contains(word), "{arguments:?}: {word} is not in {said}");
        }
        assert!(!self.path().join("ran").exists(), "{arguments:?} ran it");
    }
}

/// Every verb that takes a policy, ready to be told no more.
const VERBS: [&[&str]; 6] = [
    &["run", "--", "touch", "ran"],
    &["plan"],
    &["convert", "--to", "clause"],
    &["classify", "--exit", "1"],
    &["simulate", "layers", "--trials", "2"],
    &["tune", "contention", "--effort", "quick"],
];

#[test]
fn a_clause_of_the_environment_is_the_base_where_no_flag_names_one() {
    let job = Job::new().set("REDIAL_WITH", "retry: 4, delay: 2s");
    let plan = job.plan(&[]);
    assert_eq!(
        (&plan["policy"], &plan["from"]),
        (&"attempts: 5, delay: 2s".into(), &"REDIAL_WITH".into())
    );
    // Flags still change single settings of it.
    let plan = job.plan(&["-d", "3s"]);
    assert_eq!(
        (&plan["policy"], &plan["from"]),
        (&"attempts: 5, delay: 3s".into(), &"REDIAL_WITH".into())
    );
    // And a flag that names a policy takes its place.
    for flags in
        [["--with", "retry: 1"], ["--policy", "retries.yaml#fetch"], ["--preset", "default"]]
    {
        let plan = job.plan(&flags);
        let plain = Job::new().plan(&flags);
        assert_eq!(plan, plain, "{flags:?}");
        assert_eq!(plan.get("from"), None, "{flags:?}");
    }
    assert_eq!(job.plan(&["--preset", "default"]), Job::new().plan(&[]));
}

#[test]
fn a_file_of_the_environment_is_too() {
    let job = Job::new().set("REDIAL_POLICY", "retries.yaml#fetch");
    let plan = job.plan(&[]);
    assert_eq!(plan["policy"], "attempts: 4, delay: 1s");
    assert_eq!((&plan["name"], &plan["from"]), (&"fetch".into(), &"REDIAL_POLICY".into()));
}

#[test]
fn an_empty_value_counts_as_unset() {
    let mut job = Job::new();
    for variable in DEFAULTS {
        job = job.set(variable, "");
    }
    assert_eq!(job.plan(&[]), Job::new().plan(&[]));
    let output = job.redial(&["run", "--dry-run", "--", "true"]);
    assert_eq!(stdout(&output), stdout(&Job::new().redial(&["run", "--dry-run", "--", "true"])));
    let job = Job::new().set("REDIAL_WITH", "").set("REDIAL_POLICY", "retries.yaml#fetch");
    assert_eq!(job.plan(&[])["attempts"], 4);
}

#[test]
fn people_are_told_where_the_policy_comes_from() {
    let job = Job::new().set("REDIAL_WITH", "retry: 4, delay: 2s");
    let text = stdout(&job.redial(&["plan"])).to_owned();
    assert!(text.starts_with("attempts: 5, delay: 2s\nfrom REDIAL_WITH\n\n"), "{text}");
    let simulated =
        |format: &[&str]| job.redial(&[&["simulate", "layers", "--trials", "2"], format].concat());
    let text = stdout(&simulated(&[])).to_owned();
    assert!(text.contains("\n 1  attempts: 5, delay: 2s\n    from REDIAL_WITH\n"), "{text}");
    let json: Value = serde_json::from_slice(&simulated(&["--json"]).stdout).unwrap();
    assert_eq!(json["results"][0]["from"], "REDIAL_WITH", "{json}");
    let said = stderr(&job.redial(&["convert", "--to", "clause"])).to_owned();
    assert_eq!(said, "note: the policy is from REDIAL_WITH\n");
    let page = stdout(&job.redial(&["plan", "--html", "-"])).to_owned();
    assert!(page.contains(">from REDIAL_WITH<"), "{page}");
    let text = stdout(&job.redial(&["run", "--dry-run", "--", "true"])).to_owned();
    assert!(
        text.contains("policy   attempts: 5, delay: 2s\n         from REDIAL_WITH\n"),
        "{text}"
    );
    let said = stderr(&job.redial(&["run", "-v", "--", "true"])).to_owned();
    assert!(said.contains("true under attempts: 5, delay: 2s, from REDIAL_WITH\n"), "{said}");
}

#[test]
fn every_verb_that_takes_a_policy_refuses_a_mistake_in_its_variable() {
    for verb in VERBS {
        Job::new()
            .set("REDIAL_WITH", "retry: 3, dely: 1s")
            .refuses(verb, &["error[unknown-option]", "REDIAL_WITH:1:11", "delay"]);
        Job::new()
            .set("REDIAL_POLICY", "absent.yaml#fetch")
            .refuses(verb, &["error: REDIAL_POLICY: cannot read absent.yaml"]);
        Job::new()
            .set("REDIAL_POLICY", "wrong.yaml#fetch")
            .refuses(verb, &["wrong.yaml:2:21", "note: REDIAL_POLICY names this file"]);
        Job::new()
            .set("REDIAL_WITH", "retry: 3")
            .set("REDIAL_POLICY", "retries.yaml#fetch")
            .refuses(verb, &["REDIAL_WITH and REDIAL_POLICY are both set"]);
        Job::new()
            .set("REDIAL_WITH", OsString::from_vec(b"retry: \xff".to_vec()))
            .refuses(verb, &["REDIAL_WITH: `retry: \u{fffd}` is not UTF-8"]);
    }
    for bad in [" ", "retry: 4294967295", "retry: -1", "attempts: 0", "retry: 3, delay: 1"] {
        Job::new().set("REDIAL_WITH", bad).refuses(&["plan"], &["error[", "REDIAL_WITH:1:"]);
    }
    let two = "x = F(y) with retry: 3\nz = G(x) with retry: 2";
    Job::new().set("REDIAL_WITH", two).refuses(&["plan"], &["error: REDIAL_WITH takes one clause"]);
    let job = Job::new().set("REDIAL_POLICY", "retries.yaml#pull");
    job.refuses(&["plan"], &["REDIAL_POLICY: retries.yaml: there is no policy `pull`"]);
    let job = Job::new().set("REDIAL_POLICY", "retries.yaml");
    job.refuses(VERBS[0], &["REDIAL_POLICY: there are 2 policies", "fetch, push"]);
}

#[test]
fn a_mistake_of_a_flag_is_the_flag_s() {
    let job = Job::new().set("REDIAL_POLICY", "retries.yaml#fetch");
    job.refuses(&["plan", "--delay", "1s, retry: 9"], &["error: --delay: `1s, retry: 9`"]);
    let job = Job::new().set("REDIAL_WITH", "retry: 3");
    job.refuses(&["plan", "--delay", "-1s"], &["error[negative]", "REDIAL_WITH and flags:1:"]);
}

#[test]
fn a_variable_that_a_flag_replaces_is_not_read() {
    let job = Job::new().set("REDIAL_WITH", "rubbish").set("REDIAL_POLICY", "absent.yaml");
    assert_eq!(job.redial(&["plan", "--preset", "default"]).status.code(), Some(0));
    let job = Job::new().set("REDIAL_RULES", "nothing");
    assert_eq!(job.redial(&["run", "--rules", "git", "--", "true"]).status.code(), Some(0));
    let job =
        Job::new().set("REDIAL_EVENTS", "absent/events").set("REDIAL_BUDGET", "absent/budget");
    let flags = ["run", "--events", "events", "--budget", "budget", "--", "true"];
    assert_eq!(job.redial(&flags).status.code(), Some(0));
    assert!(job.path().join("events").exists() && job.path().join("budget").exists());
}

#[test]
fn rules_of_the_environment_judge_the_command() {
    let job = Job::new().set("REDIAL_RULES", "./busy.toml");
    let run =
        |code| job.redial(&["run", "-d", "1ms", "--", "sh", "-c", &format!("echo .; exit {code}")]);
    assert_eq!(stdout(&run(7)), ".\n.\n.\n");
    assert_eq!(stdout(&run(8)), ".\n");
    assert!(stdout(&job.redial(&["classify", "--exit", "8"])).starts_with("stop\n  by rules busy"));
    // As many as the flag can name, and in that order.
    let job = Job::new().set("REDIAL_RULES", "git, ./busy.toml");
    let text = stdout(&job.redial(&["run", "--dry-run", "--", "true"])).to_owned();
    let flags = ["run", "--rules", "git", "--rules", "./busy.toml", "--dry-run", "--", "true"];
    let from = "         rules git, ./busy.toml, from REDIAL_RULES\n";
    let shown = stdout(&Job::new().redial(&flags)).to_owned();
    assert_eq!(text, format!("{shown}{from}"));
    let flag = ["run", "--rules", "git, ./busy.toml", "--dry-run", "--", "true"];
    assert_eq!(shown, stdout(&Job::new().redial(&flag)));
    let said = stderr(&job.redial(&["run", "-v", "--", "true"])).to_owned();
    assert!(said.contains("redial: rules git, ./busy.toml, from REDIAL_RULES\n"), "{said}");
    let said = stderr(&job.redial(&["run", "-v", "--rules", "git", "--", "true"])).to_owned();
    assert!(!said.contains("REDIAL_RULES"), "{said}");
    job.refuses(
        &["run", "--rules", "git,gti", "--", "touch", "ran"],
        &["--rules: there is no set of rules `gti`", "did you mean `git`?"],
    );
    for (bad, words) in [
        ("gti", &["REDIAL_RULES: there is no set of rules `gti`", "did you mean `git`?"][..]),
        ("git,", &["REDIAL_RULES: there is no set of rules ``"]),
        ("./absent.toml", &["REDIAL_RULES: cannot read ./absent.toml"]),
        ("wrong.toml", &["wrong.toml:2:", "note: REDIAL_RULES names this file"]),
    ] {
        let job = Job::new().set("REDIAL_RULES", bad);
        job.refuses(VERBS[0], words);
        job.refuses(&["classify", "--exit", "1"], words);
    }
}

#[test]
fn all_runs_of_a_job_log_and_share_a_budget() {
    let job = Job::new().set("REDIAL_EVENTS", "events").set("REDIAL_BUDGET", "budget");
    // With as much as one retry costs, and nothing that comes back.
    let poor = r#"{"redial":"budget","capacity":1,"deposit":0.000000001,"floor_per_second":0}"#;
    fs::write(job.path().join("budget"), poor).unwrap();
    let run = |command: &str| job.redial(&["run", "-q", "-d", "1ms", "--", "sh", "-c", command]);
    assert_eq!(run("echo first; false").status.code(), Some(1));
    assert_eq!(run("echo second; false").status.code(), Some(1));
    let log = fs::read_to_string(job.path().join("events")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<_> = lines.iter().filter(|line| line["type"] == "run.end").collect();
    assert_eq!(ends.len(), 2, "{log}");
    assert_eq!((&ends[0]["attempts"], &ends[0]["reason"]), (&2.into(), &"budget".into()));
    assert_eq!((&ends[1]["attempts"], &ends[1]["reason"]), (&1.into(), &"budget".into()));
    let text = stdout(&job.redial(&["run", "--dry-run", "--", "true"])).to_owned();
    let files = "events   events, from REDIAL_EVENTS\nbudget   budget, from REDIAL_BUDGET\n";
    assert!(text.ends_with(files), "{text}");

    let job = Job::new().set("REDIAL_EVENTS", "absent/events");
    job.refuses(VERBS[0], &["REDIAL_EVENTS: cannot write to absent/events"]);
    let job = Job::new().set("REDIAL_BUDGET", "retries.yaml");
    job.refuses(VERBS[0], &["REDIAL_BUDGET: budget file retries.yaml: it is no budget of redial"]);
    let job = Job::new().set("REDIAL_BUDGET", "one");
    job.refuses(
        &["run", "--events", "one", "--", "touch", "ran"],
        &["--events and REDIAL_BUDGET need a file each, and one is one"],
    );
}

/// What each verb makes of the policy that it has, from the environment.
#[test]
fn every_verb_that_takes_a_policy_has_the_environment_s() {
    let job = Job::new().set("REDIAL_WITH", "retry: 4, delay: 2s, stop_on: [network]");
    for (arguments, words) in [
        (&["run", "--dry-run", "--", "true"][..], "attempts: 5, delay: 2s"),
        (&["plan"], "attempts: 5, delay: 2s"),
        (&["convert", "--to", "clause"], "attempts: 5, delay: 2s"),
        (&["classify", "--exit", "1", "--stderr", "network.log"], "by stop_on network"),
        (&["simulate", "layers", "--trials", "2"], "attempts: 5, delay: 2s"),
        (&["simulate", "wave", "--trials", "2"], "attempts: 5, delay: 2s"),
        (
            &["tune", "contention", "--effort", "quick", "--clients", "2", "--trials", "2"],
            "attempts: 5, delay: 2s",
        ),
    ] {
        fs::write(job.path().join("network.log"), "connection refused\n").unwrap();
        let text = stdout(&job.redial(arguments)).to_owned();
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

/// A number of retries, rules for them and a budget of them would end a wait: a poll has its own pace.
#[test]
fn a_poll_takes_the_log_of_events_from_the_environment_and_nothing_else() {
    let job = Job::new()
        .set("REDIAL_WITH", "retry: 1, delay: 1ms")
        .set("REDIAL_RULES", "./busy.toml")
        .set("REDIAL_BUDGET", "budget")
        .set("REDIAL_EVENTS", "events");
    let ready = "test $REDIAL_ATTEMPT -eq 9 || exit 1";
    let output = job.redial(&["until", "-d", "1ms", "--", "sh", "-c", ready]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!job.path().join("budget").exists());
    let log = fs::read_to_string(job.path().join("events")).unwrap();
    assert_eq!(log.matches("attempt.start").count(), 9);
    let text =
        stdout(&job.redial(&["until", "--dry-run", "--within", "2min", "--", "true"])).to_owned();
    assert!(
        text.contains("\npolicy   attempts: unlimited, delay: 1s, within: 2min\nrules "),
        "{text}"
    );
    assert!(text.ends_with("\nevents   events, from REDIAL_EVENTS\n"), "{text}");
    // As wrong as they may be, they are not read.
    let job = Job::new().set("REDIAL_WITH", "rubbish").set("REDIAL_POLICY", "absent.yaml");
    assert_eq!(job.redial(&["until", "--", "true"]).status.code(), Some(0));
    // What a flag names is taken, whatever the verb.
    let flags = ["until", "--policy", "retries.yaml#fetch", "--dry-run", "--", "true"];
    assert!(stdout(&job.redial(&flags)).contains("policy   attempts: 4, delay: 1s\n"));
    let flags = ["until", "-d", "1ms", "--budget", "budget", "--", "true"];
    assert_eq!(job.redial(&flags).status.code(), Some(0));
    assert!(job.path().join("budget").exists());
}

#[test]
fn a_plan_shows_the_pace_of_a_poll() {
    let job = Job::new().set("REDIAL_WITH", "retry: 1");
    let plan = job.plan(&["--preset", "until", "--within", "2min"]);
    assert_eq!(plan["policy"], "attempts: unlimited, delay: 1s, within: 2min");
    let text =
        stdout(&job.redial(&["until", "--dry-run", "--within", "2min", "--", "true"])).to_owned();
    assert!(text.contains(plan["policy"].as_str().unwrap()), "{text}");
    assert_eq!(job.plan(&["--preset", "until"])["diagnostics"], Value::Array(vec![]));
}

#[test]
fn a_run_inside_a_run_has_the_same_defaults() {
    let job = Job::new().set("REDIAL_WITH", "retry: 1, delay: 1ms").set("REDIAL_EVENTS", "events");
    let output =
        job.redial(&["run", "-q", "--", "redial", "run", "-q", "--", "sh", "-c", "echo .; false"]);
    assert_eq!(stdout(&output), ".\n".repeat(4));
    let log = fs::read_to_string(job.path().join("events")).unwrap();
    assert_eq!(log.matches("run.start").count(), 3);
}
