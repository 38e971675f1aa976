//! Every command that a document shows is run, and prints what the document says; so are the tables
//! and the pictures in it. To write down what it prints now:
//! `TRYCMD=overwrite cargo test -p redial-cli --test documents`.
//!
//! A program of its own, because it changes the current directory of its process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Held by whoever reads a page, or writes it.
static PAGES: Mutex<()> = Mutex::new(());

fn is_overwritten() -> bool {
    std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite")
}

/// What the program prints at the root of the repository.
fn printed(arguments: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_redial"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn the_documents_show_what_the_program_prints() {
    let _pages = PAGES.lock();
    // The commands are those of somebody who stands at the root of the repository.
    std::env::set_current_dir(root()).unwrap();
    let pages = [
        "docs/COMMANDS.md",
        "docs/FOREIGN.md",
        "docs/SIMULATING.md",
        "docs/CONTENTION.md",
        "README.md",
    ];
    let copies = tempfile::tempdir().unwrap();
    let copy = |page: &str| copies.path().join(page.replace('/', "-"));
    let cases = trycmd::TestCases::new();
    cases.register_bin("redial", Path::new(env!("CARGO_BIN_EXE_redial")));
    cases.env("COLUMNS", "100").env("NO_COLOR", "1");
    for page in pages {
        let text = std::fs::read_to_string(page).unwrap();
        std::fs::write(copy(page), with_exit_codes(&text)).unwrap();
        cases.case(copy(page));
    }
    // This runs them.
    drop(cases);
    for page in pages.into_iter().filter(|_| is_overwritten()) {
        let text = std::fs::read_to_string(copy(page)).unwrap();
        std::fs::write(page, without_exit_codes(&text)).unwrap();
    }
}

/// For trycmd a line `? 1` follows a command that exits with 1, which would confuse a reader. The pages
/// have a comment before the block instead: `<!-- exits with 1 -->`.
fn with_exit_codes(page: &str) -> String {
    let mut code = None;
    let mut text = String::new();
    for line in page.lines() {
        text += &format!("{line}\n");
        let exits =
            line.strip_prefix("<!-- exits with ").and_then(|rest| rest.strip_suffix(" -->"));
        code = exits.or(code);
        if let Some(code) = code.take_if(|_| line.starts_with("$ ")) {
            text += &format!("? {code}\n");
        }
    }
    text
}

fn without_exit_codes(page: &str) -> String {
    page.split_inclusive('\n').filter(|line| !line.starts_with("? ")).collect()
}

#[test]
fn exit_codes_are_in_the_copies_and_not_in_the_pages() {
    let page = "<!-- exits with 1 -->\n```console\n$ redial check a\nerror\n\n$ redial plan\n```\n";
    let copy = page.replace("check a\n", "check a\n? 1\n");
    assert_eq!(with_exit_codes(page), copy);
    assert_eq!(without_exit_codes(&copy), page);
}

/// Checks that the picture is what the program draws.
fn check_picture(name: &str, arguments: &[&str]) {
    let picture = root().join("docs/pictures").join(name);
    let drawn = printed(&[arguments, &["--svg", "-"]].concat());
    if is_overwritten() {
        std::fs::write(&picture, &drawn).unwrap();
    }
    assert!(drawn.starts_with("<svg"));
    let kept = std::fs::read_to_string(picture).unwrap();
    assert!(kept == drawn, "{name} is out of date: see the top of this file");
}

#[test]
fn the_picture_of_a_plan_is_the_one_that_the_program_draws() {
    check_picture("patient.svg", &["plan", "--policy", "docs/examples/retries.yaml#patient"]);
}

#[test]
fn the_pictures_of_simulations_are_those_that_the_program_draws() {
    let simulate = |picture, scenario, more: &[&str]| {
        let file = format!("docs/examples/scenarios/{scenario}.toml");
        check_picture(picture, &[&["simulate", &file], more].concat());
    };
    simulate("aws.svg", "aws", &["--trials", "50", "--charts", "2"]);
    simulate("storm.svg", "hotos", &["--trials", "2", "--charts", "1"]);
    simulate("herd.svg", "herd", &[]);
    simulate("ballot.svg", "proposers", &["--charts", "1"]);
    simulate("collision.svg", "proposers", &["--model", "collision", "--charts", "1"]);
}

