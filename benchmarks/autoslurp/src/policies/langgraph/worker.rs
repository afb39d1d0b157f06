//! The workers of the graph.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, Tool};
use serde_json::json;

use crate::members;

/// A worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worker {
    Intent,
    Time,
    Location,
    Url,
    Request,
    Response,
}

/// The tool that says what day it is.
pub(super) const TIME_TOOL: &str = "time_tool";
/// The tool that sends a request.
pub(super) const REQUEST_TOOL: &str = "request_tool";

impl Worker {
    /// In the order in which the supervisor's choices name them.
    pub(super) const ALL: [Self; 6] =
        [Self::Intent, Self::Time, Self::Location, Self::Url, Self::Request, Self::Response];

    /// Name in the graph.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Time => "time",
            Self::Location => "location",
            Self::Url => "url",
            Self::Request => "request",
            Self::Response => "genresponse",
        }
    }

    /// Member of the team that the worker is.
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::Intent => members::INTENT,
            Self::Time => members::TIME,
            Self::Location => members::LOCATION,
            Self::Url => members::URL,
            Self::Request => members::REQUEST,
            Self::Response => members::RESPONSE,
        }
    }

    /// The name of its tool.
    pub(super) const fn tool(self) -> Option<&'static str> {
        match self {
            Self::Time => Some(TIME_TOOL),
            Self::Request => Some(REQUEST_TOOL),
            Self::Intent | Self::Location | Self::Url | Self::Response => None,
        }
    }

    /// Request to the worker, given the list and its messages of this turn.
    pub(super) fn request(self, list: &[ChatMessage], own: &[ChatMessage]) -> ChatRequest {
        super::request(self.member(), list, own, self.tools())
    }

    fn tools(self) -> Vec<Tool> {
        let (description, parameters) = match self {
            Self::Time => ("Says what day it is today, as 2025-05-28.", json!({"properties": {}, "type": "object"})),
            Self::Request => {
                let url = json!({"description": "URL of the request", "type": "string"});
                let parameters = json!({"properties": {"url": url}, "required": ["url"], "type": "object"});
                ("Sends a GET request and returns the body of the answer.", parameters)
            }
            Self::Intent | Self::Location | Self::Url | Self::Response => return Vec::new(),
        };
        let tool = |name: &str| Tool {
            name: name.into(),
            description: Some(description.into()),
            parameters: Arc::new(parameters.clone()),
        };
        self.tool().map(tool).into_iter().collect()
    }
}
