//! The coordinator's main loop.

mod following;
mod looking_after;
mod money;
mod watched;

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{Outage, SweepRow, Term};
use regatta_proto::{BroadcastNumber, Control, EndpointName, SweepId, SweepState};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

pub(crate) use self::looking_after::tabulate;
pub(crate) use self::watched::Watched;
use crate::budget::FirstCalls;
use crate::control::routes;
use crate::voided::Voided;
use crate::window::outstanding;
use crate::{Coordinator, CoordinatorError};

/// Longest pause after something has failed.
pub(crate) const SETBACK_MAX: Duration = Duration::from_secs(5);

/// State of `run` between ticks; all of it can be rebuilt.
struct Rounds {
    addresses: BTreeMap<EndpointName, String>,
    /// Term of the last round in which this process led: what is remembered is of it.
    term: Option<Term>,
    watched: BTreeMap<SweepId, Watched>,
    /// Worst cases of the first calls of each sweep with a budget, which may take longer to find out than a lead lasts.
    first_calls: BTreeMap<SweepId, Arc<FirstCalls>>,
    /// Sweeps whose jobs workers are to drop.
    void: BTreeMap<SweepId, Voided>,
    /// Number of resumes of each sweep that was resumed and that has not ended, or whose jobs workers are to drop.
    generations: BTreeMap<SweepId, u32>,
    /// The last broadcast, without its number, and when it went out.
    told: Option<(Control, Instant)>,
    /// Broadcasts of this process.
    broadcasts: u64,
    /// Sweeps that failed at their last look; under another term they fail as well.
    setbacks: BTreeMap<SweepId, Setback>,
}

/// Failures of one sweep, and the time before which it is left alone: what fails once is likely to fail again at once.
#[derive(Debug)]
struct Setback {
    outage: Outage,
    until: Instant,
}

/// The sweep is looked after again.
fn recovered(setbacks: &mut BTreeMap<SweepId, Setback>, sweep: &SweepId) {
    if let Some(lasted) = setbacks.remove(sweep).and_then(|mut setback| setback.outage.ends()) {
        tracing::info!(%sweep, lasted_s = lasted.as_secs(), "the sweep is looked after again");
    }
}

impl Rounds {
    const fn new(addresses: BTreeMap<EndpointName, String>) -> Self {
        Self {
            addresses,
            term: None,
            watched: BTreeMap::new(),
            first_calls: BTreeMap::new(),
            void: BTreeMap::new(),
            generations: BTreeMap::new(),
            told: None,
            broadcasts: 0,
            setbacks: BTreeMap::new(),
        }
    }

    /// Forgets what was found out under another term than `now`: meanwhile another led, and everything is in the ledger.
    fn are_of(&mut self, now: Term) {
        if self.term != Some(now) {
            self.term = Some(now);
            self.watched.clear();
            self.void.clear();
        }
    }

    fn is_set_back(&self, sweep: &SweepId) -> bool {
        self.setbacks.get(sweep).is_some_and(|setback| Instant::now() < setback.until)
    }
}

