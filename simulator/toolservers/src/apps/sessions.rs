//! Sessions, each with a world of its own and a log of its calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use regatta_appbench::{Executed as ExecutedCall, Refusal as CallRefusal, ServedApps, World as AppWorld};
use serde_json::{Map, Value, json};

use super::answer::{Answer, Refused, outputs_json, warnings_json};

/// Most sessions; a caller that needs more has to delete some. Each is bounded by the budget of its world.
pub(super) const SESSIONS_MAX: usize = 1024;
/// Longest name of a session, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Identifies a session: an item, and a name within it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionKey {
    pub(super) item: String,
    pub(super) name: String,
}

impl SessionKey {
    /// The session with this name, or the default one.
    pub(super) fn new(item: &str, name: Option<&str>) -> Result<Self, Refused> {
        let name = name.unwrap_or("default");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
            let message =
                format!("a session's name is 1 to {NAME_BYTES_MAX} letters, digits, dots, dashes, underscores");
            return Err(Refused::new(StatusCode::BAD_REQUEST, "invalid_session", message));
        }
        Ok(Self { item: item.to_owned(), name: name.to_owned() })
    }
}

/// All sessions.
pub(super) struct Sessions {
    apps: ServedApps,
    open: Mutex<BTreeMap<SessionKey, Session>>,
}

struct Session {
    world: AppWorld,
    log: Vec<Logged>,
    /// A call was refused, logged or not.
    refused: bool,
}

/// A call with its result.
enum Logged {
    Executed(ExecutedCall, Answer),
    Refused { app: String, api: String, refusal: CallRefusal },
}

impl Sessions {
    pub(super) fn new(apps: ServedApps) -> Self {
        Self { apps, open: Mutex::new(BTreeMap::new()) }
    }

    pub(super) const fn apps(&self) -> &ServedApps {
        &self.apps
    }

    /// Calls an API in a session, which is created if it does not exist.
    pub(super) fn call(
        &self,
        key: &SessionKey,
        app: &str,
        api: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Answer, Refused> {
        let arguments = ServedApps::arguments(arguments)
            .map_err(|problem| Refused::new(StatusCode::BAD_REQUEST, "invalid_arguments", problem))?;
        let mut open = self.lock();
        if !open.contains_key(key) {
            let world = self.apps.open(&key.item).ok_or_else(|| unknown_item(&key.item))?;
            if open.len() >= SESSIONS_MAX {
                let message = format!(
                    "there are {SESSIONS_MAX} sessions already; forget some with DELETE /sessions/ITEM/SESSION"
                );
                return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", message));
            }
            open.insert(key.clone(), Session { world, log: Vec::new(), refused: false });
        }
        let session = open.get_mut(key).ok_or_else(|| no_session(key))?;
        session.call(app, &api.to_lowercase(), arguments)
    }

    /// The log, the side effects and the score of a session.
    pub(super) fn report(&self, key: &SessionKey) -> Result<Value, Refused> {
        let open = self.lock();
        let session = open.get(key).ok_or_else(|| no_session(key))?;
        let executed = || {
            session.log.iter().filter_map(|logged| match logged {
                Logged::Executed(call, _) => Some(call),
                Logged::Refused { .. } => None,
            })
        };
        let ledger: Vec<Value> = session.world.ledger().iter().map(call_json).collect();
        Ok(json!({
            "item": key.item,
            "session": key.name,
            "log": session.log.iter().map(Logged::json).collect::<Vec<_>>(),
            "ledger": ledger,
            "score": self.apps.score(&key.item, executed(), session.refused),
        }))
    }

    /// All sessions, each with its number of calls.
    pub(super) fn list(&self) -> Value {
        let line = |(key, session): (&SessionKey, &Session)| json!({"item": key.item, "session": key.name, "calls": session.log.len()});
        self.lock().iter().map(line).collect()
    }

    /// Deletes a session.
    pub(super) fn forget(&self, key: &SessionKey) -> Result<(), Refused> {
        self.lock().remove(key).map(|_| ()).ok_or_else(|| no_session(key))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Session>> {
        // No code panics in the middle of a change while the lock is held.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn call(
        &mut self,
        app: &str,
        api: &str,
        arguments: BTreeMap<std::sync::Arc<str>, std::sync::Arc<str>>,
    ) -> Result<Answer, Refused> {
        let called = self.world.call(app, api, arguments).and_then(|call| {
            let outputs = self.world.outputs(&call)?;
            Ok((Answer { outputs, warnings: call.warnings.clone() }, call))
        });
        match called {
            Ok((answer, call)) => {
                self.log.push(Logged::Executed(call, answer.clone()));
                Ok(answer)
            }
            Err(refusal) => {
                self.refused = true;
                // A session whose budget is used up does not grow any more.
                if refusal != CallRefusal::Exhausted {
                    self.log.push(Logged::Refused { app: app.to_owned(), api: api.to_owned(), refusal });
                }
                Err(Refused::call(refusal, app, api))
            }
        }
    }
}

impl Logged {
    fn json(&self) -> Value {
        match self {
            Self::Executed(call, answer) => {
                let mut line = call_json(call);
                if let Value::Object(fields) = &mut line {
                    fields.insert("outputs".to_owned(), outputs_json(&answer.outputs).into());
                    fields.insert("warnings".to_owned(), warnings_json(&answer.warnings));
                }
                line
            }
            Self::Refused { app, api, refusal } => json!({"app": app, "api": api, "error": refusal.as_str()}),
        }
    }
}

fn call_json(call: &ExecutedCall) -> Value {
    json!({"app": call.app, "api": call.api, "arguments": call.inputs})
}

/// The error for an unknown item.
pub(super) fn unknown_item(item: &str) -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "unknown_item", format!("there is no item {item:?}; GET /items lists them"))
}

fn no_session(key: &SessionKey) -> Refused {
    let message = format!("the item {:?} has no session {:?}; it begins with its first call", key.item, key.name);
    Refused::new(StatusCode::NOT_FOUND, "unknown_session", message)
}
