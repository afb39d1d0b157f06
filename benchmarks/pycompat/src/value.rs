//! Any value that Python's JSON or YAML readers make.

use std::collections::HashMap;

use super::date::{Date, DateTime};
use super::json::{Int, Json};

/// A value. `json.loads` makes the first seven kinds only, and texts as the only keys.
#[derive(Debug, Clone)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of any size.
    Int(Int),
    /// A float, the infinities and `nan` among them.
    Float(f64),
    /// A text.
    Str(String),
    /// A list.
    List(Vec<Value>),
    /// A dict.
    Dict(Dict),
    /// Bytes (`!!binary`).
    Bytes(Vec<u8>),
    /// A day.
    Date(Date),
    /// A moment.
    DateTime(DateTime),
    /// A set (`!!set`), in the order in which its members first occurred.
    Set(Vec<Value>),
    /// A pair (a member of `!!omap` or `!!pairs`).
    Pair(Box<(Value, Value)>),
    /// A list, dict or set that this value stands inside of: what an alias inside its own anchor makes.
    Cycle(Collection),
}

/// A kind of value that can hold itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// A list.
    List,
    /// A dict.
    Dict,
    /// A set.
    Set,
}

impl Value {
    /// Name of the value's type, `type(value).__name__`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) | Self::Cycle(Collection::List) => "list",
            Self::Dict(_) | Self::Cycle(Collection::Dict) => "dict",
            Self::Bytes(_) => "bytes",
            Self::Date(_) => "date",
            Self::DateTime(_) => "datetime",
            Self::Set(_) | Self::Cycle(Collection::Set) => "set",
            Self::Pair(_) => "tuple",
        }
    }

    /// `true` if `str` prints it: with an integer of more than 4,300 decimal digits it raises `ValueError`, wherever that stands.
    pub fn is_printable(&self) -> bool {
        match self {
            Self::Int(int) => int.is_printable(),
            Self::List(values) | Self::Set(values) => values.iter().all(Self::is_printable),
            Self::Dict(dict) => dict.is_printable(),
            Self::Pair(pair) => pair.0.is_printable() && pair.1.is_printable(),
            Self::None | Self::Bool(_) | Self::Float(_) | Self::Str(_) | Self::Bytes(_) => true,
            Self::Date(_) | Self::DateTime(_) | Self::Cycle(_) => true,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The dict, if it is one.
    pub const fn as_dict(&self) -> Option<&Dict> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The value of a text key, if it is a dict that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_dict()?.get(key)
    }

    /// `bool(value)`.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(bool) => *bool,
            Self::Int(int) => !int.equals_bool(false),
            Self::Float(float) => *float != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(values) | Self::Set(values) => !values.is_empty(),
            Self::Dict(dict) => !dict.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::Date(_) | Self::DateTime(_) | Self::Pair(_) | Self::Cycle(_) => true,
        }
    }

    /// Key by which Python hashes it: two hashable values are equal if and only if their keys are. `None` for one without a hash.
    ///
    /// A `nan` has the hash of every other, as the readers give one and the same object each time.
    pub fn hash_key(&self) -> Option<HashKey> {
        Some(match self {
            Self::None => HashKey::None,
            Self::Bool(bool) => HashKey::Integer(Int::from(i64::from(*bool))),
            Self::Int(int) => HashKey::Integer(int.clone()),
            Self::Float(float) => Int::from_float(*float).map_or(HashKey::Fraction(float.to_bits()), HashKey::Integer),
            Self::Str(text) => HashKey::Str(text.clone()),
            Self::Bytes(bytes) => HashKey::Bytes(bytes.clone()),
            Self::Date(date) => HashKey::Date(*date),
            Self::DateTime(moment) => HashKey::DateTime { aware: moment.offset.is_some(), instant: moment.instant() },
            Self::Pair(pair) => HashKey::Pair(Box::new((pair.0.hash_key()?, pair.1.hash_key()?))),
            Self::List(_) | Self::Dict(_) | Self::Set(_) | Self::Cycle(_) => return None,
        })
    }

    /// `==`. A value that holds itself equals nothing (Python would not come to an end).
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_or_equals(b)),
            (Self::Pair(a), Self::Pair(b)) => a.0.is_or_equals(&b.0) && a.1.is_or_equals(&b.1),
            (Self::Dict(a), Self::Dict(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get_value(key).is_some_and(|b| a.is_or_equals(b)))
            }
            (Self::Set(a), Self::Set(b)) => {
                a.len() == b.len() && {
                    let members: std::collections::HashSet<_> = a.iter().filter_map(Self::hash_key).collect();
                    b.iter().all(|member| member.hash_key().is_some_and(|key| members.contains(&key)))
                }
            }
            _ => matches!((self.hash_key(), other.hash_key()), (Some(a), Some(b)) if a == b),
        }
    }

    /// Equality of members: Python looks first whether they are the same object, and its readers always give the same `nan`.
    fn is_or_equals(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Float(a), Self::Float(b)) if a.is_nan() && b.is_nan()) || self.equals(other)
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        match json {
            Json::Null => Self::None,
            Json::Bool(bool) => Self::Bool(bool),
            Json::Int(int) => Self::Int(int),
            Json::Float(float) => Self::Float(float),
            Json::String(text) => Self::Str(text),
            Json::List(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Json::Object(object) => Self::Dict(
                object.into_entries().map(|(key, value)| (Self::Str(key), Self::from(value))).collect::<Dict>(),
            ),
        }
    }
}

