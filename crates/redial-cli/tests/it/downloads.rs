//! `redial run --rules curl` and `wget`: the real programs against a real server on loopback, whose
//! `Retry-After` is obeyed. A program that is not installed is left out, and said to be.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::thread;

use crate::program::{command, is_installed, stderr};

/// A server that answers each request by its path, for as long as the test runs; and its address.
pub(crate) fn server(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
            let request = lines.next().unwrap_or_default();
            // The rest of the request is read, or the answer would be lost with the connection.
            while lines.next().is_some_and(|line| !line.is_empty()) {}
            let path = request.split(' ').nth(1).unwrap_or_default();
            let _ = (&connection).write_all(answer(path).as_bytes());
        }
    });
    address
}

fn redial(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(folder, arguments);
    command.env("LC_ALL", "C").env("no_proxy", "127.0.0.1").output().unwrap()
}

/// A response that asks for this wait, with a body that asks for another.
fn busy(retry_after: &str) -> String {
    busy_with("HTTP/1.1 503 No\r\nRetry-After: 99\r\n\r\nRetry-After: 98\r\n", retry_after)
}

fn busy_with(body: &str, retry_after: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 503 Busy\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: {retry_after}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// That a command asks for exactly this many seconds. Nothing waits for them: a wait budget that is
/// too small ends the run where the delay is allowed, and the bound on delays where it is not.
#[track_caller]
fn asks_for(seconds: u64, rules: &str, command: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (most, less) = (format!("{seconds}s"), format!("{}s", seconds - 1));
    for (bound, reason) in [(&most, "wait budget"), (&less, "more than --max-retry-after")] {
        let flags = ["run", "--rules", rules, "--wait-budget", "1ms", "--max-retry-after", bound];
        let output = redial(folder.path(), &[&flags[..], &["--"], command].concat());
        let said = stderr(&output);
        assert!(said.contains("attempt 1/3") && said.contains(reason), "{command:?}: {said}");
    }
}

#[test]
fn curl_obeys_retry_after_wherever_it_prints_the_headers() {
    if !is_installed("curl", "--version") {
        return;
    }
    let server = server(|path| match path {
        "/date" => busy("Sun, 06 Nov 1994 08:49:44 GMT"),
        "/old-date" => busy("Sunday, 06-Nov-94 08:49:44 GMT"),
        "/asctime" => busy("Sun Nov  6 08:49:44 1994"),
        "/moved" => "HTTP/1.1 302 Found\r\nLocation: /seconds\r\nRetry-After: 55\r\n\
                     Content-Length: 0\r\nConnection: close\r\n\r\n"
            .to_owned(),
        "/blank" => busy_with("\r\nHTTP/1.1 503 No\r\nRetry-After: 99\r\n\r\n", "7"),
        "/early" => format!("HTTP/1.1 103 Early Hints\r\nRetry-After: 66\r\n\r\n{}", busy("7")),
        _ => busy("7"),
    });
    let url = |path: &str| format!("{server}/{path}");
    for flags in [
        &["-fsSi"][..],
        &["-fsS", "--include"],
        &["-fsSI"],
        &["-fsS", "-D", "-"],
        &["-fsSD-"],
        &["-fsS", "--dump-header", "-"],
        &["-fsS", "-D", "/dev/stderr"],
        &["-f", "-D", "/dev/stderr"],
        &["-fsSv"],
        &["-fv"],
        &["-fsi"],
        &["-s", "--fail-with-body", "-i"],
        &["-s", "--fail-with-body", "-D-"],
        &["-s", "--fail-with-body", "-v"],
    ] {
        for path in ["seconds", "blank"] {
            asks_for(7, "curl", &[&["curl"], flags, &[&url(path)]].concat());
        }
    }
    for path in ["date", "old-date", "asctime", "early"] {
        asks_for(7, "curl", &["curl", "-fsSi", &url(path)]);
        asks_for(7, "curl", &["curl", "-fsS", "-D", "/dev/stderr", &url(path)]);
    }
    asks_for(7, "curl", &["curl", "-fsSiL", &url("moved")]);
    asks_for(7, "curl", &["curl", "-fsSL", "-D", "/dev/stderr", &url("moved")]);
}

#[test]
fn wget_obeys_retry_after_with_server_response() {
    if !is_installed("wget", "--version") {
        return;
    }
    let server = server(|path| match path {
        "/date" => busy("Sun, 06 Nov 1994 08:49:44 GMT"),
        "/moved" => "HTTP/1.1 302 Found\r\nLocation: /date\r\nRetry-After: 55\r\n\
                     Content-Length: 0\r\nConnection: close\r\n\r\n"
            .to_owned(),
        _ => busy("7"),
    });
    for flags in [&["-S"][..], &["--server-response"], &["-nv", "-S"], &["-qS"]] {
        for path in ["seconds", "date", "moved"] {
            let url = format!("{server}/{path}");
            asks_for(7, "wget", &[&["wget", "--tries=1", "-O-"], flags, &[&url]].concat());
        }
    }
}

#[test]
fn a_wait_that_the_server_asks_for_is_said_to_be_its_wish() {
    if !is_installed("curl", "--version") {
        return;
    }
    let server = server(|path| match path {
        "/past" => busy("Sun, 06 Nov 1994 08:00:00 GMT"),
        "/nonsense" => busy("Sun, 06 Nov"),
        _ => busy("0"),
    });
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "-d", "1ms", "--rules", "curl", "--", "curl", "-fsSi"];
    for path in ["now", "past"] {
        let output = redial(folder.path(), &[&run[..], &[&format!("{server}/{path}")]].concat());
        assert_eq!(output.status.code(), Some(22));
        let said = stderr(&output);
        assert_eq!(said.matches("retrying in 0s, as it asked").count(), 2, "{said}");
        // What passes through redial is what curl printed.
        let headers = String::from_utf8_lossy(&output.stdout);
        assert_eq!(headers.matches("HTTP/1.1 503 Busy\r\n").count(), 3, "{headers}");
    }
    let output = redial(folder.path(), &[&run[..], &[&format!("{server}/nonsense")]].concat());
    let warning = "asks to wait `Sun, 06 Nov`, which is not a duration, nor an HTTP date";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
}

