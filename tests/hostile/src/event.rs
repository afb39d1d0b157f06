//! Effects of filters, limits, credentials and bills on a call.

/// An effect of filters, limits, credentials or bills on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A filter refuses the prompt.
    PromptFiltered,
    /// A filter withholds the answer, or cuts it off.
    AnswerFiltered,
    /// The answer is declined, in a field of its own.
    Refused,
    /// The conversation does not fit into the context.
    ContextOverflow,
    /// The conversation fits; the tokens that the answer may have do not.
    OutputLimitTooLarge,
    /// The request has too many bytes.
    RequestTooLarge,
    /// The request has a field that is not known.
    UnknownParameter,
    /// The request is refused for another reason.
    RequestRefused,
    /// The key is refused.
    CredentialsRefused,
    /// There is no such model.
    ModelUnknown,
    /// The account has no money left.
    OutOfCredit,
    /// The call is one too many.
    RateLimited,
    /// The endpoint fails on its side.
    ServerTrouble,
    /// The answer is none.
    Unreadable,
    /// The answer was cut off by the tokens that it may have.
    AnswerCutOff,
    /// The answer could not be read as one, or it ended for no reason that is told.
    AnswerMalformed,
    /// The answer does not say what it billed, or what cannot be.
    UsageUnknown,
    /// The answer was served in a tier.
    TierTold,
    /// An answer that nobody could object to.
    Answered,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::PromptFiltered,
        Self::AnswerFiltered,
        Self::Refused,
        Self::ContextOverflow,
        Self::OutputLimitTooLarge,
        Self::RequestTooLarge,
        Self::UnknownParameter,
        Self::RequestRefused,
        Self::CredentialsRefused,
        Self::ModelUnknown,
        Self::OutOfCredit,
        Self::RateLimited,
        Self::ServerTrouble,
        Self::Unreadable,
        Self::AnswerCutOff,
        Self::AnswerMalformed,
        Self::UsageUnknown,
        Self::TierTold,
        Self::Answered,
    ];

    /// Part of addresses that names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PromptFiltered => "prompt_filtered",
            Self::AnswerFiltered => "answer_filtered",
            Self::Refused => "refused",
            Self::ContextOverflow => "context_overflow",
            Self::OutputLimitTooLarge => "output_limit_too_large",
            Self::RequestTooLarge => "request_too_large",
            Self::UnknownParameter => "unknown_parameter",
            Self::RequestRefused => "request_refused",
            Self::CredentialsRefused => "credentials_refused",
            Self::ModelUnknown => "model_unknown",
            Self::OutOfCredit => "out_of_credit",
            Self::RateLimited => "rate_limited",
            Self::ServerTrouble => "server_trouble",
            Self::Unreadable => "unreadable",
            Self::AnswerCutOff => "answer_cut_off",
            Self::AnswerMalformed => "answer_malformed",
            Self::UsageUnknown => "usage_unknown",
            Self::TierTold => "tier_told",
            Self::Answered => "answered",
        }
    }
}
