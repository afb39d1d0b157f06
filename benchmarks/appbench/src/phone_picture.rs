//! The phone of a session for people who look at it: its apps, with the number of calls that the answer and the gold have in each.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use regatta_benchmarks::{Picture, markup_text};

use super::data::{Entry, Phone};
use super::paper;

/// Apps beside each other.
const COLUMNS: usize = 3;
/// Width and height of an app, in pixels.
const APP: (usize, usize) = (156, 56);
/// Pixels between apps.
const GAP: usize = 10;
/// Pixels around all apps.
const FRAME: usize = 22;
/// Characters of a name that fit into an app.
const NAME_CHARS: usize = 20;
/// Names that are told of those that are not on the phone.
const ELSEWHERE_TOLD: usize = 5;

const STYLE: &str = "<style>
.phone .frame { fill: #fff; stroke: #444; stroke-width: 3 }
.phone text { font: 12px sans-serif; fill: #222 }
.phone .name { font-weight: bold }
.phone .app rect { fill: #f6f6f6; stroke: #bbb }
.phone .matched rect { fill: #dff0df; stroke: #2a7a2a; stroke-width: 2 }
.phone .changed rect { fill: #fff3d6; stroke: #94660a; stroke-width: 2 }
.phone .missing rect { fill: #fff; stroke: #c02020; stroke-width: 2; stroke-dasharray: 5 4 }
.phone .extra rect { fill: #fbdcdc; stroke: #c02020; stroke-width: 2 }
</style>
";

/// Calls of one app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Calls {
    answer: usize,
    gold: usize,
}

impl Calls {
    const fn class(self) -> &'static str {
        match (self.answer, self.gold) {
            (0, 0) => "app",
            (0, _) => "app missing",
            (_, 0) => "app extra",
            (answer, gold) if answer == gold => "app matched",
            (_, _) => "app changed",
        }
    }

    /// The same signs as in drawings of plans.
    fn words(self) -> Option<String> {
        let calls = |count: usize| format!("{count} {}", if count == 1 { "call" } else { "calls" });
        Some(match (self.answer, self.gold) {
            (0, 0) => return None,
            (0, gold) => format!("− none of {}", calls(gold)),
            (answer, 0) => format!("+ {}, none in the gold", calls(answer)),
            (answer, gold) if answer == gold => format!("✓ {}", calls(answer)),
            (answer, gold) => format!("≠ {answer} of {}", calls(gold)),
        })
    }
}

/// The phone with the calls of the gold plan of `entry`, and of an answer that calls these apps, one name for each call.
pub(crate) fn picture<'a>(entry: &Entry, phone: &Phone, answer: impl Iterator<Item = &'a str>) -> Picture {
    let names: Vec<String> = phone.apps().iter().map(|app| app.name.to_lowercase()).collect();
    let place = |app: &str| names.iter().position(|name| *name == app.to_lowercase());
    let mut calls = vec![Calls::default(); names.len()];
    for (app, _) in paper::gold_pairs(&entry.gold) {
        if let Some(of_app) = place(app).and_then(|at| calls.get_mut(at)) {
            of_app.gold += 1;
        }
    }
    let mut elsewhere = BTreeSet::new();
    for app in answer.filter(|app| !app.is_empty()) {
        match place(app).and_then(|at| calls.get_mut(at)) {
            Some(of_app) => of_app.answer += 1,
            None => {
                elsewhere.insert(app);
            }
        }
    }
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = draw(&mut svg, phone, &calls);
    Picture { title: "Phone".to_owned(), svg, text: text(phone, &calls, &elsewhere) }
}

fn text(phone: &Phone, calls: &[Calls], elsewhere: &BTreeSet<&str>) -> String {
    let of_apps = phone.apps().iter().zip(calls);
    let mut parts: Vec<String> =
        of_apps.filter_map(|(app, calls)| Some(format!("{}: {}", app.name, calls.words()?))).collect();
    if !elsewhere.is_empty() {
        let told: Vec<&str> = elsewhere.iter().take(ELSEWHERE_TOLD).copied().collect();
        let more = elsewhere.len() - told.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("not on the phone: {}{more}", told.join(", ")));
    }
    if parts.is_empty() { "no app is called".to_owned() } else { parts.join("; ") }
}

fn draw(out: &mut String, phone: &Phone, calls: &[Calls]) -> fmt::Result {
    let rows = calls.len().div_ceil(COLUMNS).max(1);
    let width = 2 * FRAME + COLUMNS * APP.0 + (COLUMNS - 1) * GAP;
    let height = 2 * FRAME + rows * APP.1 + (rows - 1) * GAP;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" class=\"phone\">"
    )?;
    out.push_str(STYLE);
    writeln!(
        out,
        "<rect class=\"frame\" x=\"2\" y=\"2\" width=\"{}\" height=\"{}\" rx=\"20\"/>",
        width - 4,
        height - 4
    )?;
    for (at, (app, calls)) in phone.apps().iter().zip(calls).enumerate() {
        let (x, y) = (FRAME + at % COLUMNS * (APP.0 + GAP), FRAME + at / COLUMNS * (APP.1 + GAP));
        let name: String = app.name.chars().take(NAME_CHARS).collect();
        writeln!(
            out,
            "<g class=\"{}\"><title>{}: {}</title>\n<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"10\"/>",
            calls.class(),
            markup_text(&app.name),
            markup_text(&app.desc),
            APP.0,
            APP.1
        )?;
        writeln!(out, "<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>", x + 10, y + 22, markup_text(&name))?;
        if let Some(words) = calls.words() {
            writeln!(out, "<text x=\"{}\" y=\"{}\">{words}</text>", x + 10, y + 42)?;
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    /// The phone of the miniature for an item whose gold has two calls of Library and two of Garden.
    fn shown(apps: &[&str]) -> Picture {
        let data = vectors::miniature();
        picture(data.find("mm-000").unwrap(), &data.phone, apps.iter().copied())
    }

    #[test]
    fn an_app_that_is_called_as_often_as_in_the_gold_is_matched_whatever_the_case_of_its_name() {
        let found = shown(&["Library", "LIBRARY", "Garden", "garden"]);
        assert_eq!(found.text, "Library: ✓ 2 calls; Garden: ✓ 2 calls");
        assert_eq!(found.svg.matches("class=\"app matched\"").count(), 2);
        assert_eq!(found.svg.matches("<g class=\"app\">").count(), vectors::miniature().phone.apps().len() - 2);
    }

    #[test]
    fn apps_that_are_missing_or_too_much_or_not_on_the_phone_are_told() {
        let found = shown(&["Library", "<b>", "", "Ferry"]);
        assert!(found.text.starts_with("Library: ≠ 1 of 2 calls; Garden: − none of 2 calls"), "{}", found.text);
        assert!(found.text.contains("not on the phone: <b>"), "{}", found.text);
        assert!(found.svg.contains("class=\"app changed\"") && found.svg.contains("class=\"app missing\""));
        assert!(!found.svg.contains("<b>"), "{}", found.svg);
    }

    #[test]
    fn an_answer_without_calls_leaves_the_gold_alone() {
        assert_eq!(shown(&[]).text, "Library: − none of 2 calls; Garden: − none of 2 calls");
        assert!(shown(&[]).svg.trim_end().ends_with("</svg>"));
    }
}
