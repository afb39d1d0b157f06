//! What a leader asks of one queue ends before its lead does. A queue that answers nobody, as one without a leader after kills of the broker,
//! holds up neither the lead nor other queues; a broker that does not answer at all does, so that a leader that alone is cut off from it
//! loses its lead.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use regatta_backends::{Queue, QueueError, Term};
use regatta_proto::Job;
use tokio::time::Instant;

use crate::{Coordinator, CoordinatorError};

/// Time between the end of a step and that of the lead: the broker itself is asked then, and the lead renewed.
const MARGIN: Duration = Duration::from_secs(2);
/// Time in which a queue is to tell how many jobs it has. One that takes longer says nothing, and is left alone for a while: nobody else's jobs
/// wait for it.
pub(crate) const TELLS_WITHIN: Duration = Duration::from_secs(2);
/// Time in which a queue is to be made, which takes an election where there are several nodes.
pub(crate) const MADE_WITHIN: Duration = Duration::from_secs(6);
const LEFT_ALONE_FOR: Duration = Duration::from_secs(30);

/// A question about one queue.
type Ask<T> = for<'a> fn(&'a Queue, &'a str) -> BoxFuture<'a, Result<T, QueueError>>;

/// Queues of a sweep that did not answer in time.
#[derive(Debug, Default)]
pub(crate) struct Unanswering(BTreeMap<String, Instant>);

impl Unanswering {
    /// `queue` has not answered in time.
    pub(crate) fn note(&mut self, queue: &str) {
        self.0.insert(queue.to_owned(), Instant::now());
    }

    /// `true` while `queue` is left alone.
    pub(crate) fn leaves_alone(&self, queue: &str) -> bool {
        self.0.get(queue).is_some_and(|since| since.elapsed() < LEFT_ALONE_FOR)
    }
}

impl Coordinator {
    /// Does `work` with one queue under `term`, within the lead that it renews before.
    ///
    /// # Errors
    /// [`CoordinatorError::Unanswered`] when the queue takes longer: whether the work was done is not known. Then the broker itself has answered
    /// since. [`CoordinatorError::NotLeading`] when another has led since `term`.
    pub(crate) async fn step<T>(
        &self,
        term: Term,
        work: impl Future<Output = Result<T, QueueError>>,
    ) -> Result<T, CoordinatorError> {
        self.lead_on(term).await?;
        self.step_until(self.step_ends(term)?, term, work).await
    }

    /// End of a step under `term` that begins now.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] when the lead is over.
    fn step_ends(&self, term: Term) -> Result<Instant, CoordinatorError> {
        Ok(self.leads_until(term)? - MARGIN)
    }

    async fn step_until<T>(
        &self,
        until: Instant,
        term: Term,
        work: impl Future<Output = Result<T, QueueError>>,
    ) -> Result<T, CoordinatorError> {
        if let Ok(done) = tokio::time::timeout_at(until, work).await {
            return Ok(done?);
        }
        self.is_there(term).await?;
        Err(CoordinatorError::Unanswered)
    }

    /// Waits for the broker itself for as long as it takes, which may be longer than the lead lasts, and renews the lead then.
    async fn is_there(&self, term: Term) -> Result<(), CoordinatorError> {
        self.queue.reach().await?;
        self.lead_on(term).await
    }

    /// Publishes `jobs` once, if they can be sent within the lead under `term`, which was renewed before they were claimed.
    ///
    /// # Errors
    /// As [`Self::step`]. None was sent, nor will be, when it is no longer known that this process leads, or
    /// [`QueueError::TooLate`](regatta_backends::QueueError::TooLate).
    pub(crate) async fn send_once(&self, queue: &str, jobs: Vec<Job>, term: Term) -> Result<(), CoordinatorError> {
        let until = self.step_ends(term)?;
        self.step_until(until, term, self.queue.publish_jobs_once(queue, jobs, until)).await
    }

    /// Asks each of `queues` that is not left alone, all at once, under `term`. One that does not answer within `patience` is left alone from then
    /// on.
    ///
    /// # Errors
    /// When one did not answer, and the broker does not either; when another has led since `term`.
    pub(crate) async fn ask_each<T>(
        &self,
        unanswering: &mut Unanswering,
        queues: Vec<String>,
        patience: Duration,
        term: Term,
        ask: Ask<T>,
    ) -> Result<Vec<(String, Option<Result<T, QueueError>>)>, CoordinatorError> {
        self.lead_on(term).await?;
        let until = self.step_ends(term)?.min(Instant::now() + patience);
        let (left_alone, asked): (Vec<String>, Vec<String>) =
            queues.into_iter().partition(|queue| unanswering.leaves_alone(queue));
        let asking = asked.iter().map(|queue| tokio::time::timeout_at(until, ask(&self.queue, queue)));
        let found = join_all(asking).await;
        let mut answers: Vec<_> = left_alone.into_iter().map(|queue| (queue, None)).collect();
        let mut is_any_silent = false;
        for (queue, answer) in asked.into_iter().zip(found) {
            if answer.is_err() {
                tracing::debug!(queue, "the broker does not answer for this queue");
                unanswering.note(&queue);
                is_any_silent = true;
            }
            answers.push((queue, answer.ok()));
        }
        if is_any_silent {
            self.is_there(term).await?;
        }
        Ok(answers)
    }
}
