//! Publishing publications: all at once, or, when a message among them is too large for the queue, one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use regatta_backends::{Outage, Queue, QueueError};
use regatta_proto::{AttemptId, Cause, Job, Outcome, Progress, Report, SessionJob, SessionOutcome, Transcript};
use regatta_traces::session_span;
use tokio::time::Instant;

use super::{Held, Publication};
use crate::WorkerMetrics;
use crate::batch::halves;

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
    /// Takes `reports` that are published; where that fails, they are left.
    fn reports(&self, reports: &mut Vec<Report>) -> impl Future<Output = Result<(), QueueError>> + Send;
}

impl Publishing for Queue {
    async fn jobs(&self, queue: &str, jobs: Vec<Job>, are_kept: bool) -> Result<(), QueueError> {
        if !are_kept {
            return self.publish_jobs(queue, jobs).await;
        }
        match self.publish_jobs_once(queue, jobs, Instant::now() + SENT_WITHIN).await {
            // A second copy would be run beside the first. One that the broker has not got is a lost job: of a session there is a checkpoint.
            Err(error) if error.is_in_doubt() => {
                tracing::warn!(%error, queue, "work was handed over, and the broker may not have its jobs");
                Ok(())
            }
            published => published,
        }
    }

    async fn reports(&self, reports: &mut Vec<Report>) -> Result<(), QueueError> {
        self.take_reports(reports).await
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

    async fn reports(&self, reports: &mut Vec<Report>) -> Result<(), QueueError> {
        let mut outage = Outage::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            match self.0.reports(reports).await {
                Err(error) if may_pass(&error) => wait(&mut outage, &error, reports.len()).await,
                other => return other,
            }
        }
    }
}

