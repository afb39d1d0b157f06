//! The reply that the person gets, from what servers and services said.

use serde_json::Value;

use super::plan::Plan;
use super::said::first_object;

/// Reply when no answer was found.
const NOTHING: &str = "Sorry, that could not be found out.";
/// The reply to small talk.
const TALK: &str = "I am always glad to talk with you about that.";
/// Longest text of others that a reply repeats, in characters.
const QUOTED_MAX: usize = 300;

/// The reply to the person: it has words or numbers of the last answer that tells something.
pub(super) fn reply(plan: &Plan, answers: &[&str]) -> String {
    if matches!(plan, Plan::Nothing) {
        return TALK.to_owned();
    }
    let told = answers.iter().rev().filter_map(|answer| first_object(answer)).find_map(|body| told(plan, &body));
    told.unwrap_or_else(|| NOTHING.to_owned())
}

fn told(plan: &Plan, body: &Value) -> Option<String> {
    match plan {
        Plan::Local { .. } => Some(format!("The smart home says: {}", text(body.pointer("/data/response")?)?)),
        Plan::Weather { place } => {
            let hourly = body.pointer("/hourly/temperature_2m/0");
            let value = hourly.or_else(|| body.pointer("/daily/temperature_2m_max/0"))?;
            Some(format!("The temperature in {place} is {} degrees.", number(value)?))
        }
        Plan::News { .. } => Some(format!("In the news: {}", text(body.pointer("/data/0/title")?)?)),
        Plan::Stock { name } => {
            Some(format!("The price of {name} was {} in the end.", number(body.pointer("/data/0/close")?)?))
        }
        Plan::Currency { from, to } => {
            let rate = body.get("data").and_then(|data| data.get(to)).or_else(|| body.get("amount"))?;
            Some(format!("One {from} is {} {to}.", number(rate)?))
        }
        Plan::Search { .. } => {
            let boxed = body.pointer("/answer_box/answer").and_then(text);
            let found = || body.pointer("/organic_results/0/snippet").and_then(text);
            Some(format!("This is what I found: {}", boxed.or_else(found)?))
        }
        Plan::Nothing => None,
    }
}

fn text(value: &Value) -> Option<String> {
    let text: String = value.as_str()?.chars().take(QUOTED_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// A number as the answer has it.
fn number(value: &Value) -> Option<String> {
    value.is_number().then(|| value.to_string())
}
