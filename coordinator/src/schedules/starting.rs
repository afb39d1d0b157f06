//! The beginning of a night: planned from the schedule's submission, within its budgets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use regatta_backends::{BlobError, LedgerError, ScheduleRow, Term, TickEnd, TickRow, TickState};
use regatta_catalog::{CatalogError, Sweep};
use regatta_proto::{Money, OwnerName, ScheduleName, SweepState};

use super::document::{NightEvent, ScheduleSpec, Stored};
use super::ticks::Ticks;
use super::{month_of, night_name};
use crate::{Coordinator, CoordinatorError, PlanError, Submission};

/// For how long a night whose stores are away is tried again.
const TRIED_FOR: SignedDuration = SignedDuration::from_mins(30);
/// Pause between two tries.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// Nights that could not begin because a store was away.
#[derive(Debug, Default)]
pub(crate) struct HeldUp(Mutex<BTreeMap<(ScheduleName, Timestamp), Tries>>);

#[derive(Debug, Clone, Copy)]
struct Tries {
    first: Timestamp,
    last: Timestamp,
}

impl HeldUp {
    /// `true` while a night that was held up is not tried again yet.
    fn waits(&self, night: &(ScheduleName, Timestamp), now: Timestamp) -> bool {
        self.locked().get(night).is_some_and(|tries| now.duration_since(tries.last) < PAUSE)
    }

    /// Notes that a night is held up, and says whether it has been for too long.
    fn note(&self, night: (ScheduleName, Timestamp), now: Timestamp) -> bool {
        let mut nights = self.locked();
        let tries = nights.entry(night).or_insert(Tries { first: now, last: now });
        tries.last = now;
        now.duration_since(tries.first) > TRIED_FOR
    }

