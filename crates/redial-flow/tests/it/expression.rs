//! Expressions: what they mean, what is refused, and that nothing makes them panic or run away.

use std::borrow::Cow;

use redial_core::Random;
use redial_flow::expression::Lookup;
use redial_flow::{DEPTH_MAX, Dialect, Expression, Found, ItemScope, TEXT_MAX, Value};
use redial_seeds::each_seed;
use serde_json::{Value as Json, json};

fn item() -> Value {
    Value::Json(json!({
        "id": 7, "severity": "high", "score": 5.5, "width": 2048, "none": null, "yes": true,
        "tags": ["urgent", "web"], "big": 18_446_744_073_709_551_615_u64,
        "debt": {"kind": "complexity", "final-score": 9}, "package": "core", "text": "10",
    }))
}

fn eval(text: &str) -> Result<Json, String> {
    eval_as(text, Dialect::Cel)
}

fn eval_as(text: &str, dialect: Dialect) -> Result<Json, String> {
    let expression = Expression::parse_as(text, dialect).map_err(|error| error.to_string())?;
    expression.eval(&ItemScope::new(&item())).map_err(|error| error.to_string())
}

/// Each is true.
fn all_true(dialect: Dialect, texts: &[&str]) {
    for text in texts {
        assert_eq!(eval_as(text, dialect), Ok(json!(true)), "{text}");
    }
}

