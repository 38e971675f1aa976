//! A client whose answers are written down, so that the same program can be run with one crate and
//! with another.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// Refuses as often as its script says, and then answers.
#[derive(Debug)]
pub struct Client {
    refusals: RefCell<VecDeque<Refused>>,
    calls: Cell<u32>,
}

impl Client {
    /// A client of a service that refuses so often, with these statuses.
    pub fn refused(statuses: impl IntoIterator<Item = u16>) -> Self {
        let refused = |status| Refused { status, retry_after: None };
        Self {
            refusals: RefCell::new(statuses.into_iter().map(refused).collect()),
            calls: Cell::new(0),
        }
    }

    /// The service asks to wait this long with its last refusal.
    #[must_use]
    pub fn asking_for(self, wait: Duration) -> Self {
        self.refusals.borrow_mut().back_mut().expect("a refusal").retry_after = Some(wait);
        self
    }

    /// Asks for a page.
    pub async fn get(&self, path: &str) -> Result<String, Refused> {
        self.calls.set(self.calls.get() + 1);
        match self.refusals.borrow_mut().pop_front() {
            Some(refused) => Err(refused),
            None => Ok(format!("the page {path}")),
        }
    }

    /// How often it was asked.
    pub fn calls(&self) -> u32 {
        self.calls.get()
    }
}

/// The service did not answer with a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    status: u16,
    retry_after: Option<Duration>,
}

impl Refused {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        self.status >= 500
    }

    /// How long the service asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)
    }
}

impl std::error::Error for Refused {}
