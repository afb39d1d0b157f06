//! Numbers of aggregates that are averages over sessions, and so have an interval: all except counts.

/// Objects in which every number is a share.
const SHARES: [&str; 6] = [
    "/key_metrics/",
    "/workflow_scores/",
    "/reject_decision_performance/",
    "/fc_decision_performance/",
    "/error_patterns/",
    "/unrounded_means/",
];

/// Returns the least and greatest possible value of the number at `pointer` in an aggregate; `None` for counts, also
/// for means of counts over runs.
pub(crate) fn aggregate_range(pointer: &str) -> Option<(f64, f64)> {
    let is_share = match pointer.rsplit('/').next()? {
        "Plan"
        | "C~1R"
        | "FC"
        | "Score"
        | "Average"
        | "Call Rejection Classification Accuracy"
        | "tool_f1"
        | "key_f1"
        | "argument_f1"
        | "rejection_type_accuracy"
        | "function_name_accuracy"
        | "arguments_key_score"
        | "arguments_value_score_not_count_rejection"
        | "overall_function_call_failed_rate" => true,
        name => !name.starts_with("total_") && SHARES.iter().any(|object| pointer.contains(object)),
    };
    is_share.then_some((0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_range_and_counts_have_none() {
        let shares = [
            "/English/overall_statistics/key_metrics/FC",
            "/English/overall_statistics/score_details/call_rejection_scores/error_patterns/overaction_rate",
            "/Korean/C~1R",
            "/overall/Average",
        ];
        for share in shares {
            assert_eq!(aggregate_range(share), Some((0.0, 1.0)), "{share}");
        }
        let counts = [
            "/English/overall_statistics/total_files",
            "/English/overall_statistics/score_details/raw_confusion_matrix/total_true_positive_reject",
            "/English/overall_statistics/score_details/function_call_scores/total_function_call_cases",
            "/Korean/counts/gold_fc",
        ];
        for count in counts {
            assert_eq!(aggregate_range(count), None, "{count}");
        }
    }
}
