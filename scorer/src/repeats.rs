//! Scores by each repeat of a panel alone, from which the judge's part of a result's uncertainty is known.
//!
//! They are stored beside a session's scores (`stored_scores` of `report`) and are in no result file: the score that counts is that of all
//! repeats together.

use std::cell::RefCell;
use std::collections::BTreeSet;

use regatta_benchmarks::{Scoring, Verdicts};
use regatta_catalog::Sweep;
use regatta_proto::{Digest, Evaluator, Question, Verdict};
use regatta_report::Repeats;

use crate::verdicts::{Known, KnownOf, Subject};

/// Verdicts of all repeats, and the judgements that were needed.
struct Asked<'k> {
    verdicts: KnownOf<'k>,
    judgements: RefCell<BTreeSet<Digest>>,
}

impl Verdicts for Asked<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        if let Question::Judgement { .. } = question {
            self.judgements.borrow_mut().insert(question.digest());
        }
        self.verdicts.answer(question)
    }
}

/// Verdicts of one repeat on the judgements that all together needed. What else is known depends on which sessions are scored at once.
struct OfRepeat<'k> {
    verdicts: KnownOf<'k>,
    judgements: &'k BTreeSet<Digest>,
}

impl Verdicts for OfRepeat<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let is_judgement = matches!(question, Question::Judgement { .. });
        if is_judgement && !self.judgements.contains(&question.digest()) {
            return None;
        }
        self.verdicts.answer(question)
    }
}

/// The scores that `subject` would have by each repeat of its judge alone. Empty where the judge is asked once; without an evaluator that
/// asks for no judgement, or that the replies of some repeat lead to questions which those of all together do not need.
pub(crate) fn repeats(subject: &Subject<'_>, sweep: &Sweep, known: &Known) -> Repeats {
    let Some(benchmark) = sweep.benchmark(subject.cell) else { return Repeats::new() };
    let Some(judge) = benchmark.judge.as_ref().filter(|judge| judge.repeats() > 1) else { return Repeats::new() };
    let Some(suite) = sweep.suite(subject.cell) else { return Repeats::new() };
    let values = |evaluator: Evaluator, verdicts: &dyn Verdicts| {
        let setting = &subject.cell.setting;
        match suite.score_session(subject.item, setting, &[evaluator], subject.transcript, verdicts) {
            Scoring::Scored(mut scores) => Some(scores.remove(&evaluator)?.values),
            Scoring::Needs(_) | Scoring::Unfit(_) | Scoring::Failed(_) => None,
        }
    };
    let of = |evaluator: &Evaluator| {
        let together = Asked { verdicts: known.of(Some(judge)), judgements: RefCell::default() };
        values(*evaluator, &together)?;
        let judgements = together.judgements.into_inner();
        let of_repeat = |repeat: u8| {
            let verdicts = OfRepeat { verdicts: known.of_repeat(judge, repeat), judgements: &judgements };
            values(*evaluator, &verdicts)
        };
        let values: Vec<_> = (0..judge.repeats()).map(of_repeat).collect::<Option<_>>()?;
        (!judgements.is_empty()).then_some((*evaluator, values))
    };
    benchmark.evaluators.iter().filter_map(of).collect()
}
