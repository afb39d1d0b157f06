//! The table of provider events (filters, limits, credentials, billing): event → class → party at fault.
//!
//! Wire formats only recognise events: [`crate::errors`] by status and message, [`crate::withheld`] by the reason why an answer stopped.
//! The consequences are defined here alone, so that they are the same for every provider. `docs/filters-and-limits.md` is written from this
//! table.

use regatta_proto::ErrorClass;

/// A special treatment of a call by its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderEvent {
    /// A filter refuses the prompt.
    PromptFiltered,
    /// A filter withholds the answer, or cuts it off.
    AnswerFiltered,
    /// The answer is a refusal, in a field of its own.
    Refused,
    /// The conversation does not fit into the context.
    ContextOverflow,
    /// The conversation fits into the context, but the requested output limit does not.
    OutputLimitTooLarge,
    /// The request has too many bytes.
    RequestTooLarge,
    /// The request has a field or a value that the endpoint does not know.
    UnknownParameter,
    /// The endpoint refuses the request for another reason.
    RequestRefused,
    /// The endpoint refuses the API key.
    CredentialsRefused,
    /// The endpoint has no such model, or the address is wrong.
    ModelUnknown,
    /// The account has no credit left.
    OutOfCredit,
    /// The call exceeds a rate limit.
    RateLimited,
    /// The endpoint fails on its side.
    ServerTrouble,
    /// The answer is not in the expected format.
    Unreadable,
    /// The answer was cut off by its output limit or by the end of the context.
    AnswerCutOff,
    /// The endpoint could not read what the model wrote as an answer or a call, or does not say why the answer ended.
    AnswerMalformed,
    /// The answer reports no usage, or impossible numbers.
    UsageUnknown,
    /// The answer was served in a tier that has no price.
    TierUnpriced,
}

/// Consequences of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRule {
    /// The event.
    pub event: ProviderEvent,
    /// Name in documents.
    pub word: &'static str,
    /// The error class of the call; `None` if the answer is scored all the same.
    pub class: Option<ErrorClass>,
    /// Messages and statuses by which providers report it, for the documentation.
    pub told: &'static str,
    /// The reason for this classification, for the documentation.
    pub because: &'static str,
}

const fn row(
    event: ProviderEvent,
    word: &'static str,
    class: Option<ErrorClass>,
    told: &'static str,
    because: &'static str,
) -> EventRule {
    EventRule { event, word, class, told, because }
}

