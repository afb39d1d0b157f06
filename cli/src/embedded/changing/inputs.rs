//! Compares two locks of one directory: by what sessions are asked, cell by cell, and by all that people wrote.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use regatta_proto::{
    BenchmarkName, Cell, CellIndex, EndpointSpec, ExternalAgent, ModelRef, ModelSpec, Setting, SweepLock, Trial,
};
use serde_json::{Map, Value, json};

use crate::paired_runs::{Change, Changes};

/// Cells that two locks have in common.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Common {
    /// Cells whose sessions are asked the same, by their positions in the old grid, with those in the new one.
    pub(super) same: BTreeMap<CellIndex, CellIndex>,
    /// Other cells, by their positions in the old grid, with the inputs of their sessions that differ.
    pub(super) differing: BTreeMap<CellIndex, Vec<String>>,
}

/// Compares the cells that both locks have.
pub(super) fn common(old: &SweepLock, new: &SweepLock) -> anyhow::Result<Common> {
    let there: BTreeMap<(BenchmarkName, Setting, ModelRef, Trial), Cell> =
        new.cells().into_iter().map(|cell| (point(&cell), cell)).collect();
    let mut common = Common::default();
    for cell in old.cells() {
        let Some(counterpart) = there.get(&point(&cell)) else { continue };
        let differences = differences(&inputs(old, &cell)?, &inputs(new, counterpart)?)?;
        if differences.is_empty() {
            common.same.insert(cell.index, counterpart.index);
        } else {
            common.differing.insert(cell.index, differences);
        }
    }
    Ok(common)
}

fn point(cell: &Cell) -> (BenchmarkName, Setting, ModelRef, Trial) {
    (cell.benchmark.clone(), cell.setting.clone(), cell.model.clone(), cell.trial)
}

/// Differences between all that two specs say, one a line.
pub(super) fn told(old: &SweepLock, new: &SweepLock) -> anyhow::Result<Vec<String>> {
    differences(&fields(old)?, &fields(new)?)
}

fn differences(old: &Map<String, Value>, new: &Map<String, Value>) -> anyhow::Result<Vec<String>> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut lines = Vec::new();
    for name in names {
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => {
                let mut changes = Changes::default();
                changes.add(name, old, new)?;
                let line = |Change { what, a, b }: Change| format!("{what}: {a} → {b}");
                lines.extend(changes.0.into_iter().map(line));
            }
            (None, Some(_)) => lines.push(format!("{name} is new")),
            (Some(_), None) => lines.push(format!("{name} is not in the spec any more")),
            (None, None) => {}
        }
    }
    Ok(lines)
}

/// Everything that the sessions of `cell` depend on, but for their items.
fn inputs(lock: &SweepLock, cell: &Cell) -> anyhow::Result<Map<String, Value>> {
    let benchmark = lock.benchmarks.get(&cell.benchmark).context("a cell is of a benchmark that its lock lacks")?;
    let model = lock.model(&cell.model).context("a cell is of a model that its lock lacks")?;
    let mut all = Map::new();
    let mut add = |name: String, value: Value| all.insert(name, value);
    // Prompts are of a version.
    add("Regatta".to_owned(), json!(lock.regatta));
    add("version of the lock".to_owned(), json!(lock.v));
    add("seed".to_owned(), json!(lock.seed));
    add("filtered".to_owned(), json!(lock.filtered));
    let name = &cell.benchmark;
    add(format!("benchmarks.{name}.data"), json!(benchmark.dataset));
    add(format!("models.{}", model.id), decoding(model)?);
    let mut endpoints = BTreeSet::from([&model.id.endpoint]);
    for (role, player) in benchmark.roles.iter() {
        add(format!("benchmarks.{name}.roles.{role}"), decoding(player)?);
        endpoints.insert(&player.id.endpoint);
    }
    if let Some((cast, members)) = cell.setting.cast().and_then(|cast| Some((cast, benchmark.casts.get(cast)?))) {
        for (member, player) in members {
            add(format!("benchmarks.{name}.casts.{cast}.{member}"), decoding(player)?);
            endpoints.insert(&player.id.endpoint);
        }
    }
    for name in endpoints {
        if let Some(endpoint) = lock.endpoints.get(name) {
            add(format!("endpoints.{name}"), requests(endpoint));
        }
    }
    if let Some(external) = cell.setting.external() {
        let agent = lock.agents.iter().find(|(name, _)| name.as_str() == external);
        add(format!("agents.{external}"), agent.map_or(Value::Null, |(_, agent)| program(agent)));
    }
    Ok(all)
}

/// Parameters of a model that its answers depend on.
fn decoding(model: &ModelSpec) -> anyhow::Result<Value> {
    let asked = ModelSpec { price: None, budget_usd: None, family: None, ..model.clone() };
    Ok(serde_json::to_value(asked)?)
}

/// The part of an endpoint that changes what is asked there. It is the same model at another address, with another key or other limits.
fn requests(endpoint: &EndpointSpec) -> Value {
    let EndpointSpec {
        kind,
        base_url: _,
        api_key_env: _,
        api_version,
        region: _,
        headers,
        headers_env: _,
        body,
        stream: _,
        lane: _,
        batch: _,
        path: _,
        registered,
        content,
        identify_sessions: _,
        send_seed,
        simulation,
        limits: _,
        model_limits: _,
        timeouts: _,
        retries: _,
    } = endpoint;
    json!({
        "kind": kind,
        "api_version": api_version,
        "headers": headers,
        "body": body,
        "registered": registered,
        "content": content,
        "send_seed": send_seed,
        // Latency, faults and limits change no answer.
        "simulation.seed": simulation.as_ref().map(|simulation| simulation.seed),
    })
}

