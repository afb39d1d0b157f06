//! From a reply to values: every scorer by itself. Whatever cannot be read has the worst values, and is told from what is wrong by its flag.

mod calls;
mod constraints;
mod fields;
mod judge;
mod number;
mod overlap;
mod prepare;
mod schema;
mod texts;

use std::collections::BTreeMap;

use regatta_benchmarks::{Score, Scores, Scoring, Verdicts};
use regatta_proto::{Evaluator, Question, Reply};
use serde_json::{Map, Value, json};

pub(crate) use self::calls::{call_as_json, right_call};
pub(crate) use self::judge::{shown, simulated_reply};
pub(crate) use self::prepare::prepare;
use crate::answer::{Answer, Step, read};
use crate::definition::{Form, Name, RougeKind};

/// A scorer that fits its data.
#[derive(Debug)]
pub(crate) struct Scorer {
    pub(crate) name: Name,
    /// Position of the answer that it scores; `None`: the whole reply.
    pub(crate) answer: Option<usize>,
    pub(crate) rule: Rule,
}

/// Rule by which a scorer compares.
#[derive(Debug)]
pub(crate) enum Rule {
    Exact(texts::Ignoring),
    Normalised(Form),
    F1(Form),
    Rouge(RougeKind),
    Bleu,
    Chrf { word_order: usize },
    Contains(texts::Within),
    Number(number::Tolerance),
    Choice,
    Schema(schema::Validator),
    Fields,
    Calls { in_order: bool },
    Constraints,
    Judge(judge::Grades),
    Similarity,
}

/// Gold that a scorer compares an item's answer with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Gold {
    Texts(Vec<String>),
    Number(f64),
    Letter(String),
    /// Position of a schema.
    Schema(usize),
    Fields(Map<String, Value>),
    Calls(Vec<calls::GoldCall>),
    Constraints(constraints::Constraints),
    Judgement(judge::Subject),
}

/// All scorers of a benchmark.
#[derive(Debug)]
pub(crate) struct Scorers {
    pub(crate) scorers: Vec<Scorer>,
    /// Steps of the answers, by position.
    pub(crate) answers: Vec<(Name, Vec<Step>)>,
    /// Golds of each item, one a scorer.
    pub(crate) golds: Vec<Vec<Gold>>,
}

/// Values of one scorer; names are those of [`Scorer::values`].
type Values = Vec<(String, f64)>;

/// Result of a scorer for an answer.
enum Said {
    Values(Values),
    Asks(Question),
    /// The gold is of another rule.
    Unfit,
}

impl Scorer {
    /// Name of the value that counts in a sense of its own, beside the scorer's name.
    fn value(&self, of: &str) -> String {
        format!("{}_{of}", self.name)
    }

    /// Name of the value that is 1 in a session whose judge gave no grade; `None` without a judge.
    pub(crate) fn ungraded(&self) -> Option<String> {
        matches!(self.rule, Rule::Judge(_)).then(|| self.value("ungraded"))
    }

    /// Names of all values that a session can have.
    pub(crate) fn values(&self) -> Vec<String> {
        let more: &[&str] = match self.rule {
            Rule::Constraints => &["kept", "count"],
            Rule::Fields => &["right", "predicted", "gold"],
            Rule::Judge(_) => &["ungraded"],
            Rule::Exact(_)
            | Rule::Normalised(_)
            | Rule::F1(_)
            | Rule::Rouge(_)
            | Rule::Bleu
            | Rule::Chrf { .. }
            | Rule::Contains(_)
            | Rule::Number(_)
            | Rule::Choice
            | Rule::Schema(_)
            | Rule::Calls { .. }
            | Rule::Similarity => &[],
        };
        std::iter::once(self.name.to_string()).chain(more.iter().map(|of| self.value(of))).collect()
    }

    /// `true` if a judge or an encoder gives its values.
    fn asks(&self) -> bool {
        match self.rule {
            Rule::Judge(_) | Rule::Similarity => true,
            Rule::Exact(_)
            | Rule::Normalised(_)
            | Rule::F1(_)
            | Rule::Rouge(_)
            | Rule::Bleu
            | Rule::Chrf { .. }
            | Rule::Contains(_)
            | Rule::Number(_)
            | Rule::Choice
            | Rule::Schema(_)
            | Rule::Fields
            | Rule::Calls { .. }
            | Rule::Constraints => false,
        }
    }

