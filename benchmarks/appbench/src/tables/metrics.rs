//! Metrics, by setting and evaluator (docs/benchmarks/appbench.md §5 to §7).

use regatta_benchmarks::{Better, Measure, Metric, Unit};
use regatta_proto::{Evaluator, Setting};

use crate::official::value;
use crate::setting::{Route, SessionMode};

/// Names of metrics.
pub(crate) mod name {
    /// F1 of apps.
    pub(crate) const F1_APP: &str = "f1_app";
    /// F1 of APIs.
    pub(crate) const F1_API: &str = "f1_api";
    /// F1 of arguments.
    pub(crate) const F1_ARGUMENT: &str = "f1_argument";
    /// Items that are right.
    pub(crate) const SUCCESS: &str = "succ";
    /// The same among items about which nothing is odd.
    pub(crate) const SUCCESS_UNFLAGGED: &str = "succ_unflagged";
    /// Items whose apps are those of the gold.
    pub(crate) const EM_APP: &str = "em_app";
    /// Items whose APIs are those of the gold.
    pub(crate) const EM_API: &str = "em_api";
    /// Items whose arguments are those of the gold.
    pub(crate) const EM_ARGUMENT: &str = "em_argument";
    /// Items without an independent argument.
    pub(crate) const KEY_INDEPENDENT: &str = "error_key_independent";
    /// Items without a dependent argument.
    pub(crate) const KEY_DEPENDENT: &str = "error_key_dependent";
    /// Items with a wrong value of an independent argument.
    pub(crate) const VALUE_INDEPENDENT: &str = "error_value_independent";
    /// Items with a wrong value of a dependent argument.
    pub(crate) const VALUE_DEPENDENT: &str = "error_value_dependent";
    /// Wrong values that are of time.
    pub(crate) const TIME_ERRORS: &str = "error_time";
    /// Wrong values that are of place.
    pub(crate) const PLACE_ERRORS: &str = "error_place";
    /// Calls that cannot be read.
    pub(crate) const UNPARSEABLE: &str = "unparseable";
    /// Items that are left out.
    pub(crate) const DROPPED: &str = "dropped";
    /// Items whose executed calls are the true ones.
    pub(crate) const EXEC_SUCCESS: &str = "exec_success";
    /// Items with a call that was not executed.
    pub(crate) const EXEC_ERROR: &str = "exec_error";
    /// F1 of executed calls.
    pub(crate) const CALL_F1: &str = "call_f1";
    /// Steps that a plan takes.
    pub(crate) const MAKESPAN: &str = "makespan";
}

/// Metrics of `evaluator` in `setting`. Sessions with tools make no plan, so they have metrics of execution only.
pub(crate) fn metrics(setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
    let has_plans = SessionMode::of(setting).is_some_and(|named| named.mode.route != Route::Tools);
    match evaluator {
        Evaluator::Exec => executed(),
        _ if !has_plans => Vec::new(),
        Evaluator::Official | Evaluator::OfficialFixed => official(),
        _ => paper(),
    }
}

/// The official F1s of arguments that depend on others, and of those that do not, are no ratios of sums (where there are none, precision or
/// recall is 1), so they are in the aggregates alone.
fn official() -> Vec<Metric> {
    let analysis = |counter: &str| format!("{}{counter}", value::ANALYSIS);
    let mismatches = analysis("key_value_mismatch");
    vec![
        share(name::SUCCESS, "total_match"),
        f1(name::F1_APP, ["app_hit_count", "total_pred_apps", "total_ground_apps"]),
        f1(name::F1_API, ["api_hit_count", "total_pred_apis", "total_ground_apis"]),
        hidden(f1(name::F1_ARGUMENT, ["api_argu_hit_count", "total_pred_api_argu", "total_ground_api_argu"])),
        hidden(share(name::EM_APP, "app_em_count")),
        hidden(share(name::EM_API, "api_em_count")),
        hidden(share(name::EM_ARGUMENT, value::ARGUMENT_EM)),
        hidden(share(name::SUCCESS_UNFLAGGED, value::UNFLAGGED_MATCH)),
        error(share(name::KEY_INDEPENDENT, value::INDEPENDENT_KEY_ERROR)),
        error(share(name::KEY_DEPENDENT, &analysis("depend_key_missing_error"))),
        error(share(name::VALUE_INDEPENDENT, value::INDEPENDENT_VALUE_ERROR)),
        error(share(name::VALUE_DEPENDENT, &analysis("depend_key_value_mismatch_error"))),
        error(ratio(name::TIME_ERRORS, &analysis("date_related_value_error"), &mismatches)),
        error(ratio(name::PLACE_ERRORS, &analysis("location_related_value_error"), &mismatches)),
        error(ratio(name::UNPARSEABLE, value::UNPARSEABLE, "total_pred_apis")),
        error(share(name::DROPPED, value::DROPPED)),
    ]
}

fn paper() -> Vec<Metric> {
    vec![
        share(name::SUCCESS, "succ"),
        f1(name::F1_APP, ["app_hit", "app_pred", "app_gold"]),
        f1(name::F1_API, ["api_hit", "api_pred", "api_gold"]),
        hidden(share(name::EM_APP, "app_em")),
        hidden(share(name::EM_API, "api_em")),
    ]
}

fn executed() -> Vec<Metric> {
    vec![
        share(name::EXEC_SUCCESS, "exec_success"),
        f1(name::CALL_F1, ["call_hit", "call_pred", "call_gold"]),
        error(share(name::EXEC_ERROR, "exec_error")),
        hidden(Metric {
            range: (0.0, f64::INFINITY),
            better: Better::Lower,
            unit: Unit::Turns,
            ..Metric::mean(name::MAKESPAN)
        }),
    ]
}

fn share(name: &str, value: &str) -> Metric {
    Metric { measure: Measure::Mean { value: value.to_owned() }, unit: Unit::Percent, ..Metric::mean(name) }
}

fn ratio(name: &str, numerator: &str, denominator: &str) -> Metric {
    let measure =
        Measure::Ratio { numerator: numerator.to_owned(), denominator: denominator.to_owned(), of_item: false };
    Metric { measure, unit: Unit::Percent, ..Metric::mean(name) }
}

fn f1(name: &str, [right, predicted, gold]: [&str; 3]) -> Metric {
    let measure = Measure::F1 { right: right.to_owned(), predicted: predicted.to_owned(), gold: gold.to_owned() };
    Metric { measure, unit: Unit::Percent, if_empty: Some(0.0), ..Metric::mean(name) }
}

fn hidden(metric: Metric) -> Metric {
    Metric { headline: false, ..metric }
}

fn error(metric: Metric) -> Metric {
    Metric { better: Better::Lower, headline: false, ..metric }
}
