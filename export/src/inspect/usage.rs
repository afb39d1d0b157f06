//! Tokens and money of a sample, by model and by role.

use std::collections::BTreeMap;

use regatta_proto::{Event, Money, Role, Transcript, Try, Usage};
use serde_json::{Value, json};

/// Sums of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) usage: Usage,
    /// `None` where the price of a call is unknown.
    pub(super) cost: Option<Money>,
}

impl Sum {
    /// Sum over no calls.
    pub(super) const NONE: Self = Self {
        usage: Usage {
            input: 0,
            cached_input: 0,
            cache_write: 0,
            cache_write_1h: 0,
            output: 0,
            reasoning: 0,
            unmetered_calls: 0,
        },
        cost: Some(Money::ZERO),
    };

    pub(super) fn add(&mut self, usage: Usage, cost: Option<Money>) {
        self.usage += usage;
        self.cost = self.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }
}

/// Usage by name.
pub(super) type Sums = BTreeMap<String, Sum>;

/// The calls of `transcript` by model, and those of other roles than the agent's by role. Answers from the cache were not paid; failed
/// tries count where they were billed.
pub(super) fn sums(transcript: &Transcript) -> (Sums, Sums) {
    let (mut by_model, mut by_role) = (Sums::new(), Sums::new());
    let mut add = |model: String, role: Role, usage: Usage, cost: Option<Money>| {
        by_model.entry(model).or_insert(Sum::NONE).add(usage, cost);
        if role != Role::Agent {
            by_role.entry(role.to_string()).or_insert(Sum::NONE).add(usage, cost);
        }
    };
    for event in &transcript.events {
        let (model, role, tries) = match event {
            Event::Call(call) => {
                if !call.from_cache {
                    add(call.model.to_string(), call.role, call.usage.of_answer(&call.reply), call.cost);
                }
                (&call.model, call.role, &call.tries)
            }
            Event::Failed(failed) => (&failed.model, failed.role, &failed.tries),
            Event::Recorded(_)
            | Event::Started(_)
            | Event::Exchange(_)
            | Event::Ended(_)
            | Event::BenchmarkFailed(_) => {
                continue;
            }
        };
        for (usage, cost) in tries.iter().filter_map(Try::billed) {
            add(model.to_string(), role, usage, cost);
        }
    }
    (by_model, by_role)
}

/// `sums` as the format has them. The format knows no tokens that nobody told, so a sum without those of a call is left out.
pub(super) fn document(sums: &Sums) -> Value {
    sums.iter()
        .filter(|(_, sum)| sum.usage.complete().is_some())
        .map(|(name, sum)| (name.clone(), tokens(&sum.usage, sum.cost)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Tokens as the format counts them: `input_tokens` without those that were read from a cache or written to one.
pub(super) fn tokens(usage: &Usage, cost: Option<Money>) -> Value {
    let mut tokens = json!({
        "input_tokens": usage.plain_input(),
        "output_tokens": usage.output,
        "total_tokens": usage.total(),
        "input_tokens_cache_read": usage.cached_input,
        "input_tokens_cache_write": usage.cache_write + usage.cache_write_1h,
        "reasoning_tokens": usage.reasoning,
    });
    if let Some(cost) = cost {
        tokens["total_cost"] = cost.dollars().into();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_no_part_of_the_input_and_an_unknown_price_is_no_zero() {
        let usage = Usage { input: 100, cached_input: 60, cache_write: 10, output: 5, ..Usage::default() };
        let mut sum = Sum::NONE;
        sum.add(usage, Some(Money(1_000_000_000)));
        let told = tokens(&sum.usage, sum.cost);
        assert_eq!(
            (&told["input_tokens"], &told["total_tokens"], &told["total_cost"]),
            (&json!(30), &json!(105), &json!(1.0))
        );
        sum.add(usage, None);
        assert_eq!(tokens(&sum.usage, sum.cost).get("total_cost"), None);
        let mut sums = Sums::from([("e/m".to_owned(), sum)]);
        assert_eq!(document(&sums)["e/m"]["input_tokens"], 60);
        sums.entry("e/m".to_owned()).or_insert(Sum::NONE).add(Usage::default().of_unmetered_call(), None);
        assert_eq!(document(&sums), json!({}), "a partial sum would pass for a whole one");
    }
}
