//! A session as one page of HTML that needs nothing else: no script, no other file.

use std::fmt::{self, Write as _};

use regatta_benchmarks::markup_text;

use super::text::number;
use super::{Part, Shown};

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
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    )?;
    writeln!(out, "<p>Outcome: {}</p>", markup_text(&shown.ending))?;
    for (evaluator, values) in &shown.scores {
        writeln!(out, "<table>\n<caption>{}</caption>", markup_text(&evaluator.to_string()))?;
        for (name, value) in values {
            writeln!(out, "<tr><th>{}</th><td>{}</td></tr>", markup_text(name), number(*value))?;
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
    out.push_str("</body>\n</html>\n");
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

const STYLE: &str = "
body { font: 15px sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4em 0 }
section { border-left: 4px solid #bbb; padding: .2em 1em; margin: 1em 0 }
section.agent { border-color: #2a7a2a }
section.user { border-color: #3060b0 }
section.environment { border-color: #b08020 }
h3 { margin: .2em 0 }
small { font-weight: normal; color: #666 }
.failed { color: #c02020 }
figure { margin: 1em 0; overflow-x: auto }
caption { text-align: left; font-weight: bold }
th { text-align: left; font-weight: normal; padding-right: 1em }
";
