//! One item, from its log to its score.

use std::collections::BTreeMap;

use regatta_benchmarks::Score;
use regatta_proto::{Question, Script};
use serde_json::{Map, Value, json};

use super::gate::{Gate, examine};
use super::judge::{Answer, SLOT, about_slots, about_task};
use super::log::content;
use super::message::printed;
use super::resolve;
use super::rules::Rules;
use super::stat::{Said, Verdict, said};
use super::subject::Subject;
use crate::data::Utterance;

/// Flat values: the verdict, one of the three.
pub(super) const RIGHT: &str = "right";
pub(super) const WRONG: &str = "wrong";
pub(super) const ERROR: &str = "error";
/// Wrong without a judge's word.
const STATIC_WRONG: &str = "static_wrong";
/// A judge's words that were not understood.
pub(super) const UNPARSABLE: [&str; 2] = ["unparsable_slot", "unparsable_final"];

/// Flat values that a judge's words can change: all but what is wrong without them.
pub(crate) const JUDGED: [&str; 5] = [RIGHT, WRONG, ERROR, UNPARSABLE[0], UNPARSABLE[1]];

/// Scores an item as `script` does; `None` is `eval/eval.py`. Its questions are judgements about `[item, evaluator, attempt]` of the kinds
/// `slot` and `final`; `answers` gives what is known. Time and size are linear in the log, of which questions and details may hold all.
///
/// In one thing it does not follow the scripts: where a judge could not be asked, they abort the whole run, and this only ends the item,
/// with what was said so far (`aborted` in the detail).
///
/// # Errors
/// With the questions that have no answer yet.
pub(crate) fn score(
    script: Option<Script>,
    subject: &Subject<'_>,
    answers: &dyn Fn(&Question) -> Option<Answer>,
) -> Result<Score, Vec<Question>> {
    judged(&Rules::of(script), subject, answers).map(|judged| judged.into_score(subject.utterance))
}

/// The score of a session that the model itself made impossible: nothing was printed, so it is wrong, and no judge is asked.
pub(crate) fn failure() -> Score {
    Score { values: values(Verdict::Wrong, true, [false, false]), detail: Value::Null }
}

/// A line that is printed for an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    step: Step,
    attempt: u8,
    text: Option<String>,
    said: Said,
}

/// Origin of a printed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Static,
    Neutral,
    Slot,
    FinalExternal,
    FinalLocal,
}

impl Step {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Neutral => "neutral",
            Self::Slot => SLOT,
            Self::FinalExternal => "final_external",
            Self::FinalLocal => "final_local",
        }
    }

    const fn is_a_judges(self) -> bool {
        matches!(self, Self::Slot | Self::FinalExternal | Self::FinalLocal)
    }
}

impl Line {
    fn new(rules: &Rules, step: Step, attempt: u8, text: Option<String>, refusal: Option<&str>) -> Self {
        let said = said(rules.words, &printed(text.as_deref(), refusal));
        Self { step, attempt, text, said }
    }

    fn detail(&self) -> Value {
        let mut detail = Map::new();
        detail.insert("step".to_owned(), json!(self.step.as_str()));
        if self.step.is_a_judges() {
            detail.insert("attempt".to_owned(), json!(self.attempt));
        }
        detail.insert("text".to_owned(), json!(self.text));
        detail.insert("counts".to_owned(), json!(self.said.counts()));
        Value::Object(detail)
    }
}

/// Lines that a script printed for an item, with the evidence that they are based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    resolved: String,
    intent: Option<String>,
    response: Option<String>,
    /// Lines in the order of printing.
    pub(super) lines: Vec<Line>,
    /// True if the script ended there, so that all later lines are missing.
    pub(super) aborted: bool,
}

