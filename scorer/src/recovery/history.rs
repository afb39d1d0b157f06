//! The order in which attempts are recorded whose records were lost, so that the ledger says of them what it said before.
//!
//! The first attempt that is recorded counts, later ones are waste. But a session that was not measured is recorded again when its sweep
//! is resumed. So attempts are recorded in rounds, with what a resume does to the ledger between them: in the last round those that count,
//! in the rounds before it those that a resume has undone, and after it the rest.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_backends::TranscriptRef;
use regatta_proto::{AttemptId, CellIndex, ItemIndex};

/// A session of one sweep.
pub(crate) type Place = (CellIndex, ItemIndex);

/// An attempt that transcripts know and the ledger does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) place: Place,
    pub(crate) number: u32,
    pub(crate) id: AttemptId,
    pub(crate) ended_at: Timestamp,
    /// `false` if its outcome is `not_measured`.
    pub(crate) counts: bool,
    pub(crate) at: TranscriptRef,
}

/// State of a session in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has a result, or waits for verdicts of one.
    Recorded,
    /// It was not measured.
    Unmeasured,
}

/// Attempts that are recorded together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// Sessions that were not measured are reopened before.
    pub(crate) reopens: bool,
    pub(crate) found: Vec<Found>,
}

/// The rounds in which `found` is recorded. `standing` has the sessions that the ledger knows, `counted` the attempts that are known, from
/// elsewhere, to count.
pub(crate) fn rounds(
    found: Vec<Found>,
    standing: &BTreeMap<Place, Standing>,
    counted: &BTreeSet<AttemptId>,
) -> Vec<Round> {
    let mut by_place: BTreeMap<Place, Vec<Found>> = BTreeMap::new();
    for one in found {
        by_place.entry(one.place).or_default().push(one);
    }
    let (mut undone, mut last, mut surplus) = (Vec::new(), Vec::new(), Vec::new());
    let mut reopens_at_last = false;
    for (place, mut own) in by_place {
        own.sort_by(|one, other| (one.number, one.ended_at, &one.id).cmp(&(other.number, other.ended_at, &other.id)));
        // A report that came twice is in two segments.
        own.dedup_by(|one, other| one.id == other.id);
        let standing = standing.get(&place);
        if standing == Some(&Standing::Recorded) {
            surplus.extend(own);
            continue;
        }
        let first_with_result = || own.iter().position(|one| one.counts);
        let is_counted = |one: &Found| counted.contains(&one.id);
        let counts = own.iter().position(is_counted).or_else(first_with_result).unwrap_or(own.len() - 1);
        reopens_at_last |= standing == Some(&Standing::Unmeasured) && own[counts].counts;
        let after = own.split_off(counts + 1);
        last.extend(own.pop());
        let (with_result, before): (Vec<Found>, Vec<Found>) = own.into_iter().partition(|one| one.counts);
        surplus.extend(with_result.into_iter().chain(after));
        undone.push(before);
    }
    let depth = undone.iter().map(Vec::len).max().unwrap_or(0);
    let mut rounds: Vec<Round> = (0..depth).map(|round| Round { reopens: round > 0, found: Vec::new() }).collect();
    for own in undone {
        // The resume after the last of them is the one before the last round.
        let skipped = depth - own.len();
        for (round, one) in rounds[skipped..].iter_mut().zip(own) {
            round.found.push(one);
        }
    }
    rounds.push(Round { reopens: depth > 0 || reopens_at_last, found: last });
    rounds.push(Round { reopens: false, found: surplus });
    rounds.retain(|round| !round.found.is_empty());
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(item: u32, number: u32, counts: bool) -> Found {
        Found {
            place: (CellIndex(0), ItemIndex(item)),
            number,
            id: format!("w-{item}-{number}").parse().unwrap(),
            ended_at: Timestamp::UNIX_EPOCH,
            counts,
            at: TranscriptRef { segment: "s".to_owned(), line: number },
        }
    }

    /// Items and numbers of each round, and `true` where the sweep is resumed before.
    fn shown(rounds: &[Round]) -> Vec<(bool, Vec<(u32, u32)>)> {
        let of = |round: &Round| round.found.iter().map(|one| (one.place.1.0, one.number)).collect();
        rounds.iter().map(|round| (round.reopens, of(round))).collect()
    }

    #[test]
    fn the_first_attempt_with_a_result_counts_and_later_ones_follow() {
        let all = vec![found(1, 2, true), found(1, 1, true), found(2, 1, true)];
        let rounds = rounds(all, &BTreeMap::new(), &BTreeSet::new());
        assert_eq!(shown(&rounds), [(false, vec![(1, 1), (2, 1)]), (false, vec![(1, 2)])]);
    }

    #[test]
    fn an_attempt_that_was_not_measured_is_followed_by_the_resume_that_undid_it() {
        let all =
            vec![found(1, 1, false), found(1, 2, true), found(2, 1, false), found(2, 2, false), found(2, 3, false)];
        let rounds = rounds(all, &BTreeMap::new(), &BTreeSet::new());
        assert_eq!(shown(&rounds), [(false, vec![(2, 1)]), (true, vec![(1, 1), (2, 2)]), (true, vec![(1, 2), (2, 3)])]);
    }

    #[test]
    fn where_it_is_known_which_attempt_counted_that_one_counts_again() {
        let all = vec![found(1, 1, true), found(1, 2, true)];
        let counted = BTreeSet::from([all[1].id.clone()]);
        assert_eq!(shown(&rounds(all, &BTreeMap::new(), &counted)), [(false, vec![(1, 2)]), (false, vec![(1, 1)])]);
    }

    #[test]
    fn what_the_ledger_has_recorded_stays() {
        let place = (CellIndex(0), ItemIndex(1));
        let all = vec![found(1, 2, true)];
        let of = |standing| shown(&rounds(all.clone(), &BTreeMap::from([(place, standing)]), &BTreeSet::new()));
        assert_eq!(of(Standing::Recorded), [(false, vec![(1, 2)])]);
        assert_eq!(of(Standing::Unmeasured), [(true, vec![(1, 2)])]);
    }

    #[test]
    fn a_report_that_is_in_two_segments_is_recorded_once() {
        let all = vec![
            found(1, 1, true),
            Found { at: TranscriptRef { segment: "t".to_owned(), line: 0 }, ..found(1, 1, true) },
        ];
        assert_eq!(shown(&rounds(all, &BTreeMap::new(), &BTreeSet::new())), [(false, vec![(1, 1)])]);
    }
}
