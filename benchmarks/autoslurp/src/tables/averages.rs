//! Numbers of aggregates that are averages over sessions, and so have an interval: neither counts nor what is divided by a fixed number.

use regatta_proto::Evaluator;

use crate::scoring::{Rule, rule};

/// Least and largest value of the number at `pointer` in an aggregate of `evaluator`; `None` of what is no average.
pub(crate) fn aggregate_range(evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
    let is_share = match (rule(evaluator), pointer.rsplit('/').next()?) {
        // The scripts divide what is right by 100, however many items there are.
        (Rule::Official(_), name) => name == "right_over_items",
        (Rule::Paper, name) => name == "acc",
        (Rule::Structured, name) => {
            matches!(name, "success_rate" | "success_rate_lenient" | "strict" | "ignore_slot_names")
        }
    };
    is_share.then_some((0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_divides_by_100_is_no_average_and_the_papers_accuracy_is_one() {
        assert_eq!(aggregate_range(Evaluator::Official, "/acc"), None);
        assert_eq!(aggregate_range(Evaluator::Official, "/right"), None);
        assert_eq!(aggregate_range(Evaluator::Official, "/right_over_items"), Some((0.0, 1.0)));
        assert_eq!(aggregate_range(Evaluator::Paper, "/acc"), Some((0.0, 1.0)));
        assert_eq!(aggregate_range(Evaluator::Structured, "/intent_by_domain/alarm/strict"), Some((0.0, 1.0)));
        assert_eq!(aggregate_range(Evaluator::Structured, "/intent_by_domain/alarm/n"), None);
    }
}
