//! Other differences between two runs, which may be why their numbers differ.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{
    Answerer, BenchmarkLock, BenchmarkName, Digest, EndpointName, ItemId, Judge, MemberName, ModelRef, ModelSpec, Role,
    Setting, SweepId, SweepLock, json_bytes,
};
use serde::Serialize;
use serde_json::Value;

use super::matching::MatchedCell;
use crate::ended_run::EndedRun;
use crate::transcripts;

/// A difference between the two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Change {
    pub(crate) what: String,
    pub(crate) a: String,
    pub(crate) b: String,
}

/// Differences that a result of `cells` can depend on.
pub(crate) fn changes(a: &EndedRun, b: &EndedRun, cells: &[MatchedCell]) -> anyhow::Result<Vec<Change>> {
    let mut found = Changes(Vec::new());
    found.add("Regatta", &a.lock.regatta, &b.lock.regatta)?;
    found.add("seed", &a.lock.seed, &b.lock.seed)?;
    found.add("trials", &a.lock.trials, &b.lock.trials)?;
    found.add("filtered", &a.lock.filtered, &b.lock.filtered)?;
    found.add("external agents", &a.lock.agents, &b.lock.agents)?;
    found.add("question", &a.lock.decide, &b.lock.decide)?;
    let mut endpoints: BTreeSet<&EndpointName> = BTreeSet::new();
    for name in benchmarks(cells) {
        let (Some(of_a), Some(of_b)) = (a.lock.benchmarks.get(name), b.lock.benchmarks.get(name)) else { continue };
        found.add(&format!("{name}: data"), &of_a.dataset, &of_b.dataset)?;
        found.add(&format!("{name}: tasks"), &of_a.tasks, &of_b.tasks)?;
        found.add(&format!("{name}: listed items"), &of_a.listed, &of_b.listed)?;
        found.add(&format!("{name}: limit of items"), &of_a.limit, &of_b.limit)?;
        found.add(&format!("{name}: sample of items"), &of_a.sample, &of_b.sample)?;
        found.add(&format!("{name}: evaluators"), &of_a.evaluators, &of_b.evaluators)?;
        found.add(&format!("{name}: judge"), &of_a.judge, &of_b.judge)?;
        found.add(&format!("{name}: price of the judge"), &of_a.judge_price, &of_b.judge_price)?;
        found.add(&format!("{name}: audit"), &of_a.audit, &of_b.audit)?;
        found.add(&format!("{name}: other roles"), &of_a.roles, &of_b.roles)?;
        found.add(&format!("{name}: casts"), &of_a.casts, &of_b.casts)?;
        let metrics = |run: &EndedRun| run.measures.benchmarks.get(name).map(|measures| measures.settings.clone());
        found.add(&format!("{name}: metrics"), &metrics(a), &metrics(b))?;
        endpoints.extend([of_a, of_b].into_iter().flat_map(beside_the_model));
    }
    let mut models: Vec<(&ModelRef, &ModelRef)> = Vec::new();
    for cell in cells {
        let both = (&cell.model_a, &cell.model_b);
        if !models.contains(&both) {
            models.push(both);
        }
    }
    for (model_a, model_b) in models {
        found.add("model", model_a, model_b)?;
        let (of_a, of_b) = (a.lock.model(model_a), b.lock.model(model_b));
        found.add(
            &format!("{model_b}: parameters and price"),
            &of_a.map(|of| parameters(of, model_b)),
            &of_b.map(|of| parameters(of, model_b)),
        )?;
        let of_model = (a.lock.endpoints.get(&model_a.endpoint), b.lock.endpoints.get(&model_b.endpoint));
        found.add(&format!("{model_b}: endpoint"), &of_model.0, &of_model.1)?;
        if model_a.endpoint == model_b.endpoint {
            endpoints.remove(&model_a.endpoint);
        }
        found.add(&format!("{model_b}: served as"), &served(a, model_a), &served(b, model_b))?;
    }
    for name in endpoints {
        found.add(&format!("endpoint {name}"), &a.lock.endpoints.get(name), &b.lock.endpoints.get(name))?;
    }
    found.0.extend(prompts(a, b, cells)?);
    Ok(found.0)
}

