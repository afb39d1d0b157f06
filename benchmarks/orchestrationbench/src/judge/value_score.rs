//! F1 of a call's values, from automatic counts and the judge's counts of the rest.

use regatta_pycompat::Object;

use super::count::Count;
use super::panel::Said;
use super::reply::{is_truthy, read};
use crate::decision::{KeyCounts, Quality, Unsettled, f1};

/// Treatment of a key's exact matches when its other values go to a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credit {
    /// They are dropped: the judge's counts replace them (the official code).
    Lost,
    /// They are added to the judge's counts; and a call without arguments scores 1 if the gold has none either (the
    /// paper).
    Kept,
}

/// The score of a step's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueScore {
    /// Harmonic mean of precision and recall; may leave 0..=1 when a judge's counts are inconsistent.
    pub(crate) f1: f64,
    /// Share of the predicted values that are right.
    pub(crate) precision: f64,
    /// Share of the gold's values that were predicted.
    pub(crate) recall: f64,
    /// The judge's answer could not be used, so all three are 0.
    pub(crate) is_error: bool,
}

impl ValueScore {
    const ERROR: Self = Self { f1: 0.0, precision: 0.0, recall: 0.0, is_error: true };

    /// Returns the mean over judges, of which there is at least one.
    pub(crate) fn mean(scores: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f64| scores.iter().map(value).sum::<f64>() / scores.len().max(1) as f64;
        Self {
            f1: mean(|score| score.f1),
            precision: mean(|score| score.precision),
            recall: mean(|score| score.recall),
            is_error: scores.iter().any(|score| score.is_error),
        }
    }
}

/// Computes the score with one judge's answer.
pub(crate) fn value_score(quality: &Quality, said: &Said, credit: Credit) -> ValueScore {
    let unsettled = quality.unsettled();
    let judged = match said {
        Said::Null if !unsettled.is_empty() => return ValueScore::ERROR,
        Said::Text(text) if !unsettled.is_empty() => read(text).unwrap_or_default(),
        _ => Object::default(),
    };
    if credit == Credit::Kept && quality.keys.is_empty() {
        return ValueScore { f1: 1.0, precision: 1.0, recall: 1.0, is_error: false };
    }
    let automatic = quality.keys.values().filter(|counts| counts.unsettled.is_none()).map(final_counts);
    let mut total = [0; 3].map(Count::of);
    for counts in automatic.map(Some).chain(unsettled.iter().map(|key| counts_of(key, &judged, credit))) {
        let Some(sum) = counts.and_then(|counts| added(&total, &counts)) else { return ValueScore::ERROR };
        total = sum;
    }
    let [tp, fp, fn_] = &total;
    let share = |wrong: &Count| tp.share_of(&tp.plus(wrong)?);
    let (Some(precision), Some(recall)) = (share(fp), share(fn_)) else { return ValueScore::ERROR };
    let score = ValueScore { f1: f1(precision, recall), precision, recall, is_error: false };
    // Python would continue with infinities, but results cannot hold them.
    let is_finite = [score.f1, score.precision, score.recall].into_iter().all(f64::is_finite);
    if is_finite { score } else { ValueScore::ERROR }
}

fn added(a: &[Count; 3], b: &[Count; 3]) -> Option<[Count; 3]> {
    let ([tp, fp, fn_], [more_tp, more_fp, more_fn]) = (a, b);
    Some([tp.plus(more_tp)?, fp.plus(more_fp)?, fn_.plus(more_fn)?])
}

fn final_counts(counts: &KeyCounts) -> [Count; 3] {
    [counts.tp, counts.fp, counts.fn_].map(Count::of)
}

/// Returns the judge's counts of a key; all values are wrong when it does not mention the key. `None` if an entry is
/// not a count.
fn counts_of(key: &Unsettled<'_>, judged: &Object, credit: Credit) -> Option<[Count; 3]> {
    let [tp, fp, fn_] = match judged.get(key.key).filter(|entry| is_truthy(entry)) {
        None => [0, key.predicted.len(), key.actual.len()].map(Count::of),
        Some(entry) => {
            let entry = entry.as_object()?;
            let count = |name: &str| entry.get(name).map_or(Some(Count::of(0)), Count::read);
            [count("tp_count")?, count("fp_count")?, count("fn_count")?]
        }
    };
    let kept = match credit {
        Credit::Lost => 0,
        Credit::Kept => key.confirmed_tp,
    };
    Some([tp.plus(&Count::of(kept))?, fp, fn_])
}
