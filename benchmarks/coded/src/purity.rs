//! The sample of calls that are repeated in another process, to see that a program is pure.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regatta_proto::Digest;

use crate::protocol::Call;

/// First calls of each function that are repeated.
const FIRST: u32 = 3;
/// Of all others, one in so many.
const ONE_IN: u8 = 32;

/// Counts calls by function.
#[derive(Default)]
pub(crate) struct Sample(Mutex<BTreeMap<&'static str, u32>>);

impl Sample {
    /// `true` if `call` is to be repeated. Apart from the first calls this depends on the call alone, so that it can be seen again.
    pub(crate) fn takes(&self, call: &Call) -> bool {
        let so_far = {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(call.name()).or_default();
            *count = count.saturating_add(1);
            *count
        };
        so_far <= FIRST || is_drawn(call)
    }
}

fn is_drawn(call: &Call) -> bool {
    // A call is made of texts and numbers; one that cannot be written is not asked either.
    let Ok(bytes) = serde_json::to_vec(call) else { return false };
    let digest = Digest::of_parts([b"coded/purity".as_slice(), &bytes]);
    digest.bytes()[0].is_multiple_of(ONE_IN)
}

/// Where `first` and `second` part, for people.
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
