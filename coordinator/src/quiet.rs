//! For how long a sweep has not moved.

use std::fmt;
use std::time::Duration;

use regatta_backends::CellProgress;
use tokio::time::Instant;

use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError};

/// Time without movement after which the ledger is told that a sweep does not move.
const NOTED_AFTER: Duration = Duration::from_secs(1);

/// Pause between two looks at the queues of a sweep that does not move, at the longest.
const QUEUES_ASKED_EVERY: Duration = Duration::from_secs(1);

/// Counters of a sweep that change while it is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    /// Counted because a resume may change nothing else.
    generation: u32,
    dispatched: u64,
    recorded: u64,
    settled: u64,
    /// Tokens of recorded attempts and of attempts that run.
    tokens: u64,
    /// A sweep whose jobs wait for workers has lost nothing, and who takes them tells of them a moment later; should that one be cut off,
    /// the broker gives them to the next, when it has noticed.
    jobs_wait: bool,
}

impl Life {
    fn of(generation: u32, progress: &[CellProgress]) -> Self {
        let sum = |count: fn(&CellProgress) -> u64| -> u64 { progress.iter().map(count).sum() };
        Self {
            generation,
            dispatched: sum(|cell| cell.dispatched),
            recorded: sum(|cell| cell.recorded),
            settled: sum(|cell| cell.settled),
            tokens: sum(|cell| cell.usage.total()),
            jobs_wait: false,
        }
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, dispatched, recorded, settled, tokens, jobs_wait } = self;
        write!(
            f,
            "generation {generation}, {dispatched} dispatched, {recorded} recorded, {settled} settled, {tokens} tokens"
        )?;
        if *jobs_wait { f.write_str(", jobs wait") } else { Ok(()) }
    }
}

/// For how long a sweep has not moved while none of its jobs waited. The ledger knows it, so that a coordinator that takes over does not begin
/// to wait anew; this process reckons on by its own clock from what the ledger said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quiet {
    seen: Option<Life>,
    /// Quiet time at the last look at the ledger, or change.
    before: Duration,
    since: Instant,
    /// The ledger knows what was seen.
    is_noted: bool,
    /// Jobs have waited since the ledger was last told, so that it knows of an earlier time when nothing moved.
    has_waited: bool,
    /// When the queues were last looked at.
    queues_asked_at: Option<Instant>,
    /// When this process last saw the sweep move, or began to watch it.
    watched_since: Instant,
    /// The last look at what workers tell of, and whether it found that something is lost.
    pub(crate) looked_at: Option<(Instant, bool)>,
    /// Looks for jobs that nobody has since then; each comes after twice the quiet time of the one before.
    looks: u32,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            seen: None,
            before: Duration::ZERO,
            since: now,
            is_noted: false,
            has_waited: false,
            queues_asked_at: None,
            watched_since: now,
            looked_at: None,
            looks: 0,
        }
    }

    /// Zero while jobs wait.
    pub(crate) fn time(&self) -> Duration {
        let is_quiet = self.seen.is_some_and(|life| !life.jobs_wait);
        if is_quiet { self.before + self.since.elapsed() } else { Duration::ZERO }
    }

    /// Time for which this process has seen that the sweep does not move. The ledger's clock may be put forward, and all that workers have told of
    /// was told long ago then.
    pub(crate) fn watched(&self) -> Duration {
        self.watched_since.elapsed()
    }

    /// The sweep was resumed.
    pub(crate) fn begins_anew(&mut self) {
        *self = Self::new();
    }

    /// The sweep has moved.
    fn moved(&mut self, life: Life) {
        let Self { queues_asked_at, has_waited, .. } = *self;
        let has_waited = has_waited || life.jobs_wait;
        *self = Self { seen: Some(life), has_waited, queues_asked_at, ..Self::new() };
    }

    /// The ledger has taken note of what was seen, and says how long it has been so; it knows nothing of the time before it was told.
    fn noted(&mut self, by_ledger: Duration) {
        (self.before, self.since) = (by_ledger.max(self.before + self.since.elapsed()), Instant::now());
        (self.is_noted, self.has_waited) = (true, false);
    }

    /// `true` if another look is due; the first is, after the quiet time `first`.
    pub(crate) fn is_look_due(&mut self, first: Duration) -> bool {
        let is_due = self.time() >= first.saturating_mul(1 << self.looks.min(16));
        self.looks += u32::from(is_due);
        is_due
    }
}

impl Coordinator {
    /// Takes note of how things stand with a sweep, here and, when it does not move, in the ledger.
    pub(crate) async fn take_note(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<(), CoordinatorError> {
        let before = watched.quiet.seen;
        let mut life = Life::of(watched.generation, progress);
        let has_moved = before.is_none_or(|seen| Life { jobs_wait: false, ..seen } != life);
        // Of a sweep that moves nobody wants to know whether jobs wait.
        let every = QUEUES_ASKED_EVERY.min(self.config.doubtful_after / 64);
        let asks = !has_moved && watched.quiet.queues_asked_at.is_none_or(|at| at.elapsed() >= every);
        if asks || before.is_none() {
            life.jobs_wait = self.may_have_waiting_jobs(watched).await?;
            watched.quiet.queues_asked_at = Some(Instant::now());
        } else {
            life.jobs_wait = before.is_some_and(|seen| seen.jobs_wait);
        }
        if before != Some(life) {
            watched.quiet.moved(life);
        }
        // While it moves all the time, nobody needs to know since when.
        if before.is_none() || (!watched.quiet.is_noted && watched.quiet.since.elapsed() >= NOTED_AFTER) {
            let (text, anew) = (life.to_string(), watched.quiet.has_waited);
            let by_ledger = self.ledger.quiet(&watched.sweep.id, &text, anew).await?;
            watched.quiet.noted(by_ledger);
        }
        Ok(())
    }

    /// The sweep is about to be moved by this process: the quiet time begins anew, here and in the ledger.
    pub(crate) async fn move_on(&self, watched: &mut Watched) -> Result<(), CoordinatorError> {
        let Some(life) = watched.quiet.seen else {
            // Whoever led before may have told the ledger of what is still so.
            self.ledger.quiet(&watched.sweep.id, "about to move", true).await?;
            return Ok(());
        };
        let by_ledger = self.ledger.quiet(&watched.sweep.id, &life.to_string(), true).await?;
        watched.quiet.moved(life);
        watched.quiet.noted(by_ledger);
        Ok(())
    }
}
