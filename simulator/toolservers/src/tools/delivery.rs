//! Delivers a server's answer to the client, with latency and faults.

use std::time::Duration;

use regatta_benchmarks::ToolAnswer;
use regatta_proto::{Exchange, Simulation};
use regatta_simulator::{Fate, Fault};

use super::sessions::Admitted;

/// The delivery of an answer.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Time until the outcome.
    pub(super) delay: Duration,
    /// The outcome after this time.
    pub(super) outcome: Outcome,
}

/// Outcome of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The whole answer, with a header `Retry-After` in seconds if there is one.
    Whole(ToolAnswer, Option<u32>),
    /// The first half of an answer; then the connection is closed.
    Truncated(ToolAnswer),
    /// The connection is closed.
    Dropped,
    /// No answer until the client gives up.
    Never,
}

impl Delivery {
    /// Draws the delivery of `answer` to a request.
    pub(super) fn draw(simulation: &Simulation, admitted: &Admitted, answer: ToolAnswer) -> Self {
        let Fate { fault, latency, .. } = Fate::draw(simulation, &admitted.session, admitted.number);
        let failed = |status, text: &str| {
            let body = format!("{text} (simulated)\n").into_bytes();
            Outcome::Whole(ToolAnswer { status, content_type: "text/plain; charset=utf-8", allow: None, body }, None)
        };
        let (delay, outcome) = match fault {
            // A refusal is quick; a failure takes as long as an answer.
            Some(Fault::RateLimited) => (Duration::ZERO, failed(429, "too many requests")),
            Some(Fault::RateLimitedWithRetryAfter) => {
                let Outcome::Whole(answer, _) = failed(429, "too many requests") else {
                    return Self { delay: Duration::ZERO, outcome: Outcome::Dropped };
                };
                (Duration::ZERO, Outcome::Whole(answer, Some(1)))
            }
            Some(Fault::Overloaded) => (Duration::ZERO, failed(503, "overloaded")),
            Some(Fault::ServerError) => (latency, failed(500, "internal server error")),
            Some(Fault::ErrorIn200) => {
                let body = br#"{"error":{"code":"simulated","message":"the request failed"}}"#.to_vec();
                (latency, Outcome::Whole(ToolAnswer { status: 200, body, ..answer }, None))
            }
            Some(Fault::Garbage) => {
                let mut body = answer.body;
                body.truncate(body.len() / 2);
                body.extend_from_slice(b"\xff\xfe<html>");
                (latency, Outcome::Whole(ToolAnswer { body, ..answer }, None))
            }
            Some(Fault::Truncated) => (latency, Outcome::Truncated(answer)),
            Some(Fault::Dropped) => (latency, Outcome::Dropped),
            Some(Fault::SlowLoris) => (Duration::ZERO, Outcome::Never),
            Some(Fault::Slow) => {
                (latency + Duration::from_millis(simulation.faults.slow_ms), Outcome::Whole(answer, None))
            }
            // Answers are not streamed here.
            Some(Fault::StreamError | Fault::StreamCut) | None => (latency, Outcome::Whole(answer, None)),
        };
        Self { delay, outcome }
    }
}

impl Outcome {
    /// The entry in the log; the status is 0 if the client got no answer.
    pub(super) fn exchange(&self, method: &str, url: &str, body: Option<&[u8]>) -> Exchange {
        let (status, response) = match self {
            Self::Whole(answer, _) => (answer.status, String::from_utf8_lossy(&answer.body).into()),
            Self::Truncated(_) | Self::Dropped | Self::Never => (0, "".into()),
        };
        let body = body.map(|body| String::from_utf8_lossy(body).into());
        Exchange { method: method.into(), url: url.into(), body, status, response }
    }
}
