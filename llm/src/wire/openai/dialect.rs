//! Fields that servers of the same format use differently.

use regatta_proto::Thinking;
use serde_json::{Value, json};

/// The dialect of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's fields.
    Plain,
    OpenRouter,
    DeepSeek,
    /// OpenAI's fields at servers that refuse unknown fields: Groq, Cerebras.
    Strict,
}

impl Dialect {
    /// The dialect of the server at an address.
    pub(crate) fn of(base: &str) -> Self {
        let host = reqwest::Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let is_of = |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if is_of("openrouter.ai") {
            Self::OpenRouter
        } else if is_of("deepseek.com") {
            Self::DeepSeek
        } else if is_of("groq.com") || is_of("cerebras.ai") {
            Self::Strict
        } else {
            Self::Plain
        }
    }

    /// Field names of reasoning in messages that are sent back. Most servers ignore unknown fields and get both, because vLLM has changed
    /// from one to the other.
    pub(crate) const fn thoughts(self) -> &'static [&'static str] {
        match self {
            Self::Plain => &["reasoning_content", "reasoning"],
            Self::DeepSeek => &["reasoning_content"],
            Self::OpenRouter | Self::Strict => &["reasoning"],
        }
    }

    /// The thinking parameters of a request.
    ///
    /// # Errors
    /// A sentence, when the dialect has no parameter for it.
    pub(crate) fn thinking(self, model: &str, thinking: Thinking) -> Result<Vec<(&'static str, Value)>, String> {
        match self {
            Self::Plain | Self::Strict => {
                Ok(effort(model, thinking)?.map(|word| ("reasoning_effort", json!(word))).into_iter().collect())
            }
            Self::OpenRouter => Ok(vec![match thinking {
                Thinking::Off => ("reasoning", json!({"effort": "none"})),
                Thinking::Tokens(tokens) => ("reasoning", json!({"max_tokens": tokens})),
                other => ("reasoning", json!({"effort": level(other)?})),
            }]),
            Self::DeepSeek => match thinking {
                Thinking::Off => Ok(vec![("thinking", json!({"type": "disabled"}))]),
                other => Ok(vec![("thinking", json!({"type": "enabled"})), ("reasoning_effort", json!(level(other)?))]),
            },
        }
    }
}

/// Model families that always think, with their lowest effort. The longest matching name counts. Other models get `none`, and refuse it if
/// they do not support it.
const LEAST: [(&str, Option<&str>); 9] = [
    ("gpt-5", Some("minimal")),
    ("gpt-5-codex", Some("low")),
    ("gpt-oss", Some("low")),
    ("o1", Some("low")),
    ("o3", Some("low")),
    ("o4", Some("low")),
    // These never think, and refuse the field.
    ("gpt-5-chat", None),
    ("gpt-4", None),
    ("gpt-3.5", None),
];

/// The value of `reasoning_effort`, if one is needed.
///
/// # Errors
/// A sentence, when the model has no such effort.
pub(crate) fn effort(model: &str, thinking: Thinking) -> Result<Option<&'static str>, String> {
    if thinking != Thinking::Off {
        return level(thinking).map(Some);
    }
    let name = model.rsplit('/').next().unwrap_or(model);
    // `gpt-4o` and `gpt-4.1` are of `gpt-4`; `gpt-5.1` is not of `gpt-5`, which alone lacks `none`.
    let is_of = |family: &str| {
        let versions = family.starts_with("gpt-4") || family.starts_with("gpt-3");
        name.strip_prefix(family).is_some_and(|rest| versions || rest.is_empty() || rest.starts_with(['-', ':']))
    };
    let least = LEAST.iter().filter(|(family, _)| is_of(family)).max_by_key(|(family, _)| family.len());
    Ok(least.map_or(Some("none"), |(_, word)| *word))
}

fn level(thinking: Thinking) -> Result<&'static str, String> {
    match thinking {
        Thinking::Off => Ok("none"),
        Thinking::Low => Ok("low"),
        Thinking::Medium => Ok("medium"),
        Thinking::High => Ok("high"),
        Thinking::Tokens(tokens) => Err(format!(
            "this endpoint cannot be told to think at most {tokens} tokens; say off, low, medium or high, or set the provider's own field \
             in the endpoint's `body`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_speaks_its_own_dialect_and_a_name_like_it_does_not() {
        for (base, dialect) in [
            ("https://openrouter.ai/api/v1", Dialect::OpenRouter),
            ("https://eu.openrouter.ai/api/v1", Dialect::OpenRouter),
            ("https://api.deepseek.com", Dialect::DeepSeek),
            ("https://api.groq.com/openai/v1", Dialect::Strict),
            ("https://notopenrouter.ai/v1", Dialect::Plain),
            ("http://localhost:8000/openrouter.ai", Dialect::Plain),
        ] {
            assert_eq!(Dialect::of(base), dialect, "{base}");
        }
    }

    #[test]
    fn not_thinking_is_said_as_far_as_the_family_allows() {
        for (model, word) in [
            ("gpt-5", Some("minimal")),
            ("gpt-5-mini-2025-08-07", Some("minimal")),
            ("gpt-5-codex", Some("low")),
            ("gpt-5-chat-latest", None),
            ("gpt-5.1", Some("none")),
            ("openai/gpt-oss-120b", Some("low")),
            ("o3-mini", Some("low")),
            ("gpt-4o-mini", None),
            ("gpt-4.1", None),
            ("qwen3-32b", Some("none")),
        ] {
            assert_eq!(effort(model, Thinking::Off).unwrap(), word, "{model}");
        }
    }

    #[test]
    fn each_dialect_has_its_own_words_for_thinking() {
        let said = |dialect: Dialect, thinking| match dialect.thinking("m", thinking) {
            Ok(fields) => {
                fields.into_iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
            }
            Err(problem) => problem,
        };
        let table: Vec<String> = [Dialect::Plain, Dialect::OpenRouter, Dialect::DeepSeek]
            .into_iter()
            .flat_map(|dialect| {
                [Thinking::Off, Thinking::High, Thinking::Tokens(9)]
                    .map(|thinking| format!("{dialect:?} {thinking:?}: {}", said(dialect, thinking)))
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }
}
