//! Where items come from, which of them are taken, and where they stand in a command.

use crate::map::{ends_with, journal, map, of_type, works};
use crate::program::{stderr, stdout};
use crate::stage::Stage;

/// What a job is given, for each item in its order: `[first][second]`.
#[track_caller]
fn check(input: &str, flags: &[&str], arguments: &[&str], expected: &[&str]) {
    let stage = Stage::new();
    let show = "for word; do printf '[%s]' \"$word\"; done; echo";
    let words = [flags, &["--keep-order", "--", "sh", "-c", show, "sh"], arguments].concat();
    assert_eq!(works(&stage, input, &words).lines().collect::<Vec<_>>(), expected, "{flags:?}");
}

const ROWS: &str = r#"{"id": 3, "kind": "png", "at": {"x": [7, 8]}}
{"id": 1, "kind": "gif", "at": {"x": [5]}}
{"id": 2, "kind": "png", "at": {"x": [6]}}
"#;

#[test]
fn lines_are_items_and_empty_lines_are_none() {
    check("a\n\n b  c \nlast", &[], &["{}"], &["[a]", "[ b  c ]", "[last]"]);
    check("", &[], &["{}"], &[]);
    check("\n\n", &[], &["{}"], &[]);
    check("a\r\nb\r\n", &[], &["{}"], &["[a]", "[b]"]);
}

#[test]
fn items_may_end_with_nul_bytes() {
    check("a\nb\0c\0", &["-0"], &["{}"], &["[a", "b]", "[c]"]);
}

#[test]
fn a_field_of_a_json_line_stands_where_its_name_stands() {
    let lines = ["--format", "jsonl"];
    check(ROWS, &lines, &["{id}", "{kind}"], &["[3][png]", "[1][gif]", "[2][png]"]);
    check(ROWS, &lines, &["{at.x[0]}"], &["[7]", "[5]", "[6]"]);
    check(
        ROWS,
        &lines,
        &["no-{id}.{kind}", "{#}"],
        &["[no-3.png][1]", "[no-1.gif][2]", "[no-2.png][3]"],
    );
    check("\"a b\"\n1.5\ntrue\n", &lines, &["{}"], &["[a b]", "[1.5]", "[true]"]);
}

#[test]
fn doubled_braces_are_braces_and_other_braces_are_left_alone() {
    check("a\n", &[], &["{{}}", "{}"], &["[{}][a]"]);
    check("a\n", &[], &["{ }", "${HOME}", "{}"], &["[{ }][${HOME}][a]"]);
}

#[test]
fn without_a_placeholder_the_item_is_the_last_argument() {
    check("a b\n", &[], &["first"], &["[first][a b]"]);
}

#[test]
fn a_json_document_has_the_items_of_its_list_or_what_a_path_selects() {
    let document = r#"{"items": [{"id": 1}, {"id": 2}], "others": [9]}"#;
    check("[1, [2], \"x\"]", &["--format", "json"], &["{}"], &["[1]", "[[2]]", "[x]"]);
    check(document, &["--json-path", "$.items[*]"], &["{id}"], &["[1]", "[2]"]);
    check(document, &["--json-path", "$..id"], &["{}"], &["[1]", "[2]"]);
    check(document, &["--json-path", "$.none[*]"], &["{}"], &[]);
}

#[test]
fn the_first_row_of_csv_names_the_fields() {
    let rows = "id,name\n1,\"a, \"\"b\"\"\nc\"\n2,x\n";
    check(rows, &["--format", "csv"], &["{id}", "{name}"], &["[1][a, \"b\"", "c]", "[2][x]"]);
    check("id\tname\n1\ta b\n", &["--format", "tsv"], &["{name}-{id}"], &["[a b-1]"]);
}

#[test]
fn the_name_of_a_file_says_how_its_items_are_written() {
    for (name, text, argument) in [
        ("a.jsonl", "{\"v\": 1}\n", "{v}"),
        ("a.ndjson", "{\"v\": 1}\n", "{v}"),
        ("a.json", "[{\"v\": 1}]", "{v}"),
        ("a.csv", "v\n1\n", "{v}"),
        ("a.tsv", "v\tw\n1\t2\n", "{v}"),
        ("a.txt", "1\n", "{}"),
        ("${a}.txt", "1\n", "{}"),
    ] {
        let stage = Stage::new();
        stage.write(name, text);
        let words = ["--items", name, "--", "echo", argument];
        assert_eq!(works(&stage, "", &words), "1\n", "{name}");
    }
}

