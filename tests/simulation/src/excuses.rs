//! Repeated calls that lost processes explain.

/// A paid call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paid {
    /// When it came, in milliseconds since the start.
    pub(crate) at_ms: u128,
    /// When its process was lost before it had told anybody of it.
    pub(crate) lost_ms: Option<u128>,
}

/// Number of equal calls, in the order in which they came, that nothing explains: the first one, and each for which no call before it is left that
/// was lost by then. A lost call explains one other.
pub(crate) fn unexplained(calls: impl IntoIterator<Item = Paid>) -> u64 {
    let (mut lost, mut unexplained) = (Vec::<u128>::new(), 0);
    for call in calls {
        match lost.iter().position(|lost_ms| *lost_ms <= call.at_ms) {
            Some(explains) => drop(lost.swap_remove(explains)),
            None => unexplained += 1,
        }
        lost.extend(call.lost_ms);
    }
    unexplained
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_call_explains_one_later_one() {
        let made = |at_ms| Paid { at_ms, lost_ms: None };
        let lost = |at_ms, lost_ms| Paid { at_ms, lost_ms: Some(lost_ms) };
        assert_eq!(unexplained([made(1)]), 1);
        assert_eq!(unexplained([lost(1, 5), made(9)]), 1);
        assert_eq!(unexplained([lost(1, 5), lost(9, 10), made(20)]), 1, "each was lost");
        assert_eq!(unexplained([made(1), made(9)]), 2);
        assert_eq!(unexplained([lost(1, 5), made(4)]), 2, "it was made before that");
        assert_eq!(unexplained([lost(1, 5), made(9), made(20)]), 2, "one was lost");
        assert_eq!(unexplained([made(1), lost(9, 10)]), 2, "what is lost later explains none before");
    }
}
