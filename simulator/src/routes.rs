//! What is served where.

use std::sync::Mutex;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use regatta_proto::Simulation;

use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, json_bytes, respond};
use crate::counters::{Counters, Tally};
use crate::delivery::Dropped;
use crate::model::ModelList;
use crate::rate_window::RateWindow;
use crate::request_body::{self, NoBody};
use crate::script::Script;
use crate::seen::Seen;
use crate::session::ServedSuite;
use crate::{chat, embeddings};

const MODELS: &str = "/v1/models";
const HEALTH: &str = "/healthz";
const COUNTERS: &str = "/simulator/counters";

/// Everything that requests share.
pub(crate) struct Endpoint {
    pub(crate) simulation: Simulation,
    pub(crate) suites: Vec<ServedSuite>,
    pub(crate) script: Option<Script>,
    /// Seconds since 1970 that every answer carries: the start of the endpoint, so that answers do not depend on when they are given.
    pub(crate) created: i64,
    pub(crate) window: Option<Mutex<RateWindow>>,
    pub(crate) seen: Seen,
    pub(crate) tally: Tally,
}

impl Endpoint {
    pub(crate) fn new(simulation: Simulation, suites: Vec<ServedSuite>, script: Option<Script>, created: i64) -> Self {
        Self {
            simulation,
            suites,
            script,
            created,
            window: simulation.requests_per_minute.map(|limit| Mutex::new(RateWindow::new(limit))),
            seen: Seen::new(),
            tally: Tally::default(),
        }
    }

    /// Answers one request.
    pub(crate) async fn serve(&self, request: Request<Incoming>) -> Result<Response<AnswerBody>, Dropped> {
        let (head, body) = request.into_parts();
        match (&head.method, head.uri.path()) {
            (&Method::POST, route @ (chat::ROUTE | embeddings::ROUTE)) => match request_body::read(body).await {
                Ok(body) if route == chat::ROUTE => self.chat(&head.headers, &body).await,
                Ok(body) => self.embeddings(&head.headers, &body).await,
                Err(NoBody::Refused(refusal)) => Ok(self.refuse(refusal)),
                Err(NoBody::Disconnected(error)) => {
                    tracing::debug!(%error, "a client of the simulated endpoint went away while it sent its request");
                    Err(Dropped)
                }
            },
            (&Method::GET, MODELS) => Ok(ok(json_bytes(&ModelList::new(self.script.is_some(), self.created)))),
            (&Method::GET, HEALTH) => Ok(ok(Bytes::from_static(b"{\"status\":\"ok\"}"))),
            (&Method::GET, COUNTERS) => Ok(ok(json_bytes(&self.counters()))),
            (method, route @ (chat::ROUTE | embeddings::ROUTE | MODELS | HEALTH | COUNTERS)) => {
                Ok(self.refuse(ApiError::wrong_method(format!("{route} does not take {method}"))))
            }
            (method, path) => Ok(self.refuse(ApiError::unknown_route(format!(
                "there is no {method} {path}; a simulated endpoint has {}, {}, {MODELS}, {HEALTH} and {COUNTERS}",
                chat::ROUTE,
                embeddings::ROUTE
            )))),
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.tally.snapshot(&self.suites)
    }

    /// Answers with `refusal`, and counts it.
    pub(crate) fn refuse(&self, refusal: ApiError) -> Response<AnswerBody> {
        self.tally.refused();
        refusal.into_response()
    }
}

fn ok(json: Bytes) -> Response<AnswerBody> {
    respond(StatusCode::OK, "application/json", json)
}
