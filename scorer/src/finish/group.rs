//! Tabulation of one benchmark, setting and model: its trials, cell by cell, and what they are together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regatta_backends::SessionRow;
use regatta_benchmarks::{Score, Scores, Suite, Table};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkLock, Cause, Cell, CellIndex, EndpointKind, Evaluator, ItemIndex, ModelRef, Outcome};

use super::FinishError;
use super::columns::{Columns, headline, paper_columns};
use super::results::push_session;
use crate::comparison::is_compared;
use crate::statistics::{Estimate, ItemScores, estimate};
use crate::summary::SessionCounts;

/// Which number: a scoring rule and a metric's name.
pub(crate) type MetricKey = (Evaluator, String);

/// Collects the cells of one benchmark, setting and model.
pub(crate) struct Group<'s> {
    sweep: &'s Sweep,
    first: &'s Cell,
    suite: &'s dyn Suite,
    lock: &'s BenchmarkLock,
    keys: Vec<MetricKey>,
    /// Selected item by metric, as in `keys`.
    scores: Vec<Vec<ItemScores>>,
    cells: Vec<CellResult>,
    sessions: SessionCounts,
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    poisoned: Option<(CellIndex, ItemIndex)>,
    served: BTreeMap<String, u64>,
}

/// One cell's numbers.
pub(crate) struct CellResult {
    pub(crate) cell: Cell,
    pub(crate) sessions: SessionCounts,
    /// As in [`GroupResult::keys`].
    pub(crate) estimates: Vec<Estimate>,
    /// Aggregates of the benchmark, by evaluator.
    pub(crate) tables: Vec<(Evaluator, Table)>,
}

/// One task's numbers.
pub(crate) struct TaskResult {
    pub(crate) task: String,
    pub(crate) items: u32,
    /// As in [`GroupResult::keys`].
    pub(crate) estimates: Vec<Estimate>,
}

/// All that is known of one benchmark, setting and model.
pub(crate) struct GroupResult {
    /// Its first trial.
    pub(crate) first: Cell,
    /// Whether its answers came from a simulated endpoint, as the spec or the endpoint itself says.
    pub(crate) simulated: bool,
    pub(crate) items: u32,
    pub(crate) keys: Vec<MetricKey>,
    /// Metrics that leaderboards show, by position in `keys`.
    pub(crate) headline: BTreeSet<usize>,
    /// Over all trials; as in `keys`.
    pub(crate) estimates: Vec<Estimate>,
    pub(crate) sessions: SessionCounts,
    pub(crate) cells: Vec<CellResult>,
    /// In the order of the data set.
    pub(crate) tasks: Vec<TaskResult>,
    /// Columns of the paper's table, averaged over trials.
    pub(crate) paper: Vec<(Evaluator, Columns)>,
    /// Sessions by outcome and cause.
    pub(crate) outcomes: BTreeMap<(&'static str, &'static str), u64>,
    /// A session that was given up because of its own request, for people who want to send that again.
    pub(crate) poisoned: Option<(CellIndex, ItemIndex)>,
    /// Sessions by what answered.
    pub(crate) served: BTreeMap<String, u64>,
    /// Selected item by metric, as in `keys`; only of models that are compared with others item by item.
    pub(crate) item_scores: Vec<Vec<ItemScores>>,
}

impl<'s> Group<'s> {
    /// An empty group whose first cell is `first`. `None` for a cell of another sweep.
    pub(crate) fn new(sweep: &'s Sweep, first: &'s Cell) -> Option<Self> {
        let (suite, lock) = (&**sweep.suite(first)?, sweep.benchmark(first)?);
        // Every score has the same names, and this one is there even when nothing was measured.
        let names = suite.score_failure(*sweep.selected(first).first()?, &lock.evaluators);
        let mut keys = Vec::new();
        for evaluator in &lock.evaluators {
            let names = names.get(evaluator).into_iter().flat_map(|score| score.values.keys());
            keys.extend(names.map(|name| (*evaluator, name.clone())));
        }
        let scores = vec![vec![ItemScores::default(); keys.len()]; sweep.selected(first).len()];
        Some(Self {
            sweep,
            first,
            suite,
            lock,
            keys,
            scores,
            cells: Vec::new(),
            sessions: SessionCounts::default(),
            outcomes: BTreeMap::new(),
            poisoned: None,
            served: BTreeMap::new(),
        })
    }

    /// Adds the settled sessions of one cell, and their lines to `results`.
    pub(crate) fn add(&mut self, cell: &Cell, rows: &[SessionRow], results: &mut Vec<u8>) -> Result<(), FinishError> {
        let by_item: HashMap<ItemIndex, &SessionRow> = rows.iter().map(|row| (row.item, row)).collect();
        let selected = self.sweep.selected(cell);
        let mut counts = SessionCounts { total: selected.len() as u64, ..SessionCounts::default() };
        let mut of_cell = vec![vec![ItemScores::default(); selected.len()]; self.keys.len()];
        let mut known: Vec<(ItemIndex, Scores)> = Vec::with_capacity(rows.len());
        for (position, index) in selected.iter().enumerate() {
            let Some(item) = self.sweep.item(cell, *index) else { continue };
            let row = by_item.get(index).copied();
            let scores = row.map(|row| self.scores_of(cell, row)).transpose()?.flatten();
            self.count(cell, row, &mut counts);
            for (at, (evaluator, name)) in self.keys.iter().enumerate() {
                let value = scores.as_ref().map(|scores| value(scores, *evaluator, name));
                self.scores[position][at].add(value);
                of_cell[at][position].add(value);
            }
            push_session(results, cell, item, row, scores.as_ref())?;
            known.extend(scores.map(|scores| (*index, scores)));
        }
        let tables =
            self.lock.evaluators.iter().map(|evaluator| (*evaluator, self.table(*evaluator, &known))).collect();
        self.sessions.add(&counts);
        self.cells.push(CellResult {
            cell: cell.clone(),
            sessions: counts,
            estimates: of_cell.iter().map(|items| estimate(items)).collect(),
            tables,
        });
        Ok(())
    }

