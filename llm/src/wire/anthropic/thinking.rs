//! Thinking parameters of Anthropic's format.

use regatta_proto::{Sampling, Thinking};
use serde::Serialize;

use super::generation::Generation;
use crate::money::OUTPUT_TOKENS_MAX;

/// The smallest budget that the API accepts, in tokens.
const BUDGET_MIN: u32 = 1_024;
/// Limit of an answer's tokens if the request has none; the format requires a number.
const ANSWER_TOKENS: u32 = 4_096;

/// Thinking budgets in tokens for low, medium and high. Anthropic documents no figures; these are Google's for the same three words, and
/// the lowest equals Anthropic's minimum.
pub(crate) const fn budget(thinking: Thinking) -> u32 {
    match thinking {
        Thinking::Off => 0,
        Thinking::Low => 1_024,
        Thinking::Medium => 8_192,
        Thinking::High => 24_576,
        Thinking::Tokens(tokens) => tokens,
    }
}

/// The field `thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Mode {
    Enabled {
        budget_tokens: u32,
    },
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    Disabled,
}

/// The thinking parameter, and the limits that follow from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    pub(crate) mode: Option<Mode>,
    pub(crate) effort: Option<&'static str>,
    /// Limit of all tokens, including thinking.
    pub(crate) max_tokens: u32,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
}

impl Plan {
    /// # Errors
    /// When the parameters contradict each other, or the model does not support them.
    pub(crate) fn new(model: &str, thinking: Option<Thinking>, sampling: &Sampling) -> Result<Self, String> {
        let generation = Generation::of(model);
        let (mode, effort, max_tokens) = match thinking {
            None => (None, None, sampling.max_tokens.unwrap_or(ANSWER_TOKENS)),
            Some(Thinking::Off) => {
                let (mode, effort) = off(generation);
                (mode, effort, sampling.max_tokens.unwrap_or(ANSWER_TOKENS))
            }
            Some(Thinking::Tokens(_)) if !generation.takes_budget() => {
                return Err(format!(
                    "{model} cannot be told how many tokens to think with; ask for `low`, `medium` or `high`"
                ));
            }
            Some(Thinking::Low | Thinking::Medium | Thinking::High) if generation.takes_effort() => {
                let effort = thinking.and_then(effort);
                let room = || thinking.map_or(0, budget).saturating_add(ANSWER_TOKENS).min(OUTPUT_TOKENS_MAX);
                (Some(adaptive(generation)), effort, sampling.max_tokens.unwrap_or_else(room))
            }
            Some(asked) => {
                let (budget_tokens, max_tokens) = within(asked, sampling.max_tokens)?;
                (Some(Mode::Enabled { budget_tokens }), None, max_tokens)
            }
        };
        let thinks = matches!(mode, Some(Mode::Enabled { .. } | Mode::Adaptive { .. }));
        let (temperature, top_p) = sample(sampling, thinks, generation)?;
        Ok(Self { mode, effort, max_tokens, temperature, top_p })
    }
}

/// Thinking turned off. Older models think only on request; newer ones that always think get the lowest effort.
fn off(generation: Generation) -> (Option<Mode>, Option<&'static str>) {
    if generation.always_thinks() {
        (Some(adaptive(generation)), Some("low"))
    } else if generation.thinks_unasked() {
        (Some(Mode::Disabled), None)
    } else {
        (None, None)
    }
}

fn adaptive(generation: Generation) -> Mode {
    Mode::Adaptive { display: generation.hides_thoughts().then_some("summarized") }
}

const fn effort(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Low => Some("low"),
        Thinking::Medium => Some("medium"),
        Thinking::High => Some("high"),
        Thinking::Off | Thinking::Tokens(_) => None,
    }
}

/// The thinking budget and the limit of all tokens. A budget in words shrinks to three quarters of the limit; one in numbers must fit.
/// Without a limit, the budget stays below the reserved worst case.
fn within(asked: Thinking, limit: Option<u32>) -> Result<(u32, u32), String> {
    let wanted = budget(asked);
    let room = wanted.saturating_add(ANSWER_TOKENS);
    let (budget, limit) = match asked {
        Thinking::Tokens(tokens) if tokens < BUDGET_MIN => {
            return Err(format!(
                "Anthropic's format has no budget of {tokens} tokens to think with; the least is {BUDGET_MIN}"
            ));
        }
        Thinking::Tokens(tokens) => (tokens, limit.unwrap_or(room)),
        _ => {
            let limit = limit.unwrap_or(room.min(OUTPUT_TOKENS_MAX));
            (wanted.min(limit / 4 * 3).max(BUDGET_MIN), limit)
        }
    };
    if budget >= limit {
        return Err(format!("max_tokens of {limit} leaves no room to answer beside {budget} tokens to think with"));
    }
    Ok((budget, limit))
}

