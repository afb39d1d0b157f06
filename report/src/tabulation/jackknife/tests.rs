//! Intervals from leaving out clusters.

use regatta_benchmarks::{Measured, Metric, PaperEntry, PaperRow, Unit};

use super::*;
use crate::statistics::{Sample, estimate};

fn table(value: Option<f64>) -> PaperTable {
    let entry = PaperEntry { ours: Measured { value, ..Measured::default() }, published: None };
    let column = PaperColumn { label: "score".to_owned(), unit: Unit::Percent, decimals: 1 };
    let row = PaperRow { entries: vec![entry], coverage: 1.0, ..PaperRow::default() };
    PaperTable { columns: vec![column], rows: vec![row], ..PaperTable::default() }
}

fn mean(scores: impl Iterator<Item = f64>) -> f64 {
    let scores: Vec<f64> = scores.collect();
    scores.iter().sum::<f64>() / scores.len() as f64
}

const SCORES: [f64; 9] = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0];
const CLUSTERS: [u32; 9] = [0, 0, 1, 1, 1, 2, 3, 3, 4];

fn without(setting: &Setting) -> Vec<Without<'_>> {
    let of = |group: u32| {
        let left = SCORES.iter().zip(CLUSTERS).filter(|(_, cluster)| *cluster != group).map(|(score, _)| *score);
        let part = CLUSTERS.iter().filter(|cluster| **cluster == group).count() as f64 / 9.0;
        Without { setting, part, items: 9, tables: vec![table(Some(mean(left)))] }
    };
    (0..5).map(of).collect()
}

#[test]
fn the_interval_of_a_rate_that_is_left_out_cluster_by_cluster_is_that_of_the_rate() {
    let setting = "s".parse().unwrap();
    let mut tables = [table(Some(mean(SCORES.into_iter())))];
    add_intervals(&mut tables, &without(&setting), Level::USUAL);
    let trial = SCORES.map(|top| Sample::Scored { top, bottom: 1.0 }).to_vec();
    let positions: Vec<usize> = (0..9).collect();
    let known = estimate(&Metric::mean("score"), &[vec![trial]], &positions, &CLUSTERS, Level::USUAL);
    let found = tables[0].rows[0].entries[0].ours;
    assert!((found.low.unwrap() - known.low.unwrap()).abs() < 1e-9, "{found:?} {known:?}");
    assert!((found.high.unwrap() - known.high.unwrap()).abs() < 1e-9, "{found:?} {known:?}");
}

#[test]
fn an_interval_reaches_as_far_as_missing_sessions_could_move_an_average_and_an_amount_has_none_then() {
    let setting = "s".parse().unwrap();
    let found = |coverage: f64, unit: Unit| {
        let mut tables = [table(Some(mean(SCORES.into_iter())))];
        (tables[0].rows[0].coverage, tables[0].columns[0].unit) = (coverage, unit);
        add_intervals(&mut tables, &without(&setting), Level::USUAL);
        tables[0].rows[0].entries[0].ours
    };
    let (whole, nine_of_ten) = (found(1.0, Unit::Percent), found(0.9, Unit::Percent));
    let value = mean(SCORES.into_iter());
    let (low, high) = (nine_of_ten.low.unwrap(), nine_of_ten.high.unwrap());
    assert!(low < whole.low.unwrap() && low < 0.9 * value && high > whole.high.unwrap(), "{nine_of_ten:?} {whole:?}");
    assert!(found(1.0, Unit::Turns).low.is_some());
    assert_eq!(found(0.9, Unit::Turns).low, None);
}

#[test]
fn what_no_item_moves_or_some_clusters_leave_without_a_value_has_no_interval() {
    let setting = "s".parse().unwrap();
    let mut constant = [table(Some(0.25))];
    let same: Vec<Without<'_>> =
        without(&setting).into_iter().map(|one| Without { tables: vec![table(Some(0.25))], ..one }).collect();
    add_intervals(&mut constant, &same, Level::USUAL);
    assert_eq!(constant[0].rows[0].entries[0].ours.low, None);
    let mut fragile = [table(Some(0.5))];
    let mut gone = without(&setting);
    gone[2].tables = vec![table(None)];
    add_intervals(&mut fragile, &gone, Level::USUAL);
    assert_eq!(fragile[0].rows[0].entries[0].ours.low, None);
}
