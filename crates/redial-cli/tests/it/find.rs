//! `redial find`: every policy below a folder, the worst first.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{parsed, redial, root, stderr, stdout};

const JOB: &str = "kind: Job\nmetadata: {name: migrate}\nspec: {backoffLimit: 2, template: {spec: {restartPolicy: Never}}}\n";
const BAD: &str = "policies:\n  bad: {attempts: 0}\n";
const ENDLESS: &str = "policies: {endless: 'attempts: unlimited, delay: 1s'}\n";

/// A folder with these files, whose folders are made, too.
fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn found(folder: &Path, arguments: &[&str]) -> Value {
    parsed(&redial(folder, &[&["find", "--format", "json"][..], arguments].concat()))
}

/// The files of the policies, in order.
fn files(found: &Value) -> Vec<&str> {
    let policies = found["policies"].as_array().unwrap();
    policies.iter().map(|policy| policy["file"].as_str().unwrap()).collect()
}

#[test]
fn errors_come_first_then_what_never_ends_then_the_longest() {
    let folder = tree(&[
        ("a/short.cst", b"x = retry(\"retry: 1, delay: 1s\")\n".as_slice()),
        ("b/job.yaml", JOB.as_bytes()),
        ("c/endless.yaml", ENDLESS.as_bytes()),
        ("d/bad.yaml", BAD.as_bytes()),
        (".github/retries.toml", b"[policies]\nhidden = 'retry: 1, delay: 2s'\n"),
        ("values.yaml", b"replicas: 3\n"),
    ]);
    let output = redial(folder.path(), &["find", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let found = parsed(&output);
    let order = ["d/bad.yaml", "c/endless.yaml", "b/job.yaml", ".github/retries.toml"];
    assert_eq!(files(&found)[..4], order);
    assert_eq!(found["policies"][2]["name"], json!("Job/migrate"));
    assert_eq!(found["policies"][2]["gives_up_by_ns"], json!(30_000_000_000_u64));
    assert_eq!(found["policies"][2]["line"], json!(3));
    assert_eq!(found["policies"][1]["gives_up_by_ns"], Value::Null);
    let text = redial(folder.path(), &["find"]);
    let first = stdout(&text).lines().nth(1).unwrap().to_owned();
    assert!(first.starts_with("d/bad.yaml:2 bad") && first.contains("error"), "{first}");
    assert!(stderr(&text).contains("1 error"), "{}", stderr(&text));
}

#[test]
fn what_a_gitignore_names_is_left_out_unless_asked_for() {
    let folder = tree(&[
        (".gitignore", b"vendor/\n*.tmp.yaml\n".as_slice()),
        ("vendor/job.yaml", JOB.as_bytes()),
        ("x.tmp.yaml", JOB.as_bytes()),
        ("deep/er/.gitignore", b"job.yaml"),
        ("deep/er/job.yaml", JOB.as_bytes()),
        (".git/job.yaml", JOB.as_bytes()),
        ("job.yaml", JOB.as_bytes()),
    ]);
    assert_eq!(files(&found(folder.path(), &[])), ["job.yaml"]);
    let all = ["deep/er/job.yaml", "job.yaml", "vendor/job.yaml", "x.tmp.yaml"];
    assert_eq!(files(&found(folder.path(), &["--no-ignore"])), all);
    // A file that is named is looked at.
    assert_eq!(files(&found(folder.path(), &["vendor/job.yaml"])), ["vendor/job.yaml"]);
}

#[test]
fn files_that_are_no_text_are_skipped_and_counted() {
    let huge = format!("# {}\n{JOB}", "x".repeat(5 << 20));
    let folder = tree(&[
        ("binary.json", b"{\0\xff".as_slice()),
        ("latin.yaml", b"name: caf\xe9\n"),
        ("huge.yaml", huge.as_bytes()),
        ("template.yaml", b"{{- if .Values.x }}\nkind: Job\n{{ end }}\n"),
        ("swarm.yaml", b"deploy: {restart_policy: {delay: 5s}}\n"),
        ("job.yaml", JOB.as_bytes()),
    ]);
    let output = redial(folder.path(), &["find", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = parsed(&output);
    assert_eq!(files(&found), ["job.yaml"]);
    let reasons: Vec<_> = found["skipped"].as_array().unwrap().iter().collect();
    let reason = |file: &str| {
        let one = reasons.iter().find(|one| one["file"] == json!(file));
        one.and_then(|one| one["reason"].as_str()).unwrap_or_else(|| panic!("{file}: {reasons:?}"))
    };
    assert!(reason("binary.json").contains("binary"));
    assert!(reason("latin.yaml").contains("UTF-8"));
    assert!(reason("huge.yaml").contains("4 MiB"));
    assert!(!reason("template.yaml").is_empty());
    assert!(reason("swarm.yaml").contains("Docker Swarm"));
}

#[cfg(unix)]
#[test]
fn loops_of_links_pipes_and_unreadable_files_keep_nobody() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tree(&[("a/job.yaml", JOB.as_bytes()), ("a/closed.yaml", JOB.as_bytes())]);
    symlink("..", folder.path().join("a/up")).unwrap();
    symlink("self.yaml", folder.path().join("a/self.yaml")).unwrap();
    symlink("job.yaml", folder.path().join("a/link.yaml")).unwrap();
    nix::unistd::mkfifo(&folder.path().join("a/pipe.yaml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(files(&found(folder.path(), &[])), ["a/closed.yaml", "a/job.yaml"]);
    fs::set_permissions(folder.path().join("a/closed.yaml"), fs::Permissions::from_mode(0o000))
        .unwrap();
    // Root reads it all the same.
    if fs::read(folder.path().join("a/closed.yaml")).is_err() {
        let output = redial(folder.path(), &["find"]);
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains("a/closed.yaml"), "{}", stderr(&output));
        assert!(stdout(&output).contains("a/job.yaml"), "{}", stdout(&output));
    }
    let missing = redial(folder.path(), &["find", "nowhere"]);
    assert_eq!(missing.status.code(), Some(125));
    assert!(stderr(&missing).contains("nowhere"), "{}", stderr(&missing));
}

#[test]
fn github_gets_the_findings_and_what_each_policy_comes_to() {
    let folder = tree(&[("bad.yaml", BAD.as_bytes()), ("job.yaml", JOB.as_bytes())]);
    let output = redial(folder.path(), &["find", ".", "--format", "github"]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<_> = stdout(&output).lines().collect();
    assert!(lines[0].starts_with("::error file=bad.yaml,line=2,"), "{lines:?}");
    let notice = "::notice file=job.yaml,line=3,title=redial find::job.yaml:3 Job/migrate: up to 3 attempts, gives up by 30s";
    assert!(lines.contains(&notice), "{lines:?}");
}

#[test]
fn steps_of_flows_are_found_by_their_names() {
    let found = found(&root(), &["docs/examples/flows/thumbnails.yaml"]);
    let names: Vec<_> =
        found["policies"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, [&json!("fetch"), &json!("list")]);
    assert!(
        found["policies"].as_array().unwrap().iter().all(|one| one["written_in"] == json!("flow"))
    );
}

#[test]
fn a_tree_of_thousands_of_files_is_read_in_their_order() {
    let names: Vec<_> = (0..3000).map(|n| format!("{}/{n:04}.yaml", n % 50)).collect();
    let tree_files: Vec<_> = names.iter().map(|name| (name.as_str(), JOB.as_bytes())).collect();
    let folder = tree(&tree_files);
    let found = found(folder.path(), &[]);
    assert_eq!(found["files"], json!(3000));
    let found = files(&found);
    assert!(found.len() == 3000 && found.is_sorted(), "{}", found.len());
}
