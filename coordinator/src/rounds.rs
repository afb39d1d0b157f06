//! The coordinator's main loop.

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{AccountState, CellProgress, Outage, ShardState, SweepRow, Term};
use regatta_catalog::Sweep;
use regatta_proto::{BroadcastNumber, Control, Digest, EndpointName, Money, Report, SweepId, SweepState};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::answering::Unanswering;
use crate::budget::{FirstCalls, first_calls, of_sweep};
use crate::control::routes;
use crate::dispatch::Dispatched;
use crate::echo::Echo;
use crate::forecast::Foretold;
use crate::held::HeldBack;
use crate::lost_jobs::LostJobs;
use crate::queues::queues_of;
use crate::quiet::Quiet;
use crate::rejudging::Rejudging;
use crate::voided::Voided;
use crate::window::outstanding;
use crate::{Coordinator, CoordinatorError, Forecast};

/// Longest pause after something has failed.
pub(crate) const SETBACK_MAX: Duration = Duration::from_secs(5);

/// Age at which it says nothing any more of sessions that nobody tells of that all reports had been recorded. Workers tell of each session
/// that often.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// A sweep that has not ended, with what is only worth computing once.
pub(crate) struct Watched {
    pub(crate) sweep: Arc<Sweep>,
    /// Term under which this process began to watch it. Should another lead meanwhile, nothing of what is known here is acted on.
    pub(crate) term: Term,
    /// Empty without a budget.
    pub(crate) first_calls: Arc<FirstCalls>,
    /// As the ledger has it, resumes included.
    pub(crate) budget: Option<Money>,
    pub(crate) quiet: Quiet,
    /// True if the sweep may dispatch, false while it is tabulated.
    running: bool,
    /// Number of times that the sweep was resumed.
    pub(crate) generation: u32,
    /// Time before which nothing is dispatched: workers must have heard of the generation, and have reported their attempts of earlier
    /// ones.
    settles_at: Instant,
    /// True once all reports of earlier generations are recorded, and while no shard waits for later ones.
    is_settled: bool,
    /// When it was last certain that everything was recorded that had been reported.
    heard_at: Option<Instant>,
    /// Jobs of its planned shards may have been published before: by an earlier leader, before a resume, or before they were planned again.
    pub(crate) may_have_run: bool,
    pub(crate) held: HeldBack,
    pub(crate) lost_jobs: LostJobs,
    /// Queues that did not tell what is in them.
    pub(crate) unanswering: Unanswering,
    /// Queues that did not confirm jobs.
    pub(crate) unconfirming: Unanswering,
    /// Queues that have not been declared by this leader.
    undeclared: Vec<String>,
    pub(crate) rejudging: Rejudging,
    pub(crate) echo: Echo,
    /// Time since which nothing is left to run; `None` while something is.
    over_since: Option<Instant>,
    /// Asked, since then, whether all that was reported is recorded.
    is_asked_at_its_end: bool,
}

impl Watched {
    /// All that had been reported is recorded.
    pub(crate) fn is_heard(&mut self) {
        self.heard_at = Some(Instant::now());
    }

    /// `true` if no job is to be published to `queue` for now.
    pub(crate) fn leaves_alone(&self, queue: &str) -> bool {
        self.unconfirming.leaves_alone(queue) || self.undeclared.iter().any(|undeclared| undeclared == queue)
    }

    /// True if everything was recorded that had been reported until a moment ago.
    pub(crate) fn was_heard_lately(&self) -> bool {
        self.heard_at.is_some_and(|at| at.elapsed() < HEARD_WITHIN)
    }
}

/// `true` once it is known what a sweep cost that has nothing left to run: its workers have given their leases back, or have had the time to.
fn is_settled(account: Option<&AccountState>, over_since: &mut Option<Instant>, within: Duration) -> bool {
    let since = *over_since.get_or_insert_with(Instant::now);
    account.is_none_or(AccountState::is_settled) || since.elapsed() >= within
}

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

