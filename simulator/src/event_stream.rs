//! An answer that is streamed at the pace of the model.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use regatta_proto::Reply;
use regatta_serving::{Part, SseEncoder, part, parts};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::account::Account;
use crate::api_error::server_error;
use crate::tokens::CHARACTERS_PER_TOKEN;

/// Most pieces of an answer; the pieces of a longer answer have several tokens each.
const MAX_PIECES: u64 = 512;

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The whole answer is sent.
    Whole,
    /// An error is sent after half of the answer.
    Error,
    /// The stream ends regularly after half of the answer.
    Cut,
    /// The connection breaks after half of the answer.
    Broken,
}

/// The next step of a stream.
#[derive(Debug)]
pub(crate) enum Next {
    /// One or several events.
    Events(Bytes),
    /// The stream has ended.
    End,
    /// The connection breaks.
    Break,
}

/// The events of one answer. The first token is due at once, because the caller has waited for it.
pub(crate) struct EventStream {
    encoder: Box<dyn SseEncoder>,
    /// The request's account; `None` after the end of the stream.
    account: Option<Account>,
    reply: Reply,
    ending: Ending,
    stage: Stage,
    /// The remaining steps before the end.
    moves: VecDeque<Move>,
    /// Bytes of the text that have been sent.
    told: usize,
    pause: Duration,
    due: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

enum Stage {
    Opening,
    Telling,
    Over,
}

/// A step of sending an answer.
#[derive(Debug, PartialEq, Eq)]
enum Move {
    Begin(Part),
    /// These bytes of the part, when they are due.
    Piece(Part, Range<usize>),
    End(Part),
}

impl EventStream {
    /// Streams `reply` through `encoder`, with `pause` between tokens.
    pub(crate) fn new(
        encoder: Box<dyn SseEncoder>,
        account: Account,
        reply: Reply,
        ending: Ending,
        pause: Duration,
    ) -> Self {
        let characters: usize = parts(&reply).map(|told| part(&reply, told).chars().count()).sum();
        let tokens = (characters.div_ceil(CHARACTERS_PER_TOKEN) as u64).div_ceil(MAX_PIECES).max(1);
        // At most the tokens of an answer that is in memory.
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let told = match ending {
            Ending::Whole => None,
            Ending::Error | Ending::Cut | Ending::Broken => Some(characters / 2),
        };
        let moves = moves(&reply, CHARACTERS_PER_TOKEN * tokens as usize, told);
        Self {
            encoder,
            account: Some(account),
            reply,
            ending,
            stage: Stage::Opening,
            moves,
            told: 0,
            pause: pause.saturating_mul(tokens),
            due: Instant::now(),
            timer: None,
        }
    }

    /// The next step, when it is due.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let mut out = Vec::new();
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Telling;
                self.encoder.opening(&mut out);
                self.tell(None, &mut out);
            }
            Stage::Telling if !self.moves.is_empty() => {
                ready!(self.poll_due(cx));
                self.tell(Some(Instant::now()), &mut out);
            }
            Stage::Telling => {
                self.stage = Stage::Over;
                return Poll::Ready(self.finish());
            }
            Stage::Over => return Poll::Ready(Next::End),
        }
        Poll::Ready(Next::Events(out.into()))
    }

    /// Writes the due steps, up to the first piece that is not due at `now` (`None`: up to the first piece).
    fn tell(&mut self, now: Option<Instant>, out: &mut Vec<u8>) {
        while let Some(next) = self.moves.front() {
            match next {
                Move::Begin(told) => self.encoder.begin(*told, &self.reply, out),
                Move::End(told) => self.encoder.end(*told, &self.reply, out),
                Move::Piece(..) if now.is_none_or(|now| self.due > now) => return,
                Move::Piece(told, place) => {
                    let piece = part(&self.reply, *told).get(place.clone()).unwrap_or_default();
                    self.encoder.piece(*told, piece, out);
                    if *told == Part::Text {
                        self.told = place.end;
                    }
                    self.due += self.pause;
                }
            }
            self.moves.pop_front();
        }
    }

    fn finish(&mut self) -> Next {
        let mut out = Vec::new();
        // Dropped before the client can see the end, so that the client finds its slot free.
        let account = self.account.take();
        match self.ending {
            Ending::Whole => {
                if let Some(mut account) = account {
                    account.delivered();
                }
                self.encoder.closing(&self.reply, &mut out);
            }
            Ending::Error => {
                let text = part(&self.reply, Part::Text).get(..self.told).unwrap_or_default();
                self.encoder.error(&server_error(), text, &mut out);
            }
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
        f.debug_struct("EventStream")
            .field("ending", &self.ending)
            .field("left", &self.moves.len())
            .finish_non_exhaustive()
    }
}

/// The steps of `reply`, in pieces of `characters_a_piece`: all of it, or only the first `limit` characters.
fn moves(reply: &Reply, characters_a_piece: usize, limit: Option<usize>) -> VecDeque<Move> {
    let mut moves = VecDeque::new();
    let mut left = limit.unwrap_or(usize::MAX);
    for told in parts(reply) {
        moves.push_back(Move::Begin(told));
        let text = part(reply, told);
        let mut end = 0;
        while end < text.len() && left > 0 {
            let rest = &text[end..];
            let characters = characters_a_piece.min(left);
            let start = end;
            end += nth_character(rest, characters);
            moves.push_back(Move::Piece(told, start..end));
            left -= characters;
        }
        if left == 0 || limit.is_some() && text.is_empty() {
            return moves;
        }
        moves.push_back(Move::End(told));
    }
    moves
}

/// Position of the `n`-th character of `text`, or of the end of the text.
fn nth_character(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}
