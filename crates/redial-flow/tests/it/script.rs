//! Scripts: what is wrong with them, to the byte, and what steps they come to.

use std::collections::BTreeMap;

use redial_flow::definition::{Action, Definition};
use redial_flow::notation::{Modules, Options, Reading, STEPS_MAX};
use redial_flow::prepared::Prepared;
use redial_policy::Kind;
use serde_json::{Value, json};

const MODULES: &str = r#"
[type]
Request = "String"
Record = "{ id: Int, name: String }"

[module.Search]
argv = ["curl", "-fsS", "https://api.test/search?q={query}"]
in = { query = "String" }
out = "String"
rules = "curl"

[module.Count]
argv = ["count"]
stdin = "json"
in = { record = "Record", more = "Int" }
out = "Int"
idempotent = false

[module.Name]
argv = ["name", "${{id}}{record.name}$", "{record.id}"]
env = { NAME = "{record.name}" }
in = { record = "Record" }
out = "Record"
"#;

fn modules() -> Modules {
    let (modules, found) = Modules::read(MODULES);
    assert_eq!(found, []);
    modules
}

fn read(text: &str) -> Reading {
    Options { modules: Some(&modules()), ..Options::default() }.read_script(text)
}

/// The findings: name, place and message, one a line.
fn told(text: &str) -> String {
    let found = read(text).diagnostics;
    let lines = found.iter().map(|one| {
        format!("{} `{}`: {}", one.kind.name(), one.span.of(text).replace('\n', "⏎"), one.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(told(text), expected.trim(), "{text}");
}

#[track_caller]
fn definition(text: &str) -> Definition {
    assert_eq!(told(text), "", "{text}");
    let definition = read(text).definition.expect("a definition");
    Prepared::new(definition.clone()).expect("a definition that can be run");
    definition
}

fn step(definition: &Definition, name: &str) -> Value {
    let step = definition.steps.iter().find(|step| step.name == name);
    serde_json::to_value(step.unwrap_or_else(|| panic!("there is no step {name}"))).unwrap()
}

/// The steps in CEL, and under which conditions.
fn values(definition: &Definition) -> BTreeMap<&str, &str> {
    fn of(action: &Action) -> &str {
        match action {
            Action::Value(text) => text,
            _ => "",
        }
    }
    definition.steps.iter().map(|step| (step.name.as_str(), of(&step.action))).collect()
}

fn when(definition: &Definition, name: &str) -> String {
    step(definition, name)["when"]["text"].as_str().unwrap_or("").to_owned()
}

#[test]
fn a_call_is_a_step_with_the_command_and_the_policy_that_it_says() {
    let definition = definition(
        "in query: String\n\
         result = Search(query) with retry: 5, delay: 100ms, backoff: exponential, timeout: 5s\n\
         out result\n",
    );
    assert_eq!(
        step(&definition, "result"),
        json!({
            "name": "result",
            "action": {"run": {"argv": ["curl", "-fsS", "https://api.test/search?q=${inputs.query}"]}},
            "policy": "attempts: 6, delay: 100ms, backoff: exponential, max_delay: 30s, timeout: 5s",
            "rules": {"sets": [{"name": "curl"}]},
        })
    );
    assert_eq!(definition.outputs, [("result".to_owned(), "${result.output}".to_owned())]);
}

#[test]
fn what_a_module_is_given_stays_data() {
    let definition = definition(
        "in count: Int\n\
         a = Name({ id: 7, name: \"$${x}\" })\n\
         b = Name(a)\n\
         c = Count(b, count + 1)\n\
         out c\n"
            .replace("${x}", "\\${x}")
            .as_str(),
    );
    // Before a brace two dollars of a template are one, also those that a literal ends with.
    let argv = |name: &str| step(&definition, name)["action"]["run"]["argv"].clone();
    assert_eq!(argv("a"), json!(["name", "$${{id}}$$$${x}$", "7"]));
    assert_eq!(argv("b"), json!(["name", "$${{id}}${a.output.name}$", "${a.output.id}"]));
    assert_eq!(step(&definition, "b")["env"], json!([["NAME", "${a.output.name}"]]));
    assert_eq!(
        step(&definition, "a")["output_type"],
        json!({"record": [["id", "int"], ["name", "string"]]})
    );
    assert_eq!(step(&definition, "c")["stdin"], "${c-stdin.output}");
    assert_eq!(step(&definition, "c")["idempotent"], false);
    let value = values(&definition)["c-stdin"];
    assert_eq!(value, "{'record': b.output, 'more': (inputs.count + 1)}");
}

#[test]
fn calls_that_do_not_depend_on_each_other_need_nothing_of_each_other() {
    let definition =
        definition("in q: String\na = Search(q)\nb = Search(q)\nc = Search(\"${a}${b}\")\nout c\n");
    let needs = |name: &str| step(&definition, name)["needs"].clone();
    assert_eq!((needs("a"), needs("b")), (Value::Null, Value::Null));
    assert_eq!(values(&definition)["c-query"], "a.output + b.output");
    assert_eq!(needs("c"), json!([{"step": "c-query", "kind": "over"}]));
}

#[test]
fn a_text_that_is_given_to_a_function_stays_text() {
    let definition =
        definition("in q: String\na = concat(q, \"{0} '\")\nb = max(1, 2)\nout a\nout b\n");
    assert_eq!(values(&definition)["a"], "inputs.q + '{0} \\''");
    assert_eq!(values(&definition)["b"], "1 > 2 ? 1 : 2");
}

#[test]
fn a_call_in_an_arm_is_run_where_that_is_taken() {
    let definition = definition(
        "in n: Int\n\
         x = branch {\n  n > 2 -> Search(\"big\"),\n  n > 1 -> Search(\"middle\"),\n  otherwise -> \"none\"\n}\n\
         y = Search(\"y\") when n > 5\n\
         z = y ?? Search(\"z\")\n\
         out x\nout z\n",
    );
    assert_eq!(when(&definition, "x-Search"), "(inputs.n > 2)");
    assert_eq!(when(&definition, "x-Search--2"), "!(inputs.n > 2) && (inputs.n > 1)");
    assert_eq!(when(&definition, "y-Search"), "(inputs.n > 5)");
    assert_eq!(when(&definition, "z-Search"), "y.output == null");
    assert_eq!(values(&definition)["y"], "(inputs.n > 5) ? `y-Search`.output : null");
}

#[test]
fn a_fallback_is_evaluated_only_where_the_call_has_failed() {
    let definition = definition(
        "in n: Int\nin d: String\n\
         a = Search(d) with fallback: \"a ${d}\"\n\
         b = Search(d) with fallback: d, retry: 1\n\
         c = Search(d) with fallback: Search(\"other\"), retry: 2\n\
         e = Search(d) with on_error: skip\n\
         f = Search(d) with on_error: log, fallback: (Search(\"g\") with retry: 1)\n\
         out a\nout b\nout c\nout e\nout f\n",
    );
    assert_eq!(step(&definition, "b")["fallback"], json!({"value": "${inputs.d}"}));
    assert_eq!(step(&definition, "e")["fallback"], json!({"value": ""}));
    assert_eq!(values(&definition)["a-result"], "a.failed ? ('a ' + inputs.d) : a.output");
    assert_eq!(step(&definition, "c")["on_failure"], "continue");
    assert_eq!(step(&definition, "c")["policy"], "attempts: 3");
    assert_eq!(step(&definition, "c-Search")["policy"], "attempts: 1");
    assert_eq!(when(&definition, "c-Search"), "c.failed");
    // What is to be passed over may also be the failure of the fallback.
    assert_eq!(
        values(&definition)["f-result"],
        "f.failed ? (`f-Search`.failed ? '' : `f-Search`.output) : f.output"
    );
}

#[test]
fn a_lazy_call_is_run_under_the_conditions_under_which_it_is_needed() {
    let definition = definition(
        "in n: Int\n\
         a = Search(\"a\") with lazy\n\
         b = Search(a) with lazy: true\n\
         never = Search(\"never\") with lazy\n\
         always = Search(\"always\") with lazy: false\n\
         used = Search(\"used\") with lazy\n\
         x = if (n > 1) Search(b) else \"x\"\n\
         y = Search(used)\n\
         out x\nout y\n",
    );
    assert_eq!(when(&definition, "never"), "false");
    assert_eq!(when(&definition, "always"), "");
    assert_eq!(when(&definition, "used"), "");
    assert_eq!(when(&definition, "b"), "((inputs.n > 1))");
    assert_eq!(when(&definition, "a"), "(((inputs.n > 1)))");
}

#[test]
fn the_calls_of_a_module_share_its_throttle_and_its_limit() {
    let definition = definition(
        "a = Search(\"a\") with throttle: 100/1min, priority: high\n\
         b = Search(\"b\") with throttle: 100/1min, concurrency: 2\n\
         c = Search(\"c\") with priority: 0\n\
         out a\nout b\nout c\n",
    );
    let first = step(&definition, "a");
    assert_eq!(first["rate"], json!({"count": 100, "per": {"secs": 60, "nanos": 0}}));
    assert_eq!((&first["slots"], &first["priority"]), (&json!(2), &json!(30)));
    assert_eq!(step(&definition, "b")["shares"], "a");
    assert_eq!(step(&definition, "c")["priority"], -50);
    assert_eq!(step(&definition, "c").get("shares"), None);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    check(
        "in query: Strng\n\
         result = Serch(query) with retyr: 3, backoff: exponential, cache: 5min\n\
         other = Search(1, 2)\n\
         wrong = Search(1)\n\
         sum = 1 + \"a\"\n\
         all = sum and true\n\
         x = Search(\"a\") with on_error: wrap, fallback: 5\n\
         broken = (1 +\n\
         out result\nout reslt\n",
        "
unknown-type `Strng`: there is no type `Strng`; did you mean `String`?
unknown-module `Serch`: there is no module `Serch`; did you mean `Search`?
unknown-option `retyr`: `retyr` is not an option; did you mean `retry`?
not-supported `cache`: `cache`: results are not kept from one call to another; a run that is resumed keeps its own
type-mismatch `Search`: `Search` takes 1 value, and here are 2
type-mismatch `1`: `query` of `Search` takes String, and this is Int
type-mismatch `1 + \"a\"`: `+` between Int and String: it stands between two numbers
not-supported `wrap`: `on_error: wrap`: there are no values that are either an error or a result; use skip, log or a fallback
type-mismatch `5`: the fallback of `Search` takes String, and this is Int
syntax `out`: `out` is a word of the language and no name
unknown-value `reslt`: nothing is called `reslt`; did you mean `result`?
",
    );
}

#[test]
fn what_is_not_run_is_refused_by_name() {
    for (text, excerpt) in [
        ("a = Search(\"q\") with cache: 5min\nout a\n", "cache"),
        ("a = Search(\"q\") with cache_backend: \"redis\"\nout a\n", "cache_backend"),
        ("a = Search(\"q\") with window: tumbling(5s)\nout a\n", "window"),
        ("a = Search(\"q\") with on_error: wrap\nout a\n", "wrap"),
        ("use stdlib.math\n", "use"),
        ("in q: String | Int\n", "|"),
        ("in q: Candidates<String>\n", "Candidates"),
        ("in n: Int\na = match n { _ -> 1 }\n", "match"),
        ("in l: List<Int>\na = map(l, (x) => x)\n", "=>"),
        ("in n: Int\na = stdlib.math.add(n, 1)\n", "stdlib"),
        ("in r: Record\na = r[id, name]\n", "["),
        ("@source(\"kafka\") in n: Int\n", "@source"),
    ] {
        let reading = read(text);
        let refused = reading.diagnostics.iter().find(|one| one.kind.name() == "not-supported");
        let refused = refused.unwrap_or_else(|| panic!("{text}: {}", told(text)));
        assert_eq!(refused.span.of(text), excerpt, "{text}");
    }
}

#[test]
fn a_fallback_that_takes_the_options_says_what_binds_to_what() {
    let text = "a = Search(\"q\") with fallback: Search(\"r\") with retry: 2, timeout: 3s\nout a\n";
    let reading = read(text);
    let [found] = reading.diagnostics.as_slice() else { panic!("{}", told(text)) };
    assert_eq!(
        (found.kind.name(), found.span.of(text), found.span.start),
        ("fallback-takes-options", "with", 43)
    );
    assert_eq!(
        found.note.as_deref(),
        Some("this is `Search` with fallback: …, and `Search` with retry: 2, timeout: 3s")
    );
    // In parentheses the options after it are those of the first call.
    let definition =
        definition("a = Search(\"q\") with fallback: (Search(\"r\")), retry: 2\nout a\n");
    assert_eq!(step(&definition, "a")["policy"], "attempts: 3");
    assert_eq!(step(&definition, "a-Search")["policy"], "attempts: 1");
}

#[test]
fn a_file_of_modules_is_checked_too() {
    let text = "\
[type]
T = \"Optionl<Int>\"
[module.A]
argv = [\"sh\", \"-c\", \"echo {x}\"]
in = { x = \"String\" }
out = \"Strin\"
[module.B]
arv = [\"true\"]
out = \"String\"
[module.C]
argv = [\"echo\", \"{querry}\"]
in = { query = \"String\" }
out = \"String\"
rules = \"crul\"
";
    let (modules, found) = Modules::read(text);
    assert_eq!(modules.names().count(), 0);
    let lines = found.iter().map(|one| format!("{} `{}`", one.kind.name(), one.span.of(text)));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "not-supported `Optionl`",
            "nested-interpreter `{x}`",
            "unknown-type `Strin`",
            "one-action `B`",
            "unknown-option `arv`",
            "unknown-value `{querry}`",
            "unknown-rules `\"crul\"`",
        ]
    );
}

#[test]
fn inputs_are_read_as_their_types() {
    let text = "@example(3) in n: Int\n@example(\"x\") in s: String\nin o: Optional<Int>\nin l: List<Int>\na = Search(s)\nout a\n";
    let modules = modules();
    let with = |inputs: &[(&str, &str)], examples: bool| {
        let inputs = inputs.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        Options { modules: Some(&modules), inputs, examples, ..Options::default() }
            .read_script(text)
    };
    let reading = with(&[("n", "5"), ("l", "[1, 2]")], true);
    let inputs = reading.definition.expect("it is right").inputs;
    assert_eq!(json!(inputs), json!({"n": 5, "s": "x", "o": null, "l": [1, 2]}));
    assert_eq!(reading.inputs_missing, []);
    let missing = with(&[], false).inputs_missing;
    assert_eq!(missing.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["n", "s", "l"]);
    for (input, message) in [
        (("n", "five"), "input `n`: its value is five, and not of type Int"),
        (("n", "1.5"), "input `n`: its value is 1.5, and not of type Int"),
        (
            ("n", "9223372036854775808"),
            "input `n`: its value is 9223372036854775808, and not of type Int",
        ),
        (("l", "[1, true]"), "input `l`: its value has true at `[1]`, and not a value of type Int"),
        (("m", "1"), "--input: the script has no input `m`; did you mean `l`?"),
    ] {
        let reading = with(&[input], true);
        assert_eq!(reading.diagnostics[0].message, message);
        assert!(reading.definition.is_none());
    }
}

/// Pages with a script, read with modules that their texts know.
#[test]
fn the_pages_of_diagnostics_of_scripts_are_true() {
    let mut pages = 0;
    for kind in Kind::all() {
        let mut blocks = kind.page().split("```script\n").skip(1);
        let Some(example) = blocks.next() else { continue };
        pages += 1;
        let text = |block: &str| block.split("```").next().unwrap_or_default().to_owned();
        let found = read(&text(example)).diagnostics;
        let names: Vec<_> = found.iter().map(|one| one.kind.name()).collect();
        assert_eq!(names, [kind.name()]);
        assert_eq!(told(&text(blocks.next().expect("a fix"))), "", "{}", kind.page());
    }
    assert_eq!(pages, 4);
}

#[test]
fn hostile_scripts_end_in_a_diagnostic() {
    let repeated = |text: &str, count: usize| text.repeat(count);
    for text in [
        repeated("(", 100_000),
        format!("a = {}1{}", repeated("(", 100_000), repeated(")", 100_000)),
        format!("a = {}", repeated("not ", 100_000)),
        format!("a = {}1", repeated("-", 100_000)),
        format!("a = {}", repeated("[", 100_000)),
        format!("in a: {}", repeated("List<", 100_000)),
        format!("in a: {}", repeated("{ a: ", 100_000)),
        format!("a = {}\"{}", repeated("\"${", 50_000), repeated("}\"", 50_000)),
        format!("a = {}Search(1)", repeated("Search(1) with fallback: ", 50_000)),
        "x".repeat(5 << 20),
        repeated("a", 1 << 20),
        repeated("\"", 1 << 20),
        repeated("a = ", 100_000),
        repeated("@example(1) in ", 50_000),
        format!("in a: Int\nb = {}1\nout b\n", repeated("if (a > 1) a else ", 50_000)),
    ] {
        let reading = read(&text);
        assert!(reading.has_errors(), "{}", &text[..text.len().min(80)]);
        assert!(reading.diagnostics.len() <= 1000);
    }
    // A million steps are more than 4 MiB; of what is shorter, the first ten thousand are read.
    let text: String = (0..1_000_000).map(|n| format!("a{n}=1+n\n")).collect();
    assert!(told(&text).contains("at most 4194304 are read"), "{}", told(&text));
    let text: String = (0..200_000).map(|n| format!("a{n}=Search(\"\")\n")).collect();
    let reading = read(&text);
    assert!(
        reading.diagnostics.iter().any(|one| one.message.contains(&format!("{STEPS_MAX} steps")))
    );
}

#[test]
fn long_chains_are_no_deep_ones() {
    let sum = format!("in n: Int\na = n{}\nout a\n", " + n".repeat(2_000));
    let chain = format!("in o: Optional<Int>\na = o{} ?? 1\nout a\n", " ?? o".repeat(500));
    let cases: String = (0..200).map(|n| format!("  n == {n} -> \"{n}\",\n")).collect();
    let branch = format!("in n: Int\na = branch {{\n{cases}  otherwise -> \"none\"\n}}\nout a\n");
    let types: String = (0..40).map(|n| format!("r{} = {{ a: r{n}, b: r{n} }}\n", n + 1)).collect();
    for text in [sum, chain, branch] {
        definition(&text);
    }
    // Each record holds the one before twice.
    let text = format!("in n: Int\nr0 = {{ a: n }}\n{types}out r40\n");
    assert!(read(&text).diagnostics.iter().all(|one| one.kind.name() == "too-large"));
}

#[test]
fn names_of_every_script_are_names() {
    for name in
        ["größe", "名前", "имя", "όνομα", "नाम", "اسم", "שם", "ชื่อ", "x-y", "_x", "item", "null"]
    {
        let definition = definition(&format!(
            "in n: Int\n{name} = Search(\"${{n}}\")\nb = Search({name})\nout b\n"
        ));
        assert_eq!(definition.steps.len(), 3, "{name}");
    }
}

const WHOLE: &str = r#"type Pair = { a: Int, b: Optional<String> }
@example("x") in query: String
in n: Int
in pair: Pair
in list: List<Float>
a = Search(query) with retry: 3, delay: 1s, backoff: exponential, timeout: 5s, throttle: 10/1s
b = Search("${a} and ${n + 1}") with fallback: Search(query) with retry: 1, on_error: skip
c = Count({ id: n, name: "it's" }, 2) with on_error: log, fallback: n / 2, priority: high, lazy
d = if (n > 1 and not (n == 3)) c else if (n < 0) -n else 0
e = branch { n > d -> Search("1") when n != 7, otherwise -> pair.b }
f = e ?? pair.b ?? Search(a)
g = [1.5, 2] # a list
h = list-length(list) * 2 - max(n, d)
i = Name({ id: h, name: trim(f) }) with concurrency: 2
out f
out g
out i
"#;

/// Heaps of words of a script are read, whatever they are: what is wrong has a place in the text, and what is not wrong can
/// be prepared to run.
#[test]
fn what_is_read_without_an_error_can_be_run() {
    use redial_seeds::Draw as _;
    let words: Vec<&str> = WHOLE.split_inclusive([' ', '\n', '(', ')', ',', '"', '.']).collect();
    let modules = modules();
    redial_seeds::each_case(300, |dice| {
        let mut words = words.clone();
        for _ in 0..dice.below(4) {
            let (at, other) = (dice.below(words.len()), dice.below(words.len()));
            match dice.below(4) {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[other]),
                2 => words.swap(at, other),
                _ => words.insert(
                    at,
                    dice.pick(&["with ", "}", "\"", "${", "é", "\u{0}", "-9", "??", "\n"]),
                ),
            }
        }
        let text = words.concat();
        let options = Options { modules: Some(&modules), ..Options::default() };
        let reading = options.read_script(&text);
        for found in &reading.diagnostics {
            assert!(text.get(found.span.start..found.span.end).is_some(), "{found:?}\n{text}");
        }
        if let Some(definition) = reading.definition {
            let pinned = serde_json::to_string(&definition).unwrap();
            let again: Definition = serde_json::from_str(&pinned).unwrap();
            assert_eq!(again, definition);
            if let Err(bad) = Prepared::new(definition) {
                panic!("{bad}\n{text}\n{pinned}");
            }
        }
    });
    let all = read(WHOLE);
    assert!(all.definition.is_some(), "{}", told(WHOLE));
}
