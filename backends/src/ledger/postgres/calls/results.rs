//! Sessions, costs and metrics of a sweep.

use regatta_proto::{CellIndex, CostSum, SweepId, Usage};

use crate::ledger::postgres::pool::{Fault, read, write};
use crate::ledger::postgres::{PostgresLedger, attempts, call_sums, judging, metrics, sessions};
use crate::ledger::{AttemptRow, CallSums, CostMoments, JudgeCosts, LedgerError, MetricRow, SessionRow};

impl PostgresLedger {
    pub(crate) async fn sessions(&self, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, LedgerError> {
        read!(self.0, "read sessions", client => sessions::of_cell(client, sweep, cell))
    }

    pub(crate) async fn attempts(&self, sweep: &SweepId) -> Result<Vec<AttemptRow>, LedgerError> {
        read!(self.0, "read attempts", client => attempts::all(client, sweep))
    }

    pub(crate) async fn oldest_open(&self, sweep: &SweepId) -> Result<Option<AttemptRow>, LedgerError> {
        read!(self.0, "read the oldest running attempt", client => attempts::oldest_open(client, sweep))
    }

    pub(crate) async fn cost_moments(
        &self,
        sweep: &SweepId,
    ) -> Result<Vec<(CellIndex, String, CostMoments)>, LedgerError> {
        read!(self.0, "read what sessions cost", client => sessions::cost_moments(client, sweep))
    }

    pub(crate) async fn call_sums(&self, sweep: &SweepId) -> Result<Vec<(CellIndex, CallSums)>, LedgerError> {
        read!(self.0, "read what calls were like", client => call_sums::all(client, sweep))
    }

    pub(crate) async fn judge_costs(&self, sweep: &SweepId) -> Result<(Usage, CostSum), LedgerError> {
        read!(self.0, "read the judges' costs", client => judging::costs(client, sweep))
    }

    pub(crate) async fn costs_by_judge(&self, sweep: &SweepId) -> Result<Vec<JudgeCosts>, LedgerError> {
        read!(self.0, "read the costs of each judge", client => judging::costs_by_judge(client, sweep))
    }

    pub(crate) async fn save_metrics(&self, sweep: &SweepId, rows: Vec<MetricRow>) -> Result<(), LedgerError> {
        write!(self.0, "save metrics", tx => metrics::save(tx, sweep, &rows))
    }

    pub(crate) async fn metrics(&self, sweep: &SweepId) -> Result<Vec<MetricRow>, LedgerError> {
        read!(self.0, "read metrics", client => metrics::all(client, sweep))
    }
}
