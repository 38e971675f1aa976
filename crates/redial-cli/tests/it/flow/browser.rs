//! The page of a run as a browser shows it.

use redial_flow::record::{Event, Outcome, Record};

use super::{Place, end, failed, gives_up, retry, run_start, start, whole};
use crate::simulate::browser::{DARK, LIGHT, check};

fn page(records: &[Record]) -> String {
    let place = Place::new();
    place.run("nightly-2026.11", records);
    place.works(&["report", "--html", "-"])
}

/// Names of any length, and a time of any length.
fn extreme() -> Vec<Record> {
    let mut records = vec![run_start(0.0, Event::RunStart)];
    for item in 0..4 {
        let at = f64::from(item) * 1e6;
        records.push(start(at, "fetch", Some(item), 1));
        let tail = format!("curl: (22) {} {}\n", "no such page ".repeat(20), "x".repeat(400));
        let failed = failed(at + 1.0, "fetch", Some(item), 1, 22);
        records.push(Record { stderr_tail: Some(tail.into()), ..failed });
        records.push(retry(at + 1.0, "fetch", Some(item), 1, 86_400.0));
        records.push(start(at + 86_401.0, "fetch", Some(item), 2));
        let outcome = if item == 0 { Outcome::Timeout } else { Outcome::Succeeded };
        records.push(end(at + 86_402.0, "fetch", Some(item), 2, outcome));
    }
    records.extend(gives_up(4e6, "fetch", Some(0), 2));
    for record in &mut records {
        let key =
            record.item.map(|item| format!("https://example.test/{item}/{}", "x".repeat(300)));
        record.key = key.map(Into::into);
    }
    records
}

/// More rows than a screen has.
fn tall() -> Vec<Record> {
    let mut records = vec![run_start(0.0, Event::RunStart)];
    for item in 0..60 {
        records.push(start(f64::from(item), "fetch", Some(item), 1));
        records.push(end(f64::from(item) + 3.0, "fetch", Some(item), 1, Outcome::Succeeded));
    }
    records
}

/// Steps side by side and past one another, and a map.
fn plan(flow: &str) -> String {
    let place = Place::new();
    std::fs::write(place.path().join("flow.yaml"), flow).unwrap();
    place.works(&["plan", "flow.yaml", "--html", "-"])
}

const FLOW: &str = "
flow: thumbnails
steps:
  list: {run: [sh, list.sh], timeout: 30s, policy: 'attempts: 5, delay: 1s, jitter: full', output: json}
  charge: {run: [sh, pay.sh], idempotent: false}
  resize:
    each: ${list.output}
    where: item.width > 1024
    slots: 8
    rate: 100/1min
    failures_max: 5%
    steps:
      fetch: {run: [sh, fetch.sh, '${item.url}'], timeout: 1min}
      shrink: {shell: 'convert \"${item.id}.png\"'}
  index: {needs: [resize, charge], shell: build-index, fallback: {run: [touch, index]}}
";

#[test]
fn the_page_of_a_plan() {
    for flow in [FLOW.to_owned(), super::plan::wild()] {
        check(&plan(&flow), 1280, LIGHT, ["255, 255, 255", "0, 114, 178"], "wide");
        check(&plan(&flow), 390, DARK, ["13, 17, 23", "61, 157, 219"], "narrow");
    }
}

#[test]
fn in_the_light_on_a_screen() {
    for records in [whole(), extreme(), tall()] {
        check(&page(&records), 1280, LIGHT, ["255, 255, 255", "28, 165, 126"], "wide");
    }
}

#[test]
fn in_the_dark_on_a_phone() {
    for records in [whole(), extreme(), tall()] {
        check(&page(&records), 390, DARK, ["13, 17, 23", "39, 199, 151"], "narrow");
    }
}
