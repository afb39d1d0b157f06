//! Sessions by their place in the grid of a run.

use std::sync::Arc;

use regatta_benchmarks::RatedScore;
use regatta_catalog::Sweep;
use regatta_proto::{Cell, CellIndex, ItemIndex};

use crate::Viewer;
use crate::problem::Problem;
use crate::source::Run;

/// A session that the run has, run or not.
pub(crate) struct Located {
    pub(crate) run: Run,
    pub(crate) sweep: Arc<Sweep>,
    pub(crate) cell: Cell,
    pub(crate) item: ItemIndex,
}

impl Located {
    /// The judge's score that people may rate too.
    pub(super) fn rated_score(&self) -> Option<RatedScore> {
        self.sweep.suite(&self.cell)?.rated_score(&self.cell.setting)
    }
}

/// Finds the session in the run's grid.
pub(super) async fn locate(viewer: &Viewer, name: &str, cell: u32, item: u32) -> Result<Located, Problem> {
    let run = viewer.source.run(name).await?;
    let sweep = run.sweep().await?;
    let (index, item) = (CellIndex(cell), ItemIndex(item));
    let missing = || Problem::missing(format!("the run has no session of item {item} in cell {cell}"));
    let cell = sweep.cell(index).ok_or_else(missing)?.clone();
    match sweep.selected(&cell).contains(&item) {
        true => Ok(Located { run, sweep, cell, item }),
        false => Err(missing()),
    }
}
