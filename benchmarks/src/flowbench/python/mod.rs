//! Python as the official evaluator runs on it (3.11): its JSON, its equality, its idea of a character. Rust differs in the details.

mod equality;
mod json;
mod parser;
mod text;

pub(crate) use self::equality::{equal, equal_by_kind};
pub(crate) use self::json::{Json, Object};
pub(crate) use self::parser::{parse, parse_prefix};
pub(crate) use self::text::{is_numeric, is_word, lower, strip};
