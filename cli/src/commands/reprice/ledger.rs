//! Calls of a run, each counted once, at what was recorded for them and at what a table says.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use regatta_llm::PriceTable;
use regatta_proto::{
    BATCH, Call, Cell, Circumstances, CostSum, Digest, EndpointKind, EndpointSpec, Event, FailedCall, Lane, ModelRef,
    ModelSpec, Money, Price, PriceSource, SweepLock, Transcript, Try, Usage, json_bytes,
};
use regatta_report::JudgeSpending;
use serde::Serialize;

use crate::transcripts::Session;

/// Purpose of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    /// Sessions, those that were repeated included, as far as their transcripts are there.
    Sessions,
    /// Attempts at sessions that left no transcript: they were lost, or given up.
    Lost,
    /// Answers to evaluators' questions.
    Judging,
}

/// Recorded cost of one model's calls, and their cost at the prices of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Bill {
    pub(super) purpose: Purpose,
    pub(super) model: ModelRef,
    /// Answered calls that were sent.
    pub(super) calls: u64,
    /// Answers from the response cache, which cost nothing.
    pub(super) from_cache: u64,
    /// Failed tries that were billed.
    pub(super) billed_tries: u64,
    /// Tokens of billed calls and tries.
    pub(super) usage: Usage,
    /// Source of the price that the run used.
    pub(super) priced_by: String,
    /// Cost as recorded.
    pub(super) recorded: CostSum,
    /// Cost at the table's prices.
    pub(super) repriced: CostSum,
    /// Billed calls whose cost is known both times.
    pub(super) comparable_calls: u64,
    /// Part of `recorded` for comparable calls.
    pub(super) comparable: Money,
    /// Part of `repriced` for comparable calls.
    pub(super) comparable_repriced: Money,
}

impl Bill {
    /// Difference of the comparable calls' cost, at the table's prices less as recorded, in nanodollars; `None` when there is no such call.
    pub(super) fn difference(&self) -> Option<i128> {
        let difference = i128::from(self.comparable_repriced.0) - i128::from(self.comparable.0);
        (self.comparable_calls > 0).then_some(difference)
    }

    /// Charges calls of which only the sums are known.
    fn charge_sums(&mut self, sums: &Sums, repriced: Option<Money>) {
        self.calls += sums.sent();
        self.from_cache += sums.cached;
        self.usage += sums.usage;
        self.recorded += sums.cost;
        self.repriced += match repriced {
            // What tells no tokens has no price in any table.
            Some(known) => CostSum { known, unknown_calls: sums.usage.unmetered_calls },
            None => CostSum { known: Money::ZERO, unknown_calls: sums.sent().max(1) },
        };
        if let (0, 0, Some(repriced)) = (sums.cost.unknown_calls, sums.usage.unmetered_calls, repriced) {
            self.comparable_calls += sums.sent().max(1);
            self.comparable += sums.cost.known;
            self.comparable_repriced += repriced;
        }
    }

    fn charge(&mut self, recorded: Option<Money>, repriced: Option<Money>) {
        self.recorded.add_call(recorded);
        self.repriced.add_call(repriced);
        if let (Some(recorded), Some(repriced)) = (recorded, repriced) {
            self.comparable_calls += 1;
            self.comparable += recorded;
            self.comparable_repriced += repriced;
        }
    }
}

/// Sums over calls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    /// Answered calls, those from the response cache included.
    pub(super) calls: u64,
    /// The part of `calls` that came from the response cache, as far as it is told.
    pub(super) cached: u64,
    pub(super) usage: Usage,
    pub(super) cost: CostSum,
}

impl Sums {
    /// Answered calls that were sent.
    const fn sent(&self) -> u64 {
        self.calls.saturating_sub(self.cached)
    }

    /// The rest without `held`.
    fn beyond(&self, held: &Self) -> Self {
        let (all, part) = (self.usage, held.usage);
        Self {
            calls: self.calls.saturating_sub(held.calls),
            // Attempts of an early version tell of none, and transcripts do.
            cached: self.cached.saturating_sub(held.cached),
            usage: Usage {
                input: all.input.saturating_sub(part.input),
                cached_input: all.cached_input.saturating_sub(part.cached_input),
                cache_write: all.cache_write.saturating_sub(part.cache_write),
                cache_write_1h: all.cache_write_1h.saturating_sub(part.cache_write_1h),
                output: all.output.saturating_sub(part.output),
                reasoning: all.reasoning.saturating_sub(part.reasoning),
                unmetered_calls: all.unmetered_calls.saturating_sub(part.unmetered_calls),
            },
            cost: CostSum {
                known: Money(self.cost.known.0.saturating_sub(held.cost.known.0)),
                unknown_calls: self.cost.unknown_calls.saturating_sub(held.cost.unknown_calls),
            },
        }
    }
}

/// Sums over the transcripts of a cell.
#[derive(Default)]
struct Held {
    sums: Sums,
    comparable: Money,
    comparable_repriced: Money,
}

