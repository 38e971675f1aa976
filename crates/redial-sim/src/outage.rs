//! A service that many calls use is down for a while. What happens then, and after?

mod calls;
mod process;
mod results;
mod server;
mod tally;
mod timeline;
mod timetable;
mod traffic;

use std::time::Duration;

use redial_core::{BreakerBuilder, BudgetBuilder, Policy, Schedule};

pub use self::results::{CaughtCounts, Comparison, Results, Trial};
pub use self::tally::CallCounts;
pub use self::timeline::Timeline;
pub use self::timetable::Phases;
pub use self::traffic::{Arrivals, Service};

use self::calls::{CallSettings, Calls};
use self::server::Server;
use self::timetable::Timetable;
use self::traffic::Traffic;
use crate::digest::Digest;
use crate::engine::OpenEngine;
use crate::experiment::{Experiment, experiment_settings, setters};
use crate::invalid::Invalid;
use crate::scenario::{Scenario, scenario_items};

/// Calls come at a rate, whether or not those before them have got an answer, to a server that
/// serves so many per second, in the order in which they arrive. For a while it is down. Each call
/// retries by a policy.
///
/// The server works on every request that it has accepted, also when the client no longer waits for
/// the answer. So a retry storm can outlive the outage that started it, for ever: Bronson, Aghayev,
/// Charapko and Zhu, Metastable Failures in Distributed Systems (2021).
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Outage;
///
/// // Their example: 280 calls a second, a capacity of 300, ten seconds of outage.
/// let scenario = Outage::new(280.0, 300.0);
///
/// const ONE_RETRY: Policy = policy!("retry: 1");
/// let results = scenario.run(&ONE_RETRY)?.results().unwrap();
/// assert_eq!(results.recovers.mean, 0.0);
/// assert!((results.late_load.mean - 560.0).abs() < 6.0);
/// assert_eq!(results.late_goodput.mean, 0.0);
///
/// // With a bound on its queue the server does no work that nobody waits for.
/// let results = scenario.queue(Some(250)).run(&ONE_RETRY)?.results().unwrap();
/// assert_eq!(results.recovers.mean, 1.0);
/// assert!(results.late_goodput.mean > 270.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a scenario does nothing until it is run"]
#[non_exhaustive]
pub struct Outage {
    /// Calls per second.
    pub rate: f64,
    /// Requests per second that the server serves.
    pub capacity: f64,
    /// How calls come.
    pub arrivals: Arrivals,
    /// How long the server works on a request.
    pub service: Service,
    /// How long a client waits for an answer.
    pub timeout: Duration,
    /// How long a request and its answer are on their way, together.
    pub round_trip: Duration,
    /// The share of the requests that are served and fail all the same.
    pub errors: f64,
    /// How long it goes well before the outage.
    pub before: Duration,
    /// How long the outage lasts.
    pub down: Duration,
    /// How long the trial goes on after the outage.
    pub after: Duration,
    /// How long a window is.
    pub window: Duration,
    /// The share of the capacity that is left during the outage.
    pub remaining: f64,
    /// Whether what arrives during the outage is refused at once.
    pub refuses: bool,
    /// How many requests the server holds at most.
    pub queue: Option<u32>,
    /// The retry budget that the calls of a process share.
    pub budget: Option<BudgetBuilder>,
    /// The circuit breaker that the calls of a process share.
    pub breaker: Option<BreakerBuilder>,
    /// How many processes make the calls.
    pub processes: u32,
    experiment: Experiment,
}

const RATE_MIN: f64 = 1e-6;
const RATE_MAX: f64 = 1e7;
const DAY: Duration = Duration::from_secs(86_400);
const NANOSECOND: Duration = Duration::from_nanos(1);
const QUEUE_MAX: u32 = 1 << 24;
const PROCESSES_MAX: u32 = 1 << 16;
/// Windows of one trial, and of all trials together, which is a hundred megabytes.
const WINDOWS_MAX: u32 = 1 << 17;
const WINDOWS_OF_ALL_MAX: u32 = 1 << 21;

impl Outage {
    /// So many calls per second, 0.000001 to 10000000, and a server that serves so many requests
    /// per second.
    ///
    /// Unless set otherwise, ten seconds go well, then the server is down for ten seconds and holds
    /// what arrives, and what follows is looked at for five minutes; a client stops waiting for an
    /// answer after a second; and there are 20 trials.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Outage;
    /// let none = Outage::new(280.0, 0.0).run(&Policy::DEFAULT).unwrap_err();
    /// assert_eq!(none.to_string(), "capacity: 0 is out of range; use 0.000001 to 10000000");
    /// ```
    pub const fn new(rate: f64, capacity: f64) -> Self {
        Self {
            rate,
            capacity,
            arrivals: Arrivals::Poisson,
            service: Service::Exponential,
            timeout: Duration::from_secs(1),
            round_trip: Duration::ZERO,
            errors: 0.0,
            before: Duration::from_secs(10),
            down: Duration::from_secs(10),
            after: Duration::from_secs(300),
            window: Duration::from_secs(1),
            remaining: 0.0,
            refuses: false,
            queue: None,
            budget: None,
            breaker: None,
            processes: 1,
            experiment: Experiment::new(20),
        }
    }

