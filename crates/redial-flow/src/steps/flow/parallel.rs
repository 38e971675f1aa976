//! Steps of a flow that run at the same time.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use redial_core::Policy;
use redial_policy::RetryPolicy;

use super::{Context, Done, Planned, Settings, Value, Work, as_it_is, work_of_step};
use crate::steps::error::DeadLetter;
use crate::steps::step::Attempt;

/// Steps that run at the same time: see [`Flow::parallel`](super::Flow::parallel).
#[must_use = "steps are added by giving this back"]
pub struct Parallel<I, T> {
    pub(super) steps: Vec<Planned>,
    last: Option<usize>,
    pub(super) mistakes: Vec<String>,
    pub(super) work: Work<I, T>,
}

impl<I, T> fmt::Debug for Parallel<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parallel").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl<I: Value> Parallel<I, ()> {
    pub(super) fn new() -> Self {
        let work: Work<I, ()> = Arc::new(|_, _| Box::pin(std::future::ready(Ok(()))));
        Self { steps: Vec::new(), last: None, mistakes: Vec::new(), work }
    }
}

impl<I: Value, T: Value> Parallel<I, T> {
    settings_of_the_last_step!();

    /// Another step, given the same as the others.
    pub fn step<U, E, F, D>(self, name: &str, handler: F) -> Parallel<I, T::With>
    where
        T: Tuple<U>,
        T::With: Value,
        U: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(I) -> D + Send + Sync + 'static,
        D: Future<Output = Result<U, E>> + Send + 'static,
    {
        self.step_with(name, move |input, _| handler(input))
    }

    /// The same for a handler that wants to know of its attempt.
    pub fn step_with<U, E, F, D>(self, name: &str, handler: F) -> Parallel<I, T::With>
    where
        T: Tuple<U>,
        T::With: Value,
        U: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(I, Attempt) -> D + Send + Sync + 'static,
        D: Future<Output = Result<U, E>> + Send + 'static,
    {
        self.step_where(name, as_it_is, handler)
    }

    /// The same of which more is said than a policy: see [`step_where`](super::Flow::step_where).
    pub fn step_where<U, E, F, D>(
        self,
        name: &str,
        settings: impl Fn(Settings<E>) -> Settings<E> + Send + Sync + 'static,
        handler: F,
    ) -> Parallel<I, T::With>
    where
        T: Tuple<U>,
        T::With: Value,
        U: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(I, Attempt) -> D + Send + Sync + 'static,
        D: Future<Output = Result<U, E>> + Send + 'static,
    {
        let (planned, mistake) = Planned::with(name, &settings);
        let mut others = self.beside(planned, work_of_step(name, settings, handler));
        others.mistakes.extend(mistake);
        others
    }

    /// A step without which the others will do: what it gives is none where it has given up, and its dead letter waits for
    /// somebody. Once that is retried, what followed runs again.
    pub fn step_or_none<U, E, F, D>(self, name: &str, handler: F) -> Parallel<I, T::With>
    where
        T: Tuple<Option<U>>,
        T::With: Value,
        U: Value,
        E: fmt::Display + Send + 'static,
        F: Fn(I) -> D + Send + Sync + 'static,
        D: Future<Output = Result<U, E>> + Send + 'static,
    {
        let step = work_of_step(name, as_it_is, move |input, _| handler(input));
        let work: Work<I, Option<U>> = Arc::new(move |context: Context, input: I| {
            let step = step(context, input);
            Box::pin(async move { Ok(step.await.ok()) })
        });
        self.beside(Planned { is_partial: true, ..Planned::new(name) }, work)
    }

    fn beside<U>(self, planned: Planned, step: Work<I, U>) -> Parallel<I, T::With>
    where
        T: Tuple<U>,
        T::With: Value,
        U: Value,
    {
        let Self { mut steps, mistakes, work: others, .. } = self;
        steps.push(planned);
        let work: Work<I, T::With> = Arc::new(move |context: Context, input: I| {
            let (others, step) = (Arc::clone(&others), Arc::clone(&step));
            Box::pin(async move {
                let others = others(context.clone(), input.clone());
                let (others, one) = both(others, step(context, input)).await;
                Ok(others?.with(one?))
            })
        });
        let last = Some(steps.len() - 1);
        Parallel { steps, last, mistakes, work }
    }
}

/// Both, at the same time, each to its end.
async fn both<A, B>(
    mut one: Done<A>,
    mut other: Done<B>,
) -> (Result<A, DeadLetter>, Result<B, DeadLetter>) {
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        if first.is_none()
            && let Poll::Ready(output) = one.as_mut().poll(context)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = other.as_mut().poll(context)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// A tuple that another value is added to.
pub trait Tuple<T> {
    /// The longer one.
    type With;

    /// Adds the value.
    fn with(self, value: T) -> Self::With;
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {
        $(impl<$($name,)* T> Tuple<T> for ($($name,)*) {
            type With = ($($name,)* T,);

            #[expect(non_snake_case, reason = "a variable for each type")]
            fn with(self, value: T) -> Self::With {
                let ($($name,)*) = self;
                ($($name,)* value,)
            }
        })*
    };
}

tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) }

impl<T> Tuple<T> for () {
    type With = (T,);

    fn with(self, value: T) -> (T,) {
        (value,)
    }
}
