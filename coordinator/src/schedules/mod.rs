//! Schedules: sweeps that run again and again.
//!
//! The ledger knows each tick. The leader alone decides about ticks, starts and ends them, each step in its term: a tick is written with the
//! id and the lock of its sweep before the sweep is, so that whoever leads next enters that one and plans no other. `document` is what people
//! declare, `ticks` and `catch_up` are pure, `keeping` is the leader's loop, `nights` are begun and ended in rooms of their own.

mod catch_up;
mod choices;
mod document;
mod edges;
pub(crate) mod ending;
pub(crate) mod keeping;
mod notices;
pub(crate) mod starting;
mod status;
mod ticks;

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use jiff::civil::Time;
use jiff::{Timestamp, ToSpan, Zoned};
use regatta_backends::blobs::content_key;
use regatta_backends::{LedgerError, NewSchedule, PutSchedule, ScheduleRow};
use regatta_proto::{Digest, OwnerName, ScheduleName, SweepId, check_bounds, json_bytes};

pub use self::choices::{Baseline, CatchUp};
pub use self::document::{NightEvent, Notify, Retention, ScheduleBudget, ScheduleSpec};
pub use self::edges::{
    GateError, GateJudgement, GateQuestion, Message, Messenger, NightGate, NightVerdict, Scheduling,
};
pub use self::status::{NightOutcome, SchedulePut, ScheduleRequest, ScheduleStatus, TickStatus};

pub(crate) use self::document::Stored;
use self::ticks::Ticks;
use crate::{Coordinator, CoordinatorError, PlanError, Submission};

/// Most schedules of a deployment: the leader looks at each of them every second.
const SCHEDULES_MAX: usize = 500;

/// Most schedules of an owner. The operator, whose they are where nobody has a token, may have all of the deployment's.
const OWNER_SCHEDULES_MAX: usize = 100;

/// Most ticks that a history shows.
pub(crate) const HISTORY_MAX: u32 = 10_000;

impl Coordinator {
    /// This coordinator as one that keeps schedules.
    #[must_use]
    pub fn with_scheduling(mut self, scheduling: Scheduling) -> Self {
        self.scheduling = Some(scheduling);
        self
    }