/// Hash key: the same for values that are equal to each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HashKey {
    /// `None`.
    None,
    /// A whole number, whatever its type.
    Integer(Int),
    /// The bits of a float that is no whole number.
    Fraction(u64),
    /// A text.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A day.
    Date(Date),
    /// A moment.
    DateTime {
        /// True if it has an offset; without one it never equals one that has.
        aware: bool,
        /// Microseconds, in UTC if aware.
        instant: i128,
    },
    /// A pair.
    Pair(Box<(HashKey, HashKey)>),
}

/// A dict: its entries in the order in which their keys first occurred. Its keys have hashes.
#[derive(Debug, Clone, Default)]
pub struct Dict {
    entries: Vec<(Value, Value)>,
    positions: HashMap<HashKey, usize>,
}

impl Dict {
    /// Adds an entry. A key that is there gets the new value, and keeps its place and its first form (`1`, then `1.0`).
    /// `false`, and nothing done, if the key has no hash.
    pub fn insert(&mut self, key: Value, value: Value) -> bool {
        let Some(hash) = key.hash_key() else { return false };
        if let Some((_, old)) = self.positions.get(&hash).and_then(|at| self.entries.get_mut(*at)) {
            *old = value;
        } else {
            self.positions.insert(hash, self.entries.len());
            self.entries.push((key, value));
        }
        true
    }

    /// The value of a text key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.at(&HashKey::Str(key.to_owned()))
    }

    /// The value of any key.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.at(&key.hash_key()?)
    }

    fn at(&self, key: &HashKey) -> Option<&Value> {
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
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// `true` if `str` prints it: see [`Value::is_printable`].
    pub fn is_printable(&self) -> bool {
        self.iter().all(|(key, value)| key.is_printable() && value.is_printable())
    }

    /// Keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &Value> {
        self.entries.iter().map(|(key, _)| key)
    }
}

impl FromIterator<(Value, Value)> for Dict {
    /// Entries whose keys have no hash are left out.
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(entries: I) -> Self {
        let mut dict = Self::default();
        for (key, value) in entries {
            dict.insert(key, value);
        }
        dict
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn value(json: &str) -> Value {
        parse(json).unwrap().into()
    }

    #[test]
    fn numbers_and_booleans_are_one_kind_of_key() {
        let mut dict = Dict::default();
        for (key, text) in [("1", "a"), ("1.0", "b"), ("true", "c"), ("\"1\"", "d"), ("1.5", "e")] {
            assert!(dict.insert(value(key), Value::Str(text.to_owned())));
        }
        assert_eq!(dict.len(), 3);
        assert_eq!(dict.get_value(&Value::Bool(true)).and_then(Value::as_str), Some("c"));
        assert!(matches!(dict.keys().next(), Some(Value::Int(_))), "the first form stays");
        assert!(!dict.insert(value("[]"), Value::None) && !dict.insert(value("{}"), Value::None));
    }

    #[test]
    fn equality_is_by_value() {
        assert!(value("[7, {\"a\": true}]").equals(&value("[7.0, {\"a\": 1}]")));
        assert!(value("1e22").equals(&value("10000000000000000000000")));
        for (a, b) in [("null", "0"), ("\"1\"", "1"), ("[1]", "[1, 1]"), ("{\"a\":1}", "{\"b\":1}"), ("NaN", "NaN")] {
            assert!(!value(a).equals(&value(b)), "{a} {b}");
        }
        assert!(value("[NaN]").equals(&value("[NaN]")), "the same object");
    }

    #[test]
    fn emptiness_and_zero_are_false() {
        for json in ["null", "false", "0", "-0", "0.0", "\"\"", "[]", "{}"] {
            assert!(!value(json).is_truthy(), "{json}");
        }
        for json in ["true", "1", "NaN", "\" \"", "[0]", "{\"\":0}"] {
            assert!(value(json).is_truthy(), "{json}");
        }
    }
}
