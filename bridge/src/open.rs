//! The sessions that are open.

use futures::future::BoxFuture;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use regatta_memory::ByteHolder;
use regatta_serving::ResponseStore;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::connection::Peer;
use crate::routes::CALL_BYTES_MAX;
use crate::session::{Answered, BridgedSession, Refused};
use crate::single_flight::SingleFlight;
use crate::token::Tokens;

/// Requests of one session that are served at once.
pub(crate) const REQUESTS_MAX: usize = 256;

/// Responses of one session that later requests can refer to, and conversations beside them.
const RESPONSES_MAX: usize = 128;
/// Bytes of both, as many as a request may have that refers to them.
const RESPONSES_BYTES_MAX: usize = CALL_BYTES_MAX;

/// The sessions of one bridge.
pub(crate) struct Sessions {
    tokens: Tokens,
    opened: AtomicU64,
    open: RwLock<HashMap<String, Arc<Opened>>>,
    /// Sessions of which somebody is told of requests after their end.
    watched: RwLock<HashMap<String, Weak<AtomicBool>>>,
}

/// An open session.
pub(crate) struct Opened {
    pub(crate) session: Arc<dyn BridgedSession>,
    pub(crate) closed: CancellationToken,
    /// Calls of the session, which outlive the connections that asked for them.
    pub(crate) shared_calls: SingleFlight<Outcome, Peer>,
    /// Responses and conversations that its agent can refer to.
    pub(crate) responses: ResponseStore,
    /// Limits the requests of the session that are served at once.
    pub(crate) requests: Arc<Semaphore>,
}

/// Outcome of a call: its answer, or the reason why there is none.
pub(crate) type Outcome = Arc<Result<Answered, Refused>>;

/// Reason why a token has no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The session was closed.
    Closed,
    /// There never was such a session.
    Unknown,
}

impl Sessions {
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new() -> io::Result<Self> {
        let (open, watched) = (RwLock::default(), RwLock::default());
        Ok(Self { tokens: Tokens::new()?, opened: AtomicU64::new(0), open, watched })
    }

    /// Opens a session, of which `holder` counts the responses that it keeps.
    pub(crate) fn open(
        self: &Arc<Self>,
        origin: &str,
        session: Arc<dyn BridgedSession>,
        holder: ByteHolder,
    ) -> OpenSession {
        let token = self.tokens.make(self.opened.fetch_add(1, Ordering::Relaxed));
        let opened = Arc::new(Opened {
            session,
            closed: CancellationToken::new(),
            shared_calls: SingleFlight::new(),
            responses: ResponseStore::new(RESPONSES_MAX, RESPONSES_BYTES_MAX, Some(holder)),
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
        });
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(token.clone(), Arc::clone(&opened));
        OpenSession { sessions: Arc::clone(self), base_url: base_url(origin, &token), token, opened }
    }

    /// The open session of this token.
    pub(crate) fn find(&self, token: &str) -> Result<Arc<Opened>, Absent> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        match open.get(token) {
            Some(opened) => Ok(Arc::clone(opened)),
            None if self.tokens.is_ours(token) => {
                let watched = self.watched.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(late) = watched.get(token).and_then(Weak::upgrade) {
                    late.store(true, Ordering::Relaxed);
                }
                Err(Absent::Closed)
            }
            None => Err(Absent::Unknown),
        }
    }

    fn close(&self, token: &str) {
        let closed = self.open.write().unwrap_or_else(PoisonError::into_inner).remove(token);
        if let Some(opened) = closed {
            opened.shared_calls.close();
            opened.closed.cancel();
        }
    }
}

/// Requests of a session that came after its end.
#[derive(Debug, Clone, Default)]
pub struct LateRequests(Arc<AtomicBool>);

impl LateRequests {
    /// `true` if there was one since this was last asked.
    #[must_use]
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

fn base_url(origin: &str, token: &str) -> String {
    format!("{origin}/sessions/{token}")
}

/// A session that its agent can reach. Dropping it closes it: whoever still waits, and whoever comes, is told 410. Calls that were begun
/// are run to their end.
pub struct OpenSession {
    sessions: Arc<Sessions>,
    base_url: String,
    token: String,
    opened: Arc<Opened>,
}

impl OpenSession {
    /// Address that the agent gets: `http://127.0.0.1:PORT/sessions/TOKEN`, or `https` and the advertised host. Clients of Anthropic's
    /// format take it as it is, those of OpenAI's with `/v1` appended; for a member of a team, `/members/NAME` goes in between. Anyone who
    /// knows it can use the session.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The same for an agent that finds the bridge at `origin` (`http://HOST:PORT`).
    #[must_use]
    pub fn base_url_at(&self, origin: &str) -> String {
        base_url(origin, &self.token)
    }

    /// Tells of requests that come after the end of the session.
    #[must_use]
    pub fn late_requests(&self) -> LateRequests {
        let late = LateRequests::default();
        let mut watched = self.sessions.watched.write().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|_, late| late.strong_count() > 0);
        watched.insert(self.token.clone(), Arc::downgrade(&late.0));
        late
    }

    /// Closes it, and waits until every call that was begun has ended.
    pub fn close(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let running = self.opened.shared_calls.running();
            drop(self);
            running.wait().await;
        })
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.sessions.close(&self.token);
    }
}

impl fmt::Debug for OpenSession {
    // Without the URL, which is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSession").finish_non_exhaustive()
    }
}
