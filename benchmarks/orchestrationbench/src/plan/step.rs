//! A planning step: the extracted plan and its similarity to the gold.

use regatta_pycompat::yaml::{Dict, Value};
use regatta_pycompat::{repr_float, repr_text};
use serde_json::{Value as Json, json};

use super::compare::{self, Compared};
use super::distance::{Costs, Similarity};
use super::reading::Raised;

/// Plan read from the answer to a planning call (docs/benchmarks/orchestrationbench.md §4.1).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Extracted<'a> {
    /// The call failed: there is no answer.
    Missing,
    /// The answer holds no plan, or there is no text in it.
    None,
    /// Extraction raises an exception, given by the name of its class.
    Exception(&'static str),
    /// A plan: a dict with a key that begins with `workflow_`, whatever its values are.
    Workflow(&'a Dict),
}

/// Kind of [`Extracted`], without the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Missing,
    None,
    Exception(&'static str),
    Workflow,
}

/// Evaluator whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    Official,
    Paper,
}

/// A planning step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanStep {
    rules: Rules,
    extracted: Kind,
    /// The step has a gold plan to compare with.
    pub(crate) has_gold: bool,
    /// Keys of the extracted plan, as Python prints them.
    pub(crate) keys: Vec<String>,
    /// Number of failures that this step adds: two for an answer without a plan, one for no answer, and one less
    /// without gold. Always 0 for `paper`.
    pub(crate) failed: u32,
    /// Comparison with the gold, if there was one. A step with gold but neither a comparison nor an exception counts
    /// as zero.
    pub(crate) compared: Option<Compared>,
    /// Exception (its class) that drops the step's run in `official`, or makes the plan malformed in `paper`.
    pub(crate) exception: Option<&'static str>,
}

/// Scores a step as the official code does (docs/benchmarks/orchestrationbench.md §5.2). `gold` is the plan extracted
/// from the gold text, if there is one.
pub(crate) fn score_step_official(gold: Option<&Dict>, extracted: Extracted<'_>, costs: &Costs) -> PlanStep {
    let step = PlanStep::read(Rules::Official, gold, extracted);
    let failed = match extracted {
        Extracted::None => 1 + u32::from(step.has_gold),
        Extracted::Missing => u32::from(step.has_gold),
        Extracted::Exception(_) | Extracted::Workflow(_) => 0,
    };
    PlanStep { failed, ..step }.compare(gold, extracted, |plan, gold| compare::official(plan, gold, costs))
}

/// Scores a step as the paper describes it (docs/benchmarks/orchestrationbench.md §6, points 2 to 4).
pub(crate) fn score_step_paper(gold: Option<&Dict>, extracted: Extracted<'_>, costs: &Costs) -> PlanStep {
    PlanStep::read(Rules::Paper, gold, extracted)
        .compare(gold, extracted, |plan, gold| compare::paper(plan, gold, costs))
}

impl PlanStep {
    fn read(rules: Rules, gold: Option<&Dict>, extracted: Extracted<'_>) -> Self {
        let (kind, keys, exception) = match extracted {
            Extracted::Missing => (Kind::Missing, Vec::new(), None),
            Extracted::None => (Kind::None, Vec::new(), None),
            Extracted::Exception(class) => (Kind::Exception(class), Vec::new(), Some(class)),
            Extracted::Workflow(plan) => {
                // The official code logs every extracted plan, which raises when it cannot be printed.
                let is_logged = rules == Rules::Paper || plan.is_printable();
                (Kind::Workflow, plan.keys().map(printed).collect(), (!is_logged).then_some("ValueError"))
            }
        };
        Self { rules, extracted: kind, has_gold: gold.is_some(), keys, failed: 0, compared: None, exception }
    }

    fn compare(
        self,
        gold: Option<&Dict>,
        extracted: Extracted<'_>,
        compare: impl Fn(&Dict, &Dict) -> Result<Compared, Raised>,
    ) -> Self {
        let (Some(gold), Extracted::Workflow(plan), None) = (gold, extracted, self.exception) else { return self };
        match compare(plan, gold) {
            Ok(compared) => Self { compared: Some(compared), ..self },
            Err(Raised(class)) => Self { exception: Some(class), ..self },
        }
    }

