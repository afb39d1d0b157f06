//! Logs of evaluations, as `inspect log dump` writes them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regatta_benchmarks::source_location::kind_of;
use serde_json::{Map, Value};

use super::sample::{self, Dropped, Sample, is_there, sandboxed};
use super::{Fields, InspectField, InspectFields, InspectOptions, InspectStep, Task, counts, listed};

/// Beginning of a text that stands for one of the sample's attachments.
const ATTACHMENT: &str = "attachment://";
/// Parts of a sample that say what is asked and what is right.
const PARTS: [&str; 9] = ["id", "epoch", "input", "target", "choices", "metadata", "sandbox", "files", "setup"];
/// Parts of a sample that its run has made.
const OF_SAMPLE_RUN: [&str; 20] = [
    "messages",
    "output",
    "scores",
    "store",
    "events",
    "events_data",
    "timelines",
    "model_usage",
    "role_usage",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
    "uuid",
    "error",
    "error_retries",
    "invalidation",
    "limit",
    // Of logs of the first version.
    "score",
    "transcript",
];
/// Reason why a field that says how a run went is not carried over.
const RUN: &str = "a run is described by its spec";
/// Newest version of logs that is read.
const NEWEST: u64 = 2;
/// Most epochs: as many as a spec may have trials.
const EPOCHS_MAX: u64 = 1000;
/// Parts of `eval.config` that have a counterpart.
const OF_EPOCHS: [&str; 2] = ["epochs", "epochs_reducer"];
/// Parts of `eval.config` that say how a run goes, and nothing of what is asked or right.
const OF_RUN: [&str; 22] = [
    "approval",
    "notification",
    "fail_on_error",
    "continue_on_fail",
    "retry_on_error",
    "score_on_error",
    "max_samples",
    "max_dataset_memory",
    "max_tasks",
    "max_subprocesses",
    "max_sandboxes",
    "sandbox_cleanup",
    "sandbox_prebuilt",
    "log_samples",
    "log_realtime",
    "log_images",
    "log_model_api",
    "log_buffer",
    "log_shared",
    "score_display",
    "acp_server",
    "sample_shuffle",
];

/// `true` of a log; a data set of one sample may be an object too.
pub(super) fn is_log(document: &Value) -> bool {
    document.get("eval").is_some_and(Value::is_object)
        && (document.get("plan").is_some() || document.get("samples").is_some())
}

/// The task of a log.
///
/// # Errors
/// When the log holds no samples, one that cannot be read, or something that has another form than a log has.
pub(super) fn read(log: &Value, options: &InspectOptions) -> Result<Task, String> {
    if options.fields != InspectFields::default() {
        return Err("a log has its own names of fields; leave --input, --target and the other names out".to_owned());
    }
    match log.get("version") {
        None | Some(Value::Null) => {}
        Some(version) if version.as_u64().is_some_and(|version| version <= NEWEST) => {}
        Some(version) => return Err(format!("version {version} of logs is not known; known: up to {NEWEST}")),
    }
    let eval = log.get("eval").and_then(Value::as_object).ok_or("eval must be an object")?;
    let plan = object(log.get("plan"), "plan")?;
    let config = object(eval.get("config"), "eval.config")?;
    let dataset = object(eval.get("dataset"), "eval.dataset")?;
    let mut notes = Vec::new();
    if let Some(status) = log.get("status").and_then(Value::as_str).filter(|status| *status != "success") {
        notes.push(format!("the status of the log is {status}, so that samples may be missing"));
    }
    let no_sandbox = options.leave_out.contains(&InspectField::Sandbox);
    match eval.get("sandbox").is_some_and(is_there) {
        true if no_sandbox => notes.push("the sandbox of the task is left out, as you said".to_owned()),
        true => return Err(format!("eval.sandbox: {}", sandboxed(InspectField::Sandbox))),
        false => {}
    }
    let said = match config.and_then(|config| config.get("epochs")) {
        None | Some(Value::Null) => 1,
        Some(epochs) => epochs.as_u64().ok_or_else(|| format!("eval.config.epochs: must be a number, is {epochs}"))?,
    };
    let (samples, seen) = samples(log, options, &mut notes)?;
    let epochs = said.max(seen);
    if epochs > EPOCHS_MAX {
        return Err(format!(
            "has {epochs} epochs, and a spec has at most {EPOCHS_MAX} trials; write fewer into the log"
        ));
    }
    let all = dataset.and_then(|dataset| dataset.get("samples")).and_then(Value::as_u64);
    if let Some(all) = all.filter(|all| *all > samples.len() as u64) {
        notes.push(format!("the log holds {} of the data set's {all} samples", samples.len()));
    }
    note_run(eval, config, &mut notes);
    let mut known = vec!["version", "status", "eval", "plan", "samples"];
    if scorers_of_results(log, eval).is_some() {
        known.push("results");
        note_others("results", log.get("results").and_then(Value::as_object), &["scores"], RUN, &mut notes);
    }
    note_others("the log", log.as_object(), &known, RUN, &mut notes);
    note_others("eval.dataset", dataset, &["samples"], "items come in the order of the log", &mut notes);
    note_others("plan", plan, &["steps", "finish", "config"], RUN, &mut notes);
    let solvers = solvers(plan, &mut notes)?;
    Ok(Task {
        samples,
        solvers: Some(solvers),
        scorers: scorers(log, eval, &mut notes)?,
        config: call_config(plan, eval)?,
        notes,
        epochs,
    })
}

