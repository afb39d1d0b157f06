//! The benchmark's tables across settings and models, with the published numbers beside ours
//! (docs/benchmarks/orchestrationbench.md §9), and two tables of our own: the loss from errors that propagate, and
//! the results by domain agent.

mod averages;
mod correlation;
mod measure;
mod published;

#[cfg(test)]
mod tests;

pub(crate) use self::averages::aggregate_range;

use std::collections::BTreeSet;

use regatta_benchmarks::{CellResult, Measured, PaperColumn, PaperEntry, PaperRow, PaperTable, Unit};
use regatta_proto::{Evaluator, ModelRef};

use self::correlation::correlation_table;
use self::measure::Measure;
use self::published::published;
use super::data::Language;
use super::setting::Mode;

/// Languages in the order of the repository's table.
const KOREAN_FIRST: [Language; 2] = [Language::Ko, Language::En];

/// Makes all tables that `cells` can fill, in this order: the results of each setting, the gap between the settings,
/// correlations, domains, and published results of other models.
pub(crate) fn paper_tables(evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
    if cells.is_empty() {
        return Vec::new();
    }
    let mut tables: Vec<PaperTable> = Mode::ALL.into_iter().map(|mode| results(evaluator, cells, mode)).collect();
    tables.push(gap(cells));
    tables.push(correlation_table(cells));
    tables.push(domains(cells));
    tables.push(of_other_models(evaluator, cells));
    tables.retain(|table| !table.rows.is_empty() && !table.columns.is_empty());
    tables
}

/// The repository's table for one setting.
fn results(evaluator: Evaluator, cells: &[CellResult<'_>], mode: Mode) -> PaperTable {
    let rows = cells.iter().filter(|cell| Mode::of(cell.setting) == Some(mode)).filter_map(|cell| {
        // The paper and the repository report the stepwise protocol alone.
        let published = |measure: Measure, language: Option<Language>| {
            (mode == Mode::Stepwise).then(|| published(evaluator, cell.family, measure, language)).flatten()
        };
        let entry = |(measure, language): (Measure, Option<Language>)| PaperEntry {
            ours: language.map_or_else(|| measure.of_both(cell), |language| measure.of(cell, language)),
            published: published(measure, language),
        };
        row(vec![cell.model.to_string()], &[cell], result_columns().map(entry).collect())
    });
    PaperTable {
        name: format!("results-{}", mode.name()),
        title: match mode {
            Mode::Stepwise => "Results, every call with the gold history".to_owned(),
            Mode::EndToEnd => "Results end to end, every call with what the model did before".to_owned(),
        },
        keys: vec!["model".to_owned()],
        columns: result_headings(),
        rows: rows.collect(),
        notes: notes(evaluator),
        is_figure: false,
    }
}

/// Columns of the repository's table; without a language it is both.
fn result_columns() -> impl Iterator<Item = (Measure, Option<Language>)> {
    let of = |measure| KOREAN_FIRST.into_iter().map(move |language| (measure, Some(language)));
    std::iter::once((Measure::Average, None)).chain(Measure::ALL.into_iter().flat_map(of))
}

fn result_headings() -> Vec<PaperColumn> {
    let label = |(measure, language): (Measure, Option<Language>)| {
        percent(&format!("{} {}", measure.label(), language.map_or("All", Language::name)))
    };
    result_columns().map(label).collect()
}

fn notes(evaluator: Evaluator) -> Vec<String> {
    let of = match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => {
            "Published numbers are those of the repository's table; Call Rejection is the mean of two F1 scores."
        }
        _ => {
            "Published numbers are those of the paper, English only, of other models than the repository's table; Call Rejection is an \
             accuracy."
        }
    };
    vec![
        of.to_owned(),
        "A trial is one of the paper's iterations; numbers are those of all trials together.".to_owned(),
        // With a limit, the languages may have different numbers of scenarios, and the two numbers are apart.
        "Average All is the mean of the two languages' averages, whatever their numbers of scenarios; the metric `score` is another number: \
         every scenario weighs the same."
            .to_owned(),
    ]
}

