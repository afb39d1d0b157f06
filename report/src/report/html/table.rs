//! Tables, with intervals drawn on one axis for each column's unit.

use regatta_benchmarks::markup_text;

use crate::report::content::{Field, Sheet};
use crate::report::interval::{Column, column};
use crate::report::numbers::{brief, measured, shown};

/// Adds `sheet`; `classes` tell whose numbers it has.
pub(super) fn push(out: &mut String, sheet: &Sheet, classes: &str) {
    let caption = markup_text(&sheet.caption);
    // A table that is wider than the window is scrolled by the keyboard too.
    *out += &format!("<div class=\"scroll{classes}\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n");
    *out += if sheet.is_board { "<table class=\"board\">\n" } else { "<table>\n" };
    if !caption.is_empty() {
        *out += &format!("<caption>{caption}</caption>\n");
    }
    let columns: Vec<Option<Column>> = (0..sheet.header.len()).map(|at| column(sheet, at)).collect();
    *out += "<thead><tr>";
    let first = sheet.rows.first();
    for (at, name) in sheet.header.iter().enumerate() {
        let class = first.and_then(|row| row.get(at)).map_or("", class);
        let name = markup_text(name);
        *out += &match columns.get(at).and_then(Option::as_ref) {
            Some(column) => format!("<th scope=\"col\"{class}><div>{}<span>{name}</span></div></th>", column.ticks()),
            None => format!("<th scope=\"col\"{class}>{name}</th>"),
        };
    }
    *out += "</tr></thead>\n<tbody>\n";
    for row in &sheet.rows {
        *out += "<tr>";
        for (at, field) in row.iter().enumerate() {
            let (class, content) = (class(field), content(field, columns.get(at).and_then(Option::as_ref)));
            match (at, sheet.is_board) {
                (0, _) => *out += &format!("<th scope=\"row\"{class}>{content}</th>"),
                (_, false) => *out += &format!("<td{class}>{content}</td>"),
                (_, true) => {
                    let label = sheet.header.get(at).map(|name| markup_text(name)).unwrap_or_default();
                    *out += &format!("<td{class} data-label=\"{label}\">{content}</td>");
                }
            }
        }
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table>\n</div>\n";
}

const fn class(field: &Field) -> &'static str {
    match field {
        Field::Name(_) | Field::Simulated(_) | Field::Tags(_) | Field::Strong(_) => "",
        Field::Number(_) | Field::Measured(..) | Field::Significant(_) => " class=\"number\"",
        Field::Estimate(..) | Field::Brief(..) => " class=\"number estimate\"",
    }
}

fn content(field: &Field, column: Option<&Column>) -> String {
    match field {
        Field::Name(text) | Field::Number(text) => markup_text(text),
        Field::Simulated(text) => format!("{} <span class=\"tag\">simulated</span>", markup_text(text)),
        Field::Strong(text) | Field::Significant(text) => format!("<strong>{}</strong>", markup_text(text)),
        Field::Tags(tags) => {
            let tag = |tag: &String| format!("<span class=\"tag flag\">{}</span>", markup_text(tag));
            tags.iter().map(tag).collect::<Vec<_>>().join(" ")
        }
        Field::Estimate(estimate, unit) => {
            let bar = column.map(|column| column.bar(estimate, *unit)).unwrap_or_default();
            format!("<div>{bar}<span>{}</span></div>", text(&shown(estimate, *unit)))
        }
        Field::Brief(estimate, unit) => {
            let bar = column.map(|column| column.bar(estimate, *unit)).unwrap_or_default();
            let whole = markup_text(&shown(estimate, *unit));
            format!("<div title=\"{whole}\">{bar}<b>{}</b></div>", markup_text(&brief(estimate, *unit)))
        }
        Field::Measured(value, unit, decimals) => text(&measured(value, *unit, *decimals)),
    }
}

/// The value large, its interval small.
fn text(text: &str) -> String {
    match text.split_once(' ') {
        Some((value, interval)) => format!("<b>{value}</b> <span class=\"interval\">{interval}</span>"),
        None => format!("<b>{text}</b>"),
    }
}
