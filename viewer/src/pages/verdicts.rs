//! Questions to judges about a session, and their verdicts.

use maud::{Markup, html};
use regatta_benchmarks::{Scoring, Verdicts};
use regatta_proto::{Question, Verdict};
use regatta_scorer::AskedOfSession;

use crate::page::{said, scrolled};

/// Most questions shown.
const QUESTIONS_MAX: usize = 100;
/// Most rows and columns shown of a table of similarities.
const TEXTS_MAX: usize = 24;

/// Verdicts of one judge, for scoring again. Of panels it has only similarities, which a single member gives.
pub(crate) struct Given<'a>(&'a [AskedOfSession]);

impl<'a> Given<'a> {
    pub(crate) const fn new(asked: &'a [AskedOfSession]) -> Self {
        Self(asked)
    }
}

impl Verdicts for Given<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let asked = self.0.iter().find(|asked| asked.question == *question)?;
        match asked.verdicts.as_slice() {
            [only] => only.verdict.clone(),
            _ => None,
        }
    }
}

pub(crate) fn section(asked: &[AskedOfSession], scoring: Option<&Scoring>) -> Markup {
    let problem = scoring.and_then(unscored);
    html! {
        @if !asked.is_empty() || problem.is_some() {
            section #verdicts {
                h2 { "Verdicts" }
                @if let Some(problem) = problem { p.notice { (problem) } }
                @for one in asked.iter().take(QUESTIONS_MAX) { (question(one)) }
                @if asked.len() > QUESTIONS_MAX { p.hint { (asked.len() - QUESTIONS_MAX) " more questions" } }
            }
        }
    }
}

fn question(asked: &AskedOfSession) -> Markup {
    match &asked.question {
        Question::Similarity { left, right } => html! {
            details {
                summary { "Similarity of " (left.len()) " and " (right.len()) " texts" (by(asked)) }
                @for given in &asked.verdicts {
                    @match &given.verdict {
                        Some(Verdict::Similarity { micro }) => { (similarities(left, right, micro)) }
                        Some(Verdict::Replies { .. } | Verdict::Panel { .. }) | None => { p.hint { "no answer yet" } }
                    }
                }
            }
        },
        Question::Judgement { kind, about, prompt, .. } => html! {
            article.part.judge {
                h3 { "judge " small { (kind) @if !about.is_empty() { ": " (about.join(", ")) } } }
                details { summary { "what it was asked" } (said(prompt)) }
                @for given in &asked.verdicts {
                    p.by { (given.judge) @if given.is_swapped { ", in the other order" } }
                    @match &given.verdict {
                        Some(Verdict::Replies { replies }) => {
                            @if let Some((last, before)) = replies.split_last() {
                                @for reply in before { details { summary { "a reply that could not be taken" } (said(reply)) } }
                                (said(last))
                            }
                        }
                        Some(Verdict::Similarity { .. } | Verdict::Panel { .. }) | None => { p.hint { "no answer yet" } }
                    }
                }
            }
        },
    }
}

fn by(asked: &AskedOfSession) -> Markup {
    html! { @for given in &asked.verdicts { ", by " (given.judge) } }
}

fn similarities(left: &[String], right: &[String], micro: &[Vec<i32>]) -> Markup {
    html! {
        (scrolled("Similarities", html! {
            table.similarities {
                thead { tr { th scope="col" { "answer ↓ gold →" } @for text in right.iter().take(TEXTS_MAX) { th scope="col" { (text) } } } }
                tbody {
                    @for (text, row) in left.iter().zip(micro).take(TEXTS_MAX) {
                        tr {
                            th scope="row" { (text) }
                            @for value in row.iter().take(TEXTS_MAX) { td.number { (format!("{:.2}", f64::from(*value) / 1e6)) } }
                        }
                    }
                }
            }
        }))
        @if left.len() > TEXTS_MAX || right.len() > TEXTS_MAX { p.hint { "the first " (TEXTS_MAX) " of each" } }
    }
}

/// A line that explains why the session shown has no score; `None` if it has one.
fn unscored(scoring: &Scoring) -> Option<String> {
    match scoring {
        Scoring::Scored(_) => None,
        Scoring::Needs(questions) => Some(match questions.len() {
            1 => "1 question has no answer yet.".to_owned(),
            questions => format!("{questions} questions have no answer yet."),
        }),
        Scoring::Unfit(why) => Some(format!("The transcript cannot be scored: {why}")),
        Scoring::Failed(failed) => Some(format!("The benchmark's program failed: {}", failed.why)),
    }
}
