//! The simulated apps as their clients see them, over loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(test)]
mod harness;
#[cfg(test)]
mod http;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod mcp;
