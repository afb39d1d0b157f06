//! Confirmation that everything that workers have reported is recorded. Outcomes may wait in the queue, or in a scorer whose stores are
//! unavailable, while the ledger has nothing of them; to dispatch their sessions again would be to pay for them again. So the coordinator
//! reports a question itself, and waits until a scorer has answered it.

use std::time::Duration;

use regatta_proto::{Report, SweepId};
use tokio::time::Instant;

use crate::{Coordinator, CoordinatorError};

/// A question that is not answered within this time is asked again: it may be lost.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Questions and answers about one sweep, as this coordinator knows them.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// Number of the last question that a scorer has answered; 0 before the first.
    pub(crate) heard: u64,
    /// Number of the question that was asked, and when.
    asked: Option<(u64, Instant)>,
    /// Questions that this process has asked.
    questions: u64,
}

impl Echo {
    /// Nothing was asked yet, and `heard` is the number of the last answer.
    pub(crate) const fn heard(heard: u64) -> Self {
        Self { heard, asked: None, questions: 0 }
    }

    /// Nobody wants to know any more: an answer that still comes says nothing of what is reported after its question.
    pub(crate) const fn forget(&mut self) {
        self.asked = None;
    }
}

impl Coordinator {
    /// True once everything is recorded that was reported before the first call of this function. Reports the question, and must be called
    /// again until it returns true.
    ///
    /// # Errors
    /// When the question cannot be reported.
    pub(crate) async fn is_all_recorded(&self, sweep: &SweepId, echo: &mut Echo) -> Result<bool, CoordinatorError> {
        let number = match echo.asked {
            Some((number, _)) if echo.heard >= number => {
                echo.asked = None;
                return Ok(true);
            }
            Some((_, at)) if at.elapsed() < ASKED_AGAIN_AFTER => return Ok(false),
            Some((number, _)) => {
                tracing::warn!(
                    %sweep,
                    "waiting for a scorer to record what was reported: none has answered for {} s; is one running, and can it reach its \
                     stores?",
                    ASKED_AGAIN_AFTER.as_secs()
                );
                number
            }
            None => {
                // Above every question of earlier leaders, whose answers may still come.
                let term = self.lead().await?;
                echo.questions += 1;
                ((term.0 << 32) + echo.questions).max(echo.heard + 1)
            }
        };
        self.queue.publish_reports(vec![Report::Echo { sweep: sweep.clone(), number, waited: false }]).await?;
        echo.asked = Some((number, Instant::now()));
        Ok(false)
    }
}
