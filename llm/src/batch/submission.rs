//! Submits a batch: its lines are written and uploaded, and the batch is created, exactly once.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use regatta_proto::{ErrorClass, Try};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::sending::{Payload, Trouble};
use super::shapes::{Batch, Envelope};
use super::{Api, BatchCall, BatchClient, anthropic, custom_id, identity, openai, tried};
use crate::call::Told;
use crate::errors::Failure;

/// Approximate size, in bytes, of the pieces that lines are sent in.
const PIECE_BYTES: usize = 1 << 20;
/// Lines that are written before the task yields.
const LINES_A_TURN: usize = 64;

/// The lines of a batch, ready to be sent.
#[derive(Debug)]
pub struct Prepared {
    envelope: Envelope,
    pieces: Vec<Bytes>,
    /// Number of lines.
    pub lines: usize,
    /// Size of the lines in bytes.
    pub bytes: usize,
    /// The batch is larger than the provider accepts.
    pub is_too_large: bool,
}

/// A batch that was not submitted, or may not have been.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SubmitError {
    /// The provider does not have the batch.
    #[error("the provider did not accept the batch: {}", .0.detail)]
    NotTaken(Try),
    /// The provider may have the batch; [`BatchClient::find`] searches for it.
    #[error("the provider may or may not have accepted the batch: {}", .0.detail)]
    Unclear(Try),
    /// Interrupted before the batch was submitted, or it was no longer to be.
    #[error("interrupted before the batch was submitted")]
    Interrupted,
}

/// Answers `true` if a batch may still be created.
pub type MayCreate<'a> = dyn Fn() -> BoxFuture<'a, bool> + Sync + 'a;

impl BatchClient {
    /// Age of an intent up to which the request that creates its batch may be sent: a batch that is created later is not found by
    /// [`Self::find`].
    #[must_use]
    pub fn created_within(&self) -> SignedDuration {
        match self.api {
            // The lines are uploaded before.
            Api::OpenAi => self.sending.longest_post(),
            Api::Anthropic => self.sending.last_try(),
        }
    }

    /// Longest time that a request which creates a batch may take.
    #[must_use]
    pub fn longest_creation(&self) -> Duration {
        match self.api {
            Api::OpenAi => Duration::from_millis(self.sending.timeouts.total_ms),
            // The lines are part of it.
            Api::Anthropic => self.sending.transfer(),
        }
    }