/// Temperature and nucleus sampling, if the model accepts them. One is the API's default for both, so it can always be left out.
fn sample(sampling: &Sampling, thinks: bool, generation: Generation) -> Result<(Option<f64>, Option<f64>), String> {
    let Sampling { temperature, top_p, .. } = *sampling;
    if thinks {
        if let Some(asked) = temperature.filter(|asked| *asked != 1.0) {
            return Err(format!("Anthropic's models take no temperature while they think; {asked} was asked for"));
        }
        if let Some(asked) = top_p.filter(|asked| !(0.95..=1.0).contains(asked)) {
            return Err(format!(
                "Anthropic's models take a top_p from 0.95 to 1 while they think; {asked} was asked for"
            ));
        }
    }
    let is_default_unsaid = thinks || generation.samples_its_own_way();
    let said = |asked: &f64| !(is_default_unsaid && *asked == 1.0);
    Ok((temperature.filter(said), top_p.filter(said)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(model: &str, thinking: Thinking, max_tokens: Option<u32>) -> Result<Plan, String> {
        Plan::new(model, Some(thinking), &Sampling { max_tokens, ..Sampling::default() })
    }

    fn enabled(budget_tokens: u32, max_tokens: u32) -> Plan {
        let mode = Some(Mode::Enabled { budget_tokens });
        Plan { mode, effort: None, max_tokens, temperature: None, top_p: None }
    }

    #[test]
    fn older_models_get_a_budget_and_room_to_answer() {
        let model = "claude-sonnet-4-5";
        assert_eq!(plan(model, Thinking::Low, None), Ok(enabled(1_024, 5_120)));
        assert_eq!(plan(model, Thinking::High, None), Ok(enabled(12_288, 16_384)));
        assert_eq!(plan(model, Thinking::High, Some(8_000)), Ok(enabled(6_000, 8_000)));
        assert_eq!(plan(model, Thinking::Medium, Some(1_200)), Ok(enabled(1_024, 1_200)));
        assert_eq!(plan(model, Thinking::Tokens(2_000), None), Ok(enabled(2_000, 6_096)));
        assert_eq!(plan(model, Thinking::Tokens(2_000), Some(3_000)), Ok(enabled(2_000, 3_000)));
    }

    #[test]
    fn a_budget_that_does_not_fit_is_refused() {
        for (thinking, max_tokens) in [
            (Thinking::Tokens(1_000), None),
            (Thinking::Tokens(0), Some(9_000)),
            (Thinking::Tokens(2_000), Some(2_000)),
            (Thinking::Low, Some(1_024)),
            (Thinking::High, Some(1)),
        ] {
            assert!(plan("claude-sonnet-4-5", thinking, max_tokens).is_err(), "{thinking:?} {max_tokens:?}");
        }
    }

    #[test]
    fn newer_models_get_an_effort() {
        let adaptive = |display, effort, max_tokens| {
            let mode = Some(Mode::Adaptive { display });
            Ok(Plan { mode, effort: Some(effort), max_tokens, temperature: None, top_p: None })
        };
        assert_eq!(plan("claude-opus-4-6", Thinking::Medium, None), adaptive(None, "medium", 12_288));
        assert_eq!(plan("claude-opus-4-6", Thinking::High, None), adaptive(None, "high", 16_384));
        assert_eq!(plan("claude-sonnet-5", Thinking::High, Some(900)), adaptive(Some("summarized"), "high", 900));
        assert_eq!(plan("claude-opus-4-6", Thinking::Tokens(3_000), None), Ok(enabled(3_000, 7_096)));
        assert!(plan("claude-opus-4-7", Thinking::Tokens(3_000), None).is_err());
    }

    #[test]
    fn not_thinking_is_said_only_to_models_that_would() {
        let said = |model: &str| plan(model, Thinking::Off, None).map(|plan| (plan.mode, plan.effort));
        assert_eq!(said("claude-opus-4-8"), Ok((None, None)));
        assert_eq!(said("claude-opus-5"), Ok((Some(Mode::Disabled), None)));
        let least = Mode::Adaptive { display: Some("summarized") };
        assert_eq!(said("claude-fable-5"), Ok((Some(least), Some("low"))));
    }

    #[test]
    fn sampling_beside_thinking_is_refused_unless_it_is_the_default() {
        let with = |model: &str, thinking, temperature, top_p| {
            let sampling = Sampling { temperature, top_p, ..Sampling::default() };
            Plan::new(model, thinking, &sampling).map(|plan| (plan.temperature, plan.top_p))
        };
        let low = Some(Thinking::Low);
        assert_eq!(with("claude-sonnet-4-5", None, Some(1.0), Some(0.2)), Ok((Some(1.0), Some(0.2))));
        assert_eq!(with("claude-sonnet-4-5", low, Some(1.0), Some(0.97)), Ok((None, Some(0.97))));
        assert_eq!(with("claude-opus-5", None, Some(1.0), Some(1.0)), Ok((None, None)));
        assert_eq!(with("claude-opus-5", None, Some(0.5), None), Ok((Some(0.5), None)));
        assert!(with("claude-sonnet-4-5", low, Some(0.0), None).unwrap_err().contains("temperature"));
        assert!(with("claude-sonnet-5", low, None, Some(0.5)).unwrap_err().contains("top_p"));
    }
}
