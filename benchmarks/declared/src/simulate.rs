//! Simulated models: the gold, or, as often as they err, another item's answer or none at all.

use rand::Rng as _;
use regatta_benchmarks::{DataError, Persona};
use regatta_proto::{Reply, SessionSeed, ToolCall, rng};
use serde_json::Value;

use crate::data::Split;
use crate::definition::{Definition, Source};
use crate::rendering::render;
use crate::scoring::{Gold, Scorers, call_as_json, right_call};

/// Share of the errors that are no answer at all.
const UNREADABLE: f64 = 0.25;
/// Reply without an answer.
const NO_ANSWER: &str = "I would rather not.";
/// Other items that are looked at for a wrong answer.
const TRIES: usize = 16;

/// A right reply to each item.
///
/// # Errors
/// When the template makes no text of a record.
pub(crate) fn right_replies(
    source: &Source,
    definition: &Definition,
    split: &Split,
    scorers: &Scorers,
) -> Result<Vec<Reply>, DataError> {
    let mut replies = Vec::new();
    for (record, golds) in split.records.iter().zip(&scorers.golds) {
        let gold = golds.iter().find_map(text_of);
        replies.push(match &definition.simulate.reply {
            Some(template) => {
                // Without a gold text the variable is not there, and a template that names it is refused.
                let variables = match gold {
                    Some(gold) => minijinja::context! { gold => gold, ..record.variables.clone() },
                    None => record.variables.clone(),
                };
                Reply::said(render(source, "simulate.reply", template, &split.path, record, variables)?)
            }
            None if definition.prompt.tools.is_some() => golds.iter().find_map(calls_of).unwrap_or_else(|| said(gold)),
            None => said(gold),
        });
    }
    Ok(replies)
}

/// A reply of the gold text; where there is none, nothing can be repeated.
fn said(gold: Option<String>) -> Reply {
    Reply::said(gold.as_deref().unwrap_or(NO_ANSWER))
}

/// A gold as a reply would have it; `None` where there is nothing that a reply could repeat.
fn text_of(gold: &Gold) -> Option<String> {
    match gold {
        Gold::Texts(texts) => texts.first().cloned(),
        Gold::Number(number) => Some(number.to_string()),
        Gold::Letter(letter) => Some(letter.clone()),
        Gold::Fields(fields) => Some(Value::Object(fields.clone()).to_string()),
        Gold::Calls(calls) => Some(calls.iter().map(call_as_json).collect::<Value>().to_string()),
        Gold::Schema(_) | Gold::Constraints(_) | Gold::Judgement(_) => None,
    }
}

fn calls_of(gold: &Gold) -> Option<Reply> {
    let Gold::Calls(calls) = gold else { return None };
    let calls: Vec<ToolCall> = calls
        .iter()
        .map(right_call)
        .zip(1..)
        .map(|((name, arguments), number)| ToolCall {
            id: format!("call_{number}").into(),
            name: name.into(),
            arguments: Value::Object(arguments).to_string().into(),
        })
        .collect();
    Some(if calls.is_empty() { Reply::said("There is nothing to call.") } else { Reply::calling(None, calls) })
}

/// Simulated reply of a model to the item at `item`.
pub(crate) fn reply(replies: &[Reply], item: usize, persona: Persona, seed: SessionSeed) -> Option<Reply> {
    let right = replies.get(item)?;
    let Persona::Noisy(share) = persona else { return Some(right.clone()) };
    let mut random = rng(seed.0, "declared/agent");
    if !random.random_bool(share.clamp(0.0, 1.0)) {
        return Some(right.clone());
    }
    let is_unreadable = random.random_bool(UNREADABLE);
    let mut others = (0..TRIES).filter_map(|_| replies.get(random.random_range(0..replies.len())));
    let wrong = others.find(|other| (&other.text, &other.tool_calls) != (&right.text, &right.tool_calls));
    Some(wrong.filter(|_| !is_unreadable).cloned().unwrap_or_else(|| Reply::said(NO_ANSWER)))
}