impl Coordinator {
    /// Works until `stop` fires. `addresses` are those of simulated endpoints. What fails is logged and repeated: stores may be away
    /// for a while. A sweep that cannot be looked after does not hold up the others.
    pub fn run<'a>(&'a self, addresses: BTreeMap<EndpointName, String>, stop: CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.leading.begin_dispatching();
            let mut rounds = Rounds::new(addresses);
            let mut ticks = tokio::time::interval(self.config.tick);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut outage = Outage::new(self.config.tick, SETBACK_MAX);
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    _ = ticks.tick() => {}
                }
                match self.tick(&mut rounds).await {
                    // Nothing was looked after, so that it is not known whether it could have been.
                    Err(CoordinatorError::NotLeading) if self.leading.gives_way() => {}
                    Err(CoordinatorError::NotLeading) => {
                        let _ = outage.ends();
                        self.health.succeeds();
                    }
                    Ok(()) => {
                        if let Some(lasted) = outage.ends() {
                            tracing::info!(lasted_s = lasted.as_secs(), "the sweeps are looked after again");
                        }
                        if rounds.setbacks.is_empty() {
                            self.health.succeeds();
                        }
                    }
                    Err(error) => {
                        let error = self.failed(error);
                        let failed = outage.fails();
                        if failed.is_told {
                            tracing::error!(
                                error,
                                tries = failed.tries,
                                "failed to look after the sweeps, trying again"
                            );
                        }
                        ticks.reset_after(failed.pause);
                    }
                }
            }
        })
    }

    /// One look at all sweeps. The lead is renewed before each step, since all of them together may take longer than it lasts; who has lost it
    /// stops there.
    async fn tick(&self, rounds: &mut Rounds) -> Result<(), CoordinatorError> {
        let lead = self.lead().await;
        self.metrics.leads.set(i64::from(lead.is_ok()));
        if matches!(lead, Err(CoordinatorError::NotLeading)) {
            // Its last values are not to be added to those of who leads now.
            self.metrics.sweeps_running.set(0);
            self.metrics.window.reset();
            self.forget_money();
        }
        let term = lead?;
        rounds.are_of(term);
        let rows = self.ledger.sweeps().await?;
        let live: BTreeSet<&SweepId> = rows.iter().filter(|row| !row.state.is_end()).map(|row| &row.id).collect();
        self.note_void(&mut rounds.void, &rows);
        // Of all, whether they can be looked after or not: workers are never told of an older generation.
        let is_told =
            |row: &&SweepRow| row.generation > 0 && (live.contains(&row.id) || rounds.void.contains_key(&row.id));
        rounds.generations = rows.iter().filter(is_told).map(|row| (row.id.clone(), row.generation)).collect();
        rounds.watched.retain(|id, _| live.contains(id));
        rounds.first_calls.retain(|id, _| live.contains(id));
        rounds.setbacks.retain(|id, _| live.contains(id));
        for row in &rows {
            if row.state.is_end() || rounds.is_set_back(&row.id) {
                continue;
            }
            self.lead_on(term).await?;
            let begun = Instant::now();
            let followed = self.follow(rounds, row, term).await;
            if followed.is_ok() && row.state != SweepState::Running {
                recovered(&mut rounds.setbacks, &row.id);
            }
            self.note(&mut rounds.setbacks, &row.id, followed, begun);
        }
        self.metrics.sweeps_running.set(rounds.watched.len() as i64);
        self.tell(rounds, term).await?;
        let mut progress = BTreeMap::new();
        for (id, _) in rounds.watched.iter().filter(|(_, one)| one.running) {
            self.lead_on(term).await?;
            progress.insert(id.clone(), self.ledger.cell_progress(id).await?);
        }
        self.metrics.window.reset();
        // Jobs of a paused sweep wait for nobody, and nobody is to be called because of them.
        let goes_on = |id: &SweepId| rounds.watched.get(id).is_some_and(|one| !one.is_paused);
        let going = progress.iter().filter(|&(id, _)| goes_on(id));
        for (queue, sessions) in going.flat_map(|(_, progress)| outstanding(progress)) {
            self.metrics.window.with_label_values(&[queue.as_str()]).set(sessions.cast_signed());
        }
        for (id, progress) in &progress {
            if rounds.is_set_back(id) {
                continue;
            }
            if let Some(one) = rounds.watched.get_mut(id) {
                self.lead_on(term).await?;
                let begun = Instant::now();
                let done = self.look_after(one, progress).await;
                let has_succeeded = done.is_ok();
                self.note(&mut rounds.setbacks, id, done, begun);
                if has_succeeded {
                    recovered(&mut rounds.setbacks, id);
                }
            }
        }
        self.look_for_void(&mut rounds.void, &rows).await;
        self.tabulate_cancelled(&mut rounds.void, &rows, term).await;
        self.show_money(&rounds.watched, &progress).await;
        Ok(())
    }

    /// Broadcasts the control message when it has changed, and again every few seconds. `term` is that under which its contents were read:
    /// another leader may have said something newer since it ended.
    async fn tell(&self, rounds: &mut Rounds, term: Term) -> Result<(), CoordinatorError> {
        // Of a paused sweep workers take no more jobs; sessions that they have begun need no route to go on.
        let told = rounds.watched.iter().filter(|(_, one)| !one.is_paused);
        let watched = told.map(|(id, one)| (id, &one.sweep.lock, &one.concurrency));
        let void = rounds.void.iter().filter_map(|(id, one)| Some((id, one.routed()?)));
        let dropped = rounds.void.iter().filter(|(_, one)| one.is_told()).map(|(id, _)| id);
        let mut control = routes(watched, void, &rounds.addresses, dropped);
        control.generations.clone_from(&rounds.generations);
        let fresh =
            rounds.told.as_ref().is_some_and(|(last, at)| *last == control && at.elapsed() < self.config.rebroadcast);
        if !fresh {
            // A number is used once, even if its broadcast looks failed: it may wait for a channel until another leads.
            rounds.broadcasts += 1;
            let number = BroadcastNumber { term: term.0, sequence: rounds.broadcasts };
            self.queue.broadcast(Control { number: Some(number), ..control.clone() }).await?;
            rounds.told = Some((control, Instant::now()));
        }
        Ok(())
    }

    /// Counts a failure; what to say of it.
    fn failed(&self, error: CoordinatorError) -> String {
        self.metrics.failed_ticks.inc();
        let reason = regatta_proto::causes(&error);
        self.health.fails(&reason);
        reason
    }

    /// One sweep's trouble is counted and logged; it is tried again later, `begun` being when it was last. What fails slowly is left alone for half as
    /// long again, so that others have their turn.
    fn note(
        &self,
        setbacks: &mut BTreeMap<SweepId, Setback>,
        sweep: &SweepId,
        result: Result<(), CoordinatorError>,
        begun: Instant,
    ) {
        // A deposed leader finds out in the middle of something; its successor does that.
        if let Err(error) =
            result.or_else(|error| if matches!(error, CoordinatorError::NotLeading) { Ok(()) } else { Err(error) })
        {
            let error = self.failed(error);
            let now = Instant::now();
            let setback = setbacks
                .entry(sweep.clone())
                .or_insert_with(|| Setback { outage: Outage::new(self.config.tick, SETBACK_MAX), until: now });
            let failed = setback.outage.fails();
            setback.until = now + failed.pause.max(begun.elapsed() / 2);
            if failed.is_told {
                tracing::error!(%sweep, error, tries = failed.tries, "failed to look after a sweep, trying again");
            }
        }
    }
}
