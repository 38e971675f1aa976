//! Steps as data: what can run is known before it runs.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use redial_core::Policy;
use redial_policy::RetryPolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::error::{DeadLetter, RunError, Stopped};
use super::run::{Run, UNTIL_IT_SUCCEEDS, check_name};
use super::step::Attempt;
use super::store::Store;
use crate::flow::{ONCE, Step};

type Done<T> = Pin<Box<dyn Future<Output = Result<T, DeadLetter>> + Send>>;
type Work<I, O> = Arc<dyn Fn(Context, I) -> Done<O> + Send + Sync>;

/// A step of a flow, before it runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// When an attempt follows another; without one, a step runs once.
    pub policy: Policy,
    /// How long an attempt may take.
    pub timeout: Option<Duration>,
    /// Whether it may run again when it is not known whether it has succeeded.
    pub is_idempotent: bool,
    /// Of a step for each item, or one of several at the same time: whether the others will do where it gives up.
    pub is_partial: bool,
    /// The branches whose arm it stands in, from the outermost on, each with the number of the arm, from 1; the one for
    /// everything else is 0.
    pub arms: Vec<(String, usize)>,
}

impl Planned {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            policy: ONCE,
            timeout: None,
            is_idempotent: true,
            is_partial: false,
            arms: Vec::new(),
        }
    }

    /// One of which this is said, and what is wrong with that.
    fn with<E>(
        name: &str,
        settings: &impl Fn(Settings<E>) -> Settings<E>,
    ) -> (Self, Option<String>) {
        let said = settings(Call::new(Step::new(name), ()));
        let (timeout, is_idempotent) = (said.reactions.timeout, said.step.is_idempotent);
        let mistake = said.mistake.map(|why| format!("step `{name}`: {why}"));
        (Self { timeout, is_idempotent, ..Self::new(name) }, mistake)
    }
}

impl Planned {
    /// The call with what was said of its step.
    fn said_of<'a, W, E>(
        &self,
        call: Call<'a, W, E>,
        settings: &impl Fn(Settings<E>) -> Settings<E>,
    ) -> Call<'a, W, E> {
        let call = call.under(settings).idempotent(self.is_idempotent);
        match self.timeout {
            Some(timeout) => call.timeout(timeout),
            None => call,
        }
    }
}

/// What can be said of a step of a flow, besides its policy: see [`Flow::step_where`].
pub type Settings<E> = Call<'static, (), E>;

/// Nothing is.
fn as_it_is<E>(settings: Settings<E>) -> Settings<E> {
    settings
}

/// What the steps of a run are done with.
#[derive(Clone)]
struct Context {
    run: Run,
    steps: Arc<HashMap<String, Planned>>,
}

impl Context {
    async fn step<T, E, F, O>(
        &self,
        name: &str,
        settings: &impl Fn(Settings<E>) -> Settings<E>,
        operation: F,
    ) -> Result<T, DeadLetter>
    where
        T: Serialize + DeserializeOwned + Send,
        E: fmt::Display + Send,
        F: FnMut(Attempt) -> O + Send,
        O: Future<Output = Result<T, E>> + Send,
    {
        let planned = &self.steps[name];
        let step = self.run.step_with(name, &planned.policy, operation);
        planned.said_of(step, settings).await
    }
}

/// What a step's value has to be able to: kept as JSON, given to each attempt, and sent between threads.
pub trait Value: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Value for T {}

/// Work in steps, each of which is given what the one before it gave. It takes an `I` and comes to an `O`.
///
/// ```
/// use redial::testing::ManualClock;
/// use redial_flow::steps::{Flow, Store, Strategy};
///
/// #[derive(Clone, Copy, PartialEq)]
/// enum Risk { High, Low }
///
/// impl From<&(u32, String)> for Risk {
///     fn from((score, _): &(u32, String)) -> Self {
///         if *score > 80 { Self::High } else { Self::Low }
///     }
/// }
///
/// async fn call_api(customer: u32) -> Result<u32, String> { Ok(customer * 2) }
/// async fn score(answer: u32) -> Result<u32, String> { Ok(answer) }
/// async fn geo(_: u32) -> Result<String, String> { Ok("CH".to_owned()) }
/// async fn review((score, _): (u32, String)) -> Result<String, String> { Ok(format!("review {score}")) }
/// async fn accept((_, land): (u32, String)) -> Result<String, String> { Ok(format!("accept {land}")) }
///
/// let flow = Flow::new("enrich")
///     .step("call-external-api", call_api)
///     .retry_policy(|p| p.max_attempts(5).backoff(Strategy::Exponential).base_delay(1000).max_delay(60_000).jitter(true))
///     .parallel(|p| p.step("score", score).step("geo", geo))
///     .branch("risk", |b| {
///         b.on(Risk::High, |s| s.step("review", review)).otherwise(|s| s.step("accept", accept))
///     });
///
/// let names: Vec<_> = flow.steps().iter().map(|step| step.name.as_str()).collect();
/// assert_eq!(names, ["call-external-api", "score", "geo", "risk", "review", "accept"]);
///
/// let clock = ManualClock::new();
/// let store = Store::in_memory(&clock);
/// assert_eq!(clock.block_on(store.run_flow("customer-7", &flow, 7)).unwrap(), "accept CH");
/// assert_eq!(clock.block_on(store.run_flow("customer-50", &flow, 50)).unwrap(), "review 100");
/// ```
#[must_use = "a flow does nothing until a store runs it"]
pub struct Flow<I, O = I> {
    name: String,
    steps: Vec<Planned>,
    /// The step that the next setting is about.
    last: Option<usize>,
    /// It is a map.
    is_map: bool,
    mistakes: Vec<String>,
    work: Work<I, O>,
}

