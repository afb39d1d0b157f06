//! Steps of a session.

use regatta_benchmarks::delegated::has_ended;
use regatta_benchmarks::{DelegatedTask, Step};
use regatta_proto::{Reply, Role, Transcript};
use serde_json::{Map, Value, json};

use super::data::Utterance;
use super::policies::{Asking, Query, Replies, play};
use super::policy::Policy;
use super::run::Run;
use super::servers;
use super::setting::{Mode, Route};

/// State of a session of a policy.
pub(crate) enum Progress {
    /// The session is over.
    Over(Run),
    /// The next request.
    Asks(Asking),
    /// The transcript has replies that were not asked for. Holds the reason.
    Unfit(String),
}

/// Plays what `transcript` says of a session of `policy`.
pub(crate) fn progress(policy: Policy, mode: &Mode, utterance: &Utterance, transcript: &Transcript) -> Progress {
    let replies: Vec<&Reply> = transcript.replies(Role::Agent).collect();
    let mut left = Replies::new(&replies);
    let query = Query { iid: &utterance.iid, text: &utterance.text, today: mode.today };
    match play(policy, &query, &mut left) {
        Err(asking) => Progress::Asks(asking),
        Ok(run) if left.left() == 0 => Progress::Over(run),
        Ok(_) => Progress::Unfit(format!("{} replies came after the end of the session", left.left())),
    }
}

/// Next step of the session of `utterance`. `item` is its name for external agents.
pub(crate) fn next(mode: &Mode, item: &str, utterance: &Utterance, transcript: &Transcript) -> Step {
    match &mode.route {
        Route::Native(policy) => match progress(*policy, mode, utterance, transcript) {
            Progress::Over(_) => Step::Done,
            Progress::Asks(Asking(request)) => Step::Ask(Role::Agent, *request),
            Progress::Unfit(why) => Step::Unfit(why),
        },
        Route::External(_) if has_ended(transcript) => Step::Done,
        Route::External(agent) => Step::Delegate(DelegatedTask {
            agent: agent.clone(),
            // docs/benchmarks/autoslurp.md §3.7.
            input: json!({
                "item": item,
                "iid": utterance.iid,
                "query": utterance.text,
                "today": mode.today.to_string(),
                "time": "10:00",
                "location": "new york",
                "servers": addresses(),
            }),
        }),
    }
}

/// Addresses of the simulated servers for an external agent, by name. Requests to them go through the tools of its session.
fn addresses() -> Map<String, Value> {
    let address = |server: &servers::Server| json!(format!("http://127.0.0.1:{}{}", server.port, server.path));
    servers::SERVERS.iter().map(|server| (server.name.to_owned(), address(server))).collect()
}
