//! Simulated tool servers: the apps of AppBench's phone ([`SimulatedApps`]) and the servers of Auto-SLURP ([`SimulatedTools`]), over plain
//! HTTP and, in builds with the feature `mcp`, over MCP.

mod apps;
mod tools;

pub use apps::SimulatedApps;
pub use tools::{SimulatedTools, ToolPort, ToolsConfig};

/// Most connections at once on each port; further ones wait to be accepted.
const CONNECTIONS_MAX: usize = 1024;

/// Response at the routes of MCP in a build without MCP.
#[cfg(not(feature = "mcp"))]
const NO_MCP: &str = "this build has no MCP; build it with `cargo build --release --features mcp`, or use plain HTTP";
