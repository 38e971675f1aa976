//! What results are written as: numbers for spreadsheets, pictures, pages.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use quick_xml::events::Event;
use serde_json::Value;

use super::{ENDLESS, folder, in_folder, json, parsed, refused, simulate, stderr, stdout, words};

const TWO: &str = "contention --clients 2,5 --trials 3 --with 'attempts: 9, delay: 5ms, \
    backoff: exponential' --with 'attempts: 2'";

/// The rows of a file as spreadsheets read it.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) = (vec![], vec![], String::new(), false);
    let mut characters = csv.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    assert!(row.is_empty() && cell.is_empty() && !is_quoted, "the last line is not whole: {csv}");
    rows
}

#[test]
fn a_spreadsheet_has_the_numbers_of_the_json() {
    let output = simulate(&format!("{TWO} --csv -"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = rows(stdout(&output));
    let (header, rows) = rows.split_first().unwrap();
    let columns = |name: &str| match name.strip_suffix(".*") {
        Some(mean) => {
            ["mean", "ci95", "low", "high"].map(|part| format!("{mean}.{part}")).join(" ")
        }
        None => name.to_owned(),
    };
    let names = |all: &str| all.split_whitespace().map(columns).collect::<Vec<_>>().join(" ");
    assert_eq!(
        header.join(" "),
        names(
            "policy clients trials calls.* time_ms.* committed.* all_committed all_committed_low \
         all_committed_high attempts.* against_first.calls.* against_first.time_ms.* \
         against_first.committed.* against_first.all_committed.* against_first.attempts.*",
        )
    );
    let found = json(TWO);
    let results = found["results"].as_array().unwrap();
    assert_eq!(rows.len(), results.len());
    for (row, result) in rows.iter().zip(results) {
        assert_eq!(row.len(), header.len());
        for (name, cell) in header.iter().zip(row) {
            match result.pointer(&format!("/{}", name.replace('.', "/"))) {
                // The first policy is not compared with itself.
                None => assert!(cell.is_empty() && name.starts_with("against_first."), "{name}"),
                Some(Value::String(text)) => assert_eq!(cell, text),
                // The reader of JSON may be off by the last bit.
                Some(number) => {
                    let (cell, number) = (cell.parse::<f64>().unwrap(), number.as_f64().unwrap());
                    assert!((cell - number).abs() <= 1e-12 * number.abs(), "{name}: {cell}");
                }
            }
        }
    }
}

#[test]
fn what_there_is_none_of_is_an_empty_cell() {
    let output = simulate("wave --clients 5 --trials 2 -n 1 --csv -");
    let rows = rows(stdout(&output));
    let place = rows[0].iter().position(|name| name == "back_p50_s.mean").unwrap();
    assert_eq!(rows[1][place], "");
    let rows = self::rows(stdout(&simulate(&format!("{ENDLESS} --csv -"))));
    assert_eq!(rows[0], ["policy", "clients", "trials", "cut"]);
    assert!(rows[1][3].contains("was cut at the bound on time"), "{rows:?}");
}

/// Panics where it is no XML.
fn well_formed(text: &str) -> usize {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut elements = 0;
    let mut depth = 0_i32;
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {text}")) {
            Event::Eof => break,
            Event::Start(_) => (elements, depth) = (elements + 1, depth + 1),
            Event::Empty(_) => elements += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    assert_eq!(depth, 0, "{text}");
    elements
}

#[test]
fn pictures_and_pages_are_written() {
    for line in [
        TWO,
        "outage --rate 50 --capacity 60 --trials 2 --after 20s",
        "wave --clients 20 --trials 2",
        "layers --calls 5 --trials 2",
    ] {
        let folder = folder(&[]);
        let all = format!("simulate {line} --svg s.svg --html h.html --csv c.csv --json");
        let output = in_folder(folder.path(), &all);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        assert!(parsed(&output)["results"].is_array());
        let [svg, html, csv] =
            ["s.svg", "h.html", "c.csv"].map(|name| fs::read_to_string(folder.path().join(name)));
        let svg = svg.unwrap();
        assert!(svg.starts_with("<svg") && well_formed(&svg) > 20, "{line}: {svg}");
        let html = html.unwrap();
        assert!(html.starts_with("<!doctype html>"), "{line}: {html}");
        assert!(html.trim_end().ends_with("</html>"), "{line}: {html}");
        assert!(html.contains("<svg") && html.contains("<table"), "{line}: {html}");
        assert!(html.contains(&format!("redial simulate {}", &line[..4])), "{line}: {html}");
        for outside in ["http://", "https://", "src=", "@import"] {
            let own = html.replace("http://www.w3.org/", "");
            assert!(!own.contains(outside), "{line}: {outside}");
        }
        assert_eq!(
            rows(&csv.unwrap()).len(),
            1 + parsed(&output)["results"].as_array().unwrap().len()
        );
    }
}

#[test]
fn a_picture_on_standard_output_is_alone_there() {
    let output = simulate(&format!("{TWO} --svg -"));
    well_formed(stdout(&output));
    assert!(stdout(&output).trim_end().ends_with("</svg>"));
    let output = simulate(&format!("{TWO} --html -"));
    assert!(stdout(&output).trim_end().ends_with("</html>"));
}

#[test]
fn standard_output_holds_one_of_them() {
    let outputs = ["--json", "--csv -", "--svg -", "--html -"];
    for (place, one) in outputs.iter().enumerate() {
        for other in &outputs[place + 1..] {
            for verb in ["simulate", "tune"] {
                refused(
                    &format!("{verb} contention {one} {other}"),
                    "standard output holds one of",
                );
            }
        }
    }
}

#[test]
fn a_file_that_cannot_be_written_is_125_and_leaves_nothing() {
    let folder = folder(&[("page", "as it was")]);
    for flag in ["csv", "svg", "html"] {
        let line = format!("simulate wave --clients 5 --trials 2 --{flag} absent/result");
        let output = in_folder(folder.path(), &line);
        assert_eq!(output.status.code(), Some(125), "{flag}");
        assert!(stderr(&output).contains("cannot write absent/result"), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "{flag}");
        let line = format!("simulate wave --clients 5 --trials 2 --{flag} page/result");
        assert_eq!(in_folder(folder.path(), &line).status.code(), Some(125), "{flag}");
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, ["page"]);
    assert_eq!(fs::read_to_string(folder.path().join("page")).unwrap(), "as it was");
}

#[test]
fn there_is_no_picture_of_nothing() {
    for line in [ENDLESS, "layers --trials 1 --attempt-time 1000000000s"] {
        let folder = folder(&[]);
        let output = in_folder(folder.path(), &format!("simulate {line} --svg s.svg"));
        assert_eq!(output.status.code(), Some(125), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains("there is nothing to draw"), "{line}");
        assert!(!folder.path().join("s.svg").exists(), "{line}");
        // A page has the reasons, too.
        let output = in_folder(folder.path(), &format!("simulate {line} --html h.html"));
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let page = fs::read_to_string(folder.path().join("h.html")).unwrap();
        assert!(page.contains("was cut at the bound on time"), "{line}: {page}");
    }
}

#[test]
fn who_reads_one_line_and_leaves_is_no_error() {
    for (line, code) in [
        ("simulate layers --calls 5 --trials 2", 0),
        ("simulate layers --calls 5 --trials 2 --json", 0),
        // What does not hold does not hold for want of a reader.
        ("simulate layers --calls 5 --trials 2 --assert 'worst < 2x'", 1),
        ("simulate layers --calls 5 --trials 2 --json --assert 'worst < 2x'", 1),
    ] {
        let mut child = Command::new(crate::program::REDIAL)
            .args(words(line))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The reader is gone before the first byte is written.
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(code), ""), "{line}");
    }
    let mut child = Command::new(crate::program::REDIAL)
        .args(words("simulate layers --calls 5 --trials 2"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("With this policy"), "{first}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn places_that_cannot_hold_it_are_refused_before_anything_runs() {
    // It would run for minutes.
    let long = "simulate contention --clients 1000 --trials 1000000";
    refused(&format!("{long} --html nowhere/page.html"), "its folder does not exist");
    refused(&format!("{long} --csv x --svg x"), "x can hold one of --csv, --svg and --html");
}

#[test]
fn how_long_attempts_may_take_is_a_part_of_the_policy() {
    let line = "outage --rate 20 --capacity 40 --after 5s --trials 2 \
                --with 'retry: 1, timeout: 1500ms' --with 'retry: 1, timeout: 2h' --with 'retry: 1'";
    let policies: Vec<_> = json(line)["results"].as_array().unwrap().clone();
    let policies: Vec<_> = policies.iter().map(|result| &result["policy"]).collect();
    assert_eq!(
        policies,
        ["attempts: 2, timeout: 1500ms", "attempts: 2, timeout: 2h", "attempts: 2"],
    );
    let text = simulate(line);
    let note = "Attempts time out after 1s, unless their policy has a timeout.";
    assert!(stdout(&text).contains(note), "{}", stdout(&text));
    let ignored = simulate("wave --clients 5 --trials 2 --with 'retry: 1, timeout: 1s'");
    let note = "No attempt takes too long here: a timeout changes nothing.";
    assert!(stdout(&ignored).contains(note), "{}", stdout(&ignored));
}

#[test]
fn no_number_is_lost_on_a_narrow_terminal() {
    let policies = " --with 'attempts: 2, delay: 1s'".repeat(7);
    let wave = format!("simulate wave --clients 50 --trials 3 --charts 0{policies}");
    let crowd = format!("simulate {TWO} --charts 0");
    // All give up, under seven policies; and the time of the second is in seconds or less.
    for (columns, line, number, least) in [
        ("40", &wave, "100% [>97.5%]", 7),
        ("80", &wave, "100% [>97.5%]", 7),
        ("40", &crowd, "ms ", 1),
    ] {
        let output = Command::new(crate::program::REDIAL)
            .args(words(line))
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        let text = stdout(&output);
        assert!(!text.contains('…'), "{text}");
        let width = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        assert!(text.matches(number).count() >= least, "{text}");
    }
}

#[test]
fn columns_of_a_spreadsheet_do_not_depend_on_the_order_of_policies() {
    let header = |policies: &str| {
        let line = format!("wave --clients 5 --trials 2 --csv - {policies}");
        rows(stdout(&simulate(&line))).remove(0)
    };
    let (one, two) = ("--with 'attempts: 1'", "--with 'retry: 2, delay: 1s'");
    assert_eq!(header(&format!("{one} {two}")), header(&format!("{two} {one}")));
    assert!(header(one).contains(&"peak_at_s.mean".to_owned()));
}

#[test]
fn every_trial_has_a_line_of_its_own_and_their_mean_has_none() {
    let outage = "outage --rate 50 --capacity 60 --after 20s --charts 1 --svg -";
    for (line, trials) in [(outage, 3), ("wave --clients 20 --svg -", 4)] {
        let output = simulate(&format!("{line} --trials {trials}"));
        let paths =
            stdout(&output).lines().filter(|line| line.contains("class=\"line steps trials"));
        let begun: Vec<_> = paths.map(|path| path.matches('M').count()).collect();
        assert_eq!(begun, [trials], "{line}");
    }
}
