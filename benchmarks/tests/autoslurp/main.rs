//! Auto-SLURP as the pipeline sees it: through the benchmark's interface, on a miniature and on the published data.

#[cfg(test)]
#[path = "../common/mod.rs"]
mod common;
#[cfg(test)]
#[path = "../common/driving.rs"]
mod driving;
#[cfg(test)]
#[path = "../common/golden.rs"]
mod every_case;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod sessions;