#[test]
fn the_operators_of_cel_mean_what_they_mean_there() {
    all_true(
        Dialect::Cel,
        &[
            "1 + 2 * 3 == 7",
            "(1 + 2) * 3 == 9",
            "7 / 2 == 3 && -7 / 2 == -3 && 7 % 4 == 3 && -7 % 4 == -3",
            "1.5 + 1.5 == 3.0 && 3 == 3.0 && 2 < 2.5",
            "10 - 2 - 3 == 5",
            "true || false && false",
            "!false && !!true && - -2 == 2",
            "1 < 2 ? true : false",
            "false ? false : false ? false : true",
            "'a' + \"b\" == 'ab' && 'a' < 'b'",
            "[1, 2] + [3] == [1, 2, 3]",
            "{'a': 1, 'b': [2]} == {'b': [2], 'a': 1}",
            "1 != '1' && null != 0 && null == null",
            "2 in [1, 2] && !('x' in ['y']) && 'a' in {'a': 1}",
            "0x1F == 31 && 12u == 12 && 1e3 == 1000.0 && .5 == 0.5",
            r"'\x41\u00e9\U0001F600\101\n' == 'Aé😀A' + '''
'''",
            r"r'\d' == '\\d' && size('é😀') == 2",
            "[1, 2, 3,].size() == 3 && size({'a': 1}) == 1 // a comment",
            "'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.contains('b')",
            "'abc'.matches('^a.c$') && matches('abc', 'b') && !'abc'.matches('^b')",
            "' Ab '.trim().lowerAscii() == 'ab' && 'ab'.upperAscii() == 'AB'",
            "int('12') == 12 && int(2.9) == 2 && double('1.5') == 1.5 && string(12) == '12'",
            "bool('true') && string(true) == 'true' && int(item.text) > 9",
            "[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2, 2].exists_one(x, x == 1)",
            "[1, 2, 3].filter(x, x > 1) == [2, 3] && [1, 2].map(x, x * 2) == [2, 4]",
            "[[1], [2, 3]].exists(x, x.exists(y, y == 3))",
            "{'a': 1}.all(k, k == 'a')",
            "[1, 2][1] == 2 && {'a b': 3}['a b'] == 3 && [1, 2][1.0] == 2",
        ],
    );
}

#[test]
fn an_item_is_known_as_item_and_its_fields_by_their_names() {
    all_true(
        Dialect::Cel,
        &[
            "item.severity == 'high'",
            "severity == 'high' && item.score >= 5",
            "item.tags[0] == 'urgent' && 'web' in tags",
            "debt.kind == 'complexity' && item['debt']['kind'] == debt['kind']",
            "item.debt.`final-score` == 9 && debt['final-score'] == 9",
            "item.package == 'core' && `package` == 'core'",
            "has(item.id) && !has(item.nothing) && has(severity) && !has(nothing)",
            "has(item.none) && item.none == null",
            "has(item.debt.kind) && !has(item.debt.nothing)",
            "tags.exists(item, item == 'web')",
        ],
    );
    let bare = Value::Json(json!("a line"));
    let scope = ItemScope::new(&bare);
    let expression = Expression::parse("item.contains('line')").unwrap();
    assert_eq!(expression.holds(&scope), Ok(true));
}

#[test]
fn a_side_that_decides_makes_up_for_an_error_on_the_other() {
    all_true(
        Dialect::Cel,
        &[
            "item.nothing == 1 || true",
            "true || item.nothing == 1",
            "!(item.nothing == 1 && false)",
            "[1, 'a'].exists(x, x > 0)",
            "!['a', -1].all(x, x > 0)",
        ],
    );
    assert!(eval("item.nothing == 1 || false").is_err());
    assert!(eval("['a', 1].all(x, x > 0)").is_err());
}

#[test]
fn numbers_are_exact_to_their_last_bit_and_never_wrap() {
    all_true(
        Dialect::Cel,
        &[
            "item.big == 18446744073709551615",
            "item.big > 9223372036854775807 && item.big - 1 < item.big",
            "9007199254740993 > 9007199254740992.0 && 9007199254740993 != 9007199254740992.0",
            "-9223372036854775808 < 0 && -9223372036854775808 == -9223372036854775807 - 1",
            "1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -9223372036854775808",
            "!(0.0 / 0.0 == 0.0 / 0.0) && !(0.0 / 0.0 < 1) && !(1 <= 0.0 / 0.0)",
            "16777217 == 16777217.0 && 9007199254740991 == 9007199254740991.0 && 2.5 > 2 && -2.5 < -2",
            "1e19 < item.big && 1.9e19 > item.big && -0.0 == 0",
        ],
    );
    let wrong = [
        "item.big + 1",
        "-item.big",
        "item.big * item.big",
        "-9223372036854775808 - 1",
        "int(1e30)",
        "int('99999999999999999999999999999999999999999999')",
        "1 / 0",
        "1 % 0",
        "1.5 % 2",
        "0.0 / 0.0",
        "[1.0 / 0.0]",
        "int(0.0 / 0.0)",
    ];
    for text in wrong {
        assert!(Expression::parse(text).is_ok(), "{text}");
        assert!(eval(text).is_err(), "{text} is {:?}", eval(text));
    }
    assert_eq!(eval("-9223372036854775808 / -1"), Ok(json!(9_223_372_036_854_775_808_u64)));
    for text in ["18446744073709551616", "-9223372036854775809", "0x1ffffffffffffffff", "1e999"] {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
}

#[test]
fn an_error_of_values_names_the_field_and_the_remedy() {
    let cases = [
        (
            "item.sevrity == 'high'",
            "in `item`: there is no field `sevrity`; did you mean `severity`?",
        ),
        ("sevrity == 'high'", "nothing is called `sevrity`; did you mean `severity`?"),
        (
            "item.debt.x == 1",
            "in `item.debt`: there is no field `x`; there is `kind`, `final-score`",
        ),
        ("item.id.x == 1", "in `item.id`: a number has no field `x`"),
        (
            "item.text > 5",
            "`>` between text and a number; make a number of the text with `int(…)` or `double(…)`",
        ),
        ("item.none > 5", "`>` between null and a number; test it with `!= null` before"),
        ("tags[2] == 'x'", "the list has 2 items, and the first is [0]"),
        ("tags[-1] == 'x'", "the list has 2 items, and the first is [0]"),
        ("tags.contains('web')", "`contains` is of text; of a list, write `part in list`"),
        ("'a' in severity", "`in` text; write `text.contains('part')`"),
        ("int('x')", "`x` is no whole number"),
        ("{'a': 1, 'a': 2}", "the field `a` is there twice"),
        ("size(1)", "`size` of a number, not of text, a list or an object"),
        ("1 / 0", "1 divided by zero"),
        ("id && true", "a number where true or false is expected; compare it with something"),
    ];
    for (text, message) in cases {
        assert_eq!(eval(text), Err(message.to_owned()), "{text}");
    }
    let error = Expression::parse("true && item.sevrity == 'high'").unwrap();
    let error = error.holds(&ItemScope::new(&item())).unwrap_err();
    assert_eq!(error.span.of("true && item.sevrity == 'high'"), "item.sevrity");
    let holds = Expression::parse("item.id").unwrap().holds(&ItemScope::new(&item()));
    assert!(holds.unwrap_err().message.starts_with("a number where true or false"));
}

#[test]
fn an_error_of_the_text_points_at_its_bytes_and_names_the_remedy() {
    let cases = [
        ("", "", "an expression is missing"),
        ("a = 1", "=", "`=` is no operator; equal is written `==`"),
        ("a & b", "&", "`&` is no operator; and is written `&&`"),
        ("a and b", "and", "`and` where an operator or the end is expected; and is written `&&`"),
        ("${item.x} == 1", "${", "an expression names values without `${}`: write `item.x`"),
        ("a == ", "", "the expression ends where a value is expected"),
        ("(a", "", "the expression ends where `)` is expected"),
        ("a.size(1)", "a.size(1)", "`size` wants 0 arguments, not 1"),
        ("startsWith(a, 'b')", "startsWith", "`startsWith` is called as `value.startsWith(…)`"),
        (
            "a.strtsWith('b')",
            "strtsWith",
            "no function is called `strtsWith`; did you mean `startsWith`?",
        ),
        ("timestamp(a) > 1", "timestamp", "`timestamp` of CEL is not supported here"),
        ("a.matches('(')", "'('", "a pattern that is none: unclosed group"),
        ("a.matches(b)", "a.matches(b)", "the pattern of `matches` is text in quotes, not a value"),
        ("has(1)", "1", "`has` wants a field: `has(item.name)`"),
        (
            "package == 1",
            "package",
            "`package` is a reserved word; a value of this name is `item.package` or `` `package` ``",
        ),
        ("'é' + 'x", "'x", "text that is not closed with '"),
        ("é == 1", "é", "`é` has no meaning in an expression"),
        (r"'\d'", r"\d", r"`\d` is no escape; a backslash itself is `\\`, or r'…'"),
        ("b'x' == a", "b", "bytes are not among the values of a flow; write text"),
        ("12ab", "12a", "a number goes over into a name; is a blank missing?"),
        ("a.in", "in", "`in` where the name of a field is expected"),
        (
            "[1].exists(1, true)",
            "1",
            "`exists` wants a name and what holds for it: `exists(x, x > 0)`",
        ),
    ];
    for (text, part, message) in cases {
        let error = Expression::parse(text).unwrap_err();
        assert_eq!((error.span.of(text), error.message.as_str()), (part, message), "{text}");
    }
}

#[test]
fn what_is_named_is_known_before_anything_runs() {
    let text =
        "has(list.output.name) && list.output[0].id in inputs['a b'].c && x.all(y, y.z == w)";
    let expression = Expression::parse(text).unwrap();
    let found: Vec<(String, &str, bool)> = expression
        .references()
        .iter()
        .map(|reference| (reference.path.join("/"), reference.span.of(text), reference.tested))
        .collect();
    let wanted = [
        ("list/output/name", "list.output.name", true),
        ("list/output", "list.output", false),
        ("inputs/a b/c", "inputs['a b'].c", false),
        ("x", "x", false),
        ("w", "w", false),
    ];
    assert_eq!(found, wanted.map(|(path, part, tested)| (path.to_owned(), part, tested)));
}

/// A step whose output is JSON, and one whose output is not UTF-8.
struct Steps(Json);

impl Lookup for Steps {
    fn find(&self, path: &[String]) -> Found<'_> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path[..] {
            ["list" | "raw"] => Found::Space,
            ["list", "output"] => Found::Value(Cow::Borrowed(&self.0)),
            ["list", "failed"] => Found::Value(Cow::Owned(json!(false))),
            ["raw", "output"] => Found::Bytes,
            _ => Found::Missing,
        }
    }

    fn names(&self, path: &[String]) -> Vec<String> {
        let names: &[&str] = if path.is_empty() { &["list", "raw"] } else { &["output", "failed"] };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

#[test]
fn values_that_are_not_in_one_object_are_looked_up_by_their_path() {
    let steps = Steps(json!({"count": 3}));
    let eval = |text: &str| {
        let found = Expression::parse(text).unwrap().eval(&steps);
        found.map_err(|error| error.message)
    };
    assert_eq!(eval("list.output.count + 1"), Ok(json!(4)));
    assert_eq!(eval("!list.failed && has(list.output.count)"), Ok(json!(true)));
    assert_eq!(eval("has(list.output) && !has(list.nothing)"), Ok(json!(true)));
    assert_eq!(
        eval("list.outptu"),
        Err("`list` has no `outptu`; did you mean `output`?".to_owned())
    );
    assert_eq!(
        eval("lits.output"),
        Err("nothing is called `lits`; did you mean `list`?".to_owned())
    );
    assert_eq!(eval("list"), Err("`list` is no value itself; name one of its fields".to_owned()));
    let bytes = "`raw.output` is not UTF-8, and an expression is about text; hand it to a command";
    assert_eq!(eval("raw.output == 'x'"), Err(bytes.to_owned()));
    assert!(eval("has(lits.output)").is_err());
}

#[test]
fn the_loose_dialect_reads_what_workflow_files_write() {
    all_true(
        Dialect::Loose,
        &[
            "severity = 'high'",
            "severity == 'high' AND score > 5",
            "severity == 'low' OR score > 5",
            "NOT severity == 'low' and not (score < 5)",
            "severity in ['high', 'critical']",
            "!(nothing.at.all == 1) && nothing == null && is_null(nothing)",
            "!(nothing > 5) && !(severity > 5) && !(none >= 0)",
            "unified.score >= 5 || tags[0] == 'urgent'",
            "starts_with(severity, 'hi') && ends_with(severity, 'gh') && contains(severity, 'ig')",
            r"matches(severity, '^h\\w+$') && length(tags) == 2",
            "is_number(score) && is_string(severity) && is_bool(yes) && is_array(tags) && is_object(debt)",
            "is_not_null(id) && !is_not_null(nothing)",
            "!contains(id, 'x') && !starts_with(nothing, 'x')",
            "${severity} == 'high' && ${item.id} == 7",
            "${severity == 'high' && score > 5}",
            "${debt.final-score} == 9 && ${debt.final-score > 8}",
            "text >= 10 && text == 10 && text != 11",
            "(nothing && true) == false || true",
        ],
    );
    let holds = |text: &str| {
        let expression = Expression::parse_as(text, Dialect::Loose).unwrap();
        expression.holds(&ItemScope::new(&item())).unwrap()
    };
    assert!(holds("${yes}") && holds("${severity}") && holds("${text}"));
    assert!(!holds("${nothing}") && !holds("'false'") && !holds("'0'") && !holds("''"));
    assert!(Expression::parse_as("is_odd(x)", Dialect::Loose).is_err());
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = |open: &str, middle: &str, close: &str, count: usize| {
        Expression::parse(&format!("{}{middle}{}", open.repeat(count), close.repeat(count)))
    };
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{'a':", "1", "}"),
        ("size(", "a", ")"),
        ("a[", "0", "]"),
        ("true ? 1 : ", "2", ""),
        ("[1].all(x, ", "true", ")"),
        ("a || (", "b", ")"),
    ] {
        assert!(deep(open, middle, close, 20).is_ok(), "{open}");
        let error = deep(open, middle, close, 500).unwrap_err();
        assert!(error.message.contains(&DEPTH_MAX.to_string()), "{open}: {}", error.message);
    }
    for (first, more) in [("1", " + 1"), ("a[0]", "[0]"), ("a[0]", ".b"), ("'a'", ".trim()")] {
        let error = Expression::parse(&(first.to_owned() + &more.repeat(1000))).unwrap_err();
        assert!(error.message.contains(&DEPTH_MAX.to_string()), "{more}: {}", error.message);
    }
    // What is only long is not deep.
    let many = vec!["id == 7"; 700].join(" || ");
    assert_eq!(eval(&many), Ok(json!(true)));
    assert!(Expression::parse(&format!("{}true", "!".repeat(5000))).is_ok());
    assert!(Expression::parse(&format!("a{}", ".b".repeat(2000))).is_ok());
    let long = format!("'{}'", "x".repeat(TEXT_MAX));
    assert!(Expression::parse(&long).unwrap_err().message.contains("8192"));
    let pattern = Expression::parse("'x'.matches('(a{1000}){1000}')").unwrap_err();
    assert!(pattern.message.starts_with("a pattern that is none"), "{}", pattern.message);
}

#[test]
fn work_is_bounded() {
    let list: Vec<u32> = (0..20_000).collect();
    let item = Value::Json(json!({"list": list, "text": "x".repeat(1 << 20)}));
    let scope = ItemScope::new(&item);
    for text in [
        "list.all(a, list.all(b, a + b >= 0))",
        "list.map(a, list)",
        "list.map(a, text)",
        "list.filter(a, list == list)",
        "list.exists(a, text.contains('y'))",
        "list.exists(a, text.matches('y'))",
        "list.map(a, list).map(b, b.map(c, b))",
    ] {
        let error = Expression::parse(text).unwrap().eval(&scope).unwrap_err();
        assert!(error.message.contains("operations"), "{text}: {}", error.message);
    }
    let doubled = (0..9).fold("text".to_owned(), |text, _| format!("({text} + {text})"));
    assert!(Expression::parse(&doubled).unwrap().eval(&scope).is_err());
    assert!(Expression::parse("list.all(a, a >= 0)").unwrap().holds(&scope).unwrap());
}

#[test]
fn nothing_that_can_be_written_makes_it_panic() {
    const PIECES: [&str; 58] = [
        "item",
        "severity",
        "tags",
        "debt",
        "big",
        "none",
        "nothing",
        "text",
        ".",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        "?",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "&&",
        "||",
        "in",
        "has",
        "size",
        "matches",
        "contains",
        "startsWith",
        "exists",
        "all",
        "map",
        "filter",
        "int",
        "double",
        "string",
        "bool",
        "true",
        "null",
        "0",
        "1",
        "9223372036854775808",
        "1e308",
        "'a'",
        "'\\d'",
        "'''",
        "é",
        "`",
        "${",
    ];
    const WHOLE: [&str; 6] = [
        "item.severity == 'high' && item.score >= 5 || !has(item.x)",
        "tags.exists(t, t.matches('^u')) ? size(tags) : int(text)",
        "item.debt['kind'].startsWith('c') && big - 1 > 0x10",
        "{'a': [1, 2.5, null]}.a[1] / 0.0 < -1e300",
        "severity in ['high', \"low\"] AND NOT ${debt.final-score} = 3",
        "'\\u00e9\\x41' + r'\\' + '''long''' != string(1.5)",
    ];
    let item = item();
    each_seed(20_000, |mut random| {
        let mut draw = |below: usize| (random.word() % below as u64) as usize;
        let text = if draw(2) == 0 {
            let count = 1 + draw(16);
            let space = if draw(2) == 0 { " " } else { "" };
            let pieces: Vec<&str> = (0..count).map(|_| PIECES[draw(PIECES.len())]).collect();
            pieces.join(space)
        } else {
            let mut text: Vec<char> = WHOLE[draw(WHOLE.len())].chars().collect();
            for _ in 0..1 + draw(3) {
                let at = draw(text.len().max(1)).min(text.len().saturating_sub(1));
                match draw(4) {
                    0 if !text.is_empty() => drop(text.remove(at)),
                    1 if !text.is_empty() => text[at] = char::from(draw(128) as u8),
                    2 => text.truncate(at),
                    _ => text.extend(PIECES[draw(PIECES.len())].chars()),
                }
            }
            text.into_iter().collect()
        };
        for dialect in [Dialect::Cel, Dialect::Loose] {
            match Expression::parse_as(&text, dialect) {
                Ok(expression) => {
                    let scope = ItemScope::new(&item);
                    let (value, holds) = (expression.eval(&scope), expression.holds(&scope));
                    // The two ways agree on what is true.
                    if let Ok(Json::Bool(value)) = value {
                        assert_eq!(holds, Ok(value), "{text}");
                    }
                    for reference in expression.references() {
                        assert!(text.get(reference.span.start..reference.span.end).is_some());
                    }
                }
                Err(error) => {
                    assert!(
                        text.get(error.span.start..error.span.end).is_some(),
                        "{text}: {error:?}"
                    );
                }
            }
        }
    });
}