/// Differences in what is measured and by whom, for each benchmark of `cells`: the data, the judge, the models of other roles and of the casts
/// that play in `cells`, and the outcome of filtered sessions. Scores of both runs are not those of the same test then, and a difference between
/// them says nothing of a model.
pub(crate) fn other_tests(
    a: &EndedRun,
    b: &EndedRun,
    cells: &[MatchedCell],
) -> anyhow::Result<Vec<(BenchmarkName, Change)>> {
    let mut all = Vec::new();
    for name in benchmarks(cells) {
        let (Some(of_a), Some(of_b)) = (a.lock.benchmarks.get(name), b.lock.benchmarks.get(name)) else { continue };
        let mut found = Changes::default();
        found.add("data", &of_a.dataset, &of_b.dataset)?;
        found.add("filtered", &a.lock.filtered, &b.lock.filtered)?;
        let here = cells.iter().filter(|cell| cell.benchmark == *name);
        let played: BTreeSet<&str> = here.filter_map(|cell| cell.setting.cast()).collect();
        let casts = |of: &BenchmarkLock| -> BTreeMap<String, ModelSpec> {
            let played = of.casts.iter().filter(|(cast, _)| played.contains(cast.as_str()));
            let members = played.flat_map(|(cast, members)| members.iter().map(move |member| (cast, member)));
            members.map(|(cast, (member, model))| (format!("{cast}.{member}"), unpriced(model.clone()))).collect()
        };
        // Under the name of one sweep, so that what no spec tells of an endpoint is no difference.
        let answerers = |lock: &SweepLock, of: &BenchmarkLock| -> BTreeMap<String, Option<Answerer>> {
            let asked = of.judge.iter().flat_map(Judge::members).chain(of.roles.iter().map(|(_, model)| model.clone()));
            let asked = asked.chain(casts(of).into_values());
            let answerer = |model: &ModelSpec| {
                let endpoint = lock.endpoints.get(&model.id.endpoint)?;
                Some(Answerer::new(endpoint, &model.id.model, &a.lock.name))
            };
            asked.map(|model| (model.id.to_string(), answerer(&model))).collect()
        };
        let roles = |of: &BenchmarkLock| -> BTreeMap<&'static str, ModelSpec> {
            of.roles.iter().map(|(role, model)| (role.as_str(), unpriced(model.clone()))).collect()
        };
        found.add("judge", &of_a.judge.clone().map(without_prices), &of_b.judge.clone().map(without_prices))?;
        found.add("other roles", &roles(of_a), &roles(of_b))?;
        found.add("casts", &casts(of_a), &casts(of_b))?;
        let (of_a, of_b) = (answerers(&a.lock, of_a), answerers(&b.lock, of_b));
        for (model, answerer) in &of_a {
            if of_b.get(model).is_some_and(|other| other != answerer) {
                found.0.push(Change {
                    what: format!("endpoint of {model}"),
                    a: "one".to_owned(),
                    b: "another".to_owned(),
                });
            }
        }
        all.extend(found.0.into_iter().map(|change| (name.clone(), change)));
    }
    Ok(all)
}

/// Digest of the test that a setting is, the data aside: the judge, the models of other roles and of the setting's cast, the endpoints of all
/// these, and the outcome of filtered sessions. Prices are no part of it. `None` where the sweep has no such benchmark.
pub(crate) fn test_of(
    lock: &SweepLock,
    benchmark: &BenchmarkName,
    setting: &Setting,
) -> anyhow::Result<Option<Digest>> {
    let Some(of) = lock.benchmarks.get(benchmark) else { return Ok(None) };
    // Under the name of one sweep, so that what no spec tells of an endpoint is no difference.
    let sweep = SweepId::new("test")?;
    let roles: BTreeMap<&'static str, ModelSpec> =
        of.roles.iter().map(|(role, model)| (role.as_str(), unpriced(model.clone()))).collect();
    let cast = setting.cast().and_then(|cast| of.casts.get(cast));
    let members: BTreeMap<&MemberName, ModelSpec> =
        cast.into_iter().flatten().map(|(member, model)| (member, unpriced(model.clone()))).collect();
    let judges: Vec<ModelSpec> = of.judge.iter().flat_map(Judge::members).collect();
    let asked = judges.iter().chain(roles.values()).chain(members.values());
    let answerer = |model: &ModelSpec| {
        let endpoint = lock.endpoints.get(&model.id.endpoint)?;
        Some(*Answerer::new(endpoint, &model.id.model, &sweep).digest())
    };
    let answerers: BTreeMap<String, Option<Digest>> =
        asked.map(|model| (model.id.to_string(), answerer(model))).collect();
    let judge = of.judge.clone().map(without_prices);
    Ok(Some(Digest::of(&json_bytes(&(lock.filtered, judge, &roles, &members, answerers)))))
}

fn without_prices(judge: Judge) -> Judge {
    match judge {
        Judge::Plain(id) => Judge::Plain(id),
        Judge::Model(model) => Judge::Model(Box::new(unpriced(*model))),
        Judge::Panel(mut panel) => {
            panel.panel = panel.panel.into_iter().map(unpriced).collect();
            Judge::Panel(panel)
        }
    }
}

fn unpriced(model: ModelSpec) -> ModelSpec {
    ModelSpec { price: None, ..model }
}

fn benchmarks(cells: &[MatchedCell]) -> BTreeSet<&BenchmarkName> {
    cells.iter().map(|cell| &cell.benchmark).collect()
}

/// Endpoints of judges, other roles and members of casts.
fn beside_the_model(of: &BenchmarkLock) -> BTreeSet<&EndpointName> {
    let judges = of.judges().flat_map(Judge::ids).map(|judge| &judge.endpoint);
    of.players().map(|model| &model.id.endpoint).chain(judges).collect()
}

/// Fields in which documents differ.
#[derive(Default)]
pub(crate) struct Changes(pub(crate) Vec<Change>);

