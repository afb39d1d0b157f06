//! Auto-SLURP's simulated servers and stand-ins, for agents that ask them themselves: over HTTP, or over MCP.
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
//! Requests outside of sessions are not logged. What goes wrong is drawn from the seed of the simulation, the session, and the number of
//! the request in it. It is an HTTP proxy too, for the hosts that are simulated: a client that is told so needs no other URLs.

mod delivery;
mod http;
#[cfg_attr(not(feature = "mcp"), path = "no_mcp.rs")]
mod mcp;
mod server;
mod sessions;

pub use server::{SimulatedTools, ToolPort, ToolsConfig};
