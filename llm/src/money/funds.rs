//! What a purse holds and who waits for it. Pure but for the channels of those who wait: time is given.

use std::collections::VecDeque;
use std::time::Duration;

use regatta_proto::{AccountId, AccountReply, AccountRequest, Money, WorkerId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::reservation::{Paid, Stage};

/// The store is told this often what has changed.
const TELL_AFTER: Duration = Duration::from_secs(2);
/// As long as nothing of the account is left, so that others can use what comes free.
const TELL_AFTER_SCARCE: Duration = Duration::from_millis(200);
/// When no call waits or is under way, so that it is soon known what a sweep cost; the store says another time.
const TELL_WHEN_IDLE: Duration = Duration::from_millis(200);
/// The store is never asked more often than this.
const ASK_GAP: Duration = Duration::from_millis(5);
/// Pause before money is asked for again that was not there, doubled for each further time.
const ASK_AGAIN: Duration = Duration::from_millis(50);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(2);
/// Longest pause before a store that does not answer is asked again.
const BACK_OFF_MAX: Duration = Duration::from_secs(5);

/// The answer to a call that waits: its money, or how little may still come.
pub(super) type Answer = Result<Money, Money>;

#[derive(Debug, Default)]
pub(super) struct Funds {
    /// Everything this process has spent, ever.
    spent: Money,
    /// On top, everything that may have been billed without being told.
    maybe_spent: Money,
    /// Reserved for calls that wait for what else they need, or are under way.
    in_flight: Money,
    /// The most of it since the store was told.
    in_flight_most: Money,
    /// Of it, worst cases of tries that are under way, or about to be.
    under_way: Money,
    /// The most of it since the store was told.
    under_way_most: Money,
    /// What the store had been told as spent, both kinds together, when it said `reserved`: what is spent since is taken from that.
    told: Money,
    reserved: Money,
    /// Of `reserved`, what may be under way.
    may_send: Money,
    /// When both are void, but for what is in flight or under way.
    until: Option<Instant>,
    /// Nothing was left beyond what somebody had reserved.
    is_scarce: bool,
    /// Calls that wait for money.
    waiting: VecDeque<Waiter>,
    /// Calls that have their money, and wait until they may be sent.
    leaving: VecDeque<Waiter>,
    /// Times in a row that the money was not there.
    short: u32,
    has_changed: bool,
    /// Requests to the store so far.
    asked: u64,
    sent: Option<Instant>,
    valid: Option<Duration>,
    idle: Option<Duration>,
    ask_again: Option<Instant>,
    unanswered: u32,
    /// When the task that tells the store looks again by itself.
    looks_at: Option<Instant>,
}

#[derive(Debug)]
struct Waiter {
    amount: Money,
    sender: oneshot::Sender<Answer>,
    /// The first request to the store that tells of it.
    told_by: u64,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Tell,
    Look(Option<Instant>),
}

/// Answers to calls that waited, to be sent outside of the lock.
pub(super) type Answers = Vec<(oneshot::Sender<Answer>, Answer, Stage)>;

impl Funds {
    /// Money that calls may reserve, or send of what they have reserved.
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

    /// Takes `amount` a stage further when it is there and nobody waits.
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
        // Calls that are free are no news.
        self.has_changed |= amount > Money::ZERO;
    }

    /// Lets a call wait for `amount`. Returns whether something has become due earlier than the task that tells the store knows.
    pub(super) fn wait(&mut self, stage: Stage, amount: Money, sender: oneshot::Sender<Answer>, now: Instant) -> bool {
        let told_by = self.asked + 1;
        self.line(stage).push_back(Waiter { amount, sender, told_by });
        let at = self.ask_again.unwrap_or(now).max(self.soonest(now));
        self.looks_at.is_none_or(|looks_at| at < looks_at)
    }

    /// A try that had reserved `at_most`, and got as far as `reached`, is over. Returns whether something has become due earlier than is
    /// known.
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

    /// A call that might have been sent was not: it has its reservation still, or settles it.
    pub(super) fn give_back(&mut self, amount: Money) {
        self.under_way = Money(self.under_way.0.saturating_sub(amount.0));
        self.has_changed |= amount > Money::ZERO;
    }

    /// Hands what is there to the calls that wait, in order.
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

    /// `true` if no call waits for anything or is under way.
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

    /// How long after the last time the store is told again.
    fn pause(&self) -> Duration {
        let usual = if self.is_scarce && self.has_changed { TELL_AFTER_SCARCE } else { TELL_AFTER };
        // Well before it is void; where nothing changes, that is early enough.
        let renewal = self.valid.map_or(usual, |valid| valid / 3);
        if self.is_idle() && (self.has_changed || self.reserved > Money::ZERO) {
            return self.idle.unwrap_or(TELL_WHEN_IDLE).min(usual);
        }
        if self.has_changed || self.reserved > self.in_flight { usual.min(renewal) } else { renewal }
    }

    /// What the task that tells the store has to do.
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

    /// What there is to tell. From here on nothing is reserved beyond what is in flight, until the answer is there: the store may take
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
        // As much as the calls of the next moments will want: the steady state shall not wait for the store. With the last money, only
        // what is needed now; and nothing where no call is left.
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
        }
    }

    /// Takes over what the store says. Calls that cannot get their money any more are told so. `jitter` is a number of 0..1: not all
    /// workers shall ask again in one moment.
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
        // The store never reserves less than what is in flight, unless it took this process for dead and others got the money meanwhile. What
        // waits to be sent holds nothing then, and stands in the way of those that could be paid: it has to reserve again.
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
        // Whoever stood behind a hopeless call may be helped by what is there.
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

    /// The store did not answer, and may or may not have heard: nothing beyond what is in flight is reserved before it does. Returns
    /// whether it is the first time in a row.
    pub(super) fn unanswered(&mut self, now: Instant) -> bool {
        self.unanswered = self.unanswered.saturating_add(1);
        self.has_changed = true;
        let back_off = Duration::from_millis(50 << self.unanswered.min(10)).min(BACK_OFF_MAX);
        self.ask_again = Some(now + back_off);
        self.unanswered == 1
    }

    /// Whether nothing is under way, waits, or is left to tell.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_idle() && !self.has_changed && self.reserved == Money::ZERO
    }

    /// Whether the store was ever asked.
    pub(super) const fn is_known(&self) -> bool {
        self.asked > 0
    }
}
