//! The nights as drawings.

use super::canaries::answered;
use super::*;

/// The page of these nights.
fn page(runs: &[EndedRun]) -> regatta_report::SeriesPage {
    let (mut before, mut history, mut plots) = (None, History::default(), Plots::default());
    let mut drift = Drift { of: "nightly".to_owned(), nights: Vec::new() };
    for run in runs {
        let told = super::super::night(before.replace(run), run, &mut history).unwrap();
        plots.add(run, &told);
        drift.nights.push(told);
    }
    plots.page(&drift)
}

#[test]
fn each_model_in_a_setting_has_its_values_by_night_and_causes_are_marked_at_theirs() {
    let other = Made { served: "gpt-5-2026-03-01", ..made() };
    let page = page(&[answered("n-1", &["a"; 8]), answered("n-2", &["a"; 8]), night("n-3", other, "j")]);
    let [group] = &page.groups[..] else { panic!("{page:?}") };
    assert_eq!((page.nights.len(), &*group.title), (3, CELL));
    let captions: Vec<&str> = group.series.iter().map(|series| series.caption.as_str()).collect();
    let expected = [
        "success (official)",
        "tokens answered a session, mean",
        "milliseconds an output token",
        "dollars a session, mean",
        "canaries answered otherwise than the night before, percent",
    ];
    assert_eq!(captions, expected);
    let by_night =
        |series: &regatta_report::Series| -> Vec<bool> { series.values.iter().map(Option::is_some).collect() };
    assert_eq!(by_night(&group.series[0]), [true; 3]);
    assert_eq!(
        by_night(&group.series[4]),
        [false, true, false],
        "the first night has none before, and the last no canaries"
    );
    let tokens = group.series[1].values[0].unwrap().value;
    assert!((tokens - 200.0).abs() < 1e-9, "{tokens}");
    assert_eq!(group.marks, [(2, "model".to_owned())]);
    assert!(page.nights[2].changes[0].contains("gpt-5-2026-03-01"), "{:?}", page.nights[2]);
}

#[test]
fn a_night_that_the_cache_answered_has_a_score_and_neither_tokens_nor_money() {
    let cached = Made { cached: 200, ..made() };
    let page = page(&[night("n-1", made(), "j"), night("n-2", cached, "j")]);
    let is_there = |at: usize| page.groups[0].series[at].values[1].is_some();
    assert_eq!([0, 1, 2, 3].map(is_there), [true, false, false, false]);
}
