//! Whether a sweep may still dispatch: reserve the worst case, settle what was really spent.

use regatta_backends::CellProgress;
use regatta_catalog::Sweep;
use regatta_proto::{Money, Price, Role, Transcript};

/// Assumed when neither the benchmark nor the model limits the answer.
const OUTPUT_TOKENS_MAX: u32 = 16_384;

/// Sessions that may be dispatched beyond those outstanding, so that even the worst case stays within the budget.
/// `judged` is what its judges cost so far.
pub(crate) fn affordable_sessions(sweep: &Sweep, progress: &[CellProgress], judged: Money, worst: Money) -> u64 {
    let Some(budget) = sweep.lock.budget_usd.and_then(Money::from_dollars) else { return u64::MAX };
    let spent: Money = progress.iter().map(|cell| cell.cost.known).sum::<Money>() + judged;
    let outstanding: u64 = progress.iter().map(|cell| cell.dispatched.saturating_sub(cell.recorded)).sum();
    let left = budget.0.saturating_sub(spent.0);
    (left / worst.0.max(1)).saturating_sub(outstanding)
}

/// What all sessions of `sweep` can cost at most if every call is answered at the first try; models of unknown price are left out.
#[must_use]
pub fn worst_cost(sweep: &Sweep) -> Money {
    let mut sum = Money::ZERO;
    for_each_first_call(sweep, |worst| sum += worst);
    sum
}

/// What a session of `sweep` can cost at most in one try of its first call: a token is at least one byte, the answer fills its limit.
pub(crate) fn worst_session(sweep: &Sweep) -> Money {
    let mut worst = Money::ZERO;
    for_each_first_call(sweep, |one| worst = worst.max(one));
    worst
}

/// Calls `with` for the worst case of every session's first call.
fn for_each_first_call(sweep: &Sweep, mut with: impl FnMut(Money)) {
    for cell in sweep.cells() {
        let (Some(suite), Some(model)) = (sweep.suite(cell), sweep.lock.model(&cell.model)) else { continue };
        let Some(price) = &model.price else { continue };
        for item in sweep.selected(cell) {
            let step = suite.next(*item, &cell.setting, &Transcript::default());
            if let regatta_benchmarks::Step::Ask(Role::Agent, request) = step {
                let limit = model.max_tokens.or(request.sampling.max_tokens).unwrap_or(OUTPUT_TOKENS_MAX);
                with(call_at_most(price, request.prompt_bytes(), limit));
            }
        }
    }
}

fn call_at_most(price: &Price, prompt_bytes: u64, output_limit: u32) -> Money {
    price.at_most(prompt_bytes, u64::from(output_limit))
}
