//! Exchanges with models, in the form in which the protocols take them from a transcript.

use std::fmt;

use regatta_proto::{Role, Transcript};

/// One exchange with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange<'a> {
    /// Role that was asked.
    pub(crate) role: Role,
    /// Text of the reply; `None` for a try without a reply.
    pub(crate) reply: Option<&'a str>,
}

impl<'a> Exchange<'a> {
    /// Returns the answered calls of a transcript in order. An answer without text is a try without a reply.
    pub(crate) fn of_transcript(transcript: &'a Transcript) -> impl Iterator<Item = Self> {
        transcript.calls().map(|call| Self { role: call.role, reply: call.reply.text.as_deref() })
    }
}

/// An exchange with a role that the protocol does not ask there: the transcript is of another session or version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Unexpected {
    /// Position of the exchange, from 0.
    pub(crate) at: usize,
    /// Role that the protocol would ask; `None` when the conversation is over.
    pub(crate) expected: Option<Role>,
    /// Role of the exchange.
    pub(crate) got: Role,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, got) = (self.at + 1, self.got);
        match self.expected {
            Some(expected) => write!(f, "call {call} is with the {got}, where the {expected} is to be asked"),
            None => write!(f, "call {call} is with the {got}, where the session is over"),
        }
    }
}
