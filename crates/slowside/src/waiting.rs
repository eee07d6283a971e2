//! Threads, as far as the system has any left for this process: whoever asks for one learns that there is none while it
//! still has what the thread was to work on, and does it itself.

use crossbeam_channel::{Sender, bounded};
use std::thread::{Builder, JoinHandle};

/// A thread that waits for what it is to work on.
pub(crate) struct Waiting<T, R> {
    hand: Sender<T>,
    thread: JoinHandle<Option<R>>,
}

impl<T: Send + 'static, R: Send + 'static> Waiting<T, R> {
    /// `None` where the system has no more threads for this process.
    pub(crate) fn new(work: impl FnOnce(T) -> R + Send + 'static) -> Option<Waiting<T, R>> {
        let (hand, take) = bounded(1);
        let work = move || take.recv().ok().map(work);
        let thread = Builder::new().spawn(work).ok()?;
        Some(Waiting { hand, thread })
    }

    pub(crate) fn start(self, with: T) -> JoinHandle<Option<R>> {
        // It waits at the other end.
        let _ = self.hand.send(with);
        self.thread
    }
}