    /// The scores of a session that has some. Parsed, so that the order in which a database keeps fields does not matter.
    fn scores_of(&self, cell: &Cell, row: &SessionRow) -> Result<Option<Scores>, FinishError> {
        if matches!(row.outcome, Outcome::NotMeasured { .. }) {
            return Ok(None);
        }
        serde::Deserialize::deserialize(&row.scores).map(Some).map_err(|source| FinishError::Scores {
            cell: cell.index.0,
            item: row.item_id.clone(),
            source,
        })
    }

    fn count(&mut self, cell: &Cell, row: Option<&SessionRow>, counts: &mut SessionCounts) {
        let counter = match row.map(|row| &row.outcome) {
            None => &mut counts.not_run,
            Some(Outcome::Measured) => &mut counts.measured,
            Some(Outcome::ModelFailure { .. }) => &mut counts.model_failures,
            Some(Outcome::NotMeasured { .. }) => &mut counts.not_measured,
        };
        *counter += 1;
        let (outcome, cause) = row.map_or(("not_run", ""), |row| {
            (row.outcome.as_str(), row.outcome.cause().map_or("", regatta_proto::Cause::as_str))
        });
        *self.outcomes.entry((outcome, cause)).or_default() += 1;
        if let Some(row) = row
            && row.outcome == (Outcome::NotMeasured { cause: Cause::Poison })
        {
            self.poisoned.get_or_insert((cell.index, row.item));
        }
        for served in row.iter().flat_map(|row| &row.served) {
            *self.served.entry(served.clone()).or_default() += 1;
        }
    }

    fn table(&self, evaluator: Evaluator, known: &[(ItemIndex, Scores)]) -> Table {
        let scores: Vec<(ItemIndex, &Score)> =
            known.iter().filter_map(|(item, scores)| Some((*item, scores.get(&evaluator)?))).collect();
        self.suite.tabulate(evaluator, &scores)
    }

    /// All sessions added so far.
    pub(crate) const fn sessions(&self) -> &SessionCounts {
        &self.sessions
    }

    /// Sessions added so far, by outcome and cause.
    pub(crate) const fn outcomes(&self) -> &BTreeMap<(&'static str, &'static str), u64> {
        &self.outcomes
    }

    /// What all cells are together.
    pub(crate) fn finish(self) -> GroupResult {
        let estimate_at = |at: usize, positions: &[usize]| {
            let items: Vec<ItemScores> = positions.iter().map(|position| self.scores[*position][at]).collect();
            estimate(&items)
        };
        let over = |positions: &[usize]| (0..self.keys.len()).map(|at| estimate_at(at, positions)).collect();
        let all: Vec<usize> = (0..self.scores.len()).collect();
        let tasks = self
            .tasks()
            .into_iter()
            .map(|(task, positions)| TaskResult { task, items: positions.len() as u32, estimates: over(&positions) })
            .collect();
        let paper = paper_columns(&self.cells);
        let is_compared = is_compared(self.sweep, &self.first.model);
        GroupResult {
            first: self.first.clone(),
            simulated: is_simulated(self.sweep, &self.first.model)
                || self.served.keys().any(|served| served.ends_with("(simulated)")),
            items: self.scores.len() as u32,
            headline: headline(&self.keys, &paper),
            estimates: over(&all),
            sessions: self.sessions,
            tasks,
            paper,
            keys: self.keys,
            cells: self.cells,
            outcomes: self.outcomes,
            poisoned: self.poisoned,
            served: self.served,
            item_scores: if is_compared { self.scores } else { Vec::new() },
        }
    }

    /// Tasks in the order of the data set, with the positions of their items.
    fn tasks(&self) -> Vec<(String, Vec<usize>)> {
        let mut tasks: Vec<(String, Vec<usize>)> = Vec::new();
        for (position, index) in self.sweep.selected(self.first).iter().enumerate() {
            let Some(item) = self.sweep.item(self.first, *index) else { continue };
            match tasks.iter_mut().find(|(task, _)| **task == *item.task) {
                Some((_, positions)) => positions.push(position),
                None => tasks.push((item.task.to_string(), vec![position])),
            }
        }
        tasks
    }
}

/// Whether the spec says that `model` is simulated.
pub(crate) fn is_simulated(sweep: &Sweep, model: &ModelRef) -> bool {
    sweep.lock.endpoints.get(&model.endpoint).is_some_and(|endpoint| endpoint.kind == EndpointKind::Simulated)
}

/// A value that a score lacks counts as wrong, as in the benchmarks' own tables.
fn value(scores: &Scores, evaluator: Evaluator, name: &str) -> f64 {
    scores.get(&evaluator).and_then(|score| score.values.get(name)).copied().unwrap_or_default()
}
