//! Money of the old sweep that no session of it tells of: what judges have cost, and what a process may have spent that died.

use regatta_backends::{AttemptRow, AttemptState, JudgeCosts, Judged};
use regatta_catalog::Sweep;
use regatta_proto::{AccountId, Answerer, AttemptId, CostSum, JudgeOutcome, ModelRef, Money};

use super::Change;
use crate::embedded::Embedded;

impl Embedded {
    /// Enters what judges have cost that `new` has too. Nobody knows for which sessions, so it is all kept. Returns what the others have cost.
    pub(super) async fn carry_judges(&self, old: &Sweep, new: &Sweep) -> anyhow::Result<CostSum> {
        self.enter_judges(self.ledger.costs_by_judge(&old.id).await?, new).await
    }

    /// Enters what `judges` have cost elsewhere as spent for `new`, if it has them too. Repeating it changes nothing. Returns what the others have
    /// cost.
    pub(crate) async fn enter_judges(&self, judges: Vec<JudgeCosts>, new: &Sweep) -> anyhow::Result<CostSum> {
        let mut left_out = CostSum::default();
        let mut carried = Vec::new();
        for costs in judges {
            let endpoint = new.lock.endpoints.get(&costs.judge.endpoint);
            let Some(endpoint) = endpoint.filter(|_| new.lock.judge(&costs.judge).is_some()) else {
                left_out += costs.cost;
                continue;
            };
            let answerer = Answerer::new(endpoint, &costs.judge.model, &new.id);
            let served = if costs.served.is_empty() { vec![costs.judge.model.clone()] } else { costs.served };
            for (number, served) in served.into_iter().enumerate() {
                // It is known in sum only.
                let (usage, cost) = if number == 0 { (costs.usage, costs.cost) } else { Default::default() };
                let outcome = JudgeOutcome {
                    sweep: new.id.clone(),
                    lock: new.digest,
                    judge: costs.judge.clone(),
                    served,
                    verdicts: Vec::new(),
                    unanswered: Vec::new(),
                    attempt: AttemptId::new(format!("carried-{}", carried.len()))?,
                    usage,
                    cost,
                };
                carried.push(Judged { answerer, outcome });
            }
        }
        if !carried.is_empty() {
            self.ledger.save_judged(carried).await?;
        }
        Ok(left_out)
    }

    /// Holds against the budgets of `new` what those of the old sweep had granted beyond what the ledger knows of: a process may have died with it.
    pub(super) async fn carry_grants(&self, change: &Change, new: &Sweep) -> anyhow::Result<()> {
        let old = &*change.old;
        let attempts = self.ledger.attempts(&old.id).await?;
        // The old sweep counts their last calls as perhaps spent. In the new one they are open again, and count at its end only.
        let is_reopened = |row: &&AttemptRow| {
            row.state == AttemptState::Lost && change.session_in(new, row.key.cell, row.key.item).is_some()
        };
        let reopened: Vec<&AttemptRow> = attempts.iter().filter(is_reopened).collect();
        let models = new.lock.models.iter().filter(|model| model.budget_usd.is_some()).map(|model| Some(&model.id));
        for model in std::iter::once(None).chain(models) {
            let account = |sweep: &Sweep| AccountId { sweep: sweep.id.clone(), model: model.cloned() };
            let granted = self.permits.granted(&account(old)).await?.unwrap_or(Money::ZERO);
            let beyond = Money(granted.0.saturating_sub(self.spent(old, model).await?.0));
            let is_own = |row: &AttemptRow| {
                model.is_none_or(|model| old.cell(row.key.cell).is_some_and(|cell| cell.model == *model))
            };
            let last_calls: Money = reopened.iter().filter(|row| is_own(row)).filter_map(|row| row.at_most).sum();
            let lost = beyond + last_calls;
            if lost > Money::ZERO {
                let spent = self.spent(new, model).await?;
                self.permits.keep_granted(&account(new), spent + lost)?;
            }
        }
        Ok(())
    }

    /// Known and possible cost of `sweep`, or of the sessions of one model, as accounts are opened with it.
    async fn spent(&self, sweep: &Sweep, model: Option<&ModelRef>) -> anyhow::Result<Money> {
        let progress = self.ledger.cell_progress(&sweep.id).await?;
        let own =
            sweep.cells().iter().zip(&progress).filter(|(cell, _)| model.is_none_or(|model| cell.model == *model));
        let sessions: Money = own.map(|(_, progress)| progress.cost.known + progress.maybe_spent).sum();
        match model {
            Some(_) => Ok(sessions),
            None => Ok(sessions + self.ledger.judge_costs(&sweep.id).await?.1.known),
        }
    }
}
