//! Accounts at the store of permits, what a sweep has cost by them, and how much may be dispatched on those with a budget.
//!
//! Workers reserve each call's worst case before they send it, so no account is ever overdrawn, whatever is dispatched. What is said here
//! only keeps sessions from being dispatched in vain.

use std::collections::{BTreeMap, BTreeSet};

use regatta_backends::{AccountState, CellProgress, Ledger, Permits, SweepCost, SweepRow};
use regatta_benchmarks::Step;
use regatta_catalog::Sweep;
use regatta_proto::{AccountId, ModelRef, Money, SweepId, SweepState, Transcript};

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

/// Sessions that may be dispatched beyond those outstanding, if every one of them makes one call at its worst case. `judged` is what
/// judges have cost so far.
pub(crate) fn affordable_sessions(
    account: &AccountState,
    progress: &[CellProgress],
    judged: Money,
    worst: Money,
) -> u64 {
    let outstanding: u64 = progress.iter().map(|cell| cell.dispatched.saturating_sub(cell.recorded)).sum();
    // Reservations of living workers are for sessions that are outstanding, and so counted already.
    let told = account.spent + account.maybe_spent;
    // Of two accounts of the same money, either may be late.
    let recorded = progress.iter().map(|cell| cell.cost.known + cell.maybe_spent).sum::<Money>() + judged;
    let gone = told.max(recorded) + account.lost;
    let left = account.cap.0.saturating_sub(gone.0);
    (left / worst.0.max(1)).saturating_sub(outstanding)
}

/// Worst case of the first call of any session of `sweep`, in one try: a token for each byte of the prompt, and an answer of full length.
/// Calls without a known price count as zero.
pub(crate) fn worst_session(sweep: &Sweep) -> Money {
    let (mut worst, mut seen) = (Money::ZERO, BTreeSet::new());
    for cell in sweep.cells() {
        let Some(suite) = sweep.suite(cell) else { continue };
        // Another trial of the same begins with the same calls.
        if !seen.insert((&cell.benchmark, &cell.setting, &cell.model)) {
            continue;
        }
        for item in sweep.selected(cell) {
            if let Step::Ask(role, request) = suite.next(*item, &cell.setting, &Transcript::default())
                && let Some(model) = sweep.lock.player(cell, role)
            {
                // Where a price is unknown nothing may be sent, so that such calls cost nothing.
                worst = worst.max(at_most(&request, model).unwrap_or(Money::ZERO));
            }
        }
    }
    worst
}
