//! Golden cases of kinds `turn-inference` and `sim-loop` (docs/benchmarks/flowbench.md §11), in which the models'
//! replies come from a script.

use std::collections::BTreeSet;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use regatta_proto::Role;
use serde_json::{Value, json};

use super::write_messages;
use super::{Conversation, Ending, Exchange, Failure, Limits, Message, Next, Plan, Speaker, TurnInference, TurnStep};
use crate::session_level::{actions_string, dialogue, intents, nodes};

/// Suffix that the released code adds to the system message of a turn. Golden vectors contain it; our prompts use
/// [`crate::prompts::thought_first`].
const OFFICIAL_SUFFIX: &str = "\nPlease ensure to output the 'Thought' segment first before any other segments.";

/// Replies of one model in order, null for a try without a reply. The last one is repeated without end.
struct Script<'s> {
    replies: Vec<Option<&'s str>>,
    asked: usize,
}

impl<'s> Script<'s> {
    fn read(place: &SourceLocation<'_>, line: &'s Value, field: &str) -> Result<Self, DataError> {
        let reply = |(at, value): (usize, &'s Value)| match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.as_str())),
            other => {
                let problem = format!("must be a text or null, is {}", kind_of(other));
                Err(place.error(&format!("{field}[{at}]"), problem))
            }
        };
        let replies = place.array(line, field)?.iter().enumerate().map(reply).collect::<Result<_, _>>()?;
        Ok(Self { replies, asked: 0 })
    }

    fn next(&mut self) -> Option<&'s str> {
        let reply = self.replies.get(self.asked).or(self.replies.last()).copied().flatten();
        self.asked += 1;
        reply
    }
}

/// Makes the entry of one line of `turn-inference`; `attempts` are the agent's replies.
///
/// # Errors
/// If the script has an unexpected form.
pub(crate) fn turn_inference_item(place: &SourceLocation<'_>, line: &Value) -> Result<Value, DataError> {
    let mut script = Script::read(place, line, "attempts")?;
    let mut turn = TurnInference::default();
    while turn.step() == TurnStep::Ask {
        turn.push(script.next());
    }
    let predicted = match turn.step() {
        TurnStep::Predicted(text) => Some(text),
        TurnStep::Ask | TurnStep::Lost => None,
    };
    let mut item = json!({ "error": turn.step().official_error(), "predict": predicted, "llm_calls": script.asked });
    if predicted.is_some() {
        item["system_suffix_added"] = json!(OFFICIAL_SUFFIX);
    }
    Ok(item)
}

/// Makes the entry of one line of `sim-loop`; `script` has the replies of user, assistant and function, `tools` are
/// the existing tools. A conversation that ends with an exception has no messages.
///
/// # Errors
/// If the script has an unexpected form.
pub(crate) fn conversation_item(
    place: &SourceLocation<'_>,
    line: &Value,
    tools: BTreeSet<String>,
) -> Result<Value, DataError> {
    let script = line.get("script").ok_or_else(|| place.error("script", "is missing; it must be an object"))?;
    let mut user = Script::read(place, script, "user")?;
    let mut agent = Script::read(place, script, "assistant")?;
    let mut environment = Script::read(place, script, "function")?;
    let plan = Plan { limits: Limits::Code, tools };
    let mut conversation = Conversation::new(&plan);
    loop {
        let (role, script) = match conversation.next() {
            Next::User(_) => (Role::User, &mut user),
            Next::Agent(_) => (Role::Agent, &mut agent),
            Next::Environment(_) => (Role::Environment, &mut environment),
            Next::Over(_) => break,
        };
        let exchange = Exchange { role, reply: script.next() };
        conversation.push(exchange).map_err(|error| place.problem(error))?;
    }
    let failure = conversation.ending().and_then(Ending::failure);
    let mut item = json!({
        "error": failure.and_then(Failure::official_error),
        "llm_calls": { "user": user.asked, "assistant": agent.asked, "function": environment.asked },
    });
    if failure.is_none() {
        let text = dialogue(conversation.messages());
        item["messages"] = write_messages(conversation.messages());
        item["gen_nodes_list"] = json!(nodes(&text));
        item["gen_intents_list"] = json!(intents(&text));
        item["gen_actions_string"] = json!(actions_string(&text));
        item["trace_keys"] = json!(trace_keys(&conversation));
        item["gen_dialog_str"] = json!(text);
    }
    Ok(item)
}

/// Returns the keys of `gen_dialog_trace`, with the records of every step of user and agent. Their numbers are one
/// and two more than the number of messages before the step.
fn trace_keys(conversation: &Conversation<'_>) -> Vec<String> {
    let user = |before: usize| {
        (format!("User.msg-{}", before + 1), ["prompt.system", "prompt.user", "response", "output"].as_slice())
    };
    let agent = |before: usize| {
        (format!("Assistant.msg-{}", before + 2), ["prompt.system", "prompt.functions", "msg"].as_slice())
    };
    let messages = conversation.messages();
    let step = |(before, message): (usize, &Message)| match message.speaker {
        Speaker::User => Some(user(before)),
        Speaker::Assistant => Some(agent(before)),
        Speaker::Function(_) => None,
    };
    let steps = messages.iter().enumerate().filter_map(step);
    // The user's final `[DONE]` is a step without a message.
    let last = (conversation.ending() == Some(&Ending::Finished)).then(|| user(messages.len()));
    steps.chain(last).flat_map(|(name, keys)| keys.iter().map(move |key| format!("{name}.{key}"))).collect()
}

/// Makes the `aggregate` of such cases: the number of items, under `name`, and the number of exceptions by kind.
pub(crate) fn error_counts<'v>(name: &str, items: impl IntoIterator<Item = &'v Value>) -> Value {
    let mut count = 0_usize;
    let mut errors = serde_json::Map::new();
    for item in items {
        count += 1;
        let error = item.get("error").and_then(Value::as_str).unwrap_or("None");
        let so_far = errors.get(error).and_then(Value::as_u64).unwrap_or_default();
        errors.insert(error.to_owned(), json!(so_far + 1));
    }
    let mut aggregate = serde_json::Map::new();
    aggregate.insert(name.to_owned(), json!(count));
    aggregate.insert("errors".to_owned(), Value::Object(errors));
    Value::Object(aggregate)
}
