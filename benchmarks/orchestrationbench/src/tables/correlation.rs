//! Correlation of the three abilities over models (Pearson), beside the published values.

use regatta_benchmarks::pearson;
use regatta_benchmarks::{CellResult, Measured, PaperColumn, PaperEntry, PaperTable, Unit};

use super::measure::Measure;
use super::published::{correlations, english_of_paper};
use super::row;
use crate::data::Language;
use crate::setting::Mode;

const PAIRS: [(Measure, Measure, &str); 3] = [
    (Measure::CallRejection, Measure::Plan, "C/R, Plan"),
    (Measure::CallRejection, Measure::FunctionCall, "C/R, FC"),
    (Measure::Plan, Measure::FunctionCall, "Plan, FC"),
];

/// Least number of models: over two, for example, a correlation is always 1 or −1.
const MODELS_MIN: usize = 5;

/// A row for each setting and language in which enough models have numbers.
pub(super) fn correlation_table(cells: &[CellResult<'_>]) -> PaperTable {
    let mut rows = Vec::new();
    for mode in Mode::ALL {
        for language in Language::ALL {
            let of_mode = cells.iter().filter(|cell| Mode::of(cell.setting) == Some(mode));
            let known: Vec<&CellResult<'_>> =
                of_mode.filter(|cell| Measure::Average.of(cell, language).value.is_some()).collect();
            if known.len() < MODELS_MIN {
                continue;
            }
            let values =
                |measure: Measure| known.iter().map(|cell| measure.of(cell, language).value).collect::<Vec<_>>();
            let published = correlations(language).filter(|_| mode == Mode::Stepwise);
            let entries = PAIRS.iter().enumerate().map(|(at, (one, other, _))| PaperEntry {
                ours: Measured { value: pearson(&values(*one), &values(*other)), ..Measured::default() },
                published: published.and_then(|values| values.get(at).copied()),
            });
            let keys = vec![mode.name().to_owned(), language.name().to_owned(), known.len().to_string()];
            rows.extend(row(keys, &known, entries.collect()));
        }
    }
    let column = |label: &str| PaperColumn { label: label.to_owned(), unit: Unit::Plain, decimals: 3 };
    PaperTable {
        name: "correlations".to_owned(),
        title: "Correlations between the abilities over models (Pearson)".to_owned(),
        keys: ["setting", "language", "models"].map(str::to_owned).to_vec(),
        columns: PAIRS.iter().map(|(_, _, label)| column(label)).collect(),
        rows,
        notes: vec![published_models()],
        is_figure: false,
    }
}

/// Note on the number of models behind the published values, which differs from those whose numbers are known here.
fn published_models() -> String {
    let known = english_of_paper();
    let over_known = PAIRS.map(|(one, other, label)| {
        let values = |measure: Measure| known.iter().map(|model| model(measure)).collect::<Vec<_>>();
        let value = pearson(&values(one), &values(other));
        format!("{label}: {}", value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}")))
    });
    format!(
        "The published values are over all models of the paper, whose number is not known here: over the {} English ones that are, they would \
         be {}.",
        known.len(),
        over_known.join("; ")
    )
}
