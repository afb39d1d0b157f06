//! Auto-SLURP's simulated servers from their clients' view, over loopback.

#[cfg(test)]
mod faults;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod ports;
#[cfg(test)]
mod sessions;
