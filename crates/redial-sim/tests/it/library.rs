//! Simulated layers beside layers of the real library: `redial::retry` in `redial::retry`, all calls
//! at once on one manual clock, with the words that the simulator draws. Every count is the same.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Clock, retry};
use redial_core::{Backoff, Budget, BudgetBuilder, Policy, Random, SplitMix64};
use redial_sim::chance::{trial_seed, unit};
use redial_sim::{Layers, layers};

const SEED: u64 = 7;
const EVERY: Duration = Duration::from_millis(10);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A stack of services, each of which calls the one below through the library.
struct Services<'a> {
    policy: &'a Policy,
    clock: ManualClock,
    budgets: Vec<Budget>,
    service: Duration,
    errors: f64,
    /// How often each layer was called, from the top.
    entered: Vec<Cell<u64>>,
}

/// One call at the top.
struct Top {
    jitter: RefCell<SplitMix64>,
    bottom: RefCell<SplitMix64>,
    attempts: Cell<u64>,
}

impl Services<'_> {
    /// Calls the layer at this place from the top; the bottom lies below the last.
    fn call<'s>(
        &'s self,
        layer: usize,
        top: &'s Top,
    ) -> Pin<Box<dyn Future<Output = Result<(), ()>> + 's>> {
        let Some(budget) = self.budgets.get(layer) else {
            return Box::pin(self.bottom(top));
        };
        self.entered[layer].set(self.entered[layer].get() + 1);
        let words = || top.jitter.borrow_mut().word();
        let call = retry(self.policy, move || self.call(layer + 1, top));
        Box::pin(call.clock(self.clock.clone()).budget(budget).rng(words).into_future())
    }

    async fn bottom(&self, top: &Top) -> Result<(), ()> {
        self.clock.sleep(self.service).await;
        top.attempts.set(top.attempts.get() + 1);
        let is_well = unit(&mut *top.bottom.borrow_mut()) > self.errors;
        if is_well { Ok(()) } else { Err(()) }
    }
}

/// What the counts of a trial are by the library itself.
fn by_the_library(
    policy: &Policy,
    (depth, errors, service): (u32, f64, Duration),
    budget: BudgetBuilder,
    calls: u32,
    trial: u32,
) -> (Vec<u64>, u64, u64, u32, u64) {
    let mut seeds = SplitMix64::new(trial_seed(SEED, trial.into()));
    let (jitter, bottom) = (seeds.word(), seeds.word());
    let stream = |start: u64, call: u32| {
        RefCell::new(SplitMix64::new(start.wrapping_add(u64::from(call) << 32)))
    };
    let clock = ManualClock::new();
    let services = Services {
        policy,
        clock: clock.clone(),
        budgets: (0..depth).map(|_| budget.build()).collect(),
        service,
        errors,
        entered: (0..depth).map(|_| Cell::new(0)).collect(),
    };
    let tops: Vec<_> = (0..calls)
        .map(|call| Top {
            jitter: stream(jitter, call),
            bottom: stream(bottom, call),
            attempts: Cell::new(0),
        })
        .collect();
    let one = async |call: usize| {
        let start = EVERY * call as u32;
        services.clock.sleep(start).await;
        let result = services.call(0, &tops[call]).await;
        (result.is_ok(), services.clock.elapsed() - start)
    };
    let ended = clock.block_on(all((0..tops.len()).map(one)));
    let attempts = tops.iter().map(|top| top.attempts.get());
    let nanos: u128 = ended.iter().map(|(_, time)| time.as_nanos()).sum();
    (
        services.entered.iter().map(Cell::get).collect(),
        attempts.clone().sum(),
        attempts.max().unwrap_or(0),
        ended.iter().filter(|(is_well, _)| *is_well).count() as u32,
        (nanos / u128::from(calls)) as u64,
    )
}

/// All of them at once. Where several can go on at the same moment, the first goes first, as in the
/// simulator.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut under_way: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for (future, output) in under_way.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(ready) => *output = Some(ready),
                Poll::Pending => is_done = false,
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    under_way.into_iter().filter_map(|(_, output)| output).collect()
}

fn counts(trial: &layers::Trial) -> (Vec<u64>, u64, u64, u32, u64) {
    let layers::Trial { entered, attempts, attempts_worst, succeeded, nanos_mean, .. } = trial;
    (entered.clone(), *attempts, *attempts_worst, *succeeded, *nanos_mean)
}

#[test]
fn simulated_layers_with_a_budget_do_what_layers_of_the_library_do() {
    const CALLS: u32 = 150;
    let budget = |share, burst, floor| {
        Budget::builder().deposit(share).capacity(burst).floor_per_second(floor)
    };
    let jittered = Backoff::exponential(ms(100)).full_jitter().attempts(4);
    let regular = Backoff::constant(ms(30)).attempts(3);
    for (depth, errors, service, budget, policy) in [
        (3, 0.9, ms(10), budget(0.3, 5.0, 0.0), jittered),
        (3, 0.9, ms(10), budget(0.3, 5.0, 0.0), regular),
        (1, 1.0, ms(200), budget(0.1, 2.0, 0.0), jittered),
        (2, 0.7, ms(35), budget(0.2, 3.0, 1.5), jittered),
        (4, 1.0, ms(0), budget(0.5, 1.0, 0.0), regular),
    ] {
        let layers = Layers::new(depth).errors(errors).attempt_time(service).budget(Some(budget));
        let run = layers.calls(CALLS).every(EVERY).trials(3).seed(SEED).run(&policy);
        let run = run.expect("a valid scenario");
        for (trial, index) in run.trials().iter().zip(0..) {
            let library = by_the_library(&policy, (depth, errors, service), budget, CALLS, index);
            assert_eq!(counts(trial), library, "depth {depth}, {errors}, {service:?}: {policy}");
        }
    }
}
