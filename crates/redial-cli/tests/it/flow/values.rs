//! Values of flows are data, on their way from step to step.

use super::Place;

#[test]
fn a_number_goes_from_step_to_step_as_it_was_printed() {
    let place = Place::new();
    let flow = r#"
flow: prices
steps:
  list:
    run: [printf, '{"price": 1.50, "all": [{"id": 12345678901234567890123}], "n": 2}']
    output: json
  wait:
    needs: list
    run: [test, -e, go]
  each:
    each: ${list.output.all}
    needs: wait
    steps:
      - run: [echo, "id ${item.id}"]
  index:
    needs: [each, wait]
    when: list.output.price > 1.25 && list.output.price < 1.75
    run: [echo, "${list.output.price}", "${list.output}"]
outputs:
  index: ${index.output}
  price: ${list.output.price}
"#;
    let (_, said) = place.runs(flow, &["--run", "prices"], 1);
    assert!(said.contains("wait"), "{said}");
    // Another process reads them from the journal.
    std::fs::write(place.path().join("go"), "").unwrap();
    let output = place.redial(&["dead", "retry", "prices", "--json", "-q"]);
    let expected = r#"{"index":"1.50 {\"price\":1.50,\"all\":[{\"id\":12345678901234567890123}],\"n\":2}","price":1.50}"#;
    assert_eq!(crate::program::stdout(&output).trim_end(), expected);
    let items =
        std::fs::read_to_string(place.path().join(".redial/runs/prices/items.ndjson")).unwrap();
    assert!(items.contains("12345678901234567890123"), "{items}");
}

#[test]
fn a_large_output_is_on_standard_input_what_a_small_one_is() {
    for count in ["3", "300000"] {
        let place = Place::new();
        let flow = format!(
            r#"
flow: sizes
steps:
  list: {{shell: 'seq {count}; echo; echo'}}
  last: {{run: [sh, -c, 'tail -c 2 | od -An -c'], stdin: "${{list.output}}"}}
outputs:
  last: ${{last.output}}
"#
        );
        let (printed, _) = place.runs(&flow, &[], 0);
        let last = count.as_bytes()[count.len() - 1] as char;
        assert_eq!(printed.split_whitespace().last(), Some(last.to_string().as_str()));
    }
}

#[test]
fn what_can_be_done_about_a_large_output_is_said_where_it_cannot_be_a_value() {
    let place = Place::new();
    let flow = r#"
flow: sizes
steps:
  list: {run: [seq, "300000"]}
  more: {run: [wc], stdin: "${list.output}\n"}
  word: {run: [echo, "${list.output}"]}
  when: {when: 'list.output == "1"', run: ['true']}
"#;
    place.runs(flow, &["--run", "s"], 1);
    let letters = place.json(&["dead", "list", "s", "--json"]);
    let letters = letters["dead"].as_array().unwrap();
    assert_eq!(letters.len(), 3);
    for letter in letters {
        let message = letter["message"].as_str().unwrap();
        let remedy = "`list.output` cannot be read: it has 1988895 bytes, and more than 1048576 are read by `stdin` \
                      and `each` alone, where the reference is all of their text";
        assert!(message.contains(remedy), "{message}");
    }
}

