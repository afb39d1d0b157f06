//! Finds answers with a status of 200 that were withheld, or whose usage is impossible; the same for every format.

use regatta_proto::Finish;

use crate::errors::Failure;
use crate::events::ProviderEvent;
use crate::wire::Completion;

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

/// Checks that an answer was not withheld, and marks a usage that is not known or impossible as that of an unmetered call.
///
/// # Errors
/// When the answer was withheld, with its usage; the rest of such an answer is not the model's.
pub(crate) fn usable(completion: Completion) -> Result<Completion, Failure> {
    let usage_is_known = completion.usage_is_known && completion.usage.can_be_of(&completion.reply);
    let Some(Withheld { event, said }) = completion.withheld else {
        let usage = if usage_is_known { completion.usage } else { completion.usage.of_unmetered_call() };
        return Ok(Completion { usage, usage_is_known, ..completion });
    };
    let usage = usage_is_known.then_some(completion.usage);
    Err(Failure {
        status: Some(200),
        usage,
        tier: completion.served.tier.map(String::into_boxed_str),
        unreached: false,
        maybe_billed: usage.is_none(),
        refused: event == ProviderEvent::Refused,
        ..Failure::unanswered(event.class(), format!("{}: {said}", event.rule().word))
    })
}

/// The finish of an answer: that of `withheld`, or else `finish`.
pub(crate) const fn finish_of(withheld: Option<&Withheld>, finish: Finish) -> Finish {
    match withheld {
        Some(_) => Finish::ContentFilter,
        None => finish,
    }
}
