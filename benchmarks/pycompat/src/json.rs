//! A JSON value as Python's `json` reads it: the text of a number decides whether it is an integer, and integers are unbounded.

use std::collections::HashMap;

/// Most decimal digits that Python turns into an integer, or an integer into.
pub(crate) const DIGITS_MAX: usize = 4300;

/// A value.
#[derive(Debug, Clone)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction and exponent.
    Int(Int),
    /// Any other number, `NaN`, `Infinity` and `-Infinity` among them.
    Float(f64),
    /// A text.
    String(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Object),
}

/// Python type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `NoneType`.
    Null,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `float`.
    Float,
    /// `str`.
    String,
    /// `list`.
    List,
    /// `dict`.
    Object,
}

impl Json {
    /// Python type of the value.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::String(_) => Kind::String,
            Self::List(_) => Kind::List,
            Self::Object(_) => Kind::Object,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub const fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn into_object(self) -> Option<Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// `""` or `[]`: what the evaluators take for an argument that was left out. `{}` and `null` are not.
    pub fn is_left_out(&self) -> bool {
        match self {
            Self::String(text) => text.is_empty(),
            Self::List(values) => values.is_empty(),
            _ => false,
        }
    }
}

/// An integer of any size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Int {
    /// Decimal digits with a minus sign for negative ones; zero has none.
    decimal: Box<str>,
}

impl Int {
    /// The integer that a JSON number without fraction and exponent denotes; JSON allows no leading zeros.
    pub fn from_json(text: &str) -> Self {
        Self { decimal: if text == "-0" { "0".into() } else { text.into() } }
    }

    /// The whole number that `float` is exactly.
    pub fn from_float(float: f64) -> Option<Self> {
        // Without fraction digits Rust writes every digit of the exact value.
        (float.is_finite() && float.fract() == 0.0).then(|| Self::from_json(&format!("{float:.0}")))
    }

    /// Decimal digits with a minus sign for negative numbers: Python's `str`.
    pub const fn decimal(&self) -> &str {
        &self.decimal
    }

    /// `true` if Python prints it: an integer of more than 4,300 decimal digits, which only other notations can give, it does not.
    pub fn is_printable(&self) -> bool {
        self.decimal.trim_start_matches('-').len() <= DIGITS_MAX
    }

    /// True if it is exactly the number `float`.
    pub fn equals_float(&self, float: f64) -> bool {
        Self::from_float(float).is_some_and(|int| *self == int)
    }

    /// True if it is 1 for `true`, 0 for `false`.
    pub fn equals_bool(&self, bool: bool) -> bool {
        &*self.decimal == if bool { "1" } else { "0" }
    }
}

impl From<i64> for Int {
    fn from(int: i64) -> Self {
        Self::from_json(&int.to_string())
    }
}

/// An object: its entries in the order in which their keys first occurred.
#[derive(Debug, Clone, Default)]
pub struct Object {
    entries: Vec<(String, Json)>,
    positions: HashMap<String, usize>,
}

impl Object {
    /// Adds an entry. A key that is there gets the new value and keeps its place.
    pub fn insert(&mut self, key: String, value: Json) {
        if let Some((_, old)) = self.positions.get(&key).and_then(|at| self.entries.get_mut(*at)) {
            *old = value;
        } else {
            self.positions.insert(key.clone(), self.entries.len());
            self.entries.push((key, value));
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.positions.get(key).and_then(|at| self.entries.get(*at)).map(|(_, value)| value)
    }

    /// Number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// `true` if it has no entries.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys and values in order.
    pub fn into_entries(self) -> impl Iterator<Item = (String, Json)> {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_keeps_its_place_and_gets_the_last_value() {
        let mut object = Object::default();
        for (key, value) in [("a", true), ("b", true), ("a", false)] {
            object.insert(key.to_owned(), Json::Bool(value));
        }
        assert_eq!(object.iter().map(|(key, _)| key).collect::<String>(), "ab");
        assert!(matches!(object.get("a"), Some(Json::Bool(false))));
        assert_eq!(object.len(), 2);
    }

    #[test]
    fn integers_equal_floats_only_exactly() {
        let int = Int::from_json;
        assert!(int("-0").equals_float(0.0) && int("0").equals_float(-0.0) && int("100").equals_float(1e2));
        assert!(int("9007199254740992").equals_float(9_007_199_254_740_992.0));
        assert!(!int("9007199254740993").equals_float(9_007_199_254_740_992.0));
        assert!(int("10000000000000000000000").equals_float(1e22));
        assert!(!int("100000000000000000000000").equals_float(1e23), "the float is a little less");
        assert!(![f64::NAN, f64::INFINITY, 1.5].into_iter().any(|float| int("1").equals_float(float)));
    }

    #[test]
    fn only_the_empty_text_and_list_count_as_left_out() {
        assert!(Json::String(String::new()).is_left_out() && Json::List(Vec::new()).is_left_out());
        assert!(![Json::Null, Json::Object(Object::default()), Json::Bool(false)].iter().any(Json::is_left_out));
    }
}
