//! Values are data: whatever an item is, it is passed on as it is, executed by nobody, or refused for itself alone.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::map::{command, ends_with, journal, map, of_type, works};
use crate::program::{REDIAL, stderr, with_input};
use crate::stage::Stage;

/// What somebody may have put into a list of items. Each of them would make a file `executed`.
fn hostile() -> Vec<Vec<u8>> {
    let text = [
        "\"; touch executed; \"",
        "'; touch executed; '",
        "$(touch executed)",
        "`touch executed`",
        "one\ntouch executed\ntwo\n",
        "-n",
        "--help",
        "* ? [a-z] ~ ~root",
        "; touch executed & touch executed | touch executed",
        "${IFS}touch${IFS}executed",
        "{} {{}} {#} {name} ${item.x} $$ %s %n",
        "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{202e}rtl\u{0008}",
        "../../executed",
        "a/b c\td",
        " ",
        "<script>document.title = 'executed'</script><img src=x onerror=alert(1)>",
        "</script><!--",
        "a[$(touch executed)]",
        "#~",
    ];
    let mut all: Vec<Vec<u8>> = text.into_iter().map(|text| text.as_bytes().to_vec()).collect();
    all.push(b"not \xff\xfe UTF-8 \xc3".to_vec());
    all.push(vec![b'y'; 131_000]);
    all
}

/// All of them, ended by NUL bytes.
fn listed(values: &[Vec<u8>]) -> Vec<u8> {
    values.iter().flat_map(|value| [value, &b"\0"[..]].concat()).collect()
}

/// The file that a job wrote for each item, by its number.
fn written(stage: &Stage, count: usize) -> Vec<Vec<u8>> {
    (1..=count).map(|number| stage.bytes(&format!("to/{number}"))).collect()
}

fn stage() -> Stage {
    let stage = Stage::new();
    fs::create_dir(stage.path("to")).unwrap();
    stage
}

const KEEP: &str = "printf %s \"$1\" >\"to/$REDIAL_ITEM\"";

