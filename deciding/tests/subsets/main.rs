//! Subsets of items that estimate the whole: laws, refusals, and simulated histories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod laws;
mod refusals;
mod simulated;

use regatta_deciding::{Responses, Sessions};

/// Sessions of models that have one trial of each item; `scores` is by model, then by item.
fn sessions(scores: &[Vec<Option<f64>>]) -> Sessions {
    let of_model = |scores: &Vec<Option<f64>>| {
        scores.iter().enumerate().map(|(at, score)| (format!("item-{at:04}"), vec![*score])).collect()
    };
    scores.iter().enumerate().map(|(at, scores)| (format!("model-{at:02}"), of_model(scores))).collect()
}

/// The same, without a session that is missing.
fn responses(scores: &[Vec<f64>]) -> Responses {
    let scores: Vec<Vec<Option<f64>>> =
        scores.iter().map(|scores| scores.iter().map(|score| Some(*score)).collect()).collect();
    Responses::new(&sessions(&scores)).unwrap()
}