    setters! {
        /// How long a client waits for an answer before it counts the attempt as failed; a second
        /// unless set. The server does not learn of it.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let patient = Outage::new(50.0, 100.0).timeout(Duration::from_secs(30));
        /// let results = patient.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert_eq!(results.amplification.mean, 1.0); // all wait for the end of the outage
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        timeout: Duration;

        /// How long a request and its answer are on their way, together; nothing unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let far = Outage::new(50.0, 100.0).round_trip(Duration::from_secs(2));
        /// let results = far.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert_eq!(results.late_goodput.mean, 0.0); // every answer comes too late
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        round_trip: Duration;

        /// The share of the requests that are served and fail all the same, each on its own; none
        /// unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let flaky = Outage::new(50.0, 200.0).errors(0.1).down(Duration::ZERO); // and no outage
        /// let results = flaky.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert!((results.succeeded.before.unwrap().mean - 0.999).abs() < 0.001); // 1 − 0.1³
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        errors: f64;

        /// How long it goes well before the outage; ten seconds unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let at_once = Outage::new(50.0, 100.0).before(Duration::ZERO);
        /// let results = at_once.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert_eq!(results.succeeded.before, None); // there were no calls
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        before: Duration;

        /// How long the outage lasts; ten seconds unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let short = Outage::new(50.0, 100.0).down(Duration::from_millis(500));
        /// let results = short.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert_eq!(results.recovery_s.unwrap().mean, 0.0);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        down: Duration;

        /// How long the trial goes on after the outage; five minutes unless set. A service that takes
        /// longer to recover counts as not recovered.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let short = Outage::new(50.0, 100.0).after(Duration::from_secs(30)).trials(1);
        /// assert!(short.run(&Policy::DEFAULT)?.trials()[0].nanos < 50_000_000_000);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        after: Duration;

        /// The length of the windows in which attempts are counted; a second unless set. The service
        /// has recovered when no window follows in which most attempts fail.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Outage;
        /// let fine = Outage::new(50.0, 100.0).window(Duration::from_millis(100));
        /// let results = fine.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert_eq!(results.timeline.load.len(), 3200);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        window: Duration;

        /// The share of the capacity that is left during the outage; none unless set.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Outage;
        /// let dip = Outage::new(50.0, 100.0).remaining(0.6); // which is enough
        /// let results = dip.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert_eq!(results.succeeded.during.unwrap().mean, 1.0);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        remaining: f64;

        /// Whether what arrives during the outage is refused at once, instead of being held until there
        /// is capacity for it; it is held unless set.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Outage;
        /// let closed = Outage::new(50.0, 100.0).refuses(true);
        /// let results = closed.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert!(results.last_failure_s.mean < 1.0); // there is nothing to be done first
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        refuses: bool;

        /// How many requests the server holds at most, the one that it works on among them: the others
        /// are refused at once. Any number unless set.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Outage;
        /// let bounded = Outage::new(280.0, 300.0).queue(Some(250));
        /// let results = bounded.run(&Policy::DEFAULT)?.results().unwrap();
        /// assert!(results.timeline.queue.iter().all(|held| *held <= 250.0));
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        queue: Option<u32>;

        /// How long the server works on a request: exponentially distributed unless set.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Outage; use redial_sim::outage::Service;
        /// let steady = Outage::new(50.0, 100.0).service(Service::Constant);
        /// assert!(steady.run(&Policy::DEFAULT)?.results().is_ok());
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        service: Service;

        /// How calls arrive: as a Poisson process unless set.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Outage; use redial_sim::outage::Arrivals;
        /// let regular = Outage::new(50.0, 100.0).arrivals(Arrivals::Regular);
        /// assert!(regular.run(&Policy::DEFAULT)?.results().is_ok());
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        arrivals: Arrivals;

        /// The retry budget that the calls of a process share; none unless set.
        ///
        /// ```
        /// # use redial_core::{Budget, Policy}; use redial_sim::Outage;
        /// let one_in_ten = Budget::builder().capacity(10.0).deposit(0.1).floor_per_second(0.0);
        /// let results = Outage::new(50.0, 100.0).budget(Some(one_in_ten)).run(&Policy::DEFAULT)?;
        /// assert!(results.results().unwrap().amplification.mean < 1.1);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        budget: Option<BudgetBuilder>;

        /// The circuit breaker that the calls of a process share; none unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::{Breaker, Policy}; use redial_sim::Outage;
        /// let breaker = Breaker::builder().recovery(Duration::from_secs(5));
        /// let results = Outage::new(50.0, 100.0).breaker(Some(breaker)).run(&Policy::DEFAULT)?;
        /// let results = results.results().unwrap();
        /// assert!(results.amplification_during.unwrap().mean < 0.3); // most never reach the server
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        breaker: Option<BreakerBuilder>;

        /// How many processes make the calls, in turn, each with a budget and a breaker of its own; one
        /// unless set.
        ///
        /// ```
        /// # use redial_core::{Budget, Policy}; use redial_sim::Outage;
        /// let scenario = Outage::new(50.0, 100.0).budget(Some(Budget::builder().floor_per_second(0.0)));
        /// let one = scenario.run(&Policy::DEFAULT)?;
        /// let ten = scenario.processes(10).run(&Policy::DEFAULT)?;
        /// assert!(ten.against(&one).unwrap().amplification.mean > 0.04); // ten budgets, all full
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        processes: u32;
    }

