//! Contents of an official record's system prompt: tools, time, format, and scenarios (docs/benchmarks/flowbench.md
//! §2.2).

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;

use super::entry::Group;
use super::files::{base_name, format_of};
use super::read_scenarios::Registry;
use super::scenario::{Scenario, Tool};
use super::tool_text::{time_in, tools_in};
use crate::setting::{Format, Scope};

/// Contents of a system prompt, completed by the location of its file.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) system: Arc<str>,
    pub(super) tools: Arc<[Arc<Tool>]>,
    pub(super) datetime: Option<Arc<str>>,
    pub(super) format: Format,
    pub(super) group: Arc<Group>,
}

/// Parses a prompt. Domain, role and scenarios are those with the same tools; empty when there are none.
///
/// # Errors
/// If a tool is malformed, or neither the folder nor the prompt shows the format.
pub(super) fn read_prompt(
    registry: &Registry,
    place: &SourceLocation<'_>,
    field: &str,
    system: &str,
    scope: Scope,
    path: &str,
) -> Result<Prompt, DataError> {
    let tools = tools_in(system).map_err(|problem| place.error(field, problem))?;
    let names: BTreeSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let scenarios = match scope {
        Scope::Single => scenario_with(registry, system, &names, base_name(path)).into_iter().collect(),
        Scope::Cross => role_with(registry, &names, base_name(path)),
    };
    let format = match format_of(path) {
        Some(format) => format,
        None => format_in(system, &scenarios).ok_or_else(|| {
            let known = Format::ALL.map(Format::name).join(", ");
            place.error(field, format!("does not tell its format; put the file into a folder named one of {known}"))
        })?,
    };
    let of_first =
        |pick: fn(&Scenario) -> &Arc<str>| scenarios.first().map_or_else(|| Arc::from(""), |it| Arc::clone(pick(it)));
    let role = of_first(|scenario| &scenario.role);
    let group = Group {
        file: format!("{}__{}.jsonl", scope.name(), base_name(path)).into(),
        scope,
        domain: of_first(|scenario| &scenario.domain),
        background: registry.background(&role).cloned(),
        role,
        scenarios,
    };
    Ok(Prompt {
        system: system.into(),
        tools: tools.into_iter().map(Arc::new).collect(),
        datetime: time_in(system).map(Arc::from),
        format,
        group: Arc::new(group),
    })
}

fn names_of<'s>(scenarios: impl IntoIterator<Item = &'s Arc<Scenario>>) -> BTreeSet<&'s str> {
    scenarios.into_iter().flat_map(|scenario| &scenario.tools).map(|tool| &*tool.name).collect()
}

/// Finds the scenario that has exactly these tools. Of several, the one whose workflow is in the prompt or whose name
/// is the file's.
fn scenario_with(registry: &Registry, system: &str, names: &BTreeSet<&str>, file: &str) -> Option<Arc<Scenario>> {
    let fitting: Vec<_> = registry.scenarios().iter().filter(|scenario| names_of([*scenario]) == *names).collect();
    let by_text = |scenario: &&&Arc<Scenario>| {
        [&scenario.flowchart, &scenario.text, &scenario.code].iter().any(|text| system.contains(core_of(text)))
    };
    let by_name = |scenario: &&&Arc<Scenario>| file_of(scenario) == file;
    let found = match fitting.as_slice() {
        [only] => Some(only),
        several => several.iter().find(by_text).or_else(|| several.iter().find(by_name)),
    };
    found.map(|scenario| Arc::clone(scenario))
}

/// Finds the scenarios of the role that has exactly these tools; of several roles, the one that the file is named after.
fn role_with(registry: &Registry, names: &BTreeSet<&str>, file: &str) -> Vec<Arc<Scenario>> {
    let roles: BTreeSet<&Arc<str>> = registry.scenarios().iter().map(|scenario| &scenario.role).collect();
    let fitting: Vec<Vec<Arc<Scenario>>> =
        roles.into_iter().map(|role| registry.of_role(role)).filter(|all| names_of(all) == *names).collect();
    let named = |all: &&Vec<Arc<Scenario>>| all.first().is_some_and(|scenario| &*scenario.role == file);
    match fitting.as_slice() {
        [only] => only.clone(),
        several => several.iter().find(named).cloned().unwrap_or_default(),
    }
}

/// Base name of a scenario's file: every run of characters other than letters and digits becomes one `_`
/// (docs/benchmarks/flowbench.md §2.5).
fn file_of(scenario: &Scenario) -> String {
    let mut name = String::new();
    for c in scenario.name.chars() {
        if c.is_alphanumeric() {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    format!("{}__{name}", scenario.role)
}

/// Returns a workflow's text without the characters around it that vary between prompts.
fn core_of(text: &str) -> &str {
    text.trim().trim_start_matches('：').trim()
}

/// Determines the format of the workflows in a prompt, by Mermaid keywords or by the known workflows; `None` if
/// neither occurs.
fn format_in(system: &str, scenarios: &[Arc<Scenario>]) -> Option<Format> {
    let any =
        |pick: fn(&Scenario) -> &Arc<str>| scenarios.iter().any(|scenario| system.contains(core_of(pick(scenario))));
    let (text, code) = (any(|scenario| &scenario.text), any(|scenario| &scenario.code));
    let chart = ["flowchart TD", "flowchart LR", "flowchart TB"].iter().any(|word| system.contains(word));
    match (text, code, chart) {
        (true, true, true) => Some(Format::Ensemble),
        (_, _, true) => Some(Format::Flowchart),
        (true, false, false) => Some(Format::Text),
        (false, true, false) => Some(Format::Code),
        (false, false, false) if !scenarios.is_empty() => Some(Format::None),
        _ => None,
    }
}
