//! The simulated apps from their clients' view, over loopback.

#[cfg(test)]
mod harness;
#[cfg(test)]
mod http;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod mcp;
