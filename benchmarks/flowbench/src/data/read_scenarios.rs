//! Parser of the scenarios, from `workflow_final.jsonl` or from `knowledge.json`, and of the descriptions of roles.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of, lines};
use serde_json::{Map, Value};

use super::scenario::{Scenario, Tool};
use super::tool_text::{block, repaired, tools_in};
use crate::flowchart;

/// All scenarios, with times and descriptions of their roles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    /// Scenarios in the order of the file.
    scenarios: Vec<Arc<Scenario>>,
    by_uuid: BTreeMap<Arc<str>, usize>,
    /// Time by role.
    datetimes: BTreeMap<String, Arc<str>>,
    /// Description by role.
    backgrounds: BTreeMap<String, Arc<str>>,
}

impl Registry {
    /// Returns all scenarios in the order of the file.
    pub(crate) fn scenarios(&self) -> &[Arc<Scenario>] {
        &self.scenarios
    }

    /// Finds a scenario by id.
    pub(crate) fn scenario(&self, uuid: &str) -> Option<&Arc<Scenario>> {
        self.by_uuid.get(uuid).and_then(|&position| self.scenarios.get(position))
    }

    /// Returns the scenarios of a role in the order of the file.
    pub(crate) fn of_role(&self, role: &str) -> Vec<Arc<Scenario>> {
        self.scenarios.iter().filter(|scenario| &*scenario.role == role).cloned().collect()
    }

    /// Returns the time of a role's prompts.
    pub(crate) fn datetime(&self, role: &str) -> Option<&Arc<str>> {
        self.datetimes.get(role)
    }

    /// Returns the description of a role, a paragraph.
    pub(crate) fn background(&self, role: &str) -> Option<&Arc<str>> {
        self.backgrounds.get(role)
    }

    /// Adds the scenarios of a `workflow_final.jsonl`.
    pub(super) fn read_scenarios(&mut self, file: &SourceLocation<'_>, content: &[u8]) -> Result<(), DataError> {
        for line in lines(file, content) {
            let (place, value) = line?;
            let scenario = self.scenario_of(&place, &value)?;
            self.add(&place, "uuid", scenario)?;
        }
        if self.scenarios.is_empty() {
            return Err(file.problem("holds no scenario"));
        }
        Ok(())
    }

    /// Adds the scenarios of a `knowledge.json`: role to scenario to its workflows and tools.
    pub(super) fn read_knowledge(&mut self, file: &SourceLocation<'_>, content: &[u8]) -> Result<(), DataError> {
        let value: Value = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
        let Value::Object(roles) = &value else {
            return Err(
                file.problem(format!("must be an object of roles, is {}; records do not need it", kind_of(&value)))
            );
        };
        for (role, scenarios) in roles {
            let Value::Object(scenarios) = scenarios else {
                return Err(file.error(role, format!("must be an object of scenarios, is {}", kind_of(scenarios))));
            };
            for (name, entry) in scenarios {
                let at = |field: &str| format!("{role}.{name}.{field}");
                let text = |field: &str| file.text_at(entry.get(field), &at(field));
                let tools = text("tools")?;
                let tools = tools_in(tools).map_err(|problem| file.error(&at("tools"), problem))?;
                let chart = text("flowchart")?;
                let parsed = flowchart::parse(chart).map_err(|error| file.error(&at("flowchart"), error))?;
                let scenario = Scenario {
                    uuid: text("uuid")?.into(),
                    domain: text("domain")?.into(),
                    role: role.as_str().into(),
                    name: name.as_str().into(),
                    tools: tools.into_iter().map(Arc::new).collect(),
                    text: text("text")?.into(),
                    code: text("code")?.into(),
                    flowchart: chart.into(),
                    chart: Arc::new(parsed),
                };
                self.add(file, &at("uuid"), scenario)?;
            }
        }
        Ok(())
    }

    /// Reads `role_datetime.json`.
    pub(super) fn read_datetimes(&mut self, file: &SourceLocation<'_>, content: &[u8]) -> Result<(), DataError> {
        self.datetimes.extend(texts(file, content)?);
        Ok(())
    }

    /// Reads `role_desc.json`.
    pub(super) fn read_backgrounds(&mut self, file: &SourceLocation<'_>, content: &[u8]) -> Result<(), DataError> {
        self.backgrounds = texts(file, content)?;
        Ok(())
    }

