//! Finds answers with a status of 200 that were withheld; the same for every format.

use regatta_proto::Finish;

use crate::events::ProviderEvent;

/// An answer that was withheld.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Withheld {
    pub(crate) event: ProviderEvent,
    /// The provider's own word.
    pub(crate) said: String,
}

/// Stop reasons, in lower case, that mean a withheld answer: OpenAI and most others; Anthropic; Gemini; Bedrock.
const WORDS: [(&str, ProviderEvent); 15] = [
    ("content_filter", ProviderEvent::AnswerFiltered),
    ("content_filtered", ProviderEvent::AnswerFiltered),
    ("guardrail_intervened", ProviderEvent::AnswerFiltered),
    ("safety", ProviderEvent::AnswerFiltered),
    ("recitation", ProviderEvent::AnswerFiltered),
    ("language", ProviderEvent::AnswerFiltered),
    ("blocklist", ProviderEvent::AnswerFiltered),
    ("prohibited_content", ProviderEvent::AnswerFiltered),
    ("spii", ProviderEvent::AnswerFiltered),
    ("model_armor", ProviderEvent::AnswerFiltered),
    ("image_safety", ProviderEvent::AnswerFiltered),
    ("image_prohibited_content", ProviderEvent::AnswerFiltered),
    ("image_recitation", ProviderEvent::AnswerFiltered),
    ("refusal", ProviderEvent::Refused),
    ("refused", ProviderEvent::Refused),
];

impl Withheld {
    /// Looks up the provider's stop reason `word`. Gateways change its case, and some append text after a colon.
    pub(crate) fn by_word(word: Option<&str>) -> Option<Self> {
        let word = word?;
        let name = word.split(':').next().unwrap_or(word).trim();
        let (_, event) = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Self { event: *event, said: word.to_owned() })
    }

    /// The model refused, with the text `refusal`.
    pub(crate) fn refused(refusal: Option<&str>) -> Option<Self> {
        refusal.map(|refusal| Self { event: ProviderEvent::Refused, said: format!("refusal: {refusal}") })
    }

    /// The prompt was blocked for `reason`.
    pub(crate) fn blocked(reason: Option<&str>) -> Option<Self> {
        reason.map(|reason| Self { event: ProviderEvent::PromptFiltered, said: format!("block reason {reason}") })
    }
}

/// The finish of an answer: that of `withheld`, or else `finish`.
pub(crate) const fn finish_of(withheld: Option<&Withheld>, finish: Finish) -> Finish {
    match withheld {
        Some(_) => Finish::ContentFilter,
        None => finish,
    }
}
