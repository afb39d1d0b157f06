//! Retention: which ended sweeps go, and what of them, decided by a pure function; then they are removed, files first.
//!
//! A sweep that runs, and one that a night may be held against, never goes; nor does one of whose sessions workers still tell, or of which jobs
//! wait. The ledger notes first that a sweep goes, so that nobody resumes it any more. What goes is found again by its row in the ledger, which
//! is removed last, so that a removal that was interrupted is finished by the next request, whatever that one keeps. Locks and data sets are
//! shared by sweeps, and go afterwards, as objects that nothing refers to (`unused`). Verdicts stay, and so do cached responses unless the request names
//! an age (`cached`).

mod deciding;

use std::collections::BTreeSet;

use futures::future::{BoxFuture, join_all};
use jiff::Timestamp;
use regatta_backends::{BlobError, Blobs, SweepRow};
use regatta_catalog::{checkpoint_keys, read_lock};
use regatta_proto::{ScheduleName, SweepId, SweepState, causes, counted};
use serde::{Deserialize, Serialize};

pub use self::deciding::Goes;
use self::deciding::{Decided, Nights, decide};
use crate::cached::{CachedWish, OldResponses};
use crate::problems::Problems;
use crate::unused::UnusedObjects;
use crate::voided::may_leave_jobs;
use crate::{Coordinator, CoordinatorError, PlanError, Retention};

/// Most sweeps that one request removes: it must end before clients and proxies lose patience.
const REMOVED_AT_ONCE: usize = 50;
/// Ticks of a schedule among which nights and baselines are looked for.
pub(crate) const TICKS_MAX: u32 = 10_000;
/// Most objects that are removed at the same time.
pub(crate) const AT_ONCE: usize = 16;

/// A wish to remove what is old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcRequest {
    /// Retention of sweeps without a schedule, and of schedules that say nothing; all are kept when absent.
    #[serde(default)]
    pub keep: Option<Retention>,
    /// Cached responses that go too; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<CachedWish>,
    /// `true` to remove, `false` to report what would be removed.
    #[serde(default)]
    pub apply: bool,
}

/// A sweep of which something goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Going {
    /// The sweep.
    pub sweep: SweepId,
    /// Schedule that started the sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleName>,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The part that is removed.
    pub goes: Goes,
    /// Objects in the bucket that go with it.
    pub objects: u64,
}

/// Objects that were removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcResult {
    /// Sweeps of which something goes, the oldest first.
    pub going: Vec<Going>,
    /// Sweeps of which nothing goes.
    pub kept: u64,
    /// `true` if it was removed, `false` if it was only reported.
    pub applied: bool,
    /// Sweeps that are left for the next request, which looks whether anything of them goes.
    pub left: u64,
    /// Objects that nothing refers to; they are looked for once no sweep is left.
    #[serde(default)]
    pub unused: UnusedObjects,
    /// Cached responses that are old.
    #[serde(default, skip_serializing_if = "OldResponses::is_nothing")]
    pub cached: OldResponses,
    /// Reasons why not everything was removed, or could be said to go, that nobody keeps; the removal went on beside them as far as it could.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// Objects that could not be deleted.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be deleted; the next removal tries again", counted(*count as u64, "object", "objects"))]
pub struct Undeleted {
    count: usize,
    /// The reason of the first one.
    #[source]
    first: BlobError,
}

impl Undeleted {
    /// Fails if some objects could not be deleted.
    pub(crate) fn check(failed: Vec<BlobError>) -> Result<(), Self> {
        let count = failed.len();
        failed.into_iter().next().map_or(Ok(()), |first| Err(Self { count, first }))
    }
}

/// A removal of sweeps, as far as one request goes.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) going: Vec<Going>,
    kept: u64,
    pub(crate) left: u64,
    pub(crate) problems: Problems,
}