    /// Writes the lines of the batch `id`: one for each call that the endpoint's format can express. Other calls are left out;
    /// [`Self::collect`] returns the reasons.
    pub fn prepare<'a>(&'a self, id: &'a str, calls: &'a [BatchCall<'a>]) -> BoxFuture<'a, Prepared> {
        Box::pin(async move {
            let (mut pieces, mut piece) = (Vec::new(), Vec::new());
            let (mut lines, mut bytes) = (0, 0);
            for (position, call) in calls.iter().enumerate() {
                if position % LINES_A_TURN == LINES_A_TURN - 1 {
                    tokio::task::yield_now().await;
                }
                let before = piece.len();
                let Ok(body) = self.body(call) else { continue };
                if self.write_line(&mut piece, lines == 0, &custom_id(id, position), &body).is_err() {
                    piece.truncate(before);
                    continue;
                }
                lines += 1;
                bytes += piece.len() - before;
                if piece.len() >= PIECE_BYTES {
                    pieces.push(std::mem::take(&mut piece).into());
                }
            }
            pieces.push(piece.into());
            let (envelope, bytes_max) = match self.api {
                Api::OpenAi => (openai::envelope(id), openai::FILE_BYTES_MAX),
                Api::Anthropic => (anthropic::envelope(), anthropic::REQUEST_BYTES_MAX),
            };
            let is_too_large = envelope.head.len() + bytes + envelope.tail.len() > bytes_max;
            Prepared { envelope, pieces, lines, bytes, is_too_large }
        })
    }

    /// Submits the batch `id` and returns the provider's id of it. `interrupt` prevents the submission, but does not abort a request that
    /// may create the batch. Right before each such request `may_create` is asked, since the upload of the lines may have taken minutes; the
    /// batch is not submitted where it says no.
    ///
    /// # Errors
    /// When the batch was not submitted, or may not have been.
    pub fn submit<'a>(
        &'a self,
        id: &'a str,
        prepared: Prepared,
        interrupt: &'a CancellationToken,
        may_create: &'a MayCreate<'a>,
    ) -> BoxFuture<'a, Result<String, SubmitError>> {
        Box::pin(async move {
            let Prepared { envelope, pieces, .. } = prepared;
            let lines = Payload {
                content_type: envelope.content_type,
                pieces: [envelope.head].into_iter().chain(pieces).chain([envelope.tail]).collect(),
            };
            let (path, payload) = match self.api {
                Api::Anthropic => (anthropic::BATCHES, lines),
                Api::OpenAi => {
                    // Uploading costs nothing, so it may be retried and aborted.
                    let uploading = self.sending.repeated(interrupt, || async {
                        let answer = self.sending.post(openai::FILES, &lines).await?;
                        openai::read_file(&answer)
                            .map_err(|error| self.sending.unreadable("the description of a file", &error).into())
                    });
                    let Some(uploaded) = interrupt.run_until_cancelled(uploading).await else {
                        return Err(SubmitError::Interrupted);
                    };
                    let file = uploaded.map_err(|trouble| SubmitError::NotTaken(tried(trouble.failure)))?;
                    let creation = openai::creation(&file, id).map_err(|error| {
                        SubmitError::NotTaken(tried(self.sending.unreadable("the request for a batch", &error)))
                    })?;
                    (openai::BATCHES, Payload::json(creation))
                }
            };
            self.hand_in(path, &payload, interrupt, may_create).await
        })
    }

    /// Posts the request that creates the batch, until it is clear whether the batch exists.
    async fn hand_in(
        &self,
        path: &str,
        payload: &Payload,
        interrupt: &CancellationToken,
        may_create: &MayCreate<'_>,
    ) -> Result<String, SubmitError> {
        let once = || async {
            if interrupt.is_cancelled() || !may_create().await || interrupt.is_cancelled() {
                return Ok(None);
            }
            match self.sending.post(path, payload).await {
                Ok(answer) => {
                    let read = self.read_batch(&answer).map(|batch| batch.id).and_then(|id| self.checked_id(id));
                    // The batch was created, but its id could not be read.
                    Ok(Some(read.map_err(|failure| SubmitError::Unclear(tried(failure)))))
                }
                Err(Trouble { failure, may_be_done: true }) => Ok(Some(Err(SubmitError::Unclear(tried(failure))))),
                Err(trouble) => Err(trouble),
            }
        };
        match self.sending.repeated(interrupt, once).await {
            Ok(Some(result)) => result,
            Ok(None) => Err(SubmitError::Interrupted),
            Err(trouble) => Err(SubmitError::NotTaken(tried(trouble.failure))),
        }
    }

    /// The reason why `call` cannot be a line of a batch; `None` if it can.
    #[must_use]
    pub fn refusal(&self, call: &BatchCall<'_>) -> Option<Try> {
        self.body(call).err().map(tried)
    }

    /// The body of the line of `call`.
    pub(super) fn body(&self, call: &BatchCall<'_>) -> Result<Box<RawValue>, Failure> {
        // The session goes into the body where the provider has a field for it, because a line has no headers.
        let prepared = self.sending.http.prepare(call.model, call.request, Some(&Told::Session(call.session)))?;
        let body = if self.identify_sessions {
            identity::identified(self.api, &prepared.body, &call.session, call.request.member.as_ref())
        } else {
            serde_json::from_slice(&prepared.body)
        };
        body.map_err(|error| {
            self.sending.failure(ErrorClass::BadRequest, &format!("the request is no JSON object: {error}"))
        })
    }

    fn write_line(
        &self,
        out: &mut Vec<u8>,
        is_first: bool,
        custom_id: &str,
        body: &RawValue,
    ) -> Result<(), serde_json::Error> {
        match self.api {
            Api::OpenAi => openai::write_line(out, custom_id, body),
            Api::Anthropic => anthropic::write_line(out, is_first, custom_id, body),
        }
    }

    fn read_batch(&self, body: &[u8]) -> Result<Batch, Failure> {
        let read = match self.api {
            Api::OpenAi => openai::read_batch(body),
            Api::Anthropic => anthropic::read_batch(body),
        };
        read.map_err(|error| self.sending.unreadable("the description of a batch", &error))
    }
}
