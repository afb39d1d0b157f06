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
mod ujson;
mod value;
pub mod yaml;

pub use self::character::{decimal_digit, digit_class, is_space, strip};
pub use self::dumps::{dumps, dumps_text};
pub use self::equality::{equal, equal_by_kind};
pub use self::json::{Int, Json, Kind, Object};
pub use self::literal::{display, literal, repr};
pub use self::parser::{Refusal, parse, parse_or_refuse, parse_prefix};
pub use self::repr::{repr_float, repr_text, repr_texts, texts_of_repr};
pub use self::text::{is_numeric, is_word, lower};
pub use self::ujson::parse_ujson;
