//! The phone of a session, to be called by the external agent that does it: each API is a tool, over plain HTTP and over MCP.
//!
//! | request | answer |
//! |---|---|
//! | `GET http://phone/tools` | the tools, as OpenAI's clients define them |
//! | `POST http://phone/tools/NAME` | what the API returns, by name; the body is a JSON object with the arguments |
//! | `POST http://phone/mcp` | MCP's streamable HTTP, without sessions: `initialize`, `ping`, `tools/list`, `tools/call` |
//!
//! The result of a call depends on its arguments and the item alone, so that no call needs to know those before it.

use std::borrow::Cow;

use regatta_benchmarks::{ToolAnswer, ToolRequest};
use regatta_proto::{Event, Tool};
use serde_json::{Value, json};

use super::data::{Data, Entry};
use super::exec::Executed;
use super::stepwise::{Toolbox, UNKNOWN_TOOL, execute, world};

/// Host of the phone in the URLs of requests.
const HOST: &str = "phone";
/// Versions of MCP that are spoken, the one that is offered to others first: what is served of them is the same in all.
const VERSIONS: [&str; 4] = ["2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"];
/// Codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const UNKNOWN_METHOD: i32 = -32601;
/// Bytes of a body that a transcript keeps whole. A longer one could not be scored.
const BODY_RECORDED: usize = 64 << 10;

/// A call of a tool.
#[derive(Debug, PartialEq, Eq)]
struct PhoneCall {
    name: String,
    /// A JSON object, or what was sent in its place.
    arguments: String,
}

/// A request to the phone.
enum Asked {
    /// The list of tools.
    Tools,
    /// A call by plain HTTP.
    Call(PhoneCall),
    /// A request of JSON-RPC with its id, which notifications lack.
    Rpc { id: Option<Value>, method: String, params: Value },
    /// No request of JSON-RPC: code and reason.
    NoRpc(i32, &'static str),
}

impl Asked {
    /// The request with this method, URL and body; `None` if the phone has no such route or the route does not take the method.
    fn of(method: &str, url: &str, body: &str) -> Option<Self> {
        let path = path(url)?;
        match (method, path) {
            ("GET", "/tools") => Some(Self::Tools),
            ("POST", "/mcp") => Some(Self::rpc(body)),
            ("POST", _) => {
                let name = path.strip_prefix("/tools/")?.to_owned();
                Some(Self::Call(PhoneCall { name, arguments: body.to_owned() }))
            }
            _ => None,
        }
    }

    fn rpc(body: &str) -> Self {
        let Ok(mut asked) = serde_json::from_str::<Value>(body) else {
            return Self::NoRpc(PARSE_ERROR, "the body is no JSON");
        };
        let Some(method) = asked.get("method").and_then(Value::as_str).map(str::to_owned) else {
            return Self::NoRpc(INVALID_REQUEST, "the body is no request of JSON-RPC: an object with `method`");
        };
        let id = asked.get("id").filter(|id| !id.is_null()).cloned();
        let params = asked.get_mut("params").map(Value::take).unwrap_or_default();
        Self::Rpc { id, method, params }
    }

    /// The call of a tool that it is, if it is one. A notification calls nothing, because nobody waits for what comes of it.
    fn call(self) -> Option<PhoneCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Rpc { id: Some(_), method, params } if method == "tools/call" => Some(called(&params)),
            Self::Rpc { .. } | Self::Tools | Self::NoRpc(..) => None,
        }
    }
}

fn called(params: &Value) -> PhoneCall {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = params.get("arguments").filter(|arguments| !arguments.is_null());
    PhoneCall { name, arguments: arguments.map(Value::to_string).unwrap_or_default() }
}

/// Path of a URL of the phone, without its query.
fn path(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let rest = rest.split(['?', '#']).next()?;
    let at = rest.find('/')?;
    let (host, path) = rest.split_at(at);
    (host.split(':').next() == Some(HOST)).then_some(path)
}

/// Calls of tools among the `events` of an agent, each with what came of it.
pub(crate) fn calls(
    data: &Data,
    toolbox: &Toolbox,
    entry: &Entry,
    events: &[Event],
) -> Vec<Result<Executed, &'static str>> {
    let asked = events.iter().filter_map(|event| {
        let Event::Exchange(exchange) = event else { return None };
        let body = exchange.body.as_deref().unwrap_or_default();
        let is_recorded = exchange.body.as_deref().is_none_or(|body| body.len() < BODY_RECORDED);
        Asked::of(&exchange.method, &exchange.url, body).filter(|_| is_recorded)?.call()
    });
    let done = asked.map(|call| execute(&mut world(data, entry), toolbox, &call.name, &call.arguments));
    done.map(|result| result.map(|(executed, _)| executed)).collect()
}

