//! `Retry-After` among what curl and wget print.

use std::time::Duration;

use redial_policy::{Ending, RuleSet, Rules, Stream};
use redial_seeds::{Draw, each_case};

use super::NOW;

use Stream::{Stderr, Stdout};

/// The delay in what a command prints to this stream, in pieces of this size.
fn asked_in_pieces(stream: Stream, printed: &[u8], size: usize) -> Option<Duration> {
    let mut rules = Rules::default();
    rules.delay_from("output:retry-after").expect("a place");
    let mut watch = rules.watch();
    printed.chunks(size).for_each(|piece| watch.saw(stream, piece));
    rules.judge(&Ending::Exit(1), &mut watch, NOW).delay
}

/// The same in seconds, whatever the pieces are.
#[track_caller]
fn asked(stream: Stream, printed: &str) -> Option<u64> {
    let whole = asked_in_pieces(stream, printed.as_bytes(), usize::MAX);
    for size in [1, 2, 3, 7] {
        assert_eq!(asked_in_pieces(stream, printed.as_bytes(), size), whole, "{size}");
    }
    whole.map(|delay| delay.as_secs())
}

const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nServer: x\r\nRetry-After: 7\r\n\r\n";

/// Nothing that a server sends holds up the command.
#[test]
fn headers_without_end_are_none() {
    let some = |count| format!("HTTP/1.1 503 Busy\nRetry-After: 7\n{}\n", "A: b\n".repeat(count));
    for stream in [Stdout, Stderr] {
        assert_eq!(asked(stream, &some(10_000)), Some(7));
        assert_eq!(asked(stream, &some(100_000)), None);
    }
    assert_eq!(asked(Stderr, &(some(100_000) + BUSY)), Some(7));
}

#[test]
fn a_block_of_headers_asks_for_a_wait() {
    for stream in [Stdout, Stderr] {
        assert_eq!(asked(stream, BUSY), Some(7));
        assert_eq!(asked(stream, "HTTP/2 429\r\nretry-after: 30\r\n\r\n"), Some(30));
        assert_eq!(asked(stream, "HTTP/1.0 503 \nRETRY-AFTER:5 \n"), Some(5));
        assert_eq!(asked(stream, "HTTP/3 503\r\nRetry-After:\t0\t\r\n\r\n"), Some(0));
        // Whoever sends it twice is taken at the first word.
        assert_eq!(asked(stream, "HTTP/2 503\nRetry-After: 1\nRetry-After: 2\n\n"), Some(1));
        assert_eq!(asked(stream, "HTTP/1.1 503 Busy\r\nServer: x\r\n\r\n"), None);
    }
}

#[test]
fn only_what_begins_with_a_status_line_is_a_block() {
    for stream in [Stdout, Stderr] {
        for printed in [
            "Retry-After: 7\r\n",
            "\r\nRetry-After: 7\r\n\r\n",
            "HTTP request sent\nRetry-After: 7\n",
            "HTTP/ 503 Busy\nRetry-After: 7\n",
            "HTTP/1.1 5033\nRetry-After: 7\n",
            "HTTP/1.1 abc\nRetry-After: 7\n",
            "HTTP/1.1\nRetry-After: 7\n",
            "http/1.1 503 Busy\nRetry-After: 7\n",
            "see HTTP/1.1 503 Busy\nRetry-After: 7\n",
            "GET / HTTP/1.1\nRetry-After: 7\n",
            "HTTP/1.1 503 Busy\nX-Retry-After: 7\n\n",
            "HTTP/1.1 503 Busy\n Retry-After: 7\n\n",
            "HTTP/1.1 503 Busy\nRetry-After 7\n\n",
        ] {
            assert_eq!(asked(stream, printed), None, "{printed:?}");
        }
    }
}

