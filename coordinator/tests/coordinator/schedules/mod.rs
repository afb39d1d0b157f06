//! Schedules on an injected clock: a look is a call, and the clock moves only between looks.

mod failing_over;
mod keeping;
pub(crate) mod night_shift;
mod notifying;
mod over_http;
mod retaining;
