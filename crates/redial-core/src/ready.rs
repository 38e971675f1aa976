//! Delays that are worked out when the policy is built, so that the loop looks them up.

use crate::backoff::Caps;
use crate::modifier::Modifier;
use crate::source::Source;

/// How many: enough for a factor of 1.5 to grow ten-thousandfold.
const READY: usize = 24;

/// The first delays of a source behind the `max`es that begin its chain. Of use where nothing else
/// follows but full jitter, which is what nearly everybody writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ready {
    delays: [u64; READY],
    /// How many of them there are, from the first one on; none where chance decides.
    known: u64,
    cap: u64,
    then: Then,
}

/// What follows the `max`es.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Then {
    Nothing,
    FullJitter,
    More,
}

impl Ready {
    pub(crate) const NONE: Self =
        Self { delays: [0; READY], known: 0, cap: u64::MAX, then: Then::Nothing };

    /// What is known of a source before any modifier.
    pub(crate) const fn of(source: &Source) -> Self {
        let mut ready = Self::NONE;
        ready.known = source.known_before(READY as u64);
        let mut n = 0;
        while (n as u64) < ready.known {
            ready.delays[n] = source.at(n as u64, &Caps::NONE);
            n += 1;
        }
        ready
    }

    /// With one more modifier behind.
    pub(crate) const fn with(self, modifier: Modifier) -> Self {
        let mut ready = self;
        match (ready.then, modifier) {
            (Then::Nothing, Modifier::Max(max)) => return ready.capped(max),
            (Then::Nothing, Modifier::Full) => ready.then = Then::FullJitter,
            _ => ready.then = Then::More,
        }
        ready
    }

    const fn capped(self, max: u64) -> Self {
        let mut ready = self;
        let mut n = 0;
        while n < READY {
            if ready.delays[n] > max {
                ready.delays[n] = max;
            }
            n += 1;
        }
        if max < ready.cap {
            ready.cap = max;
        }
        ready
    }

    /// How many of `retries` wait for [`at`](Self::at), fully jittered. What fills the table does
    /// not shrink; once it has come to its cap it stays there.
    pub(crate) const fn jittered(&self, retries: u64) -> u64 {
        let settled = self.known == READY as u64 && self.delays[READY - 1] == self.cap;
        let known = match self.then {
            Then::FullJitter if settled => u64::MAX,
            Then::FullJitter => self.known,
            Then::Nothing | Then::More => 0,
        };
        if known < retries { known } else { retries }
    }

    #[inline]
    pub(crate) const fn at(&self, n: u64) -> u64 {
        const LAST: u64 = READY as u64 - 1;
        self.delays[if n < LAST { n } else { LAST } as usize]
    }
}
