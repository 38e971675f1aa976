//! One value from a thread to a task.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// What both ends share.
#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    is_closed: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
pub(super) struct Sender<T>(Arc<Mutex<Slot<T>>>);

/// Gives what was sent; none, if the other end is gone.
#[derive(Debug)]
pub(super) struct Receiver<T>(Arc<Mutex<Slot<T>>>);

pub(super) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Arc::new(Mutex::new(Slot { value: None, is_closed: false, waker: None }));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl<T> Sender<T> {
    pub(super) fn send(self, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).value = Some(value);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.is_closed = true;
        let waker = slot.waker.take();
        drop(slot);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (slot.value.take(), slot.is_closed) {
            (None, false) => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
            (value, _) => Poll::Ready(value),
        }
    }
}
