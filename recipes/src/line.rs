//! A real TCP server on loopback that answers lines, and hangs up as its script says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How many connections there have been.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<AtomicU32>);

impl Connections {
    /// So many.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Starts the server and returns its address. It answers a line by the same in capitals, so many
/// on each connection, and then hangs up.
pub async fn server(script: impl IntoIterator<Item = u32>) -> (String, Connections) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port on loopback");
    let address = listener.local_addr().expect("an address").to_string();
    let connections = Connections::default();
    let counted = connections.clone();
    let script: Vec<u32> = script.into_iter().collect();
    tokio::spawn(async move {
        for answers in script {
            let (stream, _) = listener.accept().await.expect("a connection");
            counted.0.fetch_add(1, Ordering::Relaxed);
            // A client that has gone is nothing to us.
            let _ = answer(stream, answers).await;
        }
    });
    (address, connections)
}

async fn answer(stream: TcpStream, answers: u32) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    for _ in 0..answers {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        stream.get_mut().write_all(line.to_uppercase().as_bytes()).await?;
    }
    Ok(())
}
