//! How a format tells an answer piece by piece, as server-sent events.

use serde::Serialize;

use crate::api_error::{ApiError, json_bytes};

/// Writes the events of one answer, in this order: the opening, pieces, and then either the closing or an error.
pub(crate) trait Narrator: Send {
    /// What comes before the text.
    fn opening(&mut self, out: &mut Vec<u8>);

    /// The next piece of the text.
    fn piece(&mut self, piece: &str, out: &mut Vec<u8>);

    /// What comes after the text, which was all of `text`.
    fn closing(&mut self, text: &str, out: &mut Vec<u8>);

    /// The generation failed, after the pieces that make up `text`.
    fn error(&mut self, error: &ApiError, text: &str, out: &mut Vec<u8>);
}

/// An event without a name, as OpenAI's chat completions have them.
pub(crate) fn write_unnamed(out: &mut Vec<u8>, data: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&json_bytes(data));
    out.extend_from_slice(b"\n\n");
}

/// An event that also tells its name outside of its data.
pub(crate) fn write_named(out: &mut Vec<u8>, name: &str, data: &impl Serialize) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    write_unnamed(out, data);
}
