//! Flags, files and streams that are not as they should be: an error that says which and what to do, never a hang.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::kernel::{Started, until};
use crate::map::{command, ends_with, map, works};
use crate::program::{stderr, with_input};
use crate::stage::{Stage, started};

#[test]
fn a_flag_that_is_wrong_is_named_with_its_value_and_nothing_runs() {
    let stage = Stage::new();
    let numbers = ["0", "-1", "1000000000", "18446744073709551616", "x", "", "1.5", "٣"];
    let mut cases: Vec<(&str, &str)> = numbers.iter().map(|text| ("--jobs", *text)).collect();
    let not_counts = ["-1", "18446744073709551616", "x", "", "1.5", "٣"];
    for flag in ["--offset", "--max-items", "--seed"] {
        cases.extend(not_counts.iter().map(|text| (flag, *text)));
    }
    for text in
        ["0/1s", "5", "5/0s", "-1/s", "99999999999/s", "5/x", "/", "/s", "5/", "", "1.5/s", "5/-1s"]
    {
        cases.push(("--rate", text));
    }
    for text in ["-1", "101%", "x", "nan%", "inf%", "18446744073709551616", "%", "", "-5%"] {
        cases.push(("--failures-max", text));
    }
    for text in ["item.(", "item ==", "", "'", "item > 3", "item", "item == 3"] {
        cases.push(("--where", text));
    }
    cases.extend([("--json-path", "$["), ("--json-path", "items"), ("--json-path", "")]);
    cases.extend([("--key", "a..b"), ("--key", ""), ("--distinct", "["), ("--sort-by", ",")]);
    for text in
        ["../x", "", "a/b", ".x", "a b", "-x", "a\nb", &"n".repeat(300)[..]].map(str::to_owned)
    {
        cases.push(("--run", Box::leak(text.into_boxed_str())));
    }
    for flag in ["--drain", "--kill-after"] {
        cases.extend(["x", "-1s", "5", ""].map(|text| (flag, text)));
    }
    cases.extend([("--signal", "NOPE"), ("--signal", "-1"), ("--signal", "CHLD")]);
    cases.extend([("--format", "x"), ("--sync", "x"), ("--progress", "x")]);
    cases.extend([
        ("-n", "0"),
        ("-n", "-1"),
        ("-d", "x"),
        ("-t", "-1s"),
        ("-t", "0s"),
        ("--stop-on", "x:y"),
    ]);
    cases.extend([("--rules", "no-such-rules"), ("--items", "no-such-file"), ("--items", "/")]);
    cases.extend([("--output-dir", "/dev/null/x")]);
    for (flag, text) in cases {
        let flag_and_value = format!("{flag}={text}");
        let words = match flag.starts_with("--") {
            true => vec![flag_and_value.as_str()],
            false => vec![flag, text],
        };
        let words = [&words[..], &["--", "touch", "ran"]].concat();
        let said = ends_with(125, &stage, "a\n", &words);
        let shown: String = text.chars().take_while(|c| !c.is_control()).take(40).collect();
        assert!(said.starts_with("error") && said.contains(&shown), "{flag} {text:?}: {said}");
        if flag.starts_with("--") {
            let is_named = said.contains(flag) || flag == "--run" || flag == "--stop-on";
            assert!(is_named, "{flag} {text:?}: {said}");
        }
    }
    assert!(!stage.has("ran") && !stage.has(".redial"));
}

#[test]
fn extremes_that_are_right_work() {
    let stage = Stage::new();
    for flags in [
        &["--max-items", "18446744073709551615"][..],
        &["--rate", "4294967295/1ns"],
        &["--rate", "1/1000000h"],
        &["--failures-max", "18446744073709551615"],
        &["--failures-max", "100%"],
        &["--failures-max", "0.0001%"],
        &["-n", "4294967295"],
        &["-n", "unlimited"],
        &["-d", "1000000h"],
        &["-t", "1000000h"],
        &["--drain", "1000000h", "--kill-after", "0s"],
        &["--seed", "18446744073709551615"],
    ] {
        assert_eq!(works(&stage, "a\n", &[flags, &["--", "echo"]].concat()), "a\n", "{flags:?}");
    }
}

#[test]
fn without_items_there_is_nothing_to_do_and_that_succeeds() {
    let stage = Stage::new();
    stage.write("empty", "");
    for words in [
        &["--", "touch", "ran"][..],
        &["--items", "empty", "--", "touch", "ran"],
        &["--items", "/dev/null", "--run", "r", "--", "touch", "ran"],
        &["--format", "csv", "--", "touch", "ran"],
    ] {
        let said = ends_with(0, &stage, "", words);
        assert!(said.contains("nothing to do"), "{said}");
    }
    assert!(!stage.has("ran"));
}

