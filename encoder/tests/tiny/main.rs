//! Tiny models with random weights, written to a temporary directory: every rule of the forward pass is compared with a slow reference, and
//! every way in which a directory can be wrong is tried.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod architectures;
mod directories;
mod models;
mod reference;
