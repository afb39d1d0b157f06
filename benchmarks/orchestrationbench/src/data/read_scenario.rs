//! Parser of scenario files (docs/benchmarks/orchestrationbench.md §2.2).

use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_pycompat::yaml::{Dict, Value};

use super::build_labels::Gold;
use super::card::Agents;
use super::language::Language;
use super::refined_queries::refined_queries;
use super::scenario::{Decision, Scenario};
use super::scenario_step::{Author, Step};
use super::yaml_file::{load_yaml, must_be, text_at};

/// Greatest number of steps of a scenario; the longest official one has 31, and every step is asked with all earlier
/// ones in its history.
const STEPS_MAX: usize = 1000;

/// Parses the scenario of one file.
///
/// # Errors
/// With the step and the field that is missing or of the wrong type.
pub(super) fn read_scenario(
    file: &SourceLocation<'_>,
    content: &[u8],
    language: Language,
    id: &str,
    agents: &Agents,
) -> Result<Scenario, DataError> {
    let steps = read_steps(file, content)?;
    let gold = Gold::of(&steps).map_err(|(step, kind)| {
        let problem = format!("tool_call_result holds a {kind}, which no history can tell as JSON; put it in quotes");
        place_of(file, step.number).error("data.content", problem)
    })?;
    let plans = gold.plans.iter().map(|(_, text)| &**text);
    let refined_queries = refined_queries(plans, gold.decisions.iter().map(|(step, agent)| (*step, &**agent)));
    let decision = |(step, agent): (u32, Arc<str>)| {
        let is_asked = agents.card(&agent).is_some();
        Decision { step, agent, is_asked }
    };
    Ok(Scenario {
        language,
        id: id.into(),
        system_info: gold.system_info,
        labels: gold.labels,
        planning: gold.plans.into_iter().map(|(step, _)| step).collect(),
        decisions: gold.decisions.into_iter().map(decision).collect(),
        refined_queries,
    })
}

fn place_of<'p>(file: &SourceLocation<'p>, number: u32) -> SourceLocation<'p> {
    let position = (number as usize).saturating_sub(1);
    file.record(position, &format!("step {number}"))
}

fn read_steps(file: &SourceLocation<'_>, content: &[u8]) -> Result<Vec<Step>, DataError> {
    let document = load_yaml(file, content)?;
    let Some(document) = document.as_dict() else {
        return Err(file.problem(format!("must be a mapping with steps, is {}", document.type_name())));
    };
    let steps = match document.get("steps") {
        Some(Value::List(steps)) => steps,
        other => return Err(must_be(file, "steps", "a list", other)),
    };
    if steps.is_empty() || steps.len() > STEPS_MAX {
        return Err(file.error("steps", format!("has {} steps; 1 to {STEPS_MAX} are possible", steps.len())));
    }
    check_total(file, document, steps.len())?;
    (1..).zip(steps).map(|(number, step)| read_step(&place_of(file, number), number, step)).collect()
}

/// Checks the number of steps against the one that the file states, which detects a truncated file.
fn check_total(file: &SourceLocation<'_>, document: &Dict, steps: usize) -> Result<(), DataError> {
    let field = "metadata.total_steps";
    match document.get("metadata").and_then(|metadata| metadata.get("total_steps")) {
        None => Ok(()),
        Some(Value::Int(total)) if total.decimal() == steps.to_string() => Ok(()),
        Some(Value::Int(total)) => {
            Err(file.error(field, format!("is {}, but there are {steps} steps", total.decimal())))
        }
        other => Err(must_be(file, field, "an integer", other)),
    }
}

fn read_step(place: &SourceLocation<'_>, number: u32, step: &Value) -> Result<Step, DataError> {
    let Some(step) = step.as_dict() else {
        return Err(place.problem(format!("must be a mapping, is {}", step.type_name())));
    };
    match step.get("step_id") {
        Some(Value::Int(id)) if id.decimal() == number.to_string() => {}
        Some(Value::Int(id)) => {
            return Err(place.error("step_id", format!("is {}, must be {number}: steps count from 1", id.decimal())));
        }
        other => return Err(must_be(place, "step_id", "an integer", other)),
    }
    let agent = text_at(place, step.get("agent"), "agent")?;
    let author = match text_at(place, step.get("agent_type"), "agent_type")? {
        // For these types the agent decides who the author is.
        "main" | "user" => match agent {
            "main" => Author::Main,
            "user" => Author::User,
            other => {
                return Err(place.error("agent", format!("is {other:?}, must be main or user for this agent_type")));
            }
        },
        _ => Author::Agent(agent.into()),
    };
    // The annotation can have any type; only a text is used.
    let workflow_id = step.get("workflow_id").and_then(Value::as_str).map(str::to_owned);
    let data = match step.get("data") {
        Some(Value::Dict(data)) => data,
        other => return Err(must_be(place, "data", "a mapping", other)),
    };
    let content = text_at(place, data.get("content"), "data.content")?.into();
    Ok(Step { number, workflow_id, author, content })
}
