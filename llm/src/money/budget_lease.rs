//! The budget lease of one account, and the task that reports to the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_proto::{AccountId, AccountReply, AccountRequest, Money, WorkerId};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::lease_state::{Answer, Answers, Due, LeaseState, Paid, Stage};
use crate::CallMetrics;
use crate::permits::store::{PermitStore, StoreError};

/// Time-out of a request to the store.
const PATIENCE: Duration = Duration::from_secs(10);
/// Tries of the final flush, which reports the final totals to the store.
const FINAL_FLUSH_TRIES: u32 = 5;
const FINAL_FLUSH_PAUSE: Duration = Duration::from_millis(500);
/// Time without calls after which the metric of an account is removed.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct BudgetLease {
    state: Mutex<LeaseState>,
    /// Wakes the reporting task earlier than planned.
    look: Notify,
}

impl BudgetLease {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), look: Notify::new() }
    }

    /// Takes `amount` to `stage`, in order of arrival; waits while it may still come.
    ///
    /// # Errors
    /// The most that may come, if that is less.
    pub(super) async fn take(&self, stage: Stage, amount: Money) -> Result<(), Money> {
        let (receiver, is_due_earlier) = {
            let now = Instant::now();
            let mut state = self.locked();
            if state.take(stage, amount, now) {
                return Ok(());
            }
            let (sender, receiver) = oneshot::channel();
            (receiver, state.wait(stage, amount, sender, now))
        };
        if is_due_earlier {
            self.look.notify_one();
        }
        let mut waiting = Waiting { lease: self, stage, receiver };
        match (&mut waiting.receiver).await {
            Ok(answer) => answer.map(drop),
            // The lease outlives its waiters; without it no money would come.
            Err(_) => Err(Money::ZERO),
        }
    }

    /// Ends a try that had reserved `at_most` and reached the stage `reached`.
    pub(super) fn settle(&self, at_most: Money, reached: Stage, paid: Paid) {
        if self.locked().settle(at_most, reached, paid) {
            self.look.notify_one();
        }
        self.hand_on();
    }

    fn hand_on(&self) {
        let answers = self.locked().hand_on(Instant::now());
        self.answer(answers);
    }

    /// Sends answers to waiting calls. Money of calls that have left is returned.
    fn answer(&self, answers: Answers) {
        for (sender, answer, stage) in answers {
            if let Err(Ok(amount)) = sender.send(answer) {
                self.not_taken(stage, amount);
            }
        }
    }

    /// Returns the money of a call that left before it learned that it had reached `stage`.
    fn not_taken(&self, stage: Stage, amount: Money) {
        match stage {
            Stage::Reserve => self.settle(amount, Stage::Reserve, Paid::Known(Money::ZERO)),
            Stage::Send => {
                self.locked().give_back(amount);
                self.hand_on();
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiting call. When it leaves, money on its way is returned, and the calls behind it get their turn.
struct Waiting<'a> {
    lease: &'a BudgetLease,
    stage: Stage,
    receiver: oneshot::Receiver<Answer>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        // Empty if the call has its answer.
        match self.receiver.try_recv() {
            Ok(Ok(amount)) => self.lease.not_taken(self.stage, amount),
            _ => self.lease.hand_on(),
        }
    }
}

/// The task that reports to the store about one account.
pub(super) struct Settling {
    pub(super) lease: Arc<BudgetLease>,
    pub(super) store: Arc<dyn PermitStore>,
    pub(super) account: AccountId,
    pub(super) holder: WorkerId,
    pub(super) metrics: Arc<CallMetrics>,
    pub(super) closing: CancellationToken,
    pub(super) rng: ChaCha8Rng,
}

impl Settling {
    /// Runs until the leases are closed.
    pub(super) async fn run(mut self) {
        while !self.closing.is_cancelled() {
            let due = self.lease.locked().look(Instant::now());
            match due {
                Due::Tell => self.tell().await,
                Due::Look(at) => self.wait(at).await,
            }
            self.lease.hand_on();
        }
        self.final_flush().await;
        self.metrics.forget_budget(&self.account);
    }

    async fn wait(&self, at: Option<Instant>) {
        let later = async {
            match at {
                Some(at) => sleep_until(at).await,
                None => {
                    // No call is in flight.
                    sleep(FORGOTTEN_AFTER).await;
                    self.metrics.forget_budget(&self.account);
                    std::future::pending().await
                }
            }
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            () = self.lease.look.notified() => {}
            () = later => {}
        }
    }

    async fn tell(&mut self) {
        let request = self.lease.locked().tell(&self.account, &self.holder, false, Instant::now());
        match self.settle(&request).await {
            Ok(reply) => {
                // An account without a limit has an unlimited rest.
                if let Ok(left) = i64::try_from(reply.left.0) {
                    self.metrics.budget_left(&self.account).set(left);
                }
                let jitter = self.rng.random_range(0.0..1.0);
                let answers = self.lease.locked().told(&reply, Instant::now(), jitter);
                self.lease.answer(answers);
            }
            Err(error) => {
                if self.lease.locked().unanswered(Instant::now()) {
                    tracing::warn!(%error, sweep = %self.account.sweep, "no money beyond that reserved until the store answers");
                }
            }
        }
    }

    async fn final_flush(&self) {
        if !self.lease.locked().is_known() || self.lease.locked().is_quiet() {
            return;
        }
        for tried in 1..=FINAL_FLUSH_TRIES {
            let request = self.lease.locked().tell(&self.account, &self.holder, true, Instant::now());
            match self.settle(&request).await {
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(%error, sweep = %self.account.sweep, tried, "failed to tell the store what was spent");
                }
            }
            sleep(FINAL_FLUSH_PAUSE).await;
        }
    }

    async fn settle(&self, request: &AccountRequest) -> Result<AccountReply, StoreError> {
        match timeout(PATIENCE, self.store.settle(request)).await {
            Ok(reply) => reply,
            Err(_) => Err(StoreError(format!("nothing within {} s", PATIENCE.as_secs()))),
        }
    }
}
