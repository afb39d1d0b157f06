//! Reasons for the verdict on a session.

/// One word for it; the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reason {
    /// It was carried out.
    Ok,
    /// Nobody was asked: no simulated server for a local item, nobody else for an external one.
    #[default]
    NoRequest,
    /// No simulated server did what it was asked.
    NoSuccess,
    /// The server does not know the intent.
    UnsupportedIntent,
    /// The server cannot read a date or time.
    FormatError,
    /// The server was asked something else.
    WrongIntent,
    /// Slots are missing, wrong, or too many.
    Slots,
    /// The service that is needed gave no answer.
    NoServiceAnswer,
    /// The person was told nothing.
    NoFinal,
    /// The final answer does not repeat the service's answer.
    NotGrounded,
}

impl Reason {
    pub(super) const ALL: [Self; 10] = [
        Self::Ok,
        Self::NoRequest,
        Self::NoSuccess,
        Self::UnsupportedIntent,
        Self::FormatError,
        Self::WrongIntent,
        Self::Slots,
        Self::NoServiceAnswer,
        Self::NoFinal,
        Self::NotGrounded,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoRequest => "no_request",
            Self::NoSuccess => "no_success",
            Self::UnsupportedIntent => "unsupported_intent",
            Self::FormatError => "format_error",
            Self::WrongIntent => "wrong_intent",
            Self::Slots => "slots",
            Self::NoServiceAnswer => "no_service_answer",
            Self::NoFinal => "no_final",
            Self::NotGrounded => "not_grounded",
        }
    }
}
