//! What a layer is told of requests, besides how they are cloned: what their results mean, and a
//! timeout.

use core::fmt;

use redial_core::{Random, Ruling, Verdict};

use crate::kinds::PolicyWhen;
#[cfg(feature = "tracing")]
use crate::options::TraceErrors;
use crate::options::{ClassifyResult, Judge, OnRetry, RetryErrors};
use crate::outcome::Event;

/// A judge that is shown each request before it is sent.
pub trait Sees<Request> {
    /// What a timeout of this request means, where that depends on it.
    #[doc(hidden)]
    fn see(&mut self, request: &Request) -> Option<Verdict>;
}

impl<Request> Sees<Request> for RetryErrors {
    #[inline]
    fn see(&mut self, _request: &Request) -> Option<Verdict> {
        None
    }
}

impl<Request, F, J: Sees<Request>> Sees<Request> for ClassifyResult<F, J> {
    #[inline]
    fn see(&mut self, request: &Request) -> Option<Verdict> {
        self.1.see(request)
    }
}

impl<Request, F, J: Sees<Request>> Sees<Request> for OnRetry<F, J> {
    #[inline]
    fn see(&mut self, request: &Request) -> Option<Verdict> {
        self.1.see(request)
    }
}

#[cfg(feature = "tracing")]
impl<Request, J: Sees<Request>> Sees<Request> for TraceErrors<J> {
    #[inline]
    fn see(&mut self, request: &Request) -> Option<Verdict> {
        self.0.see(request)
    }
}

impl<Request, F, P, J: Sees<Request>> Sees<Request> for PolicyWhen<F, P, J> {
    #[inline]
    fn see(&mut self, request: &Request) -> Option<Verdict> {
        self.judge_mut().see(request)
    }
}

/// As `J`, and results mean what the classifier says that was made for their request.
pub struct ClassifyRequest<M, F, J> {
    make: M,
    made: Option<F>,
    judge: J,
}

impl<M, F, J> ClassifyRequest<M, F, J> {
    pub(super) fn new(make: M, judge: J) -> Self {
        Self { make, made: None, judge }
    }
}

/// A layer is cloned for each request, and has made none.
impl<M: Clone, F, J: Clone> Clone for ClassifyRequest<M, F, J> {
    fn clone(&self) -> Self {
        Self::new(self.make.clone(), self.judge.clone())
    }
}

impl<M, F, J> fmt::Debug for ClassifyRequest<M, F, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassifyRequest").finish_non_exhaustive()
    }
}

impl<Request, M, F, J> Sees<Request> for ClassifyRequest<M, F, J>
where
    M: FnMut(&Request) -> F,
    J: Sees<Request>,
{
    fn see(&mut self, request: &Request) -> Option<Verdict> {
        self.made = Some((self.make)(request));
        self.judge.see(request)
    }
}

impl<T, E, M, F, J> Judge<T, E> for ClassifyRequest<M, F, J>
where
    F: FnMut(&Result<T, E>) -> Option<Verdict>,
    J: Judge<T, E>,
{
    const KINDS: bool = J::KINDS;

    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.judge.value(value)
    }

    fn error(&mut self, error: &E) -> Verdict {
        self.judge.error(error)
    }

    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        match &mut self.made {
            Some(classify) => classify(result),
            None => self.judge.result(result),
        }
    }

    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.judge.kind(error, random)
    }

    fn retrying(&mut self, event: &Event<'_, E>) {
        self.judge.retrying(event);
    }

    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.judge.text(error)
    }
}

/// As `J`, and the closure says of each request what a timeout means.
#[derive(Clone, Copy)]
pub struct TimeoutVerdictFor<F, J>(pub(super) F, pub(super) J);

impl<F, J> fmt::Debug for TimeoutVerdictFor<F, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeoutVerdictFor").finish_non_exhaustive()
    }
}

impl<Request, F, J> Sees<Request> for TimeoutVerdictFor<F, J>
where
    F: FnMut(&Request) -> Verdict,
    J: Sees<Request>,
{
    fn see(&mut self, request: &Request) -> Option<Verdict> {
        let _ = self.1.see(request);
        Some((self.0)(request))
    }
}

impl<T, E, F, J: Judge<T, E>> Judge<T, E> for TimeoutVerdictFor<F, J> {
    const KINDS: bool = J::KINDS;

    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.1.value(value)
    }

    fn error(&mut self, error: &E) -> Verdict {
        self.1.error(error)
    }

    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        self.1.result(result)
    }

    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.1.kind(error, random)
    }

    fn retrying(&mut self, event: &Event<'_, E>) {
        self.1.retrying(event);
    }

    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.1.text(error)
    }
}
