//! One call of a batch.

use jiff::Timestamp;
use regatta_proto::{BATCH, CacheMode, Call, ChatRequest, FailedCall, Money, Price, Role};

use crate::{SessionTag, worst_case};

/// One call of a batch. A line is named by its position in the list of calls, so the list must be the same whenever the batch is prepared
/// or collected.
#[derive(Debug, Clone, Copy)]
pub struct BatchCall<'a> {
    /// The provider's own model name. OpenAI requires the same model for all calls of a batch.
    pub model: &'a str,
    /// The role that the model speaks in.
    pub role: Role,
    /// Number of the attempt that the call belongs to.
    pub attempt: u32,
    /// The request.
    pub request: &'a ChatRequest,
    /// The price of tokens; `None` leaves the cost unknown.
    pub price: Option<&'a Price>,
    /// The use of the response cache.
    pub cache: CacheMode,
    /// The session, for endpoints that are told it.
    pub session: SessionTag<'a>,
}

impl BatchCall<'_> {
    /// Upper bound of the cost; `None` if the price is unknown.
    #[must_use]
    pub fn at_most(&self) -> Option<Money> {
        let price = self.price?;
        // Without a price of its own, a batch is assumed to cost what live calls cost.
        Some(worst_case(self.request, price.variants.get(BATCH).unwrap_or(price)))
    }
}

/// The results of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// The results of the calls, in their order.
    pub calls: Vec<Result<Call, FailedCall>>,
    /// Time at which the provider accepted the batch; `None` if unknown.
    pub began_at: Option<Timestamp>,
    /// Time at which the batch ended; `None` if unknown.
    pub ended_at: Option<Timestamp>,
}
