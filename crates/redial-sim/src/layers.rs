//! Retries within retries: every layer of a stack retries the one below.

mod closed_form;
mod results;
mod stack;

use std::time::Duration;

use redial_core::{BudgetBuilder, Policy, Schedule};

pub use self::results::{Comparison, Results, Trial};

use self::stack::Stack;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::experiment::{Experiment, experiment_settings, setters};
use crate::invalid::Invalid;
use crate::scenario::{Scenario, scenario_items};

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
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a scenario does nothing until it is run"]
#[non_exhaustive]
pub struct Layers {
    /// How many layers retry.
    pub depth: u32,
    /// How likely an attempt at the bottom is to fail.
    pub errors: f64,
    /// How long an attempt at the bottom takes.
    pub attempt_time: Duration,
    /// A retry budget for each layer.
    pub budget: Option<BudgetBuilder>,
    /// How many calls there are at the top.
    pub calls: u32,
    /// How long after one call at the top the next starts.
    pub every: Duration,
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
            attempt_time: Duration::from_millis(10),
            budget: None,
            calls: 1000,
            every: Duration::from_millis(10),
            experiment: Experiment::new(20),
        }
    }

    setters! {
        /// How likely an attempt at the bottom is to fail, from 0 to 1.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Layers;
        /// let results = Layers::new(3).errors(0.1).run(&Policy::DEFAULT)?.results().unwrap();
        /// assert!(results.amplification.mean < 1.12);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        errors: f64;

        /// How long an attempt at the bottom takes, whether it fails or not.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Layers;
        /// let slow = Layers::new(1).errors(0.0).attempt_time(Duration::from_millis(70));
        /// assert_eq!(slow.run(&Policy::DEFAULT)?.results().unwrap().time_ms.mean, 70.0);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        attempt_time: Duration;

        /// A retry budget for each layer, a token bucket that all calls of the layer share. A call
        /// deposits to it each time that it enters the layer. In a long outage a layer makes as many
        /// retries as were deposited, so *k* layers that deposit *d* for each call and have no floor
        /// amplify by (1 + *d*)ᵏ; by a little more until what the buckets held at first is spent, and
        /// by a little less where they are too small for what is deposited during one attempt.
        ///
        /// ```
        /// # use redial_core::{Budget, Policy}; use redial_sim::Layers;
        /// let tenth = Budget::builder().capacity(10.0).deposit(0.1).floor_per_second(0.0);
        /// let results = Layers::new(3).budget(Some(tenth)).run(&Policy::DEFAULT)?.results().unwrap();
        /// assert!((results.amplification.mean - 1.331).abs() < 0.05); // instead of 27
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        budget: Option<BudgetBuilder>;

        /// How many calls there are at the top.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Layers;
        /// let run = Layers::new(2).calls(7).run(&Policy::DEFAULT)?;
        /// assert_eq!(run.trials()[0].attempts, 63);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        calls: u32;

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
        every: Duration;
    }

    experiment_settings!("Layers::new(2).calls(50)");

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
    ) -> Trial {
        stack.clear(&mut self.experiment.seeds(index));
        let mut digest = Digest::new();
        let starts: Vec<u64> = (0..self.calls).map(|call| stack.enter(call)).collect();
        let run = engine.run(
            stack,
            |call| starts[call as usize],
            |tick, call, kind| digest.add_event(tick, call, kind),
        );
        stack.trial(run, digest)
    }
}

/// Three layers.
impl Default for Layers {
    fn default() -> Self {
        Self::new(3)
    }
}

impl Scenario for Layers {
    scenario_items!();

    /// The budget may differ: with it and without it is what one compares.
    fn is_comparable(&self, other: &Self) -> bool {
        *self == Self { budget: self.budget, experiment: self.experiment, ..*other }
    }

    fn simulate<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Vec<Trial>, Invalid> {
        self.check()?;
        let engine = Engine::new(self.calls, self.experiment.bounds)?;
        let engine = engine.watch(self.experiment.watch);
        self.experiment.run(
            || (engine.clone(), Stack::new(self, policy)),
            |(engine, stack), index| self.trial(engine, stack, index),
        )
    }
}
