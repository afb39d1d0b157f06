//! Looks for what an external agent would be started by. Starts nothing.

use std::collections::BTreeMap;

use regatta_processes::check;
use regatta_proto::ExternalAgent;

use super::container;
use crate::policy::{ContainerEngine, Policy};

/// Checks that the program of `agent` is on this machine and executable, or the engine of its container in `PATH`; `variables` are those of
/// this process. Services at an address and pods are elsewhere, and not looked for.
///
/// # Errors
/// With the reason, for people: the program, its directory or the engine is not there, or the policy does not allow the agent.
pub fn check_agent(agent: &ExternalAgent, policy: &Policy, variables: &BTreeMap<String, String>) -> Result<(), String> {
    if agent.url.is_some() {
        return Ok(());
    }
    let program = policy.program(agent, rustix::process::geteuid().is_root())?;
    match &program.container {
        Some((_, ContainerEngine::Program(chosen))) => container::check_engine(chosen.as_deref(), variables),
        Some((_, ContainerEngine::Kubernetes(_))) => Ok(()),
        None => {
            let path = variables.get("PATH").map_or("", String::as_str);
            check(&program.command, program.directory.as_deref(), path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(agent: serde_json::Value, path: &str) -> Result<(), String> {
        let agent: ExternalAgent = serde_json::from_value(agent).unwrap();
        check_agent(&agent, &Policy::trusting(), &BTreeMap::from([("PATH".to_owned(), path.to_owned())]))
    }

    #[test]
    fn a_command_is_looked_for_in_the_path_of_the_process_and_in_its_directory() {
        assert_eq!(checked(serde_json::json!({ "command": ["sh", "-c", "exit"] }), "/no/such:/bin"), Ok(()));
        let missing = checked(serde_json::json!({ "command": ["sh"] }), "/no/such").unwrap_err();
        assert_eq!(missing, "failed to start sh: there is no such program in PATH");
        let nowhere = serde_json::json!({ "command": ["sh"], "directory": "/no/such" });
        let nowhere = checked(nowhere, "/bin").unwrap_err();
        assert!(nowhere.contains("in /no/such: there is no such directory"), "{nowhere}");
    }

    #[test]
    fn a_container_needs_its_engine_and_not_the_program_in_its_image() {
        let agent = serde_json::json!({ "command": ["in-the-image"], "container": "example.com/agent:3" });
        let missing = checked(agent.clone(), "/no/such").unwrap_err();
        assert!(missing.contains("podman or docker"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("podman"), "").unwrap();
        assert_eq!(checked(agent, folder.path().to_str().unwrap()), Ok(()));
    }

    #[test]
    fn a_service_is_not_looked_for_and_a_name_that_the_policy_does_not_have_is_told() {
        assert_eq!(checked(serde_json::json!({ "url": "http://127.0.0.1:9/run" }), ""), Ok(()));
        let unknown = checked(serde_json::json!({ "registered": "tidy" }), "/bin").unwrap_err();
        assert!(unknown.contains("has no agent tidy"), "{unknown}");
    }
}
