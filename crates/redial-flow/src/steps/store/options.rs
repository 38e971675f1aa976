//! How a store is opened.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use redial::Clock;

use super::{Hook, Place, Store};
use crate::journal::Sync;
use crate::record::Record;
use crate::steps::error::Stopped;
use crate::steps::log::Appender;
use crate::steps::timing::Timing;
use crate::store::{self, StoreError};

/// How a [`Store`] is to work.
pub struct Options {
    sync: Sync,
    timing: Option<Timing>,
    keep_over: Option<Duration>,
    hook: Option<Hook>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sync, timing, keep_over, .. } = self;
        let mut shown = f.debug_struct("Options");
        shown
            .field("sync", sync)
            .field("timing", timing)
            .field("keep_over", keep_over)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// What a power cut cannot take back, tokio's clock, and runs that stay.
    pub fn new() -> Self {
        Self { sync: Sync::Always, timing: None, keep_over: None, hook: None }
    }

    /// When what was written down survives a power cut; a KILL takes nothing either way.
    #[must_use]
    pub fn sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }

    /// The clock that waits are slept on, where that is not tokio's.
    #[must_use]
    pub fn clock<C>(mut self, clock: C) -> Self
    where
        C: Clock + Clone + Send + std::marker::Sync + 'static,
        C::Sleep: Send + 'static,
    {
        self.timing = Some(Timing::of(clock));
        self
    }

    /// Runs that have succeeded, without a dead letter, are removed this long after their end: when the store is opened, and by
    /// [`Store::sweep`].
    #[must_use]
    pub fn keep_over(mut self, time: Duration) -> Self {
        self.keep_over = Some(time);
        self
    }

    /// Told of every record that is written, of all runs: for logs and numbers.
    #[must_use]
    pub fn on_record(
        mut self,
        hook: impl Fn(&Record) + Send + std::marker::Sync + 'static,
    ) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }

    /// Opens the store in a directory, which is made with the first run.
    ///
    /// # Errors
    /// Where there can be no thread that writes, or there is no clock: without the feature `tokio`, one has to be
    /// [given](Self::clock).
    pub fn open(self, path: impl Into<PathBuf>) -> Result<Store, Stopped> {
        let path = path.into();
        let refused = |action, error| StoreError::Io { action, path: path.clone(), error };
        #[cfg(feature = "tokio")]
        let timing = Some(self.timing.unwrap_or_else(|| Timing::of(redial::TokioClock)));
        #[cfg(not(feature = "tokio"))]
        let timing = self.timing;
        let no_clock =
            || std::io::Error::other("there is no clock; give it one by `Options::clock`");
        let timing = timing.ok_or_else(|| refused("open", no_clock()))?;
        let appender = Appender::start().map_err(|error| refused("start a thread for", error))?;
        let place = Place::Directory(store::Store::at(&path), appender);
        let store = Store::new(place, self.sync, timing, self.keep_over, self.hook);
        if self.keep_over.is_some() {
            store.sweep()?;
        }
        Ok(store)
    }
}
