//! One event for an attempt is as good as the study's four: its server message by message, beside
//! the reduction, also where hops are folded at zero and where a deadline looks at the time.

use std::time::Duration;

use redial_core::{Backoff, Call, Decision, Policy, SplitMix64, Time, Verdict};
use redial_sim::chance::{normal, trial_seed};
use redial_sim::contention::Latency;
use redial_sim::engine::{Bounds, Engine, Event, Model};
use redial_sim::{Contention, Estimate};

struct Server<'p> {
    version: u32,
    clients: Vec<Client<'p>>,
    latency: Latency,
    random: SplitMix64,
    writes: u32,
    committed: u32,
    last: u64,
}

struct Client<'p> {
    call: Call<&'p Policy>,
    message: Message,
}

/// What arrives next.
#[derive(Clone, Copy)]
enum Message {
    Read,
    Version(u32),
    Write(u32),
    Written(bool),
}

impl Server<'_> {
    fn hop(&mut self) -> u64 {
        let Latency { mean, spread } = self.latency;
        (mean.as_nanos() as f64 + spread.as_nanos() as f64 * normal(&mut self.random)).abs() as u64
    }
}

impl Model for Server<'_> {
    fn event(&mut self, client: u32, now: u64) -> Event {
        let hop = self.hop();
        let Client { call, message } = &mut self.clients[client as usize];
        let next = match *message {
            Message::Read => {
                *message = Message::Version(self.version);
                Some(now + hop)
            }
            Message::Version(version) => {
                *message = Message::Write(version);
                Some(now + hop)
            }
            Message::Write(version) => {
                let is_current = version == self.version;
                self.version += u32::from(is_current);
                self.writes += 1;
                *message = Message::Written(is_current);
                Some(now + hop)
            }
            Message::Written(true) => {
                self.committed += 1;
                None
            }
            Message::Written(false) => {
                *message = Message::Read;
                let now = Time::from_nanos(now);
                match call.failed(now, || Verdict::Retry, &mut self.random) {
                    Decision::Wait(delay) => Some(now.after(delay).as_nanos() + hop),
                    Decision::Stop(_) => None,
                }
            }
        };
        self.last = now;
        Event { kind: 0, next }
    }
}

/// Writes, time in ms and commits of the study's server.
fn message_by_message(count: u32, latency: Latency, policy: &Policy) -> [Estimate; 3] {
    let mut engine = Engine::new(count, Bounds::DEFAULT).expect("clients");
    let trials: Vec<_> = (0..TRIALS)
        .map(|trial| {
            let random = SplitMix64::new(trial_seed(99, trial.into()));
            let client = |_| Client { call: policy.start(Time::ZERO), message: Message::Read };
            let clients = (0..count).map(client).collect();
            let (version, writes, committed, last) = (0, 0, 0, 0);
            let mut server = Server { version, clients, latency, random, writes, committed, last };
            let first_hops: Vec<u64> = (0..count).map(|_| server.hop()).collect();
            engine.run(&mut server, |client| first_hops[client as usize], |_, _, _| {});
            [f64::from(server.writes), server.last as f64 / 1e6, f64::from(server.committed)]
        })
        .collect();
    [0, 1, 2].map(|i| Estimate::of(trials.iter().map(|trial| trial[i])))
}

const TRIALS: u32 = 800;

fn check(clients: u32, latency: Latency, policy: &Policy) {
    let scenario = Contention::occ(clients).latency(latency).trials(TRIALS);
    let results = scenario.run(policy).expect("valid").results().expect("no bound is near");
    let commits = Estimate {
        mean: results.committed.mean * f64::from(clients),
        ci95: results.committed.ci95 * f64::from(clients),
        ..results.committed
    };
    let reduced = [results.calls, results.time_ms, commits];
    for (ours, theirs) in reduced.iter().zip(message_by_message(clients, latency, policy)) {
        // Twice the half-width of the difference's interval: four standard errors.
        let tolerance = 2.0 * ours.ci95.hypot(theirs.ci95) + 1e-9;
        let message = format!("{policy}: {ours:?}, not {theirs:?}");
        assert!((ours.mean - theirs.mean).abs() <= tolerance, "{message}");
    }
}

const FULL: Policy = Backoff::exponential(Duration::from_millis(10))
    .max(Duration::from_secs(2))
    .full_jitter()
    .unlimited();

#[test]
fn the_reduction_is_the_study_s_server() {
    check(20, Latency::millis(10, 2), &FULL);
    check(20, Latency::millis(10, 2), &Backoff::none().unlimited());
}

#[test]
fn hops_that_are_folded_at_zero_are_added_one_by_one() {
    check(20, Latency::millis(5, 8), &FULL);
}

#[test]
fn who_gives_up_does_so_as_often_and_at_the_same_time() {
    check(30, Latency::millis(10, 2), &FULL.within(Duration::from_millis(400)));
    check(30, Latency::millis(10, 2), &FULL.backoff().attempts(4));
}
