//! Tokens and money of a call as a whole.

use regatta_proto::{AttemptTotals, Call, FailedCall, Money, Usage};

/// Tokens and money of one call: of its answer, and of its failed tries as far as these were billed. The sums over an attempt's calls are those
/// of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Billed {
    /// `None` where those of the answer or of a billed try are unknown.
    pub usage: Option<Usage>,
    /// `None` where the price of the answer or of a billed try is unknown.
    pub cost: Option<Money>,
    /// Upper bound of further costs of failed tries, which the provider may have billed without a report.
    pub maybe_spent: Money,
}

impl Billed {
    /// Of an answer; where it came from the response cache, the tokens are those of the original call.
    #[must_use]
    pub fn of_answered(call: &Call) -> Self {
        let mut totals = AttemptTotals { usage: call.usage.of_answer(&call.reply), ..AttemptTotals::default() };
        totals.cost.add_call(call.cost);
        call.tries.iter().for_each(|failed| totals.add_failed(failed));
        Self::of_totals(&totals)
    }

    /// A call that was given up was billed for its tries alone, often for none.
    #[must_use]
    pub fn of_given_up(failed: &FailedCall) -> Self {
        let mut totals = AttemptTotals::default();
        failed.tries.iter().for_each(|failed| totals.add_failed(failed));
        Self::of_totals(&totals)
    }

    /// All calls of an attempt.
    #[must_use]
    pub fn of_totals(totals: &AttemptTotals) -> Self {
        Self {
            usage: totals.usage.complete(),
            cost: (totals.cost.unknown_calls == 0).then_some(totals.cost.known),
            maybe_spent: totals.maybe_spent,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn given_up(tries: Value) -> Billed {
        let failed = json!({"role": "agent", "attempt": 1, "model": "e/m", "tries": tries});
        Billed::of_given_up(&serde_json::from_value(failed).unwrap())
    }

    fn filtered(more: &Value) -> Value {
        let mut failed = json!({"class": "content_filter", "status": 200, "latency_us": 5});
        more.as_object().unwrap().iter().for_each(|(name, value)| failed[name] = value.clone());
        failed
    }

    #[test]
    fn a_filtered_answer_has_the_cost_that_it_was_billed_for() {
        let withheld = filtered(&json!({"usage": {"input": 14, "output": 5}, "cost": 117_000}));
        let usage = Usage { input: 28, output: 10, ..Usage::default() };
        let expected = Billed { usage: Some(usage), cost: Some(Money(234_000)), maybe_spent: Money::ZERO };
        assert_eq!(given_up(json!([withheld, withheld])), expected);
    }

    #[test]
    fn a_refusal_before_anything_was_billed_cost_nothing_and_an_unpriced_one_is_unknown() {
        let nothing = Billed { usage: Some(Usage::default()), cost: Some(Money::ZERO), maybe_spent: Money::ZERO };
        assert_eq!(given_up(json!([filtered(&json!({}))])), nothing);
        let unpriced = given_up(json!([filtered(&json!({"unpriced": true}))]));
        assert_eq!(unpriced.cost, None);
        let in_doubt = given_up(json!([filtered(&json!({"at_most": 9})), filtered(&json!({"at_most": 2}))]));
        assert_eq!(in_doubt, Billed { maybe_spent: Money(11), ..nothing });
    }

    #[test]
    fn an_answer_costs_what_its_failed_tries_did_too() {
        let withheld = filtered(&json!({"usage": {"input": 14, "output": 5}, "cost": 7}));
        let call = json!({
            "role": "agent", "attempt": 1, "model": "e/m", "request": {"messages": []}, "reply": {"text": "yes", "finish": "stop"},
            "tries": [withheld], "usage": {"input": 10, "output": 1}, "cost": 5, "latency_us": 5,
        });
        let billed = Billed::of_answered(&serde_json::from_value(call).unwrap());
        assert_eq!((billed.usage.map(|usage| usage.input), billed.cost), (Some(24), Some(Money(12))));
    }
}
