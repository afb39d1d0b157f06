//! Golden cases of every kind.

use std::collections::BTreeMap;

use regatta_benchmarks::case::{Case, case_place, score_predictions_case};
use regatta_benchmarks::{Benchmark, DataError};
use regatta_proto::FileSet;
use serde_json::Value;

use super::WorfBench;

/// Scores a case over `data`: its outputs by file name.
///
/// # Errors
/// When an input cannot be read, or the case is of no known kind.
pub(crate) fn score(case: &Case, files: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
    match case.kind.as_str() {
        "predictions" => score_predictions_case(case, files, &*WorfBench.load(data)?),
        // Vectors for single functions, which tests of those functions read.
        "unit" => Ok(BTreeMap::new()),
        other => Err(case_place(files).error("kind", format!("{other:?} is unknown; known: predictions, unit"))),
    }
}
