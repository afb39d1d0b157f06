//! One admitted request until it is over.

use std::sync::Arc;

use crate::books::Bill;
use crate::counters::AnsweredItem;
use crate::routes::Endpoint;

/// Holds a request's place until it is dropped, and sees to it that the request is counted once: as delivered, as lost, as one that got
/// no answer, or, when it is dropped before any of that, as abandoned by its client.
pub(crate) struct Account {
    endpoint: Arc<Endpoint>,
    model: String,
    item: Option<AnsweredItem>,
    /// What was generated so far, to be paid whether anybody reads it or not.
    bill: Bill,
    is_open: bool,
}

impl Account {
    /// Of a request that [`crate::limits::Limits`] admitted.
    pub(crate) fn open(endpoint: Arc<Endpoint>, model: String, item: Option<AnsweredItem>) -> Self {
        Self { endpoint, model, item, bill: Bill::default(), is_open: true }
    }

    /// The model has written its answer, which costs `bill`.
    pub(crate) fn generated(&mut self, bill: Bill) {
        self.bill = bill;
    }

    /// The whole answer was sent.
    pub(crate) fn delivered(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.endpoint.tally.answered(&self.model, self.bill, self.item);
        }
    }

    /// The answer will not reach its client whole.
    pub(crate) fn lost(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.endpoint.tally.lost(&self.model, self.bill);
        }
    }

    /// There is no answer, and nothing to bill.
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
