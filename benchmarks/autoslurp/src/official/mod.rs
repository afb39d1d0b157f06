//! The eight official evaluators (docs/benchmarks/autoslurp.md §5): gates on the printed log, up to two judges whose words are searched for
//! others, and counts with quirks of their own.
//!
//! `None` is `eval/eval.py`, which came with AutoGen's example; the seven scripts that have a name are its copies. [`score`] says what a
//! script makes of one item, [`tabulate`] what it makes of a whole run, [`paper`] what the paper would have made of the same verdicts.

pub(crate) mod case;
mod evidence;
mod gate;
mod judge;
mod log;
mod message;
pub(crate) mod paper;
mod prompts;
mod resolve;
mod rules;
mod scoring;
mod stat;
mod subject;
mod tabulation;

#[cfg(test)]
mod tests;

pub(crate) use self::judge::Answer;
pub(crate) use self::resolve::resolve;
pub(crate) use self::scoring::{JUDGED, failure, score};
pub(crate) use self::stat::DIVISOR as RUN_ITEMS;
pub(crate) use self::subject::Subject;
pub(crate) use self::tabulation::tabulate;
