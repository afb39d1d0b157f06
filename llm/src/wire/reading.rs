//! Reads one streamed answer from its bytes: the part that all formats share.

use std::time::Duration;

use bytes::BytesMut;
use regatta_proto::ErrorClass;
use reqwest::header::HeaderMap;

use super::sse::Events;
use super::{Completion, Format, Part, ReadContext, ServerEvent, StreamReader, trouble};
use crate::errors::Failure;
use crate::transport::Answer;

/// Bytes that an event takes at most once it is parsed: far more than any that a provider sends, and little beside the budget of a process.
const EVENT_PARSED_MAX: u64 = 32 << 20;

/// An answer whose bytes are arriving. The status was a success.
pub(crate) struct Reading<'a> {
    format: &'a dyn Format,
    reader: Box<dyn StreamReader>,
    context: ReadContext<'a>,
    events: Events,
    first_token: Option<Duration>,
    /// The answer is over: bytes that came with its end, and after it, are no part of it.
    is_over: bool,
    /// All bytes before the first event, because they may be a whole answer, or an error, that its headers do not announce.
    eventless: Option<BytesMut>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(format: &'a dyn Format, context: ReadContext<'a>) -> Self {
        Self {
            format,
            reader: format.stream(),
            context,
            events: Events::default(),
            first_token: None,
            is_over: false,
            eventless: Some(BytesMut::new()),
        }
    }

    /// Reads bytes that arrived at the time `at` after the request was sent. Returns `true` at the end of the stream.
    ///
    /// # Errors
    /// When they contain an error, or no event of the format; with the tokens billed, as far as reported.
    pub(crate) fn take(&mut self, chunk: &[u8], at: Duration) -> Result<bool, Failure> {
        self.events.push(chunk);
        while let Some(event) = self.events.next() {
            self.eventless = None;
            match read(&mut *self.reader, &event, &self.context) {
                Ok(Part::Answer) => drop(self.first_token.get_or_insert(at)),
                Ok(Part::Other) => {}
                Ok(Part::End) => {
                    self.is_over = true;
                    return Ok(true);
                }
                Err(failure) => return Err(self.kept(failure)),
            }
        }
        if let Some(read) = &mut self.eventless {
            read.extend_from_slice(chunk);
        }
        Ok(false)
    }

    /// Bytes that it keeps of those that arrived: the parts of the answer, and the event that is not complete. Of a chat, most bytes are
    /// what surrounds the parts.
    pub(crate) fn bytes(&self) -> usize {
        self.reader.bytes() + self.events.bytes() + self.eventless.as_ref().map_or(0, BytesMut::len)
    }

    /// The same once the answer without events, if it is one, is parsed.
    pub(crate) fn parsed_bytes(&self) -> usize {
        let parsed = self.eventless.as_ref().map_or(0, |read| regatta_memory::parsed_bytes(read));
        self.bytes() + usize::try_from(parsed).unwrap_or(usize::MAX / 2)
    }

    /// Ends the stream at the time `at` after the request was sent, regularly or because it is `broken`.
    ///
    /// # Errors
    /// When the answer is not complete; with the tokens billed, as far as reported.
    pub(crate) fn end(
        mut self,
        status: u16,
        headers: &HeaderMap,
        at: Duration,
        broken: Option<Failure>,
    ) -> Result<Completion, Failure> {
        if broken.is_none()
            && !self.is_over
            && let Some(event) = self.events.last()
        {
            self.eventless = None;
            match read(&mut *self.reader, &event, &self.context) {
                Ok(Part::Answer) => drop(self.first_token.get_or_insert(at)),
                Ok(_) => {}
                Err(failure) => return Err(self.kept(failure)),
            }
        }
        if broken.is_none()
            && let Some(body) = self.eventless
        {
            let answer = Answer { status, headers: headers.clone(), body: body.freeze() };
            return self.format.answer(&answer, &self.context);
        }
        let (usage, tier) = (self.reader.usage(), self.reader.tier().map(Box::from));
        match (self.reader.end(headers, &self.context), broken) {
            // The answer is complete, whatever happened to the connection afterwards.
            (Ok(completion), _) => Ok(Completion { first_token: self.first_token, ..completion }),
            (Err(failure), None) | (Err(_), Some(failure)) => {
                let (usage, tier) = (failure.usage.or(usage), failure.tier.or(tier));
                Err(Failure { status: Some(status), usage, tier, ..failure })
            }
        }
    }

    /// Adds to a failure in the middle the tokens known to be billed. If none are known but an answer had begun, it may be billed.
    fn kept(&self, failure: Failure) -> Failure {
        let usage = failure.usage.or_else(|| self.reader.usage());
        let tier = failure.tier.or_else(|| self.reader.tier().map(Box::from));
        Failure { usage, tier, maybe_billed: failure.maybe_billed || self.first_token.is_some(), ..failure }
    }
}

/// Reads `event`, unless it would take too much.
fn read(reader: &mut dyn StreamReader, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure> {
    if regatta_memory::parsed_bytes(event.data.as_bytes()) > EVENT_PARSED_MAX {
        let detail = format!("an event of {} bytes has too many values to be read", event.data.len());
        return Err(trouble::in_stream(ErrorClass::BadResponse, detail));
    }
    reader.event(event, context)
}
