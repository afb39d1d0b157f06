//! The simulated apps as their clients see them, over loopback.

#[cfg(test)]
mod harness;
#[cfg(test)]
mod http;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod mcp;
