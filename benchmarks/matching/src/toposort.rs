//! Topological orders in the order of Knuth and Szwarcfiter's enumeration, as the published evaluator's library
//! walks it. Only the first few are asked for, so which come first is part of the contract.

use std::collections::VecDeque;

/// The first `limit` topological orders of the graph on vertices `0..vertices`, or `None` if it has a cycle. Repeated
/// edges count once; an edge to a missing vertex is ignored.
pub fn first_orders(vertices: usize, edges: &[(usize, usize)], limit: usize) -> Option<Vec<Vec<usize>>> {
    let mut successors = vec![Vec::new(); vertices];
    let mut blockers = vec![0_usize; vertices];
    for &(from, to) in edges {
        if from < vertices && to < vertices && !successors[from].contains(&to) {
            successors[from].push(to);
            blockers[to] += 1;
        }
    }
    let mut available: VecDeque<usize> = (0..vertices).filter(|&v| blockers[v] == 0).collect();
    let mut current: Vec<usize> = Vec::with_capacity(vertices);
    // The vertex that was first tried at each depth: when the rotation brings it back, the depth is exhausted.
    let mut bases: Vec<usize> = Vec::with_capacity(vertices);
    let mut orders = Vec::new();
    loop {
        if current.len() == vertices {
            orders.push(current.clone());
            if orders.len() >= limit {
                break;
            }
            while let Some(last) = current.pop() {
                for &next in &successors[last] {
                    blockers[next] += 1;
                }
                while available.back().is_some_and(|&v| blockers[v] > 0) {
                    available.pop_back();
                }
                available.push_front(last);
                if available.back() != bases.last() {
                    break;
                }
                bases.pop();
            }
        } else {
            let vertex = available.pop_back()?;
            for &next in &successors[vertex] {
                blockers[next] -= 1;
                if blockers[next] == 0 {
                    available.push_back(next);
                }
            }
            current.push(vertex);
            if bases.len() < current.len() {
                bases.push(vertex);
            }
        }
        if bases.is_empty() {
            break;
        }
    }
    Some(orders)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_available_vertex_comes_first() {
        let orders = first_orders(3, &[(0, 2)], 20).unwrap();
        assert_eq!(orders, [[1, 0, 2], [0, 2, 1], [0, 1, 2]]);
    }

    #[test]
    fn enumeration_stops_at_the_limit() {
        assert_eq!(first_orders(12, &[], 20).unwrap().len(), 20);
    }

    #[test]
    fn a_cycle_or_self_loop_has_no_order() {
        assert_eq!(first_orders(3, &[(0, 1), (1, 2), (2, 1)], 20), None);
        assert_eq!(first_orders(2, &[(1, 1)], 20), None);
    }

    fn permutations_respecting(vertices: usize, edges: &[(usize, usize)]) -> HashSet<Vec<usize>> {
        let mut all = vec![vec![]];
        for _ in 0..vertices {
            all = all
                .into_iter()
                .flat_map(|prefix: Vec<usize>| {
                    (0..vertices)
                        .filter(|v| !prefix.contains(v))
                        .map(|v| [prefix.clone(), vec![v]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        let place = |order: &[usize], v| order.iter().position(|&o| o == v);
        all.into_iter().filter(|o| edges.iter().all(|&(a, b)| place(o, a) < place(o, b))).collect()
    }

    proptest! {
        #[test]
        fn every_topological_order_comes_exactly_once(
            n in 1..6_usize,
            pairs in prop::collection::vec((0..6_usize, 0..6_usize), 0..9),
            relabel in Just([3_usize, 0, 5, 1, 4, 2]),
        ) {
            // Directing every edge along a fixed permutation makes the graph acyclic but not sorted by index.
            let edges: Vec<_> = pairs
                .into_iter()
                .filter(|(a, b)| a != b && *a < n && *b < n)
                .map(|(a, b)| if relabel[a] < relabel[b] { (a, b) } else { (b, a) })
                .collect();
            let orders = first_orders(n, &edges, usize::MAX).unwrap();
            let distinct: HashSet<_> = orders.iter().cloned().collect();
            prop_assert_eq!(distinct.len(), orders.len());
            prop_assert_eq!(distinct, permutations_respecting(n, &edges));
        }
    }
}
