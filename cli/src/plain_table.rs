//! The look of tables: most have rules around the header, and none between rows or columns; all are as wide as the terminal at most.

use comfy_table::{Table, TableComponent, presets};
use regatta_report::fit;

use crate::output;

/// An empty table.
pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections);
    table
}

/// The text of `table`, as wide as the terminal at most, as far as its words allow.
pub(crate) fn fitted(mut table: Table) -> String {
    fit(&mut table, output::width());
    table.to_string()
}
