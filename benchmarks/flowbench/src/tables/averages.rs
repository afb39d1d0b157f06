//! Numbers of aggregates that are averages over sessions, and so have an interval: all except counts.

/// Returns the least and greatest possible value of the number at `pointer` in an aggregate; `None` for counts.
pub(crate) fn aggregate_range(pointer: &str) -> Option<(f64, f64)> {
    if pointer.contains("/failure_share_percent/") {
        return Some((0.0, 100.0));
    }
    match pointer.rsplit('/').next()? {
        "turn_call_pre" | "turn_call_rec" | "turn_params_pre" | "turn_params_rec" | "derived_f1_call"
        | "derived_f1_params" | "tool_precision" | "tool_recall" | "tool_f1" | "derived_tool_f1"
        | "param_precision" | "param_recall" | "param_f1" | "node_accuracy" | "success_rate" | "avg_progress"
        | "task_progress" => Some((0.0, 1.0)),
        "response_score_mean" => Some((0.0, 10.0)),
        "avg_turns" => Some((0.0, f64::INFINITY)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_have_the_range_of_their_scale_and_counts_have_none() {
        assert_eq!(aggregate_range("/single/tool_f1"), Some((0.0, 1.0)));
        assert_eq!(aggregate_range("/failure_share_percent/3"), Some((0.0, 100.0)));
        assert_eq!(aggregate_range("/response_score_mean"), Some((0.0, 10.0)));
        assert_eq!(aggregate_range("/avg_turns"), Some((0.0, f64::INFINITY)));
        for count in ["/sessions", "/call_right", "/params_all_gt", "/node_total", "/failures"] {
            assert_eq!(aggregate_range(count), None, "{count}");
        }
    }
}
