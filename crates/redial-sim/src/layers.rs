//! Retries within retries: every layer of a stack retries the one below.

mod closed_form;
mod results;
mod stack;

use std::time::Duration;

use redial_core::{BudgetBuilder, Policy, Schedule, SplitMix64};

pub use self::results::{LayersComparison, LayersResults, LayersRun, LayersTrial};

use self::stack::Stack;
use crate::chance::trial_seed;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::experiment::{Experiment, experiment_settings};
use crate::invalid::Invalid;

/// Layers of a system that call one another, each retrying the one below by the same policy: how
/// many attempts at the bottom one call at the top becomes.
///
/// An attempt at the bottom fails or succeeds on its own. Where the lowest layer gives up, that is
/// one failed attempt of the layer above it, which tries again, and so on to the top. A success at
/// the bottom is one of every layer.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Layers;
///
/// // Three layers, each with three retries, above a database that is down.
/// const POLICY: Policy = policy!("retry: 3, delay: 100ms");
/// let results = Layers::new(3).run(&POLICY)?.results().unwrap();
/// assert_eq!(results.amplification.mean, 64.0); // 4 · 4 · 4
/// assert_eq!(results.closed_form, Some(64.0));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a scenario does nothing until it is run"]
pub struct Layers {
    depth: u32,
    errors: f64,
    service: Duration,
    budget: Option<BudgetBuilder>,
    calls: u32,
    every: Duration,
    experiment: Experiment,
}

/// Deeper than any system; and a call takes memory for each layer.
const DEPTH_MAX: u32 = 64;

impl Layers {
    /// So many layers that retry, above a bottom that is down: every attempt fails, after 10 ms.
    /// A thousand calls at the top, one every 10 ms, no budget, twenty trials, unless set.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::Layers;
    ///
    /// let results = Layers::new(1).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert_eq!(results.amplification.mean, 3.0); // three attempts
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn new(depth: u32) -> Self {
        Self {
            depth,
            errors: 1.0,
            service: Duration::from_millis(10),
            budget: None,
            calls: 1000,
            every: Duration::from_millis(10),
            experiment: Experiment::new(20),
        }
    }

    /// How likely an attempt at the bottom is to fail, from 0 to 1.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Layers;
    /// let results = Layers::new(3).errors(0.1).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert!(results.amplification.mean < 1.12);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn errors(mut self, errors: f64) -> Self {
        self.errors = errors;
        self
    }

    /// How long an attempt at the bottom takes, whether it fails or not.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Layers;
    /// let slow = Layers::new(1).errors(0.0).service(Duration::from_millis(70));
    /// assert_eq!(slow.run(&Policy::DEFAULT)?.results().unwrap().time_ms.mean, 70.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn service(mut self, service: Duration) -> Self {
        self.service = service;
        self
    }

    /// A retry budget for each layer, shared by all its calls: what a call deposits, it deposits at
    /// every layer that it enters, however often. In a long outage a layer's budget allows as many
    /// retries as were deposited, so *k* layers that deposit *d* for each call and have no floor
    /// amplify by (1 + *d*)ᵏ, and by a little more until what the budgets held at first is spent.
    /// What is deposited to a full budget is lost, so a capacity below what comes in while an
    /// attempt is under way gives a little less.
    ///
    /// ```
    /// # use redial_core::{Budget, Policy}; use redial_sim::Layers;
    /// let tenth = Budget::builder().capacity(10.0).deposit(0.1).floor_per_second(0.0);
    /// let results = Layers::new(3).budget(Some(tenth)).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert!((results.amplification.mean - 1.331).abs() < 0.05); // instead of 27
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn budget(mut self, budget: Option<BudgetBuilder>) -> Self {
        self.budget = budget;
        self
    }

    /// How many calls there are at the top.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Layers;
    /// let run = Layers::new(2).calls(7).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.trials()[0].attempts, 63);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn calls(mut self, calls: u32) -> Self {
        self.calls = calls;
        self
    }

    /// How long after one call at the top the next starts. It matters to a budget, which gets a
    /// floor with time, and to nothing else.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use redial_core::{Budget, Policy}; use redial_sim::Layers;
    /// let busy = Layers::new(1).budget(Some(Budget::builder()));
    /// let idle = busy.every(Duration::from_secs(1)); // ten retries a second are enough for it
    /// assert!(busy.run(&Policy::DEFAULT)?.results().unwrap().amplification.mean < 2.0);
    /// assert_eq!(idle.run(&Policy::DEFAULT)?.results().unwrap().amplification.mean, 3.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    experiment_settings!("Layers::new(2).calls(50)");

    /// How many layers retry.
    ///
    /// ```
    /// assert_eq!(redial_sim::Layers::new(3).depth(), 3);
    /// ```
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) const fn trial_count(&self) -> u32 {
        self.experiment.trials
    }

    /// Whether trial *i* of both has the same calls in it. The budget is not part of that: with it
    /// and without it is what one compares.
    pub(crate) fn same_draws(&self, other: &Self) -> bool {
        let calls = |one: &Self| (one.depth, one.errors, one.service, one.calls, one.every);
        calls(self) == calls(other) && self.experiment.same_draws(&other.experiment)
    }

    /// Runs all trials under `policy`, which decides at each layer through [`redial_core::Call`] as
    /// it does everywhere.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Backoff;
    /// use redial_sim::Layers;
    ///
    /// let policy = Backoff::from_fn(|n| Duration::from_millis(7 * u64::from(n))).attempts(3);
    /// let run = Layers::new(2).run(&policy)?;
    /// assert_eq!(run.results().unwrap().amplification.mean, 9.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No layers, calls, trials or threads, or too many of them; errors that are no probability; a
    /// budget that cannot be.
    pub fn run<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<LayersRun, Invalid> {
        self.check()?;
        let engine = Engine::new(self.calls, self.experiment.bounds)?;
        let engine = engine.watch(self.experiment.watch);
        let trials = self.experiment.run(
            || (engine.clone(), Stack::new(self, policy)),
            |(engine, stack), index| self.trial(engine, stack, index),
            |trial| trial.ended,
        );
        Ok(LayersRun::new(*self, closed_form::amplification(self, policy), trials))
    }

    fn check(&self) -> Result<(), Invalid> {
        Invalid::unless_within("depth", self.depth, 1, DEPTH_MAX)?;
        Invalid::unless_within("errors", self.errors, 0, 1)?;
        // Each layer of each call takes as much memory as a client elsewhere.
        Invalid::unless_within(
            "calls",
            self.calls,
            1,
            self.experiment.bounds.clients / self.depth,
        )?;
        if let Some(budget) = self.budget {
            budget.try_build().map_err(Invalid::refused("budget"))?;
        }
        self.experiment.check()
    }

    fn trial<S: Schedule>(
        &self,
        engine: &mut Engine,
        stack: &mut Stack<'_, S>,
        index: u32,
    ) -> LayersTrial {
        let mut seeds = SplitMix64::new(trial_seed(self.experiment.seed, index.into()));
        stack.clear(&mut seeds);
        let mut digest = Digest::new();
        let starts: Vec<u64> = (0..self.calls).map(|call| stack.enter(call)).collect();
        let run = engine.run(
            stack,
            |call| starts[call as usize],
            |tick, call, kind| digest.add_event(tick, call, kind),
        );
        stack.trial(run.ended, digest)
    }
}
