//! A file of predictions as a table, as made by the official loader, which is that of pandas
//! (docs/benchmarks/flowbench.md §5.3).

use regatta_pycompat::{Json, Object, is_numeric, parse_ujson, strip};

/// Records of a file. Fields are columns; a record may lack some.
#[derive(Debug, Clone)]
pub(super) struct Table {
    rows: Vec<Object>,
}

/// Value of a record in a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    /// The record lacks the column; in pandas the value is the number `NaN`.
    Absent,
    /// A text in a column whose texts are all numbers, so that the loader converts it to a number.
    NumericText(&'a str),
    /// The value in the file.
    Value(&'a Json),
}

impl<'a> Cell<'a> {
    fn of(value: Option<&'a Json>, all_numbers: bool) -> Self {
        match value {
            Some(Json::String(text)) if all_numbers => Self::NumericText(text),
            Some(value) => Self::Value(value),
            None => Self::Absent,
        }
    }
}

impl Table {
    /// Parses a file; `None` if the loader cannot read it, and then it is skipped. All lines that are not blank,
    /// joined by commas, form one array, so a line may contain several records. If the first is not an object, the
    /// table has only columns without names.
    pub(super) fn read(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let lines: Vec<&str> = text.split('\n').map(strip).filter(|line| !line.is_empty()).collect();
        let Json::List(values) = parse_ujson(&format!("[{}]", lines.join(",")))? else { return None };
        let rows = match values.first() {
            None => Vec::new(),
            Some(Json::Object(_)) => values.into_iter().map(row).collect::<Option<_>>()?,
            // The members of arrays are cells, so every other record needs members too.
            Some(Json::List(_)) if !values.iter().all(has_members) => return None,
            Some(_) => Vec::new(),
        };
        Some(Self { rows })
    }

    /// Returns the records in order.
    pub(super) fn rows(&self) -> &[Object] {
        &self.rows
    }

    /// Returns `true` if any record has the field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.get(name).is_some())
    }

    /// Returns a column; `None` if no record has it.
    pub(super) fn column(&self, name: &str) -> Option<Vec<Cell<'_>>> {
        if !self.has(name) {
            return None;
        }
        let values = || self.rows.iter().map(|row| row.get(name));
        // The loader converts a column to numbers if it can.
        let all_numbers = values().flatten().all(|value| match value {
            Json::String(text) => is_numeric(text),
            Json::List(_) | Json::Object(_) => false,
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => true,
        });
        Some(values().map(|value| Cell::of(value, all_numbers)).collect())
    }
}

const fn has_members(value: &Json) -> bool {
    matches!(value, Json::List(_) | Json::Object(_) | Json::String(_))
}

/// Converts a value to a record as `dict` does. An array may contain pairs of a key and a value; an empty array or
/// text is a record without fields.
fn row(value: Json) -> Option<Object> {
    match value {
        Json::Object(object) => Some(object),
        Json::List(pairs) => {
            let mut row = Object::default();
            for pair in pairs {
                // Keys that are not texts are columns that are never used.
                if let (Json::String(key), value) = self::pair(pair)? {
                    row.insert(key, value);
                }
            }
            Some(row)
        }
        Json::String(text) => text.is_empty().then(Object::default),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => None,
    }
}

/// Returns the two members of an array, the two characters of a text, or the two keys of an object; the first must be
/// hashable.
fn pair(value: Json) -> Option<(Json, Json)> {
    let members: Vec<Json> = match value {
        Json::List(members) => members,
        Json::String(text) => text.chars().map(|c| Json::String(c.to_string())).collect(),
        Json::Object(object) => object.into_entries().map(|(key, _)| Json::String(key)).collect(),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => return None,
    };
    let [key, value] = <[Json; 2]>::try_from(members).ok()?;
    (!matches!(key, Json::List(_) | Json::Object(_))).then_some((key, value))
}