/// The table, in the order of the events.
#[rustfmt::skip]
pub const EVENTS: [EventRule; 18] = [
    row(ProviderEvent::PromptFiltered, "prompt filtered", Some(ErrorClass::ContentFilter),
        "OpenAI `content_policy_violation`, `invalid_prompt`, `cyber_policy`; Azure 400 `content_filter`; a 403 that says \"flagged\"; \
         Gemini `blockReason`; Bedrock `guardrail_intervened`",
        "the same prompt is refused in one way by one provider and in another way by the next; `filtered` of the spec says what it counts as"),
    row(ProviderEvent::AnswerFiltered, "answer filtered", Some(ErrorClass::ContentFilter),
        "`content_filter` as `finish_reason` or reason of an incomplete response; Anthropic \"blocked by content filtering\"; Gemini \
         `SAFETY`, `RECITATION`, `LANGUAGE`, `BLOCKLIST`, `PROHIBITED_CONTENT`, `SPII`, `MODEL_ARMOR`; Bedrock `guardrail_intervened`, \
         `content_filtered`",
        "what is left of such an answer is the filter's, not the model's: it is not scored, however much of it came"),
    row(ProviderEvent::Refused, "refused", Some(ErrorClass::ContentFilter),
        "OpenAI `refusal`, Anthropic and Bedrock `stop_reason` `refusal`",
        "no wire tells reliably whether the model or a classifier before it declined: Anthropic's is a classifier's, and comes through \
         Bedrock as `content_filtered`. A model that declines in plain words has answered, on every wire"),
    row(ProviderEvent::ContextOverflow, "context overflow", Some(ErrorClass::ContextLength),
        "`context_length_exceeded`, \"prompt is too long\" and their like, when the conversation alone does not fit",
        "the conversation is what the model made of it, and its context is a property of the model"),
    row(ProviderEvent::OutputLimitTooLarge, "output limit too large", Some(ErrorClass::BadRequest),
        "the same words when the conversation alone would fit by the numbers told; \"max_tokens is too large\" and its like",
        "`max_tokens` is the operator's figure: the model never had a say"),
    row(ProviderEvent::RequestTooLarge, "request too large", Some(ErrorClass::BadRequest),
        "413, Anthropic `request_too_large`, Gemini \"payload size exceeds the limit\"; unless the body says that the context is exceeded",
        "a limit in bytes of a proxy or a gateway says nothing about the model's context"),
    row(ProviderEvent::UnknownParameter, "unknown parameter", Some(ErrorClass::BadRequest),
        "OpenAI `unknown_parameter`, `unsupported_parameter`, `unsupported_value`; Anthropic \"extra inputs are not permitted\"; Gemini \
         \"unknown name\"; Bedrock \"extraneous key\"",
        "parameters are the operator's"),
    row(ProviderEvent::RequestRefused, "request refused", Some(ErrorClass::BadRequest),
        "any other 4xx",
        "the endpoint does not take the request, and says nothing about the model"),
    row(ProviderEvent::CredentialsRefused, "credentials refused", Some(ErrorClass::Auth),
        "401, 403; Gemini 400 \"pass a valid API key\"; Bedrock `AccessDeniedException`, `UnrecognizedClientException`",
        "keys and permissions are the operator's; after a few such answers and no other the rest is not sent"),
    row(ProviderEvent::ModelUnknown, "model unknown", Some(ErrorClass::NotFound),
        "404, a redirect; Bedrock `ResourceNotFoundException`",
        "names and addresses are the operator's; after a few such answers and no other the rest is not sent"),
    row(ProviderEvent::OutOfCredit, "out of credit", Some(ErrorClass::Quota),
        "402, `insufficient_quota`, \"credit balance is too low\"",
        "the account is the operator's"),
    row(ProviderEvent::RateLimited, "rate limited", Some(ErrorClass::RateLimited),
        "429; Bedrock `ThrottlingException`",
        "the endpoint wants to be asked later"),
    row(ProviderEvent::ServerTrouble, "server trouble", Some(ErrorClass::Server),
        "5xx, 408, 409, an overload inside a 200",
        "the endpoint's trouble is nobody's failure"),
    row(ProviderEvent::Unreadable, "unreadable", Some(ErrorClass::BadResponse),
        "an answer that breaks off, is not JSON, or lacks what the format promises",
        "the endpoint's trouble is nobody's failure"),
    row(ProviderEvent::AnswerCutOff, "answer cut off", None,
        "`length`, `max_output_tokens`, `max_tokens`, `MAX_TOKENS`, `model_context_window_exceeded`",
        "the model has answered, as far as it got: what came is scored"),
    row(ProviderEvent::AnswerMalformed, "answer malformed", None,
        "Gemini `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL`, `OTHER`; Bedrock `malformed_model_output`, `malformed_tool_use`",
        "the model has written what is no call or no answer, and the same text on a wire without such a word is its answer, too: what came is \
         scored, and has the flag `empty` if nothing did. `OTHER` names no reason, so that there is none to excuse the answer"),
    row(ProviderEvent::UsageUnknown, "usage unknown", None,
        "no usage; a prompt of zero tokens; an answer of zero tokens that holds something",
        "the answer is scored; its cost is unknown, and an account pays the worst case. A known $0 would be wrong"),
    row(ProviderEvent::TierUnpriced, "tier unpriced", None,
        "OpenAI, Anthropic `service_tier`, Anthropic `speed`, Gemini and Bedrock `serviceTier`, when the model's price names no such variant",
        "the answer is scored; its cost is unknown, and an account pays the worst case. Other tiers cost half or double"),
];

impl ProviderEvent {
    /// The row of this event.
    #[must_use]
    pub const fn rule(self) -> &'static EventRule {
        &EVENTS[self as usize]
    }

    /// The class of a call that ended with this event. An event with a usable answer, reported as an error all the same, is a bad response.
    pub(crate) const fn class(self) -> ErrorClass {
        match self.rule().class {
            Some(class) => class,
            None => ErrorClass::BadResponse,
        }
    }
}

#[cfg(test)]
mod tests;
