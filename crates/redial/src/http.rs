//! What an HTTP response says about trying again (feature `http`).
//!
//! ```
//! use std::time::Duration;
//! use http::{HeaderMap, HeaderValue, StatusCode};
//! use redial::{Verdict, http::verdict};
//!
//! let mut headers = HeaderMap::new();
//! headers.insert("retry-after", HeaderValue::from_static("7"));
//!
//! let busy = verdict(StatusCode::TOO_MANY_REQUESTS, &headers);
//! assert_eq!(busy, Verdict::RetryAfter(Duration::from_secs(7)));
//! assert_eq!(verdict(StatusCode::BAD_GATEWAY, &HeaderMap::new()), Verdict::Retry);
//! assert_eq!(verdict(StatusCode::NOT_FOUND, &headers), Verdict::Stop);
//! ```
//!
//! How long a server may make a call wait is bounded by
//! [`max_retry_after`](crate::Retry::max_retry_after): above it the call stops instead of obeying.

use core::time::Duration;
use std::time::SystemTime;

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, Method, StatusCode};
use redial_core::Verdict;

/// The verdict on a response that did not succeed: as long as it asks for where its status is
/// [transient](is_transient) and it asks, the policy's delay where it does not, and stop
/// otherwise.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use redial::{Verdict, http::verdict};
/// assert_eq!(verdict(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new()), Verdict::Retry);
/// ```
pub fn verdict(status: StatusCode, headers: &HeaderMap) -> Verdict {
    match retry_after(headers) {
        _ if !is_transient(status) => Verdict::Stop,
        Some(wait) => Verdict::RetryAfter(wait),
        None => Verdict::Retry,
    }
}

/// What a response means, for [`classify_ok`](crate::Retry::classify_ok): `None` where it is not an
/// error (below 400), and its [`verdict`] otherwise. A client that turns responses into errors loses
/// their headers, and `Retry-After` with them; this way the last response comes back as it is.
///
/// It is for requests that may be processed twice. For a `POST`, see [`response_to`].
///
/// ```
/// use redial::{Policy, http, retry};
/// # async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// # let client = reqwest::Client::new();
/// let response = retry(&Policy::DEFAULT, || client.get("https://example.com/").send())
///     .classify_ok(|response| http::response(response.status(), response.headers()))
///     .await?
///     .error_for_status()?; // once, at the end
/// # Ok(()) }
/// ```
pub fn response(status: StatusCode, headers: &HeaderMap) -> Option<Verdict> {
    (status.as_u16() >= 400).then(|| verdict(status, headers))
}

/// The [`verdict`] on a response to a request that must not be processed twice, such as a `POST`
/// that is not [idempotent](is_idempotent): it is sent again only where the status says that it was
/// not processed, which is 408, 425 and 429.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use redial::{Verdict, http::verdict_once};
/// assert_eq!(verdict_once(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new()), Verdict::Retry);
/// assert_eq!(verdict_once(StatusCode::BAD_GATEWAY, &HeaderMap::new()), Verdict::Stop);
/// ```
pub fn verdict_once(status: StatusCode, headers: &HeaderMap) -> Verdict {
    match status.as_u16() {
        408 | 425 | 429 => verdict(status, headers),
        _ => Verdict::Stop,
    }
}

/// As [`response`], of a request that must not be processed twice: see [`verdict_once`].
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use redial::{Verdict, http::response_once};
/// assert_eq!(response_once(StatusCode::BAD_GATEWAY, &HeaderMap::new()), Some(Verdict::Stop));
/// assert_eq!(response_once(StatusCode::OK, &HeaderMap::new()), None);
/// ```
pub fn response_once(status: StatusCode, headers: &HeaderMap) -> Option<Verdict> {
    (status.as_u16() >= 400).then(|| verdict_once(status, headers))
}

/// What a response means, given its request: [`response`] where that may be processed twice, by
/// [`is_idempotent`], and [`response_once`] otherwise.
///
/// ```
/// use http::{HeaderMap, HeaderValue, Method, StatusCode};
/// use redial::{Verdict, http::response_to};
///
/// let (mut request, response) = (HeaderMap::new(), HeaderMap::new());
/// let verdict = |method: Method, request: &HeaderMap| {
///     response_to(&method, request, StatusCode::BAD_GATEWAY, &response)
/// };
/// assert_eq!(verdict(Method::GET, &request), Some(Verdict::Retry));
/// assert_eq!(verdict(Method::POST, &request), Some(Verdict::Stop)); // it may have been processed
/// request.insert("idempotency-key", HeaderValue::from_static("9c8b"));
/// assert_eq!(verdict(Method::POST, &request), Some(Verdict::Retry));
/// ```
pub fn response_to(
    method: &Method,
    request_headers: &HeaderMap,
    status: StatusCode,
    headers: &HeaderMap,
) -> Option<Verdict> {
    match is_idempotent(method, request_headers) {
        true => response(status, headers),
        false => response_once(status, headers),
    }
}