#[test]
fn a_standard_input_that_is_closed_has_no_items() {
    let stage = Stage::new();
    let redial = crate::program::REDIAL;
    stage.write("script", format!("exec {redial} map -- touch ran <&-"));
    let mut shell = std::process::Command::new("sh");
    stage.at_home(shell.arg("script"));
    let output = shell.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1 | 125)), "{output:?}");
    assert!(!stage.has("ran") && !stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_has_had_enough_ends_nothing_badly() {
    let stage = Stage::new();
    let items: String = (0..50).map(|number| format!("{number}\n")).collect();
    stage.write("items", &items);
    for flags in [&[][..], &["--keep-order"], &["--progress", "always"]] {
        let _ = fs::remove_file(stage.path("ran"));
        let job = ["--items", "items", "--", "sh", "-c", "echo $1; echo $1 >>ran", "sh"];
        let mut redial = command(&stage, &[flags, &job].concat());
        let mut child = redial.stdout(Stdio::piped()).stderr(stage.create("err")).spawn().unwrap();
        let mut first = [0; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        drop(child.stdout.take());
        let mut running = Started::new(child);
        let code = running.end(stage.patience).unwrap().code();
        // All may be over before the reader is gone; otherwise nothing new starts.
        let (said, ran) = (stage.text("err"), stage.text("ran").lines().count());
        assert!((code, ran) == (0, 50) || code == 141, "{flags:?}: {code} {ran}: {said}");
        assert_eq!(said.contains("nobody reads standard output"), code == 141, "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    stage.nothing_is_left().unwrap();
}

#[test]
fn outputs_that_are_closed_or_full_do_no_harm() {
    let stage = Stage::new();
    let redial = crate::program::REDIAL;
    for (redirection, code, most) in
        [(">&- 2>&-", 0, 2), (">/dev/full 2>/dev/full", 125, 2), ("2>&-", 0, 2)]
    {
        let _ = fs::remove_file(stage.path("ran"));
        let line = format!(
            "printf 'a\\nb\\n' | {redial} map -v -- sh -c 'echo x; echo $1 >>ran' sh {redirection}"
        );
        let mut shell = std::process::Command::new("sh");
        stage.at_home(shell.args(["-c", &line]));
        let status = shell.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{redirection}");
        let ran = stage.text("ran").lines().count();
        assert!(ran == most || (code != 0 && ran < most), "{redirection}: {ran}");
    }
}

#[test]
fn a_file_that_vanishes_while_it_is_read_is_read_to_its_end() {
    let stage = Stage::new();
    stage.write("items", "a\nb\nc\n");
    let words = ["-j", "1", "--items", "items", "--", "sh", "-c", "rm -f items; echo $1", "sh"];
    assert_eq!(works(&stage, "", &words), "a\nb\nc\n");
    let said = ends_with(125, &stage, "", &words);
    assert!(said.contains("items"), "{said}");
}

#[test]
fn items_come_one_by_one_and_the_first_runs_before_the_last_is_there() {
    let stage = Stage::new();
    let mut redial = command(&stage, &["-j", "2", "--", "sh", "-c", "echo $1 >bell", "sh"]);
    let (read, mut write) = std::io::pipe().unwrap();
    redial.stdin(read);
    let mut running = started(&mut redial);
    // The command has a copy of the end that is read.
    drop(redial);
    for item in ["one", "two", "three"] {
        std::io::Write::write_all(&mut write, format!("{item}\n").as_bytes()).unwrap();
        stage.hear_that(item).unwrap();
    }
    drop(write);
    assert_eq!(running.end(stage.patience).unwrap().code(), 0);
}

#[test]
fn a_line_of_many_megabytes_is_one_item_and_no_harm() {
    let stage = Stage::new();
    let items = ["a", &"x".repeat(20_000_000), "b"].join("\n");
    let output = map(&stage, items, &["--keep-order", "--", "echo"]);
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(1), &b"a\nb\n"[..]),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_program_that_cannot_be_started_is_the_failure_of_each_item() {
    let stage = Stage::new();
    stage.write("plain", "no program\n");
    for program in ["./plain", "./nothing-here", "/etc", ""] {
        let output = map(&stage, "a\nb\n", &["-n", "3", "-d", "1ms", "--", program]);
        assert!(matches!(output.status.code(), Some(1 | 125)), "{program}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    }
}

/// Slow: `scripts/crash` runs it, too.
#[test]
#[ignore = "takes a minute"]
fn a_hundred_thousand_items_take_bounded_memory() {
    let stage = Stage::new();
    let items: String = (0..100_000).map(|number| format!("{number}\n")).collect();
    stage.write("items", items);
    let words =
        ["-j", "4", "--run", "r", "--sync", "group", "--items", "items", "-q", "--", "/bin/true"];
    let mut running = started(&mut command(&stage, &words));
    let path = format!("/proc/{}/status", running.pid());
    let mut most = 0;
    until(stage.patience, || {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0));
        !running.is_running()
    });
    assert_eq!(running.end(stage.patience).unwrap().code(), 0);
    assert!(most > 1000 && most < 64 << 10, "{most} kB");
}

#[test]
fn a_command_is_needed() {
    let stage = Stage::new();
    let output = with_input(&mut command(&stage, &[]), b"a\n");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("COMMAND"), "{}", stderr(&output));
}
