//! The paper's tables and figures across settings and models, with the published numbers beside ours (docs/benchmarks/flowbench.md §9).

mod alignment;
mod averages;
mod grid;
mod metrics;
mod published;

#[cfg(test)]
mod tests;

pub use alignment::{JudgedSession, alignment};
pub(crate) use averages::aggregate_range;
pub(crate) use metrics::{metrics, name};

use regatta_proto::{Evaluator, ModelRef};

use self::grid::{Grid, row};
use self::published::{Place, published};
use crate::setting::{Format, Level, Scope};
use regatta_benchmarks::{CellResult, Measured, PaperColumn, PaperEntry, PaperRow, PaperTable, Unit};

/// Formats of the main tables.
const MAIN: [Format; 4] = [Format::None, Format::Text, Format::Code, Format::Flowchart];
/// Formats of the table with less and with more knowledge.
const EXTREMES: [Format; 2] = [Format::NoneWithoutTools, Format::Ensemble];

/// A column of each scope: heading and metric.
type Heading = (&'static str, &'static str);

/// Makes all tables and figures of the paper that `cells` can fill. The parts of the data set in the cells are its
/// domains.
pub(crate) fn paper_tables(evaluator: Evaluator, synthetic: bool, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
    let grid = Grid::new(cells);
    let tables = [
        turn_level(&grid),
        session_level(&grid),
        extremes(&grid),
        failures(&grid),
        nodes(&grid),
        domains(&grid, Level::Session, name::TOOL_F1, "tool F1"),
        domains(&grid, Level::Session, name::SUCCESS_RATE, "success rate"),
        domains(&grid, Level::Turn, name::TOOL_F1, "tool F1"),
        turns(&grid),
    ];
    let mut tables: Vec<PaperTable> =
        tables.into_iter().filter(|table| !table.rows.is_empty() && !table.columns.is_empty()).collect();
    for table in &mut tables {
        table.notes.extend(notes(evaluator, synthetic, table));
    }
    tables
}

fn notes(evaluator: Evaluator, synthetic: bool, table: &PaperTable) -> Vec<String> {
    let mut notes = Vec::new();
    let has_published = table.rows.iter().flat_map(|row| &row.entries).any(|entry| entry.published.is_some());
    if synthetic {
        let or_published = if has_published { ", and published numbers are not what to expect" } else { "" };
        notes.push(format!("Synthetic data: comparable with nothing but itself{or_published}."));
    }
    if evaluator == Evaluator::Official && table.name == "table-3-turn-level" {
        notes.push(
            "The evaluator official prints nothing where the released code crashes; such trials are left out, and where all crash there is \
             a dash. official_fixed does not crash."
                .to_owned(),
        );
    }
    if evaluator == Evaluator::Official && table.name == "table-4-session-level" {
        notes.push(
            "The evaluator official compares calls as the released code does, whose faults let hardly any call with a text match; \
             official_fixed is what its authors meant."
                .to_owned(),
        );
    }
    notes
}

fn turn_level(grid: &Grid<'_>) -> PaperTable {
    let headings = [
        ("tool P", name::TOOL_PRECISION),
        ("tool R", name::TOOL_RECALL),
        ("tool F1", name::TOOL_F1),
        ("param F1", name::PARAM_F1),
        ("response", name::RESPONSE_SCORE),
    ];
    PaperTable {
        name: "table-3-turn-level".to_owned(),
        title: "Table 3: turn level".to_owned(),
        ..by_scope(grid, Level::Turn, &MAIN, &headings)
    }
}

fn session_level(grid: &Grid<'_>) -> PaperTable {
    let headings = [
        ("tool P", name::TOOL_PRECISION),
        ("tool R", name::TOOL_RECALL),
        ("tool F1", name::TOOL_F1),
        ("success", name::SUCCESS_RATE),
        ("progress", name::PROGRESS),
    ];
    PaperTable {
        name: "table-4-session-level".to_owned(),
        title: "Table 4: session level".to_owned(),
        ..by_scope(grid, Level::Session, &MAIN, &headings)
    }
}

fn extremes(grid: &Grid<'_>) -> PaperTable {
    let headings = [("tool F1", name::TOOL_F1), ("success", name::SUCCESS_RATE), ("progress", name::PROGRESS)];
    PaperTable {
        name: "table-5-least-and-most-knowledge".to_owned(),
        title: "Table 5: the least and the most knowledge".to_owned(),
        ..by_scope(grid, Level::Session, &EXTREMES, &headings)
    }
}

fn nodes(grid: &Grid<'_>) -> PaperTable {
    PaperTable {
        name: "table-9-node-accuracy".to_owned(),
        title: "Table 9: node accuracy".to_owned(),
        ..by_scope(grid, Level::Turn, &[Format::Flowchart], &[("node accuracy", name::NODE_ACCURACY)])
    }
}

