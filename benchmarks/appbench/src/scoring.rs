//! From the transcript of an item to its scores.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regatta_benchmarks::{Drawing, Picture, Score, Scores, delegated};
use regatta_proto::{Evaluator, Event, Setting, Transcript};
use serde_json::{Map, Value, json};

use super::data::{Data, Entry};
use super::drawing;
use super::exec::{self, Outcome};
use super::official::{self, app_selection::Selection};
use super::paper;
use super::parse::{Line, apps, lines};
use super::phone_picture;
use super::session::texts;
use super::setting::{Route, SessionMode};
use super::stepwise::{Toolbox, Walk};

/// Result of a session.
enum Answer<'t> {
    /// A plan.
    Plan(Cow<'t, str>),
    /// No plan, because no attempt selected an app.
    Dropped,
}

impl<'t> Answer<'t> {
    /// Scores see no requests, but one reply alone is always a plan, and several are answers of an app selection with a plan behind them. An
    /// external agent writes a plan.
    fn of(data: &Data, transcript: &'t Transcript) -> Self {
        if delegated::was_started(transcript) {
            let written = delegated::answer(transcript);
            return Self::Plan(written.map_or(Cow::Borrowed(""), |plan| Cow::Owned(plan.to_string())));
        }
        let replies: Vec<&str> = texts(transcript).collect();
        if let [plan] = replies[..] {
            return Self::Plan(Cow::Borrowed(plan));
        }
        let selection = Selection::of(&data.phone, &replies);
        match replies.get(selection.attempts).copied() {
            Some(plan) if !selection.is_dropped() => Self::Plan(Cow::Borrowed(plan)),
            _ => Self::Dropped,
        }
    }
}

/// Scores what happened in the session of `entry`.
pub(crate) fn score(
    (data, toolbox): (&Data, &Toolbox),
    entry: &Entry,
    setting: Option<&Setting>,
    evaluators: &[Evaluator],
    transcript: &Transcript,
) -> Scores {
    if used_tools(setting, transcript) {
        // What was called step by step is no plan, so only one evaluator has something to say.
        let walk = Walk::of(data, toolbox, entry, &delegated::turns(transcript));
        let scored = evaluators.iter().filter(|evaluator| **evaluator == Evaluator::Exec);
        return scored.map(|evaluator| (*evaluator, score_walk(entry, &walk))).collect();
    }
    let answer = Answer::of(data, transcript);
    evaluators.iter().map(|evaluator| (*evaluator, score_answer(data, entry, *evaluator, &answer))).collect()
}

/// The scores when the model made its session impossible: those of an empty plan, which is as bad as one that cannot be executed.
pub(crate) fn score_failure(data: &Data, entry: &Entry, evaluators: &[Evaluator]) -> Scores {
    let of = |evaluator: &Evaluator| {
        let mut score = score_answer(data, entry, *evaluator, &Answer::Plan(Cow::Borrowed("")));
        if *evaluator == Evaluator::Exec {
            // Nothing was executed, so there is nothing that was done in no time.
            score.values.remove("makespan");
            score.values.insert("exec_error".to_owned(), 1.0);
        }
        (*evaluator, score)
    };
    evaluators.iter().map(of).collect()
}

/// The plan of a session over the gold one; none where tools were called step by step.
pub(crate) fn drawings(data: &Data, entry: &Entry, setting: &Setting, transcript: &Transcript) -> Vec<Drawing> {
    if used_tools(Some(setting), transcript) {
        return Vec::new();
    }
    vec![drawing::drawing(entry, &data.phone, &written(data, transcript))]
}

/// The phone with the apps that were called, and those of the gold.
pub(crate) fn pictures(
    (data, toolbox): (&Data, &Toolbox),
    entry: &Entry,
    setting: &Setting,
    transcript: &Transcript,
) -> Vec<Picture> {
    if used_tools(Some(setting), transcript) {
        let walk = Walk::of(data, toolbox, entry, &delegated::turns(transcript));
        let apps = walk.executed.iter().map(|call| &*call.app);
        return vec![phone_picture::picture(entry, &data.phone, apps)];
    }
    let text = written(data, transcript);
    let calls = lines(&text);
    vec![phone_picture::picture(entry, &data.phone, calls.iter().map(|line| line.app))]
}

