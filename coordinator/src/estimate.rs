//! Estimates of calls, tokens and money of a sweep before anything is spent.

mod judging;
mod starts;

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::{Persona, Step, Suite};
use regatta_catalog::Sweep;
use regatta_proto::{
    BenchmarkLock, BenchmarkName, Call, Cell, ChatRequest, Circumstances, Event, ItemIndex, Judge, Lane, ModelRef,
    ModelSpec, Money, Reply, Role, Served, SessionSeed, Setting, SweepLock, Transcript, Usage,
};
use serde::Serialize;

pub use self::judging::JudgeCalls;

/// Bytes of English prose or code in a token, roughly, over today's tokenizers.
const BYTES_A_TOKEN: u64 = 4;
/// Tokens of an image of a million pixels, roughly, over today's providers.
const TOKENS_AN_IMAGE: u64 = 1_200;
/// Assumed when neither the benchmark nor the model limits the answer.
pub(crate) const OUTPUT_TOKENS_MAX: u32 = 16_384;
/// Bytes and tokens of a call whose cost shows whether a price is zero.
const MILLION: u64 = 1_000_000;
/// Calls of one session that are looked at.
const CALLS_MAX: usize = 256;

/// Estimate of one cell, if every call is answered at the first try.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellEstimate {
    /// The cell.
    pub cell: Cell,
    /// Sessions.
    pub sessions: u64,
    /// Calls, if the model answers as the gold does; `None` for external agents, whose calls cannot be foreseen.
    pub calls: Option<u64>,
    /// Prompt tokens, at four bytes a token and 1,200 an image.
    pub input_tokens: Option<u64>,
    /// Generated tokens, if answers are as long as the gold.
    pub output_tokens: Option<u64>,
    /// Money for these tokens; `None` when a price is unknown, and for external agents.
    pub cost: Option<Money>,
    /// Part of `cost` for roles other than the agent; `None` where there are none, or a price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_cost: Option<Money>,
    /// Upper bound of the money for these calls: a token for each byte, every image the dearest, and every answer of full length. `None` when
    /// a price is unknown, and for external agents.
    pub at_most: Option<Money>,
    /// Starts of external agents, if their sessions go as simulated models play them.
    pub agent_starts: u64,
    /// Calls of judges, if sessions go as simulated models play them; `None` for external agents.
    pub judges: Option<JudgeCalls>,
}

/// Estimates every cell of `sweep`, in the order of the grid.
#[must_use]
pub fn estimate(sweep: &Sweep) -> Vec<CellEstimate> {
    // Who is under test and which trial it is changes nothing about what judges are asked of simulated sessions.
    let mut judging: BTreeMap<(&BenchmarkName, &Setting), Option<JudgeCalls>> = BTreeMap::new();
    let mut cells = Vec::new();
    for cell in sweep.cells() {
        let key = (&cell.benchmark, &cell.setting);
        let judges = *judging.entry(key).or_insert_with(|| judging::judge_calls(sweep, cell));
        cells.push(CellEstimate { judges, ..estimate_cell(sweep, cell) });
    }
    cells
}

fn estimate_cell(sweep: &Sweep, cell: &Cell) -> CellEstimate {
    let items = sweep.selected(cell);
    let mut sum = CellEstimate {
        cell: cell.clone(),
        sessions: items.len() as u64,
        calls: None,
        input_tokens: None,
        output_tokens: None,
        cost: None,
        others_cost: None,
        at_most: None,
        agent_starts: 0,
        judges: None,
    };
    let Some(suite) = sweep.suite(cell) else { return sum };
    if cell.setting.external().is_some() {
        sum.agent_starts =
            items.iter().map(|item| starts::starts(suite.as_ref(), &cell.setting, *item, &cell.model)).sum();
    }
    let players =
        suite.roles(&cell.setting).into_iter().filter_map(|role| Some((role, sweep.lock.player(cell, role)?)));
    let players: BTreeMap<Role, &ModelSpec> = players.collect();
    let cast = sweep.benchmark(cell).and_then(|benchmark| benchmark.casts.get(cell.setting.cast()?));
    let others = players.len().saturating_sub(1) + cast.map_or(0, BTreeMap::len);
    // Nobody knows beforehand what somebody else's agent asks.
    let is_known = cell.setting.external().is_none();
    let mut all = players.values().copied().chain(cast.into_iter().flat_map(BTreeMap::values));
    let is_priced = is_known && all.all(|model| model.price.is_some());
    sum.cost = is_priced.then_some(Money::ZERO);
    sum.at_most = is_priced.then_some(Money::ZERO);
    sum.others_cost = (is_priced && others > 0).then_some(Money::ZERO);
    let (mut calls, mut asked) = (0, Usage::default());
    for item in items {
        play(suite.as_ref(), &cell.setting, *item, Persona::Oracle, &cell.model, |role, request, answer| {
            let images = request.images().count() as u64;
            let usage = Usage {
                input: request.prompt_bytes().div_ceil(BYTES_A_TOKEN) + images * TOKENS_AN_IMAGE,
                output: answer.answer_bytes().div_ceil(BYTES_A_TOKEN),
                ..Usage::default()
            };
            calls += 1;
            asked.input += usage.input;
            asked.output += usage.output;
            let of_cast = || sweep.benchmark(cell)?.member(&cell.setting, request.member.as_ref()?);
            let member = if role == Role::Agent { of_cast() } else { None };
            let Some(model) = member.or(players.get(&role).copied()) else { return };
            let lane = sweep.lock.endpoints.get(&model.id.endpoint).map_or(Lane::Live, |endpoint| endpoint.lane);
            let circumstances =
                Circumstances { variant: (lane == Lane::Batch).then_some(regatta_proto::BATCH), at: None };
            let cost = model.price.as_ref().and_then(|price| price.cost(&usage, &circumstances));
            let plus =
                |so_far: Option<Money>, more: Option<Money>| so_far.zip(more).map(|(so_far, more)| so_far + more);
            sum.cost = plus(sum.cost, cost);
            if role != Role::Agent || member.is_some() {
                sum.others_cost = plus(sum.others_cost, cost);
            }
            sum.at_most = plus(sum.at_most, at_most(request, model));
        });
    }
    if is_known {
        (sum.calls, sum.input_tokens, sum.output_tokens) = (Some(calls), Some(asked.input), Some(asked.output));
    }
    sum
}

