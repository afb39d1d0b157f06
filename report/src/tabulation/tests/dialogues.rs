//! A made-up benchmark of dialogues: turns in conversations, ratios of sums, a table and a picture with published numbers.

use std::sync::Arc;

use regatta_benchmarks::{
    Better, CellResult, Dataset, Evaluation, Item, Measure, Metric, PaperColumn, PaperEntry, PaperRow, PaperTable,
    Pictures, Predictions, Score, Scores, Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, Unit,
    Verdicts,
};
use regatta_proto::{Evaluator, ItemIndex, Setting, Transcript};

/// The suite.
pub(crate) struct Dialogues {
    items: Vec<Item>,
}

impl Dialogues {
    /// Three conversations of two turns.
    pub(crate) const ITEMS: usize = 6;

    pub(crate) fn new() -> Self {
        let item = |at: usize| Item {
            id: format!("c{}_turn-{}", at / 2, at % 2).parse().unwrap(),
            task: "support".into(),
            group: Some(format!("c{}", at / 2).into()),
        };
        Self { items: (0..Self::ITEMS).map(item).collect() }
    }
}

fn table(name: &str, title: &str, metric: &str, unit: Unit, cells: &[CellResult<'_>]) -> PaperTable {
    let entry = |cell: &CellResult<'_>, of: &str| PaperEntry {
        ours: if of == "all" { cell.metric(metric) } else { cell.metric_of_part(of, metric) },
        published: (cell.family == "first" && of == "all").then_some(0.834),
    };
    let row = |cell: &CellResult<'_>| PaperRow {
        keys: vec![cell.model.to_string(), "text".to_owned()],
        simulated: cell.simulated,
        coverage: cell.coverage(),
        entries: vec![entry(cell, "all"), entry(cell, "first conversation")],
    };
    PaperTable {
        name: name.to_owned(),
        title: title.to_owned(),
        keys: vec!["model".to_owned(), "format".to_owned()],
        columns: ["all", "first conversation"]
            .map(|label| PaperColumn { label: label.to_owned(), unit, decimals: 1 })
            .to_vec(),
        rows: cells.iter().map(row).collect(),
        notes: vec!["Synthetic data: comparable with nothing.".to_owned()],
        is_figure: name.starts_with("figure"),
    }
}

impl Dataset for Dialogues {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok((0..Self::ITEMS as u32).map(ItemIndex).collect())
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        if item.0 < 2 { vec!["first conversation".into()] } else { Vec::new() }
    }
}

impl Sessions for Dialogues {
    fn next(&self, _: ItemIndex, _: &Setting, _: &Transcript) -> Step {
        Step::Done
    }
}

impl Evaluation for Dialogues {
    fn score(&self, _: ItemIndex, _: &[Evaluator], _: &Transcript, _: &dyn Verdicts) -> Scoring {
        Scoring::Needs(Vec::new())
    }

    fn score_failure(&self, _: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        let values = [("gold", 2.0), ("predicted", 0.0), ("right", 0.0), ("turns", 20.0)];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let score = Score { values, detail: serde_json::Value::Null };
        evaluators.iter().map(|evaluator| (*evaluator, score.clone())).collect()
    }

    /// Turns are counted.
    fn is_judged(&self, _: Evaluator, value: &str) -> bool {
        value == "right"
    }
}

impl Tables for Dialogues {
    /// Number of scores of each trial, and whether any has a detail besides its values.
    fn tabulate(&self, _: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        let sizes: Vec<usize> = trials.iter().map(Vec::len).collect();
        let has_details = trials.iter().flatten().any(|(_, score)| !score.detail.is_null());
        Table { aggregate: serde_json::json!({"trials": sizes, "has_details": has_details}), columns: Vec::new() }
    }

    /// Nothing is executed in a dialogue.
    fn metrics(&self, _: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        if evaluator == Evaluator::Exec {
            return Vec::new();
        }
        let [right, predicted, gold] = ["right", "predicted", "gold"].map(str::to_owned);
        let ratio = |denominator: &String, of_item| Measure::Ratio {
            numerator: right.clone(),
            denominator: denominator.clone(),
            of_item,
        };
        let percent = |name: &str, measure| Metric { measure, unit: Unit::Percent, ..Metric::mean(name) };
        vec![
            percent("precision", ratio(&predicted, false)),
            percent("recall", ratio(&gold, true)),
            percent("f1", Measure::F1 { right: right.clone(), predicted: predicted.clone(), gold: gold.clone() }),
            Metric {
                range: (0.0, 20.0),
                better: Better::Lower,
                unit: Unit::Turns,
                missing_if: [("turns".to_owned(), "turns_ungraded".to_owned())].into(),
                ..Metric::mean("turns")
            },
        ]
    }

    fn paper_tables(&self, _: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        vec![
            table("table-3", "Table 3: turn level", "f1", Unit::Percent, cells),
            table("figure-4", "Figure 4: turns", "turns", Unit::Turns, cells),
        ]
    }
}

impl Predictions for Dialogues {}
impl Simulated for Dialogues {}
impl Pictures for Dialogues {}