/// Publishes progress, again while the queue cannot be reached. Reports that are late do no harm: whatever newer is recorded of an attempt stays.
///
/// # Errors
/// When the queue is closed, or a report is too large.
pub(crate) async fn insist_on_progress(queue: &Queue, progress: Vec<Progress>) -> Result<(), QueueError> {
    let mut outage = Outage::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        match queue.publish_progress(progress.clone()).await {
            Err(error) if may_pass(&error) => wait(&mut outage, &error, progress.len()).await,
            other => return other,
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
pub(super) async fn publish(queue: &impl Publishing, metrics: &WorkerMetrics, mut publications: Vec<Publication>) {
    let (mut published, mut outage) = (BTreeSet::new(), Outage::new(FIRST_PAUSE, LONGEST_PAUSE));
    loop {
        match together(queue, &mut publications, &mut published).await {
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
/// safe, so that no job is published twice. Reports that are published are taken out of `publications`.
async fn together(
    queue: &impl Publishing,
    publications: &mut [Publication],
    published: &mut BTreeSet<(String, bool)>,
) -> Result<(), QueueError> {
    let mut jobs: BTreeMap<(String, bool), Vec<Job>> = BTreeMap::new();
    for publication in &*publications {
        for (queue, job) in &publication.jobs {
            jobs.entry((queue.clone(), publication.is_kept(job))).or_default().push(job.clone());
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
    let counts: Vec<usize> = publications.iter().map(|publication| publication.reports.len()).collect();
    let taken = publications.iter_mut().flat_map(|publication| std::mem::take(&mut publication.reports));
    let mut reports: Vec<Report> = taken.collect();
    if reports.is_empty() {
        return Ok(());
    }
    let done = queue.reports(&mut reports).await;
    let mut left = reports.into_iter();
    for (publication, count) in publications.iter_mut().zip(counts) {
        publication.reports.extend(left.by_ref().take(count));
    }
    done
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
        let (reports, jobs) = (std::mem::take(&mut publication.reports), std::mem::take(&mut publication.jobs));
        let steps = jobs.into_iter().map(|(queue, job)| ((queue, publication.is_kept(&job)), job));
        let left = steps.filter(|(step, _)| !published.contains(step)).collect();
        match alone(queue, reports, left).await {
            Ok(()) => {
                Held::ack_all(publication.origin.confirmed()).await;
            }
            Err(error) if error.is_of_a_message() => lose(metrics, &error, std::iter::once(publication)).await,
            Err(error) => return lose(metrics, &error, std::iter::once(publication).chain(publications)).await,
        }
    }
}

/// Publishes what one publication holds: its reports, and each job in its step. A batch of which too much would have to be told is cut in
/// halves. A session of which that is so is not measured: to run it again would cost the same and end the same.
async fn alone(
    queue: &impl Publishing,
    mut reports: Vec<Report>,
    jobs: Vec<((String, bool), Job)>,
) -> Result<(), QueueError> {
    for ((name, are_kept), job) in jobs {
        let mut waiting = vec![job];
        while let Some(job) = waiting.pop() {
            match queue.jobs(&name, vec![job.clone()], are_kept).await {
                Err(error) if error.is_of_a_message() => {
                    take_back(&mut reports, &job);
                    if let Some([first, second]) = halved(&job) {
                        waiting.extend([second, first]);
                        continue;
                    }
                    let told = only_session(&job).and_then(|session| {
                        reports.iter_mut().find_map(|report| Some((given_up(report, session)?, report)))
                    });
                    let Some((given_up, report)) = told else { return Err(error) };
                    tell(&error, &given_up);
                    *report = given_up;
                }
                other => other?,
            }
        }
    }
    for report in reports {
        match queue.reports(&mut vec![report.clone()]).await {
            Err(error) if error.is_of_a_message() => {
                let Some(bare) = bare(&report) else { return Err(error) };
                tell(&error, &bare);
                match queue.reports(&mut vec![bare.clone()]).await {
                    // What it cost is in its last progress report, and in the account.
                    Err(error) if error.is_of_a_message() => queue.reports(&mut vec![without_calls(bare)]).await?,
                    other => other?,
                }
            }
            other => other?,
        }
    }
    Ok(())
}

/// Takes out of `reports` that sessions are attempts of the batch of `job`, which is not published.
fn take_back(reports: &mut Vec<Report>, job: &Job) {
    let Job::Batch(batch) = job else { return };
    let is_a_line = |id: &AttemptId| id.as_str().strip_prefix(&batch.id).is_some_and(|rest| rest.starts_with('-'));
    reports.retain_mut(|report| match report {
        Report::Progress(progress) => {
            progress.open.retain(|open| !is_a_line(&open.id));
            !progress.open.is_empty()
        }
        Report::Session(_)
        | Report::HandedOver { .. }
        | Report::Judge(_)
        | Report::Rejudge { .. }
        | Report::Echo { .. }
        | Report::Tabulate { .. } => true,
    });
}

fn halved(job: &Job) -> Option<[Job; 2]> {
    match job {
        Job::Batch(batch) => Some(halves(batch)?.map(|half| Job::Batch(Box::new(half)))),
        Job::Session(_) | Job::Judge(_) => None,
    }
}

/// The session that `job` has go on, if it is of one alone.
fn only_session(job: &Job) -> Option<&SessionJob> {
    match job {
        Job::Session(session) => Some(session),
        Job::Batch(batch) => match &batch.sessions[..] {
            [session] if batch.provider_id.is_none() => Some(session),
            _ => None,
        },
        Job::Judge(_) => None,
    }
}

/// The report in place of `report` when the session of `job` cannot be published, which it announces to go on: it is not measured. `None` if
/// `report` is not about that session.
fn given_up(report: &Report, job: &SessionJob) -> Option<Report> {
    match report {
        Report::HandedOver { key, attempt, .. } if *key == job.key => Some(Report::Session(Box::new(SessionOutcome {
            key: key.clone(),
            lock: job.lock,
            attempt: attempt.clone(),
            outcome: Outcome::NotMeasured { cause: Cause::Internal },
            transcript: job.transcript.costs(),
        }))),
        Report::HandedOver { .. }
        | Report::Session(_)
        | Report::Judge(_)
        | Report::Progress(_)
        | Report::Rejudge { .. }
        | Report::Echo { .. }
        | Report::Tabulate { .. } => None,
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
        let _about = session_span(key, attempt.number).entered();
        tracing::error!(
            %error,
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
