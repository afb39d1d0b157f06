//! Answers with a status of 200 that are no answers, or whose usage cannot be; the same for every format.

use crate::errors::{Failure, Reach};
use crate::events::ProviderEvent;
use crate::wire::Completion;
use crate::withheld::Withheld;

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
        reach: Reach::Endpoint,
        maybe_billed: usage.is_none(),
        refused: event == ProviderEvent::Refused,
        ..Failure::unanswered(event.class(), format!("{}: {said}", event.rule().word))
    })
}
