//! Requests of external agents to the tool servers of a benchmark, and what these answer.

/// A request to a simulated tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// HTTP method in upper case.
    pub method: String,
    /// Full URL: scheme, host, port, path and raw query.
    pub url: String,
    /// Body, if the request has one.
    pub body: Option<Vec<u8>>,
}

/// Response of a simulated tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// HTTP status.
    pub status: u16,
    /// Content type of the body.
    pub content_type: &'static str,
    /// Allowed methods, for responses that list them (405, OPTIONS).
    pub allow: Option<&'static str>,
    /// Body.
    pub body: Vec<u8>,
}

impl ToolAnswer {
    /// The response 404: the server or path does not exist.
    #[must_use]
    pub fn not_found() -> Self {
        Self { status: 404, content_type: "text/plain; charset=utf-8", allow: None, body: b"not found\n".to_vec() }
    }
}
