//! Converts between domain types and the types that both databases store: 64-bit integers, text and bytes.
//!
//! Unsigned numbers are stored signed, timestamps as nanoseconds since 1970 (PostgreSQL's own type would round to
//! microseconds), digests as 32 bytes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_proto::{
    Cause, CellIndex, CostSum, Digest, EndpointName, ItemIndex, Money, Outcome, Partition, SessionKey, SweepId,
};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;

use super::LedgerError;

/// Length of a stored digest, in bytes.
pub(super) const DIGEST_LENGTH: usize = 32;

/// Tables with rows of a sweep, by its number: tables that refer to others come first, and the table of sweeps is not included.
pub(super) const TABLES_OF_SWEEPS: [&str; 11] = [
    "metrics",
    "cell_calls",
    "counted_calls",
    "judge_attempts",
    "asked",
    "awaiting_questions",
    "awaiting",
    "sessions",
    "attempts",
    "shards",
    "cells",
];

/// Position of a session in both schemas, with the sweep by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) sweep: i64,
    pub(super) cell: i64,
    pub(super) item: i64,
}

impl Place {
    pub(super) fn of(sweep: i64, key: &SessionKey) -> Self {
        Self { sweep, cell: i64::from(key.cell.0), item: i64::from(key.item.0) }
    }
}

pub(super) fn key(sweep: &SweepId, cell: i64, item: i64) -> Result<SessionKey, LedgerError> {
    Ok(SessionKey {
        sweep: sweep.clone(),
        cell: CellIndex(small(cell, "cell")?),
        item: ItemIndex(small(item, "item")?),
    })
}

/// The number as a signed 64-bit integer.
pub(super) fn stored(value: u64, field: &'static str) -> Result<i64, LedgerError> {
    i64::try_from(value).map_err(|_| LedgerError::OutOfRange { field, value: i128::from(value) })
}

/// The bit of one partition among the answers about all, and the bits of all.
///
/// # Errors
/// [`LedgerError::OutOfRange`] for a partition that there cannot be.
pub(super) fn answer_bits(Partition { number, of }: Partition) -> Result<(i64, i64), LedgerError> {
    let out_of_range = |field, value| Err(LedgerError::OutOfRange { field, value: i128::from(value) });
    if !(1..=62).contains(&of) {
        return out_of_range("partitions", of);
    }
    if number >= of {
        return out_of_range("partition", number);
    }
    Ok((1 << number, (1 << of) - 1))
}

pub(super) fn stored_money(amount: Option<Money>, field: &'static str) -> Result<Option<i64>, LedgerError> {
    amount.map(|money| stored(money.0, field)).transpose()
}

pub(super) fn large(value: i64, field: &'static str) -> Result<u64, LedgerError> {
    u64::try_from(value).map_err(|_| unreadable(field, value))
}

pub(super) fn small(value: i64, field: &'static str) -> Result<u32, LedgerError> {
    u32::try_from(value).map_err(|_| unreadable(field, value))
}

/// A number of sessions of a cell: its items have numbers of 32 bits. So sums over the cells of a ledger that somebody hands on do not overflow.
pub(super) fn sessions(value: i64, field: &'static str) -> Result<u64, LedgerError> {
    small(value, field).map(u64::from)
}

pub(super) fn money(value: Option<i64>, field: &'static str) -> Result<Option<Money>, LedgerError> {
    value.map(|nanos| large(nanos, field).map(Money)).transpose()
}

pub(super) fn stored_time(at: Timestamp, field: &'static str) -> Result<i64, LedgerError> {
    i64::try_from(at.as_nanosecond()).map_err(|_| LedgerError::OutOfRange { field, value: at.as_nanosecond() })
}

pub(super) fn time(nanos: i64, field: &'static str) -> Result<Timestamp, LedgerError> {
    Timestamp::from_nanosecond(i128::from(nanos)).map_err(|_| unreadable(field, nanos))
}

pub(super) fn cost([known, unknown_calls]: [i64; 2]) -> Result<CostSum, LedgerError> {
    Ok(CostSum { known: Money(large(known, "cost")?), unknown_calls: large(unknown_calls, "unknown_calls")? })
}

