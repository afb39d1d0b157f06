//! The report as a person opens it: one file, a choice of evaluators, colours that can be read.

use regatta_proto::{Evaluator, Flag, SweepLock};

use super::harness::{all_measured, documents, lock, some_trouble, sweep, sweep_of_both, text};
use crate::report::DESIGN_TOKENS;
use crate::tabulation::Tabulation;
use crate::tabulation::tests::harness::{circumstances, rows};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

fn with_evaluators(evaluators: &[Evaluator]) -> SweepLock {
    let mut lock = lock(&MODELS);
    lock.benchmarks.values_mut().for_each(|benchmark| benchmark.evaluators = evaluators.to_vec());
    lock
}

/// The part of a document between its marks.
fn part<'d>(document: &'d str, from: &str, to: &str) -> &'d str {
    let start = document.find(from).unwrap_or_else(|| panic!("no {from}"));
    let end = document[start..].find(to).unwrap_or_else(|| panic!("no {to}"));
    &document[start..start + end]
}

#[test]
fn the_first_card_is_what_a_person_reads_first() {
    let html = text(&documents(&sweep(lock(&MODELS)), &some_trouble), "report.html");
    insta::assert_snapshot!(part(&html, "<main>", "</section>"));
}

#[test]
fn every_entry_of_the_contents_leads_to_a_part_and_nothing_stands_open_behind_the_first_three() {
    let html = text(&documents(&sweep(lock(&MODELS)), &some_trouble), "report.html");
    let contents = part(&html, "<nav", "</nav>");
    let links: Vec<&str> = contents.split("href=\"#").skip(1).map(|link| link.split('"').next().unwrap()).collect();
    assert!(links.starts_with(&["ranking", "leaderboards"]), "{links:?}");
    for link in &links {
        assert_eq!(html.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
    assert_eq!(html.matches("<section ").count() + html.matches("<summary><h2>").count(), links.len());
    assert!(!html.contains("<details open"));
}

#[test]
fn one_evaluator_is_seen_and_the_others_are_behind_a_switch_that_needs_no_script() {
    let sweep = sweep(with_evaluators(&[Evaluator::Official, Evaluator::Paper]));
    let html = text(&documents(&sweep, &all_measured), "report.html");
    assert!(html.contains("main:has(#of0by1:checked) .of0:not(.by1) { display: none; }"));
    let choice = part(&html, "<fieldset", "</fieldset>");
    assert_eq!((choice.matches("type=\"radio\"").count(), choice.matches(" checked").count()), (2, 1));
    assert!(choice.contains("<label for=\"of0by1\">paper</label>"));
    for evaluator in ["by0", "by1"] {
        // A leaderboard, the tasks and a table of the paper.
        assert_eq!(html.matches(&format!("class=\"scroll of0 {evaluator}\"")).count(), 3, "{evaluator}");
    }
}

#[test]
fn a_single_evaluator_is_no_choice() {
    let html = text(&documents(&sweep_of_both(lock(&MODELS)), &all_measured), "report.html");
    assert!(!html.contains("<fieldset") && !html.contains("main:has("));
}

#[test]
fn intervals_of_one_unit_are_drawn_on_one_axis_of_fixed_width() {
    let html = text(&documents(&sweep(lock(&MODELS)), &all_measured), "report.html");
    let board = part(&html, "id=\"leaderboards\"", "</table>");
    let scales: Vec<&str> =
        board.split("<svg class=\"ticks\"").skip(1).map(|svg| part(svg, "<text", "</svg>")).collect();
    assert_eq!(scales.len(), 2, "a metric each");
    assert_eq!(scales[0], scales[1]);
    assert_eq!(board.matches("<svg class=\"bar\" width=\"150\"").count(), 4);
}

#[test]
fn flags_stand_beside_the_score() {
    let sweep = sweep(lock(&MODELS));
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let mut rows = rows(&sweep, cell, &all_measured);
        rows[0].flags = [Flag::Truncated].into_iter().collect();
        tabulation.add(cell, &rows).unwrap();
    }
    let state = regatta_proto::SweepState::Complete;
    let found = tabulation.finish(&circumstances(state, Vec::new())).unwrap();
    let html = text(&found, "report.html");
    let card = part(&html, "id=\"ranking\"", "</table>");
    assert!(card.contains("<span class=\"tag flag\">2 truncated</span>"), "{card}");
    assert!(card.find("f1_chain").unwrap() < card.find("flags").unwrap());
    assert!(card.find("flags").unwrap() < card.find("coverage").unwrap());
}

/// Colours by name of one of the two themes.
fn colours(theme: &str) -> Vec<(String, [f64; 3])> {
    let channel = |hex: &str, at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
    let declared = theme.split(';').filter_map(|line| line.split_once("--")?.1.split_once(": #"));
    let read = |(name, hex): (&str, &str)| (name.to_owned(), [0, 2, 4].map(|at| channel(hex, at)));
    declared.map(read).collect()
}

/// Relative luminance as WCAG 2 defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// WCAG 2.2, level AA: 4.5 for text, 3 for what is drawn.
#[test]
fn colours_have_the_contrast_of_wcag_aa_in_both_themes() {
    let (light, dark) = DESIGN_TOKENS.split_once("@media").unwrap();
    let themes = [part(light, ":root", "}"), part(dark, ":root", "}")];
    let pairs = [
        ("ink", "paper", 4.5),
        ("ink", "ground", 4.5),
        ("ink", "notice", 4.5),
        ("soft", "paper", 4.5),
        ("soft", "ground", 4.5),
        ("soft", "tag", 4.5),
        ("accent", "paper", 4.5),
        ("accent", "ground", 4.5),
        ("flag-ink", "flag", 4.5),
        ("good-ink", "good", 4.5),
        ("going-ink", "going", 4.5),
        ("ink", "code", 4.5),
        ("ink", "add", 4.5),
        ("ink", "gone", 4.5),
        ("accent", "range", 3.0),
    ];
    for theme in themes {
        let known = colours(theme);
        let of = |name: &str| known.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("no {name}")).1;
        for (one, other, least) in pairs {
            let (a, b) = (luminance(of(one)), luminance(of(other)));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= least, "{one} on {other}: {contrast:.2}, in {theme}");
        }
    }
}
