//! A proposer: a client of the acceptor that retries through the library.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use redial::{Policy, ThreadRandom, tries};
use redial_sim::chance::normal;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::punctuality::Punctuality;
use crate::wire::{Ballot, Reply, Request, receive_reply, send_request};

#[derive(Debug)]
pub(crate) struct Proposer<'a> {
    stream: TcpStream,
    client: u32,
    /// The mean; the standard deviation is a fifth of it.
    round_trip: Duration,
    /// The epoch that it knew last, and the number of its next ballot in that.
    epoch: u32,
    number: u32,
    /// How late its last timer was.
    lateness: Duration,
    punctuality: &'a Punctuality,
}

/// The acceptor's answer to a proposal that lost.
#[derive(Debug)]
struct Refused;

impl<'a> Proposer<'a> {
    pub(crate) async fn connect(
        acceptor: SocketAddr,
        client: u32,
        round_trip: Duration,
        punctuality: &'a Punctuality,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect(acceptor).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            client,
            round_trip,
            epoch: 0,
            number: 1,
            lateness: Duration::ZERO,
            punctuality,
        })
    }

    /// Proposes until its proposal is chosen or the policy gives up: whether it was chosen.
    pub(crate) async fn commit(mut self, policy: &Policy) -> io::Result<bool> {
        let mut tries = tries(policy);
        while !self.propose().await? {
            if let Err(Refused) = tries.failed(Refused).await {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One proposal: whether it was chosen.
    ///
    /// Loopback takes no time to speak of, so the round trip is added here, half of it on each
    /// message. Its points in time are fixed at the start, and the start makes up for the time by
    /// which the last refusal was known too late: what timers are late by does not add up.
    async fn propose(&mut self) -> io::Result<bool> {
        self.learn_epoch().await?;
        let (start, round_trip) = (Instant::now() - self.lateness, self.draw_round_trip());
        let ballot = Ballot { epoch: self.epoch, number: self.number, client: self.client };
        self.wait_until(start + round_trip / 2).await;
        if let Reply::Refused(promised) = self.ask(Request::Prepare(ballot)).await? {
            self.number = promised + 1;
            self.wait_until(start + round_trip).await;
            return Ok(false);
        }
        self.wait_until(start + round_trip * 3 / 2).await;
        let reply = self.ask(Request::Accept(ballot)).await?;
        self.wait_until(start + round_trip * 2).await;
        if let Reply::Refused(promised) = reply {
            self.number = promised + 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// In the model, clients know the epoch in which they start, by whatever means. The means here
    /// is a question, and to make it the same model, that is the one message without a delay.
    async fn learn_epoch(&mut self) -> io::Result<()> {
        match self.ask(Request::Epoch).await? {
            Reply::Epoch(epoch) if epoch != self.epoch => (self.epoch, self.number) = (epoch, 1),
            _ => {}
        }
        Ok(())
    }

    async fn ask(&mut self, request: Request) -> io::Result<Reply> {
        send_request(&mut self.stream, request).await?;
        receive_reply(&mut self.stream).await
    }

    async fn wait_until(&mut self, due: Instant) {
        sleep_until(due).await;
        self.lateness = due.elapsed();
        self.punctuality.record(self.lateness);
    }

    /// As the model draws it.
    fn draw_round_trip(&self) -> Duration {
        self.round_trip.mul_f64((1.0 + 0.2 * normal(&mut ThreadRandom)).max(0.05))
    }
}
