//! Sessions, with the requests and answers of each.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use regatta_proto::{Digest, Exchange};
use serde_json::{Value, json};

use super::refused::Refused;

/// Most sessions; a caller that needs more has to delete some.
pub(super) const SESSIONS_MAX: usize = 1024;
/// Most requests of one session.
pub(super) const REQUESTS_MAX: usize = 1000;
/// Most bytes in the logs of all sessions together.
const LOGGED_BYTES_MAX: usize = 256 << 20;
/// Most bytes logged of a URL, a body or an answer.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Longest name of a session, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// The name of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionName(String);

impl SessionName {
    /// The name, if it is valid.
    pub(super) fn new(name: &str) -> Result<Self, Refused> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
            let message =
                format!("a session's name is 1 to {NAME_BYTES_MAX} letters, digits, dots, dashes, underscores");
            return Err(Refused::new(StatusCode::BAD_REQUEST, "invalid_session", message));
        }
        Ok(Self(name.to_owned()))
    }
}

/// A request that was admitted.
#[derive(Debug)]
pub(super) struct Admitted {
    /// Digest of its session; all requests without a session share one.
    pub(super) session: Digest,
    /// Number of the request in its session, from 0.
    pub(super) number: u32,
}

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    sessions: BTreeMap<SessionName, Session>,
    /// Number of requests without a session.
    others: u32,
    logged_bytes: usize,
}

#[derive(Debug, Default)]
struct Session {
    /// Exchanges by number of the request; `None` until it is answered.
    log: Vec<Option<Exchange>>,
    bytes: usize,
}

impl Sessions {
    /// Counts a request, and creates its session if it is the first.
    pub(super) fn admit(&self, name: Option<&SessionName>) -> Result<Admitted, Refused> {
        let mut open = self.lock();
        let Some(name) = name else {
            let number = open.others;
            open.others = number.wrapping_add(1);
            return Ok(Admitted { session: Digest::of(b""), number });
        };
        let full = |what: &str| {
            let message = format!("there are {what} already; forget some with DELETE /sessions/ID");
            Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", message))
        };
        if !open.sessions.contains_key(name) && open.sessions.len() >= SESSIONS_MAX {
            return full(&format!("{SESSIONS_MAX} sessions"));
        }
        if open.logged_bytes >= LOGGED_BYTES_MAX {
            return full(&format!("logs of {LOGGED_BYTES_MAX} bytes"));
        }
        let session = open.sessions.entry(name.clone()).or_default();
        if session.log.len() >= REQUESTS_MAX {
            let message = format!("the session has had {REQUESTS_MAX} requests; take another, or DELETE it");
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "session_full", message));
        }
        let number = u32::try_from(session.log.len()).unwrap_or(u32::MAX);
        session.log.push(None);
        Ok(Admitted { session: Digest::of(name.0.as_bytes()), number })
    }

    /// Logs an exchange. A session that was deleted meanwhile is not created again.
    pub(super) fn log(&self, name: Option<&SessionName>, admitted: &Admitted, exchange: Exchange) {
        let Some(name) = name else { return };
        let exchange = Exchange {
            url: cut(&exchange.url).into(),
            body: exchange.body.as_deref().map(|body| cut(body).into()),
            response: cut(&exchange.response).into(),
            ..exchange
        };
        let bytes = exchange.url.len() + exchange.response.len() + exchange.body.as_deref().map_or(0, str::len);
        let mut open = self.lock();
        let Some(session) = open.sessions.get_mut(name) else { return };
        if let Some(entry) = session.log.get_mut(admitted.number as usize) {
            *entry = Some(exchange);
            session.bytes += bytes;
            open.logged_bytes += bytes;
        }
    }

    /// The log of a session, one line for each answered request.
    pub(super) fn report(&self, name: &SessionName) -> Result<String, Refused> {
        let open = self.lock();
        let session = open.sessions.get(name).ok_or_else(|| no_session(name))?;
        let mut lines = String::with_capacity(session.bytes * 2);
        for exchange in session.log.iter().flatten() {
            lines.push_str(&json!(exchange).to_string());
            lines.push('\n');
        }
        Ok(lines)
    }

    /// All sessions, each with its number of requests.
    pub(super) fn list(&self) -> Value {
        let line =
            |(name, session): (&SessionName, &Session)| json!({"session": name.0, "requests": session.log.len()});
        json!({"sessions": self.lock().sessions.iter().map(line).collect::<Vec<_>>()})
    }

    /// Deletes a session.
    pub(super) fn forget(&self, name: &SessionName) -> Result<(), Refused> {
        let mut open = self.lock();
        let session = open.sessions.remove(name).ok_or_else(|| no_session(name))?;
        open.logged_bytes = open.logged_bytes.saturating_sub(session.bytes);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // No code panics in the middle of a change while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default()
}

fn no_session(name: &SessionName) -> Refused {
    let message = format!("there is no session {:?}; it begins with its first request", name.0);
    Refused::new(StatusCode::NOT_FOUND, "unknown_session", message)
}
