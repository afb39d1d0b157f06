//! Longest part of a node sequence that some topological order of a graph agrees with.

use super::NodeSet;

/// The longest increasing subsequence of `sequence` over all topological orders of an acyclic graph, whose
/// `descendants[v]` are all nodes after `v`. Nodes in `sequence` are distinct.
///
/// Two places violate the graph if the later node is an ancestor of the earlier one. Violations are a partial order,
/// so the largest set without any is the length less a maximum matching of the violations (Dilworth, König).
pub fn longest_chain(sequence: &[usize], descendants: &[NodeSet]) -> usize {
    let mut violations: Vec<NodeSet> = vec![0; sequence.len()];
    for (a, &earlier) in sequence.iter().enumerate() {
        for (b, &later) in sequence.iter().enumerate().skip(a + 1) {
            if descendants[later] & (1 << earlier) != 0 {
                violations[a] |= 1 << b;
            }
        }
    }
    let mut left_of = vec![None; sequence.len()];
    let matched = (0..sequence.len()).filter(|&a| augment(a, &violations, &mut 0, &mut left_of)).count();
    sequence.len() - matched
}

/// Finds a partner for the left copy `a`, moving others if need be. `seen` keeps each right copy to one visit.
fn augment(a: usize, violations: &[NodeSet], seen: &mut NodeSet, left_of: &mut [Option<usize>]) -> bool {
    loop {
        let open = violations[a] & !*seen;
        if open == 0 {
            return false;
        }
        let b = open.trailing_zeros() as usize;
        *seen |= 1 << b;
        if left_of[b].is_none_or(|other| augment(other, violations, seen, left_of)) {
            left_of[b] = Some(a);
            return true;
        }
    }
}

/// All nodes that can be reached from each node, or `None` if the graph has a cycle. Nodes are below
/// [`super::NODE_SET_CAPACITY`].
pub fn descendants(nodes: usize, edges: &[(usize, usize)]) -> Option<Vec<NodeSet>> {
    let mut reach: Vec<NodeSet> = vec![0; nodes];
    for &(from, to) in edges {
        reach[from] |= 1 << to;
    }
    for via in 0..nodes {
        for from in 0..nodes {
            if reach[from] & (1 << via) != 0 {
                reach[from] |= reach[via];
            }
        }
    }
    reach.iter().enumerate().all(|(v, set)| set & (1 << v) == 0).then_some(reach)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::first_orders;

    fn chain(nodes: usize, edges: &[(usize, usize)], sequence: &[usize]) -> usize {
        longest_chain(sequence, &descendants(nodes, edges).unwrap())
    }

    #[test]
    fn an_order_the_graph_allows_counts_in_full() {
        let diamond = [(0, 1), (0, 2), (1, 3), (2, 3)];
        assert_eq!(chain(4, &diamond, &[0, 2, 1, 3]), 4);
        assert_eq!(chain(4, &diamond, &[3, 2, 1, 0]), 2);
        assert_eq!(chain(4, &diamond, &[]), 0);
    }

    #[test]
    fn a_reversed_line_keeps_one_node() {
        assert_eq!(chain(4, &[(0, 1), (1, 2), (2, 3)], &[3, 2, 1, 0]), 1);
    }

    #[test]
    fn a_cycle_has_no_descendants() {
        assert_eq!(descendants(2, &[(0, 1), (1, 0)]), None);
    }

    fn increasing_subsequence(places: &[usize]) -> usize {
        let mut best = vec![1; places.len()];
        for i in 0..places.len() {
            for j in 0..i {
                if places[j] < places[i] {
                    best[i] = best[i].max(best[j] + 1);
                }
            }
        }
        best.into_iter().max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn equals_the_best_over_all_orders(
            edges in prop::collection::vec((0..6_usize, 0..6_usize), 0..8),
            sequence in Just(vec![0_usize, 1, 2, 3, 4, 5]).prop_shuffle(),
            keep in 0..7_usize,
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a < b).collect();
            let sequence = &sequence[..keep];
            let best = first_orders(6, &edges, usize::MAX)
                .unwrap()
                .iter()
                .map(|order| {
                    let places: Vec<_> =
                        sequence.iter().map(|v| order.iter().position(|o| o == v).unwrap()).collect();
                    increasing_subsequence(&places)
                })
                .max()
                .unwrap();
            prop_assert_eq!(chain(6, &edges, sequence), best);
        }
    }
}
