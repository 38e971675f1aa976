//! Fetches a page from a flaky server, and shows what happened.
//!
//! The server is a real one, on loopback. It is overloaded at first, then asks the client to slow
//! down, and then answers. The client obeys: a delay that the server asks for is slept exactly,
//! the others are the policy's.

#![expect(clippy::print_stdout, reason = "an example shows what happened")]

mod server;

use std::time::{Duration, Instant};

use redial::http::verdict;
use redial::{Policy, Pretty, Verdict, policy, retry};
use server::Answer;

const FETCH: Policy = policy!(
    "retry: 4, delay: 100ms, backoff: exponential, max_delay: 2s, jitter: full, within: 30s"
);

/// A response that is a failure is an error to the loop, with all that it needs to be judged.
#[derive(Debug)]
enum Failure {
    Transport(reqwest::Error),
    Status(reqwest::Response),
}

impl Failure {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Transport(_) => Verdict::Retry,
            Self::Status(response) => verdict(response.status(), response.headers()),
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Transport(error) => error.to_string(),
            Self::Status(response) => response.status().to_string(),
        }
    }
}

async fn fetch(client: &reqwest::Client, url: &str) -> Result<String, Failure> {
    let response = client.get(url).send().await.map_err(Failure::Transport)?;
    if response.status().is_success() {
        response.text().await.map_err(Failure::Transport)
    } else {
        Err(Failure::Status(response))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = server::start([
        Answer(503, &[], "overloaded\n"),
        Answer(503, &[], "overloaded\n"),
        Answer(429, &[("retry-after", "1")], "slow down\n"),
    ])
    .await?;
    let (client, url) = (reqwest::Client::new(), format!("http://{address}/"));
    println!("policy   {FETCH}");

    let start = Instant::now();
    let outcome = retry(&FETCH, || fetch(&client, &url))
        .classify(Failure::verdict)
        .max_retry_after(Duration::from_secs(10))
        .on_retry(|event| {
            let what = event.error.map_or_else(String::new, Failure::what);
            let delay = Duration::from_millis(event.delay.as_millis() as u64);
            println!("attempt {} {what}, waiting {}", event.attempt, Pretty(delay));
        })
        .outcome()
        .await;

    match &outcome.result {
        Ok(page) => println!("attempt {} 200 OK: {}", outcome.attempts, page.trim()),
        Err(failure) => println!("attempt {} {}: giving up", outcome.attempts, failure.what()),
    }
    println!(
        "{} attempts, waited {} ms of {} ms",
        outcome.attempts,
        outcome.waited.as_millis(),
        start.elapsed().as_millis(),
    );
    Ok(())
}