/// An object, where the log has one.
fn object<'l>(value: Option<&'l Value>, place: &str) -> Result<Option<&'l Fields>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(other) => Err(format!("{place} must be an object, is {}", kind_of(other))),
    }
}

/// Says which fields of a part of the log hold something and are none of `read`.
fn note_others(place: &str, part: Option<&Fields>, read: &[&str], why: &str, notes: &mut Vec<String>) {
    let others = part.into_iter().flatten().filter(|(name, value)| !read.contains(&name.as_str()) && is_there(value));
    let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
    if !others.is_empty() {
        notes.push(format!("not carried over from {place}: {}; {why}", listed(&others)));
    }
}

/// Parts of the log that are not carried over, by name.
fn note_run(eval: &Fields, config: Option<&Fields>, notes: &mut Vec<String>) {
    let but_limits: Vec<&str> = OF_EPOCHS.iter().chain(&OF_RUN).copied().collect();
    note_others("eval.config", config, &but_limits, "limits are those of a spec", notes);
    let of_run = config.into_iter().flatten().filter(|(name, _)| OF_RUN.contains(&name.as_str()));
    let of_run: Fields = of_run.map(|(name, value)| (name.clone(), value.clone())).collect();
    note_others("eval.config", Some(&of_run), &[], RUN, notes);
    let known = ["config", "dataset", "scorers", "sandbox", "model_generate_config", "model_roles"];
    note_others("eval", Some(eval), &known, RUN, notes);
    if eval.get("model_roles").is_some_and(is_there) {
        notes.push("not carried over: eval.model_roles; a spec names its models".to_owned());
    }
    let reducers: Vec<&str> = match config.and_then(|config| config.get("epochs_reducer")) {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name.as_str()],
        _ => Vec::new(),
    };
    let other: Vec<&str> = reducers.into_iter().filter(|reducer| *reducer != "mean").collect();
    if !other.is_empty() {
        notes.push(format!(
            "epochs are reduced by {} in Inspect; here trials are averaged, and pass@k is shown",
            other.join(", ")
        ));
    }
}

