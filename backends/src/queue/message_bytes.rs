//! Memory of a message, known before it is decoded.

use std::io;

use regatta_memory::ParsedBytes;
use regatta_proto::wire;

/// Texts as long as a message's JSON that there are beside its values: the JSON while it is decoded, and what is written of the message.
const TEXTS_BESIDE: u64 = 2;

/// Bytes that an encoded message takes at most from when it is decoded until it is settled: three times its JSON where that is one long text,
/// and more where it is made of small values, which models and agents choose, or of prefixes of requests (`tests/decoded.rs` measures all three).
#[must_use]
pub fn message_bytes(encoded: &[u8]) -> u64 {
    let mut counted = ParsedBytes::default();
    // What cannot be decompressed will not be decoded either: then it is what came before.
    let _ = wire::json(encoded).and_then(|mut json| io::copy(&mut json, &mut counted));
    TEXTS_BESIDE * counted.text() + counted.total() + wire::compacted_bytes(encoded)
}
