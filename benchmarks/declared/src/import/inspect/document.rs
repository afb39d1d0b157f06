//! JSON as Python writes it.

use serde_json::Value;

/// Numbers that are none, which Python writes and JSON has not; the longer one first.
const CONSTANTS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// The value of a document. `NaN` and `Infinity`, as scores may have them, are read as `null` and added to `not_finite`.
///
/// # Errors
/// When it is no JSON otherwise either, or nested too deeply.
pub(super) fn parse(content: &[u8], not_finite: &mut usize) -> Result<Value, serde_json::Error> {
    let error = match serde_json::from_slice(content) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // The first error is the one with a place in the person's file.
    let (content, count) = without_constants(content);
    if count == 0 {
        return Err(error);
    }
    let value = serde_json::from_slice(&content).map_err(|_| error)?;
    *not_finite += count;
    Ok(value)
}

/// The document with `null` in place of the constants, and their number.
fn without_constants(content: &[u8]) -> (Vec<u8>, usize) {
    let mut made = Vec::with_capacity(content.len());
    let (mut rest, mut count) = (content, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    while let Some((byte, after)) = rest.split_first() {
        if !is_text && let Some(behind) = CONSTANTS.iter().find_map(|constant| rest.strip_prefix(*constant)) {
            made.extend_from_slice(b"null");
            count += 1;
            rest = behind;
            continue;
        }
        if is_escaped {
            is_escaped = false;
        } else if *byte == b'"' {
            is_text = !is_text;
        } else {
            is_escaped = is_text && *byte == b'\\';
        }
        made.push(*byte);
        rest = after;
    }
    (made, count)
}
