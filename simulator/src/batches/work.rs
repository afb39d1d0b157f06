//! Processing of batches.

use std::sync::Arc;

use hyper::HeaderMap;
use jiff::Timestamp;
use regatta_proto::{BATCH, Digest};
use tokio_util::sync::CancellationToken;

use super::anthropic;
use super::lines::{Line, LineCounts, LineEnd, Work, raw};
use super::store::{Batch, End, Mistake, Origin, Results};
use crate::api_error::{ApiError, Dialect, server_error};
use crate::endpoint::Endpoint;
use crate::faults::{LineFault, draw_line_fault};
use crate::formats::Format;
use crate::identity::request_digest;

/// Requests answered before the task yields.
const LINES_A_TURN: usize = 32;

impl Endpoint {
    /// Creates a batch, and processes it after its delay.
    pub(super) fn start_batch(self: &Arc<Self>, prefix: &str, origin: Origin, work: Work) -> Result<Batch, ApiError> {
        let batch = self.new_batch(prefix, origin, work.lines.len() as u64);
        self.batches.store.create(batch.clone())?;
        self.tally.batch_created();
        let (endpoint, stopping) = (Arc::clone(self), self.batches.stopping.clone());
        let (id, cancel, created) = (batch.id.clone(), batch.cancel.clone(), batch.created);
        self.batches.tasks.spawn(async move {
            stopping.run_until_cancelled(endpoint.work_off(&id, work, created, &cancel)).await;
        });
        Ok(batch)
    }

    /// Creates a batch that has failed already, because its file was rejected.
    pub(super) fn reject_batch(&self, prefix: &str, origin: Origin, mistakes: Vec<Mistake>) -> Result<Batch, ApiError> {
        let mut batch = self.new_batch(prefix, origin, 0);
        let (counts, results) = (LineCounts::default(), Results::Rejected(mistakes));
        batch.end = Some(End { at: batch.created, counts, results });
        self.batches.store.create(batch.clone())?;
        self.tally.batch_created();
        Ok(batch)
    }

    fn new_batch(&self, prefix: &str, origin: Origin, total: u64) -> Batch {
        Batch {
            id: self.batches.store.new_id(prefix),
            origin,
            total,
            created: self.clock.now(),
            cancelling: None,
            cancel: CancellationToken::new(),
            end: None,
        }
    }

    async fn work_off(&self, id: &str, work: Work, created: Timestamp, cancel: &CancellationToken) {
        let is_cancelled = cancel.run_until_cancelled(tokio::time::sleep(self.batch_delay())).await.is_none();
        let dialect = work.dialect();
        let mut ends = Vec::with_capacity(work.lines.len());
        let mut counts = LineCounts::default();
        for (position, line) in work.lines.into_iter().enumerate() {
            if position % LINES_A_TURN == LINES_A_TURN - 1 {
                tokio::task::yield_now().await;
            }
            let end =
                if is_cancelled { LineEnd::Cancelled } else { self.answer_line(work.format, &line, created).await };
            counts.add(&end);
            ends.push((line.custom_id, end));
        }
        self.tally.batch_ended(counts);
        ends.reverse();
        let at = self.clock.now();
        let results = match dialect {
            Dialect::Openai => self.keep_openai_results(id, &ends, at),
            Dialect::Anthropic => anthropic::results(&ends),
        };
        self.batches.store.end(id, End { at, counts, results });
    }

    /// Answers one request like a single one, at the price of a batch that was created at `created`.
    async fn answer_line(&self, format: Format, line: &Line, created: Timestamp) -> LineEnd {
        let sending = Digest::of_parts([format.route().as_bytes(), line.custom_id.as_bytes(), &line.body]);
        let occurrence = self.seen.count(sending);
        let id = format!("{}-{occurrence}", &sending.to_string()[..24]);
        let failed = |id: String, error: &ApiError| LineEnd::Failed {
            id,
            status: error.status.as_u16(),
            body: raw(&error.body(format.dialect())),
        };
        let headers = HeaderMap::new();
        let digest = request_digest(format.route(), &headers, &line.body);
        let draft = match self.draft(format, &headers, &line.body, &digest).await {
            Ok(draft) => draft,
            Err(refusal) => {
                self.tally.refused();
                return failed(id, &refusal);
            }
        };
        match draw_line_fault(&self.simulation, &sending, occurrence) {
            Some(LineFault::Expired) => LineEnd::Expired,
            Some(LineFault::Failed) => {
                self.tally.requested_in_batch(&draft.model);
                failed(id, &server_error())
            }
            None => {
                let bill = self.bill(&draft, Some(BATCH), created);
                self.tally.requested_in_batch(&draft.model);
                self.tally.answered(&draft.model, bill, draft.item);
                let body = raw(&draft.whole(&self.stamp(id.clone(), bill)));
                LineEnd::Answered { id, body }
            }
        }
    }
}
