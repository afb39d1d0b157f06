//! The side of a session that the bridge sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use regatta_benchmarks::{Sessions, ToolAnswer, ToolRequest};
use regatta_bridge::{Answered, BridgedSession, Refused};
use regatta_memory::ByteHolder;
use regatta_proto::{ChatRequest, ErrorClass, Exchange, ItemIndex, Setting};
use tokio::sync::{mpsc, oneshot};

use super::budget::{Budget, size};
use crate::session::Session;

/// Most requests to tool servers in one session; further ones are refused.
const EXCHANGES_MAX: u32 = 2_000;
/// Most bytes kept of the body of a request to a tool server.
const BODY_KEPT: usize = 64 << 10;
/// Longest method that is answered, in bytes.
const METHOD_MAX: usize = 32;
/// Most bytes kept of why a request cannot be passed on.
const MESSAGE_KEPT: usize = 1 << 10;
/// Longest URL that is answered, in bytes.
const URL_MAX: usize = 64 << 10;

/// Hands everything to whoever drives the session, in the order in which it comes.
pub(super) struct Desk {
    suite: Arc<dyn Sessions>,
    item: ItemIndex,
    setting: Setting,
    model: String,
    exchanges: AtomicU32,
    missed_route: AtomicBool,
    budget: Arc<Budget>,
    holder: ByteHolder,
    notes: mpsc::UnboundedSender<Note>,
}

/// An action of the agent. There are never more of them than calls that wait and exchanges that are allowed.
pub(super) enum Note {
    /// It asks a model.
    Call(ChatRequest, oneshot::Sender<Result<Answered, Refused>>),
    /// A tool server answered it.
    Exchange(Exchange),
    /// It asked a model in a way that cannot be passed on; why.
    Unreadable(String),
    /// It asked for a route that the bridge does not have.
    NoSuchRoute(String),
    /// There is no room for what it does, because earlier starts have recorded so much.
    Crowded,
}

impl Desk {
    pub(super) fn open(session: &Session<'_>, budget: Arc<Budget>) -> (Self, mpsc::UnboundedReceiver<Note>) {
        let (notes, receiver) = mpsc::unbounded_channel();
        let desk = Self {
            suite: session.suite.clone(),
            item: session.index,
            setting: session.cell.setting.clone(),
            model: session.cell.model.model.clone(),
            exchanges: AtomicU32::new(0),
            missed_route: AtomicBool::new(false),
            budget,
            holder: session.holder.clone(),
            notes,
        };
        (desk, receiver)
    }
}

impl BridgedSession for Desk {
    // Whatever the agent calls its model, it is the one under test that answers.
    fn call(&self, request: ChatRequest, _: &str) -> BoxFuture<'_, Result<Answered, Refused>> {
        let (sender, receiver) = oneshot::channel();
        let is_noted = self.notes.send(Note::Call(request, sender)).is_ok();
        async move {
            match receiver.await {
                Ok(answer) if is_noted => answer,
                Ok(_) | Err(_) => Err(over()),
            }
        }
        .boxed()
    }

    fn serve(&self, request: ToolRequest) -> ToolAnswer {
        if request.method.len() > METHOD_MAX {
            return refusal(400, "no such method");
        }
        if request.url.len() > URL_MAX {
            return refusal(414, "the URL is too long");
        }
        if self.exchanges.fetch_add(1, Ordering::Relaxed) >= EXCHANGES_MAX {
            return refusal(429, "too many requests of one session");
        }
        if !self.budget.fits(1) {
            if self.budget.would_fit_alone(1) {
                let _ = self.notes.send(Note::Crowded);
            }
            return refusal(429, "the requests of one session are too large");
        }
        let answer = self.suite.serve(self.item, &self.setting, &request);
        let exchange = Exchange {
            body: request
                .body
                .as_deref()
                .map(|body| String::from_utf8_lossy(&body[..body.len().min(BODY_KEPT)]).into()),
            method: request.method.into(),
            url: request.url.into(),
            status: answer.status,
            response: String::from_utf8_lossy(&answer.body).into(),
        };
        let bytes = size(&exchange);
        self.budget.take(bytes);
        self.holder.keep(bytes);
        // Nobody records it once the session is over.
        let _ = self.notes.send(Note::Exchange(exchange));
        answer
    }

    fn models(&self) -> Vec<String> {
        vec![self.model.clone()]
    }

    fn unreadable(&self, message: &str) {
        // Nobody records it once the session is over.
        let _ = self.notes.send(Note::Unreadable(beginning(message).to_owned()));
    }

    fn no_such_route(&self, route: &str) {
        // One says as much as a thousand.
        if !self.missed_route.swap(true, Ordering::Relaxed) {
            let _ = self.notes.send(Note::NoSuchRoute(beginning(route).to_owned()));
        }
    }
}

/// As much of `message` as is recorded.
fn beginning(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE_KEPT)]
}

fn refusal(status: u16, message: &str) -> ToolAnswer {
    ToolAnswer { status, body: format!("{message}\n").into_bytes(), ..ToolAnswer::not_found() }
}

/// The refusal (HTTP 503) of a call that comes when the session is being ended.
pub(super) fn over() -> Refused {
    Refused {
        status: Some(503),
        ..Refused::new(ErrorClass::Server, "the session is being ended; no further call is made")
    }
}
