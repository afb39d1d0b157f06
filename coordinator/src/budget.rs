//! Accounts at the store of permits, what a sweep has cost by them, and how much may be dispatched on those with a budget.
//!
//! Workers reserve each call's worst case before they send it, so no account is ever overdrawn, whatever is dispatched. What is said here
//! only keeps sessions from being dispatched in vain.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use regatta_backends::{AccountState, CellProgress, Ledger, Permits, ShardRow, ShardState, SweepCost, SweepRow};
use regatta_benchmarks::Step;
use regatta_catalog::Sweep;
use regatta_proto::{AccountId, CellIndex, ItemIndex, ModelRef, Money, SweepId, SweepState, Transcript};

use crate::estimate::at_most;
use crate::{Coordinator, CoordinatorError};

impl Coordinator {
    /// Opens the accounts of `sweep`, or brings their caps up to date. Where the store is new, what was spent before counts. A sweep without
    /// a `budget` has an account too: what a process that dies had under way is known from nowhere else.
    pub(crate) async fn open_accounts(&self, sweep: &Sweep, budget: Option<Money>) -> Result<(), CoordinatorError> {
        let caps: BTreeMap<&ModelRef, Money> = sweep
            .lock
            .models
            .iter()
            .filter_map(|model| Some((&model.id, model.budget_usd.and_then(Money::from_dollars)?)))
            .collect();
        let progress = self.ledger.cell_progress(&sweep.id).await?;
        let spent = |cells: &mut dyn Iterator<Item = &CellProgress>| -> Money {
            cells.map(|cell| cell.cost.known + cell.maybe_spent).sum()
        };
        let (_, judged) = self.ledger.judge_costs(&sweep.id).await?;
        let (account, before) = (of_sweep(&sweep.id), spent(&mut progress.iter()) + judged.known);
        match budget {
            Some(cap) => self.permits.open_account(&account, cap, before).await?,
            None => self.permits.open_uncapped_account(&account, before).await?,
        }
        // The ledger knows what sessions cost, not who in them: what other roles have cost is held against the model under test here, so
        // that no cap is ever exceeded.
        for (model, cap) in caps {
            let own = sweep.cells().iter().zip(&progress).filter(|(cell, _)| cell.model == *model);
            let account = AccountId { model: Some(model.clone()), ..of_sweep(&sweep.id) };
            self.permits.open_account(&account, cap, spent(&mut own.map(|(_, progress)| progress))).await?;
        }
        Ok(())
    }

    /// Known and possible cost of the sweep of `row`. Of one that has ended that is what its reports say.
    pub(crate) async fn cost(&self, row: &SweepRow, progress: &[CellProgress]) -> Result<SweepCost, CoordinatorError> {
        cost(&self.ledger, &self.permits, row, progress).await
    }
}

/// Money that a sweep which its budget has stopped would need to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// The budget.
    pub budget: Money,
    /// Part of it that is neither spent nor perhaps spent.
    pub left: Money,
    /// The most that the first calls may cost of what is dispatched at once, of sessions that have not run the cheapest; zero where all have
    /// begun, or nobody knows.
    pub next_call: Money,
}

impl Shortfall {
    /// Money by which the budget has to be raised at least, so that a session begins. Zero where sessions were stopped before a later call, or
    /// by the budget of their model.
    #[must_use]
    pub const fn missing(&self) -> Money {
        Money(self.next_call.0.saturating_sub(self.left.0))
    }
}