#[test]
fn the_number_of_an_item_is_a_value_in_every_text() {
    let place = Place::new();
    let flow = r#"
flow: numbers
steps:
  each:
    each: {lines: items}
    steps:
      - shell: 'echo "n=${item_number} ${item} "${item_number}'
outputs: {each: "${each.results}"}
"#;
    std::fs::write(place.path().join("items"), "x\ny\n").unwrap();
    let (printed, said) = place.runs(flow, &[], 0);
    assert_eq!(printed, "[\"n=1 x 1\",\"n=2 y 2\"]\n", "{said}");

    let workflow = r#"
name: numbers
mode: mapreduce
map:
  input: items.json
  json_path: "$.items[*]"
  agent_template:
    - shell: 'echo "id=${item_id} ${item.name}" >> seen'
  max_parallel: 1
"#;
    std::fs::write(place.path().join("items.json"), r#"{"items": [{"name": "a"}, {"name": "b"}]}"#)
        .unwrap();
    place.runs(workflow, &[], 0);
    let seen = std::fs::read_to_string(place.path().join("seen")).unwrap();
    assert_eq!(seen, "id=1 a\nid=2 b\n");
}

#[test]
fn the_results_of_a_map_have_one_for_each_item_that_succeeded() {
    let place = Place::new();
    let flow = r#"
flow: results
steps:
  texts:
    each: {lines: items}
    steps:
      - shell: 'test ${item} != 2 || exit 0; test ${item} != 3 || exit 1; echo "r${item}"'
  nothing:
    each: {lines: items}
    steps:
      - shell: "echo unheard"
        output: none
  show:
    run: [echo, "${texts.results} ${texts.succeeded} ${nothing.results}"]
outputs: {show: "${show.output}"}
"#;
    std::fs::write(place.path().join("items"), "1\n2\n3\n4\n").unwrap();
    let (_, said) = place.runs(flow, &["--run", "one"], 1);
    assert!(said.contains("1 dead"), "{said}");
    place.redial(&["dead", "drop", "one", "--all"]);
    let journal = place.path().join(".redial/runs/one/journal.ndjson");
    let journal = std::fs::read_to_string(journal).unwrap();
    let shown = r#"[\"r1\",\"\",\"r4\"] 3 [null,null,null,null]"#;
    assert!(journal.contains(shown), "{journal}");

    let workflow = r#"
name: files
mode: mapreduce
map:
  input: items.json
  json_path: "$.items[*]"
  agent_template:
    - write_file: {path: "f${item}", content: "x"}
reduce:
  - shell: 'echo "${map.results}" > results'
"#;
    std::fs::write(place.path().join("items.json"), r#"{"items": [1, 2]}"#).unwrap();
    place.runs(workflow, &[], 0);
    assert_eq!(std::fs::read_to_string(place.path().join("results")).unwrap(), "[null,null]\n");
}

#[test]
fn an_item_that_looks_like_an_option_or_leaves_the_directory_is_a_warning_once_for_each_step() {
    let place = Place::new();
    let flow = r#"
flow: suspects
steps:
  each:
    each: {lines: items}
    steps:
      - name: list
        run: [echo, "${item}", "out/${item}"]
      - name: meant
        run: [echo, --, "${item}"]
      - name: line
        shell: 'echo -- ${item}; echo ${item} >/dev/null'
"#;
    std::fs::write(place.path().join("items"), "a\n-x\n../e\n-y\n-z\n").unwrap();
    let (_, said) = place.runs(flow, &["-j", "1"], 0);
    let warnings: Vec<_> = said.lines().filter(|line| line.contains("warning")).collect();
    let option =
        "the value of `item` begins with `-` and looks like an option; put `--` or `./` before it";
    let climbs =
        "the value of `item` has `..` and leads out of the directory; check it where it comes from";
    let expected = [
        format!("redial: warning: step `list`, item 2: {option}"),
        format!("redial: warning: step `line`, item 2: {option}"),
        format!("redial: warning: step `list`, item 3: {climbs}"),
        "redial: warning: step `list`: 2 more items have values that begin with `-`".into(),
        "redial: warning: step `line`: 2 more items have values that begin with `-`".into(),
    ];
    assert_eq!(warnings, expected, "{said}");

    let workflow = r#"
name: files
mode: mapreduce
map:
  input: items.json
  json_path: "$.items[*]"
  agent_template:
    - write_file: {path: "out/${item.id}.txt", content: "x"}
"#;
    std::fs::create_dir(place.path().join("out")).unwrap();
    std::fs::write(place.path().join("items.json"), r#"{"items": [{"id": "../e"}]}"#).unwrap();
    let (_, said) = place.runs(workflow, &[], 0);
    assert!(said.contains("item 1: the value of `item.id` has `..`"), "{said}");

    let output =
        crate::program::redial(place.path(), &["map", "--items", "items", "--", "echo", "{}"]);
    let said = crate::program::stderr(&output);
    assert!(said.contains("item 2: the value of `item` begins with `-`"), "{said}");
}

#[test]
fn with_verbose_what_steps_print_is_shown_under_their_names() {
    let place = Place::new();
    let flow = "
steps:
  one: {shell: 'echo out; echo err >&2; test $REDIAL_ATTEMPT = 2', policy: 'attempts: 2, delay: 1ms'}
  m:
    needs: one
    each: {lines: items}
    slots: 1
    steps: [{shell: 'echo item \"${item}\"'}]
outputs: {all: '${one.output}'}
";
    std::fs::write(place.path().join("items"), "a\nb\n").unwrap();
    let (printed, said) = place.runs(flow, &["-v", "-j", "1"], 0);
    // Standard output is for the outputs of the flow.
    assert_eq!(printed, "out\n");
    for words in [
        "redial: one: attempt 2 succeeded\nout\nerr\n",
        "redial: m.1 a: attempt 1 succeeded\nitem a\n",
        "redial: m.1 b: attempt 1 succeeded\nitem b\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (_, said) = place.runs(flow, &["--run", "again"], 0);
    assert!(!said.contains("item a") && !said.contains("attempt 1 succeeded"), "{said}");
}

#[test]
fn an_output_that_is_too_large_to_be_a_value_is_told_so_in_a_condition() {
    let place = Place::new();
    let flow = "
steps:
  big: {run: [seq, '300000']}
  after: {run: [echo, hi], when: 'big.output != \"\"'}
";
    let (_, said) = place.runs(flow, &[], 1);
    let words = "`big.output` cannot be read: it has 1988895 bytes, and more than 1048576 are read by `stdin` and `each` alone";
    assert!(said.contains(words), "{said}");
}
