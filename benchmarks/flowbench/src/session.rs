//! Next step of an item's session: the role to ask, and the request; or the agent that does it.

use std::borrow::Cow;
use std::sync::Arc;

use regatta_benchmarks::{Step, delegated};
use regatta_proto::{AgentName, ChatMessage, ChatRequest, ChatRole, Role, Sampling, Transcript};

use super::by_agent::{definitions, written};
use super::data::{Entry, Function, Line, Script, Speaker};
use super::prompts::{OfficialSimulators, environment_system, environment_text, thought_first, user_system, user_text};
use super::protocol::{
    self, Conversation, EnvironmentInput, Exchange, Limits, Next, Plan, TurnInference, TurnStep, Unexpected,
};
use super::setting::{Format, Level, Mode, Scope, Stop};

/// Sampling of the agent (docs/benchmarks/flowbench.md §3.3). Simulators and judges use their provider's defaults.
const AGENT: Sampling = Sampling { temperature: Some(0.0), top_p: None, max_tokens: None, seed: None };
const SIMULATOR: Sampling = Sampling { temperature: None, top_p: None, max_tokens: None, seed: None };

/// Returns the next step in the session of `entry`. Simulators get the `official` prompts where these are known.
pub(crate) fn next(entry: &Entry, official: Option<&OfficialSimulators>, mode: Mode, transcript: &Transcript) -> Step {
    match mode.level {
        Level::Turn => next_of_turn(entry, mode.format, transcript),
        Level::Session => next_of_session(entry, official, mode, transcript),
    }
}

fn next_of_turn(entry: &Entry, format: Format, transcript: &Transcript) -> Step {
    let turn = match inference(transcript) {
        Ok(turn) => turn,
        Err(unexpected) => return Step::Unfit(unexpected.to_string()),
    };
    match turn.step() {
        TurnStep::Ask => match turn_request(entry, format) {
            Some(request) => Step::Ask(Role::Agent, request),
            None => without_knowledge(format),
        },
        TurnStep::Predicted(_) | TurnStep::Lost => Step::Done,
    }
}

/// Returns the next step in the session of `entry`, an item of `task`, that `agent` does: it answers a turn, or takes the agent's turns in a
/// conversation, whose other roles are asked as ever.
pub(crate) fn next_by_agent(
    (entry, task): (&Entry, &str),
    official: Option<&OfficialSimulators>,
    mode: Mode,
    agent: &AgentName,
    transcript: &Transcript,
) -> Step {
    match mode.level {
        Level::Turn => delegated_turn(entry, task, mode.format, agent, transcript),
        Level::Session => match next_of_session(entry, official, mode, transcript) {
            Step::Ask(Role::Agent, request) => {
                let request = ChatRequest { tools: definitions(entry, mode.format), ..request };
                delegated::turn(agent, &entry.id, task, Step::Ask(Role::Agent, request))
            }
            step => step,
        },
    }
}

/// Returns the step of a turn, an item of `task`, that `agent` does.
fn delegated_turn(entry: &Entry, task: &str, format: Format, agent: &AgentName, transcript: &Transcript) -> Step {
    match turn_request(entry, format) {
        Some(request) => delegated::step(agent, &entry.id, task, &request, transcript),
        None => without_knowledge(format),
    }
}

/// Returns the request of a turn; `None` if the item has no knowledge in this format.
fn turn_request(entry: &Entry, format: Format) -> Option<ChatRequest> {
    let system = ChatMessage::new(ChatRole::System, thought_first(&entry.system(format)?));
    let history = entry.history(format);
    Some(ChatRequest::new(std::iter::once(system).chain(history.iter().map(of_history)).collect(), AGENT))
}

fn without_knowledge(format: Format) -> Step {
    Step::Unfit(format!("the item has no knowledge in the format {format:?}"))
}

/// Replays a turn from its transcript. An external agent answers once: where the released code would ask again, it is taken to say the same.
///
/// # Errors
/// If the transcript does not fit the course of a turn.
pub(crate) fn inference(transcript: &Transcript) -> Result<TurnInference, Unexpected> {
    if !delegated::was_started(transcript) {
        return TurnInference::replay(Exchange::of_transcript(transcript));
    }
    let mut turn = TurnInference::default();
    if delegated::has_ended(transcript) {
        let answer = delegated::answer(transcript);
        while turn.step() == TurnStep::Ask {
            turn.push(answer.as_deref());
        }
    }
    Ok(turn)
}

/// Returns the parameters of a session's conversation, besides the replies.
pub(crate) fn plan(entry: &Entry, script: &Script, stop: Stop) -> Plan {
    let limits = match (stop, entry.group.scope) {
        (Stop::Code, _) => Limits::Code,
        (Stop::Paper, Scope::Single) => Limits::Paper { agent_turns_max: Limits::SINGLE_TURNS_MAX },
        (Stop::Paper, Scope::Cross) => Limits::Paper { agent_turns_max: Limits::CROSS_TURNS_MAX },
    };
    let tools = script.functions.iter().map(|function| function.name.to_string()).collect();
    Plan { limits, tools }
}

