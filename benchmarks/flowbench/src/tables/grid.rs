//! Lookup of a sweep's cells by setting and model, and rows made from them.

use regatta_benchmarks::{CellResult, PaperEntry, PaperRow};
use regatta_proto::ModelRef;

use crate::setting::{Format, Level, Mode, Scope};

/// Cells by model, level, scope and format.
pub(crate) struct Grid<'a> {
    cells: Vec<(Mode, &'a CellResult<'a>)>,
    /// Models in the order of their first cells.
    pub(crate) models: Vec<&'a ModelRef>,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(cells: &'a [CellResult<'a>]) -> Self {
        let cells: Vec<_> = cells.iter().filter_map(|cell| Some((Mode::of(cell.setting)?, cell))).collect();
        let mut models: Vec<&ModelRef> = Vec::new();
        for (_, cell) in &cells {
            if !models.contains(&cell.model) {
                models.push(cell.model);
            }
        }
        Self { cells, models }
    }

    /// Finds the cell of `model` in a mode.
    pub(crate) fn cell(
        &self,
        model: &ModelRef,
        level: Level,
        scope: Scope,
        format: Format,
    ) -> Option<&'a CellResult<'a>> {
        let is_it = |of: &Mode, cell: &CellResult<'_>| {
            (of.level, of.scope, of.format) == (level, scope, format) && cell.model == model
        };
        let cells = self.cells.iter().filter(|(of, cell)| is_it(of, cell));
        // When a sweep has both limits or both selections of lengths, the paper's tables show the longer sessions and
        // the paper's limits.
        cells.min_by_key(|(of, _)| (of.lengths, of.stop)).map(|(_, cell)| *cell)
    }

    /// Returns `true` if any cell at `level` has `metric`.
    pub(crate) fn has(&self, level: Level, metric: &str) -> bool {
        self.cells.iter().any(|(of, cell)| of.level == level && cell.metrics.contains_key(metric))
    }

    /// Returns the scopes of the cells at `level` in one of `formats`.
    pub(crate) fn scopes(&self, level: Level, formats: &[Format]) -> Vec<Scope> {
        let has = |scope: &Scope| {
            self.cells.iter().any(|(of, _)| of.level == level && of.scope == *scope && formats.contains(&of.format))
        };
        Scope::ALL.into_iter().filter(has).collect()
    }

    /// Filters `formats` by those with a cell at `level`.
    pub(crate) fn formats(&self, level: Level, formats: &[Format]) -> Vec<Format> {
        let has = |format: &Format| self.cells.iter().any(|(of, _)| of.level == level && of.format == *format);
        formats.iter().copied().filter(has).collect()
    }

    /// Returns the domains of the data (the parts of the cells) in the order of the paper, then unknown ones by name.
    pub(crate) fn domains(&self, level: Level) -> Vec<&'a str> {
        const PUBLISHED: [&str; 6] = [
            "Customer Service",
            "Personal Assistant",
            "E-tailing Recommandation",
            "Travel&Transportation",
            "Logistics Solutions",
            "Robotic Process Automation",
        ];
        let cells = self.cells.iter().filter(|(of, _)| of.level == level);
        let mut domains: Vec<&str> = cells.flat_map(|(_, cell)| cell.parts.keys().copied()).collect();
        let place = |domain: &str| PUBLISHED.iter().position(|known| *known == domain).unwrap_or(PUBLISHED.len());
        domains.sort_by_key(|domain| (place(domain), *domain));
        domains.dedup();
        domains
    }
}

/// Makes a row over `cells`; `None` when the sweep has none of them.
pub(crate) fn row(keys: Vec<String>, cells: &[Option<&CellResult<'_>>], entries: Vec<PaperEntry>) -> Option<PaperRow> {
    let known: Vec<&CellResult<'_>> = cells.iter().copied().flatten().collect();
    let (scored, sessions) =
        known.iter().fold((0, 0), |(scored, sessions), cell| (scored + cell.scored, sessions + cell.sessions));
    (!known.is_empty()).then(|| PaperRow {
        keys,
        simulated: known.iter().any(|cell| cell.simulated),
        coverage: if sessions == 0 { 0.0 } else { scored as f64 / sessions as f64 },
        entries,
    })
}
