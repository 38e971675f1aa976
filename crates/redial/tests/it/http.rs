//! A real HTTP server on loopback that throttles, and a real client that obeys it.

use std::time::Duration;

use redial::http::verdict;
use redial::{Backoff, Outcome, Policy, Stop, Verdict, retry};

#[path = "../../examples/flaky_http/server.rs"]
mod server;

use server::Answer;

/// No delay of its own: whatever is waited, the server asked for.
const AT_ONCE: Policy = Backoff::none().attempts(4);

async fn fetch(script: impl IntoIterator<Item = Answer>) -> Outcome<String, reqwest::Response> {
    let address = server::start(script).await.expect("a port on loopback");
    let (client, url) = (reqwest::Client::new(), format!("http://{address}/"));
    let get = async || {
        let response = client.get(&url).send().await.expect("the server answers");
        let status = response.status();
        if status.is_success() { Ok(response.text().await.expect("a body")) } else { Err(response) }
    };
    retry(&AT_ONCE, get)
        .classify(|response| verdict(response.status(), response.headers()))
        .max_retry_after(Duration::from_secs(10))
        .outcome()
        .await
}

fn statuses(outcome: &Outcome<String, reqwest::Response>) -> Vec<u16> {
    outcome.errors().map(|(_, response)| response.status().as_u16()).collect()
}

#[tokio::test]
async fn a_throttling_server_sets_the_pace() {
    let outcome =
        fetch([Answer(503, &[], "overloaded"), Answer(429, &[("retry-after", "1")], "slow down")])
            .await;
    assert_eq!(outcome.result.as_deref().ok(), Some("hello\n"));
    assert_eq!(statuses(&outcome), [503, 429]);
    assert_eq!(outcome.waited, Duration::from_secs(1));
    assert!(outcome.elapsed >= Duration::from_secs(1), "{:?}", outcome.elapsed);
}

#[tokio::test]
async fn a_date_counts_from_the_servers_own_clock() {
    let dates: &[_] = &[
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
    ];
    let outcome = fetch([Answer(503, dates, "at a date")]).await;
    assert_eq!(outcome.result.as_deref().ok(), Some("hello\n"));
    assert_eq!(outcome.waited, Duration::from_secs(1));
}

#[tokio::test]
async fn a_server_that_asks_for_too_long_is_not_obeyed() {
    for asked in ["11", "3600", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let headers: &'static [_] = Box::leak(Box::new([("retry-after", asked)]));
        let outcome = fetch([Answer(429, headers, "tomorrow")]).await;
        assert_eq!(outcome.reason, Some(Stop::RetryAfterTooLong), "{asked}");
        assert_eq!((outcome.attempts, outcome.waited), (1, Duration::ZERO), "{asked}");
    }
}

#[tokio::test]
async fn what_is_not_a_delay_is_left_to_the_policy() {
    for asked in ["soon", "-1", "1.5", "", "Thu, 01 Jan 1970 00:00:00 GMT"] {
        let headers: &'static [_] = Box::leak(Box::new([("retry-after", asked)]));
        let outcome = fetch([Answer(503, headers, "hm")]).await;
        assert!(outcome.recovered(), "{asked}");
        assert_eq!(outcome.waited, Duration::ZERO, "{asked}");
    }
}

#[tokio::test]
async fn a_missing_page_is_not_asked_for_twice() {
    let outcome = fetch([Answer(404, &[("retry-after", "1")], "gone")]).await;
    assert_eq!((outcome.attempts, outcome.reason), (1, Some(Stop::Rejected)));
    assert_eq!(statuses(&outcome), [404]);
}

#[test]
fn every_status_has_its_verdict() {
    let transient: Vec<u16> = (100..600)
        .filter(|status| {
            let status = http::StatusCode::from_u16(*status).expect("three digits");
            verdict(status, &http::HeaderMap::new()) == Verdict::Retry
        })
        .collect();
    let overload = [507, 508, 520, 521, 522, 523, 524, 529, 530];
    assert_eq!(transient, [[408, 425, 429, 500, 502, 503, 504].as_slice(), &overload].concat());
}

/// As one would write it with `reqwest`: no error is made of a response, so none loses its headers.
#[tokio::test]
async fn a_response_is_judged_with_its_headers_and_comes_back() {
    let answers = [Answer(529, &[("retry-after", "0")], "busy"), Answer(404, &[], "nothing here")];
    let address = server::start(answers).await.expect("a port on loopback");
    let (client, url) = (reqwest::Client::new(), format!("http://{address}/"));
    let outcome = retry(&AT_ONCE, || client.get(&url).send())
        .classify_ok(|response| redial::http::response(response.status(), response.headers()))
        .timeout(Duration::from_secs(600))
        .outcome()
        .await;
    assert_eq!((outcome.attempts, outcome.reason), (2, Some(Stop::Rejected)));
    let response = outcome.result.expect("a response");
    assert_eq!(
        (response.status().as_u16(), response.text().await.unwrap().as_str()),
        (404, "nothing here")
    );
}

#[test]
fn a_request_that_must_not_run_twice_is_sent_again_only_if_it_did_not_run() {
    let retried: Vec<u16> = (100..600)
        .filter(|status| {
            let status = http::StatusCode::from_u16(*status).expect("three digits");
            redial::http::verdict_once(status, &http::HeaderMap::new()) == Verdict::Retry
        })
        .collect();
    assert_eq!(retried, [408, 425, 429]);
    let idempotent = |method| redial::http::is_idempotent(&method, &http::HeaderMap::new());
    use http::Method;
    assert!(idempotent(Method::GET) && idempotent(Method::DELETE) && idempotent(Method::PUT));
    assert!(!idempotent(Method::POST) && !idempotent(Method::PATCH));
}
