//! The `paper` evaluator: chain score against the best topological order, graph score by the maximum common induced
//! subgraph. START and END only mark the ends and are not counted (docs/benchmarks/worfbench.md §6).

use regatta_matching::{
    Matcher, NODE_SET_CAPACITY, NodeSet, descendants, lexicographic_matching, longest_chain, maximum_clique,
};
use serde::Serialize;

use super::averages::{PaperMeans, PaperValues};
use super::error::ScoreError;
use super::parse_paper::{PaperWorkflow, parse};
use super::similarity::Similarities;

/// Score of one item in both metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PaperScore {
    pub(crate) status: PaperStatus,
    pub(crate) n_pred: usize,
    pub(crate) n_gold: usize,
    /// Predicted nodes with a partner.
    pub(crate) matched: usize,
    pub(crate) l_chain: usize,
    pub(crate) k_graph: usize,
    /// Gold position of each predicted node, -1 without partner. Absent for an unparsable prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mapping: Option<Vec<i64>>,
    pub(crate) chain: PaperValues,
    pub(crate) graph: PaperValues,
}

/// Way in which a score got its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaperStatus {
    Ok,
    /// The prediction names no node: counts 0.
    Unparsable,
    /// The predicted edges form a cycle: scored as usual.
    Cyclic,
}

