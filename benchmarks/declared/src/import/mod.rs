//! Other harnesses' tasks as declared benchmarks.

mod lm_eval_task;

pub use self::lm_eval_task::{Imported, lm_eval};
