//! The program as scripts and people use it: real processes, real files, exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::program::{
    REDIAL, command, folder, parsed, redial as in_folder, stderr, stdout, with_input,
};

fn redial(arguments: &[&str]) -> Output {
    in_folder(Path::new("."), arguments)
}

fn fed(arguments: &[&str], input: &[u8]) -> Output {
    with_input(&mut command(Path::new("."), arguments), input)
}

#[track_caller]
fn refused(arguments: &[&str], words: &str) {
    let output = redial(arguments);
    assert_eq!(output.status.code(), Some(125), "{arguments:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{arguments:?}");
}

#[test]
fn bad_usage_is_125_and_says_what_would_be_right() {
    refused(&["plna"], "plan");
    refused(&["plan", "--atempts", "3"], "--attempts");
    refused(&["plan", "--attempts", "3", "--retries", "2"], "cannot be used with");
    refused(&["plan", "--seed", "-1"], "--seed");
    refused(&["plan", "--seed", "18446744073709551616"], "--seed");
    refused(&["plan", "--show", "many"], "--show");
    refused(&["plan", "--show", "100001"], "100000");
    refused(&["check"], "FILE");
    refused(&["convert", "--with", "retry: 3"], "--to");
    refused(&["convert", "--to", "xml", "--with", "retry: 3"], "retry-config");
    refused(&["convert", "--to", "rust", "--as", "toml"], "--as");
    refused(&["explain", "unknown-optoin"], "did you mean `unknown-option`?");
    refused(&["help", "nothing"], "there is no help about `nothing`");
    for (word, meant) in [
        ("rule", "rules"),
        ("env", "environment"),
        ("exit", "exit-codes"),
        ("exit_codes", "exit-codes"),
    ] {
        refused(&["help", word], &format!("did you mean `{meant}`?"));
    }
    refused(&["plan", "retry: 3"], "; a clause is given with --with 'retry: 3'");
    refused(&["classify", "--exit", "1", "--stderr", "early EOF"], "--stderr takes a file");
    refused(&["man", "nothing"], "nothing");
    refused(&["completions", "tcsh"], "bash");
    refused(&["plan", "--preset", "contentoin"], "contention");
    refused(&["plan", "--json", "--svg", "-"], "standard output holds one");
}

#[test]
fn a_bad_policy_is_125_and_is_drawn() {
    refused(&["plan", "--with", "retry: 3, dely: 1s"], "error[unknown-option]");
    refused(&["convert", "--to", "rust", "--with", "attempts: 0"], "zero-attempts");
    refused(&["plan", "--with", ""], "empty");
    refused(&["plan", "--with", "x = F(y) with retry: 3\nz = G(x) with retry: 2"], "one clause");
}

#[test]
fn every_flag_is_an_option_of_the_clause() {
    let flags = [
        (
            &["--attempts", "5"][..],
            "attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full",
        ),
        (
            &["-n", "unlimited", "-T", "1min"],
            "attempts: unlimited, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full, within: 1min",
        ),
        (
            &["--retries", "5"],
            "attempts: 6, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full",
        ),
        (
            &["-d", "100ms"],
            "attempts: 3, delay: 100ms, backoff: exponential, max_delay: 30s, jitter: full",
        ),
        (
            &["-b", "linear", "--increment", "2s"],
            "attempts: 3, delay: 1s, backoff: linear, increment: 2s, max_delay: 30s, jitter: full",
        ),
        (&["-b", "[1s, 3s]"], "attempts: 3, backoff: [1s, 3s], max_delay: 30s, jitter: full"),
        (
            &["--factor", "1.5"],
            "attempts: 3, delay: 1s, backoff: exponential, factor: 1500ms, max_delay: 30s, jitter: full",
        ),
        (
            &["--min-delay", "1ms", "--max-delay", "5s", "--jitter", "+50%"],
            "attempts: 3, delay: 1s, backoff: exponential, min_delay: 1ms, max_delay: 5s, jitter: +50%",
        ),
        (
            &["--max-delay", "none", "--jitter", "none"],
            "attempts: 3, delay: 1s, backoff: exponential, max_delay: none",
        ),
        (
            &["--wait-budget", "9s"],
            "attempts: 3, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full, wait_budget: 9s",
        ),
    ];
    for (flags, clause) in flags {
        let output = redial(&[&["plan", "--json"], flags].concat());
        let clause = clause.replace("1500ms", "1.5");
        assert_eq!(parsed(&output)["plans"][0]["policy"], clause, "{flags:?}");
        assert_eq!(output.status.code(), Some(0));
    }
    let timeout = redial(&["plan", "--json", "-t", "2s"]);
    assert_eq!(parsed(&timeout)["plans"][0]["gives_up_after"]["max_ns"], 9_000_000_000u64);
}

