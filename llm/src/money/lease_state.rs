//! The state of a budget lease: its money and the calls that wait for it. Pure but for the channels of the waiting calls: time is a
//! parameter.

use std::collections::VecDeque;
use std::time::Duration;

use regatta_proto::{AccountId, AccountReply, AccountRequest, Money, WorkerId};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Longest time after which the store is told of changes.
const TELL_AFTER: Duration = Duration::from_secs(2);
/// The same while the account has no money left, so that others can use money as soon as it is free.
const TELL_AFTER_SCARCE: Duration = Duration::from_millis(200);
/// The same while no call waits or is in flight, so that a sweep's cost is known soon; the store may set another time.
const TELL_WHEN_IDLE: Duration = Duration::from_millis(200);
/// Shortest time between two requests to the store.
const ASK_GAP: Duration = Duration::from_millis(5);
/// Pause before money is requested again that was not available; doubled each time.
const ASK_AGAIN: Duration = Duration::from_millis(50);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(2);
/// Longest pause before a store that does not answer is asked again.
const BACK_OFF_MAX: Duration = Duration::from_secs(5);

/// The two leases that a call needs from an account, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Money for the worst case of the call.
    Reserve,
    /// Leave to send a call that has its money.
    Send,
}

/// Payment of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paid {
    /// The amount billed, possibly zero.
    Known(Money),
    /// Unknown; all of the reservation may have been spent.
    Unknown,
}

/// The answer to a waiting call: its money, or the most that may still come.
pub(super) type Answer = Result<Money, Money>;

#[derive(Debug, Default)]
pub(super) struct LeaseState {
    /// Money that this process has spent.
    spent: Money,
    /// Money that may have been billed in addition without a report.
    maybe_spent: Money,
    /// Money reserved for calls that wait for a permit or are in flight.
    in_flight: Money,
    /// Maximum of `in_flight` since the last report to the store.
    in_flight_most: Money,
    /// The part of `in_flight` that belongs to tries in flight, or about to be sent.
    under_way: Money,
    /// Maximum of `under_way` since the last report to the store.
    under_way_most: Money,
    /// Spending, both kinds together, that had been reported when the store answered `reserved`; later spending is subtracted from
    /// `reserved`.
    told: Money,
    reserved: Money,
    /// The part of `reserved` that may be in flight.
    may_send: Money,
    /// Time at which both expire, except for money in flight.
    until: Option<Instant>,
    /// The account has no money beyond the reservations of its holders.
    is_scarce: bool,
    /// Calls that wait for a reservation.
    waiting: VecDeque<Waiter>,
    /// Calls that have a reservation, and wait until they may be sent.
    leaving: VecDeque<Waiter>,
    /// Consecutive answers without enough money.
    short: u32,
    has_changed: bool,
    /// Number of requests to the store.
    asked: u64,
    sent: Option<Instant>,
    valid: Option<Duration>,
    idle: Option<Duration>,
    ask_again: Option<Instant>,
    unanswered: u32,
    /// Next time at which the reporting task checks the state by itself.
    looks_at: Option<Instant>,
}

#[derive(Debug)]
struct Waiter {
    amount: Money,
    sender: oneshot::Sender<Answer>,
    /// Number of the first request to the store that includes it.
    told_by: u64,
}

/// The next step of the reporting task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Tell,
    Look(Option<Instant>),
}

/// Answers to calls that waited, to be sent outside of the lock.
pub(super) type Answers = Vec<(oneshot::Sender<Answer>, Answer, Stage)>;

impl LeaseState {
    /// Money that calls may reserve or, of their reservations, may send.
    fn available(&self, stage: Stage, now: Instant) -> Money {
        if self.until.is_none_or(|until| until <= now) {
            return Money::ZERO;
        }
        let (granted, taken) = match stage {
            Stage::Reserve => (self.reserved, self.in_flight),
            Stage::Send => (self.may_send, self.under_way),
        };
        let used = (self.spent + self.maybe_spent).0.saturating_sub(self.told.0).saturating_add(taken.0);
        Money(granted.0.saturating_sub(used))
    }

    fn line(&mut self, stage: Stage) -> &mut VecDeque<Waiter> {
        match stage {
            Stage::Reserve => &mut self.waiting,
            Stage::Send => &mut self.leaving,
        }
    }

    /// Takes `amount` to a stage if it is available and no call waits.
    pub(super) fn take(&mut self, stage: Stage, amount: Money, now: Instant) -> bool {
        let is_first = self.line(stage).iter().all(|waiter| waiter.sender.is_closed());
        let is_there = is_first && self.available(stage, now) >= amount;
        if is_there {
            self.put(stage, amount);
        }
        is_there
    }