/// Runs a script on an item.
///
/// # Errors
/// With the questions that have no answer yet.
pub(super) fn judged(
    rules: &Rules,
    subject: &Subject<'_>,
    answers: &dyn Fn(&Question) -> Option<Answer>,
) -> Result<Judged, Vec<Question>> {
    let content = content(rules.dropped, subject.log);
    let is_external = subject.utterance.is_external();
    let examined = examine(rules, &content, is_external);
    let resolved = resolve(rules.script, &subject.utterance.slots, subject.today);
    let mut judged = Judged {
        resolved,
        intent: examined.intent.map(str::to_owned),
        response: examined.response.map(str::to_owned),
        lines: Vec::new(),
        aborted: false,
    };
    let mut missing = Vec::new();
    match examined.gate {
        Gate::Wrong(text) => {
            judged.lines.push(Line::new(rules, Step::Static, 1, Some(text.to_owned()), None));
            return Ok(judged);
        }
        Gate::Neutral => judged.lines.push(Line::new(rules, Step::Neutral, 1, Some(String::new()), None)),
        Gate::Slots(response) => {
            let question = about_slots(rules, subject, &judged.resolved, response);
            match answers(&question) {
                Some(Answer::Said { content, refusal }) => {
                    judged.lines.push(Line::new(rules, Step::Slot, 1, content, refusal.as_deref()));
                }
                Some(Answer::Raised) => {
                    judged.aborted = true;
                    return Ok(judged);
                }
                None => missing.push(question),
            }
        }
        Gate::Open => {}
    }
    let step = if is_external { Step::FinalExternal } else { Step::FinalLocal };
    let attempts = if is_external || rules.local_is_retried { 2 } else { 1 };
    for attempt in 1..=attempts {
        let question = about_task(rules, subject, &judged.resolved, &content, attempt);
        match answers(&question) {
            Some(Answer::Said { content, refusal }) => {
                judged.lines.push(Line::new(rules, step, attempt, content, refusal.as_deref()));
                break;
            }
            Some(Answer::Raised) => judged.aborted = attempt == attempts,
            None => {
                missing.push(question);
                break;
            }
        }
    }
    if missing.is_empty() { Ok(judged) } else { Err(missing) }
}

/// Outcome of an item whose row is not in the data set.
pub(super) struct Rowless {
    pub(super) said: Said,
    /// `true` if the row is needed after all, which ends the run.
    pub(super) needs_a_row: bool,
}

/// Runs a script on a log without a row. `None` where nothing is printed before the row is needed.
pub(super) fn rowless(rules: &Rules, log: &str) -> Option<Rowless> {
    if !rules.row_is_read_late {
        return None;
    }
    let content = content(rules.dropped, log);
    // A script that reads the row late does not compare classes.
    let (text, needs_a_row) = match examine(rules, &content, false).gate {
        Gate::Wrong(text) => (text, false),
        Gate::Neutral => ("", true),
        Gate::Slots(_) | Gate::Open => return None,
    };
    Some(Rowless { said: said(rules.words, &printed(Some(text), None)), needs_a_row })
}

impl Judged {
    /// The verdict of the item alone.
    pub(super) fn verdict(&self) -> Verdict {
        Verdict::of(self.lines.iter().map(|line| line.said))
    }

    /// Number of lines that were not understood.
    pub(super) fn unparsable(&self) -> u32 {
        self.lines.iter().map(|line| u32::from(line.said == Said::Unparsable)).sum()
    }

    /// The entry of the golden files; `is_last` of an item that its file ends with.
    pub(super) fn detail(&self, utterance: &Utterance, is_last: bool) -> Value {
        let verdict = self.verdict();
        let mut detail = json!({
            "id": utterance.iid,
            "gold_intent": utterance.intent,
            "resolved_slot": self.resolved,
            "intent_match": self.intent,
            "response_match": self.response,
            "trace": self.lines.iter().map(Line::detail).collect::<Vec<_>>(),
            "verdict": verdict.as_str(),
            "counted_as": verdict.counted_as(is_last),
        });
        if self.aborted {
            detail["aborted"] = json!(true);
        }
        detail
    }

    fn into_score(self, utterance: &Utterance) -> Score {
        let unparsable = |is_final: bool| {
            let is_meant = |line: &&Line| line.step.is_a_judges() && (line.step != Step::Slot) == is_final;
            self.lines.iter().filter(is_meant).any(|line| line.said == Said::Unparsable)
        };
        let is_static = self.lines.iter().any(|line| line.step == Step::Static);
        let values = values(self.verdict(), is_static, [unparsable(false), unparsable(true)]);
        Score { values, detail: self.detail(utterance, false) }
    }
}

fn values(verdict: Verdict, is_static: bool, unparsable: [bool; 2]) -> BTreeMap<String, f64> {
    let flags = [
        (RIGHT, verdict == Verdict::Right),
        (WRONG, verdict == Verdict::Wrong),
        (ERROR, verdict == Verdict::Error),
        (STATIC_WRONG, is_static),
    ];
    let flags = flags.into_iter().chain(UNPARSABLE.into_iter().zip(unparsable));
    flags.map(|(name, flag)| (name.to_owned(), f64::from(u8::from(flag)))).collect()
}
