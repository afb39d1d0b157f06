//! Calls of a run, each counted once, at what was recorded for them and at what a table says.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use regatta_llm::PriceTable;
use regatta_proto::{
    Call, Circumstances, CostSum, Digest, EndpointKind, EndpointSpec, Event, FailedCall, Lane, ModelRef, ModelSpec,
    Money, Price, PriceSource, SweepLock, Transcript, Try, Usage, json_bytes,
};
use serde::Serialize;

use crate::transcripts::Session;

/// What one model's calls cost, then and at other prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Bill {
    pub(super) model: ModelRef,
    /// Answered calls that were sent.
    pub(super) calls: u64,
    /// Answers from the cache, which cost nothing.
    pub(super) from_cache: u64,
    /// Failed tries that were billed.
    pub(super) billed_tries: u64,
    /// Tokens of what was billed.
    pub(super) usage: Usage,
    /// Where the price of the run came from.
    pub(super) priced_by: String,
    /// What was recorded.
    pub(super) recorded: CostSum,
    /// What the table says.
    pub(super) repriced: CostSum,
    /// What was billed and has a cost that is known both times.
    pub(super) comparable_calls: u64,
    /// The part of `recorded` for those.
    pub(super) comparable: Money,
    /// What the table says of those.
    pub(super) comparable_repriced: Money,
}

impl Bill {
    /// Nano-dollars that the calls whose cost is known both times cost more at the table's prices; `None` when there is no such call.
    pub(super) fn difference(&self) -> Option<i128> {
        let difference = i128::from(self.comparable_repriced.0) - i128::from(self.comparable.0);
        (self.comparable_calls > 0).then_some(difference)
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

/// Adds up transcripts. A continued session's transcript holds the calls of its earlier attempts too, and a report that came twice is in
/// two segments: what is the same entry at the same place of the same session is counted once.
pub(super) struct Ledger<'a> {
    lock: &'a SweepLock,
    table: &'a PriceTable,
    on: Option<Date>,
    /// Of an endpoint that the lock does not have, as specs leave out OpenAI's own.
    openai: EndpointSpec,
    seen: HashSet<[u8; 16]>,
    prices: BTreeMap<(ModelRef, Date), Option<&'a Price>>,
    bills: BTreeMap<ModelRef, Bill>,
}

impl<'a> Ledger<'a> {
    /// A ledger that prices by `table`: by the day of each call, or all by the day `on`.
    pub(super) fn new(lock: &'a SweepLock, table: &'a PriceTable, on: Option<Date>) -> Self {
        let openai = EndpointSpec::of_kind(EndpointKind::Openai);
        Self { lock, table, on, openai, seen: HashSet::new(), prices: BTreeMap::new(), bills: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, session: Session, transcript: Transcript) {
        for (position, event) in transcript.events.iter().enumerate() {
            if !self.is_new(session, position, event) {
                continue;
            }
            match event {
                Event::Call(call) => self.add_call(call),
                Event::Failed(failed) => self.add_failed(failed),
                _ => {}
            }
        }
    }

    /// Bills by model.
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

    fn add_call(&mut self, call: &Call) {
        let day = call.at.map(|at| at.to_zoned(TimeZone::UTC).date());
        self.add_tries(&call.model, &call.tries, call.lane, day);
        let price = self.price(&call.model, day);
        let circumstances = Circumstances::of_call(call.lane, call.served.tier.as_deref(), call.at);
        // A tier that the run's price did not name left the cost unknown, too; this table may name it.
        let priced = in_lock(self.lock, &call.model)
            .any(|model| model.price.as_ref().is_some_and(|price| price.variant(&circumstances).is_some()));
        let bill = self.bill(&call.model);
        if call.from_cache {
            bill.from_cache += 1;
            return;
        }
        bill.calls += 1;
        bill.usage += call.usage;
        // With tokens that cannot be, or without a cost in spite of a price, the endpoint did not tell what it billed.
        let told = call.usage.can_be_of(&call.reply) && !(priced && call.cost.is_none());
        let repriced = price.filter(|_| told).and_then(|price| price.cost(&call.usage, &circumstances));
        bill.charge(call.cost, repriced);
    }

    fn add_failed(&mut self, failed: &FailedCall) {
        self.add_tries(&failed.model, &failed.tries, Lane::Live, None);
    }

    /// When a try was made is not recorded, so that of prices by the time of day the plain one is taken.
    fn add_tries(&mut self, model: &ModelRef, tries: &[Try], lane: Lane, day: Option<Date>) {
        let price = self.price(model, day);
        let circumstances = Circumstances::of_call(lane, None, None);
        for one in tries {
            let Some(usage) = one.usage else { continue };
            let bill = self.bill(model);
            bill.billed_tries += 1;
            bill.usage += usage;
            bill.charge(one.cost, price.and_then(|price| price.cost(&usage, &circumstances)));
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

    fn bill(&mut self, model: &ModelRef) -> &mut Bill {
        let lock = self.lock;
        self.bills.entry(model.clone()).or_insert_with(|| Bill {
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

/// What the lock says of a model, under test or in another role.
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
        None if in_lock(lock, model).next().is_some() => "nobody".to_owned(),
        None => "not in the lock".to_owned(),
    }
}