#[test]
fn the_scenarios_beside_the_documents_run() {
    let folder = root().join("docs/examples/scenarios");
    let mut ran = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let path = path.to_str().unwrap();
            let text = printed(&["simulate", path, "--trials", "2", "--json"]);
            let study: Value = serde_json::from_str(&text).unwrap();
            assert!(!study["results"].as_array().unwrap().is_empty(), "{path}");
            ran += 1;
        }
    }
    assert_eq!(ran, 5);
}

const CLIENTS: [u32; 10] = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20];

/// Between `<!-- NAME -->` and `<!-- end -->` of the page is what `table` gives for the name.
fn check_tables(page: &str, names: &[&str], table: impl Fn(&str) -> String) {
    let tables: Vec<_> = names.iter().map(|name| (name, table(name))).collect();
    let _pages = PAGES.lock();
    let path = root().join("docs").join(page);
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (name, now) in tables {
        let start = format!("<!-- {name} -->\n");
        let from = text.find(&start).expect(name) + start.len();
        let to = from + text[from..].find("<!-- end -->").expect("an end");
        if is_overwritten() {
            text.replace_range(from..to, &now);
        } else {
            assert_eq!(text[from..to], now, "{page}: see the top of this file");
        }
    }
    if is_overwritten() {
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn the_tables_of_devices_are_those_that_the_program_measures() {
    check_tables("CONTENTION.md", &["ballot", "from-refusals", "collision", "tuned"], |name| {
        match name {
            "tuned" => tuned(),
            "from-refusals" => devices("ballot", &["--learning", name]),
            model => devices(model, &[]),
        }
    });
}

/// How often a device commits, and how often all do, under both policies.
fn devices(model: &str, more: &[&str]) -> String {
    let clients = CLIENTS.map(|clients| clients.to_string());
    let mut table = format!("| round trip | policy | {} |\n", clients.join(" | "));
    table += &format!("|---|---|{}\n", "---|".repeat(clients.len()));
    for latency in ["1ms", "5ms", "20ms", "50ms", "100ms"] {
        let flags = [
            "simulate",
            "docs/examples/scenarios/proposers.toml",
            "--model",
            model,
            "--latency",
            latency,
            "--clients",
            &clients.join(","),
            "--trials",
            "2000",
            "--json",
        ];
        let text = printed(&[&flags, more].concat());
        let study: Value = serde_json::from_str(&text).unwrap();
        let results = study["results"].as_array().unwrap();
        for (place, policy) in ["old", "new"].iter().enumerate() {
            let of_policy = results.iter().skip(place).step_by(2);
            let cells: Vec<_> = of_policy.map(cell).collect();
            assert_eq!(cells.len(), CLIENTS.len());
            table += &format!("| {latency} | {policy} | {} |\n", cells.join(" | "));
        }
    }
    table
}

/// What the search finds instead of the new policy, and how both serve ten devices.
fn tuned() -> String {
    let mut table =
        "| model | round trip | found | new policy commits / all do | found | new policy until the last is done | found |\n"
            .to_owned();
    table += "|---|---|---|---|---|---|---|\n";
    for model in ["ballot", "collision"] {
        for latency in ["20ms", "50ms", "100ms"] {
            let flags = ["--model", model, "--latency", latency, "--clients", "2..10"];
            let more = ["--preset", "contention", "--effort", "quick", "--json"];
            let text = printed(&[&["tune", "contention"], &flags[..], &more].concat());
            let study: Value = serde_json::from_str(&text).unwrap();
            let results = study["results"].as_array().unwrap();
            let [tuned, yours] = &results[results.len() - 2..] else {
                unreachable!("two policies")
            };
            let seconds = |result: &Value| result["time_ms"]["mean"].as_f64().unwrap() / 1e3;
            table += &format!(
                "| `{model}` | {latency} | `{}` | {} | {} | {:.2}s | {:.2}s |\n",
                study["winner"]["policy"].as_str().unwrap(),
                cell(tuned),
                cell(yours),
                seconds(tuned),
                seconds(yours),
            );
        }
    }
    table
}

fn cell(result: &Value) -> String {
    let one = result["committed"]["mean"].as_f64().unwrap();
    let all = result["all_committed"].as_f64().unwrap();
    format!("{} / {}", percent(one), percent(all))
}

/// Whole percent; what is not all is not 100, and what is not nothing is not 0.
fn percent(share: f64) -> String {
    match (share * 100.0).round() {
        0.0 if share > 0.0 => "<1".into(),
        100.0 if share < 1.0 => ">99".into(),
        percent => percent.to_string(),
    }
}