impl<I, O> fmt::Debug for Flow<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("name", &self.name)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl<I, O> Clone for Flow<I, O> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            steps: self.steps.clone(),
            last: self.last,
            is_map: self.is_map,
            mistakes: self.mistakes.clone(),
            work: Arc::clone(&self.work),
        }
    }
}

/// What can be said of the step that was named last.
macro_rules! settings_of_the_last_step {
    () => {
        /// The policy of the step before this, in the words of `retryPolicy`: `max_attempts` counts executions, and `jitter` is a
        /// factor from 0.5 to 1.5, before the cap.
        pub fn retry_policy(self, policy: impl FnOnce(RetryPolicy) -> RetryPolicy) -> Self {
            match policy(RetryPolicy::new()).try_build() {
                Ok(policy) => self.policy(&policy),
                Err(invalid) => self.mistaken(invalid.to_string()),
            }
        }

        /// The policy of the step before this. A step without one runs once.
        pub fn policy(self, policy: &Policy) -> Self {
            self.set("a policy", |step| step.policy = *policy)
        }

        /// How long an attempt of the step before this may take.
        pub fn timeout(self, timeout: Duration) -> Self {
            self.set("a timeout", |step| step.timeout = Some(timeout))
        }

        /// Whether the step before this may run again when it is not known whether it has succeeded.
        pub fn idempotent(self, is_idempotent: bool) -> Self {
            self.set("`idempotent`", |step| step.is_idempotent = is_idempotent)
        }

        fn set(self, what: &str, set: impl FnOnce(&mut Planned)) -> Self {
            let mut flow = self;
            match flow.last.and_then(|last| flow.steps.get_mut(last)) {
                Some(step) => set(step),
                None => {
                    let mistake =
                        format!("{what} follows no step; write it after the step that it is for");
                    return flow.mistaken(mistake);
                }
            }
            flow
        }

        fn mistaken(self, mistake: String) -> Self {
            let mut flow = self;
            let step = flow.last.map(|last| format!("step `{}`: ", flow.steps[last].name));
            flow.mistakes.push(step.unwrap_or_default() + &mistake);
            flow
        }
    };
}

mod branch;
mod parallel;

pub use branch::{Branch, Branched};
pub use parallel::{Parallel, Tuple};

impl<I: Value> Flow<I> {
    /// A flow without steps, which gives what it is given.
    pub fn new(name: &str) -> Self {
        let work: Work<I, I> = Arc::new(|_, input| Box::pin(std::future::ready(Ok(input))));
        let (name, steps, mistakes) = (name.to_owned(), Vec::new(), Vec::new());
        Self { name, steps, last: None, is_map: false, mistakes, work }
    }
}

impl<I: Value, O: Value> Flow<I, O> {
    settings_of_the_last_step!();

