//! The compact form of transcripts, in which each message is written once: an event names the messages at the beginning of its request that an
//! earlier request has too.
//!
//! A session of n turns asks n times, each time with everything that was said before. Written out, that is n² messages; in this form it is n. In
//! memory every request is whole: one that was read from this form shares its texts with those before it.

use std::fmt;

use bytes::Bytes;
use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::job::is_first;
use crate::wire::{self, DECODED_BYTES_MAX, WireError};
use crate::{
    Attempt, BatchJob, BenchmarkFailed, Call, ChatMessage, ChatRequest, Digest, Ended, Event, Exchange, FailedCall,
    Image, Job, ModelRef, Outcome, Reply, Report, SessionJob, SessionKey, SessionOutcome, Started, SweepId, ToolCall,
    Transcript,
};

/// Conversations of one session that go on side by side, of its roles and of the members of a team, among which a request looks for its
/// beginning; the ones that were asked in last.
const CONVERSATIONS: usize = 64;

/// A value that is serialised with its transcripts in the compact form. Readers of the value itself read both forms.
#[derive(Debug)]
pub struct Compact<'a, T>(pub &'a T);

/// Messages at the beginning of a request that it has in common with an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct Prefix {
    /// Position in the transcript of the earlier event that has these messages.
    event: usize,
    /// Number of these messages.
    count: usize,
}

/// A prefix that cannot be written out.
#[derive(Debug, thiserror::Error)]
enum PrefixError {
    #[error("event {event} takes its first messages from event {earlier}, which is not an earlier one")]
    NotBefore { event: usize, earlier: usize },
    #[error("event {event} has no request, and only requests share messages")]
    NoRequest { event: usize },
    #[error("event {event} takes {count} messages from event {earlier}, which has {has}")]
    TooFew { event: usize, earlier: usize, count: usize, has: usize },
    #[error("the prefixes up to event {event} stand for more than {DECODED_BYTES_MAX} bytes")]
    TooLarge { event: usize },
}

/// The append-only record of a session: every call with request, reply, usage, timing and provenance. A session is a function of its
/// transcript, so the transcript is all that is needed to continue it on another machine.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename = "Transcript")]
struct StoredForm {
    /// Events in order.
    #[serde(deserialize_with = "read_events")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<StoredEvent>"))]
    events: Vec<Event>,
}

impl<'de> Deserialize<'de> for Transcript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let StoredForm { events } = StoredForm::deserialize(deserializer)?;
        Ok(Self { events })
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Transcript {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Transcript".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        StoredForm::json_schema(generator)
    }
}

/// An event with its prefix. Its kinds are fields, so that none is copied on the way to see whether there is a prefix.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEvent {
    prefix: Option<Prefix>,
    call: Option<Box<Call>>,
    failed: Option<FailedCall>,
    recorded: Option<Reply>,
    started: Option<Started>,
    exchange: Option<Box<Exchange>>,
    ended: Option<Box<Ended>>,
    benchmark_failed: Option<BenchmarkFailed>,
}

impl StoredEvent {
    /// The event as it is stored, and its prefix; `None` if it is of no kind, or of several.
    fn parts(self) -> Option<(Event, Option<Prefix>)> {
        let Self { prefix, call, failed, recorded, started, exchange, ended, benchmark_failed } = self;
        let kinds = [
            call.map(Event::Call),
            failed.map(Event::Failed),
            recorded.map(Event::Recorded),
            started.map(Event::Started),
            exchange.map(Event::Exchange),
            ended.map(Event::Ended),
            benchmark_failed.map(Event::BenchmarkFailed),
        ];
        let mut kinds = kinds.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(event), None) => Some((event, prefix)),
            (None, _) | (Some(_), Some(_)) => None,
        }
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for StoredEvent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StoredEvent".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let event = generator.subschema_for::<Event>();
        let prefix = generator.subschema_for::<Prefix>();
        let (call, failed) = (generator.subschema_for::<Call>(), generator.subschema_for::<FailedCall>());
        schemars::json_schema!({
            "description": "An event; in the compact form one with a request may have a prefix, and only the messages after it.",
            "anyOf": [
                event,
                {
                    "type": "object",
                    "properties": { "prefix": prefix, "call": call, "failed": failed },
                    "required": ["prefix"]
                }
            ]
        })
    }
}