impl Changes {
    pub(crate) fn add(&mut self, what: &str, a: &impl Serialize, b: &impl Serialize) -> anyhow::Result<()> {
        self.add_values(what, &serde_json::to_value(a)?, &serde_json::to_value(b)?);
        Ok(())
    }

    /// Compares two documents field by field, so that only fields that differ are changes.
    fn add_values(&mut self, what: &str, a: &Value, b: &Value) {
        if a == b {
            return;
        }
        let (Value::Object(fields_a), Value::Object(fields_b)) = (a, b) else {
            let (a, b) = in_short(a, b);
            self.0.push(Change { what: what.to_owned(), a, b });
            return;
        };
        let names: BTreeSet<&String> = fields_a.keys().chain(fields_b.keys()).collect();
        for name in names {
            let of = |fields: &serde_json::Map<String, Value>| fields.get(name).cloned().unwrap_or(Value::Null);
            self.add_values(&format!("{what}, {name}"), &of(fields_a), &of(fields_b));
        }
    }
}

/// Two values that differ, cut to their beginning where they are long.
fn in_short(a: &Value, b: &Value) -> (String, String) {
    const LONGEST: usize = 60;
    let shown = |value: &Value| match value {
        Value::String(text) if text.len() == 64 => text.chars().take(12).collect(),
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let named = |value: &Value| match shown(value) {
        text if text.chars().count() <= LONGEST => text,
        text => format!(
            "{}… (digest {})",
            text.chars().take(LONGEST / 2).collect::<String>(),
            Digest::of(text.as_bytes()).short()
        ),
    };
    (named(a), named(b))
}

/// The model under the name `id`, so that a name alone makes no difference.
pub(crate) fn parameters(model: &ModelSpec, id: &ModelRef) -> ModelSpec {
    ModelSpec { id: id.clone(), ..model.clone() }
}

/// Models that the endpoint said it served.
pub(crate) fn served(run: &EndedRun, model: &ModelRef) -> BTreeSet<String> {
    let cells: BTreeSet<u32> =
        run.lock.cells().into_iter().filter(|cell| cell.model == *model).map(|cell| cell.index.0).collect();
    let attempts = run.attempts.iter().filter(|attempt| cells.contains(&attempt.cell));
    attempts.flat_map(|attempt| attempt.served.iter().flatten().cloned()).collect()
}

/// A session without its run: cell among `cells`, trial, item.
type Session = (usize, u16, ItemId);

/// Number of sessions of both that begin with another request; says so where the transcripts of a run are not at hand.
fn prompts(a: &EndedRun, b: &EndedRun, cells: &[MatchedCell]) -> anyhow::Result<Option<Change>> {
    let (Some(of_a), Some(of_b)) =
        (first_requests(a, cells, |cell| &cell.model_a)?, first_requests(b, cells, |cell| &cell.model_b)?)
    else {
        let known =
            |run: &EndedRun| if has_transcripts(run) { "known" } else { "unknown, without transcripts" }.to_owned();
        return Ok(Some(Change { what: "prompts".to_owned(), a: known(a), b: known(b) }));
    };
    let both = || of_a.iter().filter_map(|(session, digest)| Some((digest, of_b.get(session)?)));
    let differing = both().filter(|(a, b)| a != b).count();
    let Some((first_a, first_b)) = both().find(|(a, b)| a != b) else { return Ok(None) };
    Ok(Some(Change {
        what: format!("prompts: first request of {differing} of {} sessions", both().count()),
        a: first_a.short(),
        b: first_b.short(),
    }))
}

fn has_transcripts(run: &EndedRun) -> bool {
    run.directory.as_ref().is_some_and(|directory| directory.join("transcripts").is_dir())
}

/// The digest of what each session first asks the model under test, settings of sampling left out.
fn first_requests(
    run: &EndedRun,
    cells: &[MatchedCell],
    model: impl Fn(&MatchedCell) -> &ModelRef,
) -> anyhow::Result<Option<BTreeMap<Session, Digest>>> {
    let Some(directory) = run.directory.as_ref().filter(|_| has_transcripts(run)) else { return Ok(None) };
    let grid = run.lock.cells();
    let items: BTreeMap<_, _> =
        run.attempts.iter().filter_map(|attempt| Some((&attempt.id, attempt.item.as_ref()?))).collect();
    let mut found = BTreeMap::new();
    transcripts::read_stored(directory, |stored| {
        let Some(cell) = grid.get(stored.cell as usize) else { return };
        let is_it =
            |of: &MatchedCell| of.benchmark == cell.benchmark && of.setting == cell.setting && *model(of) == cell.model;
        let (Some(at), Some(item)) = (cells.iter().position(is_it), items.get(&stored.attempt_id)) else { return };
        if let Some(call) = stored.transcript.calls().find(|call| call.role == Role::Agent) {
            let request = (&call.request.member, &call.request.messages, &call.request.tools);
            found.insert((at, cell.trial.0, (*item).clone()), Digest::of(&json_bytes(&request)));
        }
    })?;
    Ok(Some(found))
}
