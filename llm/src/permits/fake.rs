//! A store of permits for tests: simple, strict, in memory. It keeps its guarantees, and records violations by its users.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use prometheus::Registry;
use regatta_proto::{
    AccountId, AccountReply, AccountRequest, Digest, Failing, Grant, ManualClock, Money, PoolReply, PoolRequest,
    SweepId,
};
use tokio::time::{Instant, sleep};

use super::store::{PermitStore, StoreError};
use crate::{BudgetLeases, CallMetrics, OpenContext};

pub(crate) const VALID: Duration = Duration::from_millis(1000);
const MINUTE: Duration = Duration::from_secs(60);
/// Factor by which a refusal reduces the rate, and time within which further refusals count as the same burst.
const DECREASE: f64 = 0.7;
const SAME_BURST: Duration = Duration::from_secs(5);

/// The store; clones share its state.
#[derive(Clone, Default)]
pub(crate) struct FakeStore(Arc<Mutex<World>>);

#[derive(Default)]
struct World {
    /// Latency of an answer.
    delay: Duration,
    is_away: bool,
    holders: BTreeMap<String, Held>,
    /// Grants of the last minute, and older ones that may still be in flight: time, model, requests, tokens.
    granted: VecDeque<(Instant, String, String, i64, i64)>,
    factor: Option<f64>,
    /// Most slots of a holder, if it is fewer than others leave.
    slots_most: Option<u32>,
    decreased: Option<Instant>,
    held_until: Option<Instant>,
    leases: Vec<PoolRequest>,
    accounts: HashMap<AccountId, Account>,
    settlements: usize,
    failures: HashMap<Digest, u32>,
    asked_about: usize,
    violations: Vec<String>,
}

struct Held {
    until: Instant,
    /// Slots by sweep and model.
    slots: BTreeMap<(SweepId, String), u32>,
}

struct Account {
    budget: Money,
    valid: Duration,
    /// For each holder, the last request, its reserved money, and its leave to send.
    holders: BTreeMap<String, (AccountRequest, Money, Money)>,
    /// Holders that believe to have more reserved than they have.
    overtaken: BTreeSet<String>,
}

impl FakeStore {
    fn locked(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    pub(crate) fn answers_after(&self, delay: Duration) {
        self.locked().delay = delay;
    }

    pub(crate) fn is_away(&self, is_away: bool) {
        self.locked().is_away = is_away;
    }

    pub(crate) fn budget(&self, account: &AccountId, budget: Money) {
        let (valid, holders, overtaken) = (Duration::from_secs(30), BTreeMap::new(), BTreeSet::new());
        let before = self.locked().accounts.insert(account.clone(), Account { budget, valid, holders, overtaken });
        assert!(before.is_none());
    }

    /// Grants no holder more than so many slots from now on, however many it fills.
    pub(crate) fn grants_slots_up_to(&self, most: u32) {
        self.locked().slots_most = Some(most);
    }

    /// Requests for leases so far.
    pub(crate) fn leases(&self) -> Vec<PoolRequest> {
        self.locked().leases.clone()
    }

    pub(crate) fn settlements(&self) -> usize {
        self.locked().settlements
    }

    pub(crate) fn asked_about_failures(&self) -> usize {
        self.locked().asked_about
    }

    /// Slots held by all holders.
    pub(crate) fn slots(&self) -> u32 {
        self.locked().holders.values().flat_map(|held| held.slots.values()).sum()
    }

    /// Totals over the holders of an account: spent, possibly spent, reserved.
    pub(crate) fn account(&self, account: &AccountId) -> (Money, Money, Money) {
        let world = self.locked();
        let holders = || world.accounts[account].holders.values();
        (
            holders().map(|(told, ..)| told.spent).sum(),
            holders().map(|(told, ..)| told.maybe_spent).sum(),
            holders().map(|(_, reserved, _)| *reserved).sum(),
        )
    }

    /// Money that the holders of an account may have in flight.
    pub(crate) fn may_send(&self, account: &AccountId) -> Money {
        self.locked().accounts[account].holders.values().map(|(.., may_send)| *may_send).sum()
    }

    /// Takes `holder` for dead: its reservations that were not sent are released.
    pub(crate) fn take_for_dead(&self, account: &AccountId, holder: &str) {
        let mut world = self.locked();
        let account = world.accounts.get_mut(account).unwrap();
        let (_, reserved, may_send) = account.holders.get_mut(holder).unwrap();
        *reserved = *may_send;
        account.overtaken.insert(holder.to_owned());
    }

    /// Fails the test if any holder has used something that was not granted.
    pub(crate) fn assert_obeyed(&self) {
        assert_eq!(self.locked().violations, Vec::<String>::new());
    }

    /// Context for opening an endpoint in a test, with this store and nothing of the machine.
    pub(crate) fn context(&self, registry: &Registry, holder: &str) -> OpenContext<'static> {
        let metrics = Arc::new(CallMetrics::register(registry).unwrap());
        let store: Arc<dyn PermitStore> = Arc::new(self.clone());
        let holder: regatta_proto::WorkerId = holder.parse().unwrap();
        OpenContext {
            env: &|_| None,
            base_dir: Path::new("/nowhere"),
            recorded: None,
            encoders: crate::Encoders::default(),
            budget_leases: BudgetLeases::new(Arc::clone(&store), holder.clone(), Arc::clone(&metrics)),
            metrics,
            clock: Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())),
            seed: 1,
            permits: store,
            holder,
            pool: "pool".into(),
            bytes: regatta_memory::ByteBudget::new(512 << 20),
            answers: Arc::new(crate::cache::tests::MemoryStore::default()),
            policy: Arc::new(crate::OutboundPolicy::trusting()),
            network: None,
            standstill: crate::Standstill::watch(),
        }
    }
}

