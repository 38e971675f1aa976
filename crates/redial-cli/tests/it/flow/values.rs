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
