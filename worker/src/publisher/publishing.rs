//! Publishing publications: all at once, or, when a message among them is too large for the queue, one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regatta_backends::{Outage, Queue, QueueError};
use regatta_proto::{Cause, Job, Outcome, Report, SessionOutcome, Transcript};
use tokio::time::Instant;

use super::{Held, Publication};
use crate::WorkerMetrics;

/// Pauses between tries while the queue cannot be reached. They stay short: once the queue is back, a session whose report is not there counts
/// as one that nobody has, and is dispatched again.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Time for which jobs of sessions wait for a channel to the broker, before they are tried again.
const SENT_WITHIN: Duration = Duration::from_secs(10);

/// The queues that publications go to; a trait so that tests can fail them.
pub(super) trait Publishing: Sync {
    /// `are_kept`: nothing that was paid for is in these jobs alone.
    fn jobs(&self, queue: &str, jobs: Vec<Job>, are_kept: bool) -> impl Future<Output = Result<(), QueueError>> + Send;
    fn reports(&self, reports: Vec<Report>) -> impl Future<Output = Result<(), QueueError>> + Send;
}

impl Publishing for Queue {
    async fn jobs(&self, queue: &str, jobs: Vec<Job>, are_kept: bool) -> Result<(), QueueError> {
        if !are_kept {
            return self.publish_jobs(queue, jobs).await;
        }
        match self.publish_jobs_once(queue, jobs, Instant::now() + SENT_WITHIN).await {
            // A second copy would be run beside the first. One that the broker has not got is a lost job, of which there is a checkpoint.
            Err(error) if error.is_in_doubt() => {
                tracing::warn!(%error, queue, "sessions were handed over, and the broker may not have their jobs");
                Ok(())
            }
            published => published,
        }
    }

    async fn reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        self.publish_reports(reports).await
    }
}

/// Queues that are tried again while they cannot be reached: what was paid for is in these messages and nowhere else.
struct Insisting<'a, Q>(&'a Q);

impl<Q: Publishing> Publishing for Insisting<'_, Q> {
    async fn jobs(&self, queue: &str, jobs: Vec<Job>, are_kept: bool) -> Result<(), QueueError> {
        let mut outage = Outage::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            match self.0.jobs(queue, jobs.clone(), are_kept).await {
                Err(error) if may_pass(&error) => wait(&mut outage, &error, jobs.len()).await,
                other => return other,
            }
        }
    }

    async fn reports(&self, reports: Vec<Report>) -> Result<(), QueueError> {
        let mut outage = Outage::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            match self.0.reports(reports.clone()).await {
                Err(error) if may_pass(&error) => wait(&mut outage, &error, reports.len()).await,
                other => return other,
            }
        }
    }
}

const fn may_pass(error: &QueueError) -> bool {
    !error.is_of_a_message() && !matches!(error, QueueError::Closed)
}

/// Tells of a failed try, where that is due, and waits for the next.
async fn wait(outage: &mut Outage, error: &QueueError, messages: usize) {
    let failed = outage.fails();
    if failed.is_told {
        tracing::warn!(%error, messages, tries = failed.tries, "failed to publish reports, trying again");
    }
    tokio::time::sleep(failed.pause).await;
}

/// Publishes all that `publications` hold, and settles their deliveries.
pub(super) async fn publish(queue: &impl Publishing, metrics: &WorkerMetrics, publications: Vec<Publication>) {
    let (mut published, mut outage) = (BTreeSet::new(), Outage::new(FIRST_PAUSE, LONGEST_PAUSE));
    loop {
        match together(queue, &publications, &mut published).await {
            Ok(()) => {
                if let Some(lasted) = outage.ends() {
                    tracing::info!(lasted_s = lasted.as_secs(), "reports are published again");
                }
                return Held::ack_all(
                    publications.into_iter().flat_map(|publication| publication.origin.confirmed()).collect(),
                )
                .await;
            }
            Err(error) if error.is_of_a_message() => return one_by_one(queue, metrics, publications, &published).await,
            Err(error @ QueueError::Closed) => return lose(metrics, &error, publications.into_iter()).await,
            Err(error) => wait(&mut outage, &error, publications.len()).await,
        }
    }
}

/// Publishes everything in few steps, each of the jobs of one queue that are kept elsewhere too, or are not. `published` gets those that are
/// safe, so that no job is published twice.
async fn together(
    queue: &impl Publishing,
    publications: &[Publication],
    published: &mut BTreeSet<(String, bool)>,
) -> Result<(), QueueError> {
    let mut jobs: BTreeMap<(String, bool), Vec<Job>> = BTreeMap::new();
    for publication in publications {
        let are_kept = publication.origin.is_kept();
        for (queue, job) in &publication.jobs {
            jobs.entry((queue.clone(), are_kept)).or_default().push(job.clone());
        }
    }
    for ((name, are_kept), jobs) in jobs {
        let step = (name, are_kept);
        // At an earlier try.
        if published.contains(&step) {
            continue;
        }
        queue.jobs(&step.0, jobs, are_kept).await?;
        published.insert(step);
    }
    let reports: Vec<Report> = publications.iter().flat_map(|publication| &publication.reports).cloned().collect();
    if reports.is_empty() { Ok(()) } else { queue.reports(reports).await }
}

