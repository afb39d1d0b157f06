//! Means over items, tasks and groups, for both evaluators (docs/benchmarks/worfbench.md §5.6).

use std::collections::BTreeMap;

use serde::Serialize;

use super::task::{Group, Task};

/// Precision, recall and f1 under the published code's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct OfficialValues {
    pub(crate) precision: f64,
    pub(crate) recall: f64,
    pub(crate) f1_score: f64,
}

/// Precision, recall and f1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct PaperValues {
    pub(crate) precision: f64,
    pub(crate) recall: f64,
    pub(crate) f1: f64,
}

/// Values, or means of values, of the `official` evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct OfficialMeans {
    pub(crate) node: OfficialValues,
    pub(crate) graph: OfficialValues,
}

/// Values, or means of values, of the `paper` evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct PaperMeans {
    pub(crate) chain: PaperValues,
    pub(crate) graph: PaperValues,
}

impl OfficialValues {
    /// `common` of `predicted` and of `gold` nodes.
    pub(crate) fn of(common: usize, predicted: usize, gold: usize) -> Self {
        let [precision, recall, f1_score] = precision_recall_f1(common, predicted, gold);
        Self { precision, recall, f1_score }
    }
}

impl PaperValues {
    /// `common` of `predicted` and of `gold` nodes.
    pub(crate) fn of(common: usize, predicted: usize, gold: usize) -> Self {
        let [precision, recall, f1] = precision_recall_f1(common, predicted, gold);
        Self { precision, recall, f1 }
    }
}

fn precision_recall_f1(common: usize, predicted: usize, gold: usize) -> [f64; 3] {
    if common == 0 {
        return [0.0; 3];
    }
    let precision = common as f64 / predicted as f64;
    let recall = common as f64 / gold as f64;
    [precision, recall, 2.0 * recall * precision / (recall + precision)]
}

/// Six numbers of which means are taken one by one.
pub(crate) trait Means: Copy {
    fn to_numbers(self) -> [f64; 6];
    fn from_numbers(numbers: [f64; 6]) -> Self;
}

impl Means for OfficialMeans {
    fn to_numbers(self) -> [f64; 6] {
        let Self { node, graph } = self;
        [node.precision, node.recall, node.f1_score, graph.precision, graph.recall, graph.f1_score]
    }

    fn from_numbers(numbers: [f64; 6]) -> Self {
        let of =
            |at: usize| OfficialValues { precision: numbers[at], recall: numbers[at + 1], f1_score: numbers[at + 2] };
        Self { node: of(0), graph: of(3) }
    }
}

impl Means for PaperMeans {
    fn to_numbers(self) -> [f64; 6] {
        let Self { chain, graph } = self;
        [chain.precision, chain.recall, chain.f1, graph.precision, graph.recall, graph.f1]
    }

    fn from_numbers(numbers: [f64; 6]) -> Self {
        let of = |at: usize| PaperValues { precision: numbers[at], recall: numbers[at + 1], f1: numbers[at + 2] };
        Self { chain: of(0), graph: of(3) }
    }
}

/// Means over a number of items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Counted<M> {
    pub(crate) n: usize,
    #[serde(flatten)]
    pub(crate) means: M,
}

/// All averages. Only tasks that occur count; absent means are means of nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Averages<M> {
    /// Over all items of a task, unparsable ones included.
    pub(crate) per_task: BTreeMap<Task, Counted<M>>,
    /// Over all items, whatever their task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) all_items: Option<Counted<M>>,
    /// Unweighted means of the task means.
    pub(crate) groups: BTreeMap<Group, M>,
    /// Unweighted mean of the groups of the published table, without the held-out tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) average: Option<M>,
}

/// Averages values in the order given.
pub(crate) fn averages<M: Means>(items: impl IntoIterator<Item = (Task, M)>) -> Averages<M> {
    let mut all = Sum::default();
    let mut by_task: BTreeMap<Task, Sum> = BTreeMap::new();
    for (task, values) in items {
        all.add(values);
        by_task.entry(task).or_default().add(values);
    }
    let per_task: BTreeMap<Task, Counted<M>> =
        by_task.into_iter().filter_map(|(task, sum)| Some((task, sum.counted()?))).collect();
    let mut by_group: BTreeMap<Group, Sum> = BTreeMap::new();
    for (task, mean) in &per_task {
        by_group.entry(task.group()).or_default().add(mean.means);
    }
    let groups: BTreeMap<Group, M> =
        by_group.into_iter().filter_map(|(group, sum)| Some((group, sum.counted()?.means))).collect();
    let mut table = Sum::default();
    for (group, &means) in &groups {
        if group.counts_in_average() {
            table.add(means);
        }
    }
    Averages { per_task, all_items: all.counted(), groups, average: table.counted().map(|mean: Counted<M>| mean.means) }
}

#[derive(Default)]
struct Sum {
    n: usize,
    numbers: [f64; 6],
}

impl Sum {
    fn add(&mut self, values: impl Means) {
        self.n += 1;
        for (sum, value) in self.numbers.iter_mut().zip(values.to_numbers()) {
            *sum += value;
        }
    }

    fn counted<M: Means>(self) -> Option<Counted<M>> {
        let Self { n, numbers } = self;
        (n > 0).then(|| Counted { n, means: M::from_numbers(numbers.map(|sum| sum / n as f64)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f1(value: f64) -> PaperMeans {
        PaperMeans::from_numbers([0.0, 0.0, value, 0.0, 0.0, 0.0])
    }

    #[test]
    fn groups_average_task_means_and_the_average_leaves_out_the_held_out_tasks() {
        let items = [
            (Task::Toolbench, f1(1.0)),
            (Task::Toolbench, f1(0.0)),
            (Task::Toolbench, f1(0.5)),
            (Task::Toolalpaca, f1(1.0)),
            (Task::Lumos, f1(0.25)),
            (Task::SealTools, f1(0.0)),
        ];
        let averages = averages(items);
        assert_eq!(averages.per_task[&Task::Toolbench], Counted { n: 3, means: f1(0.5) });
        assert_eq!(averages.groups[&Group::FunctionCall], f1(0.75));
        assert_eq!(averages.average, Some(f1(0.5)));
        assert_eq!(averages.all_items, Some(Counted { n: 6, means: f1(2.75 / 6.0) }));
        assert!(!averages.groups.contains_key(&Group::Embodied));
    }

    #[test]
    fn means_of_nothing_are_absent() {
        let none = serde_json::to_value(averages::<PaperMeans>([])).unwrap();
        assert_eq!(none, serde_json::json!({ "per_task": {}, "groups": {} }));
        assert_eq!(averages([(Task::SealTools, f1(1.0))]).average, None);
    }

    #[test]
    fn official_values_keep_their_published_names() {
        let averages = averages([(Task::Os, OfficialMeans::from_numbers([1.0, 0.5, 0.75, 0.0, 0.0, 0.0]))]);
        let json = serde_json::to_value(&averages).unwrap();
        assert_eq!(json["per_task"]["os"]["n"], 1);
        assert_eq!(json["per_task"]["os"]["node"]["f1_score"], 0.75);
        assert_eq!(json["average"]["node"]["recall"], 0.5);
    }
}
