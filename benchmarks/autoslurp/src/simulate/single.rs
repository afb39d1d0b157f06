//! A simulated model that is the one agent of somebody else's framework: it calls the tools that it is offered, and answers.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Digest, Reply, Tool, ToolCall, ToolChoice};
use serde_json::{Map, Value};

use super::Gold;

/// Reply of a model that knows (or believes) `gold` to `request`: first it asks for the date, if it has a tool for that and needs the date;
/// then it makes the requests with the tool for requests, or says their URLs where there is no such tool; then it answers.
pub(crate) fn reply(gold: &Gold, request: &ChatRequest) -> Reply {
    let tools: &[Tool] = if request.tool_choice == ToolChoice::None { &[] } else { &request.tools };
    let requests = tools.iter().find(|tool| makes_requests(tool));
    let clock = tools.iter().filter(|tool| tells_the_day(tool) && requests.is_none_or(|other| other.name != tool.name));
    if let Some(clock) = clock.take(usize::from(gold.needs_date())).next()
        && results(&request.messages, &clock.name).is_empty()
    {
        return call(request, clock, Map::new());
    }
    let Some(tool) = requests else { return say(gold, &request.messages) };
    let answers = results(&request.messages, &tool.name);
    let parameters = || properties(tool).map(String::as_str).collect::<Vec<_>>();
    let is_posted = parameters().contains(&"query");
    let next =
        if is_posted { gold.next_post(&answers) } else { gold.next_url(&answers).map(|url| (url, String::new())) };
    let Some((url, body)) = next else { return Reply::said(gold.answer(&answers)) };
    let mut arguments = Map::new();
    for name in parameters() {
        let value = match name {
            "url" => &url,
            "query" => &body,
            "method" => "GET",
            _ => continue,
        };
        arguments.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    if !arguments.contains_key("url") {
        let first = parameters().first().copied().unwrap_or("url");
        arguments.insert(first.to_owned(), Value::String(url));
    }
    call(request, tool, arguments)
}

/// Without a tool: the URL as text, and whatever is said next is what came of it.
fn say(gold: &Gold, messages: &[ChatMessage]) -> Reply {
    let mut answers = Vec::new();
    let mut is_awaited = false;
    for message in messages {
        match message.role {
            ChatRole::Assistant => is_awaited = message.content.contains("http"),
            ChatRole::User | ChatRole::Tool if is_awaited => {
                answers.push(&*message.content);
                is_awaited = false;
            }
            _ => {}
        }
    }
    Reply::said(gold.next_url(&answers).unwrap_or_else(|| gold.answer(&answers)))
}

fn properties(tool: &Tool) -> impl Iterator<Item = &String> {
    tool.parameters.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

fn makes_requests(tool: &Tool) -> bool {
    let name = tool.name.to_lowercase();
    properties(tool).any(|name| name == "url") || ["request", "url", "http"].iter().any(|word| name.contains(word))
}

fn tells_the_day(tool: &Tool) -> bool {
    let name = tool.name.to_lowercase();
    ["date", "time", "day", "clock"].iter().any(|word| name.contains(word))
}

/// Results of calls of the tool `name` so far.
fn results<'m>(messages: &'m [ChatMessage], name: &str) -> Vec<&'m str> {
    let calls = || messages.iter().flat_map(|message| &message.tool_calls).filter(|call| &*call.name == name);
    let is_result = |message: &&ChatMessage| {
        message.role == ChatRole::Tool
            && message.tool_call_id.as_ref().is_some_and(|id| calls().any(|call| call.id == *id))
    };
    messages.iter().filter(is_result).map(|message| &*message.content).collect()
}

/// A call whose id is that of the conversation so far: an agent may hold several in one session.
fn call(request: &ChatRequest, tool: &Tool, arguments: Map<String, Value>) -> Reply {
    let said = request.messages.iter().flat_map(|message| [message.content.as_bytes(), &[0]]);
    let id = Digest::of_parts(said.chain([tool.name.as_bytes()])).to_string();
    let id: String = id.chars().filter(char::is_ascii_alphanumeric).rev().take(16).collect();
    Reply::calling(
        None,
        vec![ToolCall {
            id: format!("call_{id}").into(),
            name: tool.name.clone(),
            arguments: Value::Object(arguments).to_string().into(),
        }],
    )
}