#[test]
fn a_body_asks_for_nothing() {
    for body in [
        "Retry-After: 99\r\n",
        "\r\nRetry-After: 99\r\n",
        "<p>\nHTTP/1.1 503 Busy\r\nRetry-After: 99\r\n\r\n",
        "x HTTP/1.1 503 Busy\r\nRetry-After: 99\r\n\r\n",
    ] {
        assert_eq!(asked(Stdout, &format!("{BUSY}{body}")), Some(7), "{body:?}");
        let silent = format!("HTTP/1.1 503 Busy\r\nServer: x\r\n\r\n{body}");
        assert_eq!(asked(Stdout, &silent), None, "{body:?}");
    }
    assert_eq!(asked(Stdout, &format!("some text\n{BUSY}")), None);
    assert_eq!(asked(Stderr, &format!("{BUSY}Retry-After: 99\r\n")), Some(7));
}

#[test]
fn a_body_that_begins_as_a_block_does_asks_for_nothing() {
    let body = "HTTP/1.1 503 Busy\r\nRetry-After: 99\r\n\r\n";
    for sign in ["Content-Length: 40", "transfer-encoding: chunked", "content-type: text/plain"] {
        let block = |more: &str| format!("HTTP/1.1 503 Busy\r\n{sign}\r\n{more}\r\n");
        assert_eq!(asked(Stream::Stdout, &format!("{}{body}", block(""))), None, "{sign}");
        let asks = block("Retry-After: 7\r\n");
        assert_eq!(asked(Stream::Stdout, &format!("{asks}{body}")), Some(7), "{sign}");
        // What comes before the last response has no body that is printed.
        for status in ["100 Continue", "103 Early Hints", "302 Found", "401 Who", "407 Who"] {
            let before = format!("HTTP/1.1 {status}\r\n{sign}\r\nRetry-After: 55\r\n\r\n");
            let all = format!("{before}{before}{asks}{body}");
            assert_eq!(asked(Stream::Stdout, &all), Some(7), "{sign} after {status}");
        }
    }
    // A proxy that has connected says nothing of a body.
    let connected = "HTTP/1.1 200 Connection established\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(asked(Stream::Stdout, &format!("{connected}{BUSY}")), Some(7));
}

#[test]
fn of_several_blocks_the_last_counts() {
    let moved = "HTTP/1.1 302 Found\r\nLocation: /x\r\nRetry-After: 55\r\n\r\n";
    let early = "HTTP/1.1 103 Early Hints\r\nRetry-After: 66\r\n\r\n";
    for stream in [Stdout, Stderr] {
        assert_eq!(asked(stream, &format!("{moved}{early}{BUSY}")), Some(7));
        // On standard output an error has a body, and what follows is that, unless it says otherwise.
        let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n";
        assert_eq!(asked(stream, &format!("{busy}HTTP/1.1 503 Busy\r\n\r\n")), None);
        let again = "HTTP/1.1 429 Slow down\r\nRetry-After: 9\r\n\r\n";
        assert_eq!(asked(stream, &format!("{busy}{again}")), Some(9));
    }
    // What is said in between on standard error is no body.
    let failed = "curl: (22) The requested URL returned error: 503\n";
    assert_eq!(asked(Stderr, &format!("{moved}{failed}{BUSY}{failed}")), Some(7));
}

#[test]
fn the_marks_of_verbose_programs_are_known() {
    let verbose = "* Connected\n> GET / HTTP/1.1\r\n> Retry-After: 98\r\n> \r\n\
                   < HTTP/1.1 503 Busy\r\n< Server: x\r\n* a note: 3\n< Retry-After: 7\r\n< \r\n\
                   * Closing\n< Retry-After: 99\r\n";
    assert_eq!(asked(Stderr, verbose), Some(7));
    let wget = "HTTP request sent, awaiting response... \n  HTTP/1.1 503 Busy\n  Server: x\n\
                \x20 Retry-After: 7\n2026-11-16 19:44:47 ERROR 503: Busy.\n\n  Retry-After: 99\n";
    assert_eq!(asked(Stderr, wget), Some(7));
    // On standard output no program marks them.
    assert_eq!(asked(Stdout, verbose), None);
    assert_eq!(asked(Stdout, wget), None);
}

