//! The callers' end of publishing: hands messages over, and waits until all are confirmed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::publication::{Claim, Request, Route, Times};
use super::unconfirmed::Unconfirmed;
use crate::queue::QueueError;

/// Most requests that wait for the publishing task; further callers wait to queue theirs.
const WAITING_REQUESTS: usize = 64;

/// Shared by all callers.
#[derive(Debug, Clone)]
pub(super) struct Publisher {
    requests: mpsc::Sender<Request>,
    timeout: Duration,
}

impl Publisher {
    /// A publisher, and the state of its task.
    pub(super) fn new(timeout: Duration) -> (Self, Unconfirmed) {
        let (requests, incoming) = mpsc::channel(WAITING_REQUESTS);
        (Self { requests, timeout }, Unconfirmed::new(incoming, timeout))
    }

    /// Returns when all are confirmed.
    pub(super) async fn publish(&self, route: Route, bodies: Vec<Bytes>, times: Times) -> Result<(), QueueError> {
        if bodies.is_empty() {
            return Ok(());
        }
        let queue = if route.exchange.as_str().is_empty() { route.key.to_string() } else { route.exchange.to_string() };
        let messages = bodies.len();
        let (done, confirmed) = oneshot::channel();
        let claim = Arc::new(Claim::default());
        let request = Request { route: Arc::new(route), bodies, times, claim: Arc::clone(&claim), done };
        let published = async {
            self.requests.send(request).await.map_err(|_| QueueError::Closed)?;
            confirmed.await.map_err(|_| QueueError::Closed)?
        };
        tokio::pin!(published);
        let confirmed_until = Instant::now() + self.timeout;
        if let Times::Once { until } = times {
            match tokio::time::timeout_at(until.min(confirmed_until), &mut published).await {
                Ok(result) => return result,
                Err(_) if claim.take_back() => return Err(QueueError::TooLate { queue, messages }),
                Err(_) => {}
            }
        }
        match tokio::time::timeout_at(confirmed_until, published).await {
            Ok(result) => result,
            Err(_) if claim.take_back() => Err(QueueError::TooLate { queue, messages }),
            Err(_) => Err(QueueError::Unconfirmed { queue, messages, timeout: self.timeout }),
        }
    }
}

#[cfg(test)]
mod tests {
    use lapin::types::ShortString;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_a_channel_until_it_may_not_be_sent_any_more_is_taken_back_and_its_caller_told_so() {
        let (publisher, _nobody_publishes) = Publisher::new(Duration::from_secs(60));
        let (began, lease) = (Instant::now(), Duration::from_secs(10));
        let route = Route { exchange: ShortString::default(), key: "q".into(), mandatory: true };
        let times = Times::Once { until: began + lease };
        let error = publisher.publish(route, vec![Bytes::from_static(b"a")], times).await.unwrap_err();
        assert!(matches!(&error, QueueError::TooLate { queue, messages: 1 } if queue == "q"), "{error}");
        assert_eq!(began.elapsed(), lease);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_come_twice_and_finds_no_channel_in_time_is_not_in_doubt() {
        let (publisher, _nobody_publishes) = Publisher::new(Duration::from_secs(60));
        let route = Route { exchange: ShortString::default(), key: "q".into(), mandatory: true };
        let published = publisher.publish(route, vec![Bytes::from_static(b"a")], Times::UntilConfirmed);
        let error = published.await.unwrap_err();
        assert!(!error.is_in_doubt() && error.is_outage(), "{error}");
    }
}
