//! One admitted request, until it has ended.

use std::sync::Arc;

use crate::bill::Bill;
use crate::endpoint::Endpoint;
use crate::session::AnsweredItem;

/// Holds a request's slot until it is dropped, and counts the request exactly once: as delivered, lost, failed or, if it is dropped before
/// any of these, as abandoned by its client.
pub(crate) struct Account {
    endpoint: Arc<Endpoint>,
    model: String,
    item: Option<AnsweredItem>,
    /// Cost of the tokens generated so far, which are billed even if nobody reads them.
    bill: Bill,
    is_open: bool,
}

impl Account {
    /// The account of a request that [`crate::limits::Limits`] admitted.
    pub(crate) fn open(endpoint: Arc<Endpoint>, model: String, item: Option<AnsweredItem>) -> Self {
        Self { endpoint, model, item, bill: Bill::default(), is_open: true }
    }

    /// The model has generated its answer, at the cost of `bill`.
    pub(crate) fn generated(&mut self, bill: Bill) {
        self.bill = bill;
    }

    /// The whole answer was sent.
    pub(crate) fn delivered(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.endpoint.tally.answered(&self.model, self.bill, self.item);
        }
    }

    /// The answer will not reach its client as a whole.
    pub(crate) fn lost(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.endpoint.tally.lost(&self.model, self.bill);
        }
    }

    /// The request has failed without an answer, and costs nothing.
    pub(crate) fn failed(&mut self) {
        self.is_open = false;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if self.is_open {
            self.endpoint.tally.abandoned(&self.model, self.bill);
        }
        self.endpoint.limits.leave();
    }
}
