//! The apps over MCP's Streamable HTTP. Connections have no state: the path identifies the session of a request.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::answer::Refused;
use super::sessions::{SessionKey, unknown_item};
use super::shared::Shared;

/// One session's apps.
struct SessionApps {
    shared: Arc<Shared>,
    key: SessionKey,
}

impl ServerHandler for SessionApps {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("regatta-simulated-apps", env!("CARGO_PKG_VERSION")))
            .with_instructions("The apps of a phone. Each tool is an API of one of them.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.tools.list().to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((app, api)) = self.shared.tools.find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let result = match self.shared.sessions.call(&self.key, app, api, &request.arguments.unwrap_or_default()) {
            Ok(answer) => CallToolResult::structured(answer.json()),
            Err(refused) => CallToolResult::structured_error(refused.json()),
        };
        Ok(result.into())
    }
}

/// `/mcp/ITEM`.
pub(super) async fn of_item(
    State(shared): State<Arc<Shared>>,
    Path(item): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    serve(shared, &item, None, request).await
}

/// `/mcp/ITEM/SESSION`.
pub(super) async fn of_session(
    State(shared): State<Arc<Shared>>,
    Path((item, session)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    serve(shared, &item, Some(&session), request).await
}

async fn serve(shared: Arc<Shared>, item: &str, session: Option<&str>, request: Request) -> Result<Response, Refused> {
    let key = SessionKey::new(item, session)?;
    if shared.sessions.apps().open(item).is_none() {
        return Err(unknown_item(item));
    }
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(super::shared::BODY_BYTES_MAX)
        .with_cancellation_token(shared.stopping.clone());
    // The check of hosts keeps browsers out, but only makes sense if no other machine can connect.
    let config = if shared.is_local { config } else { config.disable_allowed_hosts() };
    let factory = move || Ok(SessionApps { shared: Arc::clone(&shared), key: key.clone() });
    let service = StreamableHttpService::new(factory, Arc::new(LocalSessionManager::default()), config);
    Ok(service.handle(request).await.map(Body::new))
}
