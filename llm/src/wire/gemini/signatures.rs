//! Signatures of reasoning: Gemini attaches them to parts of its answer, and refuses a conversation whose calls come back without them.
//!
//! `Reasoning::opaque` stores them as a JSON object, `{"text": "…", "calls": {"0": "…"}}`, with that of the text and those of the calls by
//! position.

use std::collections::BTreeMap;

use regatta_proto::Reasoning;
use serde::{Deserialize, Serialize};

/// The signatures of one answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Signatures {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) calls: BTreeMap<usize, String>,
}

impl Signatures {
    /// The signatures of a message; empty if another format wrote `opaque`.
    pub(super) fn of(reasoning: Option<&Reasoning>) -> Self {
        let opaque = reasoning.and_then(|reasoning| reasoning.opaque.as_deref());
        opaque.and_then(|opaque| serde_json::from_str(opaque).ok()).unwrap_or_default()
    }

    /// The reasoning with these signatures and the `shown` text; `None` if both are empty.
    pub(super) fn with(self, shown: String) -> Option<Reasoning> {
        let is_empty = self == Self::default();
        if is_empty && shown.is_empty() {
            return None;
        }
        let opaque = serde_json::to_string(&self).ok().filter(|_| !is_empty);
        Some(Reasoning { text: shown.into(), opaque: opaque.map(Into::into) })
    }
}
