//! Pictures and graphs of sessions, for people who inspect these.

use regatta_proto::{Evaluator, ItemIndex, Setting, Transcript};

use crate::{Drawing, Picture, RatedScore, Verdicts};

/// Drawings of sessions, and the score that people may rate beside them. Optional: by default there are none.
pub trait Pictures: Send + Sync {
    /// Draws the session of `item` so far for people who inspect it.
    fn pictures(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        let _ = (item, setting, transcript);
        Vec::new()
    }

    /// Draws the picture at `number` of [`Self::pictures`] alone, which together may take many times its memory.
    fn picture(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript, number: usize) -> Option<Picture> {
        self.pictures(item, setting, transcript).into_iter().nth(number)
    }

    /// Returns graphs of the answers in the session of `item` so far over the gold; empty where answers are not
    /// graphs. `verdicts` come from a scoring with `evaluators`; without them, nodes with equal texts are partners.
    fn drawings(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        let _ = (item, setting, evaluators, transcript, verdicts);
        Vec::new()
    }

    /// Returns the score of a judge in sessions of `setting` that people may rate too, so that their ratings are
    /// compared with the judge's. `None` where no judge gives such a score.
    fn rated_score(&self, setting: &Setting) -> Option<RatedScore> {
        let _ = setting;
        None
    }
}
