//! A retry budget that many calls share is charged before the wait.

use std::cell::RefCell;
use std::future::ready;

use redial::testing::ManualClock;
use redial::{Backoff, Budget, Stop, Time, blocking, retry, tries_on};

use super::SECOND;
use crate::scenario::check;

#[test]
fn a_retry_is_paid_for_before_its_wait() {
    check(
        "attempts: 9, delay: 1s; budget: 2",
        "a, b, c",
        r#"0s attempt 1
           0s judge a
           0s retry 1/9 a: waits 1s, in all 1s, 1 tokens left
           0s timer 1s
           1s attempt 2
           1s judge b
           1s retry 2/9 b: waits 1s, in all 2s, 0 tokens left
           1s timer 1s
           2s attempt 3
           2s judge c
           2s Err("c") budget: attempts 3, waited 2s, elapsed 2s, errors [1 "a", 2 "b", 3 "c"]"#,
    );
}

#[test]
fn a_retry_that_a_limit_forbids_costs_nothing() {
    let budget = Budget::builder().capacity(5.0).floor_per_second(0.0).build();
    let call = || {
        blocking::call(Backoff::constant(SECOND).attempts(9), |_| Err::<(), _>("down"))
            .clock(ManualClock::new())
            .budget(&budget)
    };
    assert_eq!(call().within(SECOND).outcome().reason, Some(Stop::Deadline));
    assert_eq!(call().wait_budget(SECOND / 2).outcome().reason, Some(Stop::WaitBudget));
    assert_eq!(call().when(|_| false).outcome().reason, Some(Stop::Rejected));
    assert_eq!(budget.tokens(), 5.0);
}

#[test]
fn each_call_deposits_its_share_once() {
    let budget = Budget::builder().capacity(10.0).deposit(0.5).floor_per_second(0.0).build();
    while budget.withdraw(Time::ZERO) {}
    let clock = ManualClock::new();
    let policy = Backoff::none().attempts(1);

    let call = blocking::call(policy, |_| Err::<(), _>(())).clock(&clock).budget(&budget);
    assert_eq!(budget.tokens(), 0.0); // not yet
    let _ = call.run();
    assert_eq!(budget.tokens(), 0.5);

    let call = retry(policy, || ready(Ok::<_, ()>(()))).clock(&clock).budget(&budget).outcome();
    assert_eq!(budget.tokens(), 0.5); // not yet
    let _ = clock.block_on(call);
    assert_eq!(budget.tokens(), 1.0);

    let _tries = tries_on(&clock, policy).budget(&budget);
    assert_eq!(budget.tokens(), 1.5);
}

/// Calls at the same time share what there is: never more retries than tokens.
#[test]
fn a_hundred_calls_at_once_share_the_tokens() {
    let budget = Budget::builder().capacity(30.0).floor_per_second(0.0).deposit(0.0001).build();
    let clock = ManualClock::new();
    let policy = Backoff::constant(SECOND).attempts(2);
    let reasons = RefCell::new(Vec::new());
    clock.block_on(async {
        let mut calls: Vec<_> = (0..100)
            .map(|_| {
                Box::pin(async {
                    let call = retry(policy, || ready(Err::<(), _>("down"))).clock(&clock);
                    let outcome = call.budget(&budget).outcome().await;
                    reasons.borrow_mut().push(outcome.reason.unwrap());
                })
            })
            .collect();
        std::future::poll_fn(|context| {
            calls.retain_mut(|call| call.as_mut().poll(context).is_pending());
            if calls.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    });
    let reasons = reasons.into_inner();
    assert_eq!(reasons.iter().filter(|reason| **reason == Stop::AttemptsSpent).count(), 30);
    assert_eq!(reasons.iter().filter(|reason| **reason == Stop::Budget).count(), 70);
}
