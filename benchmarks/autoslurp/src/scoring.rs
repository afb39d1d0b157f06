//! Scores of a session, whoever ran it.

use jiff::civil::Date;
use regatta_benchmarks::{Score, Scores, Scoring, Verdicts};
use regatta_proto::{Evaluator, Script};

use super::data::Utterance;
use super::official::{self, Answer, Subject};
use super::run::Run;
use super::structured;

/// Source of an evaluator's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A script of the official repository; `None` is `eval/eval.py`.
    Official(Option<Script>),
    /// The same verdicts, counted as the paper does.
    Paper,
    /// Requests and answers themselves, without a judge.
    Structured,
}

/// The rule that `evaluator` stands for here.
pub(crate) const fn rule(evaluator: Evaluator) -> Rule {
    match evaluator {
        Evaluator::OfficialOf(script) => Rule::Official(Some(script)),
        Evaluator::Paper => Rule::Paper,
        Evaluator::Structured => Rule::Structured,
        Evaluator::Official | Evaluator::OfficialFixed | Evaluator::Exec | Evaluator::Declared => Rule::Official(None),
    }
}

/// Scores what a session came to, or says what judges have to be asked. `item` is its name in their questions.
pub(crate) fn score(
    item: &str,
    utterance: &Utterance,
    today: Date,
    run: &Run,
    evaluators: &[Evaluator],
    verdicts: &dyn Verdicts,
) -> Scoring {
    let subject = Subject { item, utterance, today, log: &run.log };
    let mut scores = Scores::new();
    let mut missing = Vec::new();
    for evaluator in evaluators {
        let by = |script| {
            official::score(script, &subject, &|question| {
                verdicts.answer(question).and_then(|verdict| Answer::of_verdict(script, verdict))
            })
        };
        let scored = match rule(*evaluator) {
            Rule::Official(script) => by(script),
            Rule::Paper => by(None).map(|score| official::paper::of_official(&score)),
            Rule::Structured => Ok(structured::score(utterance, today, run)),
        };
        match scored {
            Ok(score) => drop(scores.insert(*evaluator, score)),
            Err(questions) => {
                // Official and paper ask the same.
                missing
                    .extend(questions.into_iter().filter(|question| !missing.contains(question)).collect::<Vec<_>>());
            }
        }
    }
    if missing.is_empty() { Scoring::Scored(scores) } else { Scoring::Needs(missing) }
}

/// `true` if a judge's verdict can change `value`, one of `evaluator`.
pub(crate) fn is_judged(evaluator: Evaluator, value: &str) -> bool {
    match rule(evaluator) {
        Rule::Official(_) | Rule::Paper => official::JUDGED.contains(&value),
        Rule::Structured => false,
    }
}

/// The scores of a session that the model itself made impossible.
pub(crate) fn failure(utterance: &Utterance, evaluators: &[Evaluator]) -> Scores {
    let of = |evaluator: &Evaluator| -> Score {
        match rule(*evaluator) {
            Rule::Official(_) => official::failure(),
            Rule::Paper => official::paper::failure(),
            Rule::Structured => structured::failure(utterance),
        }
    };
    evaluators.iter().map(|evaluator| (*evaluator, of(evaluator))).collect()
}
