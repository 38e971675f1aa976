//! The attempt loop: one command under a policy, until it succeeds or the engine says stop.

use std::ffi::OsString;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use redial_core::{Call, Decision, Gate, Limits, Policy, SplitMix64, Stop, Time, Verdict};
use redial_policy::{Draws, Ending, Fate, Judgement, Rules};

use crate::command::Command;
use crate::control::{Control, Request};
use crate::ending;
use crate::input::Stdin;
use crate::observer::{Observer, Progress, Warning};
use crate::reactor::{Exit, Reactor, SlotId};
use crate::relay::is_stdout_closed;
use crate::shared::SharedGate;
use crate::streams::{Sink, Sinks, Streams};
use crate::times::Times;

/// What is run, and when it is run again.
#[derive(Debug)]
pub struct Task {
    /// The command.
    pub command: Command,
    /// Variables that the command gets beside those in [`VARIABLES`].
    pub variables: Vec<(&'static str, OsString)>,
    /// Where its standard input comes from.
    pub stdin: Stdin,
    /// Where its output goes.
    pub sinks: Sinks,
    /// Decides, with `limits`, how often it is run and how long to wait in between.
    pub policy: Policy<Draws>,
    /// The limits of this run, beside those of the policy.
    pub limits: Limits<'static>,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// Tell success from failure.
    pub rules: Rules,
    /// The seed of the jitter.
    pub seed: u64,
    /// The command polls for something that is not ready yet, so that its failures do not count for a
    /// shared breaker.
    pub is_poll: bool,
    /// Whether to measure the CPU time of each attempt.
    pub measures_times: bool,
}

impl Task {
    /// The streams of its attempts, for its slot.
    pub fn streams(&self) -> Streams {
        Streams::new(self.stdin, self.policy.attempts() == Some(1), &self.rules)
    }
}

/// The variables that tell the command which attempt this is and where it may
/// [ask for something](Control). Those of an outer redial should not reach it: see [`Command::new`].
pub const VARIABLES: [&str; 4] =
    ["REDIAL_ATTEMPT", "REDIAL_ATTEMPTS", "REDIAL_LAST_EXIT", "REDIAL_CONTROL"];

/// One attempt that has ended.
#[derive(Debug)]
pub struct Attempt {
    /// How it ended.
    pub ending: Ending,
    /// What the rules say of it.
    pub judgement: Judgement,
    /// What the command asked for through its control file.
    pub request: Option<Request>,
    /// How long it took.
    pub took: Duration,
    /// The CPU time of the command and of everything it started, where that is measured.
    pub times: Option<Times>,
    /// The signals that the timeout or the deadline sent.
    pub sent: Vec<Signal>,
    /// Why the command could not be started.
    pub spawn_error: Option<Errno>,
    /// The deadline of the run cut it, not the timeout of the attempt.
    pub is_cut_by_deadline: bool,
    /// This process was asked to end meanwhile.
    pub is_interrupted: bool,
    /// Not even SIGKILL has ended it.
    pub is_alive: bool,
}

/// How a run ended.
#[derive(Debug)]
pub enum End {
    /// The last attempt succeeded.
    Succeeded,
    /// The last attempt failed, and no other follows.
    GaveUp(Box<Attempt>, Reason),
    /// The shared breaker admitted no further attempt, or not even the first.
    Refused(Stop),
    /// What the command wrote could not be delivered.
    OutputLost(String),
    /// No pipe or pseudo-terminal could be had for the next attempt.
    NoStreams(String),
    /// No process could be had for the next attempt: a limit of the system, or the guard is gone.
    NoProcess(&'static str),
    /// This process got a signal that asks it to end.
    Interrupted(Signal),
}

/// Why no attempt follows one that failed.
#[derive(Debug)]
pub enum Reason {
    /// The engine says so.
    Stopped(Stop),
    /// The standard input of this attempt could not be kept for another one.
    InputLost(String),
    /// Standard output is a pipe that nobody reads any more.
    OutputClosed,
    /// The command is still running after SIGKILL: it is another user's, or sleeps uninterruptibly.
    Unkillable,
}

impl End {
    /// The stable name of the reason, for logs; none for a success.
    pub fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Succeeded => return None,
            Self::GaveUp(_, Reason::Stopped(stop)) | Self::Refused(stop) => stop.name(),
            Self::GaveUp(_, Reason::InputLost(_)) => "input-lost",
            Self::GaveUp(_, Reason::OutputClosed) | Self::OutputLost(_) => "output-lost",
            Self::GaveUp(_, Reason::Unkillable) => "survives",
            Self::NoStreams(_) => "no-streams",
            Self::NoProcess(_) => "no-process",
            Self::Interrupted(_) => "signal",
        })
    }
}

