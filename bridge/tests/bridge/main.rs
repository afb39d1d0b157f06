//! The bridge as agents see it, over loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod formats;
#[cfg(test)]
mod harness;
mod isolation;
mod joining;
mod refusals;
mod sdk_bodies;
#[cfg(test)]
mod stored;
mod tls;
mod tools;
mod waiting;
