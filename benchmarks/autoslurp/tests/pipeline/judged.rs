//! Values that judges decide are declared as such, so that an audit corrects them and no others.

use regatta_benchmark_testing::judged_values;
use regatta_proto::Evaluator;

use crate::harness::{miniature, setting};

const ALL: [Evaluator; 3] = [Evaluator::Official, Evaluator::Paper, Evaluator::Structured];

#[test]
fn what_verdicts_change_is_declared_as_judged() {
    let found = judged_values(&*miniature(), &["camelai", "autogen"].map(setting), &ALL);
    for (evaluator, value) in [(Evaluator::Official, "right"), (Evaluator::Paper, "right")] {
        assert!(found.contains(&(evaluator, value.to_owned())), "{value} is not among {found:?}");
    }
}