/// Replays a conversation from its transcript. An external agent answers once: where the released code would ask again, it is taken to say
/// the same.
///
/// # Errors
/// If the transcript does not fit the course of a conversation.
pub(crate) fn conversation<'p>(plan: &'p Plan, transcript: &Transcript) -> Result<Conversation<'p>, Unexpected> {
    let mut conversation = Conversation::new(plan);
    for turn in delegated::turns(transcript) {
        let is_of_agent = turn.is_of_agent();
        let said = if is_of_agent { written(&turn.reply) } else { turn.reply.text.as_deref().map(Cow::Borrowed) };
        let exchange = Exchange { role: turn.role, reply: said.as_deref() };
        let before = conversation.messages().len();
        conversation.push(exchange)?;
        while is_of_agent && conversation.messages().len() == before && matches!(conversation.next(), Next::Agent(_)) {
            conversation.push(exchange)?;
        }
    }
    Ok(conversation)
}

fn next_of_session(entry: &Entry, official: Option<&OfficialSimulators>, mode: Mode, transcript: &Transcript) -> Step {
    let Some(script) = entry.script() else { return Step::Unfit("a turn has no conversation".to_owned()) };
    let plan = plan(entry, &script, mode.stop);
    let conversation = match conversation(&plan, transcript) {
        Ok(conversation) => conversation,
        Err(unexpected) => return Step::Unfit(unexpected.to_string()),
    };
    match conversation.next() {
        Next::Agent(messages) => match entry.system(mode.format) {
            Some(system) => Step::Ask(Role::Agent, agent_request(system, messages)),
            None => without_knowledge(mode.format),
        },
        Next::User(input) => {
            let (first, every, datetime) = (&script.first_turn_hint, &script.every_turn_hint, &script.datetime);
            let (system, text) = match official {
                Some(official) => (official.user_system(first, datetime), official.user_text(every, &input.history)),
                None => (user_system(first, datetime), user_text(every, &input.history)),
            };
            Step::Ask(Role::User, simulator_request(system, text))
        }
        Next::Environment(input) => match environment_request(&script, official, &input) {
            Some(request) => Step::Ask(Role::Environment, request),
            None => Step::Unfit(format!("the conversation has no tool {:?}", input.call.name)),
        },
        Next::Over(_) => Step::Done,
    }
}

fn agent_request(system: Arc<str>, messages: &[protocol::Message]) -> ChatRequest {
    let said = messages.iter().map(|message| match &message.speaker {
        protocol::Speaker::User => ChatMessage::new(ChatRole::User, message.text()),
        protocol::Speaker::Assistant => ChatMessage::new(ChatRole::Assistant, message.text()),
        protocol::Speaker::Function(name) => tool_result(name, message.text()),
    });
    let messages = std::iter::once(ChatMessage::new(ChatRole::System, system)).chain(said).collect();
    ChatRequest::new(messages, AGENT)
}

fn environment_request(
    script: &Script,
    official: Option<&OfficialSimulators>,
    input: &EnvironmentInput<'_>,
) -> Option<ChatRequest> {
    let called = |function: &&Function| *function.name == *input.call.name;
    let function = script.functions.iter().find(called)?;
    let (calls, datetime, history) = (&script.function_prompt, &script.datetime, &input.history);
    let arguments = input.call.arguments.as_deref();
    let (system, text) = match official {
        Some(official) => {
            let text = official.environment_text(function, datetime, history, arguments);
            (official.environment_system(calls), text)
        }
        None => (environment_system(calls), environment_text(function, datetime, history, arguments)),
    };
    Some(simulator_request(system, text))
}

fn simulator_request(system: String, text: String) -> ChatRequest {
    let messages = vec![ChatMessage::new(ChatRole::System, system), ChatMessage::new(ChatRole::User, text)];
    ChatRequest::new(messages, SIMULATOR)
}

fn of_history(line: &Line) -> ChatMessage {
    match line.speaker {
        Speaker::User => ChatMessage::new(ChatRole::User, line.content.clone()),
        Speaker::Assistant => ChatMessage::new(ChatRole::Assistant, line.content.clone()),
        Speaker::Function => tool_result(line.name.as_deref().unwrap_or_default(), &line.content),
    }
}

/// Wraps a tool's result for the agent. The agent writes its calls as text, and providers refuse the result of a tool
/// that they saw no call of, so the result is sent as a labelled message of the user.
fn tool_result(name: &str, result: &str) -> ChatMessage {
    ChatMessage::new(ChatRole::User, format!("Result of {name}:\n{result}"))
}