/// Answers a request to the phone of `entry`.
pub(crate) fn serve(data: &Data, toolbox: &Toolbox, entry: &Entry, request: &ToolRequest) -> ToolAnswer {
    let body = request.body.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    if body.len() >= BODY_RECORDED {
        return json_of(413, &json!({"error": "the body is too long"}));
    }
    let Some(asked) = Asked::of(&request.method, &request.url, &body) else { return no_route(request) };
    let done = |call: &PhoneCall| execute(&mut world(data, entry), toolbox, &call.name, &call.arguments);
    match asked {
        Asked::Tools => json_of(200, &toolbox.tools.iter().map(definition).collect()),
        Asked::Call(call) => match done(&call) {
            Ok((_, returned)) => json_text(200, returned),
            Err(problem) => json_of(if problem == UNKNOWN_TOOL { 404 } else { 400 }, &json!({ "error": problem })),
        },
        Asked::NoRpc(code, why) => json_of(400, &failed(&Value::Null, code, why)),
        // A notification, or an answer to a request that was never made.
        Asked::Rpc { id: None, .. } => json_text(202, String::new()),
        Asked::Rpc { id: Some(id), method, params } => json_of(
            200,
            &match &*method {
                "initialize" => answered(&id, &greeting(&params)),
                "ping" => answered(&id, &json!({})),
                "tools/list" => {
                    let tools: Vec<Value> = toolbox.tools.iter().map(tool).collect();
                    answered(&id, &json!({ "tools": tools }))
                }
                "tools/call" => {
                    let result = done(&called(&params));
                    let is_error = result.is_err();
                    let text = result.map_or_else(Cow::Borrowed, |(_, returned)| Cow::Owned(returned));
                    answered(&id, &json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
                }
                _ => failed(&id, UNKNOWN_METHOD, "there is no such method here"),
            },
        ),
    }
}

fn greeting(params: &Value) -> Value {
    let [ours, ..] = VERSIONS;
    let asked = params.get("protocolVersion").and_then(Value::as_str).filter(|asked| VERSIONS.contains(asked));
    json!({
        "protocolVersion": asked.unwrap_or(ours),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "phone", "version": env!("CARGO_PKG_VERSION")},
    })
}

fn tool(tool: &Tool) -> Value {
    json!({"name": &tool.name, "description": &tool.description, "inputSchema": &*tool.parameters})
}

fn definition(tool: &Tool) -> Value {
    let function = json!({"name": &tool.name, "description": &tool.description, "parameters": &*tool.parameters});
    json!({"type": "function", "function": function})
}

fn answered(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn failed(id: &Value, code: i32, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

/// 405 at the route of MCP, whose clients ask there for a stream that is not offered; otherwise 404.
fn no_route(request: &ToolRequest) -> ToolAnswer {
    match path(&request.url) {
        Some("/mcp") => ToolAnswer {
            status: 405,
            allow: Some("POST"),
            body: b"method not allowed\n".to_vec(),
            ..ToolAnswer::not_found()
        },
        _ => ToolAnswer::not_found(),
    }
}

fn json_of(status: u16, value: &Value) -> ToolAnswer {
    json_text(status, value.to_string())
}

fn json_text(status: u16, text: String) -> ToolAnswer {
    ToolAnswer { status, content_type: "application/json", allow: None, body: text.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, url: &str, body: &str) -> Option<(String, String)> {
        Asked::of(method, url, body)?.call().map(|call| (call.name, call.arguments))
    }

    #[test]
    fn a_call_is_read_in_either_form() {
        let expected = Some(("Kites-rent".to_owned(), r#"{"size":"2"}"#.to_owned()));
        assert_eq!(call("POST", "http://phone/tools/Kites-rent", r#"{"size":"2"}"#), expected);
        assert_eq!(call("POST", "http://phone:80/tools/Kites-rent?x=1", r#"{"size":"2"}"#), expected);
        let rpc = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Kites-rent", "arguments": {"size": "2"}}}"#;
        assert_eq!(call("POST", "http://phone/mcp", rpc), expected);
    }

    #[test]
    fn what_is_no_call_executes_nothing() {
        let notification = r#"{"method": "tools/call", "params": {"name": "Kites-rent"}}"#;
        for (method, url, body) in [
            ("GET", "http://phone/tools", ""),
            ("GET", "http://phone/tools/Kites-rent", ""),
            ("POST", "http://other/tools/Kites-rent", ""),
            ("POST", "http://phone/mcp", notification),
            ("POST", "http://phone/mcp", r#"{"id": 1, "method": "tools/list"}"#),
            ("POST", "http://phone/mcp", "["),
        ] {
            assert_eq!(call(method, url, body), None, "{method} {url} {body}");
        }
    }
}