#[test]
fn an_argument_is_the_item_to_the_byte() {
    let (stage, values) = (stage(), hostile());
    let output =
        map(&stage, listed(&values), &["-0", "--run", "r", "--", "sh", "-c", KEEP, "sh", "{}"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(written(&stage, values.len()), values);
    assert!(!stage.has("executed") && !stage.has("../executed"));
    // And the same again from what was frozen: it knows them all.
    let output =
        map(&stage, listed(&values), &["-0", "--run", "r", "--", "sh", "-c", KEEP, "sh", "{}"]);
    assert!(stderr(&output).contains("nothing to do"), "{}", stderr(&output));
}

#[test]
fn a_part_of_an_argument_is_the_item_to_the_byte() {
    let (stage, mut values) = (stage(), hostile());
    values.pop();
    let output = map(&stage, listed(&values), &["-0", "--", "sh", "-c", KEEP, "sh", "<{}|{}>"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let twice = |value: &Vec<u8>| [b"<", value.as_slice(), b"|", value, b">"].concat();
    assert_eq!(written(&stage, values.len()), values.iter().map(twice).collect::<Vec<_>>());
    assert!(!stage.has("executed"));
}

#[test]
fn a_field_of_json_is_the_text_that_it_means() {
    let (stage, values) = (stage(), hostile());
    let texts: Vec<String> =
        values.into_iter().filter_map(|value| String::from_utf8(value).ok()).collect();
    let lines: String = texts
        .iter()
        .map(|text| json!({"v": text, "n": {"v": [text]}}).to_string() + "\n")
        .collect();
    for place in ["{v}", "{n.v[0]}"] {
        let words = ["--format", "jsonl", "--", "sh", "-c", KEEP, "sh", place];
        let output = map(&stage, &lines, &words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let written: Vec<_> = written(&stage, texts.len())
            .into_iter()
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .collect();
        assert_eq!(written, texts);
    }
    assert!(!stage.has("executed"));
}

#[test]
fn a_key_is_shown_without_control_characters_and_no_two_items_have_the_same() {
    let (stage, values) = (stage(), hostile());
    let keep = "printf %s \"$REDIAL_KEY\" >\"to/$REDIAL_ITEM\"";
    for (store, flags) in [("a", &["-0"][..]), ("b", &["-0", "--key", "item"])] {
        let words =
            [flags, &["--store", store, "--run", "r", "--", "sh", "-c", keep, "sh", "{}"]].concat();
        let output = map(&stage, listed(&values), &words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut keys: Vec<String> = written(&stage, values.len())
            .into_iter()
            .map(|key| String::from_utf8(key).unwrap())
            .collect();
        for key in &keys {
            assert!(key.starts_with("r/job/") && key.chars().count() <= 86, "{key:?}");
            assert!(!key.contains(char::is_control) && !key.contains('\u{202e}'), "{key:?}");
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), values.len());
    }
    assert!(!stage.has("executed"));
}

#[test]
fn what_cannot_be_passed_is_a_dead_letter_of_that_item_alone() {
    let stage = stage();
    let long = "z".repeat(200_000);
    let lines = format!(
        "{}\n{}\n{}\n{}\n",
        json!({"v": "before"}),
        json!({"v": "a\u{0}b"}),
        json!({"v": long}),
        json!({"v": "after"})
    );
    let words = ["--format", "jsonl", "--run", "r", "--", "sh", "-c", KEEP, "sh", "{v}"];
    let output = map(&stage, &lines, &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("4 items: 2 at the first attempt, 2 dead"), "{said}");
    assert!(said.contains("stdin") && said.lines().all(|line| line.len() < 400), "{said}");
    let records = journal(&stage, "r");
    let dead: Vec<_> =
        of_type(&records, "dead").iter().map(|dead| (&dead["item"], &dead["reason"])).collect();
    assert_eq!(
        dead,
        [(&json!(1), &json!("value-has-nul")), (&json!(2), &json!("value-too-large"))]
    );
    assert!(of_type(&records, "dead").iter().all(|dead| dead["attempt"].is_null()));
    assert_eq!((stage.text("to/1"), stage.text("to/4")), ("before".into(), "after".into()));
    assert!(!stage.has("to/2") && !stage.has("to/3"));
    // A field that is not passed may be anything.
    let words = ["--format", "jsonl", "--run", "s", "--", "true", "{#}"];
    assert_eq!(map(&stage, &lines, &words).status.code(), Some(0));
}

#[test]
fn what_an_output_directory_has_is_named_by_numbers_alone() {
    let (stage, values) = (stage(), hostile());
    let words = ["-0", "--output-dir", "here", "--", "sh", "-c", "printf %s \"$1\"", "sh", "{}"];
    let output = map(&stage, listed(&values), &words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut names: Vec<String> = fs::read_dir(stage.path("here"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected: Vec<_> = (1..=values.len())
        .flat_map(|number| [format!("{number}.err"), format!("{number}.out")])
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    for (number, value) in (1..).zip(&values) {
        assert_eq!(&stage.bytes(&format!("here/{number}.out")), value);
    }
}

#[test]
fn nothing_that_is_told_of_an_item_has_control_characters_or_markup_of_its_own() {
    let (stage, values) = (stage(), hostile());
    let words = ["-0", "-n", "2", "-d", "1ms", "-v", "--run", "r", "--", "false", "{}"];
    let output = map(&stage, listed(&values), &words);
    assert_eq!(output.status.code(), Some(1));
    is_plain(&output.stderr);
    for view in [
        &["status", "r"][..],
        &["report", "r"],
        &["dead", "list", "r"],
        &["report", "r", "--html", "page.html"],
    ] {
        let mut flow = Command::new(REDIAL);
        flow.arg("flow").args(view);
        stage.at_home(&mut flow);
        let output = flow.output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{view:?}: {}", stderr(&output));
        is_plain(&output.stdout);
        is_plain(&output.stderr);
    }
    let page = stage.text("page.html");
    assert!(
        !page.contains("<script>document.title") && !page.contains("<img src=x"),
        "a value is markup"
    );
    assert!(!stage.has("executed"));
}

#[track_caller]
fn is_plain(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap();
    let control = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    if let Some(at) = text.find(control) {
        panic!("{:?}", text[at..].chars().take(40).collect::<String>());
    }
}

#[test]
fn a_program_that_an_item_names_is_run_and_never_parsed() {
    let stage = stage();
    let items = "touch executed\n$(touch executed)\ntrue\n";
    let output = map(&stage, items, &["-n", "1", "--", "{}"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("3 items: 1 at the first attempt, 2 dead"),
        "{}",
        stderr(&output)
    );
    assert!(!stage.has("executed"));
}

#[test]
fn the_environment_of_an_outer_redial_does_not_reach_a_job() {
    let stage = stage();
    let mut inner =
        command(&stage, &["--", "sh", "-c", "echo $REDIAL_LAST_EXIT$REDIAL_ATTEMPT", "sh"]);
    inner.env("REDIAL_LAST_EXIT", "77").env("REDIAL_ATTEMPT", "9").env("REDIAL_KEY", "outer");
    assert_eq!(with_input(&mut inner, b"a\n").stdout, b"1\n");
}

/// Numbers that a double or 64 bits would change.
const PRICES: &str = r#"{"price": 1.50, "id": 12345678901234567890, "of": [1e3, -0]}
{"price":100000000000000000000001,"id":12345678901234567891234,"of":[]}
{"price":2,"id":12345678901234567891235,"of":[]}
"#;

#[test]
fn a_number_is_passed_on_as_it_is_written() {
    let stage = stage();
    stage.write("x.jsonl", PRICES);
    let print = "--items x.jsonl -j 1 --keep-order -- echo {price} {id} {of}";
    let words: Vec<&str> = print.split(' ').collect();
    let expected = "1.50 12345678901234567890 [1e3,-0]\n\
                    100000000000000000000001 12345678901234567891234 []\n\
                    2 12345678901234567891235 []\n";
    assert_eq!(works(&stage, "", &words), expected);
    assert_eq!(
        works(&stage, "", &[&["--where", "item.price > 1.4999"][..], &words].concat()),
        expected
    );
    let whole = works(&stage, "[{\"a\": 1.50}, 2.0]", &["--format", "json", "-j1", "--", "echo"]);
    assert_eq!(whole, "{\"a\":1.50}\n2.0\n");
    // A path that compares numbers selects them as they are written, too.
    let path = ["--format", "json", "--json-path", "$[?@.a > 1.4]", "-j1", "--", "echo", "{a}"];
    assert_eq!(works(&stage, "[{\"a\": 1.50}, {\"a\": 1.30}]", &path), "1.50\n");
}

#[test]
fn what_differs_in_a_late_digit_alone_is_another_item() {
    let stage = stage();
    stage.write("x.jsonl", PRICES);
    let kept =
        ["--items", "x.jsonl", "--run", "ids", "--key", "id", "-n", "1", "--", "false", "{id}"];
    let output = map(&stage, "", &kept);
    assert!(
        stderr(&output).contains("3 items: 0 at the first attempt, 3 dead"),
        "{}",
        stderr(&output)
    );
    // Frozen as they were read, so that a resumed run has them.
    let items = stage.text(".redial/runs/ids/items.ndjson");
    assert!(
        items.contains(r#""value":{"price":1.50,"id":12345678901234567890,"of":[1e3,-0]}"#),
        "{items}"
    );
    for (flags, part) in [(&[][..], "{\"price\":1.50,"), (&["--json"], "\"price\":1.50,")] {
        let mut show = Command::new(REDIAL);
        show.args(["flow", "dead", "show", "ids", "12345678901234567890"]).args(flags);
        stage.at_home(&mut show);
        let shown = show.output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains(part), "{shown}");
    }
    let mut retry = Command::new(REDIAL);
    retry.args(["flow", "dead", "retry", "ids", "-v"]);
    stage.at_home(&mut retry);
    let retried = retry.output().unwrap();
    assert!(stderr(&retried).contains("12345678901234567891235"), "{}", stderr(&retried));
}

#[test]
fn a_dead_letter_that_is_retried_has_a_key_that_no_other_item_has() {
    let stage = Stage::new();
    let script = r#"echo "$REDIAL_KEY" >>keys; test -e go"#;
    let job = ["-n", "1", "-j", "1", "--run", "kk", "--", "sh", "-c", script, "sh"];
    ends_with(1, &stage, "1\n1/1\n", &job);
    stage.write("go", "");
    let mut retry = Command::new(REDIAL);
    stage.at_home(retry.args(["flow", "dead", "retry", "kk", "1"]));
    let output = retry.output().unwrap();
    // The other one is dead still.
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(stage.text("keys"), "kk/job/1\nkk/job/1/1\nkk/job~1/1\n");
}

#[test]
fn a_dead_letter_shows_its_item_also_where_there_is_nothing_to_see() {
    let stage = Stage::new();
    let items = b"\x1b[31m\0\0\xff\xfe\0plain\0";
    let words = ["-0", "-n", "1", "-q", "--run", "r", "--", "false"];
    assert_eq!(map(&stage, items, &words).status.code(), Some(1));
    let output = crate::program::redial(&stage.path(""), &["flow", "dead", "show", "r"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    for block in [
        "item, as JSON\n  \"\\u001b[31m\"\n",
        "item\n  \"\"\n",
        "item, which is not UTF-8, in base64\n  \"//4=\"\n",
        "item\n  plain\n",
    ] {
        assert!(shown.contains(block), "{block:?}: {shown}");
    }
    let output = crate::program::redial(&stage.path(""), &["flow", "dead", "show", "r", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let base64: Vec<_> =
        all["dead"].as_array().unwrap().iter().map(|one| &one["value_is_base64"]).collect();
    assert_eq!(
        base64.iter().filter(|is| **is == &serde_json::Value::Bool(true)).count(),
        1,
        "{all}"
    );
}