/// The plan as it was written; empty where none was.
fn written<'t>(data: &Data, transcript: &'t Transcript) -> Cow<'t, str> {
    match Answer::of(data, transcript) {
        Answer::Plan(text) => text,
        Answer::Dropped => Cow::Borrowed(""),
    }
}

/// `true` if a plan was asked for, and no app was selected or no line of the answer is a call. Agents that call tools write no plan.
pub(crate) fn is_invalid_format(data: &Data, setting: &Setting, transcript: &Transcript) -> bool {
    !used_tools(Some(setting), transcript)
        && match Answer::of(data, transcript) {
            Answer::Plan(text) => lines(&text).is_empty(),
            Answer::Dropped => true,
        }
}

/// `true` if the benchmark offered the apps as tools. What tools an external agent gives its model is its own affair: its setting says what the
/// benchmark offered it.
fn used_tools(setting: Option<&Setting>, transcript: &Transcript) -> bool {
    if delegated::was_started(transcript) {
        return setting.and_then(SessionMode::of).is_some_and(|named| named.mode.route == Route::Tools);
    }
    let is_offered = |event: &Event| matches!(event, Event::Call(call) if !call.request.tools.is_empty());
    transcript.events.iter().any(is_offered)
}

fn score_answer(data: &Data, entry: &Entry, evaluator: Evaluator, answer: &Answer<'_>) -> Score {
    let (text, is_dropped) = match answer {
        Answer::Plan(text) => (&**text, false),
        Answer::Dropped => ("", true),
    };
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed if is_dropped => {
            Score { values: official::dropped_values(), detail: json!({ "dropped": true }) }
        }
        Evaluator::Official | Evaluator::OfficialFixed => {
            let lines = lines(text);
            let counters = official::score(entry, &lines, None);
            Score { values: counters.to_values(), detail: official_detail(&lines, &counters) }
        }
        Evaluator::Paper => {
            let counters = paper::score(entry, &data.phone, &lines(text));
            Score { values: counters.to_values(), detail: json!(counters) }
        }
        _ => {
            let scored = exec::score(data, entry, text);
            Score { values: scored.outcome().to_values(), detail: scored.detail() }
        }
    }
}

fn official_detail(lines: &[Line<'_>], counters: &official::ItemCounters) -> Value {
    let mut detail = Map::from_iter([("apps".to_owned(), json!(apps(lines)))]);
    detail.extend(counters.detail());
    Value::Object(detail)
}

fn score_walk(entry: &Entry, walk: &Walk) -> Score {
    let outcome = Outcome::of_steps(entry, &walk.executed, walk.is_refused, walk.rounds);
    let calls: Vec<Value> = walk.executed.iter().map(|call| json!([call.app, call.api, call.inputs])).collect();
    let Outcome { hit, pred, gold, .. } = outcome;
    let detail = json!({
        "calls": calls, "hit": hit, "pred": pred, "gold": gold, "rounds": walk.rounds, "refused": walk.is_refused,
        "success": u8::from(outcome.success),
    });
    Score { values: outcome.to_values(), detail }
}

/// `aggregate` of the golden files: one group for each split. Several trials are one large set.
pub(crate) fn aggregate<'s>(evaluator: Evaluator, scores: impl Iterator<Item = (&'s Entry, &'s Score)>) -> Value {
    let mut groups: BTreeMap<&str, Vec<&Score>> = BTreeMap::new();
    for (entry, score) in scores {
        groups.entry(entry.split.as_str()).or_default().push(score);
    }
    let of = |scores: &[&Score]| match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => {
            let counters: Vec<official::ItemCounters> =
                scores.iter().filter_map(|score| official::ItemCounters::from_values(&score.values)).collect();
            let mut aggregate = official::aggregate(&counters);
            if let Value::Object(fields) = &mut aggregate {
                fields.insert("dropped".to_owned(), json!(scores.len() - counters.len()));
            }
            aggregate
        }
        Evaluator::Paper => {
            let counters: Vec<paper::ItemCounters> =
                scores.iter().map(|score| paper::ItemCounters::from_values(&score.values)).collect();
            paper::aggregate(&counters)
        }
        _ => exec::aggregate(scores.iter().map(|score| Outcome::from_values(&score.values))),
    };
    groups.into_iter().map(|(split, scores)| (split.to_owned(), of(&scores))).collect::<Map<_, _>>().into()
}
