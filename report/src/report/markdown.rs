//! The report as Markdown.

use regatta_benchmarks::markdown_cell;

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{measured, shown};

/// `title`, its `lead` line and `sections` as a document.
pub(crate) fn render(title: &str, lead: &str, sections: &[Section]) -> String {
    let mut out = format!("# {}\n\n{}\n", markdown_cell(title), markdown_cell(lead));
    for section in sections {
        out += &format!("\n## {}\n", markdown_cell(&section.title));
        // Pictures are left out; the tables beside them hold the same numbers.
        section.blocks.iter().for_each(|block| push_block(&mut out, block));
    }
    out
}

fn push_block(out: &mut String, block: &Block) {
    match block {
        // Every table stands open, of whatever evaluator.
        Block::Plots(_) | Block::Bars(_) | Block::Funnels(_) | Block::Choice(..) => return,
        Block::Folded(_, blocks) => return blocks.iter().for_each(|block| push_block(out, block)),
        Block::Text(_) | Block::Notice(_) | Block::List(..) | Block::Table(_) | Block::Facts(_) => out.push('\n'),
    }
    match block {
        Block::Plots(_) | Block::Bars(_) | Block::Funnels(_) | Block::Choice(..) | Block::Folded(..) => {}
        Block::List(title, lines) => {
            *out += &format!("**{}**\n\n", markdown_cell(title));
            lines.iter().for_each(|line| *out += &format!("- {}\n", markdown_cell(line)));
        }
        Block::Text(text) => *out += &format!("{}\n", markdown_cell(text)),
        Block::Notice(lines) => {
            lines.iter().for_each(|line| *out += &format!("> **Note:** {}\n>\n", markdown_cell(line)))
        }
        Block::Facts(facts) => {
            facts
                .iter()
                .for_each(|(name, value)| *out += &format!("- {}: {}\n", markdown_cell(name), markdown_cell(value)));
        }
        Block::Table(sheet) => push_table(out, sheet),
    }
}

fn push_table(out: &mut String, sheet: &Sheet) {
    if !sheet.caption.is_empty() {
        *out += &format!("**{}**\n\n", markdown_cell(&sheet.caption));
    }
    let header: Vec<String> = sheet.header.iter().map(|name| markdown_cell(name)).collect();
    *out += &format!("| {} |\n", header.join(" | "));
    let first = sheet.rows.first();
    let is_number = |at: usize| first.and_then(|row| row.get(at)).is_some_and(Field::is_number);
    let rule: Vec<&str> = (0..header.len()).map(|at| if is_number(at) { "---:" } else { "---" }).collect();
    *out += &format!("| {} |\n", rule.join(" | "));
    for row in &sheet.rows {
        let fields: Vec<String> = row.iter().map(field).collect();
        *out += &format!("| {} |\n", fields.join(" | "));
    }
}

fn field(field: &Field) -> String {
    match field {
        Field::Name(text) | Field::Number(text) => markdown_cell(text),
        Field::Tags(tags) => markdown_cell(&tags.join(", ")),
        Field::Strong(text) | Field::Significant(text) => format!("**{}**", markdown_cell(text)),
        Field::Simulated(text) => format!("{} *(simulated)*", markdown_cell(text)),
        Field::Estimate(estimate, unit) | Field::Brief(estimate, unit) => shown(estimate, *unit),
        Field::Measured(value, unit, decimals) => measured(value, *unit, *decimals),
    }
}
