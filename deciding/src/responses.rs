//! Responses of models to items: the history from which a subset of the items is chosen.

use std::collections::{BTreeMap, BTreeSet};

use crate::thin_history::ThinHistory;

/// Models that a history has at least. A further model that is like them is off by more than the worst of N held-out ones once in N + 1 times:
/// with fewer than five the stated worst error would hold less often than five times of six.
pub const LEAST_MODELS: usize = 5;

/// Part of a model's sessions that may be without a score. What is missing is seldom missing by chance.
pub const MOST_UNMEASURED: f64 = 0.1;

/// Steps of a score. Means of the same numbers, summed in another order, are one response.
const STEPS: f64 = 1e9;

/// Scores of sessions, 0 to 1, by model, then by item; `None` for a session that was not measured.
pub type Sessions = BTreeMap<String, BTreeMap<String, Vec<Option<f64>>>>;

/// Mean scores of models in items, 0 to 1.
///
/// Models and items are in the order of their names, so that nothing depends on the order in which they came.
#[derive(Debug, Clone, PartialEq)]
pub struct Responses {
    models: Vec<String>,
    items: Vec<String>,
    unmeasured: Vec<String>,
    scores: Vec<Vec<Option<f64>>>,
}

impl Responses {
    /// Averages the sessions of each model in each item. Items of which no model has a score are no part of the whole.
    ///
    /// # Errors
    /// When the history is too thin to choose from: too few models that differ, models of different items, too many sessions without a score,
    /// a score outside of 0 to 1, or the same score of every model in every item.
    pub fn new(sessions: &Sessions) -> Result<Self, ThinHistory> {
        if sessions.len() < LEAST_MODELS {
            return Err(ThinHistory::TooFewModels { models: sessions.len(), different: sessions.len() });
        }
        let items = same_items(sessions)?;
        for (model, of_model) in sessions {
            check(model, of_model)?;
        }
        let is_measured = |item: &&String| {
            sessions
                .values()
                .filter_map(|of_model| of_model.get(*item))
                .any(|of_item| of_item.iter().any(Option::is_some))
        };
        let (items, unmeasured): (Vec<&String>, Vec<&String>) = items.into_iter().partition(is_measured);
        let of_model = |of_model: &BTreeMap<String, Vec<Option<f64>>>| -> Vec<Option<f64>> {
            items.iter().map(|item| of_model.get(*item).and_then(|of_item| mean_score(of_item))).collect()
        };
        let scores: Vec<Vec<Option<f64>>> = sessions.values().map(of_model).collect();
        let responses = Self {
            models: sessions.keys().cloned().collect(),
            items: items.into_iter().cloned().collect(),
            unmeasured: unmeasured.into_iter().cloned().collect(),
            scores,
        };
        if !responses.varies() {
            return Err(ThinHistory::NoVariation { models: responses.models.len(), items: responses.items.len() });
        }
        let different = responses.different();
        if different < LEAST_MODELS {
            return Err(ThinHistory::TooFewModels { models: responses.models.len(), different });
        }
        Ok(responses)
    }

    /// Names of the models, in order.
    #[must_use]
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// Names of the items of the whole, in order.
    #[must_use]
    pub fn items(&self) -> &[String] {
        &self.items
    }

    /// Items that no model has a score of.
    #[must_use]
    pub fn unmeasured(&self) -> &[String] {
        &self.unmeasured
    }

    /// Number of models that differ from those before them in some item. The others may be the same model under another name.
    #[must_use]
    pub fn different(&self) -> usize {
        let is_new = |(at, scores): &(usize, &Vec<Option<f64>>)| {
            self.scores.iter().take(*at).all(|before| !are_alike(before, scores))
        };
        self.scores.iter().enumerate().filter(is_new).count()
    }

    /// Number of the items of the whole that some model has no score of: they count in the whole, and are never chosen.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        self.items.len() - self.complete().len()
    }

    /// Scores of each model by item.
    pub(crate) fn rows(&self) -> Vec<&[Option<f64>]> {
        self.scores.iter().map(Vec::as_slice).collect()
    }

    /// Items that every model has a score of, ascending.
    pub(crate) fn complete(&self) -> Vec<usize> {
        (0..self.items.len()).filter(|item| self.scores.iter().all(|of_model| of_model[*item].is_some())).collect()
    }

    /// `true` if some item tells two models apart.
    fn varies(&self) -> bool {
        (0..self.items.len()).any(|item| {
            let mut scores = self.scores.iter().filter_map(|of_model| of_model[item]);
            scores.next().is_some_and(|first| scores.any(|score| score != first))
        })
    }
}

/// `true` for models with the same score in every item that both have one of.
pub(crate) fn are_alike(one: &[Option<f64>], other: &[Option<f64>]) -> bool {
    one.iter().zip(other).filter_map(|(one, other)| Some((*one)? == (*other)?)).all(|is_same| is_same)
}

/// Mean of a model's scores over the items that it has one of; 0 without any.
pub(crate) fn whole(scores: &[Option<f64>]) -> f64 {
    let (sum, count) = scores.iter().flatten().fold((0.0_f64, 0_u32), |(sum, count), score| (sum + score, count + 1));
    sum / f64::from(count.max(1))
}

/// The items, which must be those of every model.
fn same_items(sessions: &Sessions) -> Result<Vec<&String>, ThinHistory> {
    let mut models = sessions.iter();
    let Some((first, of_first)) = models.next() else { return Ok(Vec::new()) };
    let items: BTreeSet<&String> = of_first.keys().collect();
    for (model, of_model) in models {
        let of_model: BTreeSet<&String> = of_model.keys().collect();
        let lacks = items.difference(&of_model).count();
        let more = of_model.difference(&items).count();
        if lacks + more > 0 {
            return Err(ThinHistory::DifferentItems { one: first.clone(), other: model.clone(), lacks, more });
        }
    }
    Ok(items.into_iter().collect())
}

/// Refuses a model of which a score is out of range, or too many sessions have none.
fn check(model: &str, of_model: &BTreeMap<String, Vec<Option<f64>>>) -> Result<(), ThinHistory> {
    for (item, of_item) in of_model {
        if let Some(score) = of_item.iter().flatten().find(|score| !(0.0..=1.0).contains(*score)) {
            return Err(ThinHistory::OutOfRange { model: model.to_owned(), item: item.clone(), score: *score });
        }
    }
    let sessions: usize = of_model.values().map(Vec::len).sum();
    let unmeasured = of_model.values().flatten().filter(|score| score.is_none()).count();
    if unmeasured as f64 > MOST_UNMEASURED * sessions as f64 {
        return Err(ThinHistory::NotMeasured { model: model.to_owned(), unmeasured, sessions });
    }
    Ok(())
}

/// Mean of the scores of an item's sessions; `None` without any.
#[must_use]
pub fn mean_score(sessions: &[Option<f64>]) -> Option<f64> {
    let mut scores: Vec<f64> = sessions.iter().flatten().copied().collect();
    scores.sort_by(f64::total_cmp);
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    // Zero has one sign.
    (!scores.is_empty()).then_some((mean * STEPS).round() / STEPS + 0.0)
}
