//! Begins to watch sweeps, and takes note of their resumes and ends.

use std::sync::Arc;
use std::time::Duration;

use regatta_backends::{ShardState, SweepRow, Term};
use regatta_catalog::Sweep;
use regatta_proto::SweepState;
use tokio::time::Instant;

use super::Rounds;
use super::watched::Watched;
use crate::answering::Unanswering;
use crate::budget::first_calls;
use crate::echo::Echo;
use crate::held::HeldBack;
use crate::queues::queues_of;
use crate::quiet::Quiet;
use crate::rejudging::Rejudging;
use crate::suspects::LostJobs;
use crate::{Coordinator, CoordinatorError};

impl Coordinator {
    /// Begins to watch the sweep of `row`, or takes note of its state.
    pub(super) async fn follow(&self, rounds: &mut Rounds, row: &SweepRow, term: Term) -> Result<(), CoordinatorError> {
        if let Some(one) = rounds.watched.get_mut(&row.id) {
            return self.note_change(one, row, term).await;
        }
        let one = self.begin_to_watch(rounds, row, term).await?;
        rounds.watched.insert(row.id.clone(), one);
        Ok(())
    }

    /// Takes note of what has changed in the row of a sweep that is watched.
    async fn note_change(&self, one: &mut Watched, row: &SweepRow, term: Term) -> Result<(), CoordinatorError> {
        let running = row.state == SweepState::Running;
        if one.running && !running {
            // The end was written, and perhaps not said.
            self.ask_for_tables(&row.id, row.lock, row.generation, term).await?;
        }
        if one.generation != row.generation || one.budget != row.budget {
            // A resume raises the budget, and so does a person while it runs; a process that had read the sweep before may have put it back since.
            self.open_accounts(&one.sweep, row.budget).await?;
        }
        if one.is_paused && !row.is_paused {
            // Jobs have waited for nobody: whoever takes them now has the time to tell of them. A broker forgets queues that nobody uses.
            self.move_on(one).await?;
            one.undeclared = queues_of(&one.sweep.id, &one.sweep.lock);
        }
        (one.running, one.budget) = (running, row.budget);
        one.is_paused = row.is_paused;
        one.concurrency.clone_from(&row.concurrency);
        one.echo.heard = row.echo;
        if one.generation != row.generation {
            one.generation = row.generation;
            one.settles_at = Instant::now() + self.settling(row.generation);
            one.is_settled = false;
            (one.heard_at, one.may_have_run, one.held) = (None, true, HeldBack::default());
            one.lost_jobs = LostJobs::default();
            one.rejudging = Rejudging::first();
            // An answer to an earlier question says nothing of what workers report now.
            one.echo.forget();
            (one.over_since, one.is_asked_at_its_end) = (None, false);
            one.quiet.begins_anew();
        }
        Ok(())
    }

    async fn begin_to_watch(
        &self,
        rounds: &mut Rounds,
        row: &SweepRow,
        term: Term,
    ) -> Result<Watched, CoordinatorError> {
        let running = row.state == SweepState::Running;
        let sweep = self.catalog.sweep(&row.lock).await?;
        let mut unanswering = Unanswering::default();
        let mut undeclared = queues_of(&sweep.id, &sweep.lock);
        if running {
            undeclared = self.declare_each(undeclared, &mut unanswering, term).await?;
        }
        self.open_accounts(&sweep, row.budget).await?;
        if !self.config.queue_survives && running && !self.is_ours(&row.id) {
            // Whatever was claimed is in a queue that is gone with its process.
            self.forget_dispatch(&sweep, Duration::ZERO, term).await?;
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
        Ok(Watched {
            sweep,
            term,
            first_calls,
            budget: row.budget,
            quiet: Quiet::new(),
            running,
            is_paused: row.is_paused,
            concurrency: row.concurrency.clone(),
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
            rejudging: Rejudging::first(),
            echo,
            over_since: None,
            is_asked_at_its_end: false,
        })
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
}
