//! Is the simulator right? Real proposers and a real acceptor, over TCP on loopback with an added
//! round trip, retry through the library and its timers; their rates of success stand beside those
//! of [`Contention::ballot`](redial_sim::Contention::ballot).
//!
//! `cargo run --release -p redial-sim --example real_proposers -- [--runs 300] [--devices 2,5,8,10]
//! [--rtt 20ms,50ms] [--at-once 150] [--json]`
//!
//! Its exit code is 1 if the share of the devices that commit is off by more than five points
//! anywhere. That all of them do is shown, and not judged: one device more in two hundred is ten
//! points of it. Timers fire on whole milliseconds, so a round trip of a few would be theirs rather
//! than the network's: 20 ms is the least. Runs in which timers are late beyond that are discarded
//! and repeated; on a machine that is too busy for any, the exit code is 2, and fewer devices at once
//! or a longer round trip may help.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

mod acceptor;
mod experiment;
mod options;
mod proposer;
mod punctuality;
mod wire;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redial::{Backoff, Policy};
use redial_sim::contention::Results;
use tokio::sync::Semaphore;

use crate::experiment::{Experiment, Measured};
use crate::options::Options;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What seed 003 changes, and what it changes it to.
static POLICIES: [(&str, Policy); 2] =
    [("old", Backoff::list(&[ms(10), ms(20), ms(30)]).attempts(4)), ("new", Policy::CONTENTION)];

const POINTS_MAX: f64 = 5.0;

/// A row of the table.
struct Row {
    policy: &'static str,
    experiment: Experiment,
    measured: Measured,
    simulated: Results,
}

impl Row {
    /// Real less simulated, in percentage points: devices that commit, and runs in which all do.
    fn points(&self) -> [f64; 2] {
        let Self { measured, simulated, .. } = self;
        [
            100.0 * (measured.committed.mean - simulated.committed.mean),
            100.0 * (measured.all_committed.mean - simulated.all_committed.mean),
        ]
    }

    fn print(&self) {
        let Self { policy, experiment, measured, simulated } = self;
        let [committed, all] = self.points();
        println!(
            "{policy:<6} {:>3} ms {:>3}   {:>5.1} ±{:<4.1} {:>9.1} {committed:>+6.1}   \
             {:>5.1} ±{:<4.1} {:>10.1} {all:>+6.1}   {:>9}",
            experiment.round_trip.as_millis(),
            experiment.devices,
            100.0 * measured.committed.mean,
            100.0 * measured.committed.ci95,
            100.0 * simulated.committed.mean,
            100.0 * measured.all_committed.mean,
            50.0 * (measured.all_committed.high - measured.all_committed.low),
            100.0 * simulated.all_committed.mean,
            measured.discarded,
        );
    }

    fn print_json(&self) {
        let Self { policy, experiment, measured, simulated } = self;
        let Measured { committed, all_committed: all, discarded } = measured;
        println!(
            "{{\"policy\":\"{policy}\",\"rtt_ms\":{},\"devices\":{},\"runs\":{},\
             \"committed\":{{\"real\":{:.4},\"ci95\":{:.4},\"simulated\":{:.4}}},\
             \"all_committed\":{{\"real\":{:.4},\"low\":{:.4},\"high\":{:.4},\"simulated\":{:.4}}},\
             \"discarded\":{discarded}}}",
            experiment.round_trip.as_millis(),
            experiment.devices,
            experiment.runs,
            committed.mean,
            committed.ci95,
            simulated.committed.mean,
            all.mean,
            all.low,
            all.high,
            simulated.all_committed.mean,
        );
    }
}

fn main() -> ExitCode {
    match compare() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Prints the table: whether real and simulated devices agree.
#[tokio::main(flavor = "current_thread")]
async fn compare() -> Result<bool, Box<dyn Error>> {
    let Options { runs, devices, round_trips, at_once, json } =
        Options::parse(std::env::args().skip(1))?;
    let begun = Instant::now();
    let room = Arc::new(Semaphore::new(at_once as usize));
    // All are under way together, so that there is always a device for each place.
    let mut under_way = Vec::new();
    for (name, policy) in &POLICIES {
        for &round_trip in &round_trips {
            for &devices in &devices {
                let experiment = Experiment { policy, devices, round_trip, runs };
                let simulated = experiment.simulated();
                let measured = tokio::spawn(experiment.measured(Arc::clone(&room)));
                under_way.push((*name, experiment, simulated, measured));
            }
        }
    }
    if !json {
        println!("                     devices that commit, %           runs in which all do, %");
        println!(
            "policy    RTT    N    real       simulated    off    real        simulated    off   discarded"
        );
    }
    let mut agrees = true;
    for (policy, experiment, simulated, measured) in under_way {
        let row = Row { policy, experiment, measured: measured.await??, simulated };
        let [devices, _] = row.points();
        agrees &= devices.abs() <= POINTS_MAX;
        if json { row.print_json() } else { row.print() }
    }
    if !json {
        println!("{runs} runs each, in {:.1} s", begun.elapsed().as_secs_f64());
    }
    Ok(agrees)
}
