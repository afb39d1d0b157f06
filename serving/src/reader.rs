//! The way in which a request is read, and what of it is not carried by fields of a [`ChatRequest`](regatta_proto::ChatRequest).

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ClientFormat, Passed};

use crate::Reading;
use crate::error::ApiError;
use crate::fields::{Fields, refuse};
use crate::refused::SIGNED_THOUGHT;

/// The state of one reading.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) reading: Reading,
    /// Names of fields that cannot be carried, but do not prevent an answer.
    pub(crate) left_out: BTreeSet<&'static str>,
    /// Fields of the request that go to the endpoint as the client wrote them.
    verbatim: BTreeSet<String>,
}

impl Reader {
    pub(crate) const fn new(reading: Reading) -> Self {
        Self { reading, left_out: BTreeSet::new(), verbatim: BTreeSet::new() }
    }

    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self.reading, Reading::Whole)
    }

    /// Has the field of the request that holds the value at `path` go to the endpoint as it is. A gist has no such fields.
    pub(crate) fn pass_on(&mut self, path: &str) {
        let field = path.split(['.', '[']).next().unwrap_or(path);
        self.pass_field(field);
    }

    /// Has the request's field `name` go to the endpoint as it is. Unlike a path, it may hold any character.
    pub(crate) fn pass_field(&mut self, name: &str) {
        if self.is_whole() && !self.verbatim.contains(name) {
            self.verbatim.insert(name.to_owned());
        }
    }

    /// Keeps the request's field `name` from going to the endpoint as it is; `true` if it would have.
    pub(crate) fn keep_back(&mut self, name: &str) -> bool {
        self.verbatim.remove(name)
    }

    /// The fields of `body` that go to the endpoint as they are, beside the conversation that was read of it; `None` if there are none.
    ///
    /// # Errors
    /// 400, when a field is no JSON that can be parsed, or the conversation cannot go to the endpoint as it is.
    pub(crate) fn passed(
        &self,
        format: ClientFormat,
        body: &[u8],
        messages: &[ChatMessage],
    ) -> Result<Option<Arc<Passed>>, ApiError> {
        if self.verbatim.is_empty() {
            return Ok(None);
        }
        let conversation = match format {
            ClientFormat::Chat | ClientFormat::Messages => "messages",
            ClientFormat::Responses => "input",
        };
        let is_signed = |message: &ChatMessage| message.reasoning.as_ref().is_some_and(|it| it.opaque.is_some());
        if self.verbatim.contains(conversation) && messages.iter().any(is_signed) {
            return Err(refuse(conversation, SIGNED_THOUGHT));
        }
        let mut names = self.verbatim.clone();
        // They are one conversation to us: a part of the one may be written into the other.
        let together: &[&str] = match format {
            ClientFormat::Chat => &[],
            ClientFormat::Messages => &["system", "messages"],
            ClientFormat::Responses => &["instructions", "input"],
        };
        if together.iter().any(|name| names.contains(*name)) {
            names.extend(together.iter().map(|name| (*name).to_owned()));
        }
        let fields = Fields::of_body(body)?.values(&names)?;
        Ok(Some(Arc::new(Passed { format, fields })))
    }
}
