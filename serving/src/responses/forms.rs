//! Tools that are no functions: those of a namespace, and those whose call is a text. The model is offered them as functions, which endpoints of
//! every format know, and the client reads calls of them in the form that it expects.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regatta_proto::{Digest, Tool, ToolChoice};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::chat::request::{choice_by_word, list};
use crate::error::ApiError;
use crate::fields::{Fields, refuse};
use crate::reader::Reader;
use crate::refused::PROVIDERS_TOOL;
use crate::tools::{foreign, function};

/// Argument of a function in the place of a tool whose call is a text.
const INPUT: &str = "input";
/// Stands between a namespace and the name of a tool in it.
const BETWEEN: &str = "__";
/// Bytes of the longest name of a function that providers take.
const LONGEST_NAME: usize = 64;
/// Two tools would be one to the model, and a call of the one might be told as one of the other.
pub(crate) const SAME_NAME: &str = "has the name that another tool has as a function; rename one of them";

/// The forms in which a client reads calls of its tools, by the names of the functions that the model is offered; functions are not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolForms(BTreeMap<Arc<str>, ToolForm>);

/// The form of a call that is not one of a function by its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolForm {
    /// A call of the function `name` in `namespace`.
    Namespaced { namespace: Arc<str>, name: Arc<str> },
    /// A call with a text.
    Text,
    /// The call of a function in `function_call`, as the first versions of chat completions had it: an answer has one.
    First,
}

