//! Batches under a budget: no batch is handed in whose worst case is not reserved, and what it really cost is told when it is over. Whoever
//! hands it in has claimed the reservation, which is heard of for as long as that takes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use regatta_llm::{Funding, Prepared, Spending};
use regatta_proto::{AttemptId, Call, ErrorClass, FailedCall, Money, Try};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::asking::Asked;
use super::collecting::attempt_id;
use super::following::{Followed, Step};
use super::{named, trouble};

/// A store of permits counts a holder as dead that it does not hear of for half a minute, and its money as gone for good.
const HEARD_EVERY: Duration = Duration::from_secs(10);
/// Tries to tell the store what a batch cost.
const TELLS: u32 = 4;

impl Followed<'_> {
    /// Reserves what the batch can cost at most, and gives its lines back to be handed in.
    ///
    /// # Errors
    /// With what becomes of the batch instead: when there is money for a part of it only, or for none; when the money had to be waited for
    /// (its lines are not held meanwhile, and its intent is a new one afterwards); or when somebody else hands it in, or has done so.
    pub(super) async fn fund(&self, prepared: Prepared) -> Result<Prepared, Step> {
        if self.accounts.is_empty() {
            return Ok(prepared);
        }
        let worst: Option<Vec<Money>> = self.asked.iter().map(|asked| asked.call().at_most()).collect();
        let Some(worst) = worst else {
            let reason = format!("the price of {} is unknown, so no budget allows it", self.job.model);
            return Err(self.ended_by(&trouble(ErrorClass::Budget, reason)));
        };
        let total: Money = worst.iter().copied().sum();
        let lines = prepared.lines;
        let mut prepared = Some(prepared);
        loop {
            let reserving = self.client.reserve(&self.job.id, self.accounts, total, &self.claim);
            match self.leave.run_until_cancelled(reserving).await {
                None => return Err(self.left_without_money().await),
                Some(Ok(Funding::Reserved)) => {
                    self.has_claim.store(true, Ordering::Relaxed);
                    let Some(prepared) = prepared else {
                        self.give_up(total).await;
                        return Err(self.renewed());
                    };
                    return Ok(prepared);
                }
                Some(Ok(Funding::Claimed(claimed))) => {
                    drop(prepared);
                    return Err(self.wait_behind(claimed, lines).await);
                }
                Some(Ok(Funding::Settled)) => {
                    drop(prepared);
                    return Err(self.over_before());
                }
                Some(Ok(Funding::Short { account, left, may_come })) => match share(&worst, left, may_come) {
                    Share::First(first) => {
                        drop(prepared.take());
                        if let Some(instead) = self.cut_before(first, lines).await {
                            return Err(instead);
                        }
                    }
                    Share::Later => {
                        self.lane.store_away.ends();
                        tracing::debug!(batch = named(self.job), %left, "a batch waits for money");
                    }
                    Share::Never => {
                        let whose = account.model.map_or_else(|| "the sweep".to_owned(), |model| model.to_string());
                        let reason = format!(
                            "the budget of {whose} is used up: the batch may cost {total}, and {may_come} is left at most"
                        );
                        return Err(self.ended_by(&trouble(ErrorClass::Budget, reason)));
                    }
                },
                Some(Err(error)) => {
                    if self.lane.store_away.fails() {
                        tracing::warn!(batch = named(self.job), %error, "failed to reserve money for a batch");
                    }
                }
            }
            prepared = None;
            // Nothing is reserved meanwhile, so nothing has to be renewed.
            if self.leave.run_until_cancelled(sleep(self.heard_every())).await.is_none() {
                return Err(self.left_without_money().await);
            }
        }
    }

    /// A worker told the accounts that the provider may or may not have accepted the batch, and died before it published what goes on.
    fn over_before(&self) -> Step {
        self.count("refused");
        tracing::warn!(
            batch = named(self.job),
            "a worker died when it knew that a batch may have been billed, its sessions go on"
        );
        let reason = "the provider may or may not have accepted the batch".to_owned();
        self.all_failed(&self.perhaps_billed(trouble(ErrorClass::Timeout, reason)))
    }

    /// Cuts the batch before its line `first`. The account notes where, because whoever has a copy of the job, or gets it again after the two
    /// parts were published, finds money for more lines or for fewer. A copy that was cut elsewhere, or that somebody may be handing in, is
    /// followed instead. `None` if the store does not answer.
    async fn cut_before(&self, first: usize, lines: usize) -> Option<Step> {
        let Some(cut) = attempt_id(self.job, first) else { return Some(Step::HandBack) };
        let claiming = self.client.claim_for_good(&self.job.id, self.accounts, &cut);
        match self.leave.run_until_cancelled(claiming).await {
            None => Some(self.unchanged()),
            Some(Ok(None)) => Some(self.split(first)),
            Some(Ok(Some(claimed))) => Some(self.wait_behind(claimed, lines).await),
            Some(Err(error)) => {
                if self.lane.store_away.fails() {
                    tracing::warn!(batch = named(self.job), %error, "failed to claim the batch for its two parts");
                }
                None
            }
        }
    }

    /// Line before which a copy of the batch was cut, if `claim` is the name of that.
    pub(super) fn cut_by(&self, claim: &AttemptId) -> Option<usize> {
        let line = claim.as_str().strip_prefix(&self.job.id)?.strip_prefix('-')?.parse().ok()?;
        (1..self.job.sessions.len()).contains(&line).then_some(line)
    }

    /// For another worker, as it is. The claim may have been granted without an answer, and whoever goes on would wait for its end.
    async fn left_without_money(&self) -> Step {
        self.give_up(Money::ZERO).await;
        self.unchanged()
    }

    /// Claims the reservation again right before a request under that claim; `None` where the store did not answer, or so late that whoever
    /// waits for the end of the claim would not wait for the end of that request.
    pub(super) async fn claim_again(&self) -> Option<bool> {
        let Some(total) = self.total() else { return Some(false) };
        let asked_at = Instant::now();
        match self.client.reserve(&self.job.id, self.accounts, total, &self.claim).await {
            Ok(Funding::Reserved) => (asked_at.elapsed() < HEARD_EVERY).then_some(true),
            Ok(Funding::Claimed(_) | Funding::Short { .. } | Funding::Settled) => Some(false),
            Err(error) => {
                if self.lane.store_away.fails() {
                    tracing::warn!(batch = named(self.job), %error, "failed to claim the money of a batch again before it is made");
                }
                None
            }
        }
    }

    /// Time for which a claim stands that is not heard of: whoever has it may have sent the request that makes the batch right after it was
    /// last heard of, and be cut off from the store since.
    pub(super) fn claim_stands(&self) -> Duration {
        self.client.longest_creation().saturating_add(HEARD_EVERY)
    }

    /// Worst-case cost of all lines; `None` where a price is unknown.
    fn total(&self) -> Option<Money> {
        self.asked.iter().map(|asked| asked.call().at_most()).sum()
    }

    /// Waits, and lets the store of permits know meanwhile that the batch's money is still needed; `None` when the batch has to go to
    /// another worker.
    pub(super) async fn pause(&self, pause: Duration) -> Option<()> {
        let until = Instant::now() + pause;
        let waiting = async {
            self.renew().await;
            self.renewing(sleep_until(until)).await;
        };
        self.leave.run_until_cancelled(waiting).await
    }

    /// Waits for `work`, and renews the batch's money meanwhile.
    pub(super) async fn renewing<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            let renewing = async {
                sleep(self.heard_every()).await;
                self.renew().await;
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = renewing => {}
            }
        }
    }

    /// Lets the store of permits know that the batch's money is still needed: by whoever has claimed it, if that was here.
    async fn renew(&self) {
        let (false, Some(in_flight)) = (self.accounts.is_empty(), self.total()) else { return };
        let spending = Spending { in_flight, ..Spending::default() };
        match self.client.tell(&self.job.id, self.accounts, &spending, self.standing_claim()).await {
            Ok(()) => self.lane.store_away.ends(),
            Err(error) if self.lane.store_away.fails() => {
                tracing::warn!(batch = named(self.job), %error, "failed to renew the money of batches; it stays counted");
            }
            Err(_) => {}
        }
    }

    /// Gives up the claim of this step, under which nothing was handed in, and keeps `kept` of what is reserved. Should the store stay away,
    /// whoever goes on with the batch looks for it first.
    pub(super) async fn give_up(&self, kept: Money) {
        self.has_claim.store(false, Ordering::Relaxed);
        // A worker that leaves does not wait for a store that is away.
        let giving_up = timeout(HEARD_EVERY, self.client.give_up(&self.job.id, self.accounts, kept, &self.claim)).await;
        let failed = match giving_up {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", HEARD_EVERY.as_secs()),
        };
        tracing::warn!(batch = named(self.job), error = failed, "failed to give up the claim on the money of a batch");
    }

    /// Name of this step, if the reservation was claimed under it.
    fn standing_claim(&self) -> Option<&AttemptId> {
        self.has_claim.load(Ordering::Relaxed).then_some(&self.claim)
    }

    /// Time after which the store hears of the batch again.
    pub(super) fn heard_every(&self) -> Duration {
        self.poll_pause().min(HEARD_EVERY)
    }

    /// Tells the accounts what the batch has cost. Should the store stay away, what was reserved stays counted: too much, never too little.
    pub(super) async fn tell(&self, spending: &Spending) {
        let mut delay = Duration::from_millis(200);
        for tried in 1..=TELLS {
            match self.client.tell(&self.job.id, self.accounts, spending, None).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(batch = named(self.job), %error, tried, "failed to tell what a batch has cost")
                }
            }
            if tried < TELLS {
                sleep(delay).await;
                delay *= 4;
            }
        }
    }
}

