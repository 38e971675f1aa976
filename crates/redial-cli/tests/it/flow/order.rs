//! Which of what is ready starts first.

use super::Place;

#[test]
fn the_items_of_the_map_with_the_highest_priority_start_first() {
    let place = Place::new();
    let flow = r#"
flow: order
steps:
  low:
    each: {lines: items}
    steps:
      - shell: 'echo "low ${item}" >> order'
  high:
    each: {lines: items}
    priority: 5
    steps:
      - shell: 'echo "high ${item}" >> order'
  highest:
    each: {lines: items}
    steps:
      - shell: 'echo "highest ${item}" >> order'
        priority: 7
  own:
    each: {lines: items}
    priority: 9
    steps:
      - shell: 'echo "own ${item}" >> order'
        priority: 0
"#;
    std::fs::write(place.path().join("items"), "a\nb\n").unwrap();
    place.runs(flow, &["-j", "1"], 0);
    let order = std::fs::read_to_string(place.path().join("order")).unwrap();
    let order: Vec<_> = order.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(order, ["highest", "highest", "high", "high", "low", "low", "own", "own"]);
}
