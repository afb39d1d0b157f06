//! Largest set of mutually compatible vertices.

use super::NodeSet;

/// Size of a maximum clique, given for each vertex the set of vertices it conflicts with (symmetric, no vertex
/// conflicts with itself).
pub fn maximum_clique(conflicts: &[NodeSet]) -> usize {
    let all = conflicts.iter().enumerate().fold(0, |set, (v, _)| set | 1 << v);
    largest_within(conflicts, all)
}

/// A vertex with at most one conflict is always safe to take; otherwise branch on the one with most conflicts, which
/// leaves at most 1.47^n leaves and in practice a handful.
fn largest_within(conflicts: &[NodeSet], mut candidates: NodeSet) -> usize {
    let mut taken = 0;
    'reduce: while candidates != 0 {
        let mut most = (0, 0);
        let mut rest = candidates;
        while rest != 0 {
            let vertex = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let blocked = conflicts[vertex] & candidates;
            let count = blocked.count_ones();
            if count <= 1 {
                taken += 1;
                candidates &= !(blocked | 1 << vertex);
                continue 'reduce;
            }
            if count > most.0 {
                most = (count, vertex);
            }
        }
        let vertex = most.1;
        let without = candidates & !(1 << vertex);
        let with = 1 + largest_within(conflicts, without & !conflicts[vertex]);
        return taken + with.max(largest_within(conflicts, without));
    }
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn conflicts(n: usize, pairs: &[(usize, usize)]) -> Vec<NodeSet> {
        let mut sets = vec![0; n];
        for &(a, b) in pairs.iter().filter(|(a, b)| a != b && *a < n && *b < n) {
            sets[a] |= 1 << b;
            sets[b] |= 1 << a;
        }
        sets
    }

    fn brute_force(conflicts: &[NodeSet]) -> usize {
        (0..1_u32 << conflicts.len())
            .filter(|set| (0..conflicts.len()).all(|v| set & (1 << v) == 0 || conflicts[v] & set == 0))
            .map(|set| set.count_ones() as usize)
            .max()
            .unwrap()
    }

    #[test]
    fn without_conflicts_everything_is_taken_up_to_the_capacity() {
        assert_eq!(maximum_clique(&[]), 0);
        assert_eq!(maximum_clique(&[0; 32]), 32);
    }

    #[test]
    fn disjoint_triangles_of_conflicts_give_one_each() {
        let pairs: Vec<_> = (0..30).map(|v| (v, v / 3 * 3 + (v + 1) % 3)).collect();
        assert_eq!(maximum_clique(&conflicts(30, &pairs)), 10);
    }

    proptest! {
        #[test]
        fn equals_brute_force(n in 0..11_usize, pairs in prop::collection::vec((0..11_usize, 0..11_usize), 0..40)) {
            let conflicts = conflicts(n, &pairs);
            prop_assert_eq!(maximum_clique(&conflicts), brute_force(&conflicts));
        }
    }
}
