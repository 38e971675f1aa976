//! Real proposers, over sockets and with the library's timers, commit as often as simulated ones.
//!
//! Real time is what it tests, on whatever machine: the round trip is so long that timers which are
//! late, as they are beside a build, change little. A program of its own, so that the other tests do not keep the
//! machine busy beside it.

#[path = "../examples/real_proposers/acceptor.rs"]
mod acceptor;
#[path = "../examples/real_proposers/experiment.rs"]
mod experiment;
#[path = "../examples/real_proposers/proposer.rs"]
mod proposer;
#[path = "../examples/real_proposers/punctuality.rs"]
mod punctuality;
#[path = "../examples/real_proposers/wire.rs"]
mod wire;

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use redial::{Backoff, Policy};
use tokio::sync::Semaphore;

use crate::experiment::{Experiment, Measured};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

static OLD: Policy = Backoff::list(&[ms(10), ms(20), ms(30)]).attempts(4);
static NEW: Policy = Policy::CONTENTION;

const RUNS: u32 = 120;
/// Devices under way at once: enough to be done in seconds, few enough for a limit on open files.
const ROOM: usize = 200;

/// The experiment with the shortest round trip, of these and longer ones, for which this machine keeps time.
async fn on_time(mut experiment: Experiment, room: Arc<Semaphore>) -> (Experiment, Measured) {
    loop {
        match experiment.measured(Arc::clone(&room)).await {
            Ok(measured) => return (experiment, measured),
            Err(too_busy) if too_busy.kind() == ErrorKind::Other => experiment.round_trip *= 2,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn real_proposers_commit_as_often_as_simulated_ones() {
    let room = Arc::new(Semaphore::new(ROOM));
    let mut under_way = Vec::new();
    for (policy, devices) in [(&OLD, 4), (&NEW, 6)] {
        let experiment = Experiment { policy, devices, round_trip: ms(100), runs: RUNS };
        under_way.push(tokio::spawn(on_time(experiment, Arc::clone(&room))));
    }
    for measured in under_way {
        let (experiment, measured) = measured.await.expect("no panic");
        let simulated = experiment.simulated();
        // Five points, and four standard errors: chance alone goes beyond those once in ten
        // thousand times. A share of the devices is measured more closely than one of the runs.
        let all = simulated.all_committed.mean;
        for (what, real, simulated, error) in [
            (
                "a device",
                measured.committed.mean,
                simulated.committed.mean,
                measured.committed.ci95 / 2.0,
            ),
            (
                "all devices",
                measured.all_committed.mean,
                all,
                (all * (1.0 - all) / f64::from(RUNS)).sqrt(),
            ),
        ] {
            assert!(
                (real - simulated).abs() <= 0.05 + 4.0 * error,
                "P({what} commits): {real}, not {simulated}, with {experiment:?}, \
                 after {} runs were discarded",
                measured.discarded,
            );
        }
    }
}
