//! A real HTTP server on loopback that answers as its script says.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// One answer: a status, headers, and a body.
pub(crate) struct Answer(
    pub(crate) u16,
    pub(crate) &'static [(&'static str, &'static str)],
    pub(crate) &'static str,
);

/// Starts the server and returns its address. Past the end of the script it answers 200.
pub(crate) async fn start(script: impl IntoIterator<Item = Answer>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let script: Arc<Mutex<VecDeque<_>>> = Arc::new(Mutex::new(script.into_iter().collect()));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let script = Arc::clone(&script);
            let answer = service_fn(move |_: Request<_>| {
                let next = script.lock().expect("no answer panics").pop_front();
                std::future::ready(Ok::<_, Infallible>(respond(next)))
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    Ok(address)
}

fn respond(answer: Option<Answer>) -> Response<Full<Bytes>> {
    let Answer(status, headers, body) = answer.unwrap_or(Answer(200, &[], "hello\n"));
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(Bytes::from(body))).expect("the script is well formed")
}
