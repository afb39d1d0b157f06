//! The `official` evaluator: what the published code computes, quirks included (docs/benchmarks/worfbench.md §5).

use regatta_matching::{Matcher, Weights, first_orders};
use serde::Serialize;

use super::averages::{OfficialMeans, OfficialValues};
use super::error::ScoreError;
use super::parse_official::{OfficialWorkflow, parse};
use super::similarity::Similarities;

/// Topological orders of the gold that are tried.
const ORDERS_MAX: usize = 20;

/// From this many entries on, START and END included, only the gold order as written is tried.
pub(crate) const ENTRIES_WITH_ONE_ORDER: usize = 10;

/// Score of one item in both metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OfficialScore {
    pub(crate) node: OfficialMetric,
    pub(crate) graph: OfficialMetric,
    /// Absent for an unparsable prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diag: Option<Diagnosis>,
}

/// One metric of one item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct OfficialMetric {
    pub(crate) status: OfficialStatus,
    /// Name of the exception that the published code raises, where the status is `crash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exception: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) values: OfficialValues,
}

/// Way in which a metric got its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OfficialStatus {
    Ok,
    /// The parser finds no workflow: counts 0.
    Unparsable,
    /// The published code aborts on this item: counts 0, the run is flagged.
    Crash,
}

/// Counts behind a score. Nodes include START and END.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    pub(crate) n_pred_nodes: usize,
    pub(crate) n_gold_nodes: usize,
    pub(crate) n_pred_edges: usize,
    pub(crate) n_gold_edges: usize,
    /// Size of the largest component of the common edges.
    pub(crate) component: usize,
    /// Predicted edges, repeats counted, that are common.
    pub(crate) common_edges: usize,
    /// Longest increasing subsequence against the best gold order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lis: Option<usize>,
    /// Gold orders tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gold_orders: Option<usize>,
}

impl OfficialScore {
    /// The values that averages are taken of.
    pub(crate) fn values(&self) -> OfficialMeans {
        OfficialMeans { node: self.node.values, graph: self.graph.values }
    }
}

impl OfficialMetric {
    fn ok(values: OfficialValues) -> Self {
        Self { status: OfficialStatus::Ok, exception: None, values }
    }

    fn zero(status: OfficialStatus, exception: Option<&'static str>) -> Self {
        Self { status, exception, values: OfficialValues::default() }
    }
}

/// Scores a reply against the gold text. `None` stands for a reply that is no text.
///
/// # Errors
/// If the gold cannot be used or a similarity is missing.
pub(crate) fn score(
    prediction: Option<&str>,
    gold: &str,
    similarities: &Similarities,
) -> Result<OfficialScore, ScoreError> {
    let gold = parse(gold).filter(|gold| gold.nodes.len() > 2).ok_or(ScoreError::GoldUnparsable)?;
    let Some(predicted) = prediction.and_then(parse) else {
        let unparsable = OfficialMetric::zero(OfficialStatus::Unparsable, None);
        return Ok(OfficialScore { node: unparsable, graph: unparsable, diag: None });
    };
    let weights = similarities.weights(&predicted.nodes, &gold.nodes)?;
    let mut matcher = Matcher::default();
    let graph = graph_metric(&predicted, &gold, &weights, &mut matcher);
    let node = node_metric(&predicted, &gold, &weights, &mut matcher)?;
    let diag = Diagnosis {
        n_pred_nodes: predicted.nodes.len(),
        n_gold_nodes: gold.nodes.len(),
        n_pred_edges: predicted.edges.len(),
        n_gold_edges: gold.edges.len(),
        component: graph.component,
        common_edges: graph.common_edges,
        lis: node.as_ref().map(|node| node.lis),
        gold_orders: node.as_ref().map(|node| node.gold_orders),
    };
    Ok(OfficialScore {
        node: match node {
            Some(node) => OfficialMetric::ok(OfficialValues::of(node.lis, node.predicted, node.gold)),
            None => OfficialMetric::zero(OfficialStatus::Crash, Some("RuntimeError")),
        },
        graph: OfficialMetric::ok(OfficialValues::of(graph.component, predicted.nodes.len(), gold.nodes.len())),
        diag: Some(diag),
    })
}

/// The published code weighs pairs with the similarity as a floating-point number; its rounding can matter in ties.
fn similarity(micro: i32) -> f64 {
    f64::from(micro) / 1e6
}