    fn put(&mut self, stage: Stage, amount: Money) {
        let (sum, most) = match stage {
            Stage::Reserve => (&mut self.in_flight, &mut self.in_flight_most),
            Stage::Send => (&mut self.under_way, &mut self.under_way_most),
        };
        *sum += amount;
        *most = (*most).max(*sum);
        // Calls that cost nothing are no change.
        self.has_changed |= amount > Money::ZERO;
    }

    /// Queues a call for `amount`. Returns `true` if the reporting task has to act earlier than planned.
    pub(super) fn wait(&mut self, stage: Stage, amount: Money, sender: oneshot::Sender<Answer>, now: Instant) -> bool {
        let told_by = self.asked + 1;
        self.line(stage).push_back(Waiter { amount, sender, told_by });
        let at = self.ask_again.unwrap_or(now).max(self.soonest(now));
        self.looks_at.is_none_or(|looks_at| at < looks_at)
    }

    /// Ends a try that had reserved `at_most` and reached the stage `reached`. Returns `true` if the reporting task has to act earlier than
    /// planned.
    pub(super) fn settle(&mut self, at_most: Money, reached: Stage, paid: Paid) -> bool {
        self.in_flight = Money(self.in_flight.0.saturating_sub(at_most.0));
        match reached {
            Stage::Reserve => {}
            Stage::Send => self.give_back(at_most),
        }
        match paid {
            Paid::Known(cost) => self.spent += cost,
            Paid::Unknown => self.maybe_spent += at_most,
        }
        self.has_changed |= at_most > Money::ZERO || matches!(paid, Paid::Known(cost) if cost > Money::ZERO);
        let at = self.sent.map(|sent| sent + self.pause());
        self.looks_at.is_none_or(|looks_at| at.is_some_and(|at| at < looks_at))
    }

    /// Returns the leave to send of a call that was not sent. The call keeps its reservation, or settles it.
    pub(super) fn give_back(&mut self, amount: Money) {
        self.under_way = Money(self.under_way.0.saturating_sub(amount.0));
        self.has_changed |= amount > Money::ZERO;
    }

    /// Gives the available money to the waiting calls, in order.
    pub(super) fn hand_on(&mut self, now: Instant) -> Answers {
        let mut answers = Answers::new();
        for stage in [Stage::Send, Stage::Reserve] {
            while let Some(waiter) = self.line(stage).front() {
                let is_gone = waiter.sender.is_closed();
                let amount = waiter.amount;
                if !is_gone && self.available(stage, now) < amount {
                    break;
                }
                let Some(waiter) = self.line(stage).pop_front() else { break };
                if !is_gone {
                    self.put(stage, amount);
                    answers.push((waiter.sender, Ok(amount), stage));
                }
            }
        }
        answers
    }

    /// `true` if no call waits or is in flight.
    fn is_idle(&self) -> bool {
        self.in_flight == Money::ZERO && self.waiting.is_empty() && self.leaving.is_empty()
    }

    fn soonest(&self, now: Instant) -> Instant {
        match self.sent {
            Some(_) if self.unanswered > 0 => self.ask_again.unwrap_or(now),
            Some(sent) => sent + ASK_GAP,
            None => now,
        }
    }

    /// Time from the last report to the next.
    fn pause(&self) -> Duration {
        let usual = if self.is_scarce && self.has_changed { TELL_AFTER_SCARCE } else { TELL_AFTER };
        // Well before the lease expires; if nothing changes, that is early enough.
        let renewal = self.valid.map_or(usual, |valid| valid / 3);
        if self.is_idle() && (self.has_changed || self.reserved > Money::ZERO) {
            return self.idle.unwrap_or(TELL_WHEN_IDLE).min(usual);
        }
        if self.has_changed || self.reserved > self.in_flight { usual.min(renewal) } else { renewal }
    }

    /// The next step of the reporting task.
    pub(super) fn look(&mut self, now: Instant) -> Due {
        let soonest = self.soonest(now);
        self.waiting.retain(|waiter| !waiter.sender.is_closed());
        self.leaving.retain(|waiter| !waiter.sender.is_closed());
        let waits = !(self.waiting.is_empty() && self.leaving.is_empty());
        let waits = waits.then(|| self.ask_again.unwrap_or(now).max(soonest));
        let holds_any = self.reserved > Money::ZERO || self.in_flight > Money::ZERO;
        let renews =
            (self.has_changed || holds_any).then(|| self.sent.map_or(now, |sent| sent + self.pause()).max(soonest));
        let at = [waits, renews].into_iter().flatten().min();
        self.looks_at = at;
        match at {
            Some(at) if at <= now => Due::Tell,
            at => Due::Look(at),
        }
    }

