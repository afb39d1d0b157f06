//! Retention: which ended sweeps go, and what of them, decided by a pure function; then they are removed, files first.
//!
//! A sweep that runs, and one that a night may be held against, never goes; nor does one of whose sessions workers still tell, or of which jobs
//! wait. The ledger notes first that a sweep goes, so that nobody resumes it any more. What goes is found again by its row in the ledger, which
//! is removed last, so that a removal that was interrupted is finished by the next request, whatever that one keeps. Locks and data sets are
//! shared by sweeps, and go afterwards, as objects that nothing refers to (`unused`). Verdicts and cached responses stay.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_backends::{BlobError, Blobs, SweepRow, TickState};
use regatta_catalog::{checkpoint_keys, read_lock, remove_checkpoints};
use regatta_proto::{ScheduleName, SweepId, SweepState};
use serde::{Deserialize, Serialize};

use crate::schedules::ending::chosen;
use crate::schedules::{Stored, stored};
use crate::unused::UnusedObjects;
use crate::voided::may_leave_jobs;
use crate::{Baseline, Coordinator, CoordinatorError, PlanError, Retention, ScheduleSpec, TickStatus};

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
    /// `true` to remove, `false` to report what would be removed.
    #[serde(default)]
    pub apply: bool,
}

/// The part of a sweep that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goes {
    /// All: its rows, its files, its accounts.
    Everything,
    /// The transcripts.
    Transcripts,
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
    /// Sweeps that are left for the next request.
    pub left: u64,
    /// Objects that nothing refers to; they are looked for once no sweep is left.
    #[serde(default)]
    pub unused: UnusedObjects,
}

/// The nights of a schedule, newest first.
struct Nights {
    spec: ScheduleSpec,
    ticks: Vec<TickStatus>,
}

/// A removal before its objects are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decided {
    sweep: SweepId,
    schedule: Option<ScheduleName>,
    ended_at: Timestamp,
    goes: Goes,
    /// Number of the sweep's resumes when that was decided.
    generation: u32,
}

impl Coordinator {
    /// Removes what the retention policies do not keep, or says what that would be.
    ///
    /// # Errors
    /// When the policy makes no sense, or a store fails; what is gone by then stays gone.
    pub fn collect<'a>(&'a self, request: GcRequest) -> BoxFuture<'a, Result<GcResult, CoordinatorError>> {
        Box::pin(async move {
            if let Some(keep) = &request.keep
                && keep.days.is_none()
                && keep.transcripts_days.is_none()
            {
                let problem = "names no number of days, so that everything is kept".to_owned();
                return Err(PlanError::Field { field: "keep".to_owned(), problem }.into());
            }
            let sweeps = self.ledger.sweeps().await?;
            let mut schedules = Vec::new();
            for row in self.ledger.schedules().await? {
                let Stored { spec, .. } = stored(&row)?;
                let rows = self.ledger.ticks(&row.name, TICKS_MAX).await?;
                let ticks = rows.into_iter().map(TickStatus::new).collect::<Result<_, _>>()?;
                schedules.push(Nights { spec, ticks });
            }
            let begun = self.ledger.removed(&sweeps.iter().map(|row| row.id.clone()).collect()).await?;
            let decided = decide(&sweeps, &schedules, &begun, request.keep, self.clock.now());
            let (going, unused) = (Vec::new(), UnusedObjects::default());
            let mut result = GcResult { going, kept: 0, applied: request.apply, left: 0, unused };
            for Decided { sweep, schedule, ended_at, goes, generation } in decided {
                let row = sweeps.iter().find(|row| row.id == sweep);
                if let Some(row) = row
                    && goes == Goes::Everything
                    && !begun.contains(&sweep)
                    && self.is_alive(row).await?
                {
                    tracing::info!(%sweep, "not removed: workers tell of its sessions, or jobs of it wait");
                    continue;
                }
                let (is_applied, is_left) = (request.apply, request.apply && result.going.len() == REMOVED_AT_ONCE);
                // What was resumed since the sweeps were read stays whole, whether or not it has ended again. Begun before its files are
                // listed, so that none is written after.
                if goes == Goes::Everything
                    && is_applied
                    && !is_left
                    && !self.ledger.begin_removal(&sweep, generation).await?
                {
                    continue;
                }
                let prefix = match goes {
                    Goes::Everything => format!("sweeps/{sweep}/"),
                    Goes::Transcripts => format!("sweeps/{sweep}/transcripts/"),
                };
                let keys = self.catalog.blobs().list(&prefix).await?;
                // Looked at after they are listed: whoever resumes it later writes others.
                if goes == Goes::Transcripts
                    && (keys.is_empty() || is_applied && !self.has_ended_since(&sweep, generation).await?)
                {
                    continue;
                }
                if is_left {
                    result.left += 1;
                    continue;
                }
                if is_applied {
                    self.remove(&sweep, goes, &keys).await?;
                }
                result.going.push(Going { sweep, schedule, ended_at, goes, objects: keys.len() as u64 });
            }
            result.kept = sweeps.len() as u64 - result.going.len() as u64 - result.left;
            if result.left == 0 {
                if request.apply {
                    self.record_unknown().await?;
                }
                result.unused = self.remove_unused(request.apply).await?;
            }
            Ok(result)
        })
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
        remove_checkpoints(blobs, &checkpoint_keys(blobs, sweep).await?).await?;
        self.permits.close_accounts(sweep).await?;
        if self.ledger.drop_sweep(sweep).await? {
            tracing::info!(%sweep, objects = keys.len(), "sweep removed");
        }
        Ok(())
    }
}

