//! Golden cases of the edit distances alone (kind `unit_ged`, docs/benchmarks/orchestrationbench.md §11).

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::FileSet;
use regatta_pycompat::parse;
use regatta_pycompat::yaml::{Dict, Value};
use serde_json::{Map, Value as Json, json};

use super::compare;
use super::component::{self, ComponentGraph};
use super::distance::{self, Costs, Search, Similarity};
use super::pair::Shape;
use super::reading::Workflows;
use super::structure::{self, StructureGraph};

/// File with the pairs: JSONL with `id`, `pred_workflows`, `gold_workflows`.
const PAIRS_FILE: &str = "pairs.jsonl";

/// Scores every pair: both graphs, their costs by the `official` search, and the exact cost of component graphs.
///
/// # Errors
/// When the file is missing, or a line cannot be read.
pub(crate) fn score_unit_ged(files: &FileSet) -> Result<Json, DataError> {
    let content = files.get(PAIRS_FILE).ok_or_else(|| DataError::MissingFile {
        origin: files.origin().to_owned(),
        path: PAIRS_FILE.to_owned(),
        hint: "a case of kind unit_ged has it".to_owned(),
    })?;
    let place = SourceLocation::file(files.origin(), PAIRS_FILE);
    let text = std::str::from_utf8(content).map_err(|error| place.problem(error))?;
    let mut items = Map::new();
    let (mut with_loops, mut different) = (0_u32, 0_u32);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let unreadable = || place.problem(format!("line {}: not a pair of plans", at + 1));
        let pair: Value = parse(line).ok_or_else(unreadable)?.into();
        let id = pair.get("id").and_then(Value::as_str).ok_or_else(unreadable)?;
        let plan = |key: &str| pair.get(key).and_then(Value::as_dict);
        let graphs = plan("pred_workflows").zip(plan("gold_workflows")).ok_or_else(unreadable)?;
        let [predicted, gold] = [graphs.0, graphs.1].map(Graphs::of);
        let (predicted, gold) = predicted.zip(gold).ok_or_else(unreadable)?;
        let scored = Scored::of(&predicted, &gold);
        with_loops += u32::from(scored.loops > 0);
        different += u32::from((scored.component.edit_cost - scored.exact).abs() > 1e-9);
        items.insert(id.to_owned(), scored.entry(&predicted, &gold));
    }
    let statistics = json!({ "self_loop_pairs": with_loops, "differs_from_exact": different });
    Ok(json!({ "evaluator": "official", "statistics": statistics, "items": items }))
}

/// The graphs of a plan.
struct Graphs {
    structure: StructureGraph,
    component: ComponentGraph,
}

impl Graphs {
    /// `None` where the official evaluator raises an exception.
    fn of(plan: &Dict) -> Option<Self> {
        let workflows = Workflows::of(plan).ok()?;
        Some(Self {
            structure: structure::official(&workflows).ok()?,
            component: component::official(&workflows).ok()?,
        })
    }
}

struct Scored {
    structure: Similarity,
    component: Similarity,
    exact: f64,
    loops: usize,
}

impl Scored {
    fn of(predicted: &Graphs, gold: &Graphs) -> Self {
        let structures = (predicted.structure.shape(), gold.structure.shape());
        let components = [&predicted.component, &gold.component].map(|graph| graph.shape());
        let costs = Costs::OFFICIAL;
        let exact = compare::of_components(&predicted.component, &gold.component, Search::Exact, &costs);
        let loops = |shape: &Shape| shape.edges.iter().filter(|(source, target)| source == target).count();
        Self {
            structure: distance::compare(&structures.0, &structures.1, Search::Inexact, |_, _| 0.0),
            component: compare::of_components(&predicted.component, &gold.component, Search::Inexact, &costs),
            exact: exact.edit_cost,
            loops: components.iter().chain([&structures.0, &structures.1]).map(loops).sum(),
        }
    }

    fn entry(&self, predicted: &Graphs, gold: &Graphs) -> Json {
        let numbers = |of: &Similarity| json!([of.edit_cost, of.max_cost, of.similarity]);
        let structures = [predicted, gold].map(|graphs| {
            let labels = graphs.structure.labels.iter().map(scalar).collect();
            shown(&graphs.structure.shape(), labels)
        });
        let components = [predicted, gold].map(|graphs| {
            let labels = graphs.component.labels.iter();
            let labels = labels.map(|label| json!([scalar(&label.agent), scalar(&label.status)])).collect();
            shown(&graphs.component.shape(), labels)
        });
        json!({
            "structure": numbers(&self.structure),
            "component": numbers(&self.component),
            "component_exact_ged": self.exact,
            "self_loops": self.loops,
            "graphs": { "structure": structures, "component": components },
        })
    }
}

fn shown(shape: &Shape, nodes: Vec<Json>) -> Json {
    json!({ "nodes": nodes, "edges": shape.edges })
}

/// Converts a node's value to JSON.
fn scalar(value: &Value) -> Json {
    match value {
        Value::Bool(bool) => (*bool).into(),
        Value::Int(int) => int.decimal().parse::<i64>().map_or_else(|_| int.decimal().into(), Json::from),
        Value::Float(float) => (*float).into(),
        Value::Str(text) => text.as_str().into(),
        _ => Json::Null,
    }
}