    /// Writes a schedule of `owner`; one that is replaced keeps its own. `seen` is what was found under its name when it was decided that
    /// it may be replaced: nothing else is. Everything that can be wrong with it is found now, not at night.
    ///
    /// # Errors
    /// When it does not fit its data, its gate or the coordinator's policy, there is another of its name, or a store fails.
    pub fn put_schedule<'a>(
        &'a self,
        request: ScheduleRequest,
        owner: Option<&'a OwnerName>,
        seen: Option<&'a ScheduleRow>,
    ) -> BoxFuture<'a, Result<SchedulePut, CoordinatorError>> {
        Box::pin(async move {
            let ScheduleRequest { schedule, submission, replace } = request;
            let ticks = schedule.check()?;
            let scheduling = self.scheduling.as_ref().ok_or(CoordinatorError::NoScheduling)?;
            let refused = |field: &str| {
                let field = field.to_owned();
                move |problem| PlanError::Field { field, problem }
            };
            if let Some(policy) = &schedule.gate {
                scheduling.gate.check(policy).map_err(refused("gate"))?;
            }
            for channel in schedule.notify.all_channels() {
                scheduling.messenger.knows(&channel).map_err(refused("notify"))?;
            }
            let there = self.ledger.schedules().await?;
            if !there.iter().any(|row| row.name == schedule.name) {
                check_number(&there, owner).map_err(refused("name"))?;
            }
            let now = self.clock.now();
            check_bounds(&submission.spec).map_err(PlanError::from)?;
            let night = schedule.overridden(&submission.spec, night_name(&schedule.name, now)?)?;
            check_bounds(&night).map_err(PlanError::from)?;
            // Planned as a night would be; nothing but its manifests and its lock is written.
            self.plan_night(&schedule, &submission, owner, now, None).await?;
            let files: Vec<Digest> = submission.contents().copied().collect();
            let submission = self.store_document(json_bytes(&submission), owner).await?;
            let inputs = match self.config.queue_survives {
                true => files.iter().chain([&submission]).map(content_key).collect(),
                // It keeps no record of objects.
                false => BTreeSet::new(),
            };
            let name = schedule.name.clone();
            let document = serde_json::to_string(&Stored { spec: schedule, submission })?;
            let replaced = if replace { seen } else { None };
            let new = NewSchedule { name: name.clone(), document, owner: owner.cloned(), at: now, inputs };
            let effect = self.ledger.put_schedule(&new, replaced).await?;
            match effect {
                PutSchedule::Created | PutSchedule::Unchanged | PutSchedule::Replaced => {}
                PutSchedule::Differs if !replace => return Err(CoordinatorError::ScheduleDiffers(name)),
                PutSchedule::Differs | PutSchedule::Overtaken => return Err(CoordinatorError::ScheduleOvertaken(name)),
            }
            tracing::info!(schedule = %name, ?effect, "schedule written");
            Ok(SchedulePut { name, effect, next: ticks.after(now) })
        })
    }

    /// At most `limit` schedules whose names come after `after`, by name.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn schedules<'a>(
        &'a self,
        after: Option<&'a ScheduleName>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<ScheduleStatus>, CoordinatorError>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for row in self.ledger.schedules_after(after, limit).await? {
                all.push(self.standing(&row).await?);
            }
            Ok(all)
        })
    }

    /// State of a schedule.
    ///
    /// # Errors
    /// When there is no such schedule, or the ledger fails.
    pub fn schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<ScheduleStatus, CoordinatorError>> {
        Box::pin(async move {
            let row = self.ledger.schedule(name).await?.ok_or_else(|| unknown(name))?;
            self.standing(&row).await
        })
    }

    async fn standing(&self, row: &ScheduleRow) -> Result<ScheduleStatus, CoordinatorError> {
        let Stored { spec, submission } = stored(row)?;
        let (ticks, now) = (spec.check()?, self.clock.now());
        let spent_this_month = self.ledger.spent_since(&row.name, month_of(&ticks, now)).await?;
        let last = self.ledger.ticks(&row.name, 1).await?.pop().map(TickStatus::new).transpose()?;
        Ok(ScheduleStatus {
            schedule: spec,
            submission,
            is_paused: row.is_paused,
            created_at: row.created_at,
            next: if row.is_paused { None } else { ticks.after(now) },
            spent_this_month,
            last,
            owner: row.owner.clone(),
        })
    }

    /// At most `limit` ticks of a schedule, newest first.
    ///
    /// # Errors
    /// When there is no such schedule, or the ledger fails.
    pub fn history<'a>(
        &'a self,
        name: &'a ScheduleName,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<TickStatus>, CoordinatorError>> {
        Box::pin(async move {
            self.ledger.schedule(name).await?.ok_or_else(|| unknown(name))?;
            let rows = self.ledger.ticks(name, limit.min(HISTORY_MAX)).await?;
            Ok(rows.into_iter().map(TickStatus::new).collect::<Result<_, _>>()?)
        })
    }

    /// Pauses a schedule, or lets it go on. What runs goes on; ticks of a pause are not made up for.
    ///
    /// # Errors
    /// When there is no such schedule, or the ledger fails.
    pub fn pause_schedule<'a>(
        &'a self,
        name: &'a ScheduleName,
        paused: bool,
    ) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            let found = self.ledger.pause_schedule(name, paused, self.clock.now()).await?;
            if found { Ok(()) } else { Err(unknown(name)) }
        })
    }

    /// Asks for a sweep of a schedule now, also while it is paused; it waits for one that runs. Returns the tick, whose fraction of a second
    /// is dropped: to ask twice within one is to ask once.
    ///
    /// # Errors
    /// When there is no such schedule, or the ledger fails.
    pub fn run_schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<Timestamp, CoordinatorError>> {
        Box::pin(async move {
            let now = self.clock.now();
            let at = Timestamp::from_second(now.as_second()).unwrap_or(now);
            self.ledger.add_tick(name, at).await?.ok_or_else(|| unknown(name))?;
            Ok(at)
        })
    }

    /// Removes a schedule with its history. Its sweeps stay, and one that runs goes on.
    ///
    /// # Errors
    /// When there is no such schedule, or the ledger fails.
    pub fn delete_schedule<'a>(&'a self, name: &'a ScheduleName) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move { if self.ledger.delete_schedule(name).await? { Ok(()) } else { Err(unknown(name)) } })
    }

    /// The submission that the nights of a schedule are planned from.
    pub(crate) async fn submission(&self, digest: &Digest) -> Result<Submission, CoordinatorError> {
        let bytes = self.catalog.blobs().get_content(digest).await?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

/// Fails unless `owner` may have another schedule beside those that are `there`.
fn check_number(there: &[ScheduleRow], owner: Option<&OwnerName>) -> Result<(), String> {
    if there.len() >= SCHEDULES_MAX {
        return Err(format!("there are {SCHEDULES_MAX} schedules already; delete one (`regatta schedule delete`)"));
    }
    let Some(owner) = owner.filter(|owner| **owner != OwnerName::operator()) else { return Ok(()) };
    let own = there.iter().filter(|row| row.owner.as_ref() == Some(owner)).count();
    if own < OWNER_SCHEDULES_MAX {
        return Ok(());
    }
    Err(format!("{owner} has {OWNER_SCHEDULES_MAX} schedules already; delete one (`regatta schedule delete`)"))
}

fn unknown(name: &ScheduleName) -> CoordinatorError {
    CoordinatorError::UnknownSchedule(name.clone())
}

pub(crate) fn stored(row: &ScheduleRow) -> Result<Stored, CoordinatorError> {
    serde_json::from_str(&row.document).map_err(|error| {
        LedgerError::Unreadable { field: "schedules.document", found: format!("{}: {error}", row.name) }.into()
    })
}

/// The name of the sweep of a tick: the same whoever plans it, whenever.
fn night_name(schedule: &ScheduleName, tick: Timestamp) -> Result<SweepId, PlanError> {
    let name = format!("{schedule}-{}", tick.strftime("%Y%m%dT%H%M%SZ"));
    SweepId::new(&name).map_err(|error| PlanError::Field { field: "name".to_owned(), problem: error.to_string() })
}

/// The schedule that has nights called `name`; the reverse of [`night_name`].
pub(crate) fn schedule_of_night(name: &SweepId) -> Option<ScheduleName> {
    let (schedule, tick) = name.as_str().rsplit_once('-')?;
    let is_time = tick.len() == 16
        && tick.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    ScheduleName::new(schedule).ok().filter(|_| is_time)
}

/// The beginning of the month of `at` in the schedule's zone.
fn month_of(ticks: &Ticks, at: Timestamp) -> Timestamp {
    let day = at.to_zoned(ticks.zone().clone());
    let first: Result<Zoned, _> = day
        .checked_sub((i64::from(day.day()) - 1).days())
        .and_then(|first| first.with().time(Time::midnight()).build());
    // Only beyond the years that a clock shows; then all that was ever spent counts, which is never too little.
    first.map_or(Timestamp::MIN, |first| first.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_begins_in_the_schedules_zone() {
        let ticks = Ticks::parse("0 0 * * *", "Europe/Berlin").unwrap();
        let month = |at: &str| month_of(&ticks, at.parse().unwrap()).to_string();
        assert_eq!(month("2026-10-31T23:30:00Z"), "2026-10-31T23:00:00Z");
        assert_eq!(month("2026-10-31T22:30:00Z"), "2026-09-30T22:00:00Z");
    }

    #[test]
    fn a_deployment_and_each_owner_have_so_many_schedules() {
        let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        let rows = |count: usize, owner: &OwnerName| -> Vec<ScheduleRow> {
            let row = |number: usize| ScheduleRow {
                name: format!("{owner}-{number}").parse().unwrap(),
                document: String::new(),
                is_paused: false,
                created_at: Timestamp::UNIX_EPOCH,
                decided_until: Timestamp::UNIX_EPOCH,
                judged: 0,
                owner: Some(owner.clone()),
            };
            (0..count).map(row).collect()
        };
        assert_eq!(check_number(&rows(99, &alice), Some(&alice)), Ok(()));
        assert_eq!(
            check_number(&rows(100, &alice), Some(&alice)).unwrap_err(),
            "alice has 100 schedules already; delete one (`regatta schedule delete`)"
        );
        assert_eq!(check_number(&rows(100, &alice), Some(&bob)), Ok(()));
        let operator = OwnerName::operator();
        assert_eq!(check_number(&rows(499, &operator), Some(&operator)), Ok(()));
        for owner in [None, Some(&operator), Some(&bob)] {
            let refused = check_number(&rows(500, &operator), owner).unwrap_err();
            assert_eq!(refused, "there are 500 schedules already; delete one (`regatta schedule delete`)");
        }
    }

    #[test]
    fn the_sweep_of_a_tick_is_named_after_both() {
        let name = night_name(&"nightly".parse().unwrap(), "2026-11-23T02:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(name.as_str(), "nightly-20261123T020000Z");
    }
}
