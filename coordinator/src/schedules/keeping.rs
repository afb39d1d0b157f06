//! The leader's work on schedules, every second.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use regatta_backends::{FailedTry, Outage, ScheduleRow, Term, TickRow, TickState};
use regatta_proto::ScheduleName;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::catch_up::{Standing, decide};
use super::document::{NightEvent, ScheduleSpec};
use super::stored;
use super::ticks::Ticks;
use crate::rounds::SETBACK_MAX;
use crate::{Coordinator, CoordinatorError};

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Schedules that are looked after at once: one whose gate has much to read holds up no other.
const AT_ONCE: usize = 8;

/// Schedules that failed at the last look.
#[derive(Debug, Default)]
pub(crate) struct Outages(Mutex<BTreeMap<ScheduleName, Outage>>);

impl Outages {
    fn note(&self, schedule: &ScheduleName) -> FailedTry {
        let mut outages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outages.entry(schedule.clone()).or_insert_with(|| Outage::new(LOOK_EVERY, LOOK_EVERY)).fails()
    }

    /// Returns for how long it has failed, if it has.
    fn end(&self, schedule: &ScheduleName) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(schedule)?.ends()
    }
}

impl Coordinator {
    /// Keeps the schedules until `stop` fires. Runs beside [`Coordinator::run`], in a task of its own: planning and judging take time, and
    /// dispatching must not wait for them.
    pub fn keep_schedules<'a>(&'a self, stop: CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut looks = tokio::time::interval(LOOK_EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut outage = Outage::new(LOOK_EVERY, SETBACK_MAX);
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    _ = looks.tick() => {}
                }
                // What is dropped in the middle, as a judgement that takes minutes, the next leader does again.
                match stop.run_until_cancelled(self.look_after_schedules()).await {
                    None => {}
                    Some(Ok(()) | Err(CoordinatorError::NotLeading)) => {
                        if let Some(lasted) = outage.ends() {
                            tracing::info!(lasted_s = lasted.as_secs(), "the schedules are looked after again");
                        }
                    }
                    Some(Err(error)) => {
                        self.metrics.failed_ticks.inc();
                        let failed = outage.fails();
                        if failed.is_told {
                            let error = regatta_proto::causes(&error);
                            tracing::warn!(
                                error,
                                tries = failed.tries,
                                "failed to look after the schedules, trying again"
                            );
                        }
                        looks.reset_after(failed.pause);
                    }
                }
            }
        })
    }

    /// Looks at every schedule once: decides the ticks that have come, starts and ends nights, sends notices.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] while another coordinator leads, or when the ledger fails. Trouble with one schedule is logged and
    /// holds up no other.
    pub fn look_after_schedules<'a>(&'a self) -> BoxFuture<'a, Result<(), CoordinatorError>> {
        Box::pin(async move {
            if self.scheduling.is_none() {
                return Ok(());
            }
            let led = self.lead_beside_dispatching().await;
            if led.is_err() {
                self.metrics.schedule_waits.reset();
                // A round that hangs does not say that its lead is over.
                self.metrics.leads.set(0);
            }
            let term = led?;
            let rows = self.ledger.schedules().await?;
            self.metrics.schedule_waits.reset();
            stream::iter(&rows)
                .for_each_concurrent(AT_ONCE, async |row| match self.look_after_one(row, term).await {
                    // Its successor does it.
                    Err(CoordinatorError::NotLeading) => {}
                    Ok(()) => {
                        if let Some(lasted) = self.schedule_outages.end(&row.name) {
                            let lasted_s = lasted.as_secs();
                            tracing::info!(schedule = %row.name, lasted_s, "the schedule is looked after again");
                        }
                    }
                    Err(error) => {
                        self.metrics.failed_ticks.inc();
                        let failed = self.schedule_outages.note(&row.name);
                        if failed.is_told {
                            let (error, tries) = (regatta_proto::causes(&error), failed.tries);
                            tracing::error!(schedule = %row.name, error, tries, "failed to look after a schedule, trying again");
                        }
                    }
                })
                .await;
            self.send_notices().await
        })
    }

    async fn look_after_one(&self, row: &ScheduleRow, term: Term) -> Result<(), CoordinatorError> {
        // Its series are there before its first tick, so that the first that is missed is seen.
        self.metrics.note_tick(&row.name, "missed", 0);
        let stored = stored(row)?;
        let ticks = stored.spec.check()?;
        let open = self.ledger.open_ticks(&row.name).await?;
        for tick in open.iter().filter(|tick| tick.state == TickState::Running) {
            self.follow_night(&stored, tick, row, term).await?;
        }
        // A night that has just ended leaves its place to the next.
        let open = self.ledger.open_ticks(&row.name).await?;
        self.decide_ticks(row, &stored.spec, &ticks, &open, term).await?;
        let open = self.ledger.open_ticks(&row.name).await?;
        let now = self.clock.now();
        if let Some(oldest) = open.iter().find(|tick| tick.state == TickState::Due) {
            if !open.iter().any(|tick| tick.state == TickState::Running) {
                self.start_night(&stored, &ticks, oldest, row.owner.as_ref(), term).await?;
            }
            let waits = now.duration_since(oldest.at).as_secs_f64();
            self.metrics.schedule_waits.with_label_values(&[row.name.as_str()]).set(waits.max(0.0));
        } else {
            self.metrics.schedule_waits.with_label_values(&[row.name.as_str()]).set(0.0);
        }
        Ok(())
    }

    async fn decide_ticks(
        &self,
        row: &ScheduleRow,
        schedule: &ScheduleSpec,
        ticks: &Ticks,
        open: &[TickRow],
        term: Term,
    ) -> Result<(), CoordinatorError> {
        if row.is_paused {
            return Ok(());
        }
        let (from, now) = (row.decided_until, self.clock.now());
        let elapsed = ticks.between(from, now);
        let waiting: Vec<Timestamp> =
            open.iter().filter(|tick| tick.state == TickState::Due && !tick.by_hand).map(|tick| tick.at).collect();
        let standing = Standing {
            policy: schedule.catch_up,
            late_within: schedule.late_within(),
            waiting: &waiting,
            is_busy: open.iter().any(|tick| tick.state == TickState::Running),
        };
        let Some(admission) = decide(standing, &elapsed, from, now) else { return Ok(()) };
        let mut notices = Vec::new();
        for missed in &admission.missed {
            notices.extend(self.notices_of_missed(schedule, missed)?);
        }
        for (at, reason) in &admission.replaced {
            if let Some(tick) = open.iter().find(|tick| tick.at == *at) {
                notices.extend(self.notices_of(schedule, NightEvent::Missed, tick, Some(reason), None)?);
            }
        }
        if self.ledger.admit_ticks(&row.name, &admission, &notices, term).await? {
            let missed = admission.missed.iter().map(|missed| missed.stands_for).sum::<u32>();
            let missed = missed + admission.replaced.len() as u32;
            self.metrics.note_tick(&row.name, "missed", missed);
            if missed > 0 {
                tracing::warn!(schedule = %row.name, ticks = missed, "ticks are missed");
            }
        }
        Ok(())
    }
}
