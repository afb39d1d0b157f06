//! Batches that come of another: the two parts of one that is cut, and what goes on after one that is over. Their ids derive from its id, so that
//! whoever has a copy of its job, or has it once more, leaves copies of theirs. These are handed in once, as all copies are (`handing_in`), and
//! lead to the same attempts. So nobody has to know who was first: he may have been killed at any step.
//!
//! Sessions that go on are not gathered with others, because no copy would meet the same others. Nor are they looked for among cached responses,
//! which a later copy would find more of than an earlier one; a session that has just asked something new finds none.

use std::ops::Range;

use jiff::Timestamp;
use regatta_proto::{AttemptId, BatchJob, Digest, SessionJob};

use super::gathering::PROMPT_BYTES_MAX;

/// A session that goes on after a batch.
pub(super) struct GoesOn {
    /// Position of the session in the batch.
    pub(super) position: usize,
    /// That line failed and is asked again.
    pub(super) has_failed: bool,
    /// Bytes of the prompt that comes next.
    pub(super) bytes: u64,
    pub(super) session: SessionJob,
}

/// The intents of the sessions that go on after the batch of `job`, which was over at `since` or later. Two copies whose lines came to the same
/// have the same ones; should a provider tell two workers different ends of a batch, both go on.
pub(super) fn after(job: &BatchJob, going_on: Vec<GoesOn>, since: Timestamp, now: Timestamp) -> Vec<BatchJob> {
    let (mut parts, mut bytes) = (Vec::<Vec<GoesOn>>::new(), 0);
    for one in going_on {
        bytes += one.bytes;
        match parts.last_mut() {
            Some(part) if bytes <= PROMPT_BYTES_MAX => part.push(one),
            _ => {
                bytes = one.bytes;
                parts.push(vec![one]);
            }
        }
    }
    let next = |part: Vec<GoesOn>| {
        let id = id_after(&job.id, &part);
        intent(job, id, since.min(now), now, part.into_iter().map(|one| one.session).collect())
    };
    parts.into_iter().map(next).collect()
}

/// Two intents, of the first `lines` sessions of the intent `job` and of the rest.
pub(super) fn cut(job: &BatchJob, lines: usize, now: Timestamp) -> [BatchJob; 2] {
    let part = |part: Range<usize>| {
        let id = id_of_part(&job.id, &part);
        intent(job, id, job.since(), now, job.sessions[part].to_vec())
    };
    let lines = lines.min(job.sessions.len());
    [part(0..lines), part(lines..job.sessions.len())]
}

/// Halves of an intent that is too large for a message; `None` if there are none, because it is of one session, or is no intent any more.
pub(crate) fn halves(job: &BatchJob) -> Option<[BatchJob; 2]> {
    let is_intent = job.provider_id.is_none() && job.sessions.len() > 1;
    is_intent.then(|| cut(job, job.sessions.len() / 2, job.intended_at))
}

/// An intent that comes of `job`, of which no copy is older than `since`.
fn intent(job: &BatchJob, id: String, since: Timestamp, now: Timestamp, sessions: Vec<SessionJob>) -> BatchJob {
    BatchJob {
        sweep: job.sweep.clone(),
        lock: job.lock,
        model: job.model.clone(),
        id,
        provider_id: None,
        intended_at: now,
        since: Some(since),
        sessions,
    }
}

/// The id of the batch that has this unique name. Lower-case hexadecimal digits, whatever workers are called.
pub(super) fn id_of(unique: &str) -> String {
    let digest = Digest::of_parts([b"batch/1".as_slice(), unique.as_bytes()]).to_string();
    digest.chars().take(AttemptId::BATCH_DIGITS).collect()
}

/// The id of the batch that these sessions of the batch of id `whole` are.
fn id_of_part(whole: &str, part: &Range<usize>) -> String {
    id_of(&format!("{whole}/{}/{}", part.start, part.end))
}