/// Whether a request may be processed twice: its method is idempotent by RFC 9110 (`GET`, `HEAD`,
/// `OPTIONS`, `TRACE`, `PUT`, `DELETE`), or it says so itself by a header `Idempotency-Key` or
/// `X-Idempotency-Key`, as in Go's `net/http`.
///
/// ```
/// use http::{HeaderMap, HeaderValue, Method};
/// use redial::http::is_idempotent;
///
/// let mut headers = HeaderMap::new();
/// assert!(is_idempotent(&Method::PUT, &headers));
/// assert!(!is_idempotent(&Method::POST, &headers));
/// headers.insert("idempotency-key", HeaderValue::from_static("9c8b"));
/// assert!(is_idempotent(&Method::POST, &headers));
/// ```
pub fn is_idempotent(method: &Method, headers: &HeaderMap) -> bool {
    method.is_idempotent()
        || ["idempotency-key", "x-idempotency-key"].iter().any(|name| headers.contains_key(*name))
}

/// Whether the same request may well succeed later: 408, 425, 429, 500, 502, 503, 504, 507 and 508,
/// and what proxies and large sites say of a server that is overloaded or out of reach: 520 to 524,
/// 529 and 530.
///
/// Whether it is safe to send it again is another question: see [`is_idempotent`].
///
/// ```
/// use http::StatusCode;
/// use redial::http::is_transient;
/// assert!(is_transient(StatusCode::GATEWAY_TIMEOUT));
/// assert!(!is_transient(StatusCode::NOT_IMPLEMENTED));
/// ```
pub fn is_transient(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        408 | 425 | 429 | 500 | 502..=504 | 507 | 508 | 520..=524 | 529 | 530
    )
}

/// How long the response asks to wait, from its `Retry-After` header: a number of seconds, or a
/// date. A date counts from the response's own `Date` where it has one, so that a client whose
/// clock is wrong still waits as long as the server meant. Where there is neither a `Date` nor a
/// time of day (`wasm32-unknown-unknown` without the feature `wasm`), a date means nothing.
///
/// ```
/// use std::time::Duration;
/// use http::{HeaderMap, HeaderValue};
/// use redial::http::retry_after;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("date", HeaderValue::from_static("Fri, 31 Dec 1999 23:59:00 GMT"));
/// headers.insert("retry-after", HeaderValue::from_static("Fri, 31 Dec 1999 23:59:59 GMT"));
/// assert_eq!(retry_after(&headers), Some(Duration::from_secs(59)));
/// ```
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    // The time of day is read for a date alone: not every target has one.
    parse(value, || {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        date.and_then(|date| httpdate::parse_http_date(date).ok()).or_else(now)
    })
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn now() -> Option<SystemTime> {
    Some(SystemTime::now())
}

/// `SystemTime::now` panics on this target.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn now() -> Option<SystemTime> {
    #[cfg(feature = "wasm")]
    return SystemTime::UNIX_EPOCH.checked_add(crate::clock::wasm::since_epoch());
    #[cfg(not(feature = "wasm"))]
    None
}

/// The same from the header's text. A date that is past means now; more seconds than fit mean the
/// longest wait there is, which [`max_retry_after`](crate::Retry::max_retry_after) then refuses;
/// anything else means nothing.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use redial::http::parse_retry_after;
///
/// let now = SystemTime::UNIX_EPOCH;
/// assert_eq!(parse_retry_after("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(
///     parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", now),
///     Some(Duration::from_secs(60)),
/// );
/// assert_eq!(parse_retry_after("-1", now), None);
/// assert_eq!(parse_retry_after("soon", now), None);
/// ```
pub fn parse_retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    parse(value, || Some(now))
}

fn parse(value: &str, now: impl FnOnce() -> Option<SystemTime>) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now()?).unwrap_or(Duration::ZERO))
}
