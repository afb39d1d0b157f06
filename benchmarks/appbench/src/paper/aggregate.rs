//! Many items together (docs/benchmarks/appbench.md §6): micro averages, and 0 where there is nothing to divide by.

use serde_json::{Value, json};

use super::ItemCounters;

/// `aggregate` of one group in the shape of the golden files.
pub(crate) fn aggregate<'a>(items: impl IntoIterator<Item = &'a ItemCounters>) -> Value {
    let (mut n, mut sums) = (0, ItemCounters::default());
    for item in items {
        n += 1;
        sums.add(item);
    }
    let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let f1 = |precision: f64, recall: f64| {
        if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
    };
    let (app_precision, app_recall) = (ratio(sums.app_hit, sums.app_pred), ratio(sums.app_hit, sums.app_gold));
    let (api_precision, api_recall) = (ratio(sums.api_hit, sums.api_pred), ratio(sums.api_hit, sums.api_gold));
    json!({
        "n": n,
        "app_precision": app_precision,
        "app_recall": app_recall,
        "f1_app": f1(app_precision, app_recall),
        "api_precision": api_precision,
        "api_recall": api_recall,
        "f1_api": f1(api_precision, api_recall),
        "em_app": ratio(sums.app_em, n),
        "em_api": ratio(sums.api_em, n),
        "succ": ratio(sums.succ, n),
    })
}