#[test]
fn the_progress_meter_of_curl_may_stand_before_a_status_line() {
    let meter = "  % Total    % Received\n\r  0     0    0     0 --:--:-- --:--:-- --:--:--     0\
                 \r  0  12.3k    0     0 --:--:--  0:00:02 --:--:--     0";
    assert_eq!(asked(Stderr, &format!("{meter}{BUSY}{meter}\n")), Some(7));
    let verbose = "< HTTP/1.1 503 Busy\r\n< Retry-After: 7\r\n< \r\n";
    assert_eq!(asked(Stderr, &format!("{meter}{verbose}")), Some(7));
}

#[test]
fn a_terminal_changes_nothing() {
    let bold = "HTTP/1.1 503 Busy\r\r\n\x1b[1mServer\x1b[0m: x\r\r\n\
                \x1b[1mRetry-After\x1b[0m: 7\r\r\n\r\r\nRetry-After: 99\r\r\n";
    assert_eq!(asked(Stdout, bold), Some(7));
    assert_eq!(asked(Stderr, bold), Some(7));
}

#[test]
fn a_date_counts_from_the_date_of_the_response() {
    let response = |date: &str, until: &str| {
        format!("HTTP/1.1 503 Busy\r\nDate: {date}\r\nRetry-After: {until}\r\n\r\n")
    };
    let then = "Sun, 06 Nov 1994 08:49:37 GMT";
    for until in [
        "Sun, 06 Nov 1994 08:51:07 GMT",
        "Sunday, 06-Nov-94 08:51:07 GMT",
        "Sun Nov  6 08:51:07 1994",
    ] {
        assert_eq!(asked(Stdout, &response(then, until)), Some(90), "{until}");
        // Without one that can be read, by the clock of the caller.
        assert_eq!(asked(Stdout, &response("today", until)), Some(784_111_867), "{until}");
        assert_eq!(asked(Stdout, &response("Mon, 07 Nov 1994 00:00:00 GMT", until)), Some(0));
    }
    assert_eq!(asked(Stdout, &response(then, "90")), Some(90));
}

#[test]
fn what_is_no_delay_is_told() {
    let told = |value: &str| {
        let mut rules = Rules::default();
        rules.set(RuleSet::named("curl").expect("curl"));
        let mut watch = rules.watch();
        let headers = format!("HTTP/1.1 503 Busy\r\nRetry-After: {value}\r\n\r\n");
        watch.saw(Stderr, headers.as_bytes());
        watch.saw(Stderr, b"curl: (22) The requested URL returned error: 503\n");
        let judgement = rules.judge(&Ending::Exit(22), &mut watch, NOW);
        (judgement.delay, judgement.bad_delay)
    };
    for value in ["soon", "", "-1", "Sun, 06 Nov 1994 08:51:07", "1994-11-06"] {
        assert_eq!(told(value), (None, Some(value.to_owned())));
    }
    let huge = told(&"9".repeat(100)).0;
    assert!(huge.is_some_and(|delay| delay.as_secs() > 1_000_000_000), "{huge:?}");
    let (delay, bad) = told(&"x".repeat(1 << 20));
    assert!(delay.is_none() && bad.is_some_and(|bad| bad.len() < 1 << 10));
}

#[test]
fn long_lines_and_long_bodies_take_no_memory_and_hide_nothing() {
    let long = "y".repeat(1 << 20);
    let printed = format!("HTTP/1.1 503 Busy\r\nX: {long}\r\nRetry-After: 7\r\n\r\n{long}\n{BUSY}");
    assert_eq!(asked(Stdout, &printed), Some(7));
    assert_eq!(asked(Stderr, &format!("{long}\n{BUSY}")), Some(7));
    assert_eq!(asked(Stderr, &format!("{long}{BUSY}")), None);
}