/// What [`AttemptLoop::advance`] has come to.
#[derive(Debug)]
pub enum Turn {
    /// There is nothing to do before something happens in the [`Reactor`], or before this time.
    Wait(Option<Time>),
    /// The run is over.
    Over(End),
}

/// The attempts of one [`Task`] in one slot.
///
/// It is a state machine that never blocks: whoever drives it calls [`advance`](Self::advance) and
/// then [`Reactor::turn`]. So any number of loops run over one reactor, each in a slot of its own.
/// [`run`](Self::run) drives a single one.
#[derive(Debug)]
pub struct AttemptLoop<'t> {
    task: &'t Task,
    slot: SlotId,
    call: Call<&'t Policy<Draws>>,
    random: SplitMix64,
    gate: SharedGate,
    control: Option<Control>,
    last: Option<Ending>,
    progress: Progress,
    state: State,
}

#[derive(Debug)]
enum State {
    /// An attempt is due.
    Due,
    Starting(Started),
    Running(Started),
    /// The attempt is over; what it left behind is being ended.
    Sweeping(Attempt),
    Waiting {
        from: Time,
        until: Time,
    },
}

#[derive(Clone, Copy, Debug)]
struct Started {
    at: Time,
    /// What earlier attempts took.
    times: Option<Times>,
}

enum Step {
    To(State),
    Wait(State, Option<Time>),
    Over(End),
}

impl<'t> AttemptLoop<'t> {
    /// A run that starts now, in a slot where nothing runs and that has the [streams](Task::streams) of
    /// the task.
    pub fn new(task: &'t Task, reactor: &Reactor, slot: SlotId, mut gate: SharedGate) -> Self {
        let now = reactor.clock.now();
        let call = Call::new(&task.policy, now);
        gate.deposit();
        let progress = Progress {
            slot,
            attempts: 0,
            timeouts: 0,
            running: Duration::ZERO,
            waited: Duration::ZERO,
            started: now,
            deadline: call.deadline(&task.limits),
        };
        Self {
            task,
            slot,
            call,
            random: SplitMix64::new(task.seed),
            gate,
            control: Control::create(),
            last: None,
            progress,
            state: State::Due,
        }
    }

    /// How far it has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// How the last attempt ended that failed.
    pub fn last(&self) -> Option<Ending> {
        self.last
    }

    /// The budget and the breaker that other processes use too.
    pub fn gate(&self) -> &SharedGate {
        &self.gate
    }

    /// Runs it to its end. Output that was held is still held then: see [`Reactor::publish`].
    pub fn run(&mut self, reactor: &mut Reactor, observer: &mut dyn Observer) -> End {
        loop {
            match self.advance(reactor, observer) {
                Turn::Over(end) => return end,
                Turn::Wait(until) => reactor.turn(until, observer),
            }
        }
    }

    /// Does what is to be done now. Not to be called again once the run is over.
    pub fn advance(&mut self, reactor: &mut Reactor, observer: &mut dyn Observer) -> Turn {
        loop {
            let step = match std::mem::replace(&mut self.state, State::Due) {
                State::Due => self.start(reactor, observer),
                State::Starting(started) => self.starting(started, reactor, observer),
                State::Running(started) => match reactor.exit(self.slot) {
                    Some(exit) => self.ended(started, Ok(exit), reactor, observer),
                    None => Step::Wait(State::Running(started), None),
                },
                State::Sweeping(attempt) => match reactor.swept(self.slot) {
                    Some(survivors) => {
                        if survivors {
                            observer.warned(Warning::Survivors);
                        }
                        self.decide(attempt, reactor, observer)
                    }
                    None => Step::Wait(State::Sweeping(attempt), None),
                },
                State::Waiting { from, until } => self.waiting(from, until, reactor, observer),
            };
            for warning in self.gate.take_warnings() {
                observer.warned(Warning::Shared(&warning));
            }
            match step {
                Step::To(state) => self.state = state,
                Step::Wait(state, until) => {
                    self.state = state;
                    return Turn::Wait(until);
                }
                Step::Over(end) => return Turn::Over(end),
            }
        }
    }

