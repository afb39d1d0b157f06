//! Values that are valid by a JSON Schema: the first choice of each alternative, and as little as is required.

use serde_json::{Map, Value, json};

/// Most values of one example. Definitions that use each other twice double it with each level.
const VALUES: usize = 4096;
/// Bytes of names, texts and given values that count as one value more.
const BYTES_A_VALUE: usize = 16;
/// Most schemas that are followed into each other. Readers of JSON stop at 128.
const LEVELS: usize = 64;
/// Types that JSON Schema has: a list of them that is longer says some twice.
const TYPES: usize = 7;
const TEXT: &str = "text";
/// The schema of what no schema is given for.
static ANY: Value = Value::Bool(true);
/// Keywords whose meaning is beyond this module: patterns, conditions, and what has to be different.
const BEYOND: [&str; 9] = [
    "not",
    "if",
    "pattern",
    "patternProperties",
    "propertyNames",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "$dynamicRef",
];

/// Keywords, beside `type`, that restrict values which are found by a reference or among alternatives.
const RESTRICTIONS: [&str; 22] = [
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "properties",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// A value that is valid by `schema`; `None` if none is found.
pub(crate) fn example(schema: &Value) -> Option<Value> {
    Examples { root: schema, within: Vec::new(), left: VALUES, levels: LEVELS }.of(schema)
}

struct Examples<'s> {
    /// The schema that references are looked up in.
    root: &'s Value,
    /// References that are being followed: one that leads to itself has no end.
    within: Vec<&'s str>,
    /// Values that may still be made.
    left: usize,
    /// Schemas that may still be followed into each other.
    levels: usize,
}

impl<'s> Examples<'s> {
    fn of(&mut self, schema: &'s Value) -> Option<Value> {
        self.spend(0)?;
        self.levels = self.levels.checked_sub(1)?;
        let found = self.by(schema);
        self.levels += 1;
        found
    }

