//! Answers to a client about its call: whole or streamed, and filler until then.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use regatta_memory::ByteHolder;
use regatta_proto::{Finish, Reply, Usage};
use regatta_serving::{Answer, ApiError, Format, Keeping, Stamp, Streaming, ToolForms};

use crate::answer_body::{AnswerBody, Claim};
use crate::answers::JSON;
use crate::connection::Peer;
use crate::open::Opened;
use crate::session::Answered;

/// A call that a client waits for.
pub(crate) struct Telling {
    pub(crate) opened: Arc<Opened>,
    pub(crate) peer: Peer,
    /// Number of the call within its session.
    pub(crate) number: u64,
    /// Model name as the client wrote it.
    pub(crate) model: String,
    pub(crate) format: Format,
    pub(crate) streaming: Option<Streaming>,
    /// Forms in which the client reads calls of its tools.
    pub(crate) forms: ToolForms,
    /// The client asked for one call of a tool at a time, which not every endpoint can be told.
    pub(crate) reads_one_call: bool,
    /// Input that is kept with the answer, for requests that refer to it; and the holder that counts it until then.
    pub(crate) keeping: Option<(Keeping, ByteHolder)>,
    /// Seconds since 1970.
    pub(crate) created: i64,
}

impl Telling {
    /// The number alone, so that a session that goes the same way tells its agent the same.
    pub(crate) fn id(&self) -> String {
        format!("regatta-{}", self.number)
    }

    pub(crate) const fn content_type(&self) -> &'static str {
        if self.streaming.is_some() { "text/event-stream" } else { JSON }
    }

    /// Filler that may be sent any number of times before the answer, and that clients skip.
    pub(crate) const fn meanwhile(&self) -> Bytes {
        Bytes::from_static(if self.streaming.is_some() { b": waiting\n\n" } else { b" " })
    }

    /// The answer.
    pub(crate) fn answered(&self, answered: &Answered) -> AnswerBody {
        let Answered { reply, usage, model } = answered;
        let (stamp, reply) = (self.stamp(), self.as_read(reply));
        let answer = Answer { model, reply: &reply, usage, stamp: &stamp, forms: Some(&self.forms) };
        let bytes = match self.streaming {
            None => answer.whole(self.format),
            Some(streaming) => answer.streamed(self.format, streaming),
        };
        if let Some((keeping, _)) = &self.keeping {
            let whole = if self.streaming.is_some() { answer.whole(self.format) } else { bytes.clone() };
            self.opened.responses.keep(keeping, &whole);
        }
        let claim = Claim { opened: Arc::clone(&self.opened), number: self.number, peer: self.peer.clone() };
        AnswerBody::new(bytes, Some(claim))
    }

    /// The reply with as many calls as the client reads.
    fn as_read<'r>(&self, reply: &'r Reply) -> Cow<'r, Reply> {
        if !self.reads_one_call || reply.tool_calls.len() < 2 {
            return Cow::Borrowed(reply);
        }
        let mut reply = reply.clone();
        reply.tool_calls.truncate(1);
        Cow::Owned(reply)
    }

    /// Body that reports an error, under a status that promised an answer.
    pub(crate) fn failed(&self, error: &ApiError) -> AnswerBody {
        let bytes = match self.streaming {
            None => error.body(self.format.dialect()),
            Some(streaming) => {
                let (nothing, usage, stamp) = (Reply::of_text(None, Finish::Stop), Usage::default(), self.stamp());
                let answer = Answer { model: &self.model, reply: &nothing, usage: &usage, stamp: &stamp, forms: None };
                let mut encoder = answer.sse_encoder(self.format, streaming);
                let mut out = Vec::new();
                encoder.opening(&mut out);
                encoder.error(error, "", &mut out);
                out.into()
            }
        };
        AnswerBody::new(bytes, None)
    }

    fn stamp(&self) -> Stamp {
        Stamp { id: self.id(), created: self.created, cost: None, fingerprint: None }
    }
}