/// Deletes objects, several at the same time.
pub(crate) async fn delete_all(blobs: &Blobs, keys: &[String]) -> Result<(), BlobError> {
    for some in keys.chunks(AT_ONCE) {
        for deleted in futures::future::join_all(some.iter().map(|key| blobs.delete(key))).await {
            deleted?;
        }
    }
    Ok(())
}

/// Removals, the oldest sweep first; those that have `begun` in any case.
fn decide(
    sweeps: &[SweepRow],
    schedules: &[Nights],
    begun: &BTreeSet<SweepId>,
    keep: Option<Retention>,
    now: Timestamp,
) -> Vec<Decided> {
    let mut of_schedule: BTreeMap<&SweepId, (&Nights, usize)> = BTreeMap::new();
    let mut held: BTreeSet<SweepId> = BTreeSet::new();
    for nights in schedules {
        let ended = nights.ticks.iter().filter(|tick| tick.state == TickState::Ended);
        for (age, tick) in ended.enumerate() {
            if let Some(sweep) = &tick.sweep {
                of_schedule.insert(sweep, (nights, age));
            }
        }
        // A tick that runs again, because somebody resumed its sweep, keeps it whatever its age.
        held.extend(
            nights.ticks.iter().filter(|tick| tick.state == TickState::Running).filter_map(|tick| tick.sweep.clone()),
        );
        // Also the last one, for whom a schedule is given a gate tomorrow.
        for baseline in [&nights.spec.baseline, &Baseline::Previous] {
            held.extend(chosen(baseline, &nights.ticks));
        }
    }
    let mut decided: Vec<Decided> = Vec::new();
    for row in sweeps.iter().filter(|row| row.state.is_end()) {
        let Some(ended_at) = row.ended_at else { continue };
        let found = of_schedule.get(&row.id);
        let schedule = found.map(|(nights, _)| nights.spec.name.clone());
        if begun.contains(&row.id) {
            decided.push(Decided {
                sweep: row.id.clone(),
                schedule,
                ended_at,
                goes: Goes::Everything,
                generation: row.generation,
            });
            continue;
        }
        if held.contains(&row.id) {
            continue;
        }
        let Some(policy) = found.and_then(|(nights, _)| nights.spec.retention).or(keep) else { continue };
        if found.is_some_and(|(_, age)| (*age as u64) < u64::from(policy.nights)) {
            continue;
        }
        let is_older = |days: Option<u32>| {
            days.is_some_and(|days| now.duration_since(ended_at) > SignedDuration::from_hours(24 * i64::from(days)))
        };
        let goes = match (is_older(policy.days), is_older(policy.transcripts_days)) {
            (true, _) => Goes::Everything,
            (false, true) => Goes::Transcripts,
            (false, false) => continue,
        };
        decided.push(Decided { sweep: row.id.clone(), schedule, ended_at, goes, generation: row.generation });
    }
    decided.sort_by(|a, b| (a.ended_at, a.sweep.as_str()).cmp(&(b.ended_at, b.sweep.as_str())));
    decided
}

