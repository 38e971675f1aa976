//! Scripts through the program: their calls are real commands, which fail as often as a file says.

use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{folder, redial, stderr, stdout};

/// Fails as often as is said, and writes down each call.
const FLAKY: &str = r#"
echo "$1" >> calls
calls=$(grep -cxF -- "$1" calls)
[ "$calls" -gt "$2" ] || { echo "failure $calls of $1" >&2; exit 1; }
echo "answer to $1"
"#;

const MODULES: &str = r#"
[type]
Request = "String"
Record = "{ id: Int, name: String }"

[module.RateLimitedAPI]
argv = ["sh", "flaky.sh", "{query}", "5"]
in = { query = "String" }
out = "String"

[module.BusyService]
argv = ["sh", "flaky.sh", "{request}", "5"]
in = { request = "Request" }
out = "String"

[module.ProcessData]
argv = ["sh", "flaky.sh", "{data.name}", "4"]
stdin = "json"
in = { data = "Record" }
out = "String"

[module.Fails]
argv = ["sh", "flaky.sh", "{text}", "1000"]
in = { text = "String" }
out = "Int"

[module.Echo]
argv = ["echo", "{text}"]
in = { text = "String" }
out = "String"

[module.Number]
argv = ["echo", "{text}"]
in = { text = "String" }
out = "Int"
"#;

fn with_script(text: &str) -> TempDir {
    folder(&[("modules.toml", MODULES), ("flaky.sh", FLAKY), ("script.cst", text)])
}

fn run(folder: &TempDir, inputs: &[&str]) -> Output {
    let mut arguments = vec!["flow", "run", "script.cst", "--run", "one"];
    inputs.iter().for_each(|input| arguments.extend(["--input", input]));
    redial(folder.path(), &arguments)
}

