//! What comes back from a call that a timeout or a breaker can end, and where `?` takes it.

use std::error::Error as StdError;
use std::fmt;
use std::future::{pending, ready};
use std::io;
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::{Backoff, Breaker, Cause, Error, Interrupted, Policy, Stop, blocking, retry};

const SECOND: Duration = Duration::from_secs(1);
const STEADY: Policy = Backoff::constant(SECOND).attempts(3);

type BoxError = Box<dyn StdError + Send + Sync>;

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionRefused, "refused")
}

/// Fails by itself, then hangs.
async fn fails_then_hangs<E>(attempt: u32, error: impl Fn() -> E) -> Result<(), E> {
    if attempt < 3 { Err(error()) } else { pending().await }
}

#[test]
fn a_standard_error_goes_into_anyhow_and_into_a_box() {
    fn into_anyhow(clock: &ManualClock) -> anyhow::Result<()> {
        let call = retry(&STEADY, || ready(Err(refused()))).timeout(SECOND).clock(clock);
        Ok(clock.block_on(call)?)
    }
    fn into_box(clock: &ManualClock) -> Result<(), BoxError> {
        let breaker = Breaker::new();
        let call = retry(&STEADY, || ready(Err(refused()))).breaker(&breaker).clock(clock);
        Ok(clock.block_on(call)?)
    }
    let clock = ManualClock::new();
    let error = into_anyhow(&clock).unwrap_err();
    assert_eq!(error.to_string(), "refused");
    let own = error.downcast::<Error<io::Error>>().unwrap().into_inner().unwrap();
    assert_eq!(own.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(into_box(&clock).unwrap_err().to_string(), "refused");
}

#[test]
fn the_chain_of_sources_is_the_operations() {
    #[derive(Debug)]
    struct Fetch(io::Error);
    impl fmt::Display for Fetch {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot fetch")
        }
    }
    impl StdError for Fetch {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }
    let clock = ManualClock::new();
    let call = retry(&STEADY, || ready(Err::<(), _>(Fetch(refused())))).timeout(SECOND);
    let error = anyhow::Error::from(clock.block_on(call.clock(&clock)).unwrap_err());
    let chain: Vec<_> = error.chain().map(ToString::to_string).collect();
    assert_eq!(chain, ["cannot fetch", "refused"]);
}

#[test]
fn an_anyhow_error_stays_one() {
    fn call(clock: &ManualClock, hangs: bool) -> anyhow::Result<()> {
        let mut attempts = 0;
        let operation = || {
            attempts += u32::from(hangs);
            fails_then_hangs(attempts, || anyhow::Error::new(refused()).context("cannot fetch"))
        };
        clock.block_on(retry(&STEADY, operation).timeout(SECOND).clock(clock))
    }
    let clock = ManualClock::new();
    let own = call(&clock, false).unwrap_err();
    assert_eq!(format!("{own:#}"), "cannot fetch: refused");
    assert!(own.downcast_ref::<io::Error>().is_some());

    let cut = call(&clock, true).unwrap_err();
    assert_eq!(format!("{cut:#}"), "the last attempt timed out: cannot fetch: refused");
    let interrupted = cut.downcast::<Interrupted<anyhow::Error>>().unwrap();
    assert_eq!(interrupted.cause, Cause::TimedOut);
    assert!(interrupted.last.unwrap().downcast_ref::<io::Error>().is_some());
}

#[test]
fn a_boxed_error_stays_one() {
    let (clock, breaker) = (ManualClock::new(), Breaker::builder().failures(1).build());
    let call = || -> Result<(), BoxError> {
        blocking::call(&STEADY, |_| Err(BoxError::from(refused())))
            .breaker(&breaker)
            .clock(&clock)
            .run()
    };
    assert!(call().unwrap_err().is::<io::Error>());
    let open = call().unwrap_err();
    assert_eq!(open.to_string(), "the circuit breaker is open");
    assert!(open.is::<Interrupted<BoxError>>());
}

