//! What a sweep will take, before anything is spent.

use regatta_benchmarks::{Persona, Step, Suite};
use regatta_catalog::Sweep;
use regatta_proto::{
    Call, Cell, ChatRequest, Circumstances, Event, Finish, ItemIndex, Lane, ModelSpec, Money, Reply, Served,
    SessionSeed, Transcript, Usage,
};
use serde::Serialize;

/// Bytes of English prose or code in a token, roughly, over today's tokenizers.
const BYTES_A_TOKEN: u64 = 4;
/// Assumed when neither the benchmark nor the model limits the answer.
pub(crate) const OUTPUT_TOKENS_MAX: u32 = 16_384;
/// Calls of one session that are looked at.
const CALLS_MAX: usize = 256;

/// What one cell will take if every call is answered at the first try.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellEstimate {
    /// Which cell.
    pub cell: Cell,
    /// Sessions.
    pub sessions: u64,
    /// Calls, if the model answers as the gold does.
    pub calls: u64,
    /// Prompt tokens, at four bytes a token.
    pub input_tokens: u64,
    /// Generated tokens, if answers are as long as the gold.
    pub output_tokens: u64,
    /// What these cost; `None` when the price is unknown.
    pub cost: Option<Money>,
    /// What the same calls cost at most: a token a byte, and every answer as long as it may be.
    pub at_most: Option<Money>,
}

/// Estimates every cell of `sweep`, in the order of the grid. Judges are left out: what they are asked depends on the answers.
#[must_use]
pub fn estimate(sweep: &Sweep) -> Vec<CellEstimate> {
    sweep.cells().iter().map(|cell| estimate_cell(sweep, cell)).collect()
}

fn estimate_cell(sweep: &Sweep, cell: &Cell) -> CellEstimate {
    let items = sweep.selected(cell);
    let mut sum = CellEstimate {
        cell: cell.clone(),
        sessions: items.len() as u64,
        calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost: None,
        at_most: None,
    };
    let (Some(suite), Some(model)) = (sweep.suite(cell), sweep.lock.model(&cell.model)) else { return sum };
    let lane = sweep.lock.endpoints.get(&cell.model.endpoint).map_or(Lane::Live, |endpoint| endpoint.lane);
    let circumstances = Circumstances { variant: (lane == Lane::Batch).then_some(regatta_proto::BATCH), at: None };
    let price = model.price.as_ref();
    sum.cost = price.map(|_| Money::ZERO);
    sum.at_most = price.map(|_| Money::ZERO);
    for item in items {
        for_each_call(suite.as_ref(), cell, *item, |request, answer| {
            let usage = Usage {
                input: request.prompt_bytes().div_ceil(BYTES_A_TOKEN),
                output: (answer.len() as u64).div_ceil(BYTES_A_TOKEN),
                ..Usage::default()
            };
            sum.calls += 1;
            sum.input_tokens += usage.input;
            sum.output_tokens += usage.output;
            sum.cost = price.zip(sum.cost).map(|(price, so_far)| so_far + price.cost(&usage, &circumstances));
            sum.at_most = sum.at_most.zip(at_most(request, model)).map(|(so_far, one)| so_far + one);
        });
    }
    sum
}

/// What `request` costs at most in one try; `None` when the price is unknown.
pub(crate) fn at_most(request: &ChatRequest, model: &ModelSpec) -> Option<Money> {
    let limit = model.max_tokens.or(request.sampling.max_tokens).unwrap_or(OUTPUT_TOKENS_MAX);
    Some(model.price.as_ref()?.at_most(request.prompt_bytes(), u64::from(limit)))
}

/// Plays the session of `item` with the gold answers, and calls `with` for each request and its answer.
fn for_each_call(suite: &dyn Suite, cell: &Cell, item: ItemIndex, mut with: impl FnMut(&ChatRequest, &str)) {
    let mut transcript = Transcript::default();
    for _ in 0..CALLS_MAX {
        let Step::Ask(role, request) = suite.next(item, &cell.setting, &transcript) else { return };
        let answer = suite.simulate(item, &cell.setting, role, Persona::Oracle, SessionSeed(0), &request);
        with(&request, &answer);
        transcript.events.push(Event::Call(Box::new(Call {
            role,
            attempt: 1,
            model: cell.model.clone(),
            request,
            reply: Reply::of_text(Some(&answer), Finish::Stop),
            tries: Vec::new(),
            usage: Usage::default(),
            raw_usage: None,
            cost: None,
            reported_cost: None,
            served: Served::default(),
            latency_us: 0,
            first_token_us: None,
            at: None,
            lane: Lane::Live,
            from_cache: false,
        })));
    }
}
