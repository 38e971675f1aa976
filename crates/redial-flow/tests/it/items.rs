//! Items: what each format takes for one, which errors stop at one item, what is selected, and what an
//! item is known by.

use std::collections::HashSet;
use std::io::{self, Read};

use redial_core::Random;
use redial_flow::{
    BadItem, BadKey, Dialect, Expression, FieldPath, Format, Index, Item, Items, JsonPath, KeyBy,
    Keys, Limits, Place, Selection, SortBy, Value,
};
use redial_seeds::each_seed;
use serde_json::{Value as Json, json};

/// Gives its bytes a few at a time, as a pipe may.
struct Drops<'b>(&'b [u8], usize);

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(self.1).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

/// Breaks after its bytes.
struct Breaks<'b>(&'b [u8]);

impl Read for Breaks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the cable is out")),
            count => Ok(count),
        }
    }
}

const SMALL: Limits = Limits { item_bytes: 32, document_bytes: 200 };
const CSV: Format = Format::Csv { delimiter: b',' };

/// What each item is: its value as text, or what is wrong with it, with its place. The same whatever
/// pieces the source comes in.
fn read(bytes: impl AsRef<[u8]>, format: &Format) -> Vec<String> {
    let bytes = bytes.as_ref();
    let of = |size| {
        let items = Items::with_limits(Drops(bytes, size), format.clone(), SMALL);
        items.map(|item| shown(&item)).collect::<Vec<String>>()
    };
    let whole = of(usize::MAX);
    for size in [1, 2, 3, 7] {
        assert_eq!(of(size), whole, "in pieces of {size}");
    }
    whole
}

fn shown(item: &Result<Item, BadItem>) -> String {
    match item {
        Ok(Item { place, value: Value::Json(Json::String(text)), .. }) => {
            format!("{place}: {text}")
        }
        Ok(Item { place, value: value @ Value::Json(_), .. }) => {
            format!("{place}: {}", serde_json::to_string(value).unwrap())
        }
        Ok(Item { place, value: Value::Bytes(bytes), .. }) => {
            format!("{place}: bytes {}", bytes.escape_ascii())
        }
        Err(bad) => format!("{bad}{}", if bad.last { " (last)" } else { "" }),
    }
}

fn path(text: &str) -> Format {
    Format::Json(Some(JsonPath::parse(text).unwrap()))
}

#[test]
fn a_line_is_an_item() {
    assert_eq!(read("a b\n'c'\n", &Format::Lines), ["line 1: a b", "line 2: 'c'"]);
    assert_eq!(read("a\nlast", &Format::Lines), ["line 1: a", "line 2: last"]);
    assert_eq!(read("a\r\nb\rc\r\n", &Format::Lines), ["line 1: a", "line 2: b\rc"]);
    assert_eq!(read("\n\na\n\r\n\nb", &Format::Lines), ["line 3: a", "line 6: b"]);
    assert_eq!(
        read(b"\xef\xbb\xbfa\n\xef\xbb\xbfb", &Format::Lines),
        ["line 1: a", "line 2: \u{feff}b"]
    );
    assert_eq!(read(b"caf\xe9\n", &Format::Lines), ["line 1: bytes caf\\xe9"]);
    assert_eq!(read(b"\xef\xbb", &Format::Lines), ["line 1: bytes \\xef\\xbb"]);
    assert!(read("", &Format::Lines).is_empty() && read("\n\n", &Format::Lines).is_empty());
    assert!(read("\u{feff}", &Format::Lines).is_empty());
}

#[test]
fn what_is_too_large_is_passed_over_and_the_rest_comes() {
    let fits = "x".repeat(32);
    let large = "x".repeat(33);
    let message =
        "an item of more than 32 bytes; put it into a file, and make the file's name the item";
    let lines = read(format!("{fits}\r\n{large}\r\nb\n"), &Format::Lines);
    assert_eq!(
        lines,
        [format!("line 1: {fits}"), format!("line 2: {message}"), "line 3: b".to_owned()]
    );
    let lines = read(format!("a\0{large}\0b"), &Format::Nul);
    assert_eq!(
        lines,
        ["byte 0: a".to_owned(), format!("byte 2: {message}"), "byte 36: b".to_owned()]
    );
    let lines = read(format!("\"{large}\"\n1\n"), &Format::JsonLines);
    assert_eq!(lines, [format!("line 1: {message}"), "line 2: 1".to_owned()]);
    let lines = read(format!("[1, \"{large}\", 2]"), &path("$[*]"));
    assert_eq!(
        lines,
        ["byte 1: 1".to_owned(), format!("byte 4: {message}"), "byte 41: 2".to_owned()]
    );
    let lines = read(format!("[1, \"{large}\", 2]"), &path("$..[?@ != 0]"));
    assert_eq!(lines[1], format!("selected value 2: {message}"));
    assert_eq!(lines[2], "selected value 3: 2");
    let lines = read(format!("a,b\n1,{large}\n2,3\n"), &CSV);
    assert_eq!(
        lines,
        [
            format!("line 2: {message}; is a quote not closed?"),
            "line 3: {\"a\":\"2\",\"b\":\"3\"}".to_owned()
        ]
    );
}

