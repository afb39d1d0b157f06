//! A leader's questions to one queue end before its lead does. A queue that does not answer, as one without a leader after kills of the broker,
//! holds up neither the lead nor other queues; a broker that does not answer at all does, so that a leader that alone is cut off from it
//! loses its lead.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use regatta_backends::{Queue, QueueError, Term};
use regatta_proto::{Job, Report};
use tokio::time::Instant;

use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError};

/// Time between the end of a step and that of the lead: the broker itself is asked then, and the lead renewed.
const MARGIN: Duration = Duration::from_secs(3);
/// Time between the end of sending and that of a step, so that jobs which were not sent are known not to have been.
const SETTLED_AFTER: Duration = Duration::from_millis(100);
/// Time in which a queue is to be made, which takes an election where there are several nodes, or to tell what is in it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(4);
/// Time for which a queue is left alone that did not answer. It doubles with each further time, up to [`LEFT_ALONE_LONGEST`].
const LEFT_ALONE_FOR: Duration = Duration::from_secs(10);
/// The same where its channel was lost, or not to be had in time, as when the broker is killed: the next may be right.
const LEFT_ALONE_FIRST: Duration = Duration::from_secs(1);
const LEFT_ALONE_LONGEST: Duration = Duration::from_secs(160);
/// Time after which the jobs that a queue did not confirm count as lost, although it has confirmed none since.
const LOST_AFTER: Duration = Duration::from_secs(600);

/// A question about one queue.
type Ask<T> = for<'a> fn(&'a Queue, &'a str) -> BoxFuture<'a, Result<T, QueueError>>;

/// Queues that did not answer in time. Each is left alone for a while: nobody else's jobs wait for it.
#[derive(Debug, Default)]
pub(crate) struct Unanswering(BTreeMap<String, Silence>);

#[derive(Debug, Clone, Copy)]
struct Silence {
    /// Since when something may be on its way to the queue, because the broker said neither that it is there nor that it is not.
    since: Option<Instant>,
    until: Instant,
    pause: Duration,
}

impl Unanswering {
    /// `queue` has not answered; it is left alone for `first`, or for longer.
    fn note(&mut self, queue: &str, first: Duration) {
        let before = self.0.get(queue);
        let pause = before.map_or(first, |silence| (silence.pause * 2).clamp(first, LEFT_ALONE_LONGEST));
        let since = before.and_then(|silence| silence.since);
        self.0.insert(queue.to_owned(), Silence { since, until: Instant::now() + pause, pause });
    }

    /// Notes that `queue` did not answer, and that messages sent to it may still arrive.
    fn note_silent(&mut self, queue: &str) {
        self.note(queue, LEFT_ALONE_FOR);
        if let Some(silence) = self.0.get_mut(queue) {
            silence.since.get_or_insert_with(Instant::now);
        }
    }

    /// `queue` has answered.
    pub(crate) fn has_answered(&mut self, queue: &str) {
        self.0.remove(queue);
    }

    /// `true` if something that was sent to `queue` may still come, however long ago that is: it has not answered since.
    pub(crate) fn is_silent(&self, queue: &str) -> bool {
        let since = self.0.get(queue).and_then(|silence| silence.since);
        since.is_some_and(|since| since.elapsed() < LOST_AFTER)
    }

    /// `true` while `queue` is left alone.
    pub(crate) fn leaves_alone(&self, queue: &str) -> bool {
        self.0.get(queue).is_some_and(|silence| Instant::now() < silence.until)
    }
}

/// Key of all queues of reports among those that do not answer: what is asked of scorers goes to several of them at once.
const REPORTS: &str = "reports";

impl Coordinator {
    /// Publishes `reports` under `term`, unless their queues did not answer lately.
    ///
    /// # Errors
    /// [`CoordinatorError::Unanswered`] when one of the queues does not answer within the lead: whether they were published is not known.
    /// [`CoordinatorError::NotLeading`] when the lead has run out, or another has led since `term`.
    pub(crate) async fn report(&self, reports: Vec<Report>, term: Term) -> Result<(), CoordinatorError> {
        self.lead_on(term).await?;
        if self.leaves_reports_alone() {
            return Err(CoordinatorError::Unanswered);
        }
        match tokio::time::timeout_at(self.step_ends(term)?, self.queue.publish_reports(reports)).await {
            Ok(reported) => {
                reported?;
                self.reports_unanswering().has_answered(REPORTS);
                Ok(())
            }
            Err(_) => {
                tracing::warn!("a queue of reports does not answer; what scorers are to be told is tried again later");
                self.reports_unanswering().note(REPORTS, LEFT_ALONE_FOR);
                self.lead_on(term).await?;
                Err(CoordinatorError::Unanswered)
            }
        }
    }

