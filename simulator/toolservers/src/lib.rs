//! Simulated tool servers: the apps of AppBench's phone ([`SimulatedApps`]) and the servers of Auto-SLURP ([`SimulatedTools`]), over plain
//! HTTP and, in builds with the feature `mcp`, over MCP.

mod apps;
mod connections;
mod tools;

pub use apps::SimulatedApps;
pub use tools::{SimulatedTools, ToolPort, ToolsConfig};

/// Response at the routes of MCP in a build without MCP.
#[cfg(not(feature = "mcp"))]
const NO_MCP: &str = "this build has no MCP; build it with `cargo build --release --features mcp`, or use plain HTTP";
