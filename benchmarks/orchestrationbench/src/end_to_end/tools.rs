//! Results of the simulated tools.
//!
//! A call that the gold contains too, made by the same agent at any step, gets the result that is recorded there: all
//! calls of an answer together if they are those of one step, else each alone. Two calls are equal if they name the
//! same tool with equal arguments; `refinedQuery`, which is free text, is ignored. Every other call gets a result
//! that only reports success, or an error when the agent has no such tool or the arguments are not a JSON object.

use std::sync::Arc;

use regatta_pycompat::{Json, Object, dumps, equal, parse};
use serde_json::{Value, json};

use crate::data::{Card, GoldCall, Scenario, Suffix};
use crate::decision::{Arguments, Call};

/// Argument that is ignored when calls are compared.
const FREE_TEXT: &str = "refinedQuery";

/// Size in bytes above which a result does not repeat the arguments.
const ECHO_MAX: usize = 2000;

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Returned {
    /// As JSON.
    pub(super) text: Arc<str>,
    /// Step at which the result is recorded; `None` for a made-up one.
    pub(super) step: Option<u32>,
}

/// Returns the results of an answer's calls. `preferred` is the step matched with the answer: when several steps have
/// equal calls, its result is taken.
pub(super) fn results(scenario: &Scenario, card: &Card, preferred: Option<u32>, calls: &[Call]) -> Vec<Returned> {
    let calls: Vec<Asked<'_>> = calls.iter().map(Asked::of).collect();
    if let Some(returned) = recorded(scenario, card, preferred, &calls) {
        return vec![returned];
    }
    let one = |call: &Asked<'_>| {
        recorded(scenario, card, preferred, std::slice::from_ref(call)).unwrap_or_else(|| made_up(card, call))
    };
    calls.iter().map(one).collect()
}

/// A call with its arguments decoded.
#[derive(Debug)]
struct Asked<'c> {
    /// `None` for a call without a name.
    name: Option<&'c str>,
    arguments: Option<Object>,
}

impl<'c> Asked<'c> {
    fn of(call: &'c Call) -> Self {
        let arguments = match &call.arguments {
            Arguments::Text(text) => parse(text).and_then(Json::into_object),
            Arguments::Object(object) => Some(object.clone()),
            Arguments::Null => None,
        };
        Self { name: call.name.text(), arguments }
    }

    fn is(&self, gold: &GoldCall) -> bool {
        let Some(arguments) = &self.arguments else { return false };
        let Some(gold_arguments) = parse(&gold.arguments).and_then(Json::into_object) else { return false };
        let told = |object: &Object| object.iter().filter(|(key, _)| *key != FREE_TEXT).count();
        let are_equal = arguments
            .iter()
            .filter(|(key, _)| *key != FREE_TEXT)
            .all(|(key, value)| gold_arguments.get(key).is_some_and(|gold| equal(value, gold)));
        self.name == Some(&*gold.name) && told(arguments) == told(&gold_arguments) && are_equal
    }
}

fn recorded(scenario: &Scenario, card: &Card, preferred: Option<u32>, calls: &[Asked<'_>]) -> Option<Returned> {
    let others = scenario.decisions.iter().filter(|one| one.agent == card.agent_id).map(|one| one.step);
    let step = preferred.into_iter().chain(others).find(|step| {
        let gold = scenario.label(*step, Suffix::Call).map_or(&[][..], |entry| &entry.calls);
        !gold.is_empty() && are_the_same(calls, gold)
    })?;
    let text = scenario.label(step, Suffix::Result)?.content.to_json();
    Some(Returned { text, step: Some(step) })
}

/// Compares the calls with the gold's in any order.
fn are_the_same(calls: &[Asked<'_>], gold: &[GoldCall]) -> bool {
    let mut left: Vec<&GoldCall> = gold.iter().collect();
    calls.len() == gold.len()
        && calls.iter().all(|call| {
            let at = left.iter().position(|gold| call.is(gold));
            at.map(|at| left.remove(at)).is_some()
        })
}

#[expect(clippy::expect_used, reason = "a result that is an empty text would be a lost one")]
fn made_up(card: &Card, call: &Asked<'_>) -> Returned {
    let result = if !card.tools.iter().any(|tool| call.name == Some(&*tool.name)) {
        json!({ "status": "error", "message": "no such tool" })
    } else {
        match &call.arguments {
            None => json!({ "status": "error", "message": "the arguments are not a JSON object" }),
            Some(arguments) => json!({ "status": "success", "tool": call.name, "arguments": echo(arguments) }),
        }
    };
    let text = parse(&result.to_string()).and_then(|json| dumps(&json.into()).ok());
    let text = text.expect("JSON that was just written can be read, and written again");
    Returned { text: text.into(), step: None }
}

fn echo(arguments: &Object) -> Value {
    let text = dumps(&Json::Object(arguments.clone()).into());
    // Nor are arguments repeated that are nested too deep to be read back.
    let text = text.ok().filter(|text| text.len() <= ECHO_MAX);
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
}
