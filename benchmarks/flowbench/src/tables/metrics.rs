//! Metrics, by setting and evaluator (docs/benchmarks/flowbench.md §5.6, §6).

use regatta_benchmarks::{Better, Measure, Metric, Unit};
use regatta_proto::Evaluator;

use crate::setting::{Format, Level, Mode};

/// Names of metrics.
pub(crate) mod name {
    /// Right calls as a share of the predicted ones.
    pub(crate) const TOOL_PRECISION: &str = "tool_precision";
    /// Right calls as a share of the gold ones.
    pub(crate) const TOOL_RECALL: &str = "tool_recall";
    /// Harmonic mean of tool precision and recall.
    pub(crate) const TOOL_F1: &str = "tool_f1";
    /// Right parameters as a share of the predicted ones.
    pub(crate) const PARAM_PRECISION: &str = "param_precision";
    /// Right parameters as a share of the gold ones.
    pub(crate) const PARAM_RECALL: &str = "param_recall";
    /// Harmonic mean of parameter precision and recall.
    pub(crate) const PARAM_F1: &str = "param_f1";
    /// The judge's grade of replies, 0 to 10.
    pub(crate) const RESPONSE_SCORE: &str = "response_score";
    /// Share of turns that state the right node of the flowchart.
    pub(crate) const NODE_ACCURACY: &str = "node_accuracy";
    /// Share of sessions in which every goal was reached.
    pub(crate) const SUCCESS_RATE: &str = "success_rate";
    /// Share of a session's goals that were reached.
    pub(crate) const PROGRESS: &str = "progress";
    /// Number of the agent's messages in a session.
    pub(crate) const AVG_TURNS: &str = "avg_turns";
    /// Shares of failures of types 1 to 5.
    pub(crate) const FAILURES: [&str; 5] = ["failure_1", "failure_2", "failure_3", "failure_4", "failure_5"];
}

/// Metrics of `mode`. The sums run over all sessions of a trial (micro averages).
pub(crate) fn metrics(mode: Mode, evaluator: Evaluator) -> Vec<Metric> {
    match mode.level {
        Level::Turn => of_turns(mode.format, evaluator),
        Level::Session => of_sessions(evaluator),
    }
}

fn of_turns(format: Format, evaluator: Evaluator) -> Vec<Metric> {
    let [tool_precision, tool_recall, tool_f1] = ratios(
        [name::TOOL_PRECISION, name::TOOL_RECALL, name::TOOL_F1],
        ["right_function", "all_function_pred", "all_function"],
        1.0,
        evaluator,
    );
    let [param_precision, param_recall, param_f1] = ratios(
        [name::PARAM_PRECISION, name::PARAM_RECALL, name::PARAM_F1],
        ["right_params", "all_params_pred", "all_params"],
        1.0,
        evaluator,
    );
    let hidden = |metric: Metric| Metric { headline: false, ..metric };
    let mut all = vec![tool_precision, tool_recall, tool_f1, hidden(param_precision), hidden(param_recall), param_f1];
    // The released code neither grades replies nor checks nodes.
    if evaluator != Evaluator::Paper {
        return all;
    }
    all.push(Metric { range: (0.0, 10.0), unit: Unit::OutOfTen, ..Metric::mean(name::RESPONSE_SCORE) });
    if format == Format::Flowchart {
        all.push(Metric {
            measure: Measure::Mean { value: "node_right".to_owned() },
            unit: Unit::Percent,
            ..Metric::mean(name::NODE_ACCURACY)
        });
    }
    all
}

fn of_sessions(evaluator: Evaluator) -> Vec<Metric> {
    // One prediction may match several gold calls (docs/benchmarks/flowbench.md §5.4, §6.4), so a precision may
    // exceed 1, and an F1 may approach 2.
    let [precision, recall, f1] = ratios(
        [name::TOOL_PRECISION, name::TOOL_RECALL, name::TOOL_F1],
        ["right_calls", "predicted_calls", "gold_calls"],
        f64::INFINITY,
        evaluator,
    );
    let f1 = Metric { range: (0.0, 2.0), ..f1 };
    // The official progress is the quotient of any two numbers that a judge names (docs/benchmarks/flowbench.md §5.5).
    let most = if evaluator == Evaluator::Paper { 1.0 } else { f64::INFINITY };
    let success = Measure::Mean { value: "success".to_owned() };
    let mut all = vec![
        precision,
        recall,
        f1,
        Metric { measure: success, unit: Unit::Percent, ..Metric::mean(name::SUCCESS_RATE) },
        Metric { range: (0.0, most), unit: Unit::Percent, ..Metric::mean(name::PROGRESS) },
        Metric {
            measure: Measure::Mean { value: "agent_turns".to_owned() },
            range: (0.0, f64::INFINITY),
            better: Better::Lower,
            unit: Unit::Turns,
            headline: false,
            ..Metric::mean(name::AVG_TURNS)
        },
    ];
    if evaluator != Evaluator::Paper {
        return all;
    }
    all.extend(name::FAILURES.into_iter().map(|name| Metric {
        measure: Measure::Ratio { numerator: name.to_owned(), denominator: "failed".to_owned(), of_item: false },
        better: Better::Lower,
        unit: Unit::Percent,
        // Without failures, all shares are 0 (docs/benchmarks/flowbench.md §6.6).
        if_empty: Some(0.0),
        headline: false,
        ..Metric::mean(name)
    }));
    all
}