impl World {
    fn lease(&mut self, request: &PoolRequest) -> PoolReply {
        let now = Instant::now();
        self.holders.retain(|_, held| now < held.until);
        self.granted.retain(|(at, ..)| now < *at + MINUTE + VALID);
        self.hear(request, now);
        let holder = request.holder.to_string();
        let before = self.holders.remove(&holder);
        let mut held = Held { until: now + VALID * 10, slots: BTreeMap::new() };
        for party in &request.parties {
            let key = (party.sweep.clone(), party.model.clone());
            let had = before.as_ref().and_then(|held| held.slots.get(&key)).copied().unwrap_or(0);
            if party.in_flight > had {
                self.violations.push(format!("{holder} has {} calls in flight on {had} slots", party.in_flight));
            }
            let tokens = party.token_correction - i64::try_from(party.unsent_tokens).unwrap();
            self.give_back(&holder, &party.model, -i64::from(party.unsent_requests), tokens);
            held.slots.insert(key, party.in_flight);
        }
        self.holders.insert(holder.clone(), held);
        let factor = self.factor.unwrap_or(1.0);
        let is_held = self.held_until.is_some_and(|until| now < until);
        let grants = request.parties.iter().map(|party| {
            if is_held {
                return Grant { slots: party.in_flight, requests: 0, tokens: 0 };
            }
            let limits = request.model_limits.get(&party.model).copied().unwrap_or_default();
            let part = |limit: f64| (limit * factor).floor().max(1.0) as i64;
            let taken: u32 = self.holders.values().flat_map(|held| held.slots.values()).sum();
            let of_model = |(_, model): &(SweepId, String)| *model == party.model;
            let slots = self.holders.values().flat_map(|held| held.slots.iter());
            let taken_of_model: u32 = slots.filter(|(key, _)| of_model(key)).map(|(_, slots)| slots).sum();
            let mut free = part(f64::from(request.limits.concurrency)) - i64::from(taken);
            if let Some(limit) = limits.concurrency {
                free = free.min(part(f64::from(limit)) - i64::from(taken_of_model));
            }
            // Grants no more of anything than the calls that could be sent with all of it, because unused grants are missing elsewhere.
            let mut calls = free.max(0).min(i64::from(party.waiting));
            let each = i64::try_from(party.waiting_tokens).unwrap() / i64::from(party.waiting.max(1)) + 1;
            let spent = |of: Option<&str>| {
                let counted = self.granted.iter().filter(|(_, _, model, ..)| of.is_none_or(|of| of == model));
                counted.fold((0, 0), |sum, (.., requests, tokens)| (sum.0 + requests, sum.1 + tokens))
            };
            let mut tokens_free = i64::MAX;
            for (requests_limit, tokens_limit, spent) in [
                (request.limits.requests_per_minute, request.limits.tokens_per_minute, spent(None)),
                (limits.requests_per_minute, limits.tokens_per_minute, spent(Some(&party.model))),
            ] {
                calls = requests_limit.map_or(calls, |limit| calls.min(part(f64::from(limit)) - spent.0));
                tokens_free = tokens_limit.map_or(tokens_free, |limit| tokens_free.min(part(limit as f64) - spent.1));
            }
            let calls = calls.min((tokens_free / each).saturating_add(1)).max(0);
            let tokens = (calls * each).min(tokens_free).max(0);
            let (slots, requests) = (party.in_flight + u32::try_from(calls).unwrap(), calls);
            if requests > 0 || tokens > 0 {
                self.granted.push_back((now, holder.clone(), party.model.clone(), requests, tokens));
            }
            let key = (party.sweep.clone(), party.model.clone());
            self.holders.get_mut(&holder).unwrap().slots.insert(key, slots);
            let slots = slots.min(self.slots_most.unwrap_or(u32::MAX));
            Grant { slots, requests: u32::try_from(requests).unwrap(), tokens: u64::try_from(tokens).unwrap() }
        });
        let grants: Vec<Grant> = grants.collect();
        PoolReply { grants, valid_ms: 1000, retry_ms: 100, factor }
    }