    fn add(&mut self, place: &SourceLocation<'_>, field: &str, scenario: Scenario) -> Result<(), DataError> {
        let position = self.scenarios.len();
        if self.by_uuid.insert(Arc::clone(&scenario.uuid), position).is_some() {
            return Err(place.error(field, format!("{} is the id of an earlier scenario too", scenario.uuid)));
        }
        if self.scenarios.iter().any(|known| (&known.role, &known.name) == (&scenario.role, &scenario.name)) {
            let problem = format!("the role {} has a scenario {:?} already", scenario.role, scenario.name);
            return Err(place.error("scenario", problem));
        }
        self.scenarios.push(Arc::new(scenario));
        Ok(())
    }

    fn scenario_of(&mut self, place: &SourceLocation<'_>, value: &Value) -> Result<Scenario, DataError> {
        let role = place.text(value, "role")?;
        let mut tools = Vec::new();
        for (position, tool) in place.array(value, "apis")?.iter().enumerate() {
            let (tool, time) = tool_of(place, &format!("apis[{position}]"), tool)?;
            if let Some(time) = time {
                self.datetimes.entry(role.to_owned()).or_insert(time);
            }
            tools.push(Arc::new(tool));
        }
        let workflow = value.get("workflow").unwrap_or(&Value::Null);
        let text = |format: &str| place.text_at(workflow.get(format), &format!("workflow.{format}"));
        let chart = text("flowchart")?;
        let parsed = flowchart::parse(chart).map_err(|error| place.error("workflow.flowchart", error))?;
        Ok(Scenario {
            uuid: place.text(value, "uuid")?.into(),
            domain: place.text(value, "domain")?.into(),
            role: role.into(),
            name: place.text(value, "scenario")?.into(),
            tools,
            text: text("text")?.into(),
            code: text("code")?.into(),
            flowchart: chart.into(),
            chart: Arc::new(parsed),
        })
    }
}

/// Parses a tool, and the time if it stands below the tool's block. The block is rendered from the parts where the
/// record has none.
fn tool_of(place: &SourceLocation<'_>, field: &str, value: &Value) -> Result<(Tool, Option<Arc<str>>), DataError> {
    let at = |name: &str| format!("{field}.{name}");
    let name = place.text_at(value.get("api_name"), &at("api_name"))?;
    if name.is_empty() {
        return Err(place.error(&at("api_name"), "is empty"));
    }
    let description = place.text_at(value.get("api_description"), &at("api_description"))?;
    let inputs = specs(place, &at("input_parameters"), value.get("input_parameters"))?;
    let outputs = specs(place, &at("output_parameters"), value.get("output_parameters"))?;
    for (name, spec) in &inputs {
        if spec.get("required").is_some_and(|required| !required.is_boolean()) {
            return Err(place.error(&at(&format!("input_parameters.{name}.required")), "must be true or false"));
        }
    }
    let (text, time) = match value.get("raw_block") {
        None => (block(name, description, &inputs, &outputs).into(), None),
        raw => {
            let (text, time) = repaired(place.text_at(raw, &at("raw_block"))?);
            (Arc::from(text), time.map(Arc::from))
        }
    };
    Ok((Tool { name: name.into(), description: description.into(), inputs, outputs, block: text }, time))
}

fn specs(place: &SourceLocation<'_>, field: &str, value: Option<&Value>) -> Result<Map<String, Value>, DataError> {
    let specs = match value {
        Some(Value::Object(specs)) => specs,
        Some(other) => return Err(place.error(field, format!("must be an object, is {}", kind_of(other)))),
        None => return Err(place.error(field, "is missing; it must be an object")),
    };
    for (name, spec) in specs {
        if !spec.is_object() {
            return Err(place.error(&format!("{field}.{name}"), format!("must be an object, is {}", kind_of(spec))));
        }
    }
    Ok(specs.clone())
}

/// Parses an object whose values are texts.
fn texts(file: &SourceLocation<'_>, content: &[u8]) -> Result<BTreeMap<String, Arc<str>>, DataError> {
    let value: Value = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
    let Value::Object(entries) = &value else {
        return Err(file.problem(format!("must be an object of texts, is {}", kind_of(&value))));
    };
    entries.iter().map(|(key, value)| Ok((key.clone(), file.text_at(Some(value), key)?.into()))).collect()
}
