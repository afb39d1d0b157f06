//! Participants of the chat.

use std::sync::Arc;

use regatta_proto::Tool;
use serde_json::json;

use super::tools::{DATE_TOOL, REQUEST_TOOL};
use crate::members;
use crate::policy::Policy;
use crate::prompts;

/// A participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Participant {
    /// Speaks for the user, and executes tools; no model.
    UserProxy,
    ProductManager,
    Intent,
    Time,
    Location,
    Url,
    Request,
}

impl Participant {
    /// In the order of the chat.
    pub(super) const ALL: [Self; 7] =
        [Self::UserProxy, Self::ProductManager, Self::Intent, Self::Time, Self::Location, Self::Url, Self::Request];

    /// Name in the chat.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::UserProxy => "user_proxy",
            Self::ProductManager => "Product_manager",
            Self::Intent => "intent",
            Self::Time => "Time_assistant",
            Self::Location => "Location",
            Self::Url => "url_assistant",
            Self::Request => "Request",
        }
    }

    /// Member of the team that the participant is; `None` for the user's proxy, which no model plays.
    pub(super) const fn member(self) -> Option<&'static str> {
        match self {
            Self::UserProxy => None,
            Self::ProductManager => Some(members::MANAGER),
            Self::Intent => Some(members::INTENT),
            Self::Time => Some(members::TIME),
            Self::Location => Some(members::LOCATION),
            Self::Url => Some(members::URL),
            Self::Request => Some(members::REQUEST),
        }
    }

    /// Description of the participant for the selector: its own system prompt.
    pub(super) fn described(self) -> String {
        self.member().map_or_else(
            || "Stands for the user. It executes the tools that others call, and does nothing else.".to_owned(),
            |member| prompts::told(Policy::AutoGen, member),
        )
    }

    /// Participant after this one; the first after the last.
    pub(super) fn following(self) -> Self {
        let after = Self::ALL.into_iter().skip_while(|participant| *participant != self).nth(1);
        after.unwrap_or(Self::UserProxy)
    }

    /// Tools that it may call.
    pub(super) fn tools(self) -> Vec<Tool> {
        let (name, description, properties, required) = match self {
            Self::Time => (DATE_TOOL, "Says what day it is today, as 2025-05-28.", json!({}), json!([])),
            Self::Request => (
                REQUEST_TOOL,
                "Sends a GET request and returns the body of the answer.",
                json!({"url": {"type": "string", "description": "URL of the request"}}),
                json!(["url"]),
            ),
            _ => return Vec::new(),
        };
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        vec![Tool { name: name.into(), description: Some(description.into()), parameters: Arc::new(parameters) }]
    }
}
