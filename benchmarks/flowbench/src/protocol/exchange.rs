//! What was asked and answered, as the protocols take it from a transcript.

use std::fmt;

use regatta_proto::{Role, Transcript};

/// One exchange with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange<'a> {
    /// Whom the request went to.
    pub(crate) role: Role,
    /// What came back; `None` for a try without reply.
    pub(crate) reply: Option<&'a str>,
}

impl<'a> Exchange<'a> {
    /// The answered calls of a transcript, in order. An answer without text is a try without reply.
    pub(crate) fn of_transcript(transcript: &'a Transcript) -> impl Iterator<Item = Self> {
        transcript.calls().map(|call| Self { role: call.role, reply: call.reply.text.as_deref() })
    }
}

/// An exchange that does not belong where it stands: the transcript is of another session or version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Unexpected {
    /// Its position, from 0.
    pub(crate) at: usize,
    /// Whom the protocol would ask there; `None` when it is over.
    pub(crate) expected: Option<Role>,
    /// Whom the exchange is with.
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
