//! Delivery modes: whether calls are answered at once or by the provider's batch API.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delivery mode of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Each call is sent by itself and answered at once.
    #[default]
    Live,
    /// Calls are sent by the provider's batch API and answered within a day, at a lower price. For benchmarks whose sessions are one call.
    Batch,
}

impl Lane {
    /// `true` for [`Lane::Live`].
    #[must_use]
    pub fn is_live(&self) -> bool {
        *self == Self::Live
    }
}
