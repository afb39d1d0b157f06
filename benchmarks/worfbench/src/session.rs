//! The one call of a session (docs/benchmarks/worfbench.md §3).

use regatta_benchmarks::Step;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Role, Sampling, Transcript};

use super::data::{Data, Record};
use super::setting::Shots;

/// The published generation parameters.
const SAMPLING: Sampling = Sampling { temperature: Some(0.5), top_p: Some(1.0), max_tokens: Some(1024), seed: None };

/// Asks once; the session is over when there is an answer.
pub(crate) fn next(data: &Data, record: &Record, shots: Shots, transcript: &Transcript) -> Step {
    if transcript.replies(Role::Agent).next().is_some() {
        return Step::Done;
    }
    Step::Ask(Role::Agent, request(data, record, shots))
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
