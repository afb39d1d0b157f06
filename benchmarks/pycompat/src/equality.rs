//! When two values are equal: for Python, and for an evaluator that keeps the kinds apart.

use super::json::{Json, Object};

/// `==` of two values that were read from different texts.
pub fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::String(a), Json::String(b)) => a == b,
        (Json::List(a), Json::List(b)) => equal_lists(a, b, equal_inside),
        (Json::Object(a), Json::Object(b)) => equal_objects(a, b, equal_inside),
        _ => equal_numbers(a, b),
    }
}

/// Equality of members. Python looks whether they are the same object first, and its JSON reader always gives the same `NaN`.
fn equal_inside(a: &Json, b: &Json) -> bool {
    matches!((a, b), (Json::Float(a), Json::Float(b)) if a.is_nan() && b.is_nan()) || equal(a, b)
}

/// Numbers by value, `true` being 1 and `false` 0.
fn equal_numbers(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::Int(int), Json::Bool(bool)) | (Json::Bool(bool), Json::Int(int)) => int.equals_bool(*bool),
        (Json::Float(float), Json::Bool(bool)) | (Json::Bool(bool), Json::Float(float)) => {
            *float == f64::from(u8::from(*bool))
        }
        _ => equal_ints_and_floats(a, b),
    }
}

fn equal_ints_and_floats(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Int(a), Json::Int(b)) => a == b,
        (Json::Float(a), Json::Float(b)) => a == b,
        (Json::Int(int), Json::Float(float)) | (Json::Float(float), Json::Int(int)) => int.equals_float(*float),
        _ => false,
    }
}

/// Equality that keeps the kinds apart at every depth: numbers (by value), booleans, texts, lists, objects, null.
pub fn equal_by_kind(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::String(a), Json::String(b)) => a == b,
        (Json::List(a), Json::List(b)) => equal_lists(a, b, equal_by_kind),
        (Json::Object(a), Json::Object(b)) => equal_objects(a, b, equal_by_kind),
        _ => equal_ints_and_floats(a, b),
    }
}

fn equal_lists(a: &[Json], b: &[Json], equal: fn(&Json, &Json) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

fn equal_objects(a: &Object, b: &Object, equal: fn(&Json, &Json) -> bool) -> bool {
    a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn both(a: &str, b: &str) -> (bool, bool) {
        let (a, b) = (parse(a).unwrap(), parse(b).unwrap());
        assert_eq!((equal(&a, &b), equal_by_kind(&a, &b)), (equal(&b, &a), equal_by_kind(&b, &a)), "symmetric");
        (equal(&a, &b), equal_by_kind(&a, &b))
    }

    #[test]
    fn python_mixes_numbers_and_booleans() {
        assert_eq!(both("[1, 2]", "[1.0, 2]"), (true, true));
        assert_eq!(both("[1]", "[true]"), (true, false));
        assert_eq!(both("{\"a\": 0.0}", "{\"a\": false}"), (true, false));
        assert_eq!(both("10000000000000000000000", "1e22"), (true, true));
        assert_eq!(both("[1]", "[\"1\"]"), (false, false));
        assert_eq!(both("null", "false"), (false, false));
    }

    #[test]
    fn the_order_counts_in_lists_only() {
        assert_eq!(both("[1, 2]", "[2, 1]"), (false, false));
        assert_eq!(both("{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}"), (true, true));
        assert_eq!(both("{\"a\": 1}", "{\"a\": 1, \"b\": 2}"), (false, false));
        assert_eq!(both("{\"a\": 1}", "{\"b\": 1}"), (false, false));
    }

    #[test]
    fn nan_is_itself_only_inside_something() {
        assert_eq!(both("NaN", "NaN"), (false, false));
        assert_eq!(both("[NaN]", "[NaN]"), (true, false));
        assert_eq!(both("{\"a\": NaN}", "{\"a\": NaN}"), (true, false));
    }
}
