//! Golds are checked when they are loaded, so that scoring cannot fail on them hours later.

use regatta_matching::first_orders;

use super::error::ScoreError;
use super::official::ENTRIES_WITH_ONE_ORDER;
use super::similarity::Similarities;
use super::{paper, parse_official};

/// Checks that both evaluators can use `gold`.
///
/// # Errors
/// When one of them cannot: no workflow in it, a cycle, or too many nodes.
pub(crate) fn check_gold(gold: &str) -> Result<(), ScoreError> {
    let official = parse_official::parse(gold).filter(|gold| gold.nodes.len() > 2).ok_or(ScoreError::GoldUnparsable)?;
    let entries = official.nodes.len();
    // Longer golds are taken in the order written, which a cycle cannot spoil.
    if entries < ENTRIES_WITH_ONE_ORDER && first_orders(entries, &official.edges, 1).is_none() {
        return Err(ScoreError::GoldCyclic);
    }
    paper::score(None, gold, &Similarities::default()).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gold_that_cannot_be_scored_is_refused() {
        assert_eq!(check_gold("Node:\n1: a\nEdge: (START,1) (1,END)"), Ok(()));
        assert_eq!(check_gold("Node:\n1: a"), Err(ScoreError::GoldUnparsable));
        assert_eq!(check_gold("Node:\nEdge: (START,END)"), Err(ScoreError::GoldUnparsable));
        assert_eq!(check_gold("Node:\n1: a\n2: b\nEdge: (1,2) (2,1)"), Err(ScoreError::GoldCyclic));
        assert_eq!(check_gold("Node:\n1: a\n2: b\nEdge: (1,2) (3,1) (2,3)"), Err(ScoreError::GoldCyclic));
    }
}
