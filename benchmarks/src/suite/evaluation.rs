//! Scores of sessions, and the questions to judges that these need answered.

use regatta_proto::{Evaluator, ItemIndex, Question, Setting, Transcript};

use crate::{Scores, Scoring, Verdicts};

/// Scoring of sessions, one at a time.
pub trait Evaluation: Send + Sync {
    /// Scores as [`score_session`](Self::score_session) does, for the default setting and for predictions whose
    /// setting is unknown.
    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring;

    /// Scores the finished session of `item` in `setting` with `evaluators`, or returns the questions whose verdicts
    /// are missing. Most benchmarks ignore the setting.
    fn score_session(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let _ = setting;
        self.score(item, evaluators, transcript, verdicts)
    }

    /// Returns the worst scores, for a session that failed because of the model. They hold every value that a session
    /// of the item can have: a value that is absent here is absent in every session of the item. Empty for an item that
    /// is none, whose session is then unfit and has no scores.
    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores;

    /// Returns `true` if a judge's verdict can change the value `value` of a session's score by `evaluator`.
    fn is_judged(&self, evaluator: Evaluator, value: &str) -> bool;

    /// Returns `true` if the benchmark's own parser found an answer of the agent unreadable: no workflow, no plan, or
    /// no call in it. Always `false` where every text is a valid answer.
    fn is_invalid_format(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> bool {
        let _ = (item, setting, transcript);
        false
    }

    /// Returns an example of the questions that `evaluators` ask, so that a plan knows that a judge is required.
    /// `None` where that shows only in the first sessions.
    fn example_question(&self, evaluators: &[Evaluator]) -> Option<Question> {
        let _ = evaluators;
        None
    }
}