    /// Values of an answer that is as wrong as it can be.
    fn worst(&self, gold: &Gold) -> Values {
        let of = |of: &str, value: usize| (self.value(of), value as f64);
        let own = (self.name.to_string(), 0.0);
        match gold {
            Gold::Constraints(list) => vec![own, of("kept", 0), of("count", list.len())],
            Gold::Fields(fields) => vec![own, of("right", 0), of("predicted", 0), of("gold", fields::leaves(fields))],
            Gold::Judgement(_) => {
                let worst = if let Rule::Judge(grades) = &self.rule { grades.worst() } else { 0.0 };
                vec![(self.name.to_string(), worst), of("ungraded", 0)]
            }
            Gold::Texts(_) | Gold::Number(_) | Gold::Letter(_) | Gold::Schema(_) | Gold::Calls(_) => vec![own],
        }
    }

    fn score(&self, gold: &Gold, answer: &Answer, reply: &Reply, verdicts: &dyn Verdicts) -> Said {
        let one = |value: f64| Said::Values(vec![(self.name.to_string(), value)]);
        let whether = |right: bool| one(f64::from(u8::from(right)));
        match (&self.rule, gold) {
            (Rule::Exact(ignoring), Gold::Texts(golds)) => whether(ignoring.is_one_of(&answer.text(), golds)),
            (Rule::Normalised(form), Gold::Texts(golds)) => whether(texts::normalised(*form, &answer.text(), golds)),
            (Rule::F1(form), Gold::Texts(golds)) => one(texts::f1(*form, &answer.text(), golds)),
            (Rule::Rouge(kind), Gold::Texts(golds)) => one(overlap::rouge(*kind, &answer.text(), golds)),
            (Rule::Bleu, Gold::Texts(golds)) => one(overlap::bleu(&answer.text(), golds)),
            (Rule::Chrf { word_order }, Gold::Texts(golds)) => one(overlap::chrf(*word_order, &answer.text(), golds)),
            (Rule::Contains(within), Gold::Texts(golds)) => whether(within.holds(&answer.text(), golds)),
            (Rule::Number(tolerance), Gold::Number(gold)) => whether(tolerance.is_right(&answer.text(), *gold)),
            (Rule::Choice, Gold::Letter(letter)) => whether(answer.text().eq_ignore_ascii_case(letter)),
            (Rule::Schema(validator), Gold::Schema(at)) => {
                whether(answer.json().is_some_and(|value| validator.fits(*at, &value)))
            }
            (Rule::Fields, Gold::Fields(gold)) => {
                let counts = fields::count(answer.json().as_ref().and_then(Value::as_object), gold);
                Said::Values(vec![
                    (self.name.to_string(), f64::from(u8::from(counts.is_all()))),
                    (self.value("right"), counts.right as f64),
                    (self.value("predicted"), counts.predicted as f64),
                    (self.value("gold"), counts.gold as f64),
                ])
            }
            (Rule::Calls { in_order }, Gold::Calls(gold)) => {
                // An answer that holds no calls is none, and was scored as the worst before.
                let Some(made) = self.calls(Some(answer), reply) else { return Said::Unfit };
                whether(calls::are_right(&made, gold, *in_order))
            }
            (Rule::Constraints, Gold::Constraints(list)) => {
                let kept = list.kept(&answer.text());
                Said::Values(vec![
                    (self.name.to_string(), f64::from(u8::from(kept == list.len()))),
                    (self.value("kept"), kept as f64),
                    (self.value("count"), list.len() as f64),
                ])
            }
            (Rule::Judge(grades), Gold::Judgement(subject)) => {
                let question = grades.question(&self.name, subject, &answer.text());
                let Some(verdict) = verdicts.answer(&question) else { return Said::Asks(question) };
                let grade = grades.grade(verdict);
                let ungraded = (self.value("ungraded"), f64::from(u8::from(grade.is_none())));
                Said::Values(grade.map(|grade| (self.name.to_string(), grade)).into_iter().chain([ungraded]).collect())
            }
            (Rule::Similarity, Gold::Texts(golds)) => {
                let question = judge::similarity(&answer.text(), golds);
                match verdicts.answer(&question).and_then(judge::nearest) {
                    Some(similarity) => one(similarity),
                    None => Said::Asks(question),
                }
            }
            // Rules and their golds are prepared together, so that this is a mistake of ours, and no wrong answer.
            _ => Said::Unfit,
        }
    }

