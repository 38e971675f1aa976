//! `redial flow report --trace`: the *Trace Event Format*, as Perfetto reads it.

use std::collections::{BTreeMap, BTreeSet};

use redial_flow::record::{Event, Record};
use serde_json::Value;

use super::{Place, record, whole};

/// Every event has what its phase needs, every track has a name, and nothing on a track overlaps.
fn check(trace: &Value) {
    let events = trace["traceEvents"].as_array().unwrap();
    let mut named = BTreeSet::new();
    let mut spans: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for event in events {
        let track = event["tid"].as_u64().unwrap_or_else(|| panic!("{event}"));
        assert!(event["pid"].is_u64() && event["name"].is_string(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => {
                assert!(event["args"]["name"].is_string(), "{event}");
                if event["name"] == "thread_name" {
                    assert!(named.insert(track), "{event}");
                }
            }
            "X" => {
                let (at, length) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
                assert!(at >= 0.0 && length >= 0.0, "{event}");
                spans.entry(track).or_default().push((at, at + length));
            }
            "i" => assert!(event["ts"].is_f64() && event["s"] == "t", "{event}"),
            other => panic!("{other}: {event}"),
        }
    }
    for (track, mut spans) in spans {
        assert!(named.contains(&track), "track {track} has no name");
        spans.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "track {track}: {spans:?}");
    }
}

#[test]
fn a_trace_has_an_event_for_each_attempt_in_microseconds() {
    let place = Place::new();
    place.run("nightly", &whole());
    assert_eq!(place.works(&["report", "--trace", "trace.json"]), "");
    let text = std::fs::read_to_string(place.path().join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    check(&trace);
    let events = trace["traceEvents"].as_array().unwrap();
    let attempts: Vec<_> =
        events.iter().filter(|event| event["args"]["attempt"].is_u64()).collect();
    assert_eq!(attempts.len(), 25);
    let retried = attempts
        .iter()
        .find(|event| event["name"] == "fetch picture-3" && event["args"]["attempt"] == 2)
        .unwrap();
    assert_eq!((&retried["ts"], &retried["dur"]), (&4_700_000.0.into(), &500_000.0.into()));
    assert_eq!(retried["args"]["outcome"], "timeout");
    assert_eq!(events.iter().filter(|event| event["ph"] == "i").count(), 1);
    let stopped = events.iter().find(|event| event["name"] == "no process").unwrap();
    assert_eq!(stopped["dur"], 4_000_000.0);
}

#[test]
fn a_dead_letter_that_never_started_has_a_mark() {
    let place = Place::new();
    let mut records = whole();
    let large = Record {
        reason: Some("value-too-large".into()),
        ..record(2.7, Event::Dead, "fetch", Some(10))
    };
    let at = records.iter().position(|record| record.t > 2.7).unwrap();
    records.insert(at, large);
    for record in &mut records {
        if record.event == Event::ItemsEnd {
            record.items = Some(11);
        }
    }
    place.run("nightly", &records);
    place.works(&["report", "--trace", "trace.json"]);
    let text = std::fs::read_to_string(place.path().join("trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    check(&trace);
    let marks: Vec<&Value> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "i")
        .collect();
    assert_eq!(marks.len(), 2, "{marks:?}");
    let mark = marks.iter().find(|mark| mark["name"] == "fetch picture-10 gave up").unwrap();
    assert_eq!((&mark["ts"], &mark["tid"]), (&2_700_000.0.into(), &0.into()));
    assert!(mark["args"]["reason"].as_str().unwrap().starts_with("value-too-large"), "{mark}");
}
