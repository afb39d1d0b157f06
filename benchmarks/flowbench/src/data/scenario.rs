//! Scenarios: the workflow of one business process in three formats, and its tools (docs/benchmarks/flowbench.md §2.3).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::flowchart::Flowchart;

/// One scenario.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Id of the scenario.
    pub(crate) uuid: Arc<str>,
    /// Domain, such as `Customer Service`.
    pub(crate) domain: Arc<str>,
    /// Role, such as `hotel_reception`.
    pub(crate) role: Arc<str>,
    /// Name, such as `Book a hotel`.
    pub(crate) name: Arc<str>,
    /// Tools in the order of the file.
    pub(crate) tools: Vec<Arc<Tool>>,
    /// The workflow as prose.
    pub(crate) text: Arc<str>,
    /// The workflow as pseudo-code.
    pub(crate) code: Arc<str>,
    /// The workflow as Mermaid, as written (real ones begin with a full-width colon).
    pub(crate) flowchart: Arc<str>,
    /// The flowchart as a graph.
    pub(crate) chart: Arc<Flowchart>,
}

/// A tool of a scenario. It is identified by scenario and name: the same name may mean different tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// Name of the tool.
    pub(crate) name: Arc<str>,
    /// Description for the model.
    pub(crate) description: Arc<str>,
    /// Parameter specifications by name, as written.
    pub(crate) inputs: Map<String, Value>,
    /// Result specifications by name, as written.
    pub(crate) outputs: Map<String, Value>,
    /// The tool's block in a prompt, without the blank line that ends it.
    pub(crate) block: Arc<str>,
}

impl Tool {
    /// Finds an input parameter by name.
    pub(crate) fn parameter(&self, name: &str) -> Option<Parameter<'_>> {
        self.inputs.get(name).map(|spec| Parameter { spec })
    }
}

/// Specification of a parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter<'t> {
    /// The JSON as written.
    pub(crate) spec: &'t Value,
}

impl<'t> Parameter<'t> {
    /// Returns the description; enumerations are listed in it.
    pub(crate) fn description(self) -> &'t str {
        self.spec.get("description").and_then(Value::as_str).unwrap_or("")
    }

    /// Returns `true` if the parameter is required.
    pub(crate) fn required(self) -> bool {
        self.spec.get("required").and_then(Value::as_bool).unwrap_or(false)
    }
}
