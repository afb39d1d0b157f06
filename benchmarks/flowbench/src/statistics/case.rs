//! Golden cases of kind `stats` (docs/benchmarks/flowbench.md §11): one statistic in each line.

use std::collections::BTreeMap;

use regatta_benchmarks::DataError;
use regatta_benchmarks::pearson;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use serde_json::{Map, Value, json};

use super::{failure_shares, repetitions};

/// Makes the entry of one line: `op` is `pearson` (`x`, `y`), `repeat_mean` (`runs`) or `failure_share` (`types`).
///
/// # Errors
/// With the field that is missing or has the wrong type.
pub(crate) fn stats_item(place: &SourceLocation<'_>, line: &Value) -> Result<Value, DataError> {
    match place.text(line, "op")? {
        "pearson" => Ok(json!({ "pearson": pearson(&scores(place, line, "x")?, &scores(place, line, "y")?) })),
        "repeat_mean" => {
            let runs = place.array(line, "runs")?.iter().enumerate();
            let runs =
                runs.map(|(at, run)| metrics(place, &format!("runs[{at}]"), run)).collect::<Result<Vec<_>, _>>()?;
            let summary = repetitions(&runs);
            Ok(json!({ "mean": summary.mean, "sd": summary.sd, "runs": summary.runs }))
        }
        "failure_share" => {
            let types = place.array(line, "types")?.iter().enumerate();
            let types = types.map(|(at, value)| category(place, at, value)).collect::<Result<Vec<_>, _>>()?;
            let shares: Map<String, Value> = failure_shares(&types)
                .into_iter()
                .map(|(category, share)| (category.to_string(), json!(share)))
                .collect();
            Ok(json!({ "failure_share_percent": shares }))
        }
        other => Err(place.error("op", format!("{other:?} is unknown; known: pearson, repeat_mean, failure_share"))),
    }
}

/// Parses scores, some of which may be null.
fn scores(place: &SourceLocation<'_>, line: &Value, field: &str) -> Result<Vec<Option<f64>>, DataError> {
    let values = place.array(line, field)?.iter().enumerate();
    values
        .map(|(at, value)| match value {
            Value::Null => Ok(None),
            value => number(place, &format!("{field}[{at}]"), value).map(Some),
        })
        .collect()
}

fn metrics(place: &SourceLocation<'_>, field: &str, run: &Value) -> Result<BTreeMap<String, f64>, DataError> {
    let Value::Object(run) = run else {
        return Err(place.error(field, format!("must be an object, is {}", kind_of(run))));
    };
    run.iter().map(|(name, value)| Ok((name.clone(), number(place, &format!("{field}.{name}"), value)?))).collect()
}

fn category(place: &SourceLocation<'_>, at: usize, value: &Value) -> Result<u8, DataError> {
    let category = value.as_u64().and_then(|category| u8::try_from(category).ok());
    category.ok_or_else(|| place.error(&format!("types[{at}]"), format!("must be a category from 1 to 5, is {value}")))
}

fn number(place: &SourceLocation<'_>, field: &str, value: &Value) -> Result<f64, DataError> {
    value.as_f64().ok_or_else(|| place.error(field, format!("must be a number, is {}", kind_of(value))))
}

#[cfg(test)]
mod tests {
    use regatta_benchmark_testing::{document, lines};

    use super::*;
    use crate::vectors::{assert_alike, shared};

    fn item(line: &Value) -> Result<Value, String> {
        stats_item(&SourceLocation::file("here", "predictions.jsonl").line(0), line).map_err(|error| error.to_string())
    }

    #[test]
    fn every_golden_statistic_is_computed() {
        let Some(shared) = shared() else { return };
        let expected = document(&shared.join("golden/stats/expected.json"));
        let lines = lines(&shared.join("golden/stats/predictions.jsonl"));
        assert_eq!(lines.len(), expected["items"].as_object().unwrap().len());
        for line in lines {
            let name = line["item"].as_str().unwrap();
            assert_alike(&expected["items"][name], &item(&line).unwrap(), name);
        }
    }

    #[test]
    fn a_line_of_another_form_is_refused_with_its_field() {
        let refusals = [
            json!({}),
            json!({"op": "median"}),
            json!({"op": "pearson", "x": [1, "2"], "y": []}),
            json!({"op": "repeat_mean", "runs": [{"f1": null}]}),
            json!({"op": "repeat_mean", "runs": [1]}),
            json!({"op": "failure_share", "types": [1.5]}),
        ];
        insta::assert_snapshot!(refusals.iter().map(|line| item(line).unwrap_err()).collect::<Vec<_>>().join("\n"));
    }
}
