//! A real HTTP server on loopback that answers as its script says.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[path = "../../crates/redial/examples/flaky_http/server.rs"]
mod server;

/// A status, headers, and a body.
pub type Answer = (u16, &'static [(&'static str, &'static str)], &'static str);

/// Starts the server and returns its address as a URL. Past the end of the script it answers 200
/// with the body `hello`.
pub async fn server(script: impl IntoIterator<Item = Answer>) -> String {
    let script =
        script.into_iter().map(|(status, headers, body)| server::Answer(status, headers, body));
    let address = server::start(script).await.expect("a port on loopback");
    format!("http://{address}/")
}

/// Starts a server whose first answer breaks off in the middle of its body; every later one is
/// `hello`.
pub async fn breaks_off_once() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port on loopback");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        for body in ["hel", "hello"] {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/")
}