#[cfg(test)]
mod tests {
    use regatta_proto::Digest;
    use serde_json::json;

    use super::*;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).unwrap()
    }

    fn sweep(name: &str, ended: Option<i64>) -> SweepRow {
        SweepRow {
            id: name.parse().unwrap(),
            name: name.to_owned(),
            lock: Digest::of(name.as_bytes()),
            state: if ended.is_some() { SweepState::Complete } else { SweepState::Running },
            budget: None,
            created_at: day(0),
            ended_at: ended.map(day),
            generation: 0,
            echo: 0,
            owner: None,
            granted: None,
            tabulated: None,
        }
    }

    /// A schedule whose nights `n-1`, `n-2`, … ended on those days; scores fall from night to night.
    fn nights(days: u32, more: serde_json::Value) -> Nights {
        let mut spec = json!({ "name": "n", "cron": "@daily" });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let tick = |night: u32| {
            json!({ "at": day(i64::from(night)), "since": day(i64::from(night)), "state": "ended", "by_hand": false, "stands_for": 1,
                    "sweep": format!("n-{night}"), "outcome": { "state": "complete", "score": 1.0 / f64::from(night) } })
        };
        Nights {
            spec: ScheduleSpec::from_value(spec).unwrap(),
            ticks: serde_json::from_value((1..=days).rev().map(tick).collect()).unwrap(),
        }
    }

    fn going(sweeps: &[SweepRow], schedules: &[Nights], keep: Option<Retention>) -> Vec<String> {
        let decided = decide(sweeps, schedules, &BTreeSet::new(), keep, day(100));
        decided.iter().map(|of| format!("{} {:?}", of.sweep, of.goes)).collect()
    }

    fn keep(days: u32, nights: u32, transcripts_days: Option<u32>) -> Option<Retention> {
        Some(Retention { days: Some(days), nights, transcripts_days })
    }

    #[test]
    fn old_sweeps_go_and_what_runs_stays() {
        let sweeps = [sweep("new", Some(95)), sweep("old", Some(50)), sweep("ancient", Some(1)), sweep("runs", None)];
        assert_eq!(going(&sweeps, &[], keep(60, 0, Some(10))), ["ancient Everything", "old Transcripts"]);
        assert!(going(&sweeps, &[], None).is_empty(), "everything is kept unless somebody says otherwise");
    }

    #[test]
    fn a_removal_that_has_begun_is_finished_whatever_is_kept() {
        let begun = BTreeSet::from(["n-3".parse().unwrap(), "x".parse().unwrap()]);
        let mut all: Vec<SweepRow> = (1..=3).map(|night| sweep(&format!("n-{night}"), Some(night))).collect();
        all.push(sweep("x", Some(99)));
        let decided = decide(&all, &[nights(3, json!({}))], &begun, None, day(100));
        assert_eq!(decided.iter().map(|of| of.sweep.as_str()).collect::<Vec<_>>(), ["n-3", "x"]);
        assert!(decided.iter().all(|of| of.goes == Goes::Everything));
    }

    #[test]
    fn a_schedule_keeps_its_own_nights_and_its_baselines() {
        let all: Vec<SweepRow> = (1..=6).map(|night| sweep(&format!("n-{night}"), Some(night))).collect();
        let of = |more| going(&all, &[nights(6, more)], keep(30, 0, None));
        // The last one is always kept, and the best where nights are held against it.
        assert_eq!(of(json!({})).len(), 5);
        let best = of(json!({ "baseline": "best", "retention": { "days": 10, "nights": 3 } }));
        assert_eq!(best, ["n-2 Everything", "n-3 Everything"]);
        let named = of(json!({ "baseline": "n-2", "retention": { "days": 10, "nights": 3 } }));
        assert_eq!(named, ["n-1 Everything", "n-3 Everything"]);
        assert!(of(json!({ "retention": { "nights": 1 } })).is_empty(), "it names no days");
    }

    #[test]
    fn a_night_that_was_resumed_stays_while_it_runs() {
        let mut schedule = nights(3, json!({}));
        schedule.ticks[2].state = TickState::Running;
        let all: Vec<SweepRow> = (1..=3).map(|night| sweep(&format!("n-{night}"), Some(night))).collect();
        assert_eq!(going(&all, &[schedule], keep(30, 0, None)), ["n-2 Everything"]);
    }
}
