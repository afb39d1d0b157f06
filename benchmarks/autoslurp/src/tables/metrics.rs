//! Metrics by evaluator.

use regatta_benchmarks::{Better, Measure, Metric, Unit};
use regatta_proto::{Evaluator, Setting};

use crate::setting::Mode;
use crate::structured::{CAUSES, value};

/// Names of metrics.
pub(crate) mod name {
    /// Sessions that were carried out.
    pub(crate) const SUCCESS: &str = "success_rate";
    /// The same, texts of slots being compared leniently.
    pub(crate) const LENIENT: &str = "success_rate_lenient";
    /// The same among items of other people's services.
    pub(crate) const SUCCESS_EXTERNAL: &str = "success_rate_external";
    /// The same among items of the simulated servers.
    pub(crate) const SUCCESS_LOCAL: &str = "success_rate_local";
    /// Sessions whose intent agent was right.
    pub(crate) const INTENT: &str = "intent_accuracy";
    /// The same, whatever it called the slots.
    pub(crate) const INTENT_VALUES: &str = "intent_accuracy_values";
    /// Prefix of the shares of causes among failed sessions.
    pub(crate) const FAIL: &str = "fail_";
    /// Failed sessions with none of the causes.
    pub(crate) const FAIL_NONE: &str = "fail_none";
    /// Sessions that are wrong without a judge's word.
    pub(crate) const STATIC_WRONG: &str = "static_wrong";
    /// Sessions of which nothing was understood that says right or wrong.
    pub(crate) const NO_VERDICT: &str = "no_verdict";
    /// Sessions with a judge's words about slots that were not understood.
    pub(crate) const UNPARSABLE_SLOT: &str = "unparsable_slot";
    /// Sessions with a judge's words about the whole that were not understood.
    pub(crate) const UNPARSABLE_FINAL: &str = "unparsable_final";
}

/// Flat values of the official evaluators and the paper's.
mod official {
    pub(super) const RIGHT: &str = "right";
    pub(super) const ERROR: &str = "error";
}

/// Metrics of `evaluator` in `setting`; none for a name that is no setting.
pub(crate) fn metrics(setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
    if Mode::of(setting).is_none() {
        return Vec::new();
    }
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed | Evaluator::OfficialOf(_) => vec![
            share(name::SUCCESS, official::RIGHT),
            error(share(name::STATIC_WRONG, name::STATIC_WRONG)),
            error(share(name::NO_VERDICT, official::ERROR)),
            error(share(name::UNPARSABLE_SLOT, name::UNPARSABLE_SLOT)),
            error(share(name::UNPARSABLE_FINAL, name::UNPARSABLE_FINAL)),
        ],
        Evaluator::Paper => vec![share(name::SUCCESS, official::RIGHT)],
        Evaluator::Structured | Evaluator::Exec | Evaluator::Declared => structured(),
    }
}

fn structured() -> Vec<Metric> {
    let mut metrics = vec![
        share(name::SUCCESS, value::SUCCESS),
        hidden(share(name::LENIENT, value::LENIENT)),
        share(name::INTENT, value::INTENT_STRICT),
        hidden(share(name::INTENT_VALUES, value::INTENT_VALUES)),
        hidden(share(name::SUCCESS_LOCAL, value::SUCCESS_LOCAL)),
        hidden(share(name::SUCCESS_EXTERNAL, value::SUCCESS_EXTERNAL)),
    ];
    let causes = CAUSES.map(|cause| (format!("{}{cause}", name::FAIL), format!("{}{cause}", value::FAIL)));
    metrics.extend(causes.map(|(name, value)| of_failed(&name, &value)));
    metrics.push(of_failed(name::FAIL_NONE, value::FAIL_NONE));
    metrics
}

fn share(name: &str, value: &str) -> Metric {
    Metric { measure: Measure::Mean { value: value.to_owned() }, unit: Unit::Percent, ..Metric::mean(name) }
}

/// A share of the failed sessions: how many failed depends on the model.
fn of_failed(name: &str, value: &str) -> Metric {
    let measure =
        Measure::Ratio { numerator: value.to_owned(), denominator: self::value::FAILED.to_owned(), of_item: false };
    error(Metric { measure, unit: Unit::Percent, ..Metric::mean(name) })
}

fn hidden(metric: Metric) -> Metric {
    Metric { headline: false, ..metric }
}

fn error(metric: Metric) -> Metric {
    Metric { better: Better::Lower, headline: false, ..metric }
}
