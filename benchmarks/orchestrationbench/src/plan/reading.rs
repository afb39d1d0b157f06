//! Access to a plan's values with the semantics of Python.

use std::borrow::Cow;
use std::collections::HashMap;

use regatta_pycompat::yaml::{Collection, Dict, Value};

/// The exception that stops the official evaluator, as the name of its class; for `paper`, a plan that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Raised(
    /// Name of the class, such as `TypeError`.
    pub(crate) &'static str,
);

/// The workflows of a plan: the entries whose keys contain the word `workflow`.
#[derive(Debug)]
pub(super) struct Workflows<'a> {
    all: Vec<Workflow<'a>>,
    numbers: HashMap<&'a str, usize>,
}

/// A workflow.
#[derive(Debug)]
pub(super) struct Workflow<'a> {
    /// Key in the plan.
    pub(super) id: &'a str,
    value: &'a Value,
}

impl<'a> Workflows<'a> {
    /// Collects the workflows of `plan`. A key that is not a text stops the evaluator, even after the workflows.
    pub(super) fn of(plan: &'a Dict) -> Result<Self, Raised> {
        let mut all = Vec::new();
        for (key, value) in plan.iter() {
            let id = key.as_str().ok_or(Raised("TypeError"))?;
            if id.contains("workflow") {
                all.push(Workflow { id, value });
            }
        }
        let numbers = all.iter().enumerate().map(|(number, workflow)| (workflow.id, number)).collect();
        Ok(Self { all, numbers })
    }

    /// Returns the workflows in the order of the plan.
    pub(super) fn all(&self) -> &[Workflow<'a>] {
        &self.all
    }

    /// Returns the number of the workflow with this id.
    pub(super) fn at(&self, id: &str) -> Option<usize> {
        self.numbers.get(id).copied()
    }
}

impl Workflow<'_> {
    /// Returns the entries of the workflow, or the exception of `value.get`.
    pub(super) fn fields(&self) -> Result<&Dict, Raised> {
        fields(self.value)
    }
}

/// Returns the dict behind `value.get`, or the exception that it raises.
pub(super) fn fields(value: &Value) -> Result<&Dict, Raised> {
    value.as_dict().ok_or(Raised("AttributeError"))
}

/// Returns the elements of `for element in value`.
pub(super) fn elements(value: &Value) -> Result<Cow<'_, [Value]>, Raised> {
    Ok(match value {
        Value::List(list) | Value::Set(list) => Cow::Borrowed(list),
        Value::Str(text) => text.chars().map(|c| Value::Str(c.to_string())).collect(),
        Value::Dict(dict) => dict.keys().cloned().collect(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| Value::Int(i64::from(*byte).into())).collect(),
        Value::Pair(pair) => Cow::Owned(vec![pair.0.clone(), pair.1.clone()]),
        // Iterating a list that contains itself yields a list.
        Value::Cycle(Collection::List) => Cow::Owned(vec![Value::Cycle(Collection::List)]),
        Value::Cycle(_) | Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            return Err(Raised("TypeError"));
        }
        Value::Date(_) | Value::DateTime(_) => return Err(Raised("TypeError")),
    })
}
