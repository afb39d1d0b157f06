//! An answer told piece by piece, at the pace of the model.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::account::Account;
use crate::api_error::ApiError;
use crate::formats::narrator::Narrator;
use crate::tokens::{CHARACTERS_PER_TOKEN, count_tokens};

/// Most pieces of an answer; those of a longer answer have several tokens each.
const MAX_PIECES: u64 = 512;

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With the whole answer.
    Whole,
    /// With an error, after half of it.
    Error,
    /// As if it were whole, after half of it.
    Cut,
    /// With its connection, after half of it.
    Broken,
}

/// What comes next of a stream.
#[derive(Debug)]
pub(crate) enum Next {
    /// One or several events.
    Events(Bytes),
    /// The stream is over.
    End,
    /// The connection breaks.
    Break,
}

/// The events of one answer. The first token is due at once: whoever makes a stream has waited for it.
pub(crate) struct EventStream {
    narrator: Box<dyn Narrator>,
    /// Until the stream is over.
    account: Option<Account>,
    text: String,
    ending: Ending,
    stage: Stage,
    /// Bytes of the text that were told.
    told: usize,
    /// Bytes of the text that are to be told.
    end: usize,
    characters_a_piece: usize,
    pause: Duration,
    due: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

enum Stage {
    Opening,
    Telling,
    Over,
}

impl EventStream {
    /// Tells `text` as `narrator` does, with `pause` from one token to the next.
    pub(crate) fn new(
        narrator: Box<dyn Narrator>,
        account: Account,
        text: String,
        ending: Ending,
        pause: Duration,
    ) -> Self {
        let end = match ending {
            Ending::Whole => text.len(),
            Ending::Error | Ending::Cut | Ending::Broken => nth_character(&text, text.chars().count() / 2),
        };
        let tokens = count_tokens(&text).div_ceil(MAX_PIECES).max(1);
        // At most the tokens of a text that is in memory.
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        Self {
            narrator,
            account: Some(account),
            text,
            ending,
            stage: Stage::Opening,
            told: 0,
            end,
            characters_a_piece: CHARACTERS_PER_TOKEN * tokens as usize,
            pause: pause.saturating_mul(tokens),
            due: Instant::now(),
            timer: None,
        }
    }

    /// Everything at once, for bodies that have a pace of their own.
    pub(crate) fn at_once(mut narrator: Box<dyn Narrator>, text: &str) -> Bytes {
        let mut out = Vec::new();
        narrator.opening(&mut out);
        narrator.piece(text, &mut out);
        narrator.closing(text, &mut out);
        out.into()
    }

    /// What comes next, once it is due.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let mut out = Vec::new();
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Telling;
                self.narrator.opening(&mut out);
            }
            Stage::Telling if self.told < self.end => {
                ready!(self.poll_due(cx));
                let now = Instant::now();
                while self.told < self.end && self.due <= now {
                    let rest = &self.text[self.told..self.end];
                    let piece = &rest[..nth_character(rest, self.characters_a_piece)];
                    self.narrator.piece(piece, &mut out);
                    self.told += piece.len();
                    self.due += self.pause;
                }
            }
            Stage::Telling => {
                self.stage = Stage::Over;
                return Poll::Ready(self.finish());
            }
            Stage::Over => return Poll::Ready(Next::End),
        }
        Poll::Ready(Next::Events(out.into()))
    }

    fn finish(&mut self) -> Next {
        let mut out = Vec::new();
        // Dropped here, before the client can see the end, so that it finds its place free.
        let account = self.account.take();
        match self.ending {
            Ending::Whole => {
                if let Some(mut account) = account {
                    account.delivered();
                }
                self.narrator.closing(&self.text, &mut out);
            }
            Ending::Error => self.narrator.error(&ApiError::server_error(), &self.text[..self.end], &mut out),
            Ending::Cut => return Next::End,
            Ending::Broken => return Next::Break,
        }
        Next::Events(out.into())
    }

    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.due <= Instant::now() {
            return Poll::Ready(());
        }
        let due = self.due;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(cx)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").field("ending", &self.ending).field("told", &self.told).finish_non_exhaustive()
    }
}

/// Where the `n`-th character of `text` begins, or the text ends.
fn nth_character(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}