#[test]
fn between_nul_bytes_anything_is_an_item() {
    assert_eq!(
        read(b"a\nb\0\0c\r\0last", &Format::Nul),
        ["byte 0: a\nb", "byte 4: ", "byte 5: c\r", "byte 8: last"]
    );
}

#[test]
fn a_bad_line_of_json_is_an_error_of_that_line_alone() {
    let text = "{\"a\": 1}\n  \n[1\n\"\u{e9}\"\n1 2\n{\"a\": 2}\r\n";
    assert_eq!(
        read(text, &Format::JsonLines),
        [
            "line 1: {\"a\":1}",
            "line 3: column 2: no JSON: EOF while parsing a list",
            "line 4: é",
            "line 5: column 3: no JSON: trailing characters",
            "line 6: {\"a\":2}",
        ]
    );
    let lines = read(b"\"\xff\"\n1\n", &Format::JsonLines);
    assert!(lines[0].starts_with("line 1: column") && lines[1] == "line 2: 1", "{lines:?}");
    let deep = format!("{}{}\n1\n", "[".repeat(200), "]".repeat(200));
    let mut items = Items::new(deep.as_bytes(), Format::JsonLines);
    assert!(items.next().unwrap().unwrap_err().message.contains("recursion limit"));
    assert_eq!(items.next().unwrap().unwrap().number, 2);
}

#[test]
fn a_path_of_names_and_stars_is_followed_while_the_document_is_read() {
    let text =
        r#" {"no": {"items": [0]}, "items" : [ 1, "a", {"b": [2]}, [] , null ], "z": 1.5e3} "#;
    let items =
        ["byte 36: 1", "byte 39: a", "byte 44: {\"b\":[2]}", "byte 56: []", "byte 61: null"];
    assert_eq!(read(text, &path("$.items[*]")), items);
    assert_eq!(read(text, &path("$['items'][*]")), items);
    assert_eq!(read(text, &path("$.items[2].b[0]")), ["byte 51: 2"]);
    assert_eq!(read(text, &path("$.no.items[*]")), ["byte 19: 0"]);
    assert_eq!(read(text, &path("$.*.items[*]")), ["byte 19: 0"]);
    assert_eq!(read(text, &path("$.z")), ["byte 74: 1.5e3"]);
    assert!(read(text, &path("$.nothing[*]")).is_empty());
    assert!(read(text, &path("$.z[*]")).is_empty() && read(text, &path("$[0]")).is_empty());
    let whole = Format::Json(None);
    assert_eq!(read("[1,[2]]", &whole), ["byte 1: 1", "byte 3: [2]"]);
    assert_eq!(read(" {\"a\": [1]}", &whole), ["byte 1: {\"a\":[1]}"]);
    assert!(read("  ", &whole).is_empty() && read("[]", &whole).is_empty());
}