/// The id of the batch by which these sessions go on after that of id `over`.
fn id_after(over: &str, part: &[GoesOn]) -> String {
    let line = |one: &GoesOn| format!("{}{}", one.position, if one.has_failed { "!" } else { "" });
    id_of(&format!("{over}>{}", part.iter().map(line).collect::<Vec<_>>().join(",")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regatta_proto::{CellIndex, ItemIndex, SessionKey, Transcript};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn session(item: u32) -> SessionJob {
        let key = SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) };
        SessionJob { key, lock: Digest::of(b""), attempt: 1, generation: 0, transcript: Transcript::default() }
    }

    fn batch(provider_id: Option<&str>) -> BatchJob {
        BatchJob {
            sweep: "s".parse().unwrap(),
            lock: Digest::of(b""),
            model: "a/m".parse().unwrap(),
            id: "0a1b".to_owned(),
            provider_id: provider_id.map(str::to_owned),
            intended_at: at(100),
            since: None,
            sessions: (0..5).map(session).collect(),
        }
    }

    fn goes_on(position: usize, has_failed: bool, bytes: u64) -> GoesOn {
        GoesOn { position, has_failed, bytes, session: session(position as u32) }
    }

    fn ids<'a>(batches: impl IntoIterator<Item = &'a BatchJob>) -> Vec<&'a str> {
        batches.into_iter().map(|batch| batch.id.as_str()).collect()
    }

    #[test]
    fn parts_of_a_batch_have_the_same_ids_whoever_cuts_it_there() {
        let cuts = [2, 3].map(|lines| cut(&batch(None), lines, at(200)));
        let all: BTreeSet<&str> = ids(cuts.iter().flatten()).into_iter().collect();
        assert_eq!(all.len(), 4);
        let again = cut(&batch(None), 2, at(900));
        assert_eq!(ids(&again), ids(&cuts[0]));
        let lines = [&again[0], &again[1]].map(|part| part.sessions.len());
        assert_eq!((lines, again[0].since(), again[0].intended_at), ([2, 3], at(100), at(900)));
        let other = BatchJob { id: "0a1c".to_owned(), ..batch(None) };
        assert!(ids(&cut(&other, 2, at(200))).iter().all(|id| !all.contains(id)));
        assert_eq!(again[0].id.len(), AttemptId::BATCH_DIGITS);
    }

    #[test]
    fn what_goes_on_after_a_batch_is_the_same_batch_for_whoever_sees_its_lines_come_to_the_same() {
        let of = |lines: &[(usize, bool)], now| {
            let going_on = lines.iter().map(|(position, has_failed)| goes_on(*position, *has_failed, 1)).collect();
            let [next] = &after(&batch(Some("b")), going_on, at(150), at(now))[..] else { panic!("there is one") };
            next.clone()
        };
        let (first, later) = (of(&[(0, false), (3, true)], 200), of(&[(0, false), (3, true)], 90_000));
        assert_eq!(first.id, later.id);
        assert_eq!((first.provider_id, first.sessions.len()), (None, 2));
        assert_eq!((later.since(), later.intended_at), (at(150), at(90_000)));
        let others = [of(&[(0, false)], 200), of(&[(0, false), (3, false)], 200), of(&[(0, false), (4, true)], 200)];
        let all: BTreeSet<&str> = ids(&others).into_iter().chain([later.id.as_str()]).collect();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn what_goes_on_with_more_than_a_batch_may_have_is_several() {
        let half = PROMPT_BYTES_MAX / 2;
        let sizes = |bytes: &[u64]| {
            let going_on = bytes.iter().enumerate().map(|(position, bytes)| goes_on(position, false, *bytes)).collect();
            let next = after(&batch(Some("b")), going_on, at(150), at(200));
            assert_eq!(ids(&next).into_iter().collect::<BTreeSet<_>>().len(), next.len());
            next.iter().map(|batch| batch.sessions.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[half, half, 1, half]), [2, 2]);
        assert_eq!(sizes(&[PROMPT_BYTES_MAX * 2, 1, 1]), [1, 2]);
        assert_eq!(sizes(&[]), [0_usize; 0]);
    }

    #[test]
    fn only_an_intent_of_several_sessions_has_halves() {
        let halved = halves(&batch(None)).unwrap();
        assert_eq!(halved, cut(&batch(None), 2, at(100)));
        assert_eq!(halves(&batch(Some("b"))), None);
        assert_eq!(halves(&halved[0]).unwrap()[0].sessions.len(), 1);
        assert_eq!(halves(&halves(&halved[0]).unwrap()[0]), None);
    }
}
