//! The servers over MCP's Streamable HTTP: one tool that makes requests, one that returns the date. Connections have no state.

use std::sync::Arc;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use regatta_autoslurp::ServedTools;
use regatta_benchmarks::ToolRequest;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use super::delivery::Outcome;
use super::sessions::SessionName;
use super::shared::Shared;

const REQUEST: &str = "request";
const GET_DATE: &str = "get_date";
/// Code of requests that came to nothing.
const NO_ANSWER: &str = "no_answer";
/// Factor by which a message may be longer than a body, because of escapes and the other fields.
const ESCAPED: usize = 3;

/// The tools of one session.
struct SessionTools {
    shared: Arc<Shared>,
    session: Option<SessionName>,
}

impl ServerHandler for SessionTools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("regatta-simulated-tools", env!("CARGO_PKG_VERSION")))
            .with_instructions("The servers of a smart home, and services of the web, all simulated.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match &*request.name {
            REQUEST => self.request(&request.arguments.unwrap_or_default()).await,
            GET_DATE => CallToolResult::structured(json!({"date": self.shared.tools.today().to_string()})),
            name => return Err(ErrorData::invalid_params(format!("there is no tool {name:?}"), None)),
        };
        Ok(result.into())
    }
}

impl SessionTools {
    async fn request(&self, arguments: &Map<String, Value>) -> CallToolResult {
        // A result, which the model reads, and can do better.
        let asked = match read(arguments) {
            Ok(asked) => asked,
            Err(problem) => return failed("invalid_arguments", &problem),
        };
        let Some(url) = ServedTools::reached(&asked.url, self.shared.port) else {
            return failed(NO_ANSWER, "there is nobody at this address");
        };
        let (seen, request) = (asked.url.clone(), ToolRequest { url, ..asked });
        let outcome = match self.shared.play(self.session.as_ref(), request, &seen).await {
            Ok(outcome) => outcome,
            Err(refused) => return CallToolResult::structured_error(refused.json()),
        };
        match outcome {
            Outcome::Whole(answer, _) => {
                let body = String::from_utf8_lossy(&answer.body);
                CallToolResult::structured(json!({"status": answer.status, "body": body}))
            }
            Outcome::Truncated(_) | Outcome::Dropped => {
                failed(NO_ANSWER, "the connection was closed before the answer was whole")
            }
            Outcome::Never => {
                self.shared.stopping.cancelled().await;
                failed(NO_ANSWER, "there was no answer")
            }
        }
    }
}

fn failed(code: &str, why: &str) -> CallToolResult {
    CallToolResult::structured_error(json!({"error": {"code": code, "message": why}}))
}

/// Reads the request from the arguments of a call.
fn read(arguments: &Map<String, Value>) -> Result<ToolRequest, String> {
    let method = match arguments.get("method") {
        None | Some(Value::Null) => "GET".to_owned(),
        Some(Value::String(method)) => method.to_ascii_uppercase(),
        Some(_) => return Err("method must be a text".to_owned()),
    };
    let Some(Value::String(url)) = arguments.get("url") else { return Err("url must be a text".to_owned()) };
    let body = match arguments.get("body") {
        None | Some(Value::Null) => None,
        Some(Value::String(body)) => Some(body.clone().into_bytes()),
        // Models write the object itself where its text is expected.
        Some(value) => Some(value.to_string().into_bytes()),
    };
    Ok(ToolRequest { method, url: url.clone(), body })
}

fn tools() -> Vec<Tool> {
    let text = |what: &str| json!({"type": "string", "description": what});
    let request = json!({
        "type": "object",
        "properties": {
            "url": text("Whole URL, with its parameters"),
            "method": text("GET when left out, or POST"),
            "body": text("Body of a POST, as text"),
        },
        "required": ["url"],
    });
    let nothing = json!({"type": "object", "properties": {}});
    let tool = |name: &'static str, what: &'static str, schema: Value, is_read_only: bool| {
        let schema = schema.as_object().cloned().unwrap_or_default();
        let annotations = ToolAnnotations::new().read_only(is_read_only).open_world(false);
        Tool::new(name, what, schema).with_annotations(annotations)
    };
    vec![
        tool(REQUEST, "Sends an HTTP request and returns the status and the body of the answer.", request, false),
        tool(GET_DATE, "Returns today's date.", nothing, true),
    ]
}

pub(super) async fn serve(
    shared: Arc<Shared>,
    session: Option<SessionName>,
    request: Request<Incoming>,
) -> Response<Body> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(ServedTools::BODY_BYTES_MAX * ESCAPED)
        .with_cancellation_token(shared.stopping.clone());
    // The check of hosts keeps browsers out, but only makes sense if no other machine can connect.
    let config = if shared.is_local { config } else { config.disable_allowed_hosts() };
    let factory = move || Ok(SessionTools { shared: Arc::clone(&shared), session: session.clone() });
    let service = StreamableHttpService::new(factory, Arc::new(LocalSessionManager::default()), config);
    service.handle(request).await.map(Body::new)
}
