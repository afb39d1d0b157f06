//! The budget as tasks use it: waiting is a future, and what is dropped is given back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ByteMetrics;
use crate::machine::default_bytes;
use crate::pool::{Answer, Number, Pool, ReadKey};

/// The bytes that a process may hold on behalf of sessions; clones share them.
#[derive(Clone)]
pub struct ByteBudget(Arc<Shared>);

struct Shared {
    pool: Mutex<Pool>,
    metrics: Option<ByteMetrics>,
}

/// A session, or a request that belongs to none. Bytes that it keeps are given back with the last clone.
#[derive(Clone)]
pub struct ByteHolder(Arc<Opened>);

struct Opened {
    budget: ByteBudget,
    number: Number,
}

/// Bytes that are being read; given back when they are dropped.
pub struct HeldBytes {
    holder: ByteHolder,
    read: ReadKey,
    bytes: u64,
}

/// A holder would have more bytes than one may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "one session or request may hold {limit} bytes at once, a quarter of what this process may (`--memory-budget`)"
)]
pub struct TooLarge {
    /// Bytes that one holder may have.
    pub limit: u64,
}

impl ByteBudget {
    /// A budget of `bytes`.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Shared { pool: Mutex::new(Pool::new(bytes)), metrics: None }))
    }

    /// The same, with `metrics` of its own.
    #[must_use]
    pub fn observed(bytes: u64, metrics: ByteMetrics) -> Self {
        metrics.limit.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        Self(Arc::new(Shared { pool: Mutex::new(Pool::new(bytes)), metrics: Some(metrics) }))
    }

    /// Most bytes that one session or request can hold.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.pool().largest()
    }

    /// Bytes held now.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.pool().held()
    }

    /// Most bytes that were held at once.
    #[must_use]
    pub fn held_max(&self) -> u64 {
        self.pool().held_max
    }

    /// Number of reads and sessions that wait for bytes.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pool().waiting()
    }

    /// A holder that keeps nothing beyond its reads.
    #[must_use]
    pub fn holder(&self) -> ByteHolder {
        let number = self.change(|pool| pool.open(None));
        ByteHolder(Arc::new(Opened { budget: self.clone(), number }))
    }

    /// A session with `bytes` that it keeps already. Waits until there is room for it. `leave` fires when it is to publish what it has, and
    /// to go on later.
    pub async fn enter(&self, bytes: u64, leave: CancellationToken) -> ByteHolder {
        let number = self.change(|pool| pool.open(Some(leave)));
        let holder = ByteHolder(Arc::new(Opened { budget: self.clone(), number }));
        let granted = self.change(|pool| pool.enter(number, bytes));
        // What was granted and not taken goes with the holder.
        self.wait(granted, |pool| pool.forget_entrant(number)).await;
        holder
    }

    /// Waits for `granted`; who does not wait to the end is forgotten by `forget`.
    async fn wait(&self, mut granted: oneshot::Receiver<()>, forget: impl FnOnce(&mut Pool)) {
        if granted.try_recv().is_ok() {
            return; // Granted at once, as to a read that is favoured: nobody has waited.
        }
        let mut waiting = Waiting { budget: self, since: Instant::now(), forget: Some(forget) };
        // The pool holds the sender until it sends.
        let _ = granted.await;
        waiting.forget = None;
    }

    fn change<T>(&self, change: impl FnOnce(&mut Pool) -> T) -> T {
        let mut pool = self.pool();
        let changed = change(&mut pool);
        if let Some(metrics) = &self.0.metrics {
            metrics.show(pool.held(), pool.held_max, pool.waiting());
        }
        changed
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.0.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the time until it is dropped, and runs `forget` then.
struct Waiting<'a, F: FnOnce(&mut Pool)> {
    budget: &'a ByteBudget,
    since: Instant,
    forget: Option<F>,
}

impl<F: FnOnce(&mut Pool)> Drop for Waiting<'_, F> {
    fn drop(&mut self) {
        if let Some(metrics) = &self.budget.0.metrics {
            metrics.waited(self.since.elapsed());
        }
        if let Some(forget) = self.forget.take() {
            self.budget.change(forget);
        }
    }
}

impl ByteHolder {
    /// Bytes that are about to be read, none yet.
    #[must_use]
    pub fn read(&self) -> HeldBytes {
        let read = self.0.budget.change(|pool| pool.begin(self.0.number));
        HeldBytes { holder: self.clone(), read, bytes: 0 }
    }

    /// The session is not told to leave from now on: elsewhere it would begin anew.
    pub fn stay(&self) {
        self.0.budget.change(|pool| pool.stay(self.0.number));
    }

    /// Counts `bytes` more that the session keeps, and that are here already.
    pub fn keep(&self, bytes: u64) {
        self.0.budget.change(|pool| pool.keep(self.0.number, bytes));
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.budget.change(|pool| pool.close(self.number));
    }
}

impl HeldBytes {
    /// Holds `bytes` more. Waits while there is no room; nothing is to be read meanwhile.
    ///
    /// # Errors
    /// When its holder would have more than one may.
    pub async fn grow(&mut self, bytes: u64) -> Result<(), TooLarge> {
        let (budget, read) = (self.holder.0.budget.clone(), self.read);
        let answer = budget.change(|pool| match pool.grow(read, bytes) {
            Answer::TooLarge => Err(TooLarge { limit: pool.largest() }),
            answer @ (Answer::Granted | Answer::Waits(_)) => Ok(answer),
        });
        if let (Err(_), Some(metrics)) = (&answer, &budget.0.metrics) {
            metrics.refuse();
        }
        if let Answer::Waits(granted) = answer? {
            budget.wait(granted, |pool| pool.forget_read(read, bytes)).await;
        }
        self.bytes += bytes;
        Ok(())
    }

    /// The holder, which lasts beyond the read: what is kept of it is given back with the last clone.
    #[must_use]
    pub fn holder(&self) -> ByteHolder {
        self.holder.clone()
    }

    /// Bytes held.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives back all but `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes -= less;
        self.holder.0.budget.change(|pool| pool.shrink(self.read, less));
    }

    /// All is read. `bytes` are kept of it as long as the session is.
    pub fn keep(self, bytes: u64) {
        self.holder.0.budget.change(|pool| pool.end(self.read, bytes));
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.holder.0.budget.change(|pool| pool.end(self.read, 0));
    }
}

impl Default for ByteBudget {
    /// A budget of [`default_bytes`].
    fn default() -> Self {
        Self::new(default_bytes())
    }
}

impl fmt::Debug for ByteBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteBudget").field("held", &self.held()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ByteHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByteHolder").field(&self.0.number).finish()
    }
}

impl fmt::Debug for HeldBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBytes").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