/// Reads events, and writes out the prefix of each as it comes: the event that it names is whole by then, so that no chain of them is followed.
fn read_events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Event>, D::Error> {
    struct List;

    impl<'de> Visitor<'de> for List {
        type Value = Vec<Event>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Event>, A::Error> {
            let (mut events, mut room) = (Vec::new(), DECODED_BYTES_MAX as u64);
            while let Some(stored) = list.next_element::<StoredEvent>()? {
                let number = events.len();
                let (mut event, prefix) = stored
                    .parts()
                    .ok_or_else(|| A::Error::custom(format!("event {number} is of no kind, or of several")))?;
                if let Some(prefix) = prefix {
                    write_out(prefix, &events, &mut event, &mut room).map_err(A::Error::custom)?;
                }
                events.push(event);
            }
            Ok(events)
        }
    }

    deserializer.deserialize_seq(List)
}

/// Puts the messages that `prefix` names, of one of the events `before`, in front of those of `event`. What they take is taken from `room`.
fn write_out(prefix: Prefix, before: &[Event], event: &mut Event, room: &mut u64) -> Result<(), PrefixError> {
    let (number, Prefix { event: earlier, count }) = (before.len(), prefix);
    let request = request_mut(event).ok_or(PrefixError::NoRequest { event: number })?;
    let found = before.get(earlier).ok_or(PrefixError::NotBefore { event: number, earlier })?;
    let found = &request_of(found).ok_or(PrefixError::NoRequest { event: earlier })?.messages;
    let too_few = PrefixError::TooFew { event: number, earlier, count, has: found.len() };
    let shared = found.get(..count).ok_or(too_few)?;
    let bytes: u64 = shared.iter().map(|message| place_bytes(message) + text_bytes(message)).sum();
    *room = room.checked_sub(bytes).ok_or(PrefixError::TooLarge { event: number })?;
    let mut messages = Vec::with_capacity(count + request.messages.len());
    messages.extend_from_slice(shared);
    messages.append(&mut request.messages);
    request.messages = messages;
    Ok(())
}