    /// The report to the store. Until its answer arrives, nothing is reserved beyond the money in flight, because the store may take
    /// everything else back.
    pub(super) fn tell(
        &mut self,
        account: &AccountId,
        holder: &WorkerId,
        is_last: bool,
        now: Instant,
    ) -> AccountRequest {
        let spent_since = Money((self.spent + self.maybe_spent).0.saturating_sub(self.told.0));
        let sum = |waiting: &VecDeque<Waiter>| waiting.iter().map(|waiter| waiter.amount).sum::<Money>();
        let (waiting, leaving) = (sum(&self.waiting), sum(&self.leaving));
        // Requests as much as the calls of the next moments will need, so that the steady state does not wait for the store. When money is
        // scarce, only the present need; without calls, nothing.
        let spare = |most: Money, now: Money| Money(most.0 - now.0) + Money(spent_since.0.saturating_mul(2));
        let (wanted, to_send) = if is_last || self.is_idle() {
            (self.in_flight, self.under_way)
        } else {
            let spare_to_send = spare(self.under_way_most, self.under_way);
            let spare = if self.is_scarce { Money::ZERO } else { spare(self.in_flight_most, self.in_flight) };
            (self.in_flight + waiting + spare, self.under_way + leaving + spare_to_send)
        };
        self.told = self.spent + self.maybe_spent;
        (self.reserved, self.may_send) = (self.in_flight, self.under_way);
        (self.in_flight_most, self.under_way_most) = (self.in_flight, self.under_way);
        self.has_changed = false;
        self.asked += 1;
        self.sent = Some(now);
        AccountRequest {
            account: account.clone(),
            holder: holder.clone(),
            spent: self.spent,
            maybe_spent: self.maybe_spent,
            in_flight: self.in_flight,
            sent: self.under_way,
            to_send,
            wanted,
            least: self
                .waiting
                .iter()
                .find(|waiter| !waiter.sender.is_closed())
                .map_or(Money::ZERO, |waiter| waiter.amount),
            claim: None,
            claims_for_good: false,
        }
    }

    /// Applies the store's answer. Calls that can no longer get their money are told so. `jitter`, 0 to 1, keeps workers from asking again
    /// at the same moment.
    pub(super) fn told(&mut self, reply: &AccountReply, now: Instant, jitter: f64) -> Answers {
        let sent = self.sent.unwrap_or(now);
        let valid = Duration::from_millis(reply.valid_ms.max(1));
        (self.reserved, self.may_send) = (reply.reserved, reply.may_send);
        (self.until, self.valid) = (Some(sent + valid), Some(valid));
        self.idle = Some(Duration::from_millis(reply.idle_ms));
        self.is_scarce =
            reply.left == Money::ZERO || self.waiting.front().is_some_and(|first| reply.left < first.amount);
        self.unanswered = 0;
        let mut answers = self.hand_on(now);
        let asked = self.asked;
        // The store never reserves less than the money in flight, unless it took this process for dead and others got the money meanwhile.
        // Then the calls that wait to be sent hold nothing and block those that could be paid, so they have to reserve again.
        let is_void = reply.reserved < self.in_flight;
        let is_hopeless = |waiter: &Waiter, stage: Stage| {
            waiter.told_by <= asked && (waiter.amount > reply.may_come || (is_void && stage == Stage::Send))
        };
        for stage in [Stage::Send, Stage::Reserve] {
            for waiter in std::mem::take(self.line(stage)) {
                if is_hopeless(&waiter, stage) {
                    answers.push((waiter.sender, Err(reply.may_come), stage));
                } else {
                    self.line(stage).push_back(waiter);
                }
            }
        }
        // Calls behind a hopeless one may be served now.
        answers.extend(self.hand_on(now));
        let is_short = self.waiting.iter().chain(&self.leaving).any(|waiter| waiter.told_by <= asked);
        self.short = if is_short { self.short.saturating_add(1) } else { 0 };
        let pause = if is_short {
            (ASK_AGAIN * (1 << self.short.min(10))).min(ASK_AGAIN_MAX).mul_f64(0.5 + jitter)
        } else {
            ASK_GAP
        };
        self.ask_again = Some(sent + pause);
        answers
    }

    /// Records that the store did not answer, though it may have received the report: until it answers, nothing is reserved beyond the
    /// money in flight. Returns `true` for the first failure in a row.
    pub(super) fn unanswered(&mut self, now: Instant) -> bool {
        self.unanswered = self.unanswered.saturating_add(1);
        self.has_changed = true;
        let back_off = Duration::from_millis(50 << self.unanswered.min(10)).min(BACK_OFF_MAX);
        self.ask_again = Some(now + back_off);
        self.unanswered == 1
    }

    /// `true` if nothing is in flight, waits, or is left to report.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_idle() && !self.has_changed && self.reserved == Money::ZERO
    }

    /// `true` if the store was asked before.
    pub(super) const fn is_known(&self) -> bool {
        self.asked > 0
    }
}