#[test]
fn the_letter_j_is_not_jitter_any_more() {
    for line in [&["plan", "-j", "none"][..], &["plan", "-jnone"], &["run", "-j", "none", "true"]] {
        let output = redial(line);
        assert_eq!(output.status.code(), Some(125), "{line:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("write --jitter none"), "{line:?}: {said}");
    }
    // Whoever means a number of jobs is not told to write what cannot work.
    for line in [&["run", "-j", "4", "--", "true"][..], &["run", "-j", "--", "true"]] {
        refused(line, "--jitter takes none, full, equal, 25%");
    }
}

#[test]
fn every_numeric_flag_at_its_ends() {
    for (flag, bad) in [
        ("--attempts", "0"),
        ("--attempts", "-1"),
        ("--attempts", "4294967296"),
        ("--attempts", "3.5"),
        ("--attempts", "NaN"),
        ("--retries", "-1"),
        ("--retries", "4294967295"),
        ("--delay", "-1s"),
        ("--delay", "5"),
        ("--delay", "1.5ns"),
        ("--delay", ""),
        ("--delay", "1s, retry: 9"),
        ("--delay", "1s # x"),
        ("--factor", "0.5"),
        ("--factor", "-2"),
        ("--factor", "1000000000"),
        ("--factor", "inf"),
        ("--jitter", "101%"),
        ("--jitter", "-5%"),
        ("--jitter", "[1.5, 0.5]"),
        ("--max-delay", "-1s"),
        ("--min-delay", "40s"),
        ("--within", "soon"),
        ("--wait-budget", "-1s"),
        ("--timeout", "5"),
    ] {
        let output = redial(&["plan", flag, bad]);
        assert_eq!(output.status.code(), Some(125), "{flag} {bad}: {}", stderr(&output));
        assert!(stderr(&output).contains("error"), "{flag} {bad}: {}", stderr(&output));
    }
    for (flag, good) in [
        ("--attempts", "4294967295"),
        ("--retries", "0"),
        ("--retries", "4294967294"),
        ("--delay", "0s"),
        ("--delay", "99999999999999999999d"),
        ("--factor", "999999999.999999999"),
        ("--jitter", "100%"),
        ("--jitter", "+1000%"),
        ("--max-delay", "0s"),
        ("--within", "0s"),
        ("--within", "584d"),
        ("--timeout", "99999999999999999999d"),
        ("--seed", "18446744073709551615"),
        ("--show", "0"),
        ("--show", "100000"),
    ] {
        for kind in [&[][..], &["--json"], &["--svg", "-"], &["--html", "-"]] {
            let output = redial(&[&["plan", flag, good], kind].concat());
            assert_eq!(output.status.code(), Some(0), "{flag} {good}: {}", stderr(&output));
        }
    }
}

#[test]
fn policies_are_shown_in_the_order_in_which_they_were_asked_for() {
    let output = redial(&[
        "plan",
        "--json",
        "--preset",
        "contention",
        "--with",
        "retry: 1",
        "--preset",
        "default",
    ]);
    let plans = parsed(&output);
    let attempts: Vec<_> =
        plans["plans"].as_array().unwrap().iter().map(|plan| plan["attempts"].as_u64()).collect();
    assert_eq!(attempts, [Some(7), Some(2), Some(3)]);
}

#[test]
fn a_policy_of_a_file_is_found_by_its_name_its_line_or_as_the_default() {
    let folder = folder(&[
        ("p.yaml", "default: b\npolicies:\n  a: 'retry: 1'\n  b: 'retry: 2'\n"),
        ("all.toml", "[policies]\na = 'retry: 1'\nb = 'retry: 2'\n"),
        ("s.cst", "r = F(x) with retry: 1\nr = G(r) with retry: 2\n"),
        ("odd#name.yaml", "policies: {a: 'retry: 4'}\n"),
    ]);
    let attempts = |arguments: &[&str]| {
        let output =
            in_folder(folder.path(), &[&["plan", "--json", "--policy"], arguments].concat());
        let plans = parsed(&output);
        let plans = plans["plans"].as_array().unwrap().iter();
        plans.map(|plan| plan["attempts"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(attempts(&["p.yaml"]), [3]);
    assert_eq!(attempts(&["p.yaml#a"]), [2]);
    assert_eq!(attempts(&["all.toml"]), [2, 3]);
    assert_eq!(attempts(&["s.cst#2"]), [3]);
    assert_eq!(attempts(&["odd#name.yaml"]), [5]);
    assert_eq!(attempts(&["odd#name.yaml#a"]), [5]);
    let refused = |arguments: &[&str], words: &str| {
        let output = in_folder(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    };
    refused(&["plan", "--policy", "p.yaml#c"], "there is no policy `c`; there are a, b");
    refused(&["plan", "--policy", "s.cst#r"], "s.cst#1, s.cst#2");
    refused(&["plan", "--policy", "absent.yaml"], "cannot read absent.yaml");
    refused(&["convert", "--to", "clause", "p.yaml#a"], "'--policy p.yaml#a'");
    refused(&["convert", "--to", "clause", "--policy", "all.toml"], "name it");
}

#[test]
fn check_exits_by_what_it_finds() {
    let folder = folder(&[
        ("clean.yaml", "policies: {a: 'retry: 3, delay: 1s'}\n"),
        ("warned.yaml", "policies: {a: 'retry: 30, delay: 1s'}\n"),
        ("wrong.yaml", "policies: {a: 'retry: x'}\n"),
        ("none.yaml", "jobs: {build: {steps: []}}\n"),
    ]);
    let code = |arguments: &[&str]| {
        in_folder(folder.path(), &[&["check"], arguments].concat()).status.code().unwrap()
    };
    assert_eq!(code(&["clean.yaml"]), 0);
    assert_eq!(code(&["warned.yaml"]), 0);
    assert_eq!(code(&["none.yaml"]), 0);
    assert_eq!(code(&["warned.yaml", "--deny-warnings"]), 1);
    assert_eq!(code(&["wrong.yaml", "clean.yaml"]), 1);
    assert_eq!(code(&["absent.yaml", "wrong.yaml"]), 125);
    assert_eq!(code(&["."]), 125);
}

#[test]
fn a_check_that_looks_at_nothing_says_so() {
    let folder = folder(&[
        ("misspelt.yaml", "polices: {a: 'retry: 3'}\n"),
        ("hollow.yaml", "policies: {}\n"),
        ("empty.yaml", ""),
        ("empty.json", ""),
        ("comment.yaml", "# to be written\n"),
        ("braces.yaml", "{}\n"),
        ("braces.json", "{}"),
        ("steps.yaml", "steps: []\n"),
    ]);
    for file in ["misspelt.yaml", "hollow.yaml"] {
        let output = in_folder(folder.path(), &["check", file, "--deny-warnings"]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(stdout(&output).contains("warning[no-policy]"), "{file}: {}", stdout(&output));
    }
    // What has nothing in it is refused by all that would do something with it.
    for file in
        ["empty.yaml", "empty.json", "comment.yaml", "braces.yaml", "braces.json", "steps.yaml"]
    {
        let output = in_folder(folder.path(), &["check", file]);
        assert_eq!(output.status.code(), Some(1), "{file}: {}", stdout(&output));
        assert!(stdout(&output).contains("error[no-steps]"), "{file}: {}", stdout(&output));
        assert!(stderr(&output).contains("1 flow in 1 file: 1 error"), "{}", stderr(&output));
        for plan in [&["plan", file][..], &["flow", "plan", file]] {
            assert_eq!(in_folder(folder.path(), plan).status.code(), Some(125), "{plan:?}");
        }
    }
    let output = redial(&["check", "--with", "retry=3, delay=1s"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

#[test]
fn a_whole_file_is_converted_with_its_default() {
    let text = "default: b\npolicies:\n  a: 'retry: 1'\n  b: 'retry: 2'\n";
    let folder =
        folder(&[("p.yaml", text), ("twice.yaml", "policies: {a: 'retry: 1', a: 'retry: 2'}")]);
    let output = in_folder(folder.path(), &["convert", "--to", "file", "--policy", "p.yaml"]);
    assert_eq!(
        stdout(&output),
        "default: \"b\"\npolicies:\n  a:\n    attempts: 2\n  b:\n    attempts: 3\n",
    );
    let output = redial(&["convert", "--to", "file", "--with", "retry: 1", "--with", "retry: 2"]);
    let again = fed(&["check", "-"], &output.stdout);
    assert_eq!(again.status.code(), Some(0), "{}", stdout(&again));
    let output = in_folder(folder.path(), &["plan", "--policy", "twice.yaml"]);
    assert_eq!(output.status.code(), Some(125), "what is wrong with the file refuses it");
}

#[test]
fn one_file_that_cannot_be_read_does_not_hide_the_others() {
    let folder = folder(&[("wrong.yaml", "policies: {a: 'retry: x'}\n")]);
    let output = in_folder(folder.path(), &["check", "absent.yaml", "wrong.yaml"]);
    assert!(stdout(&output).contains("error[wrong-type]"));
    assert!(stderr(&output).contains("cannot read absent.yaml"));
}

#[test]
fn hostile_files_get_an_error_quickly() {
    let mut large = vec![b'#'; 100 << 20];
    large.push(b'\n');
    let bomb =
        (1..12).fold(String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"), |bomb, level| {
            let alias = format!("*a{}", level - 1);
            let line = vec![alias; 10].join(", ");
            format!("{bomb}a{level}: &a{level} [{line}]\n")
        });
    let cases: [(&str, Vec<u8>, i32, &str); 6] = [
        ("large.yaml", large, 125, "larger than 4 MiB"),
        ("latin.yaml", b"policies:\n  a: \xe9\n".to_vec(), 125, "byte 15, on line 2, is not UTF-8"),
        ("nul.yaml", b"policies:\n  a: 'retry: 1\0'\n".to_vec(), 1, "NUL"),
        ("deep.json", "[".repeat(200_000).into_bytes(), 1, "nested deeper than 64"),
        ("deep.yaml", "- ".repeat(100_000).into_bytes(), 1, "nested deeper than 64"),
        ("bomb.yaml", bomb.into_bytes(), 1, "expand to more than"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, code, words) in cases {
        fs::write(folder.path().join(name), &bytes).unwrap();
        let output = in_folder(folder.path(), &["check", name]);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(words), "{name}: {said}");
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let output = fed(&["check", "-"], b"policies:\n  a: 'retry: x'\n");
    assert_eq!(output.status.code(), Some(1));
    let output = fed(&["plan", "--json", "--policy", "-"], b"{\"maxAttempts\": 4}");
    assert_eq!(parsed(&output)["plans"][0]["attempts"], 4);
    for (text, attempts) in [
        ("default: a\npolicies:\n  a: 'retry: 3'\n", 4),
        ("name: CI\njobs:\n  - retry_config: {attempts: 4}\n", 4),
        ("default = \"a\"\n[policies]\na = \"retry: 3\"\n", 4),
        ("- retryPolicy: {maxAttempts: 4}\n", 4),
        ("retry: 3,\ndelay: 1s\n", 4),
        ("retry: 3, delay: 1s\n", 4),
    ] {
        let output = fed(&["plan", "--json", "--policy", "-"], text.as_bytes());
        assert_eq!(parsed(&output)["plans"][0]["attempts"], attempts, "{text}");
    }
    let bare = ["plan", "--json", "--dialect", "file", "--policy", "-"];
    assert_eq!(parsed(&fed(&bare, b"retry: 3\ndelay: 1s\n"))["plans"][0]["attempts"], 4);
    let output = fed(&["check", "--fix", "-"], b"policies:\n  a: 'retry: 3, dely: 1s'\n");
    assert_eq!(stdout(&output), "policies:\n  a: 'retry: 3, delay: 1s'\n");
}

#[test]
fn safe_fixes_are_written_back_and_nothing_else() {
    let text = "# mine\npolicies:\n  a: \"retry: 3, dely: 1s, jitter: true\" # keep\n  b:\n    atempts: 3\n    delay: 5\n";
    let folder = folder(&[("p.yaml", text)]);
    let path = folder.path().join("p.yaml");
    let output = in_folder(folder.path(), &["check", "--fix", "p.yaml"]);
    assert_eq!(output.status.code(), Some(1)); // a unit is not guessed
    assert!(stderr(&output).contains("3 fixes applied"), "{}", stderr(&output));
    let fixed =
        text.replace("dely", "delay").replace("true", "full").replace("atempts", "attempts");
    assert_eq!(fs::read_to_string(&path).unwrap(), fixed);
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing is left beside it");
}

#[test]
fn a_fix_changes_no_delay_of_a_policy_that_others_complete() {
    let text = "policies:\n  base: 'delay: 5s, backoff: exponential'\n  fetch: {extends: base, retry: 3, jitter: full}\n";
    let folder = folder(&[("p.yaml", text)]);
    let plans = || {
        [&["--policy", "p.yaml#fetch"][..], &["--policy", "p.yaml#base", "-n", "4"]].map(|flags| {
            let arguments = [&["plan", "--json", "--seed", "7"], flags].concat();
            stdout(&in_folder(folder.path(), &arguments)).to_owned()
        })
    };
    let before = plans();
    let output = in_folder(folder.path(), &["check", "--fix", "--deny-warnings", "p.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("p.yaml")).unwrap(), text);
    assert_eq!(plans(), before);
}

#[test]
fn what_a_policy_lacks_is_told_where_it_is_used_as_it_is() {
    let folder =
        folder(&[("p.yaml", "policies: {base: {delay: 5s}}\n"), ("clause", "delay: 5s\n")]);
    let names = |arguments: &[&str], list: &str| -> Vec<String> {
        let answer = parsed(&in_folder(folder.path(), arguments));
        let found = answer[list][0]["diagnostics"].as_array().unwrap().clone();
        found.iter().map(|found| found["name"].as_str().unwrap().to_owned()).collect()
    };
    let check = ["check", "--format", "json"];
    let lacks = ["delay-without-retry"];
    assert_eq!(names(&[&check[..], &["p.yaml"]].concat(), "files"), [""; 0]);
    assert_eq!(names(&[&check[..], &["clause"]].concat(), "files"), lacks);
    assert_eq!(names(&[&check[..], &["--with", "delay: 5s"]].concat(), "files"), lacks);
    let plan = ["plan", "--json", "--policy", "p.yaml"];
    assert_eq!(names(&plan, "plans"), lacks);
    assert_eq!(names(&[&plan[..], &["-n", "4"]].concat(), "plans"), [""; 0]);
    assert_eq!(names(&[&plan[..], &["-b", "linear"]].concat(), "plans").len(), 2);
    // Who asks for one attempt knows that there is no retry.
    assert_eq!(names(&[&plan[..], &["-n", "1"]].concat(), "plans"), [""; 0]);
    assert_eq!(names(&[&plan[..], &["-n", "1", "-d", "1s"]].concat(), "plans"), lacks);
    assert_eq!(names(&["plan", "--json", "-n", "1"], "plans"), [""; 0]);
    // Of all policies of a file none is about to run; what a base lacks may be in the one that extends it.
    let text = "policies: {base: {delay: 5s}, all: {extends: base, retry: 3}}\n";
    fs::write(folder.path().join("two.yaml"), text).unwrap();
    assert_eq!(names(&["plan", "--json", "two.yaml"], "plans"), [""; 0]);
    assert_eq!(names(&["plan", "--json", "two.yaml#base"], "plans"), lacks);
}

#[test]
fn a_fix_is_promised_only_where_check_applies_it() {
    let promise = "redial check --fix --with prints it";
    for (text, applied) in [
        ("retry: 3, dely: 5s", true),
        ("retry: 3,", true),
        ("delay: 5s", false),
        // It would want a unit then.
        ("retry: 3, dely: 5", false),
        // Both are meant to be the same.
        ("retry: 3, dely: 1s, dealy: 2s", true),
    ] {
        let told = redial(&["check", "--with", text]);
        assert_eq!(stdout(&told).contains(promise), applied, "{text}: {}", stdout(&told));
        let fixed = redial(&["check", "--fix", "--with", text]);
        assert_eq!(stdout(&fixed).trim_end() != text, applied, "{text}: {}", stdout(&fixed));
        assert!(stdout(&told).matches(promise).count() <= 1, "{text}: {}", stdout(&told));
    }
    let flags = redial(&["plan", "--backoff", "exp"]);
    assert!(stderr(&flags).contains("did you mean `exponential`?"), "{}", stderr(&flags));
    assert!(!stderr(&flags).contains("--fix"), "{}", stderr(&flags));
}

/// Where the text is decides what there is to do: a file is changed, the rest is printed, and what a
/// variable says is not within reach.
#[test]
fn the_promise_of_a_fix_says_how_to_have_it() {
    let text = "retry: 3, dely: 5s";
    let folder = folder(&[("p", text)]);
    let plan = |arguments: &[&str]| {
        stderr(&in_folder(folder.path(), &[&["plan"], arguments].concat())).to_owned()
    };
    assert!(plan(&["p"]).contains("(redial check --fix does it)"));
    assert!(plan(&["--with", text]).contains("(redial check --fix --with prints it)"));
    assert!(!plan(&["p", "--dialect", "clause"]).contains("--fix"), "check would need it too");
    let input = fed(&["plan", "-"], text.as_bytes());
    assert!(stderr(&input).contains("(redial check --fix - prints it)"), "{}", stderr(&input));
    let fixed = fed(&["check", "--fix", "-"], text.as_bytes());
    assert_eq!(stdout(&fixed), "retry: 3, delay: 5s\n");
    let mut variable = Command::new(REDIAL);
    let variable = variable.arg("plan").env("REDIAL_WITH", text).output().unwrap();
    assert!(stderr(&variable).contains("this would be right"), "{}", stderr(&variable));
    assert!(!stderr(&variable).contains("--fix"), "{}", stderr(&variable));
}

/// A byte order mark takes no column.
#[test]
fn columns_do_not_count_a_byte_order_mark() {
    for (name, text, place) in [
        ("p", "retry: 3, dely: 5s", "p:1:11"),
        ("p.yaml", "dely: 5s\nretry: 3", "p.yaml:1:1"),
        ("p.toml", "dely = '5s'\nretry = 3", "p.toml:1:1"),
        ("p.json", "{\"dely\": \"5s\", \"retry\": 3}", "p.json:1:2"),
    ] {
        for text in [text.to_owned(), format!("\u{feff}{text}")] {
            let folder = folder(&[(name, &text)]);
            let told = in_folder(folder.path(), &["check", name]);
            assert!(stdout(&told).contains(place), "{text:?}: {}", stdout(&told));
        }
    }
}

#[test]
fn a_clean_file_is_not_touched_by_fix() {
    let folder = folder(&[("p.yaml", "policies: {a: 'retry: 3'}\n")]);
    let path = folder.path().join("p.yaml");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    in_folder(folder.path(), &["check", "--fix", "p.yaml"]);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
}

#[cfg(unix)]
#[test]
fn fix_keeps_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder(&[("p.yaml", "policies: {a: 'retry: 3, dely: 1s'}\n")]);
    let path = folder.path().join("p.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("p.yaml", folder.path().join("link.yaml")).unwrap();
    in_folder(folder.path(), &["check", "--fix", "link.yaml"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "policies: {a: 'retry: 3, delay: 1s'}\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(folder.path().join("link.yaml")).unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn a_file_with_several_names_keeps_them() {
    let folder = folder(&[("p.yaml", "policies: {a: 'retry: 3, dely: 1s'}\n")]);
    fs::hard_link(folder.path().join("p.yaml"), folder.path().join("q.yaml")).unwrap();
    in_folder(folder.path(), &["check", "--fix", "p.yaml"]);
    let other = fs::read_to_string(folder.path().join("q.yaml")).unwrap();
    assert_eq!(other, "policies: {a: 'retry: 3, delay: 1s'}\n");
}

#[test]
fn what_a_file_says_does_not_steer_the_terminal() {
    let text =
        "policies:\n  \"a\\e[31m\\u202ered\\n::error::pwn\": 'retry: 3'\n  b: 'retry: \u{9b}31m'\n";
    let folder = folder(&[("p.yaml", text)]);
    for arguments in [
        &["plan", "--policy", "p.yaml#q"][..],
        &["plan", "--policy", "p.yaml"],
        &["check", "p.yaml"],
        &["check", "--format", "github", "p.yaml"],
        &["convert", "--to", "rust", "--policy", "p.yaml"],
        &["check", "no\u{1b}[31m\n::error::such"],
    ] {
        let output = in_folder(folder.path(), arguments);
        let said = format!("{}{}", stdout(&output), stderr(&output));
        for harm in ['\u{1b}', '\u{9b}', '\u{202e}'] {
            assert!(!said.contains(harm), "{arguments:?}: {said:?}");
        }
        assert!(!said.lines().any(|line| line.starts_with("::error::")), "{said}");
    }
}

#[test]
fn a_name_may_have_the_sign_that_separates_it() {
    let folder = folder(&[("p.yaml", "policies: {'a#b': 'retry: 3'}\n")]);
    let output = in_folder(folder.path(), &["plan", "--json", "--policy", "p.yaml#a#b"]);
    assert_eq!(parsed(&output)["plans"][0]["attempts"], 4);
}

#[test]
fn json_of_check_has_places_as_bytes_and_as_editors_count() {
    let folder = folder(&[("p.yaml", "# é\npolicies:\n  ü: 'retry: 3, dely: 1s'\n")]);
    let output = in_folder(folder.path(), &["check", "--format", "json", "p.yaml"]);
    let report = parsed(&output);
    let found = &report["files"][0]["diagnostics"][0];
    assert_eq!(found["name"], "unknown-option");
    assert_eq!((&found["line"], &found["column"]), (&Value::from(3), &Value::from(17)));
    assert_eq!((&found["start"], &found["end"]), (&Value::from(32), &Value::from(36)));
    assert_eq!(found["fix"]["replacement"], "delay");
    assert_eq!((&report["errors"], &report["warnings"]), (&Value::from(1), &Value::from(0)));
}

#[test]
fn github_annotations_escape_what_github_reads() {
    let folder = folder(&[("a,b:c%.yaml", "policies: {a: 'retry: 3, dely: 1s'}\n")]);
    let output = in_folder(folder.path(), &["check", "--format", "github", "a,b:c%.yaml"]);
    let line = stdout(&output);
    assert!(line.starts_with("::error file=a%2Cb%3Ac%25.yaml,line=1,col=26,"), "{line}");
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn losses_are_named_and_nothing_is_printed_unless_they_are_allowed() {
    let arguments =
        ["convert", "--to", "retry-config", "--with", "retry: 3, delay: 1s, within: 1min"];
    let output = redial(&arguments);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("lost: within: 1min"), "{}", stderr(&output));
    let output = redial(&[&arguments[..], &["--allow-loss"]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("retry_config:\n"));
    assert!(stderr(&output).contains("lost: within: 1min"));
    let output = redial(&[&arguments[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(parsed(&output)["losses"][1]["what"], "within: 1min");
}

#[test]
fn pictures_and_pages_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let output = in_folder(folder.path(), &["plan", "--svg", "p.svg", "--html", "p.html"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""));
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    let html = fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(svg.trim_end().ends_with("</svg>"));
    assert!(html.starts_with("<!doctype html>") && html.contains("<svg"), "{html}");
    for outside in ["http://", "https://", "<script", "src="] {
        let elsewhere = html.replace("http://www.w3.org/", "").contains(outside);
        assert!(!elsewhere, "the page asks for {outside}");
    }
    let output = in_folder(folder.path(), &["plan", "--svg", "absent/p.svg"]);
    assert_eq!(output.status.code(), Some(125));
    let reason = "cannot write absent/p.svg: its folder does not exist\n";
    assert!(stderr(&output).ends_with(reason), "{}", stderr(&output));
    if cfg!(target_os = "linux") {
        let output = in_folder(folder.path(), &["plan", "--svg", "/proc/p.svg"]);
        let reason = "cannot write /proc/p.svg: no file can be created in its folder\n";
        assert!(stderr(&output).ends_with(reason), "{}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = Command::new(REDIAL)
        .args(["help", "policy"])
        .stdout(full)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(125));
    let mut child = Command::new(REDIAL)
        .args(["help", "policy"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn every_verb_has_help_with_examples() {
    let help = redial(&["--help"]);
    assert!(stdout(&help).contains("Examples:"));
    let verbs = ["run", "until", "plan", "check", "explain", "convert", "report", "shared"];
    for verb in verbs.into_iter().chain(["flow", "completions", "man", "help"]) {
        let short = redial(&[verb, "--help"]);
        let long = redial(&["help", verb]);
        for output in [short, long] {
            assert_eq!(output.status.code(), Some(0), "{verb}");
            assert!(
                stdout(&output).contains("Examples:\n  redial "),
                "{verb}: {}",
                stdout(&output)
            );
        }
        let page = redial(&["man", verb]);
        assert!(stdout(&page).contains(".TH"), "{verb}");
    }
}

/// Nothing is flaky there, and it cuts the look that runs at the deadline.
#[test]
fn the_help_of_until_offers_only_what_can_happen() {
    let help = redial(&["help", "until"]);
    let help = stdout(&help).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!help.contains("90"), "{help}");
    let within = "gives up as soon as the next look would start at or after it, so up to one delay \
                  early, and stops a look in progress";
    assert!(help.contains(within), "{help}");
}

/// What the help shows is run too, with files of the names that it uses.
#[test]
fn the_examples_of_the_help_work() {
    let policies = "policies:\n  fetch: 'retry: 3, delay: 1s'\n";
    let workflow = "steps:\n  - retry_config: {attempts: 3, initial_delay: 1s}\n";
    let events =
        "{\"v\":1,\"run\":\"r\",\"t\":0,\"type\":\"attempt.start\",\"attempt\":1,\"of\":3}\n";
    let folder = folder(&[
        ("retries.yaml", policies),
        ("retries.toml", "[policies]\nfetch = 'retry: 3, delay: 1s'\n"),
        ("policies.json", "{\"policies\": {\"fetch\": \"retry: 3, delay: 1s\"}}\n"),
        ("workflow.yml", workflow),
        ("pipeline.cst", "x = F(y) with retry: 3, delay: 1s\n"),
        ("events.ndjson", events),
        ("thumbnails.yaml", "steps: {list: {run: [curl, x], policy: 'retry: 2', timeout: 30s}}\n"),
        ("fetch.log", "fatal: early EOF\n"),
        ("curl.log", "curl: (22) The requested URL returned error: 503\n"),
    ]);
    crate::flow::example(folder.path());
    // Whatever the examples run works here.
    let programs = ["curl", "make", "fetch", "api-call", "upload"];
    for program in programs.into_iter().chain(["pg_isready", "test", "kubectl", "backup-is-done"]) {
        let path = folder.path().join(program);
        crate::program::install(&path, "#!/bin/sh\necho Running\n");
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut ran = 0;
    let verbs = "--help run until plan compare find check explain convert classify report shared flow completions man";
    for verb in verbs.split(' ').chain(["help"]) {
        let help = if verb == "--help" { redial(&[verb]) } else { redial(&[verb, "--help"]) };
        let examples = stdout(&help).split_once("Examples:\n").unwrap().1;
        for line in examples.lines().take_while(|line| line.starts_with("  redial ")) {
            // What follows two spaces is said about it; what follows > or | is for the shell.
            let command = line.trim().split("  ").next().unwrap();
            let command = command.split(['>', '|']).next().unwrap();
            let output = Command::new("sh")
                .args(["-c", &command.replacen("redial", REDIAL, 1)])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .unwrap();
            let expected = if command.contains("dely") { 1 } else { 0 };
            assert_eq!(output.status.code(), Some(expected), "{command}: {}", stderr(&output));
            ran += 1;
        }
    }
    assert!(ran > 20, "{ran}");
}

#[test]
fn completions_know_the_verbs_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = redial(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let mut words = vec![
            "run", "until", "plan", "compare", "find", "check", "convert", "classify", "shared",
            "flow",
        ];
        words.extend(["deny-warnings", "markdown", "trace"]);
        if matches!(shell, "bash" | "zsh") {
            words.extend(["cap-erases-jitter", "contention"]);
        }
        for word in words {
            assert!(stdout(&output).contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn every_diagnostic_is_explained() {
    let list = redial(&["explain"]);
    let names: Vec<_> = stdout(&list)
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once(' '))
        .map(|(name, said)| (name.to_owned(), said.trim().to_owned()))
        .collect();
    assert!(names.len() > 30, "{names:?}");
    for (name, said) in names {
        let page = redial(&["explain", &name]);
        assert_eq!(page.status.code(), Some(0), "{name}");
        // The page of another system has its title.
        let titled = stdout(&page).lines().next() == Some(&said);
        assert!(stdout(&page).starts_with(&name) || titled, "{name}");
    }
    let page = redial(&["explain", "value-too-large"]);
    assert!(stdout(&page).contains("stdin: \"${page.output}\""), "{}", stdout(&page));
    refused(&["explain", "value-too-lage"], "did you mean `value-too-large`?");
    let copied = redial(&["explain", "error[unknown_option]:"]);
    assert!(stdout(&copied).starts_with("unknown-option"));
}

#[test]
fn the_reference_and_the_schema_are_printed() {
    for (topic, words) in [
        ("policy", "max_delay"),
        ("rules", "--retry-on"),
        ("flows", "failures_max"),
        ("budget", "floor_per_second"),
        ("breaker", "recovery_seconds"),
        ("events", "attempt.end"),
        ("exit-codes", "128 + n"),
        ("environment", "REDIAL_POLICY"),
    ] {
        let output = redial(&["help", topic]);
        assert_eq!(output.status.code(), Some(0), "{topic}");
        assert!(stdout(&output).contains(words), "{topic}");
        assert!(stdout(&redial(&["help", "--help"])).contains(topic), "{topic}");
        assert!(stdout(&redial(&["completions", "bash"])).contains(topic), "{topic}");
    }
    let schema = parsed(&redial(&["help", "schema"]));
    assert!(schema["$schema"].as_str().unwrap().contains("2020-12"));
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let arguments = ["check", "--with", "retry: x"];
    assert!(!stdout(&redial(&arguments)).contains('\u{1b}'));
    let always = redial(&[&["--color", "always"], &arguments[..]].concat());
    assert!(stdout(&always).contains('\u{1b}'));
}

#[test]
fn a_file_of_rules_is_checked_too() {
    let right = "name = 'mine'\n[[rule]]\nretry = 'exit:1'\nbecause = 'it is busy'\n";
    let folder = folder(&[
        ("right.toml", right),
        ("wrong.toml", "nmae = 'x'\n[[rules]]\nretry = 'exit:1'\n"),
        ("wrong.yaml", "name: mirror\nextends: crul\n"),
    ]);
    let output = in_folder(folder.path(), &["check", "right.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("1 set of rules in 1 file: no findings"),
        "{}",
        stderr(&output)
    );
    for name in ["wrong.toml", "wrong.yaml"] {
        let output = in_folder(folder.path(), &["check", name]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", stdout(&output));
        let fixed = in_folder(folder.path(), &["check", "--fix", name]);
        assert_eq!(fixed.status.code(), Some(0), "{name}: {}{}", stdout(&fixed), stderr(&fixed));
    }
    let fixed = fs::read_to_string(folder.path().join("wrong.toml")).unwrap();
    assert_eq!(fixed, "name = 'x'\n[[rule]]\nretry = 'exit:1'\n");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_an_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let odd = OsStr::from_bytes(b"x\xff");
    for before in [
        &["run", "--bogus", "--", "cat"][..],
        &["check"],
        &["report"],
        &["explain"],
        &["plan", "--with"],
        &["run", "-s"],
        &["simulate", "layers", "--trials", "1", "--html"],
        &[],
    ] {
        let mut command = Command::new(REDIAL);
        let output = command.args(before).arg(odd).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{before:?}: {said}");
        assert!(said.starts_with("error: "), "{before:?}: {said}");
    }
}
