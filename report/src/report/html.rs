//! The report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere. What is folded, and the choice of an
//! evaluator, are the browser's own.

mod table;

use std::fmt::Write as _;

use regatta_benchmarks::markup_text;
use regatta_proto::{BenchmarkName, Evaluator};

use super::DESIGN_TOKENS;
use super::bars;
use super::content::{Block, Section};
use super::funnel;
use super::plot::svg;

pub(super) const STYLE: &str = include_str!("style.css");
/// Notices that stand open; of more, the rest is folded.
const NOTICES_MAX: usize = 4;

/// `title`, its `lead` line and `sections` as a document.
pub(crate) fn render(title: &str, lead: &str, sections: &[Section]) -> String {
    let choices = Choices::of(sections);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{DESIGN_TOKENS}{STYLE}{rules}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"lead\">{lead}</p>\n<nav aria-label=\"Contents\">\n<ul>\n",
        title = markup_text(title),
        rules = choices.rules(),
        lead = markup_text(lead),
    );
    for Section { id, title, .. } in sections {
        out += &format!("<li><a href=\"#{id}\">{}</a></li>\n", markup_text(title));
    }
    out += "</ul>\n</nav>\n</header>\n<main>\n";
    for section in sections {
        push_section(&mut out, section, &choices);
    }
    out += "</main>\n</body>\n</html>\n";
    out
}

fn push_section(out: &mut String, section: &Section, choices: &Choices<'_>) {
    let (id, title) = (section.id, markup_text(&section.title));
    // Who follows a link to what is inside of a folded part has it unfolded.
    let (from, to) = match section.is_folded {
        true => {
            (format!("<details>\n<summary><h2>{title}</h2></summary>\n<div id=\"{id}\">\n"), "</div>\n</details>\n")
        }
        false => (format!("<section id=\"{id}\">\n<h2>{title}</h2>\n"), "</section>\n"),
    };
    *out += &from;
    section.blocks.iter().for_each(|block| push_block(out, block, choices));
    *out += to;
}

fn push_block(out: &mut String, block: &Block, choices: &Choices<'_>) {
    match block {
        Block::Text(text) => *out += &format!("<p>{}</p>\n", markup_text(text)),
        Block::Notice(lines) => {
            *out += "<div class=\"notice\" role=\"note\">\n";
            let (open, folded) = lines.split_at(lines.len().min(NOTICES_MAX));
            open.iter().for_each(|line| *out += &format!("<p>{}</p>\n", markup_text(line)));
            if !folded.is_empty() {
                *out += &format!("<details><summary>{} more notes</summary>\n", folded.len());
                folded.iter().for_each(|line| *out += &format!("<p>{}</p>\n", markup_text(line)));
                *out += "</details>\n";
            }
            *out += "</div>\n";
        }
        Block::List(title, lines) => {
            *out += &format!("<h3>{}</h3>\n<ul class=\"lines\">\n", markup_text(title));
            lines.iter().for_each(|line| *out += &format!("<li>{}</li>\n", markup_text(line)));
            *out += "</ul>\n";
        }
        Block::Facts(facts) => {
            *out += "<dl>\n";
            for (name, value) in facts {
                *out += &format!("<dt>{}</dt><dd>{}</dd>\n", markup_text(name), markup_text(value));
            }
            *out += "</dl>\n";
        }
        Block::Table(sheet) => table::push(out, sheet, &choices.class(sheet.of.as_ref())),
        Block::Bars(of) if of.groups.is_empty() => {}
        Block::Bars(of) => {
            *out += &format!(
                "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n",
                markup_text(&of.caption),
                bars::svg(of)
            );
        }
        Block::Plots(plots) => {
            *out += "<div class=\"plots\">\n";
            for plot in plots.iter().filter(|plot| !plot.points.is_empty()) {
                *out += &format!(
                    "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n",
                    markup_text(&plot.caption),
                    svg(plot)
                );
            }
            *out += "</div>\n";
        }
        Block::Funnels(funnels) => {
            *out += "<div class=\"plots\">\n";
            for funnel in funnels {
                let (caption, picture) = (markup_text(&funnel.caption), funnel::svg(funnel));
                *out += &format!("<figure>\n<figcaption>{caption}</figcaption>\n{picture}\n</figure>\n");
            }
            *out += "</div>\n";
        }
        Block::Choice(benchmark, evaluators) => choices.push(out, benchmark, evaluators),
        Block::Folded(title, blocks) => {
            *out += &format!("<details class=\"part\">\n<summary>{}</summary>\n", markup_text(title));
            blocks.iter().for_each(|block| push_block(out, block, choices));
            *out += "</details>\n";
        }
    }
}

/// Evaluators that a reader may choose from, by benchmark.
struct Choices<'a>(Vec<(&'a BenchmarkName, &'a [Evaluator])>);

impl<'a> Choices<'a> {
    fn of(sections: &'a [Section]) -> Self {
        let blocks = sections.iter().flat_map(|section| &section.blocks);
        let choices = blocks.filter_map(|block| match block {
            Block::Choice(benchmark, evaluators) if evaluators.len() > 1 => Some((benchmark, evaluators.as_slice())),
            Block::Choice(..)
            | Block::Text(_)
            | Block::Notice(_)
            | Block::List(..)
            | Block::Table(_)
            | Block::Facts(_)
            | Block::Plots(_)
            | Block::Funnels(_)
            | Block::Bars(_)
            | Block::Folded(..) => None,
        });
        Self(choices.collect())
    }

    /// The classes of what is about a benchmark and an evaluator, with a space before them; empty where there is nothing to choose.
    fn class(&self, of: Option<&(BenchmarkName, Evaluator)>) -> String {
        let place = of.and_then(|(benchmark, evaluator)| {
            let at = self.0.iter().position(|(name, _)| *name == benchmark)?;
            Some((at, self.0[at].1.iter().position(|known| known == evaluator)?))
        });
        place.map_or_else(String::new, |(benchmark, evaluator)| format!(" of{benchmark} by{evaluator}"))
    }

    /// Hides what was not chosen. A browser that does not know these rules shows everything.
    fn rules(&self) -> String {
        let mut rules = String::new();
        for (benchmark, (_, evaluators)) in self.0.iter().enumerate() {
            for evaluator in 0..evaluators.len() {
                // Writing to a String cannot fail.
                let _ = writeln!(
                    rules,
                    "main:has(#of{benchmark}by{evaluator}:checked) .of{benchmark}:not(.by{evaluator}) {{ display: none; }}"
                );
            }
        }
        rules
    }

    fn push(&self, out: &mut String, benchmark: &BenchmarkName, evaluators: &[Evaluator]) {
        let Some(at) = self.0.iter().position(|(name, _)| *name == benchmark) else { return };
        *out += &format!(
            "<fieldset class=\"choice\">\n<legend>Evaluator of {}</legend>\n",
            markup_text(benchmark.as_str())
        );
        for (number, evaluator) in evaluators.iter().enumerate() {
            let checked = if number == 0 { " checked" } else { "" };
            *out += &format!(
                "<input type=\"radio\" name=\"of{at}\" id=\"of{at}by{number}\"{checked}><label \
                 for=\"of{at}by{number}\">{evaluator}</label>\n"
            );
        }
        *out += "</fieldset>\n";
    }
}
