//! Conversion of a scenario's steps into labels, as the official code does it (docs/benchmarks/orchestrationbench.md
//! §2.4).

use std::sync::Arc;

use regatta_pycompat::dumps;
use regatta_pycompat::yaml::{Value, safe_load};

use super::label::{Content, Entry, GoldCall, Labels, Speaker, Suffix};
use super::scenario_step::{Author, Step};

/// Name of a gold call's tool when the data name none.
const NAMELESS: &str = "tool_name";
/// Annotation of steps that hold the system information.
const SYSTEM: &str = "system";

/// Labels, and the steps at which a model is asked.
#[derive(Debug, Default)]
pub(super) struct Gold {
    pub(super) system_info: Arc<str>,
    pub(super) labels: Labels,
    /// Steps with the text of their gold plan, ascending.
    pub(super) plans: Vec<(u32, Arc<str>)>,
    /// Steps with their sub agent, ascending.
    pub(super) decisions: Vec<(u32, Arc<str>)>,
}

impl Gold {
    /// # Errors
    /// With the step whose recorded result cannot be serialised as JSON, and the type of the value.
    pub(super) fn of(steps: &[Step]) -> Result<Self, (&Step, &'static str)> {
        let mut gold = Self::default();
        for step in steps {
            gold.add(step).map_err(|kind| (step, kind))?;
        }
        Ok(gold)
    }

    fn add(&mut self, step: &Step) -> Result<(), &'static str> {
        let (number, text) = (step.number, &step.content);
        let mut set = |suffix, entry| self.labels.insert((number, suffix), entry);
        if step.workflow_id.as_deref() == Some(SYSTEM) {
            self.system_info = Arc::clone(text);
            set(Suffix::Message, Entry::said(Speaker::System, None, Arc::clone(text)));
        } else if text.starts_with("workflow_") {
            // Set whoever the author is.
            set(Suffix::Message, Entry::said(Speaker::Assistant, None, Arc::clone(text)));
            self.plans.push((number, Arc::clone(text)));
        } else {
            let (speaker, agent) = match &step.author {
                Author::Main => (Speaker::Assistant, None),
                Author::User => (Speaker::User, None),
                Author::Agent(agent) => (Speaker::Assistant, Some(Arc::clone(agent))),
            };
            set(Suffix::Message, Entry::said(speaker, agent.clone(), Arc::clone(text)));
            let Some(agent) = agent else { return Ok(()) };
            if text.contains("tool") {
                match read_calls(text)? {
                    Some(Called { calls, result, name }) => {
                        let called = Entry::said(Speaker::Assistant, Some(Arc::clone(&agent)), "".into());
                        set(Suffix::Call, Entry { calls, ..called });
                        let returned = Entry::said(Speaker::Tool, Some(Arc::clone(&agent)), "".into());
                        set(Suffix::Result, Entry { content: result, name: Some(name), ..returned });
                    }
                    None => {
                        let entry = Entry::said(Speaker::Assistant, Some(Arc::clone(&agent)), Arc::clone(text));
                        set(Suffix::Call, entry);
                    }
                }
            }
            self.decisions.push((number, agent));
        }
        Ok(())
    }
}

/// Tool calls in a sub agent's step.
struct Called {
    /// Calls of the step, at least one.
    calls: Vec<GoldCall>,
    /// Recorded result of the calls.
    result: Content,
    /// Tool of the first call.
    name: Arc<str>,
}

/// Parses the calls of a step; `None` where the official code raises an exception on the way.
fn read_calls(text: &str) -> Result<Option<Called>, &'static str> {
    let Ok(value) = safe_load(text) else { return Ok(None) };
    let Some(fields) = value.as_dict() else { return Ok(None) };
    let several = fields.get("tool_call").filter(|calls| calls.is_truthy());
    let calls = match several {
        None => {
            let arguments = fields.get("arguments").or_else(|| fields.get("parameters"));
            let arguments = arguments.filter(|arguments| arguments.is_truthy());
            arguments_text(arguments)
                .map(|arguments| vec![GoldCall { name: name_of(fields.get("tool"), NAMELESS), arguments }])
        }
        Some(Value::List(calls)) => read_several(calls),
        Some(_) => None,
    };
    let Some(calls) = calls else { return Ok(None) };
    let result = match fields.get("tool_call_result") {
        None => Content::Text("".into()),
        Some(Value::Str(text)) => Content::Text(text.as_str().into()),
        // The official code would continue here, and fail at the first history that contains the result.
        Some(other) => Content::Json(dumps(other)?.into()),
    };
    let name = calls.first().map_or_else(|| NAMELESS.into(), |call| Arc::clone(&call.name));
    Ok(Some(Called { calls, result, name }))
}

fn read_several(calls: &[Value]) -> Option<Vec<GoldCall>> {
    let first = name_of(calls.first()?.as_dict()?.get("tool"), NAMELESS);
    let read = |call: &Value| {
        let call = call.as_dict()?;
        Some(GoldCall { name: name_of(call.get("tool"), &first), arguments: arguments_text(call.get("arguments"))? })
    };
    calls.iter().map(read).collect()
}

