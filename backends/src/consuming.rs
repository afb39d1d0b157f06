//! Queues that a role has to consume, and which of them it does not: a role is ready while it consumes them all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Subscriptions of one consumer, which it makes again by itself when the broker ends them; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Subscriptions {
    lost: Arc<AtomicUsize>,
}

impl Subscriptions {
    /// `true` if the broker has ended none of them that is not there again.
    #[must_use]
    pub fn are_there(&self) -> bool {
        self.lost.load(Ordering::Relaxed) == 0
    }

    /// One of them is lost until the guard is dropped.
    #[cfg(any(test, feature = "cluster"))]
    pub(crate) fn lose(&self) -> LostSubscription {
        self.lost.fetch_add(1, Ordering::Relaxed);
        LostSubscription(self.clone())
    }
}

/// A subscription that is not there; dropped once it is again.
#[cfg(any(test, feature = "cluster"))]
#[derive(Debug)]
pub(crate) struct LostSubscription(Subscriptions);

#[cfg(any(test, feature = "cluster"))]
impl Drop for LostSubscription {
    fn drop(&mut self) {
        self.0.lost.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Queues of one role, by what its readiness calls them; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Consuming(Arc<Mutex<BTreeMap<String, Standing>>>);

#[derive(Debug)]
enum Standing {
    Consumed(Subscriptions),
    /// With the reason.
    Missing(String),
}

impl Consuming {
    /// A role that has to consume `queue` and has not begun.
    #[must_use]
    pub fn awaiting(queue: &str) -> Self {
        let consuming = Self::default();
        consuming.lacks(queue, "it has not begun".to_owned());
        consuming
    }

    /// The role consumes `queue` by these subscriptions.
    pub fn consumes(&self, queue: &str, subscriptions: Subscriptions) {
        self.locked().insert(queue.to_owned(), Standing::Consumed(subscriptions));
    }

    /// The role does not consume `queue`, and has to.
    pub fn lacks(&self, queue: &str, reason: String) {
        self.locked().insert(queue.to_owned(), Standing::Missing(reason));
    }

    /// Forgets each queue that `has_to` does not hold for: nobody expects the role to consume it any more.
    pub fn retain(&self, has_to: impl Fn(&str) -> bool) {
        self.locked().retain(|queue, _| has_to(queue));
    }

    /// A queue that is not consumed and why, in a sentence; `None` if all are.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        self.locked().iter().find_map(|(queue, standing)| match standing {
            Standing::Consumed(subscriptions) if subscriptions.are_there() => None,
            Standing::Consumed(_) => Some(format!("{queue}: the broker has ended the subscription; subscribing again")),
            Standing::Missing(reason) => Some(format!("{queue}: not consumed: {reason}")),
        })
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, Standing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_lacks_a_queue_until_it_is_consumed_and_while_a_subscription_is_lost() {
        let consuming = Consuming::awaiting("reports");
        assert_eq!(consuming.missing().unwrap(), "reports: not consumed: it has not begun");
        let subscriptions = Subscriptions::default();
        consuming.consumes("reports", subscriptions.clone());
        assert_eq!(consuming.missing(), None);
        let (one, other) = (subscriptions.lose(), subscriptions.lose());
        drop(one);
        assert!(consuming.missing().unwrap().starts_with("reports: the broker has ended the subscription"));
        drop(other);
        assert_eq!(consuming.missing(), None);
    }

    #[test]
    fn a_queue_that_nobody_tells_of_any_more_is_not_lacked() {
        let consuming = Consuming::default();
        consuming.lacks("jobs.a", "the broker refuses".to_owned());
        consuming.consumes("jobs.b", Subscriptions::default());
        assert_eq!(consuming.clone().missing().unwrap(), "jobs.a: not consumed: the broker refuses");
        consuming.retain(|queue| queue != "jobs.a");
        assert_eq!(consuming.missing(), None);
    }
}