/// Request for the tables of `sweep`, of this generation.
pub(crate) fn tabulate(sweep: &SweepId, lock: Digest, generation: u32) -> Report {
    Report::Tabulate { sweep: sweep.clone(), lock, generation: Some(generation) }
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
        for (queue, sessions) in progress.values().flat_map(|progress| outstanding(progress)) {
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

    /// Sets the gauges of money, so far as the stores answer; sweeps that are over leave them.
    async fn show_money(&self, watched: &BTreeMap<SweepId, Watched>, progress: &BTreeMap<SweepId, Vec<CellProgress>>) {
        let mut found = Vec::new();
        for (id, progress) in progress {
            let Some(one) = watched.get(id) else { continue };
            let foretold = self.foretold(&one.sweep, progress).await.ok().flatten();
            let account = self.permits.account(&of_sweep(id)).await.ok().flatten();
            let account = account.filter(AccountState::is_capped);
            found.push((id.as_str(), foretold, account));
        }
        // Nothing is awaited from here on, so that hardly a scrape falls between the old values and the new.
        self.forget_money();
        for (id, foretold, account) in found {
            let bounds = match foretold {
                Some(Foretold::Whole(Forecast { expected, low, high, level: _ })) => {
                    vec![("low", low), ("expected", expected), ("high", high)]
                }
                Some(Foretold::AtLeast(least)) => vec![("low", least)],
                None => Vec::new(),
            };
            for (bound, money) in bounds {
                self.metrics.forecast.with_label_values(&[id, bound]).set(money.dollars());
            }
            if let Some(account) = account {
                self.metrics.budget_left.with_label_values(&[id]).set(account.left.dollars());
                self.metrics.budget.with_label_values(&[id]).set(account.cap.dollars());
            }
        }
    }

    fn forget_money(&self) {
        self.metrics.forecast.reset();
        self.metrics.budget_left.reset();
        self.metrics.budget.reset();
    }

    /// Begins to watch the sweep of `row`, or takes note of its state.
    async fn follow(&self, rounds: &mut Rounds, row: &SweepRow, term: Term) -> Result<(), CoordinatorError> {
        let running = row.state == SweepState::Running;
        if let Some(one) = rounds.watched.get_mut(&row.id) {
            if one.running && !running {
                // The end was written, and perhaps not said.
                self.ask_for_tables(&row.id, row.lock, row.generation, term).await?;
            }
            if one.generation != row.generation {
                // A resume raises the budget, and a process that had read the sweep before may have put it back since.
                self.open_accounts(&one.sweep, row.budget).await?;
            }
            (one.running, one.budget) = (running, row.budget);
            one.echo.heard = row.echo;
            if one.generation != row.generation {
                one.generation = row.generation;
                one.settles_at = Instant::now() + self.settling(row.generation);
                one.is_settled = false;
                (one.heard_at, one.may_have_run, one.held) = (None, true, HeldBack::default());
                one.lost_jobs = LostJobs::default();
                one.rejudging = Rejudging::of(row.generation);
                // An answer to an earlier question says nothing of what workers report now.
                one.echo.forget();
                (one.over_since, one.is_asked_at_its_end) = (None, false);
                one.quiet.begins_anew();
            }
            return Ok(());
        }
        let sweep = self.catalog.sweep(&row.lock).await?;
        let mut unanswering = Unanswering::default();
        let mut undeclared = queues_of(&sweep.id, &sweep.lock);
        if running {
            undeclared = self.declare_each(undeclared, &mut unanswering, term).await?;
        }
        self.open_accounts(&sweep, row.budget).await?;
        if !self.config.queue_survives && running && !self.is_ours(&row.id) {
            self.forget_dispatch(&sweep, term).await?;
            self.adopt(&row.id);
        }
        if !running {
            // A coordinator died between noticing the end and saying so; saying it twice is harmless.
            self.ask_for_tables(&row.id, row.lock, row.generation, term).await?;
        }
        let first_calls = match sweep.lock.budget_usd {
            Some(_) => {
                let known = rounds.first_calls.entry(row.id.clone());
                Arc::clone(known.or_insert_with(|| Arc::new(first_calls(&sweep))))
            }
            None => Arc::default(),
        };
        let (generation, settles_at) = (row.generation, Instant::now() + self.settling(row.generation));
        let (is_settled, echo) = (self.settling(generation).is_zero(), Echo::heard(row.echo));
        let may_have_run = generation > 0 || self.has_begun(&sweep).await?;
        let lost_jobs = if may_have_run && self.config.queue_survives {
            let progress = self.ledger.cell_progress(&sweep.id).await?;
            LostJobs::among(&sweep, self.ledger.shards(&sweep.id).await?, &progress)
        } else {
            LostJobs::default()
        };
        let one = Watched {
            sweep,
            term,
            first_calls,
            budget: row.budget,
            quiet: Quiet::new(),
            running,
            generation,
            settles_at,
            is_settled,
            heard_at: None,
            may_have_run,
            held: HeldBack::default(),
            lost_jobs,
            unanswering,
            unconfirming: Unanswering::default(),
            undeclared,
            rejudging: Rejudging::of(generation),
            echo,
            over_since: None,
            is_asked_at_its_end: false,
        };
        rounds.watched.insert(row.id.clone(), one);
        Ok(())
    }

    /// Time for which nothing of a generation is dispatched. The first has nothing before it, and where the queue does not survive, nothing
    /// of an earlier one is left.
    fn settling(&self, generation: u32) -> Duration {
        if generation == 0 || !self.config.queue_survives { Duration::ZERO } else { self.config.rebroadcast * 3 }
    }

    /// True if a job of `sweep` may have been published.
    async fn has_begun(&self, sweep: &Sweep) -> Result<bool, CoordinatorError> {
        let progress = self.ledger.cell_progress(&sweep.id).await?;
        if progress.iter().any(|cell| cell.dispatched > 0 || cell.recorded > 0) {
            return Ok(true);
        }
        Ok(self.ledger.shards(&sweep.id).await?.iter().any(|shard| shard.state != ShardState::Planned))
    }

    /// Dispatches and watches one running sweep, or ends it.
    async fn look_after(&self, one: &mut Watched, progress: &[CellProgress]) -> Result<(), CoordinatorError> {
        if !one.undeclared.is_empty() {
            let undeclared = one.undeclared.clone();
            one.undeclared = self.declare_each(undeclared, &mut one.unanswering, one.term).await?;
        }
        let heard;
        let progress = if !one.is_settled {
            let is_over = Instant::now() >= one.settles_at;
            one.is_settled = is_over && self.is_all_recorded(&one.sweep.id, &mut one.echo, one.term).await?.is_some();
            if !one.is_settled {
                return Ok(());
            }
            one.is_heard();
            // What was recorded meanwhile is not in `progress`. It is looked at at once, because the answer grows old.
            heard = self.ledger.cell_progress(&one.sweep.id).await?;
            &heard
        } else {
            progress
        };
        let complete = progress.iter().all(|cell| cell.settled == cell.items);
        if complete && self.release_next(one, progress).await? {
            // What was released is not in `progress`.
            return Ok(());
        }
        let dispatched = if complete { Dispatched::default() } else { self.dispatch(one, progress).await? };
        let must_hear =
            dispatched.must_hear() || !self.dispatch_held_back(one).await? || !self.rejudge(one, progress).await?;
        if must_hear {
            one.is_settled = false;
            one.echo.forget();
            return Ok(());
        }
        if complete || dispatched.is_over() {
            let sweep = Arc::clone(&one.sweep);
            let account = self.permits.account(&of_sweep(&sweep.id)).await?;
            if !is_settled(account.as_ref(), &mut one.over_since, self.config.leases_return_within) {
                return Ok(());
            }
            if !self.is_all_told(one).await? {
                return Ok(());
            }
            let granted = account.map(|account| account.at_most());
            self.lead_on(one.term).await?;
            if self.ledger.begin_tabulating(&sweep.id, one.generation, granted, one.term).await? {
                self.ask_for_tables(&sweep.id, sweep.digest, one.generation, one.term).await?;
                one.running = false;
            }
            return Ok(());
        }
        (one.over_since, one.is_asked_at_its_end) = (None, false);
        self.reconcile(one, progress).await
    }

    /// `true` once all that was reported while the sweep ran is recorded, attempts without a result among it. The request for tables is in one partition
    /// of the reports, and overtakes those of the others.
    async fn is_all_told(&self, one: &mut Watched) -> Result<bool, CoordinatorError> {
        if self.reports_keep_order() {
            return Ok(true);
        }
        if !one.is_asked_at_its_end {
            one.is_asked_at_its_end = true;
            one.echo.forget();
        }
        Ok(self.is_all_recorded(&one.sweep.id, &mut one.echo, one.term).await?.is_some())
    }

    /// Asks scorers for the tables of `sweep`.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub(crate) async fn ask_for_tables(
        &self,
        sweep: &SweepId,
        lock: Digest,
        generation: u32,
        term: Term,
    ) -> Result<(), CoordinatorError> {
        self.report(vec![tabulate(sweep, lock, generation)], term).await?;
        tracing::info!(%sweep, "tables are asked for");
        Ok(())
    }

    /// Broadcasts the control message when it has changed, and again every few seconds. `term` is that under which its contents were read:
    /// another leader may have said something newer since it ended.
    async fn tell(&self, rounds: &mut Rounds, term: Term) -> Result<(), CoordinatorError> {
        let watched = rounds.watched.iter().map(|(id, one)| (id, &one.sweep.lock));
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
