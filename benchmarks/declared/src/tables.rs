//! Metrics, and what stands in tables.

use regatta_benchmarks::{Better, DataError, Measure, Metric, Unit};

use crate::definition::{MetricSpec, Named, Source};
use crate::scoring::{Rule, Scorer};

/// The metrics that the definition names, or else those of the scorers.
///
/// # Errors
/// When one is made of a value or a metric that is not there, or says nothing or several things.
pub(crate) fn metrics(
    source: &Source,
    named: &Named<MetricSpec>,
    scorers: &[Scorer],
) -> Result<Vec<Metric>, DataError> {
    if named.is_empty() {
        let metrics: Vec<Metric> =
            scorers.iter().flat_map(own_metrics).map(|metric| missing_without_grade(metric, scorers)).collect();
        let is_again = |at: &usize| metrics[..*at].iter().any(|earlier| earlier.name == metrics[*at].name);
        return match (0..metrics.len()).find(is_again) {
            Some(at) => {
                Err(source.problem("scorers", format!("two of them have a metric {}; rename one", metrics[at].name)))
            }
            None => Ok(metrics),
        };
    }
    let values: Vec<String> = scorers.iter().flat_map(Scorer::values).collect();
    let metrics = named_metrics(source, named, &values)?;
    Ok(metrics.into_iter().map(|metric| missing_without_grade(metric, scorers)).collect())
}

/// `metric`, from which sessions are missing whose judge gave none of the grades that it is made of.
fn missing_without_grade(metric: Metric, scorers: &[Scorer]) -> Metric {
    let values = metric.measure.values();
    let is_of = |scorer: &&Scorer| values.contains(&scorer.name.as_str());
    let flag = |scorer: &Scorer| Some((scorer.name.to_string(), scorer.ungraded()?));
    let missing_if = scorers.iter().filter(is_of).filter_map(flag).collect();
    Metric { missing_if, ..metric }
}

/// The metrics that a definition names, made of `values`.
///
/// # Errors
/// As [`metrics`].
pub(crate) fn named_metrics(
    source: &Source,
    named: &Named<MetricSpec>,
    values: &[String],
) -> Result<Vec<Metric>, DataError> {
    let mut metrics: Vec<Metric> = Vec::new();
    for (name, spec) in named.iter() {
        let path = format!("metrics.{name}");
        let measure = measure(spec, values, &metrics).map_err(|problem| source.problem(&path, problem))?;
        let plain = Metric::mean(name.as_str());
        let range = spec.range.unwrap_or(plain.range);
        check_range(range).map_err(|problem| source.problem(&format!("{path}.range"), problem))?;
        metrics.push(Metric {
            measure,
            range,
            better: spec.better.unwrap_or(plain.better),
            unit: spec.unit.into(),
            headline: spec.headline,
            ..plain
        });
    }
    Ok(metrics)
}

/// Refuses what is no range of numbers.
pub(crate) fn check_range((low, high): (f64, f64)) -> Result<(), String> {
    if low.is_finite() && high.is_finite() && low < high {
        Ok(())
    } else {
        Err(format!("[{low}, {high}] must be two numbers, the smaller first"))
    }
}

/// Metrics of a scorer that nobody has named.
fn own_metrics(scorer: &Scorer) -> Vec<Metric> {
    let name = scorer.name.as_str();
    let value = |of: &str| format!("{name}_{of}");
    let mean = Metric::mean(name);
    match scorer.rule {
        Rule::Constraints => {
            let measure = Measure::Ratio { numerator: value("kept"), denominator: value("count"), of_item: true };
            vec![mean, Metric { measure, ..Metric::mean(&value("each")) }]
        }
        Rule::Fields => {
            let measure = Measure::F1 { right: value("right"), predicted: value("predicted"), gold: value("gold") };
            vec![mean, Metric { measure, ..Metric::mean(&value("f1")) }]
        }
        Rule::Judge(_) => vec![
            mean,
            Metric { better: Better::Lower, unit: Unit::Percent, headline: false, ..Metric::mean(&value("ungraded")) },
        ],
        Rule::Exact(_)
        | Rule::Normalised(_)
        | Rule::F1(_)
        | Rule::Rouge(_)
        | Rule::Bleu
        | Rule::Chrf { .. }
        | Rule::Contains(_)
        | Rule::Number(_)
        | Rule::Choice
        | Rule::Schema(_)
        | Rule::Calls { .. }
        | Rule::Similarity => vec![mean],
    }
}

fn measure(spec: &MetricSpec, values: &[String], earlier: &[Metric]) -> Result<Measure, String> {
    let known = |value: &String| {
        if values.contains(value) {
            Ok(value.clone())
        } else {
            Err(format!("there is no value {value:?}; the scorers give: {}", values.join(", ")))
        }
    };
    match spec {
        MetricSpec { mean: Some(value), ratio: None, f1: None, average: None, .. } => {
            Ok(Measure::Mean { value: known(value)? })
        }
        MetricSpec { mean: None, ratio: Some(ratio), f1: None, average: None, .. } => Ok(Measure::Ratio {
            numerator: known(&ratio.numerator)?,
            denominator: known(&ratio.denominator)?,
            of_item: ratio.denominator.ends_with("_count") || ratio.denominator.ends_with("_gold"),
        }),
        MetricSpec { mean: None, ratio: None, f1: Some(f1), average: None, .. } => {
            Ok(Measure::F1 { right: known(&f1.right)?, predicted: known(&f1.predicted)?, gold: known(&f1.gold)? })
        }
        MetricSpec { mean: None, ratio: None, f1: None, average: Some(names), .. } => {
            let of = |name: &String| {
                let metric = earlier.iter().find(|metric| metric.name == *name);
                metric.map(|metric| metric.measure.clone()).ok_or_else(|| {
                    let names: Vec<&str> = earlier.iter().map(|metric| metric.name.as_str()).collect();
                    format!("there is no metric {name:?} before this one; there are: {}", names.join(", "))
                })
            };
            if names.is_empty() {
                return Err("is an average of nothing; name some metrics".to_owned());
            }
            Ok(Measure::Average { of: names.iter().map(of).collect::<Result<_, _>>()? })
        }
        _ => Err("write one of mean, ratio, f1 and average".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_of_means_is_no_ratio_of_sums() {
        let mean = || Measure::Mean { value: "right".to_owned() };
        let ratio = || Measure::Ratio { numerator: "kept".to_owned(), denominator: "count".to_owned(), of_item: true };
        assert!(!Measure::Average { of: vec![mean(), mean()] }.is_of_sums());
        assert!(Measure::Average { of: vec![mean(), ratio()] }.is_of_sums());
    }
}
