//! Replies of a model that knows the gold, for each member of LangGraph's team.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Reply, ToolCall};
use regatta_pycompat::repr_text;
use serde_json::json;

use super::supervisor::{FINISH, ROUTER};
use super::worker::{REQUEST_TOOL, TIME_TOOL, Worker};
use crate::members;
use crate::policies::naming::said_by;
use crate::simulate::{Gold, Heard};

/// The reply to `request` of a model that knows (or believes) `gold`, in the forms of this policy.
pub(crate) fn reply(request: &ChatRequest, gold: &Gold) -> Reply {
    let list = List::of(request);
    match request.member.as_ref().map_or("", |member| member.as_str()) {
        members::MANAGER => list.route(gold),
        members::INTENT => Reply::said(gold.intent_text()),
        members::TIME if gold.needs_date() && list.results.is_empty() => list.call("time", TIME_TOOL, &json!({})),
        members::TIME => Reply::said(gold.time_text()),
        members::LOCATION => Reply::said(gold.location_text()),
        members::URL => {
            Reply::said(list.next_url(gold).unwrap_or_else(|| "There is nothing to be requested.".to_owned()))
        }
        members::REQUEST => list.send(),
        members::RESPONSE => {
            let answer = list.heard(gold).answer(&list.all(Worker::Request));
            Reply::said(format!("{{'response':{}}}", repr_text(&answer)))
        }
        _ => Reply::said(""),
    }
}

/// The run so far, as a request shows it.
struct List<'r> {
    /// Texts of the workers, in order.
    said: Vec<(Worker, &'r str)>,
    /// Results of the member's own calls in this turn.
    results: Vec<&'r str>,
}

impl<'r> List<'r> {
    fn of(request: &'r ChatRequest) -> Self {
        // Before what workers say stand the instructions and the query.
        let said = request.messages.iter().skip(2).filter_map(spoken).collect();
        let results = request.messages.iter().filter(|message| message.role == ChatRole::Tool);
        Self { said, results: results.map(|message| &*message.content).collect() }
    }

    fn all(&self, worker: Worker) -> Vec<&'r str> {
        self.said.iter().filter(|(by, _)| *by == worker).map(|(_, text)| *text).collect()
    }

    fn last(&self, worker: Worker) -> Option<&'r str> {
        self.all(worker).pop()
    }

    fn heard(&self, gold: &Gold) -> Gold {
        gold.clone().heard(&Heard {
            intent: self.last(Worker::Intent),
            time: self.last(Worker::Time),
            location: self.last(Worker::Location),
        })
    }

    fn next_url(&self, gold: &Gold) -> Option<String> {
        self.heard(gold).next_url(&self.all(Worker::Request))
    }

    /// Call that routes to the next worker; where the supervisor errs, to the end.
    fn route(&self, gold: &Gold) -> Reply {
        let next = self.next(gold).filter(|worker| !gold.slips(&format!("next/{}/{}", worker.name(), self.said.len())));
        self.call("next", ROUTER, &json!({"next": next.map_or(FINISH, Worker::name)}))
    }

    fn next(&self, gold: &Gold) -> Option<Worker> {
        let is_missing = |worker: Worker| self.last(worker).is_none();
        let prepared =
            [(Worker::Intent, true), (Worker::Time, gold.needs_time()), (Worker::Location, gold.needs_location())];
        if let Some((worker, _)) = prepared.into_iter().find(|(worker, needed)| *needed && is_missing(*worker)) {
            return Some(worker);
        }
        match self.said.last() {
            Some((Worker::Response, _)) => None,
            Some((Worker::Url, _)) => Some(Worker::Request),
            _ if self.next_url(gold).is_some() => Some(Worker::Url),
            _ => Some(Worker::Response),
        }
    }

    /// The request agent sends what the url agent wrote, and reports what came back.
    fn send(&self) -> Reply {
        match (self.results.last(), self.last(Worker::Url)) {
            (Some(result), _) => Reply::said(format!("The server answered: {}", result.trim_end())),
            (None, Some(url)) => self.call("request", REQUEST_TOOL, &json!({"url": url})),
            (None, None) => Reply::said("There is no URL to request."),
        }
    }

    /// A call. Its id holds how much the caller has seen, which is more each time.
    fn call(&self, caller: &str, tool: &str, arguments: &serde_json::Value) -> Reply {
        let id = format!("call_{caller}_{}_{}", self.said.len(), self.results.len());
        let call = ToolCall { id: id.into(), name: tool.into(), arguments: arguments.to_string().into() };
        Reply::calling(None, vec![call])
    }
}

fn spoken(message: &ChatMessage) -> Option<(Worker, &str)> {
    Worker::ALL.into_iter().find_map(|worker| said_by(worker.name(), message).map(|text| (worker, text)))
}
