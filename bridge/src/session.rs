//! The interface that the bridge needs of a session: answers to model calls and tool requests.

use futures::future::BoxFuture;
use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_proto::{ChatRequest, ErrorClass, Reply, Usage};

/// A session whose agent is an external one: its model calls are answered, and its tool servers are simulated.
pub trait BridgedSession: Send + Sync + 'static {
    /// Answers a model call. `model` is what the agent wrote in the field of that name; [`ChatRequest::member`] is set where the agent says
    /// which member of its team asks.
    ///
    /// The call is run to its end by a task of its own, whether or not the agent still waits for it: it may be paid for by then.
    fn call(&self, request: ChatRequest, model: &str) -> BoxFuture<'_, Result<Answered, Refused>>;

    /// Answer of the tool server at the request's URL. Does not block.
    fn serve(&self, request: ToolRequest) -> ToolAnswer;

    /// Is told of a request that was refused because the bridge cannot carry it: a field or a kind of content that is not supported, or a
    /// route of the providers that is not served. Such an agent may be at a loss for a reason of ours, unless it asks otherwise. It is not
    /// told of bodies that are no JSON or too long. `message` says what is wrong, for people. Does not block.
    fn unreadable(&self, message: &str) {
        let _ = message;
    }

    /// Is told of a request for a route that the bridge does not have. Many clients ask for such as they begin and do well without them, so
    /// it is told apart from what is unreadable. `route` is method and path. Does not block.
    fn no_such_route(&self, route: &str) {
        let _ = route;
    }

    /// Names that the agent may write in the field `model`, for those who ask for the list.
    fn models(&self) -> Vec<String> {
        Vec::new()
    }
}

/// An answered model call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The model's reply.
    pub reply: Reply,
    /// Tokens that the agent is told.
    pub usage: Usage,
    /// Model name that the agent is told.
    pub model: String,
}

/// A model call that is not answered. The agent is told so in the shape of its format, and that trying again is of no use: whatever can be
/// tried again was, before it came to this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Class of the failure; the status and the text of the error follow from it.
    pub class: ErrorClass,
    /// Status in place of that of the class, 400 to 599; `None` for that of the class.
    pub status: Option<u16>,
    /// Message for people.
    pub message: String,
}

impl Refused {
    /// A refusal with the status of its class.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, status: None, message: message.into() }
    }
}
