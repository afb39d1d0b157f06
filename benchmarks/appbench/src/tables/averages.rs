//! Numbers of aggregates that are averages over sessions, and so have an interval: all but counts.

/// Least and largest value of the number at `pointer` in an aggregate; `None` of counts.
pub(crate) fn aggregate_range(pointer: &str) -> Option<(f64, f64)> {
    match pointer.rsplit('/').next()? {
        // The released code counts a hit more than once, so that these reach beyond 1.
        "depend_argu_hit_f1" | "non_depend_argu_hit_f1" => Some((0.0, f64::INFINITY)),
        "app_hit_f1" | "api_hit_f1" | "argu_hit_f1" | "complete_match" | "em" | "em_app" | "em_api" | "f1_app"
        | "f1_api" | "succ" | "app_precision" | "app_recall" | "api_precision" | "api_recall" | "call_precision"
        | "call_recall" | "call_f1" | "exec_success" => Some((0.0, 1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_range_and_counts_have_none() {
        for share in ["/ss/evaluation/app_hit_f1", "/mm/succ", "/sm/call_f1", "/ms/argument_em_by_topology/1x1.00/em"] {
            assert_eq!(aggregate_range(share), Some((0.0, 1.0)), "{share}");
        }
        for count in ["/ss/n", "/ss/evaluation_counters/api_em_count", "/mm/items_with_error", "/ss/dropped"] {
            assert_eq!(aggregate_range(count), None, "{count}");
        }
        assert_eq!(aggregate_range("/ss/evaluation/non_depend_argu_hit_f1"), Some((0.0, f64::INFINITY)));
    }
}
