//! Tables that fit the width of a terminal.

use comfy_table::{Cell, ColumnConstraint, Table, Width};

/// Width of tables where nobody says another one: of pipes and files, in columns.
pub const USUAL_WIDTH: u16 = 100;

/// Narrows `table` until its lines are at most `width` wide: first what is between its columns, then headers are broken, then values, and both
/// between words alone. No number is cut in two, so that a table whose words need more room than there is stays wider. Columns that are to be as
/// wide as their content are.
///
/// The table has no border at its sides, and one character between two columns.
pub fn fit(table: &mut Table, width: u16) {
    let mut widths = table.column_max_content_widths();
    let columns = table.column_iter().zip(&widths).enumerate();
    let least = columns.map(|(at, (column, whole))| match column.constraint() {
        Some(ColumnConstraint::ContentWidth) => Least { of_values: *whole, of_words: *whole },
        _ => Least::of(table, at),
    });
    let (of_values, of_words): (Vec<u16>, Vec<u16>) = least.map(|least| (least.of_values, least.of_words)).unzip();
    if sum(&widths) > room(table, width) {
        table.column_iter_mut().skip(1).for_each(|column| {
            column.set_padding((0, 1));
        });
    }
    let room = room(table, width);
    narrow(&mut widths, &of_values, room);
    narrow(&mut widths, &of_words, room);
    for (column, width) in table.column_iter_mut().zip(widths) {
        let padding = column.padding_width();
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width.saturating_add(padding))));
    }
}

/// Columns of `width` that are left for what is in the cells.
fn room(table: &Table, width: u16) -> usize {
    let paddings: usize = table.column_iter().map(|column| usize::from(column.padding_width())).sum();
    usize::from(width).saturating_sub(paddings + table.column_iter().count().saturating_sub(1))
}

fn sum(widths: &[u16]) -> usize {
    widths.iter().copied().map(usize::from).sum()
}

/// Widths below which a column breaks what is in it.
struct Least {
    /// Width of the widest line of a value, and of the widest word of the header.
    of_values: u16,
    /// Width of the widest word.
    of_words: u16,
}

impl Least {
    fn of(table: &Table, column: usize) -> Self {
        let header = table.header().and_then(|header| header.cell_iter().nth(column)).map(Cell::content);
        let values: Vec<String> = table.column_cells_iter(column).flatten().map(Cell::content).collect();
        let of_header = widest(header.iter().flat_map(|header| words(header)));
        Self {
            of_values: of_header.max(widest(values.iter().flat_map(|value| value.split('\n')))),
            of_words: of_header.max(widest(values.iter().flat_map(|value| words(value)))),
        }
    }
}

/// Parts of a cell that a line can break between.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\n'])
}

/// Width of the widest of `texts`, as tables measure it.
fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> u16 {
    let mut table = Table::new();
    table.add_rows(texts.map(|text| [text]));
    table.column_max_content_widths().first().copied().unwrap_or(0)
}

/// Takes from the widest of `widths` that is above its least, until all fit into `room` or none is above it.
fn narrow(widths: &mut [u16], least: &[u16], room: usize) {
    while sum(widths) > room {
        let above = widths.iter_mut().zip(least).filter(|(width, least)| **width > **least);
        let Some((width, _)) = above.max_by_key(|(width, _)| **width) else { return };
        *width -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(width: u16) -> Vec<String> {
        let mut table = crate::leaderboard::empty_table();
        table.set_header(["model", "calls of judges", "cost of all tries"]);
        table.add_row(["openai/gpt-5-mini", "1234567", "$0.005500 + unknown (2 calls)"]);
        table.add_row(["sim/oracle", "12", "$0"]);
        fit(&mut table, width);
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let whole = fitted(200);
        assert!(
            whole[1].contains("calls of judges") && whole[3].ends_with("$0.005500 + unknown (2 calls)"),
            "{whole:?}"
        );
    }

    #[test]
    fn columns_come_closer_before_anything_is_broken() {
        let lines = fitted(67);
        assert!(lines.iter().all(|line| line.chars().count() <= 67), "{lines:?}");
        assert_eq!(lines.len(), fitted(200).len(), "{lines:?}");
    }

    #[test]
    fn headers_are_broken_before_values() {
        let lines = fitted(60);
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("$0.005500 + unknown (2 calls)")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("calls of judges")), "{lines:?}");
    }

    #[test]
    fn no_number_is_cut_in_two_however_narrow_the_terminal_is() {
        for width in [50, 20, 1] {
            let text = fitted(width).join("\n");
            for word in ["openai/gpt-5-mini", "1234567", "$0.005500", "unknown"] {
                assert!(text.contains(word), "{width}: {word} is missing in\n{text}");
            }
        }
    }
}
