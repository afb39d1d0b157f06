//! The report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere.

use regatta_benchmarks::{Unit, markup_text};

use super::bars;
use super::content::{Block, Field, Section, Sheet};
use super::numbers::{measured, shown};
use super::plot::svg;
use crate::statistics::Estimate;

const STYLE: &str = include_str!("style.css");
/// Size of a drawn interval, in pixels.
const BAR: (f64, f64) = (104.0, 16.0);
/// Space left and right of the scale for the point, in pixels.
const MARGIN: f64 = 4.0;

/// `title`, its `lead` line and `sections` as a document.
pub(crate) fn render(title: &str, lead: &str, sections: &[Section]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"lead\">{lead}</p>\n</header>\n",
        title = markup_text(title),
        lead = markup_text(lead),
    );
    for section in sections {
        out += &format!("<section>\n<h2>{}</h2>\n", markup_text(&section.title));
        section.blocks.iter().for_each(|block| push_block(&mut out, block));
        out += "</section>\n";
    }
    out += "</main>\n</body>\n</html>\n";
    out
}

fn push_block(out: &mut String, block: &Block) {
    match block {
        Block::Text(text) => *out += &format!("<p>{}</p>\n", markup_text(text)),
        Block::Notice(lines) => {
            *out += "<div class=\"notice\" role=\"note\">\n";
            lines.iter().for_each(|line| *out += &format!("<p>{}</p>\n", markup_text(line)));
            *out += "</div>\n";
        }
        Block::Facts(facts) => {
            *out += "<dl>\n";
            for (name, value) in facts {
                *out += &format!("<dt>{}</dt><dd>{}</dd>\n", markup_text(name), markup_text(value));
            }
            *out += "</dl>\n";
        }
        Block::Table(sheet) => push_table(out, sheet),
        Block::Bars(of) if of.groups.is_empty() => {}
        Block::Bars(of) => {
            *out += &format!(
                "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n",
                markup_text(&of.caption),
                bars::svg(of)
            );
        }
        Block::Plot(plot) if plot.points.is_empty() => {}
        Block::Plot(plot) => {
            *out += &format!(
                "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n",
                markup_text(&plot.caption),
                svg(plot)
            );
        }
    }
}

fn push_table(out: &mut String, sheet: &Sheet) {
    *out += "<div class=\"scroll\" tabindex=\"0\">\n<table>\n";
    if !sheet.caption.is_empty() {
        *out += &format!("<caption>{}</caption>\n", markup_text(&sheet.caption));
    }
    let first = sheet.rows.first();
    *out += "<thead><tr>";
    for (at, name) in sheet.header.iter().enumerate() {
        let class = first.and_then(|row| row.get(at)).map_or("", class);
        *out += &format!("<th scope=\"col\"{class}>{}</th>", markup_text(name));
    }
    *out += "</tr></thead>\n<tbody>\n";
    for row in &sheet.rows {
        *out += "<tr>";
        row.iter().for_each(|field| *out += &format!("<td{}>{}</td>", class(field), content(field)));
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table>\n</div>\n";
}

const fn class(field: &Field) -> &'static str {
    match field {
        Field::Name(_) | Field::Simulated(_) => "",
        Field::Number(_) | Field::Measured(..) => " class=\"number\"",
        Field::Estimate(..) => " class=\"number estimate\"",
    }
}

fn content(field: &Field) -> String {
    match field {
        Field::Name(text) | Field::Number(text) => markup_text(text),
        Field::Simulated(text) => format!("{} <span class=\"tag\">simulated</span>", markup_text(text)),
        Field::Estimate(estimate, unit) => format!("{}{}", bar(estimate, *unit), text(&shown(estimate, *unit))),
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

/// The value as a point and its interval as a bar on the unit's scale; empty without a value that is shown, or a scale.
fn bar(estimate: &Estimate, unit: Unit) -> String {
    let (Some(value), Some((first, last))) = (estimate.shown(), unit.scale()) else { return String::new() };
    let (width, height) = BAR;
    let middle = height / 2.0;
    let x = |score: f64| MARGIN + ((score - first) / (last - first)).clamp(0.0, 1.0) * (width - 2.0 * MARGIN);
    let range = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!(
            "<rect class=\"range\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"6\" rx=\"3\"/>",
            x(low),
            middle - 3.0,
            (x(high) - x(low)).max(1.0)
        ),
        _ => String::new(),
    };
    format!(
        "<svg class=\"bar\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{}\"><line class=\"scale\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>{range}\
         <circle class=\"point\" cx=\"{:.1}\" cy=\"{middle}\" r=\"3.5\"/></svg>",
        shown(estimate, unit),
        x(first),
        x(last),
        x(value),
    )
}