    experiment_settings!("Outage::new(10.0, 20.0)");

    fn trial<S: Schedule>(
        &self,
        engine: &mut OpenEngine,
        calls: &mut Calls<'_, S>,
        index: u32,
    ) -> Trial {
        calls.clear(&mut self.experiment.seeds(index));
        let mut digest = Digest::new();
        let run = engine.run(calls, |tick, client, kind| digest.add_event(tick, client, kind));
        Trial::new(run, engine.clients_left(), digest, &mut calls.tally)
    }

    fn check(&self) -> Result<(), Invalid> {
        Invalid::unless_within("rate", self.rate, RATE_MIN, RATE_MAX)?;
        Invalid::unless_within("capacity", self.capacity, RATE_MIN, RATE_MAX)?;
        Invalid::unless_within("remaining", self.remaining, 0, 1)?;
        Invalid::unless_within("errors", self.errors, 0, 1)?;
        Invalid::unless_within("queue", self.queue.unwrap_or(1), 1, QUEUE_MAX)?;
        unless_between("timeout in seconds", self.timeout, NANOSECOND, DAY)?;
        unless_between("round trip in seconds", self.round_trip, Duration::ZERO, DAY)?;
        unless_between("before in seconds", self.before, Duration::ZERO, DAY)?;
        unless_between("down in seconds", self.down, Duration::ZERO, DAY)?;
        unless_between("after in seconds", self.after, NANOSECOND, DAY)?;
        let window_min = (self.before + self.down + self.after) / WINDOWS_MAX + NANOSECOND;
        unless_between("window in seconds", self.window, window_min, DAY)?;
        Invalid::unless_within("processes", self.processes, 1, PROCESSES_MAX)?;
        if let Some(budget) = self.budget {
            budget.try_build().map_err(Invalid::refused("budget"))?;
        }
        if let Some(breaker) = self.breaker {
            breaker.try_build().map_err(Invalid::refused("breaker"))?;
        }
        self.experiment.check()?;
        let most = WINDOWS_OF_ALL_MAX as usize / self.timetable().windows();
        Invalid::unless_within("trials", self.experiment.trials, 1, most as f64)
    }

    fn timetable(&self) -> Timetable {
        let nanos = |duration: Duration| duration.as_nanos() as u64;
        let Self { before, down, after, window, .. } = *self;
        Timetable::new(nanos(before), nanos(down), nanos(after), nanos(window))
    }

    fn call_settings(&self) -> CallSettings {
        let Self { errors, budget, breaker, processes, .. } = *self;
        let timeout = self.timeout.as_nanos() as u64;
        let one_way = self.round_trip.as_nanos() as u64 / 2;
        CallSettings { timeout, one_way, errors, budget, breaker, processes }
    }
}

impl Scenario for Outage {
    scenario_items!();

    /// A budget and a breaker may differ: the clients have them, as they have their policy.
    fn is_comparable(&self, other: &Self) -> bool {
        let Self { budget, breaker, processes, experiment, .. } = *self;
        *self == Self { budget, breaker, processes, experiment, ..*other }
    }

    fn simulate<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Vec<Trial>, Invalid> {
        self.check()?;
        let Experiment { bounds, watch, .. } = self.experiment;
        let Self { rate, capacity, arrivals, service, remaining, refuses, queue, .. } = *self;
        let timetable = self.timetable();
        let engine = OpenEngine::new(timetable.until, bounds, watch);
        let server = Server::new(timetable, remaining, refuses, queue);
        let traffic = Traffic::new(arrivals, rate, service, capacity);
        let calls = || Calls::new(policy, self.call_settings(), traffic.clone(), server.clone());
        self.experiment.run(
            || (engine.clone(), calls()),
            |(engine, calls), index| self.trial(engine, calls, index),
        )
    }
}

fn unless_between(
    setting: &'static str,
    value: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), Invalid> {
    let [value, least, most] = [value, least, most].map(|duration| duration.as_secs_f64());
    Invalid::unless_within(setting, value, least, most)
}
