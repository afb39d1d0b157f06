//! Turns the results of a batch into calls: each line is read like the answer to a live call, and priced as a batch.

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_proto::{BATCH, Call, Circumstances, ErrorClass, FailedCall, Lane, ModelRef, Try};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::shapes::{Batch, Ending, LineResult, Stage};
use super::{Api, BatchCall, BatchClient, Collected, anthropic, openai, position, tried};
use crate::chat::kept_request;
use crate::errors::Failure;
use crate::redaction::redacted;
use crate::transport::Answer;
use crate::usable::usable;
use crate::wire::Completion;

/// The header in which wire formats look for the provider's id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl BatchClient {
    /// Collects the results of the batch `id`, which must have ended. `calls` are those that it was prepared from. Results are read line by
    /// line, so only one line is in memory besides what is kept of the others.
    ///
    /// # Errors
    /// When the batch or its results cannot be fetched, or it has not ended. Failed lines are no error, but part of the [`Collected`].
    pub fn collect<'a>(
        &'a self,
        id: &'a str,
        provider_id: &'a str,
        calls: &'a [BatchCall<'a>],
    ) -> BoxFuture<'a, Result<Collected, Try>> {
        Box::pin(async move {
            let batch = self.batch(provider_id).await.map_err(tried)?;
            if batch.stage == Stage::Running {
                return Err(tried(self.sending.failure(ErrorClass::Server, "the batch is not over")));
            }
            let mut results: Vec<Option<Result<Call, FailedCall>>> = vec![None; calls.len()];
            let mut strangers = 0_usize;
            for path in self.results(&batch).map_err(tried)? {
                let mut on_line = |headers: &HeaderMap, line: &[u8]| {
                    let read = self.read_result(line).ok();
                    let found = read.and_then(|read| Some((position(id, &read.custom_id)?, read.ending)));
                    match found
                        .and_then(|(position, ending)| Some((results.get_mut(position)?, calls.get(position)?, ending)))
                    {
                        Some((place, call, ending)) => *place = Some(self.read_line(call, ending, headers, &batch)),
                        None => strangers += 1,
                    }
                    true
                };
                self.sending.lines(&path, &mut on_line).await.map_err(tried)?;
            }
            if strangers > 0 {
                tracing::warn!(endpoint = %self.name, provider_id, strangers, "results that belong to no line of the batch were left out");
            }
            let results = results
                .into_iter()
                .zip(calls)
                .map(|(result, call)| result.unwrap_or_else(|| Err(self.missing(call, &batch))));
            let results: Vec<_> = results.collect();
            self.keep(calls, &results).await;
            Ok(Collected { calls: results, began_at: batch.created_at, ended_at: batch.ended_at })
        })
    }

    /// Addresses of the result files.
    pub(super) fn results(&self, batch: &Batch) -> Result<Vec<String>, Failure> {
        match self.api {
            Api::OpenAi => {
                batch.files.iter().map(|file| Ok(openai::content(&self.checked_id(file.clone())?))).collect()
            }
            Api::Anthropic => Ok(vec![anthropic::results(&batch.id)]),
        }
    }

    pub(super) fn read_result(&self, line: &[u8]) -> Result<LineResult, serde_json::Error> {
        match self.api {
            Api::OpenAi => openai::read_result(line),
            Api::Anthropic => anthropic::read_result(line),
        }
    }

    /// Reads one line. `headers` are those of the whole file; a simulated endpoint identifies itself in them.
    fn read_line(
        &self,
        call: &BatchCall<'_>,
        ending: Ending,
        headers: &HeaderMap,
        batch: &Batch,
    ) -> Result<Call, FailedCall> {
        let read = match ending {
            Ending::Answered { status, request_id, body } => {
                let answer = Answer { status, headers: of_line(headers, request_id), body };
                let context = self.sending.http.context();
                redacted(self.sending.http.format().answer(&answer, &context).and_then(usable), context.secret)
            }
            Ending::Expired => Err(self.sending.failure(ErrorClass::Timeout, EXPIRED)),
            Ending::Cancelled => Err(self.sending.failure(ErrorClass::BadRequest, CANCELLED)),
        };
        match read {
            Ok(completion) => Ok(self.call(call, completion, batch)),
            Err(failure) => Err(self.failed(call, failure, batch)),
        }
    }

    fn call(&self, call: &BatchCall<'_>, completion: Completion, batch: &Batch) -> Call {
        let circumstances = Circumstances { variant: Some(BATCH), at: batch.created_at };
        let price = call.price.filter(|_| completion.usage_is_known);
        let cost = price.and_then(|price| price.cost(&completion.usage, &circumstances));
        self.metrics.spent(&completion.usage, cost);
        Call {
            role: call.role,
            attempt: call.attempt,
            model: self.model(call.model),
            request: call.request.clone(),
            reply: completion.reply,
            tries: Vec::new(),
            usage: completion.usage,
            raw_usage: completion.raw_usage,
            cost,
            reported_cost: completion.reported_cost,
            served: completion.served,
            latency_us: duration_us(batch.created_at, batch.ended_at),
            first_token_us: None,
            waited_us: 0,
            at: batch.created_at,
            lane: Lane::Batch,
            from_cache: false,
            saved: None,
        }
    }

    fn failed(&self, call: &BatchCall<'_>, failure: Failure, batch: &Batch) -> FailedCall {
        self.metrics.failed(&failure, false);
        let billed = failure.usage;
        // A cost that the provider has reported is not in doubt.
        let is_in_doubt = failure.maybe_billed && billed.is_none();
        let mut one = tried(failure);
        let circumstances = Circumstances { variant: Some(BATCH), at: batch.created_at };
        one.cost = billed.and_then(|usage| call.price?.cost(&usage, &circumstances));
        let tries = vec![if is_in_doubt { one.maybe_billed(call.at_most()) } else { one }];
        let request = kept_request(&tries, call.request);
        FailedCall {
            role: call.role,
            attempt: call.attempt,
            model: self.model(call.model),
            tries,
            request,
            asked: None,
        }
    }

    /// The failure of a `call` without a result: its line was never sent, the batch ended before its turn, or the result was lost.
    fn missing(&self, call: &BatchCall<'_>, batch: &Batch) -> FailedCall {
        let failure = match (self.body(call), &batch.stage) {
            (Err(refused), _) => refused,
            (Ok(_), Stage::Failed { class, message }) => self.sending.failure(*class, message),
            (Ok(_), Stage::Expired) => self.sending.failure(ErrorClass::Timeout, EXPIRED),
            (Ok(_), Stage::Cancelled) => self.sending.failure(ErrorClass::BadRequest, CANCELLED),
            (Ok(_), Stage::Ended | Stage::Running) => {
                let lost = self
                    .sending
                    .failure(ErrorClass::BadResponse, "the batch is done, and this line has no readable result");
                Failure { maybe_billed: true, ..lost }
            }
        };
        self.failed(call, failure, batch)
    }

    pub(super) fn model(&self, model: &str) -> ModelRef {
        ModelRef { endpoint: self.name.clone(), model: model.to_owned() }
    }
}

const EXPIRED: &str = "the batch expired before this line's turn came";
/// Failure of a line in a batch that was cancelled at the provider. Not retried, because a person has decided so.
const CANCELLED: &str = "the batch was cancelled at the provider";

fn of_line(headers: &HeaderMap, request_id: Option<String>) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(REQUEST_ID);
    if let Some(id) = request_id.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(REQUEST_ID, id);
    }
    headers
}

/// Duration of the batch in microseconds, which is the latency of its answers. 0 if unknown.
fn duration_us(began: Option<Timestamp>, ended: Option<Timestamp>) -> u64 {
    let lasted = began.zip(ended).map_or(SignedDuration::ZERO, |(began, ended)| ended.duration_since(began));
    u64::try_from(lasted.as_micros()).unwrap_or(0)
}