/// One message that cannot be published must not have the sessions of all others repeated.
async fn one_by_one(
    queue: &impl Publishing,
    metrics: &WorkerMetrics,
    publications: Vec<Publication>,
    published: &BTreeSet<(String, bool)>,
) {
    let (queue, mut publications) = (&Insisting(queue), publications.into_iter());
    while let Some(mut publication) = publications.next() {
        let are_kept = publication.origin.is_kept();
        publication.jobs.retain(|(queue, _)| !published.contains(&(queue.clone(), are_kept)));
        let (reports, jobs) = (std::mem::take(&mut publication.reports), std::mem::take(&mut publication.jobs));
        match alone(queue, reports, jobs, are_kept).await {
            Ok(()) => {
                Held::ack_all(publication.origin.confirmed()).await;
            }
            Err(error) if error.is_of_a_message() => lose(metrics, &error, std::iter::once(publication)).await,
            Err(error) => return lose(metrics, &error, std::iter::once(publication).chain(publications)).await,
        }
    }
}

/// Publishes what one publication holds. A session of which too much would have to be told is not measured: to run it again would cost the same
/// and end the same.
async fn alone(
    queue: &impl Publishing,
    mut reports: Vec<Report>,
    jobs: Vec<(String, Job)>,
    are_kept: bool,
) -> Result<(), QueueError> {
    for (name, job) in jobs {
        match queue.jobs(&name, vec![job.clone()], are_kept).await {
            Err(error) if error.is_of_a_message() => {
                let told = match &job {
                    Job::Session(_) => reports.iter_mut().find_map(|report| Some((given_up(report, &job)?, report))),
                    Job::Judge(_) | Job::Batch(_) => None,
                };
                let Some((given_up, report)) = told else { return Err(error) };
                tell(&error, &given_up);
                *report = given_up;
            }
            other => other?,
        }
    }
    for report in reports {
        match queue.reports(vec![report.clone()]).await {
            Err(error) if error.is_of_a_message() => {
                let Some(bare) = bare(&report) else { return Err(error) };
                tell(&error, &bare);
                match queue.reports(vec![bare.clone()]).await {
                    // What it cost is in its last progress report, and in the account.
                    Err(error) if error.is_of_a_message() => queue.reports(vec![without_calls(bare)]).await?,
                    other => other?,
                }
            }
            other => other?,
        }
    }
    Ok(())
}

/// The report in place of `report` when the continuation `job` that it announces cannot be published: the session is not measured. `None`
/// if `report` is not about `job`.
fn given_up(report: &Report, job: &Job) -> Option<Report> {
    match (report, job) {
        (Report::HandedOver { key, attempt, .. }, Job::Session(job)) if *key == job.key => {
            Some(Report::Session(Box::new(SessionOutcome {
                key: key.clone(),
                lock: job.lock,
                attempt: attempt.clone(),
                outcome: Outcome::NotMeasured { cause: Cause::Internal },
                transcript: job.transcript.costs(),
            })))
        }
        _ => None,
    }
}

/// Report in place of the end of a session that cannot be published: what it cost, without what was said.
fn bare(report: &Report) -> Option<Report> {
    match report {
        Report::Session(ended) => Some(Report::Session(Box::new(SessionOutcome {
            outcome: Outcome::NotMeasured { cause: Cause::Internal },
            transcript: ended.transcript.costs(),
            ..(**ended).clone()
        }))),
        Report::HandedOver { .. }
        | Report::Judge(_)
        | Report::Progress(_)
        | Report::Rejudge { .. }
        | Report::Echo { .. }
        | Report::Tabulate { .. } => None,
    }
}

/// `report` as it is when even its calls are too many to be told one by one.
fn without_calls(report: Report) -> Report {
    match report {
        Report::Session(ended) => {
            Report::Session(Box::new(SessionOutcome { transcript: Transcript::default(), ..*ended }))
        }
        other => other,
    }
}

fn tell(error: &QueueError, report: &Report) {
    if let Report::Session(ended) = report {
        let SessionOutcome { key, attempt, .. } = &**ended;
        tracing::error!(
            %error, session = %key, attempt = attempt.number,
            "the transcript of a session cannot be published; the session is reported as not measured, and its transcript is lost"
        );
    }
}

/// Leaves publications to redelivery.
async fn lose(metrics: &WorkerMetrics, error: &QueueError, publications: impl Iterator<Item = Publication>) {
    let receipts: Vec<Held> = publications.flat_map(|publication| publication.origin.deliveries()).collect();
    metrics.reports_lost.inc();
    tracing::error!(%error, jobs = receipts.len(), "failed to publish reports; their jobs will be delivered again");
    for receipt in receipts {
        receipt.hand_back().await;
    }
}
