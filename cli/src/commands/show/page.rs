//! A session as one page of HTML that needs nothing else: no script, no other file.

use std::fmt::{self, Write as _};

use regatta_benchmarks::markup_text;
use regatta_report::DESIGN_TOKENS;

use super::text::number;
use super::{Part, Shown};

const STYLE: &str = include_str!("style.css");

/// The page.
pub(super) fn html(shown: &Shown) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, shown);
    out
}

fn write(out: &mut String, shown: &Shown) -> fmt::Result {
    let title = markup_text(&shown.title);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{DESIGN_TOKENS}{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>"
    )?;
    writeln!(out, "<p>Outcome: {}</p>", markup_text(&shown.ending))?;
    for (evaluator, values) in &shown.scores {
        writeln!(out, "<table>\n<caption>{}</caption>", markup_text(&evaluator.to_string()))?;
        for (name, value) in values {
            writeln!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", markup_text(name), number(*value))?;
        }
        out.push_str("</table>\n");
    }
    if !shown.pictures.is_empty() {
        out.push_str("<h2>Pictures</h2>\n");
    }
    for picture in &shown.pictures {
        let (title, text) = (markup_text(&picture.title), markup_text(&picture.text));
        writeln!(out, "<figure>\n<figcaption>{title}. {text}</figcaption>\n{}</figure>", picture.svg)?;
    }
    out.push_str("<h2>Conversation</h2>\n");
    for part in &shown.parts {
        write_part(out, part)?;
    }
    out.push_str("</main>\n</body>\n</html>\n");
    Ok(())
}

fn write_part(out: &mut String, part: &Part) -> fmt::Result {
    writeln!(out, "<section class=\"{}\">", part.role)?;
    writeln!(out, "<h3>{} <small>{}</small></h3>", part.role, markup_text(&part.facts))?;
    for (by, words) in &part.told {
        writeln!(out, "<details><summary>told: {by}</summary><pre>{}</pre></details>", markup_text(words))?;
    }
    for failed in &part.failed_tries {
        writeln!(out, "<p class=\"failed\">failed try: {}</p>", markup_text(failed))?;
    }
    if let Some(thought) = &part.thought {
        writeln!(out, "<details><summary>thought</summary><pre>{}</pre></details>", markup_text(thought))?;
    }
    writeln!(out, "<pre>{}</pre>\n</section>", markup_text(&part.whole()))
}
