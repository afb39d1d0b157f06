//! State of a pod, read from what the API server tells of it.

use serde_json::Value;

use super::manifest::{AGENT, INSTALLER};

/// Reasons why a container will not start by itself.
const STUCK: [&str; 8] = [
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];
/// Reasons of a container that has ended before its program began.
const NOT_BEGUN: [&str; 2] = ["StartError", "ContainerCannotRun"];
/// Reason of one of which nobody knows how it ended.
const UNKNOWN: &str = "ContainerStatusUnknown";
/// Reason of a container that used more memory than its limit.
const OUT_OF_MEMORY: &str = "OOMKilled";
/// Reasons of a pod that ended somebody's wish, of a cluster or of a node, and not the agent's.
const TAKEN: [&str; 8] = [
    "Evicted",
    "DeadlineExceeded",
    "Preempting",
    "NodeShutdown",
    "Shutdown",
    "Terminated",
    "NodeLost",
    "TerminationByKubelet",
];

/// A pod, as far as its agent is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// The agent has not begun yet; what is waited for, as far as that is told.
    Waiting(String),
    /// The agent will not begin.
    Stuck(String),
    Running,
    /// The agent's program has ended.
    Ended(Exit),
    /// Others have ended it.
    Taken(String),
}

/// End of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: i32,
    pub(super) is_out_of_memory: bool,
    /// The end of its standard error.
    pub(super) errors: String,
}

/// The state of `pod`.
pub(super) fn state(pod: &Value) -> State {
    let status = &pod["status"];
    let agent = container(&status["containerStatuses"], AGENT);
    let installer = container(&status["initContainerStatuses"], INSTALLER);
    let has_failed = text(status, "phase") == "Failed";
    if has_failed && TAKEN.contains(&text(status, "reason")) {
        return State::Taken(described(status));
    }
    let ended = &agent["terminated"];
    if ended.is_object() {
        return match text(ended, "reason") {
            reason if NOT_BEGUN.contains(&reason) => State::Stuck(described(ended)),
            UNKNOWN => State::Taken(described(ended)),
            reason => State::Ended(Exit {
                code: code(ended),
                is_out_of_memory: reason == OUT_OF_MEMORY,
                errors: text(ended, "message").to_owned(),
            }),
        };
    }
    let installed = &installer["terminated"];
    if installed.is_object() && code(installed) != 0 {
        let (code, why) = (code(installed), described(installed));
        return State::Stuck(format!("its first container, of `program_image`, ended with code {code}: {why}"));
    }
    if has_failed {
        return State::Stuck(described(status));
    }
    if agent["running"].is_object() {
        return State::Running;
    }
    let waits = [&agent["waiting"], &installer["waiting"]];
    if let Some(stuck) = waits.iter().find(|wait| STUCK.contains(&text(wait, "reason"))) {
        return State::Stuck(described(stuck));
    }
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let is_unscheduled = |one: &&Value| text(one, "type") == "PodScheduled" && text(one, "status") == "False";
    match conditions.iter().find(is_unscheduled) {
        Some(condition) => State::Waiting(described(condition)),
        None => {
            State::Waiting(waits.iter().find(|wait| wait.is_object()).map_or_else(String::new, |wait| described(wait)))
        }
    }
}

/// The state of the container `name`.
fn container<'p>(statuses: &'p Value, name: &str) -> &'p Value {
    let found = statuses.as_array().and_then(|all| all.iter().find(|one| text(one, "name") == name));
    found.map_or(&Value::Null, |one| &one["state"])
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// An exit code is always there; one that is not says nothing good.
fn code(ended: &Value) -> i32 {
    ended["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-1)
}

/// Reason and message.
fn described(value: &Value) -> String {
    match (text(value, "reason"), text(value, "message")) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {}", message.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(status: Value) -> State {
        state(&json!({"status": status}))
    }

    fn agent(state: Value) -> State {
        of(json!({"phase": "Running", "containerStatuses": [{"name": AGENT, "state": state}]}))
    }

    fn ended(code: i32, is_out_of_memory: bool, errors: &str) -> State {
        State::Ended(Exit { code, is_out_of_memory, errors: errors.to_owned() })
    }

    #[test]
    fn a_program_that_has_ended_says_how() {
        assert_eq!(agent(json!({"terminated": {"exitCode": 0, "reason": "Completed"}})), ended(0, false, ""));
        let failed = json!({"terminated": {"exitCode": 3, "reason": "Error", "message": "no module x\n"}});
        assert_eq!(agent(failed), ended(3, false, "no module x\n"));
        assert_eq!(agent(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})), ended(137, true, ""));
    }

    #[test]
    fn what_has_not_begun_is_waited_for_with_the_reason_that_is_told() {
        assert_eq!(of(json!({"phase": "Pending"})), State::Waiting(String::new()));
        let message = "0/3 nodes are available: 3 Insufficient memory.";
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
        let unscheduled = of(json!({"phase": "Pending", "conditions": [condition]}));
        assert_eq!(unscheduled, State::Waiting(format!("Unschedulable: {message}")));
        assert_eq!(
            agent(json!({"waiting": {"reason": "PodInitializing"}})),
            State::Waiting("PodInitializing".to_owned())
        );
        let slow = json!({"waiting": {"reason": "ErrImagePull", "message": "i/o timeout"}});
        assert_eq!(agent(slow), State::Waiting("ErrImagePull: i/o timeout".to_owned()), "it is tried again");
        assert_eq!(agent(json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})), State::Running);
    }

    #[test]
    fn what_will_not_begin_is_not_waited_for() {
        let pull = json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x\""}});
        assert_eq!(agent(pull.clone()), State::Stuck("ImagePullBackOff: Back-off pulling image \"x\"".to_owned()));
        let installer = |state: Value| {
            let statuses = json!([{"name": INSTALLER, "state": state}]);
            of(json!({"phase": "Pending", "initContainerStatuses": statuses}))
        };
        assert!(matches!(installer(pull), State::Stuck(_)));
        let State::Stuck(why) = installer(json!({"terminated": {"exitCode": 126, "reason": "Error"}})) else {
            panic!()
        };
        assert_eq!(why, "its first container, of `program_image`, ended with code 126: Error");
        let start = json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file"}});
        assert_eq!(agent(start), State::Stuck("StartError: no such file".to_owned()));
        let rejected = of(json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough"}));
        assert_eq!(rejected, State::Stuck("OutOfcpu: Node didn't have enough".to_owned()));
    }

    #[test]
    fn what_others_have_ended_is_nobodys_failure() {
        let killed = json!([{"name": AGENT, "state": {"terminated": {"exitCode": 137, "reason": "Error"}}}]);
        for reason in ["Evicted", "DeadlineExceeded", "Preempting", "NodeShutdown"] {
            let pod = json!({"phase": "Failed", "reason": reason, "message": "why", "containerStatuses": killed});
            assert_eq!(of(pod), State::Taken(format!("{reason}: why")));
        }
        let lost = json!({"terminated": {"exitCode": 137, "reason": UNKNOWN}});
        assert_eq!(agent(lost), State::Taken(UNKNOWN.to_owned()));
    }
}
