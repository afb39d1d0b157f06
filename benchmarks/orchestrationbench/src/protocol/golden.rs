//! The labels and requests of the golden vectors (docs/benchmarks/orchestrationbench.md §11), from the official data with the official
//! prompts.

use regatta_benchmark_testing::lines;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Digest};
use serde_json::{Map, Value, json};

use super::*;
use crate::data::shared::{official, shared};
use crate::data::{Content, Entry, Speaker, Suffix};

/// The lines of one file of both protocol cases.
fn vectors(file: &str) -> Vec<Value> {
    let Some(root) = shared() else { return Vec::new() };
    ["protocol_en", "protocol_ko"]
        .into_iter()
        .flat_map(|case| lines(&root.join("golden").join(case).join(file)))
        .collect()
}

fn sha(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()[..16].to_owned()
}

fn label(entry: &Entry) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(role(entry.speaker)));
    if let Some(agent) = &entry.agent {
        fields.insert("agent_id".to_owned(), json!(agent));
    }
    let (text, kind) = match &entry.content {
        Content::Text(text) => (text, "string"),
        Content::Json(json) if json.starts_with('{') => (json, "dict"),
        Content::Json(json) => (json, "list"),
    };
    fields.insert("content_sha".to_owned(), json!(sha(text)));
    fields.insert("content_type".to_owned(), json!(kind));
    if !entry.calls.is_empty() {
        let calls = entry.calls.iter().map(|call| json!([call.name, call.arguments]));
        fields.insert("tool_calls".to_owned(), calls.collect());
    }
    if let Some(name) = &entry.name {
        fields.insert("name".to_owned(), json!(name));
    }
    Value::Object(fields)
}

#[test]
fn labels_are_those_of_the_official_code() {
    let Some(data) = official() else { return };
    let vectors = vectors("labels.jsonl");
    assert_eq!(vectors.len(), 221);
    for vector in vectors {
        let scenario = data.named(vector["scenario"].as_str().unwrap());
        let labels: Map<String, Value> =
            scenario.labels.iter().map(|((step, suffix), entry)| (key(*suffix, *step), label(entry))).collect();
        assert_eq!(Value::Object(labels), vector["label"], "{}", scenario.name());
    }
}

/// The request of an item id like `EN/1/1/3`.
fn request(data: &Data, item: &str) -> ChatRequest {
    let parts: Vec<&str> = item.split('/').collect();
    let scenario = data.named(&format!("{}/{}", parts[0], parts[1]));
    let step: u32 = parts[3].parse().unwrap();
    if scenario.planning.contains(&step) {
        planning_request(data, scenario, step)
    } else {
        decision_request(data, scenario, step).unwrap()
    }
}

const fn letter(role: ChatRole) -> char {
    match role {
        ChatRole::System => 'S',
        ChatRole::User => 'U',
        ChatRole::Assistant => 'A',
        ChatRole::Tool => 'T',
    }
}

#[test]
fn requests_are_those_of_the_official_code() {
    let Some(data) = official() else { return };
    let vectors = vectors("requests.jsonl");
    assert_eq!(vectors.len(), 604 + 651);
    let odd = data.scenarios.iter().filter(|scenario| scenario.id.parse::<u32>().is_ok_and(|id| id % 2 == 1));
    let asked = odd.map(|scenario| {
        scenario.planning.len() + scenario.decisions.iter().filter(|decision| decision.is_asked).count()
    });
    assert_eq!(asked.sum::<usize>(), vectors.len(), "none is asked besides");
    for vector in vectors {
        let item = vector["item"].as_str().unwrap();
        let request = request(data, item);
        let messages = &request.messages;
        assert_eq!(messages.iter().map(|message| letter(message.role)).collect::<String>(), vector["roles"], "{item}");
        let shas: Vec<String> = messages.iter().map(|message| sha(&message.content)).collect();
        assert_eq!(json!(shas), vector["sha"], "{item}");
        let lengths: Vec<usize> = messages.iter().map(|message| message.content.chars().count()).collect();
        assert_eq!(json!(lengths), vector["chars"], "{item}");
        assert_eq!(json!(messages.last().map(|message| &message.content)), vector["last"], "{item}");
        let tools: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(json!(tools), vector["tools"], "{item}");
    }
}

