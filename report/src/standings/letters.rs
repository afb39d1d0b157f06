//! Significance groups as letters (Piepho: "An algorithm for a letter-based representation of all-pairwise comparisons", 2004).

use std::collections::BTreeSet;

/// Groups that are told apart by a letter each; beyond, letters would explain nothing.
const GROUPS_MAX: usize = 26;

/// The letters of `count` contestants: two share one exactly if neither of `ahead`'s pairs is theirs. Empty where there would be more groups than
/// letters.
pub(super) fn letters(count: usize, ahead: &[(usize, usize)]) -> Vec<String> {
    let mut groups: Vec<BTreeSet<usize>> = vec![(0..count).collect()];
    for (one, other) in ahead {
        let (both, mut split): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.contains(one) && group.contains(other));
        for group in both {
            for out in [one, other] {
                let mut part = group.clone();
                part.remove(out);
                split.push(part);
            }
        }
        groups = without_subsets(split);
        if groups.len() > GROUPS_MAX {
            return vec![String::new(); count];
        }
    }
    // The best come first: by how many their members are ahead of.
    let lead = |member: &usize| {
        let wins = ahead.iter().filter(|(better, _)| better == member).count() as i64;
        let losses = ahead.iter().filter(|(_, worse)| worse == member).count() as i64;
        losses - wins
    };
    let place = |group: &BTreeSet<usize>| {
        let mut leads: Vec<(i64, usize)> = group.iter().map(|member| (lead(member), *member)).collect();
        leads.sort_unstable();
        leads
    };
    groups.sort_by_key(place);
    let of = |member: usize| {
        let names = ('a'..='z').zip(&groups);
        names.filter(|(_, group)| group.contains(&member)).map(|(letter, _)| letter).collect()
    };
    (0..count).map(of).collect()
}

fn without_subsets(mut groups: Vec<BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut kept: Vec<BTreeSet<usize>> = Vec::new();
    for group in groups {
        if !kept.iter().any(|larger| group.is_subset(larger)) {
            kept.push(group);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn who_is_told_from_nobody_is_in_one_group_and_who_is_between_in_two() {
        assert_eq!(letters(3, &[]), ["a", "a", "a"]);
        assert_eq!(letters(3, &[(0, 2)]), ["a", "ab", "b"]);
        assert_eq!(letters(3, &[(2, 0), (2, 1), (1, 0)]), ["c", "b", "a"]);
        assert_eq!(letters(1, &[]), ["a"]);
    }

    proptest! {
        #[test]
        fn two_share_a_letter_exactly_if_nothing_tells_them_apart(
            count in 1..7_usize,
            pairs in prop::collection::btree_set((0..7_usize, 0..7_usize), 0..12),
        ) {
            let ahead: Vec<(usize, usize)> = pairs.into_iter().filter(|(one, other)| one < other && *other < count).collect();
            let found = letters(count, &ahead);
            for one in 0..count {
                prop_assert!(!found[one].is_empty());
                for other in one + 1..count {
                    let shared = found[one].chars().any(|letter| found[other].contains(letter));
                    prop_assert_eq!(shared, !ahead.contains(&(one, other)));
                }
            }
        }
    }
}
