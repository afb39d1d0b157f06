//! Thinking parameters of Gemini's format: models up to 2.5 take a budget, later ones a level.

use regatta_proto::Thinking;
use serde::Serialize;

/// Smallest budget of the 2.5 models that always think, in tokens.
const PRO_BUDGET_MIN: u32 = 128;

/// The field `thinkingConfig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
}

impl ThinkingConfig {
    /// The thinking parameters for `model`; `None` if there are none to send. Models that always think get the lowest level.
    pub(super) fn new(model: &str, thinking: Option<Thinking>) -> Option<Self> {
        let generation = Generation::of(model);
        if thinking? == Thinking::Off {
            return generation.off(model);
        }
        // The budgets for words are those that Google documents for its OpenAI-compatible API.
        let (word, tokens) = match thinking? {
            Thinking::Off | Thinking::Low => ("low", 1_024),
            Thinking::Medium => ("medium", 8_192),
            Thinking::High => ("high", 24_576),
            // Later models still accept a budget.
            Thinking::Tokens(tokens) => {
                return Some(Self { thinking_budget: Some(tokens), include_thoughts: tokens > 0, ..Self::default() });
            }
        };
        let (thinking_level, thinking_budget) =
            if generation == Generation::Level { (Some(word), None) } else { (None, Some(tokens)) };
        Some(Self { thinking_budget, thinking_level, include_thoughts: true })
    }
}

/// The kind of thinking parameter that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// None, because the model does not think.
    Unthinking,
    Budget,
    Level,
}

impl Generation {
    /// Determined by the number in the name; `gemini-flash-latest` and similar names count as the newest.
    fn of(model: &str) -> Self {
        let Some(name) = model.find("gemini-").and_then(|start| model.get(start + "gemini-".len()..)) else {
            return Self::Unthinking;
        };
        let version = name.split(['-', '@', ':']).next().and_then(|version| version.parse::<f32>().ok());
        match version {
            Some(version) if version < 2.5 => Self::Unthinking,
            Some(version) if version < 3.0 => Self::Budget,
            _ => Self::Level,
        }
    }

    fn off(self, model: &str) -> Option<ThinkingConfig> {
        match self {
            Self::Unthinking => None,
            Self::Budget => {
                let least = if model.contains("pro") { PRO_BUDGET_MIN } else { 0 };
                Some(ThinkingConfig { thinking_budget: Some(least), ..ThinkingConfig::default() })
            }
            Self::Level => {
                let least = if model.contains("flash") { "minimal" } else { "low" };
                Some(ThinkingConfig { thinking_level: Some(least), ..ThinkingConfig::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(model: &str, thinking: Thinking) -> String {
        serde_json::to_string(&ThinkingConfig::new(model, Some(thinking))).unwrap()
    }

    #[test]
    fn later_models_get_a_level() {
        for model in ["gemini-3-pro-preview", "gemini-3.1-flash", "models/gemini-4-argon", "gemini-flash-latest"] {
            assert_eq!(
                said(model, Thinking::Medium),
                r#"{"thinkingLevel":"medium","includeThoughts":true}"#,
                "{model}"
            );
        }
        assert_eq!(said("gemini-3-pro", Thinking::Tokens(500)), r#"{"thinkingBudget":500,"includeThoughts":true}"#);
    }

    #[test]
    fn earlier_models_get_a_budget() {
        assert_eq!(said("gemini-2.5-flash", Thinking::Low), r#"{"thinkingBudget":1024,"includeThoughts":true}"#);
        assert_eq!(said("gemini-2.5-pro", Thinking::High), r#"{"thinkingBudget":24576,"includeThoughts":true}"#);
        assert_eq!(said("gemini-2.5-pro", Thinking::Tokens(0)), r#"{"thinkingBudget":0}"#);
    }

    #[test]
    fn not_thinking_is_as_little_as_a_model_can() {
        assert_eq!(said("gemini-2.5-flash", Thinking::Off), r#"{"thinkingBudget":0}"#);
        assert_eq!(said("gemini-2.5-pro", Thinking::Off), r#"{"thinkingBudget":128}"#);
        assert_eq!(said("gemini-3-flash", Thinking::Off), r#"{"thinkingLevel":"minimal"}"#);
        assert_eq!(said("gemini-3-pro", Thinking::Off), r#"{"thinkingLevel":"low"}"#);
        assert_eq!(said("gemini-2.0-flash", Thinking::Off), "null");
        assert_eq!(said("gemma-3-27b-it", Thinking::Off), "null");
        assert_eq!(ThinkingConfig::new("gemini-3-pro", None), None);
    }
}
