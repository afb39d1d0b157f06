//! Arguments of several calls, merged by key (docs/benchmarks/orchestrationbench.md §4.2).

use std::collections::BTreeMap;

use regatta_pycompat::{Json, Kind, Object, Refusal, parse_or_refuse};

use super::answer::{Arguments, Call, Name};
use super::crash::{Crash, Exception};

/// Key under which arguments that are not JSON are reported.
const ERROR_KEY: &str = "error";

/// Argument values by key, over all calls of an answer or of the gold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregated {
    by_key: BTreeMap<String, Values>,
}

/// Values of a key.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    /// One value for every call that has the key.
    Each(Vec<Json>),
    /// Message about arguments that are not JSON. It is a text and not a list of texts, which affects the counts
    /// (docs/benchmarks/orchestrationbench.md §5.5).
    Complaint(String),
}

impl Values {
    /// Python's `len`: for a text, the number of characters.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Each(values) => values.len(),
            Self::Complaint(text) => text.chars().count(),
        }
    }
}

impl Aggregated {
    /// Merges the names and arguments of `calls`.
    ///
    /// # Errors
    /// The exception that the official code raises: see [`Self::add`]; also for a call without a name.
    pub(crate) fn of_calls(calls: &[Call]) -> Result<(Vec<Name>, Self), Crash> {
        let mut all = Self::default();
        let mut names = Vec::with_capacity(calls.len());
        for call in calls {
            if call.name == Name::Missing {
                return Err(Crash::new(Exception::Key, "'name'"));
            }
            all.add(&call.arguments)?;
            names.push(call.name.clone());
        }
        Ok((names, all))
    }

    /// Adds the arguments of one call.
    ///
    /// # Errors
    /// If the arguments decode to something other than an object, are `null`, contain a number that Python does not
    /// read, or have the key `error` after others could not be decoded.
    pub(crate) fn add(&mut self, arguments: &Arguments) -> Result<(), Crash> {
        match arguments {
            Arguments::Object(object) => self.add_object(object),
            Arguments::Null => {
                Err(Crash::new(Exception::Type, "the JSON object must be str, bytes or bytearray, not NoneType"))
            }
            Arguments::Text(text) => self.add_text(text),
        }
    }

    /// Adds the arguments of one call, as JSON text.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn add_text(&mut self, text: &str) -> Result<(), Crash> {
        match parse_or_refuse(text) {
            Ok(Json::Object(object)) => self.add_object(&object),
            Ok(other) => {
                let problem = format!("'{}' object has no attribute 'items'", type_name(other.kind()));
                Err(Crash::new(Exception::Attribute, problem))
            }
            Err(Refusal::NotJson) => {
                let complaint = format!("Invalid JSON in arguments: {text}");
                self.by_key.insert(ERROR_KEY.to_owned(), Values::Complaint(complaint));
                Ok(())
            }
            Err(Refusal::LongInteger(digits)) => Err(Crash::new(
                Exception::Value,
                format!(
                    "Exceeds the limit (4300 digits) for integer string conversion: value has {digits} digits; \
                     use sys.set_int_max_str_digits() to increase the limit"
                ),
            )),
            Err(Refusal::TooDeep) => Err(Crash::new(Exception::Recursion, "maximum recursion depth exceeded")),
        }
    }

    fn add_object(&mut self, object: &Object) -> Result<(), Crash> {
        for (key, value) in object.iter() {
            match self.by_key.entry(key.to_owned()).or_insert_with(|| Values::Each(Vec::new())) {
                Values::Each(values) => values.push(value.clone()),
                Values::Complaint(_) => {
                    return Err(Crash::new(Exception::Attribute, "'str' object has no attribute 'append'"));
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if any call has the key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.by_key.contains_key(key)
    }

    /// Returns the values of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Values> {
        self.by_key.get(key)
    }

    /// Returns the keys in ascending order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.by_key.keys().map(String::as_str)
    }
}

const fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "NoneType",
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::String => "str",
        Kind::List => "list",
        Kind::Object => "dict",
    }
}