/// The samples, each once, and the number of epochs.
fn samples(log: &Value, options: &InspectOptions, notes: &mut Vec<String>) -> Result<(Vec<Sample>, u64), String> {
    let list = match log.get("samples") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        Some(Value::Array(_) | Value::Null) | None => {
            return Err(
                "the log holds no samples; dump one that was written with them, and not its header alone".to_owned()
            );
        }
        Some(_) => return Err("samples must be a list".to_owned()),
    };
    let names = InspectFields::default();
    let (mut found, mut dropped): (Vec<Sample>, _) = (Vec::new(), Dropped::default());
    let mut positions: HashMap<String, (usize, BTreeSet<u64>)> = HashMap::new();
    let mut all_epochs = BTreeSet::new();
    let (mut of_run, mut unknown) = (BTreeMap::new(), BTreeMap::new());
    let mut other_metadata = 0;
    for (number, entry) in (1..).zip(list) {
        let fields = entry.as_object().ok_or_else(|| format!("sample {number} must be an object"))?;
        let attachments = object(fields.get("attachments"), &format!("sample {number}, attachments"))?;
        for (name, _) in fields.iter().filter(|(name, value)| !is_part(name) && is_there(value)) {
            let others = if OF_SAMPLE_RUN.contains(&name.as_str()) { &mut of_run } else { &mut unknown };
            *others.entry(name.clone()).or_insert(0) += 1;
        }
        let parts = PARTS.iter().filter_map(|part| fields.get_key_value(*part));
        let mut fields: Fields = parts.map(|(name, value)| (name.clone(), value.clone())).collect();
        for name in ["input", "target", "choices", "metadata"] {
            if let Some(value) = fields.get_mut(name) {
                attach(value, attachments).map_err(|problem| format!("sample {number}, {name}: {problem}"))?;
            }
        }
        let epoch = match fields.get("epoch") {
            None | Some(Value::Null) => 1,
            Some(epoch) => epoch.as_u64().ok_or_else(|| format!("sample {number}, epoch: must be a whole number"))?,
        };
        all_epochs.insert(epoch);
        let mut of_sample = Dropped::default();
        let sample = sample::sample(&format!("sample {number}"), &fields, &names, options, &mut of_sample)?;
        let id = sample.id.clone().ok_or_else(|| format!("{} has no id; give it one", sample.place))?;
        match positions.get_mut(&id) {
            None => {
                positions.insert(id, (found.len(), BTreeSet::from([epoch])));
                dropped.add(of_sample);
                found.push(sample);
            }
            Some((_, epochs)) if epochs.contains(&epoch) => {
                return Err(format!("{}: the id is there twice in epoch {epoch}; take one of them out", sample.place));
            }
            Some((first, epochs)) => {
                epochs.insert(epoch);
                let first = found.get(*first);
                if !first.is_some_and(|first| first.is_same_as(&sample)) {
                    return Err(format!(
                        "{}: the sample is another one in epoch {epoch} than before; take one of them out",
                        sample.place
                    ));
                }
                if first.is_some_and(|first| first.metadata != sample.metadata) {
                    other_metadata += 1;
                }
            }
        }
    }
    dropped.note(notes);
    if other_metadata > 0 {
        notes.push(format!(
            "samples whose metadata is another one than in their first epoch, which is carried over: {other_metadata}"
        ));
    }
    if !of_run.is_empty() {
        notes.push(format!("not carried over from samples, because the run has made it: {}", counts(&of_run)));
    }
    if !unknown.is_empty() {
        notes.push(format!("not carried over from samples, because it is not known: {}", counts(&unknown)));
    }
    Ok((found, all_epochs.len() as u64))
}

/// `true` of a field of a sample that is read.
fn is_part(name: &str) -> bool {
    name == "attachments" || PARTS.contains(&name)
}

/// Puts texts in the place of what stands for them.
fn attach(value: &mut Value, attachments: Option<&Fields>) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let Some(name) = text.strip_prefix(ATTACHMENT) else { return Ok(()) };
            let attached = attachments.and_then(|all| all.get(name)).and_then(Value::as_str);
            let attached =
                attached.ok_or_else(|| format!("the attachment {name:?} is not in the log; write its text"))?;
            *text = attached.to_owned();
            Ok(())
        }
        Value::Array(values) => values.iter_mut().try_for_each(|value| attach(value, attachments)),
        Value::Object(fields) => fields.values_mut().try_for_each(|value| attach(value, attachments)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// A step that the log names under `key`, with its parameters.
fn step(entry: &Value, key: &str, params: &str, place: &str) -> Result<InspectStep, String> {
    let name = entry.get(key).and_then(Value::as_str).ok_or_else(|| format!("{place} has no {key}"))?;
    let params = match entry.get(params) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params.clone(),
        Some(_) => return Err(format!("{place}: {params} must be an object")),
    };
    // As a person may have written it: Inspect leaves its own name away.
    Ok(InspectStep { name: name.strip_prefix("inspect_ai/").unwrap_or(name).to_owned(), params })
}