impl PaperScore {
    /// The values that averages are taken of.
    pub(crate) fn values(&self) -> PaperMeans {
        PaperMeans { chain: self.chain, graph: self.graph }
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
) -> Result<PaperScore, ScoreError> {
    let gold = parse(gold).ok_or(ScoreError::GoldUnparsable)?;
    let n_gold = gold.nodes.len();
    if n_gold > NODE_SET_CAPACITY {
        return Err(ScoreError::GoldTooLarge { nodes: n_gold, limit: NODE_SET_CAPACITY });
    }
    let after = descendants(n_gold, &gold.edges).ok_or(ScoreError::GoldCyclic)?;
    let Some(predicted) = prediction.and_then(parse) else {
        let zero = PaperValues::default();
        return Ok(PaperScore {
            status: PaperStatus::Unparsable,
            n_pred: 0,
            n_gold,
            matched: 0,
            l_chain: 0,
            k_graph: 0,
            mapping: None,
            chain: zero,
            graph: zero,
        });
    };
    let n_pred = predicted.nodes.len();
    let weights = similarities.weights(&predicted.nodes, &gold.nodes)?;
    let mapping = lexicographic_matching(&weights, &mut Matcher::default());
    let sequence: Vec<usize> = mapping.iter().copied().flatten().collect();
    let l_chain = longest_chain(&sequence, &after);
    let k_graph = common_induced_subgraph(&predicted.edges, &gold.edges, &mapping);
    Ok(PaperScore {
        status: if is_cyclic(&predicted) { PaperStatus::Cyclic } else { PaperStatus::Ok },
        n_pred,
        n_gold,
        matched: sequence.len(),
        l_chain,
        k_graph,
        mapping: Some(mapping.iter().map(|column| column.map_or(-1, |column| column as i64)).collect()),
        chain: PaperValues::of(l_chain, n_pred, n_gold),
        graph: PaperValues::of(k_graph, n_pred, n_gold),
    })
}

/// Most matched nodes among which both graphs have the same edges. Matched nodes are at most [`NODE_SET_CAPACITY`],
/// as their partners are distinct gold nodes.
pub(super) fn common_induced_subgraph(
    predicted: &[(usize, usize)],
    gold: &[(usize, usize)],
    mapping: &[Option<usize>],
) -> usize {
    // Numbers the matched pairs, by predicted and by gold node.
    let mut pairs = 0;
    let mut pair_of_gold = [None; NODE_SET_CAPACITY];
    let mut pair_of_predicted = vec![None; mapping.len()];
    for (node, partner) in mapping.iter().enumerate() {
        if let Some(partner) = *partner {
            pair_of_predicted[node] = Some(pairs);
            pair_of_gold[partner] = Some(pairs);
            pairs += 1;
        }
    }
    let mut differs: [NodeSet; NODE_SET_CAPACITY] = [0; NODE_SET_CAPACITY];
    // Edges of either list are distinct, so what is left after toggling is an edge of one graph only.
    for (edges, pair_of) in [(predicted, &pair_of_predicted[..]), (gold, &pair_of_gold[..])] {
        for &(from, to) in edges {
            if let (Some(from), Some(to)) = (pair_of[from], pair_of[to]) {
                differs[from] ^= 1 << to;
            }
        }
    }
    let mut conflicts = differs;
    for (from, set) in differs.iter().enumerate() {
        for (to, conflict) in conflicts.iter_mut().enumerate() {
            *conflict |= (set >> to & 1) << from;
        }
    }
    maximum_clique(&conflicts[..pairs])
}

fn is_cyclic(workflow: &PaperWorkflow<'_>) -> bool {
    let mut graph = petgraph::graph::DiGraph::<(), (), usize>::default();
    for _ in &workflow.nodes {
        graph.add_node(());
    }
    graph.extend_with_edges(&workflow.edges);
    // Not `is_cyclic_directed`: it recurses once per node, and a prediction may have many.
    petgraph::algo::toposort(&graph, None).is_err()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOLD: &str = "Node:\n1: a\n2: b\n3: c\nEdge: (START,1) (START,2) (1,3) (2,3) (3,END)";

    fn against(prediction: Option<&str>) -> PaperScore {
        let all = ["a", "b", "c", "d"];
        let known = Similarities::new(&all, &all, &vec![vec![0; 4]; 4]).unwrap();
        score(prediction, GOLD, &known).unwrap()
    }

    #[test]
    fn renumbering_and_any_allowed_order_cost_nothing() {
        let score = against(Some("7. b\n5. a\n9. c\n(7,9) (5,9)"));
        assert_eq!((score.l_chain, score.k_graph), (3, 3));
        assert_eq!(score.mapping, Some(vec![1, 0, 2]));
        assert_eq!((score.chain.f1, score.graph.f1), (1.0, 1.0));
    }

    #[test]
    fn surplus_and_missing_edges_cost_nodes_of_the_graph_only() {
        assert_eq!(against(Some("1: a\n2: b\n3: c\n(1,2) (1,3) (2,3)")).k_graph, 2);
        let without = against(Some("1: a\n2: b\n3: c"));
        assert_eq!((without.status, without.l_chain, without.k_graph), (PaperStatus::Ok, 3, 2));
    }

    #[test]
    fn nothing_matched_scores_zero() {
        let score = against(Some("1: d"));
        assert_eq!((score.matched, score.l_chain, score.k_graph, score.chain.f1), (0, 0, 0, 0.0));
        assert_eq!(score.mapping, Some(vec![-1]));
    }

    #[test]
    fn a_cyclic_prediction_is_scored_and_marked() {
        let score = against(Some("1: a\n2: b\n3: c\n(1,2) (2,1) (1,3) (2,3)"));
        assert_eq!((score.status, score.l_chain, score.k_graph), (PaperStatus::Cyclic, 3, 2));
    }

    #[test]
    fn a_reply_without_nodes_or_text_is_unparsable() {
        let score = against(None);
        assert_eq!((score.status, score.n_gold, score.mapping.as_ref()), (PaperStatus::Unparsable, 3, None));
        assert_eq!(against(Some("sorry")), score);
    }

    #[test]
    fn bad_golds_are_errors_not_scores() {
        let known = Similarities::default();
        assert_eq!(score(None, "", &known), Err(ScoreError::GoldUnparsable));
        assert_eq!(score(None, "1: a\n2: b\n(1,2) (2,1)", &known), Err(ScoreError::GoldCyclic));
        let large: String = (0..33).map(|n| format!("{n}: x\n")).collect();
        assert_eq!(score(None, &large, &known), Err(ScoreError::GoldTooLarge { nodes: 33, limit: 32 }));
    }

    #[test]
    fn a_prediction_of_thousands_of_nodes_is_scored_in_bounded_time() {
        let nodes: String = (1..=20_000).map(|n| format!("{n}: a\n({n},{})\n", n + 1)).collect();
        let score = against(Some(&nodes));
        assert_eq!((score.n_pred, score.matched, score.mapping.unwrap()[0]), (20_000, 1, 0));
    }

    /// Section by section of the definition, over all subsets of pairs.
    fn largest_agreeing_subset(
        predicted: &[(usize, usize)],
        gold: &[(usize, usize)],
        mapping: &[Option<usize>],
    ) -> usize {
        let pairs: Vec<_> = mapping.iter().enumerate().filter_map(|(i, a)| Some((i, (*a)?))).collect();
        (0..1_u32 << pairs.len())
            .map(|set| {
                pairs.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0).map(|(_, p)| *p).collect::<Vec<_>>()
            })
            .filter(|set| {
                set.iter()
                    .all(|&(i, a)| set.iter().all(|&(j, b)| predicted.contains(&(i, j)) == gold.contains(&(a, b))))
            })
            .map(|set| set.len())
            .max()
            .unwrap()
    }

    fn edges() -> impl Strategy<Value = Vec<(usize, usize)>> {
        prop::collection::hash_set((0..6_usize, 0..6_usize), 0..12)
            .prop_map(|set| set.into_iter().filter(|(a, b)| a != b).collect())
    }

    proptest! {
        #[test]
        fn common_subgraph_equals_brute_force(
            predicted in edges(),
            gold in edges(),
            mapping in Just([Some(0), Some(1), Some(2), Some(3), Some(4), None]).prop_shuffle(),
        ) {
            prop_assert_eq!(
                common_induced_subgraph(&predicted, &gold, &mapping),
                largest_agreeing_subset(&predicted, &gold, &mapping)
            );
        }
    }
}
