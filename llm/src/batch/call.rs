//! One call of a batch.

use jiff::Timestamp;
use regatta_proto::{BATCH, CacheMode, Call, ChatRequest, FailedCall, Money, Price, Role};

use crate::{SessionTag, worst_case};

/// One call of a batch. Its place in the list of calls is what names its line, so the list must be the same whenever the batch is
/// prepared or collected.
#[derive(Debug, Clone, Copy)]
pub struct BatchCall<'a> {
    /// The provider's own model name; the same for all calls of a batch, which OpenAI asks for.
    pub model: &'a str,
    /// On whose part the model speaks.
    pub role: Role,
    /// The attempt that pays.
    pub attempt: u32,
    /// What is asked.
    pub request: &'a ChatRequest,
    /// What tokens cost; `None` leaves the cost unknown.
    pub price: Option<&'a Price>,
    /// Whether answers are kept and used again.
    pub cache: CacheMode,
    /// The session, for endpoints that are told.
    pub session: SessionTag<'a>,
}

impl BatchCall<'_> {
    /// What the call can cost at most; `None` when the price is unknown.
    #[must_use]
    pub fn at_most(&self) -> Option<Money> {
        let price = self.price?;
        // Without a price of its own, a batch is assumed to cost what live calls cost.
        Some(worst_case(self.request, price.variants.get(BATCH).unwrap_or(price)))
    }
}

/// Everything that came of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// What came of each call, in the order of the calls.
    pub calls: Vec<Result<Call, FailedCall>>,
    /// When the provider took the batch in, as far as it says.
    pub began_at: Option<Timestamp>,
    /// When it was over, as far as the provider says.
    pub ended_at: Option<Timestamp>,
}
