//! Values over the nights of a schedule, as one HTML page that needs nothing else: a drawing for each value, and what changed at which night.

mod drawing;

use std::fmt::{self, Write as _};

use regatta_benchmarks::markup_text;

use super::DESIGN_TOKENS;
use super::html::STYLE;

/// Style of what no other page has.
const MARKS: &str = ".plot .line { fill: none; stroke: var(--accent); stroke-width: 1.6; }\n.plot .mark { stroke: var(--notice-line); \
                     stroke-width: 1.4; stroke-dasharray: 4 3; }\n.plot .cause { fill: var(--notice-line); font-size: 10.5px; }\n";

/// A page of values over nights.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPage {
    /// Heading of the page.
    pub title: String,
    /// Nights, oldest first.
    pub nights: Vec<SeriesNight>,
    /// Drawings that belong together, as those of a model in a setting.
    pub groups: Vec<SeriesGroup>,
}

/// A night, with what changed since the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesNight {
    /// Name of its run.
    pub run: String,
    /// When it ended.
    pub ended_at: String,
    /// Sentences on what changed.
    pub changes: Vec<String>,
}

/// Drawings that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesGroup {
    /// Heading of the group.
    pub title: String,
    /// The drawings.
    pub series: Vec<Series>,
    /// Names of what changed at a night, by the position of the night.
    pub marks: Vec<(usize, String)>,
}

/// A value of each night.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Meaning and unit of the value.
    pub caption: String,
    /// Values by night; `None` where a night has none.
    pub values: Vec<Option<SeriesValue>>,
    /// Ends of the scale, beyond which no axis goes.
    pub scale: (f64, f64),
}

/// A value, as it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesValue {
    /// The value.
    pub value: f64,
    /// Ends of its interval, if it has one.
    pub range: Option<(f64, f64)>,
}

impl SeriesPage {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let title = markup_text(&self.title);
        writeln!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{DESIGN_TOKENS}{STYLE}{MARKS}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n</header>\n<main>"
        )?;
        self.write_nights(out)?;
        for group in &self.groups {
            writeln!(out, "<section>\n<h2>{}</h2>\n<div class=\"plots\">", markup_text(&group.title))?;
            for series in &group.series {
                let drawing = drawing::svg(series, &group.marks);
                if !drawing.is_empty() {
                    let caption = markup_text(&series.caption);
                    writeln!(out, "<figure>\n<figcaption>{caption}</figcaption>\n{drawing}\n</figure>")?;
                }
            }
            out.push_str("</div>\n</section>\n");
        }
        out.push_str("</main>\n</body>\n</html>\n");
        Ok(())
    }

    fn write_nights(&self, out: &mut String) -> fmt::Result {
        out.push_str("<section>\n<h2>Nights</h2>\n<dl>\n");
        for (number, SeriesNight { run, ended_at, changes }) in (1..).zip(&self.nights) {
            let (run, ended_at) = (markup_text(run), markup_text(ended_at));
            write!(out, "<dt>{number}</dt><dd>{ended_at} · {run}")?;
            if !changes.is_empty() {
                out.push_str("<ul class=\"lines\">");
                for change in changes {
                    write!(out, "<li>{}</li>", markup_text(change))?;
                }
                out.push_str("</ul>");
            }
            out.push_str("</dd>\n");
        }
        out.push_str("</dl>\n</section>\n");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, values: Vec<Option<SeriesValue>>) -> SeriesPage {
        let night = |number: usize| SeriesNight {
            run: format!("{title}-{number}"),
            ended_at: "2026-01-01T00:00:00Z".to_owned(),
            changes: if number == 2 { vec![format!("model: {title}")] } else { Vec::new() },
        };
        let series = Series { caption: format!("{title}, percent"), values, scale: (0.0, 100.0) };
        let group = SeriesGroup { title: title.to_owned(), series: vec![series], marks: vec![(1, title.to_owned())] };
        SeriesPage { title: title.to_owned(), nights: (1..=3).map(night).collect(), groups: vec![group] }
    }

    fn value(value: f64, range: Option<(f64, f64)>) -> Option<SeriesValue> {
        Some(SeriesValue { value, range })
    }

    #[test]
    fn a_page_has_its_nights_with_what_changed_and_its_drawings() {
        let html = page("n", vec![value(40.0, Some((30.0, 50.0))), value(60.0, None), None]).html();
        assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
        let (_, main) = html.split_once("<main>\n").unwrap();
        insta::assert_snapshot!(main);
    }

    #[test]
    fn names_are_text_wherever_they_stand() {
        let html = page("<script>&\"'", vec![value(1.0, None); 3]).html();
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(html.matches("&lt;script&gt;&amp;&quot;&#39;").count(), 10, "{html}");
    }

    #[test]
    fn what_no_night_has_a_value_of_is_not_drawn() {
        let html = page("n", vec![None; 3]).html();
        assert!(!html.contains("<svg") && html.contains("<h2>n</h2>"), "{html}");
    }
}