/// The part of an agent that decides what it does, and for how long it may.
fn program(agent: &ExternalAgent) -> Value {
    let ExternalAgent {
        command,
        container,
        network: _,
        registered,
        url: _,
        directory: _,
        pass_env: _,
        env,
        startup_s: _,
        deadline_s,
        output_bytes_max,
        calls_max,
        starts_max: _,
        sessions_max,
        concurrency: _,
    } = agent;
    json!({
        "command": command,
        "container": container,
        "registered": registered,
        "env": env,
        "deadline_s": deadline_s,
        "output_bytes_max": output_bytes_max,
        "calls_max": calls_max,
        "sessions_max": sessions_max,
    })
}

/// Everything that a spec says, by the names that its parts have there.
fn fields(lock: &SweepLock) -> anyhow::Result<Map<String, Value>> {
    let mut all = Map::new();
    for (name, value) in [
        ("Regatta", json!(lock.regatta)),
        ("name", json!(lock.name)),
        ("seed", json!(lock.seed)),
        ("trials", json!(lock.trials)),
        ("coverage_min", json!(lock.coverage_min)),
        ("level", json!(lock.level)),
        ("budget_usd", json!(lock.budget_usd)),
        ("share", json!(lock.share)),
        ("cache", json!(lock.cache)),
        ("filtered", json!(lock.filtered)),
    ] {
        all.insert(name.to_owned(), value);
    }
    for (name, benchmark) in &lock.benchmarks {
        let mut value = serde_json::to_value(benchmark)?;
        // Counted for people, and told by what it is counted of.
        if let Some(fields) = value.as_object_mut() {
            fields.remove("items");
        }
        all.insert(format!("benchmarks.{name}"), value);
    }
    for (name, endpoint) in &lock.endpoints {
        all.insert(format!("endpoints.{name}"), serde_json::to_value(endpoint)?);
    }
    for (name, agent) in &lock.agents {
        all.insert(format!("agents.{name}"), serde_json::to_value(agent)?);
    }
    for model in &lock.models {
        all.insert(format!("models.{}", model.id), serde_json::to_value(model)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(change: impl FnOnce(&mut Value)) -> SweepLock {
        let digest = regatta_proto::Digest::of(b"data").to_string();
        let mut lock = json!({
            "v": 2, "regatta": "0", "name": "s", "seed": 1, "trials": 1,
            "benchmarks": { "b": { "dataset": digest, "settings": ["one"], "evaluators": ["official"], "items": { "one": 1 } } },
            "endpoints": { "e": { "kind": "openai", "base_url": "http://a/v1" } },
            "models": [{ "id": "e/m", "temperature": 0.5, "price": { "input_per_mtok": 1, "output_per_mtok": 2 } }],
            "price_sources": [],
        });
        change(&mut lock);
        serde_json::from_value(lock).unwrap()
    }

    #[test]
    fn an_address_limits_prices_and_a_budget_leave_sessions_what_they_are() {
        let old = lock(|_| ());
        let new = lock(|lock| {
            lock["endpoints"]["e"]["base_url"] = json!("http://b/v1");
            lock["endpoints"]["e"]["api_key_env"] = json!("OTHER_KEY");
            lock["models"][0]["price"]["input_per_mtok"] = json!(3);
            lock["budget_usd"] = json!(5.0);
            lock["benchmarks"]["b"]["limit"] = json!(7);
        });
        let found = common(&old, &new).unwrap();
        assert_eq!((found.same.len(), found.differing.len()), (1, 0), "{found:?}");
        let told = told(&old, &new).unwrap().join("\n");
        for part in ["base_url: http://a/v1 → http://b/v1", "budget_usd: none → 5.0", "limit: none → 7", "price"]
        {
            assert!(told.contains(part), "{part} is missing in {told}");
        }
    }

    #[test]
    fn decoding_seed_and_data_make_other_sessions_and_are_named() {
        let other = regatta_proto::Digest::of(b"other").to_string();
        /// The name that a change of a lock is told by, and the change.
        type Change<'a> = (&'a str, &'a dyn Fn(&mut Value));
        let changes: [Change<'_>; 4] = [
            ("temperature: 0.5 → 0.7", &|lock| lock["models"][0]["temperature"] = json!(0.7)),
            ("seed: 1 → 2", &|lock| lock["seed"] = json!(2)),
            ("benchmarks.b.data", &|lock| lock["benchmarks"]["b"]["dataset"] = json!(other)),
            ("endpoints.e, body, top_k: none → 3", &|lock| lock["endpoints"]["e"]["body"] = json!({ "top_k": 3 })),
        ];
        for (name, change) in changes {
            let found = common(&lock(|_| ()), &lock(change)).unwrap();
            assert!(found.same.is_empty(), "{name}");
            let named: Vec<&String> = found.differing.values().flatten().collect();
            assert!(named.len() == 1 && named[0].contains(name), "{name} is missing in {named:?}");
        }
    }

    #[test]
    fn a_further_model_or_trial_leaves_the_cells_that_were_there() {
        let new = lock(|lock| {
            lock["trials"] = json!(2);
            lock["models"] = json!([{ "id": "e/n" }, lock["models"][0]]);
        });
        let found = common(&lock(|_| ()), &new).unwrap();
        assert_eq!(found.same, BTreeMap::from([(CellIndex(0), CellIndex(2))]));
        let told = told(&lock(|_| ()), &new).unwrap();
        assert_eq!(told, ["models.e/n is new", "trials: 1 → 2"]);
    }
}
