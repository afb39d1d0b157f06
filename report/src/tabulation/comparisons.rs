//! `comparisons.csv`: every pair, for spreadsheets.

use regatta_benchmarks::Better;

use super::TabulationError;
use super::csv_text::harmless;
use crate::pairs::PairFamily;
use crate::statistics::{Difference, Gaps};

const HEADER: [&str; 24] = [
    "benchmark",
    "evaluator",
    "metric",
    "better",
    "model",
    "setting",
    "other_model",
    "other_setting",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "family",
    "test",
    "n",
    "clusters",
    "coverage",
    "withheld",
    "bound_low",
    "bound_high",
    "complete_low",
    "complete_high",
    "complete_p",
];

/// One line a pair; a difference is how much higher the first one's metric is. Where no session is missing, the bounds are the difference,
/// and what is of the complete sessions is that of all.
pub(crate) fn csv(families: &[PairFamily]) -> Result<Vec<u8>, TabulationError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for family in families {
        for pair in &family.pairs {
            let Difference { value, low, high, n, clusters, p, test, missing, withheld } = pair.difference;
            let whole = Gaps {
                coverage: 1.0,
                bound_low: Some(value),
                bound_high: Some(value),
                complete_low: low,
                complete_high: high,
                complete_p: p,
            };
            let missing = missing.unwrap_or(whole);
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            writer.write_record([
                family.benchmark.to_string(),
                pair.evaluator.to_string(),
                harmless(&pair.metric),
                better(pair.better).to_owned(),
                pair.one.model.to_string(),
                pair.one.setting.to_string(),
                pair.other.model.to_string(),
                pair.other.setting.to_string(),
                value.to_string(),
                number(low),
                number(high),
                number(p),
                number(pair.p_holm),
                family.size.to_string(),
                test.map_or_else(String::new, |test| test.as_str().to_owned()),
                n.to_string(),
                clusters.to_string(),
                missing.coverage.to_string(),
                withheld.to_string(),
                number(missing.bound_low),
                number(missing.bound_high),
                number(missing.complete_low),
                number(missing.complete_high),
                number(missing.complete_p),
            ])?;
        }
    }
    writer.into_inner().map_err(|error| TabulationError::Csv(error.into_error().into()))
}

const fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}