/// Adds up transcripts. A continued session's transcript holds the calls of its earlier attempts too, and a report that came twice is in
/// two segments: what is the same entry at the same place of the same session is counted once.
pub(super) struct Ledger<'a> {
    lock: &'a SweepLock,
    table: &'a PriceTable,
    on: Option<Date>,
    /// Default endpoint for one that the lock does not have, as specs leave out OpenAI's own.
    openai: EndpointSpec,
    seen: HashSet<[u8; 16]>,
    prices: BTreeMap<(ModelRef, Date), Option<&'a Price>>,
    bills: BTreeMap<(Purpose, ModelRef), Bill>,
    held: BTreeMap<u32, Held>,
}

impl<'a> Ledger<'a> {
    /// A ledger that prices by `table`: by the day of each call, or all by the day `on`.
    pub(super) fn new(lock: &'a SweepLock, table: &'a PriceTable, on: Option<Date>) -> Self {
        let openai = EndpointSpec::of_kind(EndpointKind::Openai);
        Self {
            lock,
            table,
            on,
            openai,
            seen: HashSet::new(),
            prices: BTreeMap::new(),
            bills: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, session: Session, transcript: Transcript) {
        for (position, event) in transcript.events.iter().enumerate() {
            if !self.is_new(session, position, event) {
                continue;
            }
            match event {
                Event::Call(call) => self.add_call(session.cell, call),
                Event::Failed(failed) => self.add_failed(session.cell, failed),
                _ => {}
            }
        }
    }

    /// Adds what the attempts at the sessions of `cell`, `sums` together, took beyond what its transcripts hold. What is known are sums
    /// alone, so the plain prices count; where several models play, they are in proportion to what is known call by call.
    pub(super) fn add_lost(&mut self, cell: &Cell, sums: &Sums, day: Date) {
        let lock = self.lock;
        let held = self.held.entry(cell.index.0).or_default();
        let lost = sums.beyond(&held.sums);
        if lost.sent() == 0 && lost.usage == Usage::default() && lost.cost == CostSum::default() {
            return;
        }
        let plays_alone = lock.benchmarks.get(&cell.benchmark).is_none_or(|of| of.roles.is_empty());
        let repriced = if plays_alone && cell.setting.cast().is_none() {
            let lane = lock.endpoints.get(&cell.model.endpoint).map_or(Lane::Live, |endpoint| endpoint.lane);
            self.price(&cell.model, Some(day)).and_then(|price| of_sums(price, &lost, lane))
        } else {
            in_proportion(lost.cost, held.comparable, held.comparable_repriced)
        };
        self.bill(Purpose::Lost, &cell.model).charge_sums(&lost, repriced);
    }

    /// Adds what `judge` took. Its jobs are known by their sums, so the plain prices count.
    pub(super) fn add_judge(&mut self, judge: &JudgeSpending, day: Date) {
        let lane = self.lock.endpoints.get(&judge.judge.endpoint).map_or(Lane::Live, |endpoint| endpoint.lane);
        let sums = Sums { usage: judge.usage, cost: judge.cost, ..Sums::default() };
        let repriced = self.price(&judge.judge, Some(day)).and_then(|price| of_sums(price, &sums, lane));
        self.bill(Purpose::Judging, &judge.judge).charge_sums(&sums, repriced);
    }

    /// Bills by purpose and model.
    pub(super) fn into_bills(self) -> Vec<Bill> {
        self.bills.into_values().collect()
    }

    fn is_new(&mut self, session: Session, position: usize, event: &Event) -> bool {
        let event = json_bytes(event);
        let place = [session.cell.to_le_bytes(), session.item.to_le_bytes()].concat();
        let digest = Digest::of_parts([place.as_slice(), &position.to_le_bytes(), &event]);
        let mut short = [0; 16];
        short.copy_from_slice(&digest.bytes()[..16]);
        self.seen.insert(short)
    }

    fn add_call(&mut self, cell: u32, call: &Call) {
        let day = call.at.map(|at| at.to_zoned(TimeZone::UTC).date());
        self.add_tries(cell, &call.model, &call.tries, call.lane, day);
        let price = self.price(&call.model, day);
        let circumstances = Circumstances::of_call(call.lane, call.served.tier.as_deref(), call.at);
        // A tier that the run's price did not name left the cost unknown, too; this table may name it.
        let priced = in_lock(self.lock, &call.model)
            .any(|model| model.price.as_ref().is_some_and(|price| price.variant(&circumstances).is_some()));
        let bill = self.bill(Purpose::Sessions, &call.model);
        if call.from_cache {
            bill.from_cache += 1;
            let held = self.held.entry(cell).or_default();
            held.sums.calls += 1;
            held.sums.cached += 1;
            return;
        }
        bill.calls += 1;
        bill.usage += call.usage;
        // With tokens that cannot be, or without a cost in spite of a price, the endpoint did not tell what it billed.
        let told = call.usage.can_be_of(&call.reply) && !(priced && call.cost.is_none());
        let repriced = price.filter(|_| told).and_then(|price| price.cost(&call.usage, &circumstances));
        bill.charge(call.cost, repriced);
        self.hold(cell, 1, call.usage, call.cost, repriced);
    }

    fn hold(&mut self, cell: u32, calls: u64, usage: Usage, cost: Option<Money>, repriced: Option<Money>) {
        let held = self.held.entry(cell).or_default();
        held.sums.calls += calls;
        held.sums.usage += usage;
        held.sums.cost.add_call(cost);
        if let (Some(cost), Some(repriced)) = (cost, repriced) {
            held.comparable += cost;
            held.comparable_repriced += repriced;
        }
    }

    fn add_failed(&mut self, cell: u32, failed: &FailedCall) {
        self.add_tries(cell, &failed.model, &failed.tries, Lane::Live, None);
    }

    /// When a try was made is not recorded, so that of prices by the time of day the plain one is taken.
    fn add_tries(&mut self, cell: u32, model: &ModelRef, tries: &[Try], lane: Lane, day: Option<Date>) {
        let price = self.price(model, day);
        let circumstances = Circumstances::of_call(lane, None, None);
        for one in tries {
            let Some((usage, cost)) = one.billed() else { continue };
            // Without its tokens it is unknown at any price.
            let repriced = price.filter(|_| one.usage.is_some()).and_then(|price| price.cost(&usage, &circumstances));
            let bill = self.bill(Purpose::Sessions, model);
            bill.billed_tries += 1;
            bill.usage += usage;
            bill.charge(cost, repriced);
            self.hold(cell, 0, usage, cost, repriced);
        }
    }

    fn price(&mut self, model: &ModelRef, day: Option<Date>) -> Option<&'a Price> {
        let day = self.on.or(day).unwrap_or_else(|| self.table.date());
        let (lock, table, openai) = (self.lock, self.table, &self.openai);
        *self.prices.entry((model.clone(), day)).or_insert_with(|| {
            let endpoint = lock.endpoints.get(&model.endpoint).unwrap_or(openai);
            table.lookup(endpoint, &model.model, day).map(|listed| &listed.price.price)
        })
    }

