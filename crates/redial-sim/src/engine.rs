//! The discrete-event engine: a binary heap with one pending event per client, the earliest first.
//!
//! An event is one 64-bit key: the tick in the high bits, the client's number in the low ones. So
//! comparing two events is comparing two integers, and events at the same tick are ordered by
//! client. A client's next event replaces the one at the top of the heap (`PeekMut`), which is one
//! sift instead of a pop and a push. Nothing is allocated per event.

mod open;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

pub(crate) use self::open::{OpenEngine, OpenModel};

use crate::digest::Digest;
use crate::invalid::Invalid;
use crate::scenario::Trace;
use crate::watch::Watch;

/// What is simulated: given what happens now, what happens next to the same client.
///
/// Time is counted in ticks of whatever length the model likes; the models of this crate count
/// nanoseconds.
///
/// ```
/// use redial_sim::engine::{Bounds, Completion, Engine, Event, Model};
///
/// /// Every client ticks once a second, three times.
/// struct Clocks(Vec<u32>);
///
/// impl Model for Clocks {
///     fn event(&mut self, client: u32, now: u64) -> Event {
///         let ticks = &mut self.0[client as usize];
///         *ticks += 1;
///         let next = (*ticks < 3).then_some(now + 1_000_000_000);
///         Event { kind: 0, next }
///     }
/// }
///
/// let mut clocks = Clocks(vec![0; 5]);
/// let mut engine = Engine::new(5, Bounds::DEFAULT)?;
/// let run = engine.run(&mut clocks, |_| 0, |_, _, _| {});
/// assert_eq!((run.ended, run.events), (Completion::Quiet, 15));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
pub trait Model {
    /// The pending event of `client` happens `now`.
    fn event(&mut self, client: u32, now: u64) -> Event;
}

/// What happened, and when something happens next to the same client.
///
/// ```
/// use redial_sim::engine::Event;
/// let last = Event { kind: 1, next: None };
/// assert_eq!(last.next, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The model's own number for what happened. It goes to the observer.
    pub kind: u8,
    /// The tick of the client's next event, or nothing if it is done. A tick in the past means now.
    pub next: Option<u64>,
}

/// How far a run may go. Nothing runs for ever.
///
/// ```
/// use redial_sim::engine::Bounds;
/// let bounds = Bounds { events: 1000, ..Bounds::DEFAULT };
/// assert_eq!(bounds.clients, 4_194_304);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Events of one run.
    pub events: u64,
    /// The last tick at which an event may happen. A tick has to fit in the bits of the 64-bit key
    /// that the clients' numbers leave; where this is more, the largest tick that fits is the
    /// bound.
    pub ticks: u64,
    /// Clients, at most 16777216. Each has one pending event at most, so this bounds the memory of
    /// a run, too.
    pub clients: u32,
}

impl Bounds {
    /// A hundred million events, any time, four million clients.
    ///
    /// ```
    /// assert_eq!(redial_sim::engine::Bounds::DEFAULT.events, 100_000_000);
    /// ```
    pub const DEFAULT: Self = Self { events: 100_000_000, ticks: u64::MAX, clients: 1 << 22 };
}

impl Default for Bounds {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How a run ended.
///
/// ```
/// use redial_sim::engine::Completion;
/// assert!(Completion::Quiet.is_complete());
/// assert!(!Completion::Events.is_complete());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// Every client is done, or all the time that was to be looked at is over.
    Quiet,
    /// The bound on events was reached, and events were pending.
    Events,
    /// What was left to happen lay beyond the bound on time.
    Time,
    /// More clients were under way at once than the bounds allow.
    Clients,
    /// Whoever watched it has stopped it.
    Stopped,
}

impl Completion {
    /// Whether what was counted is all there was to count.
    ///
    /// ```
    /// assert!(!redial_sim::engine::Completion::Time.is_complete());
    /// ```
    pub const fn is_complete(self) -> bool {
        matches!(self, Self::Quiet)
    }
}

/// What the engine itself knows of a run.
///
/// ```
/// use redial_sim::engine::{Bounds, Engine, Event, Model};
///
/// struct Once;
/// impl Model for Once {
///     fn event(&mut self, _: u32, _: u64) -> Event {
///         Event { kind: 0, next: None }
///     }
/// }
/// let run = Engine::new(3, Bounds::DEFAULT)?.run(&mut Once, |client| client.into(), |_, _, _| {});
/// assert_eq!((run.events, run.last_tick), (3, 2));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EngineRun {
    /// How it ended.
    pub ended: Completion,
    /// How many events happened.
    pub events: u64,
    /// When the last of them did.
    pub last_tick: u64,
}

