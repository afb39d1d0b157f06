//! Sequences of sweeps that stop when their question is answered, for those who watch them: replayed once a round, however many watch.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use regatta_backends::CellProgress;
use regatta_catalog::{DecidedSoFar, Sweep, decided_so_far, stage_of_rounds};
use regatta_proto::SweepId;

use crate::{Coordinator, CoordinatorError};

/// Sweeps whose sequences are kept.
const SWEEPS_KEPT: usize = 256;

/// Sequences read lately. Reading them goes through all sessions, so they are read anew only when the rounds have gone on, and one sweep at a time.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    read: Mutex<BTreeMap<SweepId, Read>>,
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Read {
    stage: String,
    so_far: Option<DecidedSoFar>,
}

impl Sequences {
    /// Sequences of the sweep at `stage`: those read before, or else what `read` finds. While others read, those of an earlier round are told, where
    /// there are some.
    async fn of(
        &self,
        id: &SweepId,
        stage: String,
        read: impl Future<Output = Result<Option<DecidedSoFar>, CoordinatorError>> + Send,
    ) -> Result<Option<DecidedSoFar>, CoordinatorError> {
        let _alone = match self.known(id) {
            Some(known) if known.stage == stage => return Ok(known.so_far),
            Some(known) => match self.reading.try_lock() {
                Ok(alone) => alone,
                Err(_) => return Ok(known.so_far),
            },
            None => self.reading.lock().await,
        };
        // Whoever read before may have read these.
        if let Some(known) = self.known(id).filter(|known| known.stage == stage) {
            return Ok(known.so_far);
        }
        let so_far = read.await?;
        let mut kept = self.locked();
        if kept.len() >= SWEEPS_KEPT {
            kept.clear();
        }
        kept.insert(id.clone(), Read { stage, so_far: so_far.clone() });
        Ok(so_far)
    }

    fn known(&self, id: &SweepId) -> Option<Read> {
        self.locked().get(id).cloned()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<SweepId, Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coordinator {
    /// Rounds and sequences of `sweep`, which was resumed `generation` times, without the points of earlier rounds: a status is asked for every
    /// second. `None` without a question.
    pub(crate) async fn deciding(
        &self,
        sweep: &Sweep,
        progress: &[CellProgress],
        generation: u32,
    ) -> Result<Option<DecidedSoFar>, CoordinatorError> {
        if sweep.lock.decide.is_none() {
            return Ok(None);
        }
        let read = async {
            let (_, judging) = self.ledger.judge_costs(&sweep.id).await?;
            let so_far = decided_so_far(&self.ledger, sweep, progress, judging).await?;
            Ok::<_, CoordinatorError>(so_far.map(DecidedSoFar::without_points))
        };
        self.sequences.of(&sweep.id, stage_of_rounds(sweep, progress, generation), read).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use regatta_proto::{DecideOver, DecideQuestion};
    use tokio::sync::Notify;

    use super::*;

    /// Sequences when `sessions` were bought.
    fn so_far(sessions: u64) -> DecidedSoFar {
        DecidedSoFar {
            question: DecideQuestion::Best,
            margin: "2pp".parse().unwrap(),
            confidence: 0.95,
            over: DecideOver::NewItems,
            sessions,
            sessions_max: 100,
            cost_of_grid: None,
            contests: Vec::new(),
        }
    }

    #[tokio::test]
    async fn sequences_are_read_once_a_round_however_many_watch() {
        let (sequences, reads) = (Sequences::default(), AtomicU32::new(0));
        let id: SweepId = "s".parse().unwrap();
        let ask = async |stage: &str, sessions| {
            let read = async {
                reads.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok(Some(so_far(sessions)))
            };
            sequences.of(&id, stage.to_owned(), read).await.unwrap().map(|so_far| so_far.sessions)
        };
        assert_eq!(
            tokio::join!(ask("0/10/0", 10), ask("0/10/0", 11), ask("0/10/0", 12)),
            (Some(10), Some(10), Some(10))
        );
        assert_eq!(ask("0/10/0", 13).await, Some(10), "the round is the same");
        assert_eq!(reads.load(Ordering::Relaxed), 1);
        assert_eq!(ask("0/20/0", 20).await, Some(20), "the next round has begun");
        assert_eq!(ask("1/20/0", 21).await, Some(21), "it was resumed: sessions of before run again");
        assert_eq!(reads.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn while_one_reads_the_next_round_others_have_the_last_one() {
        let (sequences, may_read) = (Sequences::default(), Notify::new());
        let id: SweepId = "s".parse().unwrap();
        let first = sequences.of(&id, "one".to_owned(), async { Ok(Some(so_far(1))) }).await.unwrap();
        assert_eq!(first, Some(so_far(1)));
        let slow = sequences.of(&id, "two".to_owned(), async {
            may_read.notified().await;
            Ok(Some(so_far(2)))
        });
        let other = async {
            let told = sequences.of(&id, "two".to_owned(), async { Ok(Some(so_far(3))) }).await.unwrap();
            may_read.notify_one();
            told
        };
        let (slow, other) = tokio::join!(slow, other);
        assert_eq!((slow.unwrap(), other), (Some(so_far(2)), Some(so_far(1))));
    }
}
