//! `redial flow report` in a terminal, as JSON, as Markdown and as a page.

use std::fs;

use redial_flow::record::{Event, Outcome};

use super::{Place, end, failed, retry, run_start, start, whole};
use crate::xml;

#[test]
fn a_report_says_where_the_time_went_and_why_attempts_failed() {
    let place = Place::new();
    place.run("older", &[run_start(0.0, Event::RunStart)]);
    place.run("nightly", &whole());
    let text = place.works(&["report"]);
    assert!(text.starts_with("nightly, a run of thumbnails: failed after 14s.\n"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "25 attempts: ",
        " waiting for delays, 2.5s waiting for a slot or a rate, ",
        "and for 4s no process worked on the run.",
        "Why attempts failed what happened times its standard error, for example exit 22 2 curl: (22)",
        "Where the time went",
        "Dead letters",
        "picture-3 fetch 3 exit 22 all attempts are spent",
    ] {
        assert!(words.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_eq!(place.works(&["report", "nightly"]), text);
}

#[test]
fn a_report_for_programs_has_all_reasons_and_dead_letters() {
    let place = Place::new();
    place.run("nightly", &whole());
    let report = place.json(&["report", "--json"]);
    assert_eq!(report["run"], "nightly");
    assert_eq!(report["attempts"], 25);
    let reasons = report["reasons"].as_array().unwrap();
    let reasons: Vec<_> =
        reasons.iter().map(|reason| (&reason["what"], &reason["count"])).collect();
    let expected = [("exit 22", 2), ("exit 7", 1), ("lost", 1), ("timeout", 1)];
    assert_eq!(reasons.len(), expected.len());
    for ((what, count), expected) in reasons.into_iter().zip(expected) {
        assert_eq!((what.as_str().unwrap(), count.as_u64().unwrap()), expected);
    }
    assert_eq!(report["dead"][0]["key"], "picture-3");
    assert_eq!(report["dead"][0]["last"]["exit"], 22);
    assert_eq!(report["spent"]["stopped_ns"], 4_000_000_000_u64);
}

#[test]
fn a_report_in_markdown_has_its_tables() {
    let place = Place::new();
    place.run("nightly", &whole());
    let text = place.works(&["report", "--markdown"]);
    assert!(text.starts_with("### nightly, a run of thumbnails\n"), "{text}");
    assert!(text.contains("#### Dead letters\n\n| key | step |"), "{text}");
    assert!(text.contains("| <code>picture-3</code> | fetch | 3 |"), "{text}");
}

#[test]
fn a_page_stands_alone_and_has_every_attempt_and_the_standard_error_of_dead_letters() {
    let place = Place::new();
    place.run("nightly", &whole());
    assert_eq!(place.works(&["report", "--html", "page.html"]), "");
    let page = fs::read_to_string(place.path().join("page.html")).unwrap();
    assert_eq!(page, place.works(&["report", "--html", "-"]));
    // Once for a screen, once for a phone.
    assert_eq!(page.matches("class=\"span well\"").count(), 2 * (20 + 1), "with the legend");
    assert_eq!(page.matches("class=\"span timeout\"").count(), 2 * (1 + 1));
    assert_eq!(page.matches("class=\"span lost\"").count(), 2 * (1 + 1));
    assert!(page.contains("fetch of picture-3, attempt 2: timeout after 500ms"), "{page}");
    assert!(page.contains("waits 500ms after attempt 1, and 200ms for a slot"), "{page}");
    assert!(page.contains("<pre><code>curl: (22) gave up &lt;&amp;&gt;</code></pre>"), "{page}");
    for svg in page.split("<svg").skip(1) {
        let picture = format!("<svg{}</svg>", svg.split("</svg>").next().unwrap());
        assert_eq!(xml::parsed(&picture).name, "svg");
    }
}

#[test]
fn a_step_of_its_own_is_not_drawn_as_an_item_of_the_map_before_it() {
    let place = Place::new();
    place.run("nightly", &whole());
    let page = place.works(&["report", "--html", "-"]);
    let drawn = |name: &str| {
        let end = page.find(&format!(">{name}</text>")).unwrap_or_else(|| panic!("{name}"));
        page[page[..end].rfind("<text").unwrap()..end].to_owned()
    };
    for (name, is_heading) in
        [("list", true), ("resize", true), ("index", true), ("picture-2", false)]
    {
        assert_eq!(drawn(name).contains("heading"), is_heading, "{name}: {}", drawn(name));
    }
}

#[test]
fn what_is_hostile_in_a_journal_stays_text_on_a_page() {
    let place = Place::new();
    let mut records = whole();
    for record in records.iter_mut().filter(|record| record.item == Some(3)) {
        record.key = Some("</title><script>\u{1b}[31m\u{202e}alert(1)</script>".into());
        record.t = 1e300;
    }
    place.run("odd", &records);
    for format in [&["--html", "-"][..], &["--markdown"], &[], &["--trace", "-"]] {
        let output = place.redial(&[&["report"], format].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{format:?}");
        assert!(!text.contains("<script") || format.contains(&"--trace") || format.is_empty());
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{format:?}: {text}");
    }
}

#[test]
fn what_is_under_way_is_drawn_until_now() {
    let place = Place::new();
    let records = [
        run_start(0.0, Event::RunStart),
        start(0.0, "list", None, 1),
        start(0.0, "index", None, 1),
        failed(1.0, "index", None, 1, 7),
        retry(1.0, "index", None, 1, 5.0),
    ];
    let run = place.run("open", &records);
    let _held = run.hold().unwrap();
    let page = place.works(&["report", "--html", "-"]);
    assert_eq!(page.matches("class=\"span under-way\"").count(), 2 * (1 + 1), "with the legend");
    assert!(page.contains("list, attempt 1: running after "), "{page}");
    assert!(page.contains("waits 5s after attempt 1, and "), "{page}");
}

#[test]
fn a_page_of_many_tasks_draws_some_and_says_so() {
    let place = Place::new();
    let mut records = vec![run_start(0.0, Event::RunStart)];
    for item in 0..500 {
        records.push(start(f64::from(item), "fetch", Some(item), 1));
        records.push(end(f64::from(item) + 0.5, "fetch", Some(item), 1, Outcome::Succeeded));
    }
    place.run("many", &records);
    let page = place.works(&["report", "--html", "-"]);
    assert!(page.contains("300 tasks are not drawn"), "{page}");
    assert_eq!(page.matches("class=\"span well\"").count(), 2 * (200 + 1));
}

#[test]
fn a_run_of_no_time_has_a_page_without_a_picture() {
    let place = Place::new();
    place.run("empty", &[]);
    for format in [&["--html", "-"][..], &["--markdown"], &[], &["--trace", "-"], &["--json"]] {
        assert!(place.works(&[&["report", "empty"], format].concat()).ends_with('\n'));
    }
    assert!(!place.works(&["report", "empty", "--html", "-"]).contains("<svg"));
}

#[test]
fn standard_output_holds_one_thing() {
    let place = Place::new();
    place.run("nightly", &whole());
    let one = "standard output holds one of";
    place.refused(&["report", "--json", "--html", "-"], one);
    place.refused(&["report", "--trace", "-", "--html", "-"], one);
    place.refused(&["report", "--json", "--markdown"], "cannot be used with");
    place.refused(&["report", "--html", "absent/page.html"], "cannot write absent/page.html");
}
