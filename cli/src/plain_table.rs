//! The look of most tables: rules around the header, and none between rows or columns.

use comfy_table::{Table, TableComponent, presets};

/// An empty table.
pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections);
    table
}
