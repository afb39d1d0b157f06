//! Tables of papers: their text for snapshots, and what holds for all.

use std::collections::BTreeSet;

use regatta_benchmarks::{PaperColumn, PaperRow, PaperTable};

/// Prints tables as lines of `ours (published)`, to two decimals.
#[must_use]
pub fn text_of_tables(tables: &[PaperTable]) -> String {
    tables.iter().map(|table| text(table, |_| 2, first_key)).collect::<Vec<_>>().join("\n\n")
}

/// Prints a table as lines of `ours (published)`, to the decimals of its columns; rows of simulated models say so.
#[must_use]
pub fn text_as_shown(table: &PaperTable) -> String {
    text(
        table,
        |column| usize::from(column.decimals),
        |row| {
            let simulated = if row.simulated { " (simulated)" } else { "" };
            first_key(row).map(|key| format!("{key}{simulated}"))
        },
    )
}

fn first_key(row: &PaperRow) -> Option<String> {
    row.keys.first().cloned()
}

/// Prints a table with the decimals that `decimals` gives to a column, and `first` in place of a row's first key.
fn text(
    table: &PaperTable,
    decimals: impl Fn(&PaperColumn) -> usize,
    first: impl Fn(&PaperRow) -> Option<String>,
) -> String {
    let mut lines = vec![format!("{} [{}]", table.title, table.name)];
    let labels = table.columns.iter().map(|column| column.label.as_str());
    lines.push(table.keys.iter().map(String::as_str).chain(labels).collect::<Vec<_>>().join(" | "));
    for row in &table.rows {
        let entries = row.entries.iter().zip(&table.columns).map(|(entry, column)| {
            let decimals = decimals(column);
            let read = |value: Option<f64>| value.map(|value| format!("{:.decimals$}", value * column.unit.factor()));
            let ours = read(entry.ours.value).unwrap_or_else(|| "–".to_owned());
            read(entry.published).map_or_else(|| ours.clone(), |published| format!("{ours} ({published})"))
        });
        let keys = first(row).into_iter().chain(row.keys.iter().skip(1).cloned());
        lines.push(keys.chain(entries).collect::<Vec<_>>().join(" | "));
    }
    lines.extend(table.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

/// Checks that there are tables with rows, that every row has an entry for every column, and every table a name of its own that can be part of
/// an address.
///
/// # Panics
/// If one has not.
pub fn assert_complete(tables: &[PaperTable]) {
    assert!(tables.iter().any(|table| !table.rows.is_empty()), "no table has a row");
    let names: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names.len(), tables.len());
    for table in tables {
        assert!(table.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", table.name);
        for row in &table.rows {
            assert_eq!((row.keys.len(), row.entries.len()), (table.keys.len(), table.columns.len()), "{}", table.title);
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_benchmarks::{Measured, PaperEntry, Unit};

    use super::*;

    #[test]
    #[should_panic(expected = "no table has a row")]
    fn no_tables_are_not_complete() {
        assert_complete(&[]);
    }

    #[test]
    fn a_table_is_printed_to_two_decimals_or_as_people_are_shown_it() {
        let column = |label: &str, decimals| PaperColumn { label: label.to_owned(), unit: Unit::Percent, decimals };
        let ours = Measured { value: Some(0.125), ..Measured::default() };
        let table = PaperTable {
            name: "table-1".to_owned(),
            title: "Table 1".to_owned(),
            keys: vec!["model".to_owned(), "data".to_owned()],
            columns: vec![column("success", 1), column("failed", 0)],
            rows: vec![PaperRow {
                keys: vec!["any".to_owned(), "test".to_owned()],
                simulated: true,
                coverage: 1.0,
                entries: vec![PaperEntry { ours, published: Some(0.5) }, PaperEntry::default()],
            }],
            notes: vec!["made up".to_owned()],
            is_figure: false,
        };
        let two_decimals =
            "Table 1 [table-1]\nmodel | data | success | failed\nany | test | 12.50 (50.00) | –\nnote: made up";
        assert_eq!(text_of_tables(std::slice::from_ref(&table)), two_decimals);
        let shown = "Table 1 [table-1]\nmodel | data | success | failed\nany (simulated) | test | 12.5 (50.0) | –\nnote: made up";
        assert_eq!(text_as_shown(&table), shown);
    }
}
