//! Messages on the wire: `{"v":1,"message":…}` as JSON, compressed with zstd if that saves space.
//!
//! Queues outlive deployments, so every message has a version, and an unknown one is refused. Compression is recognised by zstd's magic
//! number, which no JSON text begins with.

use std::io::{self, Read};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version that this build writes, and every build reads.
pub const VERSION: u32 = 1;
/// The version of messages whose transcripts have prefixes, which this build reads too. Builds before it refuse them by this number.
pub const COMPACT_VERSION: u32 = 2;

/// Size in bytes below which messages are not compressed, because the header would cost more than it saves.
const COMPRESS_FROM_BYTES: usize = 1024;
/// Compression level: 1 is twice as fast as 3 and a tenth larger on transcripts.
const LEVEL: i32 = 1;
/// Largest message in bytes before compression, read or written: a decompression bomb must not exhaust the process, and a message that no
/// reader accepts is not sent.
pub(crate) const DECODED_BYTES_MAX: usize = 256 << 20;
/// Bytes at the beginning of a message's JSON in which its version and the number after it are.
const HEAD_BYTES: u64 = 64;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A message that was refused.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The message was written by a newer (or much older) build.
    #[error(
        "refused a message of version {found}; this build reads versions {VERSION} and {COMPACT_VERSION}: upgrade the older side first"
    )]
    UnknownVersion {
        /// Version of the message.
        found: u32,
    },
    /// The message is not the JSON that was expected.
    #[error("failed to read a message: {0}")]
    Json(#[from] serde_json::Error),
    /// The message is larger than any reader accepts, however small it may be when compressed.
    #[error("refused to write a message of {bytes} bytes: the limit is {limit} before compression")]
    TooLarge {
        /// Size before compression, in bytes.
        bytes: usize,
        /// Largest size allowed, in bytes.
        limit: usize,
    },
    /// The compression is damaged, or the content is larger than allowed.
    #[error("failed to decompress a message: {0}")]
    Compression(#[source] io::Error),
}

#[derive(Serialize)]
struct Writing<'a, T> {
    v: u32,
    /// Only of messages of [`COMPACT_VERSION`].
    #[serde(skip_serializing_if = "Option::is_none")]
    compacted: Option<u64>,
    message: &'a T,
}

#[derive(Deserialize)]
struct Reading<'a> {
    v: u32,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// Encodes `message`.
///
/// # Errors
/// When it cannot be serialised (a map key that is not a text), is larger than a reader accepts, or compression fails.
pub fn encode<T: Serialize>(message: &T) -> Result<Bytes, WireError> {
    encode_within(DECODED_BYTES_MAX, &Writing { v: VERSION, compacted: None, message })
}

/// Encodes `message`, in whose transcripts prefixes stand for `compacted` bytes of memory. Where there are none every build can read it.
///
/// # Errors
/// As [`encode`]'s, and when prefixes stand for more than a message may have, as those of the many sessions of a batch may together.
pub fn encode_compact<T: Serialize>(message: &T, compacted: u64) -> Result<Bytes, WireError> {
    if compacted == 0 {
        return encode(message);
    }
    let bytes = usize::try_from(compacted).unwrap_or(usize::MAX);
    if bytes > DECODED_BYTES_MAX {
        return Err(WireError::TooLarge { bytes, limit: DECODED_BYTES_MAX });
    }
    encode_within(DECODED_BYTES_MAX, &Writing { v: COMPACT_VERSION, compacted: Some(compacted), message })
}

fn encode_within<T: Serialize>(limit: usize, writing: &Writing<'_, T>) -> Result<Bytes, WireError> {
    let json = serde_json::to_vec(writing)?;
    if json.len() > limit {
        return Err(WireError::TooLarge { bytes: json.len(), limit });
    }
    if json.len() < COMPRESS_FROM_BYTES {
        return Ok(json.into());
    }
    zstd::bulk::compress(&json, LEVEL).map(Bytes::from).map_err(WireError::Compression)
}

/// Decodes a message.
///
/// # Errors
/// When its version is neither [`VERSION`] nor [`COMPACT_VERSION`], or its content does not fit `T`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    if bytes.starts_with(&ZSTD_MAGIC) {
        let json = zstd::bulk::decompress(bytes, decoded_size(bytes)).map_err(WireError::Compression)?;
        return decode_json(&json);
    }
    decode_json(bytes)
}

/// Reads the JSON of an encoded message piece by piece, no further than [`decode`] does: to know it before there is room for the whole.
///
/// # Errors
/// When there is no room for the state of a decompression.
pub fn json(bytes: &[u8]) -> io::Result<Box<dyn Read + '_>> {
    if !bytes.starts_with(&ZSTD_MAGIC) {
        return Ok(Box::new(bytes));
    }
    let text = zstd::stream::read::Decoder::with_buffer(bytes)?;
    Ok(Box::new(text.take(decoded_size(bytes) as u64)))
}