/// Precision, recall and F1 of `right` relative to `predicted` and `gold`; a prediction counts at most `most` times.
fn ratios(
    [precision, recall, f1]: [&str; 3],
    [right, predicted, gold]: [&str; 3],
    most: f64,
    evaluator: Evaluator,
) -> [Metric; 3] {
    // The published code divides by −1 when a denominator is 0 (docs/benchmarks/flowbench.md §5.6).
    let nothing = if evaluator == Evaluator::Paper { 0.0 } else { -0.0 };
    // The published code prints no number when it crashes (docs/benchmarks/flowbench.md §5.3).
    let void_if = (evaluator == Evaluator::Official).then(|| "crashed".to_owned());
    let ratio = |name: &str, denominator: &str, range, of_item| Metric {
        measure: Measure::Ratio { numerator: right.to_owned(), denominator: denominator.to_owned(), of_item },
        range,
        unit: Unit::Percent,
        if_empty: Some(nothing),
        void_if: void_if.clone(),
        ..Metric::mean(name)
    };
    let measure = Measure::F1 { right: right.to_owned(), predicted: predicted.to_owned(), gold: gold.to_owned() };
    [
        ratio(precision, predicted, (0.0, most), false),
        ratio(recall, gold, (0.0, 1.0), true),
        Metric { measure, unit: Unit::Percent, if_empty: Some(0.0), void_if, ..Metric::mean(f1) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(setting: &str, evaluator: Evaluator) -> Vec<(String, bool)> {
        let mode = Mode::of(&setting.parse().unwrap()).unwrap();
        metrics(mode, evaluator).into_iter().map(|metric| (metric.name, metric.headline)).collect()
    }

    #[test]
    fn every_metric_of_every_setting_has_a_name_of_its_own_and_a_range() {
        for mode in Mode::all() {
            for evaluator in [Evaluator::Official, Evaluator::OfficialFixed, Evaluator::Paper] {
                let all = metrics(mode, evaluator);
                let names: std::collections::BTreeSet<&str> = all.iter().map(|metric| metric.name.as_str()).collect();
                assert_eq!(names.len(), all.len());
                assert!(all.iter().all(|metric| metric.range.0 < metric.range.1));
            }
        }
    }

    #[test]
    fn leaderboards_show_the_columns_of_the_papers_tables() {
        let shown = |setting| -> Vec<String> {
            let all = names(setting, Evaluator::Paper).into_iter();
            all.filter(|(_, headline)| *headline).map(|(name, _)| name).collect()
        };
        assert_eq!(
            shown("turn/single/text"),
            ["tool_precision", "tool_recall", "tool_f1", "param_f1", "response_score"]
        );
        assert_eq!(
            shown("session/cross/ensemble"),
            ["tool_precision", "tool_recall", "tool_f1", "success_rate", "progress"]
        );
    }

    #[test]
    fn nodes_are_asked_for_only_where_the_agent_sees_a_flowchart() {
        let has_nodes = |setting| names(setting, Evaluator::Paper).iter().any(|(name, _)| name == name::NODE_ACCURACY);
        assert!(has_nodes("turn/cross/flowchart") && !has_nodes("turn/cross/text"));
    }

    #[test]
    fn the_published_code_makes_a_negative_zero_of_nothing() {
        let mode = Mode::DEFAULT;
        let of = |evaluator| metrics(mode, evaluator).remove(0).if_empty.unwrap();
        assert!(of(Evaluator::Official).is_sign_negative() && of(Evaluator::Paper).is_sign_positive());
    }
}