impl ToolForms {
    /// The form of a call of the function `name`; `None` for one of a function.
    pub(crate) fn of(&self, name: &str) -> Option<&ToolForm> {
        self.0.get(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `true` if a call of the function `name` is one with a text to the client.
    pub(crate) fn is_text(&self, name: &str) -> bool {
        matches!(self.of(name), Some(ToolForm::Text))
    }

    /// `true` if calls are told as the first versions of chat completions did.
    pub(crate) fn has_first(&self) -> bool {
        self.0.values().any(|form| matches!(form, ToolForm::First))
    }

    /// Adds the form of the tool at `path`, which is called `name` as a function, unless another one of the `names` is.
    pub(crate) fn add(
        &mut self,
        names: &mut BTreeSet<Arc<str>>,
        (name, form): (&Arc<str>, ToolForm),
        path: &str,
    ) -> Result<(), ApiError> {
        if !names.insert(Arc::clone(name)) {
            return Err(refuse(path, SAME_NAME));
        }
        self.0.insert(Arc::clone(name), form);
        Ok(())
    }
}

/// Reads the tools of a request, and the forms of those that are no functions. A search that the provider runs is left out, and reported: clients
/// offer it whether or not it can be had, and the model does without.
pub(super) fn read(tools: Option<&RawValue>, reader: &mut Reader) -> Result<(Vec<Tool>, ToolForms), ApiError> {
    let (mut offered, mut forms, mut names) = (Vec::new(), ToolForms::default(), BTreeSet::new());
    // What else a tool of another form says has no place in a function.
    let mut aside = Reader::new(reader.reading);
    let mut is_verbatim = true;
    for (index, tool) in list(tools, "tools")?.into_iter().enumerate() {
        let path = format!("tools[{index}]");
        let mut tool = Fields::of(tool, path.clone())?;
        let kind = tool.text("type")?;
        match kind.as_deref() {
            None | Some("function") => {
                let tool = function(tool, "parameters", reader)?;
                // Two functions of one name are for the endpoint to judge.
                if !names.insert(Arc::clone(&tool.name)) && forms.of(&tool.name).is_some() {
                    return Err(refuse(&path, SAME_NAME));
                }
                offered.push(tool);
                continue;
            }
            Some("custom") => {
                let tool = with_text(tool, &mut aside)?;
                forms.add(&mut names, (&tool.name, ToolForm::Text), &path)?;
                offered.push(tool);
            }
            Some("namespace") => {
                let namespace: Arc<str> = tool.need("name")?;
                for mut inner in tool.objects("tools")? {
                    if let Some(kind) = inner.text("type")?.filter(|kind| kind != "function") {
                        return Err(inner.refuse("type", foreign(&kind)));
                    }
                    let inner = function(inner, "parameters", &mut aside)?;
                    let name = flattened(&namespace, &inner.name);
                    let form = ToolForm::Namespaced { namespace: Arc::clone(&namespace), name: inner.name };
                    forms.add(&mut names, (&name, form), &path)?;
                    offered.push(Tool { name, ..inner });
                }
                tool.finish(&mut aside)?;
                reader.left_out.insert("tools.namespace");
            }
            Some(kind) if is_search(kind) => {
                reader.left_out.insert("tools.web_search");
            }
            Some(kind) => return Err(tool.refuse("type", foreign(kind))),
        }
        is_verbatim = false;
    }
    reader.left_out.extend(aside.left_out);
    // The endpoint would be offered the others too, in forms in which its calls are not read.
    if !is_verbatim && reader.keep_back("tools") {
        reader.left_out.insert("tools.fields");
    }
    Ok((offered, forms))
}

fn is_search(kind: &str) -> bool {
    kind.starts_with("web_search")
}

/// Reads `tool_choice`. A tool of another form is chosen by the name of its function. A search that has to be made is refused, because the model
/// would have to do without.
pub(super) fn choice(fields: &mut Fields<'_>, reader: &mut Reader) -> Result<ToolChoice, ApiError> {
    let Some(value) = fields.raw("tool_choice") else { return Ok(ToolChoice::Auto) };
    if let Some(choice) = choice_by_word(value)? {
        return Ok(choice);
    }
    let mut choice = Fields::of(value, "tool_choice".to_owned())?;
    let kind = choice.text("type")?;
    match kind.as_deref() {
        None | Some("function" | "custom") => {}
        Some(kind) if is_search(kind) => return Err(choice.refuse("type", PROVIDERS_TOOL)),
        Some(_) => {
            reader.pass_on("tool_choice");
            return Ok(ToolChoice::Auto);
        }
    }
    let name: Arc<str> = choice.need("name")?;
    let namespace = choice.text("namespace")?;
    choice.finish(reader)?;
    Ok(ToolChoice::Named(namespace.map_or_else(|| Arc::clone(&name), |space| flattened(&space, &name))))
}

/// A tool whose call is a text, as a function. The model is told of a grammar, and nobody enforces it.
pub(crate) fn with_text(mut tool: Fields<'_>, aside: &mut Reader) -> Result<Tool, ApiError> {
    let name: Arc<str> = tool.need("name")?;
    let mut description = tool.text("description")?.unwrap_or_default().into_owned();
    if let Some(mut format) = tool.object("format")? {
        format.pass_over(&["type"]);
        // Chat completions have the grammar in an object of its own.
        if let Some(grammar) = format.object("grammar")? {
            format.finish(aside)?;
            format = grammar;
        }
        let (syntax, definition) = (format.text("syntax")?, format.text("definition")?);
        format.finish(aside)?;
        if let Some(definition) = definition {
            let syntax = syntax.unwrap_or("given".into());
            description.push_str(&format!("\n\n`{INPUT}` follows this grammar ({syntax}):\n{definition}"));
            aside.left_out.insert("tools.format");
        }
    }
    tool.finish(aside)?;
    let parameters = json!({
        "type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT], "additionalProperties": false,
    });
    Ok(Tool { name, description: Some(description.into()), parameters: Arc::new(parameters) })
}

/// Name of the function that stands for a tool in a namespace: always the same, and no longer than providers take.
pub(super) fn flattened(namespace: &str, name: &str) -> Arc<str> {
    let between = if namespace.ends_with(BETWEEN) { "" } else { BETWEEN };
    let whole = format!("{namespace}{between}{name}");
    if whole.len() <= LONGEST_NAME {
        return whole.into();
    }
    let end = format!("_{}", Digest::of(whole.as_bytes()).short());
    let kept = whole.floor_char_boundary(LONGEST_NAME - end.len());
    format!("{}{end}", &whole[..kept]).into()
}

/// Arguments of the function in the place of a tool that was called with `text`.
pub(crate) fn arguments(text: &str) -> Arc<str> {
    json!({ INPUT: text }).to_string().into()
}

/// The text with which a tool is called by these arguments of its function; the arguments themselves where they hold none.
pub(crate) fn input(arguments: &str) -> Cow<'_, str> {
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    match parsed.as_ref().and_then(|parsed| parsed.get(INPUT)).and_then(Value::as_str) {
        Some(text) => Cow::Owned(text.to_owned()),
        None => Cow::Borrowed(arguments),
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Passed, Reply, ToolCall, Usage};

    use super::*;
    use crate::{Answer, ChatCall, Format, Reading, Stamp, Streaming};

    /// As a coding agent begins: a function, a tool in a namespace, one that takes a text, and a search.
    const TOOLS: &str = r#"[
        {"type": "function", "name": "shell", "parameters": {"type": "object"}},
        {"type": "namespace", "name": "mcp__docs", "description": "d", "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}}]},
        {"type": "custom", "name": "patch", "description": "Patches.", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
        {"type": "web_search", "external_web_access": false}
    ]"#;

    fn parse(body: &str) -> ChatCall<'_> {
        ChatCall::parse(Format::Responses, body.as_bytes(), Reading::Whole).unwrap()
    }

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn the_model_is_offered_functions_and_no_search_and_nothing_goes_on_as_it_is() {
        let body = format!(r#"{{"model": "m", "input": "x", "tools": {TOOLS}}}"#);
        let parsed = parse(&body);
        let names: Vec<&str> = parsed.request.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["shell", "mcp__docs__look", "patch"]);
        assert_eq!(parsed.request.tools[1].description.as_deref(), Some("Looks."));
        let patch = &parsed.request.tools[2];
        let described = "Patches.\n\n`input` follows this grammar (lark):\nstart: x";
        assert_eq!(patch.description.as_deref(), Some(described));
        assert_eq!(patch.parameters["required"], json!(["input"]));
        assert_eq!(parsed.request.passed, None);
        assert_eq!(parsed.left_out, ["tools.format", "tools.namespace", "tools.web_search"]);
    }

    #[test]
    fn a_search_does_not_go_on_beside_a_field_that_would() {
        let body = r#"{"model": "m", "input": "x", "tools": [{"type": "web_search"}, {"type": "function", "name": "f", "defer_loading": true}]}"#;
        let parsed = parse(body);
        assert_eq!(parsed.request.passed, None);
        assert_eq!(parsed.left_out, ["tools.fields", "tools.web_search"]);
    }

    #[test]
    fn calls_are_told_in_the_form_of_their_tools_and_read_again_as_those_of_functions() {
        let body = format!(r#"{{"model": "m", "input": "x", "tools": {TOOLS}}}"#);
        let forms = parse(&body).forms;
        let calls = vec![call("shell", "{}"), call("mcp__docs__look", "{}"), call("patch", r#"{"input":"a\nb"}"#)];
        let reply = Reply::calling(None, calls.clone());
        let stamp = Stamp { id: "1".into(), created: 0, cost: None, fingerprint: None };
        let answer = Answer { model: "m", reply: &reply, usage: &Usage::default(), stamp: &stamp, forms: Some(&forms) };
        let whole: Value = serde_json::from_slice(&answer.whole(Format::Responses)).unwrap();
        let told = json!([
            {"id": "fc_1_0", "type": "function_call", "status": "completed", "call_id": "c", "name": "shell", "arguments": "{}"},
            {"id": "fc_1_1", "type": "function_call", "status": "completed", "call_id": "c", "name": "look", "namespace": "mcp__docs", "arguments": "{}"},
            {"id": "ctc_1_2", "type": "custom_tool_call", "status": "completed", "call_id": "c", "name": "patch", "input": "a\nb"},
        ]);
        assert_eq!(whole["output"], told);
        let again = json!({"model": "m", "input": whole["output"]}).to_string();
        assert_eq!(parse(&again).request.messages[0].tool_calls, calls);

        let streamed = answer.streamed(Format::Responses, Streaming { include_usage: true });
        let streamed = String::from_utf8(streamed.to_vec()).unwrap();
        let events = streamed.lines().filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
        let of = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap();
        assert_eq!(of("response.custom_tool_call_input.delta")["delta"], "a\nb");
        assert_eq!(of("response.custom_tool_call_input.done")["input"], "a\nb");
        assert_eq!(of("response.completed")["response"]["output"], told);
    }

    #[test]
    fn what_the_model_wrote_is_the_text_where_it_kept_to_no_form() {
        assert_eq!(input(r#"{"input": "x"}"#), "x");
        assert_eq!(input("x"), "x");
        assert_eq!(input(r#"{"other": 1}"#), r#"{"other": 1}"#);
        assert_eq!(&*flattened("mcp__docs__", "look"), "mcp__docs__look");
    }

    #[test]
    fn a_name_that_providers_would_not_take_is_cut_and_stays_one_of_its_own() {
        let [one, other] = ["a", "b"].map(|last| flattened("mcp__docs", &format!("{}{last}", "é".repeat(60))));
        assert!(one.len() <= LONGEST_NAME && one.starts_with("mcp__docs__é"), "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn two_tools_that_would_be_one_function_are_refused() {
        let function = r#"{"type": "function", "name": "a__b__c"}"#;
        let custom = r#"{"type": "custom", "name": "a__b__c"}"#;
        let inner = |name: &str| format!(r#"{{"type": "function", "name": "{name}"}}"#);
        let space = |name: &str, tool: &str| {
            format!(r#"{{"type": "namespace", "name": "{name}", "tools": [{}]}}"#, inner(tool))
        };
        let spaces = [space("a", "b__c"), space("a__b", "c")];
        for (one, other) in [
            (spaces[0].as_str(), spaces[1].as_str()),
            (function, spaces[0].as_str()),
            (spaces[0].as_str(), function),
            (custom, function),
            (function, custom),
        ] {
            let body = format!(r#"{{"model": "m", "input": "x", "tools": [{one}, {other}]}}"#);
            let refused = ChatCall::parse(Format::Responses, body.as_bytes(), Reading::Whole).unwrap_err();
            assert_eq!(refused.message, format!("`tools[1]` {SAME_NAME}"), "{body}");
        }
    }

    #[test]
    fn a_tool_of_another_form_is_chosen_as_its_function_and_a_search_that_must_be_made_is_refused() {
        let choice = |choice: &str| {
            let body = format!(r#"{{"model": "m", "input": "x", "tools": {TOOLS}, "tool_choice": {choice}}}"#);
            ChatCall::parse(Format::Responses, body.as_bytes(), Reading::Whole)
                .map(|call| (call.request.tool_choice, call.request.passed))
        };
        let named = |name: &str| (ToolChoice::Named(name.into()), None::<Arc<Passed>>);
        assert_eq!(choice(r#"{"type": "custom", "name": "patch"}"#).unwrap(), named("patch"));
        let look = r#"{"type": "function", "name": "look", "namespace": "mcp__docs"}"#;
        assert_eq!(choice(look).unwrap(), named("mcp__docs__look"));
        assert!(choice(r#"{"type": "web_search"}"#).unwrap_err().message.contains(PROVIDERS_TOOL));
    }
}
