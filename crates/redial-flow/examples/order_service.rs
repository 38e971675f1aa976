//! A service that survives a KILL: an order comes in by HTTP, three steps go out by HTTP, and each is done until it has succeeded.
//!
//! ```sh
//! cargo run -p redial-flow --example order_service -- orders.redial 127.0.0.1:8080 127.0.0.1:9090
//! curl -X POST http://127.0.0.1:8080/orders/17
//! ```
//!
//! The first address is the service's own, the second that of the services it calls. Kill it in the middle of an order, start it
//! again, and the order goes on; `redial flow status --store orders.redial` shows it meanwhile.

use std::io;

use redial_core::{Policy, policy};
use redial_flow::steps::{Attempt, DeadLetter, Run, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

// The work: what is remembered, and how often each part is tried.
const CHARGE: Policy = policy!("attempts: 5, delay: 200ms, backoff: exponential, jitter: full");
const SHIP: Policy = policy!("attempts: 8, delay: 1s, backoff: exponential, max_delay: 1min");

async fn checkout(run: Run, order: Order) -> Result<String, DeadLetter> {
    let Order { number, upstream } = &order;
    let paid =
        run.step_with("charge", &CHARGE, |attempt| call(upstream, "charge", *number, attempt));
    let paid = paid.await?;
    let sent = run.step_with("ship", &SHIP, |attempt| call(upstream, "ship", *number, attempt));
    let sent = sent.await?;
    run.step_with("mail", &SHIP, |attempt| call(upstream, "mail", *number, attempt)).await?;
    Ok(format!("order {number}: {paid}, {sent}"))
}

// The service around it: an order that is there goes on, and gives the receipt that it had.
pub(crate) async fn serve(store: Store, listener: TcpListener, upstream: String) -> io::Result<()> {
    for run in store.unfinished().map_err(io::Error::other)? {
        let store = store.clone();
        tokio::spawn(async move { store.resume(&run.name, checkout).await });
    }
    loop {
        let (mut client, _) = listener.accept().await?;
        let (store, upstream) = (store.clone(), upstream.clone());
        tokio::spawn(async move {
            let request = read_head(&mut client).await?;
            let number = request.split(['/', ' ']).find_map(|word| word.parse().ok());
            let (status, body) = match number {
                None => ("404 Not Found", "POST /orders/NUMBER\n".to_owned()),
                Some(number) => {
                    let (name, order) = (format!("order-{number}"), Order { number, upstream });
                    match store.run(&name, checkout, order).wait_for_holder().await {
                        Ok(receipt) => ("200 OK", receipt),
                        Err(error) => ("503 Service Unavailable", error.to_string()),
                    }
                }
            };
            answer(&mut client, status, &body).await
        });
    }
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Order {
    number: u32,
    upstream: String,
}

/// One step: a request, whose key is the same in all attempts.
async fn call(upstream: &str, what: &str, order: u32, attempt: Attempt) -> io::Result<String> {
    let mut server = TcpStream::connect(upstream).await?;
    let head = format!(
        "POST /{what}/{order} HTTP/1.1\r\nHost: {upstream}\r\nIdempotency-Key: {}\r\nConnection: close\r\n\r\n",
        attempt.key
    );
    server.write_all(head.as_bytes()).await?;
    let mut answer = String::new();
    server.read_to_string(&mut answer).await?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!(
            "{what}: {}",
            answer.lines().next().unwrap_or("no answer")
        ))),
    }
}

async fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if client.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned())
}

async fn answer(client: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    client.write_all(format!("{head}{body}").as_bytes()).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, own, upstream] = &arguments[..] else {
        return Err("usage: order_service STORE ADDRESS UPSTREAM".into());
    };
    let listener = TcpListener::bind(own).await?;
    Ok(serve(Store::open(store)?, listener, upstream.clone()).await?)
}