#[test]
fn a_document_that_is_no_json_ends_the_source_after_what_was_right() {
    for (text, last) in [
        ("[1", "byte 2: the document ends where `,` or `]` is expected (last)"),
        ("[1 2]", "byte 3: `2` where `,` or `]` is expected (last)"),
        ("[1] x", "byte 4: there is more after the end of the document (last)"),
        ("[1, {\"a\" 2}]", "byte 9: `2` where `:` is expected (last)"),
        ("[1, nul]", "byte 7: `nul`: no JSON: EOF while parsing a value (last)"),
        ("[1, \"a", "byte 6: the document ends within text (last)"),
        ("[1, 01]", "byte 6: `01`: no JSON: invalid number (last)"),
        ("[1,]", "byte 3: `]` where `{` or `[` or `\"` is expected (last)"),
        ("[1, {\"a\": [1}]]", "byte 12: `}` where `,` or `]` is expected (last)"),
    ] {
        let found = read(text, &path("$[*]"));
        assert_eq!(found, ["byte 1: 1", last], "{text}");
    }
    let twice = read(r#"{"a": [1], "a": [2]}"#, &path("$.a[*]"));
    assert_eq!(twice, ["byte 7: 1", "byte 16: the field `a` is there twice (last)"]);
    let escape = read(r#"["\x", 2]"#, &path("$[*]"));
    assert_eq!(escape, ["byte 1: no JSON: invalid escape", "byte 7: 2"]);
    assert_eq!(
        read("[1", &path("$[?@ > 0]")),
        ["line 1: column 2: no JSON: EOF while parsing a list (last)"]
    );
    let large = read(format!("[{}1]", "1, ".repeat(100)), &path("$[?@ > 0]"));
    assert!(large[0].contains("more than 200 bytes") && large[0].ends_with("(last)"), "{large:?}");
}

#[test]
fn streaming_selects_what_the_whole_document_would() {
    /// A random document.
    fn document(random: &mut dyn FnMut(usize) -> usize, depth: usize) -> Json {
        match random(if depth == 0 { 4 } else { 6 }) {
            0 => json!(random(100)),
            1 => json!("a \" \\ é ]}"),
            2 => json!(null),
            3 => json!(-1.5e-3),
            4 => (0..random(4)).map(|_| document(random, depth - 1)).collect(),
            _ => {
                let names = ["a", "b", "c d"];
                let fields = (0..random(4)).map(|at| (names[at % 3], document(random, depth - 1)));
                Json::Object(fields.map(|(name, json)| (name.to_owned(), json)).collect())
            }
        }
    }
    const SEGMENTS: [&str; 7] = [".a", ".b", "['c d']", "[*]", "[0]", "[1]", ".*"];
    each_seed(2_000, |mut random| {
        let mut draw = |below: usize| (random.word() % below as u64) as usize;
        let json = document(&mut draw, 4);
        let text: String = (0..1 + draw(3)).map(|_| SEGMENTS[draw(SEGMENTS.len())]).collect();
        let text = format!("${text}");
        // A blank makes it a path that is not streamed.
        let whole = JsonPath::parse(
            &text.replace("['", "[ '").replace("[*]", "[ *]").replacen('$', "$ ", 1),
        );
        let streamed = JsonPath::parse(&text).unwrap();
        assert!(streamed.is_streamed(), "{text}");
        let whole = whole.unwrap();
        assert!(!whole.is_streamed(), "{text}");
        let document = if draw(2) == 0 { json.to_string() } else { format!("{json:#}") };
        let values = |path: JsonPath| -> Vec<Json> {
            let items = Items::new(Drops(document.as_bytes(), 5), Format::Json(Some(path)));
            items
                .map(|item| match item.unwrap().value {
                    Value::Json(json) => json,
                    Value::Bytes(_) => Json::Null,
                })
                .collect()
        };
        assert_eq!(values(streamed), values(whole), "{text} of {document}");
    });
}

#[test]
fn a_path_is_checked_before_anything_is_read() {
    for (text, message) in [
        ("items[*]", "a path begins with `$`: `$.items[*]`"),
        ("$..a..b..c..d", "more than 3 `..`"),
        ("$[?@.a[?@.b[?@.c[?@.d[?@.e]]]]]", "more than 4 filters; select in `where`, too"),
        ("$[?match(@.a, 'x')]", "patterns belong in `where`: `item.name.matches('…')`"),
    ] {
        assert_eq!(JsonPath::parse(text).unwrap_err().message, message, "{text}");
    }
    let deep = format!("$[?{}@.a{}]", "(".repeat(100), ")".repeat(100));
    assert_eq!(JsonPath::parse(&deep).unwrap_err().message, "more than 16 brackets in each other");
    assert!(JsonPath::parse(&format!("$.{}", "a".repeat(2000))).is_err());
    assert!(JsonPath::parse("$['((((((((((((((((((((??????......']").is_ok());
    for text in ["$[?length(@.a) > 1 && count(@.*) == 2]", "$..[0,1:3,'a']", "$[-1]", "$[::-1]"] {
        assert!(!JsonPath::parse(text).unwrap().is_streamed(), "{text}");
    }
    let items = read(r#"[{"a":"xy"},{"a":"z"}]"#, &path("$[?length(@.a) > 1]"));
    assert_eq!(items, ["selected value 1: {\"a\":\"xy\"}"]);
}

#[test]
fn no_path_makes_it_panic() {
    const PIECES: [&str; 32] = [
        "$",
        ".",
        "..",
        "*",
        "[",
        "]",
        "(",
        ")",
        "?",
        "@",
        "@.a",
        "'a'",
        "\"",
        "\\u00e9",
        "\\ud800",
        "0",
        "-1",
        ":",
        ",",
        "==",
        "<",
        "&&",
        "||",
        "!",
        "length(",
        "count(",
        "value(",
        "a",
        "é",
        " ",
        "9007199254740992",
        "1e400",
    ];
    let document = br#"{"a": [1, {"a": ["x", null, 2.5]}], "b": {"a": {}}}"#;
    each_seed(5_000, |mut random| {
        let mut draw = |below: usize| (random.word() % below as u64) as usize;
        let count = draw(14);
        let text: String = (0..count).map(|_| PIECES[draw(PIECES.len())]).collect();
        match JsonPath::parse(&format!("${text}")) {
            Ok(path) => {
                let items = Items::new(&document[..], Format::Json(Some(path)));
                assert!(items.map(Result::unwrap).count() < 10_000);
            }
            Err(bad) => assert!(bad.span.start <= bad.span.end && !bad.message.is_empty()),
        }
    });
    // At the bounds: as many filters, and as deep, as are let through.
    let nested = format!("${}{}", "[?@".repeat(4), "]".repeat(4));
    assert!(JsonPath::parse(&nested).is_ok());
    for open in ["(", "!(", "length("] {
        let deep = format!("$[?{}@.a{} == 1]", open.repeat(15), ")".repeat(15));
        let _ = JsonPath::parse(&deep);
    }
    let mixed = format!(
        "$[?{}@.a[?{}@.b{}]{}]",
        "(".repeat(6),
        "(".repeat(6),
        ")".repeat(6),
        ")".repeat(6)
    );
    assert!(JsonPath::parse(&mixed).is_ok());
}

#[test]
fn a_row_is_an_object_by_the_names_of_the_first() {
    let text = "\u{feff}id,name\r\n1,\"a, \"\"b\"\"\"\r\n\r\n2,\"two\nlines\"\n3\n4,d,e\n5,last";
    assert_eq!(
        read(text, &CSV),
        [
            r#"line 2: {"id":"1","name":"a, \"b\""}"#,
            r#"line 4: {"id":"2","name":"two\nlines"}"#,
            "line 6: 1 field where the first row has 2",
            "line 7: 3 fields where the first row has 2",
            r#"line 8: {"id":"5","name":"last"}"#,
        ]
    );
    assert_eq!(
        read("a\tb\n1\t\n", &Format::Csv { delimiter: b'\t' }),
        ["line 2: {\"a\":\"1\",\"b\":\"\"}"]
    );
    assert!(read("", &CSV).is_empty() && read("a,b\n", &CSV).is_empty());
    assert_eq!(
        read("a,b,a\n1,2,3\n", &CSV),
        ["line 1: two columns are called `a`; the first row has the names of the columns (last)"]
    );
    let bytes = read(b"a,b\n1,\xff\n2,3\n", &CSV);
    assert_eq!(bytes, ["line 2: column `b` is not UTF-8", "line 3: {\"a\":\"2\",\"b\":\"3\"}"]);
    assert!(read(b"\xff,b\n1,2\n", &CSV)[0].ends_with("is not UTF-8 (last)"));
    let open = read(format!("a,b\n1,\"{}\n", "2\n".repeat(40)), &CSV);
    assert_eq!(open.len(), 1);
    assert!(open[0].contains("is a quote not closed?"), "{open:?}");
    let wide = vec!["1"; 20_000].join(",");
    let items: Vec<_> = Items::new(format!("a,b\n{wide}\n1,2\n").as_bytes(), CSV).collect();
    assert!(items[0].is_err() && items[1].is_ok() && items.len() == 2);
}

#[test]
fn a_source_that_breaks_says_so_once() {
    for (format, bytes) in [
        (Format::Lines, "a\n"),
        (Format::Nul, "a\0"),
        (Format::JsonLines, "1\n"),
        (path("$[*]"), "[1, "),
        (path("$..a"), "{\"a\": 1, "),
        (Format::Json(None), "[1, "),
        (CSV, "a\n1\n"),
    ] {
        let items: Vec<_> = Items::new(Breaks(bytes.as_bytes()), format.clone()).collect();
        let bad = items.last().unwrap().as_ref().unwrap_err();
        assert!(bad.last && bad.message == "the cable is out", "{format:?}: {bad:?}");
        assert_eq!(items.iter().filter(|item| item.is_err()).count(), 1, "{format:?}");
    }
}

#[test]
fn no_bytes_make_a_source_panic_or_run_on() {
    const PIECES: [&[u8]; 24] = [
        b"\n",
        b"\r\n",
        b"\0",
        b",",
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"1",
        b"-",
        b"e",
        b"true",
        b"a",
        b" ",
        b"\xff",
        b"\xef\xbb\xbf",
        b"{\"a\":",
        b"[1,",
        b"\"a\"",
        b"\\u12",
        b"null",
    ];
    each_seed(3_000, |mut random| {
        let mut draw = |below: usize| (random.word() % below as u64) as usize;
        let count = draw(40);
        let bytes: Vec<u8> = (0..count).flat_map(|_| PIECES[draw(PIECES.len())]).copied().collect();
        let formats = [
            Format::Lines,
            Format::Nul,
            Format::JsonLines,
            Format::Json(None),
            path("$[*]"),
            path("$.a[*]"),
            path("$..a"),
            CSV,
        ];
        for format in &formats {
            let found = read(&bytes, format);
            assert!(found.len() <= bytes.len() + 1);
        }
    });
}

fn lines(values: &[Json]) -> Items<io::Cursor<Vec<u8>>> {
    let text: String = values.iter().map(|json| format!("{json}\n")).collect();
    Items::new(io::Cursor::new(text.into_bytes()), Format::JsonLines)
}

fn numbers(selection: Selection, values: &[Json]) -> Vec<u64> {
    selection.of(lines(values)).map(|item| item.unwrap().number).collect()
}

#[test]
fn a_selection_filters_sorts_drops_what_is_double_and_cuts() {
    let values = [
        json!({"id": 1, "p": 3, "s": "high"}),
        json!({"id": 2, "p": 5, "s": "low"}),
        json!({"id": 3, "s": "high"}),
        json!({"id": 4, "p": 5.0, "s": "high"}),
        json!({"id": 5, "p": 9, "s": "high"}),
        json!({"id": 6, "p": null, "s": "high"}),
    ];
    let high = || Some(Expression::parse("s == 'high'").unwrap());
    let by = |text: &str| Some(SortBy::parse(text).unwrap());
    let field = |text: &str| Some(FieldPath::parse(text).unwrap());
    let plain = Selection::default;
    assert_eq!(numbers(plain(), &values), [1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(Selection { filter: high(), ..plain() }, &values), [1, 3, 4, 5, 6]);
    assert_eq!(numbers(Selection { sort_by: by("p"), ..plain() }, &values), [1, 2, 4, 5, 3, 6]);
    assert_eq!(
        numbers(Selection { sort_by: by("item.p DESC"), ..plain() }, &values),
        [5, 2, 4, 1, 3, 6]
    );
    let nulls = by("p desc nulls first, id DESC");
    assert_eq!(numbers(Selection { sort_by: nulls, ..plain() }, &values), [6, 3, 5, 4, 2, 1]);
    assert_eq!(numbers(Selection { distinct: field("p"), ..plain() }, &values), [1, 2, 3, 4, 5]);
    assert_eq!(numbers(Selection { distinct: field("s"), offset: 1, ..plain() }, &values), [2]);
    let all = Selection {
        filter: high(),
        sort_by: by("id DESC"),
        distinct: field("item.p"),
        offset: 1,
        max_items: Some(2),
        ..plain()
    };
    // Sorted: 6 5 4 3 1; 3 has no `p`, as 6 has none.
    assert_eq!(numbers(all, &values), [5, 4]);
    assert!(numbers(Selection { max_items: Some(0), ..plain() }, &values).is_empty());
    assert!(
        numbers(Selection { offset: u64::MAX, sort_by: by("id"), ..plain() }, &values).is_empty()
    );
    let most = Selection { max_items: Some(u64::MAX), offset: 1, sort_by: by("id"), ..plain() };
    assert_eq!(numbers(most, &values).len(), 5);
}

#[test]
fn a_filter_that_fails_is_an_error_of_that_item_alone() {
    let values = [json!({"n": 1}), json!({"m": 1}), json!({"n": 3})];
    let strict =
        Selection { filter: Some(Expression::parse("n > 0").unwrap()), ..Selection::default() };
    let found: Vec<String> = strict.of(lines(&values)).map(|item| shown(&item)).collect();
    assert_eq!(found[1], "line 2: `n`: nothing is called `n`; there is `m`, `item`");
    assert_eq!(found.len(), 3);
    let loose = Expression::parse_as("n > 0", Dialect::Loose).unwrap();
    assert_eq!(numbers(Selection { filter: Some(loose), ..Selection::default() }, &values), [1, 3]);
}

#[test]
fn nothing_is_read_beyond_the_last_item_that_is_taken() {
    let source = Items::new(Breaks(b"a\nb\nc\n"), Format::Lines);
    let selection = Selection { offset: 1, max_items: Some(2), ..Selection::default() };
    let found: Vec<String> = selection.of(source).map(|item| shown(&item)).collect();
    assert_eq!(found, ["line 2: b", "line 3: c"]);
    let source = Items::new(Breaks(b"a\nb\n"), Format::Lines);
    let sorted =
        Selection { sort_by: Some(SortBy::parse("item").unwrap()), ..Selection::default() };
    let found: Vec<String> = sorted.of(source).map(|item| shown(&item)).collect();
    assert_eq!(found, ["line 3: the cable is out (last)"]);
}

#[test]
fn the_first_of_many_are_sorted_as_if_all_were() {
    each_seed(300, |mut random| {
        let mut draw = |below: u64| random.word() % below;
        let values: Vec<Json> = (0..draw(400)).map(|_| json!({"n": draw(20)})).collect();
        let (offset, most) = (draw(30), draw(40));
        let by = Some(SortBy::parse("n DESC").unwrap());
        let all = numbers(Selection { sort_by: by.clone(), ..Selection::default() }, &values);
        let wanted: Vec<u64> = all.into_iter().skip(offset as usize).take(most as usize).collect();
        let some = Selection { sort_by: by, offset, max_items: Some(most), ..Selection::default() };
        assert_eq!(numbers(some, &values), wanted);
    });
}

#[test]
fn the_first_of_many_are_distinct_as_if_all_were_sorted() {
    // A thousand of the greatest value come before the next one: none may be cut off before they are one.
    let values: Vec<Json> =
        (0..1003).map(|n| json!({"n": if n < 1000 { 9 } else { 1003 - n }})).collect();
    let selection = Selection {
        sort_by: Some(SortBy::parse("n DESC").unwrap()),
        distinct: Some(FieldPath::parse("n").unwrap()),
        max_items: Some(3),
        ..Selection::default()
    };
    assert_eq!(numbers(selection, &values), [1, 1001, 1002]);
}

#[test]
fn what_is_sorted_has_a_bound() {
    let values: Vec<Json> = (0..100).map(|n| json!({"n": n, "text": "x".repeat(100)})).collect();
    let by = || Some(SortBy::parse("n DESC").unwrap());
    let all = Selection { sort_by: by(), sort_bytes: 10_000, ..Selection::default() };
    let found: Vec<_> = all.of(lines(&values)).collect();
    let bad = found[0].as_ref().unwrap_err();
    assert!(found.len() == 1 && bad.last && bad.message.contains("more than 10000 bytes"), "{bad}");
    let few =
        Selection { sort_by: by(), sort_bytes: 10_000, max_items: Some(2), ..Selection::default() };
    assert_eq!(numbers(few, &values), [100, 99]);
}

#[test]
fn what_is_wrong_with_a_field_is_said_with_its_place() {
    for (text, part) in
        [("", ""), ("a..b", "..b"), ("a[x]", "[x]"), ("a[0", "[0"), ("a[0]b", "b"), ("a.", ".")]
    {
        assert_eq!(FieldPath::parse(text).unwrap_err().span.of(text), part, "{text}");
    }
    let text = "a, b[x DESC";
    assert_eq!(SortBy::parse(text).unwrap_err().span.of(text), "[x");
    assert_eq!(SortBy::parse("a,,b").unwrap_err().message, "the name of a field is missing");
    assert!(SortBy::parse("a NULLS").is_err() && SortBy::parse("a DESC b").is_err());
    let item = Value::Json(json!({"a.b": {"c": [1, 2]}}));
    assert_eq!(FieldPath::parse("item['a.b'].c[1]").unwrap().of(&item), Some(&json!(2)));
}

fn keys_of(keys: &mut Keys, items: &[&str]) -> Vec<(u64, String)> {
    keys.start_over();
    let key = |text: &&str| keys.key(&Value::Json((*text).into())).unwrap();
    items.iter().map(key).map(|key| (key.fingerprint, key.text)).collect()
}

#[test]
fn an_insertion_renames_nothing() {
    let mut keys = Keys::new(KeyBy::Content, 3);
    let before = keys_of(&mut keys, &["a", "b", "a", "c", "a"]);
    let texts: Vec<&str> = before.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["a", "b", "a#2", "c", "a#3"]);
    let after = keys_of(&mut keys, &["new", "a", "a", "b", "newer", "c", "a"]);
    let known: HashSet<_> = before.iter().collect();
    let fresh: Vec<&str> =
        after.iter().filter(|key| !known.contains(key)).map(|(_, text)| text.as_str()).collect();
    assert_eq!(fresh, ["new", "newer"]);
    // What vanished is what is known and was not seen.
    keys_of(&mut keys, &["a", "b", "a"]);
    let gone: HashSet<u64> = keys.index().unseen().map(|(fingerprint, _)| fingerprint).collect();
    assert!(gone.contains(&before[3].0) && gone.contains(&before[4].0) && gone.len() == 4);
}

#[test]
fn many_of_one_content_are_told_apart() {
    let mut keys = Keys::new(KeyBy::Content, 3);
    let items = vec!["same"; 1000];
    let first = keys_of(&mut keys, &items);
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), 1000);
    assert_eq!(first[999].1, "same#1000");
    assert_eq!(keys_of(&mut keys, &items), first);
    assert_eq!(keys.index().len(), 1000);
}

#[test]
fn a_duplicate_key_is_an_error() {
    let mut keys = Keys::new(KeyBy::Field(FieldPath::parse("id").unwrap()), 3);
    let mut key = |json: Json| keys.key(&Value::Json(json)).map(|key| key.text);
    assert_eq!(key(json!({"id": 7, "x": 1})), Ok("7".to_owned()));
    assert_eq!(key(json!({"id": "seven"})), Ok("seven".to_owned()));
    assert_eq!(key(json!({"id": "7"})), Err(BadKey::Duplicate("id".to_owned(), "7".to_owned())));
    assert_eq!(key(json!({"x": 1})), Err(BadKey::Missing("id".to_owned())));
    assert_eq!(key(json!({"id": null})), Err(BadKey::Missing("id".to_owned())));
    for unfit in [json!(""), json!([1]), json!({})] {
        assert_eq!(key(json!({"id": unfit})), Err(BadKey::Unfit("id".to_owned())));
    }
    let message = BadKey::Duplicate("id".to_owned(), "7".to_owned()).to_string();
    assert_eq!(message, "`7` is the key (`id`) of an item before; a key is of one item alone");
}

#[test]
fn content_is_what_it_means_and_not_how_it_is_written() {
    let fingerprint = |text: &str| {
        let json: Json = serde_json::from_str(text).unwrap();
        Keys::new(KeyBy::Content, 3).key(&Value::Json(json)).unwrap().fingerprint
    };
    assert_eq!(fingerprint(r#"{"a":1,"b":[2,"x"]}"#), fingerprint(r#"{ "b": [2, "x"], "a": 1 }"#));
    let different = [
        "1",
        "\"1\"",
        "1.0",
        "[1]",
        "[[1]]",
        "[1,1]",
        "null",
        "\"null\"",
        "{}",
        "[]",
        "\"\"",
        "true",
        "false",
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"["a",1]"#,
        r#"["ab","c"]"#,
        r#"["a","bc"]"#,
        r#"[["a"],"b"]"#,
        r#"[["a","b"]]"#,
    ];
    let found: HashSet<u64> = different.iter().map(|text| fingerprint(text)).collect();
    assert_eq!(found.len(), different.len());
    let bytes = Keys::new(KeyBy::Content, 3).key(&Value::Bytes(vec![0xff])).unwrap();
    assert!(!found.contains(&bytes.fingerprint));
}

#[test]
fn fingerprints_never_change() {
    // Journals hold them: another number here is a run that cannot be resumed. They were reckoned with another
    // implementation of SipHash-2-4, from the description of the content.
    let of = |seed, value: Value| Keys::new(KeyBy::Content, seed).key(&value).unwrap().fingerprint;
    let found = [
        of(0, Value::Json(json!("a.png"))),
        of(1, Value::Json(json!("a.png"))),
        of(1, Value::Json(json!({"b": [1, null, true, -2.5], "a": "é"}))),
        of(u64::MAX, Value::Bytes(vec![0, 0xff])),
    ];
    let id = KeyBy::Field(FieldPath::parse("id").unwrap());
    let by_field = Keys::new(id, 1).key(&Value::Json(json!({"id": 17}))).unwrap().fingerprint;
    let mut keys = Keys::new(KeyBy::Content, 1);
    let second = keys_of(&mut keys, &["a", "a"])[1].0;
    assert_eq!((found, by_field, second), FINGERPRINTS);
}

const FINGERPRINTS: ([u64; 4], u64, u64) = (
    [0xaa7a_0057_4c13_1dcf, 0x1dfc_fb4c_4228_d79a, 0xaea7_d0bd_f3d6_461a, 0xef41_9d7b_70eb_1dcc],
    0x6611_4157_ce88_2506,
    0x0260_8f55_412e_9077,
);

#[test]
fn a_printable_key_is_short_clean_and_of_one_item() {
    let text = |item: Value| Keys::new(KeyBy::Content, 3).key(&item).unwrap().text;
    let of = |line: &str| text(Value::Json(line.into()));
    assert_eq!(of("a b/ü.png"), "a b/ü.png");
    let long = of(&"x".repeat(1000));
    assert!(long.starts_with(&("x".repeat(40) + "~")) && long.len() == 57, "{long}");
    for hostile in ["", " a", "a\nb", "\x1b[31m", "a#2", "a~1", "\u{202e}gnp", "\0", "é\u{7f}"] {
        let key = of(hostile);
        assert!(key.contains('~') && !key.contains('#'), "{hostile:?}: {key}");
        assert!(!key.contains(|c: char| c.is_control() || c == '\u{202e}'), "{hostile:?}: {key}");
    }
    assert!(text(Value::Bytes(b"caf\xe9".to_vec())).starts_with("caf\u{fffd}~"));
    assert_eq!(text(Value::Json(json!({"a": 1}))).len(), 17);
    each_seed(200, |mut random| {
        const LETTERS: [char; 8] = ['a', '#', '2', '~', '\n', ' ', '\u{200b}', 'é'];
        let mut keys = Keys::new(KeyBy::Content, random.word());
        let mut seen = HashSet::new();
        for _ in 0..200 {
            let length = random.word() % 5;
            let line: String = (0..length).map(|_| LETTERS[(random.word() % 8) as usize]).collect();
            let key = keys.key(&Value::Json(line.clone().into())).unwrap();
            assert!(key.text.chars().count() <= 80);
            assert!(seen.insert(key.text.clone()), "{line:?}: {}", key.text);
        }
    });
}

#[test]
fn an_index_is_a_map() {
    each_seed(50, |mut random| {
        let (mut index, mut model) = (Index::default(), std::collections::HashMap::new());
        // Neighbours, zero and equal segments are in it, too.
        let narrow = random.word() % 3;
        for _ in 0..3000 {
            let fingerprint = match narrow {
                0 => random.word() % 500,
                1 => ((random.word() % 500) << 56) | (random.word() % 4),
                _ => random.word() | 1,
            }
            .max(1);
            match random.word() % 3 {
                0 => {
                    let state = (random.word() as u32) & Index::STATE_MAX;
                    index.set(fingerprint, state);
                    model.entry(fingerprint).or_insert((0, false)).0 = state;
                }
                1 => {
                    let entry = model.entry(fingerprint).or_insert((0, false));
                    assert_eq!(index.see(fingerprint), std::mem::replace(&mut entry.1, true));
                }
                _ => {
                    assert_eq!(index.get(fingerprint), model.get(&fingerprint).map(|entry| entry.0))
                }
            }
        }
        assert_eq!(index.len(), model.len());
        let unseen: HashSet<(u64, u32)> = index.unseen().collect();
        let wanted = model.iter().filter(|(_, entry)| !entry.1).map(|(key, entry)| (*key, entry.0));
        assert_eq!(unseen, wanted.collect());
        index.start_over();
        assert_eq!(index.unseen().count(), model.len());
    });
    let mut index = Index::default();
    index.set(0, u32::MAX);
    assert_eq!((index.get(0), index.len()), (Some(Index::STATE_MAX), 1));
    assert!(!index.see(0));
}

#[test]
fn places_are_shown_as_people_look_for_them() {
    let shown = [Place::Line(3), Place::Byte(0), Place::Nth(2)].map(|place| place.to_string());
    assert_eq!(shown, ["line 3", "byte 0", "selected value 2"]);
}