    /// `true` while nothing is published to queues of reports, because one of them did not answer.
    pub(crate) fn leaves_reports_alone(&self) -> bool {
        self.reports_unanswering().leaves_alone(REPORTS)
    }

    /// A scorer has answered what was published to all queues of reports.
    pub(crate) fn reports_have_answered(&self) {
        self.reports_unanswering().has_answered(REPORTS);
    }

    /// Publishes `jobs` once to `queue`, if they can be sent within the lead, which was renewed before they were claimed.
    ///
    /// # Errors
    /// None was sent, nor will be, after [`CoordinatorError::NotLeading`] and
    /// [`QueueError::TooLate`](regatta_backends::QueueError::TooLate). [`CoordinatorError::Unanswered`]: they may have been sent, and `queue` is
    /// left alone for a while.
    pub(crate) async fn send_once(
        &self,
        watched: &mut Watched,
        queue: &str,
        jobs: Vec<Job>,
    ) -> Result<(), CoordinatorError> {
        let until = self.step_ends(watched.term)?;
        let sending = self.queue.publish_jobs_once(queue, jobs, until);
        let sent = match tokio::time::timeout_at(until + SETTLED_AFTER, sending).await {
            Ok(sent) => sent.map_err(CoordinatorError::from),
            Err(_) => {
                // Before whatever is done next it is asked who leads; and an error of this must not be taken for one of the jobs.
                let _ = self.lead_on(watched.term).await;
                Err(CoordinatorError::Unanswered)
            }
        };
        match &sent {
            Ok(()) => {
                watched.unconfirming.has_answered(queue);
                return Ok(());
            }
            Err(CoordinatorError::Unanswered) => watched.unconfirming.note_silent(queue),
            Err(CoordinatorError::Queue(error)) if error.is_in_doubt() => {
                watched.unconfirming.note(queue, LEFT_ALONE_FIRST);
            }
            // There was no channel to send on. Where that is because this process alone is cut off, it must not lead on.
            Err(CoordinatorError::Queue(QueueError::TooLate { .. })) => {
                if self.lead_on(watched.term).await.is_ok() {
                    watched.unconfirming.note(queue, LEFT_ALONE_FIRST);
                }
                return sent;
            }
            Err(_) => return sent,
        }
        tracing::warn!(sweep = %watched.sweep.id, queue, "a queue confirms no jobs; it is left alone for a while");
        // The broker may have them until their channel is closed: they are in doubt from now on, not since the sweep last moved.
        self.move_on(watched).await?;
        Err(CoordinatorError::Unanswered)
    }

    /// Asks each of `queues` that is not left alone, all at once, under `term`. One that does not answer in time is left alone from then on.
    ///
    /// # Errors
    /// When one did not answer, and the broker does not either; [`CoordinatorError::NotLeading`] as in [`Self::report`].
    pub(crate) async fn ask_each<T>(
        &self,
        unanswering: &mut Unanswering,
        queues: Vec<String>,
        term: Term,
        ask: Ask<T>,
    ) -> Result<Vec<(String, Option<Result<T, QueueError>>)>, CoordinatorError> {
        self.lead_on(term).await?;
        let until = self.step_ends(term)?.min(Instant::now() + ANSWERED_WITHIN);
        let (left_alone, asked): (Vec<String>, Vec<String>) =
            queues.into_iter().partition(|queue| unanswering.leaves_alone(queue));
        let asking = asked.iter().map(|queue| tokio::time::timeout_at(until, ask(&self.queue, queue)));
        let found = join_all(asking).await;
        let mut answers: Vec<_> = left_alone.into_iter().map(|queue| (queue, None)).collect();
        let mut is_any_silent = false;
        for (queue, answer) in asked.into_iter().zip(found) {
            if answer.is_ok() {
                unanswering.has_answered(&queue);
            } else {
                tracing::warn!(queue, "the broker does not answer for a queue; it is left alone for a while");
                unanswering.note(&queue, LEFT_ALONE_FOR);
                is_any_silent = true;
            }
            answers.push((queue, answer.ok()));
        }
        if is_any_silent {
            self.lead_on(term).await?;
        }
        Ok(answers)
    }

    /// End of a step under `term` that begins now.
    fn step_ends(&self, term: Term) -> Result<Instant, CoordinatorError> {
        Ok(self.leads_until(term)? - MARGIN)
    }
}
