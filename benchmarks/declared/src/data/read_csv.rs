//! CSV: a header, and a record in each line, all of whose values are texts.

use std::collections::BTreeSet;

use csv::{ReaderBuilder, StringRecord};
use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use serde_json::{Map, Value};

use super::{RECORDS_MAX, Record, record, too_many};

/// The bytes with which programs mark files as UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) fn read(file: &SourceLocation<'_>, content: &[u8]) -> Result<Vec<Record>, DataError> {
    let content = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
    let mut reader = ReaderBuilder::new().from_reader(content);
    let columns = reader.headers().map_err(|error| malformed(file, &error))?.clone();
    check_columns(file, &columns)?;
    let mut records = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| malformed(file, &error))?;
        if records.len() == RECORDS_MAX {
            return Err(too_many(file));
        }
        let line = row.position().map_or(1, csv::Position::line);
        let fields: Map<String, Value> =
            columns.iter().zip(&row).map(|(column, value)| (column.to_owned(), Value::from(value))).collect();
        records.push(record(file, usize::try_from(line).unwrap_or(usize::MAX), row.as_slice().len(), fields)?);
    }
    Ok(records)
}

fn check_columns(file: &SourceLocation<'_>, columns: &StringRecord) -> Result<(), DataError> {
    let mut seen = BTreeSet::new();
    for column in columns {
        if column.is_empty() {
            return Err(file.line(0).problem("a column of the header has no name"));
        }
        if !seen.insert(column) {
            return Err(file.line(0).problem(format!("the column {column:?} is there twice")));
        }
    }
    Ok(())
}

fn malformed(file: &SourceLocation<'_>, error: &csv::Error) -> DataError {
    let line = error.position().map(|position| usize::try_from(position.line()).unwrap_or(usize::MAX));
    let place = line.map_or_else(|| file.clone(), |line| file.line(line.saturating_sub(1)));
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            place.problem(format!("has {len} values, the header has {expected_len} columns"))
        }
        csv::ErrorKind::Utf8 { .. } => place.problem("not UTF-8"),
        _ => place.problem(format!("not valid CSV: {error}")),
    }
}