#[test]
fn whatever_is_printed_the_pieces_do_not_matter() {
    const PARTS: [&str; 14] = [
        "HTTP/1.1 503 Busy",
        "HTTP/2 200",
        "Retry-After: 7",
        "retry-after: Sun, 06 Nov 1994 08:51:07 GMT",
        "Date: Sun, 06 Nov 1994 08:49:37 GMT",
        "\r\n",
        "\n",
        "\r",
        "< ",
        "  ",
        "\x1b[1m",
        "\u{e9}",
        ":",
        "x",
    ];
    each_case(200, |dice| {
        let printed: String = (0..dice.below(40)).map(|_| dice.pick(&PARTS)).collect();
        let stream = if dice.one_in(2) { Stdout } else { Stderr };
        let whole = asked_in_pieces(stream, printed.as_bytes(), usize::MAX);
        for size in 1..9 {
            let pieces = asked_in_pieces(stream, printed.as_bytes(), size);
            assert_eq!(pieces, whole, "{printed:?} in pieces of {size}");
        }
    });
}

#[test]
fn curl_is_looked_at_where_its_arguments_put_the_headers() {
    let watches = |arguments: &[&str]| {
        let mut rules = Rules::default();
        rules.set(RuleSet::named("curl").expect("curl").for_arguments(Some(arguments)));
        assert!(rules.watches(Stderr));
        rules.watches(Stdout)
    };
    for arguments in [
        &["curl", "-i", "u"][..],
        &["curl", "--include", "u"],
        &["curl", "--show-headers", "u"],
        &["curl", "-sSi", "u"],
        &["curl", "-isS", "u"],
        &["curl", "-fI", "u"],
        &["curl", "--head", "u"],
        &["curl", "-D", "-", "u"],
        &["curl", "-D-", "u"],
        &["curl", "-fsSD-", "u"],
        &["curl", "-fsSD", "-", "u"],
        &["curl", "-4fLD", "/dev/stdout", "u"],
        &["curl", "--dump-header", "-", "u"],
        &["curl", "--dump-header=-", "u"],
        &["curl", "u", "-o", "file", "-D", "/dev/fd/1"],
        &["timeout", "9", "curl", "-fi", "u"],
    ] {
        assert!(watches(arguments), "{arguments:?}");
    }
    for arguments in [
        &["curl", "-fsS", "u"][..],
        &["curl", "u"],
        &["curl", "-v", "u"],
        &["curl", "-D", "/dev/stderr", "u"],
        &["curl", "-D", "headers.txt", "u"],
        &["curl", "-fsSD/dev/stderr", "u"],
        &["curl", "--dump-header", "-headers", "u"],
        &["curl", "-ofile.iso", "u"],
        &["curl", "-fsSoi", "u"],
        &["curl", "-HI: x", "u"],
        &["curl", "-XDELETE", "u"],
        &["curl", "--insecure", "u"],
        &["curl", "--interface", "lo", "u"],
        &["curl", "--header", "x: --include", "u"],
        &["curl", "http://example.com/-i"],
    ] {
        assert!(!watches(arguments), "{arguments:?}");
    }
    // Whatever its arguments may be.
    let mut rules = Rules::default();
    rules.set(RuleSet::named("curl").expect("curl").for_arguments(None::<&[&str]>));
    assert!(rules.watches(Stdout));
}

/// A body that ends with the connection is announced by no header (HTTP/1.0).
#[test]
fn an_error_has_a_body_unless_it_says_that_it_has_none() {
    let fake = "HTTP/1.1 503 X\r\nRetry-After: 77\r\n\r\n";
    assert_eq!(asked(Stdout, &format!("HTTP/1.0 503 Busy\r\n\r\n{fake}")), None);
    assert_eq!(asked(Stdout, &format!("{BUSY}{fake}")), Some(7));
    let empty = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n";
    assert_eq!(asked(Stdout, &format!("{empty}{BUSY}")), Some(7));
    let proxy = "HTTP/1.1 200 Connection established\r\n\r\n";
    assert_eq!(asked(Stdout, &format!("{proxy}{BUSY}")), Some(7));
}
