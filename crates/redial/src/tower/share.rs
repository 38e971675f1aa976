//! What all requests of a layer share.

use std::sync::Arc;

use redial_core::{Breaker, Budget};

/// A budget or a breaker that a layer can share among its requests: borrowed, in an `Arc`, or owned,
/// and then it is put into one.
///
/// ```
/// use redial::{Budget, Policy, tower::RetryLayer};
/// let layer = RetryLayer::new(&Policy::DEFAULT).budget(Budget::new());
/// let another = layer.clone(); // of the same budget
/// # let _ = another;
/// ```
#[diagnostic::on_unimplemented(
    message = "the requests of a layer cannot share `{Self}`",
    note = "a budget is given as `Budget`, `&Budget` or `Arc<Budget>`, a breaker in the same ways"
)]
pub trait Share {
    /// What each request holds.
    type Shared: Clone;

    /// It.
    fn share(self) -> Self::Shared;
}

impl Share for Budget {
    type Shared = Arc<Self>;

    fn share(self) -> Arc<Self> {
        Arc::new(self)
    }
}

impl Share for Breaker {
    type Shared = Arc<Self>;

    fn share(self) -> Arc<Self> {
        Arc::new(self)
    }
}

impl<T: ?Sized> Share for &T {
    type Shared = Self;

    fn share(self) -> Self {
        self
    }
}

impl<T: ?Sized> Share for Arc<T> {
    type Shared = Self;

    fn share(self) -> Self {
        self
    }
}