    fn start(&mut self, reactor: &mut Reactor, observer: &mut dyn Observer) -> Step {
        if let Some(signal) = reactor.interrupted_by() {
            return Step::Over(End::Interrupted(signal));
        }
        if let Err(stop) = self.call.admit(&mut self.gate, reactor.clock.now()) {
            return Step::Over(End::Refused(stop));
        }
        self.progress.attempts = self.progress.attempts.saturating_add(1);
        let Task { command, policy, rules, sinks, measures_times, .. } = self.task;
        let is_last = policy.attempts() == Some(self.progress.attempts);
        let stdio = match reactor.streams(self.slot).open(rules, *sinks, is_last) {
            Ok(stdio) => stdio,
            Err(error) => return Step::Over(End::NoStreams(error.to_string())),
        };
        let at = reactor.clock.now();
        let times = measures_times.then(|| reactor.times(self.slot));
        reactor.start(self.slot, command, &self.variables(), stdio);
        let timeout = self.task.timeout.map(|timeout| at.after(timeout));
        let cut_at = [timeout, self.progress.deadline].into_iter().flatten().min();
        reactor.time_out_at(self.slot, cut_at);
        self.starting(Started { at, times }, reactor, observer)
    }

    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let [attempt, attempts, last_exit, control] = VARIABLES;
        let all = self.task.policy.attempts();
        let all = all.map_or_else(|| "unlimited".to_owned(), |all| all.to_string());
        let mut variables = self.task.variables.clone();
        variables.push((attempt, self.progress.attempts.to_string().into()));
        variables.push((attempts, all.into()));
        if let Some(last) = &self.last {
            variables.push((last_exit, ending::exit_code(last).to_string().into()));
        }
        if let Some(file) = &self.control {
            variables.push((control, file.path().into()));
        }
        variables
    }

    fn starting(
        &mut self,
        started: Started,
        reactor: &mut Reactor,
        observer: &mut dyn Observer,
    ) -> Step {
        let Some(spawned) = reactor.started(self.slot) else {
            return Step::Wait(State::Starting(started), None);
        };
        if let Some(reason) = spawned.err().and_then(ending::fault_of_the_system) {
            return Step::Over(End::NoProcess(reason));
        }
        observer.attempt_started(&reactor.clock, &self.progress, spawned.ok());
        match spawned {
            Ok(_) => Step::To(State::Running(started)),
            Err(error) => {
                reactor.streams(self.slot).close();
                self.ended(started, Err(error), reactor, observer)
            }
        }
    }

    fn ended(
        &mut self,
        started: Started,
        exit: Result<Exit, Errno>,
        reactor: &mut Reactor,
        observer: &mut dyn Observer,
    ) -> Step {
        let took = reactor.clock.now().since(started.at);
        self.progress.running += took;
        let spawn_error = exit.as_ref().err().copied();
        let (ending, is_alive, timed_out, sent) = match exit {
            Err(error) => (ending::of_error(error), false, false, Vec::new()),
            Ok(Exit { status: None, timed_out, sent }) => (Ending::TimedOut, true, timed_out, sent),
            Ok(Exit { status: Some(status), timed_out, sent }) => {
                (ending::of_status(status, timed_out), false, timed_out, sent)
            }
        };
        let (timeout, deadline) = (self.task.timeout, self.progress.deadline);
        let is_within = |timeout| deadline.is_none_or(|at| started.at.after(timeout) <= at);
        let is_cut_by_deadline = timed_out && !timeout.is_some_and(is_within);
        self.progress.timeouts += u32::from(timed_out && !is_cut_by_deadline);
        let is_interrupted = reactor.interrupted_by().is_some();
        let times = started.times.map(|before| reactor.times(self.slot).since(before));
        let watch = &mut reactor.streams(self.slot).watch;
        let judgement = self.task.rules.judge(&ending, watch, SystemTime::now());
        let attempt = Attempt {
            ending,
            judgement,
            request: None,
            took,
            times,
            sent,
            spawn_error,
            is_cut_by_deadline,
            is_interrupted,
            is_alive,
        };
        let (clock, streams) = reactor.clock_and_streams(self.slot);
        observer.attempt_ended(clock, &self.progress, &attempt, &streams.watch);
        let may_leave_a_daemon = attempt.judgement.fate == Fate::Success
            && ending != Ending::TimedOut
            && !is_interrupted;
        if may_leave_a_daemon || is_alive {
            return self.decide(attempt, reactor, observer);
        }
        reactor.begin_sweep(self.slot);
        Step::To(State::Sweeping(attempt))
    }

    /// What follows an attempt of which nothing is left that should not be.
    fn decide(
        &mut self,
        mut attempt: Attempt,
        reactor: &mut Reactor,
        observer: &mut dyn Observer,
    ) -> Step {
        if let Some(signal) = reactor.interrupted_by() {
            return Step::Over(End::Interrupted(signal));
        }
        if attempt.ending != Ending::TimedOut
            && let Some(lost) = reactor.streams(self.slot).output_lost()
        {
            return Step::Over(End::OutputLost(lost.to_owned()));
        }
        if attempt.judgement.fate == Fate::Success {
            self.gate.succeeded();
            reactor.disown(self.slot);
            return Step::Over(End::Succeeded);
        }
        self.last = Some(attempt.ending);
        let now = reactor.clock.now();
        if attempt.is_alive {
            self.gate.failed(now);
            return Step::Over(End::GaveUp(Box::new(attempt), Reason::Unkillable));
        }
        attempt.request = self.request(observer);
        let verdict = verdict(&attempt, observer);
        if attempt.spawn_error.is_some() || verdict == Verdict::Stop || self.task.is_poll {
            // None of these says anything about the service that the breaker protects.
            self.gate.release();
        }
        // Where another attempt could not have what this one had, there is none.
        let input_lost = reactor.streams(self.slot).input_lost().map(str::to_owned);
        let obstacle = match input_lost {
            Some(why) => Some(Reason::InputLost(why)),
            // What is kept for the caller does not go to our own standard output.
            None if self.task.sinks.stdout == Sink::Keep => None,
            None => is_stdout_closed().then_some(Reason::OutputClosed),
        };
        let verdict = if obstacle.is_some() { Verdict::Stop } else { verdict };
        let Self { call, gate, random, task, .. } = self;
        match call.failed_past(&task.limits, gate, || now, || verdict, random) {
            Decision::Wait(delay) => {
                reactor.streams(self.slot).close();
                let (clock, streams) = reactor.clock_and_streams(self.slot);
                observer.waiting(clock, &self.progress, &attempt, delay, streams);
                let from = reactor.clock.now();
                self.wait(from, from.after(delay), reactor, observer)
            }
            Decision::Stop(stop) => {
                gate.release();
                let reason = obstacle.filter(|_| stop == Stop::Rejected);
                let reason = reason.unwrap_or(Reason::Stopped(stop));
                Step::Over(End::GaveUp(Box::new(attempt), reason))
            }
        }
    }

    fn request(&self, observer: &mut dyn Observer) -> Option<Request> {
        let (request, error) = self.control.as_ref()?.take();
        if let Some(error) = error {
            observer.warned(Warning::Control(&error));
        }
        request
    }

    /// Until then, or until there is something to show.
    fn wait(
        &self,
        from: Time,
        until: Time,
        reactor: &Reactor,
        observer: &mut dyn Observer,
    ) -> Step {
        let now = reactor.clock.now();
        let left = until.since(now);
        let wake = observer.tick(left).map_or(until, |tick| now.after(tick.min(left)));
        Step::Wait(State::Waiting { from, until }, Some(wake))
    }

    fn waiting(
        &mut self,
        from: Time,
        until: Time,
        reactor: &Reactor,
        observer: &mut dyn Observer,
    ) -> Step {
        let now = reactor.clock.now();
        let is_interrupted = reactor.interrupted_by().is_some();
        if now < until && !is_interrupted {
            return self.wait(from, until, reactor, observer);
        }
        self.progress.waited += now.since(from);
        observer.waited(is_interrupted);
        if is_interrupted {
            self.gate.refund();
        }
        Step::To(State::Due)
    }
}

/// What the command itself and the rules say of a failure.
fn verdict(attempt: &Attempt, observer: &mut dyn Observer) -> Verdict {
    match attempt.request {
        Some(Request::Stop) => return Verdict::Stop,
        Some(Request::RetryAfter(delay)) => return Verdict::RetryAfter(delay),
        None => {}
    }
    let Judgement { fate, delay, bad_delay, .. } = &attempt.judgement;
    if let Some(found) = bad_delay {
        observer.warned(Warning::BadDelay(found));
    }
    match (fate, delay) {
        (Fate::Stop, _) => Verdict::Stop,
        (_, Some(delay)) => Verdict::RetryAfter(*delay),
        _ => Verdict::Retry,
    }
}
