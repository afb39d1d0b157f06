//! Replies of a session, and the request that comes after them.

use regatta_proto::{ChatRequest, Reply};

/// The replies that a session has had so far. A policy asks for one after the other as if they were all there; where they end, what it
/// asks is what the session does next.
#[derive(Debug)]
pub(crate) struct Replies<'t> {
    left: std::slice::Iter<'t, &'t Reply>,
}

/// The replies have ended: this is to be asked now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asking(pub(crate) Box<ChatRequest>);

impl<'t> Replies<'t> {
    pub(crate) fn new(replies: &'t [&'t Reply]) -> Self {
        Self { left: replies.iter() }
    }

    /// The reply to `request`, which is only made when there is none yet. Its `member` says who asks.
    ///
    /// # Errors
    /// When it has not been asked yet.
    pub(crate) fn ask(&mut self, request: impl FnOnce() -> ChatRequest) -> Result<&'t Reply, Asking> {
        self.left.next().copied().ok_or_else(|| Asking(Box::new(request())))
    }

    /// Number of replies that were not asked for.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }
}
