//! Sessions of which people judged a part.

use regatta_deciding::Audit;
use regatta_proto::Level;

use super::Audited;
use super::gap::{GapMeans, gap};

/// The mean that people would have given to `sessions`, whose scores lie in `range`: `expensive` is their score of those that they judged. `None`
/// where these are too few for an interval.
///
/// Beside it stands the gap between the sessions that they judged and the others, where the judge that scored all finds them further apart than
/// chance explains: the estimate is of a random sample, and these are none.
#[must_use]
pub fn audited_sessions(sessions: &[Audit], range: (f64, f64), level: Level) -> (Option<Audited>, Option<GapMeans>) {
    let placed: Vec<(usize, Audit)> = sessions.iter().copied().enumerate().collect();
    let all = (0..sessions.len()).collect();
    (Audited::from(sessions, range, range.1 - range.0, level), gap(&placed, &all, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 sessions of which the judge calls every second one right, and people one in four; they judged those at which `is_judged` holds.
    fn sessions(is_judged: impl Fn(usize) -> bool) -> Vec<Audit> {
        let session = |at: usize| Audit {
            cluster: at as u32,
            cheap: f64::from(u8::from(at.is_multiple_of(2))),
            expensive: is_judged(at).then_some(f64::from(u8::from(at.is_multiple_of(4)))),
        };
        (0..200).map(session).collect()
    }

    #[test]
    fn what_people_said_of_a_part_corrects_the_judge_of_all() {
        let (audited, gap) = audited_sessions(&sessions(|at| at < 100), (0.0, 1.0), Level::USUAL);
        let audited = audited.unwrap();
        assert!(
            (audited.estimate.value - 0.25).abs() < 1e-9 && (audited.bias.value - 0.25).abs() < 1e-9,
            "{audited:?}"
        );
        assert!(
            audited.weight > 0.0
                && audited.estimate.high - audited.estimate.low < audited.alone.high - audited.alone.low
        );
        assert_eq!((audited.items, gap), (100, None));
    }

    #[test]
    fn sessions_that_people_picked_for_what_the_judge_said_are_no_random_sample() {
        let (_, gap) = audited_sessions(&sessions(|at| at < 100 && at.is_multiple_of(2)), (0.0, 1.0), Level::USUAL);
        let gap = gap.unwrap();
        assert!(gap.audited > gap.missing, "{gap:?}");
    }

    #[test]
    fn one_session_corrects_nothing() {
        assert_eq!(audited_sessions(&sessions(|at| at == 3), (0.0, 1.0), Level::USUAL), (None, None));
    }
}
