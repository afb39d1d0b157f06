//! Histories that no subset can be chosen from.

use std::fmt;

use crate::responses::{LEAST_MODELS, MOST_UNMEASURED};

/// Reason why a history is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ThinHistory {
    /// Fewer models than [`LEAST_MODELS`] that differ from each other.
    TooFewModels {
        /// Number of models.
        models: usize,
        /// Number of these that differ from those before them in some item.
        different: usize,
    },
    /// Two models were asked different items.
    DifferentItems {
        /// A model.
        one: String,
        /// A model with other items.
        other: String,
        /// Number of items of `one` that `other` lacks.
        lacks: usize,
        /// Number of items of `other` that `one` lacks.
        more: usize,
    },
    /// More of a model's sessions than [`MOST_UNMEASURED`] have no score.
    NotMeasured {
        /// The model.
        model: String,
        /// Number of its sessions without a score.
        unmeasured: usize,
        /// Number of its sessions.
        sessions: usize,
    },
    /// A score is not in 0 to 1.
    OutOfRange {
        /// The model.
        model: String,
        /// The item.
        item: String,
        /// The score.
        score: f64,
    },
    /// Every model has the same score in every item.
    NoVariation {
        /// Number of models.
        models: usize,
        /// Number of items.
        items: usize,
    },
    /// A subset would not be smaller than the whole, or no item may be left out of it.
    TooFewItems {
        /// Number of items that were asked for.
        asked: usize,
        /// Number of items of the whole.
        items: usize,
        /// Number of these that every model has a score of.
        complete: usize,
    },
}

impl fmt::Display for ThinHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewModels { models, different } => {
                let that_differ =
                    if different < models { format!(" ({different} that differ)") } else { String::new() };
                let models = if *models == 1 { "1 model".to_owned() } else { format!("{models} models") };
                write!(
                    f,
                    "a history of {models}{that_differ} is too thin: errors are those of models that are held out one by one, and with fewer than \
                     {LEAST_MODELS} they say too little; add runs of further models"
                )
            }
            Self::DifferentItems { one, other, lacks, more } => write!(
                f,
                "{one} and {other} were asked different items ({lacks} of {one} alone, {more} of {other} alone); a subset needs models of \
                 the same items"
            ),
            Self::NotMeasured { model, unmeasured, sessions } => write!(
                f,
                "{unmeasured} of {sessions} sessions of {model} have no score, more than {:.0} %; `regatta resume` runs them again",
                100.0 * MOST_UNMEASURED
            ),
            Self::OutOfRange { model, item, score } => {
                write!(f, "the score of {model} in item {item} is {score}, beyond the metric's range")
            }
            Self::NoVariation { models, items } => write!(
                f,
                "no item tells models apart: all {models} have the same score in each of {items} items, so that the history says nothing of \
                 which items stand for others"
            ),
            Self::TooFewItems { asked: 0, .. } => write!(f, "a subset has one item at least"),
            Self::TooFewItems { asked, items, complete } => write!(
                f,
                "a subset of {asked} items cannot be chosen: the models have {items} in common, {complete} of them with a score of every \
                 model; ask for fewer, or run all of them"
            ),
        }
    }
}

impl std::error::Error for ThinHistory {}