fn is_marker(text: &str) -> bool {
    text == "START" || text == "END"
}

struct NodeOutcome {
    lis: usize,
    predicted: usize,
    gold: usize,
    gold_orders: usize,
}

/// Best longest increasing subsequence over the gold orders; `None` where the published code crashes because no
/// predicted node is left.
fn node_metric(
    predicted: &OfficialWorkflow<'_>,
    gold: &OfficialWorkflow<'_>,
    weights: &Weights,
    matcher: &mut Matcher,
) -> Result<Option<NodeOutcome>, ScoreError> {
    let rows: Vec<usize> = (0..predicted.nodes.len()).filter(|&i| !is_marker(predicted.nodes[i])).collect();
    let entries = gold.nodes.len();
    let orders = if entries >= ENTRIES_WITH_ONE_ORDER {
        // As written, and here the markers stay in.
        vec![(0..entries).collect()]
    } else {
        let mut orders = first_orders(entries, &gold.edges, ORDERS_MAX).ok_or(ScoreError::GoldCyclic)?;
        for order in &mut orders {
            order.retain(|&j| !is_marker(gold.nodes[j]));
        }
        orders
    };
    if rows.is_empty() {
        return Ok(None);
    }
    let gold_length = orders.first().map_or(0, Vec::len);
    // No order can give more than the nodes that have a possible partner at all.
    let ceiling = rows.iter().filter(|&&i| weights.row(i).iter().any(|&w| w > 0)).count().min(gold_length).max(1);
    let mut lis = 1;
    for (at, order) in orders.iter().enumerate() {
        if lis == ceiling {
            break;
        }
        let same_texts = |other: &Vec<usize>| other.iter().zip(order).all(|(&a, &b)| gold.nodes[a] == gold.nodes[b]);
        if orders[..at].iter().any(same_texts) {
            continue;
        }
        let places = matcher.solve(rows.len(), order.len(), |i, j| similarity(weights.get(rows[i], order[j])));
        lis = lis.max(longest_increasing(places));
    }
    Ok(Some(NodeOutcome { lis, predicted: rows.len(), gold: gold_length, gold_orders: orders.len() }))
}

/// Length of the longest increasing subsequence of the matched places; 1 even if nothing is matched.
fn longest_increasing(places: &[Option<usize>]) -> usize {
    // `smallest[k]` is the smallest last place of an increasing subsequence of length k + 1.
    let mut smallest: Vec<usize> = Vec::new();
    for &place in places.iter().flatten() {
        let at = smallest.partition_point(|&last| last < place);
        match smallest.get_mut(at) {
            Some(last) => *last = place,
            None => smallest.push(place),
        }
    }
    smallest.len().max(1)
}

struct GraphOutcome {
    component: usize,
    common_edges: usize,
}

/// Largest component of the edges that both workflows have between matched nodes. Edges are compared by printed
/// index: the published code does not apply the node mapping to them.
fn graph_metric(
    predicted: &OfficialWorkflow<'_>,
    gold: &OfficialWorkflow<'_>,
    weights: &Weights,
    matcher: &mut Matcher,
) -> GraphOutcome {
    let mapping = matcher.solve(weights.rows(), weights.columns(), |i, j| similarity(weights.get(i, j)));
    let mut gold_matched = vec![false; gold.nodes.len()];
    for column in mapping.iter().flatten() {
        gold_matched[*column] = true;
    }
    let kept = |(a, b): (usize, usize)| {
        let matched = |v: usize| mapping.get(v).is_some_and(Option::is_some) && gold_matched.get(v) == Some(&true);
        matched(a) && matched(b)
    };
    let mut gold_edges: Vec<_> = gold.edges.iter().copied().filter(|&edge| kept(edge)).collect();
    gold_edges.sort_unstable();
    let mut component = Components::new(gold.nodes.len());
    let mut common_edges = 0;
    for &(a, b) in &predicted.edges {
        if gold_edges.binary_search(&(a, b)).is_ok() {
            common_edges += 1;
            component.join(a, b);
        }
    }
    GraphOutcome { component: component.largest, common_edges }
}

/// Sizes of connected components while edges are added.
struct Components {
    sets: petgraph::unionfind::UnionFind<usize>,
    size: Vec<usize>,
    largest: usize,
}

impl Components {
    fn new(vertices: usize) -> Self {
        Self { sets: petgraph::unionfind::UnionFind::new(vertices), size: vec![1; vertices], largest: 1 }
    }