/// Loss of a model when its own errors propagate: both settings, and by how much the stepwise one is higher.
fn gap(cells: &[CellResult<'_>]) -> PaperTable {
    let mut rows = Vec::new();
    for model in models(cells) {
        let of_mode = |mode| cells.iter().find(|cell| cell.model == model && Mode::of(cell.setting) == Some(mode));
        let (Some(stepwise), Some(end_to_end)) = (of_mode(Mode::Stepwise), of_mode(Mode::EndToEnd)) else { continue };
        for language in Language::ALL {
            let values = Measure::ALL.map(|measure| [stepwise, end_to_end].map(|cell| measure.of(cell, language)));
            if values.iter().flatten().all(|measured| measured.value.is_none()) {
                continue;
            }
            let entries = values.into_iter().flat_map(|[stepwise, end_to_end]| {
                let gap = stepwise.value.zip(end_to_end.value).map(|(stepwise, end_to_end)| stepwise - end_to_end);
                [stepwise, end_to_end, Measured { value: gap, ..Measured::default() }]
            });
            let keys = vec![model.to_string(), language.name().to_owned()];
            rows.extend(row(keys, &[stepwise, end_to_end], entries.map(ours).collect()));
        }
    }
    let columns = Measure::ALL.into_iter().flat_map(|measure| {
        let names = Mode::ALL.map(Mode::name).into_iter().chain(["gap"]);
        names.map(move |name| percent(&format!("{} {name}", measure.label())))
    });
    PaperTable {
        name: "planning-execution-gap".to_owned(),
        title: "Planning–execution gap: the gold history against the model's own".to_owned(),
        keys: ["model", "language"].map(str::to_owned).to_vec(),
        columns: columns.collect(),
        rows,
        notes: vec![
            "The gap is stepwise − end-to-end, in points; below zero the model did better on its own.".to_owned(),
        ],
        is_figure: false,
    }
}

/// Results by the agent of the step; the orchestrator's steps are the plans.
fn domains(cells: &[CellResult<'_>]) -> PaperTable {
    let has = |measure: &Measure| {
        cells.iter().flat_map(|cell| cell.parts.values()).any(|metrics| metrics.contains_key(measure.metric()))
    };
    let measures: Vec<Measure> =
        [Measure::Plan, Measure::CallRejection, Measure::FunctionCall].into_iter().filter(has).collect();
    let agents: BTreeSet<&str> = cells.iter().flat_map(|cell| cell.parts.keys().copied()).collect();
    let mut rows = Vec::new();
    for cell in cells {
        for agent in agents.iter().filter(|agent| cell.parts.contains_key(**agent)) {
            let of = |measure: &Measure| ours(cell.metric_of_part(agent, measure.metric()));
            let keys = vec![cell.model.to_string(), cell.setting.to_string(), (*agent).to_owned()];
            rows.extend(row(keys, &[cell], measures.iter().map(of).collect()));
        }
    }
    PaperTable {
        name: "domains".to_owned(),
        title: "By domain: the agent whose step it is".to_owned(),
        keys: ["model", "setting", "agent"].map(str::to_owned).to_vec(),
        columns: measures.iter().map(|measure| percent(measure.label())).collect(),
        rows,
        notes: vec!["Means over both languages' steps; coverage is that of all agents together.".to_owned()],
        is_figure: false,
    }
}

/// Published results of models that are not in the sweep.
fn of_other_models(evaluator: Evaluator, cells: &[CellResult<'_>]) -> PaperTable {
    let is_known = |model: &str| {
        cells.iter().any(|cell| cell.family.rsplit('/').next().unwrap_or(cell.family).eq_ignore_ascii_case(model))
    };
    let others = published::models(evaluator).into_iter().filter(|model| !is_known(model));
    let rows = others.map(|model| PaperRow {
        keys: vec![format!("{model} (published)")],
        simulated: false,
        coverage: 0.0,
        entries: result_columns()
            .map(|(measure, language)| PaperEntry {
                ours: Measured::default(),
                published: published(evaluator, model, measure, language),
            })
            .collect(),
    });
    PaperTable {
        name: "published".to_owned(),
        title: "Published results of other models".to_owned(),
        keys: vec!["model".to_owned()],
        columns: result_headings(),
        rows: rows.collect(),
        notes: notes(evaluator).into_iter().take(1).collect(),
        is_figure: false,
    }
}

/// Models in the order of their first cells.
fn models<'a>(cells: &[CellResult<'a>]) -> Vec<&'a ModelRef> {
    let mut models = Vec::new();
    for cell in cells {
        if !models.contains(&cell.model) {
            models.push(cell.model);
        }
    }
    models
}

/// A row over `cells`; `None` when there are none.
fn row(keys: Vec<String>, cells: &[&CellResult<'_>], entries: Vec<PaperEntry>) -> Option<PaperRow> {
    let (scored, sessions) =
        cells.iter().fold((0, 0), |(scored, sessions), cell| (scored + cell.scored, sessions + cell.sessions));
    (!cells.is_empty()).then(|| PaperRow {
        keys,
        simulated: cells.iter().any(|cell| cell.simulated),
        coverage: if sessions == 0 { 0.0 } else { scored as f64 / sessions as f64 },
        entries,
    })
}

fn percent(label: &str) -> PaperColumn {
    PaperColumn { label: label.to_owned(), unit: Unit::Percent, decimals: 2 }
}

const fn ours(ours: Measured) -> PaperEntry {
    PaperEntry { ours, published: None }
}