    fn forget(&self, night: &(ScheduleName, Timestamp)) {
        self.locked().remove(night);
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<(ScheduleName, Timestamp), Tries>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Plans the sweep of a tick; its lock is stored and nothing else. `left` is what may still be spent, where that is limited.
    pub(super) async fn plan_night(
        &self,
        schedule: &ScheduleSpec,
        submission: &Submission,
        owner: Option<&OwnerName>,
        tick: Timestamp,
        left: Option<Money>,
    ) -> Result<Arc<Sweep>, CoordinatorError> {
        let mut spec = schedule.overridden(&submission.spec, night_name(&schedule.name, tick)?)?;
        let limits = [spec.budget_usd, schedule.budget_usd.night, left.map(Money::dollars), schedule.budget_usd.month];
        spec.budget_usd = limits.into_iter().flatten().reduce(f64::min);
        let submission = Submission { spec, data: submission.data.clone(), recorded: submission.recorded.clone() };
        self.plan_for(submission, owner).await
    }

    /// Starts the sweep of a due tick. What is wrong with it for good refuses the tick.
    pub(super) async fn start_night(
        &self,
        stored: &Stored,
        ticks: &Ticks,
        tick: &TickRow,
        owner: Option<&OwnerName>,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        let schedule = &stored.spec;
        let night = (schedule.name.clone(), tick.at);
        if self.held_up.waits(&night, self.clock.now()) {
            return Ok(());
        }
        let planned = async {
            let left = self.left_this_month(schedule, ticks, tick.at).await?;
            let submission = self.submission(&stored.submission).await?;
            self.plan_night(schedule, &submission, owner, tick.at, left).await
        };
        let sweep = match planned.await {
            Ok(sweep) => sweep,
            Err(error) => {
                let given_up = reason(&error).or_else(|| {
                    self.held_up.note(night.clone(), self.clock.now()).then(|| regatta_proto::causes(&error))
                });
                let Some(reason) = given_up else { return Err(error) };
                self.held_up.forget(&night);
                return self.refuse_night(schedule, tick, reason, term).await;
            }
        };
        self.held_up.forget(&night);
        // Planning may have taken longer than the lead lasts.
        let term = self.lead_beside_dispatching().await?;
        let now = self.clock.now();
        if self.ledger.start_tick(&schedule.name, tick.at, (&sweep.id, &sweep.digest), now, term).await? {
            self.metrics.note_tick(&schedule.name, "started", 1);
            tracing::info!(schedule = %schedule.name, tick = %tick.at, sweep = %sweep.id, "night begins");
            self.still_lead(term)?;
            self.enter_for(&sweep, owner).await?;
        }
        Ok(())
    }

    /// Money that the schedule may still spend in the month of `tick`; `None` when that is not limited.
    async fn left_this_month(
        &self,
        schedule: &ScheduleSpec,
        ticks: &Ticks,
        tick: Timestamp,
    ) -> Result<Option<Money>, CoordinatorError> {
        let Some(budget) = schedule.budget_usd.month.and_then(Money::from_dollars) else { return Ok(None) };
        let spent = self.ledger.spent_since(&schedule.name, month_of(ticks, tick)).await?;
        let left = Money(budget.0.saturating_sub(spent.0));
        if left == Money::ZERO {
            let problem = format!("is used up: {spent} of {budget} are spent this month");
            return Err(PlanError::Field { field: "budget_usd.month".to_owned(), problem }.into());
        }
        Ok(Some(left))
    }

    /// Ends a tick whose sweep cannot run.
    pub(super) async fn refuse_night(
        &self,
        schedule: &ScheduleSpec,
        tick: &TickRow,
        reason: String,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        tracing::warn!(schedule = %schedule.name, tick = %tick.at, reason, "night refused");
        let end = TickEnd {
            from: tick.state,
            to: TickState::Refused,
            at: self.clock.now(),
            reason: Some(reason.clone()),
            spent: None,
            outcome: None,
            is_judged: false,
            generation: None,
        };
        let notices = self.notices_of(schedule, NightEvent::Refused, tick, Some(&reason), None)?;
        if self.ledger.end_tick(&schedule.name, tick.at, &end, &notices, term).await? {
            self.metrics.note_tick(&schedule.name, "refused", 1);
        }
        Ok(())
    }

    /// Enters the sweep of a tick that an earlier leader has planned and perhaps not entered, or looks whether it has ended.
    pub(super) async fn follow_night(
        &self,
        stored: &Stored,
        tick: &TickRow,
        row: &ScheduleRow,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        let (Some(id), Some(lock)) = (&tick.sweep, &tick.lock) else {
            // The schema forbids it.
            return Err(CoordinatorError::UnknownSchedule(tick.schedule.clone()));
        };
        let owner = row.owner.as_ref();
        match self.ledger.sweep(id).await? {
            // Ids come from what is submitted, so that somebody may have submitted the same before.
            Some(sweep) if sweep.owner != row.owner => {
                let whose = sweep.owner.as_ref().map_or("nobody", OwnerName::as_str);
                let reason = format!(
                    "its sweep {id} was there already and belongs to {whose}; change the schedule's spec or name"
                );
                self.refuse_night(&stored.spec, tick, reason, term).await
            }
            Some(sweep) if sweep.state.is_end() => self.end_night(stored, tick, &sweep, row.judged, term).await,
            Some(_) => Ok(()),
            None => match self.catalog.sweep(lock).await {
                Ok(sweep) => {
                    self.still_lead(term)?;
                    match self.enter_for(&sweep, owner).await {
                        Err(
                            error @ CoordinatorError::Ledger(
                                LedgerError::QuotaExceeded { .. }
                                | LedgerError::StorageExceeded { .. }
                                | LedgerError::Removed { .. }
                                | LedgerError::ObjectRemoved { .. },
                            ),
                        ) => self.refuse_night(&stored.spec, tick, regatta_proto::causes(&error), term).await,
                        entered => entered.map(drop),
                    }
                }
                Err(CatalogError::Blobs(error)) => Err(error.into()),
                Err(error) => {
                    let reason = format!("its sweep was planned and cannot be read: {}", regatta_proto::causes(&error));
                    self.refuse_night(&stored.spec, tick, reason, term).await
                }
            },
        }
    }

    /// Most that a sweep has cost: the budget of a schedule holds for certain.
    pub(super) async fn spent_on(&self, sweep: &regatta_proto::SweepId) -> Result<Money, CoordinatorError> {
        let row = self.ledger.sweep(sweep).await?.ok_or_else(|| CoordinatorError::UnknownSweep(sweep.clone()))?;
        let progress = self.ledger.cell_progress(sweep).await?;
        Ok(self.cost(&row, &progress).await?.at_most)
    }
}

/// Reason why a night can never run; `None` when a store may only be away.
fn reason(error: &CoordinatorError) -> Option<String> {
    match error {
        CoordinatorError::Plan(PlanError::Data { source: CatalogError::Blobs(error), .. }) if !is_missing(error) => {
            None
        }
        CoordinatorError::Blobs(error) if !is_missing(error) => None,
        CoordinatorError::Ledger(LedgerError::StorageExceeded { .. })
        | CoordinatorError::Plan(_)
        | CoordinatorError::Blobs(_)
        | CoordinatorError::Decide(_)
        | CoordinatorError::Json(_) => Some(regatta_proto::causes(error)),
        CoordinatorError::Catalog(CatalogError::Blobs(_))
        | CoordinatorError::UnknownSweep(_)
        | CoordinatorError::UnknownSchedule(_)
        | CoordinatorError::ScheduleDiffers(_)
        | CoordinatorError::ScheduleOvertaken(_)
        | CoordinatorError::NoScheduling
        | CoordinatorError::WrongState { .. }
        | CoordinatorError::NoBudget(_)
        | CoordinatorError::RelativeBudget(_)
        | CoordinatorError::UnknownEndpoint { .. }
        | CoordinatorError::Concurrency { .. }
        | CoordinatorError::NotYours { .. }
        | CoordinatorError::NotLeading
        | CoordinatorError::Unanswered
        | CoordinatorError::SlowRemoval
        | CoordinatorError::Undeleted(_)
        | CoordinatorError::Ledger(_)
        | CoordinatorError::Permits(_)
        | CoordinatorError::Segment(_)
        | CoordinatorError::Queue(_) => None,
        CoordinatorError::Catalog(_) => Some(regatta_proto::causes(error)),
    }
}

const fn is_missing(error: &BlobError) -> bool {
    matches!(error, BlobError::MissingContent { .. } | BlobError::Corrupt { .. })
}

/// `true` if the results of a sweep in this state can be judged.
pub(super) const fn has_results(state: SweepState) -> bool {
    match state {
        SweepState::Complete | SweepState::Incomplete | SweepState::StoppedByBudget => true,
        SweepState::Running | SweepState::Tabulating | SweepState::Cancelled => false,
    }
}
