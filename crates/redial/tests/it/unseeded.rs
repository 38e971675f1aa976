//! Without a seed no two calls, threads or processes share a sequence.

use std::collections::HashSet;
use std::future::ready;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Policy, blocking, retry, tries_on};

use crate::child;

/// Two delays that are random to the nanosecond of an hour, or to 41 bits each.
const POLICY: Policy = Backoff::constant(Duration::from_secs(3600)).full_jitter().attempts(3);

type Pair = [Duration; 2];

fn pair(delays: Vec<Duration>) -> Pair {
    delays.try_into().expect("two delays")
}

fn blocking_pair() -> Pair {
    let clock = ManualClock::new();
    let _ = blocking::call(POLICY, |_| Err::<(), _>(())).clock(&clock).run();
    pair(clock.slept())
}

fn async_pair() -> Pair {
    let clock = ManualClock::new();
    let _ = clock.block_on(async { retry(POLICY, || ready(Err::<(), _>(()))).clock(&clock).await });
    pair(clock.slept())
}

fn tries_pair() -> Pair {
    let clock = ManualClock::new();
    clock.block_on(async {
        let mut tries = tries_on(&clock, POLICY);
        while tries.failed(()).await.is_ok() {}
    });
    pair(clock.slept())
}

/// All are distinct, and so are all of the delays in them: no call starts where another went on.
#[track_caller]
fn check_distinct(pairs: &[Pair]) {
    assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), pairs.len(), "pairs that repeat");
    // 2000 draws of 41 bits: two of them are equal in one of a million runs. So a few may be.
    let delays: HashSet<_> = pairs.iter().flatten().collect();
    assert!(delays.len() + 3 > 2 * pairs.len(), "{} of {}", delays.len(), 2 * pairs.len());
}

#[test]
fn a_thousand_calls_share_no_sequence() {
    let pairs: Vec<_> = (0..1000)
        .map(|n| match n % 3 {
            0 => blocking_pair(),
            1 => async_pair(),
            _ => tries_pair(),
        })
        .collect();
    check_distinct(&pairs);
}

#[test]
fn a_hundred_threads_share_no_sequence() {
    let threads: Vec<_> =
        (0..100).map(|_| thread::spawn(|| [blocking_pair(), async_pair(), tries_pair()])).collect();
    let pairs: Vec<_> =
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
    check_distinct(&pairs);
}

/// The delays are spread over their whole range, and not only distinct.
#[test]
fn delays_without_a_seed_are_spread_over_the_whole_range() {
    let mut eighths = [0; 8];
    for delay in (0..1000).flat_map(|_| blocking_pair()) {
        eighths[(delay.as_secs() / 450).min(7) as usize] += 1;
    }
    // 250 each are expected, with a standard deviation of 15: ten of those are never seen.
    assert!(eighths.iter().all(|count| (100..400).contains(count)), "{eighths:?}");
}

const MARK: &str = "first delays: ";

#[test]
#[ignore = "the child process of the next test"]
fn prints_its_first_delays() {
    if !child::is_one() {
        return;
    }
    let [one, two] = blocking_pair();
    // On a line of its own, whatever the harness has printed before.
    writeln!(std::io::stdout(), "\n{MARK}{} {}", one.as_nanos(), two.as_nanos()).unwrap();
}

#[test]
fn a_thousand_processes_share_no_sequence() {
    let (processes, at_once) = (1000, 8);
    let mut pairs = Vec::new();
    for _ in 0..processes / at_once {
        let children: Vec<_> = (0..at_once)
            .map(|_| child::command("unseeded::prints_its_first_delays").spawn().unwrap())
            .collect();
        for mut child in children {
            let mut text = String::new();
            child.stdout.take().expect("piped").read_to_string(&mut text).unwrap();
            assert!(child.wait().unwrap().success(), "{text}");
            pairs.push(read_pair(&text));
        }
    }
    assert_eq!(pairs.len(), processes);
    check_distinct(&pairs);
}

fn read_pair(text: &str) -> Pair {
    let line = text.lines().find_map(|line| line.strip_prefix(MARK));
    let nanos = line.unwrap_or_else(|| panic!("no delays in {text}")).split(' ');
    pair(nanos.map(|nanos| Duration::from_nanos(nanos.parse().expect("a number"))).collect())
}