    fn join(&mut self, a: usize, b: usize) {
        let size = self.size[self.sets.find_mut(a)] + self.size[self.sets.find_mut(b)];
        if self.sets.union(a, b) {
            let root = self.sets.find_mut(a);
            self.size[root] = size;
            self.largest = self.largest.max(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLD: &str = "Node:\n1: a\n2: b\n3: c\nEdge: (START,1) (1,2) (2,3) (3,END)";

    fn texts() -> Similarities {
        let all = ["START", "a", "b", "c", "d", "", "END"];
        Similarities::new(&all, &all, &vec![vec![0; all.len()]; all.len()]).unwrap()
    }

    fn against(prediction: &str) -> OfficialScore {
        score(Some(prediction), GOLD, &texts()).unwrap()
    }

    #[test]
    fn a_copy_scores_one_in_both_metrics() {
        let score = against(GOLD);
        assert_eq!((score.node.values.f1_score, score.graph.values.f1_score), (1.0, 1.0));
        let diag = score.diag.unwrap();
        assert_eq!((diag.component, diag.common_edges, diag.lis, diag.gold_orders), (5, 4, Some(3), Some(1)));
    }

    #[test]
    fn an_unrelated_but_parsable_answer_never_scores_zero() {
        let score = against("Node:\n1: d\nEdge: (START,1)");
        assert_eq!(score.node.values, OfficialValues::of(1, 1, 3));
        assert_eq!(score.graph.values, OfficialValues::of(1, 3, 5));
    }

    #[test]
    fn edges_are_compared_by_printed_index_not_through_the_mapping() {
        let score = against("Node:\n2: b\n1: a\n3: c\nEdge: (START,2) (2,1) (1,3) (3,END)");
        assert_eq!(score.diag.unwrap().common_edges, 1);
        assert_eq!(score.graph.values, OfficialValues::of(2, 5, 5));
    }

    #[test]
    fn nodes_without_edges_are_unparsable_in_both_metrics() {
        let score = against("Node:\n1: a\n2: b\n3: c");
        assert_eq!(score.node.status, OfficialStatus::Unparsable);
        assert_eq!(score.graph.status, OfficialStatus::Unparsable);
        assert_eq!(score.diag, None);
        assert_eq!(super::score(None, GOLD, &texts()).unwrap(), score);
    }

    #[test]
    fn edges_without_nodes_crash_the_node_metric_only() {
        let score = against("Node:\n1.a\nEdge: (START,1) (1,END)");
        assert_eq!((score.node.status, score.node.exception), (OfficialStatus::Crash, Some("RuntimeError")));
        assert_eq!(score.graph.status, OfficialStatus::Ok);
        let json = serde_json::to_value(&score).unwrap();
        assert_eq!(json["node"]["f1_score"], 0.0);
        assert!(json["diag"].get("lis").is_none());
    }

    #[test]
    fn long_golds_are_compared_as_written_with_their_markers() {
        let gold: String = (1..=8).map(|n| format!("{n}: {n}\n")).collect::<String>() + "(START,1)";
        let gold = format!("Node:\n{gold}");
        let texts: Vec<String> =
            ["START".into(), "END".into()].into_iter().chain((1..=8).map(|n| n.to_string())).collect();
        let known = Similarities::new(&texts, &texts, &vec![vec![0; 10]; 10]).unwrap();
        let score = score(Some(&gold), &gold, &known).unwrap();
        assert_eq!(score.node.values, OfficialValues::of(8, 8, 10));
    }

    #[test]
    fn bad_golds_are_errors_not_scores() {
        let known = Similarities::default();
        assert_eq!(score(None, "Node: none", &known), Err(ScoreError::GoldUnparsable));
        assert_eq!(score(None, "Node (START,END)", &known), Err(ScoreError::GoldUnparsable));
        let cyclic = "Node\n1: a\n(1,1)";
        assert_eq!(score(Some(cyclic), cyclic, &texts()), Err(ScoreError::GoldCyclic));
    }

    #[test]
    fn a_prediction_of_thousands_of_nodes_is_scored_in_bounded_time() {
        let nodes: String = (1..=20_000).map(|n| format!("{n}: a\n({n},{})\n", n + 1)).collect();
        let score = against(&format!("Node:\n{nodes}"));
        assert_eq!(score.diag.unwrap().n_pred_nodes, 20_002);
        assert_eq!(score.diag.unwrap().lis, Some(1));
    }
}