/// `true` if every model that plays in the sessions of `cell`, and every judge of its benchmark, has a price or is free.
pub(crate) fn is_priced(sweep: &Sweep, cell: &Cell) -> bool {
    let (Some(suite), Some(benchmark)) = (sweep.suite(cell), sweep.benchmark(cell)) else { return false };
    let agent = sweep.lock.model(&cell.model);
    let players = suite.roles(&cell.setting).into_iter().filter_map(|role| sweep.lock.player(cell, role));
    let cast = cell.setting.cast().and_then(|cast| benchmark.casts.get(cast));
    let cast = cast.into_iter().flat_map(BTreeMap::values);
    let has_price = |judge: &ModelRef| sweep.lock.judge(judge).is_some_and(|model| model.price.is_some());
    let mut judges = benchmark.judges().flat_map(Judge::ids);
    agent.into_iter().chain(players).chain(cast).all(|model| model.price.is_some())
        && judges.all(|judge| is_free(&sweep.lock, judge) || has_price(judge))
}

/// Judges of `sweep` that are paid for their answers, and of which nobody knows the price.
#[must_use]
pub fn unpriced_judges(sweep: &Sweep) -> BTreeSet<&ModelRef> {
    let judges = sweep.lock.benchmarks.values().flat_map(BenchmarkLock::judges).flat_map(Judge::ids);
    let lacks_price = |judge: &&ModelRef| sweep.lock.judge(judge).is_none_or(|model| model.price.is_none());
    judges.filter(|judge| !is_free(&sweep.lock, judge)).filter(lacks_price).collect()
}

fn is_free(lock: &SweepLock, judge: &ModelRef) -> bool {
    lock.endpoints.get(&judge.endpoint).is_some_and(|endpoint| judging::is_free(endpoint.kind))
}

/// `true` unless `judge` is free, or has a price of zero.
pub(crate) fn is_paid(lock: &SweepLock, judge: &ModelRef) -> bool {
    let price = || lock.judge(judge).and_then(|model| model.price);
    !is_free(lock, judge) && price().is_none_or(|price| price.at_most(MILLION, MILLION) > Money::ZERO)
}

/// Upper bound of the money for one try of `request`; `None` when the model has no price.
pub(crate) fn at_most(request: &ChatRequest, model: &ModelSpec) -> Option<Money> {
    let limit = model.max_tokens.or(request.sampling.max_tokens).unwrap_or(OUTPUT_TOKENS_MAX);
    let prompt = request.prompt_bytes().saturating_add(request.media_tokens());
    Some(model.price.as_ref()?.at_most(prompt, u64::from(limit)))
}

/// Plays the session of `item` with simulated models, and calls `with` for each request and its answer. Returns what has happened, which
/// is not the whole session if that has very many calls; all of it is said by `model`.
pub(crate) fn play(
    suite: &dyn Suite,
    setting: &Setting,
    item: ItemIndex,
    persona: Persona,
    model: &ModelRef,
    mut with: impl FnMut(Role, &ChatRequest, &Reply),
) -> Transcript {
    let mut transcript = Transcript::default();
    for _ in 0..CALLS_MAX {
        let Step::Ask(role, request) = suite.next(item, setting, &transcript) else { break };
        let answer = suite.simulate(item, setting, role, persona, SessionSeed(0), &request);
        with(role, &request, &answer);
        transcript.events.push(answered(model, role, request, answer));
    }
    transcript
}

/// The event of a call to `role` that was answered with `reply`, by `model`.
fn answered(model: &ModelRef, role: Role, request: ChatRequest, reply: Reply) -> Event {
    Event::Call(Box::new(Call {
        role,
        attempt: 1,
        model: model.clone(),
        request,
        reply,
        tries: Vec::new(),
        usage: Usage::default(),
        raw_usage: None,
        cost: None,
        reported_cost: None,
        served: Served::default(),
        latency_us: 0,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Live,
        from_cache: false,
        saved: None,
    }))
}
