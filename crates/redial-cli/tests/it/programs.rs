//! `redial run --rules psql`, `rsync` and `go`: the real programs, failing in ways that need no server.
//! A program that is not installed is left out, and said to be.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use crate::program::{command, is_installed, stderr};

/// Runs a command twice at most under the rules of its program, without a wait.
fn redial(folder: &Path, tool: &[&str]) -> Output {
    let run = ["run", "-n", "2", "-d", "0s", "--rules", tool[0], "--"];
    let mut command = command(folder, &[&run, tool].concat());
    command.env("LC_ALL", "C").env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    command.env("GOTOOLCHAIN", "local").env("GOCACHE", folder.join("cache")).output().unwrap()
}

/// A port of loopback at which nothing listens.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

#[track_caller]
fn retries(folder: &Path, command: &[&str], code: i32, because: &str) {
    let output = redial(folder, command);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains("attempt 2/2") && said.contains(because), "{said}");
}

#[track_caller]
fn stops(folder: &Path, command: &[&str], code: i32, because: &str) {
    let output = redial(folder, command);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("attempt 2/2") && said.contains(because), "{said}");
}

#[test]
fn psql_is_tried_again_where_no_server_listens_and_not_with_an_unknown_option() {
    if !is_installed("psql", "--version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let psql = ["psql", "-h", "127.0.0.1", "-p", &free_port(), "-U", "nobody", "-c", "select 1"];
    retries(folder.path(), &psql, 2, "the server is not there yet");
    stops(folder.path(), &["psql", "--nosuch"], 1, "the command line or a file is at fault");
}

#[test]
fn rsync_is_tried_again_where_no_daemon_listens_and_not_without_the_file() {
    if !is_installed("rsync", "--version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let daemon = format!("rsync://127.0.0.1:{}/module/", free_port());
    retries(folder.path(), &["rsync", "-a", &daemon, "to/"], 10, "no connection to the daemon");
    stops(folder.path(), &["rsync", "-a", "nosuch", "to/"], 23, "a file is not there");
    stops(folder.path(), &["rsync", "--nosuch"], 1, "the command line");
}

#[test]
fn go_is_not_tried_again_where_the_code_does_not_build() {
    if !is_installed("go", "version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("go.mod", "module example.invalid/x\n\ngo 1.18\n");
    write("main.go", "package main\n\nfunc main() { nosuch() }\n");
    let output = redial(folder.path(), &["go", "build", "./..."]);
    let said = stderr(&output);
    assert!(said.contains("undefined: nosuch"), "{said}");
    assert!(!said.contains("attempt 2/2") && said.contains("the code does not build"), "{said}");
}
