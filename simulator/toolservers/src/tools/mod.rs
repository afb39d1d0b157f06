//! Auto-SLURP's simulated servers and stand-ins, for agents that call them directly: over HTTP, or over MCP.
//!
//! | request | answer |
//! |---|---|
//! | `/alarm`, `/calendar`, … | the server of this path; on a port of its own, that server alone |
//! | `/api.serpstack.com/…`, or a request for that host | the stand-in of a third-party service |
//! | `/sessions/ID/…` | the same, logged in a session |
//! | `GET /sessions` | the sessions there are |
//! | `GET /sessions/ID/log` | the requests of a session, a line of JSON each: method, url, body, status, response |
//! | `DELETE /sessions/ID` | forgets a session |
//! | `/mcp`, `/sessions/ID/mcp` | MCP, with the tools `request` and `get_date` |
//!
//! Requests outside of sessions are not logged. Faults are drawn from the seed of the simulation, the session, and the number of the
//! request in it. The server is also an HTTP proxy for the simulated hosts, so a client that uses the proxy needs no other URLs.

mod delivery;
mod http;
#[cfg_attr(not(feature = "mcp"), path = "no_mcp.rs")]
mod mcp;
mod refused;
mod server;
mod sessions;
mod shared;

pub use server::{SimulatedTools, ToolPort, ToolsConfig};