    /// Returns grants, the newest of the holder first.
    fn give_back(&mut self, holder: &str, model: &str, mut requests: i64, mut tokens: i64) {
        let of_holder = self.granted.iter_mut().rev().filter(|(_, whose, what, ..)| whose == holder && what == model);
        for (.., granted, granted_tokens) in of_holder {
            let taken = requests.max(-*granted);
            *granted += taken;
            requests -= taken;
            let taken = tokens.max(-*granted_tokens);
            *granted_tokens += taken;
            tokens -= taken;
        }
    }

    fn hear(&mut self, request: &PoolRequest, now: Instant) {
        let signals = &request.signals;
        let is_same = self.decreased.is_some_and(|at| now < at + SAME_BURST);
        let factor = self.factor.get_or_insert(1.0);
        if signals.refused > 0 && !is_same {
            *factor = (*factor * DECREASE).max(0.05);
            self.decreased = Some(now);
        } else if signals.answered > 0 && self.decreased.is_none_or(|at| now >= at + SAME_BURST * 2) {
            *factor = (*factor + 0.05).min(1.0);
            self.decreased = Some(now);
        }
        if let Some(hold) = signals.hold_ms {
            self.held_until = self.held_until.max(Some(now + Duration::from_millis(hold)));
        }
    }

    fn settle(&mut self, request: &AccountRequest) -> AccountReply {
        self.settlements += 1;
        let account = self.accounts.get_mut(&request.account).unwrap();
        let holder = request.holder.to_string();
        let before = account.holders.remove(&holder);
        let (before, (had, could_send)) =
            before.map_or((None, (None, None)), |(told, had, could)| (Some(told), (Some(had), Some(could))));
        let before = before.map_or(Money::ZERO, |told: AccountRequest| told.spent + told.maybe_spent);
        let spent_since = (request.spent + request.maybe_spent).0.checked_sub(before.0).unwrap();
        let had: Money = had.unwrap_or_default();
        // A holder that believes to have all of it gets it again; others keep what is left.
        let is_overtaken = account.overtaken.contains(&holder) && request.in_flight > had;
        let in_flight = if is_overtaken { had } else { request.in_flight };
        if spent_since + in_flight.0 > had.0 {
            self.violations.push(format!("{holder} used {spent_since} + {} of {}", request.in_flight.0, had.0));
        }
        let could_send: Money = could_send.unwrap_or_default();
        if spent_since + request.sent.0 > could_send.0 {
            let sent = request.sent.0;
            self.violations.push(format!("{holder} sent {spent_since} + {sent} of {}", could_send.0));
        }
        let taken: Money = account
            .holders
            .values()
            .map(|(told, reserved, _)| told.spent + told.maybe_spent + *reserved)
            .chain([request.spent, request.maybe_spent, in_flight])
            .sum();
        let free = account.budget.0.checked_sub(taken.0).expect("the budget is overrun");
        let more = request.wanted.0.saturating_sub(in_flight.0).min(free);
        let least = (request.in_flight.0 - in_flight.0) + request.least.0;
        let more = if more < least { 0 } else { more };
        let reserved = Money(in_flight.0 + more);
        if reserved >= request.in_flight {
            account.overtaken.remove(&holder);
        }
        let may_send = request.to_send.min(reserved);
        account.holders.insert(holder, (request.clone(), reserved, may_send));
        let spent: Money = account.holders.values().map(|(told, ..)| told.spent + told.maybe_spent).sum();
        AccountReply {
            reserved,
            may_send,
            idle_ms: 200,
            claimed: None,
            was_overtaken: false,
            left: Money(free - more),
            may_come: Money(account.budget.0 - spent.0),
            valid_ms: u64::try_from(account.valid.as_millis()).unwrap(),
        }
    }
}

impl PermitStore for FakeStore {
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>> {
        self.answer(move |world| {
            world.leases.push(request.clone());
            world.lease(request)
        })
    }

    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>> {
        self.answer(move |world| world.settle(request))
    }

    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.answer(move |world| {
            let count = world.failures.entry(failing.fingerprint).or_default();
            *count += 1;
            *count
        })
    }

    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.answer(move |world| {
            world.asked_about += 1;
            world.failures.get(fingerprint).copied().unwrap_or(0)
        })
    }
}

impl FakeStore {
    fn answer<'a, T: Send + 'a>(
        &'a self,
        act: impl FnOnce(&mut World) -> T + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        async move {
            // Half of the latency passes before the request is handled, half after.
            let half = self.locked().delay / 2;
            if !half.is_zero() {
                sleep(half).await;
            }
            if self.locked().is_away {
                return Err(StoreError("it is away".into()));
            }
            let done = act(&mut self.locked());
            if !half.is_zero() {
                sleep(half).await;
            }
            Ok(done)
        }
        .boxed()
    }
}
