//! Next request in the session of an item: perhaps which apps are needed, then the plan (docs/benchmarks/appbench.md §3.1, §3.2); or the
//! next step with tools; or the agent that makes the plan.

use regatta_benchmarks::{Step, delegated};
use regatta_proto::{AgentName, ChatMessage, ChatRequest, ChatRole, Role, Sampling, Transcript};

use super::data::{Data, Entry, Template};
use super::official::app_selection::{ATTEMPTS_MAX, Selection};
use super::setting::{Mode, Route};
use super::stepwise::{Toolbox, Walk};
use super::{demonstrations, prompts};

/// As the released code samples; its `top_p` of 0, which several providers refuse, changes nothing at temperature 0.
const SAMPLING: Sampling = Sampling { temperature: Some(0.0), top_p: None, max_tokens: Some(1024), seed: None };

/// Next step of the session of `entry`.
pub(crate) fn next(data: &Data, toolbox: &Toolbox, entry: &Entry, mode: Mode, transcript: &Transcript) -> Step {
    match mode.route {
        Route::Tools => next_with_tools(data, toolbox, entry, transcript),
        Route::Flat if texts(transcript).next().is_none() => {
            Step::Ask(Role::Agent, plan_request(data, entry, mode, None))
        }
        Route::Flat => Step::Done,
        Route::Hierarchical => {
            let selection = Selection::of(&data.phone, texts(transcript));
            if selection.is_dropped() {
                return if selection.attempts < ATTEMPTS_MAX { selection_request(data, entry) } else { Step::Done };
            }
            match texts(transcript).nth(selection.attempts) {
                None => Step::Ask(Role::Agent, plan_request(data, entry, mode, Some(&selection.apps))),
                Some(_) => Step::Done,
            }
        }
    }
}

/// Step of a session that `agent` does: it makes a plan from the APIs of all apps, or calls them.
pub(crate) fn next_by_agent(
    (data, toolbox): (&Data, &Toolbox),
    entry: &Entry,
    mode: Mode,
    agent: &AgentName,
    transcript: &Transcript,
) -> Step {
    match mode.route {
        Route::Flat | Route::Hierarchical => {
            let request = plan_request(data, entry, mode, None);
            delegated::step(agent, &entry.id, entry.split.as_str(), &request, transcript)
        }
        Route::Tools => {
            let step = next_with_tools(data, toolbox, entry, transcript);
            delegated::turn(agent, &entry.id, entry.split.as_str(), step)
        }
    }
}

/// Texts of the model's replies, in order; empty for a reply without text.
pub(crate) fn texts(transcript: &Transcript) -> impl Iterator<Item = &str> {
    transcript.replies(Role::Agent).map(|reply| reply.text.as_deref().unwrap_or_default())
}

fn selection_request(data: &Data, entry: &Entry) -> Step {
    Step::Ask(Role::Agent, request(prompts::selection(&data.phone.flat_apps_desc), Vec::new(), entry))
}

/// Asks for a plan from the APIs of the apps that are `shown`, of all where nothing was chosen; in phone order, since the released code's
/// order is that of a set.
fn plan_request(data: &Data, entry: &Entry, mode: Mode, shown: Option<&[&str]>) -> ChatRequest {
    let is_shown = |name: &str| shown.is_none_or(|shown| shown.contains(&name));
    let blocks: String = data.phone.apps().iter().filter(|app| is_shown(&app.name)).map(|app| &*app.block).collect();
    let official = data.templates.get(&Template::Plan).map(|template| &**template);
    let examples = demonstrations::messages(data, entry, mode.shots);
    request(prompts::planning(official, &blocks), examples, entry)
}

fn request(system: String, examples: Vec<ChatMessage>, entry: &Entry) -> ChatRequest {
    let mut messages = vec![ChatMessage::new(ChatRole::System, system)];
    messages.extend(examples);
    messages.push(ChatMessage::new(ChatRole::User, entry.input.clone()));
    ChatRequest::new(messages, SAMPLING)
}

fn next_with_tools(data: &Data, toolbox: &Toolbox, entry: &Entry, transcript: &Transcript) -> Step {
    let walk = Walk::of(data, toolbox, entry, &delegated::turns(transcript));
    if walk.is_over {
        return Step::Done;
    }
    let mut request = request(prompts::stepwise().to_owned(), Vec::new(), entry);
    request.messages.extend(walk.messages);
    request.tools.clone_from(&toolbox.tools);
    Step::Ask(Role::Agent, request)
}

/// True if `request` asks for apps rather than a plan.
pub(crate) fn is_selection(data: &Data, request: &ChatRequest) -> bool {
    let selection = prompts::selection(&data.phone.flat_apps_desc);
    request.messages.first().is_some_and(|first| first.role == ChatRole::System && *first.content == *selection)
}
