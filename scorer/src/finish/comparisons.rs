//! `comparisons.csv`: every pair, for spreadsheets.

use regatta_benchmarks::Better;

use super::FinishError;
use super::csv_text::harmless;
use crate::pairs::PairFamily;
use crate::statistics::Difference;

const HEADER: [&str; 17] = [
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
];

/// One line a pair; a difference is how much higher the first one's metric is.
pub(crate) fn csv(families: &[PairFamily]) -> Result<Vec<u8>, FinishError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for family in families {
        for pair in &family.pairs {
            let Difference { value, low, high, n, clusters, p, test } = pair.difference;
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
                pair.p_holm.to_string(),
                family.size.to_string(),
                test.map_or_else(String::new, |test| test.as_str().to_owned()),
                n.to_string(),
                clusters.to_string(),
            ])?;
        }
    }
    writer.into_inner().map_err(|error| FinishError::Csv(error.into_error().into()))
}

const fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}
