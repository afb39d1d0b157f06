//! The tables of the benchmarks' papers.

use regatta_benchmarks::{Measured, PaperRow, PaperTable};

use super::content::{Bars, Block, Field, Section, Sheet};
use super::numbers::{heading, percent};
use crate::summary::BenchmarkTable;

/// All tables, those that the papers draw as pictures too; `None` without any.
pub(crate) fn section(tables: &[BenchmarkTable]) -> Option<Section> {
    if tables.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(
        "The tables of the benchmarks' papers: means over trials, with 95 % intervals where one is known, and ± the standard deviation of \
         single trials. Published numbers stand below ours where the paper has the same row. A dash is a value that this sweep does not \
         have."
            .to_owned(),
    )];
    for of in tables {
        let table = &of.table;
        let caption = format!("{} · {} · evaluator {}", of.benchmark, table.title, of.evaluator);
        if table.is_figure {
            blocks.push(Block::Bars(bars(caption.clone(), table)));
        }
        blocks.push(Block::Table(sheet(caption, table)));
        blocks.extend(table.notes.iter().map(|note| Block::Text(note.clone())));
    }
    Some(Section { title: "The papers' tables".to_owned(), blocks })
}

/// The table's columns with our rows, each followed by the published one if there is one.
pub(crate) fn sheet(caption: String, table: &PaperTable) -> Sheet {
    let mut header = table.keys.clone();
    header.extend(table.columns.iter().map(|column| heading(&column.label, column.unit)));
    header.push("coverage".to_owned());
    let mut rows = Vec::new();
    for row in &table.rows {
        let ours = |at: usize| row.entries.get(at).map(|entry| entry.ours).unwrap_or_default();
        let mut line = keys(row);
        line.extend(fields(table, ours));
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
    Sheet { caption, header, rows }
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

fn bars(caption: String, table: &PaperTable) -> Bars {
    let first = table.columns.first();
    let group = |row: &PaperRow| {
        let name: Vec<&str> = row.keys.iter().map(String::as_str).collect();
        (name.join(" · "), row.entries.iter().map(|entry| entry.ours).collect())
    };
    Bars {
        caption,
        series: table.columns.iter().map(|column| column.label.clone()).collect(),
        unit: first.map(|column| column.unit).unwrap_or_default(),
        decimals: first.map_or(1, |column| column.decimals),
        groups: table.rows.iter().map(group).collect(),
    }
}