    fn bill(&mut self, purpose: Purpose, model: &ModelRef) -> &mut Bill {
        let lock = self.lock;
        self.bills.entry((purpose, model.clone())).or_insert_with(|| Bill {
            purpose,
            model: model.clone(),
            calls: 0,
            from_cache: 0,
            billed_tries: 0,
            usage: Usage::default(),
            priced_by: priced_by(lock, model),
            recorded: CostSum::default(),
            repriced: CostSum::default(),
            comparable_calls: 0,
            comparable: Money::ZERO,
            comparable_repriced: Money::ZERO,
        })
    }
}

/// Cost by `price` of calls of which only the sums are known: nobody knows which of them were long, or when they were made. `None` where
/// requests have a price and nobody knows how many there were.
fn of_sums(price: &Price, sums: &Sums, lane: Lane) -> Option<Money> {
    let price = if lane == Lane::Batch { price.variants.get(BATCH).unwrap_or(price) } else { price };
    if price.per_request.is_some() && sums.sent() == 0 {
        return None;
    }
    let plain = Price { tiers: Vec::new(), windows: Vec::new(), per_request: None, ..price.clone() };
    let a_request = Price { per_request: price.per_request, ..Price::default() };
    let of_requests = a_request.cost(&Usage::default(), &Circumstances::default())?;
    let of_requests = Money(of_requests.0.saturating_mul(sums.sent()));
    Some(plain.cost(&sums.usage, &Circumstances::default())? + of_requests)
}

/// Scales `recorded` by the change from `comparable` to its new cost.
fn in_proportion(recorded: CostSum, comparable: Money, repriced: Money) -> Option<Money> {
    if recorded.unknown_calls > 0 || comparable == Money::ZERO {
        return None;
    }
    let nanos = u128::from(recorded.known.0) * u128::from(repriced.0) / u128::from(comparable.0);
    u64::try_from(nanos).ok().map(Money)
}

/// Entries of a model in the lock, as model under test or in another role.
fn in_lock<'l>(lock: &'l SweepLock, id: &'l ModelRef) -> impl Iterator<Item = &'l ModelSpec> {
    let players = lock.benchmarks.values().flat_map(|benchmark| benchmark.roles.iter().map(|(_, model)| model));
    lock.models.iter().chain(players).filter(move |model| model.id == *id)
}

fn priced_by(lock: &SweepLock, model: &ModelRef) -> String {
    let position = lock.models.iter().position(|known| known.id == *model);
    match position.and_then(|position| lock.price_sources.get(position)) {
        Some(PriceSource::Spec) => "spec".to_owned(),
        Some(PriceSource::Table { date, .. }) => format!("table of {date}"),
        Some(PriceSource::Unknown) => "nobody".to_owned(),
        // Only models under test have their source in the lock.
        None if in_lock(lock, model).any(|model| model.price.is_some()) => "the lock".to_owned(),
        None if lock.judge(model).is_some_and(|judge| judge.price.is_some()) => "the lock".to_owned(),
        None if lock.judge(model).is_some() => "nobody".to_owned(),
        None if in_lock(lock, model).next().is_some() => "nobody".to_owned(),
        None => "not in the lock".to_owned(),
    }
}
