//! The tables of the benchmarks' papers.

use regatta_benchmarks::{Measured, PaperEntry, PaperRow, PaperTable};

use super::content::{Bars, Block, Field, Section, Sheet};
use super::numbers::{WITHHELD, heading, percent};
use crate::summary::Summary;

/// All tables, those that the papers draw as pictures too; `None` without any.
pub(crate) fn section(summary: &Summary) -> Option<Section> {
    let Summary { tables, coverage_min, .. } = summary;
    let coverage_min = *coverage_min;
    if tables.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(format!(
        "The tables of the benchmarks' papers: means over trials, with {} intervals where one is known, and ± the standard deviation of \
         single trials. Published numbers stand below ours where the paper has the same row. A dash is a value that this sweep does not \
         have; one of which less than {} of the sessions was measured is withheld.",
        summary.level,
        percent(coverage_min)
    ))];
    for of in tables {
        let table = &of.table;
        let caption = format!("{} · {} · evaluator {}", of.benchmark, table.title, of.evaluator);
        if table.is_figure {
            blocks.push(Block::Bars(bars(caption.clone(), table, coverage_min)));
        }
        let of = Some((of.benchmark.clone(), of.evaluator));
        blocks.push(Block::Table(Sheet { of, ..sheet(caption, table, coverage_min) }));
        blocks.extend(table.notes.iter().map(|note| Block::Text(note.clone())));
    }
    Some(Section { id: "papers", title: "The papers' tables".to_owned(), is_folded: true, blocks })
}

/// The table's columns with our rows, each followed by the published one if there is one.
fn sheet(caption: String, table: &PaperTable, coverage_min: f64) -> Sheet {
    let mut header = table.keys.clone();
    header.extend(table.columns.iter().map(|column| heading(&column.label, column.unit)));
    header.push("coverage".to_owned());
    let mut rows = Vec::new();
    for row in &table.rows {
        let ours = |at: usize| row.entries.get(at).map(|entry| entry.ours).unwrap_or_default();
        let mut line = keys(row);
        let is_withheld = row.coverage < coverage_min;
        line.extend(fields(table, ours).into_iter().map(|field| withheld(field, is_withheld)));
        line.push(Field::Number(percent(row.coverage)));
        rows.push(line);
        if row.entries.iter().any(|entry| entry.published.is_some()) {
            let published = |at: usize| Measured {
                value: row.entries.get(at).and_then(|entry| entry.published),
                ..Measured::default()
            };
            let mut line = vec![Field::name("published")];
            line.extend(row.keys.iter().skip(1).map(Field::name));
            line.extend(fields(table, published));
            line.push(Field::name(""));
            rows.push(line);
        }
    }
    Sheet { caption, header, rows, ..Sheet::default() }
}

fn keys(row: &PaperRow) -> Vec<Field> {
    let first =
        row.keys.first().map(|key| if row.simulated { Field::Simulated(key.clone()) } else { Field::name(key) });
    first.into_iter().chain(row.keys.iter().skip(1).map(Field::name)).collect()
}

fn fields(table: &PaperTable, value: impl Fn(usize) -> Measured) -> Vec<Field> {
    let columns = table.columns.iter().enumerate();
    columns.map(|(at, column)| Field::Measured(value(at), column.unit, column.decimals)).collect()
}

/// A value that is not shown is told from one that there is not.
fn withheld(field: Field, is_withheld: bool) -> Field {
    match field {
        Field::Measured(Measured { value: Some(_), .. }, _, _) if is_withheld => Field::number(WITHHELD),
        field => field,
    }
}

fn bars(caption: String, table: &PaperTable, coverage_min: f64) -> Bars {
    let first = table.columns.first();
    let group = |row: &PaperRow| {
        let name: Vec<&str> = row.keys.iter().map(String::as_str).collect();
        let ours = |entry: &PaperEntry| if row.coverage < coverage_min { Measured::default() } else { entry.ours };
        (name.join(" · "), row.entries.iter().map(ours).collect())
    };
    Bars {
        caption,
        series: table.columns.iter().map(|column| column.label.clone()).collect(),
        unit: first.map(|column| column.unit).unwrap_or_default(),
        decimals: first.map_or(1, |column| column.decimals),
        groups: table.rows.iter().map(group).collect(),
    }
}