    /// Calls of the reply, or those that the answer holds. A reply in words alone makes none; `None` where an answer was to hold them
    /// and does not, or there is no reply.
    fn calls(&self, answer: Option<&Answer>, reply: &Reply) -> Option<Vec<calls::Call>> {
        if !reply.tool_calls.is_empty() {
            return Some(calls::of_tools(&reply.tool_calls));
        }
        let written = answer?.json().and_then(|value| calls::of_json(&value));
        if self.answer.is_none() { Some(written.unwrap_or_default()) } else { written }
    }
}

impl Scorers {
    /// Scores the last reply of a session of the item at `item`; `None` for an item that is none.
    pub(crate) fn score(
        &self,
        item: usize,
        evaluators: &[Evaluator],
        reply: &Reply,
        verdicts: &dyn Verdicts,
    ) -> Option<Scoring> {
        let golds = self.golds.get(item)?;
        let answers = self.read(reply);
        let (mut values, mut questions) = (BTreeMap::new(), Vec::new());
        for (scorer, gold) in self.scorers.iter().zip(golds) {
            let said = match self.answer_of(scorer, reply, &answers) {
                Some(answer) => scorer.score(gold, &answer, reply, verdicts),
                None => Said::Values(scorer.worst(gold)),
            };
            match said {
                Said::Values(found) => values.extend(found),
                Said::Asks(question) => questions.push(question),
                Said::Unfit => {
                    let problem = format!(
                        "the scorer {} cannot compare this answer with the gold that was made for it",
                        scorer.name
                    );
                    return Some(Scoring::Unfit(format!("{problem}; please report this as a bug")));
                }
            }
        }
        if !questions.is_empty() {
            return Some(Scoring::Needs(questions));
        }
        let read =
            |(name, answer): (&Name, &Option<Answer>)| (name.to_string(), answer.as_ref().map(Answer::text).into());
        let names = self.answers.iter().map(|(name, _)| name);
        let answers: Map<String, Value> = names.zip(&answers).map(read).collect();
        let detail = json!({ "answers": answers, "scores": values });
        Some(Scoring::Scored(scores(evaluators, Score { values, detail })))
    }

    /// `true` if a verdict can change the value `name`.
    pub(crate) fn is_judged(&self, name: &str) -> bool {
        self.scorers
            .iter()
            .filter(|scorer| scorer.asks())
            .any(|scorer| scorer.values().iter().any(|value| value == name))
    }

    /// The worst scores that a session of the item at `item` can have.
    pub(crate) fn worst(&self, item: usize, evaluators: &[Evaluator]) -> Option<Scores> {
        let golds = self.golds.get(item)?;
        let values = self.scorers.iter().zip(golds).flat_map(|(scorer, gold)| scorer.worst(gold)).collect();
        Some(scores(evaluators, Score { values, detail: Value::Null }))
    }

    /// `true` if an answer that one of the scorers in `heads` scores could not be read.
    pub(crate) fn is_unreadable(&self, reply: &Reply, heads: &[usize]) -> bool {
        let answers = self.read(reply);
        let mut scorers = heads.iter().filter_map(|at| self.scorers.get(*at));
        scorers.any(|scorer| self.answer_of(scorer, reply, &answers).is_none())
    }

    fn read(&self, reply: &Reply) -> Vec<Option<Answer>> {
        let text = reply.text.as_deref();
        self.answers.iter().map(|(_, steps)| text.and_then(|text| read(steps, text))).collect()
    }

    /// Answer that `scorer` scores; `None` where there is nothing to read.
    fn answer_of(&self, scorer: &Scorer, reply: &Reply, answers: &[Option<Answer>]) -> Option<Answer> {
        let answer = match scorer.answer {
            Some(at) => answers.get(at).cloned().flatten(),
            None => reply.text.as_deref().map(|text| Answer::Text(text.to_owned())),
        };
        match scorer.rule {
            // Calls of tools are an answer without a word.
            Rule::Calls { .. } => {
                let is_there = scorer.calls(answer.as_ref(), reply).is_some();
                is_there.then(|| answer.unwrap_or_else(|| Answer::Text(String::new())))
            }
            _ => answer,
        }
    }
}

fn scores(evaluators: &[Evaluator], score: Score) -> Scores {
    evaluators.iter().map(|evaluator| (*evaluator, score.clone())).collect()
}

#[cfg(test)]
mod tests;