impl EngineRun {
    pub(crate) const fn trace(self, digest: Digest) -> Trace {
        Trace { ended: self.ended, events: self.events, digest }
    }
}

/// The events of one run after another, in memory that is allocated once.
///
/// See [`Model`] for an example.
#[derive(Clone, Debug)]
pub struct Engine {
    pending: BinaryHeap<Reverse<u64>>,
    clients: u32,
    client_bits: u32,
    bounds: Bounds,
    watch: Option<&'static Watch>,
}

/// The watch's atomic is read once in so many events, which take 1 to 10 ms.
const UNWATCHED: u64 = 1 << 16;

impl Engine {
    /// An engine for so many clients.
    ///
    /// ```
    /// use redial_sim::engine::{Bounds, Engine};
    /// assert_eq!(
    ///     Engine::new(0, Bounds::DEFAULT).unwrap_err().to_string(),
    ///     "clients: 0 is out of range; use 1 to 4194304",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// No clients, or more than the bounds allow.
    pub fn new(clients: u32, bounds: Bounds) -> Result<Self, Invalid> {
        let most = bounds.clients.min(CLIENTS_MAX);
        Invalid::unless_within("clients", clients, 1, most)?;
        // Numbers from 0 to clients − 1.
        let client_bits = u32::BITS - (clients - 1).leading_zeros();
        let bounds = Bounds { ticks: bounds.ticks.min(u64::MAX >> client_bits), ..bounds };
        Ok(Self { pending: BinaryHeap::new(), clients, client_bits, bounds, watch: None })
    }

    /// Lets whoever has the watch stop its runs.
    ///
    /// ```
    /// use redial_sim::Watch;
    /// use redial_sim::engine::{Bounds, Completion, Engine, Event, Model};
    ///
    /// struct Forever;
    /// impl Model for Forever {
    ///     fn event(&mut self, _: u32, now: u64) -> Event {
    ///         Event { kind: 0, next: Some(now + 1) }
    ///     }
    /// }
    /// static WATCH: Watch = Watch::new();
    ///
    /// let mut engine = Engine::new(3, Bounds::DEFAULT)?.watch(&WATCH);
    /// WATCH.stop();
    /// assert_eq!(engine.run(&mut Forever, |_| 0, |_, _, _| {}).ended, Completion::Stopped);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    #[must_use]
    pub const fn watch(mut self, watch: &'static Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Runs `model` until all clients are done or a bound is reached. `start` is the tick of a
    /// client's first event; `observe` is told of each event's tick, client and kind, in order.
    ///
    /// See [`Model`] for an example.
    pub fn run(
        &mut self,
        model: &mut impl Model,
        start: impl FnMut(u32) -> u64,
        mut observe: impl FnMut(u64, u32, u8),
    ) -> EngineRun {
        let mut beyond = self.begin(start);
        let client_mask = (1 << self.client_bits) - 1;
        let (mut events, mut last_tick, mut look_at) = (0, 0, 0);
        while let Some(mut top) = self.pending.peek_mut() {
            if events == look_at {
                let is_stopped = self.watch.is_some_and(Watch::is_stopped);
                if is_stopped || events == self.bounds.events {
                    PeekMut::pop(top);
                    let ended = if is_stopped { Completion::Stopped } else { Completion::Events };
                    return EngineRun { ended, events, last_tick };
                }
                look_at = self.bounds.events.min(events + UNWATCHED);
            }
            let Reverse(key) = *top;
            let (now, client) = (key >> self.client_bits, key & client_mask);
            let Event { kind, next } = model.event(client as u32, now);
            observe(now, client as u32, kind);
            (events, last_tick) = (events + 1, now);
            match next.map(|next| next.max(now)) {
                Some(next) if next <= self.bounds.ticks => {
                    *top = Reverse(next << self.client_bits | client);
                }
                next => {
                    beyond |= next.is_some();
                    PeekMut::pop(top);
                }
            }
        }
        let ended = if beyond { Completion::Time } else { Completion::Quiet };
        EngineRun { ended, events, last_tick }
    }

    /// Every client's first event; whether one of them is beyond the bound on time.
    fn begin(&mut self, mut start: impl FnMut(u32) -> u64) -> bool {
        let mut beyond = false;
        let mut keys = std::mem::take(&mut self.pending).into_vec();
        keys.clear();
        keys.extend((0..self.clients).filter_map(|client| {
            let tick = start(client);
            beyond |= tick > self.bounds.ticks;
            let key = || Reverse(tick << self.client_bits | u64::from(client));
            (tick <= self.bounds.ticks).then(key)
        }));
        self.pending = keys.into();
        beyond
    }
}

/// More than this many numbers would leave a nanosecond clock less than 18 minutes.
const CLIENTS_MAX: u32 = 1 << 24;