/// Returns a tool's name. A value that is not a text is replaced by its JSON, or else its type; no tool has such a name.
fn name_of(value: Option<&Value>, default: &str) -> Arc<str> {
    match value {
        None => default.into(),
        Some(Value::Str(name)) => name.as_str().into(),
        Some(other) => dumps(other).unwrap_or_else(|kind| kind.to_owned()).into(),
    }
}

fn arguments_text(arguments: Option<&Value>) -> Option<Arc<str>> {
    match arguments {
        None => Some("{}".into()),
        Some(arguments) => dumps(arguments).ok().map(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_step(content: &str) -> Vec<Step> {
        let author = Author::Agent("a_agent".into());
        vec![Step { number: 1, workflow_id: None, author, content: content.into() }]
    }

    fn calls(content: &str) -> Vec<(String, String)> {
        let steps = agent_step(content);
        let gold = Gold::of(&steps).unwrap_or_else(|_| unreachable!());
        let entry = &gold.labels[&(1, Suffix::Call)];
        entry.calls.iter().map(|call| (call.name.to_string(), call.arguments.to_string())).collect()
    }

    fn pairs(calls: &[(&str, &str)]) -> Vec<(String, String)> {
        calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect()
    }

    #[test]
    fn one_call_is_what_stands_beside_its_result() {
        let one = calls("tool: find\narguments:\n  도시: 서울\n  n: 2\ntool_call_result: {}");
        assert_eq!(one, pairs(&[("find", "{\"도시\": \"서울\", \"n\": 2}")]));
        assert_eq!(calls("tool: find"), pairs(&[("find", "{}")]));
        assert_eq!(calls("tool: find\narguments:"), pairs(&[("find", "{}")]), "nothing is no arguments");
        assert_eq!(calls("name: find\nparameters: {a: 1}\ntool_call_result: x"), pairs(&[("tool_name", "{\"a\": 1}")]));
        assert_eq!(calls("tool: a\ntool: b\narguments: {x: 1}\narguments: {y: 2}"), pairs(&[("b", "{\"y\": 2}")]));
    }

    #[test]
    fn several_calls_stand_in_a_list() {
        let content =
            "tool_call:\n- tool: find\n  arguments: {a: 1}\n- arguments: {a: 2}\n- tool: other\ntool_call_result: []";
        assert_eq!(calls(content), pairs(&[("find", "{\"a\": 1}"), ("find", "{\"a\": 2}"), ("other", "{}")]));
        assert_eq!(calls("tool_call:\n- {}\n"), pairs(&[("tool_name", "{}")]));
        assert_eq!(calls("tool_call: []\ntool: find"), pairs(&[("find", "{}")]), "none is not several");
    }

    #[test]
    fn what_cannot_be_read_stays_as_it_was_written_and_counts_as_a_rejection() {
        let contents = [
            "- tool: find",
            "tool: [",
            "use a tool",
            "tool_call: find",
            "tool_call: {tool: find}",
            "tool_call: [find]",
            "tool: find\narguments: {day: 2025-08-01}",
            "tool: find\narguments: {day: 2025-02-30}",
        ];
        for content in contents {
            let steps = agent_step(content);
            let gold = Gold::of(&steps).unwrap_or_else(|_| unreachable!());
            let entry = &gold.labels[&(1, Suffix::Call)];
            assert!(entry.calls.is_empty() && entry.content == Content::Text(content.into()), "{content}");
            assert!(!gold.labels.contains_key(&(1, Suffix::Result)), "{content}");
        }
    }

    #[test]
    fn a_rejection_without_the_word_has_one_label() {
        let steps = agent_step("status: AWAITING_USER_INPUT\nrequired_info: a Tool");
        let gold = Gold::of(&steps).unwrap_or_else(|_| unreachable!());
        assert_eq!(gold.labels.keys().copied().collect::<Vec<_>>(), [(1, Suffix::Message)]);
        assert_eq!(gold.decisions, [(1, "a_agent".into())]);
    }

    #[test]
    fn a_result_is_kept_as_a_structure() {
        let result = |content: &str| {
            let steps = agent_step(content);
            let gold = Gold::of(&steps).unwrap_or_else(|_| unreachable!());
            gold.labels[&(1, Suffix::Result)].content.clone()
        };
        assert_eq!(result("tool: a"), Content::Text("".into()));
        assert_eq!(result("tool: a\ntool_call_result: done"), Content::Text("done".into()));
        assert_eq!(result("tool: a\ntool_call_result:"), Content::Json("null".into()));
        assert_eq!(result("tool: a\ntool_call_result: {b: [1.0, 참]}"), Content::Json("{\"b\": [1.0, \"참\"]}".into()));
        let steps = agent_step("tool: a\ntool_call_result: {day: 2025-08-01}");
        assert_eq!(Gold::of(&steps).err().map(|(step, kind)| (step.number, kind)), Some((1, "date")));
    }
}
