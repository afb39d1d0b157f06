//! Questions that evaluators ask about one session, with all that was answered: for people who look at it. Nothing is asked anew.

use std::cell::RefCell;

use regatta_backends::Ledger;
use regatta_benchmarks::{Scoring, Verdicts};
use regatta_catalog::Sweep;
use regatta_proto::{Cell, ItemIndex, ModelRef, Question, Transcript, Verdict};

use crate::scorer::ScorerError;
use crate::verdicts::{Known, LOOKS_MAX, answerer, askings};

/// A question of an evaluator.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedOfSession {
    /// The question, as its evaluator asks it.
    pub question: Question,
    /// One entry for each time that it is put to a judge, in the order of the panel.
    pub verdicts: Vec<GivenVerdict>,
}

/// Answer of one judge to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenVerdict {
    /// The judge.
    pub judge: ModelRef,
    /// `true` if it saw what is compared in the other order.
    pub is_swapped: bool,
    /// Verdict of the judge; `None` while there is none.
    pub verdict: Option<Verdict>,
}

/// Notes what is asked.
struct Noting<'v> {
    verdicts: &'v dyn Verdicts,
    asked: RefCell<Vec<Question>>,
}

impl Verdicts for Noting<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(question) {
            asked.push(question.clone());
        }
        self.verdicts.answer(question)
    }
}

/// The questions that the evaluators of `cell` ask about the session of `item`, in their order, and the scores as far as they can be
/// computed from the verdicts that `ledger` has.
///
/// # Errors
/// When the ledger fails, or the sweep does not have the judge's endpoint.
pub async fn asked_of_session(
    ledger: &Ledger,
    sweep: &Sweep,
    cell: &Cell,
    item: ItemIndex,
    transcript: &Transcript,
) -> Result<(Vec<AskedOfSession>, Option<Scoring>), ScorerError> {
    let (Some(benchmark), Some(suite)) = (sweep.benchmark(cell), sweep.suite(cell)) else {
        return Ok((Vec::new(), None));
    };
    let judge = benchmark.judge.as_ref();
    let mut known = Known::default();
    let mut questions = Vec::new();
    let mut last = None;
    for _ in 0..LOOKS_MAX {
        let (scoring, asked) = {
            let verdicts = known.of(judge);
            let noting = Noting { verdicts: &verdicts, asked: RefCell::default() };
            let scoring = suite.score_session(item, &cell.setting, &benchmark.evaluators, transcript, &noting);
            (scoring, noting.asked.into_inner())
        };
        questions = asked;
        if let Scoring::Needs(needed) = &scoring {
            for question in needed {
                if !questions.contains(question) {
                    questions.push(question.clone());
                }
            }
        }
        last = Some(scoring);
        let Some(judge) = judge else { break };
        let wanted = questions.iter().flat_map(|question| askings(judge, question)).map(|asking| asking.put);
        if !known.look_up_in(ledger, |judge| answerer(sweep, judge), wanted).await? {
            break;
        }
    }
    let given = |question: Question| {
        let askings = judge.map(|judge| askings(judge, &question)).unwrap_or_default();
        let verdict = |asking: &crate::verdicts::Asking| GivenVerdict {
            judge: asking.put.to.clone(),
            is_swapped: asking.swapped,
            verdict: known.get(&asking.put).cloned(),
        };
        let verdicts = askings.iter().map(verdict).collect();
        AskedOfSession { question, verdicts }
    };
    Ok((questions.into_iter().map(given).collect(), last))
}
