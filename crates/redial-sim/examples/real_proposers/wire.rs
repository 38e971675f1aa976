//! What goes over the wire: requests and replies of a fixed length, so that they need no framing.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// Which epoch is it?
    Epoch,
    Prepare(Ballot),
    Accept(Ballot),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ballot {
    pub(crate) epoch: u32,
    pub(crate) number: u32,
    pub(crate) client: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Epoch(u32),
    Promised,
    Chosen,
    /// And the number of the promised ballot.
    Refused(u32),
}

/// A kind, and three numbers.
const REQUEST_LENGTH: usize = 13;
/// A kind, and a number.
const REPLY_LENGTH: usize = 5;

pub(crate) async fn send_request(stream: &mut TcpStream, request: Request) -> io::Result<()> {
    let (kind, numbers) = match request {
        Request::Epoch => (0, [0; 3]),
        Request::Prepare(Ballot { epoch, number, client }) => (1, [epoch, number, client]),
        Request::Accept(Ballot { epoch, number, client }) => (2, [epoch, number, client]),
    };
    let mut bytes = [kind; REQUEST_LENGTH];
    for (four, number) in bytes[1..].chunks_exact_mut(4).zip(numbers) {
        four.copy_from_slice(&number.to_be_bytes());
    }
    stream.write_all(&bytes).await
}

/// The next request, or nothing once the client has left.
pub(crate) async fn receive_request(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut bytes = [0; REQUEST_LENGTH];
    match stream.read_exact(&mut bytes).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let number = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
    let ballot = Ballot { epoch: number(1), number: number(5), client: number(9) };
    match bytes[0] {
        0 => Ok(Some(Request::Epoch)),
        1 => Ok(Some(Request::Prepare(ballot))),
        2 => Ok(Some(Request::Accept(ballot))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

pub(crate) async fn send_reply(stream: &mut TcpStream, reply: Reply) -> io::Result<()> {
    let (kind, number) = match reply {
        Reply::Epoch(epoch) => (0, epoch),
        Reply::Promised => (1, 0),
        Reply::Chosen => (2, 0),
        Reply::Refused(promised) => (3, promised),
    };
    let mut bytes = [kind; REPLY_LENGTH];
    bytes[1..].copy_from_slice(&u32::to_be_bytes(number));
    stream.write_all(&bytes).await
}

pub(crate) async fn receive_reply(stream: &mut TcpStream) -> io::Result<Reply> {
    let mut bytes = [0; REPLY_LENGTH];
    stream.read_exact(&mut bytes).await?;
    let [kind, number @ ..] = bytes;
    let number = u32::from_be_bytes(number);
    match kind {
        0 => Ok(Reply::Epoch(number)),
        1 => Ok(Reply::Promised),
        2 => Ok(Reply::Chosen),
        3 => Ok(Reply::Refused(number)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