/// Makes a table with models and formats as rows, and the metrics of each scope that was run as columns.
fn by_scope(grid: &Grid<'_>, level: Level, formats: &[Format], headings: &[Heading]) -> PaperTable {
    let scopes = grid.scopes(level, formats);
    // Some evaluators lack some metrics.
    let headings: Vec<Heading> = headings.iter().copied().filter(|(_, metric)| grid.has(level, metric)).collect();
    let headings = headings.as_slice();
    let columns = scopes.iter().flat_map(|scope| {
        headings.iter().map(move |(heading, metric)| column(&format!("{} {heading}", scope.name()), metric))
    });
    let of = |model: &ModelRef, format: Format| {
        let cells: Vec<_> = scopes.iter().map(|scope| grid.cell(model, level, *scope, format)).collect();
        let entries = scopes.iter().zip(&cells).flat_map(|(scope, cell)| {
            headings.iter().map(move |(_, metric)| entry(*cell, level, *scope, format, metric))
        });
        row(vec![model.to_string(), format.name().to_owned()], &cells, entries.collect())
    };
    PaperTable {
        keys: keys(&["model", "format"]),
        columns: columns.collect(),
        rows: grid.models.iter().flat_map(|model| formats.iter().filter_map(|format| of(model, *format))).collect(),
        ..PaperTable::default()
    }
}

fn failures(grid: &Grid<'_>) -> PaperTable {
    const LABELS: [&str; 5] = ["1 missing steps", "2 wrong order", "3 wrong transition", "4 tool usage", "5 other"];
    let has_failures = grid.has(Level::Session, name::FAILURES[0]);
    let formats = if has_failures { grid.formats(Level::Session, &Format::ALL) } else { Vec::new() };
    let mut rows = Vec::new();
    for model in &grid.models {
        for scope in Scope::ALL {
            for format in &formats {
                let cell = grid.cell(model, Level::Session, scope, *format);
                let of = |metric: &&'static str| entry(cell, Level::Session, scope, *format, metric);
                let keys = [model.to_string(), scope.name().to_owned(), format.name().to_owned()];
                rows.extend(row(keys.to_vec(), &[cell], name::FAILURES.iter().map(of).collect()));
            }
        }
    }
    PaperTable {
        name: "table-7-failures".to_owned(),
        title: "Table 7: kinds of failures, as shares of the unsuccessful sessions".to_owned(),
        keys: keys(&["model", "setting", "format"]),
        columns: LABELS.into_iter().map(PaperColumn::percent).collect(),
        rows,
        ..PaperTable::default()
    }
}

fn domains(grid: &Grid<'_>, level: Level, metric: &'static str, heading: &str) -> PaperTable {
    let formats = grid.formats(level, &MAIN);
    let mut rows: Vec<PaperRow> = Vec::new();
    for model in &grid.models {
        for scope in Scope::ALL {
            let cells: Vec<_> = formats.iter().map(|format| grid.cell(model, level, scope, *format)).collect();
            for domain in grid.domains(level) {
                // The coverage is that of the whole cells, because parts have none of their own.
                let of = |cell: &Option<&CellResult<'_>>| {
                    ours(cell.map(|cell| cell.metric_of_part(domain, metric)).unwrap_or_default())
                };
                let keys = vec![model.to_string(), scope.name().to_owned(), domain.to_owned()];
                rows.extend(row(keys, &cells, cells.iter().map(of).collect()));
            }
        }
    }
    PaperTable {
        name: format!("figure-3-{}-{metric}", level.name()).replace('_', "-"),
        title: format!("Figure 3: {heading} by domain, {} level", level.name()),
        keys: keys(&["model", "setting", "domain"]),
        columns: formats.iter().map(|format| column(format.name(), metric)).collect(),
        rows,
        is_figure: true,
        ..PaperTable::default()
    }
}

fn turns(grid: &Grid<'_>) -> PaperTable {
    let formats = grid.formats(Level::Session, &Format::ALL);
    let mut rows = Vec::new();
    for model in &grid.models {
        for scope in Scope::ALL {
            let cells: Vec<_> = formats.iter().map(|format| grid.cell(model, Level::Session, scope, *format)).collect();
            let of = |cell: &Option<&CellResult<'_>>| {
                ours(cell.map(|cell| cell.metric(name::AVG_TURNS)).unwrap_or_default())
            };
            let keys = vec![model.to_string(), scope.name().to_owned()];
            rows.extend(row(keys, &cells, cells.iter().map(of).collect()));
        }
    }
    PaperTable {
        name: "figures-4-and-6-turns".to_owned(),
        title: "Figures 4 and 6: average turns of a session".to_owned(),
        keys: keys(&["model", "setting"]),
        columns: formats.iter().map(|format| column(format.name(), name::AVG_TURNS)).collect(),
        rows,
        is_figure: true,
        ..PaperTable::default()
    }
}

/// Makes a column with the unit and digits that the paper gives `metric`.
fn column(label: &str, metric: &str) -> PaperColumn {
    match metric {
        name::RESPONSE_SCORE => PaperColumn { label: label.to_owned(), unit: Unit::OutOfTen, decimals: 2 },
        name::AVG_TURNS => PaperColumn { label: label.to_owned(), unit: Unit::Turns, decimals: 1 },
        _ => PaperColumn::percent(label),
    }
}

fn entry(cell: Option<&CellResult<'_>>, level: Level, scope: Scope, format: Format, metric: &str) -> PaperEntry {
    let Some(cell) = cell else { return PaperEntry::default() };
    let place = Place { model: cell.family, level, scope, format };
    PaperEntry { ours: cell.metric(metric), published: published(place, metric) }
}

const fn ours(ours: Measured) -> PaperEntry {
    PaperEntry { ours, published: None }
}

fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