#[test]
fn what_curl_and_wget_hide_is_retried_and_said_to_be_hidden() {
    let server = server(|_| busy("0"));
    let folder = tempfile::tempdir().unwrap();
    for (program, flags, advice) in
        [("curl", &["-fs"][..], "-sS tells"), ("wget", &["-qO-", "--tries=1"], "-nv tells")]
    {
        if !is_installed(program, "--version") {
            continue;
        }
        let run = ["run", "-d", "1ms", "--rules", program, "--", program];
        let output = redial(folder.path(), &[&run[..], flags, &[&server]].concat());
        let said = stderr(&output);
        assert!(said.contains("attempt 3/3") && said.contains("gave up"), "{said}");
        assert!(said.contains(" hides ") && said.contains(advice), "{said}");
    }
}

#[test]
fn standard_output_is_watched_only_where_headers_go_there() {
    // Where redial watches, the command has a pipe instead of the file.
    let folder = tempfile::tempdir().unwrap();
    let goes_to = |arguments: &[&str]| {
        let out = std::fs::File::create(folder.path().join("out")).unwrap();
        let script = "test -f /dev/stdout && echo file >&2 || echo pipe >&2";
        let run = ["run", "--rules", "curl", "--", "sh", "-c", script];
        let output = command(Path::new("."), &[&run, arguments].concat()).stdout(out).output();
        let output = output.unwrap();
        stderr(&output).trim().to_owned()
    };
    assert_eq!(goes_to(&["curl", "-fsS", "u"]), "file");
    assert_eq!(goes_to(&["curl", "-fsSD", "/dev/stderr", "u"]), "file");
    assert_eq!(goes_to(&["curl", "-fsSi", "u"]), "pipe");
    assert_eq!(goes_to(&["curl", "-fsSD-", "u"]), "pipe");
}
