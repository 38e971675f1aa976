//! Templates, in both spellings.

use redial_flow::{ITEM_NUMBER, Segment, SuspicionKind, Template, Value, suspicions};
use serde_json::json;

use crate::values::{bytes, item};

fn in_flow(text: &str) -> String {
    let values = item(
        json!({"id": 7, "a-b": "dash", "tags": ["x", {"y": null}], "a key": "k", "é": "e", "none": null}),
    );
    let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    String::from_utf8(template.render(&values).unwrap()).unwrap()
}

fn in_map(text: &str) -> String {
    let mut values = item(json!({"id": 7, "owner": {"login": "ann"}, "tags": ["x"], "print": "p"}));
    values.insert(ITEM_NUMBER.to_owned(), Value::from(json!(3)));
    String::from_utf8(Template::of_argument(text.as_bytes()).render(&values).unwrap()).unwrap()
}

#[test]
fn a_path_of_a_flow_file_has_names_fields_indexes_and_keys() {
    assert_eq!(in_flow("a${item.id}b"), "a7b");
    assert_eq!(in_flow("${item.a-b} ${item.é} ${item[\"a key\"]} ${item['a key']}"), "dash e k k");
    assert_eq!(in_flow("${item.tags[0]}"), "x");
    assert_eq!(in_flow("${item.tags}"), r#"["x",{"y":null}]"#);
    assert_eq!(in_flow("<${item.none}><${item.tags[1].y}>"), "<><>");
    let template = Template::parse("é ${list.output[\"a\\\"b\"][12].c}").unwrap();
    let reference = template.references().next().unwrap();
    assert_eq!(reference.root(), "list");
    assert_eq!(reference.path()[1], Segment::Field("a\"b".to_owned()));
    assert_eq!(reference.path()[2], Segment::Index(12));
    assert_eq!(reference.span(), 3..31);
    assert_eq!(reference.to_string(), r#"list.output["a\"b"][12].c"#);
}

#[test]
fn dollars_without_a_reference_are_text() {
    for text in ["$", "$$", "$HOME $1 $$ $(x) $", "a{b}c", "{}", "$ {item}", ""] {
        assert_eq!(in_flow(text), text);
    }
    assert_eq!(in_flow("$${item.id}"), "${item.id}");
    assert_eq!(in_flow("$$${item.id}"), "$7");
    assert_eq!(in_flow("$$$${item.id}"), "$${item.id}");
    assert_eq!(in_flow("$${not a reference"), "${not a reference");
}

#[test]
fn a_bad_reference_says_where_and_what_to_write() {
    let wrong = |text: &str| {
        let error = Template::parse(text).unwrap_err();
        assert_eq!(error.kind.name(), "bad-reference");
        assert!(text.get(error.span.clone()).is_some(), "{text} {:?}", error.span);
        (text[error.span.clone()].to_owned(), error.to_string())
    };
    assert_eq!(wrong("a ${").0, "${");
    assert_eq!(wrong("a ${} b").0, "${");
    assert_eq!(wrong("${ item }").0, "${");
    assert_eq!(wrong("${1}").0, "${");
    assert_eq!(wrong("x ${item").0, "${item");
    assert_eq!(wrong("${item é}").0, " ");
    assert_eq!(wrong("${item[é]}").0, "[");
    assert_eq!(wrong("${item[99999999999999999999]}").0, "[");
    assert_eq!(wrong("${item..id}").0, ".");
    assert_eq!(wrong("${item[\"a}").0, "[");
    let (place, message) = wrong("${HOME:-x}");
    assert_eq!(place, ":");
    assert!(message.contains("`$${`"), "{message}");
    assert!(wrong("${item.x:words}").1.contains("`shell`"));
}

#[test]
fn a_placeholder_of_map_is_the_item_its_number_or_a_field() {
    assert_eq!(in_map("{#}-{id}-{owner.login}-{tags[0]}"), "3-7-ann-x");
    assert_eq!(in_map("{owner}"), r#"{"login":"ann"}"#);
    assert_eq!(in_map("{\"a\":{id}}"), "{\"a\":7}");
}

#[test]
fn every_other_brace_of_map_is_text() {
    for text in [
        "{",
        "}",
        "{ }",
        "{print $1}",
        "{1..3}",
        "{a,b}",
        "{\"a\":1}",
        "{\"a\":{\"b\":1}}",
        "${HOME}",
        "${id}",
        "{id",
        "{id }",
        "{#id}",
        "{-a}",
        "{a..b}",
        "{a.}",
        "{.a}",
        "{a[b]}",
        "a}}b",
        "{{ }}",
        "}{",
        "${}",
        "{a|b}",
    ] {
        assert_eq!(in_map(text), text);
    }
    let not_utf8 = b"\xff{\xff}{a\xff}";
    let template = Template::of_argument(not_utf8);
    assert_eq!(template.text(), Some(not_utf8.as_slice()));
}

#[test]
fn two_pairs_of_braces_are_one() {
    assert_eq!(in_map("{{id}}"), "{id}");
    assert_eq!(in_map("{{}}"), "{}");
    assert_eq!(in_map("{{#}}"), "{#}");
    assert_eq!(in_map("{{{id}}}"), "{7}");
    assert_eq!(in_map("{{{{id}}}}"), "{{id}}");
    assert_eq!(in_map("{{id}"), "{7");
    assert_eq!(in_map("{id}}"), "7}");
    assert_eq!(in_map("{{print}}"), "{print}");
}

#[test]
fn a_whole_reference_gives_the_value_itself() {
    let values = item(json!({"list": [1, 2]}));
    let value = |text: &str| Template::parse(text).unwrap().value(&values).unwrap();
    assert_eq!(value("${item.list}"), Value::Json(json!([1, 2])));
    assert_eq!(value("${item.list} "), Value::Json(json!("[1,2] ")));
    assert_eq!(value(""), Value::Json(json!("")));
    let raw = Template::parse("${item}").unwrap().value(&bytes(b"\xff")).unwrap();
    assert_eq!(raw, Value::Bytes(vec![0xff]));
    let mixed = Template::parse("é${item}").unwrap().value(&bytes(b"\xff")).unwrap();
    assert_eq!(mixed, Value::Bytes(b"\xc3\xa9\xff".to_vec()));
}

#[test]
fn a_missing_value_names_the_reference_and_the_nearest_name() {
    let values = item(json!({"width": 1, "tags": ["a"], "name": "x"}));
    let wrong =
        |text: &str| Template::parse(text).unwrap().render(&values).unwrap_err().to_string();
    assert_eq!(
        wrong("${item.widht}"),
        "`item.widht` has no value: `item` has no `widht`; did you mean `width`?"
    );
    assert_eq!(wrong("${item.other}"), "`item.other` has no value: `item` has no `other`");
    assert_eq!(
        wrong("${itme.x}"),
        "`itme.x` has no value: nothing is called `itme`; did you mean `item`?"
    );
    assert_eq!(
        wrong("${item.tags[1]}"),
        "`item.tags[1]` has no value: `item.tags` is a list of 1 and has no element 1"
    );
    assert_eq!(
        wrong("${item.name.first}"),
        "`item.name.first` has no value: `item.name` is text and has no `first`"
    );
    assert_eq!(
        wrong("${item[0]}"),
        "`item[0]` has no value: `item` is an object and has no element 0"
    );
    let text = Template::of_argument(b"{url}").render(&bytes(b"\xff")).unwrap_err();
    assert_eq!(
        text.to_string(),
        "`item.url` has no value: `item` is text that is not UTF-8 and has no `url`"
    );
    assert_eq!(text.kind(), "value-missing");
}

#[test]
fn a_leading_dash_and_a_way_out_of_the_directory_are_suspicious() {
    let seen = |arguments: &[&str], value: &[u8]| -> Vec<_> {
        let arguments: Vec<_> =
            arguments.iter().map(|text| Template::of_argument(text.as_bytes())).collect();
        suspicions(&arguments, &bytes(value))
            .into_iter()
            .map(|one| (one.argument.unwrap(), one.kind))
            .collect()
    };
    use SuspicionKind::{LeavesTheDirectory, LooksLikeAnOption};
    assert_eq!(seen(&["rm", "{}"], b"-rf"), [(1, LooksLikeAnOption)]);
    assert_eq!(seen(&["rm", "{}.png"], b"-rf"), [(1, LooksLikeAnOption)]);
    assert_eq!(seen(&["rm", "--", "{}"], b"-rf"), []);
    assert_eq!(seen(&["rm", "./{}"], b"-rf"), []);
    assert_eq!(seen(&["cat", "{}"], b"-"), []);
    assert_eq!(seen(&["curl", "-o", "{}.png"], b"../../x"), [(2, LeavesTheDirectory)]);
    assert_eq!(seen(&["curl", "-o", "{}.png"], b"a..b/..c"), []);
    assert_eq!(seen(&["ls", "{}"], b"../x"), []);
    assert_eq!(seen(&["ls", "{missing}"], b"../x"), []);
}

#[test]
fn hostile_texts_are_read_in_one_go() {
    let large = 1 << 20;
    for part in ["{", "}", "{{}", "{a[\"", "{a['", "{a.", "{a", "$", "${", "$${", "[", "{}"] {
        let text = part.repeat(large / part.len());
        let template = Template::of_argument(text.as_bytes());
        assert!(template.references().count() <= text.len() / 2);
        let _ = Template::parse(&text);
        let _ = Template::parse(&format!("${{item{text}"));
    }
    let long = Template::parse(&format!("${{item{}}}", ".a".repeat(2 << 20))).unwrap();
    let error = long.render(&item(json!({}))).unwrap_err().to_string();
    assert!(error.contains("`item` has no `a`"));
}
