//! Ranks that say what is not known.

use serde::{Deserialize, Serialize};

/// The places that a model may have: it is tied with all that no comparison tells from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// One more than there are models that were shown to be better.
    pub best: u32,
    /// The number of models without those that were shown to be worse.
    pub worst: u32,
}

/// The ranks of `count` models; `better` are the pairs of which the first was shown to be better than the second.
pub(crate) fn ranks(count: usize, better: &[(usize, usize)]) -> Vec<Rank> {
    let mut ranks = vec![Rank { best: 1, worst: count as u32 }; count];
    for (winner, loser) in better {
        ranks[*loser].best += 1;
        ranks[*winner].worst -= 1;
    }
    ranks
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.best == self.worst { write!(f, "{}", self.best) } else { write!(f, "{}–{}", self.best, self.worst) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_be_told_apart_shares_all_places() {
        let shown: Vec<String> = ranks(3, &[]).iter().map(Rank::to_string).collect();
        assert_eq!(shown, ["1–3", "1–3", "1–3"]);
    }

    #[test]
    fn a_pair_that_differs_leaves_the_one_between_tied_with_both() {
        let shown: Vec<String> = ranks(3, &[(0, 2)]).iter().map(Rank::to_string).collect();
        assert_eq!(shown, ["1–2", "1–3", "2–3"]);
    }

    #[test]
    fn who_beats_all_is_first() {
        let shown: Vec<String> = ranks(3, &[(1, 0), (1, 2)]).iter().map(Rank::to_string).collect();
        assert_eq!(shown, ["2–3", "1", "2–3"]);
    }
}
