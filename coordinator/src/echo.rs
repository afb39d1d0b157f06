//! Confirmation that everything that workers have reported is recorded. Outcomes may wait in the queue, or in a scorer whose stores are
//! unavailable, while the ledger has nothing of them; to dispatch their sessions again would be to pay for them again. So the coordinator
//! reports a question itself, in each partition of the reports, and waits until scorers have answered all of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use regatta_backends::Term;
use regatta_proto::{Partition, Report, SweepId};
use tokio::time::Instant;

use crate::{Coordinator, CoordinatorError};

/// A question that is not answered within this time is asked again: it may be lost.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(30);
/// The same of a question of which it is not known whether it was published.
const ASKED_AGAIN_SOON: Duration = Duration::from_secs(10);

/// Age of a question from which on its answer says nothing: it may have waited in this process for a broker that took no messages, and so may
/// workers' reports in theirs.
const PROMPT: Duration = Duration::from_secs(10);
/// Time that workers have then to say what they could not, until the question is asked once more. They tell of each session every ten
/// seconds.
const SAID_WITHIN: Duration = Duration::from_secs(15);

/// Questions and answers about one sweep, as this coordinator knows them.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// Number of the last question that a scorer has answered; 0 before the first.
    pub(crate) heard: u64,
    asked: Option<Question>,
    /// When it is asked once more after a late answer. That answer counts, however late: the broker took messages in between.
    once_more_at: Option<Instant>,
}

/// A question that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Question {
    number: u64,
    /// When it was reported first.
    first: Instant,
    again_at: Instant,
}

impl Echo {
    /// Nothing was asked yet, and `heard` is the number of the last answer.
    pub(crate) const fn heard(heard: u64) -> Self {
        Self { heard, asked: None, once_more_at: None }
    }

    /// Nobody wants to know any more: an answer that still comes says nothing of what is reported after its question.
    pub(crate) const fn forget(&mut self) {
        (self.asked, self.once_more_at) = (None, None);
    }
}

impl Coordinator {
    /// The time at which the question was first asked that is answered now: everything that was reported before then is recorded. `None` until then:
    /// it reports the question, and must be called again. What is concluded from it is to be done under `term`.
    ///
    /// # Errors
    /// When the question cannot be reported, or another has led since `term`.
    pub(crate) async fn is_all_recorded(
        &self,
        sweep: &SweepId,
        echo: &mut Echo,
        term: Term,
    ) -> Result<Option<Instant>, CoordinatorError> {
        self.lead_on(term).await?;
        if self.leaves_reports_alone() && echo.asked.is_none_or(|asked| echo.heard < asked.number) {
            return Ok(None);
        }
        let now = Instant::now();
        let question = match echo.asked {
            Some(asked) if echo.heard >= asked.number => {
                let counts = asked.first.elapsed() < PROMPT || echo.once_more_at.is_some();
                self.reports_have_answered();
                (echo.asked, echo.once_more_at) = (None, (!counts).then(|| now + SAID_WITHIN));
                return Ok(counts.then_some(asked.first));
            }
            Some(asked) if now < asked.again_at => return Ok(None),
            Some(asked) => {
                tracing::warn!(
                    %sweep,
                    "waiting for a scorer to record what was reported: none has answered for {} s; is one running, and can it reach its \
                     stores?",
                    asked.first.elapsed().as_secs()
                );
                Question { again_at: now + ASKED_AGAIN_AFTER, ..asked }
            }
            None if echo.once_more_at.is_some_and(|at| now < at) => return Ok(None),
            None => {
                // Above every question of earlier leaders, and of this process about the same sweep, whose answers may still come.
                let asked = self.questions.fetch_add(1, Ordering::Relaxed) + 1;
                let number = ((term.0 << 32) + asked).max(echo.heard + 1);
                Question { number, first: now, again_at: now + ASKED_AGAIN_AFTER }
            }
        };
        let number = question.number;
        // Whoever has a partition answers when it has recorded all that came in it before.
        let ask = |partition| Report::Echo { sweep: sweep.clone(), number, waited: false, partition };
        // Before it is published: who gives up waiting for that has asked all the same.
        let before = echo.asked.replace(question);
        let questions = Partition::all(self.queue.report_partitions()).map(ask).collect();
        match self.report(questions, term).await {
            Ok(()) => Ok(None),
            // Perhaps some of them are published.
            Err(CoordinatorError::Unanswered) => {
                echo.asked = Some(Question { again_at: now + ASKED_AGAIN_SOON, ..question });
                Ok(None)
            }
            Err(error) => {
                echo.asked = before;
                Err(error)
            }
        }
    }
}
