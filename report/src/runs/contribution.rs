//! Contribution of one session to a metric, by which two scorings of the same session are compared.

use std::fmt;

use super::cells::Values;
use super::measures::MetricDefinition;
use crate::statistics::{Sample, leaves, sample};

/// Contribution of a session that has a score to a metric, whatever the metric's name: one part for each measure that it is an average of.
#[derive(Debug, Clone, PartialEq)]
pub struct Contribution(Vec<Sample>);

/// Parts that differ by less are equal.
const TOLERANCE: f64 = 1e-9;

impl MetricDefinition {
    /// Contribution of a session with these scores; `None` where its evaluator has not scored it.
    #[must_use]
    pub fn contribution(&self, scores: &Values) -> Option<Contribution> {
        let values = scores.get(&self.evaluator)?;
        Some(Contribution(leaves(&self.metric()).iter().map(|leaf| sample(leaf, values)).collect()))
    }
}

impl Contribution {
    /// Value of the metric over this session alone; `None` where a part has none: its judge gave no grade, or there is nothing to divide by.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        let of_part =
            |part: &Sample| part.parts().filter(|(_, bottom)| *bottom != 0.0).map(|(top, bottom)| top / bottom);
        let parts: Vec<f64> = self.0.iter().map(of_part).collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| parts.iter().sum::<f64>() / parts.len() as f64)
    }

    /// `true` where the session should have a value and has none: no judge graded it.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Sample::Missing { .. }))
    }

    /// `true` if the metric is the same with either: not only the value, but its weight in sums too.
    #[must_use]
    pub fn is_equal(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(one, other)| are_equal(*one, *other))
    }
}

fn are_equal(one: Sample, other: Sample) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() <= TOLERANCE;
    match (one, other) {
        (Sample::Scored { top, bottom }, Sample::Scored { top: other_top, bottom: other_bottom }) => {
            near(top, other_top) && near(bottom, other_bottom)
        }
        (Sample::Missing { weight }, Sample::Missing { weight: other }) => near(weight, other),
        (Sample::Scored { .. } | Sample::Missing { .. }, _)
        | (Sample::Nothing | Sample::NotBought | Sample::Void | Sample::DropsRun | Sample::ZeroesGroup, _) => {
            one == other
        }
    }
}

impl fmt::Display for Contribution {
    /// The value, of a ratio with what it is a part of: `0.5000 of 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.as_slice(), self.value()) {
            (_, None) => f.write_str("no value"),
            ([Sample::Scored { bottom, .. }], Some(value)) if *bottom != 1.0 => write!(f, "{value:.4} of {bottom}"),
            (_, Some(value)) => write!(f, "{value:.4}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use regatta_benchmarks::{Measure, Metric};
    use regatta_proto::Evaluator;

    use super::*;

    fn contribution(metric: &Metric, values: &[(&str, f64)]) -> Contribution {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let definition = MetricDefinition::new(Evaluator::Official, metric, true);
        definition.contribution(&BTreeMap::from([(Evaluator::Official, values)])).unwrap()
    }

    #[test]
    fn a_session_contributes_by_the_values_that_the_metric_is_made_of() {
        let mean = |value: &str| Measure::Mean { value: value.to_owned() };
        let quality = Metric { name: "quality".to_owned(), ..Metric::mean("grade") };
        assert_eq!(contribution(&quality, &[("grade", 0.5)]).value(), Some(0.5));
        let both = Metric { measure: Measure::Average { of: vec![mean("grade"), mean("exact")] }, ..quality.clone() };
        assert_eq!(contribution(&both, &[("grade", 0.5), ("exact", 1.0)]).value(), Some(0.75));
        let f1 = Measure::F1 { right: "right".to_owned(), predicted: "said".to_owned(), gold: "gold".to_owned() };
        let f1 = Metric { measure: f1, ..quality };
        let [one, other] = [[1.0, 2.0, 2.0], [2.0, 4.0, 4.0]]
            .map(|[right, said, gold]| contribution(&f1, &[("right", right), ("said", said), ("gold", gold)]));
        assert_eq!((one.value(), other.value()), (Some(0.5), Some(0.5)));
        assert!(one.is_equal(&one) && !one.is_equal(&other), "the other weighs twice as much");
        assert_eq!([one, other].map(|of| of.to_string()), ["0.5000 of 4", "0.5000 of 8"]);
    }

    #[test]
    fn a_grade_that_nobody_gave_is_no_value_and_another_than_a_grade() {
        let quality =
            Metric { missing_if: [("grade".to_owned(), "grade_ungraded".to_owned())].into(), ..Metric::mean("grade") };
        let graded = contribution(&quality, &[("grade", 1.0), ("grade_ungraded", 0.0)]);
        let ungraded = contribution(&quality, &[("grade_ungraded", 1.0)]);
        assert_eq!((ungraded.value(), ungraded.to_string().as_str()), (None, "no value"));
        assert!(ungraded.is_missing() && !graded.is_missing());
        assert!(!ungraded.is_equal(&graded) && !graded.is_equal(&ungraded) && ungraded.is_equal(&ungraded));
    }
}