fn journal(folder: &TempDir) -> Vec<Value> {
    let path = folder.path().join(".redial/runs/one/journal.ndjson");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

/// The delays that were waited, in milliseconds.
fn delays(folder: &TempDir) -> Vec<u64> {
    let records = journal(folder);
    records
        .iter()
        .filter_map(|record| record["delay_ns"].as_u64())
        .map(|ns| ns / 1_000_000)
        .collect()
}

fn calls(folder: &TempDir) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The scripts of the document, as they stand in it but for shorter delays: what is shown are the attempts and the delays.
#[test]
fn the_examples_of_the_document_run_with_the_delays_that_it_states() {
    let exponential = "in query: String\n\n\
        # Start with 100ms, double each time (100ms, 200ms, 400ms, 800ms, 1600ms)\n\
        result = RateLimitedAPI(query) with retry: 5, delay: 1ms, backoff: exponential\n\n\
        out result\n";
    let linear = "in request: Request\n\n\
        response = BusyService(request) with retry: 5, delay: 1ms, backoff: linear\n\n\
        out response\n";
    let combined = "in data: Record\n\n\
        # Each attempt has 5s timeout, exponential backoff between attempts\n\
        result = ProcessData(data) with\n    timeout: 1h,\n    retry: 4,\n    delay: 1ms,\n    backoff: exponential\n\n\
        out result\n";
    for (script, input, waits, attempts, printed) in [
        (exponential, "query=x", vec![1, 2, 4, 8, 16], 6, "answer to x"),
        (linear, "request=y", vec![1, 2, 3, 4, 5], 6, "answer to y"),
        (combined, "data={\"id\": 1, \"name\": \"z\"}", vec![1, 2, 4, 8], 5, "answer to z"),
    ] {
        let folder = with_script(script);
        let output = run(&folder, &[input]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(delays(&folder), waits);
        assert_eq!(calls(&folder).len(), attempts);
        assert_eq!(stdout(&output).trim(), printed);
    }
}

/// One of them in real time: 100 + 200 + 400 + 800 + 1600 ms are waited, and no less.
#[test]
fn the_first_example_of_the_document_waits_in_real_time() {
    let folder = with_script(
        "in query: String\n\
         result = RateLimitedAPI(query) with retry: 5, delay: 100ms, backoff: exponential\n\
         out result\n",
    );
    let began = std::time::Instant::now();
    let output = run(&folder, &["query=it's $(reboot)"]);
    assert!(began.elapsed() >= std::time::Duration::from_millis(3100));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(delays(&folder), [100, 200, 400, 800, 1600]);
    assert_eq!(stdout(&output).trim(), "answer to it's $(reboot)");
}

#[test]
fn what_fails_for_good_is_replaced_or_passed_over_or_fails_the_run() {
    let folder = with_script(
        "in n: Int\n\
         a = Fails(\"a\") with retry: 2, fallback: n * 2\n\
         b = Fails(\"b\") with retry: 1, on_error: skip\n\
         c = Fails(\"c\") with fallback: Number(\"7\")\n\
         d = Fails(\"d\") with on_error: log, fallback: (Fails(\"e\") with retry: 1)\n\
         sum = a + b + c + d\n\
         out sum\n",
    );
    let output = run(&folder, &["n=21"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "49");
    let count = |text: &str| calls(&folder).iter().filter(|call| *call == text).count();
    assert_eq!(["a", "b", "c", "d", "e"].map(count), [3, 2, 1, 1, 2]);

    let folder = with_script("a = Fails(\"a\") with retry: 1\nb = Echo(\"${a}\")\nout b\n");
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("a: dead after 2 attempts: exit 1"), "{}", stderr(&output));
}

#[test]
fn only_what_is_asked_for_is_called() {
    let folder = with_script(
        "in n: Int\n\
         lazily = RateLimitedAPI(\"lazily\") with lazy, retry: 5\n\
         never = Fails(\"never\") with lazy\n\
         x = if (n > 1) lazily else \"none\"\n\
         y = Fails(\"y\") when n > 100\n\
         z = y ?? Number(\"3\")\n\
         w = branch { n == 5 -> Fails(\"w\"), otherwise -> z + 1 }\n\
         text = \"${x}, ${w}\"\n\
         out text\n",
    );
    let output = run(&folder, &["n=2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "answer to lazily, 4");
    assert_eq!(calls(&folder), ["lazily"; 6]);
}

#[test]
fn an_output_of_another_type_fails_and_is_not_retried() {
    let folder = with_script("a = Number(\"seven\") with retry: 3\nout a\n");
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("its output is not JSON"), "{}", stderr(&output));
    let folder = with_script("a = Number(\"1.5\") with retry: 3, fallback: 8\nb = a / 0\nout b\n");
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("its output is 1.5, and not of type Int"), "{said}");
    assert!(said.contains("b: not started: `a.output / 0`"), "{said}");
}

#[test]
fn a_run_that_was_ended_goes_on_and_computes_nothing_twice() {
    let text = "a = Number(\"20\")\nb = a + 1\nc = Fails(\"c\")\nd = b + c\nout d\n";
    let folder = with_script(text);
    assert_eq!(run(&folder, &[]).status.code(), Some(1));
    let before = journal(&folder).iter().filter(|record| record["step"] == "b").count();
    std::fs::write(folder.path().join("flaky.sh"), "echo 21").unwrap();
    let output = redial(folder.path(), &["flow", "dead", "retry", "one"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "42");
    assert_eq!(journal(&folder).iter().filter(|record| record["step"] == "b").count(), before);
}

#[test]
fn a_script_needs_its_modules_and_its_inputs() {
    let folder = with_script("@example(\"x\") in q: String\na = Echo(q)\nout a\n");
    let output = run(&folder, &[]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("script.cst needs --input q=…"), "{}", stderr(&output));
    let output = redial(folder.path(), &["flow", "run", "script.cst", "--example"]);
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "x"));
    for command in [&["flow", "plan", "script.cst"][..], &["check", "script.cst"]] {
        assert_eq!(redial(folder.path(), command).status.code(), Some(0), "{command:?}");
    }
    let svg = redial(folder.path(), &["flow", "plan", "script.cst", "--svg", "-"]);
    assert!(stdout(&svg).contains("<svg"), "{}", stderr(&svg));

    std::fs::rename(folder.path().join("modules.toml"), folder.path().join("other.toml")).unwrap();
    let output = redial(folder.path(), &["flow", "plan", "script.cst"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("there is no modules.toml beside it"), "{}", stderr(&output));
    // Without them, the clauses alone are checked.
    assert_eq!(redial(folder.path(), &["check", "script.cst"]).status.code(), Some(0));
    let named = ["check", "script.cst", "--modules", "other.toml"];
    assert_eq!(redial(folder.path(), &named).status.code(), Some(0));
    let wrong = with_script("a = Ehco(1)\nout a\n");
    let output = redial(wrong.path(), &["check", "script.cst"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("did you mean `Echo`?"), "{}", stdout(&output));
}
