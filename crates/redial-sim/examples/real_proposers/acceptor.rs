//! The acceptor: a server on loopback that promises and chooses by the rules of
//! [`Contention::ballot`](redial_sim::Contention::ballot).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpListener, TcpStream};

use crate::wire::{Ballot, Reply, Request, receive_request, send_reply};

#[derive(Debug, Default)]
struct Acceptor {
    epoch: u32,
    /// A ballot's number and its client; numbers count from 1, so that the default is below all.
    promised: (u32, u32),
}

impl Acceptor {
    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Epoch => Reply::Epoch(self.epoch),
            Request::Prepare(Ballot { epoch, number, client })
                if epoch == self.epoch && (number, client) > self.promised =>
            {
                self.promised = (number, client);
                Reply::Promised
            }
            Request::Accept(Ballot { epoch, number, client })
                if epoch == self.epoch && (number, client) == self.promised =>
            {
                *self = Self { epoch: epoch + 1, promised: (0, 0) };
                Reply::Chosen
            }
            Request::Prepare(_) | Request::Accept(_) => Reply::Refused(self.promised.0),
        }
    }
}

/// Starts an acceptor for this many clients, each with a connection of its own. It is gone when
/// they are.
pub(crate) async fn start(clients: u32) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let acceptor = Arc::default();
        for _ in 0..clients {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(serve(stream, Arc::clone(&acceptor)));
        }
        io::Result::Ok(())
    });
    Ok(address)
}

async fn serve(mut stream: TcpStream, acceptor: Arc<Mutex<Acceptor>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(request) = receive_request(&mut stream).await? {
        let reply = acceptor.lock().unwrap_or_else(PoisonError::into_inner).answer(request);
        send_reply(&mut stream, reply).await?;
    }
    Ok(())
}
