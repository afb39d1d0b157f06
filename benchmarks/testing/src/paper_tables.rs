//! Tables of papers: their text for snapshots, and what holds for all.

use std::collections::BTreeSet;

use regatta_benchmarks::PaperTable;

/// Prints tables as lines of `ours (published)`, to two decimals.
#[must_use]
pub fn text_of_tables(tables: &[PaperTable]) -> String {
    tables.iter().map(text).collect::<Vec<_>>().join("\n\n")
}

fn text(table: &PaperTable) -> String {
    let mut lines = vec![format!("{} [{}]", table.title, table.name)];
    let labels = table.columns.iter().map(|column| column.label.as_str());
    lines.push(table.keys.iter().map(String::as_str).chain(labels).collect::<Vec<_>>().join(" | "));
    for row in &table.rows {
        let entries = row.entries.iter().zip(&table.columns).map(|(entry, column)| {
            let read = |value: Option<f64>| value.map(|value| format!("{:.2}", value * column.unit.factor()));
            let ours = read(entry.ours.value).unwrap_or_else(|| "–".to_owned());
            read(entry.published).map_or_else(|| ours.clone(), |published| format!("{ours} ({published})"))
        });
        lines.push(row.keys.iter().cloned().chain(entries).collect::<Vec<_>>().join(" | "));
    }
    lines.extend(table.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

/// Checks that every row has an entry for every column, and every table a name of its own that can be part of an address.
///
/// # Panics
/// If one has not.
pub fn assert_complete(tables: &[PaperTable]) {
    let names: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names.len(), tables.len());
    for table in tables {
        assert!(table.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", table.name);
        for row in &table.rows {
            assert_eq!((row.keys.len(), row.entries.len()), (table.keys.len(), table.columns.len()), "{}", table.title);
        }
    }
}
