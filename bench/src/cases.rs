//! Who is measured. Each file makes the same calls, in the words of one library.

mod bare;
mod hand;
#[cfg(feature = "peers")]
mod peers {
    pub(crate) mod backoff;
    pub(crate) mod backon;
    pub(crate) mod futures_retry;
    pub(crate) mod relentless;
    pub(crate) mod retry;
    pub(crate) mod tokio_retry;
    pub(crate) mod tokio_retry2;
    pub(crate) mod tower;
    #[cfg(feature = "tryhard")]
    pub(crate) mod tryhard;
}
mod redial;

use std::time::Duration;

use crate::subject::Subject;

pub(crate) use hand::HAND;

// The policy that everybody has.
const INITIAL: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(60);
const RETRIES: u32 = 3;

/// For tasks that are to sleep until they are counted: the first delay, and the cap.
const HOUR: Duration = Duration::from_secs(3600);

/// Bare first, redial last.
pub(crate) fn subjects(peers: bool) -> Vec<&'static Subject> {
    let mut subjects = vec![&bare::BARE, &hand::HAND];
    if peers {
        subjects.extend(PEERS);
    }
    subjects.push(&redial::REDIAL);
    subjects
}

#[cfg(feature = "peers")]
const PEERS: &[&Subject] = &[
    &peers::backon::BACKON,
    &peers::relentless::RELENTLESS,
    &peers::tokio_retry::TOKIO_RETRY,
    &peers::tokio_retry2::TOKIO_RETRY2,
    &peers::backoff::BACKOFF,
    &peers::tower::TOWER,
    &peers::retry::RETRY,
    &peers::futures_retry::FUTURES_RETRY,
    #[cfg(feature = "tryhard")]
    &peers::tryhard::TRYHARD,
];
#[cfg(not(feature = "peers"))]
const PEERS: &[&Subject] = &[];

#[cfg(test)]
mod tests {
    use super::subjects;

    /// A peer that is only compiled may panic, or never come back.
    #[test]
    fn everybody_makes_each_call_once() {
        for subject in subjects(true) {
            for (call, run) in subject.loops {
                println!("{}, {}", subject.name, call.name());
                run(1);
            }
        }
    }
}
