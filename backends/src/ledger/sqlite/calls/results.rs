//! Sessions, costs and metrics of a sweep.

use regatta_proto::{CellIndex, CostSum, SweepId, Usage};

use crate::ledger::sqlite::{SqliteLedger, attempts, call_sums, judging, metrics, sessions};
use crate::ledger::{AttemptRow, CallSums, CostMoments, JudgeCosts, LedgerError, MetricRow, SessionRow};

impl SqliteLedger {
    pub(crate) async fn sessions(&self, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read sessions", move |tx| sessions::of_cell(tx, &sweep, cell)).await
    }

    pub(crate) async fn attempts(&self, sweep: &SweepId) -> Result<Vec<AttemptRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read attempts", move |tx| attempts::all(tx, &sweep)).await
    }

    pub(crate) async fn oldest_open(&self, sweep: &SweepId) -> Result<Option<AttemptRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the oldest running attempt", move |tx| attempts::oldest_open(tx, &sweep)).await
    }

    pub(crate) async fn cost_moments(
        &self,
        sweep: &SweepId,
    ) -> Result<Vec<(CellIndex, String, CostMoments)>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read what sessions cost", move |tx| sessions::cost_moments(tx, &sweep)).await
    }

    pub(crate) async fn call_sums(&self, sweep: &SweepId) -> Result<Vec<(CellIndex, CallSums)>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read what calls were like", move |tx| call_sums::all(tx, &sweep)).await
    }

    pub(crate) async fn judge_costs(&self, sweep: &SweepId) -> Result<(Usage, CostSum), LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the judges' costs", move |tx| judging::costs(tx, &sweep)).await
    }

    pub(crate) async fn costs_by_judge(&self, sweep: &SweepId) -> Result<Vec<JudgeCosts>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read the costs of each judge", move |tx| judging::costs_by_judge(tx, &sweep)).await
    }

    pub(crate) async fn save_metrics(&self, sweep: &SweepId, rows: Vec<MetricRow>) -> Result<(), LedgerError> {
        let sweep = sweep.clone();
        self.0.write("save metrics", move |tx| metrics::save(tx, &sweep, &rows)).await
    }

    pub(crate) async fn metrics(&self, sweep: &SweepId) -> Result<Vec<MetricRow>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read metrics", move |tx| metrics::all(tx, &sweep)).await
    }
}