impl Coordinator {
    /// Removes what the retention policies do not keep, or says what that would be. What cannot be read or deleted stays, with a text among the
    /// problems, and keeps nothing else from being removed.
    ///
    /// # Errors
    /// When the policy makes no sense, or a store fails before anything is removed.
    pub fn collect<'a>(&'a self, request: GcRequest) -> BoxFuture<'a, Result<GcResult, CoordinatorError>> {
        Box::pin(async move {
            if let Some(keep) = &request.keep
                && keep.days.is_none()
                && keep.transcripts_days.is_none()
            {
                let problem =
                    "has no number of days, so that everything is kept; give days or transcripts_days".to_owned();
                return Err(PlanError::Field { field: "keep".to_owned(), problem }.into());
            }
            let is_continuation = request.cached.is_some_and(|wish| wish.from > 0);
            let passed = if is_continuation {
                Passed { going: Vec::new(), kept: 0, left: 0, problems: Problems::default() }
            } else {
                self.pass_over_sweeps(request.keep, request.apply).await?
            };
            let Passed { going, kept, left, mut problems } = passed;
            let mut unused = UnusedObjects::default();
            if left == 0 && !is_continuation {
                let removal = self.remove_unused(request.apply).await;
                problems.append(removal.problems);
                unused = removal.unused;
                // Last: what is recorded now is not removed now, and the bucket is listed for it.
                if request.apply && !unused.left {
                    match self.record_unknown().await {
                        Ok(is_left) => unused.left = is_left,
                        Err(error) => {
                            problems
                                .note(format!("failed to look for objects of earlier versions: {}", causes(&error)));
                        }
                    }
                }
            }
            let mut cached = OldResponses::default();
            if let Some(wish) = request.cached {
                let (found, more) = self.remove_cached(wish, request.apply).await;
                problems.append(more);
                cached = found;
            }
            Ok(GcResult { going, kept, applied: request.apply, left, unused, cached, problems: problems.into_texts() })
        })
    }

    /// Removes what policies do not keep of sweeps, or says what that would be: of the schedules by theirs, of the others by `keep`.
    pub(crate) async fn pass_over_sweeps(
        &self,
        keep: Option<Retention>,
        is_applied: bool,
    ) -> Result<Passed, CoordinatorError> {
        let sweeps = self.ledger.sweeps().await?;
        let (mut schedules, mut held, mut problems) = (Vec::new(), BTreeSet::new(), Problems::default());
        for row in self.ledger.schedules().await? {
            let ticks = self.ledger.ticks(&row.name, TICKS_MAX).await?;
            match Nights::read(&row, &ticks) {
                Ok(nights) => schedules.push(nights),
                Err(error) => {
                    held.extend(ticks.into_iter().filter_map(|tick| tick.sweep));
                    // Its baseline may be any sweep that it names.
                    let is_named = |sweep: &&SweepRow| row.document.contains(sweep.id.as_str());
                    held.extend(sweeps.iter().filter(is_named).map(|sweep| sweep.id.clone()));
                    problems.note(format!(
                        "schedule {} cannot be read, so its nights are kept, and sweeps that it names: {}; write it again (`regatta schedule create --replace`), or \
                         delete it",
                        row.name,
                        causes(&error)
                    ));
                }
            }
        }
        let begun = self.ledger.removed(&sweeps.iter().map(|row| row.id.clone()).collect()).await?;
        let decided = decide(&sweeps, &schedules, held, &begun, keep, self.clock.now());
        let (mut going, mut left, mut undeleted) = (Vec::new(), 0, 0);
        let mut all = decided.into_iter();
        while let Some(one) = all.next() {
            if is_applied && going.len() + undeleted >= REMOVED_AT_ONCE {
                left += 1;
                continue;
            }
            let error = match self.look_at(&one, &sweeps, &begun, is_applied).await {
                Ok(None) => continue,
                Ok(Some(objects)) => {
                    let Decided { sweep, schedule, ended_at, goes, generation: _ } = one;
                    going.push(Going { sweep, schedule, ended_at, goes, objects });
                    continue;
                }
                Err(error) => error,
            };
            if let CoordinatorError::Undeleted(_) = &error {
                undeleted += 1;
            } else if going.is_empty() && undeleted == 0 {
                return Err(error);
            } else {
                // A store is away that the others need too.
                left += 1 + all.by_ref().count() as u64;
            }
            let failed = if is_applied { "remove" } else { "look at" };
            problems.note(format!("failed to {failed} sweep {}: {}", one.sweep, causes(&error)));
        }
        let kept = sweeps.len() as u64 - going.len() as u64 - left - undeleted as u64;
        Ok(Passed { going, kept, left, problems })
    }

    /// Looks whether anything goes of a sweep, removes that if it is to be applied, and returns the number of its objects. `None` if nothing goes.
    async fn look_at(
        &self,
        decided: &Decided,
        sweeps: &[SweepRow],
        begun: &BTreeSet<SweepId>,
        is_applied: bool,
    ) -> Result<Option<u64>, CoordinatorError> {
        let Decided { sweep, goes, generation, schedule: _, ended_at: _ } = decided;
        let row = sweeps.iter().find(|row| row.id == *sweep);
        if let Some(row) = row
            && *goes == Goes::Everything
            && !begun.contains(sweep)
            && self.is_alive(row).await?
        {
            tracing::info!(%sweep, "not removed: workers tell of its sessions, or jobs of it wait");
            return Ok(None);
        }
        // What was resumed since the sweeps were read stays whole, whether or not it has ended again. Begun before its files are
        // listed, so that none is written after.
        if *goes == Goes::Everything && is_applied && !self.ledger.begin_removal(sweep, *generation).await? {
            return Ok(None);
        }
        let prefix = match goes {
            Goes::Everything => format!("sweeps/{sweep}/"),
            Goes::Transcripts => format!("sweeps/{sweep}/transcripts/"),
        };
        let keys = self.catalog.blobs().list(&prefix).await?;
        // Looked at after they are listed: whoever resumes it later writes others.
        if *goes == Goes::Transcripts
            && (keys.is_empty() || is_applied && !self.has_ended_since(sweep, *generation).await?)
        {
            return Ok(None);
        }
        if is_applied {
            self.remove(sweep, *goes, &keys).await?;
        }
        Ok(Some(keys.len() as u64))
    }

    /// `true` if workers tell of something of the sweep of `row`, which has ended, or if jobs of it wait, which are dropped by workers alone.
    async fn is_alive(&self, row: &SweepRow) -> Result<bool, CoordinatorError> {
        // Of one that is complete each session has its result, and nothing that a worker held a moment ago is worth waiting for.
        let is_complete = row.state == SweepState::Complete;
        if !is_complete && self.ledger.is_alive(&row.id, self.config.running_within).await? {
            return Ok(true);
        }
        if !may_leave_jobs(row, self.clock.now()) {
            return Ok(false);
        }
        let lock = match read_lock(self.catalog.blobs(), &row.lock).await {
            Ok(lock) => lock,
            Err(error) if error.is_outage() => return Err(error.into()),
            // Nobody can find the queues of a sweep without its lock, and workers cannot run its jobs.
            Err(_) => return Ok(false),
        };
        self.declare(&row.id, &lock).await?;
        self.has_waiting_jobs(&row.id, &lock).await
    }

    /// `true` if the sweep has ended, and was not resumed since it had this generation.
    async fn has_ended_since(&self, sweep: &SweepId, generation: u32) -> Result<bool, CoordinatorError> {
        let row = self.ledger.sweep(sweep).await?;
        Ok(row.is_some_and(|row| row.state.is_end() && row.generation == generation))
    }

    async fn remove(&self, sweep: &SweepId, goes: Goes, keys: &[String]) -> Result<(), CoordinatorError> {
        let blobs = self.catalog.blobs();
        delete_all(blobs, keys).await?;
        if goes == Goes::Transcripts {
            tracing::info!(%sweep, objects = keys.len(), "transcripts removed");
            return Ok(());
        }
        delete_all(blobs, &checkpoint_keys(blobs, sweep).await?).await?;
        self.permits.close_accounts(sweep).await?;
        if self.ledger.drop_sweep(sweep).await? {
            tracing::info!(%sweep, objects = keys.len(), "sweep removed");
        }
        Ok(())
    }
}

/// Deletes a few objects at the same time. One result for each, in their order.
pub(crate) async fn delete_at_once(blobs: &Blobs, keys: &[String]) -> Vec<Result<(), BlobError>> {
    join_all(keys.iter().map(|key| blobs.delete(key))).await
}

/// Deletes objects, several at the same time, beside those that cannot be deleted. It gives up where these are as many as are deleted at once: the
/// store does not answer then.
async fn delete_all(blobs: &Blobs, keys: &[String]) -> Result<(), Undeleted> {
    let mut failed = Vec::new();
    for some in keys.chunks(AT_ONCE) {
        failed.extend(delete_at_once(blobs, some).await.into_iter().filter_map(Result::err));
        if failed.len() >= AT_ONCE {
            break;
        }
    }
    Undeleted::check(failed)
}
