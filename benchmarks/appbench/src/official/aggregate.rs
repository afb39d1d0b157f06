//! Many items together, in the shape of the golden files (docs/benchmarks/appbench.md §11).

use serde_json::{Map, Value, json};

use super::analysis::Sums;
use super::ratio::ZeroDivision;
use super::value;
use super::{Evaluation, ItemCounters, divide};
use crate::topology::buckets;

/// `aggregate` of one group: what both evaluators print, or the error that they raise instead, and the counters behind it. Beside that,
/// what a reader must know: the share of calls that evaluator A cannot read, and the successes among items about which nothing is odd.
pub(crate) fn aggregate<'a>(items: impl IntoIterator<Item = &'a ItemCounters>) -> Value {
    let (mut evaluation, mut analysis) = (Evaluation::default(), Sums::default());
    let (mut n, mut unparseable, mut unflagged, mut unflagged_match) = (0, 0, 0, 0);
    let mut scales = Vec::new();
    for item in items {
        n += 1;
        evaluation.add(&item.evaluation);
        analysis.add(&item.lists, &item.analysis);
        scales.extend(item.scale.map(|scale| (scale, item.argument_em)));
        unparseable += item.unparseable;
        if !item.is_flagged {
            unflagged += 1;
            unflagged_match += item.evaluation.total_match;
        }
    }
    let or_error =
        |result: Result<Value, ZeroDivision>| result.unwrap_or_else(|_| json!({ "error": ZeroDivision::NAME }));
    let share = |part: u64, whole: u64| divide(part as f64, whole as f64).ok();
    Value::Object(Map::from_iter([
        ("n".to_owned(), json!(n)),
        ("evaluation".to_owned(), or_error(evaluation.metrics(n))),
        ("evaluation_counters".to_owned(), json!(evaluation)),
        ("evaluation_extra".to_owned(), evaluation.extra(n)),
        ("analysis".to_owned(), or_error(analysis.metrics(n))),
        ("analysis_counters".to_owned(), json!(analysis.counters)),
        ("argument_em_by_topology".to_owned(), buckets(scales)),
        (value::UNPARSEABLE.to_owned(), json!(share(unparseable, evaluation.total_pred_apis))),
        (value::UNFLAGGED_MATCH.to_owned(), json!(share(unflagged_match, unflagged))),
    ]))
}