    /// A step, which is given what came before it.
    pub fn step<T, E, F, D>(self, name: &str, handler: F) -> Flow<I, T>
    where
        T: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(O) -> D + Send + Sync + 'static,
        D: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.step_with(name, move |input, _| handler(input))
    }

    /// The same for a handler that wants to know of its attempt.
    pub fn step_with<T, E, F, D>(self, name: &str, handler: F) -> Flow<I, T>
    where
        T: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(O, Attempt) -> D + Send + Sync + 'static,
        D: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.step_where(name, as_it_is, handler)
    }

    /// The same of which more is said than a policy: which errors are worth another attempt, a budget and a breaker that it
    /// shares with others, who is told of retries.
    ///
    /// ```
    /// use redial_core::{Budget, policy};
    /// use redial_flow::steps::Flow;
    ///
    /// static BUDGET: Budget = Budget::new();
    ///
    /// let flow = Flow::new("fetch")
    ///     .step_where(
    ///         "call",
    ///         |step| step.when(|error: &std::io::Error| error.raw_os_error().is_some()).budget(&BUDGET),
    ///         |customer: u32, _attempt| async move { Ok(customer * 2) },
    ///     )
    ///     .policy(&policy!("attempts: 5, delay: 1s"));
    /// assert!(flow.check().is_ok());
    /// ```
    pub fn step_where<T, E, F, D>(
        self,
        name: &str,
        settings: impl Fn(Settings<E>) -> Settings<E> + Send + Sync + 'static,
        handler: F,
    ) -> Flow<I, T>
    where
        T: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(O, Attempt) -> D + Send + Sync + 'static,
        D: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (planned, mistake) = Planned::with(name, &settings);
        let step = work_of_step(name, settings, handler);
        let mut flow = self.then(vec![planned], true, step);
        flow.mistakes.extend(mistake);
        flow
    }

    /// A step for each item of the list that came before; it gives the list of their results. Items run at the same time, and one
    /// that gives up ends the flow once the others have ended, unless the map [allows that](Self::allow_partial).
    pub fn map<X, T, E, F, D>(self, name: &str, handler: F) -> Flow<I, Vec<T>>
    where
        O: IntoIterator<Item = X>,
        X: Value,
        T: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(X) -> D + Send + Sync + 'static,
        D: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.map_where(name, as_it_is, move |item, _| handler(item))
    }

    /// The same of which more is said, as of [a step](Self::step_where), for a handler that wants to know of its attempt.
    pub fn map_where<X, T, E, F, D>(
        self,
        name: &str,
        settings: impl Fn(Settings<E>) -> Settings<E> + Send + Sync + 'static,
        handler: F,
    ) -> Flow<I, Vec<T>>
    where
        O: IntoIterator<Item = X>,
        X: Value,
        T: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(X, Attempt) -> D + Send + Sync + 'static,
        D: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (planned, mistake) = Planned::with(name, &settings);
        let (name, handler) = (name.to_owned(), Arc::new((handler, settings)));
        let work: Work<O, Vec<T>> = Arc::new(move |context: Context, input: O| {
            let (name, handler) = (name.clone(), Arc::clone(&handler));
            Box::pin(async move {
                let planned = &context.steps[&name];
                let items: Vec<X> = input.into_iter().collect();
                let (handler, settings) = &*handler;
                let map = context.run.map_with(&name, &planned.policy, items, handler);
                let results = planned.said_of(map, settings).await;
                match planned.is_partial {
                    true => Ok(results.into_iter().filter_map(Result::ok).collect()),
                    false => results.into_iter().collect(),
                }
            })
        });
        let mut flow = self.then(vec![planned], true, work);
        flow.is_map = true;
        flow.mistakes.extend(mistake);
        flow
    }

    /// The map before this goes on without the items that have given up: it gives the results of the others, and the dead letters
    /// wait for somebody. Once one of them is retried, what followed the map runs again.
    pub fn allow_partial(self) -> Self {
        if !self.is_map {
            let mistake = "`allow_partial` follows no map; write it after the map that it is for";
            return self.mistaken(mistake.to_owned());
        }
        self.set("`allow_partial`", |step| step.is_partial = true)
    }

    /// Steps that run at the same time, each given what came before; what follows is given what all of them gave, as a tuple. One
    /// that gives up ends the flow, once the others have come to their ends, unless it
    /// can be [done without](Parallel::step_or_none).
    pub fn parallel<T: Value>(
        self,
        build: impl FnOnce(Parallel<O, ()>) -> Parallel<O, T>,
    ) -> Flow<I, T> {
        let Parallel { steps, mistakes, work, .. } = build(Parallel::new());
        let mut flow = self.then(steps, false, work);
        flow.mistakes.extend(mistakes);
        flow
    }

    /// One of several ways, by a key that is made of what came before: `impl From<&O> for K`. Which one is taken is a step of this
    /// name, and remembered.
    pub fn branch<K, T: Value>(
        self,
        name: &str,
        build: impl FnOnce(Branch<O, K, T>) -> Branched<O, K, T>,
    ) -> Flow<I, T>
    where
        K: for<'o> From<&'o O> + PartialEq + Send + Sync + 'static,
    {
        let branch = Branch { name: name.to_owned(), arms: Vec::new() };
        let Branched { arms, otherwise } = build(branch);
        let choice = Planned { policy: UNTIL_IT_SUCCEEDS, ..Planned::new(name) };
        let mut steps = vec![choice];
        let mut mistakes = Vec::new();
        let all = arms.iter().map(|(_, arm)| arm).zip(1..).chain([(&otherwise, 0)]);
        for (arm, number) in all {
            for mut step in arm.steps.iter().cloned() {
                step.arms.insert(0, (name.to_owned(), number));
                steps.push(step);
            }
            mistakes.extend(arm.mistakes.iter().cloned());
        }
        let (name, arms) = (name.to_owned(), Arc::new((arms, otherwise)));
        let work: Work<O, T> = Arc::new(move |context: Context, input: O| {
            let (name, arms) = (name.clone(), Arc::clone(&arms));
            Box::pin(async move {
                let (ways, otherwise) = &*arms;
                let choose = |_| {
                    let key = K::from(&input);
                    let taken = ways.iter().position(|(of, _)| *of == key);
                    std::future::ready(Ok::<_, std::convert::Infallible>(taken))
                };
                let taken = context.step(&name, &as_it_is, choose).await?;
                let arm = taken.and_then(|taken| ways.get(taken)).map_or(otherwise, |(_, arm)| arm);
                (arm.work)(context.clone(), input).await
            })
        });
        let mut flow = self.then(steps, false, work);
        flow.mistakes.extend(mistakes);
        flow
    }

    /// What can run, in the order in which it was written.
    pub fn steps(&self) -> &[Planned] {
        &self.steps
    }

    /// Whether it can be run.
    ///
    /// # Errors
    /// All that is wrong with it: names that are used twice or cannot be, settings that are out of range or belong to no step.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut mistakes = self.mistakes.clone();
        let mut names = HashSet::new();
        for step in &self.steps {
            if let Err(why) = check_name(&step.name) {
                mistakes.push(format!("`{}` cannot name a step: {why}", step.name.escape_debug()));
            }
            if !names.insert(&step.name) {
                mistakes
                    .push(format!("two steps are called `{}`; give one another name", step.name));
            }
        }
        if self.steps.is_empty() {
            mistakes.push("there are no steps; add one by `step`".to_owned());
        }
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }

    fn then<T: Value>(
        mut self,
        steps: Vec<Planned>,
        is_settable: bool,
        work: Work<O, T>,
    ) -> Flow<I, T> {
        let before = self.work;
        self.steps.extend(steps);
        let last = is_settable.then(|| self.steps.len() - 1);
        let work: Work<I, T> = Arc::new(move |context: Context, input| {
            let (before, work) = (Arc::clone(&before), Arc::clone(&work));
            Box::pin(async move {
                let input = before(context.clone(), input).await?;
                work(context, input).await
            })
        });
        let Self { name, steps, mistakes, .. } = self;
        Flow { name, steps, last, is_map: false, mistakes, work }
    }
}