impl Coordinator {
    /// Amounts that say why the budget of `sweep` does not pay for what is left of it; `None` without a budget, and where all is measured.
    ///
    /// # Errors
    /// When a store fails.
    pub fn shortfall<'a>(&'a self, sweep: &'a Sweep) -> BoxFuture<'a, Result<Option<Shortfall>, CoordinatorError>> {
        Box::pin(async move {
            let Some(account) = self.permits.account(&of_sweep(&sweep.id)).await?.filter(AccountState::is_capped)
            else {
                return Ok(None);
            };
            let progress = self.ledger.cell_progress(&sweep.id).await?;
            let first_calls = first_calls(sweep);
            let left_over: BTreeSet<CellIndex> =
                progress.iter().filter(|cell| cell.recorded < cell.items).map(|cell| cell.index).collect();
            let shards = self.ledger.shards(&sweep.id).await?;
            let is_left = |shard: &&ShardRow| shard.state == ShardState::Planned && left_over.contains(&shard.cell);
            let of_shard = |shard: &ShardRow| {
                Money(
                    first_calls
                        .get(&shard.cell)
                        .copied()
                        .unwrap_or(Money::ZERO)
                        .0
                        .saturating_mul(u64::from(shard.count)),
                )
            };
            let next_call = shards.iter().filter(is_left).map(of_shard).min().unwrap_or(Money::ZERO);
            let gone = account.spent + account.maybe_spent + account.lost;
            let left = Money(account.cap.0.saturating_sub(gone.0));
            Ok(Some(Shortfall { budget: account.cap, left, next_call }))
        })
    }
}

/// The account of a whole sweep.
pub(crate) fn of_sweep(sweep: &SweepId) -> AccountId {
    AccountId { sweep: sweep.clone(), model: None }
}

/// Known and possible cost of the sweep of `row`.
pub(crate) async fn cost(
    ledger: &Ledger,
    permits: &Permits,
    row: &SweepRow,
    progress: &[CellProgress],
) -> Result<SweepCost, CoordinatorError> {
    let (_, judged) = ledger.judge_costs(&row.id).await?;
    if row.state == SweepState::Running {
        return Ok(SweepCost::of(progress, judged, permits.granted(&of_sweep(&row.id)).await?));
    }
    Ok(SweepCost::ended(row, progress, judged))
}

/// The most that the first call of a session may cost, by cell.
pub(crate) type FirstCalls = BTreeMap<CellIndex, Money>;

/// Money that the first calls of further sessions may cost, if all that are outstanding make one at its worst case. `judged` is what judges
/// have cost so far.
pub(crate) fn unclaimed(
    account: &AccountState,
    progress: &[CellProgress],
    judged: Money,
    first_calls: &FirstCalls,
) -> Money {
    let claimed = |cell: &CellProgress| {
        let outstanding = cell.dispatched.saturating_sub(cell.recorded);
        Money(outstanding.saturating_mul(first_call(first_calls, cell.index).0))
    };
    // Reservations of living workers are for sessions that are outstanding, and so counted already.
    let told = account.spent + account.maybe_spent;
    // Of two accounts of the same money, either may be late.
    let recorded = progress.iter().map(|cell| cell.cost.known + cell.maybe_spent).sum::<Money>() + judged;
    let gone = told.max(recorded) + account.lost + progress.iter().map(claimed).sum::<Money>();
    Money(account.cap.0.saturating_sub(gone.0))
}

/// The most that the first call of a session of `cell` may cost; at least the smallest amount, so that a budget that is used up lets nothing
/// be dispatched, whatever it costs.
pub(crate) fn first_call(first_calls: &FirstCalls, cell: CellIndex) -> Money {
    first_calls.get(&cell).copied().unwrap_or(Money::ZERO).max(Money(1))
}

/// Worst case of the first call of any session of each cell of `sweep`, in one try: a token for each byte of the prompt, and an answer of full
/// length. Calls without a known price count as zero.
pub(crate) fn first_calls(sweep: &Sweep) -> FirstCalls {
    let (mut of_cells, mut seen) = (FirstCalls::new(), BTreeMap::new());
    for cell in sweep.cells() {
        let Some(suite) = sweep.suite(cell) else { continue };
        // Another trial of the same begins with the same calls.
        let worst = seen.entry((&cell.benchmark, &cell.setting, &cell.model)).or_insert_with(|| {
            let of_item = |item: &ItemIndex| match suite.next(*item, &cell.setting, &Transcript::default()) {
                // Where a price is unknown nothing may be sent, so that such calls cost nothing.
                Step::Ask(role, request) => at_most(&request, sweep.lock.player(cell, role)?),
                Step::Delegate(_) | Step::Done | Step::Unfit(_) | Step::Failed(_) => None,
            };
            sweep.selected(cell).iter().filter_map(of_item).max().unwrap_or(Money::ZERO)
        });
        of_cells.insert(cell.index, *worst);
    }
    of_cells
}
