//! Distinguishes a conversation that is too long for a model's context from an output limit that is too large.
//!
//! Servers use the same words for both, and mostly give numbers in the message: the size of the context, the size of the conversation. With
//! numbers, they decide; without, the words do.

use std::sync::LazyLock;

use regex::Regex;

use crate::events::ProviderEvent;

/// Token counts in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counted {
    context: u64,
    prompt: u64,
}

/// Patterns with one number each, for messages in lower case without thousands separators. The first that matches counts.
struct Patterns(LazyLock<Vec<Regex>>);

/// Patterns for the size of the context: OpenAI, vLLM, SGLang, OpenRouter; Mistral; Anthropic; text-generation-inference; Gemini.
static CONTEXT: Patterns = Patterns(LazyLock::new(|| {
    compiled(&[
        r"context (?:length|window|size)(?: of| is| is only)?:? \(?(\d+)",
        r"(\d+) maximum context length",
        r"too long: \d+ tokens > (\d+) maximum",
        r"exceed context limit: \d+ \+ \d+ > (\d+)",
        r"must be <= (\d+)",
        r"tokens allowed \((\d+)\)",
    ])
}));

/// Patterns for the size of the conversation, in the same order.
static PROMPT: Patterns = Patterns(LazyLock::new(|| {
    compiled(&[
        r"(\d+) (?:tokens )?(?:in|from|of) (?:the |your )?(?:messages|input messages|prompt|text input|input)\b",
        r"(\d+) input tokens",
        r"input \((\d+) tokens\)",
        r"prompt contains (\d+) tokens",
        r"too long: (\d+) tokens",
        r"exceed context limit: (\d+) \+",
        r"(\d+) `inputs` tokens",
        r"input token count \(?(\d+)",
    ])
}));

fn compiled(patterns: &[&str]) -> Vec<Regex> {
    // The patterns are constants, and a test matches each of them.
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
}

impl Patterns {
    fn find(&self, sentence: &str) -> Option<u64> {
        self.0.iter().find_map(|pattern| pattern.captures(sentence)?.get(1)?.as_str().parse().ok())
    }
}

impl Counted {
    fn read(message: &str) -> Option<Self> {
        let sentence = without_separators(&message.to_lowercase());
        Some(Self { context: CONTEXT.find(&sentence)?, prompt: PROMPT.find(&sentence)? })
    }

    /// Tokens that are left for an answer; `None` if there are none.
    fn room(self) -> Option<u64> {
        self.context.checked_sub(self.prompt).filter(|room| *room > 0)
    }
}

/// Removes thousands separators, as in `1,048,576`.
fn without_separators(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(char::is_ascii_digit);
    let is_separator = |at: usize| {
        characters[at] == ','
            && is_digit(at.checked_sub(1))
            && (1..=3).all(|ahead| is_digit(Some(at + ahead)))
            && !is_digit(Some(at + 4))
    };
    (0..characters.len()).filter(|at| !is_separator(*at)).map(|at| characters[at]).collect()
}

/// Decides between the two events of a message about the context; `by_words` if it has no numbers.
pub(crate) fn decided(by_words: ProviderEvent, message: &str) -> ProviderEvent {
    match (by_words, Counted::read(message)) {
        (ProviderEvent::ContextOverflow | ProviderEvent::OutputLimitTooLarge, Some(counted)) => match counted.room() {
            Some(_) => ProviderEvent::OutputLimitTooLarge,
            None => ProviderEvent::ContextOverflow,
        },
        (event, _) => event,
    }
}

/// Advice to the operator about `event`, as the beginning of a sentence that the endpoint's message ends.
pub(crate) fn advice(event: ProviderEvent, message: &str) -> Option<String> {
    match event {
        ProviderEvent::OutputLimitTooLarge => Some(match Counted::read(message).and_then(Counted::room) {
            Some(room) => format!("max_tokens does not fit; set max_tokens of the model to at most {room}"),
            None => "max_tokens does not fit; set a lower max_tokens of the model".to_owned(),
        }),
        ProviderEvent::RequestTooLarge => {
            Some("the request has too many bytes for the endpoint, or a proxy before it; raise its limit".to_owned())
        }
        ProviderEvent::UnknownParameter => {
            Some("a parameter is not known there; correct the model's parameters or body of the endpoint".to_owned())
        }
        ProviderEvent::PromptFiltered
        | ProviderEvent::AnswerFiltered
        | ProviderEvent::Refused
        | ProviderEvent::ContextOverflow
        | ProviderEvent::RequestRefused
        | ProviderEvent::CredentialsRefused
        | ProviderEvent::ModelUnknown
        | ProviderEvent::OutOfCredit
        | ProviderEvent::RateLimited
        | ProviderEvent::ServerTrouble
        | ProviderEvent::Unreadable
        | ProviderEvent::AnswerCutOff
        | ProviderEvent::AnswerMalformed
        | ProviderEvent::UsageUnknown
        | ProviderEvent::TierUnpriced => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_counts_in_its_own_words() {
        for (sentence, context, prompt) in [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4800 in the messages, 200 in the completion).",
                4096,
                4800,
            ),
            (
                "This model's maximum context length is 4096 tokens and your request has 3000 input tokens (2000 > 4096 - 3000).",
                4096,
                3000,
            ),
            (
                "You passed 4000 input tokens and requested 100 output tokens. However, the model's context length is only 4050 tokens.",
                4050,
                4000,
            ),
            (
                "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 3000 tokens from the input messages",
                4096,
                3000,
            ),
            ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
            (
                "maximum context length is 131072 tokens. However, you requested about 200000 tokens (150000 of text input, 50000 in the output).",
                131_072,
                150_000,
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                32_768,
                40_000,
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", 200_000, 210_000),
            ("input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000", 200_000, 197_202),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4097 `inputs` tokens and 100 `max_new_tokens`",
                4096,
                4097,
            ),
            (
                "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
                1_048_576,
                1_200_000,
            ),
        ] {
            assert_eq!(Counted::read(sentence), Some(Counted { context, prompt }), "{sentence}");
        }
    }

    #[test]
    fn a_conversation_that_leaves_no_room_for_one_token_is_too_long() {
        let sentence = |prompt: u64| {
            format!(
                "maximum context length is 100 tokens. However, you requested 999 tokens ({prompt} in the messages)"
            )
        };
        let event = |prompt| decided(ProviderEvent::ContextOverflow, &sentence(prompt));
        assert_eq!([event(100), event(101)], [ProviderEvent::ContextOverflow; 2]);
        assert_eq!([event(99), event(1)], [ProviderEvent::OutputLimitTooLarge; 2]);
        assert!(advice(ProviderEvent::OutputLimitTooLarge, &sentence(60)).unwrap().ends_with("at most 40"));
    }

    #[test]
    fn without_numbers_the_words_decide_and_other_events_are_left_alone() {
        for event in [ProviderEvent::ContextOverflow, ProviderEvent::OutputLimitTooLarge] {
            assert_eq!(decided(event, "it is too long"), event);
        }
        let counted = "prompt is too long: 1 tokens > 2 maximum";
        assert_eq!(decided(ProviderEvent::RateLimited, counted), ProviderEvent::RateLimited);
    }

    #[test]
    fn only_commas_between_thousands_are_left_out() {
        assert_eq!(without_separators("1,048,576 of 3,4 and 12,345, 1,2345"), "1048576 of 3,4 and 12345, 1,2345");
    }
}
