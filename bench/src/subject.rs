//! What is measured of whom: every file under `cases` makes one [`Subject`].

/// Something that makes calls: a bare call, a loop written by hand, a library.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// Where it is one.
    pub(crate) package: Option<Package>,
    pub(crate) loops: &'static [(Call, Loop)],
    pub(crate) figures: &'static [(Figure, Tell)],
}

/// Makes so many calls of a kind, and does nothing else worth counting.
pub(crate) type Loop = fn(u64);

/// Finds a figure out.
pub(crate) type Tell = fn() -> f64;

pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// What is asked of the registry; `None` for a crate of this workspace.
    pub(crate) version: Option<&'static str>,
    /// What the calls here need beyond the default features.
    pub(crate) features: &'static [&'static str],
}

/// The calls that are timed and counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    AsyncSuccess,
    BlockingSuccess,
    /// One delay: exponential from 100 ms by 2, at most 60 s, jittered. The first ten of a series.
    DelayBy2,
    /// The same, far into one series without end.
    DelayBy2Steady,
    /// By 1.5.
    DelayBy1_5,
    DelayBy1_5Steady,
    /// Three failures without delay, then success.
    BlockingFailures,
    AsyncFailures,
    // What people write. An error does not travel in registers, and words come from the generator
    // that calls without a seed have.
    /// An async call that succeeds at once, its policy by reference.
    LargeAsync,
    LargeAsyncByValue,
    /// With a predicate that says which errors are worth another attempt.
    LargeAsyncWhen,
    /// With one option alone.
    LargeAsyncClassify,
    LargeAsyncHook,
    LargeAsyncTimeout,
    LargeAsyncWithin,
    LargeAsyncBudget,
    /// With a timeout, a deadline, a classifier, a budget and a hook.
    LargeAsyncOptions,
    LargeBlocking,
    LargeBlockingFailures,
    ThreadDelayBy2,
    /// By 1.1 from 100 ms to 60 s, which takes 68 delays: the first sixty, and after the cap.
    ThreadDelayBy1_1,
    ThreadDelayBy1_1Steady,
    /// A policy from settings that are known at run time.
    Build,
    Parse,
    /// What a timeout, a deadline or a breaker asks for: the time, once.
    Clock,
}

/// What a subject can tell about itself without being timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// How often one [`Call::AsyncFailures`] hands the thread back.
    Yields,
    /// The size of the awaited future around an operation of 24 bytes.
    FutureBytes,
    /// Heap bytes of one task that is asleep in such a future.
    TaskBytes,
    /// The same with a timeout, a deadline, a classifier, a budget and a hook.
    OptionsFutureBytes,
    OptionsTaskBytes,
    /// A policy itself.
    PolicyBytes,
    /// Nanoseconds of a call that succeeds under a budget that is full and a breaker that is closed,
    /// on one thread, and on two that share both.
    SharedAlone,
    SharedByTwo,
    /// The same for a call that pays for a retry.
    PaidAlone,
    PaidByTwo,
}

impl Call {
    const ALL: [Self; 25] = [
        Self::AsyncSuccess,
        Self::BlockingSuccess,
        Self::DelayBy2,
        Self::DelayBy2Steady,
        Self::DelayBy1_5,
        Self::DelayBy1_5Steady,
        Self::BlockingFailures,
        Self::AsyncFailures,
        Self::LargeAsync,
        Self::LargeAsyncByValue,
        Self::LargeAsyncWhen,
        Self::LargeAsyncClassify,
        Self::LargeAsyncHook,
        Self::LargeAsyncTimeout,
        Self::LargeAsyncWithin,
        Self::LargeAsyncBudget,
        Self::LargeAsyncOptions,
        Self::LargeBlocking,
        Self::LargeBlockingFailures,
        Self::ThreadDelayBy2,
        Self::ThreadDelayBy1_1,
        Self::ThreadDelayBy1_1Steady,
        Self::Build,
        Self::Parse,
        Self::Clock,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AsyncSuccess => "async-success",
            Self::BlockingSuccess => "blocking-success",
            Self::DelayBy2 => "delay-by-2",
            Self::DelayBy2Steady => "delay-by-2-steady",
            Self::DelayBy1_5 => "delay-by-1.5",
            Self::DelayBy1_5Steady => "delay-by-1.5-steady",
            Self::BlockingFailures => "blocking-failures",
            Self::AsyncFailures => "async-failures",
            Self::LargeAsync => "large-async",
            Self::LargeAsyncByValue => "large-async-by-value",
            Self::LargeAsyncWhen => "large-async-when",
            Self::LargeAsyncClassify => "large-async-classify",
            Self::LargeAsyncHook => "large-async-hook",
            Self::LargeAsyncTimeout => "large-async-timeout",
            Self::LargeAsyncWithin => "large-async-within",
            Self::LargeAsyncBudget => "large-async-budget",
            Self::LargeAsyncOptions => "large-async-options",
            Self::LargeBlocking => "large-blocking",
            Self::LargeBlockingFailures => "large-blocking-failures",
            Self::ThreadDelayBy2 => "thread-delay-by-2",
            Self::ThreadDelayBy1_1 => "thread-delay-by-1.1",
            Self::ThreadDelayBy1_1Steady => "thread-delay-by-1.1-steady",
            Self::Build => "build",
            Self::Parse => "parse",
            Self::Clock => "clock",
        }
    }

    /// As the table calls it.
    pub(crate) const fn measure(self) -> &'static str {
        match self {
            Self::AsyncSuccess => "async call, succeeds at once",
            Self::BlockingSuccess => "blocking call, succeeds at once",
            Self::DelayBy2 => "next delay by 2, first ten",
            Self::DelayBy2Steady => "next delay by 2, steady state",
            Self::DelayBy1_5 => "next delay by 1.5, first ten",
            Self::DelayBy1_5Steady => "next delay by 1.5, steady state",
            Self::BlockingFailures => "blocking call, 3 failures without delay",
            Self::AsyncFailures => "async call, 3 failures without delay",
            Self::LargeAsync => "async call, policy by reference",
            Self::LargeAsyncByValue => "async call, policy by value",
            Self::LargeAsyncWhen => "async call with `when`",
            Self::LargeAsyncClassify => "async call with `classify`",
            Self::LargeAsyncHook => "async call with `on_retry`",
            Self::LargeAsyncTimeout => "async call with `timeout`",
            Self::LargeAsyncWithin => "async call with `within`",
            Self::LargeAsyncBudget => "async call with `budget`",
            Self::LargeAsyncOptions => "async call with five options",
            Self::LargeBlocking => "blocking call",
            Self::LargeBlockingFailures => "blocking call, 3 failures without delay",
            Self::ThreadDelayBy2 => "next delay by 2",
            Self::ThreadDelayBy1_1 => "next delay by 1.1, first sixty",
            Self::ThreadDelayBy1_1Steady => "next delay by 1.1, at its cap",
            Self::Build => "policy built at run time",
            Self::Parse => "policy parsed",
            Self::Clock => "one reading of the clock",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|call| call.name() == name)
    }
}

impl Subject {
    pub(crate) fn call(&self, call: Call) -> Option<Loop> {
        self.loops.iter().find(|(made, _)| *made == call).map(|(_, run)| *run)
    }

    pub(crate) fn figure(&self, figure: Figure) -> Option<Tell> {
        self.figures.iter().find(|(known, _)| *known == figure).map(|(_, tell)| *tell)
    }
}