fn request_of(event: &Event) -> Option<&ChatRequest> {
    match event {
        Event::Call(call) => Some(&call.request),
        Event::Failed(failed) => failed.request.as_deref(),
        Event::Recorded(_) | Event::Started(_) | Event::Exchange(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => {
            None
        }
    }
}

fn request_mut(event: &mut Event) -> Option<&mut ChatRequest> {
    match event {
        Event::Call(call) => Some(&mut call.request),
        Event::Failed(failed) => failed.request.as_deref_mut(),
        Event::Recorded(_) | Event::Started(_) | Event::Exchange(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => {
            None
        }
    }
}

/// Bytes for a message, a call of a tool and an image, beside texts. No fewer than they take in memory, and part of the form: with other numbers a
/// transcript whose prefixes stand for as much as they may would not be read any more.
const MESSAGE: usize = 160;
const TOOL_CALL: usize = 64;
const IMAGE: usize = 128;
const _: () = assert!(
    size_of::<ChatMessage>() <= MESSAGE && size_of::<ToolCall>() <= TOOL_CALL && size_of::<Image>() <= IMAGE,
    "a message takes more than is counted where a prefix stands for it"
);

/// Bytes of memory that a message takes once more where a prefix stands for it. Its texts are shared.
fn place_bytes(message: &ChatMessage) -> u64 {
    /// Beside the elements of a list of its own.
    const LIST: usize = 32;
    let list = |count: usize, each: usize| if count == 0 { 0 } else { LIST + count * each };
    (MESSAGE + list(message.tool_calls.len(), TOOL_CALL) + list(message.images.len(), IMAGE)) as u64
}

/// Bytes of its texts, which whoever writes it in full writes again.
fn text_bytes(message: &ChatMessage) -> u64 {
    /// Of the reference to an image: its digest and the names of its fields.
    const REFERENCE: usize = 128;
    let ChatMessage { role: _, content, images, tool_calls, tool_call_id, reasoning, cache_until_here: _ } = message;
    let optional = |text: Option<&str>| text.map_or(0, str::len);
    let calls = tool_calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments.len());
    let thought = reasoning.as_ref().map_or(0, |thought| thought.text.len() + optional(thought.opaque.as_deref()));
    (content.len() + images.len() * REFERENCE + calls.sum::<usize>() + optional(tool_call_id.as_deref()) + thought)
        as u64
}

/// Prefixes with which a transcript is written.
struct Plan {
    /// Numbers of events, in order, each with the prefix of its request.
    prefixes: Vec<(usize, Prefix)>,
    /// Bytes of memory that they stand for, beside texts.
    places: u64,
}

impl Plan {
    /// The longest prefix of every request, as far as a reader writes them all out; a request beyond that is written in full.
    fn of(events: &[Event]) -> Self {
        let (mut plan, mut room) = (Self { prefixes: Vec::new(), places: 0 }, DECODED_BYTES_MAX as u64);
        // The last request of each conversation, the newest last. Those before it that it goes on from need not be looked at.
        let mut latest: Vec<(usize, &[ChatMessage])> = Vec::new();
        let requests = events.iter().enumerate().filter_map(|(number, event)| Some((number, request_of(event)?)));
        for (number, request) in requests {
            let messages = request.messages.as_slice();
            let mut longest: Option<(Prefix, usize, usize)> = None;
            // The newest first. Those are passed over that have nothing in common beyond what is found, as all that share a long beginning alone.
            for (place, (event, earlier)) in latest.iter().enumerate().rev() {
                let count = longest.map_or(0, |(prefix, ..)| prefix.count);
                if messages.get(count).is_none_or(|next| earlier.get(count) != Some(next)) {
                    continue;
                }
                let common = earlier.iter().zip(messages).take_while(|(one, other)| one == other).count();
                if common > count {
                    longest = Some((Prefix { event: *event, count: common }, place, earlier.len()));
                }
            }
            if let Some((prefix, place, length)) = longest {
                let shared = messages.iter().take(prefix.count);
                let (places, texts) = shared.fold((0, 0), |(places, texts), message| {
                    (places + place_bytes(message), texts + text_bytes(message))
                });
                if let Some(left) = room.checked_sub(places + texts) {
                    room = left;
                    plan.places += places;
                    plan.prefixes.push((number, prefix));
                }
                if prefix.count == length {
                    latest.remove(place);
                }
            }
            latest.push((number, messages));
            if latest.len() > CONVERSATIONS {
                latest.remove(0);
            }
        }
        plan
    }
}

/// Events as the compact form has them.
struct Events<'a>(&'a [Event]);

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // In this order: a reader that knows no prefixes refuses the first key that it sees, by its name.
        #[derive(Serialize)]
        struct WithPrefix {
            prefix: Prefix,
            #[serde(flatten)]
            event: Event,
        }

        let mut prefixes = Plan::of(self.0).prefixes.into_iter().peekable();
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (number, event) in self.0.iter().enumerate() {
            match prefixes.next_if(|(of, _)| *of == number) {
                Some((_, prefix)) => list.serialize_element(&WithPrefix { prefix, event: after(prefix, event) })?,
                None => list.serialize_element(event)?,
            }
        }
        list.end()
    }
}

/// The event without the messages of its prefix.
fn after(prefix: Prefix, event: &Event) -> Event {
    let mut event = event.clone();
    if let Some(request) = request_mut(&mut event) {
        request.messages.drain(..prefix.count);
    }
    event
}

impl Serialize for Compact<'_, Transcript> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename = "Transcript")]
        struct Written<'a> {
            events: Events<'a>,
        }

        let Transcript { events } = self.0;
        Written { events: Events(events) }.serialize(serializer)
    }
}

