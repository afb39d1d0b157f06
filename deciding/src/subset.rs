//! A subset of items that estimates the whole, with its error on models that it was not chosen by.

use crate::anchors::{anchors, estimate_of};
use crate::responses::{Responses, are_alike, whole};
use crate::simulation::Draws;
use crate::thin_history::ThinHistory;

/// Random subsets that the chosen one is compared with.
const RANDOM_SUBSETS: usize = 200;

/// An item of a subset.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// Name of the item.
    pub item: String,
    /// Number of items of the whole that it stands for; the weights sum to the number of items.
    pub weight: f64,
}

/// A model that was held out: the subset was chosen by the others, but for those that answer every item as it does.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Name of the model.
    pub model: String,
    /// Mean score over all items, 0 to 1.
    pub whole: f64,
    /// The estimate of it from the subset, 0 to 1.
    pub estimate: f64,
    /// Mean absolute error of the plain mean over random subsets of the same size.
    pub random_error: f64,
}

impl HeldOut {
    /// Estimate minus whole.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.estimate - self.whole
    }
}

/// A chosen subset.
#[derive(Debug, Clone, PartialEq)]
pub struct Subset {
    /// Chosen items, in the order of their names.
    pub anchors: Vec<Anchor>,
    /// The models of the history, each held out in turn.
    pub held_out: Vec<HeldOut>,
    /// Largest error of any model with a random subset, in the mean over random subsets.
    pub random_worst: f64,
}

impl Subset {
    /// Chooses `asked` items of the whole. The same responses and seed give the same subset.
    ///
    /// # Errors
    /// [`ThinHistory::TooFewItems`] where fewer items than asked for have a score of every model, or all items are asked for.
    pub fn choose(responses: &Responses, asked: usize, seed: u64) -> Result<Self, ThinHistory> {
        let (complete, items) = (responses.complete(), responses.items().len());
        if asked == 0 || asked > complete.len() || asked >= items {
            return Err(ThinHistory::TooFewItems { asked, items, complete: complete.len() });
        }
        let rows = responses.rows();
        let chosen = anchors(&rows, &complete, asked, seed);
        let anchors = chosen.into_iter().map(|(item, weight)| Anchor { item: responses.items()[item].clone(), weight });
        let random = random_errors(&rows, &complete, asked, seed);
        let worst = |of_subset: &Vec<f64>| of_subset.iter().copied().fold(0.0, f64::max);
        Ok(Self {
            anchors: anchors.collect(),
            held_out: held_out(responses, &complete, asked, seed, &random),
            random_worst: mean(random.iter().map(worst)),
        })
    }

    /// Mean absolute error over the held-out models.
    #[must_use]
    pub fn error(&self) -> f64 {
        mean(self.held_out.iter().map(|of| of.error().abs()))
    }

    /// Largest absolute error of a held-out model.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.held_out.iter().map(|of| of.error().abs()).fold(0.0, f64::max)
    }

    /// Mean absolute error of random subsets of the same size, over the same models.
    #[must_use]
    pub fn random_error(&self) -> f64 {
        mean(self.held_out.iter().map(|of| of.random_error))
    }
}

/// Estimates each model by the anchors that others choose. One that answers as the model does is not among these, because it may be the same
/// model under another name. Only items with a score of all models are chosen, so that there is an estimate.
fn held_out(responses: &Responses, complete: &[usize], asked: usize, seed: u64, random: &[Vec<f64>]) -> Vec<HeldOut> {
    let rows = responses.rows();
    let of_model = |(at, (model, row)): (usize, (&String, &&[Option<f64>]))| {
        let others: Vec<&[Option<f64>]> = rows.iter().filter(|other| !are_alike(other, row)).copied().collect();
        HeldOut {
            model: model.clone(),
            whole: whole(row),
            estimate: estimate_of(row, &anchors(&others, complete, asked, seed)),
            random_error: mean(random.iter().map(|of_subset| of_subset[at])),
        }
    };
    responses.models().iter().zip(&rows).enumerate().map(of_model).collect()
}

/// Absolute errors of the models, by random subset.
fn random_errors(rows: &[&[Option<f64>]], complete: &[usize], asked: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut draws = Draws::new(seed);
    let of_subset = |_: usize| -> Vec<f64> {
        let subset: Vec<(usize, f64)> = draws.some_of(complete, asked).into_iter().map(|item| (item, 1.0)).collect();
        rows.iter().map(|row| (estimate_of(row, &subset) - whole(row)).abs()).collect()
    };
    (0..RANDOM_SUBSETS).map(of_subset).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}