/// Bytes of memory that an encoded message takes when it is decoded, beside those of its JSON, because prefixes stand for them: as many as its
/// writer counted, and no more than it may write.
#[must_use]
pub fn compacted_bytes(bytes: &[u8]) -> u64 {
    let mut head = Vec::new();
    // What cannot be decompressed will not be decoded either.
    let _ = json(bytes).and_then(|json| json.take(HEAD_BYTES).read_to_end(&mut head));
    compacted_in(&head).unwrap_or(0).min(DECODED_BYTES_MAX as u64)
}

fn compacted_in(head: &[u8]) -> Option<u64> {
    let rest = head.strip_prefix(br#"{"v":2,"compacted":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

fn decoded_size(compressed: &[u8]) -> usize {
    match zstd::zstd_safe::get_frame_content_size(compressed) {
        Ok(Some(size)) => usize::try_from(size).unwrap_or(usize::MAX).min(DECODED_BYTES_MAX),
        // A foreign writer may omit the size, so a plausible ratio is assumed.
        _ => compressed.len().saturating_mul(100).min(DECODED_BYTES_MAX),
    }
}

fn decode_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, WireError> {
    let Reading { v, message } = serde_json::from_slice(json)?;
    if v != VERSION && v != COMPACT_VERSION {
        return Err(WireError::UnknownVersion { found: v });
    }
    Ok(serde_json::from_str(message.map_or("null", RawValue::get))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_unknown_version_is_refused_before_its_content_is_looked_at() {
        let error = decode::<Vec<u32>>(br#"{"v":3,"message":{"whatever":true}}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "refused a message of version 3; this build reads versions 1 and 2: upgrade the older side first"
        );
    }

    #[test]
    fn a_message_without_a_version_is_refused() {
        assert!(matches!(decode::<Vec<u32>>(b"[1]"), Err(WireError::Json(_))));
    }

    #[test]
    fn large_messages_are_compressed_and_small_ones_stay_readable() {
        assert!(encode(&"x").unwrap().starts_with(b"{"));
        let large = encode(&"x".repeat(10_000)).unwrap();
        assert!(large.starts_with(&ZSTD_MAGIC) && large.len() < 100);
    }

    #[test]
    fn the_json_of_a_message_is_read_whether_it_is_compressed_or_not() {
        let read = |encoded: &[u8]| io::read_to_string(json(encoded).unwrap()).unwrap();
        for text in ["x".to_owned(), "x".repeat(10_000)] {
            assert_eq!(read(&encode(&text).unwrap()), format!(r#"{{"v":1,"message":"{text}"}}"#));
        }
        let broken = [ZSTD_MAGIC.as_slice(), b"no frame"].concat();
        assert!(io::read_to_string(json(&broken).unwrap()).is_err());
    }

    #[test]
    fn a_message_that_no_reader_accepts_is_not_written_however_well_it_compresses() {
        let message = "x".repeat(10_000);
        let bytes = message.len() + r#"{"v":1,"message":""}"#.len();
        let writing = Writing { v: VERSION, compacted: None, message: &message };
        assert!(encode_within(bytes, &writing).unwrap().len() < 100);
        let error = encode_within(bytes - 1, &writing).unwrap_err();
        let limit = bytes - 1;
        assert!(matches!(error, WireError::TooLarge { bytes: b, limit: l } if (b, l) == (bytes, limit)), "{error}");
    }

    #[test]
    fn a_compact_message_says_for_how_much_its_prefixes_stand_and_one_without_any_is_none() {
        for text in ["x".to_owned(), "x".repeat(10_000)] {
            let encoded = encode_compact(&text, 70_000).unwrap();
            let json = io::read_to_string(json(&encoded).unwrap()).unwrap();
            assert_eq!(json, format!(r#"{{"v":2,"compacted":70000,"message":"{text}"}}"#));
            assert_eq!((compacted_bytes(&encoded), decode::<String>(&encoded).unwrap()), (70_000, text.clone()));
            assert_eq!(encode_compact(&text, 0).unwrap(), encode(&text).unwrap());
            assert_eq!(compacted_bytes(&encode(&text).unwrap()), 0);
        }
    }

    #[test]
    fn a_message_whose_prefixes_stand_for_too_much_together_is_not_written() {
        let most = DECODED_BYTES_MAX as u64;
        assert_eq!(compacted_bytes(&encode_compact(&"x", most).unwrap()), most);
        let error = encode_compact(&"x", most + 1).unwrap_err();
        assert!(matches!(error, WireError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn a_message_that_claims_more_than_any_has_is_charged_as_the_largest() {
        let claims = br#"{"v":2,"compacted":18446744073709551615,"message":null}"#;
        assert_eq!(compacted_bytes(claims), DECODED_BYTES_MAX as u64);
    }

    proptest! {
        #[test]
        fn every_message_comes_back_as_it_went(texts in proptest::collection::vec(".{0,200}", 0..40)) {
            prop_assert_eq!(decode::<Vec<String>>(&encode(&texts).unwrap()).unwrap(), texts);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), zstd: bool) {
            let bytes = if zstd { [ZSTD_MAGIC.as_slice(), &bytes].concat() } else { bytes };
            let _ = (decode::<crate::Report>(&bytes), compacted_bytes(&bytes));
        }
    }
}