#[test]
fn items_are_selected_sorted_and_counted_off() {
    let flags = |more: &[&'static str]| [&["--format", "jsonl"], more].concat();
    let check = |more: &[&'static str], expected: &[&str]| {
        super::items::check(ROWS, &flags(more), &["{id}"], expected);
    };
    check(&["--where", "item.kind == \"png\""], &["[3]", "[2]"]);
    check(&["--where", "item.at.x[0] > 5 && item.id < 3"], &["[2]"]);
    check(&["--sort-by", "id"], &["[1]", "[2]", "[3]"]);
    check(&["--sort-by", "kind DESC, id"], &["[2]", "[3]", "[1]"]);
    check(&["--distinct", "kind"], &["[3]", "[1]"]);
    check(&["--offset", "1"], &["[1]", "[2]"]);
    check(&["--max-items", "1"], &["[3]"]);
    check(&["--sort-by", "id", "--offset", "1", "--max-items", "1"], &["[2]"]);
    check(&["--offset", "18446744073709551615"], &[]);
    check(&["--max-items", "0"], &[]);
}

#[test]
fn what_is_no_item_is_a_dead_letter_and_the_others_run() {
    let stage = Stage::new();
    let flags = ["--format", "jsonl", "--run", "r", "--keep-order", "--", "echo", "{v}"];
    let items = "{\"v\": 1}\n{oops\n{\"w\": 2}\n{\"v\": 3}\n";
    let output = map(&stage, items, &flags);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"1\n3\n");
    let said = stderr(&output);
    assert!(said.contains("line 2") && said.contains("not started"), "{said}");
    let dead = journal(&stage, "r");
    let reasons: Vec<_> = of_type(&dead, "dead").iter().map(|dead| &dead["reason"]).collect();
    assert_eq!(reasons, ["bad-item", "value-missing"]);
}

#[test]
fn an_item_is_known_by_its_key_and_a_second_one_of_the_same_key_is_an_error_of_its_own() {
    let stage = Stage::new();
    let items =
        "{\"id\": 1}\n{\"id\": 1, \"other\": true}\n{\"id\": 2}\n{\"no\": 3}\n{\"id\": []}\n";
    let flags = ["--format", "jsonl", "--key", "id", "--keep-order", "--run", "r"];
    let words = [&flags[..], &["--", "sh", "-c", "echo \"$REDIAL_KEY\"", "sh", "{}"]].concat();
    let output = map(&stage, items, &words);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "r/job/1\nr/job/2\n");
    let records = journal(&stage, "r");
    let dead = of_type(&records, "dead");
    assert_eq!(dead.len(), 3);
    assert!(dead.iter().all(|dead| dead["reason"] == "bad-key"), "{dead:?}");
}

#[test]
fn a_source_that_breaks_off_is_a_failure_and_not_its_end() {
    let stage = Stage::new();
    let words = ["--format", "json", "--keep-order", "--", "echo"];
    let output = map(&stage, "[1, 2, {\"a\": ", &words);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"1\n2\n");
    assert!(stderr(&output).contains("cannot be read further"), "{}", stderr(&output));
    // Given again with the whole document, the rest runs and nothing twice.
    let words = [&["--run", "r"], &words[..]].concat();
    assert_eq!(map(&stage, "[1, 2, ", &words).stdout, b"1\n2\n");
    assert_eq!(works(&stage, "[1, 2, 3]", &words), "3\n");
}

#[test]
fn no_item_becomes_code_of_an_interpreter() {
    let stage = Stage::new();
    for line in [
        &["sh", "-c", "echo {}"][..],
        &["bash", "-c", "echo {}"],
        &["python3", "-c", "print('{}')"],
        &["awk", "{} {print}"],
        &["env", "X=1", "sh", "-ec", "echo {}"],
    ] {
        let words = [&["--"], line].concat();
        let said = ends_with(125, &stage, "$(touch executed)\n", &words);
        assert!(said.contains("nested-interpreter"), "{line:?}: {said}");
    }
    assert!(!stage.has("executed"));
}

#[test]
fn numbers_of_a_table_are_sorted_as_numbers() {
    let stage = Stage::new();
    stage.write("x.csv", "name,size\na,10\nb,9\nc,x\nd,-1\ne,9.5\nf,1e1\ng,\n");
    let sorted = |by: &str| {
        let words =
            ["--items", "x.csv", "--sort-by", by, "-j1", "--keep-order", "--", "echo", "{name}"];
        works(&stage, "", &words).replace('\n', "")
    };
    assert_eq!(sorted("size"), "dbeafgc");
    assert_eq!(sorted("size DESC"), "cgafebd");
}

#[test]
fn a_dry_run_prints_the_command_of_each_item_and_runs_nothing() {
    let stage = Stage::new();
    let words = ["--dry-run", "-n", "2", "--offset", "1", "--", "touch", "{#}-{}"];
    let output = map(&stage, "a\nb c\nit's\n", &words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stdout(&output), "touch '1-b c'\ntouch '2-it'\\''s'\n");
    let said = stderr(&output);
    assert!(said.contains("policy   attempts: 2") && said.contains("jobs "), "{said}");
    assert!(!stage.has("1-b c"));
    // What would be dead without an attempt is told.
    let words = ["--dry-run", "--format", "jsonl", "--", "echo", "{id}"];
    let output = map(&stage, "{\"id\": 7}\n{\"no\": 1}\n", &words);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), "echo 7\n"));
    assert!(stderr(&output).contains("2: not started: "), "{output:?}");
    // Without a placeholder the item is the last argument.
    let output = map(&stage, "x\n", &["--dry-run", "--", "echo", "-n"]);
    assert_eq!(stdout(&output), "echo -n x\n");
}
