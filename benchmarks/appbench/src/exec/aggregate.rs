//! The aggregate of a set of items, in the shape of the golden files.

use serde_json::{Value, json};

use super::outcome::Outcome;

/// Sums up the outcomes of a group. Precision, recall and F1 of calls are those of the sums; what has no denominator is 0.
pub(crate) fn aggregate(outcomes: impl IntoIterator<Item = Outcome>) -> Value {
    let (mut n, mut successes, mut with_error) = (0_usize, 0_usize, 0_usize);
    let (mut hit, mut pred, mut gold) = (0_usize, 0_usize, 0_usize);
    for outcome in outcomes {
        n += 1;
        successes += usize::from(outcome.success);
        with_error += usize::from(outcome.has_error);
        hit += outcome.hit;
        pred += outcome.pred;
        gold += outcome.gold;
    }
    let (precision, recall) = (ratio(hit, pred), ratio(hit, gold));
    let f1 = if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
    json!({
        "n": n, "exec_success": ratio(successes, n),
        "call_precision": precision, "call_recall": recall, "call_f1": f1,
        "items_with_error": with_error,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
