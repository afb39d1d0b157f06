//! An answer with the bytes that are held for it.

use std::time::Duration;

use regatta_memory::HeldBytes;
use regatta_proto::Usage;

use crate::tries::Answered;

/// A value that was read, and the bytes that it took.
#[derive(Debug)]
pub(crate) struct Received<T> {
    pub(crate) value: T,
    pub(crate) held: HeldBytes,
}

impl<T> Received<T> {
    /// The same bytes, with what `change` makes of the value.
    pub(crate) fn and_then<U, E>(self, change: impl FnOnce(T) -> Result<U, E>) -> Result<Received<U>, E> {
        Ok(Received { value: change(self.value)?, held: self.held })
    }
}

impl<T: Answered> Answered for Received<T> {
    fn usage(&self) -> &Usage {
        self.value.usage()
    }

    fn usage_is_known(&self) -> bool {
        self.value.usage_is_known()
    }

    fn tier(&self) -> Option<&str> {
        self.value.tier()
    }

    fn first_token(&self) -> Option<Duration> {
        self.value.first_token()
    }

    fn exhausted_for(&self) -> Option<Duration> {
        self.value.exhausted_for()
    }
}