    /// Score of the step in 0..=1; `None` without gold. (In `official` its run may be dropped all the same.)
    pub(crate) fn score(&self) -> Option<f64> {
        self.has_gold.then(|| self.compared.map_or(0.0, |compared| compared.overall))
    }

    /// Returns `true` if a search was cut short.
    pub(crate) fn is_bounded(&self) -> bool {
        self.compared.is_some_and(|compared| compared.structure.bounded || compared.component.bounded)
    }

    /// Reason why a step with gold has no plan to compare: `missing`, `unparsable`, `exception` or `ill_typed`.
    /// `None` if it has one.
    pub(crate) fn failure(&self) -> Option<&'static str> {
        match (self.extracted, self.exception) {
            (Kind::Missing, _) => Some("missing"),
            (Kind::None, _) => Some("unparsable"),
            (Kind::Exception(_), _) => Some("exception"),
            (Kind::Workflow, Some(_)) => Some("ill_typed"),
            (Kind::Workflow, None) => None,
        }
    }

    /// Entry of the step in golden vectors, under `items` (docs/benchmarks/orchestrationbench.md §11).
    pub(crate) fn entry(&self) -> Json {
        let mut entry = json!({ "kind": "plan", "has_gold": self.has_gold });
        match self.rules {
            Rules::Official => self.fill_official(&mut entry),
            Rules::Paper => self.fill_paper(&mut entry),
        }
        if self.is_bounded() {
            entry["bounded"] = true.into();
        }
        entry
    }

    fn fill_official(&self, entry: &mut Json) {
        entry["extracted"] = match self.extracted {
            Kind::Missing => "missing".into(),
            Kind::None => "none".into(),
            Kind::Exception(class) => format!("exception:{class}").into(),
            Kind::Workflow => "workflow".into(),
        };
        if self.extracted == Kind::Workflow {
            entry["keys"] = self.keys.clone().into();
        }
        if let Some(class) = self.exception {
            entry["exception"] = class.into();
            return;
        }
        entry["failed"] = self.failed.into();
        if let Some(score) = self.score() {
            entry["overall"] = score.into();
        }
        let nothing = Similarity::default();
        let similarities = match (self.compared, self.extracted) {
            (Some(compared), _) => (compared.structure, compared.component),
            (None, Kind::None) if self.has_gold => (nothing, nothing),
            _ => return,
        };
        entry["structure"] = similarity(&similarities.0);
        entry["component"] = similarity(&similarities.1);
    }

    fn fill_paper(&self, entry: &mut Json) {
        let Some(score) = self.score() else { return };
        entry["score"] = score.into();
        let Some(compared) = &self.compared else {
            entry["failed"] = true.into();
            return;
        };
        for (name, of) in [("structure", compared.structure), ("component", compared.component)] {
            entry[name] = json!([of.edit_cost, of.max_cost, of.similarity]);
        }
    }
}

fn similarity(of: &Similarity) -> Json {
    json!({ "edit_cost": of.edit_cost, "max_cost": of.max_cost, "similarity": of.similarity })
}

/// `str(key)`.
pub(super) fn printed(key: &Value) -> String {
    match key {
        Value::Str(text) => text.clone(),
        other => repr(other),
    }
}

fn repr(key: &Value) -> String {
    match key {
        Value::None => "None".to_owned(),
        Value::Bool(bool) => if *bool { "True" } else { "False" }.to_owned(),
        Value::Int(int) => int.decimal().to_owned(),
        Value::Float(float) => repr_float(*float),
        Value::Str(text) => repr_text(text),
        Value::Date(date) => date.to_string(),
        Value::DateTime(moment) => moment.iso(' '),
        Value::Pair(pair) => format!("({}, {})", repr(&pair.0), repr(&pair.1)),
        // Keys of other kinds cannot be hashed, except bytes, whose exact text does not matter.
        other => other.type_name().to_owned(),
    }
}
