//! Logs of evaluations, as `inspect log dump` writes them.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::sample::{self, Sample, is_there, sandboxed};
use super::{Fields, InspectField, InspectFields, InspectOptions, InspectStep, Task};

/// Beginning of a text that stands for one of the sample's attachments.
const ATTACHMENT: &str = "attachment://";
/// Parts of a sample that say what is asked and what is right.
const PARTS: [&str; 9] = ["id", "epoch", "input", "target", "choices", "metadata", "sandbox", "files", "setup"];
/// Parts of `eval.config` that say how a run goes, and nothing of what is asked or right.
const OF_RUN: [&str; 24] = [
    "epochs",
    "epochs_reducer",
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
/// When the log holds no samples, or one that cannot be read.
pub(super) fn read(log: &Value, options: &InspectOptions) -> Result<Task, String> {
    let eval = log.get("eval").and_then(Value::as_object).ok_or("eval must be an object")?;
    let mut notes = Vec::new();
    let no_sandbox = options.leave_out.contains(&InspectField::Sandbox);
    match eval.get("sandbox").is_some_and(is_there) {
        true if no_sandbox => notes.push("the sandbox of the task is left out, as you said".to_owned()),
        true => return Err(format!("eval.sandbox: {}", sandboxed(InspectField::Sandbox))),
        false => {}
    }
    let config = eval.get("config").and_then(Value::as_object);
    let said = config.and_then(|config| config.get("epochs")).and_then(Value::as_u64).unwrap_or(1);
    let (samples, seen) = samples(log, options, &mut notes)?;
    let all = eval.get("dataset").and_then(|dataset| dataset.get("samples")).and_then(Value::as_u64);
    if let Some(all) = all.filter(|all| *all > samples.len() as u64) {
        notes.push(format!("the log holds {} of the data set's {all} samples", samples.len()));
    }
    note_run(eval, config, &mut notes);
    Ok(Task {
        samples,
        solvers: Some(solvers(log)?),
        scorers: scorers(log, eval, &mut notes)?,
        config: call_config(log, eval),
        notes,
        epochs: said.max(seen),
    })
}

/// Parts of the log that are not carried over, by name.
fn note_run(eval: &Fields, config: Option<&Fields>, notes: &mut Vec<String>) {
    let limits =
        config.into_iter().flatten().filter(|(name, value)| !OF_RUN.contains(&name.as_str()) && is_there(value));
    let limits: Vec<&str> = limits.map(|(name, _)| name.as_str()).collect();
    if !limits.is_empty() {
        notes.push(format!("not carried over from eval.config: {}; limits are those of a spec", limits.join(", ")));
    }
    if eval.get("model_roles").is_some_and(is_there) {
        notes.push("not carried over: eval.model_roles; a spec names its models".to_owned());
    }
    let reducers = config.and_then(|config| config.get("epochs_reducer")).and_then(Value::as_array);
    let other: Vec<&str> =
        reducers.into_iter().flatten().filter_map(Value::as_str).filter(|reducer| *reducer != "mean").collect();
    if !other.is_empty() {
        notes.push(format!(
            "epochs are reduced by {} in Inspect; here trials are averaged, and pass@k is shown",
            other.join(", ")
        ));
    }
}

/// The samples, each once, and the largest epoch.
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
    let (mut found, mut left_out): (Vec<Sample>, _) = (Vec::new(), BTreeMap::new());
    let mut positions: HashMap<String, (usize, Vec<u64>)> = HashMap::new();
    let mut largest = 1;
    for (number, entry) in (1..).zip(list) {
        let fields = entry.as_object().ok_or_else(|| format!("sample {number} must be an object"))?;
        let attachments = fields.get("attachments").and_then(Value::as_object);
        // The rest, above all its events, is of the run.
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
        largest = largest.max(epoch);
        let mut counted = BTreeMap::new();
        let sample = sample::sample(&format!("sample {number}"), &fields, &names, options, &mut counted)?;
        let id = sample.id.clone().ok_or_else(|| format!("{} has no id", sample.place))?;
        match positions.get_mut(&id) {
            None => {
                positions.insert(id, (found.len(), vec![epoch]));
                counted.into_iter().for_each(|(name, count)| *left_out.entry(name).or_insert(0) += count);
                found.push(sample);
            }
            Some((_, epochs)) if epochs.contains(&epoch) => {
                return Err(format!("{}: the id {id:?} is there twice in epoch {epoch}", sample.place));
            }
            Some((first, epochs)) => {
                epochs.push(epoch);
                if !found.get(*first).is_some_and(|first| first.is_same_as(&sample)) {
                    return Err(format!("{}: the sample {id:?} is another one in epoch {epoch}", sample.place));
                }
            }
        }
    }
    sample::note_left_out(&left_out, notes);
    Ok((found, largest))
}

/// Puts texts in the place of what stands for them.
fn attach(value: &mut Value, attachments: Option<&Fields>) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let Some(name) = text.strip_prefix(ATTACHMENT) else { return Ok(()) };
            let attached = attachments.and_then(|all| all.get(name)).and_then(Value::as_str);
            *text = attached.ok_or_else(|| format!("the attachment {name:?} is not in the log"))?.to_owned();
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

fn steps(list: &Value, key: &str, params: &str, place: &str) -> Result<Vec<InspectStep>, String> {
    let list = list.as_array().ok_or_else(|| format!("{place} must be a list"))?;
    (0..).zip(list).map(|(at, entry)| step(entry, key, params, &format!("{place}[{at}]"))).collect()
}

/// The solvers of the plan; without any the model is asked once.
fn solvers(log: &Value) -> Result<Vec<InspectStep>, String> {
    let steps = match log.get("plan").and_then(|plan| plan.get("steps")) {
        None | Some(Value::Null) => Vec::new(),
        Some(list) => steps(list, "solver", "params", "plan.steps")?,
    };
    let generate = || InspectStep { name: "generate".to_owned(), params: Map::new() };
    Ok(if steps.is_empty() { vec![generate()] } else { steps })
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
            for name in named.flatten().filter_map(|metric| metric.get("name")?.as_str()) {
                let name = name.strip_prefix("inspect_ai/").unwrap_or(name);
                if !matches!(name, "accuracy" | "mean" | "stderr") && !metrics.contains(&name) {
                    metrics.push(name);
                }
            }
            if !metrics.is_empty() {
                notes.push(format!(
                    "metrics that are not mapped: {}; each scorer has its mean with an interval",
                    metrics.join(", ")
                ));
            }
            steps(list, "name", "options", "eval.scorers")?
        }
        None => match log.get("results").and_then(|results| results.get("scores")).filter(|list| is_there(list)) {
            Some(list) => steps(list, "scorer", "params", "results.scores")?,
            None => Vec::new(),
        },
    };
    Ok((!found.is_empty()).then_some(found))
}

/// Parameters of calls: those of the task, and where it has none those of the model.
fn call_config(log: &Value, eval: &Fields) -> Fields {
    let of = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let mut config = of(eval.get("model_generate_config"));
    config.extend(
        of(log.get("plan").and_then(|plan| plan.get("config"))).into_iter().filter(|(_, value)| !value.is_null()),
    );
    config
}
