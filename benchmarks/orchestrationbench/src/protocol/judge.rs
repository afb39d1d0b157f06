//! Questions to the judge of argument values (docs/benchmarks/orchestrationbench.md §8).

use regatta_proto::{ChatMessage, ChatRole};
use regatta_pycompat::{self as python, Json, repr_texts};
use serde_json::{Map, Value};

use crate::data::{Data, Entry, GoldCall, Scenario, Speaker, Suffix};
use crate::prompts::{self, marks};

/// An argument that no automatic rule could decide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unresolved {
    /// Name of the argument.
    pub(crate) key: String,
    /// Predicted values that no gold value equals, sorted.
    pub(crate) predicted: Vec<String>,
    /// Gold values that no predicted value equals, sorted.
    pub(crate) actual: Vec<String>,
}

/// Returns the conversation before the prompt, and the prompt, for the decision at `step` when the tools `tools` were
/// called there.
///
/// `index` is the number in the ID with which the answer begins. The official code counts the steps of a run at which
/// gold and prediction are both calls; for a step that is judged alone it is [`judge_index`]. `unresolved` is sorted,
/// where the official code has no fixed order.
pub(crate) fn judge_conversation<T: AsRef<str>>(
    data: &Data,
    scenario: &Scenario,
    step: u32,
    tools: &[T],
    index: usize,
    unresolved: &[Unresolved],
) -> (Vec<ChatMessage>, String) {
    let template = data.prompts.judge.as_ref().map_or_else(prompts::judge, |official| official.to_string());
    let system = template
        .replace(marks::SYSTEM_INFO, first_system(scenario))
        .replace(marks::TOOL_DESCRIPTION, &parameters_of(data, scenario, tools));
    let mut before = vec![ChatMessage::new(ChatRole::System, system)];
    before.extend(judge_history(scenario, step));
    (before, prompt(index, unresolved))
}

/// Returns the index of the decision at `step` among those of its scenario whose gold is a call and whose agent
/// exists. It equals that of the official code when every such step is answered with a call.
pub(crate) fn judge_index(scenario: &Scenario, step: u32) -> usize {
    let calls = |step: u32| scenario.gold(step).is_some_and(|gold| !gold.calls.is_empty());
    let earlier = scenario.decisions.iter().filter(|decision| decision.step < step && decision.is_asked);
    earlier.filter(|decision| calls(decision.step)).count()
}

fn first_system(scenario: &Scenario) -> &str {
    let first = scenario.label(1, Suffix::Message).filter(|entry| entry.speaker == Speaker::System);
    first.and_then(|entry| entry.content.text()).map_or("", |text| text)
}

#[expect(clippy::expect_used, reason = "a judge that is not told the parameters would judge something else")]
fn parameters_of<T: AsRef<str>>(data: &Data, scenario: &Scenario, tools: &[T]) -> String {
    let mut known = Map::new();
    for name in tools {
        if let Some(tool) = data.agents(scenario.language).tool(name.as_ref()) {
            known.insert(name.as_ref().to_owned(), Value::clone(&tool.parameters));
        }
    }
    // The layout is that of Python with an indent of 2.
    serde_json::to_string_pretty(&Value::Object(known)).expect("a JSON value has text keys alone")
}

/// Returns the judge's view of the conversation: calls as their queries, rejections as they were written, no results.
fn judge_history(scenario: &Scenario, step: u32) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    for ((at, suffix), entry) in scenario.labels.range(..(step, Suffix::Message)) {
        let has_call = || scenario.labels.contains_key(&(*at, Suffix::Call));
        match suffix {
            Suffix::Message if has_call() => {}
            Suffix::Call if !entry.calls.is_empty() => {
                let queries: Vec<String> = entry.calls.iter().filter_map(refined_query).collect();
                push(&mut messages, ChatRole::User, &queries.join(" "));
            }
            Suffix::Message | Suffix::Call => said(&mut messages, entry),
            Suffix::Result => {}
        }
    }
    messages
}

fn said(messages: &mut Vec<ChatMessage>, entry: &Entry) {
    let role = match entry.speaker {
        Speaker::User => ChatRole::User,
        Speaker::Assistant => ChatRole::Assistant,
        Speaker::System | Speaker::Tool => return,
    };
    push(messages, role, entry.content.text().map_or("", |text| text));
}

fn push(messages: &mut Vec<ChatMessage>, role: ChatRole, text: &str) {
    if !text.is_empty() {
        messages.push(ChatMessage::new(role, text));
    }
}

fn refined_query(call: &GoldCall) -> Option<String> {
    match python::parse(&call.arguments)?.as_object()?.get("refinedQuery")? {
        Json::String(query) => Some(query.clone()),
        _ => None,
    }
}

const ARGUMENT: (&str, &str) = ("**Argument: ", ":**");
const PREDICTION: (&str, &str) = (" Prediction: '", "'");
const ACTUAL: (&str, &str) = (" Actual: '", "'");

fn prompt(index: usize, unresolved: &[Unresolved]) -> String {
    let id = format!("[ID: EVAL_BATCH_{index}_{index}]");
    let mut prompt = format!("{id}\n\n</history>\n\n{}\n\n", prompts::COUNT);
    for Unresolved { key, predicted, actual } in unresolved {
        let texts = [(ARGUMENT, key.clone()), (PREDICTION, repr_texts(predicted)), (ACTUAL, repr_texts(actual))];
        for ((before, after), text) in texts {
            prompt.push_str(&format!("{before}{text}{after}\n"));
        }
        prompt.push('\n');
    }
    prompt.push_str(&format!("\n\n{}", prompts::begin_with(&id)));
    prompt
}

/// Parses the ID line and the arguments of a judge's prompt, whatever its other sentences; `None` for any other text.
pub(crate) fn unresolved_in(prompt: &str) -> Option<(&str, Vec<Unresolved>)> {
    let id = prompt.lines().next().filter(|line| line.starts_with("[ID: EVAL_BATCH_"))?;
    let mut unresolved = Vec::new();
    // A key may contain any character, line breaks too.
    let mut rest = prompt;
    while let Some((_, after)) = rest.split_once(&format!("\n{}", ARGUMENT.0)) {
        let (key, after) = after.split_once(&format!("{}\n{}", ARGUMENT.1, PREDICTION.0))?;
        let (predicted, after) = after.split_once(&format!("{}\n{}", PREDICTION.1, ACTUAL.0))?;
        let (actual, after) = after.split_once(&format!("{}\n", ACTUAL.1))?;
        unresolved.push(Unresolved {
            key: key.to_owned(),
            predicted: python::texts_of_repr(predicted)?,
            actual: python::texts_of_repr(actual)?,
        });
        rest = after;
    }
    Some((id, unresolved))
}
