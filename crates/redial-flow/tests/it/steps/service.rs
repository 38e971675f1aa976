//! The worked service of the documentation: an order comes in by HTTP, it is killed between two steps, and goes on.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;

use crate::child;

#[path = "../../../examples/order_service.rs"]
#[expect(dead_code, reason = "its main reads arguments")]
mod order_service;

/// The service, as a process of its own: its address is in the file `address`, and where it calls is in `upstream`.
pub(crate) fn serve_until_killed(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = std::fs::read_to_string(path.join("upstream")).unwrap();
        let store = redial_flow::steps::Store::open(path.join("orders.redial")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::fs::write(path.join("address.new"), address).unwrap();
        std::fs::rename(path.join("address.new"), path.join("address")).unwrap();
        order_service::serve(store, listener, upstream).await.unwrap();
    });
}

fn start(path: &Path) -> (Child, String) {
    drop(std::fs::remove_file(path.join("address")));
    let mut command = child::command::<&str>(&[], "order-service", path);
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let address = loop {
        match std::fs::read_to_string(path.join("address")) {
            Ok(address) => break address,
            Err(_) => std::thread::yield_now(),
        }
    };
    (child, address)
}

fn post(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"POST /orders/17 HTTP/1.1\r\n\r\n").unwrap();
    stream
}

/// One request that the service makes: what it wants, its key, and the connection that waits for an answer.
fn request(upstream: &TcpListener) -> (String, String, TcpStream) {
    let (mut stream, _) = upstream.accept().unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let what = head.split(['/', ' ']).nth(2).unwrap().to_owned();
    let key = head.lines().find_map(|line| line.strip_prefix("Idempotency-Key: ")).unwrap();
    (what, key.to_owned(), stream)
}

fn accept(mut stream: TcpStream, body: &str) {
    write!(stream, "HTTP/1.1 200 OK\r\n\r\n{body}").unwrap();
}

#[test]
fn a_service_that_is_killed_in_the_middle_of_an_order_goes_on_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(directory.path().join("upstream"), upstream.local_addr().unwrap().to_string())
        .unwrap();

    let (mut service, address) = start(directory.path());
    let client = post(&address);
    let (what, key, stream) = request(&upstream);
    assert_eq!((what.as_str(), key.as_str()), ("charge", "order-17/charge"));
    accept(stream, "paid");
    let (what, shipped, _unanswered) = request(&upstream);
    assert_eq!(what, "ship");
    service.kill().unwrap();
    service.wait().unwrap();
    drop(client);

    let (mut service, address) = start(directory.path());
    // It goes on by itself, and does not charge again; the answers come from another thread, as often as they are asked for.
    let (told, seen) = mpsc::channel();
    std::thread::spawn(move || {
        loop {
            let (what, key, stream) = request(&upstream);
            accept(stream, "sent");
            if told.send((what, key)).is_err() {
                return;
            }
        }
    });
    let mut receipt = String::new();
    post(&address).read_to_string(&mut receipt).unwrap();
    assert!(receipt.ends_with("order 17: paid, sent"), "{receipt}");
    service.kill().unwrap();
    service.wait().unwrap();
    let calls = seen.try_iter().fold(BTreeMap::new(), |mut calls, (what, key)| {
        *calls.entry((what, key)).or_insert(0) += 1;
        calls
    });
    let expected =
        [(("mail".to_owned(), "order-17/mail".to_owned()), 1), (("ship".to_owned(), shipped), 1)];
    assert_eq!(calls, BTreeMap::from(expected));
}

/// The smallest program of the document.
#[path = "../../../examples/smallest.rs"]
mod smallest;

pub(crate) fn run_smallest() {
    smallest::main().unwrap();
}

#[test]
fn the_smallest_program_of_the_document_does_nothing_twice() {
    let directory = tempfile::tempdir().unwrap();
    let printed = || {
        let mut program = child::command::<&str>(&[], "smallest", directory.path());
        let output = program.current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        // The test's own line begins before the first that the program prints.
        let lines = text.lines().filter_map(|line| line.rsplit(" ... ").next());
        let lines = lines.filter(|line| line.contains("order 17"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let receipt = "order 17 is on its way, paid-17";
    assert_eq!(printed(), ["charging order 17", "shipping order 17", receipt]);
    assert_eq!(printed(), [receipt]);
}

#[test]
fn the_service_of_the_document_is_this_one() {
    let document = include_str!("../../../../../docs/RUST_FLOWS.md");
    let example = include_str!("../../../examples/order_service.rs");
    let shown: Vec<&str> =
        document.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let of_service: Vec<_> = shown.iter().filter(|code| code.starts_with("// The ")).collect();
    assert_eq!(of_service.len(), 2);
    for code in of_service {
        assert!(example.contains(*code), "the example does not have\n{code}");
    }
    let smallest = include_str!("../../../examples/smallest.rs").replace("pub(crate) ", "");
    assert!(
        shown.iter().any(|code| smallest.ends_with(*code)),
        "it is another program:\n{smallest}"
    );
}
