//! Histories that are too thin, each with the sentence that says so.

use regatta_deciding::{Responses, Subset};

use super::{responses, sessions};

/// Right in the first items, one more for each model.
fn history(models: usize, items: usize) -> Vec<Vec<Option<f64>>> {
    (0..models).map(|model| (0..items).map(|item| Some(f64::from(u8::from(item <= model)))).collect()).collect()
}

fn refused(scores: &[Vec<Option<f64>>]) -> String {
    Responses::new(&sessions(scores)).unwrap_err().to_string()
}

#[test]
fn four_models_are_too_few() {
    let error = refused(&history(4, 20));
    assert!(error.starts_with("a history of 4 models is too thin"), "{error}");
    assert!(Responses::new(&sessions(&history(5, 20))).is_ok());
}

#[test]
fn a_model_under_two_names_is_one_model() {
    let mut scores = history(5, 20);
    scores[4] = scores[3].clone();
    // A session that one of them lacks tells them not apart.
    scores[4][9] = None;
    let error = refused(&scores);
    assert!(error.starts_with("a history of 5 models (4 that differ) is too thin"), "{error}");
    scores.push(history(6, 20)[5].clone());
    assert_eq!(Responses::new(&sessions(&scores)).unwrap().different(), 5);
}

#[test]
fn models_of_different_items_are_named() {
    let mut different = sessions(&history(5, 20));
    let of_model = different.get_mut("model-03").unwrap();
    let scores = of_model.remove("item-0004").unwrap();
    of_model.insert("item-9999".to_owned(), scores);
    let error = Responses::new(&different).unwrap_err().to_string();
    assert!(
        error
            .starts_with("model-00 and model-03 were asked different items (1 of model-00 alone, 1 of model-03 alone)"),
        "{error}"
    );
}

#[test]
fn a_model_of_which_more_than_a_tenth_is_not_measured_is_named() {
    let mut scores = history(5, 20);
    (scores[1][0], scores[1][9]) = (None, None);
    assert!(Responses::new(&sessions(&scores)).is_ok());
    scores[1][3] = None;
    let error = refused(&scores);
    assert!(error.starts_with("3 of 20 sessions of model-01 have no score, more than 10 %"), "{error}");
}

#[test]
fn models_that_no_item_tells_apart_are_refused() {
    let same = vec![history(5, 20)[2].clone(); 5];
    let error = refused(&same);
    assert!(error.starts_with("no item tells models apart: all 5 have the same score"), "{error}");
}

#[test]
fn a_score_beyond_the_range_is_refused() {
    let mut scores = history(5, 20);
    scores[4][2] = Some(1.5);
    assert_eq!(refused(&scores), "the score of model-04 in item item-0002 is 1.5, beyond the metric's range");
}

#[test]
fn more_items_than_there_are_and_all_of_them_are_refused() {
    let full: Vec<Vec<f64>> = history(5, 20).iter().map(|scores| scores.iter().flatten().copied().collect()).collect();
    let full = responses(&full);
    for asked in [20, 50] {
        let error = Subset::choose(&full, asked, 1).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("a subset of {asked} items cannot be chosen: the models have 20 in common")),
            "{error}"
        );
    }
    assert_eq!(Subset::choose(&full, 0, 1).unwrap_err().to_string(), "a subset has one item at least");
}
