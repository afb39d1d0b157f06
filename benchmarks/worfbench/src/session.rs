//! The one call of a session, or the agent that does it (docs/benchmarks/worfbench.md §3).

use regatta_benchmarks::{Step, delegated};
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Role, Sampling, Transcript};

use super::data::{Data, Record};
use super::setting::{SessionMode, Shots};

/// The published generation parameters.
const SAMPLING: Sampling = Sampling { temperature: Some(0.5), top_p: Some(1.0), max_tokens: Some(1024), seed: None };

/// Asks once, or has an agent answer; the session is over when there is an answer.
pub(crate) fn next(data: &Data, record: &Record, mode: &SessionMode, transcript: &Transcript) -> Step {
    if let Some(agent) = &mode.agent {
        let request = request(data, record, mode.mode);
        return delegated::step(agent, &record.id, record.task.name(), &request, transcript);
    }
    if transcript.replies(Role::Agent).next().is_some() {
        return Step::Done;
    }
    Step::Ask(Role::Agent, request(data, record, mode.mode))
}

fn request(data: &Data, record: &Record, shots: Shots) -> ChatRequest {
    let system = ChatMessage::new(ChatRole::System, record.system.clone());
    let user = ChatMessage::new(ChatRole::User, record.prompt.clone());
    // The held-out tasks have no examples and run without, also in the two-shot setting.
    let examples = match shots {
        Shots::Zero => None,
        Shots::Two => data.shots.get(&record.task),
    };
    let messages = std::iter::once(system).chain(examples.into_iter().flatten().cloned()).chain([user]).collect();
    ChatRequest::new(messages, SAMPLING)
}
