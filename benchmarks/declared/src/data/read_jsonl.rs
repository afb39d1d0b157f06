//! JSONL: an object in each line; empty lines are left out.

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use serde_json::Value;

use super::{RECORD_BYTES_MAX, RECORDS_MAX, Record, record, too_many};

pub(super) fn read(file: &SourceLocation<'_>, content: &[u8]) -> Result<Vec<Record>, DataError> {
    let mut records = Vec::new();
    for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if records.len() == RECORDS_MAX {
            return Err(too_many(file));
        }
        let place = file.line(number);
        if line.len() > RECORD_BYTES_MAX {
            return Err(place.problem(format!("has {} bytes, at most {RECORD_BYTES_MAX} are read", line.len())));
        }
        let fields = match serde_json::from_slice(line).map_err(|error| place.json(&error))? {
            Value::Object(fields) => fields,
            other => return Err(place.problem(format!("must be an object, is {}", kind_of(&other)))),
        };
        records.push(record(file, number + 1, line.len(), fields)?);
    }
    Ok(records)
}
