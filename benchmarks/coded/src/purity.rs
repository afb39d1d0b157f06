//! Sample of the calls that are repeated in another process, to check that a program is pure.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regatta_proto::Digest;

use crate::protocol::Encoded;

/// Number of first calls of each function that are all repeated.
const FIRST: u32 = 3;
/// One in this many of the other calls is repeated.
const ONE_IN: u8 = 32;

/// Counts the calls of each function.
#[derive(Default)]
pub(crate) struct Sample(Mutex<BTreeMap<&'static str, u32>>);

impl Sample {
    /// Returns `true` if `asked` is to be repeated. After the first calls of a function this depends on the call
    /// alone, so that a difference can be reproduced.
    pub(crate) fn takes(&self, asked: &Encoded<'_>) -> bool {
        let so_far = {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(asked.call.name()).or_default();
            *count = count.saturating_add(1);
            *count
        };
        so_far <= FIRST || is_drawn(&asked.json)
    }
}

fn is_drawn(json: &[u8]) -> bool {
    let digest = Digest::of_parts([b"coded/purity".as_slice(), json]);
    digest.bytes()[0].is_multiple_of(ONE_IN)
}

/// Quotes both answers around the first byte in which they differ.
pub(crate) fn difference(first: &str, second: &str) -> String {
    const AROUND: usize = 40;
    let at = first.bytes().zip(second.bytes()).take_while(|(one, other)| one == other).count();
    let excerpt = |text: &str| {
        let from = text.floor_char_boundary(at.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((at + AROUND).min(text.len()));
        format!("{}{}{}", if from > 0 { "…" } else { "" }, &text[from..to], if to < text.len() { "…" } else { "" })
    };
    format!("one process answered {}, another {}", excerpt(first), excerpt(second))
}
