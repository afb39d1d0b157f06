//! Scoring of predictions that were made elsewhere, without calls of any model.

use std::collections::BTreeSet;

use regatta_proto::{Evaluator, ItemId, ItemIndex, Setting, Transcript, did_you_mean};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::recorded::MissingVerdict;
use crate::{Dataset, RecordedVerdicts, Score, Scoring, Suite};

/// Reasons why predictions could not be scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictionsError {
    /// The judge's answer for two texts is not recorded.
    #[error(
        "failed to score item {item}: no verdict is recorded for {left:?} and {right:?}; \
         add their similarity, or the embeddings of both, to the verdicts file"
    )]
    MissingVerdict {
        /// The item.
        item: String,
        /// Text of the prediction.
        left: String,
        /// Text of the gold.
        right: String,
    },
    /// The judge's reply is not recorded.
    #[error(
        "failed to score item {item}: no judgement {kind:?} is recorded about {about:?}; \
         add it with the judge's responses to the verdicts file"
    )]
    MissingJudgement {
        /// The item.
        item: String,
        /// Kind of the judgement.
        kind: String,
        /// Keys of the judged subject, in the order that the kind defines.
        about: Vec<String>,
    },
    /// The prediction does not fit the item's session.
    #[error("failed to score item {item}: {reason}")]
    Unfit {
        /// The item.
        item: String,
        /// The benchmark's reason.
        reason: String,
    },
    /// The suite returned no score for the item: the item is not in the data set, or the evaluator does not apply.
    #[error(
        "failed to score item number {item} with the evaluator {evaluator}: the benchmark gives no score; name an item of the data set and \
         an evaluator of the benchmark"
    )]
    NoScore {
        /// Position in the data set.
        item: ItemIndex,
        /// The evaluator asked for.
        evaluator: Evaluator,
    },
}

/// Scores of predictions under one evaluator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoredPredictions {
    /// The scoring rule.
    pub evaluator: Evaluator,
    /// `aggregate` in the shape of the golden files, over the predicted items alone.
    pub aggregate: Value,
    /// Columns of the paper's main table: label and value in 0..=1.
    pub columns: Vec<(String, Option<f64>)>,
    /// Each item's entry in the shape of the golden files, in the order of the data set.
    pub items: Map<String, Value>,
    /// Items of the data set without a prediction. They are not scored.
    pub not_predicted: NotPredicted,
}

/// Items without a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotPredicted {
    /// Number of items.
    pub count: usize,
    /// Ids in the order of the data set.
    pub ids: Vec<ItemId>,
}

/// Scores `predictions` with `evaluator` and the judges' recorded `verdicts`. `setting` is the setting in which the
/// predictions were made; `None` means the default.
///
/// # Errors
/// When a verdict is missing: nothing is scored by guess.
pub fn score_predictions(
    suite: &dyn Suite,
    setting: Option<&Setting>,
    evaluator: Evaluator,
    predictions: &[(ItemIndex, Transcript)],
    verdicts: &RecordedVerdicts,
) -> Result<ScoredPredictions, PredictionsError> {
    let mut scored: Vec<(ItemIndex, Score)> = Vec::with_capacity(predictions.len());
    for (item, transcript) in predictions {
        let score = match scoring(suite, setting, evaluator, *item, transcript, verdicts)? {
            Scoring::Scored(mut scores) => scores.remove(&evaluator),
            Scoring::Needs(questions) => {
                let missing = questions.iter().find_map(|question| verdicts.missing(question));
                if let Some(missing) = missing {
                    return Err(missing_from(shown(suite, *item), missing));
                }
                None
            }
            Scoring::Unfit(_) | Scoring::Failed(_) => None,
        };
        scored.push((*item, score.ok_or(PredictionsError::NoScore { item: *item, evaluator })?));
    }
    scored.sort_by_key(|(item, _)| *item);
    let borrowed: Vec<(ItemIndex, &Score)> = scored.iter().map(|(item, score)| (*item, score)).collect();
    let table = suite.tabulate(evaluator, &[borrowed]);
    let predicted: BTreeSet<ItemIndex> = scored.iter().map(|(item, _)| *item).collect();
    let ids: Vec<ItemId> = (0_u32..)
        .map(ItemIndex)
        .zip(suite.items())
        .filter(|(item, _)| !predicted.contains(item))
        .map(|(_, item)| item.id.clone())
        .collect();
    let items =
        scored.into_iter().filter_map(|(item, score)| Some((name(suite, item)?.to_string(), score.detail))).collect();
    Ok(ScoredPredictions {
        evaluator,
        aggregate: table.aggregate,
        columns: table.columns,
        items,
        not_predicted: NotPredicted { count: ids.len(), ids },
    })
}

/// Scores one prediction, or says which questions it needs answered.
///
/// # Errors
/// When it does not fit its session, or a program of the benchmark failed.
pub(crate) fn scoring(
    suite: &dyn Suite,
    setting: Option<&Setting>,
    evaluator: Evaluator,
    item: ItemIndex,
    transcript: &Transcript,
    verdicts: &RecordedVerdicts,
) -> Result<Scoring, PredictionsError> {
    let scoring = match setting {
        Some(setting) => suite.score_session(item, setting, &[evaluator], transcript, verdicts),
        None => suite.score(item, &[evaluator], transcript, verdicts),
    };
    match scoring {
        Scoring::Unfit(reason) => Err(PredictionsError::Unfit { item: shown(suite, item), reason }),
        Scoring::Failed(failed) => Err(PredictionsError::Unfit { item: shown(suite, item), reason: failed.why }),
        scoring @ (Scoring::Scored(_) | Scoring::Needs(_)) => Ok(scoring),
    }
}

/// The item's id, for messages; its number where there is none.
pub(crate) fn shown(suite: &dyn Dataset, item: ItemIndex) -> String {
    name(suite, item).map_or_else(|| item.to_string(), |id| id.to_string())
}

/// Says that a prediction names the item `id`, which is none of the `known` ones of the data set, and which may have been meant.
pub fn no_item<'k>(id: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let meant = did_you_mean(id, known);
    let doubt = if meant.is_empty() { "; is it the right --data?" } else { "" };
    format!("{id:?} is no item of the data set{doubt}{meant}")
}

fn missing_from(item: String, missing: MissingVerdict) -> PredictionsError {
    match missing {
        MissingVerdict::Similarity { left, right } => PredictionsError::MissingVerdict { item, left, right },
        MissingVerdict::Judgement { kind, about } => PredictionsError::MissingJudgement { item, kind, about },
    }
}

fn name(suite: &dyn Dataset, item: ItemIndex) -> Option<&ItemId> {
    suite.items().get(usize::try_from(item.0).ok()?).map(|item| &item.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_judgement_is_named_by_kind_and_what_it_is_about() {
        let about = vec!["book".to_owned(), "city".to_owned()];
        let missing = MissingVerdict::Judgement { kind: "fuzzy".to_owned(), about };
        assert_eq!(
            missing_from("s1_agent_turn-1".to_owned(), missing).to_string(),
            "failed to score item s1_agent_turn-1: no judgement \"fuzzy\" is recorded about [\"book\", \"city\"]; \
             add it with the judge's responses to the verdicts file"
        );
    }
}
