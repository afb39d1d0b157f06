//! Records of data sets, as Inspect's readers have them: JSONL, a list in JSON, CSV.

use std::collections::BTreeSet;

use csv::ReaderBuilder;
use regatta_benchmarks::source_location::kind_of;
use serde_json::Value;

use super::{Fields, document};
use crate::data::{RECORD_BYTES_MAX, RECORDS_MAX};

/// A record and where it is.
pub(super) struct Record {
    /// As people look for it: `line 3`.
    pub(super) place: String,
    pub(super) fields: Fields,
}

pub(super) fn of_lines(content: &[u8], not_finite: &mut usize) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let place = format!("line {number}");
        if line.len() > RECORD_BYTES_MAX {
            return Err(format!("{place} has {} bytes, at most {RECORD_BYTES_MAX} are read", line.len()));
        }
        let value = document::parse(line, not_finite).map_err(|error| {
            format!("{place} is no JSON: {error}; a file with one list of records must end in .json")
        })?;
        push(&mut records, place, value)?;
    }
    Ok(records)
}

/// A list of records, or one.
pub(super) fn of_document(document: Value) -> Result<Vec<Record>, String> {
    let values = match document {
        Value::Array(values) => values,
        one => vec![one],
    };
    let mut records = Vec::new();
    for (number, value) in (1..).zip(values) {
        push(&mut records, format!("record {number}"), value)?;
    }
    Ok(records)
}

fn push(records: &mut Vec<Record>, place: String, value: Value) -> Result<(), String> {
    if records.len() == RECORDS_MAX {
        return Err(format!("has more than {RECORDS_MAX} records"));
    }
    match value {
        Value::Object(fields) => records.push(Record { place, fields }),
        other => return Err(format!("{place} must be an object, is {}", kind_of(&other))),
    }
    Ok(())
}

/// Rows of texts under a header; a row without any text is left out, as Inspect does.
pub(super) fn of_csv(content: &[u8]) -> Result<Vec<Record>, String> {
    let mut reader = ReaderBuilder::new().from_reader(content);
    let columns = reader.headers().map_err(|error| format!("not CSV that can be read: {error}"))?.clone();
    let mut seen = BTreeSet::new();
    if let Some(twice) = columns.iter().find(|column| !seen.insert(*column)) {
        return Err(format!("the column {twice:?} is there twice"));
    }
    let mut records = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| format!("not CSV that can be read: {error}"))?;
        if row.as_slice().trim().is_empty() {
            continue;
        }
        let place = format!("line {}", row.position().map_or(0, csv::Position::line));
        if row.as_slice().len() > RECORD_BYTES_MAX {
            return Err(format!("{place} has {} bytes, at most {RECORD_BYTES_MAX} are read", row.as_slice().len()));
        }
        let fields: Fields =
            columns.iter().zip(&row).map(|(column, value)| (column.to_owned(), Value::from(value))).collect();
        push(&mut records, place, Value::Object(fields))?;
    }
    Ok(records)
}
