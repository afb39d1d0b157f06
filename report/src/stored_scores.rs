//! A session's scores as the ledger keeps them: those that count, and beside them those by each repeat of the judge alone (`repeats`) and the
//! values by the audit's judge (`audited`). Both stand under each evaluator, and are in no result file.

use std::collections::BTreeMap;

use regatta_benchmarks::{Score, Scores};
use regatta_proto::{Evaluator, Outcome};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde_json::Value;

/// Flat values of an evaluator, by repeat.
pub(crate) type RepeatValues = Vec<BTreeMap<String, f64>>;

/// Values by repeat of every evaluator that asked the judge.
pub type Repeats = BTreeMap<Evaluator, RepeatValues>;

const REPEATS: &str = "repeats";
const AUDITED: &str = "audited";

/// `scores` as the ledger keeps them, with those by each of `repeats` alone and the values by the audit's judge.
///
/// # Errors
/// When a score is no JSON.
pub fn stored_scores(scores: &Scores, repeats: &Repeats, audited: Option<&Scores>) -> serde_json::Result<Value> {
    let mut stored = serde_json::to_value(scores)?;
    for (evaluator, values) in repeats {
        if let Some(Value::Object(score)) = stored.get_mut(evaluator.as_str()) {
            score.insert(REPEATS.to_owned(), serde_json::to_value(values)?);
        }
    }
    for (evaluator, by_audit) in audited.into_iter().flatten() {
        if let Some(Value::Object(score)) = stored.get_mut(evaluator.as_str()) {
            score.insert(AUDITED.to_owned(), serde_json::to_value(&by_audit.values)?);
        }
    }
    Ok(stored)
}

/// The repeats in scores that the ledger kept.
///
/// # Errors
/// When they are no lists of flat values.
pub(crate) fn kept_repeats(stored: &Value) -> serde_json::Result<Repeats> {
    let mut repeats = Repeats::new();
    for (evaluator, score) in stored.as_object().into_iter().flatten() {
        if let Some(values) = score.get(REPEATS) {
            let evaluator = Evaluator::deserialize(evaluator.as_str().into_deserializer())?;
            repeats.insert(evaluator, RepeatValues::deserialize(values)?);
        }
    }
    Ok(repeats)
}

/// `scores` of a session of the sample as they are by the audit's judge, from what the ledger `stored` of it. After a failure of the model they
/// are the same by every judge. `None` for a session that it did not score: it was away, or a scorer settled the session that does not know
/// audits.
///
/// # Errors
/// When the stored values are no flat values.
pub(crate) fn kept_audit(outcome: &Outcome, stored: &Value, scores: &Scores) -> serde_json::Result<Option<Scores>> {
    match outcome {
        Outcome::Measured => {}
        Outcome::ModelFailure { .. } => return Ok(Some(scores.clone())),
        Outcome::NotMeasured { .. } => return Ok(None),
    }
    let mut audited = Scores::new();
    for evaluator in scores.keys() {
        let Some(values) = stored.get(evaluator.as_str()).and_then(|score| score.get(AUDITED)) else { return Ok(None) };
        audited.insert(*evaluator, Score { values: BTreeMap::deserialize(values)?, detail: Value::Null });
    }
    Ok(Some(audited))
}

#[cfg(test)]
mod tests {
    use regatta_proto::Cause;
    use serde_json::json;

    use super::*;

    fn scores(value: f64) -> Scores {
        let score = Score { values: BTreeMap::from([("right".to_owned(), value)]), detail: Value::Null };
        Scores::from([(Evaluator::Paper, score)])
    }

    #[test]
    fn only_scores_that_say_so_are_audited_and_failures_of_the_model_need_nobody() {
        let (own, audit) = (scores(1.0), scores(0.0));
        let kept = |outcome: &Outcome, audited| {
            kept_audit(outcome, &stored_scores(&own, &Repeats::new(), audited).unwrap(), &own)
        };
        assert_eq!(kept(&Outcome::Measured, Some(&audit)).unwrap(), Some(audit.clone()));
        assert_eq!(kept(&Outcome::Measured, None).unwrap(), None, "a scorer that knows no audits settled it");
        let failure = Outcome::ModelFailure { cause: Cause::ContextLength };
        assert_eq!(kept(&failure, None).unwrap(), Some(own.clone()));
        assert_eq!(kept(&Outcome::NotMeasured { cause: Cause::Timeout }, None).unwrap(), None);
        let by_one_evaluator = json!({ "paper": { "values": { "right": 1.0 }, "audited": { "right": 0.0 } } });
        let by_two =
            Scores::from([(Evaluator::Official, own[&Evaluator::Paper].clone())]).into_iter().chain(own.clone());
        assert_eq!(kept_audit(&Outcome::Measured, &by_one_evaluator, &by_two.collect()).unwrap(), None);
    }
}