    fn by(&mut self, schema: &'s Value) -> Option<Value> {
        let keywords = match schema {
            Value::Bool(true) => return Some(json!(TEXT)),
            Value::Object(keywords) => keywords,
            Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
        };
        if BEYOND.iter().any(|keyword| keywords.contains_key(*keyword)) {
            return None;
        }
        let only = keywords.get("const");
        if let Some(given) = only.or_else(|| keywords.get("enum")?.as_array()?.first()) {
            self.spend(given.to_string().len())?;
            return Some(given.clone());
        }
        if keywords.contains_key("enum") {
            return None;
        }
        if let Some(reference) = keywords.get("$ref") {
            if is_restricted_beside("$ref", keywords) {
                return None;
            }
            return self.referred(reference.as_str()?).filter(|found| is_of_type(found, keywords));
        }
        for alternatives in ["anyOf", "oneOf"] {
            if let Some(schemas) = keywords.get(alternatives) {
                if is_restricted_beside(alternatives, keywords) {
                    return None;
                }
                let mut schemas = schemas.as_array()?.iter();
                return schemas.find_map(|schema| self.of(schema).filter(|found| is_of_type(found, keywords)));
            }
        }
        if let Some(schemas) = keywords.get("allOf") {
            return self.all(schemas.as_array()?, keywords);
        }
        match keywords.get("type") {
            Some(Value::String(kind)) => self.of_kind(kind, keywords),
            Some(Value::Array(kinds)) => {
                kinds.iter().take(TYPES).find_map(|kind| self.of_kind(kind.as_str()?, keywords))
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => None,
            None if keywords.contains_key("properties") || keywords.contains_key("required") => self.object(keywords),
            None if keywords.contains_key("items") => self.list(keywords),
            None => Some(json!(TEXT)),
        }
    }

    /// Counts one value, with so many bytes of its text. Once there are too many, no other alternative is looked into.
    fn spend(&mut self, bytes: usize) -> Option<()> {
        let Some(left) = self.left.checked_sub(1 + bytes / BYTES_A_VALUE) else {
            self.left = 0;
            return None;
        };
        self.left = left;
        Some(())
    }

    fn referred(&mut self, reference: &'s str) -> Option<Value> {
        self.spend(reference.len())?;
        let place = reference.strip_prefix('#')?;
        if self.within.contains(&reference) {
            return None;
        }
        let root = self.root;
        let schema = root.pointer(place)?;
        self.within.push(reference);
        let found = self.of(schema);
        self.within.pop();
        found
    }

    /// A value by all of `schemas`: the only one's, or the fields of all objects together, and of the schema that has them.
    fn all(&mut self, schemas: &'s [Value], keywords: &'s Map<String, Value>) -> Option<Value> {
        if let [only] = schemas
            && !is_restricted_beside("allOf", keywords)
        {
            return self.of(only).filter(|found| is_of_type(found, keywords));
        }
        let mut fields = Map::new();
        for schema in schemas {
            let more = self.of(schema)?;
            unite(&mut fields, more)?;
        }
        let own = self.object(keywords)?;
        unite(&mut fields, own)?;
        Some(Value::Object(fields))
    }

    fn of_kind(&mut self, kind: &str, keywords: &'s Map<String, Value>) -> Option<Value> {
        match kind {
            "string" => {
                let said = text(keywords)?;
                self.spend(said.as_str().map_or(0, str::len))?;
                Some(said)
            }
            "integer" => number(keywords, true),
            "number" => number(keywords, false),
            "boolean" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            "array" => self.list(keywords),
            "object" => self.object(keywords),
            _ => None,
        }
    }

    /// As few entries as may be.
    fn list(&mut self, keywords: &'s Map<String, Value>) -> Option<Value> {
        let fewest = keywords.get("minItems").map_or(Some(0), Value::as_u64)?;
        let fewest = usize::try_from(fewest).ok()?;
        let most = keywords.get("maxItems").map_or(Some(u64::MAX), Value::as_u64)?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let is_unique = keywords.get("uniqueItems").and_then(Value::as_bool) == Some(true);
        if (is_unique && fewest > 1) || fewest > VALUES || fewest > most {
            return None;
        }
        let first = keywords.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let rest = keywords.get("items").unwrap_or(&ANY);
        // The first ones of a list may be alike.
        let count = if is_unique { fewest } else { fewest.max(first.len()).min(most) };
        let schemas = first.iter().chain(std::iter::repeat(rest)).take(count);
        schemas.map(|schema| self.of(schema)).collect::<Option<Vec<Value>>>().map(Value::Array)
    }

    /// The fields that are required.
    fn object(&mut self, keywords: &'s Map<String, Value>) -> Option<Value> {
        let required = keywords.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let known = keywords.get("properties").and_then(Value::as_object);
        let mut fields = Map::new();
        for name in required {
            let name = name.as_str()?;
            self.spend(name.len())?;
            let schema = known.and_then(|known| known.get(name)).or_else(|| keywords.get("additionalProperties"));
            fields.insert(name.to_owned(), self.of(schema.unwrap_or(&ANY))?);
        }
        let fewest = keywords.get("minProperties").map_or(Some(0), Value::as_u64)?;
        let most = keywords.get("maxProperties").map_or(Some(u64::MAX), Value::as_u64)?;
        (fewest..=most).contains(&(fields.len() as u64)).then_some(Value::Object(fields))
    }
}

/// `true` if more than `name`, and a type, says which values are valid.
fn is_restricted_beside(name: &str, keywords: &Map<String, Value>) -> bool {
    RESTRICTIONS.iter().any(|keyword| *keyword != name && keywords.contains_key(*keyword))
}

/// `true` if `value` is of the type that the keywords want, if they want one.
fn is_of_type(value: &Value, keywords: &Map<String, Value>) -> bool {
    let is = |kind: &Value| match kind.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(_) | None => false,
    };
    match keywords.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().take(TYPES).any(is),
        Some(kind) => is(kind),
    }
}

/// Adds the fields of `more` to those of an object that has to be valid by several schemas; `None` where two want another value of a field.
fn unite(fields: &mut Map<String, Value>, more: Value) -> Option<()> {
    let Value::Object(more) = more else { return None };
    for (name, value) in more {
        if fields.get(&name).is_some_and(|known| *known != value) {
            return None;
        }
        fields.insert(name, value);
    }
    Some(())
}