/// Parses an id or a state, which was checked when it was written.
pub(super) fn parsed<T: std::str::FromStr>(text: &str, field: &'static str) -> Result<T, LedgerError> {
    text.parse().map_err(|_| unreadable(field, text))
}

pub(super) fn outcome(kind: &str, cause: Option<&str>) -> Result<Outcome, LedgerError> {
    let read = |word: &str| {
        let word: serde::de::value::StrDeserializer<'_, ValueError> = word.into_deserializer();
        Cause::deserialize(word).ok()
    };
    match (kind, cause.and_then(read)) {
        ("measured", None) if cause.is_none() => Ok(Outcome::Measured),
        ("model_failure", Some(cause)) => Ok(Outcome::ModelFailure { cause }),
        ("not_measured", Some(cause)) => Ok(Outcome::NotMeasured { cause }),
        _ => Err(unreadable("outcome", format!("{kind}/{}", cause.unwrap_or("-")))),
    }
}

/// The column of several digests, in order.
pub(super) fn stored_digests(digests: &[Digest]) -> Vec<u8> {
    digests.iter().flat_map(|digest| *digest.bytes()).collect()
}

pub(super) fn digests(bytes: &[u8]) -> Result<Vec<Digest>, LedgerError> {
    bytes.chunks(DIGEST_LENGTH).map(digest).collect()
}

pub(super) fn digest(bytes: &[u8]) -> Result<Digest, LedgerError> {
    let hex: String = hex::encode(bytes);
    hex.parse().map_err(|_| unreadable("digest", hex))
}

pub(crate) fn stored_json(value: &impl serde::Serialize, field: &'static str) -> Result<String, LedgerError> {
    serde_json::to_string(value).map_err(|error| unreadable(field, error))
}

pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str, field: &'static str) -> Result<T, LedgerError> {
    serde_json::from_str(text).map_err(|error| unreadable(field, error))
}

/// Calls at once by endpoint, where any are lowered.
pub(super) fn concurrency(column: Option<&str>) -> Result<BTreeMap<EndpointName, u32>, LedgerError> {
    match column {
        Some(text) => json(text, "concurrency"),
        None => Ok(BTreeMap::new()),
    }
}

pub(super) fn stored_concurrency(by_endpoint: &BTreeMap<EndpointName, u32>) -> Result<Option<String>, LedgerError> {
    match by_endpoint.is_empty() {
        true => Ok(None),
        false => stored_json(by_endpoint, "concurrency").map(Some),
    }
}

pub(super) fn unreadable(field: &'static str, found: impl ToString) -> LedgerError {
    LedgerError::Unreadable { field, found: found.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_read_as_it_was_written() {
        let outcomes = [
            Outcome::Measured,
            Outcome::ModelFailure { cause: Cause::ContextLength },
            Outcome::NotMeasured { cause: Cause::JudgeUnavailable },
        ];
        for written in outcomes {
            assert_eq!(outcome(written.as_str(), written.cause().map(Cause::as_str)).unwrap(), written);
        }
    }

    #[test]
    fn an_outcome_with_the_wrong_cause_is_refused() {
        assert!(outcome("measured", Some("timeout")).is_err());
        assert!(outcome("measured", Some("nonsense")).is_err());
        assert!(outcome("not_measured", None).is_err());
        assert!(outcome("not_measured", Some("nonsense")).is_err());
    }

    #[test]
    fn a_cell_has_no_more_sessions_than_items_have_numbers() {
        assert_eq!(sessions(i64::from(u32::MAX), "recorded").unwrap(), u64::from(u32::MAX));
        for beyond in [-1, i64::from(u32::MAX) + 1, i64::MAX] {
            let error = sessions(beyond, "recorded").unwrap_err().to_string();
            assert!(error.contains("recorded") && error.contains(&beyond.to_string()), "{error}");
        }
    }

    #[test]
    fn a_number_beyond_the_column_is_refused_and_the_field_named() {
        let error = stored(u64::MAX, "latency_us").unwrap_err();
        assert_eq!(error.to_string(), "failed to store latency_us: 18446744073709551615 is out of range");
    }

    #[test]
    fn digests_keep_their_order() {
        let written = [Digest::of(b"b"), Digest::of(b"a")];
        assert_eq!(digests(&stored_digests(&written)).unwrap(), written);
    }
}
