use std::collections::BTreeMap;

use regatta_benchmarks::{Measure, Unit};

use super::*;

fn definition(better: Better) -> MetricDefinition {
    MetricDefinition {
        evaluator: Evaluator::Official,
        metric: "success".to_owned(),
        measure: Measure::Mean { value: "success".to_owned() },
        low: Some(0.0),
        high: Some(1.0),
        better,
        unit: Unit::Percent,
        if_empty: None,
        void_if: None,
        missing_if: BTreeMap::new(),
        headline: true,
    }
}

fn ids(count: usize) -> Vec<ItemId> {
    (0..count).map(|at| format!("item-{at:03}").parse().unwrap()).collect()
}

fn scores(values: &[Option<f64>]) -> Vec<Option<Values>> {
    let of = |value: f64| BTreeMap::from([(Evaluator::Official, BTreeMap::from([("success".to_owned(), value)]))]);
    values.iter().map(|value| value.map(of)).collect()
}

fn sessions<'a>(ids: &'a [ItemId], scores: &'a [Option<Values>]) -> Vec<SessionScores<'a>> {
    let of =
        |(item, scores): (&'a ItemId, &'a Option<Values>)| SessionScores { item, trial: 0, scores: scores.as_ref() };
    ids.iter().zip(scores).map(of).collect()
}

#[test]
fn items_of_one_side_alone_are_named_and_do_not_count() {
    let (ids, groups) = (ids(4), BTreeMap::new());
    let (ours, theirs) = (scores(&[Some(1.0), Some(0.0), None]), scores(&[Some(0.5), Some(0.5), Some(0.0)]));
    let (ours, theirs) = (sessions(&ids[..3], &ours), sessions(&ids[1..], &theirs));
    let paired = PairedCells::new(&groups, &ours, &theirs);
    assert_eq!(
        (paired.only_ours.as_slice(), paired.only_theirs.as_slice()),
        ([&ids[0]].as_slice(), [&ids[3]].as_slice())
    );
    let found = paired.difference(&definition(Better::Higher), 1, Level::USUAL).unwrap();
    // Of the two items of both, one has no score in ours.
    assert_eq!((found.value, found.n), (-0.5, 1));
    assert_eq!(paired.by_item(&definition(Better::Higher)), [ItemValues { item: &ids[1], ours: 0.0, theirs: 0.5 }]);
}

#[test]
fn a_clear_loss_is_shown_against_a_margin_and_a_clear_tie_too() {
    let (ids, groups) = (ids(40), BTreeMap::new());
    let theirs = scores(&vec![Some(0.5); 40]);
    let at = |value: f64| scores(&(0..40).map(|at| Some(value + f64::from(at % 5 - 2) / 100.0)).collect::<Vec<_>>());
    let test = |ours: &[Option<Values>], better: Better| {
        let paired = PairedCells::new(&groups, &sessions(&ids, ours), &sessions(&ids, &theirs));
        paired.against_margin(&definition(better), 0.05, 1).unwrap()
    };
    let worse = test(&at(0.3), Better::Higher);
    assert!(worse.p_worse < 1e-4 && worse.p_not_worse > 0.99, "{worse:?}");
    let same = test(&at(0.5), Better::Higher);
    assert!(same.p_worse > 0.99 && same.p_not_worse < 1e-4, "{same:?}");
    let better = test(&at(0.3), Better::Lower);
    assert!(better.p_worse > 0.99 && better.p_not_worse < 1e-4, "{better:?}");
}

#[test]
fn items_of_one_group_are_one_cluster() {
    let ids = ids(4);
    let groups = ids[..3].iter().map(|id| (id.clone(), "conversation".to_owned())).collect();
    let (ours, theirs) = (scores(&[Some(1.0); 4]), scores(&[Some(0.0); 4]));
    let paired = PairedCells::new(&groups, &sessions(&ids, &ours), &sessions(&ids, &theirs));
    assert_eq!(paired.difference(&definition(Better::Higher), 1, Level::USUAL).unwrap().clusters, 2);
}

#[test]
fn money_is_compared_over_the_sessions_of_both() {
    let ids = ids(3);
    let numbers = |values: &[(usize, f64)]| values.iter().map(|(at, value)| ((ids[*at].clone(), 0), *value)).collect();
    let found = mean_difference(
        &BTreeMap::new(),
        &numbers(&[(0, 5.0), (1, 7.0)]),
        &numbers(&[(1, 4.0), (2, 1.0)]),
        1,
        Level::USUAL,
    );
    let found = found.unwrap();
    assert_eq!((found.value, found.n), (3.0, 1));
}

#[test]
fn what_is_missing_in_either_run_widens_the_difference_and_a_trial_of_one_run_alone_does_not() {
    let (ids, groups) = (ids(12), BTreeMap::new());
    let (ours, theirs) = (scores(&[vec![Some(1.0); 11], vec![None]].concat()), scores(&[Some(0.0); 12]));
    let mut all = sessions(&ids, &ours);
    let found = PairedCells::new(&groups, &all, &sessions(&ids, &theirs));
    let missing = found.difference(&definition(Better::Higher), 1, Level::USUAL).unwrap().missing.unwrap();
    assert!((missing.coverage - 11.0 / 12.0).abs() < 1e-12);
    assert!((missing.bound_low.unwrap() - 11.0 / 12.0).abs() < 1e-12 && missing.bound_high == Some(1.0));
    // Ours ran a second trial of everything; theirs did not.
    let whole = scores(&[Some(1.0); 12]);
    all = sessions(&ids, &whole);
    all.extend(sessions(&ids, &whole).into_iter().map(|of| SessionScores { trial: 1, ..of }));
    let found = PairedCells::new(&groups, &all, &sessions(&ids, &theirs));
    assert!(found.difference(&definition(Better::Higher), 1, Level::USUAL).unwrap().missing.is_none());
}

#[test]
fn a_missing_session_weighs_as_much_as_another_of_its_item() {
    let (ids, groups) = (ids(2), BTreeMap::new());
    let measure = Measure::Ratio { numerator: "right".to_owned(), denominator: "gold".to_owned(), of_item: true };
    let recall = MetricDefinition { measure, ..definition(Better::Higher) };
    let of = |right: f64, gold: f64| {
        let values = [("right".to_owned(), right), ("gold".to_owned(), gold)].into();
        Some(Values::from([(Evaluator::Official, values)]))
    };
    let (ours, theirs) = ([of(1.0, 1.0), None], [of(1.0, 1.0), of(4.0, 9.0)]);
    let found = PairedCells::new(&groups, &sessions(&ids, &ours), &sessions(&ids, &theirs));
    let missing = found.difference(&recall, 1, Level::USUAL).unwrap().missing.unwrap();
    // Ours has one to ten of ten, theirs five.
    assert!((missing.bound_low.unwrap() + 0.4).abs() < 1e-12 && (missing.bound_high.unwrap() - 0.5).abs() < 1e-12);
}