fn wire(messages: &[ChatMessage]) -> Value {
    messages.iter().map(|message| json!({"role": message.role, "content": message.content})).collect()
}

#[test]
fn whole_requests_are_those_of_the_official_code() {
    let Some(data) = official() else { return };
    let vectors = vectors("requests_full.jsonl");
    assert_eq!(vectors.len(), 12);
    for vector in vectors {
        let item = vector["item"].as_str().unwrap();
        let request = request(data, item);
        assert_eq!(wire(&request.messages), vector["messages"], "{item}");
        let function = |tool: &regatta_proto::Tool| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
            json!({"type": "function", "function": function})
        };
        let tools: Vec<Value> = request.tools.iter().map(function).collect();
        // The keys must be in the same order too.
        let expected = vector["tools"].as_array().cloned().unwrap_or_default();
        assert_eq!(json!(tools).to_string(), json!(expected).to_string(), "{item}");
    }
}

/// Removes the sentences around the arguments, which are our own; everything else is compared.
fn without_sentences(prompt: &str) -> Vec<&str> {
    let own = |line: &&str| !line.starts_with("Calculate ") && *line != prompts::COUNT;
    let mut lines: Vec<&str> = prompt.lines().filter(own).collect();
    let last = lines.pop().unwrap();
    let (_, id) = last.trim_matches('*').split_at(last.trim_matches('*').find('[').unwrap());
    lines.push(id);
    lines
}

#[test]
fn a_judge_is_asked_as_the_official_code_asks() {
    let Some(data) = official() else { return };
    let vectors = vectors("judge_requests_full.jsonl");
    assert_eq!(vectors.len(), 20);
    for vector in vectors {
        let name = vector["scenario"].as_str().unwrap();
        let scenario = data.named(name.rsplit_once('/').unwrap().0);
        let messages = vector["messages"].as_array().unwrap();
        let (last, earlier) = messages.split_last().unwrap();
        let expected = last["content"].as_str().unwrap();
        let (id, unresolved) = unresolved_in(expected).unwrap();
        let index: usize = id.trim_end_matches(']').rsplit('_').next().unwrap().parse().unwrap();
        let system = earlier[0]["content"].as_str().unwrap();
        // The vector does not name the step, so it is found by its conversation.
        let asks = |step: &u32| {
            let tools = tools_in(system);
            let (before, prompt) = judge_conversation(data, scenario, *step, &tools, index, &unresolved);
            json!(earlier) == wire(&before) && without_sentences(expected) == without_sentences(&prompt)
        };
        let steps = scenario.decisions.iter().map(|decision| decision.step);
        let found: Vec<u32> = steps.filter(asks).collect();
        assert!(!found.is_empty(), "{name}");
        assert!(found.iter().any(|step| judge_index(scenario, *step) >= index), "{name}");
    }
}

/// Tools whose parameters the judge's system message contains.
fn tools_in(system: &str) -> Vec<String> {
    let (_, after) = system.rsplit_once("<tool_description>\n").unwrap();
    let (json, _) = after.split_once("\n</tool_description>").unwrap();
    serde_json::from_str::<Map<String, Value>>(json).unwrap().into_iter().map(|(name, _)| name).collect()
}

/// The label's key as the official code writes it: `7`, `7-1`, `7-2`.
fn key(suffix: Suffix, step: u32) -> String {
    match suffix {
        Suffix::Message => step.to_string(),
        Suffix::Call => format!("{step}-1"),
        Suffix::Result => format!("{step}-2"),
    }
}

/// The `role` of the official code.
const fn role(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::Tool => "tool",
    }
}