#[test]
fn an_enum_of_ones_own_is_made_by_from() {
    #[derive(Debug)]
    enum Failure {
        Http(io::Error),
        TimedOut,
    }
    impl From<Error<io::Error>> for Failure {
        fn from(error: Error<io::Error>) -> Self {
            error.into_inner().map_or(Self::TimedOut, Self::Http)
        }
    }
    fn call(clock: &ManualClock, hangs: bool) -> Result<(), Failure> {
        let operation = || async move { if hangs { pending().await } else { Err(refused()) } };
        Ok(clock.block_on(retry(&STEADY, operation).timeout(SECOND).clock(clock))?)
    }
    let clock = ManualClock::new();
    assert!(
        matches!(call(&clock, false), Err(Failure::Http(error)) if error.to_string() == "refused")
    );
    assert!(matches!(call(&clock, true), Err(Failure::TimedOut)));
}

/// No `std::error::Error`, and its call still may have a timeout and a breaker.
#[derive(Debug, PartialEq)]
enum Own {
    Refused,
    TimedOut(Option<Box<Self>>),
    Open,
}

fn own(interrupted: Interrupted<Own>) -> Own {
    match interrupted.cause {
        Cause::TimedOut => Own::TimedOut(interrupted.last.map(Box::new)),
        _ => Own::Open,
    }
}

#[test]
fn an_error_stays_as_it_is_where_the_call_says_what_a_timeout_is_in_it() {
    let clock = ManualClock::new();
    let attempts = std::cell::Cell::new(0);
    let call = || {
        attempts.set(0);
        let operation = || {
            attempts.set(attempts.get() + 1);
            fails_then_hangs(attempts.get(), || Own::Refused)
        };
        retry(&STEADY, operation).error_from(own).timeout(SECOND).clock(&clock)
    };
    let timed_out = Own::TimedOut(Some(Box::new(Own::Refused)));
    assert_eq!(clock.block_on(call()), Err(timed_out));

    let outcome = clock.block_on(call().outcome());
    assert_eq!(outcome.result, Err(Own::TimedOut(None)));
    assert_eq!(outcome.reason, Some(Stop::AttemptsSpent));
    let errors: Vec<_> = outcome.errors().collect();
    assert_eq!(errors, [(1, &Own::Refused), (2, &Own::Refused), (3, &Own::TimedOut(None))]);

    let breaker = Breaker::builder().failures(1).build();
    let call = || {
        blocking::call(&STEADY, |_| Err::<(), _>(Own::Refused))
            .error_from(own)
            .breaker(&breaker)
            .clock(&clock)
            .run()
    };
    assert_eq!(call(), Err(Own::Refused));
    assert_eq!(call(), Err(Own::Open));
}

#[test]
fn the_errors_before_a_timeout_are_in_it() {
    let clock = ManualClock::new();
    let mut attempts = 0;
    let call = retry(&STEADY, || {
        attempts += 1;
        fails_then_hangs(attempts, refused)
    });
    let error = clock.block_on(call.timeout(SECOND).clock(&clock)).unwrap_err();
    assert!(matches!(&error, Error::TimedOut(Some(last)) if last.to_string() == "refused"));
    assert_eq!(error.to_string(), "the last attempt timed out");
    assert_eq!(error.source().unwrap().to_string(), "refused");
}

#[test]
fn an_outcome_has_every_error_before_a_hang() {
    let outcome = |hedged: bool| {
        let clock = ManualClock::new();
        let mut attempts = 0;
        let call = retry(&STEADY, || {
            attempts += 1;
            fails_then_hangs(attempts, || 503)
        });
        let call = call.timeout(SECOND).clock(&clock).outcome();
        match hedged {
            true => clock.block_on(call.hedge(SECOND * 9)),
            false => clock.block_on(call),
        }
    };
    for outcome in [outcome(false), outcome(true)] {
        let errors: Vec<_> = outcome.errors().map(|(attempt, error)| (attempt, *error)).collect();
        let before = [(1, Error::Failed(503)), (2, Error::Failed(503))];
        assert_eq!(errors, [before[0], before[1], (3, Error::TimedOut(None))]);
    }
}

/// A breaker that is open again after a timeout: the timeout is the last failure.
#[test]
fn what_may_be_said_in_any_order_is() {
    let (clock, breaker) = (ManualClock::new(), Breaker::new());
    let script: Script<(), _> = Script::new([Err("a"), Err("b"), Err("c")]);
    let call = retry(&STEADY, || script.next())
        .breaker(&breaker)
        .timeout(SECOND)
        .error_from(|_| "interrupted")
        .clock(&clock);
    assert_eq!(clock.block_on(call), Err("c"));
}
