//! Looks, before anything is paid for, for what sessions would find out one by one: encoders that cannot be loaded, programs of agents that
//! are not there, keys that are refused, models that are misspelt.
//!
//! None of it costs anything, so that a run has no calls outside of its sessions: an endpoint is asked for its list of models, and not for an
//! answer of one. Everything that is wrong is told at once.

mod endpoints;
mod finding;
mod models;

use std::collections::BTreeSet;

use regatta_catalog::Sweep;
use regatta_proto::{ExternalAgent, Setting, SweepLock, SweepState};
use regatta_worker::{Policy, check_agent};

use crate::embedded::Embedded;
use crate::signals::Leaving;
use finding::{Finding, conclude};

/// Way to begin in spite of what was found.
const NEVERTHELESS: &str = "correct it and run the same command again; with --no-preflight the run begins all the same";
/// Way on from a check.
const CORRECT_IT: &str = "correct it and check again";

/// Extent of a preflight.
#[derive(Debug, Clone, Copy)]
struct Scope {
    /// Endpoints are asked for their models.
    asks_endpoints: bool,
    /// A run is about to begin in this process, so that its policy is the one that counts. A spec that is checked may be for workers which
    /// know agents and encoders by name that this process does not.
    runs_here: bool,
}

/// Refuses to begin or to resume `sweep` with what cannot work. A sweep that is complete has nothing to begin, and one that was told to leave
/// begins nothing.
///
/// # Errors
/// With everything that was found, as bad configuration; or when the ledger cannot be read.
pub(crate) async fn before_sessions(run: &Embedded, sweep: &Sweep, leaving: &Leaving) -> anyhow::Result<()> {
    let row = run.ledger().sweep(&sweep.id).await?;
    if row.is_some_and(|row| row.state == SweepState::Complete) {
        return Ok(());
    }
    let looking = findings(&sweep.lock, &run.rights.policy, Scope { asks_endpoints: true, runs_here: true });
    match leaving.drain.run_until_cancelled(looking).await {
        Some(found) => conclude(&found, NEVERTHELESS),
        None => Ok(()),
    }
}

/// Refuses a planned spec that cannot work on this machine. Endpoints are only asked if `asks_endpoints`.
///
/// # Errors
/// With everything that was found, as bad configuration.
pub(crate) async fn of_spec(lock: &SweepLock, policy: &Policy, asks_endpoints: bool) -> anyhow::Result<()> {
    conclude(&findings(lock, policy, Scope { asks_endpoints, runs_here: false }).await, CORRECT_IT)
}

async fn findings(lock: &SweepLock, policy: &Policy, scope: Scope) -> Vec<Finding> {
    let mut found = endpoints::findings(lock, policy, scope).await;
    found.extend(of_agents(lock, policy, scope));
    found
}

/// Findings about agents that settings of the sweep name.
fn of_agents(lock: &SweepLock, policy: &Policy, scope: Scope) -> Vec<Finding> {
    let settings = lock.benchmarks.values().flat_map(|benchmark| &benchmark.settings);
    let used: BTreeSet<&str> = settings.filter_map(Setting::external).collect();
    let variables = crate::process::variables();
    let agents = lock.agents.iter().filter(|(name, _)| used.contains(name.as_str()));
    let known_here = agents.filter(|(_, agent)| scope.runs_here || agent.registered.is_none());
    let checked = known_here.filter_map(|(name, agent)| {
        let problem = check_agent(agent, policy, &variables).err()?;
        Some(Finding::error(format!("agents.{name}.{}", field(agent)), problem))
    });
    checked.collect()
}

/// Field that says by what an agent is started.
const fn field(agent: &ExternalAgent) -> &'static str {
    if agent.registered.is_some() {
        "registered"
    } else if agent.container.is_some() {
        "container"
    } else {
        "command"
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{CacheMode, Digest};
    use serde_json::{Value, json};

    use super::*;

    /// A lock of one benchmark whose setting starts the agent `mine`.
    fn lock(endpoints: Value, agents: Value) -> SweepLock {
        let benchmark = json!({
            "dataset": Digest::of(b"data").to_string(), "settings": ["external/mine"], "evaluators": ["official"],
            "judge": "minilm/all", "items": { "external/mine": 1 },
        });
        serde_json::from_value(json!({
            "v": 2, "regatta": "0", "name": "s", "seed": 1, "trials": 1, "benchmarks": { "b": benchmark },
            "endpoints": endpoints, "agents": agents, "models": [{ "id": "sim/oracle" }], "price_sources": [],
        }))
        .unwrap()
    }

    fn fields(found: &[Finding]) -> Vec<String> {
        found.iter().map(|finding| finding.to_string().split(": ").next().unwrap_or_default().to_owned()).collect()
    }

    const HERE: Scope = Scope { asks_endpoints: true, runs_here: true };
    const SPEC: Scope = Scope { asks_endpoints: false, runs_here: false };

    #[tokio::test]
    async fn everything_that_is_wrong_is_found_at_once_and_what_is_not_used_is_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let endpoints = json!({
            "sim": { "kind": "simulated" },
            "minilm": { "kind": "encoder", "path": folder.path() },
            "unused": { "kind": "encoder", "path": "/no/such" },
        });
        let agents = json!({ "mine": { "command": ["/no/such/agent"] }, "unused": { "command": ["/no/such/other"] } });
        for scope in [HERE, SPEC] {
            let found = findings(&lock(endpoints.clone(), agents.clone()), &Policy::trusting(), scope).await;
            assert_eq!(fields(&found), ["endpoints.minilm.path", "agents.mine.command"]);
            let refused = conclude(&found, CORRECT_IT).unwrap_err().to_string();
            assert!(refused.contains("there is no such program") && refused.ends_with(CORRECT_IT), "{refused}");
        }
    }

    #[tokio::test]
    async fn names_of_a_policy_file_count_only_where_the_run_begins() {
        let endpoints =
            json!({ "sim": { "kind": "simulated" }, "minilm": { "kind": "encoder", "registered": "minilm" } });
        let lock = lock(endpoints, json!({ "mine": { "registered": "tidy" } }));
        let found = findings(&lock, &Policy::trusting(), HERE).await;
        assert_eq!(fields(&found), ["endpoints.minilm.registered", "agents.mine.registered"]);
        assert!(findings(&lock, &Policy::trusting(), SPEC).await.is_empty());
    }

    #[tokio::test]
    async fn an_endpoint_that_is_down_is_a_warning_and_is_not_asked_by_a_check_or_a_replay() {
        // Nobody listens at a port that was free a moment ago.
        let address = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let endpoint = json!({ "kind": "openai", "base_url": format!("http://{address}/v1"), "api_key_env": "none" });
        let mut lock = lock(json!({ "sim": endpoint }), json!({}));
        let found = findings(&lock, &Policy::trusting(), HERE).await;
        assert_eq!(fields(&found), ["endpoints.sim.base_url"]);
        conclude(&found, NEVERTHELESS).unwrap();
        assert!(findings(&lock, &Policy::trusting(), SPEC).await.is_empty());
        lock.cache = CacheMode::Replay;
        assert!(findings(&lock, &Policy::trusting(), HERE).await.is_empty());
    }
}