/// Fields of steps that are none of `read`, for a note.
fn note_others_of_steps(place: &str, list: &Value, read: &[&str], notes: &mut Vec<String>) {
    let mut all = Fields::new();
    for step in list.as_array().into_iter().flatten().filter_map(Value::as_object) {
        all.extend(step.iter().filter(|(_, value)| is_there(value)).map(|(name, value)| (name.clone(), value.clone())));
    }
    note_others(place, Some(&all), read, RUN, notes);
}

fn steps(list: &Value, key: &str, params: &str, place: &str) -> Result<Vec<InspectStep>, String> {
    let list = list.as_array().ok_or_else(|| format!("{place} must be a list"))?;
    (0..).zip(list).map(|(at, entry)| step(entry, key, params, &format!("{place}[{at}]"))).collect()
}

/// The solvers of the plan, with the one that is always the last; without any the model is asked once.
fn solvers(plan: Option<&Fields>, notes: &mut Vec<String>) -> Result<Vec<InspectStep>, String> {
    let mut steps = match plan.and_then(|plan| plan.get("steps")) {
        None | Some(Value::Null) => Vec::new(),
        Some(list) => {
            note_others_of_steps("plan.steps", list, &["solver", "params", "params_passed"], notes);
            steps(list, "solver", "params", "plan.steps")?
        }
    };
    if let Some(finish) = plan.and_then(|plan| plan.get("finish")).filter(|finish| !finish.is_null()) {
        steps.push(step(finish, "solver", "params", "plan.finish")?);
    }
    let generate = || InspectStep { name: "generate".to_owned(), params: Map::new() };
    Ok(if steps.is_empty() { vec![generate()] } else { steps })
}

/// The scorers in the results of a log, where its evaluation names none.
fn scorers_of_results<'l>(log: &'l Value, eval: &Fields) -> Option<&'l Value> {
    if eval.get("scorers").is_some_and(is_there) {
        return None;
    }
    log.get("results")?.get("scores").filter(|list| is_there(list))
}

/// The scorers of the evaluation; in logs without them, those of its results.
fn scorers(log: &Value, eval: &Fields, notes: &mut Vec<String>) -> Result<Option<Vec<InspectStep>>, String> {
    let found = match eval.get("scorers").filter(|list| is_there(list)) {
        Some(list) => {
            let mut metrics: Vec<&str> = Vec::new();
            let scorers = list.as_array().into_iter().flatten();
            if scorers.clone().any(|scorer| scorer.get("metrics").is_some_and(Value::is_object)) {
                metrics.push("those by the name of a value");
            }
            let named = list.as_array().into_iter().flatten().filter_map(|scorer| scorer.get("metrics")?.as_array());
            for metric in named.flatten() {
                let Some(name) = metric.get("name").and_then(Value::as_str) else { continue };
                let name = name.strip_prefix("inspect_ai/").unwrap_or(name);
                let is_clustered = metric.pointer("/options/cluster").is_some_and(is_there);
                let name = if is_clustered { "stderr by a cluster (items.group)" } else { name };
                if !matches!(name, "accuracy" | "mean" | "stderr") && !metrics.contains(&name) {
                    metrics.push(name);
                }
            }
            if !metrics.is_empty() {
                notes.push(format!(
                    "metrics that are not mapped: {}; each scorer has its mean with an interval",
                    listed(&metrics)
                ));
            }
            note_others_of_steps("eval.scorers", list, &["name", "options", "metrics"], notes);
            steps(list, "name", "options", "eval.scorers")?
        }
        None => match scorers_of_results(log, eval) {
            Some(list) => {
                note_others_of_steps("results.scores", list, &["name", "scorer", "params"], notes);
                steps(list, "scorer", "params", "results.scores")?
            }
            None => Vec::new(),
        },
    };
    Ok((!found.is_empty()).then_some(found))
}

/// Parameters of calls: those of the task, and where it has none those of the model.
fn call_config(plan: Option<&Fields>, eval: &Fields) -> Result<Fields, String> {
    let of_model = object(eval.get("model_generate_config"), "eval.model_generate_config")?;
    let of_task = object(plan.and_then(|plan| plan.get("config")), "plan.config")?;
    let mut config = of_model.cloned().unwrap_or_default();
    for (name, value) in of_task.into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        config.insert(name.clone(), value.clone());
    }
    Ok(config)
}
