//! Metrics over the values of a program's scores, and the scores themselves held against their declaration.

use std::collections::BTreeMap;

use regatta_benchmarks::{DataError, Measure, Metric, Score};
use regatta_coded::Scored;

use crate::definition::{Coded, Named, Source, ValueSpec};
use crate::tables::{check_range, named_metrics};

/// The metrics that the definition names, or else the mean of each value.
///
/// # Errors
/// When a value cannot be as it is declared, or a metric is made of what is not there.
pub(super) fn metrics(source: &Source, definition: &Coded) -> Result<Vec<Metric>, DataError> {
    if definition.values.is_empty() {
        return Err(source.problem("values", "declares none; name the values that `score` gives, as { solved: {} }"));
    }
    for (name, spec) in definition.values.iter() {
        let path = format!("values.{name}");
        check_range(spec.range).map_err(|problem| source.problem(&format!("{path}.range"), problem))?;
        let (low, high) = spec.range;
        if !(low..=high).contains(&spec.worst()) {
            return Err(source.problem(&format!("{path}.worst"), format!("{} is not in {low}..={high}", spec.worst())));
        }
    }
    let own = |value: &str| definition.values.iter().find(|(name, _)| *name == value).map(|(_, spec)| spec);
    if definition.metrics.is_empty() {
        let metrics = definition.values.iter().map(|(name, spec)| of_value(Metric::mean(name.as_str()), spec));
        return Ok(metrics.collect());
    }
    let values: Vec<String> = definition.values.iter().map(|(name, _)| name.to_string()).collect();
    let mut metrics = named_metrics(source, &definition.metrics, &values)?;
    for (metric, (_, said)) in metrics.iter_mut().zip(definition.metrics.iter()) {
        // The range of a mean is that of its value; who wants another one says so.
        if let Measure::Mean { value } = &metric.measure
            && let Some(spec) = own(value)
        {
            let plain = of_value(metric.clone(), spec);
            metric.range = said.range.unwrap_or(plain.range);
            metric.better = said.better.unwrap_or(plain.better);
        }
        if let Measure::Ratio { of_item, .. } = &mut metric.measure {
            // Only the program could say so; bounds are wider without it, never wrong.
            *of_item = false;
        }
    }
    Ok(metrics)
}

fn of_value(metric: Metric, spec: &ValueSpec) -> Metric {
    Metric { range: spec.range, better: spec.better, ..metric }
}

/// A session's score.
///
/// # Errors
/// In words, when a value is missing, is not declared, or is outside of its range.
pub(super) fn score(declared: &Named<ValueSpec>, scored: Scored) -> Result<Score, String> {
    let Scored { values, detail, questions: _, images: _ } = scored;
    for (name, spec) in declared.iter() {
        let (low, high) = spec.range;
        match values.get(name.as_str()) {
            Some(value) if value.is_finite() && (low..=high).contains(value) => {}
            Some(value) => {
                return Err(format!(
                    "gave {name} = {value}, outside of its range {low}..={high}; declare it under `values`"
                ));
            }
            None => return Err(format!("gave no {name}, which `values` declares; gave: {}", listed(&values))),
        }
    }
    match values.keys().find(|given| !declared.iter().any(|(name, _)| name == given.as_str())) {
        Some(other) => Err(format!("gave {other}, which `values` does not declare; declared: {}", declared.names())),
        None => Ok(Score { values, detail }),
    }
}

fn listed(values: &BTreeMap<String, f64>) -> String {
    let names: Vec<&str> = values.keys().map(String::as_str).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
