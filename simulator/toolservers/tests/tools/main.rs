//! Auto-SLURP's simulated servers as their clients see them, over loopback.

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
