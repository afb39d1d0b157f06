//! Python as the official evaluators run on it: its JSON, its equality, its idea of a character. Rust differs in the details.

mod character;
mod date;
mod dumps;
mod equality;
mod json;
mod literal;
mod parser;
mod repr;
mod text;
mod value;
pub(crate) mod yaml;

pub(crate) use self::character::{decimal_digit, is_space, strip};
pub(crate) use self::dumps::{dumps, dumps_text};
pub(crate) use self::equality::{equal, equal_by_kind};
pub(crate) use self::json::{Int, Json, Kind, Object};
pub(crate) use self::literal::{display, literal, repr};
pub(crate) use self::parser::{Refusal, parse, parse_or_refuse, parse_prefix};
pub(crate) use self::repr::{repr_float, repr_text, repr_texts, texts_of_repr};
pub(crate) use self::text::{is_numeric, is_word, lower};