fn work_of_step<O, T, E, F, D>(
    name: &str,
    settings: impl Fn(Settings<E>) -> Settings<E> + Send + Sync + 'static,
    handler: F,
) -> Work<O, T>
where
    O: Value,
    T: Value,
    E: fmt::Display + Send + 'static,
    F: Fn(O, Attempt) -> D + Send + Sync + 'static,
    D: Future<Output = Result<T, E>> + Send + 'static,
{
    let (name, handler) = (name.to_owned(), Arc::new((handler, settings)));
    Arc::new(move |context: Context, input: O| {
        let (name, handler) = (name.clone(), Arc::clone(&handler));
        Box::pin(async move {
            let (handler, settings) = &*handler;
            let operation = |attempt| handler(input.clone(), attempt);
            context.step(&name, settings, operation).await
        })
    })
}

impl Store {
    /// Runs a flow under this name: what [`run`](Self::run) says holds for it, too.
    ///
    /// # Errors
    /// The [`DeadLetter`] of a step that has given up, or why the run was stopped; a flow that is
    /// [wrong](Flow::check) is [`Stopped::Flow`], before anything runs.
    pub async fn run_flow<I: Value, O: Value>(
        &self,
        name: &str,
        flow: &Flow<I, O>,
        input: I,
    ) -> Result<O, RunError<DeadLetter>> {
        if let Err(mistakes) = flow.check() {
            return Err(Stopped::Flow { flow: flow.name.clone(), mistakes }.into());
        }
        let steps = flow.steps.iter().map(|step| (step.name.clone(), step.clone())).collect();
        let (steps, work) = (Arc::new(steps), Arc::clone(&flow.work));
        let function = move |run: Run, input: I| work(Context { run, steps }, input);
        self.run(name, function, input).titled(&flow.name).await
    }
}