/// Money that the lines of a batch spent: known costs as spent, and worst cases as maybe spent where a cost is unknown.
pub(super) fn spending(calls: &[Result<Call, FailedCall>], asked: &[Asked<'_>]) -> Spending {
    let mut spending = Spending::default();
    for (call, asked) in calls.iter().zip(asked) {
        match call {
            Ok(call) => match call.cost {
                Some(cost) => spending.spent += cost,
                // No account pays for a call without a price, so nobody is told of a bound that does not exist.
                None => spending.maybe_spent += asked.call().at_most().unwrap_or(Money::ZERO),
            },
            Err(failed) => {
                let tries = || failed.tries.iter();
                spending.spent += tries().filter_map(|one: &Try| one.cost).sum();
                spending.maybe_spent += tries().filter_map(|one| one.at_most).sum();
            }
        }
    }
    spending
}

/// Number of lines of a batch that the budget covers.
#[derive(Debug, PartialEq, Eq)]
enum Share {
    /// The first so many; at least one, and not all.
    First(usize),
    /// Undecided until reservations of others are settled: perhaps all lines, or more than now.
    Later,
    /// None: the first line alone costs more than can ever be left.
    Never,
}

/// Share of lines with the worst cases `worst` that `left` pays for, when at most `may_come` can be left later. A batch is cut only where
/// at least a quarter of its lines is affordable, or the rest never will be: each small remainder would be a batch of its own.
fn share(worst: &[Money], left: Money, may_come: Money) -> Share {
    let total: Money = worst.iter().copied().sum();
    let affordable = worst.iter().scan(Money::ZERO, |sum, one| {
        *sum += *one;
        (*sum <= left).then_some(())
    });
    let affordable = affordable.count();
    let is_worth_it = affordable * 4 >= worst.len() || total > may_come;
    match worst.first() {
        _ if affordable > 0 && affordable < worst.len() && is_worth_it => Share::First(affordable),
        Some(first) if *first > may_come => Share::Never,
        _ => Share::Later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(lines: usize, left: u64, may_come: u64) -> Share {
        share(&vec![Money(10); lines], Money(left), Money(may_come))
    }

    #[test]
    fn a_good_part_of_a_batch_goes_ahead_of_the_rest() {
        assert_eq!(shared(8, 25, 80), Share::First(2));
        assert_eq!(shared(8, 79, 80), Share::First(7));
    }

    #[test]
    fn a_crumb_waits_unless_there_will_never_be_more() {
        assert_eq!(shared(8, 19, 80), Share::Later);
        assert_eq!(shared(8, 19, 79), Share::First(1));
        assert_eq!(shared(8, 0, 10), Share::Later);
    }

    #[test]
    fn without_money_for_a_single_line_there_is_nothing_to_wait_for() {
        assert_eq!(shared(8, 0, 9), Share::Never);
        assert_eq!(shared(1, 9, 9), Share::Never);
        assert_eq!(shared(1, 9, 10), Share::Later);
    }
}
