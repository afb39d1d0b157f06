//! Other harnesses' tasks as declared benchmarks.

mod inspect;
mod lm_eval_task;

pub use self::inspect::{InspectBenchmark, InspectField, InspectFields, InspectOptions, InspectStep, inspect};
pub use self::lm_eval_task::{Imported, lm_eval};