impl Serialize for Compact<'_, SessionOutcome> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename = "SessionOutcome")]
        struct Written<'a> {
            key: &'a SessionKey,
            lock: Digest,
            attempt: &'a Attempt,
            outcome: &'a Outcome,
            transcript: Compact<'a, Transcript>,
        }

        let SessionOutcome { key, lock, attempt, outcome, transcript } = self.0;
        Written { key, lock: *lock, attempt, outcome, transcript: Compact(transcript) }.serialize(serializer)
    }
}

impl Serialize for Compact<'_, SessionJob> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename = "SessionJob")]
        struct Written<'a> {
            key: &'a SessionKey,
            lock: Digest,
            attempt: u32,
            #[serde(skip_serializing_if = "is_first")]
            generation: u32,
            transcript: Compact<'a, Transcript>,
        }

        let SessionJob { key, lock, attempt, generation, transcript } = self.0;
        let (lock, attempt, generation) = (*lock, *attempt, *generation);
        Written { key, lock, attempt, generation, transcript: Compact(transcript) }.serialize(serializer)
    }
}

impl Serialize for Compact<'_, BatchJob> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename = "BatchJob")]
        struct Written<'a> {
            sweep: &'a SweepId,
            lock: Digest,
            model: &'a ModelRef,
            id: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            provider_id: Option<&'a str>,
            intended_at: Timestamp,
            #[serde(skip_serializing_if = "Option::is_none")]
            since: Option<Timestamp>,
            sessions: Vec<Compact<'a, SessionJob>>,
        }

        let BatchJob { sweep, lock, model, id, provider_id, intended_at, since, sessions } = self.0;
        let written = Written {
            sweep,
            lock: *lock,
            model,
            id,
            provider_id: provider_id.as_deref(),
            intended_at: *intended_at,
            since: *since,
            sessions: sessions.iter().map(Compact).collect(),
        };
        written.serialize(serializer)
    }
}

impl Serialize for Compact<'_, Report> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Report::Session(ended) => serializer.serialize_newtype_variant("Report", 0, "session", &Compact(&**ended)),
            Report::HandedOver { .. }
            | Report::Judge(_)
            | Report::Progress(_)
            | Report::Rejudge { .. }
            | Report::Echo { .. }
            | Report::Tabulate { .. } => self.0.serialize(serializer),
        }
    }
}

impl Serialize for Compact<'_, Job> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Job::Session(job) => serializer.serialize_newtype_variant("Job", 0, "session", &Compact(&**job)),
            Job::Batch(batch) => serializer.serialize_newtype_variant("Job", 2, "batch", &Compact(&**batch)),
            Job::Judge(_) => self.0.serialize(serializer),
        }
    }
}

impl Transcript {
    /// Bytes of memory for which prefixes stand in its compact form, beside those of the form itself; 0 if no request begins as an earlier one,
    /// and the form is the usual one.
    #[must_use]
    pub fn compacted_bytes(&self) -> u64 {
        Plan::of(&self.events).places
    }
}

impl Report {
    /// Encodes it in the compact form, which builds that know no prefixes refuse.
    ///
    /// # Errors
    /// As [`wire::encode`]'s.
    pub fn encode_compact(&self) -> Result<Bytes, WireError> {
        let compacted = match self {
            Self::Session(ended) => ended.transcript.compacted_bytes(),
            Self::HandedOver { .. }
            | Self::Judge(_)
            | Self::Progress(_)
            | Self::Rejudge { .. }
            | Self::Echo { .. }
            | Self::Tabulate { .. } => 0,
        };
        wire::encode_compact(&Compact(self), compacted)
    }
}

impl Job {
    /// Encodes it in the compact form, which builds that know no prefixes refuse.
    ///
    /// # Errors
    /// As [`wire::encode`]'s.
    pub fn encode_compact(&self) -> Result<Bytes, WireError> {
        let compacted = match self {
            Self::Session(job) => job.transcript.compacted_bytes(),
            Self::Batch(batch) => batch.sessions.iter().map(|session| session.transcript.compacted_bytes()).sum(),
            Self::Judge(_) => 0,
        };
        wire::encode_compact(&Compact(self), compacted)
    }
}
