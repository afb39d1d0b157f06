//! The simulated apps of AppBench's phone, to be called step by step: over plain HTTP with JSON, and over MCP (Streamable HTTP).
//!
//! | request | answer |
//! |---|---|
//! | `GET /items`, `GET /items/ITEM` | ids; the instruction of an item |
//! | `GET /apps`, `GET /apps/APP`, `GET /apps/APP/API` | what the apps and their APIs are |
//! | `POST /apps/APP/API` | calls an API with the JSON object of its arguments, in the session that the headers name |
//! | `GET /sessions`, `GET` or `DELETE /sessions/ITEM/SESSION` | log, side effects and score of a session; forgets it |
//! | `POST /mcp/ITEM`, `POST /mcp/ITEM/SESSION` | MCP: each API is a tool `App.api` |
//!
//! A session begins with its first call, and is independent of other sessions. The headers are `x-regatta-item` and `x-regatta-session`
//! (default: `default`).

mod answer;
mod describe;
mod http;
#[cfg_attr(not(feature = "mcp"), path = "no_mcp.rs")]
mod mcp;
mod server;
mod sessions;
mod shared;
#[cfg(feature = "mcp")]
mod tools;

pub use server::SimulatedApps;
