//! Questions of before a resume. Their jobs are void, and nobody else may ask them while a worker waits for their answers; so scorers are
//! told to ask again what sessions wait for once workers have heard of the resume, and nobody tells of such questions any more.

use std::time::Duration;

use regatta_backends::{CellProgress, StaleQuestions};
use regatta_proto::Report;
use tokio::time::Instant;

use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError};

/// Pause between two looks at the questions of a sweep for whose answers a worker waits.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// Remaining work on a sweep's questions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rejudging {
    /// Scorers are to be told, not before this time.
    Due(Instant),
    /// Nothing.
    Done,
}

impl Rejudging {
    /// Of a sweep that begins to be watched. Scorers know what they have asked, but an earlier leader may have released questions and ended before it
    /// told them.
    pub(crate) fn first() -> Self {
        Self::Due(Instant::now())
    }
}

impl Coordinator {
    /// Has the questions of `watched` asked again that nobody waits for since its resume; `false` if everything that was reported must be
    /// recorded first.
    pub(crate) async fn rejudge(
        &self,
        watched: &mut Watched,
        progress: &[CellProgress],
    ) -> Result<bool, CoordinatorError> {
        let now = Instant::now();
        match watched.rejudging {
            Rejudging::Due(at) if now >= at => {}
            Rejudging::Due(_) | Rejudging::Done => return Ok(true),
        }
        let (sweep, term) = (watched.sweep.clone(), watched.term);
        let stale = self.ledger.stale_questions(&sweep.id, self.config.running_within).await?;
        if stale == StaleQuestions::UnderWay {
            watched.rejudging = Rejudging::Due(now + LOOKED_AT_EVERY);
            return Ok(true);
        }
        let are_released = stale == StaleQuestions::Lost;
        // A worker may have told of them, or answered, while no scorer recorded it.
        if are_released && self.config.queue_survives && !watched.was_heard_lately() {
            return Ok(false);
        }
        self.lead_on(term).await?;
        if are_released && !self.ledger.release_stale_questions(&sweep.id, term).await? {
            return Err(CoordinatorError::NotLeading);
        }
        // Whoever was recorded before they were released could not claim them, and may not be counted in `progress` yet.
        if are_released || progress.iter().any(|cell| cell.recorded > cell.settled) {
            if are_released {
                // Their jobs are not lost while a scorer publishes them.
                self.take_note(watched, progress).await?;
                self.move_on(watched).await?;
            }
            let rejudge = Report::Rejudge { sweep: sweep.id.clone(), lock: sweep.digest };
            self.report(vec![rejudge], term).await?;
        }
        watched.rejudging = Rejudging::Done;
        Ok(true)
    }
}