fn text(keywords: &Map<String, Value>) -> Option<Value> {
    let length = |name: &str, usual: u64| keywords.get(name).map_or(Some(usual), Value::as_u64);
    let (shortest, longest) = (length("minLength", 0)?, length("maxLength", u64::MAX)?);
    let formed = match keywords.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("duration") => "P1D",
        Some("email") => "name@example.com",
        Some("hostname") => "example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid" | "uuid4") => "00000000-0000-4000-8000-000000000000",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        _ => {
            let shortest = usize::try_from(shortest).ok().filter(|shortest| *shortest <= VALUES)?;
            let longest = usize::try_from(longest).unwrap_or(usize::MAX);
            let text: String =
                TEXT.chars().chain(std::iter::repeat('x')).take(shortest.max(TEXT.len()).min(longest)).collect();
            return (text.len() >= shortest).then(|| Value::String(text));
        }
    };
    let length = formed.len() as u64;
    (shortest..=longest).contains(&length).then(|| json!(formed))
}

/// The number next to 0 that the bounds leave.
fn number(keywords: &Map<String, Value>, is_whole: bool) -> Option<Value> {
    let bound = |name: &str| match keywords.get(name) {
        None => Some(None),
        Some(value) => value.as_f64().map(Some),
    };
    let step = bound("multipleOf")?.filter(|step| *step > 0.0).unwrap_or(if is_whole { 1.0 } else { 0.0 });
    let nudge = if step > 0.0 { step } else { 0.5 };
    let least = [bound("minimum")?, bound("exclusiveMinimum")?.map(|bound| bound + nudge / 2.0)];
    let most = [bound("maximum")?, bound("exclusiveMaximum")?.map(|bound| bound - nudge / 2.0)];
    let least = least.into_iter().flatten().fold(f64::NEG_INFINITY, f64::max);
    let most = most.into_iter().flatten().fold(f64::INFINITY, f64::min);
    let next = if least > 0.0 {
        if step > 0.0 { (least / step).ceil() * step } else { least }
    } else if most < 0.0 {
        if step > 0.0 { (most / step).floor() * step } else { most }
    } else {
        0.0
    };
    if !(least..=most).contains(&next) || (is_whole && (next.fract() != 0.0 || next.abs() > 2f64.powi(53))) {
        return None;
    }
    if is_whole { Some(json!(next as i64)) } else { serde_json::Number::from_f64(next).map(Value::Number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(schema: Value) -> String {
        example(&schema).map_or_else(|| "none".to_owned(), |value| value.to_string())
    }

    #[test]
    fn an_example_has_what_is_required_and_no_more() {
        let plan = json!({"type": "object", "properties": {
            "steps": {"type": "array", "items": {"type": "string"}},
            "owner": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "kind": {"enum": ["b", "a"]},
            "unasked": {"type": "string"},
        }, "required": ["steps", "owner", "kind"], "additionalProperties": false});
        assert_eq!(told(plan), r#"{"steps":[],"owner":null,"kind":"b"}"#);
        assert_eq!(told(json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2})), "[false,false]");
        let pair = json!({"type": "array", "prefixItems": [{"type": "null"}, {"type": "null"}], "maxItems": 2});
        assert_eq!(told(pair), "[null,null]");
        let set = json!({"type": "array", "prefixItems": [{"type": "null"}, {"type": "null"}], "uniqueItems": true});
        assert_eq!(told(set), "[]");
        assert_eq!(told(json!({"type": ["integer", "null"]})), "0");
        assert_eq!(told(json!({"const": 7})), "7");
        assert_eq!(told(json!({})), r#""text""#);
    }

    #[test]
    fn texts_and_numbers_keep_their_bounds() {
        let text = |more: Value| {
            let mut schema = json!({"type": "string"});
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            told(schema)
        };
        assert_eq!(text(json!({"minLength": 6})), r#""textxx""#);
        assert_eq!(text(json!({"maxLength": 2})), r#""te""#);
        assert_eq!(text(json!({"minLength": 3, "maxLength": 2})), "none");
        assert_eq!(text(json!({"format": "date"})), r#""2026-01-01""#);
        assert_eq!(told(json!({"type": "integer", "minimum": 3})), "3");
        assert_eq!(told(json!({"type": "integer", "exclusiveMinimum": 3})), "4");
        assert_eq!(told(json!({"type": "integer", "maximum": -2})), "-2");
        assert_eq!(told(json!({"type": "integer", "minimum": 5, "multipleOf": 4})), "8");
        assert_eq!(told(json!({"type": "integer", "minimum": 5, "maximum": 7, "multipleOf": 4})), "none");
        assert_eq!(told(json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})), "0.25");
        assert_eq!(told(json!({"type": "number", "minimum": 0.5})), "0.5");
    }

    #[test]
    fn references_are_followed_and_those_without_an_end_left_to_their_alternatives() {
        let node = json!({"type": "object", "properties": {
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        }, "required": ["next"]});
        let list = json!({"$ref": "#/$defs/Node", "$defs": {"Node": node}});
        assert_eq!(told(list), r#"{"next":null}"#);
        let endless = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}});
        assert_eq!(told(endless), "none");
        let one = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
        let both = json!({"allOf": [one, {"type": "object"}], "properties": {"b": {}}, "required": ["b"]});
        assert_eq!(told(both), r#"{"a":0,"b":"text"}"#);
    }

    #[test]
    fn what_doubles_with_each_level_is_given_up() {
        let mut defs = Map::new();
        for level in 0..30 {
            let below = json!({"$ref": format!("#/$defs/{}", level + 1)});
            let both = json!({"type": "object", "properties": {"a": below, "b": below}, "required": ["a", "b"]});
            defs.insert(level.to_string(), both);
        }
        defs.insert("30".to_owned(), json!({"type": "null"}));
        assert_eq!(told(json!({"$ref": "#/$defs/0", "$defs": defs})), "none");
        let chain = (0..1000).map(|level: u32| (level.to_string(), json!({"$ref": format!("#/$defs/{}", level + 1)})));
        let chain: Map<String, Value> = chain.collect();
        assert_eq!(told(json!({"$ref": "#/$defs/0", "$defs": chain})), "none");
        let often = |definition: Value| {
            let references = vec![json!({"$ref": "#/$defs/one"}); 4000];
            json!({"anyOf": references, "$defs": {"one": definition}})
        };
        // Each would be looked into as often as it is referred to.
        assert_eq!(told(often(json!({"const": "x".repeat(1 << 20)}))), "none");
        assert_eq!(told(often(json!({"type": vec!["fish"; 100_000]}))), "none");
        assert_eq!(told(often(json!({"$ref": format!("#/{}", "x".repeat(1 << 20))}))), "none");
        let texts = json!({"type": "array", "minItems": 4000, "items": {"type": "string", "minLength": 4096}});
        assert_eq!(told(texts), "none", "sixteen million letters");
        let long = "x".repeat(10_000);
        assert_eq!(told(json!({"type": "array", "minItems": 100, "items": {"const": long}})), "none");
        assert_eq!(told(json!({"const": long})).len(), 10_002);
    }

    #[test]
    fn what_is_not_understood_is_not_made_up() {
        for schema in [
            json!({"type": "string", "pattern": "^a$"}),
            json!({"not": {}}),
            json!({"type": "array", "minItems": 2, "uniqueItems": true}),
            json!({"type": "fish"}),
            json!({"enum": []}),
            json!(false),
            json!({"$ref": "https://example.com/schema"}),
            json!({"type": "array", "minItems": 3, "maxItems": 2}),
            json!({"properties": {"a": {}}, "required": ["a"], "maxProperties": 0}),
            // What they have beside is restricted further.
            json!({"$ref": "#/$defs/A", "minLength": 9, "$defs": {"A": {"type": "string"}}}),
            json!({"properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}]}),
            json!({"type": "object", "anyOf": [{"type": "string"}]}),
            json!({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}], "required": ["a"]}),
        ] {
            assert_eq!(told(schema), "none");
        }
    }
}
