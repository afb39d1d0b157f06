//! Scenarios: the workflow of one business process in three formats, and its tools (docs/benchmarks/flowbench.md §2.3).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::flowchart::Flowchart;

/// One scenario.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Its id.
    pub(crate) uuid: Arc<str>,
    /// Its domain, as `Customer Service`.
    pub(crate) domain: Arc<str>,
    /// Its role, as `hotel_reception`.
    pub(crate) role: Arc<str>,
    /// Its name, as `Book a hotel`.
    pub(crate) name: Arc<str>,
    /// Its tools.
    pub(crate) tools: Vec<Arc<Tool>>,
    /// The workflow as prose.
    pub(crate) text: Arc<str>,
    /// The workflow as pseudo-code.
    pub(crate) code: Arc<str>,
    /// The workflow as Mermaid, as written (real ones begin with a full-width colon).
    pub(crate) flowchart: Arc<str>,
    /// The same as a graph.
    pub(crate) chart: Arc<Flowchart>,
}

/// One tool. It is known by scenario and name: the same name may mean different tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// What it does.
    pub(crate) description: Arc<str>,
    /// Parameter specs by name, as written.
    pub(crate) inputs: Map<String, Value>,
    /// Result specs by name, as written.
    pub(crate) outputs: Map<String, Value>,
    /// The tool as it stands in a prompt, without the blank line that ends it.
    pub(crate) block: Arc<str>,
}

impl Tool {
    /// The input parameter of this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<Parameter<'_>> {
        self.inputs.get(name).map(|spec| Parameter { spec })
    }
}

/// A parameter's spec.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter<'t> {
    /// As written.
    pub(crate) spec: &'t Value,
}

impl<'t> Parameter<'t> {
    /// What it is for; enumerations are written in here.
    pub(crate) fn description(self) -> &'t str {
        self.spec.get("description").and_then(Value::as_str).unwrap_or("")
    }

    /// Whether the tool needs it.
    pub(crate) fn required(self) -> bool {
        self.spec.get("required").and_then(Value::as_bool).unwrap_or(false)
    }
}
